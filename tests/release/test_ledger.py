import errno
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from release_cases import forks, loss_of, reserve_many

from workbench.params import BudgetRefusedError, CheckFailedError, InputError
from workbench.release import ledger as ledger_module
from workbench.release.ledger import Ledger

A, B, C = "a" * 32, "b" * 32, "c" * 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path) as opened:
        yield opened


def charge(ledger: Ledger, epsilon: str, delta: str = "0", dataset: str = A) -> str:
    release_id = ledger.reserve(dataset, loss_of(epsilon, delta), work="test")
    ledger.complete(release_id)
    return release_id


def tamper(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


# -- amounts ----------------------------------------------------------------------------------------------------------


def test_ten_tenths_fit_a_cap_of_one_and_the_eleventh_is_refused(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(1))
    for _ in range(10):
        charge(ledger, "0.1")
    assert ledger.account(A).remaining == 0
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.1")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.000001")
    assert ledger.account(A).spent[0] == 1


def test_amounts_far_apart_in_size_are_still_added_exactly(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal("1000000"), Decimal("0.00001"))
    charge(ledger, "999999.9999999999", "0.00001")
    with pytest.raises(BudgetRefusedError):  # 1e-40 is lost beside 1e-5 in 28 digits
        charge(ledger, "0.00000001", "1e-40")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.00000000010000000000000000000000000001")
    charge(ledger, "0.0000000001")
    assert ledger.account(A).remaining == 0


def test_a_refused_charge_is_recorded_with_both_numbers(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal("2.5"))
    charge(ledger, "1")
    with pytest.raises(BudgetRefusedError) as refused:
        ledger.reserve(A, loss_of("2"), work="test")
    assert refused.value.exit_code == 3
    assert str(refused.value) == (
        "this release costs epsilon = 2 but only 1.5 remain (cap epsilon = 2.5, spent or reserved 1); "
        "spend less, or raise the cap with `workbench ledger cap`"
    )
    entry = ledger.releases()[-1]
    assert (entry.status, entry.epsilon) == ("refused", 2)
    assert entry.body["cap"][0] == "2.5"
    assert entry.body["used"] == ["1", "0"]
    assert ledger.account(A).remaining == Decimal("1.5")


def test_a_refusal_for_delta_alone_names_delta_alone(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(5), Decimal("1e-6"))
    with pytest.raises(BudgetRefusedError, match=r"^this release needs delta = 1e-05 of which 1e-06 remain \("):
        charge(ledger, "1", "1e-5")


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("-1", "0"), ("1", "-1e-9"), ("NaN", "0"), ("1", "NaN"), ("Infinity", "0"), ("1", "2")]
)
def test_what_is_no_privacy_loss_is_never_booked(ledger: Ledger, epsilon: str, delta: str) -> None:
    kept = ledger.reserve(A, loss_of("1", "0.1"), work="test")
    for book in (
        lambda: ledger.reserve(A, loss_of(epsilon, delta), work="test"),
        lambda: ledger.settle(kept, Decimal(epsilon), Decimal(delta)),
        lambda: ledger.set_cap(A, Decimal(epsilon), Decimal(delta)),
    ):
        with pytest.raises(AssertionError, match="no privacy loss"):
            book()
    assert ledger.account(A).used == (1, Decimal("0.1"))


# -- caps -------------------------------------------------------------------------------------------------------------


def test_the_first_release_sets_the_cap_so_that_a_second_one_is_refused(ledger: Ledger) -> None:
    assert ledger.account(A).cap is None
    charge(ledger, "3")
    assert ledger.account(A).cap == (3, None)
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "3")
    assert ledger.account(B).cap is None


def test_a_raised_cap_is_recorded_for_good(ledger: Ledger) -> None:
    charge(ledger, "3")
    ledger.set_cap(A, Decimal(6))
    charge(ledger, "3")
    assert [(c["epsilon"], c["origin"]) for c in ledger.account(A).cap_history] == [
        ("3", "first release"),
        ("6", "steward"),
    ]


def test_a_cap_below_what_is_spent_refuses_everything(ledger: Ledger) -> None:
    charge(ledger, "3")
    ledger.set_cap(A, Decimal(1))
    with pytest.raises(BudgetRefusedError, match="only 0 remain"):
        charge(ledger, "0.1")
    assert ledger.account(A).remaining == -2


def test_delta_has_a_cap_of_its_own(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(100))
    charge(ledger, "1")
    assert ledger.account(A).cap == (100, None)
    charge(ledger, "1", "1e-5")  # the first release with δ sets it
    assert ledger.account(A).cap == (100, Decimal("1e-5"))
    with pytest.raises(BudgetRefusedError, match="needs delta"):
        charge(ledger, "1", "1e-9")
    ledger.set_cap(A, Decimal(100), Decimal("3e-5"))
    charge(ledger, "1", "2e-5")
    charge(ledger, "1")
    with pytest.raises(BudgetRefusedError, match="needs delta"):
        charge(ledger, "1", "1e-9")
    assert ledger.set_cap(A, Decimal(200)).cap == (200, Decimal("3e-5"))


def test_a_cap_of_no_delta_refuses_the_first_delta(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(100), Decimal(0))
    with pytest.raises(BudgetRefusedError, match="needs delta"):
        charge(ledger, "1", "1e-12")


# -- statuses ---------------------------------------------------------------------------------------------------------


def test_a_void_release_costs_nothing_and_a_reserved_one_everything(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(2))
    first = ledger.reserve(A, loss_of("2"), work="test")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "1")
    ledger.void(first, "cancelled")
    charge(ledger, "2")
    assert [r.status for r in ledger.releases()] == ["void", "refused", "charged"]


def test_a_settled_release_costs_what_it_settled_for_and_never_more(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(10), Decimal("1e-5"))
    release_id = ledger.reserve(A, loss_of("4", "1e-5"), work="test")
    for epsilon, delta in (("5", "0"), ("4", "2e-5")):
        with pytest.raises(InputError, match="cannot cost more than it reserved"):
            ledger.settle(release_id, Decimal(epsilon), Decimal(delta))
    ledger.settle(release_id, Decimal("1.25"), Decimal("1e-6"))
    assert ledger.account(A).spent == (Decimal("1.25"), Decimal("1e-6"))


@pytest.mark.parametrize("end", ["complete", "void", "settle"])
def test_a_release_ends_once(ledger: Ledger, end: str) -> None:
    release_id = ledger.reserve(A, loss_of("1"), work="test")
    ends = {
        "complete": lambda: ledger.complete(release_id),
        "void": lambda: ledger.void(release_id, "reason"),
        "settle": lambda: ledger.settle(release_id, Decimal("0.5"), Decimal(0)),
    }
    ends[end]()
    before = ledger.account(A).used
    for again in ends.values():
        with pytest.raises(InputError, match="not reserved"):
            again()
    assert ledger.account(A).used == before


def test_an_unknown_release_cannot_end(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="is unknown, not reserved"):
        ledger.complete("0" * 16)


# -- versions ---------------------------------------------------------------------------------------------------------


def test_a_newer_version_shares_the_account_of_the_older(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(3))
    charge(ledger, "1")
    assert ledger.link_version(B, A) == A
    assert ledger.link_version(C, B) == A
    charge(ledger, "1", dataset=B)
    charge(ledger, "1", dataset=C)
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "1", dataset=A)
    assert ledger.account(C) == ledger.account(A)
    assert {r.dataset for r in ledger.releases()} == {A}
    assert ledger.set_cap(C, Decimal(4)).dataset == A


def test_versions_cannot_lose_an_account_or_run_in_circles(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="not in the ledger"):
        ledger.link_version(B, A)
    charge(ledger, "1")
    charge(ledger, "1", dataset=B)
    with pytest.raises(InputError, match="account of its own"):
        ledger.link_version(B, A)
    ledger.link_version(C, A)
    with pytest.raises(InputError, match="account of its own"):
        ledger.link_version(C, B)
    assert ledger.link_version(A, C) == A  # already one account: nothing to do
    assert ledger.link_version(A, A) == A
    assert [ledger.account_of(d) for d in (A, B, C)] == [A, B, A]


# -- several processes ------------------------------------------------------------------------------------------------


def test_processes_that_reserve_at_once_never_exceed_the_cap(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.set_cap(A, Decimal("1.95"))
    racers = [forks().Process(target=reserve_many, args=(path, A, "0.1", 20)) for _ in range(3)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert [r.exitcode for r in racers] == [0, 0, 0]
    with Ledger.open(path) as ledger:
        account = ledger.account(A)
        assert account.used[0] == Decimal("1.9")
        assert sorted(r.status for r in ledger.releases()).count("refused") == 3
        assert ledger.verify() == []


def test_two_first_releases_at_once_set_one_cap(path: Path) -> None:
    racers = [forks().Process(target=reserve_many, args=(path, A, "1", 1)) for _ in range(3)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    with Ledger.open(path) as ledger:
        assert ledger.account(A).used[0] == 1
        assert len(ledger.account(A).cap_history) == 1
        assert ledger.verify() == []


# -- files that are no good -------------------------------------------------------------------------------------------


def refusal_of(path: Path) -> str:
    with pytest.raises(InputError) as refused:
        Ledger.open(path)
    assert refused.value.exit_code == 2
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_locked_ledger_is_one_sentence(path: Path, monkeypatch: pytest.MonkeyPatch, lock: str) -> None:
    Ledger.open(path).close()
    monkeypatch.setattr(ledger_module, "_PATIENCE", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute(f"BEGIN {lock}")
    try:
        assert refusal_of(path) == (
            f"the ledger cannot be used: database is locked ({path}); wait for the other program to finish"
        )
    finally:
        holder.close()


def test_a_ledger_that_is_locked_while_it_is_open_is_one_sentence_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_PATIENCE", 0.05)
    with Ledger.open(path) as ledger:
        release_id = charge(ledger, "1")
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        try:
            for work in (
                lambda: ledger.key,
                lambda: ledger.account(A),
                lambda: ledger.release(release_id),
                lambda: list(ledger.entries()),
                lambda: charge(ledger, "1"),
                lambda: ledger.set_cap(A, Decimal(2)),
            ):
                with pytest.raises(InputError, match="database is locked"):
                    work()
            assert ledger.verify() == ["the ledger cannot be used: database is locked"]
        finally:
            holder.close()
        assert ledger.verify() == []


def test_a_ledger_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "fixed"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root can mount a file system that is read-only even for root")
    try:
        Ledger.open(folder / "l.sqlite").close()
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True, capture_output=True)
        assert "Read-only file system" in refusal_of(folder / "l.sqlite")
        assert "Read-only file system" in refusal_of(folder / "new.sqlite")
    finally:
        subprocess.run(["umount", str(folder)], check=True, capture_output=True)


def test_a_ledger_whose_writes_are_refused_is_one_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger.open(path).close()

    def refuse(*_: object) -> int:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    assert "Permission denied" in refusal_of(path)


def test_what_is_no_ledger_is_one_sentence_and_stays_as_it_was(tmp_path: Path) -> None:
    text = tmp_path / "table.csv"
    text.write_text("age,city\n" + "31,Graz\n" * 500)
    before = text.read_bytes()
    assert "file is not a database" in refusal_of(text)
    assert text.read_bytes() == before
    assert "Is a directory" in refusal_of(tmp_path)
    assert "not a regular file" in refusal_of(Path(os.devnull))
    assert "Not a directory" in refusal_of(text / "ledger.sqlite") or "File exists" in refusal_of(text / "l.sqlite")


def test_no_name_makes_a_ledger_that_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file::memory:"):
        with Ledger.open(Path(name)) as ledger:
            charge(ledger, "1")
        with Ledger.open(Path(name)) as ledger, pytest.raises(BudgetRefusedError):
            charge(ledger, "1")


# -- tampering --------------------------------------------------------------------------------------------------------


@pytest.fixture
def told(path: Path) -> Path:
    """A ledger of six entries: cap, reserve, charge, cap, reserve, charge."""
    with Ledger.open(path) as ledger:
        charge(ledger, "1")
        ledger.set_cap(A, Decimal(5))
        charge(ledger, "2")
        assert ledger.verify() == []
    return path


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("UPDATE entry SET epsilon = '0.1' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET epsilon = 'none' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET kind = 'void' WHERE seq = 3", "entry 3 was changed"),
        ("UPDATE entry SET time = 'yesterday' WHERE seq = 1", "entry 1 was changed"),
        ("UPDATE entry SET dataset = 'b' WHERE seq = 5", "entry 5 was changed"),
        ("UPDATE entry SET body = '{}' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET body = 'not JSON' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET body = x'ff00' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET delta = '' WHERE seq = 5", "entry 5 was changed"),
        ("UPDATE entry SET seq = 9 WHERE seq = 6", "entry 6 is missing"),
        ("DELETE FROM entry WHERE seq = 1", "entry 1 is missing"),
        ("DELETE FROM entry WHERE seq = 3", "entry 3 is missing"),
        ("DELETE FROM entry WHERE seq = 6", "missing after entry 5"),
        ("DELETE FROM entry WHERE seq > 2", "missing after entry 2"),
        ("DELETE FROM entry", "missing after entry 0"),
        ("DROP TABLE entry", "missing after entry 0"),
    ],
)
def test_a_changed_or_missing_entry_is_named_and_nothing_more_is_released(
    told: Path, statement: str, names: str
) -> None:
    tamper(told, statement)
    with Ledger.open(told) as ledger:
        assert any(names in problem for problem in ledger.verify()), ledger.verify()
        with pytest.raises(CheckFailedError) as refused:
            charge(ledger, "0.5")
        assert refused.value.exit_code == 5
        assert names in str(refused.value)


def test_a_new_entry_does_not_cover_up_that_others_are_gone(told: Path) -> None:
    with Ledger.open(told) as ledger:
        waiting = ledger.reserve(A, loss_of("1"), work="test")
        charge(ledger, "1")
    tamper(told, "DELETE FROM entry WHERE seq > 7")
    with Ledger.open(told) as ledger:
        for append in (
            lambda: ledger.complete(waiting),
            lambda: ledger.set_cap(A, Decimal(9)),
            lambda: ledger.link_version(B, A),
        ):
            with pytest.raises(CheckFailedError, match="misses entries after entry 7"):
                append()
        assert ledger.verify() == ["entries are missing after entry 7"]


def test_a_chain_that_was_rewritten_from_one_entry_on_does_not_pass(told: Path) -> None:
    """Whoever recomputes the hashes of what she changed must also know the remembered head."""
    from workbench.release.chain import entry_hash

    with Ledger.open(told) as ledger:
        changed = list(ledger.entries())[-1]
    forged = type(changed)(**{**vars(changed), "epsilon": "0.001"})
    tamper(told, f"UPDATE entry SET epsilon = '0.001', hash = '{entry_hash(forged)}' WHERE seq = 6")
    with Ledger.open(told) as ledger:
        assert ledger.verify() == ["entries are missing after entry 6"]


def test_a_cycle_of_versions_made_by_hand_ends_and_is_found(told: Path) -> None:
    with Ledger.open(told) as ledger:
        ledger.link_version(B, A)
    tamper(told, f"""UPDATE entry SET dataset = '{A}', body = '{{"of": "{A}"}}' WHERE seq = 7""")
    with Ledger.open(told) as ledger:
        assert ledger.account_of(A) == A
        with pytest.raises(CheckFailedError, match="entry 7 was changed"):
            charge(ledger, "0.1")


def test_a_file_whose_pages_are_damaged_does_not_verify(told: Path) -> None:
    with told.open("rb+") as stream:
        stream.seek(2 * 4096 + 100)
        stream.write(os.urandom(8000))
    try:
        with Ledger.open(told) as ledger:
            assert ledger.verify() != []
    except InputError as error:
        assert "malformed" in str(error)


def test_a_thousand_entries_are_still_reserved_quickly(tmp_path: Path) -> None:
    fast = Path("/dev/shm") if Path("/dev/shm").is_dir() else tmp_path
    path = fast / f"privacy-workbench-test-{os.getpid()}.sqlite"
    try:
        with Ledger.open(path) as ledger:
            ledger.set_cap(A, Decimal(1000))
            for _ in range(500):
                with ledger._transaction():
                    for kind in ("reserve", "charge"):
                        ledger._append(kind, f"{_:016x}", A, (Decimal("0.1"), Decimal(0)), {"work": "test"})
            began = time.monotonic()
            charge(ledger, "0.1")
            assert time.monotonic() - began < 2
            assert ledger.account(A).spent[0] == Decimal("50.1")
    finally:
        path.unlink(missing_ok=True)

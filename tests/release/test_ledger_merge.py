"""Two ledgers become one: no charge is lost, none counts twice, and a crash in the middle leaves both in use."""

import os
import shutil
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from release_cases import FAST, charge, forks, loss_of

from workbench.data.table import Table
from workbench.params import BudgetRefusedError, CheckFailedError, InputError, ParameterError
from workbench.release import checkpoint_folder
from workbench.release.ledger.composition import FILTER
from workbench.release.ledger.file import key_path
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.merge import RESUMABLE

A, B, C = "a" * 32, "b" * 32, "c" * 32


def table(seed: int = 0) -> Table:
    numbers = [str((seed + 1) * 1000 + n) for n in range(40)]
    return Table(pl.DataFrame({"n": numbers, "m": numbers[::-1]}), f"table{seed}.csv")


def fork_of(path: Path, target: Path) -> Path:
    """Copy a ledger with its key, as a person does with files."""
    shutil.copy(path, target)
    shutil.copy(key_path(path), key_path(target))
    return target


def merge(into: Path, other: Path):
    with Ledger.open(into) as book, Ledger.open(other) as taken:
        return book.merge(taken)


def used(path: Path, dataset: str = A) -> Decimal:
    with Ledger.open(path) as book:
        assert book.verify() == []
        return book.account(dataset).used[0]


@pytest.fixture
def two(tmp_path):
    """Two ledgers that know the same table under different keys: 1 of 3 is spent in one, 2 of 4 in the other."""
    paths = tmp_path / "one.sqlite", tmp_path / "two.sqlite"
    for path, cap, spent in zip(paths, ("3", "4"), ("1", "2"), strict=True):
        with Ledger.open(path) as book:
            account = book.enter(book.identify(table()))
            book.set_cap(account, Decimal(cap))
            charge(book, spent, dataset=account)
    return paths


def test_a_table_that_two_ledgers_know_has_the_sum_of_both_and_the_lower_cap(two):
    result = merge(*two)
    assert (result.releases, result.shared, result.tables) == (1, 0, 1)
    with Ledger.open(two[0]) as book:
        account = book.enter(book.identify(table()))
        assert book.account(account).used[0] == 3
        assert book.account(account).cap[0] == 3
        with pytest.raises(BudgetRefusedError):
            book.reserve(account, loss_of("0.001"), work="test")
        assert book.verify() == []
        assert [e.body["releases"] for e in book.entries("merge")] == [1]


def test_the_other_ledger_charges_no_more_and_says_where_to_go(two):
    merge(*two)
    with Ledger.open(two[1]) as book:
        with pytest.raises(InputError, match=r"moved.*one\.sqlite"):
            book.reserve(A, loss_of("1"), work="test")
        assert book.verify() == []


def test_a_merge_that_is_repeated_adds_nothing(two):
    merge(*two)
    before = used(two[0])
    with Ledger.open(two[0]) as book:
        entries = len(list(book.entries()))
    again = merge(*two)
    assert again.releases == 0
    with Ledger.open(two[0]) as book:
        assert len([e for e in book.entries() if e.kind != "merge"]) == entries - 1
    assert used(two[0]) == before


def test_a_release_that_both_copies_hold_counts_once_at_the_higher_cost(tmp_path):
    path = tmp_path / "one.sqlite"
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(100))
        charge(book, "1")
        ended = [book.reserve(A, loss_of("2"), work="test") for _ in range(4)]
    other = fork_of(path, tmp_path / "two.sqlite")
    with Ledger.open(path) as book:
        book.void(ended[0], "test")
        book.settle(ended[1], Decimal("0.5"), Decimal(0))
        charge(book, "8")
    with Ledger.open(other) as book:
        book.charge(ended[0])  # void in one, charged in the other: charged
        book.settle(ended[1], Decimal("0.75"), Decimal(0))
        book.charge(ended[2])  # reserved here, charged there
        book.set_cap(A, Decimal(50))
        with pytest.raises(CheckFailedError, match="older"):
            book.reserve(A, loss_of("16"), work="test")
        assert book.accept().seq > 0
        charge(book, "16")
    result = merge(path, other)
    assert (result.releases, result.shared) == (1, 5)
    with Ledger.open(path) as book:
        assert {r: book.release(r).status for r in ended} == dict.fromkeys(ended, "charged") | {ended[1]: "charged"}
        assert book.release(ended[1]).epsilon == Decimal("0.75")
        assert book.account(A).used[0] == Decimal(1 + 2 + 2 + 2 + 8 + 16) + Decimal("0.75")
        assert book.account(A).cap[0] == 50
        with pytest.raises(InputError):  # the charge is final: recovery cannot take it back
            book.void(ended[3], "its process is gone")


def test_names_groups_versions_and_counts_come_along(tmp_path):
    one, two = tmp_path / "one.sqlite", tmp_path / "two.sqlite"
    with Ledger.open(one) as book:
        book.set_name(book.identify(table(1)), "people")
        book.set_cap(book.identify(table(1)), Decimal(5))
    with Ledger.open(two) as book:
        book.set_name(book.identify(table(2)), "people")
        book.set_cap(book.identify(table(2)), Decimal(7), Decimal("1e-5"))
        book.link_version(book.identify(table(3)), book.identify(table(2)), "group")
        charge(book, "2", dataset=book.enter(book.identify(table(3))))
        other = book.set_cap(book.identify(table(4)), Decimal(9), Decimal("1e-4")).dataset
        book.count_by(other, FILTER)
    merge(one, two)
    with Ledger.open(one) as book:
        same = {book.find(book.identify(table(n))).account for n in (1, 2, 3)}
        assert len(same) == 1
        account = book.account(same.pop())
        assert (account.used[0], account.cap[0]) == (2, 5)
        assert book.accounts().grouped(account.dataset)
        assert book.account(other).count is not None
        assert book.account(book.find(book.identify(table(4))).account).cap[0] == 9


def test_a_merged_ledger_without_the_second_key_finds_no_table(two):
    merge(*two)
    whole = key_path(two[0]).read_bytes()
    key_path(two[0]).write_bytes(whole[:32])
    with Ledger.open(two[0]) as book, pytest.raises(InputError, match="merged into this one is missing"):
        book.identify(table())
    key_path(two[0]).write_bytes(whole)
    with Ledger.open(two[0]) as book:
        copy = book.back_up(two[0].with_name("copy.sqlite"))
    with Ledger.read(copy) as book:
        assert len(book.find(book.identify(table())).accounts) == 2


def test_what_was_altered_or_moved_is_not_merged(two, tmp_path):
    import sqlite3

    with Ledger.open(two[0]) as book, pytest.raises(InputError, match="same ledger"):
        book.merge(book)
    moved = tmp_path / "elsewhere.sqlite"
    with Ledger.open(two[1]) as book:
        book.move(moved)
    with pytest.raises(InputError, match="was moved"):
        merge(*two)
    with sqlite3.connect(moved) as connection:
        connection.execute("UPDATE entry SET epsilon = '0.1' WHERE seq = 3")
    connection.close()
    before = two[0].read_bytes()
    with pytest.raises(CheckFailedError, match="entry 3 was changed"):
        merge(two[0], moved)
    assert two[0].read_bytes() == before


def test_a_crash_between_the_two_files_leaves_both_in_use_and_is_repeated(two, monkeypatch):
    from workbench.release.ledger.entry_chain import VerifiedEntries

    real, ended = VerifiedEntries.commit, []

    def commit(chain: VerifiedEntries) -> None:
        if chain._path == two[1] and ended:
            raise KeyboardInterrupt
        real(chain)
        ended.append(chain._path)

    monkeypatch.setattr(VerifiedEntries, "commit", commit)
    with pytest.raises(KeyboardInterrupt):
        merge(*two)
    monkeypatch.undo()
    assert ended == [two[0]]
    with Ledger.open(two[1]) as book:  # not marked: what it charges now is found by the next merge
        charge(book, "1.5", dataset=book.enter(book.identify(table())))
    merge(*two)
    with Ledger.open(two[0]) as book:
        assert book.account(book.enter(book.identify(table()))).used[0] == Decimal("4.5")
        assert book.verify() == []


def prepared(folder: Path, releases: int = 60) -> tuple[Path, Path]:
    folder.mkdir()
    paths = folder / "one.sqlite", folder / "two.sqlite"
    for path in paths:
        with Ledger.open(path) as book:
            book.set_cap(A, Decimal(1000))
            book._begin()  # one commit: this is about the merge
            for _ in range(releases):
                charge(book, "1")
            book._db.execute("COMMIT")
    return paths


def kill_merges(folder: Path, kills: int) -> None:
    started = time.monotonic()
    merge(*prepared(folder / "whole"))
    whole = time.monotonic() - started
    for number in range(kills):
        place = folder / str(number)
        one, two = prepared(place)
        worker = forks().Process(target=merge, args=(one, two))
        worker.start()
        time.sleep(whole * number / kills)
        worker.kill()  # a merge that is done has nothing left to kill
        worker.join(60)
        with Ledger.open(one) as book, Ledger.open(two) as other:
            assert book.verify() == other.verify() == []
            assert book.account(A).used[0] == (120 if list(book.entries("merge")) else 60)
            if other.moved_to() is not None:
                assert book.account(A).used[0] == 120
        merge(one, two)
        assert used(one) == 120
        shutil.rmtree(place)


@pytest.mark.slow
def test_merges_killed_at_any_moment_lose_no_charge(tmp_path):
    kill_merges(tmp_path, 40)


ACTS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["reserve", "reserve", "charge", "void", "settle", "cap", "link", "filter"]),
        st.sampled_from([A, B, C]),
        st.sampled_from(["0.5", "1", "3"]),
    ),
    max_size=14,
)


def act_on(book: Ledger, act: str, dataset: str, amount: str) -> None:
    waiting = [r.release_id for r in book.releases() if r.status == "reserved"]
    try:
        if act == "reserve":
            book.reserve(dataset, loss_of(amount), work="test")
        elif act == "cap":
            book.set_cap(dataset, Decimal(amount) * 10, Decimal("1e-5"))
        elif act == "link":
            book.link_version(dataset, A)
        elif act == "filter" and book.account(dataset).standing_cap is not None:
            book.count_by(dataset, FILTER)
        elif waiting and act == "charge":
            book.charge(waiting[0])
        elif waiting and act == "void":
            book.void(waiting[-1], "test")
        elif waiting and act == "settle":
            book.settle(waiting[0], Decimal("0.25"), Decimal(0))
    except (BudgetRefusedError, InputError, ParameterError):
        pass  # nothing happened, or a refusal was recorded


def check_merge(shared: list, apart: list, begins_as_a_copy: bool) -> None:
    with tempfile.TemporaryDirectory(dir=FAST) as folder:
        one, two = Path(folder) / "one.sqlite", Path(folder) / "two.sqlite"
        with Ledger.open(one) as book:
            for _, *act in shared:
                act_on(book, *act)
        if begins_as_a_copy:
            fork_of(one, two)
        with Ledger.open(one) as book, Ledger.open(two) as other:
            for which, *act in apart:
                mine = (book, other)[which]
                if mine.missing() is not None:  # what the other copy wrote last
                    mine.accept()
                act_on(mine, *act)
            costs: dict[str, tuple[str, Decimal]] = {}
            for each in (book, other):
                for r in each.releases():
                    if r.status in ("reserved", "charged", "settled"):
                        costs[r.release_id] = r.dataset, max(r.epsilon, costs.get(r.release_id, ("", Decimal(0)))[1])
            joined = [{x, y} for each in (book, other) for x in (A, B, C) for y in (A, B, C)
                      if each.account_of(x) == each.account_of(y)]  # fmt: skip
            caps = [(d, cap) for each in (book, other) for d in (A, B, C) if (cap := each.account(d).standing_cap)]
            book.merge(other)
            assert book.missing() is None
            assert book.verify() == []
            for pair in joined:
                assert len({book.account_of(d) for d in pair}) == 1
            for dataset in (A, B, C):
                own = [cost for d, cost in costs.values() if book.account_of(d) == book.account_of(dataset)]
                account = book.account(dataset)
                summed = sum(own, Decimal(0))
                assert account.used[0] == summed if account.count is None else account.used[0] <= summed
                limits = [cap[0] for d, cap in caps if book.account_of(d) == account.dataset]
                assert not limits or account.cap[0] <= min(limits)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ACTS, ACTS, st.booleans())
def test_whatever_two_ledgers_hold_the_merged_one_holds_every_charge_once(shared, apart, copied):
    check_merge(shared, apart, copied)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ACTS, ACTS, st.booleans())
def test_merges_of_hundreds_of_pairs(shared, apart, copied):
    check_merge(shared, apart, copied)


# -- trainings that went on in several copies -------------------------------------------------------------------------


@pytest.fixture
def paused(tmp_path):
    """A ledger that knows a training of 2 that can be interrupted."""
    path = tmp_path / "one.sqlite"
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(100))
        book.reserve(A, loss_of("2"), work="dpsgd", details={RESUMABLE: True})
    return path


def go_on(path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Go on with the training on a computer of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(path.with_suffix(".state")))
    with Ledger.open(path) as book:
        (release,) = book.releases()
        if how != "charge":
            book.resume(release.release_id, {})
        if how == "settle":
            book.settle(release.release_id, Decimal(1), Decimal(0))
        elif how != "resume":
            book.charge(release.release_id)


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        (("finish", "finish"), "4"),
        (("resume", "finish"), "4"),
        (("finish", "resume"), "4"),
        (("resume", "resume"), "4"),
        (("charge", "finish"), "4"),
        (("settle", "finish"), "3"),
        (("", "finish"), "2"),
        (("finish", ""), "2"),
        (("", ""), "2"),
        (("finish", "finish", "finish"), "6"),
        (("", "finish", "finish"), "4"),
        (("finish", "", "settle"), "3"),
    ],
)
def test_a_training_that_went_on_in_several_copies_costs_what_each_has_spent(paused, monkeypatch, ways, expected):
    """Each copy has taken steps of its own from the same checkpoint, with noise of its own."""
    assert RESUMABLE == checkpoint_folder.RESUMABLE
    paths = [paused, *(fork_of(paused, paused.with_name(f"copy{n}.sqlite")) for n in range(1, len(ways)))]
    for path, how in zip(paths, ways, strict=True):
        if how:
            go_on(path, monkeypatch, how)
    monkeypatch.setenv("XDG_STATE_HOME", str(paused.with_suffix(".state")))
    for path in paths[1:]:
        before = fork_of(path, path.with_suffix(".before"))
        assert merge(paused, path).shared == 1
        fork_of(before, path)  # as if the other file had not been told of the merge
        merge(paused, path)
    assert used(paused) == Decimal(expected)
    with Ledger.open(paused) as book:
        (release,) = book.releases()
        assert release.status == "charged"
        assert release.body.get("event", "plain") is None or Decimal(expected) <= 2


def test_a_training_that_came_along_and_went_on_elsewhere_costs_both(paused, monkeypatch):
    """One copy of it was merged into a ledger that never knew it, another one went on by itself."""
    copy, third = fork_of(paused, paused.with_name("copy.sqlite")), paused.with_name("third.sqlite")
    go_on(paused, monkeypatch, "finish")
    go_on(copy, monkeypatch, "finish")
    monkeypatch.setenv("XDG_STATE_HOME", str(third.with_suffix(".state")))
    with Ledger.open(third) as book:
        charge(book, "1", dataset=B)
    merge(third, paused)
    assert used(third) == 2
    monkeypatch.setenv("XDG_STATE_HOME", str(copy.with_suffix(".state")))  # where the copy is the newest one
    merge(third, copy)
    assert used(third) == 4
    with Ledger.open(third) as book:
        assert book.account(B).used[0] == 1


# -- copies that go on at once and are merged meanwhile ---------------------------------------------------------------


FOLDERS = ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME")


def charge_many(path: Path, computer: Path, told: Path, times: int, reopen: bool) -> None:
    """Charge again and again, as on a computer of its own; write down what was charged, after it was."""
    for name in FOLDERS:
        os.environ[name] = str(computer)
    book = Ledger.open(path)
    with told.open("w") as out:
        for _ in range(times):
            if reopen:
                book.close()
                book = Ledger.open(path)
            try:
                print(charge(book, "1"), file=out, flush=True)
            except InputError as error:
                if "moved" not in str(error):
                    raise
                break
    book.close()


def live(folder: Path, monkeypatch: pytest.MonkeyPatch, copies: int, hands: int, times: int) -> None:
    """Let several processes charge several copies while one after another is merged into the first."""
    for name in FOLDERS:
        monkeypatch.setenv(name, str(folder / "home0"))
    paths = [folder / "0.sqlite", *(folder / f"{n}.sqlite" for n in range(1, copies + 1))]
    with Ledger.open(paths[0]) as book:
        book.set_cap(A, Decimal(10_000))
        for _ in range(3):
            charge(book, "1")
    workers, notes = [], []
    for n, path in enumerate(paths):
        if n:
            fork_of(paths[0], path)
        for hand in range(hands):
            notes.append(folder / f"{n}-{hand}.txt")
            given = (path, folder / f"home{n}", notes[-1], times, hand == 0)
            workers.append(forks().Process(target=charge_many, args=given))
    for worker in workers:
        worker.start()
    deadline = time.monotonic() + 120
    for note in notes:  # all of them are at it
        while not note.exists() or not note.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    for path in paths[1:]:
        merge(paths[0], path)
        merge(paths[0], path)  # what went between two merges, if anything, comes along
    for worker in workers:
        worker.join(300)
        assert worker.exitcode == 0
    told = {line for note in notes for line in note.read_text().split()}
    assert len(told) > 2 * len(notes)
    with Ledger.open(paths[0]) as book:
        assert book.verify() == []
        found = {r.release_id: r.status for r in book.releases()}
        assert told <= found.keys(), "a charge is lost"
        assert {found[r] for r in told} == {"charged"}
        # Beside them, the three of the beginning, and what was reserved or charged while its process was told to stop.
        spare = len(found) - 3 - len(told)
        assert 0 <= spare <= len(notes)
        assert book.account(A).used[0] == len(found) - list(found.values()).count("void")
        assert book.account(A).used[0] >= 3 + len(told)


def test_copies_that_are_charged_while_they_are_merged_lose_no_charge(tmp_path, monkeypatch):
    live(tmp_path, monkeypatch, copies=1, hands=1, times=30)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 3])
def test_many_hands_on_several_copies_lose_no_charge(tmp_path, monkeypatch, copies):
    live(tmp_path, monkeypatch, copies, hands=3, times=120)


@pytest.mark.slow
def test_a_copied_checkpoint_that_goes_on_in_two_copies_costs_both(tmp_path, monkeypatch):
    """Both take the later steps with noise of their own: two models, and the merged ledger has both charges."""
    pytest.importorskip("torch")
    from test_paused_runs import WHOLE, Checkpoints, paused_at, release, runs_folder

    from workbench.deep.model import WEIGHTS

    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    for name in FOLDERS:
        monkeypatch.setenv(name, str(here))
    with Ledger.open(here / "ledger.sqlite") as ledger:
        paused_at(ledger, here / "net", 17)
    shutil.copytree(here, there)
    for computer in (here, there):
        for name in FOLDERS:
            monkeypatch.setenv(name, str(computer))
        (folder,) = runs_folder().iterdir()
        with Ledger.open(computer / "ledger.sqlite") as ledger:
            release(ledger, computer / "net", checkpoints=Checkpoints(resume=folder))
            assert [r.status for r in ledger.releases()] == ["charged"]
    for name in FOLDERS:
        monkeypatch.setenv(name, str(here))
    assert merge(here / "ledger.sqlite", there / "ledger.sqlite").shared == 1
    with Ledger.open(here / "ledger.sqlite") as ledger:
        (found,) = ledger.releases()
        assert ledger.verify() == []
        assert found.epsilon >= 2 * WHOLE.epsilon
        assert ledger.account(found.dataset).used[0] >= 2 * WHOLE.epsilon
    weights = [(computer / "net" / WEIGHTS).read_bytes() for computer in (here, there)]
    assert weights[0] != weights[1]

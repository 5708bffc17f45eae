"""What the next run makes of a release that was killed."""

import json
import os
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest
from release_cases import (
    assert_sound,
    certificate_of,
    forks,
    names_in,
    raise_cap,
    release,
    release_and_die,
    run_to_exit,
    statuses,
)

from workbench.release import processes
from workbench.release import recover as recover_module
from workbench.release.ledger import Ledger
from workbench.release.processes import still_runs, this_process
from workbench.release.recover import recover
from workbench.release.verify import verify_in_ledger, verify_release

EXPORT, ATOMIC, LEDGER = "workbench.release.export", "workbench.release.atomic", "workbench.release.ledger:Ledger"
PART = "workbench.release.atomic:PartFile"

# (where, which function, which call, after it?, what is left of a first release, its status once recovered)
# LOST: values had reached the disk, so the charge stands though nothing is released.
VOID, LOST, CHARGED = "void", "lost", "charged"
STATUS = {VOID: "void", LOST: "charged", CHARGED: "charged"}
MOMENTS: dict[str, tuple[str, str, int, bool, str | None]] = {
    "before the reservation": (LEDGER, "reserve", 1, False, None),
    "in the reservation, before the commit": (LEDGER, "_append", 2, True, None),
    "after the reservation": (LEDGER, "reserve", 1, True, VOID),
    "before the draw": (EXPORT, "draw", 1, False, VOID),
    "after the draw": (EXPORT, "draw", 1, True, VOID),
    "in the middle of writing": (EXPORT, "csv_bytes", 1, True, VOID),
    "before the last sync": (PART, "sync", 1, False, VOID),
    "after the last sync": (PART, "sync", 1, True, LOST),
    "before the certificate is written": (EXPORT, "write_whole", 1, False, LOST),
    "before the certificate has its name": (ATOMIC, "_link", 1, False, LOST),
    "when the certificate has its name": (ATOMIC, "_link", 1, True, CHARGED),
    "after the certificate": (EXPORT, "write_whole", 1, True, CHARGED),
    "before the rename": (PART, "publish", 1, False, CHARGED),
    "after the rename": (PART, "publish", 1, True, CHARGED),
    "before the charge": (LEDGER, "complete", 1, False, CHARGED),
    "in the charge, before the commit": (LEDGER, "_append", 3, True, CHARGED),
    "after the charge": (LEDGER, "complete", 1, True, CHARGED),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def recovered(ledger: Path) -> list[str]:
    with Ledger.open(ledger) as opened:
        return recover(opened)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_first_release_killed_at_any_moment_is_settled_truly(folder: Path, ledger: Path, moment: str) -> None:
    owner, name, call, after, expected = MOMENTS[moment]
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, owner, name, call, after) == -9
    assert_sound(folder, target, ledger)
    recovered(ledger)
    assert statuses(ledger) == ([STATUS[expected]] if expected else [])
    # What stands is paid for and whole; what is void never stood.
    assert names_in(folder) == (
        {"people.csv", "people.csv.certificate.json"} if expected == CHARGED else {*()} | parts(folder)
    )
    assert target.exists() is (expected == CHARGED)
    if expected == CHARGED:
        assert verify_release(target) == []
        with Ledger.open(ledger) as opened:
            assert verify_in_ledger(certificate_of(target), opened) == []
    if expected in (LOST, CHARGED):
        raise_cap(ledger, "6")
    release(ledger, target)
    assert names_in(folder) == {"people.csv", "people.csv.certificate.json"}
    assert verify_release(target) == []


def parts(folder: Path) -> set[str]:
    """Part files of runs that had not reserved anything yet: the next run of the same output removes them."""
    return {n for n in names_in(folder) if n.endswith(".part")}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_later_release_killed_at_any_moment_keeps_the_old_one_or_is_whole(
    folder: Path, ledger: Path, moment: str
) -> None:
    owner, name, call, after, expected = MOMENTS[moment]
    target = folder / "people.csv"
    release(ledger, target)
    raise_cap(ledger, "6")
    old = {n: (folder / n).read_bytes() for n in names_in(folder)}
    if (owner, name) == (LEDGER, "_append"):
        call -= 1  # no cap is set any more
    assert run_to_exit(release_and_die, ledger, target, owner, name, call, after) == -9
    if moment != "when the certificate has its name":  # there it has its part name only
        assert_sound(folder, target, ledger)
    else:
        expected = LOST
    recovered(ledger)
    assert statuses(ledger) == ["charged", *([STATUS[expected]] if expected else [])]
    assert {n for n in names_in(folder) if not n.endswith(".part")} == set(old)
    assert (target.read_bytes() == old["people.csv"]) is (expected != CHARGED)
    assert verify_release(target) == []
    if expected != CHARGED:
        assert {n: (folder / n).read_bytes() for n in old} == old
    raise_cap(ledger, "20")
    release(ledger, target)
    assert names_in(folder) == set(old)
    assert verify_release(target) == []


def test_an_old_certificate_is_never_gone_while_its_table_stands(folder: Path, ledger: Path) -> None:
    """The new certificate replaces the old one in one step, though Linux cannot link over a name."""
    target = folder / "people.csv"
    release(ledger, target)
    raise_cap(ledger, "9")
    old = certificate_of(target)
    for owner, name, call in ((ATOMIC, "_link", 2), ("os", "replace", 1)):
        assert run_to_exit(release_and_die, ledger, target, owner, name, call) == -9
        assert certificate_of(target) == old
        assert verify_release(target) == []
        recovered(ledger)
        assert names_in(folder) == {"people.csv", "people.csv.certificate.json"}
    assert statuses(ledger) == ["charged", "charged", "charged"]


def test_between_certificate_and_table_the_pair_does_not_verify_until_it_is_recovered(
    folder: Path, ledger: Path
) -> None:
    target = folder / "people.csv"
    release(ledger, target)
    raise_cap(ledger, "6")
    assert run_to_exit(release_and_die, ledger, target, PART, "publish") == -9
    assert verify_release(target)  # the old table beside the new certificate
    (told,) = recovered(ledger)
    assert "was complete and now stands at" in told
    assert verify_release(target) == []
    assert statuses(ledger) == ["charged", "charged"]


def test_a_part_that_is_not_what_its_certificate_says_is_never_put_in_place(folder: Path, ledger: Path) -> None:
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, PART, "publish") == -9
    (part,) = folder.glob("*.part")
    part.write_bytes(part.read_bytes()[:-1])
    recovered(ledger)
    assert names_in(folder) == set()
    assert statuses(ledger) == ["charged"]  # whoever looked into the part saw values


def test_a_crash_whose_files_are_gone_stays_charged(folder: Path, ledger: Path) -> None:
    """Where neither part nor output is found, somebody may have taken the output away."""
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, EXPORT, "draw", 1, True) == -9
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    (told,) = recovered(ledger)
    assert "stays charged" in told
    assert statuses(ledger) == ["charged"]


def test_recovery_killed_in_its_own_middle_is_taken_up_again(folder: Path, ledger: Path) -> None:
    for number, (step, expected) in enumerate(
        [((LEDGER, "void"), VOID), (("pathlib:Path", "replace"), CHARGED), (("pathlib:Path", "unlink"), VOID)]
    ):
        target = folder / f"{number}.csv"
        book = ledger.with_name(f"{number}.sqlite")
        moment = (PART, "publish") if expected == CHARGED else (EXPORT, "draw")
        assert run_to_exit(release_and_die, book, target, *moment) == -9
        for after in (False, True):
            run_to_exit(recover_and_die, book, *step, after)
            assert_sound(folder, target, book, allowed=frozenset(names_in(folder)))
        recovered(book)
        assert statuses(book) == [expected]
        assert target.exists() is (expected == CHARGED)
        if expected == CHARGED:
            assert verify_release(target) == []


def recover_and_die(ledger: Path, owner: str, attribute: str, after: bool) -> None:
    import release_cases

    release_cases.die_at(owner, attribute, 1, after)
    recovered(ledger)


# -- who still runs ---------------------------------------------------------------------------------------------------


def test_this_process_still_runs_and_a_dead_one_does_not() -> None:
    process = forks().Process(target=os.getpid)
    process.start()
    process.join()
    assert still_runs(this_process())
    assert not still_runs({**this_process(), "pid": process.pid})
    assert not still_runs({**this_process(), "started": 1.0})  # its number was given to another
    assert not still_runs({"host": this_process()["host"]})
    assert still_runs({**this_process(), "host": "another machine"})
    assert still_runs({})


def hold(ledger: Path, target: Path, ready: Path, go: Path) -> None:
    """Release, and wait before writing until told to go on."""
    import time

    from workbench.release import export

    real = export._write

    def wait(*arguments: object) -> object:
        ready.touch()
        while not go.exists():
            time.sleep(0.005)
        return real(*arguments)  # type: ignore[arg-type]

    export._write = wait  # type: ignore[assignment]
    release(ledger, target)


@pytest.mark.parametrize("clock_was_set", [False, True])
def test_a_release_that_still_runs_is_left_alone(
    folder: Path, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock_was_set: bool
) -> None:
    """Also where its process looks dead, because a clock was set or it runs in another container: it holds a lock."""
    target, ready, go = folder / "people.csv", tmp_path / "ready", tmp_path / "go"
    process = forks().Process(target=hold, args=(ledger, target, ready, go))
    process.start()
    while not ready.exists():
        assert process.is_alive()
    if clock_was_set:
        monkeypatch.setattr(recover_module, "still_runs", lambda process: False)
    assert recovered(ledger) == []
    with pytest.raises(Exception, match="only 0 remain"):
        release(ledger, target)
    assert statuses(ledger) == ["reserved", "refused"]
    go.touch()
    process.join(60)
    assert process.exitcode == 0
    assert statuses(ledger) == ["charged", "refused"]
    assert verify_release(target) == []


def test_two_recoveries_at_once_settle_a_release_once(folder: Path, ledger: Path) -> None:
    target = folder / "people.csv"
    release(ledger, target)
    raise_cap(ledger, "100")
    for round_ in range(5):
        moment = (PART, "publish") if round_ % 2 else (EXPORT, "draw")
        assert run_to_exit(release_and_die, ledger, target, *moment) == -9
        racers = [forks().Process(target=recovered, args=(ledger,)) for _ in range(3)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(60)
        assert [r.exitcode for r in racers] == [0, 0, 0]
        assert names_in(folder) == {"people.csv", "people.csv.certificate.json"}
    assert statuses(ledger) == ["charged", "void", "charged", "void", "charged", "void"]
    assert verify_release(target) == []


def test_a_reservation_of_another_machine_is_kept(folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_to_exit(release_and_die, ledger, folder / "people.csv", EXPORT, "draw") == -9
    monkeypatch.setattr(processes.socket, "gethostname", lambda: "elsewhere")
    assert recovered(ledger) == []
    assert statuses(ledger) == ["reserved"]


def test_what_cannot_be_looked_at_stays_reserved(folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_to_exit(release_and_die, ledger, folder / "people.csv", EXPORT, "draw") == -9

    def deny(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(recover_module, "sole_user", deny)
    (told,) = recovered(ledger)
    assert told.endswith("stays charged: Permission denied")
    assert statuses(ledger) == ["reserved"]


def test_recovery_over_a_tampered_ledger_decides_nothing(folder: Path, ledger: Path) -> None:
    assert run_to_exit(release_and_die, ledger, folder / "people.csv", EXPORT, "draw") == -9
    connection = sqlite3.connect(ledger)
    with connection:
        body = json.loads(connection.execute("SELECT body FROM entry WHERE seq = 2").fetchone()[0])
        body.pop("part")
        connection.execute("UPDATE entry SET body = ? WHERE seq = 2", (json.dumps(body),))
    connection.close()
    assert recovered(ledger) == []
    with Ledger.open(ledger) as opened:
        assert opened.verify() == ["entry 2 was changed after it was written"]
        (account,) = opened.caps()
        assert opened.account(account).used[0] == Decimal(3)

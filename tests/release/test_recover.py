"""What the next run makes of a release that was killed, and what recovery leaves: what still runs or is another's."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from release_cases import (
    assert_sound,
    certificate_of,
    contents,
    forks,
    loss_of,
    names_in,
    raise_cap,
    release,
    release_and_die,
    run_to_exit,
    statuses,
)

from workbench.params import BudgetRefusedError, InputError
from workbench.release import recover as recover_module
from workbench.release.atomic import exclusive_lock
from workbench.release.ledger import location
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.location import still_runs, this_process
from workbench.release.recover import CHARGED_FIRST, clear_leftovers, finished_draw, recover, settle_own_reservations
from workbench.release.verify import verify_in_ledger, verify_release

EXPORT, FORMATS, ATOMIC, LEDGER = (
    "workbench.release.rows_work",
    "workbench.release.table_formats",
    "workbench.release.atomic",
    "workbench.release.ledger.ledger:Ledger",
)
PART, RECOVER = "workbench.release.part_files:DrawFile", "workbench.release.recover"

# (where, which function, which call, after it?, what becomes of a first release)
# VOID: nothing drawn was written. LOST: the charge was final, though nothing is released. WAITS: the draw is finished
# and the next run publishes it. STANDS: it has its name.
VOID, LOST, WAITS, STANDS = "void", "lost", "waits", "stands"
MOMENTS: dict[str, tuple[str, str, int, bool, str | None]] = {
    "before the reservation": (LEDGER, "reserve", 1, False, None),
    "in the reservation, before the commit": (LEDGER, "_append", 3, True, None),
    "after the reservation": (LEDGER, "reserve", 1, True, VOID),
    "before the draw": (EXPORT, "draw_prepared", 1, False, VOID),
    "after the draw": (EXPORT, "draw_prepared", 1, True, VOID),
    "before the charge": (LEDGER, "charge", 1, False, VOID),
    "in the charge, before the commit": (LEDGER, "_append", 4, True, VOID),
    "after the charge": (LEDGER, "charge", 1, True, LOST),
    "before the first byte": (PART, "write", 1, False, LOST),
    "in the middle of writing": (FORMATS, "csv_text", 1, True, LOST),
    "before the last sync": (PART, "finish", 1, False, LOST),
    "after the last sync": (PART, "finish", 1, True, LOST),
    "before the certificate is recorded": (LEDGER, "certify", 1, False, LOST),
    "when the certificate is recorded": (LEDGER, "certify", 1, True, WAITS),
    "before the certificate is written": (RECOVER, "write_whole", 1, False, WAITS),
    "before the certificate has its name": (ATOMIC, "_link", 1, False, WAITS),
    "when the certificate has its name": (ATOMIC, "_link", 1, True, WAITS),
    "after the certificate": (RECOVER, "write_whole", 1, True, WAITS),
    "before the rename": (PART, "publish", 1, False, WAITS),
    "after the rename": (PART, "publish", 1, True, STANDS),
}
STATUS = {VOID: "void", LOST: "charged", WAITS: "charged", STANDS: "charged"}
PAIR = {"people.csv", "people.csv.certificate.json"}


@pytest.fixture
def ledger(path):
    return path


def recovered(ledger: Path) -> list[str]:
    with Ledger.open(ledger) as opened:
        return recover(opened)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_first_release_killed_at_any_moment_is_settled_truly(folder, ledger, moment):
    owner, name, call, after, expected = MOMENTS[moment]
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, owner, name, call, after) == -9
    assert_sound(folder, target, ledger)
    recovered(ledger)
    assert statuses(ledger) == ([STATUS[expected]] if expected else [])
    assert target.exists() is (expected == STANDS)
    if expected in (LOST, STANDS):
        raise_cap(ledger, "6")
    done = release(ledger, target)  # the next run: of a finished draw it makes up the rename and charges nothing
    assert done.published_earlier is (expected == WAITS)
    assert statuses(ledger) == [*([STATUS[expected]] if expected and expected != WAITS else []), "charged"]
    assert names_in(folder) == PAIR
    assert verify_release(target) == []
    with Ledger.open(ledger) as opened:
        assert verify_in_ledger(certificate_of(target), opened) == []
        assert opened.finished() == {}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_later_release_killed_at_any_moment_keeps_the_old_one_or_is_whole(folder, ledger, moment):
    owner, name, call, after, expected = MOMENTS[moment]
    target = folder / "people.csv"
    release(ledger, target)
    raise_cap(ledger, "6")
    old = {n: (folder / n).read_bytes() for n in names_in(folder)}
    if (owner, name) == (LEDGER, "_append"):
        call -= 2  # the table is known and no cap is set any more
    assert run_to_exit(release_and_die, ledger, target, owner, name, call, after) == -9
    recovered(ledger)
    assert statuses(ledger) == ["charged", *([STATUS[expected]] if expected else [])]
    named = moment in ("when the certificate has its name", "after the certificate", "before the rename")
    if expected != STANDS and not named:
        assert {n: (folder / n).read_bytes() for n in old} == old
    raise_cap(ledger, "20")
    done = release(ledger, target)
    assert done.published_earlier is (expected == WAITS)
    assert names_in(folder) == set(old)
    assert verify_release(target) == []


def test_an_old_certificate_is_never_gone_while_its_table_stands(folder, ledger):
    """The new certificate replaces the old one in one step, though Linux cannot link over a name."""
    target = folder / "people.csv"
    release(ledger, target)
    raise_cap(ledger, "9")
    old = certificate_of(target)
    for owner, name, call in ((ATOMIC, "_link", 2), ("os", "replace", 1)):
        assert run_to_exit(release_and_die, ledger, target, owner, name, call) == -9
        assert certificate_of(target) == old
        assert verify_release(target) == []
        (part,) = folder.glob("people.csv.????????.part")
        part.unlink()  # as a person may who does not want the draw any more
        release(ledger, target)
        assert names_in(folder) == PAIR
        old = certificate_of(target)
        raise_cap(ledger, "30")


def test_a_pair_of_which_one_half_has_its_name_is_completed_before_anything_else_is_released(folder, ledger):
    target = folder / "people.csv"
    release(ledger, target)
    raise_cap(ledger, "60")
    assert run_to_exit(release_and_die, ledger, target, PART, "publish") == -9
    assert verify_release(target)  # the old table beside the new certificate
    release(ledger, target, epsilon=1.5)  # asks for something else, and is charged
    assert statuses(ledger) == ["charged", "charged", "charged"]
    assert names_in(folder) == PAIR
    assert verify_release(target) == []


def test_another_request_does_not_take_away_a_finished_draw(folder, ledger):
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, RECOVER, "write_whole") == -9
    raise_cap(ledger, "60")
    before = contents(folder)
    with pytest.raises(InputError, match="is not yet published under this name, but this run asks for something else"):
        release(ledger, target, epsilon=1.0)
    with pytest.raises(InputError, match="is not yet published under this name, but this run asks for something else"):
        release(ledger, target, seed=8)
    assert contents(folder) == before
    assert statuses(ledger) == ["charged"]
    assert release(ledger, target).published_earlier


def test_a_part_that_is_not_what_its_certificate_says_is_never_put_in_place(folder, ledger):
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, PART, "publish") == -9
    (part,) = folder.glob("*.part")
    part.write_bytes(part.read_bytes()[:-1])
    raise_cap(ledger, "60")
    assert not release(ledger, target).published_earlier
    assert statuses(ledger) == ["charged", "charged"]  # whoever looked into the part saw values
    assert names_in(folder) == PAIR
    assert verify_release(target) == []


def test_a_crash_whose_files_are_gone_is_settled_by_the_ledger_alone(folder, ledger):
    """Whether anything was written does not follow from what is found: the charge comes before the first byte."""
    target = folder / "people.csv"
    for moment, expected in (((EXPORT, "draw_prepared", 1, True), "void"), ((PART, "finish", 1, True), "charged")):
        assert run_to_exit(release_and_die, ledger, target, *moment) == -9
        for path in folder.iterdir():
            path.unlink()
        recovered(ledger)
        assert statuses(ledger)[-1] == expected
    assert statuses(ledger) == ["void", "charged"]


def test_recovery_touches_no_file_that_the_ledger_names_elsewhere(folder, ledger, tmp_path):
    """The attack: a ledger whose entries name somebody's files is only shown, and they are gone."""
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, EXPORT, "draw_prepared") == -9
    elsewhere = tmp_path / "mine"
    elsewhere.mkdir()
    (elsewhere / "thesis.tex").write_text("years of work")
    with Ledger.open(ledger) as opened:
        opened.set_cap("e" * 32, Decimal(9))
    for body in (
        {"output": str(elsewhere), "part": str(elsewhere / "thesis.tex")},
        {"output": str(elsewhere), "part": str(elsewhere)},
        {"output": str(target), "part": str(elsewhere)},
        {"output": str(target), "part": "../mine"},
        {"output": str(target), "part": "thesis.tex", "charged-first": True},
        {"output": str(target), "part": ""},
    ):
        with Ledger.open(ledger) as opened:
            evil = opened.reserve("e" * 32, loss_of("0.01"), work="sanitize", details=body)
            opened.charge(evil)
            opened.certify(evil, "0" * 64, "0" * 64, "{}")
            opened.reserve("e" * 32, loss_of("0"), work="sanitize", details={**body, "process": {"pid": 0}})
            recover(opened)
            clear_leftovers(opened, target)
            assert finished_draw(opened, target) is None
    release(ledger, target)
    assert (elsewhere / "thesis.tex").read_text() == "years of work"
    assert names_in(folder) == PAIR


def test_what_another_ledger_drew_for_the_same_output_stays(folder, ledger, tmp_path):
    target, other = folder / "people.csv", tmp_path / "other.sqlite"
    assert run_to_exit(release_and_die, other, target, RECOVER, "write_whole") == -9
    (theirs,) = folder.iterdir()
    release(ledger, target)
    assert names_in(folder) == PAIR | {theirs.name}
    assert release(other, target).published_earlier
    assert names_in(folder) == PAIR


def test_a_part_is_for_its_owner_alone_so_that_nobody_else_can_lock_it(folder, ledger):
    """The attack: whoever may read the output's folder locks it, and reads the finished part meanwhile."""
    fcntl = pytest.importorskip("fcntl")
    target = folder / "people.csv"
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert run_to_exit(release_and_die, ledger, target, RECOVER, "write_whole") == -9
        (part,) = folder.iterdir()
        assert part.stat().st_mode & 0o777 == 0o600
        assert release(ledger, target).published_earlier  # the folder's lock keeps nobody waiting
    finally:
        os.close(descriptor)
    assert statuses(ledger) == ["charged"]


def test_recovery_killed_in_its_own_middle_is_taken_up_again(folder, ledger):
    for number, step in enumerate(
        [(LEDGER, "void"), (RECOVER, "write_whole"), (PART, "publish"), (LEDGER, "finished"), ("os", "replace")]
    ):
        target = folder / f"{number}.csv"
        book = ledger.with_name(f"{number}.sqlite")
        moment = (EXPORT, "draw_prepared") if step[1] == "void" else (RECOVER, "write_whole")
        assert run_to_exit(release_and_die, book, target, *moment) == -9
        for after in (False, True):
            run_to_exit(release_and_die, book, target, *step, 1, after)
        raise_cap(book, "60")
        published = target.exists()  # by a run that died only after the rename
        release(book, target)
        assert [s for s in statuses(book) if s != "void"] == ["charged"] * (1 + published)
        assert names_in(folder) >= {target.name, f"{target.name}.certificate.json"}
        assert verify_release(target) == []
    assert not list(folder.glob("*.part"))


@pytest.mark.parametrize("document", ["[]", "{}", "null", '{"output": []}', '{"output": {"sha256": 5}}'])
def test_a_finished_draw_whose_certificate_was_replaced_is_never_published(folder, ledger, document):
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, RECOVER, "write_whole") == -9
    raise_cap(ledger, "60")
    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE finished SET document = ?", (document,))
    connection.close()
    assert not release(ledger, target).published_earlier
    assert names_in(folder) == PAIR
    assert verify_release(target) == []


# -- whose reservation and whose part it is ---------------------------------------------------------------------------


def test_this_process_still_runs_and_a_dead_one_does_not():
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
    """Release, and wait before drawing until told to go on."""
    import time

    from workbench.release import rows_work

    real = rows_work.draw_prepared

    def wait(*arguments: object) -> object:
        ready.touch()
        while not go.exists():
            time.sleep(0.005)
        return real(*arguments)  # type: ignore[arg-type]

    rows_work.draw_prepared = wait  # type: ignore[assignment]
    release(ledger, target)


@contextmanager
def held(ledger: Path, target: Path) -> Iterator[BaseProcess]:
    """A release in another process, which waits before it draws until the block ends, and then comes to its end."""
    ready, go = ledger.with_name("ready"), ledger.with_name("go")
    process = forks().Process(target=hold, args=(ledger, target, ready, go))
    process.start()
    while not ready.exists():
        assert process.is_alive()
    yield process
    go.touch()
    process.join(60)


def test_a_release_that_still_runs_is_left_alone(folder, ledger):
    target = folder / "people.csv"
    with held(ledger, target) as process:
        assert recovered(ledger) == []
        with pytest.raises(BudgetRefusedError, match="nothing is left"):
            release(ledger, target)
        assert statuses(ledger) == ["reserved", "refused"]
    assert process.exitcode == 0
    assert statuses(ledger) == ["charged", "refused"]
    assert verify_release(target) == []


def test_a_run_whose_reservation_was_taken_for_dead_writes_nothing(folder, ledger, monkeypatch):
    """It may look dead because a clock was set, or because it runs in another container."""
    with held(ledger, folder / "people.csv") as process:
        with monkeypatch.context() as patch:
            patch.setattr(recover_module, "still_runs", lambda process: False)
            (told,) = recovered(ledger)
        assert "costs nothing" in told
    assert process.exitcode == 1  # its charge is refused, so it ends before the first byte
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


def test_a_ledger_that_is_moved_under_a_running_release_lets_it_write_nothing(folder, ledger, monkeypatch):
    new = ledger.with_name("new.sqlite")
    with held(ledger, folder / "people.csv") as process, Ledger.open(ledger) as opened:
        with pytest.raises(InputError, match=f"is in progress, in process {process.pid}.*wait for it"):
            opened.move(new)
        with monkeypatch.context() as patch:  # as on another machine, whose processes nobody here can see
            patch.setattr(location, "is_other_live_process", lambda process: False)
            opened.move(new)
    assert process.exitcode == 1  # its charge is refused, so it ends before the first byte
    assert names_in(folder) == set()
    assert recovered(ledger) == []
    assert statuses(ledger) == ["reserved"]
    (told,) = recovered(new)
    assert "costs nothing" in told


def test_runs_at_once_publish_a_finished_draw_once(folder, ledger):
    target = folder / "people.csv"
    for _ in range(4):
        assert run_to_exit(release_and_die, ledger, target, RECOVER, "write_whole") == -9
        racers = [forks().Process(target=release, args=(ledger, target)) for _ in range(3)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(60)
        assert 0 in [r.exitcode for r in racers]
        assert names_in(folder) == PAIR
        assert verify_release(target) == []
        raise_cap(ledger, str(3 * (statuses(ledger).count("charged") + 1)))


def test_a_reservation_of_another_machine_is_kept(folder, ledger, monkeypatch):
    assert run_to_exit(release_and_die, ledger, folder / "people.csv", EXPORT, "draw_prepared") == -9
    monkeypatch.setattr(location.socket, "gethostname", lambda: "elsewhere")
    assert recovered(ledger) == []
    assert statuses(ledger) == ["reserved"]


def test_a_part_that_is_in_use_or_cannot_be_opened_stays(folder, ledger):
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, PART, "finish", 1, True) == -9
    (part,) = folder.iterdir()
    raise_cap(ledger, "60")
    with exclusive_lock(part, otherwise=False) as held:
        assert held
        release(ledger, target)
        assert names_in(folder) == PAIR | {part.name}
    release(ledger, target)
    assert names_in(folder) == PAIR


def test_a_reservation_of_an_older_version_stays_charged(ledger):
    """That version wrote values before their charge was final."""
    with Ledger.open(ledger) as opened:
        opened.reserve("a" * 32, loss_of("1"), work="sanitize", details={"output": "/x/a.csv", "part": "/x/a.csv.part"})
        connection = sqlite3.connect(ledger)
        body = json.loads(connection.execute("SELECT body FROM entry WHERE kind = 'reserve'").fetchone()[0])
        connection.close()
        assert "charged-first" not in body
    dead = forks().Process(target=reserve_as_before, args=(ledger.with_name("dead.sqlite"),))
    dead.start()
    dead.join(60)
    (told,) = recovered(ledger.with_name("dead.sqlite"))
    assert "stays charged" in told
    assert statuses(ledger.with_name("dead.sqlite")) == ["charged"]


def reserve_as_before(ledger: Path) -> None:
    with Ledger.open(ledger) as opened:
        opened.reserve("a" * 32, loss_of("1"), work="sanitize", details={"output": "/x/a.csv", "part": "/x/a.csv.part"})


def test_recovery_over_a_tampered_ledger_decides_nothing(folder, ledger):
    assert run_to_exit(release_and_die, ledger, folder / "people.csv", EXPORT, "draw_prepared") == -9
    connection = sqlite3.connect(ledger)
    with connection:
        body = json.loads(connection.execute("SELECT body FROM entry WHERE seq = 3").fetchone()[0])
        body.pop("part")
        connection.execute("UPDATE entry SET body = ? WHERE seq = 3", (json.dumps(body),))
    connection.close()
    assert recovered(ledger) == []
    with Ledger.open(ledger) as opened:
        assert opened.verify() == ["entry 3 was changed after it was written"]
        (account,) = opened.caps()
        assert opened.account(account).used[0] == Decimal(3)


# -- a run that is cut off --------------------------------------------------------------------------------------------


def test_what_was_charged_without_a_release_is_said_and_what_was_reserved_is_void(path):
    told = {"part": "out.csv.0123abcd.part", CHARGED_FIRST: True}
    with Ledger.open(path) as ledger:
        reserved = ledger.reserve("a", loss_of("0.5"), work="test", details=told)
    assert settle_own_reservations(path) == ""
    with Ledger.open(path) as ledger:
        assert ledger.release(reserved).status == "void"
        ledger.set_cap("a", loss_of("9").epsilon)
        charged = ledger.reserve("a", loss_of("2"), work="test", details=told)
        ledger.charge(charged)
    assert settle_own_reservations(path).startswith("epsilon = 2 stays charged")
    with Ledger.open(path) as ledger:
        ledger.certify(charged, "c" * 64, "r" * 64)
    assert settle_own_reservations(path) == ""

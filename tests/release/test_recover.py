"""What the next run makes of a release that was killed."""

import os
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest
from release_cases import (
    assert_sound,
    certificate_of,
    contents,
    loss_of,
    names_in,
    raise_cap,
    release,
    release_and_die,
    run_to_exit,
    statuses,
)

from workbench.params import InputError
from workbench.release.ledger.ledger import Ledger
from workbench.release.recover import clear_leftovers, finished_draw, recover
from workbench.release.verify import verify_in_ledger, verify_release

EXPORT, ATOMIC, LEDGER = (
    "workbench.release.rows_work",
    "workbench.release.atomic",
    "workbench.release.ledger.ledger:Ledger",
)
PART, RECOVER = "workbench.release.parts:DrawFile", "workbench.release.recover"

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
    "in the middle of writing": (EXPORT, "csv_bytes", 1, True, LOST),
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
def test_a_later_release_killed_at_any_moment_keeps_the_old_one_or_is_whole(
    folder: Path, ledger: Path, moment: str
) -> None:
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
        (part,) = folder.glob("people.csv.????????.part")
        part.unlink()  # as a person may who does not want the draw any more
        release(ledger, target)
        assert names_in(folder) == PAIR
        old = certificate_of(target)
        raise_cap(ledger, "30")


def test_a_pair_of_which_one_half_has_its_name_is_completed_before_anything_else_is_released(
    folder: Path, ledger: Path
) -> None:
    target = folder / "people.csv"
    release(ledger, target)
    raise_cap(ledger, "60")
    assert run_to_exit(release_and_die, ledger, target, PART, "publish") == -9
    assert verify_release(target)  # the old table beside the new certificate
    release(ledger, target, epsilon=1.5)  # asks for something else, and is charged
    assert statuses(ledger) == ["charged", "charged", "charged"]
    assert names_in(folder) == PAIR
    assert verify_release(target) == []


def test_another_request_does_not_take_away_a_finished_draw(folder: Path, ledger: Path) -> None:
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, RECOVER, "write_whole") == -9
    raise_cap(ledger, "60")
    before = contents(folder)
    with pytest.raises(InputError, match="has not been given this name yet, and this run asks for something else"):
        release(ledger, target, epsilon=1.0)
    with pytest.raises(InputError, match="has not been given this name yet, and this run asks for something else"):
        release(ledger, target, seed=8)
    assert contents(folder) == before
    assert statuses(ledger) == ["charged"]
    assert release(ledger, target).published_earlier


def test_a_part_that_is_not_what_its_certificate_says_is_never_put_in_place(folder: Path, ledger: Path) -> None:
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, PART, "publish") == -9
    (part,) = folder.glob("*.part")
    part.write_bytes(part.read_bytes()[:-1])
    raise_cap(ledger, "60")
    assert not release(ledger, target).published_earlier
    assert statuses(ledger) == ["charged", "charged"]  # whoever looked into the part saw values
    assert names_in(folder) == PAIR
    assert verify_release(target) == []


def test_a_crash_whose_files_are_gone_is_settled_by_the_ledger_alone(folder: Path, ledger: Path) -> None:
    """Whether anything was written does not follow from what is found: the charge comes before the first byte."""
    target = folder / "people.csv"
    for moment, expected in (((EXPORT, "draw_prepared", 1, True), "void"), ((PART, "finish", 1, True), "charged")):
        assert run_to_exit(release_and_die, ledger, target, *moment) == -9
        for path in folder.iterdir():
            path.unlink()
        recovered(ledger)
        assert statuses(ledger)[-1] == expected
    assert statuses(ledger) == ["void", "charged"]


def test_recovery_touches_no_file_that_the_ledger_names_elsewhere(folder: Path, ledger: Path, tmp_path: Path) -> None:
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


def test_what_another_ledger_drew_for_the_same_output_stays(folder: Path, ledger: Path, tmp_path: Path) -> None:
    target, other = folder / "people.csv", tmp_path / "other.sqlite"
    assert run_to_exit(release_and_die, other, target, RECOVER, "write_whole") == -9
    (theirs,) = folder.iterdir()
    release(ledger, target)
    assert names_in(folder) == PAIR | {theirs.name}
    assert release(other, target).published_earlier
    assert names_in(folder) == PAIR


def test_a_part_is_for_its_owner_alone_so_that_nobody_else_can_lock_it(folder: Path, ledger: Path) -> None:
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


def test_recovery_killed_in_its_own_middle_is_taken_up_again(folder: Path, ledger: Path) -> None:
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
def test_a_finished_draw_whose_certificate_was_replaced_is_never_published(
    folder: Path, ledger: Path, document: str
) -> None:
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, RECOVER, "write_whole") == -9
    raise_cap(ledger, "60")
    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE finished SET document = ?", (document,))
    connection.close()
    assert not release(ledger, target).published_earlier
    assert names_in(folder) == PAIR
    assert verify_release(target) == []

"""Whatever stops a release: the old output stands, and the charge follows from what could have been read."""

import errno
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from release_cases import (
    MARKS,
    certificate_of,
    contents,
    forks,
    names_in,
    plan_of,
    raise_cap,
    release,
    statuses,
    table_of,
)
from released import release_table

from workbench.params import CancelledError, InputError
from workbench.release import atomic, part_files, recover, rows_work
from workbench.release import release_path as export
from workbench.release.ledger.ledger import Ledger
from workbench.release.part_files import DrawFile
from workbench.release.verify import verify_in_ledger, verify_release
from workbench.signals import AtStake, Event, Notice, Progress
from workbench.signals.cancel import CancelToken


class BoomError(RuntimeError):
    """A fault that nobody foresaw."""


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.sqlite"


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


# A stage of a release, and what a failure in it leaves: nothing charged; the charge alone; the charge and the draw.
FREE, CHARGED, WAITS = "free", "charged", "waits"
STAGES = {
    "draw": (rows_work, "draw_prepared", FREE),
    "the draft of the certificate": (export, "with_checksum", FREE),
    "the charge": (Ledger, "charge", FREE),
    "the first byte": (DrawFile, "write", CHARGED),
    "write": (export._Drawing, "_write", CHARGED),
    "the last sync": (DrawFile, "finish", CHARGED),
    "the certificate": (export, "with_new_checksum", CHARGED),
    "its encoding": (export, "certificate_bytes", CHARGED),
    "its record": (Ledger, "certify", CHARGED),
    "the publication": (export, "publish_draw", WAITS),
    "writing the certificate": (recover, "write_whole", WAITS),
    "the rename": (DrawFile, "publish", WAITS),
    "the rename itself": (os, "replace", WAITS),
}
ERRORS = {
    "fault": BoomError("planted"),
    "cancelled": CancelledError(),
    "interrupt": KeyboardInterrupt(),
    "full disk": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "no memory": MemoryError(),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("stage", STAGES)
def test_a_failure_at_any_stage_leaves_the_old_output_and_the_charge_of_what_was_written(
    folder, ledger, monkeypatch, stage, error
):
    target = folder / "people.csv"
    release(ledger, target)
    raise_cap(ledger, "9")
    before = contents(folder)
    owner, name, left = STAGES[stage]
    with monkeypatch.context() as patch:
        if stage == "writing the certificate":  # once: putting the old one back must work again
            real, calls = recover.write_whole, iter([error])

            def once(path: Path, data: bytes) -> None:
                for failure in calls:
                    raise failure
                real(path, data)

            patch.setattr(recover, "write_whole", once)
        elif stage == "the rename itself":
            replace = os.replace

            def not_the_table(source: Path, goal: Path) -> None:
                if Path(goal) == target:
                    raise error
                replace(source, goal)

            patch.setattr(os, "replace", not_the_table)
        else:
            patch.setattr(owner, name, raising(error))
        with pytest.raises((InputError, OSError) if isinstance(error, OSError) else type(error)) as raised:
            release(ledger, target)
    if left == CHARGED and isinstance(error, OSError | CancelledError):
        assert "epsilon = 3 stays charged" in str(raised.value)
    waiting = {n: d for n, d in contents(folder).items() if n not in before}
    assert {n: d for n, d in contents(folder).items() if n in before} == before
    assert len(waiting) == (left == WAITS)
    assert statuses(ledger) == ["charged", "void" if left == FREE else "charged"]
    assert verify_release(target) == []
    done = release(ledger, target)
    assert done.published_earlier is (left == WAITS)
    assert names_in(folder) == set(before)
    assert (
        statuses(ledger)
        == {
            FREE: ["charged", "void", "charged"],
            CHARGED: ["charged", "charged", "charged"],
            WAITS: ["charged", "charged"],
        }[left]
    )
    if left == WAITS:
        assert target.read_bytes() in waiting.values()


@pytest.mark.parametrize("stage", STAGES)
def test_a_failure_at_any_stage_of_a_first_release_leaves_at_most_the_finished_draw(folder, ledger, monkeypatch, stage):
    owner, name, left = STAGES[stage]
    with monkeypatch.context() as patch:
        real = getattr(owner, name)

        def fail(*arguments: Any, **named: Any) -> Any:
            if any(MARKS in str(value) for value in arguments):
                return real(*arguments, **named)
            raise BoomError

        patch.setattr(owner, name, fail)
        with pytest.raises(BoomError):
            release(ledger, folder / "people.csv")
    assert all(n.endswith(".part") for n in names_in(folder))
    assert len(names_in(folder)) == (left == WAITS)
    assert statuses(ledger) == ["void" if left == FREE else "charged"]


def test_a_failure_after_the_rename_stays_charged(folder, ledger, monkeypatch):
    """The table stands, so it counts, whatever else went wrong; its certificate stands with it."""
    target = folder / "people.csv"

    def fail_late(at: Path) -> None:
        if target.exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(atomic, "sync_folder", fail_late)
    monkeypatch.setattr(part_files, "sync_folder", fail_late)
    with pytest.raises(InputError, match="Input/output error"):
        release(ledger, target)
    assert statuses(ledger) == ["charged"]
    assert names_in(folder) == {"people.csv", "people.csv.certificate.json"}
    assert verify_release(target) == []


def test_an_interrupt_between_the_rename_and_its_return_stays_charged(folder, ledger, monkeypatch):
    target = folder / "people.csv"
    replace = os.replace

    def interrupted(source: Path, goal: Path) -> None:
        replace(source, goal)
        if Path(goal) == target:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            release(ledger, target)
    assert statuses(ledger) == ["charged"]
    assert verify_release(target) == []


def test_a_copied_part_is_paid_for_whenever_the_release_is_cancelled(folder, ledger):
    """The attack: copy the part while it is written, then cancel and get the charge back."""
    cancel = CancelToken()
    taken: list[bytes] = []

    def copy_and_cancel(event: Event) -> None:
        if label(event) == "written":
            taken.extend(p.read_bytes() for p in folder.glob("*.part"))
            cancel.cancel()

    with Ledger.open(ledger) as opened, pytest.raises(CancelledError):
        release_table(plan_of(), table_of(300_000), folder / "a.csv", opened, copy_and_cancel, cancel)
    assert sum(chunk.count(b"\n") for chunk in taken) > 100_000
    assert statuses(ledger) == ["charged"]


def test_a_rename_that_is_made_to_fail_is_paid_for_and_made_up_for(folder, ledger):
    """The attack: put a folder where the output is to stand, read the finished part, get the charge back."""
    target = folder / "a.csv"

    def occupy(event: Event) -> None:
        if label(event) == "certified":
            target.mkdir()

    with Ledger.open(ledger) as opened, pytest.raises(InputError, match="kept and costs nothing more"):
        release_table(plan_of(), table_of(30), target, opened, occupy)
    (part,) = folder.glob("*.part")
    finished = part.read_bytes()
    assert part.stat().st_mode & 0o777 == 0o600
    assert statuses(ledger) == ["charged"]
    target.rmdir()
    with Ledger.open(ledger) as opened:
        assert release_table(plan_of(), table_of(30), target, opened).published_earlier
    assert target.read_bytes() == finished
    assert verify_release(target) == []
    assert statuses(ledger) == ["charged"]


def label(event: Event) -> str:
    if isinstance(event, AtStake):
        return ""
    assert isinstance(event, Progress)
    return event.label


def test_a_cancelled_release_can_be_run_again_under_the_same_cap(folder, ledger):
    cancel = CancelToken()
    cancel.cancel()
    with Ledger.open(ledger) as opened:
        with pytest.raises(CancelledError):
            release_table(plan_of(), table_of(30), folder / "a.csv", opened, cancel=cancel)
        release_table(plan_of(), table_of(30), folder / "a.csv", opened)


def test_a_value_that_does_not_fit_is_named_before_anything_is_reserved(folder, ledger):
    table = table_of(10)
    table = type(table)(table.frame.with_columns(city=table.frame["city"].replace("Graz", "Paris")), "people.csv")
    row = table.frame["city"].to_list().index("Paris") + 1
    with (
        Ledger.open(ledger) as opened,
        pytest.raises(InputError, match=rf"'Paris' is not in the domain.*column city, row {row}"),
    ):
        release_table(plan_of(), table, folder / "a.csv", opened)
    assert names_in(folder) == set()
    assert statuses(ledger) == []


def test_a_mechanism_that_does_not_fit_is_not_even_reserved(folder, ledger, monkeypatch):
    monkeypatch.setattr(rows_work, "protected_columns", raising(InputError("no such table")))
    with pytest.raises(InputError):
        release(ledger, folder / "a.csv")
    assert statuses(ledger) == []


# -- the ledger fails -------------------------------------------------------------------------------------------------


def test_nothing_is_written_where_the_ledger_cannot_be_told(folder, ledger, monkeypatch):
    written: list[bytes] = []
    locked = InputError("the ledger cannot be used: database is locked")
    monkeypatch.setattr(Ledger, "charge", raising(locked))
    monkeypatch.setattr(DrawFile, "write", lambda part, data: written.append(data))
    with Ledger.open(ledger) as opened, pytest.raises(InputError, match="database is locked"):
        release_table(plan_of(), table_of(20), folder / "a.csv", opened)
    assert written == []
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


def test_a_failure_that_the_ledger_cannot_be_told_of_stays_charged_and_keeps_its_own_sentence(
    folder, ledger, monkeypatch
):
    told: list[Event] = []
    monkeypatch.setattr(Ledger, "void", raising(InputError("the ledger cannot be used: database is locked")))
    monkeypatch.setattr(rows_work, "draw_prepared", raising(InputError("row 7 is bad")))
    with Ledger.open(ledger) as opened, pytest.raises(InputError, match="row 7 is bad"):
        release_table(plan_of(), table_of(20), folder / "a.csv", opened, told.append)
    assert any(isinstance(e, Notice) and "the charge remains" in e.text for e in told)
    assert names_in(folder) == set()
    assert statuses(ledger) == ["reserved"]


# -- two at once ------------------------------------------------------------------------------------------------------


def release_again(ledger: Path, target: Path, times: int) -> None:
    for _ in range(times):
        release(ledger, target, rows=20, epsilon=0.5)


def test_releases_at_once_into_one_output_leave_one_of_them_whole(folder, ledger):
    target = folder / "people.csv"
    release(ledger, target, rows=20, epsilon=0.5)
    raise_cap(ledger, "100")
    racers = [forks().Process(target=release_again, args=(ledger, target, 8)) for _ in range(3)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert [r.exitcode for r in racers] == [0, 0, 0]
    assert names_in(folder) == {"people.csv", "people.csv.certificate.json"}
    assert verify_release(target) == []
    assert statuses(ledger) == ["charged"] * 25
    with Ledger.open(ledger) as opened:
        assert opened.account(opened.releases()[-1].dataset).spent[0] == Decimal("12.5")
        assert verify_in_ledger(certificate_of(target), opened) == []

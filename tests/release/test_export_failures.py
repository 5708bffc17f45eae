"""Whatever stops a release before its output exists: nothing is charged, nothing is left, and the old output stands."""

import errno
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from release_cases import (
    assert_sound,
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

from workbench.params import CancelledError, InputError
from workbench.release import atomic, export
from workbench.release.atomic import PartFile
from workbench.release.export import release_table
from workbench.release.ledger import Ledger
from workbench.release.verify import verify_in_ledger, verify_release
from workbench.signals import Event, Notice, Progress
from workbench.signals.cancel import CancelToken


class BoomError(RuntimeError):
    """A fault that nobody foresaw."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


STAGES = {
    "draw": (export, "draw"),
    "write": (export, "_write"),
    "the last sync": (PartFile, "sync"),
    "the certificate": (export, "certificate"),
    "its encoding": (export, "encode"),
    "writing the certificate": (export, "write_whole"),
    "the rename": (PartFile, "publish"),
    "the rename itself": (os, "replace"),
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
def test_a_failure_at_any_stage_is_void_and_leaves_the_old_output(
    folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch, stage: str, error: BaseException
) -> None:
    target = folder / "people.csv"
    release(ledger, target)
    raise_cap(ledger, "6")
    before = contents(folder)
    owner, name = STAGES[stage]
    with monkeypatch.context() as patch:
        if stage == "writing the certificate":  # once: putting the old one back must work again
            real, calls = export.write_whole, iter([error])

            def once(path: Path, data: bytes) -> None:
                for failure in calls:
                    raise failure
                real(path, data)

            patch.setattr(export, "write_whole", once)
        elif stage == "the rename itself":
            replace = os.replace

            def not_the_table(source: Path, goal: Path) -> None:
                if Path(goal) == target:
                    raise error
                replace(source, goal)

            patch.setattr(os, "replace", not_the_table)
        else:
            patch.setattr(owner, name, raising(error))
        expected = InputError if isinstance(error, OSError) else type(error)
        with pytest.raises(expected) as raised:
            release(ledger, target)
    if isinstance(error, OSError):
        assert str(raised.value).startswith("the disk is full (")
    assert contents(folder) == before
    assert statuses(ledger) == ["charged", "void"]
    assert verify_release(target) == []
    release(ledger, target)
    assert statuses(ledger) == ["charged", "void", "charged"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_failure_at_any_stage_of_a_first_release_leaves_an_empty_folder(
    folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    owner, name = STAGES[stage]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, raising(BoomError()))
        with pytest.raises(BoomError):
            release(ledger, folder / "people.csv")
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


def test_a_failure_after_the_rename_stays_charged(folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table stands, so it counts, whatever else went wrong; its certificate stands with it."""
    target = folder / "people.csv"

    def fail_late(at: Path) -> None:
        if target.exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(atomic, "sync_folder", fail_late)
    with pytest.raises(InputError, match="Input/output error"):
        release(ledger, target)
    assert statuses(ledger) == ["reserved"]
    assert names_in(folder) == {"people.csv", "people.csv.certificate.json"}
    assert verify_release(target) == []


def test_an_interrupt_between_the_rename_and_its_return_stays_charged(
    folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert statuses(ledger) == ["reserved"]
    assert verify_release(target) == []


def test_a_cancel_is_heard_at_every_step_and_costs_nothing(folder: Path, ledger: Path) -> None:
    steps: list[str] = []
    with Ledger.open(ledger) as opened:
        release_table(plan_of(), table_of(30), folder / "a.csv", opened, lambda e: steps.append(label(e)))
    raise_cap(ledger, "100")
    assert steps.pop() == "certified", "the word after the last look at a stop"
    assert len(steps) >= 5
    for number, step in enumerate(steps):
        cancel = CancelToken()
        seen: list[str] = []

        def stop(event: Event, number: int = number, cancel: CancelToken = cancel, seen: list[str] = seen) -> None:
            seen.append(label(event))
            if len(seen) == number + 1:
                cancel.cancel()

        with Ledger.open(ledger) as opened, pytest.raises(CancelledError):
            release_table(plan_of(), table_of(30), folder / "b.csv", opened, stop, cancel)
        assert seen[-1].split()[0] in " ".join([step, *steps[number:]])
        assert names_in(folder) == {"a.csv", "a.csv.certificate.json"}
    assert statuses(ledger) == ["charged", *["void"] * len(steps)]


def label(event: Event) -> str:
    assert isinstance(event, Progress)
    return event.label


def test_a_cancelled_release_can_be_run_again_under_the_same_cap(folder: Path, ledger: Path) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with Ledger.open(ledger) as opened:
        with pytest.raises(CancelledError):
            release_table(plan_of(), table_of(30), folder / "a.csv", opened, cancel=cancel)
        release_table(plan_of(), table_of(30), folder / "a.csv", opened)


def test_a_value_that_does_not_fit_is_void_and_named(folder: Path, ledger: Path) -> None:
    table = table_of(10)
    table = type(table)(table.frame.with_columns(city=table.frame["city"].replace("Graz", "Paris")), "people.csv")
    row = table.frame["city"].to_list().index("Paris") + 1
    with (
        Ledger.open(ledger) as opened,
        pytest.raises(InputError, match=rf"'Paris' is not in the domain.*column city, row {row}"),
    ):
        release_table(plan_of(), table, folder / "a.csv", opened)
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


def test_a_mechanism_that_does_not_fit_is_not_even_reserved(
    folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "protected_columns", raising(InputError("no such table")))
    with pytest.raises(InputError):
        release(ledger, folder / "a.csv")
    assert statuses(ledger) == []


# -- the ledger fails -------------------------------------------------------------------------------------------------


def test_an_output_stands_though_its_ledger_cannot_be_told(
    folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reservation counts as much as a charge does; the next run of another process makes it one."""
    told: list[Event] = []
    monkeypatch.setattr(Ledger, "complete", raising(InputError("the ledger cannot be used: database is locked")))
    with Ledger.open(ledger) as opened:
        done = release_table(plan_of(), table_of(20), folder / "a.csv", opened, told.append)
        assert done.epsilon_remaining == 0
        assert opened.account(certificate_of(folder / "a.csv")["dataset"]).used[0] == 3
        assert verify_in_ledger(certificate_of(folder / "a.csv"), opened) == []
    (notice,) = [e for e in told if isinstance(e, Notice)]
    assert notice.level == "warning"
    assert "the charge stands as reserved" in notice.text
    assert statuses(ledger) == ["reserved"]


def test_a_failure_that_the_ledger_cannot_be_told_of_stays_charged_and_keeps_its_own_sentence(
    folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Event] = []
    monkeypatch.setattr(Ledger, "void", raising(InputError("the ledger cannot be used: database is locked")))
    monkeypatch.setattr(export, "draw", raising(InputError("row 7 is bad")))
    with Ledger.open(ledger) as opened, pytest.raises(InputError, match="row 7 is bad"):
        release_table(plan_of(), table_of(20), folder / "a.csv", opened, told.append)
    assert any(isinstance(e, Notice) and "the charge stands" in e.text for e in told)
    assert names_in(folder) == set()
    assert statuses(ledger) == ["reserved"]


# -- two at once ------------------------------------------------------------------------------------------------------


def release_again(ledger: Path, target: Path, times: int) -> None:
    for _ in range(times):
        release(ledger, target, rows=20, epsilon=0.5)


def test_releases_at_once_into_one_output_leave_one_of_them_whole(folder: Path, ledger: Path) -> None:
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
        assert opened.account(certificate_of(target)["dataset"]).spent[0] == Decimal("12.5")
        assert verify_in_ledger(certificate_of(target), opened) == []


def test_a_folder_where_another_release_never_finishes_is_one_sentence(
    folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "_PATIENCE", 0.05)
    with atomic.sole_user(folder, otherwise=False) as held:
        assert held
        with pytest.raises(InputError, match="another release into this folder does not finish"):
            release(ledger, folder / "people.csv")
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]
    assert assert_sound(folder, folder / "people.csv", ledger) is None

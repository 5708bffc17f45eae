"""Whatever stops a release before its output exists: nothing is charged, nothing is left, and the old output stands."""

import errno
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from release_cases import (
    assert_sound,
    certificate_of,
    forks,
    names_in,
    plan_of,
    raise_cap,
    release,
    run_to_exit,
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


class Boom(RuntimeError):
    """A fault that nobody foresaw."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


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
    "fault": Boom("planted"),
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
        patch.setattr(owner, name, raising(Boom()))
        with pytest.raises(Boom):
            release(ledger, folder / "people.csv")
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


def test_a_failure_after_the_rename_stays_charged(folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table stands, so it counts, whatever else went wrong; its certificate stands with it."""
    target = folder / "people.csv"
    with monkeypatch.context() as patch:
        patch.setattr(PartFile, "close", raising(OSError(errno.EIO, "Input/output error")))
        with pytest.raises(InputError):
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


# -- a full disk --------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(folder)], capture_output=True).returncode:
        pytest.skip("only root can mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True, capture_output=True)


@pytest.mark.parametrize("ledger_there_too", [False, True])
def test_a_disk_that_fills_up_is_one_sentence_and_void(
    small_disk: Path, tmp_path: Path, ledger_there_too: bool
) -> None:
    target = small_disk / "people.csv"
    ledger = (small_disk if ledger_there_too else tmp_path) / "ledger.sqlite"
    release(ledger, target)
    raise_cap(ledger, "6")
    before = {n: (small_disk / n).read_bytes() for n in names_in(small_disk) if n.startswith("people")}
    with pytest.raises(InputError) as full:
        release(ledger, target, rows=100_000)
    assert str(full.value) == f"the disk is full ({target}); free some space and run it again; nothing was released"
    assert {n: (small_disk / n).read_bytes() for n in names_in(small_disk) if n.startswith("people")} == before
    assert statuses(ledger) == ["charged", "void"]
    assert verify_release(target) == []


def test_a_disk_too_full_for_the_certificate_keeps_the_old_one(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, ledger = small_disk / "people.csv", tmp_path / "ledger.sqlite"
    release(ledger, target)
    raise_cap(ledger, "6")
    before = contents(small_disk)
    real = export.encode

    def fill_then_encode(document: dict[str, Any]) -> bytes:
        free = shutil.disk_usage(small_disk).free
        (small_disk / "ballast").write_bytes(b"x" * free)
        return real(document)

    with monkeypatch.context() as patch:
        patch.setattr(export, "encode", fill_then_encode)
        with pytest.raises(InputError, match="the disk is full"):
            release(ledger, target)
    (small_disk / "ballast").unlink()
    assert contents(small_disk) == before
    assert statuses(ledger) == ["charged", "void"]


def release_under_a_size_limit(ledger: Path, target: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        release(ledger, target, rows=50_000)
    except InputError as error:
        assert "File too large" in str(error)
        os._exit(2)


def test_a_file_that_outgrows_the_process_limit_is_one_sentence_and_void(folder: Path, ledger: Path) -> None:
    assert run_to_exit(release_under_a_size_limit, ledger, folder / "people.csv") == 2
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


def test_a_stream_that_fills_up_at_its_last_flush_is_void(
    folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Buffered bytes meet the full disk only when they are flushed: /dev/full takes every write and no flush."""
    real = PartFile.__init__

    def full(part: PartFile, target: Path) -> None:
        real(part, target)
        part.stream.close()
        part.stream = open("/dev/full", "r+b")  # noqa: SIM115 - the part file closes it

    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    monkeypatch.setattr(PartFile, "__init__", full)
    with pytest.raises(InputError, match="the disk is full"):
        release(ledger, folder / "people.csv")
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


# -- places that cannot be written ----------------------------------------------------------------------------------------


def test_an_output_that_cannot_be_written_is_refused_before_the_charge(folder: Path, ledger: Path) -> None:
    (folder / "file").write_text("x")
    (folder / "taken.csv").mkdir()
    (folder / "named.csv.certificate.json").mkdir()
    cases = {
        folder / "missing" / "a.csv": "the folder of the output does not exist",
        folder / "file" / "a.csv": "the folder of the output does not exist",
        folder / "taken.csv": "the output is a folder",
        folder / "named.csv": "a folder bears the certificate's name",
        folder / ("x" * 250 + ".csv"): "the output cannot be written: File name too long",
    }
    if Path("/proc/self").exists():
        cases[Path("/proc/a.csv")] = "the output cannot be written: No such file or directory"
        cases[Path("/proc/self/a.csv")] = "the output cannot be written: No such file or directory"
    before = names_in(folder)
    for target, sentence in cases.items():
        with pytest.raises(InputError) as refused:
            release(ledger, target)
        assert str(refused.value).startswith(sentence), str(refused.value)
        assert "\n" not in str(refused.value)
    assert names_in(folder) == before
    assert statuses(ledger) == []


def test_a_link_is_replaced_and_what_it_points_to_stays(folder: Path, ledger: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text("mine")
    (folder / "people.csv").symlink_to(elsewhere)
    release(ledger, folder / "people.csv")
    assert elsewhere.read_text() == "mine"
    assert verify_release(folder / "people.csv") == []


# -- the ledger fails -----------------------------------------------------------------------------------------------------


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


# -- two at once ------------------------------------------------------------------------------------------------------------


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
    with (
        atomic.sole_user(folder, otherwise=False) as held,
        pytest.raises(InputError, match="another release into this folder does not finish"),
    ):
        assert held
        release(ledger, folder / "people.csv")
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]
    assert assert_sound(folder, folder / "people.csv", ledger) is None

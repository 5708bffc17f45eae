"""Every way out of every releasing act, one after the other: what could have been read is charged.

A step is a call or a return in the code of the release door, or a call that it makes to the system. A release is
ended at step 1, then at step 2, and so on until one comes to its end: none is left out. The quick tests take a place
in the code once, the slow ones every time that it is passed, with other errors, and killing the process.
"""

import errno
import gc
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from exits import PlannedError, Release, counted, drawn_bytes, walk
from release_cases import forks, plan_of, table_of
from released import release_table

from workbench.data import table_reader
from workbench.data.csv import regular_rows
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.learners import learner
from workbench.release import spilled_rows
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.release_learner import FitTask, release_fit
from workbench.release.release_path import destination, prepare, release_prepared
from workbench.release.statistics.statistics_work import statistics_work
from workbench.signals.events import Emit
from workbench.statistics.release_file import FORMATS
from workbench.statistics.request import usual_request

LEAST_STEPS = 40


def csv(folder: Path, ledger: Path, emit: Emit) -> None:
    with Ledger.open(ledger) as opened:
        release_table(plan_of(), table_of(12), folder / "people.csv", opened, emit)


def in_parts(folder: Path, ledger: Path, emit: Emit) -> None:
    source = ledger.with_suffix(".csv")
    with pytest.MonkeyPatch.context() as patch, Ledger.open(ledger) as opened:
        table_of(40).frame.write_csv(source)
        patch.setattr(table_reader, "IN_PARTS_FROM", 0)
        patch.setattr(regular_rows, "PIECE", 150)
        patch.setattr(spilled_rows, "_BUCKET", 16)
        patch.setattr(spilled_rows, "_SCATTERED", 20)
        table = table_reader.read_table(source)
        assert table.in_parts
        release_table(plan_of(), table, folder / "people.csv", opened, emit)


def parquet(folder: Path, ledger: Path, emit: Emit) -> None:
    with Ledger.open(ledger) as opened:
        release_table(plan_of(), table_of(12), folder / "people.parquet", opened, emit)


def statistics(folder: Path, ledger: Path, emit: Emit) -> None:
    plan, table = plan_of(), table_of(12)
    to = destination(folder / "figures.json", formats=FORMATS)
    prepared = prepare(plan, table, to, statistics_work(usual_request(plan), plan, 1.0, 12, to.format))
    with Ledger.open(ledger) as opened:
        release_prepared(prepared, opened, emit)


def naive_bayes(folder: Path, ledger: Path, emit: Emit) -> None:
    chosen = learner("naive-bayes")
    parameters = chosen.parameters.from_plain({"epsilon": 1.0})
    with Ledger.open(ledger) as opened:
        task = FitTask(chosen, parameters, plan_of(), "city", table_of(12), folder / "model")
        release_fit(task, opened, emit)


def network(folder: Path, ledger: Path, emit: Emit) -> None:
    from workbench.deep.features import Features
    from workbench.deep.plan import DpSgdPlan
    from workbench.release.model.network_task import NetworkTask
    from workbench.release.model.release_network import release_training

    features = Features(
        (Attribute(name="x", kind="real", lower=0, upper=1),), Attribute(name="y", kind="category", domain=("0", "1"))
    )
    table = Table(pl.DataFrame({"x": [str(i / 20) for i in range(20)], "y": [str(i // 10) for i in range(20)]}), "made")
    plan = DpSgdPlan(
        network="logistic", noise=1.0, delta=1e-3, batch=10, epochs=1, lr=1.0, clip=1.0, accountant="rdp", device="cpu"
    )
    with Ledger.open(ledger) as opened:
        release_training(NetworkTask(plan, features, table, folder / "net"), opened, emit)


ACTS: dict[str, Release] = {
    "csv": csv,
    "csv in parts": in_parts,
    "parquet": parquet,
    "statistics": statistics,
    "naive bayes": naive_bayes,
    "network": network,
}
ERRORS: dict[str, Callable[[], BaseException]] = {
    "interrupt": PlannedError,
    "fault of the system": lambda: OSError(errno.EIO, os.strerror(errno.EIO)),
}


def places(tmp_path: Path, number: int) -> tuple[Path, Path]:
    folder = tmp_path / str(number)
    folder.mkdir()
    return folder, tmp_path / f"{number}.sqlite"


SLOWER = (pytest.param(act, marks=pytest.mark.slow) for act in ("csv in parts", "statistics", "naive bayes"))


@pytest.mark.parametrize("act", ["csv", *SLOWER])
def test_whatever_ends_a_release_what_could_be_read_of_it_is_charged(tmp_path, act):
    walk_through(ACTS[act], tmp_path, PlannedError)


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("act", ACTS)
def test_every_time_a_step_is_taken_what_could_be_read_is_charged(tmp_path, act, error):
    if act == "network":
        pytest.importorskip("torch")
    walk_through(ACTS[act], tmp_path, ERRORS[error], every_time=True)


@pytest.fixture(autouse=True)
def what_the_interpreter_closes_is_expected(monkeypatch):
    """A run that ends between opening something and keeping hold of it leaves the closing to the interpreter."""
    monkeypatch.setattr(sys, "unraisablehook", lambda told: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


def walk_through(release: Release, tmp_path: Path, error: Callable[[], BaseException], **how: Any) -> None:
    folder, ledger = places(tmp_path, 0)
    whole = walk(release, folder, ledger, at=0, watch_all=True)
    assert whole.seen, "the watcher sees a release that is not ended"
    free, paid, at = 0, 0, 0
    while True:
        at += 1
        folder, ledger = places(tmp_path, at)
        ended = walk(release, folder, ledger, at=at, error=error(), **how)
        if not ended.ended:
            break
        charged = counted(ledger)
        assert charged or not ended.seen, f"step {at} ({ended.where}): {ended.seen} bytes for nothing"
        free, paid = free + (not charged), paid + charged
        # Nothing is left under any other name than the output's and one part's.
        left = [p.name for p in folder.iterdir() if p.name.endswith(".part")]
        assert len(left) <= 1, left
    assert at > LEAST_STEPS
    assert free > 0
    assert paid > 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="fork servers and SIGKILL are POSIX")
@pytest.mark.parametrize("act", ["csv", "csv in parts", "statistics", "naive bayes"])
def test_wherever_a_release_is_killed_what_could_be_read_of_it_is_charged(tmp_path, act):
    at, killed = 0, 0
    while True:
        at += 1
        folder, ledger = places(tmp_path, at)
        process = forks().Process(target=walk_in_a_process, args=(act, folder, ledger, at))
        process.start()
        process.join(60)
        if process.exitcode == 0:
            break
        assert process.exitcode == -9
        killed += 1
        assert counted(ledger) or not drawn_bytes(folder), f"step {at}"
    assert killed > LEAST_STEPS


def walk_in_a_process(act: str, folder: Path, ledger: Path, at: int) -> Any:
    walk(ACTS[act], folder, ledger, at, kill=True)

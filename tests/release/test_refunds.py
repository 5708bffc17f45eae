"""What a training costs that ended early: in full once a figure of it was seen, whatever ended it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from test_paused_runs import PLAN, TABLE, WHOLE, made, paused_at, release, statuses

from workbench.deep.trainer import PrivateStep
from workbench.params import CancelledError, WorkbenchError
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.kept_run import runs_folder
from workbench.release.model.paused_training import give_up, paused_trainings
from workbench.release.model.release_network import Checkpoints, TestSet
from workbench.signals import Event, Metric, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Spread


def step_of(event: Event) -> int:
    return int(event.done) if isinstance(event, Progress) and event.label == "training steps" else 0


def only(ledger: Ledger) -> tuple[str, Any]:
    (release_,) = ledger.releases()
    return release_.status, release_.epsilon


def test_a_checkpoint_that_cannot_be_kept_after_figures_were_shown_costs_the_whole_run(tmp_path: Path) -> None:
    """Who watches can put a file in place of the folder, and cancel."""
    token, shown = CancelToken(), []
    folder = tmp_path / "checkpoint"

    def hear(event: Event) -> None:
        if isinstance(event, Metric | Spread):
            shown.append(event)
        if step_of(event) == 6:
            shutil.rmtree(folder, ignore_errors=True)
            folder.write_text("in the way")
            token.cancel()

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(WorkbenchError):
            release(ledger, tmp_path / "net", emit=hear, cancel=token, checkpoints=Checkpoints(folder=folder))
        assert shown
        assert only(ledger) == ("charged", WHOLE.epsilon)


@pytest.mark.parametrize("error", [BrokenPipeError, RuntimeError, MemoryError])
def test_who_hears_a_run_and_lets_it_fail_pays_for_all_of_it(tmp_path: Path, error: type[Exception]) -> None:
    def hear(event: Event) -> None:
        if step_of(event) == 6:
            raise error("gone")

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises((error, WorkbenchError)):
            release(ledger, tmp_path / "net", emit=hear)
        assert only(ledger) == ("charged", WHOLE.epsilon)


@pytest.mark.parametrize(("error", "costs"), [(MemoryError, 5), (RuntimeError, None)])
def test_of_a_quiet_run_a_lack_of_memory_alone_costs_less(
    tmp_path: Path, error: type[Exception], costs: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other fault may depend on the rows. Steps count as the ledger counts them: 4, then 8 more, were claimed."""
    steps = iter(range(10**6))
    whole = PrivateStep.step

    def breaks(self: PrivateStep, *given: Any, **more: Any) -> Any:
        if next(steps) == 4:
            raise error
        return whole(self, *given, **more)

    monkeypatch.setattr(PrivateStep, "step", breaks)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises((error, WorkbenchError)):
            release(ledger, tmp_path / "net", quiet=True)
        status, epsilon = only(ledger)
    if costs is None:
        assert (status, epsilon) == ("charged", WHOLE.epsilon)
    else:
        assert status == "settled"
        assert PLAN.schedule(50).cost(costs).epsilon <= epsilon < WHOLE.epsilon


def test_a_quiet_run_that_has_shown_an_accuracy_costs_all_of_it(tmp_path: Path) -> None:
    """The accuracy on public rows is one of private weights: to stop by it is a choice by them."""
    token, test = CancelToken(), TestSet(made(shift=2), public=True)

    def hear(event: Event) -> None:
        if isinstance(event, Metric) and event.step >= 6:
            token.cancel()

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(CancelledError):
            release(ledger, tmp_path / "net", emit=hear, cancel=token, quiet=True, test=test)
        (folder,) = runs_folder().iterdir()
        (found,) = paused_trainings(ledger, TABLE)
        assert found.shown
        assert give_up(ledger, folder) == WHOLE.epsilon
        assert only(ledger) == ("charged", WHOLE.epsilon)


def test_a_quiet_run_with_a_public_test_set_that_is_not_kept_costs_all_of_it(tmp_path: Path) -> None:
    token, test = CancelToken(), TestSet(made(shift=2), public=True)

    def hear(event: Event) -> None:
        if isinstance(event, Metric):
            token.cancel()

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(CancelledError):
            release(ledger, tmp_path / "net", emit=hear, cancel=token, quiet=True, test=test, checkpoints=None)
        assert only(ledger) == ("charged", WHOLE.epsilon)

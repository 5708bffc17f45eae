"""What a training costs that ended early: in full once a figure of it was seen, whatever ended it."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from test_paused_runs import PLAN, STEPS, TABLE, WHOLE, made, paused_at, release

from workbench.deep.trainer import PrivateStep
from workbench.params import CancelledError, InputError, WorkbenchError
from workbench.release.checkpoint_folder import STATE, CheckpointFolder, runs_folder
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.network_task import Checkpoints, TestSet
from workbench.release.model.paused_training import give_up, paused_trainings
from workbench.signals import Event, Metric, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Spread


@contextmanager
def monkeypatched_request() -> Iterator[list[str]]:
    """Hear what a run asks a checkpoint for."""
    asked: list[str] = []
    resume = CheckpointFolder.resume.__func__  # type: ignore[attr-defined]

    def heard(
        cls: type[CheckpointFolder], ledger: Ledger, folder: Path, request: str, content: str
    ) -> CheckpointFolder:
        asked.append(request)
        found: CheckpointFolder = resume(cls, ledger, folder, request, content)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CheckpointFolder, "resume", classmethod(heard))
        yield asked


def step_of(event: Event) -> int:
    return int(event.done) if isinstance(event, Progress) and event.label == "training steps" else 0


def only(ledger: Ledger) -> tuple[str, Any]:
    (release_,) = ledger.releases()
    return release_.status, release_.epsilon


def test_a_checkpoint_that_cannot_be_kept_after_figures_were_shown_costs_the_whole_run(tmp_path):
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
def test_who_hears_a_run_and_lets_it_fail_pays_for_all_of_it(tmp_path, error):
    def hear(event: Event) -> None:
        if step_of(event) == 6:
            raise error("gone")

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises((error, WorkbenchError)):
            release(ledger, tmp_path / "net", emit=hear)
        assert only(ledger) == ("charged", WHOLE.epsilon)


@pytest.mark.parametrize(
    ("error", "quiet", "costs"),
    [(MemoryError, True, 5), (RuntimeError, True, None), (MemoryError, False, None), (RuntimeError, False, None)],
)
def test_of_a_quiet_run_a_lack_of_memory_alone_costs_less(tmp_path, error, quiet, costs, monkeypatch):
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
            release(ledger, tmp_path / "net", quiet=quiet)
        status, epsilon = only(ledger)
    assert not (tmp_path / "net").exists()
    if costs is None:
        assert (status, epsilon) == ("charged", WHOLE.epsilon)
    else:
        assert status == "settled"
        assert PLAN.schedule(50).cost(costs).epsilon <= epsilon < WHOLE.epsilon


def test_a_quiet_run_that_has_shown_an_accuracy_costs_all_of_it(tmp_path):
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


def test_a_quiet_run_that_stops_before_its_first_accuracy_costs_its_steps(tmp_path):
    test, plan = TestSet(made(shift=2), public=True), replace(PLAN, epochs=40)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 9, quiet=True, test=test, plan=plan)
        assert give_up(ledger, folder) == plan.schedule(50).cost(9).epsilon
        assert only(ledger)[0] == "settled"


@pytest.mark.parametrize("edited", ["shown", "noise", "rows", "steps", "quiet", "rows_per_person"])
def test_nothing_written_into_a_checkpoint_makes_giving_up_cheaper(tmp_path, edited):
    quiet = edited not in ("shown", "quiet")
    people = 2 if edited == "rows_per_person" else 1
    plan = replace(PLAN, noise=4.0)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 20, quiet=quiet, plan=plan, rows_per_person=people)
        raw = json.loads((folder / STATE).read_text("utf-8"))
        raw["shown"], raw["state"]["step"] = False, 1
        stated = raw if edited == "steps" else raw["stated"]
        stated[edited] = {"noise": 200.0, "rows": 50000, "steps": 40000, "quiet": True}.get(edited, 1)
        if edited == "rows":
            raw["told"] = raw.pop("stated")  # its name in former versions
        (folder / STATE).write_text(json.dumps(raw), "utf-8")
        cost = plan.schedule(50, people).cost(20 if quiet else None).epsilon
        assert give_up(ledger, folder) == cost
        assert only(ledger) == ("settled" if quiet else "charged", cost)
        assert ledger.verify() == []


def test_a_run_of_several_rows_per_person_goes_on_with_its_own_event_alone(tmp_path, monkeypatch):
    from workbench.deep import plan as plans

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        more: dict[str, Any] = {"plan": replace(PLAN, noise=4.0), "rows_per_person": 2}
        folder = paused_at(ledger, tmp_path / "net", 5, **more)
        loss, event_of = plans.loss, plans.event_of
        with monkeypatch.context() as patch:  # other noise at the very cost
            patch.setattr(plans, "event_of", lambda *given: replace(event_of(*given), noise_multiplier=4.01))
            patch.setattr(plans, "loss", lambda event, *given: loss(replace(event, noise_multiplier=4.0), *given))
            with pytest.raises(InputError, match="not be the one that was charged"):
                release(ledger, tmp_path / "net", **more, checkpoints=Checkpoints(resume=folder))
        done = release(ledger, tmp_path / "net", **more, checkpoints=Checkpoints(resume=folder))
        assert done.training is not None
        assert done.training.steps == STEPS


def test_a_request_written_into_a_checkpoint_is_not_the_one_that_began_it(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 5)
        raw = json.loads((folder / STATE).read_text("utf-8"))
        plan = replace(PLAN, lr=0.5)
        with monkeypatched_request() as asked, pytest.raises(InputError, match="other settings"):
            release(ledger, tmp_path / "net", plan=plan, checkpoints=Checkpoints(resume=folder))
        raw["request"] = asked[0]
        (folder / STATE).write_text(json.dumps(raw), "utf-8")
        with pytest.raises(InputError, match="other settings"):
            release(ledger, tmp_path / "net", plan=plan, checkpoints=Checkpoints(resume=folder))


def test_a_quiet_run_with_a_public_test_set_that_is_not_kept_costs_all_of_it(tmp_path):
    token, test = CancelToken(), TestSet(made(shift=2), public=True)

    def hear(event: Event) -> None:
        if isinstance(event, Metric):
            token.cancel()

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(CancelledError):
            release(ledger, tmp_path / "net", emit=hear, cancel=token, quiet=True, test=test, checkpoints=None)
        assert only(ledger) == ("charged", WHOLE.epsilon)

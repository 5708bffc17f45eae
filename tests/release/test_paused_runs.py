"""Trainings that are paused, killed, gone on with or given up: one charge, and no step that it does not cover."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("torch")

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.deep.features import Features
from workbench.deep.plan import DpSgdPlan
from workbench.params import CancelledError, InputError
from workbench.release.certificate import read_card
from workbench.release.checkpoint_folder import STATE, runs_folder
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.network_task import Checkpoints, NetworkTask, TestSet
from workbench.release.model.paused_training import give_up, paused_trainings
from workbench.release.model.release_network import NetworkRelease, release_training
from workbench.release.recover import recover
from workbench.release.verify import verify_release
from workbench.signals import Event, Metric, Progress
from workbench.signals.cancel import CancelToken

FEATURES = Features(
    (Attribute(name="x", kind="real", lower=0, upper=1),), Attribute(name="y", kind="category", domain=("0", "1"))
)


def made(rows: int = 50, shift: int = 0) -> Table:
    return Table(
        pl.DataFrame({"x": [str((i + shift) / 50) for i in range(rows)], "y": [str(i // 25) for i in range(rows)]}),
        "made",
    )


TABLE = made()
PLAN = DpSgdPlan(
    network="logistic", noise=1.0, delta=1e-5, batch=10, epochs=8, lr=1.0, clip=1.0, accountant="rdp", device="cpu"
)
STEPS = 40
WHOLE = PLAN.schedule(50).cost()


def release(ledger: Ledger, target: Path, **more: Any) -> NetworkRelease:
    given = {"checkpoints": Checkpoints(), "plan": PLAN, "table": TABLE, **more}
    heard = {key: given.pop(key) for key in ("emit", "cancel") if key in given}
    return release_training(NetworkTask(features=FEATURES, folder=target, **given), ledger, **heard)


def paused_at(ledger: Ledger, target: Path, step: int, **more: Any) -> Path:
    """Pause a run after ``step`` steps, and return the folder of its checkpoint."""
    token = CancelToken()

    def hear(event: Event) -> None:
        if isinstance(event, Progress) and event.label == "training steps" and event.done == step:
            token.cancel()

    with pytest.raises(CancelledError):
        release(ledger, target, cancel=token, emit=hear, **more)
    (folder,) = runs_folder().iterdir()
    return folder


def statuses(ledger: Ledger) -> list[str]:
    return [r.status for r in ledger.releases()]


def test_a_paused_run_goes_on_and_is_one_charge_like_an_uninterrupted_one(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 17)
        assert statuses(ledger) == ["reserved"]
        assert recover(ledger) == []
        assert not list(tmp_path.glob("net*")), "nothing stands beside the output meanwhile"
        first: list[int] = []
        done = release(
            ledger,
            tmp_path / "net",
            checkpoints=Checkpoints(resume=folder),
            emit=lambda e: first.append(int(e.done)) if isinstance(e, Progress) and "steps" in e.label else None,
        )
        assert first[0] == 18
        (release_,) = ledger.releases()
        assert (release_.status, release_.epsilon, release_.delta) == ("charged", WHOLE.epsilon, WHOLE.delta)
        assert ledger.account(release_.dataset).used == (WHOLE.epsilon, WHOLE.delta)
        assert ledger.verify() == []
        assert ledger.steps_taken(release_.release_id) == STEPS
    assert done.training is not None
    assert done.training.steps == STEPS
    assert read_card(tmp_path / "net")["training"]["steps"] == STEPS
    assert verify_release(tmp_path / "net") == []
    assert list(runs_folder().iterdir()) == []
    assert {p.name for p in tmp_path.iterdir()} == {"net", "ledger.sqlite", "ledger.sqlite.key"}
    metrics = (tmp_path / "net" / "private" / "metrics.csv").read_text("utf-8").splitlines()
    assert [int(line.split(",")[0]) for line in metrics[1:]] == list(range(1, STEPS + 1))


def test_the_checkpoint_of_a_run_that_was_killed_after_its_last_step_goes_with_the_next_run(tmp_path, monkeypatch):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 17)
        with monkeypatch.context() as patch:
            patch.setattr("workbench.release.checkpoint_folder.CheckpointFolder.remove", lambda self: None)
            release(ledger, tmp_path / "net", checkpoints=Checkpoints(resume=folder))
        assert folder.exists()
        assert paused_trainings(ledger, TABLE) == (), "it has ended"
        ledger.set_cap(ledger.releases()[0].dataset, 3 * WHOLE.epsilon, 3 * WHOLE.delta)
        release(ledger, tmp_path / "second")
        assert statuses(ledger) == ["charged", "charged"]
    assert list(runs_folder().iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_a_checkpoint_is_for_its_owner_alone_and_holds_no_pickle(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 5)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    names = sorted(p.name for p in folder.iterdir())
    assert names == [STATE, "step-5.safetensors"]
    assert all(stat.S_IMODE((folder / name).stat().st_mode) == 0o600 for name in names)
    assert json.loads((folder / STATE).read_text("utf-8"))["state"]["step"] == 5


def test_an_older_copy_of_a_checkpoint_gives_no_step_back(tmp_path):
    import shutil

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 10)
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        token = CancelToken()

        def hear(event: Event) -> None:
            if isinstance(event, Progress) and event.done == 30:
                token.cancel()

        with pytest.raises(CancelledError):
            release(ledger, tmp_path / "net", checkpoints=Checkpoints(resume=folder), cancel=token, emit=hear)
        taken: list[int] = []
        done = release(
            ledger,
            tmp_path / "net",
            checkpoints=Checkpoints(resume=copy),
            emit=lambda e: taken.append(int(e.done)) if isinstance(e, Progress) and "steps" in e.label else None,
        )
        assert taken == list(range(31, STEPS + 1)), "thirty steps were taken, whatever the copy says"
        assert done.training is not None
        assert done.training.steps == STEPS
        for old in (folder, copy):
            if (old / STATE).exists():
                with pytest.raises(InputError, match="has ended: it is charged"):
                    release(ledger, tmp_path / "other", checkpoints=Checkpoints(resume=old))
        assert statuses(ledger) == ["charged"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"plan": replace(PLAN, lr=0.5)}, "other settings"),
        ({"plan": replace(PLAN, noise=0.5)}, "other settings"),
        ({"table": made(shift=1)}, "belongs to another table"),
        ({"quiet": True}, "other settings"),
        ({"rows_per_person": 2}, "other settings"),
    ],
)
def test_only_the_same_run_goes_on(tmp_path, changed, said):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 5)
        with pytest.raises(InputError, match=said):
            release(ledger, tmp_path / "net", checkpoints=Checkpoints(resume=folder), **changed)
        assert "charged" not in statuses(ledger)
        assert (folder / STATE).exists()


def test_a_checkpoint_of_another_ledger_is_refused(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 5)
    with Ledger.open(tmp_path / "other.sqlite") as other:
        with pytest.raises(InputError, match="has no record of the checkpoint's run"):
            release(other, tmp_path / "net", checkpoints=Checkpoints(resume=folder))
        assert statuses(other) == []


def test_another_version_that_would_draw_other_noise_is_refused(tmp_path, monkeypatch):
    """As where a later version calibrates other noise for the same ε."""
    from workbench.deep import plan as plans

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 5)
        event_of = plans.event_of
        monkeypatch.setattr(plans, "event_of", lambda *given: replace(event_of(*given), noise_multiplier=1.01))
        with pytest.raises(InputError, match="not be the one that was charged"):
            release(ledger, tmp_path / "net", checkpoints=Checkpoints(resume=folder))
        assert statuses(ledger) == ["reserved"]


def test_giving_up_a_run_whose_figures_were_shown_costs_all_of_it(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 20)
        (found,) = paused_trainings(ledger, TABLE)
        assert (found.folder, found.taken, found.steps, found.quiet) == (folder, 20, STEPS, False)
        assert found.plan == PLAN
        assert found.features == FEATURES
        assert give_up(ledger, folder) == WHOLE.epsilon
        assert statuses(ledger) == ["charged"]
        assert paused_trainings(ledger, TABLE) == ()
    assert not folder.exists()


def test_who_stops_a_quiet_run_gets_back_what_was_not_spent(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 20, quiet=True)
        assert paused_trainings(ledger, made(shift=3)) == (), "belongs to another table"
        (found,) = paused_trainings(ledger, TABLE)
        half = PLAN.schedule(50).cost(20)
        assert (found.quiet, found.spent) == (True, half.epsilon)
        assert give_up(ledger, folder) == half.epsilon < WHOLE.epsilon
        (release_,) = ledger.releases()
        assert (release_.status, release_.epsilon) == ("settled", half.epsilon)
        with pytest.raises(InputError, match="no checkpoint"):
            give_up(ledger, folder)


@pytest.mark.parametrize("people", [1, 2])
def test_a_run_whose_steps_share_noise_goes_on_or_costs_the_turns_that_began(tmp_path, people):
    asked: dict[str, Any] = {"plan": replace(PLAN, noise=8.0, bands=4), "rows_per_person": people, "quiet": True}
    schedule = asked["plan"].schedule(50, people)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 5, **asked)
        done = release(ledger, tmp_path / "net", **asked, checkpoints=Checkpoints(resume=folder))
        assert done.model.epsilon_charged == schedule.cost().epsilon == schedule.cost(37).epsilon
        assert verify_release(tmp_path / "net") == []
        ledger.set_cap(ledger.releases()[0].dataset, 3 * schedule.cost().epsilon, 3 * schedule.cost().delta)
        folder = paused_at(ledger, tmp_path / "other", 5, **asked)
        assert give_up(ledger, folder) == schedule.cost(5).epsilon == schedule.cost(8).epsilon
        assert ledger.verify() == []


def test_a_quiet_run_shows_its_accuracy_on_public_rows_and_nothing_else(tmp_path):
    heard: list[Event] = []
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        done = release(
            ledger, tmp_path / "net", quiet=True, test=TestSet(made(shift=2), public=True), emit=heard.append
        )
    metrics = [e for e in heard if isinstance(e, Metric)]
    assert len(metrics) == 20
    assert all(e.public and e.name == "accuracy" for e in metrics)
    assert done.accuracy == metrics[-1].value


def test_where_the_checkpoint_is_gone_the_whole_run_stays_charged(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        folder = paused_at(ledger, tmp_path / "net", 5, quiet=True)
        for file in folder.iterdir():
            file.unlink()
    # Recovery looks at reservations of dead processes alone: let this one's be one.
    script = f"""
from pathlib import Path
from unittest import mock
from workbench.release import recover
from workbench.release.ledger.ledger import Ledger
with Ledger.open(Path({str(path)!r})) as ledger, mock.patch.object(recover, "still_runs", lambda process: False):
    print(recover.recover(ledger)[0])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "stays charged: its checkpoint is gone" in done.stdout
    with Ledger.open(path) as ledger:
        assert statuses(ledger) == ["charged"]


LONG = """
import sys
import time
from pathlib import Path
sys.path.insert(0, {folder!r})
import test_paused_runs as t
from workbench.deep import checkpoint
from workbench.release.ledger.ledger import Ledger
from workbench.signals import Progress
checkpoint.INTERVAL = 0.1
def hear(event):
    if isinstance(event, Progress) and "steps" in event.label:
        print(int(event.done), flush=True)
        if 2 * event.done > event.total:
            time.sleep(600)  # on a busy machine the kill comes late, and never after the end
with Ledger.open(Path({ledger!r})) as ledger:
    t.release(ledger, Path({target!r}), plan=t.long({epochs}), emit=hear, checkpoints=t.at(ledger))
"""


def long(epochs: int) -> DpSgdPlan:
    return replace(PLAN, noise=8.0, epochs=epochs)


def at(ledger: Ledger) -> Checkpoints:
    found = paused_trainings(ledger, TABLE)
    return Checkpoints(resume=found[0].folder if found else None)


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is not there")
@pytest.mark.parametrize("kills", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_goes_on_and_costs_what_an_uninterrupted_one_costs(tmp_path, kills):
    """kill -9 at once after some step was told of; the run that goes on begins behind whatever was shown."""
    path = tmp_path / "ledger.sqlite"
    here = str(Path(__file__).parent)
    epochs = 4000 if kills == 1 else 40_000  # each kill loses the steps of a claim, and a step takes 50 µs
    script = LONG.format(epochs=epochs, folder=here, ledger=str(path), target=str(tmp_path / "net"))
    shown = 0
    for kill in range(kills):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                assert int(line) > shown, "a step that was shown is not taken again"
                if int(line) >= shown + 200 + 37 * kill:
                    shown = int(line)
                    break
            time.sleep(0.05 * kill)
            process.send_signal(signal.SIGKILL)
            rest = [int(line) for line in process.stdout.read().split("\n")[:-1]]
            shown = max([shown, *rest])
        with Ledger.open(path) as ledger:
            assert recover(ledger) == []
            assert statuses(ledger) == ["reserved"]
            assert ledger.steps_taken(ledger.releases()[0].release_id) >= shown
    with Ledger.open(path) as ledger:
        done = release(ledger, tmp_path / "net", plan=long(epochs), checkpoints=at(ledger))
        (release_,) = ledger.releases()
        whole = long(epochs).schedule(50).cost()
        assert (release_.status, release_.epsilon, release_.delta) == ("charged", whole.epsilon, whole.delta)
        assert ledger.verify() == []
    assert done.training is not None
    assert done.training.steps == long(epochs).schedule(50).steps
    assert verify_release(tmp_path / "net") == []
    assert {p.name for p in tmp_path.iterdir()} == {"net", "ledger.sqlite", "ledger.sqlite.key"}

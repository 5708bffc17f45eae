"""The count of a training's steps is part of the ledger's chain: no copy, move or second run takes one for nothing."""

import os
import shutil
import sqlite3

import pytest

pytest.importorskip("torch")

from test_paused_runs import STEPS, TABLE, WHOLE, paused_at, release, statuses

from workbench.deep import checkpoint
from workbench.params import CheckFailedError, InputError
from workbench.release import recover as recovery
from workbench.release.checkpoint_folder import runs_folder
from workbench.release.ledger.ledger import Ledger, is_running
from workbench.release.model.network_task import Checkpoints
from workbench.release.model.paused_training import give_up, paused_trainings
from workbench.signals import Event, Progress


def step_of(event: Event) -> int:
    return int(event.done) if isinstance(event, Progress) and event.label == "training steps" else 0


def test_an_older_copy_of_the_ledger_lets_no_run_go_on(tmp_path):
    """Ledger and checkpoint are put back together after the run has ended: its steps are not taken again."""
    path, taken = tmp_path / "ledger.sqlite", []
    with Ledger.open(path) as ledger:
        folder = paused_at(ledger, tmp_path / "net", 4)
    shutil.copytree(folder, tmp_path / "copy")
    shutil.copy(path, tmp_path / "older.sqlite")
    with Ledger.open(path) as ledger:
        release(ledger, tmp_path / "net", checkpoints=Checkpoints(resume=folder))
    shutil.copy(tmp_path / "older.sqlite", path)
    with Ledger.open(path) as ledger:
        with pytest.raises(CheckFailedError, match="older than the one"):
            release(
                ledger,
                tmp_path / "again",
                checkpoints=Checkpoints(resume=tmp_path / "copy"),
                emit=lambda e: taken.append(step_of(e)),
            )
        assert not any(taken)
        with pytest.raises(CheckFailedError, match="older than the one"):
            give_up(ledger, tmp_path / "copy")
        assert statuses(ledger) == ["reserved"]


def test_a_run_goes_on_where_its_ledger_was_moved_to_and_nowhere_else(tmp_path):
    path, moved = tmp_path / "ledger.sqlite", tmp_path / "moved.sqlite"
    with Ledger.open(path) as ledger:
        folder = paused_at(ledger, tmp_path / "net", 4)
        shutil.copytree(folder, tmp_path / "copy")
        ledger.move(moved)
        with pytest.raises(InputError, match="was moved"):
            release(ledger, tmp_path / "net", checkpoints=Checkpoints(resume=tmp_path / "copy"))
    with Ledger.open(moved) as ledger:
        release(ledger, tmp_path / "net", checkpoints=Checkpoints(resume=folder))
        assert statuses(ledger) == ["charged"]


@pytest.mark.parametrize("change", ["UPDATE entry SET body = '{\"steps\": 1}'", "DELETE FROM entry"])
def test_a_count_that_was_altered_gives_nothing_back_and_lets_nothing_go_on(tmp_path, change):
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        folder = paused_at(ledger, tmp_path / "net", 30, quiet=True)
        (release_,) = ledger.releases()
        assert ledger.steps_taken(release_.release_id) == 30
    with sqlite3.connect(path) as db:
        db.execute(f"{change} WHERE kind = 'claim'")
    db.close()
    with Ledger.open(path) as ledger:
        assert ledger.verify()
        with pytest.raises(CheckFailedError):
            give_up(ledger, folder)
        with pytest.raises(CheckFailedError):
            release(ledger, tmp_path / "net", quiet=True, checkpoints=Checkpoints(resume=folder))
        assert statuses(ledger) == ["reserved"]


def test_a_run_that_goes_on_is_not_given_up_nor_begun_twice(tmp_path):
    said: list[str] = []
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger, Ledger.open(tmp_path / "ledger.sqlite") as other:

        def hear(event: Event) -> None:
            if step_of(event) != 20:
                return
            assert paused_trainings(other, TABLE) == ()
            (folder,) = runs_folder().iterdir()
            for again in (
                lambda: give_up(other, folder),
                lambda: release(other, tmp_path / "other", quiet=True, checkpoints=Checkpoints(resume=folder)),
            ):
                with pytest.raises(InputError, match=r"is still running") as caught:
                    again()
                said.append(str(caught.value))

        release(ledger, tmp_path / "net", quiet=True, emit=hear)
        assert len(said) == 2
        assert "pause" in said[0]
        (release_,) = ledger.releases()
        assert (release_.status, release_.epsilon) == ("charged", WHOLE.epsilon)
        assert not is_running(release_)


def test_a_part_of_a_run_whose_release_was_ended_elsewhere_takes_no_more_steps(tmp_path):
    taken: list[int] = []
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger, Ledger.open(tmp_path / "ledger.sqlite") as other:

        def hear(event: Event) -> None:
            taken.append(step_of(event))
            if step_of(event) == 2:
                other.charge(other.releases()[0].release_id)

        with pytest.raises(InputError, match="is charged, not reserved"):
            release(ledger, tmp_path / "net", quiet=True, emit=hear)
        assert max(taken) == checkpoint.FIRST_CLAIM < STEPS


def test_another_part_of_a_run_ends_the_claims_of_the_former(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        paused_at(ledger, tmp_path / "net", 5)
        (release_,) = ledger.releases()
        ledger.resume(release_.release_id, {"run": "one"})
        ledger.claim_steps(release_.release_id, 3, STEPS, "one")
        ledger.resume(release_.release_id, {"run": "two"})  # as after a crash: nobody is at it
        with pytest.raises(InputError, match="taken over"):
            ledger.claim_steps(release_.release_id, 3, STEPS, "one")
        with pytest.raises(InputError, match="taken over"):
            ledger.pause_steps(release_.release_id, 3, "one")
        with pytest.raises(InputError, match="all of its 40 steps"):
            ledger.claim_steps(release_.release_id, STEPS - 7, STEPS, "two")
        with pytest.raises(InputError, match="more steps than it claimed"):
            ledger.pause_steps(release_.release_id, 9, "two")
        assert ledger.steps_taken(release_.release_id) == 8


def test_a_checkpoint_that_was_moved_goes_on_where_it_lies(tmp_path, monkeypatch):
    """The run before it is over: recovery does not end what the very command goes on with."""
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = paused_at(ledger, tmp_path / "net", 5)
        shutil.move(folder, tmp_path / "elsewhere")
        monkeypatch.setattr(recovery, "still_runs", lambda process: False)
        release(ledger, tmp_path / "net", checkpoints=Checkpoints(resume=tmp_path / "elsewhere"))
        (release_,) = ledger.releases()
        assert (release_.status, release_.epsilon) == ("charged", WHOLE.epsilon)
    assert not os.path.lexists(tmp_path / "elsewhere")


def test_a_long_run_makes_few_entries():
    """Two seconds at first, then a hundredth of the time that the run has taken: a day has some hundreds of claims."""
    claims, now = 0, 0.0

    class Counts:
        state, counted = None, 0

        def claim(self, steps: int) -> None:
            nonlocal claims
            claims += 1

        def give_back(self, steps: int) -> None:
            raise AssertionError("it is not paused")

        def save(self, state: checkpoint.RunState) -> None:
            pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint.time, "monotonic", lambda: now)
        steps = 24 * 3600
        kept = checkpoint.Checkpoints(Counts(), steps, lambda step: None)  # type: ignore[arg-type,return-value]
        for step in range(1, steps + 1):
            kept.before(step)
            now += 1.0
    assert 300 < claims < 900

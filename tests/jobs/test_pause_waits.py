"""A pause that is asked for before the first step waits for it; a cancel does not."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest

from workbench.jobs.network import pausable
from workbench.jobs.runner import Mailbox
from workbench.params import CancelledError
from workbench.release.model.network_task import Checkpoints, NetworkTask
from workbench.signals import AtStake, Budget, Event, Progress
from workbench.signals.cancel import CancelToken


def task(resume: Path | None = None) -> NetworkTask:
    nothing = cast("Any", None)
    return NetworkTask(nothing, nothing, nothing, Path(), checkpoints=Checkpoints(resume=resume))


def test_a_pause_waits_for_the_first_step() -> None:
    heard: list[Event] = []
    asked = CancelToken()
    emit, cancel = pausable(task(), heard.append, asked, lambda: True)
    asked.cancel()
    emit(Progress(0, 1))
    emit(Budget(0.0, 0.0, 1.0, 0, 10))
    assert not cancel.cancelled
    cancel.check()
    cancel.rest(0.0)
    emit(Budget(0.1, 0.0, 1.0, 1, 10))
    assert cancel.cancelled
    with pytest.raises(CancelledError):
        cancel.rest(10.0)
    assert len(heard) == 3


@pytest.mark.parametrize("resume", [None, Path("run")], ids=["begins", "goes on"])
def test_a_cancel_and_the_pause_of_a_run_that_goes_on_do_not_wait(resume: Path | None) -> None:
    asked = CancelToken()
    _, cancel = pausable(task(resume), lambda event: None, asked, lambda: resume is not None)
    assert not cancel.cancelled
    asked.cancel()
    assert cancel.cancelled


def test_what_is_at_stake_is_a_gauge_and_ends_nothing() -> None:
    box = Mailbox()
    for epsilon in ("1", "2"):
        assert box.put(AtStake(Decimal(epsilon)))
    assert box.put(Progress(1, 2))
    assert [e for e in box.drain() if isinstance(e, AtStake)] == [AtStake(Decimal(2))]
    assert not box.closed

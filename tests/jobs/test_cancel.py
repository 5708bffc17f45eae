"""Jobs that are cancelled, pause, run out of time, and say what they do."""

import threading
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.jobs.network import pausable
from workbench.jobs.runner import Mailbox, TimeLeft
from workbench.params import CancelledError
from workbench.release.model.network_task import Checkpoints, NetworkTask
from workbench.signals import AtStake, Budget, Cancelled, Event, Finished, Memory, Metric, Notice, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Terminal


def test_a_rest_ends_as_soon_as_a_stop_is_asked_for():
    token = CancelToken()
    stopper = threading.Timer(0.02, token.cancel)
    stopper.start()
    with pytest.raises(CancelledError):
        token.rest(600)
    stopper.join()


def test_a_rest_that_nobody_stops_goes_by():
    token = CancelToken()
    token.rest(0.001)
    assert not token.cancelled


# -- A pause that is asked for before the first step waits for it; a cancel does not ----------------------------------


def task(resume: Path | None = None) -> NetworkTask:
    nothing = cast("Any", None)
    return NetworkTask(nothing, nothing, nothing, Path(), checkpoints=Checkpoints(resume=resume))


def test_a_pause_waits_for_the_first_step():
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
def test_a_cancel_and_the_pause_of_a_run_that_goes_on_do_not_wait(resume):
    asked = CancelToken()
    _, cancel = pausable(task(resume), lambda event: None, asked, lambda: resume is not None)
    assert not cancel.cancelled
    asked.cancel()
    assert cancel.cancelled


def test_what_is_at_stake_is_a_gauge_and_ends_nothing():
    box = Mailbox()
    for epsilon in ("1", "2"):
        assert box.put(AtStake(Decimal(epsilon)))
    assert box.put(Progress(1, 2))
    assert [e for e in box.drain() if isinstance(e, AtStake)] == [AtStake(Decimal(2))]
    assert not box.closed


# -- time that is left -----------------------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_said_before_the_pace_is_known():
    clock = Clock()
    left = TimeLeft(clock)
    assert left.fill(Progress(0, 100)).seconds_left is None
    clock.now = 0.5
    assert left.fill(Progress(5, 100)).seconds_left is None
    clock.now = 1.5
    assert left.fill(Progress(15, 100)).seconds_left == pytest.approx(8.5)


@given(burst=st.integers(1, 20), pace=st.floats(0.1, 50))
def test_a_steady_pace_is_told_exactly_however_it_bursts(burst, pace):
    clock = Clock()
    left = TimeLeft(clock)
    left.fill(Progress(0, 1000))
    for done in range(burst, 400, burst):
        clock.now = done / pace
        told = left.fill(Progress(done, 1000)).seconds_left
        if told is not None:
            assert told == pytest.approx((1000 - done) / pace, rel=0.6 if burst > 10 * pace else 0.25)


def test_a_slower_pace_is_followed():
    clock = Clock()
    left = TimeLeft(clock)
    for done in range(100):
        clock.now += 0.1
        left.fill(Progress(done, 200))
    for done in range(100, 150):
        clock.now += 1.0
        told = left.fill(Progress(done, 200)).seconds_left
    assert told == pytest.approx(51, rel=0.1)


def test_a_new_phase_begins_a_new_estimate():
    clock = Clock()
    left = TimeLeft(clock)
    for done in range(10):
        clock.now += 1
        left.fill(Progress(done, 10, "read"))
    assert left.fill(Progress(0, 10, "write")).seconds_left is None


def test_an_estimate_of_the_work_itself_is_kept():
    left = TimeLeft(Clock())
    assert left.fill(Progress(1, 2, "", 7.0)).seconds_left == 7.0


# -- the mailbox of a job --------------------------------------------------------------------------------------------


events = st.one_of(
    st.builds(Progress, st.integers(0, 9), st.just(9)),
    st.builds(Metric, st.sampled_from("ab"), st.integers(0, 9), st.just(0.5)),
    st.builds(Budget, st.floats(0, 1), st.just(0.0), st.none()),
    st.builds(Memory, st.integers(0, 9), st.just(9), device=st.sampled_from(["cpu", "cuda"])),
    st.builds(Notice, st.just("info"), st.text(max_size=3)),
    st.builds(Finished, st.integers()),
)


def slot(event: Event) -> object:
    match event:
        case Metric():
            return "metric", event.name
        case Memory():
            return "memory", event.device
        case Notice():
            return id(event)
        case _:
            return type(event)


@given(st.lists(events))
def test_a_reader_sees_the_newest_of_each_gauge_every_notice_and_one_terminal_event(said):
    box = Mailbox()
    taken = [e for e in said if box.put(e)]
    ends = [i for i, e in enumerate(said) if isinstance(e, Terminal)]
    assert taken == (said[: ends[0] + 1] if ends else said)
    last = {slot(e): i for i, e in enumerate(taken)}
    assert box.drain() == [taken[i] for i in sorted(last.values())]
    assert box.drain() == []
    assert box.closed == bool(ends)


def test_what_comes_after_the_terminal_event_is_refused():
    box = Mailbox()
    assert box.put(Cancelled())
    assert not box.put(Progress(1, 2))
    assert not box.put(Finished(1))
    assert box.drain() == [Cancelled()]


def test_no_notice_is_lost_between_threads():
    box, read = Mailbox(), []

    def speak(name: str) -> None:
        for i in range(500):
            box.put(Notice("info", f"{name}{i}"))
            box.put(Metric(name, i, float(i)))

    threads = [threading.Thread(target=speak, args=(name,)) for name in "abc"]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        read += box.drain()
    for t in threads:
        t.join()
    read += box.drain()
    for name in "abc":
        mine = [e.text for e in read if isinstance(e, Notice) and e.text.startswith(name)]
        assert mine == [f"{name}{i}" for i in range(500)]
        steps = [e.step for e in read if isinstance(e, Metric) and e.name == name]
        assert steps == sorted(steps)
        assert steps[-1] == 499

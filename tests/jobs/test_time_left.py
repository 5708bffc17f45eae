import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.jobs.runner import TimeLeft
from workbench.signals import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_said_before_the_pace_is_known() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    assert left.fill(Progress(0, 100)).seconds_left is None
    clock.now = 0.5
    assert left.fill(Progress(5, 100)).seconds_left is None
    clock.now = 1.5
    assert left.fill(Progress(15, 100)).seconds_left == pytest.approx(8.5)


@given(burst=st.integers(1, 20), pace=st.floats(0.1, 50))
def test_a_steady_pace_is_told_exactly_however_it_bursts(burst: int, pace: float) -> None:
    clock = Clock()
    left = TimeLeft(clock)
    left.fill(Progress(0, 1000))
    for done in range(burst, 400, burst):
        clock.now = done / pace
        told = left.fill(Progress(done, 1000)).seconds_left
        if told is not None:
            assert told == pytest.approx((1000 - done) / pace, rel=0.6 if burst > 10 * pace else 0.25)


def test_a_slower_pace_is_followed() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    for done in range(100):
        clock.now += 0.1
        left.fill(Progress(done, 200))
    for done in range(100, 150):
        clock.now += 1.0
        told = left.fill(Progress(done, 200)).seconds_left
    assert told == pytest.approx(51, rel=0.1)


def test_a_new_phase_begins_a_new_estimate() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    for done in range(10):
        clock.now += 1
        left.fill(Progress(done, 10, "read"))
    assert left.fill(Progress(0, 10, "write")).seconds_left is None


def test_an_estimate_of_the_work_itself_is_kept() -> None:
    left = TimeLeft(Clock())
    assert left.fill(Progress(1, 2, "", 7.0)).seconds_left == 7.0

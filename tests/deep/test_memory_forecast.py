"""Memory is predicted by arithmetic and measured while a run goes on."""

import mmap
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.memory import MemoryForecast, MemoryWatch, out_of_memory, predict  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.trainer import train  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402


def features(columns: int) -> Features:
    attributes = tuple(Attribute(name=f"x{i}", kind="real", lower=0, upper=1) for i in range(columns))
    return Features(attributes, Attribute(name="y", kind="boolean"))


def plan(**changes: Any) -> DpSgdPlan:
    given = {"network": "mlp", "noise": 1.0, "delta": 1e-7, "batch": 64, "epochs": 1, "lr": 0.1, "clip": 1.0}
    return DpSgdPlan(**{**given, "physical_batch": 64, "accountant": "rdp", "device": "cpu", **changes})


def test_each_phase_grows_with_what_it_holds():
    small = predict(plan(), features(8), 1000)
    more = predict(plan(), features(8), 2000)
    assert (more.data, more.reading) == (2 * small.data, 2 * small.reading)
    assert predict(plan(physical_batch=16), features(8), 1000).backward < small.backward
    assert predict(plan(optimizer="adam"), features(8), 1000).model == 2 * small.model
    assert predict(plan(accountant="pld"), features(8), 1000).beside > small.beside
    held = small.beside + small.model + small.data
    step = max(small.batch + small.backward, small.step)
    assert small.peak == held + max(small.reading, step + min(small.reading, step) // 2), "half is not given back"
    assert small.libraries == 0, "torch is loaded here"


def test_the_physical_batch_bounds_memory_whatever_the_logical_one():
    one = predict(plan(batch=256, physical_batch=128), features(8), 10**6)
    other = predict(plan(batch=65_536, physical_batch=128), features(8), 10**6)
    assert other.backward == one.backward


def test_what_the_system_and_torch_say_of_memory_is_recognised():
    with pytest.raises(RuntimeError) as refused:
        torch.empty(2**46)
    assert out_of_memory(refused.value)
    with pytest.raises(MemoryError) as short:
        np.empty(2**46)
    assert out_of_memory(short.value)
    assert not out_of_memory(RuntimeError("a shape does not fit"))


def one_run(columns: int, rows: int) -> tuple[int, int]:
    """Return the bytes that a run took at most, and those that were predicted for it."""
    described = features(columns)
    data = ArrayData(described, np.ones((rows, columns)), np.zeros(rows, dtype=np.int64))
    run = train(plan(batch=2000, seconds=0.5), data, Charged(lambda cost: None))
    # The matrix was there before: the run itself neither reads a table nor starts its reader.
    known = predict(run.plan, described, rows)
    return run.peak_memory_bytes, known.peak - known.beside - max(0, known.reading - known.batch - known.backward)


@pytest.mark.slow
def test_a_run_takes_about_what_was_predicted():
    """In a process of its own: one in which other tests have run takes what they have left.

    80 MB of numbers, so that what the process does besides is small.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as alone:
        taken, predicted = alone.submit(one_run, 50, 100_000).result()
    assert taken == pytest.approx(predicted, rel=0.5)


def test_a_watch_keeps_the_peak_above_its_start():
    """Pages of a map of its own: an array may come from the heap, which keeps them when it is freed."""
    watch, size = MemoryWatch("cpu"), 64_000_000
    with mmap.mmap(-1, size) as held:
        for page in range(0, size, mmap.PAGESIZE):
            held[page] = 1
        watch.look()
    assert watch.peak >= 0.8 * size
    peak = watch.peak
    watch.look()
    assert watch.peak == peak
    assert watch.now < peak


def test_glances_at_the_memory_become_rare(monkeypatch):
    watch, looks, now = MemoryWatch("cpu"), [], [0.0]
    monkeypatch.setattr(watch, "look", lambda: looks.append(now[0]))
    monkeypatch.setattr("workbench.deep.memory.time.monotonic", lambda: now[0])
    for _ in range(300):
        watch.look_sometimes()
    assert len(looks) == 200, "the first ones are all looks"
    for _ in range(1000):
        now[0] += 0.001
        watch.look_sometimes()
    assert 200 + 150 <= len(looks) <= 200 + 201


def test_memory_that_other_work_gave_back_makes_no_phase_smaller_than_its_arrays():
    forecast = MemoryForecast(beside=20, model=5, reading=9, data=7, batch=1, backward=4, step=3)
    after = forecast.after_first_step(now=-1000, to_come=0)
    assert after.phases() == {"model": 41, "batch": 13, "backward": 17, "step": 17}

"""Where the accuracy goes: three trainings on the same batches, of which only the last is noisy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep import private_step  # noqa: E402
from workbench.deep.accuracy_study import STAGES, where_it_went  # noqa: E402
from workbench.deep.factors import NORMS  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.run_report import NORM_EDGES  # noqa: E402
from workbench.deep.trainer import train  # noqa: E402
from workbench.params import CancelledError, InputError  # noqa: E402
from workbench.privacy.entropy import SeededEntropy  # noqa: E402
from workbench.signals.cancel import CancelToken  # noqa: E402
from workbench.signals.events import Event, Progress, Spread  # noqa: E402
from workbench.work.noise import Study  # noqa: E402

FEATURES = Features(
    tuple(Attribute(name=f"x{i}", kind="real", lower=-3, upper=3) for i in range(3)),
    Attribute(name="y", kind="category", domain=("no", "yes")),
)
PLAN = DpSgdPlan(
    network="logistic", noise=20.0, delta=1e-5, batch=40, epochs=20, lr=2.0, clip=0.5, accountant="rdp", device="cpu"
)


def data(rows: int = 400) -> ArrayData:
    X = np.random.default_rng(0).uniform(-3, 3, size=(rows, 3))
    return ArrayData(FEATURES, X, (X[:, 0] + X[:, 1] > 0).astype(int))


def test_noise_costs_accuracy_and_the_study_is_the_same_with_the_same_seed() -> None:
    first = where_it_went(PLAN, data(), seed=3)
    assert [s.name for s in first] == list(STAGES)
    assert all(s.measured == 80 for s in first)
    plain, clipped, noisy = (s.accuracy for s in first)
    assert plain > 0.95
    assert clipped > 0.95
    assert noisy < clipped - 0.05
    assert where_it_went(PLAN, data(), seed=3) == first


def test_without_clipping_that_bites_and_without_noise_all_three_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        def __init__(self, *given: Any) -> None: ...

        def add_to(self, values: np.ndarray, out: np.ndarray, over: float) -> None:
            out[:] = values / over

    monkeypatch.setattr(private_step, "GaussianNoise", Silent)
    found = where_it_went(replace(PLAN, clip=100.0), data())
    assert len({s.accuracy for s in found}) == 1


def test_it_is_cancelled_within_a_step_and_too_few_rows_are_refused() -> None:
    token, heard = CancelToken(), []

    def hear(event: Event) -> None:
        heard.append(event)
        if isinstance(event, Progress) and event.done == 5:
            token.cancel()

    with pytest.raises(CancelledError):
        where_it_went(PLAN, data(), emit=hear, cancel=token)
    assert heard[-1].done == 5
    with pytest.raises(InputError, match="too few"):
        where_it_went(replace(PLAN, batch=2), data(10))


@pytest.mark.parametrize(("name", "width"), [("logistic", 3), ("mlp", 3), ("mnist-cnn", 784)])
def test_the_histogram_of_norms_counts_each_row_of_the_measured_steps_once(name: str, width: int) -> None:
    """Whichever engine computes them; a row that is drawn is in one bin."""
    features = Features(
        tuple(Attribute(name=f"x{i}", kind="real", lower=-3, upper=3) for i in range(width)), FEATURES.target
    )
    X = np.random.default_rng(1).uniform(-3, 3, size=(30, width))
    rows = ArrayData(features, X, (X[:, 0] > 0).astype(int))
    heard: list[Spread] = []
    plan = replace(PLAN, network=name, batch=10, epochs=2, noise=2.0, physical_batch=4, lr=0.01)
    drawn: list[int] = []
    done = train(
        plan, rows, Study(np.random.default_rng(2), SeededEntropy(1)),
        emit=lambda e: heard.append(e) if isinstance(e, Spread) else None,
    )  # fmt: skip
    from workbench.deep.poisson import PoissonSampler

    again = PoissonSampler(30, done.schedule.event.sample_rate, SeededEntropy(1))
    drawn = [len(again.draw()) for _ in range(done.steps)]
    told = {spread.step: sum(spread.counts) for spread in heard}
    assert told == {step: count for step, count in enumerate(drawn, start=1) if count}
    assert all(spread.edges == NORM_EDGES for spread in heard)
    assert NORMS.on_norms is None

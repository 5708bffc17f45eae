"""Canaries in one run pass the right step and flag planted wrong noise."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from workbench.deep.canaries import CanaryAudit, audit_step, step_of  # noqa: E402
from workbench.deep.plan import DpSgdPlan, Schedule  # noqa: E402
from workbench.deep.private_step import PrivateStep  # noqa: E402
from workbench.params import CancelledError, ParameterError  # noqa: E402
from workbench.privacy.audit import chance_of_guesses, epsilon_of_guesses, right_guesses, scale_bounds  # noqa: E402
from workbench.privacy.entropy import SeededEntropy  # noqa: E402
from workbench.signals.cancel import CancelToken  # noqa: E402
from workbench.work.ask import Steps  # noqa: E402
from workbench.work.noise import Study  # noqa: E402

ALPHA, DELTA = 1e-6, 1e-10


def plan(**changes: Any) -> DpSgdPlan:
    given = {"network": "logistic", "noise": 2.0, "delta": DELTA, "batch": 500, "epochs": 1, "lr": 1.0, "clip": 1.0}
    return DpSgdPlan(**{**given, "accountant": "rdp", **changes})


def audited(plan: DpSgdPlan, canaries: int = 6_000, **more: Any) -> CanaryAudit:
    noise = Study(np.random.default_rng(2), SeededEntropy(1))
    return audit_step(plan, canaries=canaries, alpha=ALPHA, noise=noise, **more)


class Wrong:
    """Noise of any standard deviation."""

    def __init__(self, scale: float) -> None:
        self._scale, self._generator = scale, np.random.default_rng(3)

    def add_to(self, values: np.ndarray, out: np.ndarray, over: float) -> None:
        out[:] = (values + self._generator.normal(0, self._scale, len(values))) / over


def scaled(of: Callable[[Schedule], float]) -> Callable[[Schedule, Steps], PrivateStep]:
    """A step whose noise has another standard deviation than the schedule's."""
    return lambda schedule, steps: replace(step_of(schedule, steps), noise=Wrong(of(schedule)))  # type: ignore[arg-type]


@pytest.mark.parametrize("clip", [16.0, 0.05])
def test_the_right_step_passes_with_a_bound_that_is_worth_something(clip):
    found = audited(plan(clip=clip))
    assert not found.refuted
    assert 0.4 < found.epsilon_lower < found.claim
    assert found.noise == pytest.approx(1, abs=0.05)
    assert found.noise_low < 1 < found.noise_high
    assert (found.canaries, found.guesses, found.delta) == (6_000, 600, DELTA)


def test_the_variance_sigma_squared_c_is_flagged_where_c_is_above_one():
    found = audited(plan(clip=64.0), made=scaled(lambda s: s.event.noise_multiplier * math.sqrt(s.clip)))
    assert found.refuted
    assert found.epsilon_lower > found.claim, "an eighth of the noise is seen in the guesses alone"
    assert found.noise == pytest.approx(0.125, rel=0.05)


def test_half_the_noise_is_flagged():
    found = audited(plan(), made=scaled(lambda s: s.noise_scale / 2))
    assert found.refuted
    assert found.noise_high < 0.6


def test_rows_that_are_not_clipped_are_flagged():
    """Without clipping a canary is as large as its feature."""

    def made(schedule: Schedule, steps: Steps) -> PrivateStep:
        loose = step_of(replace(schedule, clip=8 * schedule.clip), steps)
        return replace(loose, noise=Wrong(schedule.noise_scale))  # type: ignore[arg-type]

    found = audited(plan(), made=made)
    assert found.refuted
    assert found.epsilon_lower > found.claim


def test_sampled_batches_and_several_steps_are_audited():
    sampled = plan(batch=125, epochs=2, noise=0.8)
    found = audited(sampled, canaries=2_000)
    assert sampled.schedule(500).steps == 8
    assert not found.refuted
    assert found.noise == pytest.approx(1, abs=0.05)
    wrong = audited(sampled, canaries=2_000, made=scaled(lambda s: s.noise_scale / 2))
    assert wrong.refuted


def test_the_bound_of_the_paper():
    """Pure ε: the binomial tail. With δ: the published recursion, term by term."""
    assert chance_of_guesses(1000, 100, 90, 0.0, 0.0) == pytest.approx(1.53e-17, rel=0.01)
    from scipy.stats import binom

    share, extra, running = 1 / (1 + math.exp(-1.0)), 0.0, 0.0
    for i in range(1, 91):
        running += float(binom.pmf(90 - i, 100, share))
        extra = max(extra, running / i)
    expected = float(binom.sf(89, 100, share)) + 2 * 1000 * 1e-5 * extra
    assert chance_of_guesses(1000, 100, 90, 1.0, 1e-5) == pytest.approx(expected)
    bound = epsilon_of_guesses(1000, 100, 95, alpha=0.05, delta=1e-5)
    assert chance_of_guesses(1000, 100, 95, bound, 1e-5) == pytest.approx(0.05, rel=1e-3)
    assert epsilon_of_guesses(1000, 100, 50, alpha=0.05, delta=1e-5) == 0
    with pytest.raises(ParameterError, match="not possible"):
        epsilon_of_guesses(10, 20, 5, alpha=0.05, delta=0)


def test_the_bound_holds_for_randomised_response():
    """The mechanism that reaches the bound: a right mechanism is above its own ε in at most α of the runs."""
    rng = np.random.default_rng(4)
    epsilon, above = 1.0, 0
    for _ in range(400):
        present = rng.random(500) < 0.5
        kept = rng.random(500) < 1 / (1 + math.exp(-epsilon))
        evidence = np.where(present == kept, 1.0, -1.0)
        right = right_guesses(evidence, present, 500)
        above += chance_of_guesses(500, 500, right, epsilon, 0.0) <= 0.05  # then the bound is above epsilon
    assert 0 < above < 45  # 20 expected; 45 is 5.7 standard deviations above


def test_the_interval_of_a_scale_contains_it():
    drawn = np.random.default_rng(0).normal(0, 3, 5_000)
    low, high = scale_bounds(float(np.sum(drawn**2)), len(drawn), alpha=1e-6)
    assert low < 3 < high < 1.06 * low * 1.06


def test_an_audit_can_be_cancelled():
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        audited(plan(), cancel=cancel)

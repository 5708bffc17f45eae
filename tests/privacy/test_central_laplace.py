"""Discrete Laplace noise: released and studied draws follow the closed form.

Each statistical assertion fails by chance at most once in 10⁷ runs; all of the released ones together at most once in
10⁶. Studies are seeded and cannot fail by chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, norm

from workbench.params import ParameterError
from workbench.privacy.central.central_noise import CentralNoise, NoNoise
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise

DRAWS = 40_000
FALSE_ALARM = 1e-7


def study() -> StudyNoise:
    return StudyNoise(np.random.default_rng(11))


NOISES = pytest.mark.parametrize("noise", [ReleasedNoise(), study()], ids=["released", "study"])


def draws(noise: CentralNoise, sensitivity: int, epsilon: float, count: int = DRAWS) -> np.ndarray:
    return np.array(noise.integers([0] * count, sensitivity, epsilon))


def probability(k: np.ndarray, sensitivity: int, epsilon: float) -> np.ndarray:
    b = np.exp(-epsilon / sensitivity)
    return (1 - b) / (1 + b) * b ** np.abs(k)


@NOISES
def test_golden_probability_of_zero(golden: dict[str, list[dict[str, Any]]], noise: CentralNoise) -> None:
    entries = golden["discrete_laplace_P0"]
    assert len(entries) == 2
    for entry in entries:
        sensitivity, epsilon = entry["inputs"]["sensitivity"], entry["inputs"]["eps"]
        assert probability(np.array(0), sensitivity, epsilon) == pytest.approx(entry["value"], abs=entry["tolerance"])
        zeros = int((draws(noise, sensitivity, epsilon) == 0).sum())
        assert binomtest(zeros, DRAWS, entry["value"]).pvalue > FALSE_ALARM


@NOISES
def test_golden_variance(golden: dict[str, list[dict[str, Any]]], noise: CentralNoise) -> None:
    for entry in golden["discrete_laplace_var"]:
        squares = draws(noise, 1, entry["inputs"]["eps"]).astype(float) ** 2
        support = np.arange(-200, 201)
        fourth = (support.astype(float) ** 4 * probability(support, 1, entry["inputs"]["eps"])).sum()
        deviation = np.sqrt((fourth - entry["value"] ** 2) / DRAWS)
        # A mean of 40,000 squares is normal to well within the factor that is left below 1e-7 at 7 deviations.
        assert abs(squares.mean() - entry["value"]) < 7 * deviation


@NOISES
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1.0), (5, 0.5), (1024, 2.5)])
def test_draws_follow_the_closed_form(noise: CentralNoise, sensitivity: int, epsilon: float) -> None:
    scale = sensitivity / epsilon
    edges = np.unique(np.rint(np.arange(-5, 5.5, 0.5) * scale)).astype(int)
    support = np.arange(edges[0] - int(60 * scale), edges[-1] + int(60 * scale))
    weights = probability(support, sensitivity, epsilon)
    expected = np.bincount(np.searchsorted(edges, support, side="right"), weights) * DRAWS
    seen = np.bincount(
        np.searchsorted(edges, draws(noise, sensitivity, epsilon), side="right"), minlength=len(expected)
    )
    assert expected.min() > 20
    statistic = ((seen - expected) ** 2 / expected).sum()
    # The chi-square limit is approximate: a further factor 10 in the level pays for it.
    assert statistic < chi2.isf(FALSE_ALARM / 10, len(expected) - 1)


@NOISES
def test_noise_is_centred_on_the_value_and_independent_between_entries(noise: CentralNoise) -> None:
    values = np.array(noise.integers([100, -7] * DRAWS, 1, 1.0)).reshape(-1, 2)
    limit = norm.isf(FALSE_ALARM / 2) * 1.1
    spread = np.sqrt(1.8413471884155848 / DRAWS)
    assert abs(values[:, 0].mean() - 100) < limit * spread
    assert abs(values[:, 1].mean() + 7) < limit * spread
    product = (values[:, 0] - 100) * (values[:, 1] + 7)
    assert abs(product.mean()) < limit * 1.8413471884155848 / np.sqrt(DRAWS)


def test_no_noise_returns_the_values() -> None:
    assert NoNoise().integers([3, -4, 0], 1, 0.1) == [3, -4, 0]


def test_only_the_cryptographic_noise_is_releasable() -> None:
    assert [n.releasable for n in (ReleasedNoise(), study(), NoNoise())] == [True, False, False]


@NOISES
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1e-9), (2**30, 0.05), (2**40, 1e-3), (1, 1e6)])
def test_extreme_scales_stay_integers(noise: CentralNoise, sensitivity: int, epsilon: float) -> None:
    found = noise.integers([5, -5, 0], sensitivity, epsilon)
    assert all(type(v) is int and abs(v) < 2**62 for v in found)


@NOISES
@pytest.mark.parametrize(
    ("sensitivity", "epsilon"),
    [(0, 1.0), (-1, 1.0), (True, 1.0), (1, 0.0), (1, -1.0), (1, float("nan")), (1, float("inf"))],
)
def test_impossible_calibrations_are_refused(noise: CentralNoise, sensitivity: int, epsilon: float) -> None:
    with pytest.raises(ParameterError):
        noise.integers([1], sensitivity, epsilon)


def test_studies_are_reproducible_and_releases_are_not() -> None:
    one, two = (StudyNoise(np.random.default_rng(3)).integers([0] * 64, 1, 0.1) for _ in range(2))
    assert one == two
    assert draws(ReleasedNoise(), 1, 0.1, 64).tolist() != draws(ReleasedNoise(), 1, 0.1, 64).tolist()

"""Estimates from noisy integers: plain without noise, public priors when noise is all there is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from workbench.learners.denoise import cell_probabilities, class_means, class_sizes, near_mean, positive_mean
from workbench.privacy.central.share import discrete_laplace_variance


@pytest.mark.parametrize(
    ("estimate", "deviation", "prior"), [(0.3, 0.1, 0.5), (-0.4, 0.2, 0.1), (0.01, 1.0, 0.05), (3.0, 0.5, 0.2)]
)
def test_positive_mean_is_the_posterior_mean(estimate, deviation, prior):
    def weight(v: float) -> float:
        return float(np.exp(-v / prior) * norm.pdf(estimate, v, deviation))

    top = max(estimate, prior) + 12 * max(deviation, prior)
    mass = quad(weight, 0, top, limit=400)[0]
    mean = quad(lambda v: v * weight(v), 0, top, limit=400)[0] / mass
    assert float(positive_mean(estimate, deviation, prior)) == pytest.approx(mean, rel=1e-6)


@given(st.floats(-1e6, 1e6), st.floats(0, 1e12), st.floats(1e-6, 1))
def test_positive_mean_is_positive_and_finite(estimate, deviation, prior):
    found = float(positive_mean(estimate, deviation, prior))
    assert np.isfinite(found)
    assert found >= 0


@given(st.floats(0, 1e3), st.floats(1e-6, 1))
def test_positive_mean_without_noise_is_the_estimate(estimate, prior):
    assert float(positive_mean(estimate, 0.0, prior)) == estimate


@given(st.floats(-3, 3), st.floats(1e-3, 1))
def test_positive_mean_of_pure_noise_is_the_prior(deviations, prior):
    noise = 1e4 * prior
    assert float(positive_mean(deviations * noise, noise, prior)) == pytest.approx(prior, rel=0.05)


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=12))
def test_sizes_without_noise_are_the_counts(counts):
    noisy = np.array(counts, dtype=float)
    sizes, variance = class_sizes(noisy, int(noisy.sum()), 0.0)
    np.testing.assert_allclose(sizes, noisy, atol=1e-9)
    assert not variance.any()


@given(st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=12), st.integers(1, 10**6), st.floats(1e-9, 1e12))
def test_sizes_are_positive_and_sum_to_n_unless_rows_are_empty(counts, rows, variance):
    noisy = np.array(counts, dtype=float)
    sizes, _ = class_sizes(noisy, rows, variance)
    assert (sizes > 0).all()
    explained = abs(noisy.sum() - rows) <= 4 * np.sqrt(len(counts) * variance)
    assert sizes.sum() == pytest.approx(rows if explained else max(noisy.sum(), 1), rel=1e-9)


def test_means_of_pure_noise_are_one_mean():
    means, left, weight = class_means(np.array([0.9, -0.8]), np.array([1e6, 1e6]), 0.4)
    assert abs(means[0] - means[1]) < 1e-5
    assert weight.max() < 1e-6
    np.testing.assert_allclose(left, 0.16, rtol=1e-5)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=10))
def test_means_without_noise_are_the_means(values):
    noisy = np.array(values)
    means, left, weight = class_means(noisy, np.zeros(len(values)), 0.4)
    np.testing.assert_array_equal(means, noisy)
    np.testing.assert_array_equal(left, 0)
    np.testing.assert_array_equal(weight, 1)


@given(st.lists(st.lists(st.integers(-500, 500), min_size=3, max_size=3), min_size=2, max_size=5), st.floats(1e-6, 1e6))
def test_cells_are_probabilities(counts, variance):
    noisy = np.array(counts, dtype=float)
    sizes = np.full(len(counts), 50.0)
    cells = cell_probabilities(noisy, sizes, np.zeros(len(counts)), variance)
    assert (cells > 0).all()
    np.testing.assert_allclose(cells.sum(axis=1), 1)


def test_cells_without_noise_are_frequencies_and_of_pure_noise_alike():
    counts, sizes = np.array([[10.0, 30.0], [5.0, 15.0]]), np.array([40.0, 20.0])
    found = cell_probabilities(counts, sizes, np.zeros(2), 0.0)
    np.testing.assert_array_equal(found, [[0.25, 0.75], [0.25, 0.75]])
    noise = cell_probabilities(np.array([[900.0, -700.0], [-800.0, 400.0]]), sizes, np.zeros(2), 1e8)
    assert np.abs(noise[0] - noise[1]).max() < 0.05


def test_golden_variance_of_discrete_laplace(golden_entries):
    entries = [e for e in golden_entries if e["name"] == "discrete_laplace_var"]
    assert entries
    for entry in entries:
        found = discrete_laplace_variance(1, entry["inputs"]["eps"])
        assert found == pytest.approx(entry["value"], abs=entry["tolerance"])
    assert discrete_laplace_variance(1, np.inf) == 0
    assert discrete_laplace_variance(2**30, 1e-3) == pytest.approx(2 * (2**30 / 1e-3) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    ("estimate", "deviation", "prior", "spread"), [(0.3, 0.1, 0.5, 0.5), (-0.4, 0.2, 0.1, 0.5), (0.01, 1.0, 0.05, 1.0)]
)
def test_near_mean_is_the_posterior_mean(estimate, deviation, prior, spread):
    def weight(v: float) -> float:
        return float(norm.pdf(v, prior, spread * prior) * norm.pdf(estimate, v, deviation))

    top = prior + 12 * spread * prior
    mass = quad(weight, 0, top, limit=400)[0]
    mean = quad(lambda v: v * weight(v), 0, top, limit=400)[0] / mass
    found = near_mean(np.array([estimate]), np.array([deviation]), np.array([prior]), spread)
    assert float(found[0]) == pytest.approx(mean, rel=1e-6)


@given(st.floats(0, 1e3), st.floats(1e-6, 1))
def test_near_mean_without_noise_is_the_estimate(estimate, prior):
    assert float(near_mean(np.array([estimate]), np.zeros(1), np.array([prior]), 0.5)[0]) == pytest.approx(
        estimate, abs=1e-9
    )


def test_classes_of_no_rows_have_sizes_that_nothing_is_divided_by():
    for noisy in ([0.0, 0.0], [3.0, -4.0], [0.0]):
        sizes, variance = class_sizes(np.array(noisy), 0, 2.0)  # a division by zero would be a warning, and fail
        assert np.isfinite(sizes).all()
        assert (sizes >= 0).all()
        assert np.isfinite(variance).all()

"""Population uniqueness: ARX's figures of the Adult census table, and the equations computed in another way."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.risk.measures.population import (
    PITMAN,
    POPULATION_MODELS,
    SNB,
    ZAYATZ,
    Estimate,
    Sample,
    chosen,
    classes_in_population,
    expected,
    log_likelihood,
)

# The classes of Adult (UCI, 30,162 complete rows) over the nine columns of ARX's adult.csv: sex, age, race,
# marital-status, education, native-country, workclass, occupation, salary-class. How many have 1, 2, 3 … rows.
ADULT = {
    1: 15512, 2: 2098, 3: 754, 4: 375, 5: 189, 6: 155, 7: 97, 8: 73, 9: 39, 10: 37, 11: 29, 12: 18, 13: 23, 14: 14,
    15: 15, 16: 9, 17: 11, 18: 10, 19: 10, 20: 5, 21: 3, 22: 4, 23: 3, 24: 2, 25: 1, 26: 3, 27: 5, 29: 1, 30: 2, 32: 1,
    34: 1, 35: 1, 36: 1, 45: 1,
}  # fmt: skip


def sample(histogram: dict[int, int], fraction: float) -> Sample:
    return Sample(np.array(list(histogram)), np.array(list(histogram.values())), fraction)


def share(found: Estimate | None, of: Sample) -> float:
    assert found is not None
    return found.unique / of.people


# What ARX's own test states (TestRiskMetrics.java, commit 9f5b7004): average risk 0.6465751607983555, unique rows
# 0.5142895033485844, and Dankar's choice at each sample fraction, four digits of which it compares.
@pytest.mark.parametrize(
    ("fraction", "model", "stated"),
    [
        (0.01, PITMAN, 0.1446083531167384),
        (0.1, PITMAN, 0.27684993883653597),
        (0.1, ZAYATZ, 0.3207402393466189),
        (0.2, ZAYATZ, 0.3577099234829125),
    ],
)
def test_the_adult_table_has_the_figures_of_arx(fraction, model, stated):
    of = sample(ADULT, fraction)
    assert (of.rows, of.number) == (30_162, 19_502)
    assert of.number / of.rows == 0.6465751607983555
    assert of.of_size(1) / of.rows == 0.5142895033485844
    assert model in POPULATION_MODELS
    assert share(model.estimate(of), of) == pytest.approx(stated, abs=1e-6)  # type: ignore[attr-defined]


def test_dankars_rule_takes_pitman_for_small_samples_and_the_smaller_estimate_for_large_ones():
    def stated(**unique: float | None) -> dict[str, Estimate | None]:
        return {name: None if value is None else Estimate(value, {}) for name, value in unique.items()}

    assert chosen(stated(pitman=9, zayatz=5, snb=4), 0.1) == "pitman"
    assert chosen(stated(pitman=None, zayatz=5, snb=4), 0.1) == "zayatz"
    assert chosen(stated(pitman=1, zayatz=5, snb=4), 0.11) == "snb"
    assert chosen(stated(pitman=1, zayatz=3, snb=4), 0.11) == "zayatz"
    assert chosen(stated(pitman=1, zayatz=3, snb=None), 0.5) == "zayatz"
    assert chosen(stated(pitman=None, zayatz=None, snb=None), 0.5) == ""


def test_zayatz_by_counting_samples():
    """Three rows of ten people, a class of one and a class of two: shares by binomial coefficients."""
    of = sample({1: 1, 2: 1}, 0.3)
    one = math.comb(9, 2) / math.comb(10, 3)
    two = 2 * math.comb(8, 2) / math.comb(10, 3)
    assert share(ZAYATZ.estimate(of), of) == pytest.approx(one / (one + two) / 0.3 / 10)


def test_zayatz_ends_for_a_population_as_large_as_is_allowed():
    found = ZAYATZ.estimate(Sample(np.array([1, 2]), np.array([1, 1]), 1e-12))
    assert found is not None
    assert found.unique == pytest.approx(1e12 / 3, rel=1e-9)  # a pair is hit twice as often


def test_the_likelihood_of_pitman_is_the_product_it_stands_for():
    """Summed over every way to split five rows into classes, the formula's probabilities are 1."""
    theta, alpha, n = 1.7, 0.4, 5
    total = 0.0
    for sizes in partitions(n):
        histogram = {size: sizes.count(size) for size in sorted(set(sizes))}
        ways = math.factorial(n) / math.prod(
            math.factorial(size) ** count * math.factorial(count) for size, count in histogram.items()
        )
        total += ways * math.exp(log_likelihood(theta, alpha, sample(histogram, 0.5)))
    assert total == pytest.approx(1)


def partitions(n: int) -> list[list[int]]:
    every = itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(1, n + 1), r) for r in range(1, n + 1)
    )
    return [list(p) for p in every if sum(p) == n]


def test_pitmans_fit_is_the_top_of_the_likelihood_and_its_estimate_that_of_many_people():
    of = sample(ADULT, 0.01)
    found = PITMAN.estimate(of)
    assert found is not None
    theta, alpha = found.parameters["θ"], found.parameters["α"]
    top = log_likelihood(theta, alpha, of)
    for factor, step in ((1.01, 0), (0.99, 0), (1, 1e-3), (1, -1e-3)):
        assert log_likelihood(theta * factor, alpha + step, of) < top
    # Exactly, E(S₁) = N ∏ᵢ₌₁ᴺ⁻¹ (θ + α + i − 1) / (θ + i); the published form is its limit.
    people = round(of.people)
    i = np.arange(1, people)
    exact = math.log(people) + float(np.log1p((alpha - 1) / (theta + i)).sum())
    assert found.unique == pytest.approx(math.exp(exact), rel=1e-3)


def test_the_moments_of_the_slide_negative_binomial_are_those_of_a_thinned_class():
    from scipy.stats import binom, nbinom

    alpha, beta, fraction = 0.7, 0.3, 0.25
    people = np.arange(1, 2000)
    chance = nbinom(alpha, beta).pmf(people - 1)
    direct = [1000 * float((chance * binom(people, fraction).pmf(size)).sum()) for size in (1, 2)]
    assert expected(1000, fraction, alpha, beta) == pytest.approx(direct, rel=1e-9)


def test_the_slide_negative_binomial_finds_its_parameters_again():
    """Of a sample with as many classes of each size as are expected, K, α and β come out nearly as they went in."""
    from scipy.stats import binom, nbinom

    alpha, beta, classes, fraction = 0.4, 0.35, 200_000, 0.4
    people = np.arange(1, 400)
    chance = nbinom(alpha, beta).pmf(people - 1)
    histogram = {
        size: count
        for size in range(1, 60)
        if (count := round(classes * float((chance * binom(people, fraction).pmf(size)).sum())))
    }
    found = SNB.estimate(sample(histogram, fraction))
    assert found is not None
    assert found.unique == pytest.approx(classes * beta**alpha, rel=0.1)
    assert classes_in_population(sample(histogram, fraction)) == pytest.approx(classes, rel=0.1)


@pytest.mark.parametrize("fraction", [0.05, 0.2, 0.5])
def test_the_chosen_model_is_near_the_truth_of_a_made_up_population(fraction):
    random = np.random.default_rng(5)
    people = random.zipf(1.3, 40_000) % 50_000
    truth = int((np.unique(people, return_counts=True)[1] == 1).sum()) / people.size
    drawn = random.permutation(people)[: round(fraction * people.size)]
    sizes, counts = np.unique(np.unique(drawn, return_counts=True)[1], return_counts=True)
    of = Sample(sizes, counts, fraction)
    found = {model.name: model.estimate(of) for model in POPULATION_MODELS}
    assert share(found[chosen(found, fraction)], of) == pytest.approx(truth, rel=0.35)


@pytest.mark.parametrize(("fraction", "model"), [(0.2, "snb"), (0.5, "snb")])
def test_the_rule_is_near_the_truth_of_the_census_table(fraction, model):
    """Samples of Adult, of which 51.43 % are unique; ARX's moments of SNB have no solution, so that it takes Zayatz."""
    people = np.repeat(np.arange(sum(ADULT.values())), np.repeat(list(ADULT), list(ADULT.values())))
    drawn = np.random.default_rng(1).permutation(people)[: round(fraction * people.size)]
    sizes, counts = np.unique(np.unique(drawn, return_counts=True)[1], return_counts=True)
    of = Sample(sizes, counts, fraction)
    found = {one.name: one.estimate(of) for one in POPULATION_MODELS}
    assert chosen(found, fraction) == model
    assert share(found[model], of) == pytest.approx(0.5143, rel=0.08)
    assert abs(share(found[model], of) - 0.5143) < abs(share(found["zayatz"], of) - 0.5143)


def test_models_that_do_not_fit_say_so():
    assert PITMAN.estimate(sample({1: 10}, 0.5)) is None
    assert SNB.estimate(sample({1: 10}, 0.5)) is None
    assert ZAYATZ.estimate(sample({3: 4}, 0.5)) == Estimate(0.0, {"P(F = 1 | f = 1)": 0.0})


@settings(max_examples=8, deadline=None)
@given(
    st.dictionaries(st.integers(1, 10**5), st.integers(1, 10**4), min_size=1, max_size=6),
    st.sampled_from([1e-6, 0.1, 0.9]),
)
def test_an_estimate_is_a_number_of_people_or_none(histogram, fraction):
    of = sample(dict(sorted(histogram.items())), fraction)
    for model in POPULATION_MODELS:
        found = model.estimate(of)
        assert found is None or 0 <= found.unique <= of.people * (1 + 1e-9)

"""The exponential mechanism over whole-number scores: the exact ratios of its weights."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from workbench.params import ParameterError
from workbench.privacy.central import exponential
from workbench.privacy.central.central_noise import NoNoise
from workbench.privacy.central.exponential import exponential_choice, exponential_weights, noisy_max_weights
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise
from workbench.privacy.central.quantile_choice import Segments, Weights, depths, drawn_quantile, drawn_quantiles


def log_of(ratio: Fraction) -> float:
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@pytest.mark.parametrize("epsilon", [1e-11, 1e-9, 1e-3, 0.1, 1.0, 3.7, 30.0])
@pytest.mark.parametrize("sensitivity", [1, 7])
def test_neighbouring_scores_change_no_probability_by_more_than_epsilon(epsilon, sensitivity):
    generator = np.random.default_rng(int(epsilon * 1000) + sensitivity)
    for _ in range(40):
        scores = [int(s) for s in generator.integers(-300, 300, 6)]
        other = [s + int(d) for s, d in zip(scores, generator.integers(-sensitivity, sensitivity + 1, 6), strict=True)]
        one, two = (exponential_weights(s, sensitivity, epsilon) for s in (scores, other))
        for p, q in zip(one, two, strict=True):
            ratio = Fraction(p, sum(one)) / Fraction(q, sum(two))
            assert abs(log_of(ratio)) <= epsilon


def test_the_bound_is_reached_up_to_what_rounding_takes():
    one, two = exponential_weights([0, 2000], 1, 1.0), exponential_weights([1, 1999], 1, 1.0)
    loss = log_of(Fraction(two[0], sum(two)) / Fraction(one[0], sum(one)))
    assert 1 - 1e-9 < loss <= 1


@pytest.mark.parametrize("epsilon", [0.05, 0.9, 6.0])
def test_a_choice_of_scores_that_move_one_way_loses_within_a_range_of_epsilon(epsilon):
    """The range, and not only the largest loss, is what ρ = ε²/8 rests on; it is used up to rounding."""
    widest = 0.0
    for scores in itertools.product(range(3), repeat=3):
        one = noisy_max_weights(scores, 2, epsilon)
        for moved in itertools.product(range(3), repeat=3):
            two = noisy_max_weights([s + m for s, m in zip(scores, moved, strict=True)], 2, epsilon)
            losses = [log_of(Fraction(p, sum(one)) / Fraction(q, sum(two))) for p, q in zip(one, two, strict=True)]
            widest = max(widest, max(losses) - min(losses))
    assert epsilon * (1 - 1e-9) < widest <= epsilon


def test_the_weight_of_a_score_does_not_depend_on_the_others():
    short, long = exponential_weights([5, 9], 1, 0.3), exponential_weights([5, 9, -4000], 1, 0.3)
    assert Fraction(short[0], short[1]) == Fraction(long[0], long[1])


def test_drawn_shares_are_those_of_the_weights():
    noise = StudyNoise(np.random.default_rng(5))
    drawn = np.bincount([exponential_choice([0, 2, 3], 1, 1.0, noise) for _ in range(20_000)], minlength=3) / 20_000
    weights = np.exp(np.array([0, 2, 3]) / 2)
    assert np.abs(drawn - weights / weights.sum()).max() < 0.02  # five standard deviations are 0.018


@pytest.mark.parametrize(
    ("scores", "sensitivity", "epsilon"), [([], 1, 1.0), ([1 << 60], 1, 1.0), ([1], 0, 1.0), ([1], 1, 0.0)]
)
def test_what_is_out_of_range_is_refused(scores, sensitivity, epsilon):
    with pytest.raises(ParameterError):
        exponential_weights(scores, sensitivity, epsilon)


def test_weights_are_bounded_however_large_epsilon_and_the_scores_are():
    """A floor below the largest score moves with it: no ratio grows, and no weight has millions of bits."""
    one, two = [1 << 55, 5, -(1 << 55)], [(1 << 55) - 1, 6, -(1 << 55)]
    for epsilon in (0.5, 50.0):
        weights, other = (exponential_weights(scores, 1, epsilon) for scores in (one, two))
        assert max(w.bit_length() for w in weights) < 5_000
        assert min(weights) > 0
        for p, q in zip(weights, other, strict=True):
            assert abs(log_of(Fraction(p, sum(weights)) / Fraction(q, sum(other)))) <= epsilon


# -- Drawn quantiles: exact chances within e^ε of a neighbour's on all tiny tables, alone and several by halving


CELLS = 4
SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(9, 10))


def tables(most: int, cells: int = CELLS) -> Iterator[tuple[int, ...]]:
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(range(cells), size)


def losses(values: tuple[int, ...], share: Fraction, low: int = 0, high: int = CELLS - 1) -> list[int]:
    """The loss of each cell, spread out from the segments."""
    parts = Segments.of(np.array(values, dtype=np.int64), low, high, share)
    assert (np.diff(parts.first) >= 0).all()
    return [int(v) for v in np.repeat(parts.loss, parts.width)]


def chances(
    values: tuple[int, ...], share: Fraction, epsilon: float, low: int = 0, high: int = CELLS - 1
) -> list[Fraction]:
    weights = Weights(share, epsilon)
    found = weights.of([min(loss, weights.limit) for loss in losses(values, share, low, high)])
    return [Fraction(w, sum(found)) for w in found]


def without_one(values: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for place in range(len(values)):
        yield values[:place] + values[place + 1 :]


@pytest.mark.parametrize("share", SHARES)
def test_emptying_a_row_moves_no_loss_farther_than_the_sensitivity(share):
    """All tables of up to 6 rows."""
    farthest = 0
    for values in tables(6):
        own = losses(values, share)
        assert len(own) == CELLS
        for other in without_one(values):
            moved = [abs(a - b) for a, b in zip(own, losses(other, share), strict=True)]
            farthest = max(farthest, *moved)
    assert farthest == Weights(share, 1.0).sensitivity  # it is reached, so that it is no larger


def worst_ratio(share: Fraction, epsilon: float) -> Fraction:
    worst = Fraction(0)
    for values in tables(6):
        own = chances(values, share, epsilon)
        for other in without_one(values):
            worst = max(worst, *(max(a / b, b / a) for a, b in zip(own, chances(other, share, epsilon), strict=True)))
    return worst


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_emptying_a_row_changes_no_chance_by_more_than_a_factor_of_e_to_the_epsilon(share, epsilon):
    assert worst_ratio(share, epsilon) <= Fraction(math.exp(epsilon))


def test_the_same_tables_catch_half_of_the_sensitivity():
    assert worst_ratio(Fraction(1, 2), 2 * 0.1) > Fraction(math.exp(0.1))
    assert worst_ratio(Fraction(1, 4), 2 * 1.0) > Fraction(math.exp(1.0))


def joint(
    values: tuple[int, ...],
    shares: tuple[Fraction, ...],
    epsilon: float,
    low: int,
    high: int,
    within: tuple[Fraction, Fraction],
) -> dict[tuple[int, ...], Fraction]:
    """The exact chance of every vector of drawn cells: written here once more, from the paper."""
    if not shares:
        return {(): Fraction(1)}
    middle, (least, most) = len(shares) // 2, within
    share = shares[middle]
    found: dict[tuple[int, ...], Fraction] = {}
    for cell, p in enumerate(chances(values, (share - least) / (most - least), epsilon, low, high), start=low):
        before = joint(tuple(v for v in values if v < cell), shares[:middle], epsilon, low, cell, (least, share))
        after = joint(tuple(v for v in values if v > cell), shares[middle + 1 :], epsilon, cell, high, (share, most))
        for (one, a), (other, b) in itertools.product(before.items(), after.items()):
            found[(*one, cell, *other)] = p * a * b
    return found


def test_several_quantiles_cost_one_epsilon_for_each_depth_and_draws_have_these_chances():
    shares, epsilon = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), 0.7
    whole = (Fraction(0), Fraction(1))
    assert [depths(k) for k in (1, 2, 3, 4, 7, 8, 9)] == [1, 2, 2, 3, 3, 4, 4]
    most, worst = Fraction(math.exp(2 * epsilon)), Fraction(0)
    known = {values: joint(values, shares, epsilon, 0, 2, whole) for values in tables(4, 3)}
    for values, own in known.items():
        assert sum(own.values()) == 1
        for other in without_one(values):
            assert own.keys() == known[other].keys()
            worst = max(worst, *(max(p / known[other][k], known[other][k] / p) for k, p in own.items()))
    assert Fraction(math.exp(epsilon)) < worst <= most
    values, drawn, noise = np.array([0, 0, 1, 2]), 6000, StudyNoise(np.random.default_rng(3))
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(drawn):
        got = tuple(drawn_quantiles(values, 0, 2, shares, epsilon, noise))
        counts[got] = counts.get(got, 0) + 1
    for key, p in known[0, 0, 1, 2].items():
        sd = math.sqrt(float(p) * (1 - float(p)) / drawn)
        assert abs(counts.get(key, 0) / drawn - float(p)) < 5.5 * sd + 1e-3


def test_cells_of_a_gap_are_drawn_evenly_and_those_beyond_the_limit_too():
    values, share = np.array([10] * 40 + [500] * 3), Fraction(1, 2)
    noise = StudyNoise(np.random.default_rng(5))
    drawn = np.array([drawn_quantile(values, 0, 999, share, 0.05, noise) for _ in range(4000)])
    parts = Segments.of(values, 0, 999, share)
    weights = Weights(share, 0.05)
    total = sum(a * b for a, b in zip(parts.width.tolist(), weights.of(parts.loss.tolist()), strict=True))
    for first, last, one in ((0, 9, 0), (11, 499, 2), (501, 999, 4)):
        p = (last - first + 1) * weights.of([int(parts.loss[one])])[0] / total
        for half in (slice(first, (first + last) // 2 + 1), slice((first + last) // 2 + 1, last + 1)):
            size = half.stop - half.start
            q = p * size / (last - first + 1)
            hits = int(((drawn >= half.start) & (drawn < half.stop)).sum())
            assert abs(hits / 4000 - q) < 5.5 * math.sqrt(q * (1 - q) / 4000) + 1e-3
    # At 1e6 every loss but the least is beyond the limit; of the last weight there is something left.
    certain = Weights(share, 1e6)
    assert certain.of([certain.limit])[0] > 0
    assert drawn_quantile(values, 0, 999, share, 1e6, ReleasedNoise()) == 10


def test_without_noise_it_is_the_least_value_that_enough_rows_do_not_exceed_and_without_rows_anything():
    values = np.array([3, 5, 5, 9])
    found = drawn_quantiles(values, 0, 9, (Fraction(1, 4), Fraction(1, 2), Fraction(19, 20)), 1.0, NoNoise())
    assert found == [3, 5, 9]
    assert 0 <= drawn_quantile(np.array([], dtype=np.int64), 0, 9, Fraction(1, 2), 1.0, ReleasedNoise()) <= 9
    for share, epsilon in ((Fraction(0), 1.0), (Fraction(1, 2), 1e-12), (Fraction(1, 2), math.inf)):
        with pytest.raises(ParameterError):
            Weights(share, epsilon)


@pytest.mark.parametrize("limit", [1, 3, 40, 1000])
def test_far_cells_are_one_segment_and_the_draw_is_the_same(limit):
    """What is left of the segments under a limit says of every cell the loss that all of them say, up to the limit."""
    for seed in range(50):
        generator = np.random.default_rng(seed)
        values = np.sort(generator.integers(0, 100, generator.integers(0, 60)))
        share = Fraction(int(generator.integers(1, 10)), 10)
        losses = []
        for parts in (Segments.of(values, 0, 99, share), Segments.of(values, 0, 99, share, limit)):
            assert (np.diff(parts.first[parts.width > 0]) > 0).all()
            losses.append(np.minimum(np.repeat(parts.loss, parts.width), limit))
        assert losses[0].tolist() == losses[1].tolist()
        assert len(losses[0]) == 100


def test_no_score_is_kept_after_its_choice():
    caches = [each for each in vars(exponential).values() if hasattr(each, "cache_info")]
    before = [cache.cache_info() for cache in caches]
    exponential.exponential_weights([11, 987_654], 1, 0.5)
    assert [cache.cache_info() for cache in caches] == before

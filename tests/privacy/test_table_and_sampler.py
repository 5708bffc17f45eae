"""Integer tables and the alias sampler, on weights that Hypothesis makes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mechanism_conformance import buckets_of, decoded
from numpy.typing import NDArray
from scipy import stats

from workbench.params import ParameterError
from workbench.privacy.entropy import KeyedEntropy, OsEntropy, SeededEntropy, permutation
from workbench.privacy.local import sampler as sampler_module
from workbench.privacy.local.calibrate import calibrated
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import integer_rows, largest_ratio, log_at_most, log_up
from workbench.privacy.local.sampler import TOTAL, AliasSampler

FALSE_ALARM = 1e-6


@st.composite
def integer_tables(draw: st.DrawFn) -> np.ndarray:
    """Rows of any integers that sum to 2**63, zeros and single heavy weights included."""
    columns = draw(st.integers(2, 17))
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        cuts = sorted(draw(st.lists(st.integers(0, TOTAL), min_size=columns - 1, max_size=columns - 1)))
        rows.append([b - a for a, b in zip([0, *cuts], [*cuts, TOTAL], strict=True)])
    return np.array(rows, dtype=np.uint64)


@given(integer_tables())
def test_the_alias_buckets_hold_exactly_the_table(weights):
    assert np.array_equal(decoded(AliasSampler(weights), weights.shape[1]), weights)


@given(integer_tables(), st.integers(0, 2**32))
def test_an_output_of_weight_zero_never_comes(weights, seed):
    sampler = AliasSampler(weights)
    cells = np.zeros(500, dtype=np.uint16)
    drawn = sampler.sample(cells, SeededEntropy(seed))
    assert drawn.max() < weights.shape[1]
    assert np.all(weights[0][drawn] > 0)


@given(
    integer_tables(),
    st.lists(st.tuples(st.integers(0, 31), st.integers(-1, 1), st.integers(0, 2**47 - 1)), max_size=9),
    st.sampled_from((16, 32)),
)
def test_a_draw_is_on_its_side_of_the_threshold_whenever_that_is_decided(weights, drawn, width):
    """Positions at the thresholds, where the bits that are drawn first do not decide, and beside them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampler_module, "_FEW", 10 if width == 16 else 0)
        sampler = AliasSampler(weights)
    thresholds, aliases = buckets_of(sampler)
    bits, later, expected, first, more = sampler.bits, [], [], [], 63 - width
    for number, beside, rest in ((n, b, r >> (47 - more)) for n, b, r in drawn):
        bucket = number % (1 << bits)
        threshold, alias = int(thresholds[bucket]), int(aliases[bucket])
        near = min(max((threshold >> more) + beside, 0), (1 << (width - bits)) - 1)
        first.append(near << bits | bucket)
        later += [rest << (64 - more)] if near == threshold >> more else []
        expected.append(bucket if (near << more | rest) < threshold else alias)

    words = np.array([*first, 0, 0, 0][: 64 // width * -(-len(first) * width // 64)], f"u{width // 8}")
    said = [words.view(np.uint64), np.array(later, np.uint64)]

    class Stated:
        releasable = False

        def words(self, count: int) -> np.ndarray:
            assert count == len(said[0])
            return said.pop(0)

    assert sampler.sample(np.zeros(len(drawn), np.uint16), Stated()).tolist() == expected


def test_rows_that_do_not_sum_cannot_be_sampled():
    with pytest.raises(ValueError, match="sum"):
        AliasSampler(np.array([[TOTAL // 2, TOTAL // 4]], dtype=np.uint64))


@given(
    st.lists(st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3), min_size=2, max_size=5),
)
def test_integer_rows_are_near_their_weights_and_sum_exactly(rows):
    weights = np.array(rows)
    integers = integer_rows(weights)
    assert all(sum(int(w) for w in row) == TOTAL for row in integers)
    assert np.allclose(integers / float(TOTAL), weights / weights.sum(axis=1, keepdims=True), rtol=1e-12)


@given(st.lists(st.lists(st.integers(1, 2**62), min_size=3, max_size=3), min_size=2, max_size=6))
def test_the_largest_ratio_is_found_among_all_pairs(rows):
    weights = np.array(rows, dtype=np.uint64)
    expected = max(Fraction(a[j], b[j]) for a in rows for b in rows for j in range(3))
    assert largest_ratio(weights) == expected


@given(st.integers(1, 2**63), st.integers(1, 2**63))
def test_logarithms_round_up_and_compare_exactly(a, b):
    ratio = Fraction(max(a, b), min(a, b))
    up = log_up(ratio)
    assert log_at_most(ratio, up)
    assert up == 0 or not log_at_most(ratio, math.nextafter(math.nextafter(up, 0), 0))


def test_a_recipe_that_cannot_reach_epsilon_says_so():
    cells = Cells.line(0, 1, 3)
    with pytest.raises(ParameterError, match="cannot reach"):
        calibrated(lambda s, rows: np.ones((cells.total, cells.total))[rows], 1.0, guess=1.0, inputs=cells.total)


def test_a_permutation_is_uniform():
    """All 24 orders of 4 rows, chi-square over 48,000 draws from operating-system entropy."""
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(48_000):
        order = tuple(permutation(4, OsEntropy()))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > FALSE_ALARM


def test_a_draw_of_keys_with_a_tie_is_thrown_away():
    class Tied:
        releasable = False
        calls = 0

        def words(self, count: int) -> np.ndarray:
            self.calls += 1
            keys = np.arange(count, dtype=np.uint64)[::-1]
            return keys if self.calls == 1 else keys << np.uint64(32)  # the last 15 bits are no part of a key

    entropy = Tied()
    assert list(permutation(3, entropy)) == [2, 1, 0]
    assert entropy.calls == 2


@pytest.mark.parametrize("bad", [(1.0, 1.0, 3), (2.0, 1.0, 3), (math.nan, 1.0, 3), (0.0, 1.0, 1), (0.0, 1.0, 4097)])
def test_impossible_cells_are_refused(bad):
    with pytest.raises(ParameterError):
        Cells.line(*bad)


def test_a_keyed_stream_follows_from_key_and_name_alone_and_releases_nothing():
    def stream(key: bytes, *name: bytes, sizes: tuple[int, ...] = (10_000,)) -> NDArray[np.uint64]:
        source = KeyedEntropy(key, *name)
        assert not source.releasable
        return np.concatenate([source.words(size) for size in sizes])

    first = stream(b"k" * 32, b"age", b"1")
    assert np.array_equal(first, stream(b"k" * 32, b"age", b"1"))
    for other in ((b"l" * 32, b"age", b"1"), (b"k" * 32, b"age1", b""), (b"k" * 32, b"age")):
        assert not np.any(first == stream(*other))
    assert np.unique(stream(b"k" * 32, sizes=(5_000, 3, 9_000))).size == 14_003  # no block comes twice
    ones = np.unpackbits(first.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 6 / (2 * math.sqrt(64 * first.size))


def test_many_words_of_the_system_are_uniform_and_no_two_calls_give_the_same():
    """False alarm: at most 1e-6 for the bytes, and 2^-64 or so for each pair of words that are compared."""
    system = OsEntropy()
    drawn = [system.words(200_000) for _ in range(3)]
    assert len(np.unique(np.concatenate(drawn))) == 600_000
    counts = np.bincount(np.concatenate(drawn).view(np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    assert [len(system.words(count)) for count in (0, 1, 512, 513, 65_537)] == [0, 1, 512, 513, 65_537]

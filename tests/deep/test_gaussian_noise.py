"""The noise is N(0, σ²C²) and comes from a stream that never repeats."""

import copy
import itertools
import math
import multiprocessing
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from scipy import integrate, stats

from workbench.deep import noise as module
from workbench.deep.noise import GAUSSIAN_SENTENCE, LAYERS, TAIL, GaussianNoise, Ziggurat, layers
from workbench.params import ParameterError
from workbench.privacy import entropy as entropies
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.privacy.entropy import ChaCha20Entropy, Entropy, SeededEntropy
from workbench.work.ask import Steps

FALSE_ALARM = 1e-6


class Drawn(GaussianNoise):
    """Noise by itself, for so many steps as a test likes."""

    def __init__(self, scale: float, entropy: Entropy) -> None:
        self.steps = Steps(PoissonGaussian(1.0, scale, 10**9), entropy, entropy)
        super().__init__(self.steps, 1.0)

    def draw(self, count: int) -> np.ndarray:
        out = np.empty(count)
        self.add_to(np.zeros(count), out)
        return out

    def add_to(self, values: np.ndarray, out: np.ndarray, over: float = 1.0) -> None:
        self.steps.take()
        super().add_to(values, out, over)


def fits(sample: np.ndarray, scale: float) -> bool:
    """Whether a sample passes KS and a two-sided chi-squared test of its variance at the stated false-alarm rate."""
    standard = sample / scale
    chi2 = float((standard**2).sum())
    low, high = stats.chi2.ppf([FALSE_ALARM / 4, 1 - FALSE_ALARM / 4], len(sample))
    return low < chi2 < high and stats.kstest(standard, "norm").pvalue > FALSE_ALARM / 2


@pytest.mark.parametrize("scale", [1.0, 12.5])
def test_released_noise_is_gaussian_with_its_scale(scale):
    assert fits(Drawn(scale, ChaCha20Entropy()).draw(200_001), scale)


def test_the_test_sees_the_planted_wrong_variance():
    """σ²C instead of σ²C² at C = 10: the classroom's mistake."""
    sigma, clip = 1.0, 10.0
    wrong = Drawn(sigma * math.sqrt(clip), SeededEntropy(3)).draw(2000)
    right = Drawn(sigma * clip, SeededEntropy(3)).draw(2000)
    assert fits(right, sigma * clip)
    assert not fits(wrong, sigma * clip)


def test_coordinates_of_a_draw_are_uncorrelated():
    drawn = Drawn(1.0, SeededEntropy(8)).draw(8 * module._BLOCK)
    # Numbers from the two halves of what is made at once.
    pairs = drawn.reshape(8, 2, -1).swapaxes(0, 1).reshape(2, -1)
    n = pairs.shape[1]
    bound = stats.norm.isf(FALSE_ALARM / 6) / math.sqrt(n)
    assert abs(np.mean(pairs[0] * pairs[1])) < bound
    assert abs(np.mean((pairs[0] ** 2 - 1) * (pairs[1] ** 2 - 1))) < 2 * bound
    assert abs(np.mean(drawn[1:] * drawn[:-1])) < bound


def test_no_number_is_returned_twice_however_they_are_asked_for():
    sizes = [3, module._BLOCK, 2 * module._BLOCK + 5, 1, module._BLOCK - 9, 18]
    source = Drawn(2.0, ChaCha20Entropy())
    drawn = np.concatenate([source.draw(size) for size in sizes])
    assert len(np.unique(drawn)) == sum(sizes)
    assert fits(drawn, 2.0)


def test_the_tails_are_there():
    drawn = Drawn(1.0, SeededEntropy(9)).draw(2_000_000)
    beyond = int((np.abs(drawn) > 4).sum())
    assert stats.binomtest(beyond, len(drawn), 2 * stats.norm.sf(4)).pvalue > FALSE_ALARM


def test_the_layers_have_one_area_and_end_at_the_top_of_the_curve():
    widths, heights = layers()
    assert len(widths) == len(heights) == LAYERS + 1
    areas = widths[:-1] * np.diff(heights)
    np.testing.assert_allclose(areas, areas[0], rtol=1e-11)
    np.testing.assert_allclose(heights[1:], np.exp(-(widths[1:] ** 2) / 2), rtol=1e-12)
    # The first layer is its box and the tail beyond it, both from quadrature.
    tail, _ = integrate.quad(lambda x: math.exp(-x * x / 2), TAIL, math.inf, epsabs=0)
    assert areas[0] == pytest.approx(TAIL * heights[1] + tail, rel=1e-10)


def test_each_layer_and_the_tail_are_hit_as_often_as_the_curve_says():
    widths, _ = layers()
    drawn = np.abs(Drawn(3.0, SeededEntropy(12)).draw(4_000_000)) / 3.0
    edges = np.array([*widths[:0:-16], TAIL, 4.3, math.inf])
    seen, _ = np.histogram(drawn, edges)
    expected = len(drawn) * 2 * np.diff(stats.norm.cdf(edges))
    assert stats.chisquare(seen, expected * len(drawn) / expected.sum()).pvalue > FALSE_ALARM
    # Within a layer near the tail, where its wedge is largest, and beyond R.
    for low, high in ((widths[2], TAIL), (TAIL, math.inf)):
        part = drawn[(drawn > low) & (drawn < high)]
        below, above = stats.norm.cdf([low, high])
        assert stats.kstest((stats.norm.cdf(part) - below) / (above - below), "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_noise_that_is_added_is_the_noise_that_would_be_drawn(dtype):
    drawn, added = (Drawn(2.0, SeededEntropy(6)) for _ in range(2))
    values = np.linspace(-1, 1, 40_001).astype(dtype)
    for _ in range(5):  # across the end of a block
        out = np.empty_like(values)
        added.add_to(values, out)
        assert np.array_equal(out, (values.astype(np.float64) + drawn.draw(len(values))).astype(dtype))
    assert not np.array_equal(out, values)


@pytest.mark.parametrize("length", [0, 9, 11, 10**6])
def test_noise_is_added_to_as_many_numbers_as_there_are(length):
    with pytest.raises(ValueError, match="different lengths"):
        Drawn(2.0, SeededEntropy(6)).add_to(np.zeros(10), np.zeros(length))


FARTHEST = (2**52 - 1) << 11
"""The word of the last place of layer 0, which is in the tail; its negative is that of the other side."""

HIGHEST, HALF, ZERO = 2**64 - 1, 2**63, 0
"""Words of which uniform numbers are made: 1, ½ and 2⁻⁵⁴."""


class Scripted:
    """Prepared words: over and over those of numbers, and for the pairs that a number of the tail needs, others."""

    releasable = False

    def __init__(self, of_numbers: list[int], of_pairs: list[int]) -> None:
        self._of_numbers = np.array(of_numbers, dtype=np.uint64)
        self._of_pairs = itertools.cycle(of_pairs)
        self.pairs = 0

    def words(self, count: int) -> np.ndarray:
        if count > 2:
            return np.resize(self._of_numbers, count)
        self.pairs += 1
        return np.array([next(self._of_pairs) for _ in range(count)], dtype=np.uint64)


@pytest.mark.parametrize(
    ("words", "beyond"),
    [
        ([HIGHEST, ZERO], 0.0),  # the nearest, accepted
        ([HIGHEST, HIGHEST, HALF, HALF], math.log(2) / TAIL),  # the nearest, by a number that accepts nothing
        ([ZERO, ZERO, HALF, HALF], math.log(2) / TAIL),  # the farthest is never accepted
    ],
)
def test_the_tail_takes_and_refuses_at_its_ends(words, beyond):
    entropy = Scripted([], words)
    assert Ziggurat(2.0, entropy)._tail() == pytest.approx(TAIL + beyond, rel=1e-12)
    assert entropy.pairs == len(words) // 2


def test_numbers_of_the_tail_have_its_law():
    source = Ziggurat(1.0, SeededEntropy(21))
    drawn = np.array([source._tail() for _ in range(60_000)])
    assert drawn.min() >= TAIL
    assert stats.kstest(stats.norm.sf(drawn) / stats.norm.sf(TAIL), "uniform").pvalue > FALSE_ALARM


def test_extreme_uniforms_give_finite_noise():
    """The ends of layer 0 are in the tail, where a number is accepted at the second attempt; others are decided."""
    entropy = Scripted([FARTHEST, 2**64 - FARTHEST, *[0] * 510], [HIGHEST, HIGHEST, HALF, ZERO])
    drawn = Drawn(2.0, entropy).draw(1024)
    assert entropy.pairs > 2, "the tail was asked"
    assert np.isfinite(drawn).all()
    expected = 2 * (TAIL + math.log(2) / TAIL)
    assert drawn[[0, 1, 512, 513]].tolist() == pytest.approx([expected, -expected] * 2)
    assert not drawn[2:512].any()


def test_words_are_the_chacha20_keystream_of_the_key(monkeypatch):
    key = bytes(range(32))
    monkeypatch.setattr(os, "urandom", lambda size: key[:size])
    stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(8 * 9))
    entropy = ChaCha20Entropy()
    words = np.concatenate([entropy.words(4), entropy.words(5)])
    assert words.tobytes() == stream


def test_a_stream_takes_a_new_key_before_its_counter_could_repeat(monkeypatch):
    keys: list[bytes] = []
    real = os.urandom

    def counted(size: int) -> bytes:
        keys.append(real(size))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", counted)
    monkeypatch.setattr(entropies, "_BYTES_OF_A_KEY", 64)
    entropy = ChaCha20Entropy()
    for _ in range(4):
        entropy.words(4)
    assert len(set(keys)) == 2


def test_two_streams_differ_and_none_can_be_copied():
    entropy = ChaCha20Entropy()
    assert entropy.words(8).tolist() != ChaCha20Entropy().words(8).tolist()
    for made in (entropy, Drawn(1.0, entropy), Drawn(1.0, SeededEntropy(1))):
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be copied"):
                way(made)


def _words(entropy: ChaCha20Entropy) -> list[int]:
    return entropy.words(4).tolist()


def _drawn(source: Drawn) -> list[float]:
    return source.draw(4).tolist()


def _added(source: Drawn) -> list[float]:
    out = np.empty(4)
    source.add_to(np.zeros(4), out)
    return out.tolist()


def _child(ask: Callable[[Any], list[Any]], source: object, pipe: Any) -> None:
    pipe.send([ask(source), ask(source)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("ask", [_words, _drawn, _added])
def test_a_forked_process_does_not_repeat_its_parents_noise(ask):
    source = ChaCha20Entropy() if ask is _words else Drawn(1.0, ChaCha20Entropy())
    ask(source)  # numbers are made ahead
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(ask, source, theirs))
    process.start()
    drawn = ours.recv()
    process.join()
    assert not np.intersect1d(drawn, [ask(source), ask(source)]).size


def test_seeded_noise_is_not_releasable():
    assert Drawn(1.0, ChaCha20Entropy()).steps.releasable
    assert not Drawn(1.0, SeededEntropy(1)).steps.releasable


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_impossible_scales_are_refused(scale):
    with pytest.raises(ParameterError):
        Drawn(scale, SeededEntropy(1))


def test_the_exception_to_exact_noise_is_said():
    assert "double-precision Gaussian" in GAUSSIAN_SENTENCE
    assert "does not cover" in GAUSSIAN_SENTENCE

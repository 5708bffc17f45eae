"""Gaussian noise from a cryptographic stream, by the ziggurat method.

This is the one place where released randomness is not exact on a public grid: samples are double-precision numbers,
not draws from an exact discrete distribution, and the guarantee is that of the real-valued Gaussian that they
approximate. Every model card says so (:data:`GAUSSIAN_SENTENCE`).

**Ziggurat.** Exact rejection, with one look at a table for almost every number. The area under f(x) = exp(−x²/2),
x ≥ 0, is covered by 1,024 layers of equal area V: layer i is a box of width xᵢ and height F(xᵢ₊₁) − F(xᵢ), and layer 0
is the box up to x₁ = R together with the tail beyond it, whose width as a box is x₀ = V/f(R). A number is drawn in a
layer: of 64 random bits ten choose the layer and 53 others the place and the sign. Left of xᵢ₊₁ it is below the curve,
99.6 times in 100; beyond, a second number says whether it is, and in the tail it is drawn anew there (Marsaglia & Tsang
2000; Doornik 2005 for the use of separate bits for layer and place).
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.deep.compiled import as_written
from workbench.deep.correlated_noise import CorrelatedNoise
from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy
from workbench.work.ask import COUNT, Steps

LAYERS = 1024
TAIL = 4.038849846109504
"""R, at which 1,024 layers of the area of the last one end at F = 1: by bisection in double precision."""

PART = 2**14  # numbers that are made at once: fewer would cost more to start than to make, more would leave the cache

_WHICH = np.int64(LAYERS - 1)
_PLACE = np.int64(11)
_LOW = np.int64(2**53 - 1)
_AT_ONCE = 16  # numbers that are made before one looks whether all of them are below the curve

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def layers() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return x₀ … x₁₀₂₄ and F₀ … F₁₀₂₄ of the layers; F₀ is not used."""
    at_tail = math.exp(-TAIL * TAIL / 2)
    area = TAIL * at_tail + math.sqrt(math.pi / 2) * math.erfc(TAIL / math.sqrt(2))
    widths, heights = [area / at_tail, TAIL], [0.0, at_tail]
    while len(widths) < LAYERS:
        heights.append(heights[-1] + area / widths[-1])
        widths.append(math.sqrt(-2 * math.log(heights[-1])))
    return np.array([*widths, 0.0]), np.array([*heights, 1.0])


class Ziggurat:
    """Makes independent N(0, scale²) numbers."""

    def __init__(self, scale: float, entropy: Entropy) -> None:
        """Make the tables and the working memory."""
        self._scale, self._entropy = scale, entropy
        self._widths, self._heights = layers()
        self._steps = self._widths[:-1] * scale * 2.0**-52
        self._within = self._widths[1:] * scale
        self._undecided = np.empty((3, PART), dtype=np.int64)

    def fill(self, block: NDArray[np.float64]) -> None:
        """Fill ``block`` with new numbers; its length is a multiple of :data:`PART`."""
        undecided = [self._fill(block[start : start + PART], start) for start in range(0, len(block), PART)]
        at, layer, place = (np.concatenate(parts) for parts in zip(*undecided, strict=True))
        block[at] = self._scale * self._decided(layer, place)

    def _fill(self, part: Floats, start: int) -> Whole:
        """Fill a part; return places in the block, layers and places in them of what is not decided, (3, u)."""
        words = self._entropy.words(PART).view(np.int64)
        words.flags.writeable = False  # as some sources give them: one kind of array to compile for
        undecided = self._undecided[:, : _below(words, self._steps, self._within, part, self._undecided)].copy()
        undecided[0] += start
        return undecided

    def _decided(self, layer: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return standard numbers for draws that a look at the table did not decide."""
        drawn = np.empty(len(layer))
        left = np.arange(len(layer))
        while len(left):
            words = self._entropy.words(2 * len(layer)).view(np.int64)
            x, accepted = np.empty(len(layer)), np.empty(len(layer), dtype=np.bool_)
            _accept(layer, place, words[len(layer) :].copy(), self._widths, self._heights, x, accepted)
            # Of layer 0 what lies beyond its box is a draw from the tail, with the same sign.
            for one in np.flatnonzero((layer == 0) & (np.abs(x) >= TAIL)):
                x[one], accepted[one] = math.copysign(self._tail(), x[one]), True
            drawn[left[accepted]] = x[accepted]
            left = left[~accepted]
            again = words[: len(x)][~accepted]
            layer, place = again & _WHICH, again >> _PLACE
        return drawn

    def _tail(self) -> float:
        """Return a number beyond R: R + a is accepted with chance exp(−a²/2), a exponential at rate R."""
        while True:
            first, second = _uniform(self._entropy.words(2)).tolist()
            beyond = -math.log(first) / TAIL
            if -2 * math.log(second) > beyond * beyond:
                return TAIL + beyond


def _uniform(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return uniform numbers above 0, of which a logarithm is wanted, and at most 1: the last one is rounded to it."""
    uniform: NDArray[np.float64] = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return uniform


@as_written
def _below(words: Whole, steps: Floats, within: Floats, part: Floats, undecided: Whole) -> int:
    """Write a number for each word into ``part``; note those that may be above the curve, and return how many.

    Numbers are made a few at a time, on all lanes, and looked at one by one where one of the few is beyond.
    """
    found = 0
    for start in range(0, len(part), _AT_ONCE):
        beyond = False
        for i in range(start, start + _AT_ONCE):
            layer = words[i] & _WHICH
            number = steps[layer] * (words[i] >> _PLACE)
            part[i] = number
            beyond |= not abs(number) < within[layer]
        if beyond:
            for i in range(start, start + _AT_ONCE):
                layer = words[i] & _WHICH
                if not abs(part[i]) < within[layer]:
                    undecided[0, found], undecided[1, found], undecided[2, found] = i, layer, words[i] >> _PLACE
                    found += 1
    return found


@as_written
def _accept(
    layer: Whole, place: Whole, heights: Whole, widths: Floats, tops: Floats, x: Floats, accepted: NDArray[np.bool_]
) -> None:
    """Write the standard numbers of draws, and whether each is below the curve.

    Args:
        layer: their layers (u,).
        place: their places in them.
        heights: a word for each, of which 53 bits are the height within the layer.
        widths: x₀ … x₁₀₂₄.
        tops: F₀ … F₁₀₂₄.
        x: to be written into, (u,).
        accepted: to be written into, (u,).
    """
    for i in range(len(layer)):
        box = layer[i]
        number = widths[box] * (place[i] * 2.0**-52)
        height = (float((heights[i] >> _PLACE) & _LOW) + 0.5) * 2.0**-53
        x[i] = number
        below = tops[box + 1] + height * (tops[box] - tops[box + 1]) < math.exp(-0.5 * number * number)
        accepted[i] = below or abs(number) < widths[box + 1]


GAUSSIAN_SENTENCE = (
    "The noise is a double-precision Gaussian from a ChaCha20 stream keyed by operating-system entropy; the guarantee "
    "is that of the real-valued Gaussian and does not cover the lowest bits of floating-point arithmetic."
)

ON_GPU = (
    "The gradients were computed, clipped and summed on a GPU, and the noise was made and added by the processor: this "
    "program was tested on processors only, and never on a GPU."
)

FORMER_ON_GPU = (
    "The gradients were computed, clipped and summed on a GPU, where the noise was added: this program was tested on "
    "processors only, and never on a GPU.",
    "Gradients, sums and noise were computed on a GPU, the noise by the Box–Muller transform. Before the first step "
    "the noise of whole trial steps was compared with the processor's, and during the run some numbers of every piece "
    "of it; but this program was tested on processors only, and never on a GPU.",
)
"""What cards of former versions say."""

_BLOCK = 8 * PART  # numbers that are made ahead: what is rare in making them is done once for all


class GaussianNoise:
    """Independent N(0, σ²C²) numbers from 53 random bits and more each, by rejection (:class:`Ziggurat`).

    Where the steps have bands, what is added to their sums is made of these (:mod:`.correlated_noise`).

    They end at 12.5 standard deviations (mass beyond: 1e-35). Each step that was taken is given noise once.
    """

    def __init__(self, steps: Steps, clip: float) -> None:
        """Make the source of the noise of ``steps``, whose sums a row moves by at most ``clip``.

        Raises:
            ParameterError: the scale is not a number above 0.
        """
        # Standard deviation, the noise multiplier of the steps times the clipping norm that it began with: σC.
        self.scale = steps.noise_multiplier * clip
        if not 0 < self.scale < float("inf"):
            raise ParameterError(f"the noise scale {self.scale} is not a number above 0")
        self._steps, self._first, self._times = steps, clip, 1.0
        self._source = Ziggurat(self.scale, steps.noise)
        self._block = np.empty(_BLOCK)
        self._used = _BLOCK
        """Numbers of the block that were returned; as many as it has before the first one is made."""
        self._process = os.getpid()
        self._correlated = None if steps.bands == 1 else CorrelatedNoise(steps.taken + steps.left, steps.bands)

    def __reduce__(self) -> str:
        """Refuse to be copied: the copy has the numbers that were made ahead, too, and would return them again."""
        raise TypeError("a source of noise cannot be copied; make another one")

    def _draw(self, count: int) -> NDArray[np.float64]:
        """Return ``count`` numbers, none of which was returned before."""
        if os.getpid() != self._process:
            # A forked process must not use the numbers that its parent has made and not yet used.
            self._process, self._used = os.getpid(), _BLOCK
            if self._correlated is not None:
                self._correlated.forget()
        start, end = self._used, self._used + count
        if end <= _BLOCK:
            self._used = end
            return self._block[start:end].copy()
        drawn = np.empty(count)
        filled = 0
        while filled < count:
            if self._used == _BLOCK:
                if count - filled >= _BLOCK:
                    self._source.fill(drawn[filled : filled + _BLOCK])
                    filled += _BLOCK
                    continue
                self._source.fill(self._block)
                self._used = 0
            start, taken = self._used, min(_BLOCK - self._used, count - filled)
            self._used += taken
            drawn[filled : filled + taken] = self._block[start : start + taken]
            filled += taken
        return drawn

    def add_to(self, values: NDArray[Any], out: NDArray[Any], over: float = 1.0) -> None:
        """Write (values + noise)/over into ``out``, with a new number for each of ``values`` (P,).

        The sum and its part are in double precision, and rounded once to that of ``out``.

        Raises:
            UndeclaredError: no step was taken since the last one had its noise.
            ValueError: ``out`` does not have the length of ``values``.
        """
        self._steps.give_noise()
        start, end = self._used, self._used + len(values)
        if end > _BLOCK or os.getpid() != self._process:
            drawn = self._draw(len(values))
        else:
            self._used = end
            drawn = self._block[start:end]  # nobody reads these numbers again
        if self._correlated is not None:
            drawn = self._correlated.next(drawn)
        _added(values, drawn, self._times, 1.0 / over, out)

    def clip_at(self, clip: float) -> None:
        """Make noise for sums that a row moves by at most ``clip`` from now on."""
        self._times = clip / self._first

    def on_count(self, value: float) -> float:
        """Return ``value``, a count of terms ±1/2, with noise.

        Raises:
            UndeclaredError: the steps declare no count, or this step's had its noise.
        """
        self._steps.give_noise(COUNT)
        spread = self._steps.count_noise
        assert spread is not None
        return float(value + spread * (self._draw(1)[0] / self.scale))


@as_written
def _added(values: NDArray[Any], drawn: NDArray[np.float64], scale: float, times: float, out: NDArray[Any]) -> None:
    """Write (values + drawn·scale)·times into ``out``; all three have one length."""
    if not len(values) == len(drawn) == len(out):
        raise ValueError("values and what is to be written have different lengths")
    for i in range(len(out)):
        out[i] = (values[i] + drawn[i] * scale) * times

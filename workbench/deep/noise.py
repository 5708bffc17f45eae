"""Gaussian noise from a cryptographic stream.

This is the one place where released randomness is not exact on a public grid: samples are double-precision numbers,
not draws from an exact discrete distribution, and the guarantee is that of the real-valued Gaussian they stand for.
Every model card says so (:data:`GAUSSIAN_SENTENCE`).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.deep.compiled import as_written
from workbench.deep.ziggurat import PART, Ziggurat
from workbench.params import ParameterError
from workbench.work.ask import Steps, UndeclaredError

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

_BLOCK = 8 * PART
"""Numbers that are made ahead: what is rare in making them is done once for all."""


class GaussianNoise:
    """Independent N(0, σ²C²) numbers from 53 random bits and more each, by rejection (:class:`Ziggurat`).

    They end at 12.5 standard deviations (mass beyond: 1e-35). Each step that was taken is given noise once.

    Attributes:
        scale: standard deviation, the noise multiplier of the steps times the clipping norm: σC.
    """

    def __init__(self, steps: Steps, clip: float) -> None:
        """Make the source of the noise of ``steps``, whose sums a row moves by at most ``clip``.

        Raises:
            ParameterError: the scale is not a number above 0.
        """
        self.scale = steps.noise_multiplier * clip
        if not 0 < self.scale < float("inf"):
            raise ParameterError(f"the noise scale {self.scale} is not a number above 0")
        self._steps, self._served = steps, steps.taken
        self._source = Ziggurat(self.scale, steps.noise)
        self._block = np.empty(_BLOCK)
        self._used = _BLOCK
        """Numbers of the block that were returned; as many as it has before the first one is made."""
        self._process = os.getpid()

    def __reduce__(self) -> str:
        """Refuse to be copied: the copy has the numbers that were made ahead, too, and would return them again."""
        raise TypeError("a source of noise cannot be copied; make another one")

    def _draw(self, count: int) -> NDArray[np.float64]:
        """Return ``count`` numbers, none of which was returned before."""
        if os.getpid() != self._process:
            # A forked process must not use the numbers that its parent has made and not yet used.
            self._process, self._used = os.getpid(), _BLOCK
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
        if self._served == self._steps.taken:
            raise UndeclaredError("noise is drawn once for each step that was taken, and no other one was taken")
        self._served = self._steps.taken
        start, end = self._used, self._used + len(values)
        if end > _BLOCK or os.getpid() != self._process:
            drawn = self._draw(len(values))
        else:
            self._used = end
            drawn = self._block[start:end]  # nobody reads these numbers again
        _added(values, drawn, 1.0 / over, out)


@as_written
def _added(values: NDArray[Any], drawn: NDArray[np.float64], times: float, out: NDArray[Any]) -> None:
    """Write (values + drawn)·times into ``out``; all three have one length."""
    if not len(values) == len(drawn) == len(out):
        raise ValueError("values and what is to be written have different lengths")
    for i in range(len(out)):
        out[i] = (values[i] + drawn[i]) * times

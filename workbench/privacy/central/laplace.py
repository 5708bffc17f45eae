"""Discrete Laplace noise on vectors of integers.

P(noise = k) = (1−b)/(1+b) · b^|k| with b = e^(−ε/Δ), Δ the L1 sensitivity of the *whole* vector
(Ghosh, Roughgarden & Sundararajan 2012; exact sampling after Canonne, Kamath & Steinke 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import OsEntropy, uniform_below


class CentralNoise(Protocol):
    """Adds noise to a vector of integers; the interface that learners use."""

    releasable: bool

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        """Return the noisy vector.

        Args:
            values: exact integers (counts, or sums on a public integer grid).
            sensitivity: L1 sensitivity of the whole vector under zero-out neighbours, in grid units.
            epsilon: the share of ε of this query.

        Raises:
            ParameterError: sensitivity < 1 or ε not in (0, ∞).
        """
        ...

    def below(self, total: int) -> int:
        """Return a uniform whole number 0 … ``total`` − 1, exactly: by it, one of many is drawn by its weight."""
        ...


def _checked(sensitivity: int, epsilon: float) -> None:
    if isinstance(sensitivity, bool) or not sensitivity >= 1:
        raise ParameterError(f"the sensitivity {sensitivity} is not a whole number of at least 1")
    if not 0 < epsilon < float("inf"):
        raise ParameterError(f"epsilon = {epsilon} is not a number above 0")


class ReleasedNoise:
    """OpenDP's discrete Laplace: exact arithmetic on OpenSSL's cryptographic generator, which the system seeds."""

    releasable = True

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        """Return the noisy vector; the privacy map of the measurement gives its ε, never above ``epsilon``."""
        _checked(sensitivity, epsilon)
        import opendp.domains as dom
        import opendp.measurements as meas
        import opendp.metrics as met
        from opendp.mod import enable_features

        enable_features("contrib")  # the library's word for "proved, not yet vetted by a second reader"
        space = dom.vector_domain(dom.atom_domain(T="i64")), met.l1_distance(T="i64")
        scale = sensitivity / epsilon
        # The map is rounded up by the library: nudge the scale until the proved loss fits the share.
        for _ in range(64):
            measurement = meas.make_laplace(*space, scale=scale)
            if measurement.map(d_in=sensitivity) <= epsilon:
                return [int(v) for v in measurement([int(v) for v in values])]
            scale = float(np.nextafter(scale * (1 + 2**-50), np.inf))
        raise ParameterError(f"no noise scale gives epsilon = {epsilon} for sensitivity {sensitivity}")

    def below(self, total: int) -> int:
        """Return a uniform whole number 0 … ``total`` − 1 from the operating system's generator."""
        return uniform_below(total, OsEntropy())


class StudyNoise:
    """The same distribution from a seeded generator, for studies; nothing drawn from it can be released."""

    releasable = False

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        """Return the noisy vector: a difference of two geometric variables is discrete Laplace."""
        _checked(sensitivity, epsilon)
        stop = -np.expm1(-epsilon / sensitivity)
        draws = self._generator.geometric(stop, size=(2, len(values)))
        return [int(v) + int(a) - int(b) for v, a, b in zip(values, draws[0], draws[1], strict=True)]

    def below(self, total: int) -> int:
        """Return a uniform whole number 0 … ``total`` − 1 of the seeded stream."""
        return uniform_below(total, self)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` uniform words of the seeded stream."""
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)


class NoNoise:
    """The exact values: the regime without privacy, and never releasable."""

    releasable = False

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        """Return ``values`` unchanged."""
        return [int(v) for v in values]

    def below(self, total: int) -> int:
        """Nothing is drawn where there is no noise: a caller asks before it weighs."""
        raise AssertionError("a draw by weights has no version without noise")

"""Discrete Laplace and discrete Gaussian noise on vectors of integers.

Laplace: P(noise = k) = (1−b)/(1+b) · b^|k| with b = e^(−ε/Δ), Δ the L1 sensitivity of the *whole* vector
(Ghosh, Roughgarden & Sundararajan 2012; exact sampling after Canonne, Kamath & Steinke 2020). It costs ε.

Gaussian: P(noise = k) ∝ e^(−k²/(2σ²)), σ = Δ/√(2ρ), Δ the L2 sensitivity of the whole vector. It costs ρ of
zero-concentrated privacy (Canonne, Kamath & Steinke 2020, Theorem 14), which needs a δ beside its ε.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import OsEntropy, uniform_below


def _checked(sensitivity: int, loss: float, name: str = "epsilon") -> None:
    if isinstance(sensitivity, bool) or not sensitivity >= 1:
        raise ParameterError(f"the sensitivity {sensitivity} is not a whole number of at least 1")
    if not 0 < loss < float("inf"):
        raise ParameterError(f"{name} = {loss} is not a number above 0")


class ReleasedNoise:
    """OpenDP's discrete Laplace: exact arithmetic on OpenSSL's cryptographic generator, which the system seeds."""

    releasable = True

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        """Return the noisy vector; the privacy map of the measurement gives its ε, never above ``epsilon``."""
        _checked(sensitivity, epsilon)
        scale = sensitivity / epsilon
        found = self._drawn("laplace", "i64", values, sensitivity, epsilon, scale)
        if found is None:
            raise ParameterError(f"no noise scale gives epsilon = {epsilon} for sensitivity {sensitivity}")
        return found

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        """Return the vector with discrete Gaussian noise; the library's map gives its ρ, never above ``rho``."""
        _checked(sensitivity, rho, "rho")
        scale = sensitivity / float(np.sqrt(2 * rho))
        found = self._drawn("gaussian", "f64", values, float(sensitivity), rho, scale)
        if found is None:
            raise ParameterError(f"no noise scale gives rho = {rho} for sensitivity {sensitivity}")
        return found

    def _drawn(
        self, kind: str, number: str, values: Sequence[int], sensitivity: float, most: float, scale: float
    ) -> list[int] | None:
        """Return the noisy vector; ``None`` where no scale near ``scale`` has a proved loss of ``most`` or less."""
        import opendp.domains as dom
        import opendp.measurements as meas
        import opendp.metrics as met
        from opendp.mod import enable_features

        enable_features("contrib")  # the library's word for "proved, not yet vetted by a second reader"
        make, distance = {
            "laplace": (meas.make_laplace, met.l1_distance),
            "gaussian": (meas.make_gaussian, met.l2_distance),
        }[kind]
        space = dom.vector_domain(dom.atom_domain(T="i64")), distance(T=number)
        # The map is rounded up by the library: nudge the scale until the proved loss fits the share.
        for _ in range(64):
            measurement = make(*space, scale=scale)
            if measurement.map(d_in=sensitivity) <= most:
                return [int(v) for v in measurement([int(v) for v in values])]
            scale = float(np.nextafter(scale * (1 + 2**-50), np.inf))
        return None

    def below(self, total: int) -> int:
        """Return a uniform whole number 0 … ``total`` − 1 from the operating system's generator."""
        return uniform_below(total, OsEntropy())

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` uniform words from the operating system's generator."""
        return OsEntropy().words(count)


class StudyNoise:
    """The same distribution from a seeded generator, for studies; nothing drawn from it can be released."""

    releasable = False

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        """Return the noisy vector: a difference of two geometric variables is discrete Laplace."""
        _checked(sensitivity, epsilon)
        stop = -np.expm1(-epsilon / sensitivity)
        up, down = self._generator.geometric(stop, size=(2, len(values)))
        return [int(v) + n for v, n in zip(values, (up - down).tolist(), strict=True)]

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        """Return the vector with discrete Gaussian noise, by rejection from discrete Laplace noise of scale ⌊σ⌋ + 1.

        Canonne, Kamath & Steinke 2020, Algorithm 3: y is kept with the chance e^(−(|y| − σ²/t)²/(2σ²)).
        """
        _checked(sensitivity, rho, "rho")
        variance = sensitivity**2 / (2 * rho)
        scale = int(np.sqrt(variance)) + 1
        kept: list[NDArray[np.int64]] = []
        missing = len(values)
        while missing > 0:
            draws = self._generator.geometric(-np.expm1(-1 / scale), size=(2, 2 * missing + 8))
            drawn = draws[0].astype(np.int64) - draws[1]
            chance = np.exp(-((np.abs(drawn) - variance / scale) ** 2) / (2 * variance))
            kept.append(drawn[self._generator.random(len(drawn)) < chance][:missing])
            missing -= len(kept[-1])
        return [int(v) + int(n) for v, n in zip(values, np.concatenate([*kept, [0]])[:-1], strict=True)]

    def below(self, total: int) -> int:
        """Return a uniform whole number 0 … ``total`` − 1 of the seeded stream."""
        return uniform_below(total, self)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` uniform words of the seeded stream."""
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)

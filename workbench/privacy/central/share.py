"""What central queries are paid with: a budget of (ε, δ), and each query's share of it.

Without δ a share is one of ε, and noise is discrete Laplace. With δ the budget is the largest ρ that implies (ε, δ)
(:mod:`workbench.privacy.accounting.zcdp`), a share is one of ρ, and noise is discrete Gaussian. The exponential
mechanism that costs ε costs ρ = ε²/8 (Cesar & Rogers 2021, "Bounding, concentrating, and truncating", Theorem 3: its
privacy loss lies in a range of length ε).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext

import numpy as np

from workbench.params import ParameterError
from workbench.privacy.accounting.event import ApproximateDp, PureDp, ZeroConcentrated, divided, floor_double
from workbench.privacy.accounting.zcdp import rho_of
from workbench.privacy.central.central_noise import CentralNoise

QueryEvent = PureDp | ZeroConcentrated | ApproximateDp
LAPLACE, GAUSSIAN = "discrete Laplace", "discrete Gaussian"

_EPSILON_DIGITS, _RHO_DIGITS = Decimal("1e-12"), Decimal("1e-20")


@dataclass(frozen=True)
class Budget:
    """What one row's whole record may lose."""

    epsilon: Decimal  # ε
    delta: Decimal = Decimal(0)  # δ; 0 for pure differential privacy

    def __post_init__(self) -> None:
        """Refuse a δ that is none."""
        if not 0 <= self.delta < 1:
            raise ParameterError(
                f"delta = {self.delta} is not between 0 and 1", hint="give a δ such as 1e-6", field="delta"
            )

    @property
    def gaussian(self) -> bool:
        """Whether it is spent as ρ, on discrete Gaussian noise."""
        return self.delta > 0

    @property
    def noise(self) -> str:
        """The noise in words."""
        return GAUSSIAN if self.gaussian else LAPLACE

    @property
    def amount(self) -> Decimal:
        """What is divided: ε, or ρ."""
        return rho_of(self.epsilon, self.delta) if self.gaussian else self.epsilon

    def share(self, part: float = 1.0) -> Share:
        """Return about the ``part`` of it, for choices that are made before it is divided exactly."""
        return Share(self.amount * Decimal(part), self.gaussian)

    def divided(self, weights: Sequence[float]) -> tuple[Share, ...]:
        """Return a share for each weight; they sum to the budget exactly, and the first has what rounding leaves."""
        if not weights:
            return ()
        parts = divided(self.amount, weights, _RHO_DIGITS if self.gaussian else _EPSILON_DIGITS)
        return tuple(Share(part, self.gaussian) for part in parts)


@dataclass(frozen=True)
class Share:
    """A query's share."""

    amount: Decimal
    gaussian: bool = False

    @classmethod
    def of(cls, event: QueryEvent) -> Share:
        """Return the share that an event of ε or of ρ declares."""
        assert not isinstance(event, ApproximateDp)
        return cls(event.rho, gaussian=True) if isinstance(event, ZeroConcentrated) else cls(event.epsilon)

    @property
    def loss(self) -> float:
        """The amount as a double that is not above it."""
        return floor_double(self.amount)

    @property
    def strength(self) -> float:
        """The ε of discrete Laplace noise with as large a standard deviation: ε itself, or 2√ρ."""
        return 2 * math.sqrt(self.loss) if self.gaussian else self.loss

    @property
    def choice_epsilon(self) -> float:
        """The largest ε of an exponential mechanism within this share: ε itself, or √(8ρ), rounded down."""
        return math.sqrt(8 * self.loss) * (1 - 2.0**-50) if self.gaussian else self.loss

    @property
    def pure_epsilon(self) -> float:
        """The largest ε of any pure mechanism within this share: ε itself, or √(2ρ), rounded down.

        It costs ρ = ε²/2 (Bun & Steinke 2016, Proposition 1.4).
        """
        return math.sqrt(2 * self.loss) * (1 - 2.0**-50) if self.gaussian else self.loss

    @property
    def scale(self) -> float:
        """The noise's scale at sensitivity 1: 1/ε, or σ = 1/√(2ρ)."""
        return 1 / math.sqrt(2 * self.loss) if self.gaussian else 1 / self.loss

    def part(self, times: int, of: int) -> Share:
        """Return ``times`` of ``of`` equal parts, rounded down: parts of a whole are never above this share."""
        with localcontext() as context:
            context.rounding = ROUND_FLOOR
            return Share(self.amount * times / of, self.gaussian)

    def event(self, label: str) -> QueryEvent:
        """Return the cost of a query called ``label``."""
        return ZeroConcentrated(self.amount, label) if self.gaussian else PureDp(self.amount, label)

    def noisy(self, noise: CentralNoise, values: Sequence[int], sensitivity: int) -> list[int]:
        """Return the whole numbers with noise.

        Args:
            noise: where it comes from.
            values: the exact answer.
            sensitivity: of the whole vector, L1 and L2: that of what one row adds.
        """
        if self.gaussian:
            return noise.gaussian(values, sensitivity, self.loss)
        return noise.integers(values, sensitivity, self.loss)

    def variance(self, sensitivity: int = 1) -> float:
        """Return an upper bound of the variance of each number's noise, near the exact one."""
        if self.gaussian:
            return gaussian_variance(sensitivity * self.scale)
        return discrete_laplace_variance(sensitivity, self.loss)


def discrete_laplace_variance(sensitivity: int, epsilon: float) -> float:
    """Return 2b/(1−b)², b = e^(−ε/Δ): the variance of discrete Laplace noise, 0 at ε = ∞."""
    rate = epsilon / sensitivity
    return float(2 * np.exp(-rate) / np.expm1(-rate) ** 2)


def gaussian_variance(sigma: float) -> float:
    """Return the variance of discrete Gaussian noise; from σ = 3 on it is σ² to the last bit."""
    if sigma >= 3:
        return sigma * sigma
    terms = [math.exp(-k * k / (2 * sigma * sigma)) for k in range(1, 40)]
    return 2 * sum(k * k * t for k, t in enumerate(terms, 1)) / (1 + 2 * sum(terms))

"""Costs as values: frozen events that record what was done to the data, independent of any accountant.

All events use the workbench's one neighbouring relation, zero-out: one row becomes an empty row that contributes
nothing, and the number of rows is public. What that gives in other relations is here as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

from workbench.params import ParameterError

RELATION = "zero-out"


def replace_one(epsilon: float, delta: float, *, local: bool = False) -> tuple[float, float]:
    """Return what a zero-out (ε, δ) gives for replace-one neighbours: (2ε, (1+e^ε)δ), two zero-out steps.

    ``local`` is for noisy rows, each randomised by itself: their ε holds between any two rows. A fact about a person is
    one row in place of another, so these are the figures that bound a belief in it.
    """
    if local:
        return epsilon, delta
    return 2 * epsilon, min(1.0, (1 + math.exp(min(epsilon, 700.0))) * delta)


def group(epsilon: float, delta: float, rows: int) -> tuple[float, float]:
    """Return the guarantee of a person with ``rows`` rows: (kε, k·e^((k−1)ε)·δ) (Dwork & Roth 2014, Thm 2.2)."""
    return rows * epsilon, min(1.0, rows * math.exp(min((rows - 1) * epsilon, 700.0)) * delta)


@dataclass(frozen=True, slots=True)
class PureDp:
    """A release with ε-differential privacy (tables, discrete Laplace on counts and sums).

    ``epsilon`` is decimal, so that shares add up to their total exactly.
    """

    epsilon: Decimal
    label: str = ""


@dataclass(frozen=True, slots=True)
class ZeroConcentrated:
    """A release with ρ-zero-concentrated differential privacy, such as discrete Gaussian noise: ρ = Δ²/(2σ²).

    ``rho`` is decimal, so that shares add up to their total exactly; its (ε, δ) is :mod:`.zcdp`'s.
    """

    rho: Decimal
    label: str = ""


@dataclass(frozen=True, slots=True)
class PoissonGaussian:
    """``steps`` sums of Poisson-sampled, clipped vectors, each with N(0, (noise_multiplier·C)²) per coordinate.

    With ``bands`` b above 1 each sum is of one of b fixed parts of the rows, in turn, of which ``sample_rate`` is the
    rate, and its noise is correlated with that of the b − 1 sums before it (:mod:`workbench.deep.correlated_noise`).
    """

    sample_rate: float
    noise_multiplier: float
    steps: int
    label: str = ""
    bands: int = 1

    def independent(self) -> PoissonGaussian:
        """Return sums with independent noise, all of them of the row's part, that give away at least as much of a row.

        They are those that a row can be in: one of every ``bands``, ⌈steps/bands⌉ together (Choquette-Choo et al. 2023,
        arXiv 2306.08153, Theorem 4). The sums are x, of which C·x is released with independent noise. C has ``bands``
        bands and columns of norm 1 at most, so what a row adds at one of its turns ends before the next one begins:
        given all that came before, each turn is one Gaussian mechanism on the row with its own coin. It is not needed
        that the last turn, or a column of C that a pause cuts short, is whole: that shows less.
        """
        if self.bands == 1:
            return self
        turns = -(-self.steps // self.bands)
        return PoissonGaussian(self.sample_rate, self.noise_multiplier, turns, self.label)

    def beside_count(self, count_noise: float) -> float:
        """Return σ_Δ, the noise multiplier of the sums where each step counts its unclipped rows, too.

        A row moves the sum by C and the count, whose terms are ±1/2, by 1/2: with N(0, count_noise²) on the count both
        are one Gaussian of multiplier σ if 1/σ_Δ² + 1/(2·count_noise)² = 1/σ² (Andrew et al. 2021, Theorem 1).

        Raises:
            ParameterError: the count alone reveals as much as a step may.
        """
        left = 1 - (self.noise_multiplier / (2 * count_noise)) ** 2 if count_noise > 0 else 0.0
        if not left > _LEAST_LEFT:
            raise ParameterError(
                f"unclipped_num_std = {count_noise:g} is too little noise beside a noise multiplier of "
                f"{self.noise_multiplier:.3g}",
                hint=f"give more than {self.noise_multiplier / 2:.3g}, such as {2 * self.noise_multiplier:.3g}",
                field="unclipped_num_std",
            )
        return self.noise_multiplier / math.sqrt(left) * _UP


_LEAST_LEFT = 1e-6  # share of a step's 1/σ² that a count must leave to the sum

_UP = 1 + 2.0**-40  # far above what rounding takes from a multiplier


@dataclass(frozen=True, slots=True)
class Composed:
    """Several events on the same rows."""

    events: tuple[CostEvent, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class ApproximateDp:
    """A release with (ε, δ)-differential privacy of which nothing else is known."""

    epsilon: Decimal
    delta: Decimal
    label: str = ""


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """One vector with N(0, (noise_multiplier·Δ)²) per coordinate, Δ the L2 sensitivity of the whole vector."""

    noise_multiplier: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Parallel:
    """Several events on disjoint parts of the rows: one row, and so its emptying, is in one part only."""

    parts: tuple[CostEvent, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Repeated:
    """The same event ``times`` times, with fresh randomness each time."""

    event: CostEvent
    times: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class RowsPerPerson:
    """An event as it concerns a person with ``rows`` rows, all of which are emptied together."""

    event: CostEvent
    rows: int
    label: str = ""


CostEvent = (
    PureDp
    | ApproximateDp
    | GaussianNoise
    | ZeroConcentrated
    | PoissonGaussian
    | Composed
    | Parallel
    | Repeated
    | RowsPerPerson
)


@dataclass(frozen=True, slots=True)
class Cost:
    """The privacy loss that is charged, in zero-out neighbours."""

    epsilon: Decimal  # ε of the whole record, as a decimal: ledgers add decimals, not floats
    delta: Decimal  # δ of the whole record
    event: CostEvent  # what happened

    def replace_one(self, *, local: bool = False) -> tuple[float, float]:
        """Return :func:`replace_one` of it."""
        return replace_one(float(self.epsilon), float(self.delta), local=local)


Charge = Callable[[Cost], None]
"""Called by work that costs budget, before it reads data; raises BudgetRefusedError if the cap forbids it."""


def exact(epsilon: float | Decimal) -> Decimal:
    """Return the decimal that a person wrote: 0.1 is one tenth, not the nearest double."""
    return epsilon if isinstance(epsilon, Decimal) else Decimal(repr(float(epsilon)))


def floor_double(share: Decimal) -> float:
    """Return the largest double that is at most ``share``: noise calibrated to it never exceeds the share."""
    nearest = float(share)
    return nearest if Decimal(nearest) <= share else math.nextafter(nearest, 0.0)


def divided(amount: Decimal, weights: Sequence[float], digit: Decimal) -> list[Decimal]:
    """Return a part of ``amount`` for each weight, rounded down to ``digit``; the first takes the rest of the sum."""
    # Each different weight once: fractions are slow, and most of hundreds of columns have the same weight.
    times = Counter(weights)
    whole = sum((Fraction(weight) * n for weight, n in times.items()), Fraction(0))
    parts: dict[float, Decimal] = {}
    for weight in times:
        part = Fraction(amount) * Fraction(weight) / whole
        parts[weight] = (Decimal(part.numerator) / Decimal(part.denominator)).quantize(digit, rounding=ROUND_FLOOR)
    found = [parts[weight] for weight in weights]
    found[0] += amount - sum(found, Decimal(0))
    return found

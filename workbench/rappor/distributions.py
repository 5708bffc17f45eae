"""True distributions to simulate from: a public form, or the frequencies of given values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy

FORMS = ("normal", "exponential", "zipf")

_TWO_TO_64 = 2.0**64


@dataclass(frozen=True, eq=False)
class Distribution:
    """Values and their chances.

    Attributes:
        name: what it is called.
        values: the distinct values.
        chances: (n,) chances; they sum to 1.
    """

    name: str
    values: tuple[str, ...]
    chances: NDArray[np.float64]

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Return (count,) places of independent values, for studies."""
        ends = np.cumsum(self.chances)
        drawn = np.searchsorted(ends / ends[-1], entropy.words(count) / _TWO_TO_64, side="right")
        return np.minimum(drawn, len(self.values) - 1).astype(np.int64)


def normal(mean: float = 50.0, sd: float = 10.0, values: int = 100) -> Distribution:
    """Return a normal distribution rounded to whole numbers 1 … ``values``, cut off outside."""
    places = np.arange(1, values + 1)
    return _of("normal", [str(i) for i in places.tolist()], np.exp(-(((places - mean) / sd) ** 2) / 2))


def exponential(values: int = 100, mean: float | None = None) -> Distribution:
    """Return chances that fall exponentially over strings ``v1`` …; ``mean`` is that of the place, a fifth of them."""
    rate = 1 / (values / 5 if mean is None else mean)
    return _of("exponential", [f"v{i}" for i in range(1, values + 1)], np.exp(-rate * np.arange(values)))


def zipf(values: int = 100, power: float = 1.0) -> Distribution:
    """Return chances that fall as 1/place^power over strings called ``v1`` and so on."""
    return _of("zipf", [f"v{i}" for i in range(1, values + 1)], np.arange(1, values + 1, dtype=np.float64) ** -power)


def observed(values: Sequence[str | None], name: str) -> Distribution:
    """Return the frequencies of given values, such as those of a column; missing ones are left out. Private.

    Raises:
        ParameterError: there are no values.
    """
    kept = [value for value in values if value]
    if not kept:
        raise ParameterError(f"{name} has no values", hint="choose another column")
    found, counts = np.unique(np.array(kept, dtype=object).astype(str), return_counts=True)
    return _of(name, found.tolist(), counts.astype(np.float64))


def form(name: str, values: int) -> Distribution:
    """Return the public form called ``name`` with so many values.

    Raises:
        ParameterError: there is no such form.
    """
    made = {
        "normal": lambda: normal(values / 2, values / 10, values),
        "exponential": lambda: exponential(values),
        "zipf": lambda: zipf(values),
    }
    if name not in made:
        raise ParameterError(f"the distribution {name!r} is not known", hint=f"choose one of {', '.join(FORMS)}")
    return made[name]()


def _of(name: str, values: list[str], weights: NDArray[np.float64]) -> Distribution:
    return Distribution(name, tuple(values), weights / weights.sum())

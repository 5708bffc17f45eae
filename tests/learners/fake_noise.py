"""Noises of tests, which stand behind a real Ask: what they are asked was declared, and at its amount."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.accounting.event import Cost
from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.entropy import SeededEntropy
from workbench.work.ask import Ask, declared


class Fake:
    """Opens the questions of a cost for the noise that the subclass draws."""

    name, releasable = "study", False

    def ask(self, cost: Cost | None) -> Ask:
        return Ask(() if cost is None else declared(cost.event), self, SeededEntropy(0))

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        raise NotImplementedError

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        raise NotImplementedError

    def below(self, bound: int) -> int:
        raise NotImplementedError

    def words(self, count: int) -> NDArray[np.uint64]:
        raise NotImplementedError


class Scripted(Fake):
    """Answers every table alike and remembers what it was asked.

    Neighbours then see the same released numbers, as the proof compares them: the later queries are the same.
    """

    def __init__(self, script: Sequence[Sequence[int]] | int | None = None) -> None:
        """Answer as ``script`` says, or by its seed; without one, exactly."""
        self.asked: list[tuple[tuple[int, ...], int, float]] = []
        self.drawn = 0
        self._script = script

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        self.asked.append((tuple(values), sensitivity, epsilon))
        if isinstance(self._script, int):
            generator = np.random.default_rng([self._script, len(self.asked)])
            return [int(v) for v in generator.integers(0, 10_000, len(values))]
        return list(values) if self._script is None else list(self._script[len(self.asked) - 1])

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        return self.integers(values, sensitivity, rho)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Accept the best choices alone, and with a seed all of them."""
        return np.full(count, 2**64 - 1 if self._script is None else 0, np.uint64)

    def below(self, bound: int) -> int:
        if not isinstance(self._script, int):
            return 0
        self.drawn += 1
        return bound * int(np.random.default_rng([self._script, 0, self.drawn]).integers(2**32)) >> 32


class TooLittle(Fake):
    """The planted fault: the noise of a multiple of the ε that is paid for."""

    def __init__(self, inner: CentralNoise, times: float) -> None:
        self._inner, self._times = inner, times

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        return self._inner.integers(values, sensitivity, self._times * epsilon)

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        return self._inner.gaussian(values, sensitivity, self._times**2 * rho)

    def below(self, bound: int) -> int:
        return self._inner.below(bound)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Words that are below a chance as often as others are below its power of ``times``."""
        share = self._inner.words(count) * 2.0**-64
        return np.minimum(share ** (1 / self._times) * 2.0**64, 2.0**64 - 2048).astype(np.uint64)

"""Where the noise of a Work comes from: a charge, a study's seed, or nowhere.

A :class:`Noise` is all that a learner or a study is given. It has one use: to open the questions of a declared cost.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from workbench.params import ParameterError
from workbench.privacy.accounting.event import Charge, Cost
from workbench.privacy.central.central_noise import NoNoise
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise
from workbench.privacy.entropy import Entropy, OsEntropy, SeededEntropy
from workbench.work.ask import Ask, declared


class Noise(Protocol):
    """A source of noise."""

    name: str  # `released`, `study` or `none`, as a model's file says it

    def ask(self, cost: Cost | None) -> Ask:
        """Return what serves the events of ``cost``, each once; ``None`` where there is no noise to pay for."""
        ...

    @property
    def releasable(self) -> bool:
        """Whether what is drawn may be published."""
        ...


class Charged:
    """Noise of a release, from the operating system: to open the questions is to charge for them first."""

    name, releasable = "released", True

    def __init__(self, charge: Charge) -> None:
        """Take what charges a cost durably, or raises ``BudgetRefusedError``."""
        self._charge = charge

    def ask(self, cost: Cost | None) -> Ask:
        """Charge ``cost``, then return what serves its events.

        Raises:
            BudgetRefusedError: the cap forbids it; nothing can be asked.
            ParameterError: there is nothing to charge for.
        """
        if cost is None:
            raise ParameterError("a release without noise has no finite privacy cost")
        self._charge(cost)
        return Ask(declared(cost.event), ReleasedNoise(), OsEntropy())


def uncharged() -> Charged:
    """Return noise of a release that nothing was reserved for: it can be asked what it costs, and serves nothing."""

    def refuse(cost: Cost) -> None:
        raise AssertionError("no budget was reserved for this release")

    return Charged(refuse)


class Study:
    """The same distributions from a seeded generator, for studies and previews: nothing drawn can be released."""

    name, releasable = "study", False

    def __init__(
        self, generator: np.random.Generator, coins: Entropy | None = None, charge: Charge | None = None
    ) -> None:
        """Take the generator of the noise, and of the random bits that cost nothing unless ``coins`` are given.

        ``charge`` is called with the cost, where somebody counts what a release would cost.
        """
        self._noise, self._charge = StudyNoise(generator), charge
        self._coins = self._noise if coins is None else coins

    def ask(self, cost: Cost | None) -> Ask:
        """Return what serves the events of ``cost`` with seeded noise."""
        if cost is None:
            raise ParameterError("a study with noise declares its cost")
        if self._charge is not None:
            self._charge(cost)
        return Ask(declared(cost.event), self._noise, self._coins)


class RowStudy:
    """Random bits of a study of mechanisms that randomise each row by itself; it has no noise for sums."""

    name, releasable = "study", False

    def __init__(self, coins: Entropy) -> None:
        self._coins = coins

    def ask(self, cost: Cost | None) -> Ask:
        """Return what serves the events of ``cost`` to mechanisms of rows."""
        return Ask(declared(cost.event) if cost is not None else (), NoNoise(), self._coins)


class Exact:
    """No noise: the regime without privacy, which is never released."""

    name, releasable = "none", False

    def ask(self, cost: Cost | None) -> Ask:
        """Return what answers every question exactly."""
        return Ask((), NoNoise(), SeededEntropy(0))

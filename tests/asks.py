"""What answers the questions of tests: noise of a test's own, seeded noise, or none."""

from collections.abc import Iterable

import numpy as np

from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise
from workbench.privacy.entropy import Entropy, OsEntropy
from workbench.work.ask import Ask, Declared
from workbench.work.noise import Exact


def ask_by(noise: CentralNoise, events: Iterable[Declared], coins: Entropy | None = None) -> Ask:
    """Serve ``events`` with ``noise``; what costs nothing is of the same generator, or of ``coins``."""
    return Ask(events, noise, coins or (noise if isinstance(noise, StudyNoise) else OsEntropy()))


def study_ask(events: Iterable[Declared], seed: int = 0) -> Ask:
    return ask_by(StudyNoise(np.random.default_rng(seed)), events)


def released_ask(events: Iterable[Declared]) -> Ask:
    """Serve ``events`` with the noise of a release, charged to nobody."""
    return ask_by(ReleasedNoise(), events)


def exact_ask() -> Ask:
    return Exact().ask(None)

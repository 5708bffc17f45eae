"""The black-box auditor on what is released: bytes of files under two neighbouring tables, and planted faults.

Each audit runs what a release runs, reads the bytes that it would write, and proves a lower bound on ε from them alone.
The neighbours are hostile: one row among few, at the edge of its bounds or alone in its group, is there or is empty.
A fault is planted in the code under the audit, while the claim stays what the sound release is charged.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.privacy.audit import LowerBound, epsilon_lower
from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise

ALPHA = 1e-6
Plant = Callable[[pytest.MonkeyPatch], None]


class Seeded(StudyNoise):
    """The distribution of a release, quick and repeatable; an audit may treat it as releasable."""

    releasable = True


class HalfTheNoise(Seeded):
    """The planted fault: noise of half the scale."""

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        return super().integers(values, sensitivity, 2 * epsilon)

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        return super().gaussian(values, sensitivity, 4 * rho)


def released(generator: np.random.Generator) -> CentralNoise:
    """The noise that really publishes: of the operating system, not of the generator."""
    return ReleasedNoise()


@dataclass(frozen=True)
class Fault:
    """A planted fault.

    Attributes:
        name: what is wrong.
        times: the release draws as for so many times the ε that it is charged.
        noise: what it draws with.
        plant: replaces code.
        sizes: it needs so many times the samples to be seen.
    """

    name: str
    times: float = 1.0
    noise: Callable[[np.random.Generator], CentralNoise] = Seeded
    plant: Plant | None = None
    sizes: float = 1.0


SOUND = Fault("none")
HALF = Fault("half the scale of the noise", noise=HalfTheNoise)


def drawn_at(times: float, why: str = "") -> Fault:
    """The planted fault: drawn as for a multiple of the ε that is charged."""
    return Fault(why or f"drawn at {times:g}·ε", times=times)


Told = Mapping[str, float]
"""Everything that one released file says, as numbers by name."""


@dataclass(frozen=True, eq=False)
class Audit:
    """One release under audit.

    Attributes:
        name: what is released.
        row: the hostile row, in words.
        claim: the ε that is charged.
        samples: releases of each side.
        outputs: what so many releases tell, with the row or with it emptied.
        faults: what must be seen.
        delta: δ of the claim.
        least: the sound release must be seen at this or above, or the audit is blind.
    """

    name: str
    row: str
    claim: float
    samples: int
    outputs: Callable[[bool, int, Fault], Sequence[Told] | NDArray[Any]]
    faults: tuple[Fault, ...]
    delta: float = 0.0
    least: float = 0.0
    sides: dict[str, float] = field(default_factory=dict)

    def found(self, fault: Fault = SOUND, samples: int | None = None) -> LowerBound:
        """Return what ``samples`` releases of each side prove, with a fault planted."""
        count = int((samples or self.samples) * fault.sizes)
        with pytest.MonkeyPatch.context() as patch:
            if fault.plant is not None:
                fault.plant(patch)
            one, other = (self.outputs(emptied, count, fault) for emptied in (False, True))
        if not isinstance(one, np.ndarray):
            one, other = table_of(one, other)
        return epsilon_lower(one, other, alpha=ALPHA, delta=self.delta)


def table_of(*sides: Sequence[Told]) -> list[NDArray[np.float64]]:
    """Return what files tell as vectors of the same numbers; one that is absent is below all that there can be."""
    names = {name: at for at, name in enumerate(sorted({n for side in sides for told in side for n in told}))}
    out = [np.full((len(side), len(names)), -1e30) for side in sides]
    for side, made in zip(sides, out, strict=True):
        for row, told in zip(made, side, strict=True):
            for name, value in told.items():
                row[names[name]] = value
    constant = [np.concatenate([side[:, at] for side in out]) for at in range(len(names))]
    kept = [at for at, values in enumerate(constant) if (values != values[0]).any()] or [0]
    return [side[:, kept] for side in out]


def numbers_in(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number and word in a document, by where it is; a word is a number of its own: that it is there."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from numbers_in(part, f"{name}/{key}")
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            yield from numbers_in(part, f"{name}/{at}")
    elif isinstance(value, bool | int | float):
        yield name, float(value)
    elif isinstance(value, str):
        words = value.split()
        if words and all(w.lstrip("-").isdigit() for w in words):  # the noisy answers of a certificate
            yield from ((f"{name}/{at}", float(w)) for at, w in enumerate(words))
        else:
            yield f"{name}={value}", 1.0


def accuracy_text(document: Any) -> Told:
    """Return every number of a document."""
    return dict(numbers_in(document))


def of_json(data: bytes) -> Told:
    """Return every number of a released JSON file."""
    return accuracy_text(json.loads(data))


def ignored(event: object) -> None:
    """Take an event."""

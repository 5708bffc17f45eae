"""Audit a local mechanism with two inputs and the sampler that releases use; the verdict comes with its power."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from workbench.params import ParameterError
from workbench.privacy.audit import DEFAULT_ALPHA, DEFAULT_SAMPLES, LowerBound, epsilon_lower
from workbench.privacy.entropy import Entropy, OsEntropy
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable
from workbench.privacy.local.mechanisms.base import Mechanism
from workbench.signals.cancel import CancelToken

_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class MechanismAudit:
    """The result of an audit of a mechanism."""

    claim: float
    bound: LowerBound

    @property
    def refuted(self) -> bool:
        """Whether the outputs prove that it has more."""
        return self.bound.refutes(self.claim)

    @property
    def caught(self) -> float:
        """The least true ε that this audit would have refuted in 95 of 100 runs; infinite if there is none."""
        return self.bound.catches(self.claim)


def audit_mechanism(
    mechanism: Mechanism,
    cells: Cells,
    epsilon: float,
    *,
    samples: int = DEFAULT_SAMPLES,
    alpha: float = DEFAULT_ALPHA,
    entropy: Entropy | None = None,
    cancel: CancelToken | None = None,
) -> MechanismAudit:
    """Draw ``samples`` outputs for each of the two inputs that are easiest to distinguish, and audit them.

    Args:
        mechanism: the mechanism.
        cells: what it is built on.
        epsilon: the share it is built for, and the claim.
        samples: outputs of each input.
        alpha: largest probability that a correct mechanism is refuted.
        entropy: by default the operating system's, as for a release.
        cancel: checked several times per second.

    Raises:
        ParameterError: the mechanism has no table over these cells.
    """
    made = mechanism.build(cells, epsilon)
    if not isinstance(made, MechanismTable):
        raise ParameterError(f"{mechanism.name} over {cells.total} values is not audited", hint="ask for fewer values")
    return audit_table(made, epsilon, samples=samples, alpha=alpha, entropy=entropy, cancel=cancel)


def audit_table(
    table: MechanismTable,
    claim: float,
    *,
    samples: int = DEFAULT_SAMPLES,
    alpha: float = DEFAULT_ALPHA,
    entropy: Entropy | None = None,
    cancel: CancelToken | None = None,
) -> MechanismAudit:
    """Audit any table as :func:`audit_mechanism` does, by what it draws and not by what it claims."""
    entropy, cancel = entropy or OsEntropy(), cancel or CancelToken()
    sides = []
    for cell in worst_pair(table):
        parts = []
        for start in range(0, samples, _AT_ONCE):
            cancel.check()
            parts.append(table.sample(np.full(min(_AT_ONCE, samples - start), cell, dtype=np.uint16), entropy))
        sides.append(np.concatenate(parts))
    cancel.check()
    return MechanismAudit(claim, epsilon_lower(sides[0], sides[1], alpha=alpha))


def worst_pair(table: MechanismTable) -> tuple[int, int]:
    """Return the two inputs between which outputs of nearly the largest ratio are likeliest."""
    weights = table.weights
    high, low = weights.argmax(axis=0), weights.argmin(axis=0)
    columns = np.arange(table.outputs)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(weights[high, columns].astype(np.float64)) - np.log(weights[low, columns].astype(np.float64))
    largest = np.nanmax(logs)
    near = np.flatnonzero(logs >= largest - 1e-9)
    best, pair = -math.inf, (0, 1)
    for one, other in {(int(high[j]), int(low[j])) for j in near}:
        p, q = weights[one].astype(np.float64), weights[other].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            mass = float(p[np.log(p) - np.log(q) >= largest - 1e-9].sum())
        if mass > best:
            best, pair = mass, (one, other)
    return pair

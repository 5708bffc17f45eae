"""Local mechanisms, one file each; a new one is its file and a line in this list."""

from __future__ import annotations

from workbench.params import ParameterError
from workbench.params.field import did_you_mean
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism, Randomiser
from workbench.privacy.local.mechanisms.bounded_laplace import BOUNDED_LAPLACE
from workbench.privacy.local.mechanisms.duchi import DUCHI
from workbench.privacy.local.mechanisms.exponential import EXPONENTIAL
from workbench.privacy.local.mechanisms.grr import GRR
from workbench.privacy.local.mechanisms.hybrid import HYBRID
from workbench.privacy.local.mechanisms.optimal import OPTIMAL
from workbench.privacy.local.mechanisms.piecewise import PIECEWISE
from workbench.privacy.local.mechanisms.square_wave import SQUARE_WAVE
from workbench.privacy.local.mechanisms.staircase import STAIRCASE
from workbench.privacy.local.mechanisms.three_outputs import THREE_OUTPUTS
from workbench.privacy.local.mechanisms.warner import WARNER

MECHANISMS: tuple[Mechanism, ...] = (
    GRR,
    WARNER,
    BOUNDED_LAPLACE,
    STAIRCASE,
    PIECEWISE,
    DUCHI,
    HYBRID,
    THREE_OUTPUTS,
    SQUARE_WAVE,
    EXPONENTIAL,
    OPTIMAL,
)

FREQUENCY_ONLY = ("oue", "sue", "olh")
"""The oracles of :mod:`workbench.privacy.local.frequency`, whose reports fill no column: named here to say so."""


def mechanism(name: str) -> Mechanism:
    """Return the mechanism called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name, or says why it cannot be used.
    """
    for candidate in MECHANISMS:
        if candidate.name == name:
            return candidate
    known = [m.name for m in MECHANISMS]
    if name in FREQUENCY_ONLY:
        raise ParameterError(
            f"the mechanism {name} reports vectors or hashes for frequency collection and cannot fill a column",
            hint=f"choose one of {', '.join(known)}",
        )
    near = did_you_mean(name, [*known, *FREQUENCY_ONLY])
    raise ParameterError(f"the mechanism {name!r} is not known{near}", hint=f"choose one of {', '.join(known)}")


__all__ = [
    "BOUNDED_LAPLACE",
    "DUCHI",
    "EXPONENTIAL",
    "FREQUENCY_ONLY",
    "GRR",
    "HYBRID",
    "MECHANISMS",
    "OPTIMAL",
    "PIECEWISE",
    "SQUARE_WAVE",
    "STAIRCASE",
    "THREE_OUTPUTS",
    "WARNER",
    "LocalParameters",
    "Mechanism",
    "Randomiser",
    "mechanism",
]

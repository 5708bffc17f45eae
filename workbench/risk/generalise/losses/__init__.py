"""Losses of generalised tables: one is its file and a line in this list."""

from __future__ import annotations

from workbench.params.field import named
from workbench.risk.generalise.losses.average_class_size import AVERAGE_CLASS_SIZE
from workbench.risk.generalise.losses.base import Loss, Outcome
from workbench.risk.generalise.losses.classification import CLASSIFICATION
from workbench.risk.generalise.losses.discernibility import DISCERNIBILITY
from workbench.risk.generalise.losses.granularity import GRANULARITY
from workbench.risk.generalise.losses.nonuniform_entropy import NONUNIFORM_ENTROPY

LOSSES: tuple[Loss, ...] = (
    GRANULARITY,
    NONUNIFORM_ENTROPY,
    DISCERNIBILITY,
    AVERAGE_CLASS_SIZE,
    CLASSIFICATION,
)


def loss(name: str) -> Loss:
    """Return the loss called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    return named(LOSSES, name, "loss")


__all__ = ["DISCERNIBILITY", "LOSSES", "Loss", "Outcome", "loss"]

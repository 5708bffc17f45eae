"""What ``fit`` and ``dpsgd`` say alike of a training that ended without a model."""

from __future__ import annotations

from workbench.cli.tables import charge
from workbench.release.model.stopped_training import NOTHING, RESERVED, UNKNOWN, WATCHED, StoppedCharge


def stopped_words(stopped: StoppedCharge) -> str:
    """Return a sentence on what stays charged of a training that released nothing; empty where nothing does."""
    if stopped.why == NOTHING:
        return ""
    if stopped.why == UNKNOWN:
        return f"nothing was released; what is charged is not known: {stopped.problem}"
    why = "private figures were shown" if stopped.why == WATCHED else "the model was being written"
    stands = "stays reserved" if stopped.why == RESERVED else f"stays charged, as {why}"
    return f"nothing was released; epsilon = {charge(float(stopped.epsilon))} {stands}"

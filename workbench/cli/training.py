"""What ``fit`` and ``dpsgd`` say alike of a training that ended without a model."""

from __future__ import annotations

import shlex

from workbench.cli.tables import charge
from workbench.release.model.stopped_training import (
    NOTHING,
    PAUSED,
    RESERVED,
    STEPS,
    UNKNOWN,
    WATCHED,
    StoppedCharge,
)


def stopped_words(stopped: StoppedCharge) -> str:
    """Return a sentence on what stays charged of a training that released nothing; empty where nothing does."""
    if stopped.why == NOTHING:
        return ""
    if stopped.why == UNKNOWN:
        return f"nothing was released; what is charged is not known: {stopped.problem}"
    if stopped.why == PAUSED:
        return (
            f"paused after {stopped.taken:,} steps; epsilon = {charge(float(stopped.epsilon))} stays reserved; "
            f"repeat the command with --resume {shlex.quote(str(stopped.checkpoint))} to go on, and with --give-up as "
            "well to end it"
        )
    why = {WATCHED: "private figures were shown", STEPS: "so many steps were taken"}
    stated = why.get(stopped.why, "the model was being written")
    is_current = "stays reserved" if stopped.why == RESERVED else f"stays charged, as {stated}"
    return f"nothing was released; epsilon = {charge(float(stopped.epsilon))} {is_current}"

"""Grey images of 28 × 28 as rows of a table: 784 columns, line by line, each scaled to [−1, 1] by its bounds."""

from __future__ import annotations

from workbench.params import ParameterError

SIDE = 28
PIXELS = SIDE * SIDE


def require_image(name: str, inputs: int) -> None:
    """Raise :class:`ParameterError` unless a row has one input for each pixel."""
    if inputs != PIXELS:
        raise ParameterError(
            f"the network {name!r} reads images of {SIDE} by {SIDE} pixels, not {inputs} inputs",
            mend=f"give a table of {PIXELS} numeric columns beside the target, or choose another network",
        )

"""Where memory runs out, half as many rows at once: the batch, its sum and its cost stay what they were."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.clipping import ClippedSum, StepSums
from workbench.deep.memory import out_of_memory
from workbench.params import ParameterError, WorkbenchError
from workbench.signals.events import Emit, Notice


class HalvingClippedSum:
    """An engine that is made anew for half the rows, and computes the same batch again, when memory runs out.

    Noise is added to a finished sum alone, so a sum that was not finished has shown nothing.

    Attributes:
        physical_batch: rows that are now at most in memory at once.
    """

    def __init__(self, make: Callable[[int], ClippedSum], physical_batch: int, emit: Emit) -> None:
        """Make the engine.

        Raises:
            ParameterError: the physical batch is not positive.
        """
        if not physical_batch >= 1:
            raise ParameterError(f"a physical batch of {physical_batch} rows is not possible", hint="give 1 or more")
        self.physical_batch = physical_batch
        self._make = make
        self._emit = emit
        self._engine = make(physical_batch)

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch.

        Raises:
            MemoryError, RuntimeError: memory did not suffice for one row.
        """
        return self._halving(lambda engine: engine(inputs, targets, measure=measure), len(targets))

    @property
    def drawn(self) -> Callable[..., StepSums] | None:
        """What returns the sums of the batch of some rows of a table, if the engine takes them out of it itself."""
        return self._drawn if hasattr(self._engine, "drawn") else None

    def _drawn(self, inputs: Tensor, targets: Tensor, rows: NDArray[np.int64], *, measure: bool = True) -> StepSums:
        def sums(engine: Any) -> StepSums:
            found: StepSums = engine.drawn(inputs, targets, rows, measure=measure)
            return found

        return self._halving(sums, len(rows))

    def _halving(self, sums: Callable[[ClippedSum], StepSums], rows: int) -> StepSums:
        while True:
            try:
                return sums(self._engine)
            except (MemoryError, RuntimeError) as error:
                # More rows than the batch has are no fewer when halved.
                fewer = min(self.physical_batch, rows) // 2
                if not out_of_memory(error) or fewer < 1:
                    raise
                traceback.clear_frames(error.__traceback__)  # they hold the batch; what follows needs the room
            self.lower(fewer, "memory was short")

    def renew(self) -> None:
        """Give back the memory that the engine keeps, by making it anew."""
        self._engine = self._make(self.physical_batch)

    def lower(self, rows: int, why: str) -> None:
        """Hold at most ``rows`` rows at once from now on, and say ``why``."""
        self.physical_batch = rows
        self.renew()
        noun = "row" if rows == 1 else "rows"
        stated = f"{why}: {rows:,} {noun} at once from now on; the result and its cost are the same"
        self._emit(Notice("warning", stated))


def too_large(physical_batch: int, rows: int, step: int) -> WorkbenchError:
    """Return what to say where the memory did not suffice, with ``physical_batch`` as it was lowered until then."""
    if step == 0:
        return WorkbenchError(
            f"there is not enough memory for {rows:,} rows as numbers",
            hint="close other programs, or use fewer columns",
        )
    chunk = min(physical_batch, rows)
    if chunk == 1:
        return WorkbenchError(
            "there is not enough memory for the gradient of even one row",
            f"step {step:,}",
            "close other programs, or train a smaller network",
        )
    return WorkbenchError(
        f"there is not enough memory for the gradients of {chunk:,} rows at once",
        f"step {step:,}",
        f"set the rows in memory (physical batch) below {chunk:,}: that changes neither the network nor its cost",
    )

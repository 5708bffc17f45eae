"""The public cells a value is put on before a mechanism sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.local.limits import MOST_CELLS

CellArray = NDArray[np.uint16] | NDArray[np.uint32]
WHOLE = slice(None)

_EVEN = 1e-9  # parts of the range by which equally spaced cells may be off: rounding of decimal numbers


@dataclass(frozen=True, eq=False)
class Cells:
    """The inputs and outputs of a mechanism for one attribute."""

    size: int  # number s of cells that hold a value
    # Float64 (s,), the number that each cell represents, increasing, read-only from here on; `None` for names.
    values: NDArray[np.float64] | None = None
    missing: bool = False  # whether one more cell, the last, represents a missing value

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            ParameterError: fewer than 2 cells.
        """
        if not self.total >= 2:
            raise ParameterError("a mechanism needs at least 2 cells", hint="declare a wider domain")
        if self.values is not None:
            if self.values.shape != (self.size,):
                raise ParameterError("there are not as many values as cells")
            self.values.setflags(write=False)  # equal columns share them

    @property
    def total(self) -> int:
        """Number of cells, the one for missing values included."""
        return self.size + int(self.missing)

    @property
    def numeric(self) -> bool:
        """Whether cells represent numbers."""
        return self.values is not None

    @classmethod
    def line(cls, lower: float, upper: float, size: int, *, missing: bool = False) -> Cells:
        """Return ``size`` equally spaced cells from ``lower`` to ``upper``, both ends included."""
        if not lower < upper:
            raise ParameterError(f"the lower bound {lower:g} is not below the upper bound {upper:g}")
        if not 2 <= size <= MOST_CELLS:
            raise ParameterError(f"cells = {size} is not from 2 to {MOST_CELLS}")
        return cls(size=size, values=np.linspace(lower, upper, size), missing=missing)

    def counted(self) -> Cells:
        """Return the cells 0, 1, 2, … in place of equally spaced ones, and these cells where they are not.

        What a mechanism does to one depends on its place between the bounds alone, so that all columns with as many
        equally spaced cells share one table.
        """
        if self.values is None or self.size < 2:
            return self
        values = np.arange(self.size, dtype=np.float64)
        places = (self.values - self.values[0]) / (self.values[-1] - self.values[0])
        even = np.abs(places - values / (self.size - 1)).max() <= _EVEN
        return Cells(size=self.size, values=values, missing=self.missing) if even else self

    def distances(self, rows: slice = WHOLE) -> NDArray[np.float64]:
        """Return the (t, t) distances, or some rows of them, in units of the whole range.

        A missing value is one range from all others.
        """
        own = np.arange(self.total)[rows]
        out = np.ones((len(own), self.total))
        if self.values is None:
            out[np.arange(len(own)), own] = 0.0
            return out
        span = self.values[-1] - self.values[0]
        held = self.values[rows]
        out[: len(held), : self.size] = np.abs(held[:, None] - self.values[None, :]) / span
        if self.missing and len(held) < len(own):
            out[-1, -1] = 0.0
        return out

    def base(self) -> NDArray[np.float64]:
        """Return the (t,) base measure: √s for the missing cell, otherwise negligible beside s cells of numbers."""
        base = np.ones(self.total)
        if self.missing and self.numeric:
            base[-1] = np.sqrt(self.size)
        return base

"""What the pictures of a draw show: how a column is spread, what is recovered of it, how columns go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Spread:
    """How one column is spread before and after one draw. Private.

    Attributes:
        name: the column.
        numeric: whether the bars are ranges of numbers in order.
        labels: what each bar stands for.
        original: rows in each bar.
        sanitised: rows in each bar after the draw.
    """

    name: str
    numeric: bool
    labels: tuple[str, ...]
    original: tuple[int, ...]
    sanitised: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Pairs:
    """How strongly columns go together before and after one draw. Private.

    Attributes:
        names: the columns, k of them.
        numeric: whether each holds numbers.
        original: (k, k) associations of the original rows; NaN where there is none to be computed.
        sanitised: the same after the draw.
        rows: rows they were computed from.
        of_rows: rows of the table.
        left_out: columns that were not compared.
    """

    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    original: NDArray[np.float64]
    sanitised: NDArray[np.float64]
    rows: int
    of_rows: int
    left_out: int = 0


@dataclass(frozen=True)
class Recovered:
    """What can be recovered of one column. Private, as the original's own figure is among it.

    Attributes:
        name: the column.
        words: the whole of it in a sentence.
        mean: (low, estimate, high) of the mean as places along the bars, 0 at the left end of the first.
        truth: the original's mean as such a place.
        shares: by the bar's label, rows (low, estimate, high) that had this value.
    """

    name: str
    words: str
    mean: tuple[float, float, float] | None = None
    truth: float | None = None
    shares: dict[str, tuple[float, float, float]] | None = None

"""A table as learners read it: one column of doubles per attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.values import codes, numbers
from workbench.data.schema import Attribute
from workbench.data.table import Table


def matrix(table: Table, attributes: Sequence[Attribute]) -> NDArray[np.float64]:
    """Return X (n, d): numbers of numeric attributes (NaN: missing), domain codes of the others (k: missing).

    Raises:
        InputError: a cell does not fit what is declared about its column; column and row are named.
    """
    out = np.empty((table.rows, len(attributes)))
    for position, attribute in enumerate(attributes):
        out[:, position] = column_of(table, attribute)
    return out


def column_of(table: Table, attribute: Attribute) -> NDArray[Any]:
    """Return one column of :func:`matrix` (n,)."""
    return numbers(table, attribute) if attribute.numeric else codes(table, attribute)

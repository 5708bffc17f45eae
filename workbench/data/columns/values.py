"""The cells of a column as numbers or as indices into a public domain; an error names the row that cannot be read.

The value of a cell depends only on that cell and on declared facts, never on another row: every statement about the
privacy of one row relies on that. If the table replaces invalid values (``Table.replaces_invalid``) nothing is refused:
such cells are missing, so that every table with these columns can be read.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.dates import day_numbers
from workbench.data.columns.missing import marked, missing_cells, refuse_first, refuse_missing, shown
from workbench.data.columns.numerals import doubles, refuse_unread
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError, ParameterError
from workbench.params.field import did_you_mean
from workbench.params.remedies import DECLARE, REPLACE_VALUES, Remedy, add_value, declare, list_values

TRUTH_WORDS = {"false": 0, "true": 1, "no": 0, "yes": 1, "0": 0, "1": 1}
"""The words of a boolean column without a declared domain, in any case, and their index in (false, true)."""


def numbers(table: Table, attribute: Attribute) -> NDArray[np.float64]:
    """Return the numbers of a numeric column, shape (n,); NaN where a missing value is kept.

    The decimal mark is the one that a person stated (``--decimal``), else a point. Dates become day numbers
    (``datetime.date.toordinal``). Values outside the declared bounds are returned as they are.

    Raises:
        InputError: a cell is missing and the attribute refuses that; a cell is not a finite number, or not a whole
            one although whole numbers are declared. The message names column, row and value.
        ParameterError: the attribute is not numeric.
    """
    if not attribute.numeric:
        raise ParameterError(
            f"the column is declared as {attribute.kind or 'nothing'}, not as numbers",
            f"column {attribute.name}",
            Remedy(DECLARE, 'write kind = "integer", "real" or "date"', {"key": "kind"}),
            field="kind",
        )
    if attribute.kind == "date":
        return day_numbers(table, attribute)
    cells = marked(table, attribute.name)
    values = doubles(cells, table.decimal)
    finite = values.is_finite().fill_null(value=False)
    if not finite.all():
        missing = missing_cells(table, cells)
        refuse_missing(table, attribute, missing)
        bad = ~finite & ~missing
        refuse_unread(table, attribute, bad & values.is_null())
        refuse_first(
            table,
            attribute,
            bad,
            "{value} is not a finite number",
            ("correct it", "leave the cell empty", REPLACE_VALUES),
        )
        values = values.set(~finite, None)
    if attribute.kind == "integer":
        broken = (values != values.floor()).fill_null(value=False)
        refuse_first(
            table,
            attribute,
            broken,
            "{value} is not a whole number",
            ("correct it", declare("kind", "real"), REPLACE_VALUES),
        )
        values = values.set(broken, None) if broken.any() else values
    out: NDArray[np.float64] = values.fill_null(float("nan")).to_numpy()
    return out + 0.0  # a writable copy, with −0 as 0


def codes(table: Table, attribute: Attribute) -> NDArray[np.int64]:
    """Return the index of each cell in ``attribute.values()``, shape (n,); a kept missing value is one beyond.

    Raises:
        InputError: a cell is missing and the attribute refuses that, or outside the domain and there is no ``other``.
            The message names column, row and value.
        ParameterError: the domain is not declared.
    """
    domain = attribute.values()
    cells = table.column(attribute.name)
    if attribute.kind == "boolean" and attribute.domain is None:
        words = cells.str.strip_chars().str.to_lowercase()
        index = words.replace_strict(TRUTH_WORDS, default=None, return_dtype=pl.Int64)
        hint: tuple[str | Remedy, ...] = ("write true or false", list_values())
    else:
        index = cells.replace_strict(list(domain), range(len(domain)), default=None, return_dtype=pl.Int64)
        hint = ("correct it", add_value(), declare("other", "…"))
    unknown = index.is_null()
    missing = unknown & missing_cells(table, cells) if unknown.any() else unknown
    refuse_missing(table, attribute, missing)
    if attribute.other is not None:
        index = index.set(unknown & ~missing, domain.index(attribute.other))
    outside = (index.is_null() & ~missing).arg_true()
    if len(outside) and not table.replaces_invalid:
        row = int(outside[0])
        value = table.column(attribute.name)[row]
        raise InputError(
            f"{shown(value)} is not in the domain{did_you_mean(value[:80], domain)}",
            table.place(attribute.name, row),
            (*hint, REPLACE_VALUES),
            code="value-refused",
            field=attribute.name,
        )
    out: NDArray[np.int64] = index.fill_null(len(domain)).to_numpy()
    return out

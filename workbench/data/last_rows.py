"""Notices about the last rows of a table: empty rows of a spreadsheet, or a line of totals."""

from __future__ import annotations

import re
import unicodedata

import polars as pl

from workbench.data.rows_in_parts import each_column

_TOTALS = re.compile(
    r"((grand )?totals?|sum(me)?|gesamt(summe)?|insgesamt|totaux|total général|somme"
    r"|общий итог|итого|всего|tổng( cộng)?)\s*:?",
    re.IGNORECASE,
)
LOOKED_AT = 1000  # rows


def last_row_notices(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return a sentence for each thing to check in the last rows. Private.

    Args:
        frame: cells of text, shape (rows, columns); no more than its last thousand rows are looked at.
    """
    if frame.width < 2:
        return ()
    last = frame.tail(LOOKED_AT)
    cells = enumerate(each_column(last))
    filled = pl.DataFrame([(each.str.strip_chars() != "").alias(str(at)) for at, each in cells])
    there = filled.select(pl.any_horizontal(pl.all().fill_null(value=False))).to_series().arg_true()
    if not len(there):
        return ()
    found, row = [], int(there[-1])
    if blank := last.height - 1 - row:
        many = f"the last {blank} rows have no value: delete them from the file if they are not records"
        one = "the last row has no value: delete it from the file if it is not a record"
        found.append(one if blank == 1 else many)
    first = next(unicodedata.normalize("NFC", cell.strip()) for cell in last.row(row) if cell and cell.strip())
    if _TOTALS.fullmatch(first):
        found.append(f"the last row begins with {first}: delete it from the file if it is a line of totals")
    return tuple(found)

"""Column types of a Parquet or Feather file, and how text cells become values of these types again."""

from __future__ import annotations

import polars as pl

_PLAIN = {
    kind.__name__: kind()
    for kind in (
        *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
        *(pl.Float32, pl.Float64, pl.Boolean, pl.Date, pl.Categorical, pl.String),
    )
}
_MOMENT = "%Y-%m-%d %H:%M:%S%.f"


def type_name(kind: pl.DataType) -> str:
    """Return the name of a column's type; ``String`` for one whose values stay text."""
    if isinstance(kind, pl.Datetime) and kind.time_zone is None:
        return f"Datetime {kind.time_unit}"
    name = type(kind).__name__
    return name if name in _PLAIN else "String"


def type_named(word: str) -> pl.DataType:
    """Return the type of that name.

    Raises:
        ValueError: there is none.
    """
    name, _, unit = word.partition(" ")
    if name == "Datetime" and unit in ("ms", "us", "ns"):
        return pl.Datetime(unit)  # type: ignore[arg-type]  # one of the three literals
    if word not in _PLAIN:
        raise ValueError(word)
    return _PLAIN[word]


def cast_text(cells: pl.Series, kind: pl.DataType, *, strict: bool = True) -> pl.Series:
    """Return text cells as values of ``kind``; a cell that cannot be one is an error, or missing unless ``strict``."""
    if kind == pl.Boolean:
        return cells.replace_strict(["true", "false"], [True, False], default=None, return_dtype=pl.Boolean)
    if isinstance(kind, pl.Datetime):
        return cells.str.to_datetime(_MOMENT, time_unit=kind.time_unit, strict=strict)
    if kind == pl.Date:
        return cells.str.to_date("%Y-%m-%d", strict=strict)
    return cells.cast(kind, strict=strict)


def is_lossless(cells: pl.Series, kind: pl.DataType) -> bool:
    """Return whether every text cell is a value of ``kind``."""
    return cast_text(cells, kind, strict=False).null_count() == cells.null_count()

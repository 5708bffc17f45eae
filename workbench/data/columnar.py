"""Read Parquet and Feather files as text cells."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from workbench.params import InputError

FORMATS = {".parquet": "Parquet", ".pq": "Parquet", ".feather": "Feather", ".arrow": "Feather", ".ipc": "Feather"}


def read_columnar(file: Path, source: str) -> pl.DataFrame:
    """Return the cells of a Parquet or Feather file as text, shape (rows, columns).

    Whole numbers are written ``1``, reals in their shortest exact form, dates ``2024-01-31``, times of day after
    a space, truth values ``true`` and ``false``; what has no value is missing, and so is an empty text.

    Raises:
        InputError: the file is damaged, or a column holds lists, records or bytes.
    """
    format_name = FORMATS[file.suffix.lower()]
    try:
        if format_name == "Parquet":
            frame = pl.read_parquet(file.resolve(), glob=False, hive_partitioning=False)
        else:
            # From memory: a mapped file could not be replaced on Windows while the table lives.
            frame = pl.read_ipc(io.BytesIO(file.read_bytes()))
    except (pl.exceptions.PolarsError, OSError, ValueError):
        raise InputError(
            f"the file is not a {format_name} file, or it is damaged", source, "export it again, or give a CSV file"
        ) from None
    if frame.width == 0:
        raise InputError("the table has no columns", source, "give a file with columns")
    unnamed = [k for k, name in enumerate(frame.columns, start=1) if not name]
    if unnamed:
        raise InputError(f"column {unnamed[0]} has no name", source, "name it in the program that wrote the file")
    if frame.height == 0:
        raise InputError("the table has no rows", source, "give a file with rows")
    return frame.select(_as_text(series, source) for series in frame)


def _as_text(series: pl.Series, source: str) -> pl.Series:
    kind = series.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration):
        raise InputError(
            f"the column holds {str(kind).split('(')[0].lower()} values",
            f"{source}, column {series.name}",
            "write them as text or numbers, or drop the column",
        )
    if isinstance(kind, pl.Datetime):
        texts = series.dt.strftime("%Y-%m-%d %H:%M:%S%.f" + ("%:z" if kind.time_zone else ""))
    else:
        texts = series.cast(pl.String)
    return texts.replace("", None)

"""Parquet files, and folders of them, whose names of folders (``year=2024``) are columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from workbench.data.isolated import read_isolated
from workbench.data.opened import Opened, RefusedError
from workbench.data.sources.source import Source, SourceFile
from workbench.data.table import Table

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet", ".pq")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def parts_of(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder and of those below that state a value (``year=2024``), by their names.

    Links to folders are not followed: one that leads back up would have no end.
    """
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")):
            continue
        if path.name.lower().endswith(ENDINGS) and path.is_file():
            found.append(path)
        elif "=" in path.name and path.is_dir() and not path.is_symlink():
            found += parts_of(path)
    return found


def opened(path: Path, options: dict[str, Any]) -> Opened:
    """Return what a file or folder holds according to its own metadata, and how to read its cells."""
    import polars as pl

    if not path.is_dir():
        rows, columns = _shape(path)
        return Opened(rows, columns, lambda: _read(path))
    files = parts_of(path)
    keys = [_keys(path, file) for file in files]
    shapes = [_shape(file) for file in files]
    first = shapes[0][1]
    for file, (_, columns), its in zip(files, shapes, keys, strict=True):
        if set(columns) != set(first) or list(its) != list(keys[0]):
            raise RefusedError(
                f"the files {files[0].relative_to(path)} and {file.relative_to(path)} have different columns",
                "",
                "keep files of one table in a folder of their own",
            )
    both = [name for name in keys[0] if name in first]
    if both:
        raise RefusedError(
            "the column is in the files and in the names of their folders", f"column {both[0]}", "rename one of them"
        )

    def read() -> pl.DataFrame:
        frames = [
            _read(file)[first].with_columns(pl.lit(value, pl.String).alias(name) for name, value in its.items())
            for file, its in zip(files, keys, strict=True)
        ]
        for name in first:
            if len({frame.schema[name] for frame in frames}) > 1:
                raise RefusedError(
                    "the column has different types in the files of the folder", f"column {name}", "write it with one"
                )
        return pl.concat(frames)

    return Opened(sum(rows for rows, _ in shapes), [*first, *keys[0]], read)


def _shape(path: Path) -> tuple[int, list[str]]:
    import polars as pl

    lazy = pl.scan_parquet(path.resolve(), glob=False, hive_partitioning=False)
    return int(lazy.select(pl.len()).collect().item()), list(lazy.collect_schema())


def _read(path: Path) -> pl.DataFrame:
    import polars as pl

    return pl.read_parquet(path.resolve(), glob=False, hive_partitioning=False)


def _keys(folder: Path, file: Path) -> dict[str, str | None]:
    """Return the columns that the names of folders between ``folder`` and ``file`` state, and their values."""
    stated = [part.partition("=") for part in file.relative_to(folder).parts[:-1] if "=" in part]
    return {unquote(name): None if value == _NO_VALUE else unquote(value) for name, _, value in stated}


def read(file: SourceFile) -> Table:
    """Return the table of a Parquet file, or of a folder of them."""
    return read_isolated(file, PARQUET.name, __name__)


PARQUET = Source(name="Parquet", endings=ENDINGS, read=read, mark=re.compile(b"PAR1"), folder=parts_of)

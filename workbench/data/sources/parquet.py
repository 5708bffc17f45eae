"""Parquet files, and folders of them, whose names of folders (``year=2024``) are columns."""

from __future__ import annotations

import bisect
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
from polars import selectors

from workbench.data.columns.source_types import type_name
from workbench.data.csv.encoding import FileBytes
from workbench.data.isolated_child import cells_of_schema, check_shape
from workbench.data.isolated_reader import read_isolated
from workbench.data.opened_file import Opened, RefusedError, Unpacked
from workbench.data.sources.row_groups import read_groups
from workbench.data.sources.source import Source, SourceFile
from workbench.data.table import Table

ENDINGS = (".parquet", ".pq")
_STEP = 1 << 18
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


def opened(path: Path, options: dict[str, Any]) -> Opened | Unpacked:
    """Return what a file or folder holds according to its own metadata, and how to read its cells.

    Args:
        path: the file or folder.
        options: ``outline`` asks for what the metadata say alone; ``rows`` (the first, and how many) or ``chosen`` (the
            numbers of some) for rows of a file, with its ``columns`` and the ``keys`` that its folders state.
    """
    if "chosen" in options:
        keys, chosen = options["keys"], options["chosen"]
        return Opened(
            len(chosen), [*options["columns"], *keys], lambda: _chosen(path, options["columns"], keys, chosen)
        )
    if "rows" in options:
        keys, (start, count) = options["keys"], options["rows"]
        return Opened(count, [*options["columns"], *keys], lambda: _read(path, options["columns"], keys, start, count))
    folder = path.is_dir()
    files = parts_of(path) if folder else [path]
    keys = [_keys(path, file) if folder else {} for file in files]
    schemas = [_scan(file).collect_schema() for file in files]
    for file, schema, its in zip(files, schemas, keys, strict=True):
        if set(schema) != set(schemas[0]) or list(its) != list(keys[0]):
            raise RefusedError(
                f"the files {files[0].relative_to(path)} and {file.relative_to(path)} have different columns",
                "",
                "keep files of one table in a folder of their own",
            )
    first, facts = cells_of_schema(schemas[0])
    both = [name for name in keys[0] if name in schemas[0]]
    if both:
        raise RefusedError(
            "the column is in the files and in the names of their folders", f"column {both[0]}", "rename one of them"
        )
    for name in first:
        if len({schema[name] for schema in schemas}) > 1:
            raise RefusedError(
                "the column has different types in the files of the folder", f"column {name}", "write it with one type"
            )
    if options.get("outline"):
        return _outline(files, keys, {name: schemas[0][name] for name in first}, facts)
    return Opened(
        sum(_rows(file) for file in files),
        [*first, *keys[0]],
        lambda: pl.concat([_read(file, first, its) for file, its in zip(files, keys, strict=True)]),
        facts,
    )


def _outline(
    files: list[Path], keys: list[dict[str, str | None]], schema: dict[str, pl.DataType], facts: dict[str, Any]
) -> Unpacked:
    """Return as JSON the columns and their types, and of each file its row groups.

    Of a group: how many rows, the bytes of their values, and where these are in the file.
    """
    from pyarrow.parquet import read_metadata

    found, rows = [], 0
    for file, its in zip(files, keys, strict=True):
        said = read_metadata(file)
        rows += said.num_rows
        groups = [said.row_group(k) for k in range(said.num_row_groups)]
        places = [[group.num_rows, group.total_byte_size, *_place(group)] for group in groups]
        found.append({"path": str(file), "keys": its, "groups": places})
    check_shape(rows, [*schema, *keys[0]])
    types = [*map(type_name, schema.values()), *("String" for _ in keys[0])]
    said = {"columns": list(schema), "keys": list(keys[0]), "types": types, "files": found}
    return Unpacked(iter([json.dumps(said).encode()]), facts)


def _place(group: Any) -> tuple[int, int]:
    columns = [group.column(k) for k in range(group.num_columns)]
    starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
    stops = [start + column.total_compressed_size for start, column in zip(starts, columns, strict=True)]
    return min(starts), max(stops)


def _scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _rows(path: Path) -> int:
    return int(_scan(path).select(pl.len()).collect().item())


def _read(
    path: Path, columns: list[str], keys: dict[str, str | None], start: int = 0, count: int | None = None
) -> pl.DataFrame:
    # By its name alone, * would be all columns.
    frame = _scan(path).select(selectors.by_name(*columns)).slice(start, count).collect()
    return frame.with_columns(pl.lit(value, pl.String).alias(name) for name, value in keys.items())


def _chosen(path: Path, columns: list[str], keys: dict[str, str | None], chosen: list[int]) -> pl.DataFrame:
    found, k = [], 0
    while k < len(chosen):
        start = chosen[k] // _STEP * _STEP
        stop = bisect.bisect_left(chosen, start + _STEP)
        found.append(_read(path, columns, keys, start, _STEP)[[row - start for row in chosen[k:stop]]])
        k = stop
    return pl.concat(found)


def _keys(folder: Path, file: Path) -> dict[str, str | None]:
    """Return the columns that the names of folders between ``folder`` and ``file`` state, and their values."""
    stated = [part.partition("=") for part in file.relative_to(folder).parts[:-1] if "=" in part]
    return {unquote(name): None if value == _NO_VALUE else unquote(value) for name, _, value in stated}


def read(file: SourceFile) -> Table:
    """Return the table of a Parquet file, or of a folder of them; the rows of large ones are read in parts."""
    if all(isinstance(view, FileBytes) for view in file.views):
        return read_groups(file)
    return read_isolated(file, PARQUET.name, __name__)


PARQUET = Source(name="Parquet", endings=ENDINGS, read=read, mark=re.compile(b"PAR1"), folder=parts_of)

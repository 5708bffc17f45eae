"""Parquet files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from workbench.data.isolated import read_isolated
from workbench.data.isolated_child import Opened
from workbench.data.sources.source import Source, SourceFile
from workbench.data.table import Table


def opened(path: Path, options: dict[str, Any]) -> Opened:
    """Return what a file holds according to its own metadata, and how to read its cells."""
    import polars as pl

    lazy = pl.scan_parquet(path.resolve(), glob=False, hive_partitioning=False)
    return Opened(
        rows=int(lazy.select(pl.len()).collect().item()),
        columns=list(lazy.collect_schema()),
        read=lambda: pl.read_parquet(path.resolve(), glob=False, hive_partitioning=False),
    )


def read(file: SourceFile) -> Table:
    """Return the table of a Parquet file."""
    return read_isolated(file, PARQUET.name, __name__)


PARQUET = Source(name="Parquet", endings=(".parquet", ".pq"), read=read, mark=re.compile(b"PAR1"))

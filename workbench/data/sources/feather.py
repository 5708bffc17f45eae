"""Feather files, the file format of Arrow."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import polars as pl

from workbench.data.isolated_child import cells_of_schema
from workbench.data.isolated_reader import read_isolated
from workbench.data.opened_file import Opened
from workbench.data.sources.source import Source, SourceFile
from workbench.data.table import Table


def opened(path: Path, options: dict[str, Any]) -> Opened:
    """Return what a file holds according to its own header, and how to read its cells."""
    lazy = pl.scan_ipc(path.resolve(), glob=False)
    columns, facts = cells_of_schema(lazy.collect_schema())
    return Opened(
        rows=int(lazy.select(pl.len()).collect().item()),
        columns=columns,
        # From memory: a mapped file that another program cuts short would end this process.
        read=lambda: pl.read_ipc(io.BytesIO(path.read_bytes()))[columns],
        facts=facts,
    )


def read(file: SourceFile) -> Table:
    """Return the table of a Feather file."""
    return read_isolated(file, FEATHER.name, __name__)


FEATHER = Source(name="Feather", endings=(".feather", ".arrow", ".ipc"), read=read, mark=re.compile(b"ARROW1"))

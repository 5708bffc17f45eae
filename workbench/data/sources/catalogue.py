"""The list of formats, and which of them reads a file or a folder."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.data.sources.compressed import COMPRESSED
from workbench.data.sources.delimited import DELIMITED
from workbench.data.sources.feather import FEATHER
from workbench.data.sources.json_lines import JSON_LINES
from workbench.data.sources.parquet import PARQUET
from workbench.data.sources.source import Source
from workbench.data.sources.spreadsheet import SPREADSHEET
from workbench.data.sources.sqlite import SQLITE_FILE
from workbench.data.sources.statistics_package import STATISTICS_PACKAGE

SOURCES: tuple[Source, ...] = (
    PARQUET,
    FEATHER,
    SPREADSHEET,
    STATISTICS_PACKAGE,
    SQLITE_FILE,
    COMPRESSED,
    JSON_LINES,
    DELIMITED,
)
"""The first whose mark a file begins with reads it; else the first whose ending its name has; else the last."""


def source_of(path: Path, head: bytes, *, stated: bool = False) -> Source:
    """Return what reads the file at ``path``.

    Args:
        path: the file.
        head: its first bytes.
        stated: whether a person said how its cells are separated, so that it is a table of text.
    """
    able = [source for source in SOURCES if not (stated and source.is_text)]
    for source in able:
        if source.mark is not None and source.mark.match(head):
            return source
    name = path.name.lower()
    return next((source for source in able if name.endswith(source.endings)), DELIMITED)


def folder_source(path: Path) -> tuple[Source, list[Path]] | None:
    """Return what reads the folder at ``path``, and the files in it that are the table; ``None`` where nothing does."""
    if os.path.isdir(path):  # not of Path, which raises for a name that is too long
        for source in SOURCES:
            if source.folder is not None and (files := source.folder(path)):
                return source, files
    return None

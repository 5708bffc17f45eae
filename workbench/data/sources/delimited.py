"""Delimited text: CSV, TSV and the like."""

from __future__ import annotations

import dataclasses

from workbench.data.csv.encoding import MARKS, AnyBytes
from workbench.data.csv.file import DelimitedFile
from workbench.data.csv.options import DOUBLED, ReadOptions
from workbench.data.sources.source import Source, SourceFile
from workbench.data.table import Table
from workbench.params import InputError


def read(file: SourceFile) -> Table:
    """Return the table of a file of delimited text.

    Raises:
        InputError: the file cannot be read as a table without doubt; the message gives row, line and a hint.
    """
    options = stated_for_every_row(file.options, file.view) if file.replace_invalid else file.options
    text = DelimitedFile(file.path, file.source, file.view, options, file.cancel, replace_invalid=file.replace_invalid)
    table = text.read(file.names)
    if table.rows == 0 and not (file.replace_invalid and table.blank_lines):
        raise InputError("the table has a header but no rows", file.source, "give a file with rows")
    return table


def stated_for_every_row(options: ReadOptions, view: AnyBytes) -> ReadOptions:
    """Return ``options`` with the usual value for everything that nobody stated and a row could decide.

    If invalid values are replaced, no row may decide how the others are read, or whether the file is refused. The
    separator follows from the header, which holds the plan's names, and a byte-order mark is no row.
    """
    marked = any(view[:4].tobytes().startswith(mark) for mark, _ in MARKS)
    return dataclasses.replace(
        options,
        encoding=options.encoding or (None if marked else "utf-8"),
        quote=options.quote or '"',
        escape=options.escape or DOUBLED,
        decimal=options.decimal or ".",
    )


OPTIONS = (
    *("encoding", "delimiter", "quote", "escape", "decimal", "skip_lines", "header", "comment", "names", "trim"),
    "missing",
)

DELIMITED = Source(name="text", endings=(".csv", ".tsv", ".txt"), read=read, is_text=True, options=OPTIONS)

"""Read a table from a file of delimited text, Parquet or Feather, or from a bundled sample."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.data.columnar import FORMATS, read_columnar
from workbench.data.content.digest import digesting
from workbench.data.csv.dialect import DOUBLED
from workbench.data.csv.encoding import MARKS, AnyBytes, FileBytes
from workbench.data.csv.file import DelimitedFile
from workbench.data.csv.options import ReadOptions
from workbench.data.other_formats import refuse_address, refuse_other_formats
from workbench.data.table import Table
from workbench.params import InputError
from workbench.signals.cancel import CancelToken

SAMPLE_PREFIX = "sample:"

IN_PARTS_FROM = 64 * 1024 * 1024
"""Size in bytes above which a file of text is read in parts instead of into memory."""

__all__ = ["SAMPLE_PREFIX", "ReadOptions", "read_table"]


def read_table(
    path: str | Path,
    options: ReadOptions | None = None,
    names: Sequence[str] | None = None,
    *,
    cancel: CancelToken | None = None,
    replace_invalid: bool = False,
) -> Table:
    """Read a table with every cell as the text that stands in the file.

    Args:
        path: a file of delimited text, ``.parquet`` or ``.feather``; or ``sample:NAME`` for a bundled sample.
        options: what a person stated about a text file; it overrides the guess.
        names: column names that a plan expects: a first row that holds them is the header.
        cancel: checked several times per second.
        replace_invalid: whether the plan that the table is read for replaces invalid values: a row with another number
            of cells than there are columns is then an empty row, and rows may all be blank lines.

    Raises:
        InputError: the file cannot be read as a table without doubt; the message gives row, line and a hint.
    """
    source = str(path)
    if source.startswith(SAMPLE_PREFIX):
        from workbench.data.samples.sample_tables import sample_table

        return sample_table(source.removeprefix(SAMPLE_PREFIX))
    refuse_address(source)
    file = Path(path)
    view = _open(file, source)
    stated = options is not None and options.delimiter is not None
    refuse_other_formats(view, source, expected=FORMATS.get(file.suffix.lower()), stated=stated)
    cancel = cancel or CancelToken()
    options = options or ReadOptions()
    with digesting(view, cancel) as digest:
        if file.suffix.lower() in FORMATS:
            frame, types = read_columnar(file, source, cancel)
            table = Table(frame, source, types=types)
        else:
            if replace_invalid:
                options = stated_for_every_row(options, view)
            table = DelimitedFile(file, source, view, options, cancel, replace_invalid=replace_invalid).read(names)
            if table.rows == 0 and not (replace_invalid and table.blank_lines):
                raise InputError("the table has a header but no rows", source, "give a file with rows")
        table = table.replaced(digest=digest.result(), missing_marks=options.missing)
        if isinstance(view, FileBytes):
            view.require_unchanged()
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


def _open(file: Path, source: str) -> AnyBytes:
    """Return the bytes of ``file``, or raise an error that says why it cannot be read.

    Those of a large file are read piece by piece, where they are used.
    """
    try:
        if file.is_dir():
            raise InputError("this is a folder, not a file", source, "name a file in it")
        if not file.exists():
            raise InputError("there is no such file", source, "check the path")
        if not file.is_file():
            raise InputError("this is not a regular file", source, "copy its content into a file first")
        if file.stat().st_size == 0:
            raise InputError("the file is empty", source, "give a file with rows")
        if file.stat().st_size > IN_PARTS_FROM:
            return FileBytes(file, source)
        return np.fromfile(file, np.uint8)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(
            f"the file cannot be read: {reason.lower()}", source, "check the path and its rights"
        ) from None

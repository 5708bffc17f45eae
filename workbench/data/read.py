"""Read a table from a file of delimited text, Parquet or Feather, or from a bundled sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.data.columnar import FORMATS, read_columnar
from workbench.data.delimited import DelimitedFile
from workbench.data.encoding import Bytes
from workbench.data.options import ReadOptions
from workbench.data.table import Table
from workbench.params import InputError
from workbench.signals.cancel import CancelToken

SAMPLE_PREFIX = "sample:"

MAPPED_FROM = 64 * 1024 * 1024
"""Bytes from which on a file is mapped rather than read whole before it is looked at."""

__all__ = ["SAMPLE_PREFIX", "ReadOptions", "read_table"]


def read_table(
    path: str | Path,
    options: ReadOptions | None = None,
    names: Sequence[str] | None = None,
    *,
    cancel: CancelToken | None = None,
) -> Table:
    """Read a table with every cell as the text that stands in the file.

    Args:
        path: a file of delimited text, ``.parquet`` or ``.feather``; or ``sample:NAME`` for a bundled sample.
        options: what a person states about a text file over the guess.
        names: column names that a plan expects: a first row that holds them is the header.
        cancel: looked at several times per second.

    Raises:
        InputError: the file cannot be read as a table without doubt; the message names row, line and mend.
    """
    source = str(path)
    if source.startswith(SAMPLE_PREFIX):
        from workbench.data.samples import sample_table

        return sample_table(source.removeprefix(SAMPLE_PREFIX))
    file = Path(path)
    view = _open(file, source)
    if file.suffix.lower() in FORMATS:
        del view  # a mapped file cannot be replaced on Windows
        return Table(read_columnar(file, source, cancel), source)
    table = DelimitedFile(file, source, view, options or ReadOptions(), cancel or CancelToken()).read(names)
    if table.rows == 0:
        raise InputError("the table has a header but no rows", source, "give a file with rows")
    return table


def _open(file: Path, source: str) -> Bytes:
    """Return the bytes of ``file``, or say in one sentence why that cannot be done.

    A large file is mapped. The system kills a process that reads a mapped file which another program cuts short, so
    what fits into memory with ease is read into it.
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
        if file.stat().st_size > MAPPED_FROM:
            return np.memmap(file, np.uint8, "r")
        return np.fromfile(file, np.uint8)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(
            f"the file cannot be read: {reason.lower()}", source, "check the path and its rights"
        ) from None

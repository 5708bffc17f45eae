"""Read a table from a file of any format that is one, or from a bundled sample."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from workbench.data.csv.encoding import CHUNK, AnyBytes, FileBytes
from workbench.data.csv.options import ReadOptions
from workbench.data.databases.access import read_database
from workbench.data.databases.address import address_of
from workbench.data.remote import fetched_file, is_remote
from workbench.data.sources.catalogue import folder_source, source_of
from workbench.data.sources.compressed import COMPRESSED, kind_of
from workbench.data.sources.source import HEAD, SourceFile
from workbench.data.table import Table
from workbench.data.unsupported_formats import refuse_address, refuse_other_formats
from workbench.params import InputError, ParameterError
from workbench.signals.cancel import NEVER, CancelToken


@contextmanager
def digesting(views: Sequence[AnyBytes], cancel: CancelToken) -> Iterator[Future[bytes]]:
    """Hash the bytes of a file, or of the files of a folder, in a thread; the digest is there when the block ends.

    Hashing leaves the interpreter to others, so on two cores it takes no time from the reading.
    """
    with ThreadPoolExecutor(1, "digest") as pool:
        yield pool.submit(_digest, views, cancel)


def _digest(views: Sequence[AnyBytes], cancel: CancelToken) -> bytes:
    each = []
    for view in views:
        digest = hashlib.sha256()
        for start in range(0, len(view), CHUNK):
            cancel.check()
            digest.update(np.ascontiguousarray(view[start : start + CHUNK]).data)
        each.append(digest.digest())
    return each[0] if len(each) == 1 else hashlib.sha256(b"".join(each)).digest()


SAMPLE_PREFIX = "sample:"

IN_PARTS_FROM = 64 * 1024 * 1024  # size in bytes above which a file of text is read in parts instead of into memory

__all__ = ["SAMPLE_PREFIX", "ReadOptions", "read_table", "require_options"]


def read_table(
    path: str | Path,
    options: ReadOptions | None = None,
    names: Sequence[str] | None = None,
    *,
    cancel: CancelToken = NEVER,
    replace_invalid: bool = False,
) -> Table:
    """Read a table with every cell as the text that is in the file.

    Args:
        path: a file, or a folder of Parquet files; ``sample:NAME`` for a bundled sample; the address of a file, such as
            ``s3://BUCKET/FILE``; or that of a table in a database, such as ``sqlite:///FILE?table=T``.
        options: what a person stated about how it is read; it overrides the guess.
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
    address = address_of(source)
    if address is not None:
        table = read_database(address, cancel)
        return table if options is None else table.replaced(missing_marks=options.missing)
    if is_remote(source):
        with fetched_file(source, cancel) as kept:
            return _read_file(kept, source, options, names, cancel, replace_invalid)
    refuse_address(source)
    return _read_file(Path(path), source, options, names, cancel, replace_invalid)


def _read_file(
    file: Path,
    source: str,
    options: ReadOptions | None,
    names: Sequence[str] | None,
    cancel: CancelToken,
    replace_invalid: bool,
) -> Table:
    """Return the table of a file or folder, which a person calls ``source``."""
    options = options or ReadOptions()
    folder = folder_source(file)
    if folder is not None:
        found, files = folder
        views = _open_all(files)
        view: AnyBytes = np.empty(0, np.uint8)
    else:
        views = [view := _open(file, source)]
        stated = options.delimiter is not None
        found = source_of(Path(source), view[:HEAD].tobytes(), stated=stated)
        refuse_other_formats(view, source, found, stated=stated)
    size = sum(len(each) for each in views)
    opened = SourceFile(file, source, view, views, size, options, names, replace_invalid, cancel)
    with digesting(views, cancel) as digest:
        table = found.read(opened)
        facts = dataclasses.replace(table.facts, options=found.options)
        table = table.replaced(digest=digest.result(), missing_marks=options.missing, facts=facts)
    for each in views:
        if isinstance(each, FileBytes):
            each.require_unchanged()
    return table


def require_options(stated: Mapping[str, str], *tables: str | Path) -> None:
    """Raise :class:`ParameterError` for a stated reading option that means nothing for any of ``tables``.

    Args:
        stated: the attributes of :class:`ReadOptions`, each with what a person calls it.
        tables: what is read with them; one that cannot be opened is reported where it is read.
    """
    if not stated:
        return
    known = [_options_of(str(table), text="delimiter" in stated) for table in tables]
    for name, called in stated.items():
        if not any(name in options for _, options in known):
            raise ParameterError(f"{called} is not for {known[0][0]}", str(tables[0]), "leave it out", field=name)


def usable(options: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Return those of some reading options that mean something for ``table``."""
    known = _options_of(table, text=False)[1]
    return {name: value for name, value in options.items() if name in known}


def _options_of(source: str, *, text: bool) -> tuple[str, tuple[str, ...]]:
    """Return what a table is, and the reading options that mean something for it."""
    if source.startswith(SAMPLE_PREFIX):
        return "a sample table", ()
    if address_of(source) is not None:
        return "a table of a database", ("missing",)
    file, every = Path(source), tuple(ReadOptions.declared())
    if is_remote(source):
        return "", every
    folder = folder_source(file)
    try:
        if folder is None and not file.is_file():  # to open a pipe would wait for its writer
            return "", every
        head = b"" if folder is not None else _head(file)
    except (OSError, ValueError):
        return "", every
    found = source_of(file, head, stated=text) if folder is None else folder[0]
    if found is COMPRESSED and kind_of(head) != "zip":
        return "packed files other than zip", tuple(name for name in found.options if name != "member")
    return f"{found.name} files", (*found.options, "missing")


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(HEAD)


_MOST_OPEN = 500  # files of a folder that are open at a time, where each stays open; more of them are read whole


def _open_all(files: Sequence[Path]) -> list[AnyBytes]:
    """Return the bytes of the files of a folder: if they are large together, those of none are in memory."""
    large = sum(each.stat().st_size for each in files if each.exists()) > IN_PARTS_FROM and len(files) <= _MOST_OPEN
    return [_open(each, str(each), 0 if large else IN_PARTS_FROM) for each in files]


def _open(file: Path, source: str, most: int | None = None) -> AnyBytes:
    """Return the bytes of ``file``, or raise an error that says why it cannot be read.

    Those of a large file, which has more than ``most``, are read piece by piece, where they are used.
    """
    try:
        if file.is_dir():
            raise InputError("this is a folder, not a file", source, "give a file in it, or a folder of Parquet files")
        if not file.exists():
            raise InputError("there is no such file", source, "check the path")
        if not file.is_file():
            raise InputError("this is not a regular file", source, "copy its content into a file first")
        if file.stat().st_size == 0:
            raise InputError("the file is empty", source, "give a file with rows")
        if file.stat().st_size > (IN_PARTS_FROM if most is None else most):
            return FileBytes(os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0)), source, remote=is_remote(source))
        return np.fromfile(file, np.uint8)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(
            f"the file cannot be read: {reason.lower()}", source, "check the path and its rights"
        ) from None

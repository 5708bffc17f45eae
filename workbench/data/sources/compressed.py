"""Delimited text and JSON Lines that are packed by gzip, bzip2, xz, Zstandard or zip."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import lzma
import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from workbench.data.csv.encoding import FileBytes
from workbench.data.isolated_reader import read_in_child
from workbench.data.opened_file import Opened, RefusedError, Unpacked
from workbench.data.sources import delimited, json_lines
from workbench.data.sources.source import HEAD, Source, SourceFile
from workbench.data.table import Table
from workbench.params import InputError

if TYPE_CHECKING:
    from workbench.data.csv.encoding import AnyBytes

IN_MEMORY = 64 * 1024 * 1024  # bytes of text that are unpacked into memory; more of them go to the disk

KINDS = {
    "gzip": (b"\x1f\x8b", "gzip"),
    "bzip2": (rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)", "bzip2"),
    "xz": (rb"\xfd7zXZ\x00", "xz"),
    "zstd": (rb"\x28\xb5\x2f\xfd", "Zstandard"),
    "zip": (rb"PK\x03\x04|PK\x05\x06", "zip"),
}
"""What each kind begins with, and its name."""

_PIECE = 1 << 20
_LONGEST_SHOWN = 60
TABLES = (".csv", ".tsv", ".txt", ".tab", ".dat", *json_lines.JSON_LINES.endings)
"""How members of an archive end that may be tables."""


def kind_of(head: bytes) -> str:
    """Return how a file is packed; empty where it is not."""
    return next((kind for kind, (mark, _) in KINDS.items() if re.match(mark, head)), "")


def opened(path: Path, options: dict[str, Any]) -> Opened | Unpacked:
    """Return the rows of packed JSON Lines, or the pieces of packed text."""
    facts: dict[str, Any] = {}
    stream = _stream(path, options, facts)
    head = _exactly(stream, HEAD)
    named = facts.get("part", path.name.lower().removesuffix(path.suffix.lower())).endswith(
        json_lines.JSON_LINES.endings
    )
    if options.get("delimiter") is None and (named or json_lines.is_json_lines(head)):
        return json_lines.rows_of(_pieces(head, stream), options, facts)
    _refuse_binary(head)
    return Unpacked(_pieces(head, stream), facts)


def _stream(path: Path, options: dict[str, Any], facts: dict[str, Any]) -> IO[bytes]:
    with path.open("rb") as file:
        kind = kind_of(file.read(64))
    if kind == "gzip":
        return cast("IO[bytes]", gzip.open(path))
    if kind == "bzip2":
        return cast("IO[bytes]", bz2.open(path))
    if kind == "xz":
        return cast("IO[bytes]", lzma.open(path))
    if kind == "zstd":
        import pyarrow as pa

        return cast("IO[bytes]", pa.CompressedInputStream(str(path), "zstd"))
    return _member(zipfile.ZipFile(path), options, facts)


def members_of(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive that may be tables; all of them if none has such a name."""
    members = {m.filename: m for m in archive.infolist() if not m.is_dir() and not _beside(m.filename)}
    return {name: m for name, m in members.items() if name.lower().endswith(TABLES)} or members


def _member(archive: zipfile.ZipFile, options: dict[str, Any], facts: dict[str, Any]) -> IO[bytes]:
    """Return the member of a zip that is read: the one that was named, or the only one that can be a table."""
    able = members_of(archive)
    members = {m.filename: m for m in archive.infolist() if not m.is_dir()}
    stated = options.get("member")
    if not able:
        raise RefusedError("the zip archive is empty", "", "give an archive with a table in it")
    if stated is not None and stated not in members:
        raise RefusedError(f"the archive has no member {stated!r}", "", f"name one of {_listed(able)}", "member")
    if stated is None and len(able) > 1:
        raise RefusedError(f"the archive has {len(able)} members: {_listed(able)}", "", "choose one", "member")
    name = stated if stated is not None else next(iter(able))
    if members[name].flag_bits & 1:
        raise RefusedError(f"the member {name} needs a password", "", "unpack it first")
    facts.update(part=name, parts=sorted(able), option="member")
    return archive.open(members[name])


def _beside(name: str) -> bool:
    """Whether a member is one that macOS or a file manager put there."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith(".")


def _listed(names: dict[str, zipfile.ZipInfo]) -> str:
    found = [name if len(name) <= _LONGEST_SHOWN else name[: _LONGEST_SHOWN - 1] + "…" for name in sorted(names)]
    return ", ".join(found[:8]) + (f", … ({len(found)})" if len(found) > 8 else "")


def _refuse_binary(head: bytes) -> None:
    from workbench.data.unsupported_formats import name_of_binary

    inside = KINDS[kind][1] if (kind := kind_of(head)) else name_of_binary(head)
    if inside:
        raise RefusedError(f"the packed file is not text: {inside}", "", "unpack it first", "wrong-file-type")


def _exactly(stream: IO[bytes], count: int) -> bytes:
    out = b""
    while len(out) < count and (piece := stream.read(count - len(out))):
        out += piece
    return out


def _pieces(head: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    yield head
    while piece := stream.read(_PIECE):
        yield bytes(piece)


def read(file: SourceFile) -> Table:
    """Return the table of packed text.

    Raises:
        InputError: the file is damaged or unfolds into too much, or an archive has several members and none is named.
    """
    name = KINDS[kind_of(file.view[:64].tobytes()) or "gzip"][1]
    # In memory, then in a file without a name, which is gone when the process ends, however it does.
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as unpacked:
        found = read_in_child(file, name, __name__, cast("IO[bytes]", unpacked))
        if found.table is not None:
            return found.table
        view = _view(cast("IO[bytes]", unpacked), file.source)
        if not len(view):
            raise InputError("the packed file is empty", file.source, "give a file with rows")
        table = delimited.read(dataclasses.replace(file, path=None, view=view))
        return table.replaced(facts=found.facts)


def _view(unpacked: IO[bytes], source: str) -> AnyBytes:
    """Return what was unpacked; much of it is read in parts, as a file is, and stays in its file without a name."""
    size = unpacked.seek(0, 2)
    unpacked.seek(0)
    if size <= IN_MEMORY:
        return np.frombuffer(unpacked.read(), np.uint8)
    unpacked.flush()
    return FileBytes(os.dup(unpacked.fileno()), source)


COMPRESSED = Source(
    name="compressed",
    endings=(".gz", ".zst", ".bz2", ".xz", ".zip"),
    read=read,
    mark=re.compile(b"|".join(mark for mark, _ in KINDS.values())),
    options=(*delimited.OPTIONS, "member"),
)

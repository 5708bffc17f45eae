"""Reads one file of a binary format in a separate, limited process, and writes its cells as text to a pipe.

The libraries that read these formats trust their files: a flipped bit can end the process, and half a megabyte can
unfold into gigabytes. Here that ends only this process. What a library prints before it dies may contain values, so
it is discarded, and no core is dumped.

The request is one line of JSON on standard input; when that is closed, the parent has ended and this process ends
too. The answer is a sequence of frames on standard output, each a letter, a length and so many bytes; see :data:`TEXT`.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from workbench.data.opened_file import Opened, RefusedError, Unpacked, not_of_format

if TYPE_CHECKING:
    import polars as pl

SHAPE, TYPES, TEXT, BYTES, FACTS, REFUSED, END, ANSWER = b"S", b"K", b"T", b"B", b"F", b"R", b"E", b"A"
"""Frames: rows, columns and the limits that follow from them (JSON); the type of each column (JSON); some rows as an
Arrow stream; some of the bytes that were packed; what else the file says (JSON); what, place and hint of an error
(JSON); the end of a complete table; the answer to a question without rows (JSON)."""

LAST = (END, ANSWER)
HEAD = struct.Struct(">cQ")

ROWS_AT_ONCE = 1 << 18
CELLS_AT_ONCE = 1 << 21

LEAST_BYTES, BYTES_PER_BYTE, BYTES_PER_CELL, SHARE = 512 * 1024**2, 64, 64, 0.75
"""Memory that a file may take: the larger of 64 times its size and 64 bytes for each of its cells, at least 512 MB, and
never more than three quarters of what is free."""

LEAST_SECONDS, BYTES_PER_SECOND, CELLS_PER_SECOND = 60, 1_000_000, 1_000_000
"""Processor seconds that it may take, plus one for this many bytes or cells."""


def limits(size: int, cells: int, free: int) -> tuple[int, int]:
    """Return how many bytes of memory and seconds of the processor a file may take.

    Args:
        size: bytes of the file.
        cells: rows times columns, according to its own header.
        free: bytes of memory that the system has left.
    """
    wanted = max(LEAST_BYTES, BYTES_PER_BYTE * size, BYTES_PER_CELL * cells)
    seconds = LEAST_SECONDS + size // BYTES_PER_SECOND + cells // CELLS_PER_SECOND
    return min(wanted, int(SHARE * free)), seconds


LEAST_UNFOLDED, UNFOLDED_PER_BYTE = 256 * 1024**2, 100
"""Bytes that a packed file may unfold into: 100 for each of its own, at least 256 MB."""


def unpacked_limit(size: int) -> int:
    """Return how many bytes a packed file of ``size`` bytes may unfold into."""
    return max(LEAST_UNFOLDED, UNFOLDED_PER_BYTE * size)


def main(answer: Callable[[dict[str, Any], BinaryIO], None] | None = None) -> int:
    """Answer one request; the process's whole life."""
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=end_with_parent, daemon=True).start()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what a library prints is discarded: it may contain values
        os.dup2(nothing, stream)
    try:
        (answer or _answer)(request, out)
    except RefusedError as refused:
        send(out, REFUSED, json.dumps(refused.args).encode())
    except BrokenPipeError:
        return 1
    out.close()
    return 0


def end_with_parent() -> None:
    """End this process when the parent has ended, and with it the other end of standard input."""
    sys.stdin.buffer.read()
    os._exit(1)


def send(out: BinaryIO, letter: bytes, content: bytes | memoryview) -> None:
    """Write one frame."""
    out.write(HEAD.pack(letter, len(content)))
    out.write(content)
    out.flush()


def _answer(request: dict[str, Any], out: BinaryIO) -> None:
    import polars as pl

    from workbench.data.columns.source_types import type_name

    pl.Series([1, 2]).sum()  # let the library's threads allocate their stacks before memory is limited
    module = importlib.import_module(request["module"])
    kind, size, free = request["format"], request["size"], request["free"]
    restrict(*limits(size, 0, free))
    damaged = RefusedError(
        not_of_format(kind),
        "",
        "export it again, or give a CSV file",
        "damaged-file",
    )
    try:
        found: Opened | Unpacked = module.opened(Path(request["path"]), request["options"])
    except RefusedError:
        raise
    except BaseException:  # noqa: BLE001 - a panic of the library is not an Exception
        raise damaged from None
    if isinstance(found, Unpacked):
        try:
            _send_unpacked(found, size, out)
        except (RefusedError, BrokenPipeError, MemoryError):
            raise
        except Exception:  # noqa: BLE001 - each library has its own
            raise damaged from None
        return
    rows, columns = found.rows, found.columns
    memory, seconds = limits(size, rows * len(columns), free)
    send(out, SHAPE, json.dumps([rows, len(columns), memory, seconds]).encode())
    restrict(memory, seconds)
    check_shape(rows, columns)
    # From here on an error of the library may mean damage or too little memory, and it does not say which: this process
    # ends without completing its answer, and the parent names both.
    frame = found.read()
    if frame.height != rows or frame.columns != columns:
        raise damaged
    if not_cells(frame.schema):  # what reads a format leaves those out
        raise damaged
    send(out, TYPES, json.dumps([type_name(dtype) if found.typed else "" for dtype in frame.dtypes]).encode())
    frame.columns = [str(k) for k in range(frame.width)]  # a name such as * or ^a$ would be a pattern
    texts = [_as_text(name, dtype) for name, dtype in frame.schema.items()]
    step = max(1, min(ROWS_AT_ONCE, CELLS_AT_ONCE // frame.width))
    for start in range(0, rows, step):
        stream = io.BytesIO()
        stretch = frame.slice(start, step).select(texts)
        stretch.columns = columns
        stretch.write_ipc_stream(stream)
        send(out, TEXT, stream.getbuffer())
    send(out, FACTS, json.dumps(found.facts).encode())
    send(out, END, b"")


def _send_unpacked(found: Unpacked, size: int, out: BinaryIO) -> None:
    most = unpacked_limit(size)
    for piece in found.pieces:
        most -= len(piece)
        if most < 0:
            raise RefusedError(
                f"the file expands to more than {unpacked_limit(size) / 1e6:,.0f} MB",
                "",
                "unpack it, check it, and give the file inside",
                "unfolds",
            )
        send(out, BYTES, piece)
    send(out, FACTS, json.dumps(found.facts).encode())
    send(out, END, b"")


def check_shape(rows: int, columns: list[str]) -> None:
    """Raise :class:`RefusedError` unless there are rows, and columns with names that text can have."""
    if not columns:
        raise RefusedError("the table has no columns", "", "give a file with columns")
    for k, name in enumerate(columns, start=1):
        # A release as text would be read back under another name, or under none.
        problem = "no name" if not name else "a blank name" if not name.strip() else ""
        if name.startswith("\ufeff"):
            problem = "a name that begins with a byte-order mark"
        if problem:
            raise RefusedError(f"column {k} has {problem}", "", "name it in the program that wrote the file")
    if rows == 0:
        raise RefusedError("the table has no rows", "", "give a file with rows")


def not_cells(schema: Mapping[str, pl.DataType]) -> dict[str, str]:
    """Return what the columns hold whose values are no cells, by their names: ``list values``, say."""
    import polars as pl

    return {
        name: f"{str(kind).split('(')[0].lower()} values"
        for name, kind in schema.items()
        if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration)
    }


def cells_of_schema(schema: Mapping[str, pl.DataType]) -> tuple[list[str], dict[str, Any]]:
    """Return the columns that hold cells, and as facts about the file what the others hold, which are left out.

    Raises:
        RefusedError: none holds cells.
    """
    left = not_cells(schema)
    kept = [name for name in schema if name not in left]
    if not left:
        return kept, {}
    if not kept:
        name, what = next(iter(left.items()))
        hint = "write them as text or numbers, or write the file without the column"
        raise RefusedError(f"the column contains {what}", f"column {name}", hint)
    notices = [f"the column {name} is left out: it contains {what}" for name, what in left.items()]
    return kept, {"left_out": left, "notices": notices}


def _as_text(name: str, kind: pl.DataType) -> pl.Expr:
    import polars as pl

    column = pl.col(name)
    if isinstance(kind, pl.Datetime):
        texts = column.dt.strftime("%Y-%m-%d %H:%M:%S%.f" + ("%:z" if kind.time_zone else ""))
    else:
        texts = column.cast(pl.String)
    return texts.replace("", None)


def restrict(memory: int, seconds: int) -> None:
    """Let this process take at most ``memory`` bytes more than now and ``seconds`` of the processor.

    If the system cannot limit memory, the parent checks the size.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core would hold the rows
    _lower(resource.RLIMIT_CPU, seconds)
    if sys.platform == "linux":  # macOS does not enforce it
        # Memory that is written to, not all that is mapped: allocators and threads reserve much that they never use.
        _lower(resource.RLIMIT_DATA, _written() + memory)


def _lower(which: int, most: int) -> None:
    import resource

    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _written() -> int:
    return int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.exit(main())

"""Noisy rows of a table that is read in parts: cells in a file without a name, an order of any size, pieces of a draw.

What a release needs of the rows before its charge is read in one pass (:class:`SpilledRows`): each protected value as
its cell on the public grid, and the text of columns that are published as they are. They are written to a file that
has no name (or, on Windows, is deleted by the system with its last handle), so that nothing is left however a run ends.
No other text is written, and no noisy value: those are drawn piece by piece after the charge is final.

**Order of rows.** Each of n rows goes into one of B buckets, drawn uniformly and by itself; then each bucket is put in
a uniformly random order, and the buckets are joined. Every order of the rows has the same probability: whatever the
sizes k_1, …, k_B of the buckets, an order is the result with these sizes if its first k_1 rows were drawn into the
first bucket, the next k_2 into the second and so on, of probability B^−n, and each bucket came out in the one order of
its k_b! that fits. So its probability is the sum of B^−n / (k_1! ⋯ k_B!) over all sizes, which does not depend on it.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.grid import smallest_type
from workbench.data.columns.source_types import is_lossless
from workbench.data.rows_in_parts import in_order
from workbench.data.table import Table
from workbench.params import InputError
from workbench.privacy.entropy import Entropy, in_buckets, permutation
from workbench.privacy.local.cells import CellArray
from workbench.release.atomic import write_error
from workbench.release.part_files import reserve_space
from workbench.release.table_formats import CodedRows, TableFormat
from workbench.sanitize.calibrated_columns import ProtectedColumn
from workbench.sanitize.engine import sampled
from workbench.sanitize.plan import Plan
from workbench.signals import CancelToken, Emit, Progress
from workbench.work.ask import Ask
from workbench.work.work import ColumnReader

_BUCKET = 1 << 18  # rows of a bucket, on average, at most
_SCATTERED = 1 << 20
"""Rows that are put into buckets at a time, at least: so many that what goes into one is worth a read."""
_MOST_BUCKETS = 1 << 16
_FEW_BYTES = 16
_MISSING = np.uint32(0xFFFFFFFF)

T = TypeVar("T")
Index = NDArray[np.int64]
Packed = NDArray[np.void]  # the cells of rows, one field for each protected column


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows."""

    cells: Packed  # of the protected columns
    kept: tuple[pl.Series, ...]  # the text of each column that is published as it is

    def ordered(self, order: Index) -> Rows:
        """Return them in another order."""
        # As bytes without fields: to gather rows of several fields is several times as slow.
        cells = np.ascontiguousarray(self.cells)
        found = cells.view(f"V{cells.dtype.itemsize}").take(order).view(cells.dtype)
        return Rows(found, tuple(series.gather(order) for series in self.kept))


def in_bytes(rows: Rows) -> list[memoryview]:
    """Return rows as bytes: of their cells, and of each kept column the lengths of its cells and their text."""
    pieces = [np.ascontiguousarray(rows.cells).view(np.uint8).data]
    for series in rows.kept:
        lengths, data = _bytes_of(series)
        pieces += [lengths.view(np.uint8).data, data]
    return pieces


class SpillFile:
    """A file without a name in a folder, which whoever may read the folder cannot open; or one that is open already."""

    def __init__(self, folder: Path, room: int, opened: int | None = None) -> None:
        """Make it, unless it is ``opened``, and reserve ``room`` bytes.

        Raises:
            InputError: the folder cannot be written, or the disk is too full.
        """
        try:
            stream: Any = (  # lives as long as the object
                tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
                if opened is None
                else os.fdopen(opened, "r+b", buffering=0, closefd=False)
            )
        except OSError as error:
            raise write_error(error, folder / "output") from None
        weakref.finalize(self, stream.close)
        self._stream, self._file, self._lock, self._folder = stream, stream.fileno(), threading.Lock(), folder
        self.size = 0
        reserve_space(self._file, room, folder / "output")

    def append(self, data: bytes | memoryview) -> int:
        """Write the next bytes; return where they begin."""
        start, view = self.size, memoryview(data).cast("B")
        with self._lock:
            try:
                self._stream.seek(start)
                while len(view):
                    done = self._stream.write(view)
                    view, self.size = view[done:], self.size + done
            except OSError as error:
                raise write_error(error, self._folder / "output") from None
        return start

    @property
    def stored(self) -> int:
        """The bytes that are in the file, also those of another run and those that are only reserved."""
        return os.fstat(self._file).st_size

    def sync(self) -> None:
        """Make what was written durable."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise write_error(error, self._folder / "output") from None

    def read(self, start: int, size: int) -> bytes:
        """Return some of the bytes."""
        if hasattr(os, "pread"):
            return os.pread(self._file, size, start)
        with self._lock:
            self._stream.seek(start)
            return self._stream.read(size)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class _Block:
    """Where rows are in the file, those of each bucket together."""

    cells: int  # where their cells begin
    edges: Index  # the first row of each bucket, and the number of rows
    # Of each kept column, where its lengths and its bytes begin, and the first byte of each bucket's text.
    texts: tuple[tuple[int, int, Index], ...]


class Spill:
    """Rows in a file, in blocks of one or more buckets; ``kept`` names the columns that are published as they are."""

    def __init__(self, file: SpillFile, packed: np.dtype[np.void], kept: Sequence[str], buckets: int = 1) -> None:
        self._file, self._packed, self.kept, self.buckets = file, packed, kept, buckets
        self._blocks: list[_Block] = []

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def rows(self) -> int:
        """The number of rows in all blocks."""
        return sum(map(self.height, range(len(self))))

    @property
    def text(self) -> int:
        """The bytes of text of kept columns."""
        return sum(int(edges[-1]) for block in self._blocks for _, _, edges in block.texts)

    def add(self, rows: Rows, edges: Index) -> None:
        """Write a block: rows in the order of their buckets."""
        pieces = in_bytes(rows)
        self._take([self._file.append(piece) for piece in pieces], edges, pieces[1::2])

    def _take(self, starts: Sequence[int], edges: Index, lengths: Sequence[bytes | memoryview]) -> None:
        """Take note of a block whose pieces begin at ``starts``; ``lengths`` are those of the cells of kept columns."""
        texts = []
        for position, stated in enumerate(lengths):
            sizes = np.frombuffer(stated, np.uint32)
            before = np.append(0, np.cumsum(np.where(sizes == _MISSING, 0, sizes), dtype=np.int64))
            texts.append((starts[2 * position + 1], starts[2 * position + 2], before[edges]))
        self._blocks.append(_Block(starts[0], edges, tuple(texts)))

    def arrange(self, order: Sequence[int]) -> None:
        """Put the blocks in another order."""
        self._blocks = [self._blocks[number] for number in order]

    def bucket(self, bucket: int) -> Rows:
        """Return the rows of a bucket in all blocks."""
        return self._read([(block, bucket) for block in self._blocks])

    def height(self, number: int) -> int:
        """Return the number of rows in a block."""
        return int(self._blocks[number].edges[-1])

    def block(self, *numbers: int) -> Rows:
        """Return the rows of one block, or of several."""
        return self._read([(self._blocks[number], k) for number in numbers for k in range(self.buckets)])

    def _read(self, places: list[tuple[_Block, int]]) -> Rows:
        width, cells = self._packed.itemsize, []
        texts: list[list[tuple[bytes, bytes]]] = [[] for _ in self.kept]
        for block, bucket in places:
            first, last = (int(edge) for edge in block.edges[bucket : bucket + 2])
            cells.append(self._file.read(block.cells + first * width, (last - first) * width))
            for found, (lengths, data, edges) in zip(texts, block.texts, strict=True):
                start, stop = (int(edge) for edge in edges[bucket : bucket + 2])
                found.append(
                    (
                        self._file.read(lengths + 4 * first, 4 * (last - first)),
                        self._file.read(data + start, stop - start),
                    )
                )
        kept = (_series(b"".join(a for a, _ in found), b"".join(b for _, b in found)) for found in texts)
        return Rows(np.frombuffer(b"".join(cells), self._packed), tuple(kept))


@dataclass(frozen=True, eq=False)
class _OfPart:
    rows: Rows
    kept_fit: tuple[bool, ...]


class SpilledRows(ColumnReader):
    """Reads the rows of a table in parts: checks every value, and keeps the rows for the draw."""

    def __init__(
        self, plan: Plan, columns: tuple[ProtectedColumn, ...], table: Table, folder: Path, form: TableFormat
    ) -> None:
        """Prepare it."""
        self._plan, self._columns, self._table, self._folder = plan, columns, table, folder
        self._kept = [c.name for c in plan.columns if c.action == "keep"]

        def kept_column(part: Table, name: str) -> pl.Series:
            cells = part.column(name)
            form.require_kept(plan, part, name, cells)
            return cells

        kept_readers = [partial(kept_column, name=name) for name in self._kept]
        super().__init__([*(column.grid.encode for column in columns), *kept_readers])
        self._packed = _packed([smallest_type(c.grid.cells.total) for c in columns])
        self._fit = [True] * len(self._kept)

    @cached_property
    def _spill(self) -> Spill:
        file = SpillFile(self._folder, self._table.rows * self._packed.itemsize)
        return Spill(file, self._packed, self._kept)

    @property
    def kept_text(self) -> int:
        """The bytes of text of kept columns, once all rows are read."""
        return self._spill.text

    def made(self, part: Table, columns: list[Any]) -> _OfPart:
        protected = len(self._columns)
        cells = np.zeros(part.rows, self._packed)
        for position, own in enumerate(columns[:protected]):
            cells[f"{position}"] = own
        kept = tuple(columns[protected:])
        types = self._table.types
        fit = tuple(is_lossless(k, types[name]) for name, k in zip(self._kept, kept, strict=True) if name in types)
        return _OfPart(Rows(cells, kept), fit)

    def keep(self, made: _OfPart) -> None:
        self._fit = [a and b for a, b in zip(self._fit, made.kept_fit, strict=False)] or self._fit
        self._spill.add(made.rows, np.array([0, len(made.rows.cells)], np.int64))

    def finish(self) -> None:
        """Refuse what :class:`ColumnReader` refuses, and rows that were not read once, each of them.

        One that is drawn twice would show more.
        """
        if self._fault is None and self._spill.rows != self._table.rows:
            what, hint = "the table changed while it was read", "run it again when nobody is writing to it"
            raise InputError(what, self._table.source, hint)
        super().finish()

    def draw(self, ask: Ask, emit: Emit, cancel: CancelToken) -> DrawnInParts:
        """Return the draw, whose values are drawn when its pieces are made."""
        coins = [ask.local(c.column.name, c.randomiser.exact_epsilon) for c in self._columns]
        spill, order = self._spill, None
        if not self._plan.keep_order:
            order = ask.coins
            spill = self._scattered(order, emit, cancel)
        count = len(spill) if order is None else spill.buckets
        return DrawnInParts(lambda: spill, count, self._columns, coins, order, **self._facts(ask))

    @property
    def _buckets(self) -> int:
        return min(_MOST_BUCKETS, 1 << max(0, -(-self._table.rows // _BUCKET) - 1).bit_length())

    def _file(self) -> SpillFile:
        return SpillFile(self._folder, self._table.rows * self._packed.itemsize + self.kept_text)

    def _facts(self, ask: Ask) -> dict[str, Any]:
        typed = [name for name in self._kept if name in self._table.types]
        return {
            "names": tuple(n for n in self._table.names if self._plan.column(n).action != "drop"),
            "kept_types": {n: self._table.types[n] for n, fit in zip(typed, self._fit, strict=False) if fit},
            "rows": self._table.rows,
            "releasable": ask.releasable,
        }

    def _scattered(self, coins: Entropy, emit: Emit, cancel: CancelToken, file: SpillFile | None = None) -> Spill:
        """Return the rows in buckets, each drawn by itself; ``file`` keeps them, where there is one already."""
        rows, spill, buckets = self._table.rows, self._spill, self._buckets
        if buckets == 1:
            return spill
        out = Spill(file or self._file(), self._packed, self._kept, buckets)
        waiting: list[int] = []
        done = size = 0
        for number in range(len(spill)):
            cancel.check()
            waiting.append(number)
            size += spill.height(number)
            if size < _SCATTERED and number + 1 < len(spill):
                continue
            order, edges = in_buckets(size, buckets, coins)
            out.add(spill.block(*waiting).ordered(order), edges)
            waiting, done, size = [], done + size, 0
            emit(Progress(done, rows, "rows in random order"))
        return out


@dataclass(frozen=True, eq=False)
class DrawnInParts:
    """One draw of a sanitised table, made piece by piece; each piece can be made once."""

    gather: Callable[[], Spill]  # returns the rows, once: when the first piece is asked for
    count: int  # the number of pieces
    columns: tuple[ProtectedColumn, ...]
    coins: list[Entropy] | None  # of each column; `None` where the rows that are gathered are drawn already
    order: Entropy | None  # of the rows; `None` where they stay in their order
    names: tuple[str, ...]  # the released columns, in the order of the original table
    # The types of kept columns in the source, if every cell can be given back its type.
    kept_types: dict[str, pl.DataType]
    rows: int
    releasable: bool  # whether the randomness is cryptographic
    _made: set[int] = field(default_factory=set)

    @cached_property
    def _spill(self) -> Spill:
        return self.gather()

    def pieces(self) -> Iterator[pl.DataFrame]:
        """Yield all pieces in order as released text."""
        return self._each(self.piece)

    @property
    def coded(self) -> CodedRows | None:
        """The rows as cells of public labels; ``None`` where columns are published as they are."""
        labels = {c.column.name: c.grid.labels for c in self.columns}
        places = {c.column.name: position for position, c in enumerate(self.columns)}
        if set(self.names) != set(labels):
            return None

        def each(work: Callable[[Sequence[CellArray]], bytes]) -> Iterator[bytes]:
            def made(number: int) -> bytes:
                cells = self._cells(number)[1]
                return work([cells[places[name]] for name in self.names])

            return self._each(made)

        return CodedRows({name: labels[name] for name in self.names}, each)

    def _each(self, work: Callable[[int], T]) -> Iterator[T]:
        """Yield what is made of each piece; of two at a time, where the random bits are of the system."""
        _ = self._spill  # here, not in two threads at once
        numbers = range(self.count)
        yield from in_order(numbers, work) if self.releasable else map(work, numbers)

    def piece(self, number: int) -> pl.DataFrame:
        """Return some rows as released text.

        Raises:
            AssertionError: they were drawn before: a second draw would show more of them.
        """
        rows, cells = self._cells(number)
        series = dict(zip(self._spill.kept, rows.kept, strict=True))
        for column, drawn in zip(self.columns, cells, strict=True):
            series[column.column.name] = column.grid.decode(drawn)
        return pl.DataFrame([series[name].alias(name) for name in self.names])

    def _cells(self, number: int) -> tuple[Rows, list[CellArray]]:
        assert number not in self._made
        self._made.add(number)
        if self.order is None:
            rows = self._spill.block(number)
        else:
            rows = self._spill.bucket(number)
            rows = rows.ordered(permutation(len(rows.cells), self.order))
        cells: list[Any] = [rows.cells[f"{k}"].astype(column.grid.dtype) for k, column in enumerate(self.columns)]
        if self.coins is None:
            return rows, cells
        own = zip(self.columns, cells, self.coins, strict=True)
        return rows, [sampled(column, exact, None, coins, CancelToken()) for column, exact, coins in own]


def _packed(types: Sequence[type[np.unsignedinteger[Any]]]) -> np.dtype[np.void]:
    """Return the type of the cells of a row; of a few bytes it has 1, 2, 4, 8 or 16, which are gathered in one step."""
    own = np.dtype([(f"{k}", kind) for k, kind in enumerate(types)])
    filler = 1 << (own.itemsize - 1).bit_length() if own.itemsize <= _FEW_BYTES else own.itemsize
    return np.dtype([*own.descr, ("", f"V{filler - own.itemsize}")]) if filler > own.itemsize else own


def _bytes_of(series: pl.Series) -> tuple[NDArray[np.uint32], memoryview]:
    array = series.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(ends).astype(np.uint32)
    lengths[series.is_null().to_numpy()] = _MISSING
    return lengths, memoryview(b"" if data is None else data)[int(ends[0]) : int(ends[-1])]


def _series(lengths: bytes, data: bytes) -> pl.Series:
    import pyarrow as pa  # 30 MB and .15 s, which only a table in parts needs

    sizes = np.frombuffer(lengths, np.uint32)
    missing = sizes == _MISSING
    ends = np.append(0, np.cumsum(np.where(missing, 0, sizes), dtype=np.int64))
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes())
    array = pa.LargeStringArray.from_buffers(len(sizes), pa.py_buffer(ends.tobytes()), pa.py_buffer(data), valid)
    return pl.Series(array, dtype=pl.String)

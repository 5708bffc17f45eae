"""Noisy rows that the workers of a Dask cluster draw: each part of the rows by one of them, and published once.

Before the charge the workers check every value of their parts; only what was found comes back. After the charge is
final they read the parts again, draw each value from their own operating system's random bits, and send back drawn
cells and the text of kept columns. The first draw of a part is the one that is published, and any other is thrown
away here (:class:`~workbench.work.ask.DrawsElsewhere`). The marks by which the account is found are made here, as the
ledger's key stays on this computer; so is the order of rows.

A part of a file of text is a range of its bytes: workers read it by the path of the file, and refuse other bytes than
those that this computer read. Of everything else the cells or bytes are sent to them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from workbench.data.csv.encoding import FileBytes
from workbench.data.csv.regular_rows import Cut, Reading, RegularRows
from workbench.data.table import Table
from workbench.params import CancelledError, InputError, WorkbenchError
from workbench.privacy.entropy import Entropy
from workbench.privacy.local.cells import CellArray
from workbench.processes.dask_executor import run_tasks_on
from workbench.processes.dask_run import CONTINUE
from workbench.release.spilled_rows import DrawnInParts, Rows, Spill, SpilledRows
from workbench.release.table_formats import TableFormat, table_format
from workbench.sanitize.calibrated import ProtectedColumn
from workbench.sanitize.engine import sampled
from workbench.sanitize.plan import Plan
from workbench.signals import Notice, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.work.ask import Ask, DrawsElsewhere
from workbench.work.work import Fault, ReadByColumns

PART_BYTES = 1 << 23
"""Size of a part, about: what a worker that dies has done in vain, and less than Dask warns of where it is sent."""


@dataclass(frozen=True)
class Workers:
    """Where rows are drawn.

    Attributes:
        address: of the scheduler.
        emit: receives a warning before rows leave this computer unencrypted.
        cancel: stops at once.
    """

    address: str
    emit: Emit
    cancel: CancelToken


@dataclass(frozen=True, eq=False)
class _Part:
    """Some rows, as they are described to a worker.

    Attributes:
        number: of the part.
        rows_before: how many rows come before them.
        frame: their cells; or ``None`` where they are read from text.
        cut: where the text is.
        path: the file that has the text; ``None`` where it is sent.
        start: where in the file the text begins.
        text: the text that is sent.
        digest: SHA-256 of the text.
    """

    number: int
    rows_before: int
    frame: pl.DataFrame | None = None
    cut: Cut | None = None
    path: str | None = None
    start: int = 0
    text: bytes = b""
    digest: bytes = b""


class _Parts(Sequence[_Part]):
    """The parts of a table; what is sent of one is made when it is sent, so that few are in memory."""

    def __init__(self, table: Table) -> None:
        stored = table.stored
        self._frame = stored if isinstance(stored, pl.DataFrame) else None
        self._cuts: list[Cut] = []
        self._digests: dict[int, bytes] = {}
        self.reading: Reading | None = None
        if self._frame is not None:
            self._rows = max(1, PART_BYTES * table.rows // max(1, int(self._frame.estimated_size())))
            self._count = -(-table.rows // self._rows)
            return
        if not isinstance(stored, RegularRows) or not isinstance(stored.body, FileBytes):
            what = "the dask engine reads large tables from delimited UTF-8 text"
            raise InputError(what, table.source, "convert it to CSV, or use --engine local", code="not-for-workers")
        self._body, self.reading, self._cuts = stored.body, stored.reading, stored.cuts(PART_BYTES)
        self._path = str(Path(table.source).resolve())
        self._place = self._body.place_in(self._path)
        self._count = len(self._cuts)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: Any) -> Any:
        """Return a part as it is described to a worker.

        Raises:
            InputError: the file was cut short.
        """
        if self._frame is not None:
            before = number * self._rows
            return _Part(number, before, self._frame.slice(before, self._rows))
        cut = self._cuts[number]
        text = b""
        if self._place is None or number not in self._digests:
            text = self._body[cut.start : cut.stop].tobytes()
            self._digests.setdefault(number, hashlib.sha256(text).digest())
        part = _Part(number, cut.rows_before, None, cut, digest=self._digests[number])
        if self._place is None:
            return replace(part, text=text)
        return replace(part, path=self._path, start=self._place + cut.start)

    def require_unchanged(self) -> None:
        """Raise :class:`InputError` where somebody wrote to the file since it was opened."""
        if self._frame is None:
            self._body.require_unchanged()


@dataclass(frozen=True, eq=False)
class _Shared:
    """What is sent to every worker: the plan, its columns, what the file says beside cells, and the leave to draw."""

    plan: Plan
    columns: tuple[ProtectedColumn, ...]
    table: Table
    reading: Reading | None
    form: str
    leave: DrawsElsewhere | None = None


@dataclass(frozen=True, eq=False)
class _Checked:
    """What a worker found in a part without a fault.

    Attributes:
        kept_fit: which kept columns return to their types.
        kept_text: the bytes of their text.
        rows: how many rows there are.
    """

    kept_fit: tuple[bool, ...]
    kept_text: int
    rows: int


# -- on the workers ----------------------------------------------------------------------------------------------------


def _check(shared: _Shared, part: _Part) -> _Checked | Fault:
    found = _read(shared, part)
    if isinstance(found, Fault):
        return found
    text = sum(int(text.str.len_bytes().sum() or 0) for text in found.rows.kept)
    return _Checked(found.kept_fit, text, len(found.rows.cells))


def _draw(shared: _Shared, part: _Part) -> Rows:
    found, leave = _read(shared, part), shared.leave
    assert not isinstance(found, Fault)  # its values were checked, and are the same by their digest
    assert leave is not None
    rows: Rows = found.rows
    for position, column in enumerate(shared.columns):
        coins: Entropy = leave.random_bits(column.column.name, column.randomiser.exact_epsilon)
        cells: Any = rows.cells[f"{position}"].astype(column.grid.dtype)
        rows.cells[f"{position}"] = sampled(column, cells, None, coins, CancelToken())
    return rows


def _read(shared: _Shared, part: _Part) -> Any:
    """Return the encoded values of a part, or the fault of one."""
    frame = part.frame
    if frame is None:
        assert part.cut is not None
        assert shared.reading is not None
        text = _text_of(part, shared.table.source)
        frame = shared.reading.frame(text, part.cut.records).slice(part.cut.header)
    rows = shared.plan.rows_of(shared.table.replaced(frame=frame, rows_before=part.rows_before))
    return SpilledRows(shared.plan, shared.columns, rows, Path(), table_format(shared.form)).of_part(rows)


def _text_of(part: _Part, source: str) -> bytes:
    assert part.cut is not None
    text, size = part.text, part.cut.stop - part.cut.start
    if part.path is not None:
        try:
            with open(part.path, "rb") as file:
                file.seek(part.start)
                text = file.read(size)
        except OSError as error:
            reason = (error.strerror or "it is not there").lower()
            hint = "mount it on every worker under the same path"
            raise InputError(f"a worker cannot read the file: {reason}", part.path, hint) from None
    if hashlib.sha256(text).digest() != part.digest:
        hint = "give all of them the same file under the same path, and write to it no more"
        raise InputError("a worker reads other bytes in this file than this computer", source, hint)
    return text


# -- on this computer --------------------------------------------------------------------------------------------------


class RowsOnWorkers(SpilledRows):
    """Has the rows of a table checked and drawn by workers, and keeps what they drew."""

    in_memory = True

    def __init__(
        self,
        plan: Plan,
        columns: tuple[ProtectedColumn, ...],
        table: Table,
        folder: Path,
        workers: Workers,
        form: TableFormat,
    ) -> None:
        """Prepare it.

        Args:
            plan: what is done with each column.
            columns: the protected ones.
            table: the rows as they were read.
            folder: where drawn rows are kept until they are written, in a file without a name.
            workers: who draws.
            form: what the rows are released as.

        Raises:
            InputError: it is a large table that workers cannot read in parts.
        """
        if plan.unit is not None:
            what = "the dask engine does not choose the rows that are kept of each person"
            raise InputError(what, table.source, "use --engine local", code="not-for-workers")
        super().__init__(plan, columns, plan.rows_of(table), folder, form)
        if self._table.rows != table.rows:
            what = "the dask engine does not release blank lines as empty rows"
            raise InputError(what, table.source, "remove them, or use --engine local", code="not-for-workers")
        self._parts, self._workers, self._text = _Parts(table), workers, 0
        nothing = pl.DataFrame(schema=dict.fromkeys(table.names, pl.String))
        self._shared = _Shared(plan, columns, table.replaced(frame=nothing, digest=b""), self._parts.reading, form.name)

    @property
    def kept_text(self) -> int:
        """The bytes of text of kept columns, once all rows are checked."""
        return self._text

    def of_part(self, part: Table) -> Any:
        """Return nothing: the workers read the rows."""
        return None

    def take(self, found: Any) -> None:
        """Take nothing."""

    def finish(self) -> None:
        """Have all values checked.

        Raises:
            InputError: of the first column with a value that cannot be used, the first of them; or a worker cannot read
                the file, or reads another one.
            WorkbenchError: the cluster failed; nothing is charged.
        """
        found = dict(self._run(_check, self._shared, self._workers.emit, "rows checked", "run it again"))
        self._parts.require_unchanged()
        rows = 0
        for number in range(len(self._parts)):
            checked = found[number]
            if isinstance(checked, Fault):
                super().take(checked)
                continue
            self._fit = [a and b for a, b in zip(self._fit, checked.kept_fit, strict=False)] or self._fit
            self._text += checked.kept_text
            rows += checked.rows
        ReadByColumns.finish(self)  # no row is kept here before it is drawn
        assert rows == self._table.rows  # each is in one part

    def draw(self, ask: Ask, emit: Emit, cancel: CancelToken) -> DrawnInParts:
        """Return the draw, which is made once its charge is final."""
        epsilons = {c.column.name: c.randomiser.exact_epsilon for c in self._columns}
        leave, order = ask.elsewhere(epsilons, len(self._parts)), None if self._plan.keep_order else ask.coins
        self._spill = Spill(self._file(), self._packed, self._kept)
        # The disk has room for the second file, too, before the charge is final.
        second = self._file() if order is not None and self._buckets > 1 else None

        def gather() -> Spill:
            self._gather(leave, emit)
            return self._spill if order is None else self._scattered(order, emit, cancel, second)

        count = len(self._parts) if order is None else self._buckets
        return _DrawnOnWorkers(gather, count, self._columns, order, **self._facts(ask))

    def _gather(self, leave: DrawsElsewhere, emit: Emit) -> None:
        """Have every part drawn, and keep one draw of each."""
        numbers: list[int] = []
        shared = replace(self._shared, leave=leave)
        for number, rows in self._run(_draw, shared, emit, "rows drawn", "to run again is another charge"):
            if leave.accept(number):
                self._spill.add(rows, np.array([0, len(rows.cells)], np.int64))
                numbers.append(number)
        leave.finish()
        assert self._spill.rows == self._table.rows
        self._spill.arrange(sorted(range(len(numbers)), key=numbers.__getitem__))

    def _run(
        self, work: Callable[[_Shared, _Part], Any], shared: _Shared, emit: Emit, label: str, again: str
    ) -> Iterator[tuple[int, Any]]:
        """Yield what workers make of each part, by its number, in the order in which they end."""
        workers = self._workers
        # The warning was given before the check.
        warn = partial(_warn, workers.emit) if work is _check else _silent
        results = run_tasks_on(
            workers.address,
            work,
            shared,
            self._parts,
            cancel=workers.cancel,
            warn=warn,
            name=_named,
        )
        try:
            for done, (part, result) in enumerate(results, start=1):
                yield part.number, result
                emit(Progress(done, len(self._parts), label))
        except CancelledError:
            raise
        except WorkbenchError as error:
            if CONTINUE not in error.hint:
                raise
            raise type(error)(error.what, error.where, error.hint.replace(CONTINUE, again)) from None
        finally:
            results.close()


class _DrawnOnWorkers(DrawnInParts):
    """A draw that workers make when its first piece is asked for."""

    def __init__(
        self,
        gather: Callable[[], Spill],
        count: int,
        columns: tuple[ProtectedColumn, ...],
        order: Entropy | None,
        **facts: Any,
    ) -> None:
        self._gather: Callable[[], Spill] | None = gather
        super().__init__(None, columns, [], order, **facts)
        self.count = count

    def pieces(self) -> Iterator[pl.DataFrame]:
        """Yield all pieces in order."""
        gather, self._gather = self._gather, None
        assert gather is not None  # a second draw would show more of the rows
        self._spill = gather()
        yield from super().pieces()

    def _drawn(self, position: int, column: ProtectedColumn, cells: CellArray) -> CellArray:
        return cells


def _named(part: _Part) -> str:
    return f"part {part.number + 1} of the rows"


def _warn(emit: Emit, text: str) -> None:
    emit(Notice("warning", text))


def _silent(text: str) -> None:
    """Say nothing."""

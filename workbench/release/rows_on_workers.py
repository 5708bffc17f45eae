"""Noisy rows that the workers of a Dask cluster draw: each part of the rows by one of them, and published once.

Before the charge the workers check every value of their parts; only what was found comes back. After the charge is
final they read the parts again (:mod:`workbench.data.cluster_parts`), draw each value from their own operating system's
random bits, and send back drawn cells and the text of kept columns. The first draw of a part is the one that is
published, and any other is thrown away here (:class:`~workbench.work.ask.RemoteDraws`). It is kept in a file beside
the output (:mod:`workbench.release.sealed_parts`): where the scheduler dies, the next scheduler in that place draws the
other parts, and where this run ends, the same command does. The order of rows is drawn here.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.data.cluster_parts import PartsOnWorkers
from workbench.data.table import Table
from workbench.params import InputError
from workbench.privacy.entropy import Entropy
from workbench.processes.dask_address import ClusterLostError
from workbench.processes.executor import LOOK
from workbench.release.sealed_parts import SealedParts, Sealing
from workbench.release.spilled_rows import DrawnInParts, Rows, Spill, SpilledRows, in_bytes
from workbench.release.table_formats import TableFormat, table_format
from workbench.sanitize.calibrated_columns import ProtectedColumn
from workbench.sanitize.engine import sampled
from workbench.sanitize.plan import Plan
from workbench.signals import CancelToken, Emit
from workbench.work.ask import Ask, RemoteDraws
from workbench.work.work import ColumnReader, Fault

WAIT = 600.0
"""Seconds that drawn parts wait for another scheduler where theirs is lost; they are paid for, and not drawn again."""


# -- on the workers ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Checked:
    """What a worker found in a part without a fault."""

    kept_fit: tuple[bool, ...]  # which kept columns return to their types
    kept_text: int  # the bytes of their text
    rows: int
    digest: bytes  # of all that is drawn from: cells and kept text


@dataclass(frozen=True, eq=False)
class _There:
    """What reads parts on a worker."""

    plan: Plan
    columns: tuple[ProtectedColumn, ...]
    form: str

    def read(self, part: Table) -> Any:
        return SpilledRows(self.plan, self.columns, part, Path(), table_format(self.form)).of_part(part)

    def of_part(self, part: Table) -> _Checked | Fault:
        found = self.read(part)
        if isinstance(found, Fault):
            return found
        pieces = in_bytes(found.rows)
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        return _Checked(found.kept_fit, sum(map(len, pieces[2::2])), len(found.rows.cells), digest.digest())


def _draw(sent: tuple[_There, RemoteDraws], part: Table) -> Rows:
    there, leave = sent
    found = there.read(part)
    assert not isinstance(found, Fault)  # its values were checked, and are the same by their digest
    rows: Rows = found.rows
    for position, column in enumerate(there.columns):
        coins: Entropy = leave.random_bits(column.column.name, column.randomiser.exact_epsilon)
        cells: Any = rows.cells[f"{position}"].astype(column.grid.dtype)
        rows.cells[f"{position}"] = sampled(column, cells, None, coins, CancelToken())
    return rows


# -- on this computer --------------------------------------------------------------------------------------------------


class RowsOnWorkers(SpilledRows):
    """Has the rows of a table checked and drawn by workers, and keeps what they drew."""

    def __init__(
        self,
        plan: Plan,
        columns: tuple[ProtectedColumn, ...],
        table: Table,
        sealing: Sealing,
        parts: PartsOnWorkers,
        form: TableFormat,
    ) -> None:
        """Prepare it: drawn rows are kept in the file of ``sealing`` until they are written.

        Raises:
            InputError: the plan bounds the rows of each person.
        """
        if plan.unit is not None:
            what = "the dask engine cannot select the rows to keep of each person"
            raise InputError(what, table.source, "use --engine local", code="not-for-workers")
        super().__init__(plan, columns, table, sealing.target.parent, form)
        self._there, self._parts, self._text, self._checked = _There(plan, columns, form.name), parts, 0, 0
        self._sealing, self._digest = sealing, hashlib.sha256()

    @property
    def kept_text(self) -> int:
        return self._text

    def sent(self) -> _There:
        """Return what checks values on a worker."""
        return self._there

    def keep(self, made: Any) -> None:
        """Keep what is known of a part: its rows are read again when they are drawn."""
        self._fit = [a and b for a, b in zip(self._fit, made.kept_fit, strict=False)] or self._fit
        self._text += made.kept_text
        self._checked += made.rows
        self._digest.update(made.digest)

    def finish(self) -> None:
        """Refuse what :class:`~workbench.work.work.ColumnReader` refuses."""
        ColumnReader.finish(self)  # no row is kept here before it is drawn
        assert self._checked == self._table.rows  # each is in one part
        self._sealing.rows = self._digest.digest()

    def draw(self, ask: Ask, emit: Emit, cancel: CancelToken) -> DrawnInParts:
        """Return the draw, which is made once its charge is final."""
        epsilons = {c.column.name: c.randomiser.exact_epsilon for c in self._columns}
        leave, order = ask.remote(epsilons, len(self._parts)), None if self._plan.keep_order else ask.coins
        room = self._table.rows * self._packed.itemsize + self._text
        self._spill = sealed = self._sealing.parts(room, self._packed, self._kept)
        # The disk has room for the second file, too, before the charge is final.
        second = self._file() if order is not None and self._buckets > 1 else None

        def gather() -> Spill:
            self._gather(leave, sealed)
            return self._spill if order is None else self._scattered(order, emit, cancel, second)

        count = len(self._parts) if order is None else self._buckets
        return DrawnInParts(gather, count, self._columns, None, order, **self._facts(ask))

    def _gather(self, leave: RemoteDraws, sealed: SealedParts) -> None:
        """Have every part drawn, and keep one draw of each; where the scheduler is lost, another one does the rest."""
        accepted = [leave.accept(number) for number in sealed.numbers]  # of an earlier run
        assert all(accepted)
        before, until = -1, 0.0
        while left := sorted(set(range(len(self._parts))) - set(sealed.numbers)):
            again = "the same command continues, and nothing more is charged"
            try:
                for number, rows in self._parts.each(_draw, (self._there, leave), "rows drawn", again, left):
                    if leave.accept(number):
                        sealed.seal(number, rows)
            except ClusterLostError as lost:
                kept, now = len(sealed), time.monotonic()
                until = until if kept == before else now + WAIT
                if now >= until:
                    raise
                if kept != before:
                    before = kept
                    stated = f"{kept} of {len(self._parts)} parts are drawn and kept, and nothing more is charged"
                    place = f"start a scheduler and workers at the same address within {WAIT / 60:.0f} minutes"
                    self._parts.notice(f"{lost.what}: {stated}; {place}")
                time.sleep(LOOK)
        leave.finish()
        assert sealed.rows == self._table.rows
        sealed.in_order()

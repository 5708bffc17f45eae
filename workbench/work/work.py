"""A Work: what is published, as its kind describes it before a row is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from workbench.data.cluster_parts import PartsOnWorkers
from workbench.data.rows_in_parts import each_part
from workbench.data.table import Table
from workbench.params import InputError, ParameterError
from workbench.privacy.accounting.compose import EXACT, for_person, total
from workbench.privacy.accounting.event import ApproximateDp, Composed, Cost, PureDp, ZeroConcentrated
from workbench.privacy.accounting.zcdp import delta_of
from workbench.privacy.central.share import Budget, QueryEvent
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.work.ask import Ask

Answers = Any
"""What was answered, as the kind keeps it: released numbers and public facts, from which its files are made."""


@dataclass(frozen=True)
class WorkOutput:
    """What is published, before it is written."""

    # The bytes of the released file, whole or in pieces; or of the files of a folder, by their names.
    data: bytes | Mapping[str, bytes] | Iterable[bytes]
    method: Mapping[str, Any]  # facts for the certificate, as JSON holds them: public ones, or made of answers alone
    count: int = 1  # of the pieces
    # Files of a folder with figures computed from private rows, which stay beside it and are not released.
    private: Mapping[str, bytes] = field(default_factory=dict)
    # (ε, δ) where a run cost less than it reserved, for a reason decided without data.
    settled: tuple[Decimal, Decimal] | None = None
    # Of a table of a database, with their types; of nothing else.
    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.method, Mapping):
            raise TypeError(f"the facts of a release are a mapping, not a {type(self.method).__name__}")

    @property
    def whole(self) -> bytes:
        """The bytes of a file in one."""
        assert not isinstance(self.data, Mapping)
        return self.data if isinstance(self.data, bytes) else b"".join(self.data)


class PartReader(Protocol):
    """Reads what a Work needs of a table in parts, here or on the workers of a cluster.

    Here it is read in the one pass that also makes the marks of the table.
    """

    def of_part(self, part: Table) -> Any:
        """Return what is needed of a part, as the plan reads it; called in threads, or on a worker."""
        ...

    def sent(self) -> Any:
        """Return what has the same :meth:`of_part` on a worker, and can be sent there."""
        ...

    def take(self, found: Any) -> None:
        """Take what :meth:`of_part` returned, in the order of the parts.

        Raises:
            InputError: a value cannot be used, whatever comes after it.
        """
        ...

    def finish(self) -> None:
        """Refuse values, where there are some that cannot be used.

        Raises:
            InputError: there are; column and row are named as of a table that is read whole.
        """
        ...


class CombinedReader:
    """Reads each part once for two readers; one of them reads it as a plan does."""

    def __init__(self, planned: PartReader, rows_of: Callable[[Table], Table], other: PartReader) -> None:
        """Take the reader of a part as the plan reads it, what gives that part, and the other reader."""
        self._planned, self._rows_of, self._other = planned, rows_of, other

    def of_part(self, part: Table) -> tuple[Any, Any]:
        """Return what both find in a part."""
        _ = part.frame  # read once: what the plan makes of rows that are not read yet reads them by itself
        return self._planned.of_part(self._rows_of(part)), self._other.of_part(part)

    def sent(self) -> CombinedReader:
        """Return what reads on a worker."""
        return CombinedReader(self._planned.sent(), self._rows_of, self._other.sent())

    def take(self, found: tuple[Any, Any]) -> None:
        """Hand on what :meth:`of_part` found."""
        self._planned.take(found[0])
        self._other.take(found[1])

    def finish(self) -> None:
        """Let both refuse values, those of the plan first."""
        self._planned.finish()
        self._other.finish()


class ColumnReader(ABC):
    """A :class:`PartReader` that reads one column of a part after the other.

    The error that is raised is that of the first column that has one, as in a table that is read whole: so rows are
    read on as long as a column before it may have one.
    """

    def __init__(self, columns: Sequence[Callable[[Any], Any]]) -> None:
        """Take what reads each column of what :meth:`opened` returns, or raises :class:`InputError`."""
        self._readers = tuple(columns)
        self._fault: tuple[int, InputError] | None = None
        self.whole = False  # whether all rows were read and every value can be used

    def opened(self, part: Table) -> Any:
        """Return a part as its columns are read."""
        return part

    @abstractmethod
    def made(self, part: Any, columns: list[Any]) -> Any:
        """Return what is kept of a part, of which every column was read; called in threads."""

    @abstractmethod
    def keep(self, made: Any) -> None:
        """Keep what :meth:`made` returned, in the order of the parts."""

    def of_part(self, part: Table) -> Any:
        """Return what is kept of a part, or its fault; called in threads."""
        rows, columns = self.opened(part), []
        for position, read in enumerate(self._readers):
            if self._fault is not None and position >= self._fault[0]:
                return None
            try:
                columns.append(read(rows))
            except InputError as error:
                return Fault(position, error)
        return self.made(rows, columns)

    def sent(self) -> Any:
        """Return itself, which has kept nothing yet."""
        return self

    def take(self, found: Any) -> None:
        """Keep what :meth:`of_part` returned.

        Raises:
            InputError: a value of the first column cannot be used.
        """
        if isinstance(found, Fault) and (self._fault is None or found.position < self._fault[0]):
            self._fault = found.position, found.error
        if self._fault is None:
            self.keep(found)
        elif self._fault[0] == 0:
            raise self._fault[1]

    def finish(self) -> None:
        """Raise the :class:`InputError` of the first column with a value that cannot be used, where there is one."""
        if self._fault is not None:
            raise self._fault[1]
        self.whole = True

    def read(self, rows: Table, cancel: CancelToken, parts: PartsOnWorkers | None = None) -> None:
        """Read all rows, as the plan reads them: two parts at a time, or as the workers of a cluster read them.

        Raises:
            InputError: a value cannot be used.
            WorkbenchError: the cluster failed.
        """
        if parts is not None:
            take_from_workers(self, parts)
            return
        for found in each_part(rows, self.of_part, cancel):
            self.take(found)
        self.finish()


def take_from_workers(reader: PartReader, parts: PartsOnWorkers, label: str = "rows read") -> None:
    """Have the workers of a cluster read all parts for ``reader``, which takes what they found, in order and once.

    Raises:
        InputError: a value cannot be used; or a worker cannot read the file, or reads another one.
        WorkbenchError: the cluster failed.
    """
    with closing(parts.in_order(_of_part, reader.sent(), label)) as results:  # an error here ends the work there
        for found in results:
            reader.take(found)
    reader.finish()


def _of_part(reader: PartReader, part: Table) -> Any:
    return reader.of_part(part)


@dataclass(frozen=True)
class Fault:
    """The first value of a part that cannot be used, and the position of its column."""

    position: int
    error: InputError


class Sums(ColumnReader):
    """Adds up whole numbers that are made of the columns of each part."""

    def __init__(self, columns: Sequence[Callable[[Any], Any]], part: Callable[[list[Any]], Any]) -> None:
        """Begin with no row; ``part`` makes the numbers, and can be sent to workers."""
        super().__init__(columns)
        self._part = part
        self.total: Any = None  # of all parts that were read; `None` before the first

    def made(self, part: Any, columns: list[Any]) -> Any:
        return self._part(columns)

    def keep(self, made: Any) -> None:
        self.total = made if self.total is None else self.total + made


class ColumnCheck(ColumnReader):
    """Reads columns only to see that every value can be used."""

    def made(self, part: Any, columns: list[Any]) -> None:
        """Keep nothing."""

    def keep(self, made: Any) -> None:
        """Keep nothing."""


@dataclass(frozen=True, eq=False)
class Work:
    """What is published: its cost, its questions, and the files that follow from their answers."""

    kind: str  # name of its kind (`workbench.release.kinds`)
    columns: tuple[str, ...]  # names of the plan's columns that it reads
    # Every question with its ε, its ρ, or its ε and δ for one row, under zero-out neighbours; each has a label of its
    # own.
    events: tuple[QueryEvent, ...]
    # What was asked for, as JSON holds it: it is in the certificate, and a later run of the same request publishes a
    # finished draw of this one.
    request: Mapping[str, Any]
    # Bytes that the released file and its certificate may need on the disk; a function where that is known only once
    # the rows are checked.
    room: int | Callable[[], int]
    # Reads the rows, as the plan reads them, and asks every declared question once; all noise comes from the `Ask` that
    # it is given.
    ask: Callable[[Table, Ask, Emit, CancelToken], Answers]
    # Makes what is published of the answers and public facts; it sees no row.
    files: Callable[[Answers, CancelToken], WorkOutput]
    budget: Budget | None = None  # (ε, δ) of one row, where the events have a ρ; `None` where their ε is the whole cost
    # Refuses values of the rows, as the plan reads them, before anything is reserved or charged; where there is none,
    # values that are not on their column's grid are refused.
    check: Callable[[Table, CancelToken], None] | None = None
    # Reads the rows of a table in parts, before anything is reserved, in place of `check`; rows that are in memory are
    # read by it only on the workers of a cluster.
    reader: PartReader | None = None
    # Reads the answers again from `Made.method`, as a certificate holds it, where they are in it: then `verify` makes
    # the file of them anew.
    answers: Callable[[Mapping[str, Any]], Answers] | None = None
    # Whether it reads, of one row of each person, how many she has (`workbench.data.persons`).
    counts_persons: bool = False

    def cost(self, rows_per_person: int = 1) -> Cost:
        """Return what it costs a person with ``rows_per_person`` rows.

        Raises:
            ParameterError: as :func:`budget_of`.
        """
        return cost_of(self.events, rows_per_person, self.budget)

    def reader_for_workers(self) -> PartReader:
        """Return what reads parts on the workers of a cluster.

        Raises:
            ParameterError: it needs the rows in one place.
        """
        if self.reader is None:
            what = "this release does not add up counts of parts of the rows, which is all that workers can do"
            raise ParameterError(what, hint="use --engine local", code="not-for-workers")
        return self.reader

    def run(self, rows: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> WorkOutput:
        """Ask every question and return what is published.

        Raises:
            UndeclaredError: it asked for something else than it declared, or not for all of it.
        """
        answers = self.ask(rows, ask, emit, cancel)
        if ask.private:
            ask.finish()
        cancel.check()
        return self.files(answers, cancel)


def amount_of(event: QueryEvent) -> Decimal:
    """Return the ε of a query, or its ρ."""
    return event.rho if isinstance(event, ZeroConcentrated) else event.epsilon


def budget_of(events: tuple[QueryEvent, ...], budget: Budget | None = None) -> Budget:
    """Return (ε, δ) of one row: the sums of the queries, or the one that was named and is at least that of their ρ.

    Raises:
        ParameterError: the queries are of two kinds, or their ρ is more than the named (ε, δ) allows.
    """
    amount = _summed(amount_of(e) for e in events)
    if any(isinstance(e, ApproximateDp) for e in events):
        if any(isinstance(e, ZeroConcentrated) for e in events):
            raise ParameterError("queries with their own delta cannot be combined with queries with a rho")
        return Budget(amount, _summed(e.delta for e in events if isinstance(e, ApproximateDp)))
    if budget is None or not budget.gaussian:
        if not all(isinstance(e, PureDp) for e in events):
            raise ParameterError("queries with a rho need a delta", hint="give a delta")
        return Budget(amount)
    if not all(isinstance(e, ZeroConcentrated) for e in events):
        raise ParameterError("with a delta, every query needs a share of rho")
    if delta_of(amount, budget.epsilon) > float(budget.delta):
        raise ParameterError(
            f"rho = {amount} of the queries is more than epsilon = {budget.epsilon} with delta = {budget.delta} allows"
        )
    return budget


def _summed(amounts: Iterable[Decimal]) -> Decimal:
    """Return a sum without the zeros that a sum of shares ends with: 0.7, as it was declared."""
    return Decimal(f"{EXACT.normalize(total(amounts)):f}")


def cost_of(events: tuple[QueryEvent, ...], rows_per_person: int, budget: Budget | None = None) -> Cost:
    """Return what queries of one row's ``events`` cost for a person with ``rows_per_person`` rows.

    Raises:
        ParameterError: as :func:`budget_of`.
    """
    row = budget_of(events, budget)
    return for_person(Cost(row.epsilon, row.delta, Composed(events)), rows_per_person)

"""The base of synthesisers: queries that are paid for, and tables from their answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.grid import smallest_type
from workbench.privacy.central.share import Budget, QueryEvent, Share
from workbench.privacy.entropy import Entropy
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore
from workbench.synth.cliques import Doubles
from workbench.synth.columns import CoarseColumn, CodedRows, Codes, CountsTables
from workbench.synth.fit import Fit, Measured
from workbench.synth.row_sampler import uniforms
from workbench.work.ask import Ask, UndeclaredError

COUNTS, CHOICE, MODEL = "counts", "choice", "model"


@dataclass(frozen=True)
class Query:
    """One query that is paid for."""

    label: str  # its name in the cost and the certificate; no two of a synthesis are alike
    # `counts` (a table, to every cell of which noise is added), `choice` (of a pair of columns) or `model` (of the
    # training of one).
    form: str
    paid: Share  # its share of the budget

    @property
    def share(self) -> Decimal:
        """Its share of ε, or of ρ where there is a δ."""
        return self.paid.amount


Impossible = tuple[tuple[int, ...], NDArray[np.bool_]]
"""Places of columns, in their order, and which cells of their table cannot occur."""

BARRIER = -1e5  # potential of a cell that cannot occur: its chance is 0 to the last bit


def barriers_of(impossible: Sequence[Impossible]) -> list[tuple[tuple[int, ...], Doubles]]:
    """Return potentials that forbid these cells."""
    return [(columns, np.where(mask, BARRIER, 0.0)) for columns, mask in impossible]


@dataclass(frozen=True, eq=False)
class Setting:
    """The public facts of a synthesis."""

    columns: tuple[CoarseColumn, ...]  # the columns with their cuts
    target: int | None  # the place of the column that others are to predict, or `None`
    rows: int  # n of the original table, public
    epsilon: Decimal  # ε of one row's whole record
    delta: Decimal = Decimal(0)  # δ of it; 0 for pure differential privacy
    impossible: tuple[Impossible, ...] = ()  # what cannot occur, as the steward declares: it is never drawn
    # Into how many equal parts ranges were cut, where ends of what is impossible were added to these.
    equal_cuts: int = 0

    @property
    def barriers(self) -> list[tuple[tuple[int, ...], Doubles]]:
        """Potentials that forbid the impossible cells."""
        return barriers_of(self.impossible)

    @property
    def budget(self) -> Budget:
        """What the queries are paid with."""
        return Budget(self.epsilon, self.delta)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of coarse cells of each column."""
        return tuple(column.size for column in self.columns)

    def ordered(self, place: int) -> int:
        """Return how many of a column's first cells are ordered."""
        return self.columns[place].cuts if self.columns[place].ordered else 0


@dataclass(frozen=True)
class Answered:
    """What a query measured, as the certificate states it; public, like its answer."""

    query: Query
    columns: tuple[str, ...]  # names of the columns of the table, or of the pair that was chosen; of a model none
    cells: tuple[int, ...] = ()  # number of measured cells along each; empty but for a table


class Questions:
    """The declared queries in their order, asked of the rows; the noise is that of an :class:`Ask`."""

    def __init__(
        self,
        setting: Setting,
        queries: Sequence[Query],
        rows: CountsTables,
        ask: Ask,
        cancel: CancelToken = NEVER,
        emit: Emit = ignore,
    ) -> None:
        self.setting, self.cancel, self.emit = setting, cancel, emit
        self.answered: list[Answered] = []  # what was asked so far
        self._queries, self._rows, self._ask = iter(queries), rows, ask
        self._of_model = sum(query.form == MODEL for query in queries)

    def counts(self, columns: tuple[int, ...], groups: Sequence[NDArray[np.int64] | None]) -> Measured:
        """Answer the next query: the noisy table of some columns, with cells joined as ``groups`` say of each of them.

        One row is in one cell or, empty, in none: the sensitivity of the table, L1 and L2, is 1 (2 and √2 under
        replace-one), whatever cells are joined, as ``groups`` depends on public facts and on earlier answers only.
        """
        query = self._next(columns)
        exact = joined_counts(self._rows, columns, groups, self.setting.sizes)
        noisy = self._ask(query.label, [int(v) for v in exact.ravel()], 1)
        self._done(query, columns, exact.shape)
        return Measured(
            columns,
            tuple(groups),
            np.array(noisy, dtype=np.float64).reshape(exact.shape),
            query.paid.variance(),
            tuple(self.setting.ordered(place) for place in columns),
        )

    def choice(
        self, pairs: Sequence[tuple[int, int]], score: Callable[[CountsTables, tuple[int, int]], int], sensitivity: int
    ) -> tuple[int, int]:
        """Answer the next query: one of the public pairs, by the exponential mechanism.

        The score of a pair is a whole number, moved by one row by at most ``sensitivity``.
        """
        query = self._next(pairs)
        pair = pairs[self._ask.choose(query.label, [score(self._rows, pair) for pair in pairs], sensitivity)]
        self._done(query, pair, ())
        return pair

    def model(self, trained: Callable[[Ask, CodedRows], Any]) -> Any:
        """Return the model whose training asks the next queries, of rows that are in memory."""
        made = trained(self._ask, self.whole_rows)
        for _ in range(self._of_model):
            self._done(self._next("a model"), (), ())
        return made

    @property
    def whole_rows(self) -> CodedRows:
        """The rows, where they are in memory."""
        assert isinstance(self._rows, CodedRows)
        return self._rows

    def about(self, setting: Setting, rows: CodedRows) -> Questions:
        """Ask what is left of another table with a row for each of these, which follows from its row and answers."""
        self.setting, self._rows = setting, rows
        return self

    def _next(self, what: object) -> Query:
        self.cancel.check()
        query = next(self._queries, None)
        if query is None:
            raise UndeclaredError(f"the query of {what} was not declared, so its cost was not charged")
        return query

    def _done(self, query: Query, columns: Sequence[int], cells: tuple[int, ...]) -> None:
        self.answered.append(Answered(query, tuple(self.setting.columns[i].name for i in columns), cells))


@dataclass(frozen=True, eq=False)
class Coarser:
    """The cells of a model, each joined of cells of its column; it follows from released shares and public facts."""

    groups: tuple[NDArray[np.int64], ...]  # for each column the model's cell of each of its cells, (k,)
    # For each column the estimated share of each of its cells, (k,), by which rows lie in a model's cell.
    within: tuple[Doubles, ...]
    ordered: tuple[int, ...]  # for each column how many of the model's first cells are ordered
    impossible: tuple[Impossible, ...]  # which of the model's cells cannot occur

    @classmethod
    def of(cls, setting: Setting, shares: Sequence[Doubles], groups: Sequence[NDArray[np.int64] | None]) -> Coarser:
        """Return the cells of these groups, divided where only a part of one can occur beside other columns."""
        whole = [np.arange(len(s)) if g is None else g for s, g in zip(shares, groups, strict=True)]
        for columns, mask in setting.impossible:
            for axis, j in enumerate(columns):
                alike = np.moveaxis(mask, axis, 0).reshape(len(whole[j]), -1)
                _, first, kind = np.unique(
                    np.column_stack([whole[j], alike]), axis=0, return_index=True, return_inverse=True
                )
                whole[j] = np.argsort(np.argsort(first))[kind.ravel()]
        firsts = [np.unique(g, return_index=True)[1] for g in whole]
        impossible = tuple(
            (columns, mask[np.ix_(*(firsts[j] for j in columns))]) for columns, mask in setting.impossible
        )
        ordered = tuple(len(set(g[: setting.ordered(j)].tolist())) for j, g in enumerate(whole))
        return cls(tuple(whole), tuple(shares), ordered, impossible)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of the model's cells of each column."""
        return tuple(int(g.max()) + 1 for g in self.groups)

    @cached_property
    def shares(self) -> tuple[Doubles, ...]:
        """Estimated share of each of the model's cells."""
        pairs = zip(self.groups, self.within, strict=True)
        return tuple(np.bincount(g, weights=w).astype(np.float64) for g, w in pairs)

    def alone(self, column: int, rows: int, variance: float) -> Measured:
        """Return the shares of a column as a measured table; ``variance`` is that of one of its own cells."""
        joined = len(self.groups[column]) / self.sizes[column]
        return Measured((column,), (None,), rows * self.shares[column], variance * joined, (0,))

    def table(self, measured: Measured) -> Measured:
        """Return a table that was measured in the model's cells, of these."""
        ordered = tuple(self.ordered[j] for j in measured.columns)
        return Measured(measured.columns, (None,) * len(ordered), measured.counts, measured.variance, ordered)

    def drawn(self, codes: Codes, entropy: Entropy, places: Mapping[int, Doubles]) -> Codes:
        """Return a cell of its column for each of the model's cells, (n, d), as rows lie within it.

        ``places`` has by column where in its cell of the model each row is, from 0 to 1, (n,); others are drawn by
        ``entropy``.
        """
        out = np.empty(codes.shape, dtype=smallest_type(max(map(len, self.groups))))
        for j, (groups, within) in enumerate(zip(self.groups, self.within, strict=True)):
            order = np.argsort(groups, kind="stable")
            held = np.where(self.shares[j] > 0, 0.0, 1.0)[groups] + within
            ends = np.cumsum(held[order])
            last = np.searchsorted(groups[order], np.arange(self.sizes[j]), side="right") - 1
            stops = ends[last]
            starts = np.concatenate([[0.0], stops[:-1]])
            own, place = codes[:, j], places.get(j)
            asked = starts[own] + (uniforms(len(codes), entropy) if place is None else place) * (stops - starts)[own]
            out[:, j] = order[np.minimum(np.searchsorted(ends, asked, side="right"), last[own])]
        return out


@dataclass(frozen=True, eq=False)
class Tables:
    """The answers of a synthesiser: noisy tables and the pairs that columns depend on each other in."""

    pairs: tuple[tuple[int, int], ...]  # those that depend on each other
    measured: tuple[Measured, ...] = field(repr=False)  # the noisy tables
    fit: Fit | None = None  # a model of cliques that fits them nearly, from which the last fit begins
    coarser: Coarser | None = None  # the cells of the model, where they are not those of the columns
    # Makes rows of what is drawn, where these are not the cells of the columns yet.
    finish: Callable[[Codes, Entropy], Codes] | None = None
    stated: str = ""  # what a certificate says of that: one of the sentences of `Synthesiser.says`


@dataclass(frozen=True, kw_only=True)
class Synthesiser:
    """One way of making a synthetic table."""

    name: str  # its name on the command line
    title: str
    help: str
    needs_target: bool  # whether a target must be named
    # Declares what is paid for, from public facts alone; tables that are not chosen are called `counts of NAME` and
    # `counts of NAME by OTHER`.
    queries: Callable[[Setting], tuple[Query, ...]]
    ask: Callable[[Questions], Tables]  # asks exactly these, and says which pairs form the tree
    closes_circles: bool = False  # whether the chosen pairs need not form a tree
    with_target: bool = False  # whether the table of a chosen pair holds the target, too
    # Into how many parts a column of numbers is cut where nobody says it, from (rows, budget, columns); by default
    # `workbench.synth.columns.public_cuts`.
    cuts: Callable[[int, Budget, int], int] | None = None
    # The setting whose tables are counted, where these are not of the columns as they are; it is another one where rows
    # are read one by one.
    inner: Callable[[Setting], Setting] = lambda setting: setting
    # How many numbers each query of a training makes of all rows, where these take long.
    numbers: Callable[[Setting], int] = lambda setting: 0
    # Into how many parts it cuts a column of numbers instead, seen from the setting with the usual ones; or `None`.
    finer: Callable[[Setting], int | None] = lambda setting: None
    # Columns that are known otherwise than by tables: the standard deviation of the error of a mean, in ranges, or of a
    # share.
    untabled: Callable[[Setting], Mapping[int, float]] = lambda setting: {}
    # Sentences of which a certificate has the one that is true: how the target is drawn.
    says: Callable[[Setting], tuple[str, ...]] = lambda setting: ("",)


def split(budget: Budget, parts: Sequence[tuple[str, str, float]]) -> tuple[Query, ...]:
    """Return a query for each (label, form, weight); their shares sum to the budget exactly."""
    shares = budget.divided([weight for _, _, weight in parts])
    return tuple(Query(label, form, share) for (label, form, _), share in zip(parts, shares, strict=True))


def pair_numbers(columns: Sequence[str], count: int) -> list[str]:
    """Return the numbers of so many chosen pairs in labels: ``1``, …, longer where a column is called ``pair 1``."""
    more = ""
    while {f"pair {k + 1}{more}" for k in range(count)} & set(columns):
        more += " chosen"
    return [f"{k + 1}{more}" for k in range(count)]


def events(queries: Sequence[Query]) -> tuple[QueryEvent, ...]:
    """Return one cost event a query."""
    return tuple(query.paid.event(query.label) for query in queries)


def joined_counts(
    rows: CountsTables,
    columns: Sequence[int],
    groups: Sequence[NDArray[np.int64] | None],
    sizes: Sequence[int],
) -> NDArray[np.int64]:
    """Return the exact table of some columns with cells joined as ``groups`` say."""
    exact = rows.counts(columns, [sizes[i] for i in columns])
    for axis, group in enumerate(groups):
        exact = exact if group is None else joined(exact, group, axis)
    return exact


def joined(table: NDArray[np.int64], groups: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
    """Return a table with the cells of one axis added up by group."""
    moved = np.moveaxis(table, axis, 0)
    out = np.zeros((int(groups.max()) + 1, *moved.shape[1:]), dtype=np.int64)
    np.add.at(out, groups, moved)
    return np.moveaxis(out, 0, axis)


def groups_of(shares: Doubles, ordered: int, most: int) -> NDArray[np.int64] | None:
    """Return which cells of a column are measured as one, (k,), at most ``most`` of them; ``None`` where none are.

    Neighbours of an ordered column (its first ``ordered`` cells are) are joined into parts of about equal share; of
    names, the rarest ones. A missing value, behind the ordered ones, stays alone while there is room for it. It
    depends on the estimated, released shares alone.
    """
    size = len(shares)
    if size <= most:
        return None
    if most <= 1:
        return np.zeros(size, dtype=np.int64)
    if not ordered:
        order = np.argsort(-shares, kind="stable")
        out = np.full(size, most - 1, dtype=np.int64)
        out[order[: most - 1]] = np.arange(most - 1)
        return out
    parts = most - (size - ordered)
    if parts < 1:
        return np.where(np.arange(size) < ordered, 0, 1)
    out = np.arange(size, dtype=np.int64) - ordered + parts
    out[:ordered] = _even_parts(shares[:ordered], parts)
    out[ordered:] += int(out[ordered - 1]) + 1 - parts
    return out


def _even_parts(shares: Doubles, parts: int) -> NDArray[np.int64]:
    """Return the part of each cell: consecutive cells, cut where the sum of shares passes its next part."""
    out, part, held = np.zeros(len(shares), dtype=np.int64), 0, 0.0
    rest = float(shares.sum())
    for i, share in enumerate(shares):
        room = parts - part
        # A cell opens a new part where that leaves the running one nearer its fair size.
        if i and held > 0 and part < parts - 1 and held + float(share) / 2 > (held + rest) / room:
            part, held = part + 1, 0.0
        out[i] = part
        held += float(share)
        rest -= float(share)
    return out


def most_cells(rows: int, share: Share, filling: float) -> float:
    """Return how many cells a table may have so that their mean count is ``filling`` times the scale of the noise."""
    return max(1.0, rows * share.strength / filling)


def room(most: float, sizes: Sequence[int]) -> tuple[int, int]:
    """Return how many cells each axis of a pair of columns may have, so that the table has about ``most``.

    Each axis has at least 2 where it can; what a short one leaves is the other one's.
    """
    each = math.sqrt(most)
    short = min(sizes)
    if short <= each:
        long = max(2, int(most / short))
        return (sizes[0], long) if sizes[0] == short else (long, sizes[1])
    side = max(2, int(each))
    return side, side

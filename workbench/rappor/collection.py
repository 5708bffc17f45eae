"""The clients in a table (who reports which value, how often, in which cohort) and their reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.table import Table
from workbench.params import InputError, ParameterError, Parameters, integer, text
from workbench.privacy.entropy import Entropy, permutation
from workbench.privacy.rappor.bits import (
    Bits,
    Kept,
    PermanentAnswers,
    Reports,
    cohorts,
    filters,
    instant_answers,
    permanent_answers,
)
from workbench.privacy.rappor.parameters import MOST_REPORTS, RapporParameters
from workbench.rappor.candidates import read_candidates
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

MOST_BITS = 1 << 32  # most bits of all reports of a collection together


@dataclass(frozen=True, kw_only=True)
class Collection(Parameters):
    """What is collected from the rows of a table. All of it is public."""

    column: str = text(help="the column whose values are reported")
    client: str | None = text(
        default=None, help="the column that identifies the client of each row (default: one client per row)"
    )
    cohort: str | None = text(
        default=None, help="the column with each client's cohort, public (default: drawn at random)"
    )
    reports: int = integer(
        default=1, at_least=1, upto=MOST_REPORTS, help="maximum reports per client; without --client, reports per row"
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, each once."""
        named = (self.column, self.client, self.cohort)
        return tuple(dict.fromkeys(name for name in named if name is not None))


_VALUE, _CLIENT, _COHORT = ("value",), ("client", "client_id", "user_id"), ("cohort",)
"""What the columns are called in published files."""


@dataclass(frozen=True, kw_only=True)
class CollectionOptions(Parameters):
    """What a person chooses of a collection. All of it is public, except for the answers that are kept."""

    params: str = text(file="parameters", symbol="FILE", help="CSV: k,h,m,p,q,f")
    column: str | None = text(default=None, symbol="COL", help="the column to report (default: value, or the only one)")
    client: str | None = text(
        default=None,
        symbol="COL",
        help="the column that identifies the client of each row (default: client; else one client per row)",
    )
    cohort: str | None = text(
        default=None,
        symbol="COL",
        help="the column with each client's cohort, public (default: cohort; else drawn at random)",
    )
    reports: int = integer(
        default=1,
        at_least=1,
        upto=MOST_REPORTS,
        symbol="N",
        help="maximum reports per client; without --client, reports per row",
    )
    answers: str | None = text(
        default=None, file="kept", symbol="FILE", help="private file that stores clients' permanent responses"
    )
    basic: str | None = text(
        default=None, file="candidates", symbol="CANDIDATES", help="list of the public values: each gets its own bit"
    )

    def collection(self, names: Sequence[str]) -> Collection:
        """Return what is collected of a table; columns with the published names are used for those that are not chosen.

        Raises:
            ParameterError: the column to report is not chosen and does not follow from the ``names`` of the columns.
        """

        def named(given: str | None, usual: tuple[str, ...]) -> str | None:
            return given if given is not None else next((name for name in usual if name in names), None)

        column = named(self.column, _VALUE) or (names[0] if len(names) == 1 else None)
        if column is None:
            raise ParameterError("the column to report is missing", hint=f"give --column, one of {', '.join(names)}")
        client, cohort = named(self.client, _CLIENT), named(self.cohort, _COHORT)
        return Collection(
            column=column,
            client=None if client == column and self.client is None else client,
            cohort=None if cohort == column and self.cohort is None else cohort,
            reports=self.reports,
        )

    def candidates(self) -> tuple[str, ...]:
        """Return the public values; none where a Bloom filter is used."""
        return () if self.basic is None else read_candidates(Path(self.basic))


@dataclass(frozen=True, eq=False)
class Clients:
    """The clients of a table. Private."""

    values: tuple[str, ...]  # the distinct values
    codes: NDArray[np.int64]  # (n,) number of each client's value, −1 where it is missing
    reports: NDArray[np.int64]  # (n,) how many reports each gives
    cohorts: NDArray[np.int64] | None  # (n,) given cohorts, or `None`
    names: tuple[str, ...] | None  # their names, or `None` where each row is a client


def clients_of(table: Table, asked: Collection, parameters: RapporParameters) -> Clients:
    """Return the clients in ``table``.

    Raises:
        InputError: a column is not there; a client is not named, has two values or two cohorts, or reports more often
            than was declared; a cohort is not one of m; or there would be too many bits. The row is named.
    """
    table.require(asked.columns)
    cells = table.column(asked.column)
    distinct = cells.drop_nulls().unique(maintain_order=True)
    codes = cells.replace_strict(distinct, pl.int_range(len(distinct), eager=True), default=None, return_dtype=pl.Int64)
    found = codes.fill_null(-1).to_numpy()
    given = None if asked.cohort is None else _cohorts(table, asked.cohort, parameters)
    values = tuple(distinct.to_list())
    if asked.client is None:
        made = Clients(values, found, np.full(len(found), asked.reports, dtype=np.int64), given, None)
    else:
        made = _grouped(table, asked, values, found, given)
    if int(made.reports.sum()) * parameters.k > MOST_BITS:
        what = f"{int(made.reports.sum()):,} reports of {parameters.k} bits are too many for one file"
        raise InputError(what, table.source, "collect from fewer rows at a time")
    return made


def _grouped(
    table: Table,
    asked: Collection,
    values: tuple[str, ...],
    codes: NDArray[np.int64],
    given: NDArray[np.int64] | None,
) -> Clients:
    assert asked.client is not None
    names = table.column(asked.client)
    nameless = np.flatnonzero(names.is_null().to_numpy())
    if nameless.size:
        raise InputError("the client is missing", table.place(asked.client, int(nameless[0])), "name it")
    distinct = names.unique(maintain_order=True)
    who = names.replace_strict(distinct, pl.int_range(len(distinct), eager=True), return_dtype=pl.Int64).to_numpy()
    first = np.zeros(len(distinct), dtype=np.int64)
    first[who[::-1]] = np.arange(len(who))[::-1]
    for own, what, column in (
        (codes, "the client has a different value than in its first row, and ε covers only one value", asked.column),
        (given, "the client has a different cohort than in its first row", asked.cohort),
    ):
        if own is not None:
            other = np.flatnonzero(own != own[first[who]])
            if other.size:
                raise InputError(what, table.place(str(column), int(other[0])), "give each client one cohort")
    reports = np.bincount(who, minlength=len(distinct)).astype(np.int64)
    often = np.flatnonzero(reports > asked.reports)
    if often.size:
        row = int(np.flatnonzero(who == often[0])[asked.reports])
        what = f"the client has more than {asked.reports} report{'s' * (asked.reports > 1)}"
        raise InputError(what, table.place(asked.client, row), "declare more: --reports N")
    cohort = None if given is None else given[first]
    return Clients(values, codes[first], reports, cohort, tuple(distinct.to_list()))


def _cohorts(table: Table, column: str, parameters: RapporParameters) -> NDArray[np.int64]:
    cells = table.column(column)
    found = cells.str.strip_chars().str.to_integer(strict=False).fill_null(-1).to_numpy()
    wrong = np.flatnonzero((found < 0) | (found >= parameters.m))
    if wrong.size:
        what = f"the cohort is not one of 0 to {parameters.m - 1}"
        raise InputError(what, table.place(column, int(wrong[0])), "correct it, or change m")
    return found.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Collected:
    """Reports in random order."""

    clients: NDArray[np.int64]  # (n,) number of the client, drawn at random for this collection
    cohorts: NDArray[np.int64]  # (n,) its cohort
    reports: Reports  # (n, bytes) packed bits


def collected(
    clients: Clients,
    bits: Bits,
    memory: PermanentAnswers | None,
    entropy: Entropy,
    emit: Emit,
    cancel: CancelToken,
) -> Collected:
    """Return the reports of ``clients``.

    ``memory`` has answers of clients that have been asked before; the new ones are added to it. ``None``: all are new.

    Raises:
        InputError: a client has a different value than in an earlier collection.
    """
    parameters = bits.parameters
    count = len(clients.codes)
    where = cohorts(count, parameters, entropy) if clients.cohorts is None else clients.cohorts.copy()
    known: dict[int, Kept] = {}
    keys: list[bytes] = []
    if memory is not None:
        if clients.names is None:
            raise InputError("responses can be stored only for identified clients", hint="add --client COL")
        keys = memory.clients(clients.names)
        known = _recalled(clients, memory, keys, where)
    emit(Progress(0, 3, "permanent answers"))
    filled, place = filters(bits, clients.values, clients.codes, where)
    cancel.check()
    answers = permanent_answers(filled[place], parameters, entropy)
    for at, kept in known.items():
        answers[at] = np.frombuffer(kept.answer, dtype=np.uint8)
    if memory is not None:
        texts = memory.values((*clients.values, ""))
        for at, key in enumerate(keys):
            if at not in known:
                digest = texts[int(clients.codes[at])]
                memory.kept[key] = Kept(digest, int(where[at]), answers[at].tobytes())
    cancel.check()
    emit(Progress(1, 3, "reports"))
    numbers = permutation(count, entropy)
    owner = np.repeat(np.arange(count), clients.reports)
    owner = owner[permutation(owner.size, entropy)]
    reports = instant_answers(answers[owner], parameters, entropy)
    emit(Progress(2, 3, "reports"))
    return Collected(numbers[owner], where[owner], reports)


def _recalled(
    clients: Clients, memory: PermanentAnswers, keys: list[bytes], where: NDArray[np.int64]
) -> dict[int, Kept]:
    """Return the kept answers by client, and put the clients into the cohorts that they had."""
    assert clients.names is not None
    known: dict[int, Kept] = {}
    texts = memory.values((*clients.values, ""))
    for at, key in enumerate(keys):
        kept = memory.kept.get(key)
        if kept is None:
            continue
        if kept.value != texts[int(clients.codes[at])]:
            what = f"client number {at + 1} has a different value than in an earlier collection"
            raise InputError(what, hint="leave this client out: its reports would reveal that the value has changed")
        if clients.cohorts is not None and kept.cohort != int(where[at]):
            what = f"client number {at + 1} has a different cohort than in an earlier collection"
            raise InputError(what, hint="use the earlier cohort, or leave the cohorts out")
        known[at], where[at] = kept, kept.cohort
    return known

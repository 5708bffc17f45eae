"""Persons: of each of them at most k rows are kept, chosen at random, and the others become empty rows.

So what one person can change is bounded by the program instead of by a promise. Rows are of one person where their
cells in one column are the same text, blanks at both ends aside. A row without such a cell (an empty one, or one with a
stated mark of a missing value) is a person of its own.

**Why emptying a person costs at most k rows.** Each row has a key of its own, a fresh random word, and of each person
the k rows with the lowest keys are kept. Which rows of somebody are kept depends on the keys and on which rows are
hers, and on nobody else's. If all rows of a person become empty, each is then a person of its own and stays as it is:
for any keys the two tables that are read differ in her kept rows, which are k at most. The keys are drawn alike
whatever the table says and whatever its order.

**How many rows she has** is in that column of her kept row where that is asked for and one is kept; else the
column is empty. If she is emptied, that row changes alone, as before. Nobody but who asks can read it.

**One row of a person.** If one row alone becomes empty, another row of the same person may take its place: two rows
change. That is covered by the cost of k ≥ 2 rows, and not by that of one (``Release.unit`` of the ledger).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.missing import marked
from workbench.data.rows_in_parts import Part, Rows
from workbench.data.table import Table
from workbench.params import InputError
from workbench.privacy.entropy import Entropy, OsEntropy

_MERGED = 1 << 21
"""Rows that wait before they are compared with those kept so far, at least: to compare few with many is slow."""

_Rows = NDArray[np.int32]
"""Of each row: −1 where it is emptied; where the rows of persons are counted, how many its person has; else 0."""
_EMPTIED, _MANY = -1, np.iinfo(np.int32).max


def limit_rows_per_person(table: Table, person: str, most: int, coins: Entropy, *, counted: bool = False) -> Table:
    """Return the table with at most ``most`` rows of each person; the others are empty, and the column ``person`` is.

    A table that is read in parts is read once more for that, when its rows are first used: memory is taken for
    the kept rows of all persons (their texts in that column, and three numbers a row), and four bytes for each row.

    Args:
        table: the rows, as the plan reads them: all of them, not a part.
        person: the column that identifies a person.
        most: k.
        coins: the keys; of a study, seeded ones.
        counted: whether that column of a kept row holds how many rows its person has; then ``most`` is 1.

    Raises:
        InputError: there is no such column.
    """
    table.require([person])
    if isinstance(table.stored, pl.DataFrame):
        return table.replaced(
            frame=_emptied(table.stored, person, kept_rows([person_codes(table, person)], most, coins, counted=counted))
        )
    return table.replaced(frame=_OfPersons(table, table.stored, person, most, coins, counted))


def read_by_plan(
    table: Table,
    *,
    replaces_invalid: bool,
    person: str | None,
    most: int,
    coins: Entropy | None = None,
    counted: bool = False,
) -> Table:
    """Return a table as a plan reads it: invalid values replaced, and the rows of each person bounded, if it says so.

    Args:
        table: all rows, not a part of them.
        replaces_invalid: whether invalid values count as missing.
        person: the column that identifies a person; ``None`` where no row is emptied.
        most: rows of each person that are kept.
        coins: choose them; by default the operating system's, and seeded ones in a study.
        counted: as of :func:`limit_rows_per_person`.

    Raises:
        InputError: the table is joined on another column than ``person``.
    """
    if table.joined is not None and table.joined.person != person:
        what = f"a second table is joined on {table.joined.person!r}, and the plan does not read rows by that person"
        raise InputError(what, table.source, f'write unit = "{table.joined.person}" in the plan', code="join-unit")
    rows = table.with_invalid_replaced() if replaces_invalid else table
    return rows if person is None else limit_rows_per_person(rows, person, most, coins or OsEntropy(), counted=counted)


class _OfPersons(Rows):
    """Rows that are read in parts, those beyond the kept ones empty."""

    def __init__(self, table: Table, rows: Rows, person: str, most: int, coins: Entropy, counted: bool) -> None:
        self._table, self._rows, self._person = table, rows, person
        self._most, self._coins, self._counted = most, coins, counted
        self.height, self.columns = rows.height, rows.columns

    @cached_property
    def _chosen(self) -> _Rows:
        ids = (person_codes(part, self._person) for part in self._table.parts())
        return kept_rows(ids, self._most, self._coins, counted=self._counted)

    def load(self) -> pl.DataFrame:
        return _emptied(self._rows.load(), self._person, self._chosen)

    def parts(self, at_once: int) -> Iterator[Part]:
        """Yield the rows; their cells are read when they are used."""
        chosen, done = self._chosen, 0
        for part in self._rows.parts(at_once):
            yield Part(part.height, self.columns, partial(self._read, part, chosen[done : done + part.height]))
            done += part.height

    def _read(self, part: Rows | pl.DataFrame, chosen: _Rows) -> pl.DataFrame:
        return _emptied(part if isinstance(part, pl.DataFrame) else part.load(), self._person, chosen)


def person_codes(table: Table, person: str) -> pl.Series:
    """Return the person of each row, shape (n,); null where the cell is missing.

    Words such as ``none`` are not: a person of that name would have as many rows as she likes.
    """
    cells = marked(table, person).str.strip_chars()
    return cells.set(cells == "", None)


def kept_rows(ids: Iterable[pl.Series], most: int, coins: Entropy, *, counted: bool) -> _Rows:
    """Return what becomes of each row, shape (n,), by whose it is, in parts; −1 where it is emptied."""
    kept = pl.DataFrame(schema={"person": pl.String, "key": pl.UInt64, "row": pl.Int64, "rows": pl.Int64})
    waiting, named, rows = [kept], [np.zeros(0, dtype=np.bool_)], 0
    for cells in ids:
        some = pl.DataFrame(
            {
                "person": cells,
                "key": np.array(coins.words(len(cells))),
                "row": np.arange(rows, rows + len(cells)),
                "rows": np.ones(len(cells), dtype=np.int64),
            },
            schema=kept.schema,
        )
        waiting.append(some.drop_nulls("person"))
        named.append(cells.is_not_null().to_numpy())
        rows += len(cells)
        if sum(part.height for part in waiting[1:]) > max(_MERGED, waiting[0].height):
            waiting = [_lowest(waiting, most)]
    chosen = np.where(np.concatenate(named), np.int32(_EMPTIED), np.int32(0))
    last = _lowest(waiting, most)
    chosen[last["row"].to_numpy()] = np.minimum(last["rows"].to_numpy(), _MANY) if counted else 0
    return chosen


def _lowest(parts: list[pl.DataFrame], most: int) -> pl.DataFrame:
    """Return the rows with the lowest keys of each person; where it is one, ``rows`` counts those it represents."""
    rank = pl.col("key").rank("ordinal").over("person")
    return pl.concat(parts).with_columns(pl.col("rows").sum().over("person")).filter(rank <= most)


def _emptied(frame: pl.DataFrame, person: str, chosen: _Rows) -> pl.DataFrame:
    """Return rows with some of them empty; nobody reads any further whose they are."""
    found = pl.Series(chosen)
    cells = frame.select(pl.when(found == _EMPTIED).then(None).otherwise(pl.all()).name.keep())
    return cells.with_columns(pl.when(found > 0).then(found.cast(pl.String)).alias(person))

"""Two tables joined on the person: one row of the second table is added to all rows of that person in the first.

Of the second table one row of each person is kept, by the lowest of fresh random keys, as rows of persons are kept
(:mod:`workbench.data.persons`). A row of the first has the cells of that row beside its own; they are empty where its
person is not in the second table, or where it names nobody. A row of the second whose person is not in the first is
nowhere.

**Why a person changes at most k rows.** Neighbours are two pairs of tables: in one of them all rows of a person, in
both tables, are empty. Which row of somebody is kept of the second table depends on the keys and on which rows are
hers alone. So for any keys the joined tables differ in her rows of the first table, and nowhere else: there they are
empty as a whole, for without a person nothing is joined. That is what :mod:`workbench.data.persons` takes for granted:
of her joined rows k are kept, and the others become empty. Her row of the second table is in k of them at most. The
numbers of rows of both tables stay as they are, and are public.

**A single row is not covered.** If one row of the second table becomes empty, another row of its person may take its
place, and k joined rows hold other values: each is as if it were emptied and put back. So a release of a joined table
is for persons, never for rows (``Release.covers_rows`` of the ledger).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from workbench.data.columns.missing import marked
from workbench.data.persons import kept_rows, person_codes
from workbench.data.reading_options import Reading
from workbench.data.rows_in_parts import each_part, require_memory
from workbench.data.table import FileFacts, Joined, Table
from workbench.params import InputError, Parameters, text
from workbench.params.lists import nested
from workbench.privacy.entropy import Entropy, OsEntropy

NAME_SUFFIX = (
    "_2"  # what the name of a column of the second table ends in where the first one has a column of that name
)


@dataclass(frozen=True, kw_only=True)
class Join(Parameters):
    """The table ``[join]`` of a plan: a second table that says more of the same persons."""

    on: str = text(help="the column of the second table that identifies a person; unit is that of the first")
    # a declaration, as the other is
    reading: Reading | None = nested(Reading, default=None, help="how the second file is read")  # noqa: RUF009


def join_on_person(first: Table, second: Table, person: str, on: str, coins: Entropy | None = None) -> Table:
    """Return the rows of ``first``, each beside the row of its person in ``second``; they stay in parts if they are.

    A stated mark of a missing value is one in its own file; that of the first file is one in all columns.

    Args:
        first: the rows, as they were read.
        second: one row of each person is kept in memory, and while it is chosen a text and three numbers of each row.
        person: the column of ``first`` that identifies a person.
        on: that of ``second``.
        coins: the keys of the rows of ``second``; by default the operating system's.

    Raises:
        InputError: there is no such column, or the two cannot be read as one table.
    """
    _require_fitting(first, second, person, on)
    names = _called(first, second, on)
    if second.in_parts:  # by the number of rows, which is public: how many persons there are is not
        require_memory(second.rows, len(second.names), 0, second.source)
    chosen = kept_rows((person_codes(part, on) for part in second.parts()), 1, coins or OsEntropy(), counted=False)
    index = np.flatnonzero(chosen >= 0).astype(np.int64)
    kept = second.replaced(frame=second.at(index))
    known = pl.DataFrame({"person": person_codes(kept, on), "row": np.arange(len(index))}).drop_nulls("person")
    cells = pl.DataFrame({new: marked(kept, old) for old, new in names.items()})
    beside = partial(_beside, first, person, known, cells)
    return first.rewritten(beside, names=(*first.names, *names.values())).replaced(
        joined=Joined(first, second, person, on, tuple(names.values())),
        notices=(*first.notices, *second.notices),
        renamed=(*first.renamed, *(names[name] for name in second.renamed if name in names)),
        types={**first.types, **{names[name]: kind for name, kind in second.types.items() if name in names}},
        left_out={**first.left_out, **second.left_out},
        facts=_facts(first.facts, second.facts, names),
    )


def persons_matched(table: Table) -> int:
    """Return how many persons of the second table are in the first one, of a joined table. Private."""
    of = table.joined
    assert of is not None
    return persons_in_both(of.first, of.second, of.person, of.on)


def persons_in_both(first: Table, second: Table, person: str, on: str) -> int:
    """Return how many persons are in both tables, by the columns that identify them. Private."""
    sides = []
    for table, column in ((first, person), (second, on)):
        names = [part.drop_nulls().unique() for part in each_part(table, partial(_whose_in, column))]
        sides.append(pl.concat([pl.Series([], dtype=pl.String), *names]).unique())
    return int(sides[0].is_in(sides[1].implode()).sum())


def _whose_in(column: str, part: Table) -> pl.Series:
    return person_codes(part, column)


def _beside(first: Table, person: str, known: pl.DataFrame, cells: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows of the first table with the cells of their persons beside them."""
    asked = pl.DataFrame({"person": person_codes(first.replaced(frame=frame), person)})
    row = asked.join(known, on="person", how="left", validate="m:1", maintain_order="left")["row"]
    return frame.hstack(cells.select(pl.all().gather(row)).get_columns())


def _require_fitting(first: Table, second: Table, person: str, on: str) -> None:
    if first.joined is not None or second.joined is not None:
        raise InputError("one of the two tables is joined already", second.source, "join two tables that are read")
    first.require([person])
    second.require([on])
    same = os.path.realpath(first.source) == os.path.realpath(second.source) and first.facts.part == second.facts.part
    if same and person == on:
        what = "the second table is the same as the first, and would add nothing"
        raise InputError(what, second.source, "choose another table about the same persons", code="join-same")
    if len(second.names) == 1:
        what = "the second table has only the column that identifies a person"
        raise InputError(what, second.source, "choose a table with other columns as well", code="join-empty")
    if (first.decimal == ",") != (second.decimal == ","):
        what = "the two tables are read with different decimal marks"
        raise InputError(what, second.source, "write the numbers of both files with the same mark", code="join-decimal")


def joined_names(first: Sequence[str], second: Sequence[str], on: str) -> dict[str, str]:
    """Return the names of the second table's columns in the joined table, without its person column."""
    return {name: name + NAME_SUFFIX if name in first else name for name in second if name != on}


def _called(first: Table, second: Table, on: str) -> dict[str, str]:
    """Return the same; refuse two columns of one name."""
    found = joined_names(first.names, second.names, on)
    for name in found.values():
        if name in first.names or [*found.values()].count(name) > 1:
            raise InputError(
                f"two columns of the joined table would be called {name!r}",
                second.source,
                "rename one of them in its file",
                code="join-names",
            )
    return found


def _facts(first: FileFacts, second: FileFacts, names: dict[str, str]) -> FileFacts:
    def here(stated: Any) -> dict[str, Any]:
        return {names[name]: said for name, said in stated.items() if name in names}

    return dataclasses.replace(
        first,
        labels={**first.labels, **here(second.labels)},
        values={**first.values, **here(second.values)},
        missing={**first.missing, **here(second.missing)},
    )

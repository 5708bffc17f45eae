"""Tables of the same columns as numbers and codes, so that one can be compared with another; private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.missing import marked, missing_cells, with_codes
from workbench.data.columns.profile import profile_column
from workbench.data.columns.values import codes, numbers
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.studies.association import Variable

READABLE = 0.9  # share of a released column's cells that are numbers, from which on it is compared as numbers

_LOOKS = {
    "identifier": "looks like an identifier",
    "e-mail": "looks like e-mail addresses",
    "phone": "looks like telephone numbers",
}
"""Why a column is not compared, by what is suspected of it: hardly two people share its values."""


@dataclass(frozen=True, eq=False)
class Rows:
    """One table."""

    columns: tuple[Variable, ...]  # its columns; codes of names mean the same in every table that was read with it
    count: int

    def only(self, rows: NDArray[Any]) -> Rows:
        """Return some of its rows."""
        columns = tuple(Variable(c.name, c.values[rows], c.numeric) for c in self.columns)
        return Rows(columns, len(columns[0].values))


@dataclass(frozen=True, eq=False)
class Compared:
    """What is compared: ``like`` and ``real`` have as many rows, so that both miss ``seen`` by chance alike."""

    original: Rows
    released: Rows
    seen: Rows  # original rows that held-out ones are compared with
    real: Rows  # held-out real rows: of a table that was never released, or a half of the original
    like: Rows  # as many rows of the release
    held_out: bool  # whether `real` is a table of its own
    labels: tuple[tuple[str, ...], ...]  # the name of each code, by column; empty of numbers
    target: str | None
    left_out: dict[str, str]  # why a column is not compared, by its name

    def is_release(self, one: Rows, other: Rows) -> bool:
        """Return whether these are the original and the release, whole; with a control set others begin alike."""
        return one is self.original and other is self.released

    def each(self, score: Callable[[Rows, Rows], float]) -> tuple[float, float, float]:
        """Return a score of the release, of as many of its rows as there are held-out ones, and of the held-out."""
        pairs = ((self.original, self.released), (self.seen, self.like), (self.seen, self.real))
        value, like, reached = (score(*pair) for pair in pairs)
        return value, like, reached


def read_compared(
    original: Table,
    released: Table,
    control: Table | None,
    plan: Plan | None,
    target: str | None,
    seed: int,
    cancel: CancelToken,
) -> Compared:
    """Read what is compared: the columns that all tables have.

    Without a ``control`` set a half of the original is held out; without a plan the kinds of columns are taken from the
    original. The ``seed`` is that of the halves and of which rows of the release are beside them.

    Raises:
        InputError: the tables have no column in common, or too few rows, or not the target.
    """
    if plan is not None:  # a release has no codes: noise may be the same number
        original = with_codes(original, plan.columns)
        control = control and with_codes(control, plan.columns)
    tables = [original, released, *([] if control is None else [control])]
    columns, labels, left_out = _shared_columns(tables, plan, cancel)
    if not columns:
        raise InputError("the release and the original have no columns in common", released.source, "check both names")
    if min(table.rows for table in tables) < 4:
        raise InputError("a table has fewer than four rows", hint="use larger tables")
    if target is not None and target not in {one[0].name for one in columns}:
        raise InputError(
            f"there is no column {target!r} that both tables share", "--target", "choose a column that both have"
        )
    sides = [Rows(tuple(one[k] for one in columns), table.rows) for k, table in enumerate(tables)]
    drawn = np.random.default_rng(seed)
    if control is None:
        mixed = drawn.permutation(original.rows)
        seen, real = (sides[0].only(mixed[k::2]) for k in (0, 1))
    else:
        seen, real = sides[0], sides[2]
    like = sides[1]
    if like.count > real.count:
        like = like.only(drawn.choice(like.count, real.count, replace=False))
    elif like.count < real.count:
        real = real.only(drawn.choice(real.count, like.count, replace=False))
    held_out = control is not None
    return Compared(sides[0], sides[1], seen, real, like, held_out, tuple(labels), target, left_out)


def _shared_columns(
    tables: Sequence[Table], plan: Plan | None, cancel: CancelToken
) -> tuple[list[list[Variable]], list[tuple[str, ...]], dict[str, str]]:
    """Return each column that is compared, of every table; the name of each of its codes; why others are left out."""
    original = tables[0]
    columns, labels, left_out = [], [], {}
    for name in original.names:
        cancel.check()
        if any(name not in table.names for table in tables):
            left_out[name] = "not released"
            continue
        attribute, why = _declared(original, name, plan)
        if why:
            left_out[name] = why
            continue
        values, named = _column(tables, attribute)
        columns.append([Variable(name, one, named is None) for one in values])
        labels.append(named or ())
    return columns, labels, left_out


def _declared(original: Table, name: str, plan: Plan | None) -> tuple[Attribute, str]:
    known = None if plan is None else next((c for c in plan.columns if c.name == name), None)
    if known is not None and known.kind is not None:
        return known.facts(), ""
    found = profile_column(original, name)
    telling = next((s.what for s in found.suspicions if s.what in _LOOKS), "")
    order = found.date_order or ("day-first" if found.year_last else None)
    return Attribute(name=name, kind=found.kind, date_order=order), _LOOKS.get(telling, "")


def _column(tables: Sequence[Table], attribute: Attribute) -> tuple[list[NDArray[Any]], tuple[str, ...] | None]:
    """Return a column of each table as numbers, or as codes with what each means."""
    if attribute.numeric:
        kind = "date" if attribute.kind == "date" else "real"
        read = Attribute(name=attribute.name, kind=kind, missing="own-value", date_order=attribute.date_order)
        values = [numbers(_tolerant(table), read) for table in tables]
        if all(_readable(table, attribute.name, found) for table, found in zip(tables, values, strict=True)):
            return values, None
    texts = [_texts(table, attribute) for table in tables]
    labels = pl.concat([text.drop_nulls().unique() for text in texts]).unique().sort()
    place = pl.Enum(labels)
    coded = [text.cast(place).to_physical().cast(pl.Int64).fill_null(-1).to_numpy() for text in texts]
    return coded, tuple(labels)


def _tolerant(table: Table) -> Table:
    return table.replaced(replaces_invalid=True)


def _readable(table: Table, name: str, found: NDArray[np.float64]) -> bool:
    cells = marked(table, name)
    given = len(cells) - int(missing_cells(table, cells).sum())
    return int(np.count_nonzero(~np.isnan(found))) >= READABLE * given


def _texts(table: Table, attribute: Attribute) -> pl.Series:
    cells = marked(table, attribute.name)
    if attribute.kind == "boolean" and attribute.domain is None:
        declared = Attribute(name=attribute.name, kind="boolean", missing="own-value")
        found = codes(_tolerant(table), declared)
        if int((found < 2).sum()) >= READABLE * (len(cells) - int(missing_cells(table, cells).sum())):
            return pl.Series(np.array(["false", "true", None], dtype=object)[found], dtype=pl.String)
    listed = cells.is_in(list(attribute.domain or ())).fill_null(value=False)  # a listed "none" is a value
    cells = cells.set(missing_cells(table, cells) & ~listed, None)
    if attribute.domain is not None and attribute.other is not None:
        cells = cells.set(~listed & cells.is_not_null(), attribute.other)
    return cells

"""Values nobody declared: categories by a threshold, bounds by a private histogram over scales, rows of a person.

**How many rows of a person to keep** is a private quantile of the numbers of rows that persons have, on the public grid
1 to K. It is read of one row of each person, which says how many she has (:mod:`workbench.data.persons`): emptying all
her rows, however many, takes one value away, and costs the ε of one row.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.missing import marked, missing_cells
from workbench.data.columns.values import doubles
from workbench.data.columns.values_file import LONGEST, SCALES, FoundValue, decode, encode, noisy_bounds, scale_counts
from workbench.data.rows_in_parts import each_part
from workbench.data.table import Table
from workbench.params import InputError, ParameterError, Parameters, did_you_mean, integer, real, text, texts
from workbench.privacy.accounting.event import ApproximateDp, PureDp, divided
from workbench.privacy.central.quantile_choice import Held, simple
from workbench.privacy.central.threshold import least_with_tail, threshold
from workbench.release.open_release import plan_of
from workbench.release.verification import verified
from workbench.sanitize.plan import REPLACE, Column, Plan
from workbench.sanitize.writing import headers
from workbench.signals import NEVER, CancelToken, Emit, Progress
from workbench.work.ask import Ask
from workbench.work.work import Work, WorkOutput

KIND = "values"
_EMPTY_TAKEN = Decimal("0.001")  # chance that a cell of the grid without rows widens the bounds of a column
_EPSILON_DIGITS, _DELTA_DIGITS = Decimal("1e-12"), Decimal("1e-24")
_ROOM_OF_A_VALUE, _MOST_ROOM = 2 * LONGEST, 1 << 14

RULE = (
    "A value is published, with its noisy count, where that is at least the threshold of its column: a value that one "
    "row alone holds is published with a chance of at most the delta of its column. How many values did not pass is "
    "not known. Bounds are the smallest range of the public grid (0 and the powers of two from 2^-16 to 2^64, with "
    "either sign) with every cell whose noisy count is at least the least one of its column, and 0 in place of an end "
    "that is less than a sixteenth of the other; a few rows may lie outside."
)
RULE_OF_PERSONS = (
    "Of each person one row is read, whatever is asked for. How many rows of each are to be kept is drawn from 1 to a "
    "public most, by the exponential mechanism, near the least number that the stated share of persons do not exceed."
)


@dataclass(frozen=True, kw_only=True)
class ValuesOptions(Parameters):
    """What a person chooses: columns of names, columns of numbers, and the column that identifies a person."""

    category: tuple[str, ...] | None = texts(
        default=None, shortest=1, repeated=True, symbol="COL", help="find the values of COL; may be repeated"
    )
    number: tuple[str, ...] | None = texts(
        default=None, shortest=1, repeated=True, symbol="COL", help="find bounds of COL; may be repeated"
    )
    person: str | None = text(
        default=None,
        symbol="COL",
        help="find how many rows of each person to keep; COL identifies the person. Then ε covers all their rows",
    )
    share: float = real(
        default=0.95, at_least=0.01, upto=0.999, help="with --person: the share of persons who have no more rows"
    )
    most_rows: int = integer(
        default=100, at_least=2, upto=10_000, help="with --person: the most rows considered (public)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.columns:
            raise ParameterError("no column was given", hint="give one: --category COL, --number COL or --person COL")
        if self.person is None and (self.share, self.most_rows) != (type(self).share, type(self).most_rows):
            raise ParameterError("share and most_rows are for persons, but no column identifies the person", "person")
        if self.person is not None and self.person in self.columns[:-1]:
            raise ParameterError(f"the column {self.person!r} identifies the person", hint="do not list it elsewhere")
        for name in set(self.category or ()).intersection(self.number or ()):
            raise ParameterError(f"the column {name!r} is to have values and bounds", hint="choose one of the two")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (*(self.category or ()), *(self.number or ()), *([self.person] if self.person else []))


def planned(plan: Plan, asked: ValuesOptions) -> Plan:
    """Return the plan by which values are found: where the person is named, one row of each is read.

    Raises:
        ParameterError: the plan has no such column.
    """
    if asked.person is None:
        return plan
    _require_columns(plan, asked)
    columns = tuple(
        Column(name=c.name, action="drop") if c.name == asked.person or c.action == "keep" else c for c in plan.columns
    )
    changes: dict[str, Any] = {"unit": asked.person, "rows_per_person": 1, "invalid": REPLACE}
    return dataclasses.replace(plan, columns=columns, **changes)


def released_values(path: Path, cancel: CancelToken = NEVER) -> tuple[list[FoundValue], str]:
    """Return what a release of values has found, after verifying it, and the id of that release.

    Raises:
        InputError: there is none, or it is a release of another kind.
        CheckFailedError: it is not what its certificate says.
    """
    release = verified(path, cancel)
    if release.document.get("kind") != KIND:
        raise InputError("this is not a release of values", str(path), "give a file that `workbench values` released")
    lines = decode(release.release.read_bytes(), str(path))
    if plan_of(release.document, path).defuses_formulas:
        lines = [dataclasses.replace(line, column=_bare(line.column), value=_bare(line.value)) for line in lines]
    return lines, release.document["release_id"]


def _bare(text: str) -> str:
    """Return a name or value without the apostrophe that keeps a spreadsheet from running it."""
    return text[1:] if headers([text[1:]]) == [text] else text


@dataclass(frozen=True)
class Answers:
    """The noisy counts of the values that passed, and of all cells of the grid, by column; rows of a person to keep.

    ``least`` is the noisy count from which on a cell is within the bounds: no more than a way to read the counts, and a
    certificate may have another one than is chosen today.
    """

    values: Mapping[str, Mapping[str, int]]
    cells: Mapping[str, Sequence[int]]
    least: Mapping[str, int]
    rows: int | None = None


def values_work(
    plan: Plan, asked: ValuesOptions, epsilon: Decimal, delta: Decimal, rows: int, file_format: str
) -> Work:
    """Return the release of what is asked for; reads no row.

    Raises:
        ParameterError: the plan has no such column, or is not :func:`planned` for persons; or values are asked for
            without a δ, or a δ is given without them.
    """
    _require_columns(plan, asked)
    if asked.person is not None and (plan.unit, plan.rows_per_person) != (asked.person, 1):
        raise ParameterError("the plan does not read one row of each person", "unit", f"name {asked.person!r} as unit")
    found, numbers, persons = events_of(asked, epsilon, delta)
    least = {name: threshold(event.epsilon, event.delta) for name, event in found.items()}
    held = {name: least_with_tail(event.epsilon, _EMPTY_TAKEN / SCALES) for name, event in numbers.items()}

    def ask_all(table: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> Answers:
        values, cells = _counts(table, asked, cancel)
        emit(Progress(0, len(asked.columns), "rows counted"))
        rows = None
        if persons is not None:
            held_by = Held.of(_rows_of_persons(table, asked, cancel))
            (rows,) = ask.quantiles(persons.label, [held_by], 1, asked.most_rows, [simple(asked.share)])[0]
        return Answers(
            {name: ask.occurring(event.label, values[name]) for name, event in found.items()},
            {name: ask(event.label, cells[name].tolist(), 1) for name, event in numbers.items()},
            held,
            rows,
        )

    def files(answers: Answers, cancel: CancelToken) -> WorkOutput:
        lines = [
            FoundValue(name, value, count)
            for name, passed in answers.values.items()
            for value, count in sorted(passed.items(), key=lambda each: (-each[1], each[0]))
        ]
        for name, noisy in answers.cells.items():
            made = noisy_bounds(noisy, answers.least[name])
            lines += [FoundValue(name, lower=made[0], upper=made[1])] if made is not None else []
        lines += [FoundValue(asked.person or "", count=answers.rows)] if answers.rows is not None else []
        if plan.defuses_formulas:
            texts = [headers([getattr(line, name) for line in lines]) for name in ("column", "value")]
            lines = [dataclasses.replace(line, column=c, value=v) for line, c, v in zip(lines, *texts, strict=True)]
        return WorkOutput(encode(lines), _method(answers, least))

    return Work(
        kind=KIND,
        columns=asked.columns,
        events=(*found.values(), *numbers.values(), *([persons] if persons else [])),
        request=asked.to_plain(),
        room=(1 << 16) + _ROOM_OF_A_VALUE * min(rows, _MOST_ROOM) + (SCALES * 20 + 1000) * len(asked.columns),
        ask=ask_all,
        files=files,
        check=lambda table, cancel: None,  # a cell counts for one value or for none, whatever it says
        answers=lambda method: _answers(method, least, [*numbers], asked),
        counts_persons=persons is not None,
    )


def events_of(
    asked: ValuesOptions, epsilon: Decimal, delta: Decimal
) -> tuple[dict[str, ApproximateDp], dict[str, PureDp], PureDp | None]:
    """Return the question of each column: all have equal shares of ε, and those of values equal ones of δ.

    Raises:
        ParameterError: as :func:`values_work`.
    """
    named, numbers = asked.category or (), asked.number or ()
    if bool(named) != bool(delta):
        if named:
            what = "finding undeclared values needs a delta"
            raise ParameterError(what, hint="give --delta, below 1/rows", field="delta")
        raise ParameterError("without --category nothing needs a delta", hint="leave --delta out", field="delta")
    shares = divided(epsilon, [1.0] * len(asked.columns), _EPSILON_DIGITS)
    chances = divided(delta, [1.0] * len(named), _DELTA_DIGITS) if named else []
    if not all(share > 0 for share in (*shares, *chances)):
        raise ParameterError("epsilon or delta is too small for so many columns", hint="name fewer")
    values = {
        name: ApproximateDp(share, chance, f"values of {name}")
        for name, share, chance in zip(named, shares, chances, strict=False)
    }
    rest = zip(numbers, shares[len(named) :], strict=False)
    persons = None if asked.person is None else PureDp(shares[-1], f"rows of each {asked.person}")
    return values, {name: PureDp(share, f"scales of {name}") for name, share in rest}, persons


def _require_columns(plan: Plan, asked: ValuesOptions) -> None:
    known = [column.name for column in plan.columns]  # of the table, where no plan was given
    for name in asked.columns:
        if name not in known:
            what = f"there is no column {name!r}{did_you_mean(name, known)}"
            raise ParameterError(what, hint="name a column of the table and of its plan", code="unknown-column")


def _counts(
    table: Table, asked: ValuesOptions, cancel: CancelToken
) -> tuple[dict[str, Counter[str]], dict[str, np.ndarray[Any, np.dtype[np.int64]]]]:
    values = {name: Counter[str]() for name in asked.category or ()}
    cells = {name: np.zeros(SCALES, dtype=np.int64) for name in asked.number or ()}

    def look(part: Table) -> tuple[list[dict[str, int]], list[Any]]:
        return [_values_in(part, name) for name in values], [_scales_in(part, name) for name in cells]

    for named, numbers in each_part(table, look, cancel):
        for name, seen in zip(values, named, strict=True):
            values[name].update(seen)
        for name, counts in zip(cells, numbers, strict=True):
            cells[name] += counts
    return values, cells


def _rows_of_persons(table: Table, asked: ValuesOptions, cancel: CancelToken) -> NDArray[np.int64]:
    """Return how many rows each person has, ``most_rows`` at most, sorted; a person without a name has none."""
    name, most = asked.columns[-1], asked.most_rows

    def look(part: Table) -> NDArray[np.int64]:
        rows = part.column(name).cast(pl.Int64).drop_nulls().clip(1, most).to_numpy()
        return np.bincount(rows, minlength=most + 1)

    counts = np.zeros(most + 1, dtype=np.int64)
    for found in each_part(table, look, cancel):
        counts += found
    return np.repeat(np.arange(most + 1), counts)


def _values_in(part: Table, name: str) -> dict[str, int]:
    cells = marked(part, name)
    cells = cells.set(missing_cells(part, cells) | (cells.str.len_chars() > LONGEST), None).drop_nulls()
    counted = cells.alias("value").value_counts(name="rows")
    return dict(zip(counted["value"].to_list(), counted["rows"].to_list(), strict=True))


def _scales_in(part: Table, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    numbers = doubles(marked(part, name), part.decimal).cast(pl.Float64)
    return scale_counts(numbers.filter(numbers.is_finite().fill_null(value=False)).to_numpy())


def _method(answers: Answers, least: Mapping[str, int]) -> dict[str, Any]:
    persons = {} if answers.rows is None else {"rule_of_persons": RULE_OF_PERSONS, "rows_of_a_person": answers.rows}
    return {
        "rule": RULE,
        "thresholds": dict(least),
        "least_of_a_cell": dict(answers.least),
        "values": {name: dict(passed) for name, passed in answers.values.items()},
        "cells": {name: " ".join(map(str, noisy)) for name, noisy in answers.cells.items()},
        **persons,
    }


def _answers(
    method: Mapping[str, Any], least: Mapping[str, int], numbers: Sequence[str], asked: ValuesOptions
) -> Answers:
    """Read the answers again from a certificate.

    Raises:
        ParameterError: they are not such as these questions have.
    """
    values, cells, held = method.get("values"), method.get("cells"), method.get("least_of_a_cell")
    if not (isinstance(values, dict) and isinstance(cells, dict) and isinstance(held, dict)):
        raise ParameterError("the certificate has no noisy answers of these columns", "method")
    if [*values] != [*least] or not [*cells] == [*held] == [*numbers]:
        raise ParameterError("the certificate has no noisy answers of these columns", "method")
    for name, passed in values.items():
        if not isinstance(passed, dict) or not all(_passed(*each, least[name]) for each in passed.items()):
            raise ParameterError("the certificate has values that do not pass their threshold", "method")
    made = {name: [int(word) for word in text.split()] if isinstance(text, str) else [] for name, text in cells.items()}
    if not all(len(noisy) == SCALES for noisy in made.values()):
        raise ParameterError("the certificate does not have a noisy count of each cell of the grid", "method")
    if not all(type(count) is int for count in held.values()):
        raise ParameterError("the certificate does not have the least count of a cell of each column", "method")
    rows = method.get("rows_of_a_person")
    if asked.person is None:
        return Answers(values, made, held)
    if type(rows) is not int or not 1 <= rows <= asked.most_rows:
        raise ParameterError("the certificate has no number of rows of a person", "method")
    return Answers(values, made, held, rows)


def _passed(value: str, count: Any, least: int) -> bool:
    return 0 < len(value) <= LONGEST and isinstance(count, int) and not isinstance(count, bool) and count >= least

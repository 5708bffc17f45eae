"""Values nobody declared: categories that pass a threshold, and bounds by a private histogram over scales."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from workbench.data.columns.found import LONGEST, SCALES, Found, bounds, decode, encode, scales
from workbench.data.columns.missing import marked, missing_cells
from workbench.data.columns.values import doubles
from workbench.data.rows_in_parts import each_part
from workbench.data.table import Table
from workbench.params import InputError, ParameterError, Parameters, texts
from workbench.privacy.accounting.event import ApproximateDp, PureDp, divided
from workbench.privacy.central.threshold import least_with_tail, threshold
from workbench.release.verify_any import verified
from workbench.sanitize.plan import Plan
from workbench.signals import Progress
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit
from workbench.work.ask import Ask
from workbench.work.work import Made, Work

KIND = "values"
_EMPTY_TAKEN = Decimal("0.001")
"""Chance that a cell of the grid without rows widens the bounds of a column."""
_EPSILON_DIGITS, _DELTA_DIGITS = Decimal("1e-12"), Decimal("1e-24")
_ROOM_OF_A_VALUE, _MOST_ROOM = 2 * LONGEST, 1 << 14

RULE = (
    "A value is published, with its noisy count, where that is at least the threshold of its column: a value that one "
    "row alone holds is published with a chance of at most the delta of its column. How many values did not pass is "
    "not known. Bounds are the smallest range of the public grid (0 and the powers of two from 2^-16 to 2^64, with "
    "either sign) with every cell whose noisy count is at least the least one of its column, and 0 in place of an end "
    "that is less than a sixteenth of the other; a few rows may lie outside."
)


@dataclass(frozen=True, kw_only=True)
class Asked(Parameters):
    """What a person chooses: columns of names, and columns of numbers."""

    category: tuple[str, ...] | None = texts(
        default=None, shortest=1, repeated=True, symbol="COL", help="find the values of COL; may be repeated"
    )
    number: tuple[str, ...] | None = texts(
        default=None, shortest=1, repeated=True, symbol="COL", help="find bounds of COL; may be repeated"
    )

    def __post_init__(self) -> None:
        """Check the values, then that something is asked for, and once."""
        super().__post_init__()
        if not self.columns:
            raise ParameterError("no column was named", hint="name one: --category COL or --number COL")
        for name in set(self.category or ()).intersection(self.number or ()):
            raise ParameterError(f"the column {name!r} is to have values and bounds", hint="choose one of the two")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (*(self.category or ()), *(self.number or ()))


def released_values(path: Path, cancel: CancelToken = NEVER) -> tuple[list[Found], str]:
    """Return what a release of values has found, after verifying it, and the id of that release.

    Raises:
        InputError: there is none, or it is a release of another kind.
        CheckFailedError: it is not what its certificate says.
    """
    release = verified(path, cancel)
    if release.document.get("kind") != KIND:
        raise InputError("this is not a release of values", str(path), "name what `workbench values` has released")
    return decode(release.release.read_bytes(), str(path)), release.document["release_id"]


@dataclass(frozen=True)
class Answers:
    """The noisy counts of the values that passed, and of all cells of the grid, by column.

    ``least`` is the noisy count from which on a cell is within the bounds: no more than a way to read the counts, and a
    certificate may have another one than is chosen today.
    """

    values: Mapping[str, Mapping[str, int]]
    cells: Mapping[str, Sequence[int]]
    least: Mapping[str, int]


def values_work(plan: Plan, asked: Asked, epsilon: Decimal, delta: Decimal, rows: int, file_format: str) -> Work:
    """Return the release of what is asked for; reads no row.

    Raises:
        ParameterError: the plan has no such column; or values are asked for without a δ, or a δ is given for bounds.
    """
    for name in asked.columns:
        plan.column(name)
    found, numbers = events_of(asked, epsilon, delta)
    least = {name: threshold(event.epsilon, event.delta) for name, event in found.items()}
    held = {name: least_with_tail(event.epsilon, _EMPTY_TAKEN / SCALES) for name, event in numbers.items()}

    def ask_all(table: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> Answers:
        values, cells = _counts(table, asked, cancel)
        emit(Progress(0, len(asked.columns), "rows counted"))
        return Answers(
            {name: ask.occurring(event.label, values[name]) for name, event in found.items()},
            {name: ask(event.label, cells[name].tolist(), 1) for name, event in numbers.items()},
            held,
        )

    def files(answers: Answers, cancel: CancelToken) -> Made:
        lines = [
            Found(name, value, count)
            for name, passed in answers.values.items()
            for value, count in sorted(passed.items(), key=lambda each: (-each[1], each[0]))
        ]
        for name, noisy in answers.cells.items():
            made = bounds(noisy, answers.least[name])
            lines += [Found(name, lower=made[0], upper=made[1])] if made is not None else []
        return Made(encode(lines), _method(answers, least))

    return Work(
        kind=KIND,
        columns=asked.columns,
        events=(*found.values(), *numbers.values()),
        request=asked.to_plain(),
        room=(1 << 16) + _ROOM_OF_A_VALUE * min(rows, _MOST_ROOM) + (SCALES * 20 + 1000) * len(asked.columns),
        ask=ask_all,
        files=files,
        check=lambda table, cancel: None,  # a cell counts for one value or for none, whatever it says
        answers=lambda method: _answers(method, least, [*numbers]),
    )


def events_of(asked: Asked, epsilon: Decimal, delta: Decimal) -> tuple[dict[str, ApproximateDp], dict[str, PureDp]]:
    """Return the question of each column: all have equal shares of ε, and those of values equal ones of δ.

    Raises:
        ParameterError: as :func:`values_work`.
    """
    named, numbers = asked.category or (), asked.number or ()
    if bool(named) != bool(delta):
        if named:
            what = "values that nobody declared are found at a delta: no delta, no way to find them"
            raise ParameterError(what, hint="give --delta, below 1/rows", field="delta")
        raise ParameterError("bounds are found without a delta", hint="leave --delta out", field="delta")
    shares = divided(epsilon, [1.0] * len(asked.columns), _EPSILON_DIGITS)
    chances = divided(delta, [1.0] * len(named), _DELTA_DIGITS) if named else []
    if not all(share > 0 for share in (*shares, *chances)):
        raise ParameterError("epsilon or delta is too small for so many columns", hint="name fewer")
    values = {
        name: ApproximateDp(share, chance, f"values of {name}")
        for name, share, chance in zip(named, shares, chances, strict=False)
    }
    rest = zip(numbers, shares[len(named) :], strict=True)
    return values, {name: PureDp(share, f"scales of {name}") for name, share in rest}


def _counts(
    table: Table, asked: Asked, cancel: CancelToken
) -> tuple[dict[str, Counter[str]], dict[str, np.ndarray[Any, np.dtype[np.int64]]]]:
    """Return how many rows have each value, and how many are in each cell of the grid."""
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


def _values_in(part: Table, name: str) -> dict[str, int]:
    cells = marked(part, name)
    cells = cells.set(missing_cells(part, cells) | (cells.str.len_chars() > LONGEST), None).drop_nulls()
    counted = cells.alias("value").value_counts(name="rows")
    return dict(zip(counted["value"].to_list(), counted["rows"].to_list(), strict=True))


def _scales_in(part: Table, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    numbers = doubles(marked(part, name), part.decimal).cast(pl.Float64)
    return scales(numbers.filter(numbers.is_finite().fill_null(value=False)).to_numpy())


def _method(answers: Answers, least: Mapping[str, int]) -> dict[str, Any]:
    """Return what a certificate says of the questions, and everything that the file is made of."""
    return {
        "rule": RULE,
        "thresholds": dict(least),
        "least_of_a_cell": dict(answers.least),
        "values": {name: dict(passed) for name, passed in answers.values.items()},
        "cells": {name: " ".join(map(str, noisy)) for name, noisy in answers.cells.items()},
    }


def _answers(method: Mapping[str, Any], least: Mapping[str, int], numbers: Sequence[str]) -> Answers:
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
        raise ParameterError("the certificate has not a noisy count of each cell of the grid", "method")
    if not all(type(count) is int for count in held.values()):
        raise ParameterError("the certificate has not the least count of a cell of each column", "method")
    return Answers(values, made, held)


def _passed(value: str, count: Any, least: int) -> bool:
    return 0 < len(value) <= LONGEST and isinstance(count, int) and not isinstance(count, bool) and count >= least

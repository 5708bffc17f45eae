"""The public facts of a synthesis, in one place, so that forecast, study and release use the same cells.

Statements of what is impossible (:mod:`workbench.data.impossible_combinations`) as cells that a synthetic table never
holds.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from workbench.data.impossible_combinations import OPTION, Statement, statements
from workbench.data.schema import Attribute
from workbench.params import ParameterError
from workbench.privacy.central.share import Budget
from workbench.synth import AUTO, CHANCES, LINE, MARGINALS, MST, TAN, synthesiser
from workbench.synth.base import BARRIER, Impossible, Setting, Synthesiser
from workbench.synth.chances import BudgetDivision
from workbench.synth.cliques import CliqueTree, spread
from workbench.synth.columns import CoarseColumn, coarse_columns, public_cuts
from workbench.synth.resources import require_bounded
from workbench.synth.tan import ENOUGH, parts_of

_MOST_CELLS = 1 << 20


def cut_for(columns: Sequence[CoarseColumn], declared: Sequence[Statement]) -> tuple[CoarseColumn, ...]:
    """Return the columns with further cuts where a declared range begins or ends: no coarse cell lies half inside.

    Raises:
        ParameterError: a column or a value is not known.
    """
    out = list(columns)
    places = {column.name: place for place, column in enumerate(columns)}
    for statement in declared:
        for name, values in statement.parts:
            if name not in places:
                raise ParameterError(
                    f"the column {name!r} is not in the synthetic table", OPTION, f"choose one of {', '.join(places)}"
                )
            column = out[places[name]]
            if column.ordered:
                edges = {edge for value in values for edge in _cells(column, value)}
                starts = {*column.firsts()[:-1].tolist(), *(e for e in edges if 0 < e < column.grid.cells.size)}
                out[places[name]] = CoarseColumn(column.grid, len(starts), tuple(sorted(starts)))
    return tuple(out)


def masks(columns: Sequence[CoarseColumn], declared: Sequence[Statement]) -> tuple[Impossible, ...]:
    """Return which coarse cells of the columns of :func:`cut_for` cannot occur.

    Raises:
        ParameterError: a value is not known, or a statement's table would be too large.
    """
    places = {column.name: place for place, column in enumerate(columns)}
    out = []
    for statement in declared:
        parts = sorted((places[name], values) for name, values in statement.parts)
        cells = math.prod(columns[place].size for place, _ in parts)
        if cells > _MOST_CELLS:
            raise ParameterError(
                f"the table of one statement would have {cells:,} cells, above {_MOST_CELLS:,}",
                OPTION,
                "use fewer columns in it",
            )
        mask = np.ones((), dtype=bool)
        for place, values in parts:
            mask = np.logical_and.outer(mask, _axis(columns[place], values))
        out.append((tuple(place for place, _ in parts), np.asarray(mask)))
    return tuple(out)


def _axis(column: CoarseColumn, values: Sequence[str]) -> NDArray[np.bool_]:
    here = np.zeros(column.size, dtype=bool)
    for value in values:
        first, stop = _cells(column, value)
        if column.ordered:
            starts = column.firsts()
            here[: column.cuts] |= (starts[:-1] >= first) & (starts[1:] <= stop)
        else:
            here[first:stop] = True
    return here


def _cells(column: CoarseColumn, value: str) -> tuple[int, int]:
    """Return the fine cells [first, stop) of a value or range."""
    labels = column.grid.labels
    if value in labels:
        place = labels.index(value)
        return place, place + 1
    low, dots, high = value.partition("..")
    if column.ordered and dots:
        ends = [_number(column, text.strip()) for text in (low, high)]
        numbers = np.asarray([_number(column, label) for label in labels])
        inside = np.flatnonzero((numbers >= ends[0]) & (numbers <= ends[1]))
        if len(inside):
            return int(inside[0]), int(inside[-1]) + 1
    raise ParameterError(
        f"{value!r} is not one of the public values of {column.name}",
        OPTION,
        "write a value as released, or a range such as 0..15",
    )


def _number(column: CoarseColumn, text: str) -> float:
    try:
        if column.grid.attribute.kind == "date":
            return float(datetime.date.fromisoformat(text).toordinal())
        return float(text)
    except ValueError:
        raise ParameterError(f"{text!r} is not a valid end of a range of {column.name}", OPTION) from None


def require_some_row(columns: Sequence[CoarseColumn], impossible: Sequence[Impossible]) -> None:
    """Refuse statements that together leave no row at all.

    Raises:
        ParameterError: they do, or they join so many columns that it cannot be found out.
    """
    sizes = [column.size for column in columns]
    tree = CliqueTree.of(sizes, [places for places, _ in impossible])
    if tree.cells > _MOST_CELLS:
        stated = f"together the statements join columns into {tree.cells:,} cells, above {_MOST_CELLS:,}"
        raise ParameterError(stated, OPTION, "declare fewer statements")
    potentials = tree.flat()
    for places, mask in impossible:
        home = tree.home(places)
        potentials[home] = potentials[home] + spread(np.where(mask, BARRIER, 0.0), places, tree.cliques[home])
    found = tree.marginals(potentials)
    # Where every row breaks a statement, all of them together still get the whole chance.
    if any(found.of(places)[mask].sum() > 0 for places, mask in impossible):
        raise ParameterError(
            "the statements make every row impossible", OPTION, "allow at least one value of each column"
        )


_NO_DELTA = Decimal(0)


def method_for(
    name: str | None,
    facts: Sequence[Attribute],
    target: int | None,
    rows: int,
    epsilon: Decimal,
    delta: Decimal = _NO_DELTA,
    impossible: str | None = None,
) -> Synthesiser:
    """Return the method of that name; where there is none, or it is ``auto``, the one that is forecast best.

    The forecast reads no row: it goes by the number of rows and columns, the cells of the target, and ε.

    Raises:
        ParameterError: there is no such method, or a fact is not declared.
    """
    if name not in (None, AUTO):
        return synthesiser(str(name))
    if target is None:
        return MST
    if len(facts) > 2:
        best = LINE if delta and facts[target].numeric else TAN
        setting = setting_for(facts, target, rows, epsilon, delta=delta, impossible=impossible, method=CHANCES)
        way = BudgetDivision.of(setting)
        # Beside numbers tan is as good as a model of products.
        pays = way and not (way.descent.bends and any(column.ordered for column in setting.columns))
        if pays and _bounded(setting, CHANCES):
            return CHANCES
        setting = setting_for(facts, target, rows, epsilon, delta=delta, method=best)
        if parts_of(best.inner(setting)) >= ENOUGH and _bounded(setting, best):
            return best
    return MARGINALS


def _bounded(setting: Setting, method: Synthesiser) -> bool:
    try:
        require_bounded(setting, method)
    except ParameterError:
        return False
    return True


def setting_for(
    facts: Sequence[Attribute],
    target: int | None,
    rows: int,
    epsilon: Decimal,
    cuts: int | None = None,
    delta: Decimal = _NO_DELTA,
    impossible: str | None = None,
    method: Synthesiser | None = None,
) -> Setting:
    """Return the setting of a synthesis of n rows, a public number, at (ε, δ) of one row's whole record.

    ``target`` is the place of the column that others are to predict. The cuts of a column of numbers are by default
    those of the method, or :func:`public_cuts`.

    Raises:
        ParameterError: there is no column, or a fact is not declared.
    """
    if cuts is None:
        cuts = _usual_cuts(facts, target, rows, Budget(epsilon, delta), method)
        usual = setting_for(facts, target, rows, epsilon, cuts, delta, impossible)
        finer = None if method is None else method.finer(usual)
        return usual if finer is None else setting_for(facts, target, rows, epsilon, finer, delta, impossible)
    columns = coarse_columns(facts, cuts)
    if impossible is None:
        return Setting(columns, target, rows, epsilon, delta)
    declared = statements(impossible)
    columns = cut_for(columns, declared)
    found = masks(columns, declared)
    require_some_row(columns, found)
    return Setting(columns, target, rows, epsilon, delta, found, cuts)


def _usual_cuts(
    facts: Sequence[Attribute], target: int | None, rows: int, budget: Budget, method: Synthesiser | None
) -> int:
    if method is not None and method.cuts is not None:
        return method.cuts(rows, budget, len(facts))
    beside = 2 if target is None else coarse_columns([facts[target]])[0].size
    return public_cuts(rows, budget.share(1 / max(len(facts) - 1, 1)).strength, beside)

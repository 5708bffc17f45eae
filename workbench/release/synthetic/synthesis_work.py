"""A synthetic table: its queries, its file, what its certificate says, and what `verify` recomputes of it.

The noisy counts are not in the certificate, and the rows are drawn anew from them: verification makes queries, cuts and
measured tables again, and checks that every value is a public one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from workbench.data.impossible_combinations import merged_statements
from workbench.data.rows_in_parts import in_order
from workbench.data.table import Table
from workbench.params import ParameterError, counted
from workbench.params.remedies import PROTECT_TARGET
from workbench.privacy.entropy import Entropy
from workbench.release.certificate import certificate_path, require_format, stated_budget
from workbench.release.kinds import Repeated
from workbench.release.open_release import certified_rows
from workbench.release.table_formats import (
    DATABASE,
    FORMATS,
    ROWS_AT_ONCE,
    CodedRows,
    ReleasedText,
    table_format,
    types_of,
)
from workbench.release.verify import rerun, unknown_values
from workbench.sanitize.plan import Plan
from workbench.signals import CancelToken, Emit
from workbench.synth import Synthesiser
from workbench.synth.base import CHOICE, MODEL, Answered, Query, Setting, events
from workbench.synth.columns import MOST_CUTS, CoarseColumn, CountedTables, KeptRows, coarse_columns, coded
from workbench.synth.parameters import SynthesisParameters
from workbench.synth.resources import require_bounded
from workbench.synth.setting import method_for, setting_for
from workbench.synth.synthesis import SyntheticRows, place_of_target, require_payable, synthesised
from workbench.work.ask import Ask
from workbench.work.work import Work, WorkOutput

KIND = "synthetic"
NO_DELTA = Decimal(0)
_MOST_COUNTED = 1 << 26  # cells of tables that are counted while rows are read; of more the rows are kept in memory

VALUES = "each value is drawn uniformly from the public values within its coarse cell"
"""How a cell becomes a value, for certificates."""


def synthesis_setting(
    plan: Plan, epsilon: Decimal, rows: int, chosen: SynthesisParameters, delta: Decimal = NO_DELTA
) -> tuple[Synthesiser, Setting]:
    """Return the method and the public facts of a synthesis by a plan, at (ε, δ) of one row's whole record.

    The release path multiplies that by the rows of a person. Columns that the plan drops are left out.

    Raises:
        ParameterError: the plan publishes a column as it is, leaves none, or does not know the target; the method
            needs a target; the tables would be too large; ε is too small to be divided.
    """
    kept = [column.name for column in plan.columns if column.action == "keep"]
    if kept:
        raise ParameterError(
            f"the plan publishes the column {kept[0]!r} as it is, but no row of a synthetic table belongs to a person",
            hint='write action = "protect" or "drop" for it',
        )
    roles = [column.name for column in plan.columns if column.role == "target"]
    target = chosen.target if chosen.target is not None else (roles[0] if len(roles) == 1 else None)
    dropped = any(column.name == target and column.action == "drop" for column in plan.columns)
    present = None if dropped else target
    facts = [column.facts() for column in plan.protected]
    columns = coarse_columns(facts)
    impossible = merged_statements(plan.impossible, chosen.impossible)
    method = method_for(chosen.method, facts, place_of_target(columns, present), rows, epsilon, delta, impossible)
    if dropped and (chosen.target is not None or method.needs_target):
        raise ParameterError(f"the plan drops the target {target!r}", hint=PROTECT_TARGET, code="no-target")
    place = place_of_target(columns, present, method)
    setting = setting_for(facts, place, rows, epsilon, chosen.cuts, delta, impossible, method)
    require_bounded(setting, method)
    require_payable(method, setting)
    return method, setting


def synthesis_work(
    plan: Plan, chosen: SynthesisParameters, epsilon: Decimal, delta: Decimal, rows: int, kind: str
) -> Work:
    """Return the central release of a synthetic table at (ε, δ) of one row's whole record.

    Raises:
        ParameterError: as :func:`synthesis_setting`.
    """
    method, setting = synthesis_setting(plan, epsilon, rows, chosen, delta)
    count = rows if chosen.rows is None else chosen.rows
    if count < 1:
        raise ParameterError("the table has no rows", hint="give the number of rows to draw with --rows")
    form = table_format(kind)
    form.require(plan, count)

    def written(rows: SyntheticRows, coins: Entropy) -> tuple[Iterator[bytes], dict[str, str]]:
        types = types_of({column.name: column.grid.attribute.kind for column in setting.columns})
        starts = range(0, count, ROWS_AT_ONCE)
        if len(starts) == 1 or kind == DATABASE:  # whose rows are sorted
            frame = rows.frame(coins)
            text = ReleasedText(lambda start, stop: frame[start:stop], count, types)
        else:  # each row is made once, when it is written
            at = partial(in_order, starts) if coins.releasable else lambda work: map(work, starts)
            coded = CodedRows(
                {column.name: column.grid.labels for column in setting.columns},
                lambda work: at(lambda start: work(rows.cells(coins, start, start + ROWS_AT_ONCE))),
            )
            parts = partial(at, lambda start: rows.frame(coins, start, start + ROWS_AT_ONCE))
            text = ReleasedText(None, count, types, parts, coded)
        return form.written(text, plan), form.columns(text)

    return _work_of(method, setting, count, merged_statements(plan.impossible, chosen.impossible), written)


def _work_of(
    method: Synthesiser,
    setting: Setting,
    count: int,
    impossible: Any,
    written: Callable[[SyntheticRows, Entropy], tuple[Iterator[bytes], dict[str, str]]],
) -> Work:
    target = None if setting.target is None else setting.columns[setting.target].name

    declared: dict[str, Any] = {}
    if impossible is not None:
        declared = {"impossible": impossible, "equal_cuts": equal_cuts(setting)}

    reader = _reader(method, setting)

    def asked(table: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> tuple[SyntheticRows, Entropy]:
        rows = coded(setting.columns, table) if not reader.whole else reader.rows
        return synthesised(method, setting, rows, count, ask, emit, cancel), ask.coins

    def files(answers: tuple[SyntheticRows, Entropy], cancel: CancelToken) -> WorkOutput:
        drawn, coins = answers
        pieces, columns = written(drawn, coins)
        made = max(1, -(-count // ROWS_AT_ONCE))
        return WorkOutput(pieces, stated(drawn.answered, setting, drawn.stated), count=made, columns=columns)

    return Work(
        kind=KIND,
        columns=tuple(column.name for column in setting.columns),
        events=events(method.queries(setting)),
        request={
            "method": method.name,
            "target": target,
            "rows": count,
            "cuts": {column.name: column.cuts for column in setting.columns},  # coarse cells that hold a value
            **declared,
        },
        room=_most_bytes(setting.columns, count),
        ask=asked,
        files=files,
        budget=setting.budget if setting.budget.gaussian else None,
        reader=reader if isinstance(reader, KeptRows) or reader.cells <= _MOST_COUNTED else None,
    )


def _reader(method: Synthesiser, setting: Setting) -> CountedTables | KeptRows:
    if method.inner(setting) is not setting:
        return KeptRows(setting.columns)
    target = setting.target if method.needs_target else None
    return CountedTables(setting.columns, target, 2 if method.with_target else 1)


def repeated(asked: Mapping[str, Any], plan: Plan) -> Repeated:
    """Return the request of a certificate, to be asked for once more; what is impossible is in its plan."""
    chosen = {key: asked[key] for key in ("method", "target", "rows") if asked.get(key) is not None}
    numbers = [asked["cuts"][column.name] for column in plan.protected if column.numeric]
    return chosen | ({"cuts": max(numbers)} if numbers else {}), {}


def equal_cuts(setting: Setting) -> int:
    """Return into how many equal parts ranges were cut, before the ends of what is impossible were added."""
    numbers = [c for c in setting.columns if c.ordered]
    return max([2, *(min(setting.equal_cuts, c.grid.cells.size) for c in numbers)])


def stated(answered: tuple[Answered, ...], setting: Setting, how: str = "") -> dict[str, Any]:
    """Return what was measured, as the certificate says it; each entry belongs to the query of the same number."""
    return {
        **public_facts(setting, how),
        "measured": [
            {"query": a.query.label, "form": a.query.form, "columns": list(a.columns), "cells": list(a.cells)}
            for a in answered
        ],
    }


def public_facts(setting: Setting, how: str = "") -> dict[str, Any]:
    """Return what a certificate says of the making, whatever was measured; ``how`` is how the target is drawn."""
    noise = {"noise": setting.budget.noise} if setting.budget.gaussian else {}
    return {**noise, "values": f"{VALUES}; {how}" if how else VALUES}


def _most_bytes(columns: tuple[CoarseColumn, ...], rows: int) -> int:
    longest = sum(2 * max(len(text.encode()) for text in column.grid.labels) + 12 for column in columns)
    header = sum(2 * len(column.name.encode()) + 4 for column in columns)
    return header + longest * rows + (1 << 16) * (len(columns) + 1)


# -- verification ------------------------------------------------------------------------------------------------------

_REQUEST = {"method", "target", "rows", "cuts"}
_IMPOSSIBLE = {"impossible", "equal_cuts"}
_ENTRY = {"query", "form", "columns", "cells"}


def recomputed(document: dict[str, Any], plan: Plan, output: Path, cancel: CancelToken) -> Iterator[str]:
    """Yield a sentence for every fault of a synthetic table whose bytes and guarantee were checked.

    Raises:
        WorkbenchError: its request is malformed, or the file cannot be read.
    """
    require_format(document, output, FORMATS)
    plan, table = certified_rows(output, document, certificate_path(output), cancel)
    chosen, budget = _chosen(document["request"], plan), stated_budget(document)
    method, setting = synthesis_setting(plan, budget.epsilon, document["rows"], chosen, budget.delta)
    impossible = merged_statements(plan.impossible, chosen.impossible)
    count = document["rows"] if chosen.rows is None else chosen.rows
    # Its file is not made again.
    work = _work_of(method, setting, count, impossible, lambda _rows, _coins: (iter(()), {}))
    wrong = list(rerun(document, work, output, cancel))
    yield from wrong
    if not wrong:
        measured = document["method"].get("measured")
        made = ({**public_facts(setting, how), "measured": measured} for how in method.says(setting))
        if document["method"] not in made:
            yield "the certificate does not describe rows made as synthetic rows are"
        yield from _measured(measured, method, setting)
    if table.rows != chosen.rows:
        yield f"the file has {counted(table.rows, 'row')}, its certificate says {chosen.rows or 0:,}"
    yield from unknown_values(plan, table, cancel)


def _chosen(asked: dict[str, Any], plan: Plan) -> SynthesisParameters:
    """Return what a person chose, as the request in a certificate has it.

    Raises:
        ParameterError: the request is malformed.
    """
    cuts, given = asked.get("cuts"), "impossible" in asked
    if set(asked) == _REQUEST | (_IMPOSSIBLE if given else set()) and isinstance(cuts, dict):
        # The cuts of numbers are one public number, or fewer where a grid is smaller; names are not cut.
        numbers = [cuts.get(column.name, 2) for column in plan.protected if column.numeric]
        numbers = [asked["equal_cuts"]] if given else numbers
        if all(type(n) is int for n in (*cuts.values(), *numbers)):
            return SynthesisParameters(
                method=asked["method"],
                target=asked["target"],
                rows=asked["rows"],
                cuts=min(max([2, *numbers]), MOST_CUTS),
                impossible=asked.get("impossible"),
            )
    raise ParameterError("the certificate's request is malformed", "request")


def _measured(stated: Any, method: Synthesiser, setting: Setting) -> Iterator[str]:
    """Yield where what was measured does not belong to the queries and columns."""
    queries = method.queries(setting)
    shaped = (
        isinstance(stated, list) and len(stated) == len(queries) and all(isinstance(entry, dict) for entry in stated)
    )
    if not shaped:
        yield "the certificate does not say for each query what was measured"
        return
    sizes = {column.name: column.size for column in method.inner(setting).columns}
    chosen = [entry.get("columns") for query, entry in zip(queries, stated, strict=True) if query.form == CHOICE]
    beside = setting.columns[setting.target].name if method.with_target and setting.target is not None else None
    target = setting.target if method.needs_target else None  # no chosen pair has such a target
    others = [name for place, name in enumerate(sizes) if place != target]
    if not _pairs(chosen, others, circles=method.closes_circles):
        yield "the pairs of columns that the certificate names are not those of the method"
        return
    for (query, names, coarse), entry in zip(_expected(queries, chosen, setting, beside), stated, strict=True):
        cells = entry.get("cells")
        fits = set(entry) == _ENTRY and entry == {**entry, "query": query.label, "form": query.form, "columns": names}
        if query.form == CHOICE:
            fits = fits and cells == []
        else:
            fits = fits and isinstance(cells, list) and len(cells) == len(names)
            fits = fits and all(
                type(c) is int and (1 <= c <= sizes[n] if j else c == sizes[n])
                for c, n, j in zip(cells, names, coarse, strict=True)
            )
        if not fits:
            yield f"the certificate's description of {query.label!r} does not match its columns"


def _pairs(pairs: list[Any], names: list[str], *, circles: bool) -> bool:
    """Return whether these are pairs of columns, each in the order of the table, without a circle if there is none."""
    part = {name: name for name in names}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(n, str) and n in part for n in pair):
            return False
        a, b = pair
        if names.index(a) >= names.index(b) or (part[a] == part[b] and not circles):
            return False
        part = {name: part[a] if p == part[b] else p for name, p in part.items()}
    return True


def _expected(
    queries: Sequence[Query], chosen: list[list[str]], setting: Setting, beside: str | None
) -> Iterator[tuple[Query, list[str], tuple[bool, ...]]]:
    """Yield for each query its columns, and along which of them cells may have been joined.

    ``beside`` is the target, where it is in the table of each chosen pair.
    """
    names = [column.name for column in setting.columns]
    target = None if setting.target is None else names[setting.target]
    every = chosen or target is None or beside is not None
    alone = {f"counts of {name}": [name] for name in (names if every else [target])}
    by_target = {} if chosen else {f"counts of {target} by {name}": [target, name] for name in names}
    coarse = not chosen and target is not None and f"counts of {target}" in {query.label for query in queries}
    choices, tables = iter(chosen), iter(chosen)
    for query in queries:
        if query.form == MODEL:
            yield query, [], ()
        elif query.form == CHOICE:
            yield query, next(choices), ()
        elif query.label in alone:
            yield query, [str(name) for name in alone[query.label]], (False,)
        elif chosen:
            table = sorted({*next(tables), *(() if beside is None else (beside,))}, key=names.index)
            yield query, table, (True,) * len(table)
        elif query.label in by_target:
            joined_too = beside is not None
            yield query, [str(name) for name in by_target[query.label]], (coarse or joined_too, joined_too)
        else:  # a method that measures other pairs, which follow from public facts
            pairs = (list(pair) for pair in itertools.permutations(names, 2))
            yield query, next(pair for pair in pairs if query.label == f"counts of {' by '.join(pair)}"), (True, True)

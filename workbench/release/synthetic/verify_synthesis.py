"""What only a synthetic table's verification can see: queries, cuts, measured tables and values, all recomputed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workbench.params import InputError
from workbench.release.certificate import certificate_path, query_facts, require_format, stated_budget
from workbench.release.open_release import certified_rows, released_cells
from workbench.release.rows_work import FORMATS
from workbench.release.synthetic.synthesis_work import cut_facts, public_facts, synthesis_setting
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.synth.base import CHOICE, Query, Setting, events
from workbench.synth.columns import MOST_CUTS
from workbench.synth.parameters import SynthesisParameters

_REQUEST = {"method", "target", "rows", "cuts"}
_IMPOSSIBLE = {"impossible", "equal_cuts"}
_ENTRY = {"query", "form", "columns", "cells"}


def recomputed(document: dict[str, Any], plan: Plan, output: Path, cancel: CancelToken) -> Iterator[str]:
    """Yield a sentence for every fault of a synthetic table whose bytes and guarantee were checked.

    Raises:
        WorkbenchError: its request is malformed, or the file cannot be read.
    """
    require_format(document, output, FORMATS)
    asked = document["request"]
    plan, table = certified_rows(output, document, certificate_path(output), cancel)
    cuts = asked.get("cuts")
    wanted = _REQUEST | (_IMPOSSIBLE if "impossible" in asked else set())
    if set(asked) != wanted or not isinstance(cuts, dict) or not all(type(c) is int for c in cuts.values()):
        yield "the certificate's request is malformed"
        return
    # The cuts of numbers are one public number, or fewer where a grid is smaller; names are not cut.
    numbers = [cuts.get(column.name, 2) for column in plan.protected if column.numeric]
    numbers = [asked["equal_cuts"]] if "impossible" in asked else numbers
    if not all(type(n) is int for n in numbers):
        yield "the certificate's request is malformed"
        return
    chosen = SynthesisParameters(
        method=asked["method"],
        target=asked["target"],
        rows=asked["rows"],
        cuts=min(max([2, *numbers]), MOST_CUTS),
        impossible=asked.get("impossible"),
    )
    budget = stated_budget(document)
    method, setting = synthesis_setting(plan, budget.epsilon, document["rows"], chosen, budget.delta)
    if cuts != cut_facts(setting):
        yield "the certificate names other cuts than its plan and request give"
        return
    target = None if setting.target is None else setting.columns[setting.target].name
    if (asked["method"], asked["target"]) != (method.name, target):
        yield f"the certificate does not name the method {method.name} and the target {target} of its request"
    if document["columns"] != [column.name for column in setting.columns]:
        yield "the certificate names other columns than its plan protects"
    queries = method.queries(setting)
    if document["queries"] != query_facts(events(queries)):
        yield f"the certificate's queries are not those of {method.name} on its columns"
    else:
        if document["method"] != {**public_facts(setting), "measured": document["method"].get("measured")}:
            yield "the certificate says otherwise how the rows were made than synthetic rows are"
        yield from _measured(document["method"].get("measured"), queries, setting, circles=method.closes_circles)
    if table.rows != chosen.rows:
        yield f"the file has {table.rows} rows, its certificate says {chosen.rows}"
    for column in plan.protected:
        cancel.check()
        try:
            released_cells(column.grid(), table)
        except InputError as error:
            yield str(error)


def _measured(stated: Any, queries: Sequence[Query], setting: Setting, *, circles: bool) -> Iterator[str]:
    """Yield where what was measured does not belong to the queries and columns."""
    shaped = (
        isinstance(stated, list) and len(stated) == len(queries) and all(isinstance(entry, dict) for entry in stated)
    )
    if not shaped:
        yield "the certificate does not say for each query what was measured"
        return
    sizes = {column.name: column.size for column in setting.columns}
    chosen = [entry.get("columns") for query, entry in zip(queries, stated, strict=True) if query.form == CHOICE]
    if not _pairs(chosen, list(sizes), circles=circles):
        yield "the pairs of columns that the certificate names are not those of the method"
        return
    for (query, names, joined), entry in zip(_expected(queries, chosen, setting), stated, strict=True):
        cells = entry.get("cells")
        fits = set(entry) == _ENTRY and entry == {**entry, "query": query.label, "form": query.form, "columns": names}
        if query.form == CHOICE:
            fits = fits and cells == []
        else:
            fits = fits and isinstance(cells, list) and len(cells) == len(names)
            fits = fits and all(
                type(c) is int and (1 <= c <= sizes[n] if j else c == sizes[n])
                for c, n, j in zip(cells, names, joined, strict=True)
            )
        if not fits:
            yield f"the certificate's account of {query.label!r} does not fit its columns"


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
    queries: Sequence[Query], chosen: list[list[str]], setting: Setting
) -> Iterator[tuple[Query, list[str], tuple[bool, ...]]]:
    """Yield for each query its columns, and along which of them cells may have been joined.

    Args:
        queries: those of the method.
        chosen: the pairs that were chosen, each before its table is measured.
        setting: the public facts.
    """
    names = [column.name for column in setting.columns]
    target = None if setting.target is None else names[setting.target]
    alone = {f"counts of {name}": [name] for name in (names if chosen or target is None else [target])}
    by_target = {} if chosen else {f"counts of {target} by {name}": [target, name] for name in names}
    joined = not chosen and target is not None and f"counts of {target}" in {query.label for query in queries}
    choices, tables = iter(chosen), iter(chosen)
    for query in queries:
        if query.form == CHOICE:
            yield query, next(choices), ()
        elif query.label in alone:
            yield query, alone[query.label], (False,)
        elif chosen:
            yield query, next(tables), (True, True)
        elif query.label in by_target:
            yield query, [str(name) for name in by_target[query.label]], (joined, False)
        else:  # a method that measures other pairs, which follow from public facts
            pairs = (list(pair) for pair in itertools.permutations(names, 2))
            yield query, next(pair for pair in pairs if query.label == f"counts of {' by '.join(pair)}"), (True, True)

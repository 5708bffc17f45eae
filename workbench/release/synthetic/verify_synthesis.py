"""What only a synthetic table's verification can see: queries, cuts, measured tables and values, all recomputed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.params import InputError
from workbench.release.ledger.exact import decimal_text
from workbench.release.synthetic.synthesis_work import cuts_told, synthesis_setting
from workbench.release.table.certificate import certificate_path
from workbench.release.table.open_release import certified_rows, released_cells
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.synth.base import COUNTS, Query, Setting
from workbench.synth.columns import MOST_CUTS
from workbench.synth.parameters import SynthesisParameters

_REQUEST = {"method", "target", "rows", "cuts"}


def recomputed(document: dict[str, Any], plan: Plan, output: Path, cancel: CancelToken) -> Iterator[str]:
    """Yield a sentence for every fault of a synthetic table whose bytes and guarantee were checked.

    Raises:
        WorkbenchError: its request is malformed, or the file cannot be read.
    """
    asked = document["request"]
    plan, table = certified_rows(output, document, certificate_path(output), cancel)
    cuts = asked.get("cuts")
    if set(asked) != _REQUEST or not isinstance(cuts, dict) or not all(type(c) is int for c in cuts.values()):
        yield "the certificate's request is malformed"
        return
    # The cuts of numbers are one public number, or fewer where a grid is smaller; names are not cut.
    numbers = [cuts.get(column.name, 2) for column in plan.protected if column.numeric]
    chosen = SynthesisParameters(
        method=asked["method"],
        target=asked["target"],
        rows=asked["rows"],
        cuts=min(max([2, *numbers]), MOST_CUTS),
    )
    method, setting = synthesis_setting(plan, Decimal(document["guarantee"]["epsilon_row"]), document["rows"], chosen)
    if cuts != cuts_told(setting):
        yield "the certificate names other cuts than its plan and request give"
        return
    queries = method.queries(setting)
    if document["queries"] != [{"label": q.label, "epsilon": decimal_text(q.share)} for q in queries]:
        yield f"the certificate's queries are not those of {method.name} on its columns"
    else:
        yield from _measured(document["method"].get("measured"), queries, setting)
    if table.rows != chosen.rows:
        yield f"the file has {table.rows} rows, its certificate says {chosen.rows}"
    for column in plan.protected:
        cancel.check()
        try:
            released_cells(column.grid(), table)
        except InputError as error:
            yield str(error)


def _measured(told: Any, queries: Sequence[Query], setting: Setting) -> Iterator[str]:
    """Yield where what was measured does not belong to the queries and columns."""
    sizes = {column.name: column.size for column in setting.columns}
    shaped = isinstance(told, list) and len(told) == len(queries) and all(isinstance(entry, dict) for entry in told)
    if not shaped:
        yield "the certificate does not say for each query what was measured"
        return
    for query, entry in zip(queries, told, strict=True):
        names, cells = entry.get("columns"), entry.get("cells")
        fits = (entry.get("query"), entry.get("form")) == (query.label, query.form)
        fits = fits and isinstance(names, list) and 1 <= len(names) <= 2 and len(set(names)) == len(names)
        fits = fits and all(name in sizes for name in names)
        if fits and query.form == COUNTS:
            fits = isinstance(cells, list) and len(cells) == len(names)
            fits = fits and all(type(c) is int and 1 <= c <= sizes[n] for n, c in zip(names, cells, strict=True))
        if not fits:
            yield f"the certificate's account of {query.label!r} does not fit its columns"

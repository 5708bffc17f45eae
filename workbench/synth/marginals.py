"""``marginals``: the two-way table of every column with the target, without selection.

The d − 1 two-way tables with the target are measured with equal shares of ε. Columns are then independent given the
target, which is what a model that predicts it needs first. A target with many cells is measured alone, too, and in the
tables its cells are joined as its own released counts suggest.
"""

from __future__ import annotations

from workbench.synth.base import COUNTS, Query, Questions, Setting, Synthesiser, Tables, groups_of, most_cells, split
from workbench.synth.fit import Measured

_FEW = 8
_ALONE = 0.5
_FILLING = 0.5


def _queries(setting: Setting) -> tuple[Query, ...]:
    target = setting.target
    assert target is not None
    name = setting.columns[target].name
    others = [column.name for place, column in enumerate(setting.columns) if place != target]
    alone = [(f"counts of {name}", COUNTS, _ALONE)] if not others or setting.sizes[target] > _FEW else []
    return split(setting.budget, [*alone, *((f"counts of {name} by {other}", COUNTS, 1.0) for other in others)])


def _ask(questions: Questions) -> Tables:
    setting = questions.setting
    target = setting.target
    assert target is not None
    sizes, measured, shares = setting.sizes, list[Measured](), None
    queries = {query.label: query for query in _queries(setting)}
    name = setting.columns[target].name
    others = [place for place in range(len(sizes)) if place != target]
    if f"counts of {name}" in queries:
        measured.append(questions.counts((target,), (None,)))
        shares = measured[0].counts.clip(min=0.0)
    for other in others:
        groups = None
        if shares is not None:
            query = queries[f"counts of {name} by {setting.columns[other].name}"]
            most = most_cells(setting.rows, query.paid, _FILLING) / sizes[other]
            groups = groups_of(shares, setting.ordered(target), max(2, int(most)))
        measured.append(questions.counts((target, other), (groups, None)))
    return Tables(tuple((target, other) for other in others), tuple(measured))


MARGINALS = Synthesiser(
    name="marginals",
    title="Every column with the target",
    help="measures the two-way table of every column with the target; all other relations follow from these",
    needs_target=True,
    queries=_queries,
    ask=_ask,
)

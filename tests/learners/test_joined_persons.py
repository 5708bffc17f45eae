"""A learner of two joined tables: what it asks moves by one row where a person is emptied in both."""

from __future__ import annotations

import itertools

import polars as pl
from learner_conformance import CheckingNoise, Heard, spent

from workbench.data.joined import joined
from workbench.data.table import Table
from workbench.learners import learner
from workbench.privacy.accounting.event import Cost
from workbench.privacy.entropy import SeededEntropy
from workbench.release.model.release_learner import columns_of, fit_on, unfitted
from workbench.sanitize.plan import Plan

EPSILON = 2.0
PLAN = Plan.from_plain(
    {
        "epsilon": 1.0,
        "unit": "who",
        "invalid": "replace",
        "join": {"on": "who"},
        "column": [
            {"name": "who", "action": "drop"},
            {"name": "days", "kind": "integer", "lower": 0, "upper": 9},
            {"name": "age", "kind": "integer", "lower": 0, "upper": 9},
            {"name": "sex", "kind": "category", "domain": ["f", "m"]},
        ],
    }
)
VISITS = [("a", "9"), ("a", "0"), ("b", "9"), ("a", "5"), (None, "3")]
PEOPLE = [("a", "0", "f"), ("b", "9", "m"), ("a", "9", "m"), ("c", "4", "f")]


def heard(emptied: str, key: int, script: dict[str, list[int]]) -> tuple[Heard, Cost]:
    """What is asked, by the keys of a seed, where the rows of a person are empty in both tables."""
    sides = [[(None,) * len(row) if row[0] == emptied else row for row in rows] for rows in (VISITS, PEOPLE)]
    left, right = (
        Table(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"), "made")
        for rows, names in zip(sides, (("who", "days"), ("who", "age", "sex")), strict=True)
    )
    rows = PLAN.rows_of(joined(left, right, "who", "who", SeededEntropy(key)), SeededEntropy(key + 1))
    chosen, noise = learner("naive-bayes"), CheckingNoise(script, None)
    estimator = unfitted(chosen, chosen.parameters.from_plain({"epsilon": EPSILON, "noise_limit": 1e6}), PLAN, "sex")
    fit_on(estimator.set_params(noise=noise), rows, columns_of(PLAN, "sex"))
    assert noise.paid is not None
    return noise.heard, noise.paid


def test_emptying_a_person_in_both_tables_moves_what_is_asked_by_no_more_than_one_row() -> None:
    found = []
    for key, person in itertools.product(range(0, 20, 2), "abc"):
        script: dict[str, list[int]] = {}
        found.append(spent(heard("", key, script), heard(person, key, script)))
    assert 0.5 * EPSILON < max(found) <= EPSILON * (1 + 1e-12)
    assert min(found) == 0  # a person of the second table alone is nowhere

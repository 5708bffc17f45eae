"""Tables whose invalid values are replaced: emptying a row moves what naive Bayes asks by what was charged, no more."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import polars as pl
import pytest
from fake_noise import Scripted

from workbench.data.columns.grid import matrix
from workbench.data.table import Table
from workbench.learners.naive_bayes.estimator import NaiveBayes
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.learners.tasks import EMPTY, classes_of
from workbench.release.model.release_learner import columns_of
from workbench.sanitize.plan import Plan

PLAN = Plan.from_plain(
    {
        "epsilon": 1.0,
        "invalid": "replace",
        "column": [
            {"name": "x", "kind": "real", "lower": -3, "upper": 5},
            {"name": "day", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31"},
            {"name": "colour", "kind": "category", "domain": ["red", "blue"]},
            {"name": "y", "kind": "category", "domain": ["n", "p"]},
        ],
    }
)
FEATURES, TARGET = columns_of(PLAN, "y")
Record = tuple[str | None, ...]
EMPTY_ROW: Record = (None,) * 4
X, DAY, COLOUR, Y = ("5", "-99", "x", None), ("2020-12-31", "soon"), ("red", "pink"), ("n", "p", "q", None)


def asked(rows: tuple[Record, ...], epsilon: float) -> list[tuple[tuple[int, ...], int, float]]:
    """What a fit asks of a table of these cells, read as a release reads it."""
    names = [c.name for c in PLAN.columns]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    table = PLAN.rows_of(Table(frame, "made"))
    noise = Scripted()
    facts = [c.facts() for c in FEATURES]
    parameters = NaiveBayesParameters(epsilon=epsilon, noise_limit=1e6, ranges="declared")
    fitted = NaiveBayes(facts, TARGET.facts(), parameters, noise)
    fitted.fit(matrix(table, FEATURES), classes_of(table, TARGET))
    return noise.asked


@pytest.mark.parametrize("epsilon", [3.0, 1e5])
@pytest.mark.parametrize(
    ("rows", "records"),
    [
        (1, [*itertools.product(X, DAY, COLOUR, Y)]),
        (2, [*itertools.product(X[:3], DAY[:1], COLOUR[1:], Y[:3])]),
        (4, [("5", "2020-12-31", "red", "n"), ("x", "soon", "pink", "p"), ("-99", None, "blue", "q")]),
    ],
)
def test_emptying_any_row_stays_within_the_charge(rows: int, records: list[Record], epsilon: float) -> None:
    tables = {t: asked(t, epsilon) for t in itertools.product([*records, EMPTY_ROW], repeat=rows)}
    spent = []
    for cells, one in tables.items():
        for i in range(rows):
            other = tables[(*cells[:i], EMPTY_ROW, *cells[i + 1 :])]
            total = 0.0
            for (values, sensitivity, share), (without, *rest) in zip(one, other, strict=True):
                assert rest == [sensitivity, share], "a query's noise depends on the rows"
                distance = sum(abs(a - b) for a, b in zip(values, without, strict=True))
                assert distance <= sensitivity
                total += share * distance / sensitivity
            spent.append(total)
    assert max(spent) <= epsilon
    # The claim is met, not only kept: some row spends nearly all of ε.
    assert max(spent) == pytest.approx(epsilon, rel=0.25)


def test_a_row_without_a_valid_class_contributes_nothing() -> None:
    whole = ("5", "2020-12-31", "red", "n")
    for klass in ("q", None, "", "N"):
        for values in itertools.product(X, DAY, COLOUR):
            assert asked((whole, (*values, klass)), 2.0) == asked((whole, EMPTY_ROW), 2.0)


def test_a_missing_feature_contributes_its_presence_and_no_sum() -> None:
    sums = {(values, size) for values, size, _ in asked((("x", "soon", "pink", "p"),), 2.0)}
    moments = [values for values, size in sums if size > 1]
    assert moments
    assert all(set(values) == {0} for values in moments)


def test_the_target_is_no_class_where_it_is_missing() -> None:
    assert TARGET.missing == "refuse"
    assert all(c.missing == "own-value" for c in FEATURES)
    table = PLAN.rows_of(Table(pl.DataFrame({"y": ["p", None, "q", "n"]}), "made"))
    np.testing.assert_array_equal(classes_of(table, TARGET), [1, EMPTY, EMPTY, 0])
    own = dataclasses.replace(PLAN, invalid="refuse")
    assert own.column("y").missing == "own-value"
    ways = 'write missing = "refuse" for the target, or count such values as missing: invalid = "replace"'
    with pytest.raises(ValueError, match=ways):
        columns_of(own, "y")

"""How much of a correlation is left after one column was randomised: forecast from public quantities alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workbench.privacy.entropy import SeededEntropy
from workbench.sanitize.calibrated import protected_columns
from workbench.sanitize.forecast import forecast
from workbench.sanitize.plan import Column, Plan
from workbench.sanitize.recipient import RELATIONS_WAYS_OUT, faded_columns, noisy_columns, relations_words

GLUCOSE = Column(
    name="Glucose", kind="integer", lower=0, upper=200, mechanism="staircase", purpose="values", epsilon=0.5
)
OUTCOME = Column(name="Outcome", kind="category", domain=("0", "1"), mechanism="grr", epsilon=0.5)
ROWS = 200_000


def plan(glucose: float, outcome: float = 0.5, **more: object) -> Plan:
    columns = (replace(GLUCOSE, epsilon=glucose, **more), replace(OUTCOME, epsilon=outcome))
    return Plan(epsilon=glucose + outcome, columns=columns)


def kept(made: Plan, name: str) -> float:
    return next(c.relations_kept for c in forecast(made).columns if c.name == name)


@pytest.mark.parametrize("mechanism", ["staircase", "bounded-laplace", "grr"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_the_forecast_is_what_a_draw_does_to_a_straight_line(mechanism: str, epsilon: float) -> None:
    made = plan(epsilon, mechanism=mechanism)
    glucose, _ = protected_columns(made)
    generator = np.random.default_rng(1)
    cells = generator.integers(0, 201, ROWS).astype(np.uint32)
    other = cells + generator.normal(0, 80, ROWS)  # any column that depends on it by a straight line
    drawn = glucose.randomiser.sample(cells, SeededEntropy(2))
    before, after = np.corrcoef(cells, other)[0, 1], np.corrcoef(drawn, other)[0, 1]
    # The error of a correlation of n rows is at most 1/√n: five of them.
    assert after == pytest.approx(before * kept(made, "Glucose"), abs=5 / ROWS**0.5)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("size", [2, 5])
def test_of_names_it_is_the_part_of_cramers_v(epsilon: float, size: int) -> None:
    names = tuple("abcde"[:size])
    made = plan(1.0, epsilon)
    made = replace(made, columns=(made.columns[0], replace(made.columns[1], domain=names)))
    _, outcome = protected_columns(made)
    generator = np.random.default_rng(3)
    cells = generator.integers(0, size, ROWS).astype(np.uint32)
    other = np.where(generator.random(ROWS) < 0.6, cells, generator.integers(0, size, ROWS))
    drawn = outcome.randomiser.sample(cells, SeededEntropy(4))
    same = [float(np.mean(one == other)) - 1 / size for one in (cells, drawn)]
    assert same[1] == pytest.approx(same[0] * kept(made, "Outcome"), abs=5 / ROWS**0.5)
    assert kept(made, "Outcome") == pytest.approx(np.expm1(epsilon) / (size - 1 + np.exp(epsilon)), abs=1e-9)


def test_a_column_like_glucose_at_a_small_share_is_warned_of_with_a_way_out() -> None:
    made = forecast(plan(0.5, 5.0))
    assert [c.name for c in faded_columns(made)] == ["Glucose"]
    assert relations_words(made) == (
        "Relations with other columns shrink: Glucose to about 11 %. This is for values spread evenly over what is "
        "declared; values that lie close together lose more."
    )
    assert "release synthetic rows or a private model" in RELATIONS_WAYS_OUT
    assert noisy_columns(made, 768) == ("Glucose",)  # both are said of it, and agree


def test_values_that_are_nearer_than_a_constant_can_still_lose_their_relations() -> None:
    made = forecast(plan(1.8, 5.0))
    assert noisy_columns(made, 768) == ()
    assert "Glucose to about 4" in relations_words(made)


@pytest.mark.parametrize(
    "made",
    [
        plan(6.0, 5.0),
        plan(0.5, 5.0, purpose="statistics"),  # a mean does not rest on relations
        Plan(epsilon=0.5, columns=(GLUCOSE,)),  # alone it has none
    ],
)
def test_no_warning_where_relations_stay_or_do_not_matter(made: Plan) -> None:
    assert relations_words(forecast(made)) == ""


@pytest.mark.slow
def test_of_many_faded_columns_the_weakest_are_named() -> None:
    columns = tuple(replace(GLUCOSE, name=f"c{i}", epsilon=0.1 + 0.05 * i) for i in range(7))
    told = relations_words(forecast(Plan(epsilon=10, columns=columns)))
    assert "c0 to about 2 %, c1 to" in told
    assert "and 3 more to less than half. This is" in told

"""The grid, the engine and the forecast: what leaves is on the public grid and nothing else."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.columns.grid import grid
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import CancelledError, InputError, ParameterError
from workbench.privacy.entropy import OsEntropy, SeededEntropy
from workbench.privacy.local.cells import Cells
from workbench.sanitize.calibrated_columns import NEARLY, candidates, choosable_mechanisms
from workbench.sanitize.engine import draw
from workbench.sanitize.forecast import forecast
from workbench.sanitize.plan import Plan
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken


def table(**columns: list[str | None]) -> Table:
    return Table(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), "test table")


def plan(*columns: dict, epsilon: float = 30.0, **others: object) -> Plan:
    return Plan.from_plain({"epsilon": epsilon, **others, "column": list(columns)})


AGE = {"name": "Age", "kind": "integer", "lower": 0, "upper": 120}


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.integers(2, 300),
    st.lists(st.floats(-1e7, 1e7), min_size=1, max_size=20),
)
def test_a_real_is_put_on_the_nearest_cell_inside_the_bounds(lower, width, cells, values):
    made = grid(Attribute(name="x", kind="real", lower=lower, upper=lower + width, cells=cells))
    assert len(set(made.labels)) == cells
    given_numbers = made.cells.values
    assert given_numbers is not None
    found = made.numbers_of(made.encode(table(x=[repr(v) for v in values])))
    step = width / (cells - 1)
    for value, cell in zip(values, found, strict=True):
        clamped = min(max(value, lower), lower + width)
        assert abs(cell - clamped) <= step * 0.51 + 1e-9 * max(1.0, abs(clamped))


@pytest.mark.parametrize(
    ("lower", "upper", "cells", "count", "step"),
    [
        (0, 120, None, 121, 1),
        (0, 4095, None, 4096, 1),
        (0, 200_000, None, 1001, 200),
        (0, 100, 11, 11, 10),
        (5, 6, 2, 2, 1),
    ],
)
def test_whole_numbers_get_unit_steps_or_round_ones(lower, upper, cells, count, step):
    made = grid(Attribute(name="x", kind="integer", lower=lower, upper=upper, cells=cells))
    assert made.cells.size == count
    assert made.step == step
    assert made.labels[0] == str(lower)
    assert all(lower <= int(label) <= upper for label in made.labels)


@pytest.mark.parametrize("kind", ["real", "integer", "date"])
def test_equal_columns_share_their_cells_and_an_error_names_its_own(kind):
    made = [grid(Attribute(name=name, kind=kind, lower=1, upper=9)) for name in "xyx"]
    assert made[0].cells is made[1].cells
    assert not made[0].cells.values.flags.writeable
    assert [one.attribute.name for one in made] == ["x", "y", "x"]
    lower, upper = (0, 1e-320) if kind == "real" else (0.5, 3)
    for name in "xy":
        with pytest.raises(ParameterError, match=f"column {name}"):
            grid(Attribute(name=name, kind=kind, lower=lower, upper=upper))


def test_decimals_never_carry_more_than_the_grid():
    made = grid(Attribute(name="x", kind="real", lower=0, upper=2.5, cells=251))
    assert made.labels[:3] == ("0.00", "0.01", "0.02")


def test_at_a_high_epsilon_values_come_through_and_rows_do_not_keep_their_order():
    ages = [str(i % 121) for i in range(2000)]
    made = draw(plan(AGE), table(Age=ages), OsEntropy())
    out = made.frame()["Age"].to_list()
    assert sorted(out) != out
    # At ε = 30 a value moves with a probability below 1e-6; 2,000 of them, false alarm below 1e-6 by counting 20.
    difference = sum(abs(a - b) for a, b in zip(sorted(map(int, out)), sorted(map(int, ages)), strict=True))
    assert difference <= 20 * 120
    assert out != ages
    assert not made.releasable  # only a release makes what can be released


def test_order_is_kept_only_when_the_plan_says_so():
    ages = [str(i % 121) for i in range(500)]
    made = draw(plan(AGE, keep_order=True), table(Age=ages), OsEntropy())
    same = sum(a == b for a, b in zip(made.frame()["Age"], ages, strict=True))
    assert same > 450


def test_kept_columns_travel_with_their_row_and_dropped_ones_stay():
    rows = table(Age=[str(i % 121) for i in range(300)], tag=[str(i % 121) for i in range(300)], id=["x"] * 300)
    made = draw(plan(AGE, {"name": "tag", "action": "keep"}, {"name": "id", "action": "drop"}), rows, OsEntropy())
    frame = made.frame()
    assert frame.columns == ["Age", "tag"]
    assert sum(a == b for a, b in frame.iter_rows()) > 280


def test_rows_leave_in_a_random_order():
    """A sorted kept column: the rank correlation with the position is nil. 5.5 deviations: false alarm below 1e-7."""
    n = 5000
    rows = table(Age=["5"] * n, tag=[str(i) for i in range(n)])
    made = draw(plan(AGE, {"name": "tag", "action": "keep"}), rows, OsEntropy())
    order = made.frame()["tag"].cast(pl.Int64).to_numpy()
    correlation = np.corrcoef(order, np.arange(n))[0, 1]
    assert abs(correlation) < 5.5 / np.sqrt(n)


def test_a_forgotten_column_is_an_error_not_a_default():
    with pytest.raises(InputError, match="does not say what to do with the column 'tag'"):
        draw(plan(AGE), table(Age=["1"], tag=["x"]), OsEntropy())
    with pytest.raises(InputError, match="did you mean 'Age'"):
        draw(plan({**AGE, "name": "Aged"}), table(Age=["1"]), OsEntropy())


def test_a_value_outside_its_domain_names_row_and_value():
    sex = {"name": "Sex", "kind": "category", "domain": ["f", "m"]}
    with pytest.raises(InputError, match="row 3") as caught:
        draw(plan(sex), table(Sex=["f", "m", "x"]), OsEntropy())
    assert "'x'" in str(caught.value)
    collected = draw(plan({**sex, "other": "other"}), table(Sex=["f", "m", "x"]), OsEntropy())
    assert "other" in collected.columns[0].grid.labels


def test_a_missing_value_is_refused_or_a_value_of_its_own():
    ages = ["1", None, "3"]
    with pytest.raises(InputError, match="row 2"):
        draw(plan(AGE), table(Age=ages), OsEntropy())
    made = draw(plan({**AGE, "missing": "own-value"}), table(Age=ages * 100), OsEntropy())
    assert 80 <= made.frame()["Age"].null_count() <= 120


def test_a_cancel_stops_between_columns():
    cancel = CancelToken()

    def emit(event: object) -> None:
        if isinstance(event, Progress) and event.done == 1:
            cancel.cancel()

    two = plan(AGE, {**AGE, "name": "B"})
    with pytest.raises(CancelledError):
        draw(two, table(Age=["1"], B=["2"]), OsEntropy(), emit, cancel)


def test_a_seeded_draw_repeats_and_cannot_be_released():
    rows = table(Age=[str(i) for i in range(100)])
    first, second = (draw(plan(AGE, epsilon=1.0), rows, SeededEntropy(3)) for _ in range(2))
    assert first.frame().equals(second.frame())
    assert not first.releasable


def test_a_plan_that_protects_nothing_is_refused():
    with pytest.raises(ParameterError, match="protects no column"):
        forecast(plan({"name": "Age", "action": "keep"}))


@pytest.mark.parametrize("purpose", ["values", "statistics"])
def test_the_forecast_touches_no_data_and_names_the_better_mechanism(purpose):
    asked = {**AGE, "mechanism": "bounded-laplace", "epsilon": 4.0, "purpose": purpose}
    made = forecast(plan(asked, {"name": "id", "action": "drop"}))
    (age,) = made.columns
    assert age.expected_absolute_error == pytest.approx(21.2, abs=0.05)
    assert age.candidates["staircase"] == pytest.approx(12.5, abs=0.05)
    ranked = age.candidates if purpose == "values" else age.statistic_candidates
    able = {name: error for name, error in ranked.items() if error is not None}
    assert age.advised == min(able, key=able.__getitem__) == "piecewise"
    assert able["piecewise"] < 0.8 * able["bounded-laplace"]
    assert float(made.epsilon_total) == 4.0


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 0.6, 0.7, 1.0, 2.0, 4.0, 9.0])
@pytest.mark.parametrize("cells", [7, 40, 121])
def test_for_statistics_no_table_without_an_unbiased_estimator_is_advised_or_offered(epsilon, cells):
    line = Cells.line(0, 120, cells)
    options = candidates(line, Decimal(str(epsilon)), "statistics")
    assert options[0][1].statistic_variance is not None
    open_to_choice = choosable_mechanisms(options, "statistics")
    assert all(f.statistic_variance is not None for _, f in open_to_choice)
    for left_out in {m.name for m, _ in options} - {m.name for m, _ in open_to_choice}:
        assert left_out in {m.name for m, _ in choosable_mechanisms(options, "statistics", left_out)}
    variances = [f.statistic_variance for _, f in open_to_choice]
    assert variances[0] <= NEARLY * min(variances)
    assert all(later >= variances[0] / NEARLY for later in variances)
    assert choosable_mechanisms(options, "values") == options


def test_what_is_advised_for_a_mean_follows_epsilon():
    """Up to about 1 the two ends tell most, about 2 the middle with them; beyond, the window about the value."""
    line = Cells.line(0, 120, 121)
    best = [candidates(line, Decimal(e), "statistics")[0][0].name for e in ("0.3", "1", "2", "6")]
    assert best == ["duchi", "duchi", "three-outputs", "piecewise"]


def test_auto_is_the_advisors_choice_and_a_share_above_thirty_says_so():
    made = forecast(plan(AGE, epsilon=50.0))
    assert made.columns[0].mechanism == made.columns[0].advised
    assert "ε = 30" in made.columns[0].note
    assert made.columns[0].exact_epsilon <= 30


def test_a_useless_share_is_called_useless():
    assert "one constant in every row" in forecast(plan({**AGE, "purpose": "values"}, epsilon=0.1)).columns[0].note


def test_rows_per_person_multiply_the_charge():
    made = forecast(plan(AGE, epsilon=0.3, rows_per_person=3))
    assert str(made.epsilon_total) == "0.9"
    assert str(made.epsilon_row) == "0.3"


def test_outside_the_guarantee_is_named():
    made = forecast(
        plan({**AGE, "bounds_origin": "data"}, {"name": "zip", "action": "keep"}, keep_order=True, epsilon=1.0)
    )
    text = " ".join(made.outside)
    assert "zip" in text
    assert "Age" in text
    assert "order" in text


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(["0", "17", "64.5", "-3", "500", None]), min_size=1, max_size=30),
    st.floats(0.05, 20),
    st.sampled_from(["staircase", "bounded-laplace", "grr", "auto"]),
)
def test_whatever_leaves_is_on_the_public_grid(values, epsilon, name):
    column = {
        "name": "x",
        "kind": "real",
        "lower": 0,
        "upper": 100,
        "cells": 41,
        "missing": "own-value",
        "mechanism": name,
    }
    made = draw(plan(column, epsilon=epsilon), table(x=values), OsEntropy())
    labels = set(made.columns[0].grid.labels) | {None}
    assert made.rows == len(values)
    assert set(made.frame()["x"].to_list()) <= labels

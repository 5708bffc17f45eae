"""What a model learns from released rows, beside one that learns from the original rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from workbench.data.table import Table
from workbench.params import CancelledError
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import CancelToken
from workbench.studies.learned_from import learned_from

PLAN = Plan(
    epsilon=1.0,
    columns=(
        Column(name="note", action="keep"),
        Column(name="x", kind="real", lower=0, upper=10),
        Column(name="y", kind="category", domain=("no", "yes"), missing="own-value"),
        Column(name="z", kind="real", lower=0, upper=20),
    ),
)


@pytest.fixture(scope="module")
def table() -> Table:
    x = np.random.default_rng(5).uniform(0, 10, 600)
    said = ["yes" if v > 4 else "no" for v in x]
    frame = pl.DataFrame({"note": ["kept"] * 600, "x": [f"{v:.1f}" for v in x], "y": said})
    return Table(frame.with_columns(z=pl.Series([f"{2 * v:.1f}" for v in x])), "t")


def cells(table: Table) -> dict[str, np.ndarray]:
    return {c.name: c.grid().encode(table) for c in PLAN.protected}


def test_the_rows_themselves_teach_as_much_as_the_rows(table: Table) -> None:
    found = learned_from(PLAN, table, "y", cells(table), CancelToken())
    assert found is not None
    assert found.released == pytest.approx(found.original, abs=0.02)
    assert found.released > 0.9
    assert found.level == pytest.approx(0.6, abs=0.05)
    assert f"{found.released:.3f} by a model" in found.words


def test_rows_without_the_relationship_teach_nothing_and_a_row_without_a_class_is_left_out(table: Table) -> None:
    drawn = np.random.default_rng(1)
    mixed = {name: drawn.permutation(found) for name, found in cells(table).items()}
    mixed["y"][::7] = 2  # missing
    found = learned_from(PLAN, table, "y", mixed, CancelToken())
    assert found is not None
    assert found.released < found.original - 0.2


def test_a_target_of_numbers_is_judged_by_the_error_of_a_line(table: Table) -> None:
    found = learned_from(PLAN, table, "z", cells(table), CancelToken())
    assert found is not None
    assert found.metric == "R²"
    assert found.released > 0.99
    assert found.level == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize(("target", "released"), [(None, ["x", "y"]), ("note", ["x", "y"]), ("y", ["y"])])
def test_without_a_released_target_and_something_to_learn_from_nothing_is_trained(
    table: Table, target: str | None, released: list[str]
) -> None:
    found = {name: made for name, made in cells(table).items() if name in released}
    assert learned_from(PLAN, table, target, found, CancelToken()) is None


def test_it_is_cancelled_between_models(table: Table) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        learned_from(PLAN, table, "y", cells(table), cancel)

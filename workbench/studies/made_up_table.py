"""A table of made-up rows that follow from a plan's public facts alone: a study of it shows nothing of anybody."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.table import Table
from workbench.learners.tasks import CLASSIFICATION
from workbench.sanitize.plan import Column, Plan
from workbench.studies.why.rows import generate

MADE_UP = "made-up rows"
SEED = 0
MOST = 20_000
"""Most rows of made-up columns."""


def made_up_table(plan: Plan, target: str, task: str, rows: int) -> Table:
    """Return ``rows`` rows of the columns that ``plan`` declares and does not drop; no row of a table is read.

    How the columns go together is made up as well (:func:`workbench.studies.why.rows.generate`), with no cell missing.

    Args:
        plan: declares the columns.
        target: the column to predict.
        task: the name of the task.
        rows: how many.

    Raises:
        ParameterError: a column is not declared.
    """
    used = [column for column in plan.columns if column.action != "drop" or column.name == target]
    facts = {column.name: replace(column.facts(), missing="refuse") for column in used}
    goal = facts.pop(target)
    made = generate(tuple(facts.values()), goal, task, max(rows, 5), SEED)
    values = {name: made.X[:, j] for j, name in enumerate(facts)} | {target: made.y.astype(np.float64)}
    return Table(pl.DataFrame({c.name: _texts(c, values[c.name]) for c in used}), MADE_UP)


def made_up_columns(plan: Plan, rows: int) -> tuple[Table, Plan]:
    """Return made-up rows of the protected columns, which go together by two hidden groups, and the plan of these.

    Args:
        plan: declares the columns.
        rows: how many, up to :data:`MOST`.

    Raises:
        ParameterError: a column is not declared.
    """
    names = [column.name for column in plan.protected]
    groups = Column(name=max(names) + "'", kind="category", domain=("0", "1"))  # a name that no column has
    made = made_up_table(replace(plan, columns=(*plan.protected, groups)), groups.name, CLASSIFICATION, min(rows, MOST))
    return Table(made.frame[names], made.source), replace(plan, columns=plan.protected)


def _texts(column: Column, values: NDArray[np.float64]) -> list[str]:
    """Return numbers as the labels of the grid's cells that they are nearest to, and codes as their values."""
    grid = column.grid()
    places = (values - column.facts().bounds()[0]) / grid.step if column.numeric else values
    return [grid.labels[i] for i in np.clip(np.rint(places), 0, len(grid.labels) - 1).astype(np.int64)]

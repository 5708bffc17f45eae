"""Scores a model trained on released rows on the original rows. Computed from rows: private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.table import Table
from workbench.learners import learner
from workbench.learners.tasks import CLASSIFICATION, REGRESSION
from workbench.privacy.local.cells import CellArray
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import CancelToken, interruptible
from workbench.studies.held_out import HeldOut, seed_of, stratified_split
from workbench.studies.metrics import measured
from workbench.studies.regimes import StudyData

MODELS = {CLASSIFICATION: "naive-bayes", REGRESSION: "linear-regression"}
SPLITS = 5
MOST_ROWS = 100_000  # rows, evenly spaced, that a model is trained on: more change the second decimal of no figure here


def task_of(target: Column) -> str:
    """Return what a model of ``target`` does."""
    return REGRESSION if target.numeric else CLASSIFICATION


@dataclass(frozen=True)
class ModelComparison:
    """One figure of a model trained on released rows, and of the same model trained on original ones. Private."""

    target: str  # the column that is predicted
    model: str  # the title of the model
    metric: str  # the title of the figure
    released: float  # its mean, trained on the released rows
    original: float  # its mean, trained on other original rows than it is asked about
    level: float  # its mean for the one best answer to all rows

    @property
    def words(self) -> str:
        """The figures in a sentence."""
        return (
            f"{self.metric} for {self.target}, on original rows: {self.released:.3f} for a model ({self.model}) "
            f"trained on these rows, {self.original:.3f} for one trained on original rows, {self.level:.3f} for a "
            "constant prediction."
        )


def model_comparison(
    plan: Plan, table: Table, target: str | None, released: Mapping[str, CellArray], cancel: CancelToken
) -> ModelComparison | None:
    """Train an ordinary model on released rows and one on original rows, and ask both about held-out original rows.

    ``released`` are the (m,) cells of each released column on the plan's grids; without the target among them nothing
    is trained.
    """
    if target is None or target not in released or len(released) < 2:
        return None
    columns = tuple(c if c.name in released else replace(c, action="drop") for c in plan.columns)
    task = task_of(plan.column(target))
    data = StudyData.read(table, replace(plan, columns=columns), target, task)
    cells = np.column_stack([released[c.name] for c in (*data.columns, data.target)])
    cells = cells[np.less(cells[:, -1], data.target.grid().cells.size)]  # a row with nothing to predict teaches nothing
    X, y = data.values(_spaced(cells))
    return compare_models(data.columns, data.target, LabelledRows(data.X, data.y), LabelledRows(X, y), None, cancel)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows that teach or test a model."""

    X: NDArray[np.float64]  # (n, d) numbers and codes
    y: NDArray[Any]  # (n,) what is to be predicted

    def only(self, rows: NDArray[np.int64]) -> LabelledRows:
        """Return some of the rows."""
        return LabelledRows(self.X[rows], self.y[rows])


def compare_models(
    columns: tuple[Column, ...],
    target: Column,
    original: LabelledRows,
    released: LabelledRows,
    test: LabelledRows | None,
    cancel: CancelToken,
) -> ModelComparison | None:
    """Train one model on released rows and one on original rows, and ask both about other real rows.

    ``test`` are real rows that were never released; without them fifths of the original are held out in turn.
    """
    figures, model = measured(task_of(target)), learner(MODELS[task_of(target)])
    asked_about = original if test is None else test
    if not len(released.y) or not len(asked_about.y) or len(original.y) < SPLITS:
        return None
    if model.ordinary is None or figures.constant is None:
        return None
    classes = 0 if target.numeric else len(target.values())

    def fitted(rows: LabelledRows) -> Any:
        assert model.ordinary is not None
        cancel.check()
        made = model.ordinary(columns, target)
        spaced = _spaced(np.arange(len(rows.y)))
        with interruptible(cancel):
            made.fit(rows.X[spaced], rows.y[spaced])
        return made

    def asked(model: Any, rows: LabelledRows) -> float:
        stated = HeldOut.ask(model, columns, classes, rows.X, rows.y)
        return figures.measure(stated, target)[figures.main.name]

    by_release, found = fitted(released), []
    halves: list[tuple[LabelledRows, LabelledRows]] = [] if test is None else [(original, test)]
    if test is None:
        for repeat in range(SPLITS):
            parts = stratified_split(figures.strata(original.y), seed_of("learned from a release", repeat))
            halves.append((original.only(parts[0]), original.only(parts[1])))
    for training, held_out in halves:
        always = np.full(len(held_out.y), figures.constant(training.y))
        level = figures.measure(HeldOut(held_out.y, always), target)[figures.main.name]
        found.append((asked(by_release, held_out), asked(fitted(training), held_out), level))
    on_release, on_rows, level = (float(mean) for mean in np.mean(found, axis=0))
    return ModelComparison(target.name, model.title, figures.main.title, on_release, on_rows, level)


def _spaced(rows: NDArray[Any]) -> NDArray[Any]:
    return rows[:: max(1, -(-len(rows) // MOST_ROWS))]

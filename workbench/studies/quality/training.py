"""Train on released rows, ask about real ones: what an ordinary model of the target learns from the release."""

from __future__ import annotations

import numpy as np

from workbench.privacy.local.limits import MOST_CELLS
from workbench.sanitize.plan import Column
from workbench.signals.cancel import CancelToken
from workbench.studies.quality.score import Found, Score
from workbench.studies.quality.tables import Compared, Rows
from workbench.studies.train_on_released import LabelledRows, compare_models


def _found(compared: Compared, cancel: CancelToken) -> Found | None:
    sides = (compared.original, compared.released, compared.real)
    columns, places = [], []
    for place in range(len(compared.labels)):
        column = _declared(sides, place, compared.labels[place])
        if column is not None:
            columns.append(column)
            places.append(place)
    names = [column.name for column in columns]
    if compared.target not in names or len(names) < 2:
        return None
    at = names.index(compared.target)
    target = columns.pop(at)
    goal = places.pop(at)
    original, released, real = (_lesson(side, places, goal, compared.labels) for side in sides)
    found = compare_models(tuple(columns), target, original, released, real if compared.held_out else None, cancel)
    if found is None:
        return None
    return Found(found.released, found.released, found.original, found.level, words=found.words)


def _declared(sides: tuple[Rows, ...], place: int, labels: tuple[str, ...]) -> Column | None:
    columns = [side.columns[place] for side in sides]
    name = columns[0].name
    if not columns[0].numeric:
        if not 2 <= len(labels) <= MOST_CELLS:
            return None
        return Column(name=name, kind="category", domain=labels, missing="own-value", bounds_origin="data")
    values = np.concatenate([column.values[column.present] for column in columns])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if low >= high:
        return None
    return Column(name=name, kind="real", lower=low, upper=high, missing="own-value", bounds_origin="data")


def _lesson(rows: Rows, places: list[int], goal: int, labels: tuple[tuple[str, ...], ...]) -> LabelledRows:
    target = rows.columns[goal]
    X = np.column_stack(
        [
            c.values if c.numeric else np.where(c.values < 0, len(labels[place]), c.values)
            for place, c in ((place, rows.columns[place]) for place in places)
        ]
    ).astype(np.float64)
    return LabelledRows(X[target.present], target.values[target.present])


SCORE = Score(
    name="training",
    title="Training a model",
    help="score on real rows of an ordinary model trained on the released rows",
    found=_found,
)

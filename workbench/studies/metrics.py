"""Metrics of each task, which one is plotted first, and the baseline of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.tasks import CLASSIFICATION, CLUSTERING, REDUCTION, REGRESSION, SCALING
from workbench.params import ParameterError
from workbench.risk.membership import area
from workbench.studies.held_out import HeldOut

ACCURACY, AUC, INERTIA = "accuracy", "auc", "inertia"

BY_CHANCE = 0.5  # AUC of a score that is the same for every row


@dataclass(frozen=True)
class Metric:
    """One figure."""

    name: str  # its name in the CSV
    title: str  # how a person calls it
    unit: str  # what its values mean
    inside: str  # the title within a sentence
    level: str = ""  # what always gives one answer, whose figure is drawn as a level; empty where none is drawn
    beats: str = ""  # that answer as the end of the sentence "Better than …"
    higher: bool = True  # whether a higher figure is a better one
    near: float = 0.03  # how far from the level without privacy still counts as near it
    near_words: str = "3 points"  # the same, in words
    relative: bool = False  # whether it is a part of the level, as of a sum that grows with the rows
    absent: str = ""  # where it cannot be measured, in a sentence; empty of a metric that always can be
    # What is said where the model is no better than that answer even without privacy.
    no_signal: str = "This target cannot be predicted from these columns: even without privacy the model is no better"

    def not_worse(self, value: float, level: float, slack: float = 0.0) -> bool:
        """Return whether ``value`` is at least as good as ``level``, or worse by ``slack`` at most."""
        return value >= level - slack if self.higher else value <= level + slack

    def close(self, value: float, level: float) -> bool:
        """Return whether ``value`` is about as good as ``level``, that of no privacy, or better."""
        return self.not_worse(value, level, self.near * abs(level) if self.relative else self.near)

    def better(self, value: float, level: float) -> bool:
        """Return whether ``value`` is better than ``level``."""
        return value > level if self.higher else value < level


@dataclass(frozen=True)
class Measured:
    """What a study measures of a task."""

    task: str  # the name of the `workbench.learners.tasks.Task`
    metrics: tuple[Metric, ...]  # its figures, the one that is drawn first at the front
    # Returns figures by name, of what a model says about rows of a target column.
    measure: Callable[[HeldOut, Attribute], dict[str, float]]
    # Returns the one answer that fits training rows y (n,) best without looking at any other column; `None` where a
    # model makes columns: then it is compared with its descriptor's `blind`.
    constant: Callable[[NDArray[Any]], float] | None
    # Returns the code of the group of each row (n,) that a split divides alike.
    strata: Callable[[NDArray[Any]], NDArray[np.int64]]
    question: str  # how good a model is, in the middle of a sentence
    splits: str  # what the splits are called

    @property
    def main(self) -> Metric:
        """The metric that is drawn first."""
        return self.metrics[0]

    def metric(self, name: str) -> Metric:
        """Return one of the metrics.

        Raises:
            ParameterError: there is none of that name.
        """
        for metric in self.metrics:
            if metric.name == name:
                return metric
        known = ", ".join(metric.name for metric in self.metrics)
        raise ParameterError(f"the metric {name!r} is not known", hint=f"choose one of {known}")


def classification_metrics(truth: NDArray[np.int64], predicted: NDArray[np.int64], classes: int) -> dict[str, float]:
    """Return accuracy, balanced accuracy and, of two classes, F1 of the second; all of them in [0, 1].

    Balanced accuracy is the mean recall of the classes that occur. F1 = 2·TP/(2·TP + FP + FN), 0 where no row is or
    is said to be of the second class.

    Args:
        truth: class code of each row (n,), n ≥ 1.
        predicted: the code that was said (n,).
        classes: number of declared classes.
    """
    right = truth == predicted
    sizes = np.bincount(truth, minlength=classes)
    hits = np.bincount(truth[right], minlength=classes)
    occur = sizes > 0
    out = {ACCURACY: float(right.mean()), "balanced_accuracy": float((hits[occur] / sizes[occur]).mean())}
    if classes == 2:
        said = int((predicted == 1).sum())
        # 2·TP + FP + FN is the number of rows of the class and of rows said to be of it.
        either = int(sizes[1]) + said
        out["f1"] = 2 * int(hits[1]) / either if either else 0.0
    return out


def regression_metrics(
    truth: NDArray[np.float64], predicted: NDArray[np.float64], target: Attribute
) -> dict[str, float]:
    """Return R², and the root and mean of the squared errors on the public scale, where the bounds are 0 and 1.

    Truth and prediction are clamped to the declared bounds first. R² is 1 − Σ(error²)/Σ(deviation from the mean of the
    truth²): 1 where every number is met, 0 for the mean, negative for what is worse than that. Where the truth does
    not vary it is 1 if every number is met, else 0.

    Args:
        truth: the number of each row (n,), n ≥ 1.
        predicted: the number that was said (n,).
        target: the column, with its bounds.
    """
    lower, upper = target.bounds()
    scaled = (np.clip(truth, lower, upper) - lower) / (upper - lower)
    said = (np.clip(predicted, lower, upper) - lower) / (upper - lower)
    mse = float(((said - scaled) ** 2).mean())
    spread = float(((scaled - scaled.mean()) ** 2).mean())
    # The mean of equal numbers can miss them by a rounding: only their range says that they are equal.
    r2 = 1.0 - mse / spread if np.ptp(scaled) > 0 and spread > 0 else float(mse == 0)
    return {"r2": r2, "rmse": mse**0.5, "mse": mse}


def adjusted_rand(truth: NDArray[np.int64], groups: NDArray[np.int64]) -> float:
    """Return the adjusted Rand index of two groupings of the same rows (Hubert & Arabie 1985).

    It is 1 where they are the same whatever the groups are called, and 0 on average of groupings by chance.
    """
    _, one = np.unique(truth, return_inverse=True)
    _, other = np.unique(groups, return_inverse=True)
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1)
    together, rows, columns, all_pairs = (
        float((counts * (counts - 1) / 2).sum())
        for counts in (table, table.sum(axis=1), table.sum(axis=0), np.array([float(len(truth))]))
    )
    if all_pairs == 0:
        return 1.0
    chance, most = rows * columns / all_pairs, (rows + columns) / 2
    return 1.0 if most == chance else (together - chance) / (most - chance)


def _classes(rows: HeldOut, target: Attribute) -> dict[str, float]:
    figures = classification_metrics(rows.truth, rows.predicted.astype(np.int64), len(target.values()))
    area = None if rows.scores is None else roc_auc(rows.truth, rows.scores)
    return figures if area is None else {**figures, AUC: area}


def _groups(rows: HeldOut, target: Attribute) -> dict[str, float]:
    figures = {"ari": adjusted_rand(rows.truth, rows.predicted.astype(np.int64))}
    return figures if rows.distances is None else {**figures, INERTIA: float(rows.distances.sum())}


def _rows(rows: HeldOut, target: Attribute) -> dict[str, float]:
    assert rows.rebuilt is not None  # what reduces rows can rebuild them
    return reduction_metrics(*rows.rebuilt)


def _by_class(y: NDArray[Any]) -> NDArray[np.int64]:
    return y.astype(np.int64, copy=False)


def _as_one(y: NDArray[Any]) -> NDArray[np.int64]:
    return np.zeros(len(y), dtype=np.int64)


_MAJORITY = ("always the majority", "always predicting the majority class")
_MEAN = ("always the mean", "always predicting the mean")
_ANY_WAY = ("random directions", "random directions")
_BOUNDS_ALONE = ("declared bounds only", "scaling by the declared bounds only")
_NO_DIRECTIONS = "These columns have no meaningful directions: even without privacy the components are no better"
_NOTHING_TO_SCALE = (
    "The declared bounds are enough: even without privacy, means and deviations of the rows scale no better"
)

MEASURED: tuple[Measured, ...] = (
    Measured(
        CLASSIFICATION,
        (
            Metric(ACCURACY, "Accuracy", "share correct", "accuracy", *_MAJORITY),
            Metric("balanced_accuracy", "Balanced accuracy", "mean recall of the classes", "balanced accuracy"),
            Metric("f1", "F1", "0 to 1", "F1", absent="F1 needs a target with two classes."),
            Metric(
                AUC,
                "AUC",
                "1: perfect ranking, 0.5: random",
                "AUC",
                "by chance",
                "ranking the rows at random",
                near_words="0.03",
                absent="AUC needs a model that gives a score for each class, and held-out rows of at least two "
                "classes.",
            ),
        ),
        _classes,
        lambda y: float(np.bincount(y).argmax()),
        _by_class,
        "how often each is right",
        "stratified 80/20 splits",
    ),
    Measured(
        REGRESSION,
        (
            Metric("r2", "R²", "1: exact, 0: no better than the mean", "R²", *_MEAN, near_words="0.03"),
            Metric(
                "rmse",
                "RMSE",
                "share of the declared range",
                "RMSE",
                *_MEAN,
                higher=False,
                near=0.01,
                near_words="1 % of the declared range",
            ),
            Metric("mse", "MSE", "declared range = 1", "MSE", *_MEAN, higher=False, near=0.001, near_words="0.001"),
        ),
        lambda rows, target: regression_metrics(rows.truth, rows.predicted, target),
        lambda y: float(y.mean()),
        _as_one,
        "how close each comes",
        "random 80/20 splits",
    ),
    Measured(
        CLUSTERING,
        (
            Metric(
                "ari",
                "Adjusted Rand index",
                "1: matches the classes, 0: random",
                "adjusted Rand index",
                "one cluster",
                "putting all rows in one cluster",
                near_words="0.03",
            ),
            Metric(
                INERTIA,
                "Inertia",
                "sum of squared distances to the nearest centre, declared range = 1",
                "inertia",
                higher=False,
                near_words="3 %",
                relative=True,
                absent="Inertia needs a model with centres and numeric columns.",
            ),
        ),
        _groups,
        lambda y: 0.0,
        _by_class,
        "how well its clusters agree with the classes of the target",
        "stratified 80/20 splits",
    ),
    Measured(
        REDUCTION,
        (
            Metric(
                "variance_explained",
                "Variance explained",
                "share of total variance, columns scaled by declared range",
                "share of variance explained",
                *_ANY_WAY,
                near_words="3 points",
                no_signal=_NO_DIRECTIONS,
            ),
            Metric(
                "reconstruction_error",
                "Reconstruction error",
                "share of the declared range",
                "reconstruction error",
                *_ANY_WAY,
                higher=False,
                near=0.01,
                near_words="1 % of the declared range",
                no_signal=_NO_DIRECTIONS,
            ),
        ),
        _rows,
        None,
        _as_one,
        "how much variance its components keep",
        "random 80/20 splits",
    ),
    Measured(
        SCALING,
        (
            Metric(
                "mean_error",
                "Error of the means",
                "mean distance of the columns' means from 0",
                "error of the means",
                *_BOUNDS_ALONE,
                higher=False,
                near=0.05,
                near_words="0.05",
                no_signal=_NOTHING_TO_SCALE,
            ),
            Metric(
                "scale_error",
                "Error of the scales",
                "mean distance of the columns' standard deviations from 1",
                "error of the scales",
                *_BOUNDS_ALONE,
                higher=False,
                near=0.05,
                near_words="0.05",
                no_signal=_NOTHING_TO_SCALE,
            ),
        ),
        lambda rows, target: scaling_metrics(rows.predicted[:, list(rows.numeric)]),
        None,
        _as_one,
        "how well it scales the columns",
        "random 80/20 splits",
    ),
)
"""What is measured of each task, one entry each."""


def measured(task: str) -> Measured:
    """Return what a study measures of a task.

    Raises:
        ParameterError: nothing is known to measure of it.
    """
    for entry in MEASURED:
        if entry.task == task:
            return entry
    known = ", ".join(entry.task for entry in MEASURED)
    raise ParameterError(f"a study cannot measure the task {task!r}", hint=f"use one of {known}")


Levels = Mapping[str, float]  # by metric, the figure of always giving one answer


def reduction_metrics(rows: NDArray[np.float64], rebuilt: NDArray[np.float64]) -> dict[str, float]:
    """Return the share of variance explained, and the root of the mean squared distance of rebuilt rows.

    The share is 1 − Σ‖r − r̄‖²/Σ‖x − x̄‖², r = x − x̂ being what a row x (n, D) differs from the rebuilt one x̂ by: it
    shows how good the directions are, wherever the model takes the mean to be. It is 0 where the rows do not vary. The
    error has the mean's in it; the declared range is 1.
    """
    left = rows - rebuilt
    whole = float(((rows - rows.mean(axis=0)) ** 2).sum())
    missed = float(((left - left.mean(axis=0)) ** 2).sum())
    explained = 1 - missed / whole if np.ptp(rows, axis=0).any() else 0.0
    return {"variance_explained": explained, "reconstruction_error": float((left**2).mean()) ** 0.5 / 2}


def scaling_metrics(columns: NDArray[np.float64]) -> dict[str, float]:
    """Return how far the means of scaled columns (n, m) are from 0, and their deviations from 1, on average.

    Missing values are left out, and so is a column that has no others.
    """
    known = columns[:, ~np.isnan(columns).all(axis=0)]
    if not known.size:
        return {"mean_error": 0.0, "scale_error": 0.0}
    means, deviations = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    return {"mean_error": float(np.abs(means).mean()), "scale_error": float(np.abs(deviations - 1).mean())}


def roc_auc(truth: NDArray[np.int64], scores: NDArray[np.float64]) -> float | None:
    """Return the area under the ROC curve, or ``None`` where it is not defined.

    Of two classes: the probability that a row of the second has a higher score for it than a row of the first, ties
    counting one half (Mann & Whitney 1947). Of more: the plain mean of the areas of each class against all others,
    over the classes that occur among the rows. It is not defined where all rows are of one class.

    Args:
        truth: class code of each row (n,), n ≥ 1.
        scores: the score of each class in each row (n, k), k ≥ 2.
    """
    codes = [1] if scores.shape[1] == 2 else range(scores.shape[1])
    areas = [found for code in codes if (found := area(truth == code, scores[:, code])) is not None]
    return sum(areas) / len(areas) if areas else None

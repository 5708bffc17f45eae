"""Private models, one file each, with the scikit-learn API; a new one is its file and a line in this list."""

from __future__ import annotations

from workbench.learners.base import Learner
from workbench.learners.dbscan.estimator import DBSCAN
from workbench.learners.forest.estimator import FOREST_REGRESSION, RANDOM_FOREST
from workbench.learners.kmeans.estimator import KMEANS
from workbench.learners.linear_regression.estimator import LINEAR_REGRESSION
from workbench.learners.logistic_regression.estimator import LOGISTIC_REGRESSION
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.learners.pca.estimator import PRINCIPAL_COMPONENTS
from workbench.learners.standardize.estimator import STANDARDIZE
from workbench.params import ParameterError
from workbench.params.field import did_you_mean

LEARNERS: tuple[Learner, ...] = (
    NAIVE_BAYES,
    LINEAR_REGRESSION,
    LOGISTIC_REGRESSION,
    RANDOM_FOREST,
    FOREST_REGRESSION,
    KMEANS,
    DBSCAN,
    PRINCIPAL_COMPONENTS,
    STANDARDIZE,
)

PLANNED = (
    "median-forest",
    "median-xgboost",
)


def learner(name: str) -> Learner:
    """Return the learner called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    known = [entry.name for entry in LEARNERS]
    for entry in LEARNERS:
        if entry.name == name:
            return entry
    mend = f"choose one of {', '.join(known)}"
    if name in PLANNED:
        raise ParameterError(f"the model {name} is not in this version", mend=mend)
    raise ParameterError(f"the model {name!r} is not known{did_you_mean(name, [*known, *PLANNED])}", mend=mend)


__all__ = [
    "DBSCAN",
    "FOREST_REGRESSION",
    "KMEANS",
    "LEARNERS",
    "LINEAR_REGRESSION",
    "LOGISTIC_REGRESSION",
    "NAIVE_BAYES",
    "PLANNED",
    "PRINCIPAL_COMPONENTS",
    "RANDOM_FOREST",
    "STANDARDIZE",
    "Learner",
    "learner",
]

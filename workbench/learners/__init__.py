"""Private models, one file each, with the scikit-learn API; a new one is its file and a line in this list."""

from __future__ import annotations

from workbench.learners.additive_trees.estimator import ADDITIVE_REGRESSION, ADDITIVE_TREES
from workbench.learners.base import Learner
from workbench.learners.best_of import BEST_CLASSIFIER, BEST_REGRESSION
from workbench.learners.boosted_trees import BOOSTED_TREES
from workbench.learners.corrected_model import CorrectedEstimator
from workbench.learners.dbscan import DBSCAN
from workbench.learners.forest.estimator import FOREST_REGRESSION, RANDOM_FOREST
from workbench.learners.kmeans import KMEANS
from workbench.learners.linear_regression.estimator import LINEAR_REGRESSION
from workbench.learners.logistic_regression.estimator import LOGISTIC_REGRESSION
from workbench.learners.median_forest.estimator import MEDIAN_FOREST, MEDIAN_XGBOOST
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.learners.pca import PRINCIPAL_COMPONENTS
from workbench.learners.standardize import STANDARDIZE
from workbench.params import ParameterError
from workbench.params.field import named

LEARNERS: tuple[Learner, ...] = (
    NAIVE_BAYES,
    LINEAR_REGRESSION,
    LOGISTIC_REGRESSION,
    RANDOM_FOREST,
    FOREST_REGRESSION,
    BOOSTED_TREES,
    ADDITIVE_TREES,
    ADDITIVE_REGRESSION,
    MEDIAN_FOREST,
    MEDIAN_XGBOOST,
    KMEANS,
    DBSCAN,
    PRINCIPAL_COMPONENTS,
    STANDARDIZE,
    BEST_CLASSIFIER,
    BEST_REGRESSION,
)


def learner(name: str) -> Learner:
    """Return the learner called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    return named(LEARNERS, name, "model")


def corrected(chosen: Learner) -> type[CorrectedEstimator]:
    """Return what learns from a release in the way of ``chosen``, knowing the public tables its cells went through.

    Raises:
        ParameterError: this learner has none; the message names those that have.
    """
    if chosen.corrected is None:
        able = [entry.name for entry in LEARNERS if entry.corrected is not None]
        raise ParameterError(
            f"the model {chosen.name} cannot learn from a release", hint=f"choose one of {', '.join(able)}"
        )
    found: type[CorrectedEstimator] = chosen.corrected
    return found


__all__ = [
    "ADDITIVE_REGRESSION",
    "ADDITIVE_TREES",
    "BEST_CLASSIFIER",
    "BEST_REGRESSION",
    "BOOSTED_TREES",
    "DBSCAN",
    "FOREST_REGRESSION",
    "KMEANS",
    "LEARNERS",
    "LINEAR_REGRESSION",
    "LOGISTIC_REGRESSION",
    "MEDIAN_FOREST",
    "MEDIAN_XGBOOST",
    "NAIVE_BAYES",
    "PRINCIPAL_COMPONENTS",
    "RANDOM_FOREST",
    "STANDARDIZE",
    "Learner",
    "corrected",
    "learner",
]

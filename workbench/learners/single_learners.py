"""Learners that fit a single model, one file each; a new one is a file and a line in this list."""

from __future__ import annotations

from workbench.learners.additive_trees.estimator import ADDITIVE_REGRESSION, ADDITIVE_TREES
from workbench.learners.base import Learner
from workbench.learners.boosted_trees import BOOSTED_TREES
from workbench.learners.dbscan import DBSCAN
from workbench.learners.forest.estimator import FOREST_REGRESSION, RANDOM_FOREST
from workbench.learners.kmeans import KMEANS
from workbench.learners.linear_regression.estimator import LINEAR_REGRESSION
from workbench.learners.logistic_regression.estimator import LOGISTIC_REGRESSION
from workbench.learners.median_forest.estimator import MEDIAN_FOREST, MEDIAN_XGBOOST
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.learners.pca import PRINCIPAL_COMPONENTS
from workbench.learners.standardize import STANDARDIZE

SINGLE: tuple[Learner, ...] = (
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
)

"""k-means: neighbours in whole numbers, groups that are found, and nothing published but what is paid for."""

from __future__ import annotations

import numpy as np
import pytest
from classification_tables import Table, breast_cancer, iris
from sklearn.cluster import KMeans as Reference
from sklearn.metrics import adjusted_rand_score

from workbench.data.schema import Attribute
from workbench.learners.kmeans import (
    FIGURES,
    KMeans,
    KMeansParameters,
    figures,
    mean_deviation,
    squared_distances,
)
from workbench.work.noise import Exact, Study

ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
)
TARGET = Attribute(name="group", kind="category", domain=("a", "b"))


def found(data: Table, epsilon: float | None, repeat: int) -> float:
    train, test = data.split(repeat)
    noise = Exact() if epsilon is None else Study(np.random.default_rng([20240601, repeat]))
    learner = KMeans(data.attributes, data.target, KMeansParameters(epsilon=epsilon), noise)
    return float(adjusted_rand_score(data.y[test], learner.fit(data.X[train], data.y[train]).predict(data.X[test])))


# diffprivlib 0.6.6 on iris, 20 splits: .49, .46, .51, .55, .66; .72 without privacy.
@pytest.mark.parametrize(
    ("epsilon", "least"), [(0.1, 0.44), (0.3, 0.46), (1.0, 0.51), (3.0, 0.57), (10.0, 0.62), (None, 0.66)]
)
def test_groups_of_iris(epsilon: float | None, least: float) -> None:
    data = iris()
    assert np.mean([found(data, epsilon, repeat) for repeat in range(20)]) > least


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_groups_of_many_columns_are_found(epsilon: float) -> None:
    data = breast_cancer()
    assert np.mean([found(data, epsilon, repeat) for repeat in range(10)]) > 0.5


def test_without_noise_it_comes_as_near_as_scikit_learn() -> None:
    data = iris()
    ours = KMeans(data.attributes, data.target, KMeansParameters(), Exact()).fit(data.X, data.y)
    lower, upper = (np.array(side) for side in data.bounds())
    scaled = (data.X - lower) / (upper - lower)
    reference = Reference(3, n_init=10, random_state=0).fit(scaled)
    centres = (ours.cluster_centers_ - lower) / (upper - lower)
    assert squared_distances(scaled, centres).min(axis=1).sum() <= reference.inertia_ * 1.05


def test_the_figures_depend_on_nothing_but_their_size() -> None:
    first = figures(3, 4)
    figures.cache_clear()
    for one, other in zip(first, figures(3, 4), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(first) == FIGURES
    assert all(figure.shape == (3, 4) and np.abs(figure).max() <= 1 for figure in first)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_counted_of_a_row_does_not_hang_on_its_neighbours(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows, centres = generator.uniform(-1, 1, (257, 13)), generator.uniform(-1, 1, (5, 13))
    rows[100] = (centres[0] + centres[1]) / 2  # as good as on the border of two groups
    together, scatter = squared_distances(rows, centres), mean_deviation(rows, centres[0])
    for i in range(len(rows)):
        np.testing.assert_array_equal(squared_distances(rows[i : i + 1], centres)[0], together[i])
        assert mean_deviation(rows[i : i + 1], centres[0])[0] == scatter[i]
    np.testing.assert_allclose(together, ((rows[:, None] - centres) ** 2).sum(axis=2))


def test_the_number_of_groups_can_be_given_and_categories_have_places() -> None:
    generator = np.random.default_rng(8)
    colour = generator.integers(0, 3, 600)
    size = np.array([1.0, 5.0, 9.0])[colour] + generator.normal(0, 0.3, 600)
    attributes = (
        Attribute(name="colour", kind="category", domain=("red", "green", "blue")),
        Attribute(name="size", kind="real", lower=0, upper=10),
    )
    learner = KMeans(attributes, TARGET, KMeansParameters(epsilon=50.0, groups=3), Study(generator))
    learner.fit(np.column_stack([colour, size]), np.zeros(600, dtype=np.int64))
    centres = learner.cluster_centers_[learner.cluster_centers_[:, 1].argsort()]
    assert centres[:, 1] == pytest.approx([1, 5, 9], abs=0.7)
    assert list(centres[:, 0]) == [0, 1, 2]
    assert adjusted_rand_score(colour, learner.predict(np.column_stack([colour, size]))) > 0.95

"""k-means: neighbours in whole numbers, groups that are found, and nothing published but what is paid for."""

import numpy as np
import pytest
from classification_tables import Table, breast_cancer, iris
from sklearn import cluster
from sklearn.cluster import KMeans as Reference
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from workbench.data.schema import Attribute
from workbench.learners.dbscan import Dbscan, DbscanParameters, Setting
from workbench.learners.kmeans import FIGURES, KMeans, KMeansParameters, figures, mean_deviation, squared_distances
from workbench.learners.tasks import EMPTY
from workbench.params import ParameterError
from workbench.privacy.audit import epsilon_lower
from workbench.work.noise import Exact, Study

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
def test_groups_of_iris(epsilon, least):
    data = iris()
    assert np.mean([found(data, epsilon, repeat) for repeat in range(20)]) > least


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_groups_of_many_columns_are_found(epsilon):
    data = breast_cancer()
    assert np.mean([found(data, epsilon, repeat) for repeat in range(10)]) > 0.5


def test_without_noise_it_comes_as_near_as_scikit_learn():
    data = iris()
    ours = KMeans(data.attributes, data.target, KMeansParameters(), Exact()).fit(data.X, data.y)
    lower, upper = (np.array(side) for side in data.bounds())
    scaled = (data.X - lower) / (upper - lower)
    reference = Reference(3, n_init=10, random_state=0).fit(scaled)
    centres = (ours.cluster_centers_ - lower) / (upper - lower)
    assert squared_distances(scaled, centres).min(axis=1).sum() <= reference.inertia_ * 1.05


def test_the_figures_depend_on_nothing_but_their_size():
    first = figures(3, 4)
    figures.cache_clear()
    for one, other in zip(first, figures(3, 4), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(first) == FIGURES
    assert all(figure.shape == (3, 4) and np.abs(figure).max() <= 1 for figure in first)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_counted_of_a_row_does_not_hang_on_its_neighbours(seed):
    generator = np.random.default_rng(seed)
    rows, centres = generator.uniform(-1, 1, (257, 13)), generator.uniform(-1, 1, (5, 13))
    rows[100] = (centres[0] + centres[1]) / 2  # as good as on the border of two groups
    together, scatter = squared_distances(rows, centres), mean_deviation(rows, centres[0])
    for i in range(len(rows)):
        np.testing.assert_array_equal(squared_distances(rows[i : i + 1], centres)[0], together[i])
        assert mean_deviation(rows[i : i + 1], centres[0])[0] == scatter[i]
    np.testing.assert_allclose(together, ((rows[:, None] - centres) ** 2).sum(axis=2))


def test_the_number_of_groups_can_be_given_and_categories_have_places():
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


# -- DBSCAN on a grid: neighbours in whole numbers, groups that are found, and why noise on distances protects nobody


PLANE = (Attribute(name="u", kind="real", lower=-2, upper=3), Attribute(name="v", kind="real", lower=-2, upper=2))


def study(seed: int = 0) -> Study:
    return Study(np.random.default_rng(seed))


def moons(rows: int = 3_000) -> tuple[np.ndarray, np.ndarray]:
    return make_moons(rows, noise=0.05, random_state=0)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_groups_of_any_shape_are_found(epsilon):
    X, y = moons()
    parameters = DbscanParameters(epsilon=epsilon, parts=16, min_rows=12)
    scores = [
        adjusted_rand_score(y, Dbscan(PLANE, TARGET, parameters, study(seed)).fit(X, [0] * len(X)).predict(X))
        for seed in range(5)
    ]
    assert np.mean(scores) > 0.9  # k-means reaches 0.25 here


def test_without_noise_it_agrees_with_the_ordinary_one_about_clear_groups():
    X, _ = moons()
    ours = Dbscan(PLANE, TARGET, DbscanParameters(parts=32, min_rows=3), Exact()).fit(X, [0] * len(X))
    assert adjusted_rand_score(cluster.DBSCAN(eps=0.2).fit_predict(X), ours.predict(X)) > 0.98


def test_iris_falls_into_groups_in_private():
    data = iris()
    scores = [
        adjusted_rand_score(
            data.y,
            Dbscan(data.attributes, data.target, DbscanParameters(epsilon=3.0), study(seed))
            .fit(data.X, data.y)
            .predict(data.X),
        )
        for seed in range(10)
    ]
    assert np.mean(scores) > 0.4


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 5.0])
def test_noise_alone_makes_hardly_any_cell_dense(epsilon):
    """At most 0.1 false cells are expected a fit; 60 or more in 200 fits would have odds below 1e-6."""
    X = np.zeros((500, 2))
    false = 0
    for seed in range(200):
        model = (
            Dbscan(PLANE, TARGET, DbscanParameters(epsilon=epsilon, parts=10), study(seed)).fit(X, [EMPTY] * 500).model_
        )
        false += len(model.dense_)
    assert false < 60


def test_rows_in_no_dense_cell_join_the_nearest_group_or_stand_apart():
    X = np.array([[-1.9, -1.9]] * 50 + [[2.9, 1.9]] * 40 + [[0.4, 0.0]])
    y = [0] * len(X)
    near, apart = (
        Dbscan(PLANE, TARGET, DbscanParameters(parts=9, min_rows=5, outliers=o), Exact()).fit(X, y).predict(X)
        for o in ("nearest", "apart")
    )
    assert list(np.unique(near)) == [0, 1]
    assert list(np.unique(apart)) == [-1, 0, 1]
    assert apart[-1] == -1
    assert (apart[:50] == 0).all(), "the largest group is the first"


def test_where_nothing_is_dense_there_is_one_group():
    X = np.random.default_rng(0).uniform(-2, 2, (20, 2))
    assert set(Dbscan(PLANE, TARGET, DbscanParameters(epsilon=0.01), study()).fit(X, [0] * 20).predict(X)) <= {0}


def test_more_cells_than_can_be_counted_are_refused_before_the_charge():
    many = tuple(Attribute(name=f"c{j}", kind="real", lower=0, upper=1) for j in range(20))
    with pytest.raises(ParameterError, match="1,048,576 cells"):
        Dbscan(many, TARGET, DbscanParameters(epsilon=1.0), study()).cost(100)
    with pytest.raises(ParameterError, match="fewer columns"):
        Dbscan(many[:4], TARGET, DbscanParameters(epsilon=1.0, parts=64), study()).cost(100)


def test_the_grid_follows_from_public_facts_alone():
    sizes = {}
    for rows, epsilon in ((100, 0.1), (100, 10.0), (100_000, 1.0)):
        sizes[rows, epsilon] = Setting(PLANE, TARGET, DbscanParameters(epsilon=epsilon), rows, True).sizes
    assert sizes[100, 0.1] <= sizes[100, 10.0] <= sizes[100_000, 1.0]


def test_noise_on_distances_protects_nobody():
    """The classroom's way: DBSCAN on distances with Laplace noise of scale 1/ε. One far row is told from none."""
    epsilon = 1.0
    generator = np.random.default_rng(3)

    def labels_of(rows: np.ndarray) -> float:
        apart = np.abs(rows[:, None, :] - rows[None]).sum(axis=2)
        noisy = np.maximum(apart + generator.laplace(0, 1 / epsilon, apart.shape), 0)
        noisy = np.triu(noisy, 1) + np.triu(noisy, 1).T
        return float(cluster.DBSCAN(eps=3.0, min_samples=3, metric="precomputed").fit_predict(noisy)[-1] == -1)

    near = np.zeros((8, 2))
    far = np.vstack([near[:-1], [100.0, 100.0]])
    sides = [np.array([labels_of(rows) for _ in range(600)]) for rows in (far, near)]
    assert epsilon_lower(*sides, alpha=1e-7).refutes(epsilon)

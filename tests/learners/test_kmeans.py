"""k-means: neighbours in whole numbers, groups that are found, and nothing published but what is paid for."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import numpy as np
import pytest
from classification_tables import Table, breast_cancer, iris
from neighbours import most_spent, replaced
from sklearn.cluster import KMeans as Reference
from sklearn.metrics import adjusted_rand_score

from workbench.data.schema import Attribute
from workbench.learners.kmeans.estimator import KMeans, KMeansModel
from workbench.learners.kmeans.parameters import KMeansParameters
from workbench.learners.kmeans.places import FIGURES, figures, mean_deviation, squared_distances
from workbench.learners.kmeans.setting import CHOICE, SCATTER, UNIT
from workbench.learners.tasks import EMPTY
from workbench.params import InputError, ParameterError
from workbench.privacy.accounting.event import Cost
from workbench.privacy.central import NoNoise, ReleasedNoise, StudyNoise

ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
)
TARGET = Attribute(name="group", kind="category", domain=("a", "b"))
Record = tuple[float, float, int]
EMPTY_ROW: Record = (0.0, 0.0, EMPTY)


class ScriptedNoise:
    """Adds a fixed vector, the same for every table, and remembers what it was asked.

    Neighbours then see the same released numbers, as the proof compares them: the later queries are the same.
    """

    releasable = False

    def __init__(self, script: Sequence[Sequence[int]] | None = None) -> None:
        self.asked: list[tuple[tuple[int, ...], int, float]] = []
        self._script = script

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        self.asked.append((tuple(values), sensitivity, epsilon))
        return list(values) if self._script is None else list(self._script[len(self.asked) - 1])


def fit(rows: Sequence[Record], noise: ScriptedNoise, epsilon: float, groups: int) -> ScriptedNoise:
    parameters = KMeansParameters(epsilon=epsilon, groups=groups)
    KMeans(ATTRIBUTES, TARGET, parameters, noise).fit([r[:2] for r in rows], [r[2] for r in rows])
    return noise


# At 5 the start is a line, and for one row nothing else is asked (of two groups only where they part); at 5,000 it is
# a figure, chosen by report-noisy-max.
@pytest.mark.parametrize(("epsilon", "groups"), [(5.0, 2), (5.0, 3), (5000.0, 2)])
@pytest.mark.parametrize(
    ("rows", "records"),
    [
        (1, [*itertools.product((-9.0, -3.0, 0.9, 1.0, 5.0), (np.nan, 0.0, 0.4, 1.0), (0, 1))]),
        (2, [*itertools.product((-3.0, 1.1, 5.0), (np.nan, 1.0), (0,))]),
        (4, [(5.0, 1.0, 0), (-3.0, np.nan, 1)]),
    ],
)
def test_every_zero_out_pair_of_tiny_tables_stays_within_epsilon(
    rows: int, records: list[Record], epsilon: float, groups: int
) -> None:
    whole = [*records, EMPTY_ROW]
    # What every table is told: the answers of one of them.
    script = [values for values, *_ in fit([records[0]] * rows, ScriptedNoise(), epsilon, groups).asked]
    tables = {
        chosen: fit([whole[i] for i in chosen], ScriptedNoise(script), epsilon, groups).asked
        for chosen in itertools.product(range(len(whole)), repeat=rows)
    }
    largest = 0.0
    for chosen, one in tables.items():
        for i, row in enumerate(chosen):
            if row == len(records):
                continue
            other = tables[(*chosen[:i], len(records), *chosen[i + 1 :])]
            spent = 0.0
            for (values, sensitivity, share), (without, *rest) in zip(one, other, strict=True):
                assert rest == [sensitivity, share], "a query's noise depends on the rows"
                differences = [a - b for a, b in zip(values, without, strict=True)]
                if (len(values), sensitivity) == (
                    FIGURES,
                    UNIT,
                ):  # losses: all move in one direction, by the sensitivity at most
                    assert all(0 <= d <= sensitivity for d in differences)
                    spent += share * max(differences) / sensitivity
                else:
                    distance = sum(map(abs, differences))
                    assert distance <= sensitivity
                    spent += share * distance / sensitivity
            largest = max(largest, spent)
    assert 0.3 * epsilon < largest <= epsilon
    by_replacing = most_spent(replaced(tables, len(records)), lambda v, s: (len(v), s) == (FIGURES, UNIT))
    assert 0.3 * epsilon < by_replacing <= 2 * epsilon


def found(data: Table, epsilon: float | None, repeat: int) -> float:
    train, test = data.split(repeat)
    noise = NoNoise() if epsilon is None else StudyNoise(np.random.default_rng([20240601, repeat]))
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
    ours = KMeans(data.attributes, data.target, KMeansParameters(), NoNoise()).fit(data.X, data.y)
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


@pytest.mark.parametrize("epsilon", [0.1, 20.0])
def test_a_model_is_written_and_read_again(epsilon: float) -> None:
    data = iris()
    noise = StudyNoise(np.random.default_rng(4))
    learner = KMeans(data.attributes, data.target, KMeansParameters(epsilon=epsilon), noise).fit(data.X, data.y)
    assert sum(float(e.epsilon) for e in learner.events()) == pytest.approx(epsilon)
    plain = json.loads(json.dumps(learner.to_plain()))
    again = KMeansModel.from_plain(plain)
    np.testing.assert_array_equal(again.predict(data.X), learner.predict(data.X))
    np.testing.assert_array_equal(again.cluster_centers_, learner.cluster_centers_)
    # Neither labels nor inertia, nor the noisy losses of the starts.
    assert set(plain) == {"learner", "format", "noise", "rows", "parameters", "attributes", "target", "answers"}
    assert all(len(v) == 1 for k, v in plain["answers"].items() if k in (CHOICE, SCATTER))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"learner": "pca"}, "learner = 'pca'"),
        ({"rows": -1}, "rows = -1"),
        ({"answers": {}}, "answers"),
        ({"attributes": [3]}, "'attributes'"),
    ],
)
def test_a_damaged_model_is_refused_in_words(change: dict[str, object], said: str) -> None:
    data = iris()
    noise = StudyNoise(np.random.default_rng(4))
    learner = KMeans(data.attributes, data.target, KMeansParameters(epsilon=20.0), noise).fit(data.X, data.y)
    with pytest.raises(ParameterError, match=said):
        KMeansModel.from_plain({**learner.to_plain(), **change})
    far = learner.to_plain()
    far["answers"] = {**far["answers"], CHOICE: [FIGURES]}
    with pytest.raises(ParameterError, match=CHOICE):
        KMeansModel.from_plain(far)


def test_it_is_charged_before_a_row_is_read() -> None:
    data = iris()
    unreadable = np.where(np.arange(data.X.size).reshape(data.X.shape) == 5, np.inf, data.X)
    charged: list[float] = []

    def refuse(cost: Cost) -> None:
        raise InputError("no budget is left")

    def charge(cost: Cost) -> None:
        charged.append(float(cost.epsilon))

    learner = KMeans(data.attributes, data.target, KMeansParameters(epsilon=2.0), ReleasedNoise(), refuse)
    with pytest.raises(InputError, match="no budget"):
        learner.fit(unreadable, data.y)
    learner.set_params(charge=charge)
    with pytest.raises(InputError, match="row 2, column sepal width"):
        learner.fit(unreadable, data.y)
    assert charged == [2.0]
    assert learner.fit(data.X, data.y).model_.noise == "released"


def test_the_number_of_groups_can_be_given_and_categories_have_places() -> None:
    generator = np.random.default_rng(8)
    colour = generator.integers(0, 3, 600)
    size = np.array([1.0, 5.0, 9.0])[colour] + generator.normal(0, 0.3, 600)
    attributes = (
        Attribute(name="colour", kind="category", domain=("red", "green", "blue")),
        Attribute(name="size", kind="real", lower=0, upper=10),
    )
    learner = KMeans(attributes, TARGET, KMeansParameters(epsilon=50.0, groups=3), StudyNoise(generator))
    learner.fit(np.column_stack([colour, size]), np.zeros(600, dtype=np.int64))
    centres = learner.cluster_centers_[learner.cluster_centers_[:, 1].argsort()]
    assert centres[:, 1] == pytest.approx([1, 5, 9], abs=0.7)
    assert list(centres[:, 0]) == [0, 1, 2]
    assert adjusted_rand_score(colour, learner.predict(np.column_stack([colour, size]))) > 0.95

"""Standardising: neighbours in whole numbers, figures that are close, and columns whose bounds are public."""

import numpy as np
import pytest
from classification_tables import breast_cancer, diabetes, iris

from workbench.data.schema import Attribute
from workbench.learners.standardize import Standardize, StandardizeParameters, UniformScales
from workbench.params import ParameterError
from workbench.studies.metrics import scaling_metrics
from workbench.work.noise import Charged, Exact, Study

MIXED = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
    Attribute(name="colour", kind="category", domain=("red", "green", "blue")),
)
CLASS = Attribute(name="group", kind="category", domain=("a", "b"))


@pytest.mark.parametrize("epsilon", [0.3, 3.0, 30.0, None])
def test_the_figures_come_closer_with_epsilon(epsilon, shared_data):
    for data, least in ((iris(), 0.0), (breast_cancer(), 0.6), (diabetes(shared_data), 0.4)):
        errors = []
        for repeat in range(5):
            noise = Exact() if epsilon is None else Study(np.random.default_rng([1, repeat]))
            parameters = StandardizeParameters(epsilon=epsilon, limit=100.0)
            scaled = Standardize(data.attributes, data.target, parameters, noise).fit(data.X, data.y).transform(data.X)
            errors.append([*scaling_metrics(scaled).values()])
        mean_error, scale_error = np.mean(errors, axis=0)
        if epsilon is None:
            assert max(mean_error, scale_error) < 1e-6
        elif epsilon == 30:
            assert max(mean_error, scale_error) < 0.1
        else:
            blind = scaling_metrics(UniformScales(data.attributes, data.target).predict(data.X))
            assert least == 0 or mean_error < blind["mean_error"]


def test_without_noise_means_and_deviations_are_those_of_the_rows():
    data = iris()
    model = Standardize(data.attributes, data.target, StandardizeParameters(), Exact()).fit(data.X, data.y).model_
    np.testing.assert_allclose(model.mean_, data.X.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(model.scale_, data.X.std(axis=0), atol=1e-6)


def test_the_bounds_hold_for_every_row_and_follow_from_declared_ones_and_the_limit():
    noise = Study(np.random.default_rng(2))
    rows = [(0.9, 0.0, 0.0), (1.1, np.nan, 2.0), (1.0, 0.2, 1.0)] * 50
    learner = Standardize(MIXED, CLASS, StandardizeParameters(epsilon=20.0, limit=2.5), noise).fit(rows, [0] * 150)
    x, gap, colour = learner.attributes_after
    assert x.bounds() == (-2.5, 2.5)
    assert gap.missing == "own-value"
    assert gap.bounds()[1] == 2.5
    assert gap.bounds()[0] > -2.5, "nothing can lie further down than the declared bound"
    assert colour == MIXED[2]
    made = learner.transform([(-99.0, 0.0, 2.0), (99.0, 1.0, 0.0), (1.0, np.nan, 1.0)])
    assert made[:2, 0].tolist() == [-2.5, 2.5]
    assert gap.bounds()[0] <= made[0, 1] < gap.bounds()[0] + 0.01
    assert made[1, 1] == 2.5
    assert np.isnan(made[2, 1])
    assert made[:, 2].tolist() == [2.0, 0.0, 1.0]


def test_a_row_is_scaled_alike_whatever_stands_beside_it():
    generator = np.random.default_rng(0)
    columns = tuple(Attribute(name=f"x{j}", kind="real", lower=-1, upper=1 + j) for j in range(5))
    X = generator.uniform(-1.2, 7, (257, 5))
    learner = Standardize(columns, CLASS, StandardizeParameters(epsilon=3.0), Study(generator)).fit(X, [0] * 257)
    together = learner.transform(X)
    before = X.copy()
    for i in range(len(X)):
        np.testing.assert_array_equal(learner.transform(X[i : i + 1])[0], together[i])
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1e6])
@pytest.mark.parametrize("rows", [1, 3])
def test_no_noise_is_too_large_for_figures_that_can_be_used(epsilon, rows):
    noise = Study(np.random.default_rng(1))
    learner = Standardize(MIXED, CLASS, StandardizeParameters(epsilon=epsilon), noise)
    learner.fit([(1.0, np.nan, 0.0)] * rows, [0] * rows)
    assert all(a.bounds()[0] < a.bounds()[1] for a in learner.attributes_after[:2])
    made = learner.transform([(5.0, 1.0, 0.0)])
    assert np.isfinite(made).all()
    assert np.isfinite(learner.model_.scale_).all()


def test_it_needs_a_column_of_numbers_and_says_so_before_the_charge():
    words = Standardize(
        MIXED[2:], CLASS, StandardizeParameters(epsilon=2.0), Charged(lambda cost: pytest.fail("charged"))
    )
    with pytest.raises(ParameterError, match="no numeric column"):
        words.fit([(0.0,)], [0])

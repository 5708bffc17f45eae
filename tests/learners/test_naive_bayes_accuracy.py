"""What the private model is worth, on 20 stratified 80/20 splits with seeded noise of the released distribution."""

import numpy as np
import pytest
from classification_tables import DIFFPRIVLIB, breast_cancer, deviation_of_mean, diabetes, iris, skewed, titanic

from workbench.learners.naive_bayes.estimator import NaiveBayes
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.work.noise import Exact, Study

GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@pytest.fixture(scope="module")
def tables(shared_data):
    made = {"diabetes": diabetes(shared_data), "iris": iris(), "breast cancer": breast_cancer()}
    return made.__getitem__


@pytest.mark.parametrize(
    ("name", "epsilon", "peer"), [(n, e, mean) for n, means in DIFFPRIVLIB.items() for e, mean in means.items()]
)
def test_ahead_of_diffprivlib(tables, name, epsilon, peer):
    accuracies = tables(name).accuracies(epsilon)
    assert accuracies.mean() - 2 * deviation_of_mean(accuracies) > peer


@pytest.mark.parametrize("name", DIFFPRIVLIB)
def test_curve_rises_to_the_regime_without_privacy_and_not_above_it(tables, name):
    plain = tables(name).accuracies(None)
    curve = {epsilon: tables(name).accuracies(epsilon) for epsilon in GRID}
    for private in curve.values():
        assert private.mean() <= plain.mean() + 2 * np.hypot(deviation_of_mean(private), deviation_of_mean(plain))
    assert abs(curve[100.0].mean() - plain.mean()) < 0.01
    assert curve[0.1].mean() < curve[1.0].mean() < curve[10.0].mean() + 0.01


def test_tends_to_the_plain_model_as_epsilon_grows(tables):
    data = tables("iris")
    train, test = data.split(0)

    def probabilities(epsilon: float | None) -> np.ndarray:
        noise = Exact() if epsilon is None else Study(np.random.default_rng(1))
        learner = NaiveBayes(data.attributes, data.target, NaiveBayesParameters(epsilon=epsilon), noise)
        return learner.fit(data.X[train], data.y[train]).predict_proba(data.X[test])

    plain = probabilities(None)
    gaps = [np.abs(probabilities(epsilon) - plain).max() for epsilon in (1e2, 1e4, 1e6)]
    assert gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] < 1e-3


@pytest.mark.parametrize("made", [titanic, lambda: skewed(101, 1000, 8, 2, 0.25)], ids=["titanic", "skewed"])
def test_variances_of_each_class_do_not_lose_to_a_common_one(made):
    """Asked too early, or believed too readily, noisy variances of narrow columns cost more than they tell."""
    data = made()
    own, common = (data.accuracies(10.0, 20, **how) for how in ({}, {"separate_below": 1e-9}))
    assert own.mean() > common.mean() - 0.01

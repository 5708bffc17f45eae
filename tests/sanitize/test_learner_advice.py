"""Which models fit a target, which of them is advised and why."""

import pytest

from workbench.deep.networks import NETWORKS, networks_reading
from workbench.deep.networks.images import Pixels
from workbench.learners import LEARNERS
from workbench.learners.tasks import CLASSIFICATION, REGRESSION
from workbench.params import ParameterError
from workbench.sanitize.learner_advice import ADVICE, can_learn, require_learnable, suitable_learners
from workbench.sanitize.plan import Column, Plan

PLAN = Plan(
    epsilon=1.0,
    columns=(
        Column(name="age", kind="integer", lower=0, upper=99),
        Column(name="income", kind="real", lower=0, upper=1e5),
        Column(name="label", kind="category", domain=("no", "yes")),
    ),
)


@pytest.mark.parametrize(
    ("target", "task", "advised"),
    [("label", CLASSIFICATION, "logistic-regression"), ("age", REGRESSION, "boosted-trees")],
)
def test_what_fits_predicts_the_target_and_the_advised_one_comes_first(target, task, advised):
    found = suitable_learners(1.0, can_learn(PLAN, target))
    assert {entry.task for entry in found.predicting} == {task}
    assert found.advised == found.predicting[0].name == advised
    assert found.why.startswith(f"{found.predicting[0].title} is recommended: ")
    assert not any(entry.task in (CLASSIFICATION, REGRESSION) for entry in found.others)
    assert {*found.fit, *found.unfit} == {*LEARNERS}
    assert len(found.fit) + len(found.unfit) == len(LEARNERS), "each is listed once"
    each = [entry.each_prediction for entry in found.predicting]
    assert each == sorted(each), "those that pay for each prediction come last"


def test_at_a_small_epsilon_another_model_of_numbers_is_advised():
    assert suitable_learners(0.1, lambda entry: entry.task == REGRESSION).advised == "forest-regression"


def test_without_a_target_those_that_predict_nothing_fit_and_one_is_advised():
    found = suitable_learners(1.0, lambda entry: not entry.predicts)
    assert (found.predicting, found.advised) == ((), "kmeans")
    assert found.why.startswith("K-means is recommended: ")


def test_nothing_is_advised_where_nothing_fits():
    found = suitable_learners(1.0, lambda entry: False)
    assert (found.predicting, found.others, found.advised, found.why) == ((), (), "", "")


def test_every_advice_is_of_a_learner():
    assert {name for name, _, _ in ADVICE} <= {entry.name for entry in LEARNERS}


def test_a_plan_that_leaves_no_column_fits_no_model():
    alone = Plan(epsilon=1.0, columns=PLAN.columns[2:])
    with pytest.raises(ParameterError, match="no column to learn from"):
        require_learnable(LEARNERS[0], alone, "label")
    assert not can_learn(alone, "label")(LEARNERS[0])


def test_of_a_few_columns_networks_of_images_learn_nothing():
    few = [network.name for network in networks_reading(9, 2)]
    assert few == ["logistic", "mlp"]
    assert set(few) < {network.name for network in networks_reading(784, 10)} < {network.name for network in NETWORKS}
    assert "cifar-cnn" in [network.name for network in networks_reading(Pixels(3, 32, 32), 10)]

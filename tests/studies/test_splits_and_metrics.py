import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    adjusted_rand_score,
    balanced_accuracy_score,
    f1_score,
    mean_squared_error,
    r2_score,
)

from workbench.data.schema import Attribute
from workbench.learners.tasks import REGRESSION, TASKS, Task
from workbench.params import InputError, ParameterError
from workbench.studies.metrics import adjusted_rand, classification_metrics, measured, regression_metrics
from workbench.studies.splits import held_out_sizes, seed_of, stratified_split

codes = st.lists(st.integers(0, 3), min_size=5, max_size=80).map(np.array)


@given(codes, st.integers(0, 2**128 - 1))
def test_a_split_divides_every_row_once_and_every_class_fairly(y: np.ndarray, seed: int) -> None:
    training, held_out = stratified_split(y, seed)
    assert sorted([*training, *held_out]) == list(range(len(y)))
    assert len(held_out) == round(len(y) * 0.2)
    for code in np.unique(y):
        assert abs((y[held_out] == code).sum() - (y == code).sum() * len(held_out) / len(y)) < 1
    sizes = np.unique(y, return_counts=True)[1]
    told = [(y[held_out] == code).sum() for code in np.unique(y)]
    assert held_out_sizes(sizes, seed).tolist() == told
    again = stratified_split(y, seed)
    assert np.array_equal(again[1], held_out)


def test_rows_of_a_class_are_held_out_equally_often() -> None:
    y = np.repeat([0, 1, 2], [7, 8, 9])
    draws = 4000
    times = np.zeros(len(y))
    for seed in range(draws):
        times[stratified_split(y, seed)[1]] += 1
    for code, held in ((0, 1), (1, 2), (2, 2)):  # 5 of 24 rows: 1.46, 1.67 and 1.88 by largest remainder
        share = held / (y == code).sum()
        # Six standard deviations of a binomial: one false alarm in 2e7 runs over the 24 rows.
        assert np.all(np.abs(times[y == code] - draws * share) < 6 * np.sqrt(draws * share * (1 - share)))


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(InputError, match="too few"):
        stratified_split(np.array([0, 1]), 0)


def test_seeds_tell_their_parts_apart() -> None:
    seeds = {seed_of(*parts) for parts in [(1, "a"), ("1", "a"), (1, "a", None), (1.0, "a"), ("1|'a'",), (1, "b")]}
    assert len(seeds) == 6
    assert seed_of(7, "none", None, 3) == seed_of(7, "none", None, 3)


@given(st.data(), st.integers(2, 4), st.integers(1, 60))
def test_metrics_are_those_of_scikit_learn(data: st.DataObject, classes: int, rows: int) -> None:
    draw = st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows).map(np.array)
    truth, said = data.draw(draw), data.draw(draw)
    mine = classification_metrics(truth, said, classes)
    assert mine["accuracy"] == pytest.approx(accuracy_score(truth, said))
    recalls = [np.mean(said[truth == c] == c) for c in np.unique(truth)]
    assert mine["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    if set(said) <= set(truth) and len(set(truth)) > 1:
        assert mine["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, said))
    if classes == 2:
        assert mine["f1"] == pytest.approx(f1_score(truth, said, zero_division=0))
    else:
        assert "f1" not in mine


AGE = Attribute(name="age", kind="real", lower=-50.0, upper=150.0)
ages = st.integers(-50, 150).map(float)


@given(st.lists(st.tuples(ages, ages), min_size=2, max_size=60))
@example([(-10.0, 0.0)] * 3)  # their mean is not exactly one of them
def test_metrics_of_numbers_are_those_of_scikit_learn_on_the_public_scale(pairs: list[tuple[float, float]]) -> None:
    truth, said = np.array(pairs).T
    mine = regression_metrics(truth, said, AGE)
    assert mine["r2"] == pytest.approx(r2_score(truth, said), rel=1e-6, abs=1e-9)
    assert mine["mse"] == pytest.approx(mean_squared_error(truth, said) / 200**2)
    assert mine["rmse"] == pytest.approx(mine["mse"] ** 0.5)


def test_what_is_beyond_the_declared_bounds_counts_as_the_bound() -> None:
    truth, far = np.array([-50.0, 50.0, 150.0]), np.array([-1e6, 50.0, 1e6])
    assert regression_metrics(truth, far, AGE) == {"r2": 1.0, "rmse": 0.0, "mse": 0.0}
    assert regression_metrics(far, truth, AGE) == {"r2": 1.0, "rmse": 0.0, "mse": 0.0}


@pytest.mark.parametrize(("said", "r2"), [(3.0, 1.0), (4.0, 0.0)])
def test_where_all_numbers_are_alike_only_meeting_them_counts(said: float, r2: float) -> None:
    assert regression_metrics(np.full(4, 3.0), np.full(4, said), AGE)["r2"] == r2


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60))
def test_agreement_of_groups_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    classes, groups = np.array(pairs).T
    assert adjusted_rand(classes, groups) == pytest.approx(adjusted_rand_score(classes, groups), abs=1e-12)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_can_be_measured_and_compared_with_a_constant_answer(task: Task) -> None:
    study = measured(task.name)
    target = AGE if task.name == REGRESSION else Attribute(name="y", kind="category", domain=("a", "b", "c"))
    y = np.array([0, 1, 1, 1, 2, 2])
    figures = study.measure(y, np.full(6, study.constant(y)), target)
    assert set(figures) <= {metric.name for metric in study.metrics}
    assert study.main.level
    level = figures[study.main.name]
    assert study.main.better(study.measure(y, y, target)[study.main.name], level)


def test_of_errors_less_is_better() -> None:
    rmse = measured(REGRESSION).metric("rmse")
    assert rmse.better(0.1, 0.2)
    assert rmse.not_worse(0.205, 0.2, rmse.near)
    assert not rmse.not_worse(0.215, 0.2, rmse.near)
    with pytest.raises(ParameterError, match="choose one of r2, rmse, mse"):
        measured(REGRESSION).metric("accuracy")

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    adjusted_rand_score,
    balanced_accuracy_score,
    f1_score,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)
from sklearn.svm import LinearSVC

from workbench.data.schema import Attribute
from workbench.learners import LEARNERS
from workbench.learners.pca import PRINCIPAL_COMPONENTS
from workbench.learners.standardize import STANDARDIZE
from workbench.learners.tasks import CLASSIFICATION, CLUSTERING, REGRESSION, TASKS, task
from workbench.params import InputError, ParameterError
from workbench.studies.held_out import HeldOut, distances_of, held_out_sizes, scores_of, seed_of, stratified_split
from workbench.studies.metrics import (
    adjusted_rand,
    classification_metrics,
    measured,
    reduction_metrics,
    regression_metrics,
    roc_auc,
    scaling_metrics,
)

codes = st.lists(st.integers(0, 3), min_size=5, max_size=80).map(np.array)


@given(codes, st.integers(0, 2**128 - 1))
def test_a_split_divides_every_row_once_and_every_class_fairly(y, seed):
    training, held_out = stratified_split(y, seed)
    assert sorted([*training, *held_out]) == list(range(len(y)))
    assert len(held_out) == round(len(y) * 0.2)
    for code in np.unique(y):
        assert abs((y[held_out] == code).sum() - (y == code).sum() * len(held_out) / len(y)) < 1
    sizes = np.unique(y, return_counts=True)[1]
    told = [(y[held_out] == code).sum() for code in np.unique(y)]
    assert held_out_sizes(sizes, seed)[0].tolist() == told
    again = stratified_split(y, seed)
    assert np.array_equal(again[1], held_out)


def test_rows_of_a_class_are_held_out_equally_often():
    y = np.repeat([0, 1, 2], [7, 8, 9])
    draws = 4000
    times = np.zeros(len(y))
    for seed in range(draws):
        times[stratified_split(y, seed)[1]] += 1
    for code, held in ((0, 1), (1, 2), (2, 2)):  # 5 of 24 rows: 1.46, 1.67 and 1.88 by largest remainder
        share = held / (y == code).sum()
        # Six standard deviations of a binomial: one false alarm in 2e7 runs over the 24 rows.
        assert np.all(np.abs(times[y == code] - draws * share) < 6 * np.sqrt(draws * share * (1 - share)))


def test_too_few_rows_are_refused():
    with pytest.raises(InputError, match="too few"):
        stratified_split(np.array([0, 1]), 0)


def test_seeds_tell_their_parts_apart():
    seeds = {seed_of(*parts) for parts in [(1, "a"), ("1", "a"), (1, "a", None), (1.0, "a"), ("1|'a'",), (1, "b")]}
    assert len(seeds) == 6
    assert seed_of(7, "none", None, 3) == seed_of(7, "none", None, 3)


@given(st.data(), st.integers(2, 4), st.integers(1, 60))
def test_metrics_are_those_of_scikit_learn(data, classes, rows):
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
def test_metrics_of_numbers_are_those_of_scikit_learn_on_the_public_scale(pairs):
    truth, said = np.array(pairs).T
    mine = regression_metrics(truth, said, AGE)
    assert mine["r2"] == pytest.approx(r2_score(truth, said), rel=1e-6, abs=1e-9)
    assert mine["mse"] == pytest.approx(mean_squared_error(truth, said) / 200**2)
    assert mine["rmse"] == pytest.approx(mine["mse"] ** 0.5)


def test_what_is_beyond_the_declared_bounds_counts_as_the_bound():
    truth, far = np.array([-50.0, 50.0, 150.0]), np.array([-1e6, 50.0, 1e6])
    assert regression_metrics(truth, far, AGE) == {"r2": 1.0, "rmse": 0.0, "mse": 0.0}
    assert regression_metrics(far, truth, AGE) == {"r2": 1.0, "rmse": 0.0, "mse": 0.0}


@pytest.mark.parametrize(("said", "r2"), [(3.0, 1.0), (4.0, 0.0)])
def test_where_all_numbers_are_alike_only_meeting_them_counts(said, r2):
    assert regression_metrics(np.full(4, 3.0), np.full(4, said), AGE)["r2"] == r2


def test_equal_numbers_whose_mean_is_off_by_the_last_bit_do_not_vary():
    assert regression_metrics(np.full(3, 144.0), np.zeros(3), AGE)["r2"] == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60))
def test_agreement_of_groups_is_that_of_scikit_learn(pairs):
    classes, groups = np.array(pairs).T
    assert adjusted_rand(classes, groups) == pytest.approx(adjusted_rand_score(classes, groups), abs=1e-12)


@pytest.mark.parametrize("task", [task for task in TASKS if not task.transforms], ids=lambda task: task.name)
def test_every_task_can_be_measured_and_compared_with_a_constant_answer(task):
    study = measured(task.name)
    target = AGE if task.name == REGRESSION else Attribute(name="y", kind="category", domain=("a", "b", "c"))
    y = np.array([0, 1, 1, 1, 2, 2])
    figures = study.measure(HeldOut(y, np.full(6, study.constant(y))), target)
    assert set(figures) <= {metric.name for metric in study.metrics}
    assert study.main.level
    level = figures[study.main.name]
    assert study.main.better(study.measure(HeldOut(y, y), target)[study.main.name], level)


def test_of_errors_less_is_better():
    rmse = measured(REGRESSION).metric("rmse")
    assert rmse.better(0.1, 0.2)
    assert rmse.not_worse(0.205, 0.2, rmse.near)
    assert not rmse.not_worse(0.215, 0.2, rmse.near)
    with pytest.raises(ParameterError, match="choose one of r2, rmse, mse"):
        measured(REGRESSION).metric("accuracy")


@given(st.data(), st.integers(4, 60))
def test_auc_of_two_classes_is_that_of_scikit_learn(data, rows):
    truth = np.array([0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))])
    # Few different scores: ties are what a fast formula gets wrong.
    likely = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0]), min_size=len(truth), max_size=rows + 2))
    )
    assert roc_auc(truth, np.column_stack([1 - likely, likely])) == pytest.approx(roc_auc_score(truth, likely))


@given(st.data(), st.integers(3, 5), st.integers(1, 40))
def test_auc_of_more_classes_is_the_plain_mean_of_one_against_the_rest(data, classes, rows):
    drawn = data.draw(st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows))
    truth = np.array([*range(classes), *drawn])
    seed = data.draw(st.integers(0, 1000))
    scores = np.random.default_rng(seed).dirichlet(np.ones(classes), len(truth)).round(1) + 0.1
    scores /= scores.sum(axis=1, keepdims=True)
    assert roc_auc(truth, scores) == pytest.approx(roc_auc_score(truth, scores, multi_class="ovr", average="macro"))


def test_auc_passes_over_classes_without_rows_and_is_absent_of_a_single_class():
    scores = np.random.default_rng(1).random((30, 3))
    truth = np.repeat([0, 2], 15)
    both = [roc_auc_score(truth == code, scores[:, code]) for code in (0, 2)]
    assert roc_auc(truth, scores) == pytest.approx(np.mean(both))
    assert roc_auc(np.zeros(30, dtype=np.int64), scores) is None
    alone = measured(CLASSIFICATION).measure(HeldOut(np.zeros(30, dtype=np.int64), truth, scores[:, :2]), KIND)
    assert "accuracy" in alone
    assert "auc" not in alone


KIND = Attribute(name="y", kind="category", domain=("a", "b"))
PLACES = (Attribute(name="u", kind="real", lower=-10, upper=10), Attribute(name="v", kind="real", lower=0, upper=5))


def test_scores_come_from_probabilities_or_a_decision_and_a_class_that_was_never_seen_is_last():
    generator = np.random.default_rng(2)
    X, y = generator.normal(size=(60, 2)), np.repeat([0, 2], 30)
    X[y == 2] += 1
    held = X[::3]
    proba, decision = LogisticRegression().fit(X, y), LinearSVC().fit(X, y)
    scores = scores_of(proba, 3, held)
    assert scores is not None
    assert np.array_equal(scores[:, [0, 2]], proba.predict_proba(held))
    assert np.isneginf(scores[:, 1]).all()
    for model, ranked in ((proba, proba.predict_proba(held)[:, 1]), (decision, decision.decision_function(held))):
        said = HeldOut.ask(model, PLACES, 3, held, y[::3])
        target = Attribute(name="y", kind="category", domain=("a", "b", "c"))
        assert measured(CLASSIFICATION).measure(said, target)["auc"] == pytest.approx(
            roc_auc_score(y[::3] == 2, ranked)
        )


def test_a_model_without_scores_has_no_auc_and_one_without_centres_no_inertia():
    class Answers:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.zeros(len(X), dtype=np.int64)

    said = HeldOut.ask(Answers(), PLACES, 2, np.zeros((6, 2)), np.array([0, 1, 0, 1, 0, 1]))
    assert set(measured(CLASSIFICATION).measure(said, KIND)) == {"accuracy", "balanced_accuracy", "f1"}
    assert set(measured(CLUSTERING).measure(said, KIND)) == {"ari"}


@pytest.mark.parametrize("groups", [1, 3])
def test_inertia_is_that_of_scikit_learn_on_the_public_scale(groups):
    generator = np.random.default_rng(3)
    X = np.column_stack([generator.uniform(-10, 10, 80), generator.uniform(0, 5, 80)])
    scaled = (X - [-10, 0]) / [20, 5]
    whole = KMeans(groups, n_init=1, random_state=0).fit(scaled[:60])

    class InUnits:
        cluster_centers_ = whole.cluster_centers_ * [20, 5] + [-10, 0]

        def predict(self, X: np.ndarray) -> np.ndarray:
            return whole.predict((X - [-10, 0]) / [20, 5])

    for rows, known in ((slice(60), whole.inertia_), (slice(60, 80), -whole.score(scaled[60:]))):
        said = HeldOut.ask(InUnits(), PLACES, 0, X[rows], np.arange(80)[rows] % 2)
        figures = measured(CLUSTERING).measure(said, KIND)
        assert figures["inertia"] == pytest.approx(known)
        assert -1 <= figures["ari"] <= 1


def test_a_missing_number_and_a_category_add_nothing_to_inertia():
    columns = (*PLACES, KIND)

    class Centres:
        cluster_centers_ = np.array([[0.0, 0.0, 0.0], [10.0, 5.0, 1.0]])

    X = np.array([[np.nan, 5.0, 0.0], [99.0, 5.0, 0.0], [0.0, 0.0, 1.0]])
    assert distances_of(Centres(), columns, X) == pytest.approx([0.0, 0.0, 0.0])
    assert distances_of(Centres(), (KIND,), X[:, 2:]) is None


def test_of_a_sum_near_is_a_part_of_it():
    inertia = measured(CLUSTERING).metric("inertia")
    assert inertia.close(102, 100)
    assert not inertia.close(104, 100)


MAKERS = [model for model in LEARNERS if task(model.task).transforms]


@pytest.mark.parametrize("model", MAKERS, ids=lambda model: model.name)
def test_what_makes_columns_is_compared_with_a_model_that_looks_at_no_row(model):
    generator = np.random.default_rng(0)
    u = generator.normal(3, 1.5, 300)
    X = np.column_stack([u, 2 + 0.2 * u + generator.normal(0, 0.1, 300)])
    columns = (*PLACES, Attribute(name="w", kind="real", lower=0, upper=90))
    X = np.column_stack([X, X[:, 0] * 2 + 30])
    study = measured(model.task)
    assert study.constant is None
    assert model.blind is not None
    assert model.ordinary is not None
    y = np.zeros(300, dtype=np.int64)
    level, ordinary = (
        study.measure(HeldOut.ask(asked, columns, 0, X, y), KIND)
        for asked in (model.blind(columns, KIND), model.ordinary(columns, KIND).fit(X, y))
    )
    for metric in study.metrics:
        assert metric.level
        assert metric.better(ordinary[metric.name], level[metric.name])


def test_directions_at_random_explain_what_random_directions_explain_on_average():
    generator = np.random.default_rng(4)
    rows = generator.normal(0, [0.3, 0.1, 0.2, 0.05], (200, 4))
    shares = []
    for _ in range(3000):
        along = np.linalg.qr(generator.normal(size=(4, 2)))[0]
        shares.append(reduction_metrics(rows, rows @ along @ along.T)["variance_explained"])
    columns = tuple(Attribute(name=f"x{j}", kind="real", lower=-1, upper=1) for j in range(4))
    assert PRINCIPAL_COMPONENTS.blind is not None
    said = HeldOut.ask(PRINCIPAL_COMPONENTS.blind(columns, KIND), columns, 0, rows, np.zeros(200))
    level = measured(PRINCIPAL_COMPONENTS.task).measure(said, KIND)["variance_explained"]
    assert level == pytest.approx(0.5, abs=1e-6)
    assert np.mean(shares) == pytest.approx(level, abs=6 * np.std(shares) / 3000**0.5)


def test_variance_explained_does_not_hang_on_the_mean_and_the_error_does():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    along = rows * [1, 0]
    assert reduction_metrics(rows, along)["variance_explained"] == pytest.approx(0.8)
    moved = reduction_metrics(rows, along + np.array([0.0, 0.3]))
    assert moved["variance_explained"] == pytest.approx(0.8)
    assert moved["reconstruction_error"] > reduction_metrics(rows, along)["reconstruction_error"]
    assert reduction_metrics(rows, rows) == {"variance_explained": 1.0, "reconstruction_error": 0.0}
    assert reduction_metrics(rows[:1], along[:1] + 1)["variance_explained"] == 0


def test_missing_values_are_left_out_of_the_errors_of_scales():
    columns = np.array([[1.0, np.nan, np.nan], [-1.0, 2.0, np.nan], [1.0, 2.0, np.nan], [-1.0, 2.0, np.nan]])
    assert scaling_metrics(columns) == {"mean_error": 1.0, "scale_error": 0.5}
    assert scaling_metrics(columns[:, 2:]) == {"mean_error": 0.0, "scale_error": 0.0}
    mixed = (*PLACES, Attribute(name="flag", kind="boolean"))
    X = np.column_stack([np.linspace(-9, 9, 20), np.linspace(0, 5, 20), np.ones(20)])
    model = STANDARDIZE.ordinary(mixed, KIND).fit(X, np.zeros(20, dtype=np.int64))
    figures = measured(STANDARDIZE.task).measure(HeldOut.ask(model, mixed, 0, X, X[:, 2]), KIND)
    assert max(figures.values()) < 1e-6

"""The estimator: what it charges and when, what it refuses, what it writes down."""

import dataclasses
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from classification_tables import DIABETES, breast_cancer, iris, table
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from workbench.data.schema import Attribute
from workbench.learners.naive_bayes.estimator import NaiveBayes
from workbench.learners.naive_bayes.likelihood import CellDensity, GaussianDensity
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.privacy.accounting.event import Cost
from workbench.work.noise import Charged, Exact, Study

AGE = Attribute(name="age", kind="integer", lower=0, upper=120)
INCOME = Attribute(name="income", kind="real", lower=0, upper=100, missing="own-value")
COLOUR = Attribute(name="colour", kind="category", domain=("red", "green", "blue"), missing="own-value")
SMOKER = Attribute(name="smoker", kind="boolean")
TARGET = Attribute(name="ill", kind="category", domain=("no", "yes"))
ATTRIBUTES = (AGE, INCOME, COLOUR, SMOKER)


def people(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(seed)
    y = (g.random(rows) < 0.4).astype(int)
    income = np.where(g.random(rows) < 0.1 + 0.3 * y, np.nan, g.normal(40 + 10 * y, 15))
    colour = np.where(g.random(rows) < 0.2, 3, (y + g.integers(0, 2, rows)) % 3)
    return np.column_stack([g.normal(40 + 20 * y, 12), income, colour, g.random(rows) < 0.2 + 0.5 * y]), y


def learner(noise: Any, epsilon: float | None = 1.0, **parameters: float) -> NaiveBayes:
    return NaiveBayes(ATTRIBUTES, TARGET, NaiveBayesParameters(epsilon=epsilon, **parameters), noise)


def study(seed: int = 0) -> Study:
    return Study(np.random.default_rng(seed))


def refuse(_cost: Cost) -> None:
    raise BudgetRefusedError("too dear")


def test_each_query_has_an_event_and_noise_for_no_more_than_its_share():
    fitted = learner(study(), epsilon=7.0).fit(*people(400))
    assert [e.label for e in fitted.events()] == [
        "range of age",
        "range of income",
        "class sizes",
        "age: sums",
        "income: presence",
        "income: sums",
        "colour: histogram",
        "smoker: histogram",
    ]
    for query in fitted.model_.queries:
        assert query.share is not None
        assert Decimal(query.share.loss) <= query.share.amount


def test_releases_of_the_same_rows_differ():
    X, y = people(100)
    one, two = (learner(Charged(lambda _cost: None)).fit(X, y).model_.answers for _ in range(2))
    assert one != two


def test_missing_values_contribute_only_to_presence():
    X, y = people(300)
    model = learner(Exact(), epsilon=None).fit(X, y).model_
    density = model.densities_[1]
    for c in (0, 1):
        present = X[(y == c) & ~np.isnan(X[:, 1]), 1]
        clamped = np.clip(present, 0, 100)
        assert 50 + 50 * density.means[c] == pytest.approx(clamped.mean(), rel=1e-6)  # type: ignore[union-attr]
        assert 2500 * density.variances[c] == pytest.approx(clamped.var(), rel=1e-6)  # type: ignore[union-attr]
    missing = np.array([[50.0, np.nan, 3, 0]])
    present_row = np.array([[50.0, 45.0, 3, 0]])
    assert model.predict_proba(missing)[0, 1] > model.predict_proba(present_row)[0, 1]


def test_values_outside_the_bounds_are_clamped():
    X, y = people(200)
    wild = X.copy()
    wild[0, 0], wild[1, 0] = 1e9, -1e9
    tame = wild.copy()
    tame[0, 0], tame[1, 0] = 120, 0
    one, two = (learner(Exact(), epsilon=None).fit(x, y).model_ for x in (wild, tame))
    assert one.answers == two.answers
    np.testing.assert_array_equal(one.predict_proba(wild), two.predict_proba(tame))


def test_the_smaller_epsilon_is_the_fewer_attributes_are_asked():
    X, y = people(200)
    used = [len(learner(study(), epsilon=e).fit(X, y).attributes_used) for e in (0.01, 0.5, 3.0)]
    assert used == [1, 2, 4]
    told = ["choice of attributes, 1", "class sizes", "chosen attribute 1"]
    assert [e.label for e in learner(study(), epsilon=0.01).events(200)] == told


def test_mixed_attributes_beat_the_largest_class_in_private():
    X, y = people(1200, seed=5)
    accuracies = [learner(study(s)).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) for s in range(10)]
    plain = learner(Exact(), epsilon=None).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    assert np.mean(accuracies) > max(np.bincount(y[1000:])) / 200 + 0.1
    assert np.mean(accuracies) < plain + 0.02


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1e6])
def test_probabilities_stay_probabilities_at_any_epsilon(epsilon):
    X, y = people(60)
    for seed in range(20):
        found = learner(study(seed), epsilon=epsilon).fit(X, y).predict_proba(X)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)


def test_a_class_without_rows_is_never_preferred():
    X, _ = people(60)
    fitted = learner(Exact(), epsilon=None).fit(X, np.zeros(60, dtype=int))
    assert set(fitted.predict(X)) == {0}


@pytest.mark.parametrize(
    ("row", "column", "value", "said"),
    [
        (3, 0, np.inf, "row 4, column age"),
        (0, 0, np.nan, "missing (row 1, column age)"),
        (7, 2, 4, "4 is not a value of the column (row 8, column colour)"),
        (7, 2, 0.5, "row 8, column colour"),
        (1, 3, 2, "missing (row 2, column smoker)"),
        (1, 3, np.nan, "row 2, column smoker"),
    ],
)
def test_a_wrong_cell_is_named_by_row_and_column(row, column, value, said):
    X, y = people(20)
    X[row, column] = value
    with pytest.raises(InputError) as caught:
        learner(study()).fit(X, y)
    assert said in str(caught.value)


@pytest.mark.parametrize("code", [2, -2, 0.5, np.nan])
def test_a_wrong_class_code_is_named_by_row(code):
    X, y = people(20)
    wrong = y.astype(float)
    wrong[4] = code
    with pytest.raises(InputError, match="row 5, column ill"):
        learner(study()).fit(X, wrong)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((3, 2)), [0, 0, 0]),
        (np.zeros((3, 4)), [0, 0]),
        (np.zeros((0, 4)), []),
        (np.zeros(4), [0]),
        ([["a", 0, 0, 0]], [0]),
        (np.zeros((1, 4)), ["no"]),
    ],
)
def test_tables_of_the_wrong_shape_or_type_are_refused(X, y):
    with pytest.raises(InputError):
        learner(study()).fit(X, y)


@pytest.mark.parametrize(
    ("attributes", "target", "said"),
    [
        ((), TARGET, "no columns to learn from"),
        ((AGE, AGE), TARGET, "same name"),
        ((AGE,), AGE, "same name"),
        ((AGE,), Attribute(name="y", kind="real", lower=0, upper=1), "not category or boolean"),
        ((AGE,), Attribute(name="y", kind="category"), "domain is not declared"),
        ((Attribute(name="x", kind="real", lower=0),), TARGET, "upper bound is not declared"),
        ((Attribute(name="x", kind="category"),), TARGET, "domain is not declared"),
    ],
)
def test_undeclared_facts_are_refused_before_anything_is_charged(attributes, target, said):
    with pytest.raises(ParameterError, match=said):
        NaiveBayes(attributes, target, NaiveBayesParameters(epsilon=1), Charged(refuse)).fit(
            np.zeros((5, len(attributes))), np.zeros(5, dtype=int)
        )


# -- Without noise: plain naive Bayes, to rounding --------------------------------------------------------------------


PLAIN = NaiveBayesParameters()


@pytest.fixture
def bayes(golden_entries):
    """The golden values of naive Bayes with their tolerances."""
    return {e["name"]: (e["value"], e["tolerance"]) for e in golden_entries if e["name"].startswith("bayes_")}


def category(name: str, *domain: str) -> Attribute:
    return Attribute(name=name, kind="category", domain=domain)


def test_diabetes_reference_accuracy_and_f1(shared_data):
    rows = np.loadtxt(shared_data / "diabetes.csv", delimiter=",", skiprows=1)
    X, y = rows[:, :8], rows[:, 8].astype(np.int64)
    for column in (1, 2, 3, 4, 5):  # a zero there is a missing value, and the median is of the values that are there
        X[X[:, column] == 0, column] = np.median(X[X[:, column] != 0, column])
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, test_size=0.2)

    reference = GaussianNB().fit(X_train, y_train)
    named = table(X, y, DIABETES)
    ours = NaiveBayes(named.attributes, named.target, PLAIN, Exact()).fit(X_train, y_train)

    for classifier in (reference, ours):
        predicted = classifier.predict(X_test)
        assert accuracy_score(y_test, predicted) == pytest.approx(0.7857142857, abs=1e-10)
        assert f1_score(y_test, predicted) == pytest.approx(0.6373626374, abs=1e-10)
    np.testing.assert_array_equal(ours.predict(X_test), reference.predict(X_test))


@pytest.mark.parametrize("make", [iris, breast_cancer])
def test_probabilities_equal_gaussian_naive_bayes(make):
    data = make()
    reference = GaussianNB(var_smoothing=0).fit(data.X, data.y)
    ours = NaiveBayes(data.attributes, data.target, PLAIN, Exact()).fit(data.X, data.y)
    for j, density in ours.model_.densities_.items():
        lower, upper = data.attributes[j].bounds()
        half = (upper - lower) / 2
        np.testing.assert_allclose((lower + upper) / 2 + half * density.means, reference.theta_[:, j], rtol=1e-7)
        np.testing.assert_allclose(half**2 * density.variances, reference.var_[:, j], rtol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(data.X), reference.predict_proba(data.X), atol=1e-4)
    np.testing.assert_allclose(
        ours.model_.joint_log_likelihood(data.X), reference.predict_joint_log_proba(data.X), rtol=2e-5
    )


def test_probabilities_equal_categorical_naive_bayes():
    generator = np.random.default_rng(3)
    y = generator.integers(0, 3, 200)
    X = np.column_stack([(y + generator.integers(0, 2, 200)) % 4, generator.integers(0, 3, 200)]).astype(float)
    attributes = [category("a", *"wxyz"), category("b", *"uvw")]
    reference = CategoricalNB(min_categories=[4, 3]).fit(X.astype(int), y)
    ours = NaiveBayes(attributes, category("y", *"rst"), PLAIN, Exact()).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), reference.predict_proba(X.astype(int)), rtol=1e-12)


def test_mixed_attributes_multiply_their_densities():
    generator = np.random.default_rng(4)
    y = generator.integers(0, 2, 300)
    numbers, codes = generator.normal(y, 1.0), (y + (generator.random(300) < 0.3)) % 2
    number = Attribute(name="number", kind="real", lower=-10, upper=10)
    flag = Attribute(name="flag", kind="boolean")
    both = NaiveBayes([number, flag], category("y", "n", "p"), PLAIN, Exact())
    joint = both.fit(np.column_stack([numbers, codes]), y).model_.joint_log_likelihood(
        np.column_stack([numbers, codes])
    )
    gauss = GaussianNB(var_smoothing=0).fit(numbers[:, None], y).predict_joint_log_proba(numbers[:, None])
    cells = CategoricalNB().fit(codes[:, None], y)
    np.testing.assert_allclose(
        joint, gauss + cells.predict_joint_log_proba(codes[:, None]) - cells.class_log_prior_, rtol=1e-6
    )


def test_golden_missed_payment(shared_data, bayes):
    domains = {"Age": ("Young", "Medium", "Old"), "Income": ("Low", "Medium", "High"), "Gender": ("Male", "Female")}
    lines = (shared_data / "missed_payment.csv").read_text().splitlines()[1:]
    cells = [line.split(",") for line in lines]
    X = np.array([[d.index(c) for d, c in zip(domains.values(), row, strict=False)] for row in cells], dtype=float)
    y = np.array([("No", "Yes").index(row[3]) for row in cells])
    attributes = [category(name, *domain) for name, domain in domains.items()]
    exact = NaiveBayesParameters(smoothing=0)
    model = NaiveBayes(attributes, category("Missed", "No", "Yes"), exact, Exact()).fit(X, y).model_

    person = np.array([[0, 1, 1]], dtype=float)  # Young, Medium, Female
    joint = np.exp(model.joint_log_likelihood(person)[0])
    for found, key in ((joint[0], "bayes_missed_no"), (joint[1], "bayes_missed_yes")):
        value, tolerance = bayes[key]
        assert found == pytest.approx(value, abs=tolerance)
    value, tolerance = bayes["bayes_posterior_yes"]
    assert model.predict_proba(person)[0, 1] == pytest.approx(value, abs=tolerance)


def test_golden_sex_classification_with_sample_variances(shared_data, bayes):
    rows = [line.split(",") for line in (shared_data / "sex_classification.csv").read_text().splitlines()[1:]]
    X = np.array([[float(v) for v in row[1:]] for row in rows])
    y = np.array([("masc", "fem").index(row[0]) for row in rows])
    bounds = {"height": (100, 220), "weight": (20, 180), "foot": (10, 40)}
    named = table(X, y, bounds)
    model = NaiveBayes(named.attributes, named.target, PLAIN, Exact()).fit(X, y).model_

    person = np.array([183.0, 59.0, 20.0])
    joint = np.array([0.5, 0.5])
    for j, (name, (lower, upper)) in enumerate(bounds.items()):
        density = model.densities_[j]
        assert isinstance(density, GaussianDensity)
        # The source divides by n − 1, maximum likelihood by n = 4.
        sample = dataclasses.replace(density, variances=density.variances * 4 / 3)
        found = np.exp(sample.log_density(person[j : j + 1])[0])
        joint *= found
        for c, sex in enumerate("mf"):
            variance, _ = bayes[f"bayes_var_{name}_{sex}"]
            assert sample.variances[c] * ((upper - lower) / 2) ** 2 == pytest.approx(variance, rel=1e-6)
            assert found[c] == pytest.approx(bayes[f"bayes_pdf_{name[0]}_{sex}"][0], rel=1e-5)
    assert joint == pytest.approx([bayes["bayes_male_joint"][0], bayes["bayes_female_joint"][0]], rel=1e-5)
    assert model.predict(person[None]) == [1]


def test_an_unseen_category_without_smoothing_falls_back_to_the_class_sizes():
    attributes = [category("a", "x", "y", "z")]
    model = NaiveBayes(attributes, category("y", "n", "p"), NaiveBayesParameters(smoothing=0), Exact()).fit(
        [[0], [1], [0], [1]], [0, 1, 0, 0]
    )
    assert isinstance(model.model_.densities_[0], CellDensity)
    np.testing.assert_allclose(model.predict_proba([[2]]), [[0.75, 0.25]])

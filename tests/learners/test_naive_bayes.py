"""The estimator: what it charges and when, what it refuses, what it writes down."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from workbench.data.schema import Attribute
from workbench.learners.naive_bayes.estimator import NaiveBayes, NaiveBayesModel
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.privacy.accounting.event import Composed, Cost
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


class Unreadable:
    """A table whose shape is public and whose rows nobody may look at yet."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape
        self.ndim = len(shape)

    def __array__(self, *_args: object, **_kwargs: object) -> np.ndarray:
        raise AssertionError("the rows were read")


def refuse(_cost: Cost) -> None:
    raise BudgetRefusedError("too dear")


def test_the_charge_is_epsilon_with_one_event_a_query() -> None:
    paid: list[Cost] = []
    X, y = people(400)
    fitted = learner(Charged(paid.append), epsilon=0.7).fit(X, y)
    (cost,) = paid
    assert cost.epsilon == Decimal("0.7")
    assert cost.delta == 0
    assert isinstance(cost.event, Composed)
    assert cost.event.events == fitted.events(400)
    assert sum((e.epsilon for e in fitted.events()), Decimal(0)) == Decimal("0.7")
    all_of_them = learner(Charged(paid.append), epsilon=7.0).fit(X, y)
    assert all_of_them.events() == all_of_them.events(400)
    assert sum((e.epsilon for e in all_of_them.events()), Decimal(0)) == 7
    assert [e.label for e in all_of_them.events()] == [
        "range of age",
        "range of income",
        "class sizes",
        "age: sums",
        "income: presence",
        "income: sums",
        "colour: histogram",
        "smoker: histogram",
    ]
    for query in all_of_them.model_.queries:
        assert query.share is not None
        assert Decimal(query.share.loss) <= query.share.amount


@pytest.mark.parametrize(("noise", "releasable"), [(Charged([].append), True), (study(), False), (Exact(), False)])
def test_only_released_noise_is_releasable(noise: Any, releasable: bool) -> None:
    fitted = learner(noise).fit(*people(50))
    assert fitted.releasable is fitted.model_.releasable is releasable
    assert NaiveBayes.from_plain(fitted.to_plain()).releasable is releasable


def test_without_noise_nothing_is_charged() -> None:
    fitted = learner(Exact(), epsilon=None).fit(*people(50))
    assert fitted.events() == ()
    assert fitted.cost(50) is None


def test_releases_of_the_same_rows_differ() -> None:
    X, y = people(100)
    one, two = (learner(Charged(lambda _cost: None)).fit(X, y).model_.answers for _ in range(2))
    assert one != two


def test_missing_values_contribute_only_to_presence() -> None:
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


def test_empty_rows_contribute_nothing_but_their_number() -> None:
    X, y = people(200)
    emptied = y.copy()
    emptied[:50] = -1
    with_empty = learner(Exact(), epsilon=None).fit(X, emptied).model_
    without = learner(Exact(), epsilon=None).fit(X[50:], y[50:]).model_
    assert with_empty.answers["class sizes"] == without.answers["class sizes"]
    np.testing.assert_allclose(with_empty.predict_proba(X), without.predict_proba(X), atol=1e-6)


def test_values_outside_the_bounds_are_clamped() -> None:
    X, y = people(200)
    wild = X.copy()
    wild[0, 0], wild[1, 0] = 1e9, -1e9
    tame = wild.copy()
    tame[0, 0], tame[1, 0] = 120, 0
    one, two = (learner(Exact(), epsilon=None).fit(x, y).model_ for x in (wild, tame))
    assert one.answers == two.answers
    np.testing.assert_array_equal(one.predict_proba(wild), two.predict_proba(tame))


def test_the_smaller_epsilon_is_the_fewer_attributes_are_asked() -> None:
    X, y = people(200)
    used = [len(learner(study(), epsilon=e).fit(X, y).attributes_used) for e in (0.01, 0.5, 3.0)]
    assert used == [1, 2, 4]
    told = ["choice of attributes, 1", "class sizes", "chosen attribute 1"]
    assert [e.label for e in learner(study(), epsilon=0.01).events(200)] == told


def test_mixed_attributes_beat_the_largest_class_in_private() -> None:
    X, y = people(1200, seed=5)
    accuracies = [learner(study(s)).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) for s in range(10)]
    plain = learner(Exact(), epsilon=None).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    assert np.mean(accuracies) > max(np.bincount(y[1000:])) / 200 + 0.1
    assert np.mean(accuracies) < plain + 0.02


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1e6])
def test_probabilities_stay_probabilities_at_any_epsilon(epsilon: float) -> None:
    X, y = people(60)
    for seed in range(20):
        found = learner(study(seed), epsilon=epsilon).fit(X, y).predict_proba(X)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)


def test_a_class_without_rows_is_never_preferred() -> None:
    X, _ = people(60)
    fitted = learner(Exact(), epsilon=None).fit(X, np.zeros(60, dtype=int))
    assert set(fitted.predict(X)) == {0}


SPOILS: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("learner", lambda p: p.update(learner="kmeans")),
    ("format", lambda p: p.update(format=99)),
    ("format", lambda p: p.update(format=True)),
    ("noise", lambda p: p.update(noise="none at all")),
    ("rows", lambda p: p.pop("rows")),
    ("rows", lambda p: p.update(rows=0)),
    ("rows", lambda p: p.update(rows=3.5)),
    ("epsilon", lambda p: p["parameters"].update(epsilon=float("nan"))),
    ("epsilon", lambda p: p["parameters"].pop("epsilon")),
    ("lower", lambda p: p["attributes"][0].pop("lower")),
    ("attributes", lambda p: p.update(attributes="age")),
    ("table", lambda p: p.update(attributes=["age"])),
    ("attribute", lambda p: p.update(attributes=[])),
    ("answers", lambda p: p["answers"].pop("age: sums")),
    ("whole numbers", lambda p: p["answers"]["class sizes"].append(1)),
    ("whole numbers", lambda p: p["answers"].update({"class sizes": [1.5, 2]})),
    ("whole numbers", lambda p: p["answers"].update({"class sizes": [True, 2]})),
    ("whole numbers", lambda p: p["answers"].update({"class sizes": [2**70, 2]})),
]


@pytest.mark.parametrize(("named", "spoil"), SPOILS)
def test_a_spoilt_file_is_refused_by_name(named: str, spoil: Callable[[dict[str, Any]], object]) -> None:
    plain = learner(study()).fit(*people(300)).to_plain()
    spoil(plain)
    with pytest.raises(ParameterError, match=named):
        NaiveBayesModel.from_plain(plain)


@pytest.mark.parametrize(
    ("row", "column", "value", "said"),
    [
        (3, 0, np.inf, "row 4, column age"),
        (0, 0, np.nan, "missing (row 1, column age)"),
        (7, 2, 4, "4 is no value of the column (row 8, column colour)"),
        (7, 2, 0.5, "row 8, column colour"),
        (1, 3, 2, "missing (row 2, column smoker)"),
        (1, 3, np.nan, "row 2, column smoker"),
    ],
)
def test_a_wrong_cell_is_named_by_row_and_column(row: int, column: int, value: float, said: str) -> None:
    X, y = people(20)
    X[row, column] = value
    with pytest.raises(InputError) as caught:
        learner(study()).fit(X, y)
    assert said in str(caught.value)


@pytest.mark.parametrize("code", [2, -2, 0.5, np.nan])
def test_a_wrong_class_code_is_named_by_row(code: float) -> None:
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
def test_tables_of_the_wrong_shape_or_type_are_refused(X: Any, y: Any) -> None:
    with pytest.raises(InputError):
        learner(study()).fit(X, y)


@pytest.mark.parametrize(
    ("attributes", "target", "said"),
    [
        ((), TARGET, "no attribute"),
        ((AGE, AGE), TARGET, "one name"),
        ((AGE,), AGE, "one name"),
        ((AGE,), Attribute(name="y", kind="real", lower=0, upper=1), "not category or boolean"),
        ((AGE,), Attribute(name="y", kind="category"), "domain is not declared"),
        ((Attribute(name="x", kind="real", lower=0),), TARGET, "upper bound is not declared"),
        ((Attribute(name="x", kind="category"),), TARGET, "domain is not declared"),
    ],
)
def test_undeclared_facts_are_refused_before_anything_is_charged(
    attributes: tuple[Attribute, ...], target: Attribute, said: str
) -> None:
    with pytest.raises(ParameterError, match=said):
        NaiveBayes(attributes, target, NaiveBayesParameters(epsilon=1), Charged(refuse)).fit(
            np.zeros((5, len(attributes))), np.zeros(5, dtype=int)
        )

"""Why a private model costs: each step differs in one thing, and a change that helps is found."""

import dataclasses
from importlib.util import find_spec

import numpy as np
import pytest

from workbench.data.schema import Attribute
from workbench.learners import LEARNERS, Learner, learner
from workbench.learners.tasks import REGRESSION
from workbench.params import CancelledError, InputError, ParameterError
from workbench.signals.cancel import CancelToken
from workbench.studies.why.changes import CHANGES, training_of
from workbench.studies.why.rows import Rows, generate
from workbench.studies.why.study import (
    CLAMPED,
    EXACT,
    ORDINARY,
    PRIVATE,
    WhyPlan,
    change_lines,
    clamped,
    explain,
    in_sentences,
    step_lines,
)

COLUMNS = (
    Attribute(name="age", kind="integer", lower=0, upper=120),
    Attribute(name="pay", kind="real", lower=0, upper=1e5, missing="own-value"),
    Attribute(name="town", kind="category", domain=("a", "b", "c")),
)
CLASS = Attribute(name="label", kind="boolean")
NUMBER = Attribute(name="height", kind="real", lower=0, upper=2)


def rows_of(task: str, rows: int = 300, columns=COLUMNS) -> Rows:
    return generate(columns, NUMBER if task == REGRESSION else CLASS, task, rows, 5)


def test_generated_rows_follow_from_declared_facts_alone():
    made = rows_of("classification")
    assert made.generated
    assert made.X.shape == (300, 3)
    assert set(made.y) == {0, 1}
    age, pay, town = made.X.T
    assert ((age >= 0) & (age <= 120) & (age == np.round(age))).all()
    assert np.isnan(pay).any()
    assert set(town) <= {0.0, 1.0, 2.0}
    assert np.array_equal(made.X, rows_of("classification").X, equal_nan=True)
    assert not np.array_equal(age, generate(COLUMNS, CLASS, "classification", 300, 6).X[:, 0])


SLOW = pytest.mark.slow
ABSENT = pytest.mark.skipif(find_spec("xgboost") is None, reason="XGBoost is not installed")


def marks_of(chosen: Learner) -> list[pytest.MarkDecorator]:
    return [SLOW] * ("forest" in chosen.name) + [ABSENT] * ("xgboost" in chosen.name)


@pytest.mark.parametrize(
    "chosen",
    [pytest.param(entry, id=entry.name, marks=marks_of(entry)) for entry in LEARNERS],
)
def test_every_learner_is_explained(chosen):
    columns = COLUMNS[:1] + COLUMNS[2:] if chosen.name == "dbscan" else COLUMNS
    usable = tuple(c for c in columns if c.kind in chosen.kinds)
    rows = rows_of(chosen.task, 40, usable)
    result = explain(WhyPlan(model=chosen.name, epsilon=1.0, repeats=2), rows)
    assert PRIVATE in result.steps
    assert EXACT in result.steps
    assert {*result.changed, *result.absent} == {change.name for change in CHANGES}
    assert all(np.isfinite(line.point.mean) for line in (*step_lines(result), *change_lines(result)))
    assert all(in_sentences(result))


def test_bounds_form_and_noise_are_told_apart():
    """Bounds that cut off what tells the classes apart cost, and the noise of a tiny ε costs the rest."""
    draw = np.random.default_rng(1)
    y = draw.integers(0, 2, 400)
    X = np.column_stack([y * 4.0 + draw.standard_normal(400), draw.standard_normal(400)])
    wide = (
        Attribute(name="a", kind="real", lower=-10, upper=10),
        Attribute(name="b", kind="real", lower=-10, upper=10),
    )
    narrow = (dataclasses.replace(wide[0], lower=-10, upper=-1), wide[1])
    plan = WhyPlan(epsilon=0.001, repeats=4)
    with_room = explain(plan, Rows(wide, CLASS, X, y))
    assert CLAMPED not in with_room.steps  # nothing lies beyond the bounds: they cost nothing
    assert with_room.steps[ORDINARY].mean > 0.95
    assert with_room.steps[EXACT].mean > 0.95
    assert with_room.steps[PRIVATE].mean < 0.8
    cut = explain(plan, Rows(narrow, CLASS, X, y))
    assert cut.steps[CLAMPED].mean < with_room.steps[ORDINARY].mean - 0.2
    assert "from the bounds" in in_sentences(cut)[0]
    assert "from the noise" in in_sentences(with_room)[0]


def test_what_helps_is_found_where_much_of_the_range_is_empty():
    """Numbers in a hundredth of their range: where ε is too small to find ranges, tighter bounds help most."""
    draw = np.random.default_rng(2)
    y = draw.integers(0, 2, 300)
    X = 0.5 * y[:, None] + 0.2 * draw.standard_normal((300, 2))
    loose = tuple(Attribute(name=n, kind="real", lower=-100, upper=100) for n in "ab")
    result = explain(WhyPlan(epsilon=0.1, repeats=8), Rows(loose, CLASS, X, y))
    assert result.best == "bounds"
    assert "Bounds must be public" in in_sentences(result)[1]


def test_each_change_changes_one_thing():
    given = training_of(rows_of("classification"), np.arange(200), 1.0)
    made = {change.name: change.make(given) for change in CHANGES}
    assert all(made.values())
    assert made["epsilon"] == dataclasses.replace(given, epsilon=2.0) or made["epsilon"].epsilon == 2.0
    assert made["epsilon"].X is given.X
    assert len(made["rows"].y) == 400
    assert made["rows"].attributes == given.attributes
    half = made["attributes"]
    assert len(half.attributes) == 2
    assert half.X.shape == (200, 2)
    assert [given.attributes[j] for j in half.columns] == list(half.attributes)
    tight = made["bounds"]
    assert tight.X is given.X
    assert tight.attributes[0].bounds()[0] > 0
    assert tight.attributes[0].bounds()[1] < 120
    assert tight.attributes[2] == COLUMNS[2]


def test_a_change_that_cannot_be_made_is_said():
    one = generate(COLUMNS[2:], CLASS, "classification", 100, 1)
    result = explain(WhyPlan(epsilon=1.0, repeats=2), one)
    assert set(result.absent) == {"attributes", "bounds"}
    assert all(reason.endswith(".") for reason in result.absent.values())


@SLOW
def test_the_figures_do_not_depend_on_the_number_of_workers():
    plan, rows = WhyPlan(epsilon=1.0, repeats=2), rows_of("classification", 60)
    one, two = explain(plan, rows), explain(plan, rows, jobs=2)
    assert one.steps == two.steps
    assert one.gains == two.gains


def test_clamped_rows_keep_what_is_missing():
    out = clamped(COLUMNS, np.array([[-5.0, np.nan, 2.0], [200.0, 2e5, 1.0]]))
    assert np.array_equal(out, [[0.0, np.nan, 2.0], [120.0, 1e5, 1.0]], equal_nan=True)


def test_bad_requests_are_refused():
    with pytest.raises(ParameterError, match="not known"):
        WhyPlan(model="no-model", epsilon=1.0)
    with pytest.raises(ParameterError, match="epsilon"):
        WhyPlan(epsilon=float("nan"))
    with pytest.raises(InputError, match="too few"):
        explain(WhyPlan(epsilon=1.0, repeats=2), rows_of("classification", 2))
    with pytest.raises(ParameterError):
        explain(WhyPlan(model="linear-regression", epsilon=1.0), rows_of("classification"))
    stopped = CancelToken()
    stopped.cancel()
    with pytest.raises(CancelledError):
        explain(WhyPlan(epsilon=1.0, repeats=2), rows_of("classification"), cancel=stopped)
    assert learner("naive-bayes").task == "classification"

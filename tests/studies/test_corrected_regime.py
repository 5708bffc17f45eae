"""The corrected table: the sanitised rows, and a model that knows the public tables they went through."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import polars as pl
import pytest
from numpy.typing import ArrayLike, NDArray

from workbench import learners
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.learners.public_tables import PublicTable
from workbench.params import CancelledError, ParameterError
from workbench.processes.executor import cores
from workbench.render.curve_figure import curve_figure
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import CancelToken
from workbench.studies.curve import CurvePlan, Journal, identity, run_curve
from workbench.studies.regimes import Regime, StudyData
from workbench.studies.results import Row, Tally
from workbench.studies.train_on_released import model_comparison

BOUNDS = Plan(
    epsilon=2.0,
    columns=(
        Column(name="Size", kind="real", lower=0.0, upper=10.0, cells=21, mechanism="grr"),
        Column(name="Colour", kind="category", domain=("red", "green", "blue")),
        Column(name="Kind", kind="category", domain=("a", "b"), mechanism="grr"),
    ),
)
# Of eight seeds the correction is ahead in each, by .017 to .038 at ε = 5.
PLAN = CurvePlan(epsilons=(0.5, 5.0, 1000.0), repeats=20, seed=1, regimes=("none", "sanitized:plan", "corrected:plan"))


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(1)
    y = (generator.random(600) < 0.35).astype(int)
    size = np.clip(generator.normal(3 + 4 * y, 1.5), 0, 10).round(1)
    colour = np.where(generator.random(600) < 0.6, y, 2)
    frame = {
        "Size": [str(v) for v in size],
        "Colour": [("red", "green", "blue")[c] for c in colour],
        "Kind": ["ab"[c] for c in y],
    }
    return StudyData.read(Table(pl.DataFrame(frame), "made up"), BOUNDS, "Kind")


def figures(rows: tuple[Row, ...], metric: str = "accuracy") -> dict[tuple[str, float], float]:
    return {(p.regime, p.epsilon): p.mean for p in Tally(rows).points() if p.metric == metric}


def test_it_is_better_than_the_sanitised_table_and_the_same_where_nothing_was_flipped(data):
    rows = run_curve(PLAN, data).rows
    got = figures(rows)
    assert got["corrected:plan", 5.0] > got["sanitized:plan", 5.0] + 0.01
    assert got["corrected:plan", 5.0] > 0.8
    # ε = 1000 leaves every cell as it is: both are the ordinary model on the public grid.
    for metric in ("accuracy", "f1", "balanced_accuracy"):
        same = figures(rows, metric)
        assert same["corrected:plan", 1000.0] == pytest.approx(same["sanitized:plan", 1000.0], abs=1e-12)
    assert run_curve(PLAN, data, jobs=2).rows == rows


def test_it_learns_from_the_very_rows_of_the_sanitised_regime(data):
    seen: list[NDArray[np.int64]] = []

    class Watching(NAIVE_BAYES.corrected):  # type: ignore[misc, name-defined]
        def fit(self, cells: NDArray[np.int64], classes: NDArray[np.int64]) -> Self:
            seen.append(np.column_stack([cells, classes]))
            return super().fit(cells, classes)  # type: ignore[no-any-return]

    class Ordinary:
        def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Self:
            codes = np.rint(X[:, 0] * 2)  # 21 cells from 0 to 10
            seen.append(np.column_stack([codes, X[:, 1], y]).astype(np.int64))
            return self

        def predict(self, X: ArrayLike) -> NDArray[np.int64]:
            return np.zeros(len(np.asarray(X)), dtype=np.int64)

    both = replace(NAIVE_BAYES, corrected=Watching, ordinary=lambda *_: Ordinary())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learners, "LEARNERS", (both,))
        run_curve(replace(PLAN, regimes=("sanitized:grr", "corrected:grr"), epsilons=(1.0,), repeats=2), data)
    assert len(seen) == 4
    assert np.array_equal(seen[0], seen[2])
    assert np.array_equal(seen[1], seen[3])
    assert not np.array_equal(seen[0], seen[1])


def test_it_is_asked_about_rows_as_they_are_even_if_others_are_asked_about_sanitised_ones(data):
    raw = figures(run_curve(PLAN, data).rows)
    other = figures(run_curve(replace(PLAN, evaluate="sanitized"), data).rows)
    assert other["corrected:plan", 0.5] == raw["corrected:plan", 0.5]
    assert other["sanitized:plan", 0.5] != raw["sanitized:plan", 0.5]


def test_a_stopped_study_goes_on_with_it(data, tmp_path):
    short = replace(PLAN, repeats=2)
    with Journal.open(tmp_path, identity(PLAN, data)) as journal:
        run_curve(short, data, journal=journal)
    with Journal.open(tmp_path, identity(PLAN, data)) as journal:
        assert any(name.startswith("corrected:plan at epsilon 5") for name in journal.done)
        assert run_curve(PLAN, data, journal=journal).rows == run_curve(PLAN, data).rows


def test_a_learner_says_by_its_descriptor_alone_how_it_is_corrected(data, monkeypatch):
    class Commonest:
        """Names the class that the inverse of the target's table makes the largest."""

        def __init__(self, tables: Sequence[PublicTable], target: PublicTable) -> None:
            assert [table.attribute.name for table in tables] == ["Size", "Colour"]
            self.target = target

        def fit(self, cells: NDArray[np.int64], classes: NDArray[np.int64]) -> Self:
            assert cells.shape == (len(classes), 2)
            counts = np.bincount(classes, minlength=2) @ self.target.inverse
            self.said = int(counts.argmax())
            return self

        def predict(self, X: ArrayLike) -> NDArray[Any]:
            return np.full(len(np.asarray(X)), self.said)

    monkeypatch.setattr(learners, "LEARNERS", (replace(NAIVE_BAYES, name="toy", corrected=Commonest),))
    plan = CurvePlan(model="toy", regimes=("corrected:grr",), epsilons=(30.0,), repeats=3)
    result = run_curve(plan, data)
    assert figures(result.rows) == {("corrected:grr", 30.0): pytest.approx(result.levels["accuracy"])}


@pytest.mark.parametrize(("name", "kind"), [("corrected:plan", "corrected"), ("sanitized:auto", "sanitized")])
def test_regimes_of_a_table(name, kind):
    way = Regime.parse(name)
    assert (way.name, way.kind, way.on_a_table) == (name, kind, True)
    assert not Regime.parse("private").on_a_table


DIABETES = {
    "Pregnancies": (0, 20),
    "Glucose": (0, 250),
    "BMI": (0, 70),
    "Age": (18, 100),
}


@pytest.mark.slow
def test_the_diabetes_table_on_8_cells(shared_data):
    """Four attributes that a physician would name, each on 8 cells."""
    columns = [
        Column(name=name, kind="real", lower=float(low), upper=float(high), cells=8, mechanism="grr")
        for name, (low, high) in DIABETES.items()
    ]
    target = Column(name="Outcome", kind="category", domain=("0", "1"), mechanism="grr")
    table = read_table(shared_data / "diabetes.csv")
    read = StudyData.read(table, Plan(epsilon=1, columns=(*columns, target)), "Outcome")
    plan = CurvePlan(regimes=("sanitized:plan", "corrected:plan"), epsilons=(1.0, 3.0, 10.0), repeats=60)
    result = run_curve(plan, read, jobs=cores())
    got = {(p.regime, p.epsilon): p for p in result.points if p.metric == "accuracy"}
    majority = result.levels["accuracy"]
    for epsilon in plan.epsilons:
        assert got["corrected:plan", epsilon].mean > got["sanitized:plan", epsilon].mean
    # At ε = 1 one class in four times seems the larger one: no method can know better (see KNOWN-LIMITS.md).
    for epsilon in (3.0, 10.0):
        point = got["corrected:plan", epsilon]
        assert point.mean > majority - 2 * point.standard_error
    assert got["corrected:plan", 10.0].mean >= 0.73


# -- The regime ``synthetic:METHOD``: an ordinary model trained on synthetic rows, asked about real ones --------------


SYNTHETIC_PLAN = CurvePlan(regimes=("none", "synthetic:marginals", "synthetic:mst"), epsilons=(0.01, 20.0), repeats=4)


@pytest.fixture
def synthetic_data():
    made = np.random.default_rng(5)
    x, z = made.uniform(0, 10, 400), made.uniform(0, 10, 400)
    frame = pl.DataFrame(
        {
            "x": [f"{v:.1f}" for v in x],
            "z": [f"{v:.1f}" if v > 1 else "" for v in z],
            "y": ["yes" if v > 4 else "no" for v in x],
        }
    )
    columns = (
        Column(name="x", kind="real", lower=0, upper=10),
        Column(name="z", kind="real", lower=0, upper=10, missing="own-value"),
        Column(name="y", kind="category", domain=("no", "yes")),
    )
    return StudyData.read(Table(frame, "t"), Plan(epsilon=1.0, columns=columns), "y")


def test_at_a_large_epsilon_it_is_as_good_as_the_rows_themselves(synthetic_data):
    result = run_curve(SYNTHETIC_PLAN, synthetic_data)
    mean = {(p.regime, p.epsilon): p.mean for p in result.points if p.metric == "accuracy"}
    for way in ("synthetic:marginals", "synthetic:mst"):
        assert mean[way, 20.0] > mean["none", 20.0] - 0.05
        assert mean[way, 0.01] < mean[way, 20.0] - 0.1
    assert run_curve(SYNTHETIC_PLAN, synthetic_data).rows == result.rows
    assert [s.name for s in curve_figure(result, "t").series] == ["synthetic: marginals", "synthetic: mst"]


def test_the_rows_follow_from_the_training_rows_alone(synthetic_data):
    training = np.arange(0, 400, 2)
    way = Regime.parse("synthetic:mst")
    cells = synthetic_data.cells.copy()
    cells[1::2] = 0
    other = replace(synthetic_data, cells=cells)
    one, two = (of.synthetic(way, 1.0, 7, training) for of in (synthetic_data, other))
    assert len(one[1]) == len(training)
    assert np.array_equal(one[0], two[0], equal_nan=True)
    assert np.array_equal(one[1], two[1])
    assert np.isnan(one[0][:, 1]).any(), "a missing value is one of the values"
    assert set(np.unique(one[1])) <= {0, 1}


@pytest.mark.parametrize(
    ("name", "said"), [("synthetic", "write synthetic:marginals"), ("synthetic:mts", "did you mean 'mst'")]
)
def test_an_unknown_method_is_refused_in_words(name, said):
    with pytest.raises(ParameterError, match=said):
        Regime.parse(name)


def test_an_epsilon_that_cannot_be_divided_is_refused_before_any_work(synthetic_data):
    seen: list[object] = []
    plan = replace(SYNTHETIC_PLAN, epsilons=(0.0001,), regimes=("none", "synthetic:mst"))
    many = replace(
        synthetic_data, cells=np.tile(synthetic_data.cells[:, :1], 60), columns=synthetic_data.columns[:1] * 59
    )
    with pytest.raises(ParameterError, match="gives each of"):
        run_curve(plan, many, on_rows=seen.append)
    assert seen == []


# -- What a model learns from released rows, beside one that learns from the original rows ----------------------------


LEARNED_PLAN = Plan(
    epsilon=1.0,
    columns=(
        Column(name="note", action="keep"),
        Column(name="x", kind="real", lower=0, upper=10),
        Column(name="y", kind="category", domain=("no", "yes"), missing="own-value"),
        Column(name="z", kind="real", lower=0, upper=20),
    ),
)


@pytest.fixture(scope="module")
def table():
    x = np.random.default_rng(5).uniform(0, 10, 600)
    said = ["yes" if v > 4 else "no" for v in x]
    frame = pl.DataFrame({"note": ["kept"] * 600, "x": [f"{v:.1f}" for v in x], "y": said})
    return Table(frame.with_columns(z=pl.Series([f"{2 * v:.1f}" for v in x])), "t")


def cells(table: Table) -> dict[str, np.ndarray]:
    return {c.name: c.grid().encode(table) for c in LEARNED_PLAN.protected}


def test_the_rows_themselves_teach_as_much_as_the_rows(table):
    found = model_comparison(LEARNED_PLAN, table, "y", cells(table), CancelToken())
    assert found is not None
    assert found.released == pytest.approx(found.original, abs=0.02)
    assert found.released > 0.9
    assert found.level == pytest.approx(0.6, abs=0.05)
    assert f"{found.released:.3f} for a model" in found.words


def test_rows_without_the_relationship_teach_nothing_and_a_row_without_a_class_is_left_out(table):
    drawn = np.random.default_rng(1)
    mixed = {name: drawn.permutation(found) for name, found in cells(table).items()}
    mixed["y"][::7] = 2  # missing
    found = model_comparison(LEARNED_PLAN, table, "y", mixed, CancelToken())
    assert found is not None
    assert found.released < found.original - 0.2


def test_a_target_of_numbers_is_judged_by_the_error_of_a_line(table):
    found = model_comparison(LEARNED_PLAN, table, "z", cells(table), CancelToken())
    assert found is not None
    assert found.metric == "R²"
    assert found.released > 0.99
    assert found.level == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize(("target", "released"), [(None, ["x", "y"]), ("note", ["x", "y"]), ("y", ["y"])])
def test_without_a_released_target_and_something_to_learn_from_nothing_is_trained(table, target, released):
    found = {name: made for name, made in cells(table).items() if name in released}
    assert model_comparison(LEARNED_PLAN, table, target, found, CancelToken()) is None


def test_it_is_cancelled_between_models(table):
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        model_comparison(LEARNED_PLAN, table, "y", cells(table), cancel)

import threading
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.learners.naive_bayes.estimator import NaiveBayes
from workbench.learners.tasks import CLASSIFICATION, REGRESSION
from workbench.params import CancelledError, InputError, ParameterError
from workbench.processes.executor import cores
from workbench.render.curve_figure import curve_figure, epsilon_label
from workbench.sanitize.plan import Column, Plan
from workbench.signals import Event, Progress
from workbench.signals.cancel import CancelToken
from workbench.studies.curve import CurvePlan, Journal, identity, run_curve
from workbench.studies.metrics import classification_metrics, measured
from workbench.studies.regimes import Regime, StudyData
from workbench.studies.results import Row, Tally

BOUNDS = Plan(
    epsilon=2.0,
    columns=(
        Column(name="Size", kind="real", lower=0.0, upper=10.0, cells=101, epsilon=0.5),
        Column(name="Colour", kind="category", domain=("red", "green", "blue"), weight=2.0),
        Column(name="Kind", kind="category", domain=("a", "b"), mechanism="grr"),
        Column(name="Name", kind="category", action="drop"),
    ),
)
PLAN = CurvePlan(epsilons=(0.5, 50.0), repeats=3, regimes=("none", "sanitized:staircase", "private"))


def table(rows: int = 200, seed: int = 1) -> Table:
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, rows)
    size = np.clip(generator.normal(3 + 4 * y, 1.0), 0, 10).round(1)
    colour = np.where(generator.random(rows) < 0.8, y, 2)
    frame = {
        "Size": [str(v) for v in size],
        "Colour": [("red", "green", "blue")[c] for c in colour],
        "Kind": ["ab"[c] for c in y],
        "Name": [f"person {i}" for i in range(rows)],
    }
    return Table(pl.DataFrame(frame), "made up")


@pytest.fixture(scope="module")
def data():
    return StudyData.read(table(), BOUNDS, "Kind")


def accuracy(rows: tuple[Row, ...]) -> dict[tuple[str, float], float]:
    return {(p.regime, p.epsilon): p.mean for p in Tally(rows).points() if p.metric == "accuracy"}


def test_rows_are_complete_ordered_and_repeatable(data):
    rows = run_curve(PLAN, data).rows
    assert len(rows) == 3 * 2 * 3 * 4  # regimes, ε, repeats, metrics
    regimes = [r.regime for r in rows]
    assert list(dict.fromkeys(regimes)) == list(PLAN.regimes)
    keys = [(PLAN.regimes.index(r.regime), r.epsilon, r.repeat) for r in rows]
    assert keys == sorted(keys)
    assert {r.metric for r in rows} == {"accuracy", "balanced_accuracy", "f1", "auc"}
    assert run_curve(PLAN, data).rows == rows
    assert run_curve(replace(PLAN, seed=1), data).rows != rows


def test_workers_change_nothing(data):
    assert run_curve(PLAN, data, jobs=2).rows == run_curve(PLAN, data, jobs=1).rows


def test_no_privacy_has_one_figure_for_all_epsilons(data):
    rows = [r for r in run_curve(PLAN, data).rows if r.regime == "none"]
    assert [r.value for r in rows if r.epsilon == 0.5] == [r.value for r in rows if r.epsilon == 50.0]


def test_more_epsilon_and_a_private_learner_serve_better(data):
    got = accuracy(run_curve(replace(PLAN, repeats=8), data).rows)
    assert got["none", 0.5] > 0.9
    assert got["private", 50.0] > got["none", 0.5] - 0.03
    assert got["sanitized:staircase", 50.0] > got["none", 0.5] - 0.05
    assert got["private", 0.5] > got["sanitized:staircase", 0.5] + 0.1


def test_a_longer_list_repeats_the_shorter_ones_draws(data):
    short = run_curve(PLAN, data).rows
    long = run_curve(replace(PLAN, epsilons=(0.5, 3.0, 50.0), repeats=4), data).rows
    assert set(short) <= set(long)


def test_the_private_regime_never_sees_the_sanitised_draw(data):
    one, two = Regime.parse("sanitized:staircase"), Regime.parse("sanitized:grr")
    X, y = data.sanitised(one, 1.0, 5)
    again, _ = data.sanitised(one, 1.0, 5)
    assert np.array_equal(X, again)
    assert not np.array_equal(X, data.sanitised(two, 1.0, 5)[0])
    assert not np.array_equal(y, data.y)


def test_the_whole_row_costs_epsilon_as_the_plan_divides_it(data):
    plan = data.plan(Regime.parse("sanitized:bounded-laplace"), 4.0)

    split = {name: float(share) for name, share in plan.shares().items()}
    assert sum(split.values()) == pytest.approx(4.0)
    # 0.5 of 2 is fixed, the rest is split 2 : 1, and a study keeps these proportions at every ε.
    assert split == pytest.approx({"Size": 1.0, "Colour": 2.0, "Kind": 1.0})
    assert [c.mechanism for c in plan.columns] == ["bounded-laplace", "grr", "grr"]


def test_sanitised_rows_stay_in_the_public_domain(data):
    X, y = data.sanitised(Regime.parse("sanitized:auto"), 0.01, 3)
    assert X[:, 0].min() >= 0
    assert X[:, 0].max() <= 10
    assert set(np.unique(X[:, 1])) <= {0, 1, 2}
    assert set(np.unique(y)) <= {0, 1}


def test_sanitised_truth_is_another_question(data):
    plan = replace(PLAN, epsilons=(1.0,), repeats=5)
    raw = accuracy(run_curve(plan, data).rows)
    own = accuracy(run_curve(replace(plan, evaluate="sanitized"), data).rows)
    assert own["none", 1.0] == raw["none", 1.0]
    assert own["private", 1.0] == raw["private", 1.0]
    assert own["sanitized:staircase", 1.0] != raw["sanitized:staircase", 1.0]


def test_a_stopped_study_is_continued(data, tmp_path):
    cancel, seen = CancelToken(), []

    def stop_half_way(event: Event) -> None:
        seen.append(event)
        if isinstance(event, Progress) and event.done >= event.total / 2:
            cancel.cancel()

    with Journal.open(tmp_path, identity(PLAN, data)) as journal, pytest.raises(CancelledError):
        run_curve(PLAN, data, emit=stop_half_way, cancel=cancel, journal=journal)
    with Journal.open(tmp_path, identity(PLAN, data)) as journal:
        kept = len(journal.done)
        assert kept == len(PLAN.fits()) // 2 + len(PLAN.fits()) % 2
        begun: list[float] = []
        result = run_curve(PLAN, data, emit=lambda e: begun.append(getattr(e, "done", -1)), journal=journal)
        assert len(journal.done) == len(PLAN.fits())
    assert result.rows == run_curve(PLAN, data).rows
    assert begun == list(range(len(PLAN.fits()) + 1))


def test_a_journal_belongs_to_one_table_plan_and_seed(data):
    first = identity(PLAN, data)
    assert identity(replace(PLAN, repeats=9, epsilons=(1.0,), regimes=("private",)), data) == first
    others = [
        identity(replace(PLAN, seed=1), data),
        identity(replace(PLAN, evaluate="sanitized"), data),
        identity(PLAN, StudyData.read(table(seed=2), BOUNDS, "Kind")),
        identity(PLAN, StudyData.read(table(), replace(BOUNDS, columns=BOUNDS.columns[::-1]), "Kind")),
    ]
    assert all(other != first for other in others)


def test_rows_come_while_the_study_runs(data):
    came: list[Row] = []
    result = run_curve(PLAN, data, jobs=2, on_rows=came.extend)
    assert sorted(came) == sorted(result.rows)


def test_cancel_leaves_no_worker(data):
    cancel = CancelToken()
    timer = threading.Timer(0.5, cancel.cancel)
    timer.start()
    with pytest.raises(CancelledError):
        run_curve(replace(PLAN, repeats=2000), data, jobs=2, cancel=cancel)
    timer.join()


def test_the_majority_is_the_baseline(data):
    share = max(np.bincount(data.y)) / len(data.y)
    assert run_curve(PLAN, data).levels["accuracy"] == pytest.approx(share, abs=0.02)


def test_every_regime_has_an_auc_that_rises_with_epsilon(data):
    result = run_curve(replace(PLAN, repeats=8), data)
    area = {(p.regime, p.epsilon): p.mean for p in Tally(result.rows).points() if p.metric == "auc"}
    assert {regime for regime, _ in area} == set(PLAN.regimes)
    assert area["none", 0.5] > 0.95
    assert area["sanitized:staircase", 0.5] < 0.7 < 0.95 < area["sanitized:staircase", 50.0]
    assert area["private", 0.5] < area["private", 50.0] + 1e-9
    assert result.levels["auc"] == 0.5
    assert result.left_out == {}


def test_a_model_without_scores_leaves_auc_out_and_says_so(data, monkeypatch):
    monkeypatch.setattr(NaiveBayes, "predict_proba", None, raising=False)
    result = run_curve(PLAN, data)
    assert {row.metric for row in result.rows} == {"accuracy", "balanced_accuracy", "f1"}
    assert result.left_out == {"auc": measured(CLASSIFICATION).metric("auc").absent}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"regimes": ("nome",)}, "did you mean 'none'"),
        ({"regimes": ("sanitized",)}, "has no mechanism"),
        ({"regimes": ("sanitized:starcase",)}, "did you mean 'staircase'"),
        ({"regimes": ("sanitized:oue",)}, "frequency collection"),
        ({"regimes": ("private:grr",)}, "not NAME=VALUE"),
        ({"regimes": ("corrected",)}, "write corrected:staircase"),
        ({"regimes": ("corrected:starcase",)}, "did you mean 'staircase'"),
        ({"regimes": ("corected:grr",)}, "did you mean 'corrected'"),
        ({"regimes": ("corrected:grr",), "model": "kmeans"}, "cannot correct for the mechanism of a sanitised table"),
        ({"regimes": ("none", "none")}, "twice"),
        ({"regimes": ()}, "at least 1"),
        ({"model": "naive-bays"}, "did you mean"),
        ({"epsilons": (0.0,)}, "epsilons"),
        ({"repeats": 0}, "repeats"),
        ({"evaluate": "sanitized", "regimes": ("none", "private")}, "needs a sanitised regime"),
    ],
)
def test_an_impossible_plan_is_refused_in_words(change, told):
    with pytest.raises(ParameterError, match=told):
        CurvePlan(**change)  # type: ignore[arg-type]


def test_what_the_table_cannot_serve_is_told():
    with pytest.raises(ParameterError, match="declared as real"):
        StudyData.read(table(), BOUNDS, "Size")
    with pytest.raises(ParameterError, match="no column 'Sort'"):
        StudyData.read(table(), BOUNDS, "Sort")
    alone = replace(BOUNDS, columns=BOUNDS.columns[2:])
    with pytest.raises(ParameterError, match="no column to learn from"):
        StudyData.read(table(), alone, "Kind")
    broken = Table(table().frame.with_columns(pl.Series("Size", ["3.5"] * 199 + ["x"])), "made up")
    with pytest.raises(InputError, match="row 200"):
        StudyData.read(broken, BOUNDS, "Kind")
    lacking = Table(table().frame.with_columns(pl.Series("Kind", ["a"] * 199 + [None])), "made up")
    kept = replace(BOUNDS, columns=(*BOUNDS.columns[:2], replace(BOUNDS.columns[2], missing="own-value")))
    with pytest.raises(InputError, match="missing"):
        StudyData.read(lacking, kept, "Kind")


def test_missing_attributes_are_one_more_value():
    gaps = Table(table().frame.with_columns(pl.Series("Size", [None] * 60 + ["5.0"] * 140)), "made up")
    columns = (replace(BOUNDS.columns[0], missing="own-value"), *BOUNDS.columns[1:])
    data = StudyData.read(gaps, replace(BOUNDS, columns=columns), "Kind")
    assert np.isnan(data.X[:60, 0]).all()
    X, _ = data.sanitised(Regime.parse("sanitized:staircase"), 100.0, 1)
    assert np.isnan(X[:60, 0]).mean() > 0.9
    rows = run_curve(replace(PLAN, epsilons=(1.0,)), data).rows
    assert all(0 <= row.value <= 1 for row in rows)


def test_numbers_to_predict_are_clamped_and_rows_without_one_are_left_out():
    cells = ["3.5"] * 196 + [None, "x", "-7", "99"]
    made = Table(table().frame.with_columns(pl.Series("Size", cells)), "made up")
    data = StudyData.read(made, replace(BOUNDS, invalid="replace"), "Size", REGRESSION)
    assert data.y.tolist() == [3.5] * 196 + [0.0, 10.0]
    assert [c.name for c in data.columns] == ["Colour", "Kind"]
    assert len(data.X) == len(data.cells) == 198
    _, drawn = data.sanitised(Regime.parse("sanitized:bounded-laplace"), 3.0, 1)
    assert drawn.dtype == np.float64
    assert 0 <= drawn.min() < drawn.max() <= 10
    with pytest.raises(ParameterError, match="declared as category, not as numeric"):
        StudyData.read(made, BOUNDS, "Kind", REGRESSION)
    empty = Table(made.frame.with_columns(pl.Series("Size", ["x"] * 200)), "made up")
    with pytest.raises(InputError, match="no row has a number"):
        StudyData.read(empty, replace(BOUNDS, invalid="replace"), "Size", REGRESSION)


def test_a_tiny_share_is_refused_before_any_work(data):
    columns = tuple(replace(c, epsilon=None, weight=1e-6 if c.name == "Size" else 1.0) for c in data.columns)
    lopsided = replace(data, columns=columns)
    with pytest.raises(ParameterError, match="share"):
        run_curve(replace(PLAN, epsilons=(1e-4,)), lopsided)


# -- The curve of the diabetes table: what the study must show, on real rows ------------------------------------------


# Round numbers that a physician would write without looking at a row; 0 stands for "not measured" in this table.
DIABETES_BOUNDS = {
    "Pregnancies": ("integer", 0, 20),
    "Glucose": ("integer", 0, 250),
    "BloodPressure": ("integer", 0, 150),
    "SkinThickness": ("integer", 0, 100),
    "Insulin": ("integer", 0, 900),
    "BMI": ("real", 0, 70),
    "DiabetesPedigreeFunction": ("real", 0, 2.5),
    "Age": ("integer", 18, 100),
}
NOT_MEASURED = ("Glucose", "BloodPressure", "SkinThickness", "BMI", "Insulin")


@pytest.fixture(scope="module")
def diabetes(shared_data):
    columns = [
        Column(name=name, kind=kind, lower=float(low), upper=float(high))
        for name, (kind, low, high) in DIABETES_BOUNDS.items()
    ]
    target = Column(name="Outcome", kind="category", domain=("0", "1"))
    return StudyData.read(
        read_table(shared_data / "diabetes.csv"), Plan(epsilon=1, columns=(*columns, target)), "Outcome"
    )


def test_the_published_figures_without_privacy_are_reproduced(diabetes):
    X = diabetes.X.copy()
    for j, column in enumerate(diabetes.columns):
        if column.name in NOT_MEASURED:
            X[X[:, j] == 0, j] = np.median(X[X[:, j] != 0, j])
    split = train_test_split(X, diabetes.y, random_state=0, test_size=0.2)
    said = GaussianNB().fit(split[0], split[2]).predict(split[1])
    figures = classification_metrics(split[3], said, 2)
    assert figures["accuracy"] == pytest.approx(0.7857142857, abs=1e-10)
    assert figures["f1"] == pytest.approx(0.6373626374, abs=1e-10)


@pytest.mark.slow
def test_a_private_model_beats_a_sanitised_table_and_nothing_beats_no_privacy(diabetes):
    epsilons = CurvePlan.declared()["epsilons"].parse("0.1:100:13", "epsilons")
    plan = CurvePlan(regimes=("none", "sanitized:staircase", "private"), epsilons=epsilons, repeats=20)
    rows = [r for r in run_curve(plan, diabetes, jobs=cores()).rows if r.metric == "accuracy"]
    none, sanitised, private = (
        np.array([[r.value for r in rows if (r.regime, r.epsilon) == (regime, epsilon)] for epsilon in epsilons])
        for regime in plan.regimes
    )
    assert none.shape == (13, 20)

    def over(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the mean difference on the same splits at each ε, in standard errors."""
        difference = one - other
        return difference.mean(axis=1) / np.maximum(difference.std(axis=1, ddof=1) / np.sqrt(20), 1e-12)

    assert np.all(over(private, sanitised) >= -2)
    middle = [1 <= epsilon <= 10 for epsilon in epsilons]
    assert sum(middle) == 5
    assert np.all(over(private, sanitised)[middle] > 2)
    assert np.all(over(private, none) <= 2)
    assert np.all(over(sanitised, none) <= 2)


# -- Other parameters of the private model in a curve: ``--set blocks=20`` --------------------------------------------


SETTINGS_PLAN = CurvePlan(
    model="median-forest", regimes=("private",), epsilons=(2.0,), repeats=2, settings=("blocks=4", "trees=1")
)


@pytest.fixture
def settings_data():
    x = np.random.default_rng(2).uniform(0, 10, 60)
    frame = pl.DataFrame({"x": [f"{v:.2f}" for v in x], "y": [f"{v / 2:.2f}" for v in x]})
    columns = tuple(Column(name=name, kind="real", lower=0, upper=10) for name in ("x", "y"))
    return StudyData.read(Table(frame, "t"), Plan(epsilon=1.0, columns=columns), "y", "regression")


def test_they_reach_the_private_model_and_change_its_figures(settings_data):
    parameters = SETTINGS_PLAN.parameters(2.0, SETTINGS_PLAN.ways[0])
    assert parameters.to_plain() == {"epsilon": 2.0, "blocks": 4, "trees": 1}
    one = run_curve(SETTINGS_PLAN, settings_data)
    other = run_curve(CurvePlan(**{**SETTINGS_PLAN.to_plain(), "settings": ["blocks=16", "trees=1"]}), settings_data)
    assert one.rows != other.rows
    assert run_curve(SETTINGS_PLAN, settings_data).rows == one.rows
    figure = curve_figure(one, "t")
    assert "blocks=4 · trees=1" in figure.subtitle
    assert figure.x_label == "ε of each prediction (log scale)"


def test_a_study_with_other_settings_is_another_study(settings_data, tmp_path):
    other = CurvePlan(**{**SETTINGS_PLAN.to_plain(), "settings": ["blocks=16", "trees=1"]})
    same = CurvePlan(**{**SETTINGS_PLAN.to_plain(), "settings": ["trees=1", "blocks=4"]})
    assert identity(SETTINGS_PLAN, settings_data) != identity(other, settings_data)
    assert identity(SETTINGS_PLAN, settings_data) == identity(same, settings_data)
    with Journal.open(tmp_path, identity(SETTINGS_PLAN, settings_data)) as journal:
        run_curve(SETTINGS_PLAN, settings_data, journal=journal)
        assert len(journal.done) == 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("blocks",), "not NAME=VALUE"),
        (("block=3",), "did you mean 'blocks'"),
        (("blocks=0",), "blocks = 0"),
        (("blocks=3", "blocks = 4"), "set twice"),
        (("epsilon=1",), "not NAME=VALUE of a parameter"),
        (("ask=rows.csv",), "not NAME=VALUE of a parameter"),
        (("aggregate=mean",), "aggregate = 'mean'"),
    ],
)
def test_what_cannot_be_set_is_one_sentence(settings, said):
    with pytest.raises(ParameterError, match=said):
        CurvePlan(model="median-forest", regimes=("private",), settings=settings)


def test_the_axis_says_whose_epsilon_it_is():
    assert epsilon_label([]) == epsilon_label([False, False]) == "ε for a whole row (log scale)"
    assert epsilon_label([True]) == "ε of each prediction (log scale)"
    assert "of a private median for each prediction" in epsilon_label([False, True])


def test_a_regime_may_have_settings_of_its_own(settings_data):
    plan = CurvePlan(
        **{**SETTINGS_PLAN.to_plain(), "settings": ["trees=1"], "regimes": ["private:blocks=4", "private:blocks=16"]}
    )
    result = run_curve(plan, settings_data)
    assert {row.regime for row in result.rows} == {"private:blocks=4", "private:blocks=16"}
    assert [series.name for series in curve_figure(result, "t").series] == [
        "private, blocks = 4",
        "private, blocks = 16",
    ]
    with pytest.raises(ParameterError, match="did you mean 'blocks'"):
        CurvePlan(**{**SETTINGS_PLAN.to_plain(), "regimes": ["private:block=4"]})
    with pytest.raises(ParameterError, match="set twice"):
        CurvePlan(**{**SETTINGS_PLAN.to_plain(), "regimes": ["private:blocks=4"]})


def test_figures_are_drawn_against_blocks(settings_data):
    plan = CurvePlan(
        model="median-forest",
        regimes=("none", "private"),
        epsilons=(0.5, 4.0),
        repeats=3,
        settings=("trees=1",),
        against="blocks=10,2,5",
    )
    result = run_curve(plan, settings_data)
    assert [way.name for way in plan.ways] == ["none", "private:blocks=2", "private:blocks=5", "private:blocks=10"]
    figure = curve_figure(result, "t", "r2")
    assert [series.name for series in figure.series] == ["private, ε = 0.5", "private, ε = 4"]
    assert figure.title.endswith("against blocks")
    assert figure.x_label == "blocks (log scale)"
    assert figure.span == (2, 10)
    means = {(p.regime, p.epsilon): p.mean for p in result.points if p.metric == "r2"}
    for series, epsilon in zip(figure.series, (0.5, 4.0), strict=True):
        assert series.x == (2, 5, 10)
        assert series.mean == tuple(means[f"private:blocks={b}", epsilon] for b in (2, 5, 10))
    assert figure.baselines[0].value == means["none", 0.5]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"against": "block=2,5"}, "did you mean 'blocks'"),
        ({"against": "blocks=2"}, "two values"),
        ({"against": "blocks=0,2"}, "blocks = 0"),
        ({"against": "aggregate=smooth"}, "not a number"),
        ({"against": "blocks=2,5", "settings": ["blocks=3"]}, "set twice"),
        ({"against": "blocks=2,5", "regimes": ["none"]}, "only the private model has blocks"),
        ({"against": "blocks=2,5", "epsilons": [1, 2, 3, 4, 5, 6, 7, 8]}, "8 lines, one per epsilon"),
    ],
)
def test_what_cannot_be_drawn_against_a_parameter_is_refused(changed, said):
    with pytest.raises(ParameterError, match=said):
        CurvePlan(**{**SETTINGS_PLAN.to_plain(), "settings": ["trees=1"], **changed})

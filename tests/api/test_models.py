"""The learners as scikit-learn estimators: its own tools work, and nothing leaves without a charge and a card."""

import inspect
import json
import warnings
from decimal import Decimal
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_clusterer, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from workbench import api
from workbench.api.models import classes
from workbench.cli import main
from workbench.learners import LEARNERS
from workbench.learners.tasks import task
from workbench.params import InputError, ParameterError
from workbench.release.ledger.ledger import Ledger

SPECIES = ["setosa", "versicolor", "virginica"]
NAMES = [chosen.estimator.__name__ for chosen in LEARNERS]
PREDICTING = [chosen.estimator.__name__ for chosen in LEARNERS if not task(chosen.task).transforms]
"""Those that make columns are tested in test_transformers.py."""
MISSING = set() if find_spec("xgboost") else {"MedianXgboost"}
"""Models whose optional library is not installed."""


def arguments(name: str, **more):
    """What each class needs for iris, by its task."""
    kind = next(chosen.task for chosen in LEARNERS if chosen.estimator.__name__ == name)
    told = {
        "classification": {"classes": SPECIES},
        "regression": {"target_bounds": (0, 3)},
        "clustering": {"groups": 3} if name == "KMeans" else {},
    }
    return {"epsilon": 20, "bounds": (0, 10), "random_state": 0, **told[kind], **more}


def numbered(X: pd.DataFrame, y: pd.Series, name: str):
    """X and y of the task of the class called ``name``: regression predicts the last column."""
    if is_regressor(getattr(api, name)()):
        return X.iloc[:, :3], X.iloc[:, 3]
    return X, y


@pytest.mark.parametrize("name", [name for name in PREDICTING if name not in MISSING])
def test_each_learner_is_an_estimator_of_its_kind(name, iris):
    X, y = numbered(*iris, name)
    model = getattr(api, name)(**arguments(name))
    assert [is_classifier(model), is_regressor(model), is_clusterer(model)].count(True) == 1
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert "epsilon" in inspect.signature(type(model)).parameters
    assert name in repr(model)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.warns(api.PrivateStudyWarning):
        model.fit(X, y)
    with pytest.warns(api.PrivateStudyWarning):
        again.fit(X, y)
    predicted, repeated = model.predict(X), again.predict(X)
    np.testing.assert_array_equal(predicted, repeated)
    assert len(predicted) == len(X)
    if is_classifier(model):
        assert set(predicted) <= set(SPECIES)
        assert model.score(X, y) > 0.8
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    elif is_regressor(model):
        assert model.score(X, y) > 0.3
    else:
        assert set(predicted) <= {0, 1, 2}


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
@pytest.mark.parametrize("name", ["NaiveBayes", "LinearRegression"])
def test_cross_validation_and_pipelines_work(name, iris):
    X, y = numbered(*iris, name)
    model = make_pipeline(FunctionTransformer(lambda rows: rows), getattr(api, name)(**arguments(name)))
    order = np.random.default_rng(0).permutation(len(X))
    scores = cross_val_score(model, X.iloc[order], y.iloc[order], cv=3)
    assert scores.mean() > 0.3


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
def test_arrays_and_classes_of_any_type_are_taken(iris):
    X, _ = iris
    y = np.repeat([1, 2, 3], 50)
    model = api.NaiveBayes(epsilon=20, bounds=([0, 0, 0, 0], [10, 5, 8, 3]), classes=[1, 2, 3], random_state=0)
    assert model.fit(X.to_numpy(), y).score(X.to_numpy(), y) > 0.8
    assert model.predict(X.to_numpy()).dtype.kind == "i"
    flags = api.NaiveBayes(epsilon=20, bounds=(0, 10), classes=[False, True], random_state=0).fit(X, y == 1)
    assert flags.predict(X).dtype == bool


PAIRS = [(0.0, 9.0), (1.0, 5.0)]


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (PAIRS, None),
        (([0, 1], [9, 5]), None),
        ((np.array([0, 1]), np.array([9, 5])), None),
        (tuple(PAIRS), "may be two pairs here, or both lower and both upper bounds"),
        ([[0, 9], [1, 5]], "may be two pairs here"),
        (np.array(PAIRS), "may be two pairs here"),
        (PAIRS[:1], "bounds has 1 pair for 2 columns of numbers"),
        ("ab", "neither a mapping nor"),
    ],
)
def test_bounds_of_two_columns_are_never_guessed(iris, bounds, said):
    X, y = iris
    model = api.NaiveBayes(epsilon=5, bounds=bounds, classes=list(pd.unique(y)), random_state=0)
    if said is not None:
        with pytest.raises(ParameterError, match=said):
            model.fit(X.iloc[:, :2].to_numpy(), y)
        return
    model.fit(X.iloc[:, :2].to_numpy(), y)
    assert [(a.lower, a.upper) for a in model._attributes] == PAIRS


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
def test_categories_missing_values_and_dates_are_taken():
    generator = np.random.default_rng(1)
    label = generator.choice(["no", "yes"], 300)
    frame = pd.DataFrame(
        {
            "colour": np.where(label == "yes", "red", generator.choice(["red", "blue"], 300)),
            "size": np.where(generator.random(300) < 0.1, np.nan, generator.random(300)),
        }
    )
    model = api.NaiveBayes(
        epsilon=10,
        bounds={"size": (0, 1)},
        domains={"colour": ["red", "blue"]},
        missing=["size"],
        classes=["no", "yes"],
        random_state=0,
    )
    assert model.fit(frame, label).score(frame, label) > 0.6


def test_a_released_model_is_charged_has_a_card_and_is_loaded(iris, folder):
    X, y = iris
    model = api.NaiveBayes(
        epsilon=2, bounds=(0, 10), classes=SPECIES, ledger="ledger.sqlite", account="people", output="model"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert model.release_.epsilon_charged == Decimal(2)
    assert api.verify("model") == []
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        (release,) = ledger.releases()
    assert (release.status, release.epsilon) == ("charged", Decimal(2))
    loaded = api.load_model("model")
    assert loaded.epsilon == 2
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(InputError, match="exists already"):
        clone(model).fit(X, y)
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        assert len(ledger.releases()) == 1, "cross-validation cannot spend by accident"
        ledger.set_cap(release.dataset, Decimal(9))
    assert clone(model).set_params(replace=True).fit(X, y).release_.release_id != release.release_id
    assert api.verify("model") == []


def test_a_model_that_pays_for_each_prediction_is_released_for_its_rows(iris, folder):
    X, y = numbered(*iris, "MedianForest")
    X.iloc[[3, 77, 149]].to_csv(folder / "ask.csv", index=False)
    told = {
        "epsilon": 5,
        "bounds": (0, 10),
        "target_bounds": (0, 3),
        "ledger": "ledger.sqlite",
        "account": "people",
        "output": "model",
    }
    with pytest.raises(ParameterError, match=r"columns of the table: ask="):
        api.MedianForest(**told).fit(X, y)
    model = api.MedianForest(**told, ask="ask.csv").fit(X, y)
    assert model.release_.epsilon_charged == Decimal(15)
    assert len(model.predict(X.iloc[[149, 3]])) == 2
    with pytest.raises(InputError, match="is not among the"):
        model.predict(X.iloc[[3, 4]])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"classes": None}, "classes are not declared"),
        ({"bounds": None}, "public bounds or values are not declared"),
        ({"bounds": {"petal length (cm)": (0, 10)}}, "sepal length"),
        ({"bounds": {"height": (0, 10)}}, "no such column"),
        ({"bounds": 5}, "neither a mapping"),
        ({"epsilon": None}, "epsilon is missing"),
        ({"epsilon": -1}, "epsilon = -1"),
        ({"output": "model"}, "ledger="),
        ({"ledger": "l.sqlite", "account": "people", "random_state": None}, "output="),
        ({"ledger": "l.sqlite", "account": "people", "output": "model"}, "fresh randomness"),
    ],
)
def test_what_is_not_declared_is_refused_in_one_sentence(iris, folder, more, said):
    with pytest.raises(ParameterError, match=said):
        api.NaiveBayes(**arguments("NaiveBayes", **more)).fit(*iris)
    assert not (folder / "model").exists()


def test_a_class_that_is_not_declared_is_told_of_with_its_row(iris):
    X, y = iris
    with pytest.raises(InputError, match="row 51"):
        api.NaiveBayes(**arguments("NaiveBayes", classes=["setosa", "virginica"])).fit(X, y)


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
@pytest.mark.parametrize("dtype", ["bool", "boolean"])
def test_truth_values_need_no_declaration_as_in_a_plan(dtype):
    flags = pd.DataFrame({"flag": pd.Series([True, False] * 200, dtype=dtype)})
    model = api.NaiveBayes(epsilon=20, classes=["no", "yes"], random_state=0)
    assert model.fit(flags, flags["flag"].map({True: "yes", False: "no"})).predict(flags)[:2].tolist() == ["yes", "no"]


def test_a_column_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(ParameterError, match=r"column 0.*X has x0, x1"):
        api.NaiveBayes(epsilon=1, bounds={0: (0, 1)}, classes=[0, 1]).fit(np.zeros((9, 2)), np.zeros(9))
    with pytest.raises(ParameterError, match="no such column, did you mean 'income'"):
        api.NaiveBayes(epsilon=1, bounds={"incom": (0, 1)}).fit(pd.DataFrame({"income": [1.0]}), ["a"])


def test_a_missing_value_is_answered_with_the_argument_that_takes_it():
    frame, y = pd.DataFrame({"x": [0.5, None] * 5}), ["a", "b"] * 5
    model = api.NaiveBayes(epsilon=1, bounds={"x": (0, 1)}, classes=["a", "b"])
    with pytest.raises(ValueError, match="name the column in missing=") as refused:
        model.fit(frame, y)
    assert "plan" not in str(refused.value)
    with pytest.raises(ValueError, match=r"\(column target, row 10\); fill it in$"):
        model.fit(frame.fillna(0.5), [*y[:-1], None])


def test_an_argument_that_is_not_known_is_refused():
    with pytest.raises(TypeError, match="epsilons"):
        api.NaiveBayes(epsilons=1)
    with pytest.raises(AttributeError, match="NavieBayes"):
        _ = api.NavieBayes


def test_every_learner_is_listed():
    assert set(NAMES) <= set(dir(api))
    assert set(classes()) == set(NAMES)


# -- Models trained on a release from Python: free, the same as the command's, and applied to DataFrames --------------


@pytest.fixture
def released(people, folder):
    """The forty people, released with their certificate; the ledger is gone."""
    plan = api.plan(
        epsilon=9, bounds={"age": (0, 99), "income": (0.0, 9000.0)}, domains={"sex": ["female", "male"]}, drop=["name"]
    )
    api.release(people, plan, ledger="ledger.sqlite", account="people", output="out.csv")
    (folder / "ledger.sqlite").unlink()
    return people


def test_it_learns_from_the_release_alone_and_predicts_a_frame(released, folder):
    before = sorted(folder.iterdir())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = api.fit_on_release("out.csv", target="sex")
    assert sorted(folder.iterdir()) == before
    assert (model.epsilon, model.charged) == (9.0, 0.0)
    predicted = model.predictions(released)
    assert list(predicted.columns) == ["predicted sex", "probability of female", "probability of male"]
    assert list(predicted["predicted sex"]) == list(model.predict(released))
    assert set(predicted["predicted sex"]) <= {"female", "male"}
    assert list(predicted.index) == list(released.index)
    line = api.fit_on_release("out.csv", target="income", model="linear-regression")
    assert ((line.predict(released) >= 0) & (line.predict(released) <= 9000)).all()


def test_what_is_written_is_what_the_command_writes(released, folder):
    model = api.fit_on_release("out.csv", "out.csv.certificate.json", target="sex", output="model")
    assert api.verify("model") == []
    with pytest.raises(InputError, match="replace it with replace=True, or choose a new one"):
        api.fit_on_release("out.csv", target="sex", output="model")
    model = api.fit_on_release("out.csv", target="sex", output="model", replace=True)
    words = ["--on-release", "out.csv", "--model", "naive-bayes", "--target", "sex", "-o", "other"]
    assert main(["fit", *words]) == 0
    assert (folder / "model" / "model.json").read_bytes() == (folder / "other" / "model.json").read_bytes()
    loaded = api.load_model("model")
    assert loaded.charged == 0.0
    assert loaded.card == model.card
    pd.testing.assert_frame_equal(loaded.predictions(released), model.predictions(released))


def test_what_cannot_be_is_one_sentence(released, folder):
    with pytest.raises(ParameterError, match="“DBSCAN on a grid” cannot learn from a release"):
        api.fit_on_release("nowhere.csv", target="sex", model="dbscan")
    with pytest.raises(ParameterError, match="its plan dropped it"):
        api.fit_on_release("out.csv", target="name")
    path = folder / "out.csv.certificate.json"
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**document, "rows": 41}), "utf-8")
    with pytest.raises(InputError, match="its checksum differs"):
        api.fit_on_release("out.csv", target="sex")

"""scikit-learn's own check_estimator on every learner: what passes, and the table of what cannot, with its reasons."""

import inspect
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.multiclass import type_of_target

from workbench import api
from workbench.api.models import classes
from workbench.learners import LEARNERS
from workbench.learners.tasks import CLUSTERING, task
from workbench.release.ledger.ledger import Ledger

EVERY, CLUSTERS, TRANSFORMS = "every learner", "clustering", "transformers"
EXCEPTIONS = {
    "check_dtype_object": (
        EVERY,
        "a cell that is not a plain value is refused with its row and column, as a ValueError and not a TypeError",
    ),
    "check_clustering": (
        CLUSTERS,
        "labels_, the groups of the training rows, are private: call predict or fit_predict",
    ),
    "check_transformer_preserve_dtypes": (
        TRANSFORMS,
        "transform returns a DataFrame, which carries the public bounds of its columns for the next private step",
    ),
}
"""The checks that fail, on which learners, and why they must."""

QUICK = ("NaiveBayes", "KMeans", "Standardize")
"""Checked by default; the others take longer."""

NAMES = [chosen.estimator.__name__ for chosen in LEARNERS]


def expected(name: str) -> dict[str, str]:
    made = next(chosen.task for chosen in LEARNERS if chosen.estimator.__name__ == name)
    own = {EVERY, CLUSTERS if made == CLUSTERING else "", TRANSFORMS if task(made).transforms else ""}
    return {check: reason for check, (who, reason) in EXCEPTIONS.items() if who in own}


def with_public_classes(made: type) -> type:
    """A class like ``made`` whose classes are those of each check's generated rows, which are public."""

    def _target(self, frame, y):
        if y is not None:
            seen = np.arange(3) if type_of_target(y).startswith("continuous") else np.unique(np.asarray(y))
            more = seen.max() + 1 if seen.dtype.kind in "iuf" else "other"
            self._seen = seen if len(seen) > 1 else np.append(seen, [more])
        return made._target(self, frame, y)

    own = {"_target": _target, "_declared": lambda self: self._seen} if hasattr(made, "_declared") else {}
    copy = type(made.__name__, (made,), {**own, "__module__": __name__})
    setattr(sys.modules[__name__], made.__name__, copy)  # where pickle looks for it
    return copy


@pytest.mark.filterwarnings("ignore")  # the checks make warnings of their own, and each fit is a private study
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in NAMES])
def test_a_learner_is_an_estimator_for_scikit_learn(name, folder):
    if name == "MedianXgboost":
        pytest.importorskip("xgboost")
    made = with_public_classes(classes()[name])
    known = inspect.signature(made).parameters
    given = {"target_bounds": (-5, 5), "groups": 3}
    model = made(
        epsilon=1000,
        bounds=(-5, 5),
        random_state=0,
        study_ledger=folder / "notes.sqlite",
        **{key: value for key, value in given.items() if key in known},
    )
    found = check_estimator(model, expected_failed_checks=expected(name), on_skip=None, on_fail=None)
    failed = {(r["check_name"], str(r["exception"])) for r in found if r["status"] == "failed"}
    assert failed == set()
    unexpected = set(expected(name)) - {r["check_name"] for r in found if r["status"] == "xfail"}
    assert unexpected == set(), "an exception that is none any more leaves the table"
    assert sum(r["status"] == "passed" for r in found) >= 40


def test_every_exception_has_a_reason():
    assert all(reason and who in (EVERY, CLUSTERS, TRANSFORMS) for who, reason in EXCEPTIONS.values())
    assert set(QUICK) <= set(NAMES)


def test_fit_predict_charges_once_and_returns_the_groups(iris, folder):
    X, _ = iris
    model = api.KMeans(epsilon=3, groups=3, bounds=(0, 10), account="iris", ledger="l.sqlite", output="model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        groups = model.fit_predict(X)
    assert set(groups) <= {0, 1, 2}
    np.testing.assert_array_equal(groups, model.predict(X))
    np.testing.assert_array_equal(groups, api.load_model("model").predict(X))
    with Ledger.read(folder / "l.sqlite") as book:
        assert [r.status for r in book.releases()] == ["charged"]


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
@pytest.mark.parametrize("name", ["PCA", "Standardize"])
def test_the_methods_of_a_transformer_work(iris, name):
    X, y = iris
    model = getattr(api, name)(epsilon=9, bounds=(0, 10), random_state=0)
    made = model.fit_transform(X, y)
    names = list(model.get_feature_names_out())
    assert list(made.columns) == names == list(model.get_feature_names_out(X.columns))
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(["a", "b", "c", "d"])
    framed = clone(model).set_output(transform="pandas").fit_transform(X)
    pd.testing.assert_frame_equal(framed, made)
    assert framed.attrs == made.attrs


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
def test_decimals_are_not_classes_that_were_declared_as_whole_numbers(iris):
    X, _ = iris
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        api.NaiveBayes(epsilon=1, bounds=(0, 10), classes=[0, 1]).fit(X, np.linspace(0, 1, len(X)))

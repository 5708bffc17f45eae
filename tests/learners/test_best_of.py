"""The best of several learners: what it is chosen from, what it releases, and what its file may hold."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.best_of import BEST_CLASSIFIER, BEST_REGRESSION, Setting, candidates
from workbench.learners.tasks import CLASSIFICATION, EMPTY
from workbench.params import ParameterError
from workbench.work.noise import Exact, Study

COLUMNS = (Attribute(name="x", kind="real", lower=-1, upper=1), Attribute(name="z", kind="real", lower=-1, upper=1))
TWO = Attribute(name="y", kind="category", domain=("a", "b"))
NUMBER = Attribute(name="y", kind="real", lower=-1, upper=1)
LIST = "naive-bayes; random-forest: depth=2, trees=1; logistic-regression"


def made(noise: Any, **more: Any) -> Any:
    parameters = BEST_CLASSIFIER.parameters.from_plain({"candidates": LIST, "tries": 2.0, **more})
    return BEST_CLASSIFIER.private(COLUMNS, TWO, parameters, noise)


def ring(count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows whose class no line tells: it is the middle of x or not."""
    X = np.random.default_rng(2).uniform(-1, 1, (count, 2))
    return X, (np.abs(X[:, 0]) < 0.5).astype(np.int64)


def test_the_candidate_that_fits_is_chosen():
    X, y = ring(2_000)
    X[:, 0] = np.where(np.arange(2_000) % 2, X[:, 0], np.abs(X[:, 0]))  # the mean differs a little, too
    chosen = [made(Study(np.random.default_rng(i)), epsilon=4.0, tries=6.0).fit(X, y).best_params_ for i in range(8)]
    assert {*chosen} <= {"naive-bayes", "random-forest: depth=2, trees=1", "logistic-regression"}
    assert chosen.count("logistic-regression") < 8  # it is drawn by chance alone where it is tried alone
    exact = made(Exact()).fit(X, y)
    assert exact.best_params_ != "logistic-regression"
    held = np.arange(2_000) % 5 == 4
    assert exact.best_score_ == (exact.predict(X[held]) == y[held]).mean()


def test_the_model_of_a_try_has_half_of_epsilon_less_the_score():
    X, y = ring(500)
    model = made(Study(np.random.default_rng(1)), epsilon=1.0).fit(X, y).model_
    assert model.best_.setting.parameters.epsilon == pytest.approx(0.4)
    assert float(model.setting.of_score) == pytest.approx(0.1)
    assert [(float(e.epsilon), e.label) for e in model.events()] == [(1.0, "best of a random number of fits")]


def test_empty_rows_count_in_the_public_number_of_rows_and_nowhere_else():
    X, y = ring(300)
    y[::3] = EMPTY
    model = made(Exact()).fit(X, y).model_
    assert model.best_.setting.rows == 240
    assert model.best_score_ <= 2 / 3


def test_emptying_a_row_changes_the_score_of_no_other(monkeypatch):
    """A product of matrices rounds a row by how many rows there are, and scores are rounded down."""
    generator, count = np.random.default_rng(0), 500
    columns = tuple(Attribute(name=f"x{i}", kind="real", lower=-1, upper=1) for i in range(8))
    X = generator.uniform(-1, 1, (count, 8))
    y = np.clip(X @ generator.normal(size=8) / 8, -1, 1)
    parameters = BEST_REGRESSION.parameters.from_plain(
        {"epsilon": 40.0, "candidates": "linear-regression", "tries": 1.0}
    )
    judged: list[tuple[NDArray[np.float64], int]] = []
    score = Setting.score

    def heard(setting: Setting, said: NDArray[np.float64], own: NDArray[np.float64]) -> int:
        judged.append((said, score(setting, said, own)))
        return judged[-1][1]

    monkeypatch.setattr(Setting, "score", heard)

    def scored() -> int:
        BEST_REGRESSION.private(columns, NUMBER, parameters, Study(np.random.default_rng(3))).fit(X, y)
        return judged[-1][1]

    scored()
    held = np.arange(4, count, 5)
    said = judged[-1][0]
    y[held] = said - 0.25  # half of what is no longer right: at the border of a score
    for row, exact in zip(held[-4:], said[-4:], strict=True):
        y[row] = exact
        whole = scored()
        y[row] = np.nan
        assert 0 <= whole - scored() <= 1024
        y[row] = exact - 0.25


def test_numbers_are_scored_by_squared_errors():
    X, _ = ring(2_000)
    parameters = BEST_REGRESSION.parameters.from_plain(
        {"epsilon": 3.0, "candidates": "linear-regression", "tries": 2.0}
    )
    fitted = BEST_REGRESSION.private(COLUMNS, NUMBER, parameters, Study(np.random.default_rng(1))).fit(X, X[:, 0])
    assert np.corrcoef(fitted.predict(X), X[:, 0])[0, 1] > 0.99
    assert fitted.best_score_ == pytest.approx(1, abs=0.05)
    setting = fitted.setting
    assert setting.score(np.array([1.0, 0.0]), np.array([-1.0, 0.0])) == setting.unit


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("naive-bays", "naive-bayes"),
        ("linear-regression", "cannot be a candidate for classification"),
        ("best-classifier", "candidate 'best-classifier' is not known"),
        ("naive-bayes: depth=2", "'depth' is not one of its settings"),
        ("additive-trees: epsilon=9", "'epsilon' is not one of its settings"),
        ("additive-trees: delta=0.1", "'delta' is not one of its settings"),
        ("random-forest: depth=99", "99 is not a whole number"),
        ("naive-bayes; naive-bayes", "listed twice"),
        ("", "candidate ''"),
    ],
)
def test_what_cannot_be_a_candidate_is_refused_before_a_charge(written, message):
    with pytest.raises(ParameterError, match=message):
        candidates(written, CLASSIFICATION)
    with pytest.raises(ParameterError, match=message):
        made(Exact(), candidates=written or ";").fit(*ring(10))


def test_a_file_whose_model_is_not_that_of_its_candidate_is_refused():
    plain = made(Study(np.random.default_rng(1)), epsilon=1.0).fit(*ring(200)).to_plain()
    inner = plain["model"]
    for changed in (
        {**inner, "rows": 161},
        {**inner, "noise": "released"},
        {**inner, "parameters": {**inner["parameters"], "epsilon": 0.9}},
        {**inner, "attributes": inner["attributes"][::-1]},
    ):
        with pytest.raises(ParameterError):
            BEST_CLASSIFIER.estimator.from_plain({**plain, "model": changed})
    others = [one.strip() for one in LIST.split(";") if one.strip() != plain["chosen"]]
    for other in (*others, "another"):
        with pytest.raises(ParameterError):
            BEST_CLASSIFIER.estimator.from_plain({**plain, "chosen": other})

"""The curve of the diabetes table: what the study must show, on real rows."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from workbench.data.read import read_table
from workbench.processes.executor import cores
from workbench.sanitize.plan import Column, Plan
from workbench.studies.curve import CurvePlan, run_curve
from workbench.studies.metrics import classification_metrics
from workbench.studies.regimes import StudyData

# Round numbers that a physician would write without looking at a row; 0 stands for "not measured" in this table.
BOUNDS = {
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
def diabetes(shared_data: Path) -> StudyData:
    columns = [
        Column(name=name, kind=kind, lower=float(low), upper=float(high)) for name, (kind, low, high) in BOUNDS.items()
    ]
    target = Column(name="Outcome", kind="category", domain=("0", "1"))
    return StudyData.read(
        read_table(shared_data / "diabetes.csv"), Plan(epsilon=1, columns=(*columns, target)), "Outcome"
    )


def test_the_published_figures_without_privacy_are_reproduced(diabetes: StudyData) -> None:
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
def test_a_private_model_beats_a_sanitised_table_and_nothing_beats_no_privacy(diabetes: StudyData) -> None:
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

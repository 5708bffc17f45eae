"""Tables with public bounds for studies of classifiers; the bounds are round numbers that nobody read off the rows."""

import csv
import gzip
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split

from workbench.data.schema import Attribute
from workbench.learners.naive_bayes.estimator import NaiveBayes
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.work.noise import Exact, Study

DIABETES = {
    "Pregnancies": (0, 20),
    "Glucose": (0, 200),
    "BloodPressure": (0, 130),
    "SkinThickness": (0, 100),
    "Insulin": (0, 850),
    "BMI": (10, 70),
    "DiabetesPedigreeFunction": (0, 2.5),
    "Age": (21, 90),
}
IRIS = {"sepal length": (4, 8), "sepal width": (2, 5), "petal length": (1, 7), "petal width": (0, 3)}
_CANCER_UPPER = {
    "mean": (30, 40, 200, 3000, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1),
    "error": (3, 5, 25, 600, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03),
    "worst": (40, 50, 300, 5000, 0.3, 1.2, 1.5, 0.3, 0.7, 0.25),
}
TITANIC_CATEGORIES = (("pclass", 0, ("1", "2", "3")), ("sex", 3, ("female", "male")), ("embarked", 10, ("C", "Q", "S")))
TITANIC_NUMBERS = (("age", 4, 100), ("sibsp", 5, 10), ("parch", 6, 10), ("fare", 8, 600))
CANCER = {f"{part} {j}": (0, upper) for part, uppers in _CANCER_UPPER.items() for j, upper in enumerate(uppers)}

# Mean accuracy of diffprivlib 0.6.6 GaussianNB, 20 stratified 80/20 splits, at ε = 0.1, 1, 10.
DIFFPRIVLIB = {
    "diabetes": {0.1: 0.532, 1.0: 0.645, 10.0: 0.705},
    "iris": {0.1: 0.372, 1.0: 0.600, 10.0: 0.920},
    "breast cancer": {0.1: 0.554, 1.0: 0.636, 10.0: 0.856},
}


@dataclass(frozen=True)
class Table:
    """Rows X (n, d) and y (n,) with the public facts about their columns."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    attributes: tuple[Attribute, ...]
    target: Attribute

    def bounds(self) -> tuple[list[float], list[float]]:
        return [a.bounds()[0] for a in self.attributes], [a.bounds()[1] for a in self.attributes]

    def split(self, repeat: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        train, test = train_test_split(np.arange(len(self.y)), test_size=0.2, stratify=self.y, random_state=repeat)
        return train, test

    def accuracy(self, epsilon: float | None, repeat: int, **parameters: float) -> float:
        """Accuracy on one stratified 80/20 split; ``epsilon`` None is the regime without privacy."""
        train, test = self.split(repeat)
        noise = Exact() if epsilon is None else Study(np.random.default_rng([20240601, repeat]))
        chosen = NaiveBayesParameters(epsilon=epsilon, **parameters)
        learner = NaiveBayes(self.attributes, self.target, chosen, noise)
        return learner.fit(self.X[train], self.y[train]).score(self.X[test], self.y[test])

    def accuracies(self, epsilon: float | None, repeats: int = 20, **parameters: float) -> NDArray[np.float64]:
        return np.array([self.accuracy(epsilon, repeat, **parameters) for repeat in range(repeats)])


def table(X: NDArray[np.float64], y: NDArray[np.int64], bounds: dict[str, tuple[float, float]]) -> Table:
    attributes = tuple(Attribute(name=n, kind="real", lower=lo, upper=hi) for n, (lo, hi) in bounds.items())
    classes = tuple(f"class {c}" for c in range(int(y.max()) + 1))
    return Table(X, y, attributes, Attribute(name="y", kind="category", domain=classes))


def diabetes(shared_data: Path) -> Table:
    rows = np.loadtxt(shared_data / "diabetes.csv", delimiter=",", skiprows=1)
    return table(rows[:, :8], rows[:, 8].astype(np.int64), DIABETES)


def iris() -> Table:
    X, y = load_iris(return_X_y=True)
    return table(X, y, IRIS)


def breast_cancer() -> Table:
    X, y = load_breast_cancer(return_X_y=True)
    return table(X, y, CANCER)


def titanic() -> Table:
    """1,309 passengers, with missing values, from a file that scikit-learn tests itself with."""
    file = Path(sklearn.__file__).parent / "datasets/tests/data/openml/id_40945/data-v1-dl-16826755.arff.gz"
    if not file.exists():
        pytest.skip("scikit-learn is installed without its own test data")
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        text = opened.read()
    rows = [row for row in csv.reader(io.StringIO(text[text.index("@data") :])) if len(row) == 14]
    attributes, columns = [], []
    for name, at, domain in TITANIC_CATEGORIES:
        attributes.append(Attribute(name=name, kind="category", domain=domain, missing="own-value"))
        columns.append([domain.index(row[at]) if row[at] in domain else len(domain) for row in rows])
    for name, at, upper in TITANIC_NUMBERS:
        attributes.append(Attribute(name=name, kind="real", lower=0, upper=upper, missing="own-value"))
        columns.append([np.nan if row[at] == "?" else float(row[at]) for row in rows])
    target = Attribute(name="survived", kind="category", domain=("0", "1"))
    X = np.array(columns, dtype=np.float64).T
    return Table(X, np.array([int(row[1]) for row in rows]), tuple(attributes), target)


def skewed(seed: int, rows: int, columns: int, classes: int, signal: float) -> Table:
    """Log-normal columns: most values lie near the lower bound, and the classes differ in their variances, too."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, classes, rows)
    places = generator.normal(0, 1, (classes, columns)) * generator.exponential(signal, columns)
    X = np.exp(generator.normal(0, 0.8, (rows, columns)) + places[y])
    return table(np.clip(X, 0, 20), y, {f"x{j}": (0, 20) for j in range(columns)})


def deviation_of_mean(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))

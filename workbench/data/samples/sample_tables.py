"""Tables that come with the program, each with public facts that were declared from general knowledge.

The bounds and domains below are round numbers that anybody could write without seeing the rows: percentages of
alcohol in wine, the size of a cell nucleus, grey levels of a scanner. None of them was read from the rows.

The generated people do not exist. Their seed is fixed and nothing but additions, comparisons and Python's portable
``random()`` is used, so the table is the same on every machine; nothing that is released is drawn here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.data.schema import Attribute
from workbench.params import InputError
from workbench.params.field import did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from workbench.data.table import Table


ROWS = 2_000
ZIPS = tuple(f"{district:05d}" for district in range(1_010, 1_250, 10))
"""The 24 postcodes of an invented town; they begin with 0, which a number would lose."""

_SEED = 20_240_607
_FIRST = ("Al", "Be", "Cor", "Da", "El", "Fi", "Gar", "Ha", "Il", "Jo", "Ka", "Lu", "Mi", "No", "Ori", "Pe")
_SECOND = ("bano", "dria", "fen", "lisa", "mar", "nor", "rik", "sanu", "tis", "vela")
_FAMILY = ("Arden", "Brask", "Colmer", "Dorvin", "Eskel", "Farrow", "Gandt", "Hollis", "Imber", "Jansk", "Kelvar")
_PLACE = ("", "-Moor", "-Vale", "son", "berg", "wood")


def people() -> pl.DataFrame:
    """Return 2,000 rows of id, name, age, sex, zip, income and label; the label follows age, income and sex."""
    import polars as pl

    draw = random.Random(_SEED)
    rows = [_person(number, draw) for number in range(1, ROWS + 1)]
    names = ("id", "name", "age", "sex", "zip", "income", "label")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def _person(number: int, draw: random.Random) -> tuple[str, ...]:
    name = f"{_pick(_FIRST, draw)}{_pick(_SECOND, draw)} {_pick(_FAMILY, draw)}{_pick(_PLACE, draw)}"
    age = min(18 + int(72 * min(draw.random(), draw.random() + 0.1)), 90)
    female = draw.random() < 0.51
    district = int(draw.random() * len(ZIPS))
    working = 1.0 if 25 <= age < 66 else 0.55
    income = working * (24_000 + 450 * min(age - 18, 35) + 500 * district + 9_000 * _bell(draw))
    income = max(0.0, income + (30_000 * draw.random() if draw.random() < 0.08 else 0.0))
    score = (income - 36_000) / 12_000 + (age - 45) / 22 + (0.35 if female else -0.35) + 0.75 * _bell(draw)
    return (
        f"P{number:05d}",
        name,
        str(age),
        "female" if female else "male",
        ZIPS[district],
        str(round(income / 100) * 100),
        "yes" if score > 0 else "no",
    )


def _pick(parts: Sequence[str], draw: random.Random) -> str:
    return parts[int(draw.random() * len(parts))]


def _bell(draw: random.Random) -> float:
    """Return a number of mean 0 and standard deviation 1 that is nearly Gaussian: a sum of 12 uniform ones."""
    return sum(draw.random() for _ in range(12)) - 6.0


@dataclass(frozen=True, kw_only=True)
class FirstPlan:
    """What the first plan of a sample says where it differs from even shares over all columns at ε = 1."""

    epsilon: float = 1.0  # ε of one row's whole record
    # By column, the keys of the plan that differ.
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One bundled table."""

    name: str  # what comes after `sample:`
    help: str  # one line about it
    target: str  # the column that is usually predicted
    attributes: tuple[Attribute, ...]  # the public facts about its columns, in their order
    load: Callable[[], pl.DataFrame]  # makes its cells as text
    first_plan: FirstPlan = FirstPlan()  # the plan it is opened with
    lesson: str = ""  # one sentence on what the sample is good for under that plan


def sample(name: str) -> Sample:
    """Return the bundled table ``name``, or raise :class:`InputError` that names the nearest one."""
    names = [s.name for s in SAMPLES]
    if name not in names:
        raise InputError(
            f"there is no sample {name!r}{did_you_mean(name, names)}", hint="the samples are " + ", ".join(names)
        )
    return SAMPLES[names.index(name)]


def sample_table(name: str) -> Table:
    """Return the cells of a bundled table."""
    from workbench.data.table import Table

    return Table(sample(name).load(), f"sample:{name}")


def sample_attributes(name: str) -> tuple[Attribute, ...]:
    """Return the declared attributes of a bundled table; identifiers have neither bounds nor a domain."""
    return sample(name).attributes


def _from_scikit_learn(
    loader: str, columns: tuple[Attribute, ...], target: Mapping[int, str] | None, **options: bool
) -> pl.DataFrame:
    """Return a table of scikit-learn's own data; class numbers become names by ``target``."""
    import polars as pl
    from sklearn import datasets

    x, y = getattr(datasets, loader)(return_X_y=True, **options)
    out = []
    for attribute, values in zip(columns[:-1], x.T, strict=True):
        series = pl.Series(attribute.name, values)
        out.append(series.cast(pl.Float64) if attribute.kind == "real" else series.cast(pl.Int64))
    labels = [target[int(value)] for value in y] if target else [str(value) for value in y]
    return pl.DataFrame([*(series.cast(pl.String) for series in out), pl.Series(columns[-1].name, labels)])


def _real(name: str, lower: float, upper: float) -> Attribute:
    return Attribute(name=name, kind="real", lower=lower, upper=upper)


def _whole(name: str, lower: int, upper: int, role: str | None = None) -> Attribute:
    return Attribute(name=name, kind="integer", lower=lower, upper=upper, role=role)


def _names(name: str, domain: tuple[str, ...], role: str | None = None) -> Attribute:
    return Attribute(name=name, kind="category", domain=domain, role=role)


_PEOPLE = (
    Attribute(name="id", kind="category", role="identifier"),
    Attribute(name="name", kind="category", role="identifier"),
    _whole("age", 18, 100, "quasi-identifier"),
    _names("sex", ("female", "male"), "quasi-identifier"),
    _names("zip", ZIPS, "quasi-identifier"),
    _whole("income", 0, 150_000, "sensitive"),
    _names("label", ("no", "yes"), "target"),
)

_IRIS = (
    _real("sepal_length", 0, 10),
    _real("sepal_width", 0, 10),
    _real("petal_length", 0, 10),
    _real("petal_width", 0, 5),
    _names("species", ("setosa", "versicolor", "virginica"), "target"),
)

_WINE = (
    _real("alcohol", 8, 16),
    _real("malic_acid", 0, 8),
    _real("ash", 0, 5),
    _real("alcalinity_of_ash", 0, 40),
    _real("magnesium", 0, 200),
    _real("total_phenols", 0, 5),
    _real("flavanoids", 0, 6),
    _real("nonflavanoid_phenols", 0, 1),
    _real("proanthocyanins", 0, 5),
    _real("color_intensity", 0, 15),
    _real("hue", 0, 2),
    _real("od280_od315", 0, 5),
    _real("proline", 0, 2000),
    _names("cultivar", ("1", "2", "3"), "target"),
)

# A nucleus of radius r (5 to 30 pixels) has a perimeter near 2πr and an area near πr²; the other measures are ratios.
_NUCLEUS = {
    "radius": (30, 3, 40),
    "texture": (50, 5, 60),
    "perimeter": (200, 20, 250),
    "area": (3000, 500, 5000),
    "smoothness": (0.2, 0.05, 0.3),
    "compactness": (0.5, 0.2, 1.0),
    "concavity": (0.5, 0.4, 1.0),
    "concave_points": (0.25, 0.1, 0.5),
    "symmetry": (0.5, 0.1, 0.8),
    "fractal_dimension": (0.1, 0.05, 0.25),
}
_BREAST_CANCER = (
    *(_real(f"mean_{name}", 0, upper) for name, (upper, _, _) in _NUCLEUS.items()),
    *(_real(f"{name}_error", 0, upper) for name, (_, upper, _) in _NUCLEUS.items()),
    *(_real(f"worst_{name}", 0, upper) for name, (_, _, upper) in _NUCLEUS.items()),
    _names("diagnosis", ("benign", "malignant"), "target"),
)

_DIGITS = (
    *(_whole(f"pixel_{row}_{column}", 0, 16) for row in range(8) for column in range(8)),
    _names("digit", tuple("0123456789"), "target"),
)

_DIABETES = (
    _whole("age", 18, 100, "quasi-identifier"),
    _names("sex", ("1", "2"), "quasi-identifier"),
    _real("bmi", 15, 50),
    _real("blood_pressure", 50, 150),
    _real("cholesterol", 50, 350),
    _real("ldl", 0, 300),
    _real("hdl", 0, 120),
    _real("cholesterol_ratio", 0, 12),
    _real("log_triglycerides", 2, 7),
    _real("glucose", 40, 150),
    Attribute(name="progression", kind="real", lower=0, upper=400, role="target"),
)

_CLINIC = (
    Attribute(name="name", kind="category", role="identifier"),
    _whole("age", 18, 100, "quasi-identifier"),
    _names("town", ("Arden", "Brask"), "quasi-identifier"),
    _names("diagnosis", ("asthma", "cancer", "diabetes", "flu"), "sensitive"),
)


def _clinic() -> pl.DataFrame:
    """Return six patients; both who are over 60 in Arden have one diagnosis."""
    import polars as pl

    rows = [
        ("Elmar", "24", "Arden", "asthma"),
        ("Nordria", "28", "Arden", "flu"),
        ("Halisa", "41", "Brask", "flu"),
        ("Korik", "47", "Brask", "diabetes"),
        ("Benor", "63", "Arden", "cancer"),
        ("Lusanu", "68", "Arden", "cancer"),
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys((a.name for a in _CLINIC), pl.String), orient="row")


# A table of 2,000 rows at a modest ε: each value is noise, means and shares are not. Numbers in coarse steps carry more
# of the mean; 24 postcodes at this ε would be noise alone. Steps and shares follow from public figures.
_PEOPLE_PLAN = FirstPlan(
    epsilon=3.0,
    columns={
        "age": {"purpose": "statistics", "cells": 17, "weight": 1.5},
        "sex": {"purpose": "statistics"},
        "zip": {"action": "drop"},
        "income": {"purpose": "statistics", "upper": 159_999.0, "cells": 8, "weight": 1.5},
        "label": {"purpose": "statistics"},
    },
)

_TRAIN = "Most columns of a sanitised table of it would be noise: train a private model instead."

SAMPLES: tuple[Sample, ...] = (
    Sample(
        name="people",
        help="2,000 generated people with an income and a yes-or-no label; nobody in it exists",
        target="label",
        attributes=_PEOPLE,
        load=people,
        first_plan=_PEOPLE_PLAN,
        lesson=(
            "The first plan leaves out zip, rounds age to 5 and income to 20,000, and begins at ε = 3; your own tables "
            "begin at 1."
        ),
    ),
    Sample(
        name="iris",
        help="150 flowers of three species by the size of their petals and sepals (Fisher 1936)",
        target="species",
        attributes=_IRIS,
        load=lambda: _from_scikit_learn("load_iris", _IRIS, {0: "setosa", 1: "versicolor", 2: "virginica"}),
        lesson=_TRAIN,
    ),
    Sample(
        name="wine",
        help="178 wines of three cultivars by 13 chemical measurements",
        target="cultivar",
        attributes=_WINE,
        load=lambda: _from_scikit_learn("load_wine", _WINE, {0: "1", 1: "2", 2: "3"}),
        lesson=_TRAIN,
    ),
    Sample(
        name="breast-cancer",
        help="569 tumours, benign or malignant, by 30 measurements of their cell nuclei (Wisconsin)",
        target="diagnosis",
        attributes=_BREAST_CANCER,
        load=lambda: _from_scikit_learn("load_breast_cancer", _BREAST_CANCER, {0: "malignant", 1: "benign"}),
        lesson=_TRAIN,
    ),
    Sample(
        name="digits",
        help="1,797 handwritten digits of 8 by 8 pixels",
        target="digit",
        attributes=_DIGITS,
        load=lambda: _from_scikit_learn("load_digits", _DIGITS, {k: str(k) for k in range(10)}),
        lesson=_TRAIN,
    ),
    Sample(
        name="diabetes-progression",
        help="442 patients by ten baseline measurements, and how far their diabetes went in a year",
        target="progression",
        attributes=_DIABETES,
        load=lambda: _from_scikit_learn("load_diabetes", _DIABETES, None, scaled=False),
        lesson=_TRAIN,
    ),
    Sample(
        name="clinic",
        help="six invented patients by age and town; generalised to k = 2, it still reveals a diagnosis",
        target="diagnosis",
        attributes=_CLINIC,
        load=_clinic,
        lesson="Six rows show what k-anonymity leaves open. At any useful ε they are mostly noise.",
    ),
)
"""Every bundled table, in the order in which it is listed."""

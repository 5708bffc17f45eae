"""A generated table of people who do not exist: the sample that shows every kind of column.

The seed is fixed and nothing but additions, comparisons and Python's portable ``random()`` is used, so the table is
the same on every machine. It is made for looking at and for tests; nothing that is released is drawn here.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the window's first paint, with its list of samples, does not wait for it
    import polars as pl

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

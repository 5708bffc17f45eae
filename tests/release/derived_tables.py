"""Tables that are taken from another one, and pairs of tables that have nothing to do with each other."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from workbench.data.table import Table
from workbench.release.ledger.identity import identify
from workbench.release.ledger.resemblance import in_doubt
from workbench.release.ledger.sketch import SHARED

KEY = b"d" * 32
FIRST = ("Anna", "Ben", "Clara", "David", "Eva", "Felix", "Gita", "Hans", "Iris", "Jonas", "Karin", "Lukas", "Mara")
_START = datetime(2020, 1, 1)  # noqa: DTZ001


def recognised(new: pl.DataFrame, old: pl.DataFrame) -> str:
    """Return how ``new`` is recognised where ``old`` has an account: ``joined``, ``in doubt``, or empty."""
    one, other = (identify(Table(frame, "made"), KEY) for frame in (new, old))
    if one.content == other.content or one.sketches.shared(other.sketches) > SHARED:
        return "joined"
    return "in doubt" if in_doubt(one.columns, other.columns) else ""


# -- tables, and what is taken from them ------------------------------------------------------------------------------


def salaries(draw: np.random.Generator, rows: int = 20_000) -> pl.DataFrame:
    """One column of salaries to the cent."""
    return pl.DataFrame({"salary": np.round(draw.gamma(6, 7000, rows), 2).astype(str)})


def measured(draw: np.random.Generator, rows: int = 1000) -> pl.DataFrame:
    """A measurement with four decimals, a sex, and yes or no."""
    x = np.round(draw.normal(5, 1, rows), 4).astype(str)
    return pl.DataFrame({"x": x, "sex": draw.choice(["f", "m"], rows), "y": draw.choice(["yes", "no"], rows)})


def named(draw: np.random.Generator, rows: int = 300) -> pl.DataFrame:
    """A number and a name."""
    letters = draw.integers(97, 123, (rows, 7)).astype(np.uint8)
    names = [f"{draw.choice(FIRST)} {bytes(word).decode().title()}" for word in letters]
    return pl.DataFrame({"number": draw.integers(0, 50, rows).astype(str), "name": names})


def persons(draw: np.random.Generator, rows: int = 2000) -> pl.DataFrame:
    """Nine columns about people, the first of them a running number."""
    age = np.clip(draw.normal(45, 17, rows), 18, 95).astype(int)
    pay = np.round(draw.gamma(3, 12_000, rows), -2).astype(int)
    return pl.DataFrame(
        {
            "id": [f"P{k:05}" for k in range(1, rows + 1)],
            "age": age.astype(str),
            "sex": draw.choice(["female", "male"], rows),
            "zip": (1000 + 10 * draw.choice(90, rows, p=_uneven(90))).astype(str),
            "pay": pay.astype(str),
            "height": np.round(draw.normal(172, 9, rows), 1).astype(str),
            "smokes": draw.choice(["yes", "no"], rows, p=[0.2, 0.8]),
            "children": draw.poisson(1.3, rows).astype(str),
            "born": [str((_START - timedelta(days=int(a) * 365 + int(draw.integers(365)))).date()) for a in age],
        }
    )


DERIVED: dict[str, Callable[[pl.DataFrame, random.Random], pl.DataFrame]] = {
    "one cell edited": lambda frame, made: _edited(frame, made, 1),
    "1 % of cells edited": lambda frame, made: _edited(frame, made, max(1, frame.height * frame.width // 100)),
    "two columns": lambda frame, made: frame.select(made.sample(_telling(frame), min(2, len(_telling(frame))))),
    "two columns and 80 % of rows": lambda frame, made: _sample(
        frame.select(made.sample(_telling(frame), min(2, len(_telling(frame))))), made, 0.8
    ),
    "half of the rows": lambda frame, made: _sample(frame, made, 0.5),
    "a tenth of the rows": lambda frame, made: _sample(frame, made, 0.1),
    "joined with a new column": lambda frame, made: frame.with_columns(
        new=pl.Series([str(made.randrange(7)) for _ in range(frame.height)])
    ),
    "a projection with an edited cell and a new column": lambda frame, made: _edited(
        frame.select(made.sample(_telling(frame), min(3, len(_telling(frame))))), made, 1
    ).with_columns(new=pl.Series([str(made.random()) for _ in range(frame.height)])),
    "renamed, reordered and reformatted": lambda frame, made: (
        frame.rename({name: f"c {k}" for k, name in enumerate(frame.columns)})
        .select([f"c {k}" for k in made.sample(range(frame.width), frame.width)])
        .with_columns(pl.all().str.replace(r"^(\d+\.\d+)$", "${1}0"))
        .sample(fraction=1, shuffle=True, seed=made.randrange(1 << 30))
    ),
}
"""What becomes of a table: it is about the same people."""


def _telling(frame: pl.DataFrame) -> list[str]:
    """Return the columns that tell tables from one another: neither running numbers nor yes and no."""
    return [name for name in frame.columns if name != "id" and frame[name].n_unique() > 2]


def _edited(frame: pl.DataFrame, made: random.Random, cells: int) -> pl.DataFrame:
    for _ in range(cells):
        name, at = made.choice(frame.columns), made.randrange(frame.height)
        frame = frame.with_columns(frame[name].scatter(at, made.choice(frame[name].to_list()) + "1"))
    return frame


def _sample(frame: pl.DataFrame, made: random.Random, share: float) -> pl.DataFrame:
    return frame.sample(fraction=share, shuffle=True, seed=made.randrange(1 << 30))


# -- tables that have nothing to do with each other -------------------------------------------------------------------


def _uneven(many: int) -> list[float]:
    weights = 1 / np.arange(1, many + 1)
    return list(weights / weights.sum())


def _sizes(made: random.Random) -> tuple[int, int]:
    """Return the rows of two tables: often as many."""
    one = made.choice([60, 500, 2000, 6000])
    return one, made.choice([one, one, round(one * 0.9), made.choice([60, 500, 2000])])


def _days(rows: int) -> list[str]:
    return [str((_START + timedelta(days=k)).date()) for k in range(rows)]


def _running(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    a = draw.choice(["yes", "no"], rows, p=[0.9, 0.1])
    return pl.DataFrame({"id": [str(k) for k in range(1, rows + 1)], "a": a})


def _daily(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    when = [_START + timedelta(days=k) for k in range(rows)]
    return pl.DataFrame(
        {
            "day": _days(rows),
            "month": [str(d.month) for d in when],
            "weekday": [f"{d:%A}" for d in when],
            "day of month": [str(d.day) for d in when],
            "n": draw.poisson(2, rows).astype(str),
        }
    )


def _minutes(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "time": [f"{_START + timedelta(minutes=k):%Y-%m-%d %H:%M}" for k in range(rows)],
            "value": np.round(draw.normal(20, 3, rows), 1).astype(str),
        }
    )


def _events(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    at = np.sort(draw.integers(0, 60 * 24 * 30, rows))
    return pl.DataFrame(
        {
            "time": [f"{_START + timedelta(minutes=int(k)):%Y-%m-%d %H:%M}" for k in at],
            "kind": draw.choice(["in", "out"], rows),
        }
    )


def _yes_no(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    shares = {"q1": 0.5, "q2": 0.5, "q3": 0.3, "q4": 0.1}
    return pl.DataFrame({name: draw.choice(["yes", "no"], rows, p=[p, 1 - p]) for name, p in shares.items()})


def _rounded(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    return pl.DataFrame({"salary": np.round(draw.gamma(6, 7000, 10 * rows), -2).astype(int).astype(str)})


def _zips(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    codes = [str(1000 + 4 * k) for k in range(2000)]
    return pl.DataFrame({"zip": draw.choice(codes, rows, p=_uneven(2000)), "own": draw.choice(["yes", "no"], rows)})


def _zip_list(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    public = np.random.default_rng(5).choice(np.arange(1000, 9999), 2200, replace=False)  # the same list in every table
    return pl.DataFrame({"zip": public.astype(str), "rain": np.round(draw.gamma(4, 200, 2200), 0).astype(str)})


def _survey(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    """A year of a survey: the same questions and shares, other people; the answers depend on each other."""
    mood = draw.normal(size=rows)
    answers = {f"q{k}": np.clip(np.round(3 + 0.7 * mood + draw.normal(size=rows)), 1, 5).astype(int) for k in range(12)}
    age = np.clip(draw.normal(45, 17, rows), 18, 95).astype(int)
    groups = {"id": np.arange(1, rows + 1), "age": age, "group": age // 10, "sex": draw.integers(1, 3, rows)}
    return pl.DataFrame({name: values.astype(str) for name, values in {**groups, **answers}.items()})


def _blocks(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    """A planned trial: equal groups, doses and batches."""
    return pl.DataFrame(
        {
            "arm": [f"arm {k % 4}" for k in range(rows)],
            "batch": [str(k // 10) for k in range(rows)],
            "dose": [str(("0.1", "0.5", "2")[k % 3]) for k in range(rows)],
            "cured": draw.choice(["yes", "no"], rows),
        }
    )


def _towns(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "city": draw.choice([f"Town {k}" for k in range(300)], rows, p=_uneven(300)),
            "first name": draw.choice(FIRST, rows, p=_uneven(len(FIRST))),
            "born": (1930 + draw.binomial(80, 0.5, rows)).astype(str),
        }
    )


def _persons(draw: np.random.Generator, rows: int, made: random.Random) -> pl.DataFrame:
    return persons(draw, min(rows, 2000))


UNRELATED: dict[str, Callable[[np.random.Generator, int, random.Random], pl.DataFrame]] = {
    "running numbers": _running,
    "days, months, weekdays": _daily,
    "a value each minute": _minutes,
    "events by the minute": _events,
    "yes and no": _yes_no,
    "salaries rounded to 100": _rounded,
    "zip codes of people": _zips,
    "a public list of zip codes": _zip_list,
    "two years of a survey": _survey,
    "a planned trial": _blocks,
    "cities, names, years of birth": _towns,
    "other people, the same columns": _persons,
}
"""Kinds of tables; two of a kind have nothing in common but the kind."""


def unrelated_pair(kind: str, number: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return two tables of a kind, drawn independently; one of them may be a projection."""
    made = random.Random(f"{kind} {number}")
    one, other = (UNRELATED[kind](np.random.default_rng(made.randrange(1 << 32)), rows, made) for rows in _sizes(made))
    if made.random() < 0.3:
        one = one.select(made.sample(one.columns, made.randint(1, one.width)))
    return one, other


def public_halves(folder: Path, number: int) -> tuple[str, pl.DataFrame, pl.DataFrame]:
    """Return the name of a public table and two parts of it that have no row in common."""
    from workbench.data.table_reader import read_table

    names = ("diabetes", "iris", "missed_payment", "BostonHousing", "sex_classification")
    name, made = names[number % len(names)], random.Random(number)
    frame = read_table(folder / f"{name}.csv").frame
    rows = frame.sample(fraction=1, shuffle=True, seed=made.randrange(1 << 30))
    cut = round(rows.height * made.choice([0.5, 0.5, 0.3]))
    return name, rows[:cut], rows[cut : cut + min(cut, 20_000)]

"""Tables, what becomes of them, and tables that have nothing to do with each other."""

import random
from collections.abc import Callable

import numpy as np
import polars as pl

from workbench.data.table import Table
from workbench.release.ledger.identity import identify
from workbench.release.ledger.sketch import SHARED

KEY = b"n" * 32
CITIES = ("Graz", "Linz", "Wien", "Zürich", "Villach")

CHANGES = {
    "one cell": True,
    "1 % of rows": True,
    "10 % of rows": True,
    "60 % of rows": False,
    "rows added": True,
    "rows removed": True,
    "columns renamed": True,
    "columns reordered": True,
    "column removed": True,
    "column added": True,
    "column rewritten": True,
    "numbers reformatted": True,
}
"""Each change, and whether the table is the same one or a version afterwards."""


def person_table(made: random.Random, rows: int) -> Table:
    draw = np.random.default_rng(made.randrange(1 << 32))
    return Table(
        pl.DataFrame(
            {
                "id": [f"P{k:06}" for k in range(1, rows + 1)],
                "age": draw.integers(18, 95, rows).astype(str),
                "city": draw.choice(CITIES, rows),
                "zip": draw.integers(1000, 9999, rows).astype(str),
                "pay": draw.gamma(3, 12_000, rows).round(1).astype(str),
                "label": draw.choice(["yes", "no"], rows),
            }
        ),
        "people",
    )


def changed(table: Table, change: str, made: random.Random) -> Table:
    frame, n = table.frame, table.rows

    def rows_changed(share: float) -> pl.DataFrame:
        at = made.sample(range(n), max(1, round(share * n)))
        if not share:
            return frame.with_columns(frame["zip"].scatter(at, ["99999"]))
        others = person_table(made, n).frame  # the rows of other people, under the same running numbers
        return frame.with_columns(frame[c].scatter(at, others[c].gather(at)) for c in frame.columns if c != "id")

    ways: dict[str, Callable[[], pl.DataFrame]] = {
        "one cell": lambda: rows_changed(0),
        "1 % of rows": lambda: rows_changed(0.01),
        "10 % of rows": lambda: rows_changed(0.1),
        "60 % of rows": lambda: rows_changed(0.6),
        "rows added": lambda: pl.concat([frame, person_table(made, max(1, n // 5)).frame]),
        "rows removed": lambda: frame.sample(n - n // 5, seed=made.randrange(1 << 32)),
        "columns renamed": lambda: frame.rename({name: name.upper() for name in frame.columns}),
        "columns reordered": lambda: frame.select(made.sample(frame.columns, frame.width)).sample(
            fraction=1, shuffle=True, seed=made.randrange(1 << 32)
        ),
        "column removed": lambda: frame.drop(made.choice(["age", "city", "zip", "pay", "label", "id"])),
        "column added": lambda: frame.with_columns(note=pl.Series([str(made.random()) for _ in range(n)])),
        "column rewritten": lambda: frame.with_columns(pay=pl.Series([str(made.randint(1, 5)) for _ in range(n)])),
        "numbers reformatted": lambda: frame.with_columns(pl.col("pay") + "0", pl.col("age") + ".0"),
    }
    return Table(ways[change](), "changed")


def _draws(made: random.Random) -> np.random.Generator:
    return np.random.default_rng(made.randrange(1 << 32))


def _low_entropy(made: random.Random) -> pl.DataFrame:
    draw, rows = _draws(made), made.choice([40, 500, 4000])
    return pl.DataFrame({name: draw.choice(["yes", "no"], rows) for name in "abcd"})


def _numbered_yes_no(made: random.Random) -> pl.DataFrame:
    draw, rows = _draws(made), made.choice([40, 500, 4000])
    return pl.DataFrame({"id": [str(k) for k in range(rows)], "a": draw.choice(["yes", "no"], rows)})


def _daily(made: random.Random) -> pl.DataFrame:
    from datetime import date, timedelta

    draw, rows = _draws(made), made.choice([60, 800])
    days = [str(date(2020, 1, 1) + timedelta(days=k)) for k in range(rows)]
    return pl.DataFrame(
        {"day": days, "n": draw.integers(0, 2, rows).astype(str), "m": draw.choice(["up", "down"], rows)}
    )


def _as_many_as_values(made: random.Random) -> pl.DataFrame:
    """The worst case of the bound: uniform over as many values as there are rows."""
    draw, rows = _draws(made), made.choice([40, 300, 5000])
    return pl.DataFrame({"x": draw.integers(0, rows, rows).astype(str), "y": ["same"] * rows})


def _measured(made: random.Random) -> pl.DataFrame:
    draw, rows = _draws(made), made.choice([40, 500, 4000])
    return pl.DataFrame({name: draw.normal(5, 1, rows).round(1).astype(str) for name in "abc"})


def _survey(made: random.Random) -> pl.DataFrame:
    draw, rows = _draws(made), made.choice([60, 500, 3000])
    answers = {f"q{k}": draw.integers(1, 6, rows).astype(str) for k in range(5)}
    return pl.DataFrame({"no": [str(k + 1) for k in range(rows)], **answers})


UNRELATED: dict[str, Callable[[random.Random], pl.DataFrame]] = {
    "same schema, people": lambda made: person_table(made, made.choice([60, 500, 4000])).frame,
    "four yes or no": _low_entropy,
    "running numbers and yes or no": _numbered_yes_no,
    "days and small counts": _daily,
    "as many values as rows": _as_many_as_values,
    "measurements": _measured,
    "numbered survey": _survey,
}


def unrelated_pair(kind: str, made: random.Random) -> tuple[Table, Table]:
    """Return two tables that were drawn independently of each other."""
    one, other = (Table(UNRELATED[kind](made), "made") for _ in range(2))
    return one, other


def taken_as_one(one: Table, other: Table) -> bool:
    """Whether two tables are charged to one account."""
    first, second = identify(one, KEY), identify(other, KEY)
    return first.content == second.content or first.sketches.shared(second.sketches) > SHARED

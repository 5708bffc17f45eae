"""Tables, plans and requests for the tests of statistics."""

from typing import Any

import numpy as np
import polars as pl

from workbench.data.table import Table
from workbench.sanitize.plan import Plan
from workbench.statistics.request import Request, Statistic

COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "kind": "integer", "lower": 0, "upper": 99},
    {"name": "stars", "kind": "integer", "lower": 1, "upper": 5},
    {"name": "city", "kind": "category", "domain": ["Graz", "Linz", "Wien"]},
    {"name": "pay", "kind": "real", "lower": -50, "upper": 150, "cells": 201},
    {"name": "born", "kind": "date", "lower": "1990-01-01", "upper": "1990-12-31"},
]


def plan_of(**keys: Any) -> Plan:
    """A plan of five columns; ``invalid = "replace"`` unless the keys say otherwise."""
    return Plan.from_plain({"epsilon": 1.0, "invalid": "replace", "column": COLUMNS, **keys})


def people(rows: int, seed: int = 5, empty: float = 0.0) -> Table:
    """A table of :data:`COLUMNS`; each cell is empty with probability ``empty``."""
    r = np.random.default_rng(seed)
    days = np.datetime64("1990-01-01") + r.integers(0, 365, rows)
    frame = pl.DataFrame(
        {
            "age": np.clip(r.normal(45, 20, rows), -10, 120).astype(int).astype(str),
            "stars": r.choice(5, rows, p=(0.05, 0.05, 0.1, 0.3, 0.5)).__add__(1).astype(str),
            "city": r.choice(["Graz", "Linz", "Wien"], rows, p=(0.7, 0.299, 0.001)),
            "pay": np.round(r.lognormal(3, 0.7, rows), 1).astype(str),
            "born": days.astype(str),
        }
    )
    if empty:
        kept = {n: pl.Series(r.random(rows) >= empty) for n in frame.columns}
        frame = frame.with_columns([pl.when(kept[n]).then(pl.col(n)).otherwise(None).alias(n) for n in frame.columns])
    return Table(frame, "people.csv")


def asks(*figures: dict[str, Any]) -> Request:
    return Request(figures=tuple(Statistic(**f) for f in figures))


EVERYTHING = (
    {"statistic": "count", "column": "age"},
    {"statistic": "histogram", "column": "age", "bins": 10},
    {"statistic": "quantiles", "column": "age"},
    {"statistic": "mean", "column": "pay"},
    {"statistic": "sum", "column": "pay"},
    {"statistic": "histogram", "column": "stars"},
    {"statistic": "mean", "column": "stars"},
    {"statistic": "quantiles", "column": "born", "at": (0.5,)},
    {"statistic": "count", "by": ("city", "stars")},
    {"statistic": "histogram", "column": "stars", "by": ("city",)},
    {"statistic": "mean", "column": "pay", "by": ("city",)},
    {"statistic": "quantiles", "column": "age", "by": ("city",), "at": (0.5,)},
    {"statistic": "variance", "column": "pay"},
    {"statistic": "std", "column": "age", "by": ("city",)},
    {"statistic": "correlation", "column": "age", "other": "pay"},
    {"statistic": "covariance", "column": "stars", "other": "pay", "by": ("city",)},
    {"statistic": "ranges", "column": "pay", "bins": 40},
    {"statistic": "ranges", "column": "born", "bins": 9, "by": ("city",)},
    {"statistic": "histogram", "column": "city"},
    {"statistic": "top", "column": "city", "places": 2},
    {"statistic": "table", "by": ("city", "stars")},
    {"statistic": "mean", "column": "age", "by": ("born:quarter",)},
    {"statistic": "count", "by": ("city", "stars", "born:quarter")},
)
"""One of each kind."""

"""Green taxis of New York, January 2024, with public bounds: nobody read them off the rows.

Fares, rate codes and ways of payment are those of the Taxi and Limousine Commission's tariff and data dictionary. A
trip within the city is rarely longer than 30 miles or an hour and a half; a metered fare above 100 dollars is rare by
the tariff (3 dollars, and 3.50 a mile). Tips of cards are recorded, those in cash are not. A value outside its bounds
is clamped; a row without a valid target is empty and left out of the study.
"""

import csv
import gzip
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute

FILE = Path("taxi") / "green_tripdata_2024-01.csv.gz"
RATES = ("1", "2", "3", "4", "5", "6", "99")

DISTANCE = Attribute(name="trip_distance", kind="real", lower=0, upper=30)
HOUR = Attribute(name="hour", kind="integer", lower=0, upper=23)
WEEKDAY = Attribute(name="weekday", kind="integer", lower=0, upper=6)
PASSENGERS = Attribute(name="passenger_count", kind="integer", lower=0, upper=6, missing="own-value")
RATE = Attribute(name="RatecodeID", kind="category", domain=RATES, missing="own-value")
ZONE = Attribute(name="PULocationID", kind="integer", lower=1, upper=265)
FARE = Attribute(name="fare_amount", kind="real", lower=0, upper=100)
DURATION = Attribute(name="trip_duration", kind="real", lower=0, upper=5400)
BEFORE_THE_RIDE = (DISTANCE, HOUR, WEEKDAY, PASSENGERS, RATE, ZONE)


@dataclass(frozen=True)
class Taxis:
    """Rows X (n, d) and y (n,) with the public facts about their columns."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    attributes: tuple[Attribute, ...]
    target: Attribute

    def split(self, repeat: int, most: int = 10_000) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Indices of 80 % of the rows, and of ``most`` of the others."""
        order = np.random.default_rng([7, repeat]).permutation(len(self.y))
        cut = int(0.8 * len(order))
        return order[:cut], order[cut : cut + most]


def taxis(shared: Path, target: Attribute, attributes: tuple[Attribute, ...]) -> Taxis:
    """The table that predicts ``target``: codes of a category, numbers clamped to their bounds."""
    with gzip.open(shared / FILE, "rt", encoding="utf-8", newline="") as stream:
        rows = [_with_times(row) for row in csv.DictReader(stream)]
    X = np.column_stack([_column(rows, attribute) for attribute in attributes])
    y = _column(rows, target)
    known = ~np.isnan(y) if target.numeric else y < len(target.values())
    goal = y[known] if target.numeric else y[known].astype(np.int64)
    return Taxis(X[known], goal, attributes, target)


def _with_times(row: dict[str, str]) -> dict[str, str]:
    begun = datetime.fromisoformat(row["lpep_pickup_datetime"])
    return {**row, "hour": str(begun.hour), "weekday": str(begun.weekday())}


def _column(rows: list[dict[str, str]], attribute: Attribute) -> NDArray[np.float64]:
    cells = [row[attribute.name].strip() for row in rows]
    if attribute.numeric:
        numbers = np.array([float(cell) if cell else np.nan for cell in cells])
        return np.clip(numbers, *attribute.bounds())
    codes = {name: code for code, name in enumerate(attribute.values())}
    return np.array([codes.get(cell, len(codes)) for cell in cells], dtype=np.float64)

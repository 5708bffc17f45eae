"""Values of people written as a generalised release writes them: 43 as ``40-44``, 01230 as ``012**``.

The attacker knows how a release was generalised, as its labels show it: ranges, marks at letters, the beginning of a
date, ``*`` for anything. Names of groups (a category tree) show nothing and are compared as they are.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_RANGE = re.compile(rf"{_NUMBER}\s*[-–]\s*{_NUMBER}")
_HALF_OPEN = re.compile(rf"\[{_NUMBER}, {_NUMBER}\)")
_BELOW, _FROM = re.compile(rf"<{_NUMBER}"), re.compile(rf">={_NUMBER}")
_DATE = re.compile(r"\d{4}-\d{2}")
_ANY = "*"
_MOST_PAIRS = 5_000_000


def ends_of(word: str) -> tuple[float, float, bool] | None:
    """Return the ends of the range that a label names, and whether the upper one is in it; ``None`` for no range."""
    if (found := _RANGE.fullmatch(word)) and float(found[1]) <= float(found[2]):
        return float(found[1]), float(found[2]), True
    if found := _HALF_OPEN.fullmatch(word):
        return float(found[1]), float(found[2]), False
    if found := _BELOW.fullmatch(word):
        return -np.inf, float(found[1]), False
    if found := _FROM.fullmatch(word):
        return float(found[1]), np.inf, True
    return None


def written_as(release: pl.Series, people: pl.Series) -> pl.Series:
    """Return values of people, each as the narrowest label of the release that covers it; others as they are."""
    words = release.drop_nulls().unique().sort().to_list()
    values = people.drop_nulls().unique().sort()
    if len(words) * len(values) > _MOST_PAIRS:
        return people
    numbers = values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    covered = [(word, at) for word in words if (at := _covered(word, values, numbers)) is not None]
    label = np.array(values.to_list(), dtype=object)
    for word, at in sorted(covered, key=lambda pair: -int(pair[1].sum())):
        label[at] = word
    exact = values.is_in(words).to_numpy()
    label[exact] = values.filter(pl.Series(exact)).to_numpy()
    mapped = pl.DataFrame({"value": values, "label": pl.Series(label.tolist(), dtype=pl.String)})
    return pl.DataFrame({"value": people}).join(mapped, on="value", how="left", maintain_order="left")["label"]


def _covered(word: str, values: pl.Series, numbers: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """Return which values a label covers; ``None`` where it is no label of more than one."""
    if word == _ANY:
        return np.ones(len(values), dtype=bool)
    if (ends := ends_of(word)) is not None:
        low, high, closed = ends
        return (numbers >= low) & ((numbers <= high) if closed else (numbers < high))
    if _DATE.fullmatch(word):
        return values.str.starts_with(f"{word}-").to_numpy()
    if _ANY in word:
        pattern = "".join("." if letter == _ANY else re.escape(letter) for letter in word)
        return values.str.contains(f"^{pattern}$").to_numpy()
    return None

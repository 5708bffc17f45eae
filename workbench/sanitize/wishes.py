"""A wish: a figure and how close to the truth it must be, such as "mean age within ± 2", read from text and written.

The margin is half of the interval in which 95 of 100 releases keep the figure, as every forecast states it. A wish may
say by which columns groups are made, ``mean(age by sex) ± 2`` or ``mean(age) by sex ± 2``, and how much it weighs,
``mean(age) ± 2, weight 3``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Self

from workbench.params import ParameterError
from workbench.params.field import did_you_mean

FIGURES = ("mean", "sum", "share", "count", "median", "quantile", "correlation")
MEAN, SUM, SHARE, COUNT, MEDIAN, QUANTILE, CORRELATION = FIGURES
NUMBERS, CLASSES = ("integer", "real"), ("category", "boolean")
FORMS = "mean(age) ± 2, mean(age by sex) ± 2, share(sex=f) within 3 % or correlation(age, income) ± 0.1"

_WORDS = {
    "mean": MEAN,
    "average": MEAN,
    "avg": MEAN,
    "sum": SUM,
    "total": SUM,
    "count": COUNT,
    "number": COUNT,
    "median": MEDIAN,
    "quantile": QUANTILE,
    "share": SHARE,
    "proportion": SHARE,
    "fraction": SHARE,
    "correlation": CORRELATION,
    "corr": CORRELATION,
}
_NUMBER = r"\+?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_WISH = re.compile(
    r"\s*(?P<word>[^\W\d]+)\s*(?:\((?P<inside>.+)\)(?P<by>\s+by\s.+?)?|\s(?:of\s+)?(?P<of>.+?))"
    r"\s*(?:\bwithin\s*(?:±|\+/?-)?|±|\+/?-|<=|≤)"
    rf"\s*(?P<within>{_NUMBER})\s*(?:(?P<percent>%|percent)|[^\W\d][\w ]*)?"
    rf"\s*(?:,\s*weight\s+(?P<weight>{_NUMBER})\s*)?\Z"
)
_BARE = re.compile(rf"\s*[^\W\d]+\s*\(.+\)(?:\s+by\s.+?)?(?=\s*(?:,\s*weight\s+{_NUMBER}\s*)?\Z)")
_OF_A_LIST = r",|\s(?:and|with)\s"
_MARGIN_BELOW = {SHARE: 1.0, CORRELATION: 2.0}  # a margin this wide asks for nothing, so it must be below


@dataclass(frozen=True)
class Wish:
    """One figure and how close to the truth it must be."""

    asked: str  # one of `FIGURES`
    columns: tuple[str, ...]  # the column; both, for a correlation
    # Half-length of the 95 % interval in the column's own unit; for a share, a part of 1 (0.03 is 3 points); for a
    # count, rows.
    within: float
    # The value whose share or count it is (a count without one is of the rows that have a value), or which quantile;
    # empty for other figures.
    value: str = ""
    by: tuple[str, ...] = ()  # the columns that make groups: the figure of each of them is wished for
    weight: float = 1.0  # how much it counts where errors have to be traded: twice the weight, half the error

    @classmethod
    def parse(cls, text: str, within: float | None = None) -> Self:
        """Return the wish in ``text``, such as ``mean(age) ± 2``, ``share(sex=f) within 3 %`` or ``mean(age)<=2``.

        ``within`` is the margin of a figure that is written without one; ``None`` refuses such a figure.

        Raises:
            ParameterError: it is not a wish; the message names the part that is wrong.
        """
        bare = None if within is None else _BARE.match(text)
        found = _WISH.match(text if bare is None else f"{bare[0]} ± 1{text[bare.end() :]}")
        if found is None:
            raise ParameterError(f"{text.strip()!r} is not a wish", hint=f"write it as {FORMS}", field="wish")
        word = found["word"].lower()
        if word not in _WORDS:
            near = did_you_mean(word, _WORDS)
            hint = f"ask for a {', a '.join(FIGURES[:-1])} or a {FIGURES[-1]}"
            raise ParameterError(f"{found['word']!r} is not a figure{near}", text.strip(), hint, field="wish")
        asked = _WORDS[word]
        columns, value, by = _subject(
            asked, (found["inside"] or found["of"]).strip() + (found["by"] or ""), text.strip()
        )
        weight = float(found["weight"] or 1)
        if not 0 < weight <= _MOST_WEIGHT:
            raise ParameterError(f"the weight must be above 0 and at most {_MOST_WEIGHT:g}", text.strip(), field="wish")
        if bare is not None and within is not None:
            return cls(asked, columns, within, value, by, weight)
        margin = float(found["within"])
        if found["percent"]:
            if asked != SHARE:
                what = f"the margin of a {asked} is not a percentage"
                raise ParameterError(what, text.strip(), f"write it as {_EXAMPLES[asked]}", field="wish")
            margin /= 100
        return cls(asked, columns, margin, value, by, weight).in_range()

    def in_range(self) -> Self:
        """Return the wish; raise :class:`ParameterError` if its margin asks for nothing or for the impossible."""
        most = _MARGIN_BELOW.get(self.asked, math.inf)
        if not 0 < self.within < most:
            above = "" if most == math.inf else f" and below {most:g}"
            raise ParameterError(f"the margin must be above 0{above}", self.text, field="wish")
        return self

    @property
    def figure(self) -> str:
        """The figure alone, such as ``mean(age)``, ``share(sex=f)`` or ``quantile(age, 0.9)``."""
        inside = ", ".join(self.columns)
        if self.value:
            inside += f", {self.value}" if self.asked == QUANTILE else f"={self.value}"
        groups = f" by {' and '.join(self.by)}" if self.by else ""
        return f"{self.asked}({inside}{groups})"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of columns that have such a figure."""
        if self.asked == SHARE or (self.asked == COUNT and self.value):
            return CLASSES
        dated = self.asked in (COUNT, MEDIAN, QUANTILE)
        return (*NUMBERS, *(("date",) if dated else ()), *(CLASSES if self.asked == COUNT else ()))

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it is about, those that make groups last."""
        return *self.columns, *self.by

    @property
    def margin(self) -> str:
        """The margin as a person writes it: ``± 2``, or ``± 3 %`` for a share."""
        return f"± {self.within * 100:.6g} %" if self.asked == SHARE else f"± {self.within:.6g}"

    @property
    def text(self) -> str:
        """The wish as :meth:`parse` reads it; without a margin where none was given."""
        margin = "" if math.isinf(self.within) else f" {self.margin}"
        return f"{self.figure}{margin}" + (f", weight {self.weight:g}" if self.weight != 1 else "")

    def named(self, names: Collection[str]) -> Self:
        """Return the wish with the columns of ``names`` that it is about: "by" may be part of a column's name.

        Where no name is written so, the only one that differs by capitals alone is meant.
        """
        columns = tuple(_spelled(name, names) for name in self.columns)
        if self.by and self.columns[0] not in names:
            whole = [f"{self.columns[0]} by {between.join(self.by)}" for between in (" and ", ", ")]
            if columns[0] not in names:
                whole = [_spelled(name, names) for name in whole]
            if (found := next((name for name in whole if name in names), None)) is not None:
                return replace(self, columns=(found,), by=())
        return replace(self, columns=columns, by=tuple(_spelled(name, names) for name in self.by))

    def checked(self, kinds: Mapping[str, str | None]) -> Self:
        """Return the wish if its columns exist and their kinds (``None``: not known yet) have such a figure.

        Raises:
            ParameterError: names the column, and one with a similar name.
        """
        wish = self.named(kinds)
        for name in wish.reads:
            if name not in kinds:
                what = f"the table has no column {name!r}{did_you_mean(name, kinds)}"
                hint = f"choose from {', '.join(kinds)}"
                raise ParameterError(what, self.text, hint, code="unknown-column", field=name)
        for name in wish.columns:
            kind = kinds[name]
            if kind is not None and kind not in wish.kinds:
                other = f"mean({name})" if wish.kinds == CLASSES else f"share({name}=VALUE)"
                hint = "" if kind == "date" else f"ask for {other}"
                what = f"{name} holds {_HOLDS[kind]}, which have no {self.asked}"
                raise ParameterError(what, self.text, hint, field=name)
        return wish


_HOLDS = {"category": "names", "boolean": "yes or no", "integer": "numbers", "real": "numbers", "date": "dates"}
_EXAMPLES = {
    MEAN: "mean(age) ± 2",
    SUM: "sum(income) ± 1000",
    SHARE: "share(sex=f) ± 3 %",
    COUNT: "count(sex=f) ± 10",
    MEDIAN: "median(age) ± 2",
    QUANTILE: "quantile(age, 0.9) ± 2",
    CORRELATION: "correlation(age, income) ± 0.1",
}
_GROUPED = (MEAN, SUM, MEDIAN, QUANTILE)
_LEAST_QUANTILE = 0.0001
_MOST_WEIGHT = 1e6
_MOST_GROUPING = 2


def _spelled(name: str, names: Collection[str]) -> str:
    """Return the name of ``names`` that is meant; ``name`` itself where none is, or several could be."""
    if name in names:
        return name
    alike = [known for known in names if known.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else name


def _subject(asked: str, inside: str, text: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Return the columns, the value and the grouping columns of a wish, from the text in its brackets."""
    by: tuple[str, ...] = ()
    if asked in _GROUPED:
        inside, _, groups = inside.partition(" by ")
        by = tuple(part.strip() for part in re.split(_OF_A_LIST, groups) if part.strip())
        if len(by) > _MOST_GROUPING or inside.strip() in by:
            raise ParameterError("groups are made by one or two other columns", text, "name one or two", field="wish")
    inside = inside.strip()
    if asked in (MEAN, SUM, MEDIAN):
        return (inside,), "", by
    if asked == QUANTILE:
        name, _, part = inside.rpartition(",")
        try:
            at = float(part.strip().removesuffix("%")) / (100 if part.strip().endswith("%") else 1)
        except ValueError:
            at = 0.0
        if not (name.strip() and _LEAST_QUANTILE <= at <= 1 - _LEAST_QUANTILE):
            raise ParameterError(
                "a quantile needs a column and a number between 0 and 1",
                text,
                f"write it as {_EXAMPLES[asked]}",
                field="wish",
            )
        return (name.strip(),), f"{at:.6g}", by
    if asked in (SHARE, COUNT):
        name, sign, value = inside.partition("=")
        if not sign and asked == SHARE:
            value, sign, name = inside.rpartition(" in ")
        parts = (name.strip(), value.strip())
        if not all(parts) and (asked == SHARE or sign):
            raise ParameterError(f"a {asked} needs one value", text, f"write it as {_EXAMPLES[asked]}", field="wish")
        return parts[:1], parts[1], ()
    names = tuple(part.strip() for part in re.split(_OF_A_LIST, inside))
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        hint = f"write it as {_EXAMPLES[CORRELATION]}"
        raise ParameterError("a correlation needs two columns", text, hint, field="wish")
    return names, "", ()

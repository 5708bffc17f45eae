"""A wish: a figure and how close to the truth it must be, such as "mean age within ± 2", read from text and written.

The margin is half of the interval in which 95 of 100 releases keep the figure, as every forecast states it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from workbench.params import ParameterError
from workbench.params.field import did_you_mean

MEAN, SHARE, CORRELATION = FIGURES = ("mean", "share", "correlation")
NUMBERS, CLASSES = ("integer", "real"), ("category", "boolean")
FORMS = "mean(age) ± 2, share(sex=f) within 3 % or correlation(age, income) ± 0.1"

_WORDS = {
    "mean": MEAN,
    "average": MEAN,
    "avg": MEAN,
    "share": SHARE,
    "proportion": SHARE,
    "fraction": SHARE,
    "correlation": CORRELATION,
    "corr": CORRELATION,
}
_WISH = re.compile(
    r"\s*(?P<word>[^\W\d]+)\s*(?:\((?P<inside>.+)\)|\s(?:of\s+)?(?P<of>.+?))"
    r"\s*(?:\bwithin\s*(?:±|\+/?-)?|±|\+/?-|<=|≤)"
    r"\s*(?P<within>\+?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:(?P<percent>%|percent)|[^\W\d][\w ]*)?\s*\Z"
)
_MARGIN_BELOW = {SHARE: 1.0, CORRELATION: 2.0}
"""A margin this wide asks for nothing, so it must be below."""


@dataclass(frozen=True)
class Wish:
    """One figure and how close to the truth it must be.

    Attributes:
        asked: ``mean``, ``share`` or ``correlation``.
        columns: the column; both, for a correlation.
        within: half-length of the 95 % interval in the column's own unit; for a share, a part of 1 (0.03 is 3 points).
        value: the value whose share it is; empty for other figures.
    """

    asked: str
    columns: tuple[str, ...]
    within: float
    value: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the wish in ``text``, such as ``mean(age) ± 2``, ``share(sex=f) within 3 %`` or ``mean(age)<=2``.

        Raises:
            ParameterError: it is not a wish; the message names the part that is wrong.
        """
        found = _WISH.match(text)
        if found is None:
            raise ParameterError(f"{text.strip()!r} is not a wish", hint=f"write it as {FORMS}", field="wish")
        word = found["word"].lower()
        if word not in _WORDS:
            near = did_you_mean(word, _WORDS)
            hint = f"ask for a {', a '.join(FIGURES[:-1])} or a {FIGURES[-1]}"
            raise ParameterError(f"{found['word']!r} is not a figure{near}", text.strip(), hint, field="wish")
        asked = _WORDS[word]
        columns, value = _subject(asked, (found["inside"] or found["of"]).strip(), text.strip())
        within = float(found["within"])
        if found["percent"]:
            if asked != SHARE:
                what = f"the margin of a {asked} is not a percentage"
                raise ParameterError(what, text.strip(), f"write it as {_EXAMPLES[asked]}", field="wish")
            within /= 100
        return cls(asked, columns, within, value).in_range()

    def in_range(self) -> Self:
        """Return the wish; raise :class:`ParameterError` if its margin asks for nothing or for the impossible."""
        most = _MARGIN_BELOW.get(self.asked, math.inf)
        if not 0 < self.within < most:
            above = "" if most == math.inf else f" and below {most:g}"
            raise ParameterError(f"the margin must be above 0{above}", self.text, field="wish")
        return self

    @property
    def figure(self) -> str:
        """The figure alone, such as ``mean(age)`` or ``share(sex=f)``."""
        inside = ", ".join(self.columns)
        return f"{self.asked}({inside}={self.value})" if self.asked == SHARE else f"{self.asked}({inside})"

    @property
    def margin(self) -> str:
        """The margin as a person writes it: ``± 2``, or ``± 3 %`` for a share."""
        return f"± {self.within * 100:.6g} %" if self.asked == SHARE else f"± {self.within:.6g}"

    @property
    def text(self) -> str:
        """The wish as :meth:`parse` reads it."""
        return f"{self.figure} {self.margin}"

    def checked(self, kinds: Mapping[str, str | None]) -> Self:
        """Return the wish if its columns exist and their kinds have such a figure.

        Args:
            kinds: the kind of each column that may be asked for; ``None`` where it is not known yet.

        Raises:
            ParameterError: names the column, and one with a similar name.
        """
        for name in self.columns:
            if name not in kinds:
                what = f"the table has no column {name!r}{did_you_mean(name, kinds)}"
                raise ParameterError(what, self.text, code="unknown-column", field=name)
            wanted = CLASSES if self.asked == SHARE else NUMBERS
            kind = kinds[name]
            if kind is not None and kind not in wanted:
                other = f"mean({name})" if self.asked == SHARE else f"share({name}=VALUE)"
                hint = "" if kind == "date" else f"ask for {other}"
                what = f"{name} holds {_HOLDS[kind]}, which have no {self.asked}"
                raise ParameterError(what, self.text, hint, field=name)
        return self


_HOLDS = {"category": "names", "boolean": "yes or no", "integer": "numbers", "real": "numbers", "date": "dates"}
_EXAMPLES = {MEAN: "mean(age) ± 2", SHARE: "share(sex=f) ± 3 %", CORRELATION: "correlation(age, income) ± 0.1"}


def _subject(asked: str, inside: str, text: str) -> tuple[tuple[str, ...], str]:
    """Return the columns and the value that a wish is about, from the text in its brackets."""
    if asked == MEAN:
        return (inside,), ""
    if asked == SHARE:
        name, sign, value = inside.partition("=")
        if not sign:
            value, sign, name = inside.rpartition(" in ")
        parts = (name.strip(), value.strip())
        if not all(parts):
            raise ParameterError("a share is of one value", text, f"write it as {_EXAMPLES[SHARE]}", field="wish")
        return parts[:1], parts[1]
    names = tuple(part.strip() for part in re.split(r",|\s(?:and|with)\s", inside))
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        hint = f"write it as {_EXAMPLES[CORRELATION]}"
        raise ParameterError("a correlation is of two columns", text, hint, field="wish")
    return names, ""

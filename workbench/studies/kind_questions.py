"""The intended use of a release as questions that each kind of release is measured by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Literal, cast

from workbench.params import ParameterError
from workbench.sanitize.intended_use import AVERAGES, FIGURES, PAIRS, IntendedUse, questions_of
from workbench.sanitize.intended_use import MODEL as A_MODEL
from workbench.sanitize.intended_use import ROWS as LOOKED_AT
from workbench.sanitize.plan import Column, Plan
from workbench.sanitize.wishes import FIGURES as WISHED
from workbench.sanitize.wishes import Wish
from workbench.statistics.request import (
    CORRELATION,
    COUNT,
    HISTOGRAM,
    MEAN,
    QUANTILES,
    QUARTERS,
    SUM,
    Request,
    Statistic,
    usual_request,
)

Asked = Literal["mean", "sum", "share", "count", "median", "quantile", "correlation", "model", "rows"]

NEAR = 0.02
"""How near a figure must be where nobody typed a margin: a mean or median in parts of its column's range, a share in
parts of all rows. Tables of a survey are printed with two digits."""

NEAR_PAIR = 0.3  # the same of a correlation: so wide that a strong one, 0.5, differs from none

MOST_PAIRS = 3  # the most pairs of numbers that are asked about where nobody named one

HALF_LEARNT = 0.5
"""A model counts as useful if it keeps this part of what the rows themselves teach beyond one answer for all."""


@dataclass(frozen=True)
class Question:
    """Something that a recipient may want to know."""

    asked: Asked  # what kind of figure; `model` to train one, `rows` to look at them
    columns: tuple[str, ...]  # of which columns
    words: str  # the question in words
    enough: float  # the margin: the largest half-length that answers it
    value: str = ""  # the value whose share or count it is, or which quantile; empty for other figures
    wished: bool = False  # whether somebody typed the margin; else it is the usual one
    by: tuple[str, ...] = ()  # the columns that make groups

    @property
    def key(self) -> tuple[str, tuple[str, ...], str]:
        """What is asked, whatever the margin."""
        return self.asked, (*self.columns, *self.by), self.value

    @property
    def of_rows(self) -> Asked:
        """The figure of one row that it sums up over all rows; a figure that is no sum itself."""
        return "mean" if self.asked == "sum" else "share" if self.asked == "count" and self.value else self.asked

    @property
    def wish(self) -> Wish | None:
        """The wish that somebody could type for it, with the present margin; ``None`` where it has no margin."""
        if self.asked not in WISHED or self.words.startswith("how "):
            return None
        return Wish(self.asked, self.columns, self.enough, self.value, self.by)


def answered_by(plan: Plan) -> IntendedUse:
    """Return what ``plan`` is meant to answer; by default averages, pairs and a model of its target, if it has one."""
    return questions_of(plan.columns, Decimal(repr(plan.epsilon)), plan.questions)


def asked_of(plan: Plan) -> tuple[Question, ...]:
    """Return what recipients will ask of a release by ``plan``, each once, those with a typed wish first."""
    asks = answered_by(plan)
    wished = [question_of(plan, wish) for wish in asks.wishes_of([c.name for c in plan.protected])]
    found = {question.key: question for question in wished if question is not None}
    shares = {question.columns for question in found.values() if question.asked == "share"}
    for question in _questions_for(plan, asks):
        if question.asked != "share" or question.columns not in shares:  # one share of a column says enough of it
            found.setdefault(question.key, question)
    return tuple(found.values())


def typical_questions(plan: Plan, target: str | None) -> tuple[Question, ...]:
    """Return one question of each kind that the plan's columns allow, where nobody said what will be asked."""
    numbers = [c for c in plan.protected if c.kind in ("integer", "real")]
    names = [c for c in plan.protected if not c.numeric]
    found = []
    plain = [c for c in numbers if c.name != target] or numbers
    if plain:
        found.append(_middle("mean", plain[0]))
    if names:
        found.append(_share(next((c for c in names if c.name == target), names[0])))
    if len(numbers) > 1:
        found.append(_pair(*_two_numbers(numbers, target)))
    return tuple(found)


def asked_request(plan: Plan) -> Request:
    """Return the figures that answer what will be asked; the usual ones where the plan does not say what that is."""
    if plan.questions is None:
        return usual_request(plan)
    figures: dict[Figured, set[float]] = {}
    for question in asked_of(plan):
        figured = figured_by(question)
        if figured is not None:
            _add(figures, figured, question)
    found = tuple(filter(None, (_asked_figure(plan, figured, levels) for figured, levels in figures.items())))
    return Request(figures=found) if found else usual_request(plan)


def wished_figures(plan: Plan, wishes: Iterable[str]) -> list[tuple[int, Statistic]]:
    """Return the figures that wishes name, ``mean(age) ± 2`` or without a margin: what is paid says how near they are.

    Each has the place of the first wish that names it: quantiles of one column are one figure.

    Raises:
        ParameterError: one is no wish, or not about columns of the plan.
    """
    figures: dict[Figured, set[float]] = {}
    first: dict[Figured | Statistic, int] = {}
    for place, text in enumerate(wishes):
        wish = Wish.parse(text, math.inf).checked({c.name: c.kind for c in plan.protected})
        question = question_of(plan, wish)
        if question is None:
            raise ParameterError(f"{wish.value!r} is not one of its declared values", f"column {wish.columns[0]}")
        figured = figured_by(question)
        if figured is None:
            first.setdefault(Statistic(statistic=CORRELATION, column=wish.columns[0], other=wish.columns[1]), place)
        else:
            first.setdefault(figured, place)
            _add(figures, figured, question)
    return [
        (place, each if isinstance(each, Statistic) else _figure(each, figures[each])) for each, place in first.items()
    ]


def _add(figures: dict[Figured, set[float]], figured: Figured, question: Question) -> None:
    levels = figures.setdefault(figured, set())
    levels |= {float(question.value or 0.5)} if figured[0] == QUANTILES else set()


def _figure(figured: Figured, levels: set[float]) -> Statistic:
    statistic, column, by = figured
    at = None if levels <= set(QUARTERS) else tuple(sorted(levels))
    return Statistic(statistic=statistic, column=column, by=by or None, at=at)


def _asked_figure(plan: Plan, figured: Figured, levels: set[float]) -> Statistic | None:
    """Return one figure; ``None`` where statistics cannot give it, so that others are given without it."""
    try:
        return Request(figures=(_figure(figured, levels),)).checked(plan).figures[0]
    except ParameterError:
        return None


Figured = tuple[str, str, tuple[str, ...]]  # statistic, column and the columns that make groups


def figured_by(question: Question) -> Figured | None:
    """Return what answers a question among statistics; ``None`` where nothing does.

    The same groups by the same columns are asked for once, in whatever order a wish names these.
    """
    statistic = statistic_of(question)
    return None if statistic is None else (statistic, question.columns[0], tuple(sorted(question.by)))


_STATISTICS = {"mean": MEAN, "sum": SUM, "share": HISTOGRAM, "median": QUANTILES, "quantile": QUANTILES}


def statistic_of(question: Question) -> str | None:
    """Return the statistic that answers a question; ``None`` where none does."""
    if question.asked == "count":
        return HISTOGRAM if question.value else COUNT
    return _STATISTICS.get(question.asked)


def _questions_for(plan: Plan, asks: IntendedUse) -> Iterator[Question]:
    numbers = [c for c in plan.protected if c.kind in ("integer", "real")]
    target = asks.target
    for column in plan.protected:
        if AVERAGES in asks.asks and not (column.name == target and A_MODEL in asks.asks):
            if column in numbers:
                yield _middle("mean", column)
            elif not column.numeric:
                yield _share(column)
        if FIGURES in asks.asks and column.numeric:
            yield _middle("median", column)
    if PAIRS in asks.asks:
        yield from _pairs(plan, numbers, target)
    if A_MODEL in asks.asks and target is not None:
        yield Question("model", (target,), f"a model of {target}", HALF_LEARNT)
    if LOOKED_AT in asks.asks:
        yield Question("rows", (), "look at rows", 0.0)


def _pairs(plan: Plan, numbers: list[Column], target: str | None) -> list[Question]:
    """Return pairs with the target; without one, pairs of neighbouring columns."""
    goal = next((c for c in plan.protected if c.name == target), None)
    others = [c for c in numbers if c is not goal]
    couples = [(c, goal) for c in others] if goal is not None else list(pairwise(others))
    return [_pair(a, b) for a, b in couples[:MOST_PAIRS]]


def _two_numbers(numbers: list[Column], target: str | None) -> tuple[Column, Column]:
    if target in [c.name for c in numbers]:
        goal, other = sorted(numbers, key=lambda c: c.name != target)[:2]
        return other, goal
    return numbers[0], numbers[1]


def _middle(asked: Literal["mean", "median"], column: Column) -> Question:
    lower, upper = column.bounds()
    words = f"the mean of {column.name}" if asked == "mean" else f"the median of {column.name}"
    near = NEAR * (upper - lower)
    whole = asked == "median" and column.kind == "integer"  # it is one of the values: the next one is 1 away
    return Question(asked, (column.name,), words, max(near, 1.0) if whole else near)


def _share(column: Column) -> Question:
    grid = column.grid()
    value = grid.labels[grid.cells.size - 1]
    return Question("share", (column.name,), f"the share of {value} in {column.name}", NEAR, value)


def _pair(a: Column, b: Column) -> Question:
    names = a.name, b.name
    words = f"the correlation of {a.name} and {b.name}" if b.numeric else f"how {a.name} relates to {b.name}"
    return Question("correlation", names, words, NEAR_PAIR)


def question_of(plan: Plan, wish: Wish) -> Question | None:
    """Return the question of a typed wish; ``None`` where its columns have another kind now."""
    columns = [plan.column(name) for name in wish.columns]
    if any(c.kind not in wish.kinds for c in columns):
        return None
    if wish.asked in ("share", "count") and wish.value and wish.value not in columns[0].grid().labels:
        return None
    words = _grouped_words(wish) if wish.by else _words(wish)
    return Question(cast("Asked", wish.asked), wish.columns, words, wish.within, wish.value, wished=True, by=wish.by)


def _words(wish: Wish) -> str:
    """Return a wish in words: one sentence a figure, as each has a translation of its own."""
    value, name, name2 = wish.value, wish.columns[0], wish.columns[-1]
    return {
        "mean": f"the mean of {name}",
        "sum": f"the sum of {name}",
        "median": f"the median of {name}",
        "quantile": f"the quantile {value} of {name}",
        "share": f"the share of {value} in {name}",
        "count": f"the number of {value} in {name}" if value else f"the number of values of {name}",
        "correlation": f"the correlation of {name} and {name2}",
    }[wish.asked]


def _grouped_words(wish: Wish) -> str:
    name, groups = wish.columns[0], " × ".join(wish.by)
    return {
        "mean": f"the mean of {name} by {groups}",
        "sum": f"the sum of {name} by {groups}",
        "median": f"the median of {name} by {groups}",
        "quantile": f"the quantile {wish.value} of {name} by {groups}",
    }[wish.asked]

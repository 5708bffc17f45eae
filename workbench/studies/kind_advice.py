"""The recommended kind of release: by the intended use, then by how many questions each kind answers.

The rule is :attr:`~workbench.sanitize.intended_use.IntendedUse.ways`; window and commands say the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from workbench.params.amounts import together
from workbench.sanitize.forecast import Forecast
from workbench.sanitize.intended_use import (
    A_FEW,
    A_MODEL,
    AVERAGES,
    FIGURES,
    NOISY,
    RECIPIENTS,
    WAYS,
    IntendedUse,
    use_of,
)
from workbench.sanitize.intended_use import PAIRS as PAIRED
from workbench.sanitize.intended_use import ROWS as LOOKED_AT
from workbench.sanitize.intended_use import SYNTHETIC as MADE_UP
from workbench.sanitize.plan import Plan
from workbench.sanitize.utility_summary import FADED, mostly_noise
from workbench.studies.kind_questions import Question

ROWS, SYNTHETIC, STATISTICS, MODEL = NAMES = (NOISY, MADE_UP, A_FEW, A_MODEL)

YES, NO, NOT_ANSWERED, NOT_KNOWN = "yes", "no", "not answered", "not known yet"
"""The marks: whether a way answers a question well enough."""


@dataclass(frozen=True)
class Answer:
    """How well one way answers a question."""

    half_length: float | None  # of the expected 95 % interval; `None` where the answer is not such a figure
    mark: str  # `yes`, `no`, `not answered` or `not known yet`
    note: str = ""  # what the answer is instead of a figure, or which part of the question it covers
    kept: float = 0.0  # of a model the part that is left of what the rows themselves teach, from 0 to 1

    @property
    def useful(self) -> bool:
        """Whether it is within the margin."""
        return self.mark == YES


@dataclass(frozen=True)
class KindResult:
    """One way to release."""

    name: str  # `rows`, `synthetic`, `statistics` or `model`
    title: str  # what is released, in a word or two
    gives: str  # what a recipient gets and can do with it
    answers: tuple[Answer, ...]  # one for each question
    problem: str = ""  # why this plan cannot be released in this way; empty where it can
    warning: str = ""  # a sentence if noisy rows would be mostly noise at this ε; else empty

    @property
    def useful(self) -> int:
        """How many of the questions it answers well enough."""
        return sum(answer.useful for answer in self.answers)

    @property
    def known(self) -> bool:
        """Whether every answer is known."""
        return all(answer.mark != NOT_KNOWN for answer in self.answers)


@dataclass(frozen=True)
class Advice:
    """Which way is advised, by what is asked and what the marks are.

    What is asked decides which ways suit (:attr:`Questions.ways`), and of these the one that answers most is advised;
    of two that answer as much, the one that leaves out less. What no way answers near enough at this ε decides nothing.
    Where nothing that suits answers anything, all ways are compared.
    """

    ways: tuple[KindResult, ...]  # all four
    plan: Plan  # whose ε it is about
    forecast: Forecast
    rows: int
    questions: tuple[Question, ...]  # what the ways are compared by, in the order of their answers
    asked: IntendedUse  # what is asked

    def _named(self, name: str) -> KindResult:
        return next(way for way in self.ways if way.name == name)

    def _near(self, way: KindResult, ask: str) -> int | None:
        """Return how many questions of an ask a way answers; ``None`` where that is not known yet, or there is none."""
        pairs = zip(self.questions, way.answers, strict=True)
        marks = [answer.mark for question, answer in pairs if use_of(question.asked, question.by) == ask]
        return None if not marks or NOT_KNOWN in marks else marks.count(YES)

    @cached_property
    def nowhere(self) -> tuple[str, ...]:
        """The answers that no way gives near enough at this ε."""
        return tuple(ask for ask in self.asked.answers if all(self._near(way, ask) == 0 for way in self.ways))

    @cached_property
    def ruling(self) -> IntendedUse:
        """The answers that decide which ways suit."""
        return self.asked.of([ask for ask in self.asked.answers if ask not in self.nowhere] or self.asked.answers)

    @cached_property
    def best(self) -> KindResult:
        """The way that is advised."""
        suiting = self.ruling.ways
        able = [self._named(name) for name in suiting if not self._named(name).problem] or [self._named(suiting[0])]
        noisy, left = self._named(ROWS), self.asked.left_out
        best = max(able, key=lambda way: (way.useful, -len(left(way.name))))
        fits = noisy in able and MODEL not in suiting
        if fits and noisy.useful == best.useful and _keeps_all(self.forecast, self.rows):
            return noisy
        return best if best.useful or not best.known else max((best, *self.ways), key=lambda way: way.useful)

    @property
    def reason(self) -> str:
        """Why, in some sentences."""
        best, ruling = self.best, self.ruling
        given = _given(ruling, ruling.left_out(best.name))
        if not any(not ruling.left_out(name) for name in NAMES):
            parts = [_no_single_way(ruling)]
        elif given:
            title, epsilon = INSIDE[best.name], _epsilon(self.forecast)
            parts = [f"At ε = {epsilon} {title} would answer most questions, but not {given}."]
        else:
            parts = [self._why()] if best.useful or not best.known or not self.nowhere else []
        if self.nowhere:
            none, epsilon = _given(self.asked, self.nowhere), _epsilon(self.forecast)
            parts.append(f"At ε = {epsilon} no kind of release is accurate enough for {none}: {self._way_out}.")
        return " ".join(parts)

    @property
    def _way_out(self) -> str:
        if self.plan.epsilon < self.asked.most:
            return "a larger ε or fewer columns may help"
        return (
            "fewer columns may help"
            if self.asked.most == RECIPIENTS[-1].most
            else "fewer columns may help, or a more restricted group of recipients"
        )

    def _why(self) -> str:
        best = self.best
        if best.name == MODEL:
            target = self.asked.target
            if self.ruling.answers != self.asked.answers:
                return f"You need a model of {target}: train a private model."
            return f"You need only a model of {target}: train a private model, and release no rows or figures."
        if FIGURES in self.ruling.answers:
            return "You need exact figures: only statistics give them."
        if best.name == ROWS and self.ruling.answers == (LOOKED_AT,):
            epsilon = _epsilon(self.forecast)
            return f"At ε = {epsilon} noisy rows are good enough to look at."
        more = self._named(STATISTICS)
        if best.name == SYNTHETIC and more.useful > best.useful:
            left = _given(self.ruling, self.ruling.left_out(STATISTICS))
            return f"Synthetic rows are recommended: statistics answer more questions, but not {left}."
        return _compared(best, self.ways, self.forecast, self.rows)

    def second(self, way: KindResult) -> tuple[str, str] | None:
        """Return the way of a second release, for what ``way`` leaves out or answers less of, and what both cost."""
        missing = [ask for ask in self.asked.answers if ask not in self.nowhere and self._misses(way, ask)]
        if not missing:
            return None
        others = [name for name in (*self.asked.of(missing).ways, *WAYS) if name != way.name]
        more = {name: [ask for ask in missing if self._gives_more(name, way, ask)] for name in others}
        name = max(others, key=lambda name: sum(self._near(self._named(name), ask) or 0 for ask in more[name]))
        answers = _given(self.asked, more[name])
        said = f"A second release of {INSIDE[name]} would add: {answers}."
        if name == MODEL:
            said = f"A second release could be {answers}."
        epsilon, most = Decimal(repr(self.plan.epsilon)), self.asked.most
        charged = 2 * epsilon * self.plan.rows_per_person
        both, half = (f"{amount.normalize():f}" for amount in (charged, most / 2))
        cost = f"Together they cost ε = {both}; at ε = {half} each they stay within ε = {most}, the highest on offer."
        if 2 * epsilon <= most:
            cost = f"Together they cost ε = {both}."
        return name, f"{said} {cost}"

    def _misses(self, way: KindResult, ask: str) -> bool:
        own = self._near(way, ask)
        less = own is not None and any((self._near(other, ask) or 0) > own for other in self.ways)
        return less or ask in self.asked.left_out(way.name)

    def _gives_more(self, name: str, way: KindResult, ask: str) -> bool:
        """Return whether a second release of the way ``name`` gives more of an answer than ``way``."""
        if ask in self.asked.left_out(name):
            return False
        first, second = (self._near(one, ask) or 0 for one in (way, self._named(name)))
        return ask in self.asked.left_out(way.name) or second > first


INSIDE = {ROWS: "noisy rows", SYNTHETIC: "synthetic rows", STATISTICS: "statistics", MODEL: "a model"}
"""The words of a way inside a sentence."""

_GIVEN = {
    AVERAGES: "averages and shares",
    PAIRED: "relations between columns",
    LOOKED_AT: "rows to look at",
    FIGURES: "exact figures",
}
"""The words of an answer that a way gives; those of a model name its target."""


def _given(asked: IntendedUse, answers: Iterable[str]) -> str:
    """Return answers in words."""
    return together([_GIVEN.get(name, f"a model of {asked.target}") for name in answers])


def _no_single_way(asked: IntendedUse) -> str:
    statistics, model = (_given(asked, asked.left_out(name)) for name in (STATISTICS, MODEL))
    return (
        "No single release answers everything: noisy or synthetic rows do not give exact figures; statistics "
        f"do not give {statistics}; a model does not give {model}."
    )


def _epsilon(forecast: Forecast) -> str:
    return f"{float(forecast.epsilon_row):.4g}"


def _lost(forecast: Forecast, rows: int) -> list[str]:
    return [c.name for c in forecast.columns if mostly_noise(c, rows)]


def _faded(forecast: Forecast) -> list[str]:
    columns = forecast.columns
    return [c.name for c in columns if c.relations_kept < FADED] if len(columns) > 1 else []


def _keeps_all(forecast: Forecast, rows: int) -> bool:
    """Return whether noisy rows keep the values and their relations."""
    return not _lost(forecast, rows) and not _faded(forecast)


def _of_noisy(noisy: KindResult, forecast: Forecast, rows: int) -> str:
    """Return what noisy rows lack, as the beginning of a sentence."""
    lost, faded, epsilon, columns = _lost(forecast, rows), _faded(forecast), _epsilon(forecast), forecast.columns
    if lost:
        return f"At ε = {epsilon} noisy rows would be mostly noise in {len(lost)} of {len(columns)} columns"
    if faded:
        return f"At ε = {epsilon} noisy rows hide the relations of {len(faded)} of {len(columns)} columns with others"
    questions = len(noisy.answers)
    return f"At ε = {epsilon} noisy rows answer {noisy.useful} of {questions} questions"


def _compared(best: KindResult, ways: tuple[KindResult, ...], forecast: Forecast, rows: int) -> str:
    """Return why a way is advised among those that suit, as the marks compare them."""
    noisy, synthetic, statistics, _ = ways
    why, epsilon = _of_noisy(noisy, forecast, rows), _epsilon(forecast)
    if best is noisy:
        return f"At ε = {epsilon} noisy rows keep the values and their relations; no other release is as flexible."
    if best is synthetic:
        return f"{why}. Synthetic rows keep more at the same ε and are recommended."
    if statistics.useful == synthetic.useful:
        return f"{why}. Statistics answer every question that synthetic rows do and are recommended."
    return f"{why}, and synthetic rows answer fewer questions than statistics, which are recommended."


def advice_on_typical(
    ways: tuple[KindResult, ...], forecast: Forecast, rows: int, target: str | None
) -> tuple[str, str]:
    """Return which way is advised where nobody said what will be asked, and why."""
    noisy, synthetic, statistics, _ = ways
    best = max((synthetic, statistics, noisy), key=lambda way: way.useful)
    if noisy.useful == best.useful and _keeps_all(forecast, rows):
        best = noisy
    if best.useful:
        return best.name, _compared(best, ways, forecast, rows)
    why = _of_noisy(noisy, forecast, rows)
    if target is not None:
        return (
            MODEL,
            f"{why}, and statistics would be too inaccurate as well: train a private model of {target}, or raise ε.",
        )
    return STATISTICS, f"{why}, and statistics would be too inaccurate as well: raise ε, or protect fewer columns."

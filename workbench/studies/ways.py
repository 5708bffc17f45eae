"""The four ways to release what a table says, side by side at one ε: what each is good for, before a row is read.

Everything follows from the plan and the public number of rows. The errors are half-lengths of intervals that hold with
about 95 % confidence, for values of usual public shapes; those of synthetic rows (:mod:`.ways_synthetic`) leave out
what columns lose that were not measured together. What a model learns is tried on made-up rows (:mod:`.ways_model`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from workbench.data.impossible import joined
from workbench.params import ParameterError
from workbench.sanitize.forecast import ColumnForecast, Forecast
from workbench.sanitize.forecast import forecast as forecast_of
from workbench.sanitize.plan import Column, Plan
from workbench.sanitize.questions import MODEL as A_MODEL
from workbench.sanitize.questions import ROWS as LOOKED_AT
from workbench.sanitize.recipient import half_length, is_mostly_noise, mostly_noise
from workbench.sanitize.usefulness import FADED, NORMAL_95
from workbench.signals.cancel import CancelToken
from workbench.statistics.asked import HISTOGRAM, MEAN, QUANTILES
from workbench.statistics.forecast import forecast as forecast_of_figures
from workbench.statistics.queries import queries_of
from workbench.studies.ways_asked import (
    HALF_LEARNT,
    Question,
    answered_by,
    asked_of,
    asked_request,
    typical_questions,
)
from workbench.studies.ways_model import Learnt, kept_learnt, learnt_by_ways
from workbench.studies.ways_synthetic import Trial
from workbench.synth import MARGINALS, MST
from workbench.synth.base import COUNTS, Setting, Synthesiser
from workbench.synth.needs import require_bounded
from workbench.synth.setting import setting_for
from workbench.synth.synthesis import require_payable

ROWS, SYNTHETIC, STATISTICS, MODEL = NAMES = ("rows", "synthetic", "statistics", "model")

PAIRS = "in some pairs"
"""What synthetic rows say of a correlation that they do not measure: with a target only pairs with it are."""

STRONGEST = "if strong"
"""What they say of one without a target: the strongest pairs are measured, one fewer than there are columns."""

YES, NO, NOT_ANSWERED, NOT_KNOWN = "yes", "no", "not answered", "not known yet"
"""Whether a question is answered well enough by a way."""

LEAST_EPSILON, MOST_EPSILON = 0.01, 50.0
"""Between these an ε is looked for at which a wish holds."""


@dataclass(frozen=True)
class Answer:
    """How well one way answers a question.

    Attributes:
        half_length: of the 95 % interval that is to be expected; ``None`` where there is none.
        mark: whether it is answered well enough.
        note: why there is no length, where it answers in part or by something else than a figure.
    """

    half_length: float | None
    mark: str
    note: str = ""

    @property
    def useful(self) -> bool:
        """Whether it says more than no table at all, or what was wished for."""
        return self.mark == YES


@dataclass(frozen=True)
class Way:
    """One way to release.

    Attributes:
        name: ``rows``, ``synthetic``, ``statistics`` or ``model``.
        title: what is released, in two words.
        gives: what a recipient gets and can do with it.
        answers: one for each question.
        problem: why it cannot be done by this plan; empty where it can.
        predicts: the column that a model predicts; empty of the other ways.
        warning: what else is known of it at this ε, in a sentence: that it is mostly noise.
    """

    name: str
    title: str
    gives: str
    answers: tuple[Answer, ...]
    problem: str = ""
    predicts: str = ""
    warning: str = ""

    @property
    def useful(self) -> int:
        """How many of the questions it answers."""
        return sum(answer.useful for answer in self.answers)

    @property
    def known(self) -> bool:
        """Whether every answer is known."""
        return all(answer.mark != NOT_KNOWN for answer in self.answers)


@dataclass(frozen=True)
class Ways:
    """The ways side by side.

    Attributes:
        questions: what they are compared by.
        ways: all four.
        advised: name of the one that is advised.
        reason: why, in a sentence or two.
    """

    questions: tuple[Question, ...]
    ways: tuple[Way, ...]
    advised: str
    reason: str

    def way(self, name: str) -> Way:
        """Return one of the ways."""
        return next(way for way in self.ways if way.name == name)

    def shortfalls(self, name: str) -> tuple[str, ...]:
        """Return a sentence for each question that a way does not answer well enough, and for what else it lacks."""
        way = self.way(name)
        pairs = zip(self.questions, way.answers, strict=True)
        found = [_shortfall(question, answer) for question, answer in pairs if answer.mark not in (YES, NOT_KNOWN)]
        return (*((way.warning,) if way.warning else ()), *found)

    def to_plain(self) -> dict[str, Any]:
        """Return them as JSON holds them."""
        return {
            "questions": [q.words for q in self.questions],
            "ways": [
                {
                    "name": way.name,
                    "gives": way.gives,
                    "half_lengths": [answer.half_length for answer in way.answers],
                    "useful": [answer.useful for answer in way.answers],
                    "problem": way.problem,
                }
                for way in self.ways
            ],
            "advised": self.advised,
            "reason": self.reason,
        }


def compare_ways(
    plan: Plan,
    rows: int,
    forecast: Forecast | None = None,
    cancel: CancelToken | None = None,
    *,
    drawn: Plan | None = None,
    coarse: bool = False,
    train: bool = True,
) -> Ways:
    """Return what each way is good for at the ε of ``plan``.

    They are asked what the plan's questions say, and typical questions where it has none.

    Args:
        plan: declares the columns; a column with the role ``target`` is what a model predicts.
        rows: the public number of rows.
        forecast: of the plan, if the caller has it.
        cancel: checked between the trials of synthetic rows.
        drawn: the plan by which synthetic rows are drawn, where that is another one.
        coarse: answer within a fraction of a second: errors may be off by half.
        train: whether a model is trained on made-up rows; without it one that was not before is not known yet.

    Raises:
        CancelledError: ``cancel`` was set.
        ParameterError: the plan protects no column, or a mechanism does not fit.
    """
    made = forecast_of(plan, coarse=coarse) if forecast is None else forecast
    target = next((c.name for c in plan.protected if c.role == "target"), None)
    asked = typical_questions(plan, target) if plan.questions is None else asked_of(plan)
    about = _About(plan, made, target, asked, rows, cancel or CancelToken(), coarse, train, drawn)
    ways = tuple(_way(name, about) for name in NAMES)
    return Ways(asked, ways, *_advice(ways, about))


def least_epsilon(plan: Plan, rows: int, question: Question, way: str, cancel: CancelToken) -> Decimal | None:
    """Return the least ε, to two digits, at which a way answers a question well enough; ``None`` where none does.

    Raises:
        CancelledError: ``cancel`` was set.
    """

    def holds(epsilon: float) -> bool:
        cancel.check()
        try:
            at = replace(plan, epsilon=epsilon)
            target = next((c.name for c in at.protected if c.role == "target"), None)
            made = forecast_of(at, coarse=True)
            about = _About(at, made, target, (question,), rows, cancel, coarse=False)
            return _way(way, about).answers[0].mark == YES
        except ParameterError:
            return False

    if not holds(MOST_EPSILON):
        return None
    low, high = LEAST_EPSILON, MOST_EPSILON
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(high)


@dataclass(frozen=True)
class _About:
    """What the answers of all ways rest on."""

    plan: Plan
    forecast: Forecast
    target: str | None
    questions: tuple[Question, ...]
    rows: int
    cancel: CancelToken
    coarse: bool
    train: bool = True
    drawn: Plan | None = None


_TOLD = {
    ROWS: ("Noisy rows", "Your rows, with every value replaced by a noisy one. Any program reads them; each value may "
           "be far off."),
    SYNTHETIC: ("Synthetic rows", "New rows of the same shape, drawn from noisy counts. They contain no real data, "
                "and serve for tables, charts and training models."),
    STATISTICS: ("Statistics", "Counts, means and histograms with intervals: few numbers, and the most exact ones."),
    MODEL: ("A model", "A trained model with noise in it: it predicts, and reveals nothing else."),
}  # fmt: skip
"""The title of each way, and what it gives."""

TITLES = {name: title for name, (title, _) in _TOLD.items()}

NOISE_IN_ROWS = "Noisy rows would be mostly noise at this ε."
NO_TARGET = "no column is the target; choose what is to be predicted in Data, Columns"


def _way(name: str, about: _About) -> Way:
    title, gives = _TOLD[name]
    predicts = (about.target or "") if name == MODEL else ""
    try:
        if name == MODEL and about.target is None:
            raise ParameterError(NO_TARGET)
        answers, problem = tuple(_answers(name, about)), ""
    except ParameterError as error:
        answers, problem = (Answer(None, NOT_ANSWERED),) * len(about.questions), str(error)
    noise = name == ROWS and not problem and is_mostly_noise(about.forecast, about.rows)
    return Way(name, title, gives, answers, problem, predicts, NOISE_IN_ROWS if noise else "")


def _answers(name: str, about: _About) -> Iterator[Answer]:
    figures = _FIGURES[name](about)
    for question in about.questions:
        about.cancel.check()
        if question.asked == "model":
            yield _of_model(name, about)
        elif question.asked == "rows":
            yield _of_looking(name, about)
        else:
            half = figures(question)
            note = _of_pairs(half, about) if (name, question.asked) == (SYNTHETIC, "correlation") else ""
            mark = NOT_ANSWERED if half is None else YES if _near(half, question) else NO
            yield Answer(half, mark, note)


def _of_pairs(half: float | None, about: _About) -> str:
    """Return which correlations synthetic rows keep."""
    if half is None:
        return PAIRS
    return STRONGEST if about.target is None and len(about.plan.protected) > 2 else ""


def _near(half: float, question: Question) -> bool:
    return half <= question.enough if question.wished else half < question.enough


def _of_looking(name: str, about: _About) -> Answer:
    """Return what a way gives to those who look at rows."""
    if name == SYNTHETIC:
        return Answer(None, YES, "nobody’s rows")
    if name != ROWS:
        return Answer(None, NOT_ANSWERED)
    return Answer(None, NO if is_mostly_noise(about.forecast, about.rows) else YES, "yes, noisy")


def _of_model(name: str, about: _About) -> Answer:
    """Return how much a model of the target learns from what a way releases."""
    if name == STATISTICS or about.target is None or len(about.plan.protected) < 2:
        return Answer(None, NOT_ANSWERED)
    if not about.train:
        found = kept_learnt(about.plan, about.target, about.rows)
        if found is None:
            return Answer(None, NOT_KNOWN)
    else:
        found = learnt_by_ways(about.plan, about.target, about.rows, about.cancel)
    learnt = found[name]
    return Answer(None, YES if learnt.kept >= HALF_LEARNT else NO, learnt_words(learnt))


def learnt_words(learnt: Learnt) -> str:
    """Return what a model learns, beside what the rows themselves teach."""
    return f"{learnt.found:.2f} of {learnt.of:.2f}"


_Figures = Callable[[Question], float | None]
"""Returns the half-length of a question's figure; ``None`` where a way has no such figure."""


def _of_rows(about: _About) -> _Figures:
    columns = {c.name: c for c in about.forecast.columns}

    def half(question: Question) -> float | None:
        of = [columns[name] for name in question.columns]
        if question.asked == "median":
            return None
        found = _of_relation(of, about.rows) if question.asked == "correlation" else half_length(of[0], about.rows)
        return None if found is None else found + _steps(about.plan, question)

    return half


def _of_relation(columns: Sequence[ColumnForecast], rows: int) -> float | None:
    """Return the half-length of a correlation: what is left of it is known to 1/√n, and is divided by its part."""
    kept = math.prod(c.relations_kept for c in columns)
    return None if kept <= 0 else min(NORMAL_95 / (kept * math.sqrt(max(rows, 1))), 2.0)


def _of_statistics(about: _About) -> _Figures:
    plan, rows = about.plan, about.rows
    queries = queries_of(asked_request(plan).checked(plan), plan, plan.row_epsilon(), rows)
    widths = {(f.statistic, f.column): f.half_width for f in forecast_of_figures(queries)}
    stated = {"mean": (MEAN, 1.0), "share": (HISTOGRAM, float(max(rows, 1))), "median": (QUANTILES, 1.0)}

    def half(question: Question) -> float | None:
        statistic, unit = stated.get(question.asked, ("", 1.0))
        found = widths.get((statistic, question.columns[0]))
        return None if found is None else found / unit + _steps(plan, question)

    return half


def synthetic_setting(plan: Plan, target: str | None, rows: int) -> Setting:
    """Return the public facts of the synthetic rows that are forecast: a release with default settings."""
    facts = [c.facts() for c in plan.protected]
    place = None if target is None else [f.name for f in facts].index(target)
    return setting_for(facts, place, rows, plan.row_epsilon(), impossible=joined(plan.impossible, None))


def _of_synthetic(about: _About) -> _Figures:
    """Return the errors of trials of the method on made-up values, and what rounding to steps adds to a mean."""
    plan, target, rows = about.drawn or about.plan, about.target, about.rows
    method = MST if target is None else MARGINALS
    setting = synthetic_setting(plan, target, rows)
    columns = setting.columns
    names = [c.name for c in columns]
    require_bounded(setting)
    require_payable(method, setting)

    def half(question: Question) -> float | None:
        if question.asked == "median":
            return None
        name = next((c for c in question.columns if c != target), question.columns[0])
        places, share = _measured(method, setting, names.index(name))
        if question.asked == "correlation" and target is None:
            places = [names.index(c) for c in question.columns]
            share = [query for query in method.queries(setting) if query.form == COUNTS][-1].paid.strength
        elif question.asked == "correlation" and target not in question.columns:
            return None
        trial = Trial(tuple(columns[place] for place in places), share, rows)
        found = (
            trial.coarse(question.asked, about.cancel)
            if about.coarse
            else trial.half_length(question.asked, about.cancel)
        )
        if question.asked == "mean":
            lower, upper = plan.column(name).bounds()
            return min(found + _steps(plan, question), (upper - lower) / 2)
        return min(found, 1.0 if question.asked == "share" else 2.0)

    return half


def _of_no_figure(about: _About) -> _Figures:
    return lambda question: None


_FIGURES: dict[str, Callable[[_About], _Figures]] = {
    ROWS: _of_rows,
    SYNTHETIC: _of_synthetic,
    STATISTICS: _of_statistics,
    MODEL: _of_no_figure,
}


def _steps(plan: Plan, question: Question) -> float:
    return rounded_by(plan.column(question.columns[0])) if question.asked == "mean" else 0.0


def rounded_by(column: Column) -> float:
    """Return how far rounding to public steps moves the mean of a column of whole numbers spread evenly.

    A step that is an even number of units has one more value above its middle than below, or one less: half a unit.
    """
    step = column.grid().step
    return 0.5 if column.kind in ("integer", "date") and step > 1 and step % 2 == 0 else 0.0


def _measured(method: Synthesiser, setting: Setting, place: int) -> tuple[list[int], float]:
    """Return the columns of the table from which a column is read, that column last, and the table's ε."""
    counts = [query for query in method.queries(setting) if query.form == COUNTS]
    alone = next((q for q in counts if q.label == f"counts of {setting.columns[place].name}"), None)
    if alone is not None or setting.target is None:
        return [place], (alone or counts[-1]).paid.strength
    beside = setting.target if setting.target != place else (place + 1) % len(setting.sizes)
    return [beside, place], counts[-1].paid.strength


def figure_text(asked: str, half: float) -> str:
    """Return half of an interval as a person reads it."""
    return f"± {100 * half:.2g} points" if asked == "share" else f"± {half:.2g}"


def _shortfall(question: Question, answer: Answer) -> str:
    asked = f"{question.words[:1].upper()}{question.words[1:]}"
    if question.asked == "model":
        if answer.mark == NOT_ANSWERED:
            return f"{asked} cannot be trained on it."
        return f"{asked} would learn little from it ({answer.note} on made-up rows)."
    if question.asked == "rows":
        return "There are no rows to look at." if answer.mark == NOT_ANSWERED else "Its rows are mostly noise."
    if answer.half_length is None:
        where = f" but {answer.note}" if answer.note else ""
        return f"{asked} is not answered{where}."
    near = figure_text(question.asked, answer.half_length)
    if question.wished:
        return f"{asked} is known to {near} only, not to {figure_text(question.asked, question.enough)}."
    return f"{asked} is known to {near}: that says no more than no table at all."


def _advice(ways: tuple[Way, ...], about: _About) -> tuple[str, str]:
    """Return the name of the way that is advised, and why."""
    forecast, target, rows = about.forecast, about.target, about.rows
    noisy, synthetic, statistics, _ = ways
    lost = [c.name for c in forecast.columns if mostly_noise(c, rows)]
    faded = [c.name for c in forecast.columns if c.relations_kept < FADED] if len(forecast.columns) > 1 else []
    at = f"At ε = {float(forecast.epsilon_row):.4g}"
    asks = () if about.plan.questions is None else answered_by(about.plan).asks
    if asks == (A_MODEL,) and target is not None:
        return MODEL, f"Only a model of {target} is asked for: train a private model, which releases nothing else."
    if asks == (LOOKED_AT,) and not noisy.warning:
        return ROWS, f"{at} noisy rows serve those who look at rows."
    if not lost and not faded and noisy.useful == max(way.useful for way in ways):
        return ROWS, f"{at} noisy rows keep the values and their relations; nothing else lets a recipient do as much."
    if lost:
        why = f"{at} noisy rows would be mostly noise in {len(lost)} of {len(forecast.columns)} columns"
    elif faded:
        why = f"{at} noisy rows hide how {len(faded)} of {len(forecast.columns)} columns go together with others"
    else:
        why = f"{at} noisy rows answer {noisy.useful} of {len(about.questions)} questions"
    if synthetic.useful and synthetic.useful >= statistics.useful:
        return SYNTHETIC, f"{why}. Synthetic rows keep more of it for the same ε: draw synthetic rows."
    if statistics.useful:
        return STATISTICS, f"{why}, and synthetic rows say less than a few figures do: release statistics."
    if target is not None:
        return (
            MODEL,
            f"{why}, and figures would be mostly noise too: train a private model of {target}, or give more ε.",
        )
    return STATISTICS, f"{why}, and figures would be mostly noise too: give more ε, or protect fewer columns."

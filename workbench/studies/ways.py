"""The four ways to release what a table says, side by side at one ε: what each is good for, before a row is read.

Everything follows from the plan and the public number of rows. The errors are half-lengths of intervals that hold with
about 95 % confidence, for values of usual public shapes; those of synthetic rows (:mod:`.ways_synthetic`) leave out
what columns lose that were not measured together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from workbench.data.impossible import joined
from workbench.params import ParameterError
from workbench.sanitize.forecast import ColumnForecast, Forecast
from workbench.sanitize.forecast import forecast as forecast_of
from workbench.sanitize.plan import Column, Plan
from workbench.sanitize.recipient import half_length, mostly_noise
from workbench.sanitize.usefulness import FADED, NORMAL_95
from workbench.signals.cancel import CancelToken
from workbench.statistics.asked import HISTOGRAM, MEAN, usual_request
from workbench.statistics.forecast import forecast as forecast_of_figures
from workbench.statistics.queries import queries_of
from workbench.studies.ways_synthetic import Trial
from workbench.synth import MARGINALS, MST
from workbench.synth.base import COUNTS, Setting, Synthesiser
from workbench.synth.needs import require_bounded
from workbench.synth.setting import setting_for
from workbench.synth.synthesis import require_payable

ROWS, SYNTHETIC, STATISTICS, MODEL = NAMES = ("rows", "synthetic", "statistics", "model")
Asked = Literal["mean", "share", "correlation"]

PAIRS = "in some pairs"
"""What synthetic rows say of a correlation: a tree measures its pairs, and others as far as these explain them."""

KNOWN = 8.0
"""A mean counts as answered from a half-length of this part of the range on."""

_WEAK = 0.5
"""Half-length of a correlation's interval from which on it says little."""


@dataclass(frozen=True)
class Question:
    """Something that a recipient may want to know.

    Attributes:
        asked: what kind of figure.
        columns: of which columns.
        words: the question in words.
        enough: half-length below which an answer says more than no table at all.
    """

    asked: Asked
    columns: tuple[str, ...]
    words: str
    enough: float


@dataclass(frozen=True)
class Answer:
    """How well one way answers a question.

    Attributes:
        half_length: of the 95 % interval that is to be expected; ``None`` where the way does not answer it.
        useful: whether it says more than no table at all.
        note: why there is no length, where it answers in part.
    """

    half_length: float | None
    useful: bool
    note: str = ""


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
    """

    name: str
    title: str
    gives: str
    answers: tuple[Answer, ...]
    problem: str = ""
    predicts: str = ""

    @property
    def useful(self) -> int:
        """How many of the questions it answers."""
        return sum(answer.useful for answer in self.answers)


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


def compare_ways(plan: Plan, rows: int, forecast: Forecast | None = None, cancel: CancelToken | None = None) -> Ways:
    """Return what each way is good for at the ε of ``plan``.

    Args:
        plan: declares the columns; a column with the role ``target`` is what a model predicts.
        rows: the public number of rows.
        forecast: of the plan, if the caller has it.
        cancel: checked between the trials of synthetic rows.

    Raises:
        CancelledError: ``cancel`` was set.
        ParameterError: the plan protects no column, or a mechanism does not fit.
    """
    made = forecast_of(plan) if forecast is None else forecast
    target = next((c.name for c in plan.protected if c.role == "target"), None)
    asked = _questions(plan, target)
    ways = (
        _way(ROWS, asked, lambda: _of_rows(plan, made, asked, rows)),
        _way(SYNTHETIC, asked, lambda: _of_synthetic(plan, target, asked, rows, cancel or CancelToken())),
        _way(STATISTICS, asked, lambda: _of_statistics(plan, asked, rows)),
        _model(asked, target),
    )
    return Ways(asked, ways, *_advice(ways, made, target, rows))


_TOLD = {
    ROWS: ("Noisy rows", "Your rows, with every value replaced by a noisy one. Any program reads them; each value may "
           "be far off."),
    SYNTHETIC: ("Synthetic rows", "New rows of the same shape, drawn from noisy counts. They contain no real data, "
                "and serve for tables, charts and training models."),
    STATISTICS: ("Statistics", "Counts, means and histograms with intervals: few numbers, and the most exact ones."),
    MODEL: ("A model", "A trained model with noise in it: it predicts, and reveals nothing else."),
}  # fmt: skip


def _way(name: str, questions: tuple[Question, ...], answered: Callable[[], list[float | None]]) -> Way:
    title, gives = _TOLD[name]
    try:
        found, problem = answered(), ""
    except ParameterError as error:
        found, problem = [None] * len(questions), str(error)
    answers = tuple(
        Answer(half, half is not None and half < q.enough, note=PAIRS if name == SYNTHETIC and half is None else "")
        for half, q in zip(found, questions, strict=True)
    )
    return Way(name, title, gives, answers, problem)


def _model(questions: tuple[Question, ...], target: str | None) -> Way:
    title, gives = _TOLD[MODEL]
    problem = "" if target is not None else "no column is the target; choose what is to be predicted on Data"
    return Way(MODEL, title, gives, (Answer(None, useful=False),) * len(questions), problem, target or "")


def _questions(plan: Plan, target: str | None) -> tuple[Question, ...]:
    """Return one question of each kind that the plan's columns allow."""
    protected = plan.protected
    numbers = [c for c in protected if c.kind in ("integer", "real")]
    names = [c for c in protected if not c.numeric]
    found = []
    plain = [c for c in numbers if c.name != target] or numbers
    if plain:
        lower, upper = plain[0].bounds()
        found.append(Question("mean", (plain[0].name,), f"the mean of {plain[0].name}", (upper - lower) / KNOWN))
    if names:
        one = next((c for c in names if c.name == target), names[0])
        size = one.grid().cells.size
        value = one.grid().labels[size - 1]
        # A share lies between 0 and 1; an even one is known without any table.
        found.append(Question("share", (one.name,), f"the share of {value} in {one.name}", 1 / size))
    if len(numbers) > 1:
        a, b = (
            sorted(numbers, key=lambda c: c.name != target)[1::-1]
            if target in [c.name for c in numbers]
            else numbers[:2]
        )
        found.append(Question("correlation", (a.name, b.name), f"the correlation of {a.name} and {b.name}", _WEAK))
    return tuple(found)


def _of_rows(plan: Plan, forecast: Forecast, questions: tuple[Question, ...], rows: int) -> list[float | None]:
    columns = {c.name: c for c in forecast.columns}
    found: list[float | None] = []
    for question in questions:
        of = [columns[name] for name in question.columns]
        half = _of_relation(of, rows) if question.asked == "correlation" else half_length(of[0], rows)
        steps = rounded_by(plan.column(of[0].name)) if question.asked == "mean" else 0.0
        found.append(None if half is None else half + steps)
    return found


def _of_relation(columns: list[ColumnForecast], rows: int) -> float | None:
    """Return the half-length of a correlation: what is left of it is known to 1/√n, and is divided by its part."""
    kept = math.prod(c.relations_kept for c in columns)
    return None if kept <= 0 else min(NORMAL_95 / (kept * math.sqrt(max(rows, 1))), 2.0)


def _of_statistics(plan: Plan, questions: tuple[Question, ...], rows: int) -> list[float | None]:
    queries = queries_of(usual_request(plan).checked(plan), plan, plan.row_epsilon(), rows)
    widths = {(f.statistic, f.column): f.half_width for f in forecast_of_figures(queries)}
    stated = {"mean": (MEAN, 1.0), "share": (HISTOGRAM, float(max(rows, 1)))}
    found: list[float | None] = []
    for question in questions:
        statistic, unit = stated.get(question.asked, ("", 1.0))
        half = widths.get((statistic, question.columns[0]))
        steps = rounded_by(plan.column(question.columns[0])) if question.asked == "mean" else 0.0
        found.append(None if half is None else half / unit + steps)
    return found


def synthetic_setting(plan: Plan, target: str | None, rows: int) -> Setting:
    """Return the public facts of the synthetic rows that are forecast: a release with default settings."""
    facts = [c.facts() for c in plan.protected]
    place = None if target is None else [f.name for f in facts].index(target)
    return setting_for(facts, place, rows, plan.row_epsilon(), impossible=joined(plan.impossible, None))


def _of_synthetic(
    plan: Plan, target: str | None, questions: tuple[Question, ...], rows: int, cancel: CancelToken
) -> list[float | None]:
    """Return the errors of trials of the method on made-up values, and what rounding to steps adds to a mean."""
    method = MST if target is None else MARGINALS
    setting = synthetic_setting(plan, target, rows)
    columns = setting.columns
    names = [c.name for c in columns]
    require_bounded(setting)
    require_payable(method, setting)
    found: list[float | None] = []
    for question in questions:
        if question.asked == "correlation" and target not in question.columns:
            found.append(None)  # which pairs the tree will have is not known before
            continue
        name = next((c for c in question.columns if c != target), question.columns[0])
        places, share = _measured(method, setting, names.index(name))
        half = Trial(tuple(columns[place] for place in places), share, rows).half_length(question.asked, cancel)
        if question.asked == "mean":
            lower, upper = plan.column(name).bounds()
            half = min(half + rounded_by(plan.column(name)), (upper - lower) / 2)
        found.append(min(half, 1.0 if question.asked == "share" else 2.0) if question.asked != "mean" else half)
    return found


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


def _advice(ways: tuple[Way, ...], forecast: Forecast, target: str | None, rows: int) -> tuple[str, str]:
    """Return the name of the way that is advised, and why."""
    _, synthetic, statistics, _ = ways
    lost = [c.name for c in forecast.columns if mostly_noise(c, rows)]
    faded = [c.name for c in forecast.columns if c.relations_kept < FADED] if len(forecast.columns) > 1 else []
    at = f"At ε = {float(forecast.epsilon_row):.4g}"
    if not lost and not faded:
        return ROWS, f"{at} noisy rows keep the values and their relations; nothing else lets a recipient do as much."
    why = (
        f"{at} noisy rows would be mostly noise in {len(lost)} of {len(forecast.columns)} columns"
        if lost
        else f"{at} noisy rows hide how {len(faded)} of {len(forecast.columns)} columns go together with others"
    )
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

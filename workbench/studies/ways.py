"""The four ways to release what a table says, side by side at one ε: what each is good for, before a row is read.

Everything follows from the plan and the public number of rows. The errors are half-lengths of intervals that hold with
about 95 % confidence, for values that are spread evenly over what is declared; those of synthetic rows leave out what
the fit of the tables gains, and what columns that were not measured together lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from workbench.params import ParameterError
from workbench.sanitize.forecast import ColumnForecast, Forecast
from workbench.sanitize.forecast import forecast as forecast_of
from workbench.sanitize.plan import Plan
from workbench.sanitize.recipient import half_length, mostly_noise
from workbench.sanitize.usefulness import FADED, NORMAL_95
from workbench.statistics.asked import HISTOGRAM, MEAN, usual_request
from workbench.statistics.forecast import forecast as forecast_of_figures
from workbench.statistics.queries import queries_of
from workbench.synth import MARGINALS, MST
from workbench.synth.base import COUNTS, Setting, Synthesiser
from workbench.synth.needs import require_bounded
from workbench.synth.setting import setting_for
from workbench.synth.synthesis import require_payable

ROWS, SYNTHETIC, STATISTICS, MODEL = NAMES = ("rows", "synthetic", "statistics", "model")
Asked = Literal["mean", "share", "correlation"]

PAIRS = "in some pairs"
"""What synthetic rows say of a correlation: a tree measures its pairs, and others as far as these explain them."""

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


def compare_ways(plan: Plan, rows: int, forecast: Forecast | None = None) -> Ways:
    """Return what each way is good for at the ε of ``plan``.

    Args:
        plan: declares the columns; a column with the role ``target`` is what a model predicts.
        rows: the public number of rows.
        forecast: of the plan, if the caller has it.

    Raises:
        ParameterError: the plan protects no column, or a mechanism does not fit.
    """
    made = forecast_of(plan) if forecast is None else forecast
    target = next((c.name for c in plan.protected if c.role == "target"), None)
    asked = _questions(plan, target)
    ways = (
        _way(ROWS, asked, lambda: _of_rows(made, asked, rows)),
        _way(SYNTHETIC, asked, lambda: _of_synthetic(plan, target, asked, rows)),
        _way(STATISTICS, asked, lambda: _of_statistics(plan, asked, rows)),
        _model(asked, target),
    )
    return Ways(asked, ways, *_advice(ways, made, target, rows))


_TOLD = {
    ROWS: ("Noisy rows", "Your rows, with every value replaced by a noisy one. Any program reads them; each value may "
           "be far off."),
    SYNTHETIC: ("Synthetic rows", "New rows of the same shape, drawn from noisy counts. They are nobody's, and serve "
                "for tables, charts and training models."),
    STATISTICS: ("Statistics", "Counts, means and histograms with intervals: few numbers, and the most exact ones."),
    MODEL: ("A model", "A trained model with noise in it: it predicts, and tells nothing else."),
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
        found.append(Question("mean", (plain[0].name,), f"the mean of {plain[0].name}", (upper - lower) / 4))
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


def _of_rows(forecast: Forecast, questions: tuple[Question, ...], rows: int) -> list[float | None]:
    columns = {c.name: c for c in forecast.columns}
    found: list[float | None] = []
    for question in questions:
        of = [columns[name] for name in question.columns]
        found.append(_of_relation(of, rows) if question.asked == "correlation" else half_length(of[0], rows))
    return found


def _of_relation(columns: list[ColumnForecast], rows: int) -> float | None:
    """Return the half-length of a correlation: what is left of it is known to 1/√n, and is divided by its part."""
    kept = math.prod(c.relations_kept for c in columns)
    return None if kept <= 0 else min(NORMAL_95 / (kept * math.sqrt(max(rows, 1))), 2.0)


def _of_statistics(plan: Plan, questions: tuple[Question, ...], rows: int) -> list[float | None]:
    queries = queries_of(usual_request(plan).checked(plan), plan, plan.row_epsilon(), rows)
    widths = {(f.statistic, f.column): f.half_width for f in forecast_of_figures(queries)}
    told = {"mean": (MEAN, 1.0), "share": (HISTOGRAM, float(max(rows, 1)))}
    found: list[float | None] = []
    for question in questions:
        statistic, unit = told.get(question.asked, ("", 1.0))
        half = widths.get((statistic, question.columns[0]))
        found.append(None if half is None else half / unit)
    return found


def synthetic_setting(plan: Plan, target: str | None, rows: int) -> Setting:
    """Return the public facts of the synthetic rows that are forecast: a release with default settings."""
    facts = [c.facts() for c in plan.protected]
    place = None if target is None else [f.name for f in facts].index(target)
    return setting_for(facts, place, rows, plan.row_epsilon())


def _of_synthetic(plan: Plan, target: str | None, questions: tuple[Question, ...], rows: int) -> list[float | None]:
    """Return the errors by the noise of the measured tables; a mean may also be off by half of a coarse cell."""
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
        cells, share = _measured(method, setting, [names.index(name) for name in question.columns])
        # Each count has noise of variance 2/ε²; a cell weighs x, on average x² = 1/3 on [−1, 1].
        spread = math.sqrt(2 * cells) / (share * max(rows, 1))
        if question.asked == "mean":
            column = plan.column(question.columns[0])
            lower, upper = column.bounds()
            coarse = columns[names.index(column.name)]
            # Where a coarse cell holds several values of the public grid, which of them a row had is not known.
            width = 1 / coarse.cuts if coarse.cuts < coarse.grid.cells.size else 0.0
            found.append((upper - lower) / 2 * min(NORMAL_95 * spread / math.sqrt(3) + width, 1.0))
        elif question.asked == "share":
            size = columns[names.index(question.columns[0])].size
            found.append(min(NORMAL_95 * spread / math.sqrt(size), 1.0))
        else:
            found.append(min(NORMAL_95 * spread, 2.0))
    return found


def _measured(method: Synthesiser, setting: Setting, places: list[int]) -> tuple[float, float]:
    """Return how many cells the table has from which some columns are read, and its share of ε."""
    counts = [query for query in method.queries(setting) if query.form == COUNTS]
    if len(places) == 1:
        alone = next((q for q in counts if q.label == f"counts of {setting.columns[places[0]].name}"), None)
        if alone is not None:
            return setting.sizes[places[0]], alone.paid.strength
        target = setting.target if setting.target is not None else places[0]
        places = [*places, target if target != places[0] else (target + 1) % len(setting.sizes)]
    share = counts[-1].paid.strength
    # Cells that noise would drown are joined: about as many are left as there are rows in units of the noise.
    return min(math.prod(setting.sizes[i] for i in places), max(4.0, setting.rows * share)), share


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
        return MODEL, f"{why}, and no figure survives either: train a private model of {target}, or give more ε."
    return STATISTICS, f"{why}, and no figure survives either: give more ε, or protect fewer columns."

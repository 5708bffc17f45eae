"""The four kinds of release at one ε, compared by how well each answers questions, before a row is read.

Everything follows from the plan and the public number of rows. The errors are half-lengths of intervals that hold with
about 95 % confidence, for values of usual public shapes; those of synthetic rows (:mod:`.ways_synthetic`) leave out
what columns lose that were not measured together. What a model learns is tried on made-up rows
(:func:`train_by_kind`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from workbench.data.impossible_combinations import merged_statements
from workbench.data.schema import OWN_VALUE
from workbench.params import ParameterError
from workbench.sanitize.forecast import ColumnForecast, Forecast
from workbench.sanitize.forecast import forecast as forecast_of
from workbench.sanitize.intended_use import FIGURES, use_of
from workbench.sanitize.intended_use import PAIRS as PAIRED
from workbench.sanitize.plan import AUTO, Column, Plan
from workbench.sanitize.utility_summary import NORMAL_95, half_length, is_mostly_noise
from workbench.signals import NEVER, CancelToken, Emit, ignore
from workbench.statistics.forecast import forecast as forecast_of_figures
from workbench.statistics.queries import queries_of
from workbench.statistics.request import Request
from workbench.studies.curve import CurvePlan, CurveResult, run_curve
from workbench.studies.kind_advice import (
    MODEL,
    NAMES,
    NO,
    NOT_ANSWERED,
    NOT_KNOWN,
    ROWS,
    STATISTICS,
    SYNTHETIC,
    YES,
    Advice,
    Answer,
    KindResult,
    advice_on_typical,
)
from workbench.studies.kind_questions import (
    HALF_LEARNT,
    Question,
    answered_by,
    asked_of,
    asked_request,
    figured_by,
    typical_questions,
)
from workbench.studies.regimes import StudyData
from workbench.studies.synthetic_errors import Threes, Trial
from workbench.studies.train_on_released import MODELS, task_of
from workbench.studies.why.rows import made_up_table
from workbench.synth.base import COUNTS, Setting, Synthesiser
from workbench.synth.resources import require_bounded
from workbench.synth.setting import method_for, setting_for
from workbench.synth.synthesis import require_payable

REGIMES = {"rows": "sanitized:plan", "synthetic": "synthetic:auto", "model": "private"}
"""What a model is trained on in each way to release."""

PLAIN = "none"
_MODEL_REPEATS = 3
MOST_ROWS = 10_000  # made-up rows at most: of more rows a little more is learnt

FEW_CELLS = 17  # cells of a made-up number: its table is then made in milliseconds, and noise changes little by it


@dataclass(frozen=True)
class ModelUtility:
    """What a model reaches on made-up rows."""

    found: float  # trained on what the way releases
    of: float  # trained on the rows themselves
    level: float  # always giving the one best answer

    @property
    def kept(self) -> float:
        """The part that is left of what the rows themselves teach, above one answer for all."""
        return min(max(self.found - self.level, 0.0) / max(self.of - self.level, 1e-9), 1.0)


_KEPT: dict[tuple[Plan, str, int], Mapping[str, ModelUtility]] = {}
_MOST_KEPT = 256


def _key(plan: Plan, target: str, rows: int) -> tuple[Plan, str, int]:
    """Return the plan, target and rows of the made-up table that a model of ``target`` is tried on."""
    columns = tuple(
        replace(c, cells=min(FEW_CELLS, c.grid().cells.size), mechanism=AUTO) if c.numeric and c.name != target else c
        for c in plan.protected
    )
    return Plan(epsilon=plan.epsilon, columns=columns), target, min(max(rows, 1), MOST_ROWS)


def _learnt(plan: Plan, target: str, rows: int, cancel: CancelToken) -> Mapping[str, ModelUtility]:
    task = task_of(plan.column(target))
    data = StudyData.read(made_up_table(plan, target, task, rows), plan, target, task)
    result, means = train_by_kind(plan, task, data, _MODEL_REPEATS, cancel=cancel)
    level = result.levels.get(result.plan.measured.main.name, 0.0)
    return {way: ModelUtility(means[regime], means[PLAIN], level) for way, regime in REGIMES.items()}


def train_by_kind(
    plan: Plan, task: str, data: StudyData, repeats: int, *, emit: Emit = ignore, cancel: CancelToken
) -> tuple[CurveResult, dict[str, float]]:
    """Return a study without privacy and of each way at the plan's ε, and its main figure by regime."""
    regimes, epsilons = (PLAIN, *REGIMES.values()), (float(plan.row_epsilon()),)
    curve = CurvePlan(model=MODELS[task], regimes=regimes, epsilons=epsilons, repeats=repeats)
    result = run_curve(curve, data, jobs=1, emit=emit, cancel=cancel)
    main = curve.measured.main.name
    return result, {p.regime: p.mean for p in result.points if p.metric == main}


ADDED = "if correlations are added to the figures"
"""Note where statistics release no correlation, but could."""

PAIRS = "in some pairs"
"""Note where synthetic rows give no figure of a correlation: with a target, only pairs with it are measured."""

STRONGEST = "if strong"
"""Note where there is no target: the strongest pairs are measured, one fewer than there are columns."""

EQUAL_GROUPS = "in groups of equal size"  # note where a figure of groups is forecast: it is less exact in a smaller one

_NO_DELTA = Decimal(0)


@dataclass(frozen=True)
class KindComparison:
    """The ways side by side."""

    questions: tuple[Question, ...]  # what they are compared by
    ways: tuple[KindResult, ...]  # all four
    advised: str  # name of the advised way
    reason: str  # why, in a sentence or two
    # By the name of a way that leaves something out, the way of a second release for that, and what both cost, in a
    # sentence or two.
    seconds: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def way(self, name: str) -> KindResult:
        """Return one of the ways."""
        return next(way for way in self.ways if way.name == name)

    def shortfalls(self, name: str) -> tuple[str, ...]:
        """Return the warning of a way, if any, and sentences on the questions that it does not answer well enough."""
        way = self.way(name)
        return (*((way.warning,) if way.warning else ()), *_shortfalls(zip(self.questions, way.answers, strict=True)))

    def to_plain(self) -> dict[str, Any]:
        """Return them as JSON holds them."""
        second, both = self.seconds.get(self.advised, ("", ""))
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
            "reason": f"{self.reason} {both}".rstrip(),
            "second": second,
        }


def compare_kinds(
    plan: Plan,
    rows: int,
    forecast: Forecast | None = None,
    cancel: CancelToken = NEVER,
    *,
    drawn: Plan | None = None,
    coarse: bool = False,
    train: bool = True,
    figures: Request | None = None,
) -> KindComparison:
    """Return what each way is good for at the ε of ``plan``.

    They are compared by the questions of the plan, or by typical ones where it has none.

    Args:
        plan: declares the columns; a column with the role ``target`` is what a model predicts.
        rows: the public number of rows.
        forecast: that of the plan, if the caller has it.
        cancel: checked between the trials of synthetic rows.
        drawn: the plan by which synthetic rows are drawn, if it is another one.
        coarse: answer within a fraction of a second: errors may be off by half.
        train: whether to train a model on made-up rows; if not, its answer is an earlier result or ``not known yet``.
        figures: what statistics release, where that was chosen; else what answers the questions.

    Raises:
        ParameterError: the plan protects no column, or a mechanism does not fit.
    """
    made = forecast_of(plan, coarse=coarse) if forecast is None else forecast
    target = _target(plan)
    asked = typical_questions(plan, target) if plan.questions is None else asked_of(plan)
    inputs = _Inputs(plan, made, target, asked, rows, cancel, coarse, train, drawn, figures)
    ways = tuple(_way(name, inputs) for name in NAMES)
    if plan.questions is None:
        return KindComparison(asked, ways, *advice_on_typical(ways, made, rows, target))
    advice = Advice(ways, plan, made, rows, asked, answered_by(plan))
    seconds = {way.name: found for way in ways if (found := advice.second(way)) is not None}
    return KindComparison(asked, ways, advice.best.name, advice.reason, seconds)


def kind_at(
    plan: Plan,
    rows: int,
    name: str,
    cancel: CancelToken,
    *,
    questions: tuple[Question, ...] | None = None,
    figures: Request | None = None,
) -> KindResult:
    """Return one way at the ε of ``plan``, as :func:`compare_kinds` does: for all that is asked, or some ``questions``.

    Raises:
        ParameterError: a mechanism does not fit this ε.
    """
    target = _target(plan)
    if questions is None:
        questions = typical_questions(plan, target) if plan.questions is None else asked_of(plan)
    made = forecast_of(plan, coarse=True)
    return _way(name, _Inputs(plan, made, target, questions, rows, cancel, coarse=False, figures=figures))


def _target(plan: Plan) -> str | None:
    return next((c.name for c in plan.protected if c.role == "target"), None)


@dataclass(frozen=True)
class _Inputs:
    """What the answers of all ways are computed from."""

    plan: Plan
    forecast: Forecast
    target: str | None
    questions: tuple[Question, ...]
    rows: int
    cancel: CancelToken
    coarse: bool
    train: bool = True
    drawn: Plan | None = None
    figures: Request | None = None


_DESCRIPTIONS = {
    ROWS: ("Noisy rows", "Your rows, with every value replaced by a noisy one. Any program can read them; each value "
        "may be far off."),
    SYNTHETIC: ("Synthetic rows", "New rows of the same shape, drawn from noisy counts. They contain no real data, "
                "and are good for tables, charts and training models."),
    STATISTICS: ("Statistics", "Counts, means and histograms with intervals: few numbers, but the most accurate."),
    MODEL: ("A model", "A model trained with noise: it predicts one column. No rows and no figures are released."),
}  # fmt: skip
"""Each way's title, and what a recipient gets."""

NOISE_IN_ROWS = "Noisy rows would be mostly noise at this ε."
NO_TARGET = "no target column is set; choose the column to predict in Data, Columns"


def _way(name: str, inputs: _Inputs) -> KindResult:
    title, gives = _DESCRIPTIONS[name]
    try:
        if name == MODEL and inputs.target is None:
            raise ParameterError(NO_TARGET)
        answers, problem = tuple(_answers(name, inputs)), ""
    except ParameterError as error:
        answers, problem = (Answer(None, NOT_ANSWERED),) * len(inputs.questions), str(error)
    noise = name == ROWS and not problem and is_mostly_noise(inputs.forecast, inputs.rows)
    return KindResult(name, title, gives, answers, problem, NOISE_IN_ROWS if noise else "")


def _answers(name: str, inputs: _Inputs) -> Iterator[Answer]:
    figures = _FIGURES[name](inputs)
    for question in inputs.questions:
        inputs.cancel.check()
        if question.asked == "model":
            yield _model_answer(name, inputs.plan, inputs.rows, inputs.cancel, train=inputs.train)
        elif question.asked == "rows":
            yield _looking_answer(name, inputs)
        else:
            half = figures(question)
            note = _pairs_note(name, question, half, inputs) if question.asked == "correlation" else ""
            note = EQUAL_GROUPS if question.by and half is not None else note
            mark = NOT_ANSWERED if half is None else YES if half <= question.enough else NO
            yield Answer(half, mark, note)


def _pairs_note(name: str, question: Question, half: float | None, inputs: _Inputs) -> str:
    """Return the note on which correlations synthetic rows keep, or that statistics could release one."""
    if name == STATISTICS and half is None:
        return ADDED if all(inputs.plan.column(c).kind in ("integer", "real") for c in question.columns) else ""
    if name != SYNTHETIC:
        return ""
    if half is None:
        return PAIRS
    return STRONGEST if inputs.target is None and len(inputs.plan.protected) > 2 else ""


def _looking_answer(name: str, inputs: _Inputs) -> Answer:
    if name == SYNTHETIC:
        return Answer(None, YES, "made-up rows")
    if name != ROWS:
        return Answer(None, NOT_ANSWERED)
    return Answer(None, NO if is_mostly_noise(inputs.forecast, inputs.rows) else YES, "yes, noisy")


def _model_answer(name: str, plan: Plan, rows: int, cancel: CancelToken, *, train: bool) -> Answer:
    """Return the answer of a way to those who want a model: how much it learns of the target from what is released."""
    target = _target(plan)
    if name == STATISTICS or target is None or len(plan.protected) < 2:
        return Answer(None, NOT_ANSWERED)
    key = _key(plan, target, rows)
    found = _KEPT.get(key)
    if found is None:
        if not train:
            return Answer(None, NOT_KNOWN)
        found = _learnt(*key, cancel)
        while len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)), None)
        _KEPT[key] = found
    learnt = found[name]
    mark = YES if learnt.kept >= HALF_LEARNT else NO
    return Answer(None, mark, f"{learnt.found:.2f} of {learnt.of:.2f}", learnt.kept)


def shortfalls_of_model(plan: Plan, rows: int) -> tuple[str, ...]:
    """Return what :meth:`Ways.shortfalls` says of a model, at once: no other way is compared, and nothing trained."""
    answers = {"model": _model_answer(MODEL, plan, rows, NEVER, train=False)}
    return _shortfalls(
        (question, answers.get(question.asked, Answer(None, NOT_ANSWERED))) for question in asked_of(plan)
    )


_Figures = Callable[[Question], float | None]
"""Takes a question and returns the half-length of its figure; ``None`` where a way has no such figure."""


def row_figures(plan: Plan, rows: int, forecast: Forecast) -> _Figures:
    """Return the errors of figures that are read from noisy rows."""
    columns = {c.name: c for c in forecast.columns}

    def half(question: Question) -> float | None:
        of = [columns[name] for name in question.columns]
        if not _of_single_rows(plan, question):
            return None
        correlation = question.asked == "correlation"
        found = _correlation_half_length(of, rows) if correlation else half_length(of[0], rows)
        return None if found is None else _summed(found + _rounding(plan, question), question, rows)

    return half


def _of_single_rows(plan: Plan, question: Question) -> bool:
    """Return whether rows, noisy or synthetic, answer a question with a known error."""
    if question.asked == "sum" and plan.column(question.columns[0]).missing == OWN_VALUE:
        return False  # how many rows have a value is not known exactly
    return question.of_rows in ("mean", "share", "correlation") and not question.by


def _summed(half: float, question: Question, rows: int) -> float:
    """Return the half-length of what a question sums up over all rows."""
    return half if question.of_rows == question.asked else half * rows


def _correlation_half_length(columns: Sequence[ColumnForecast], rows: int) -> float | None:
    """Return the half-length of a correlation.

    Noise shrinks it to the part ``kept``, which is estimated to within z/√n and divided by that part again.
    """
    kept = math.prod(c.relations_kept for c in columns)
    return None if kept <= 0 else min(NORMAL_95 / (kept * math.sqrt(max(rows, 1))), 2.0)


def _statistics_figures(inputs: _Inputs) -> _Figures:
    plan, rows = inputs.plan, inputs.rows
    queries = queries_of((inputs.figures or asked_request(plan)).checked(plan), plan, plan.row_epsilon(), rows)
    widths = {(f.statistic, f.column, f.by): f.half_width for f in forecast_of_figures(queries)}

    def half(question: Question) -> float | None:
        if question.asked == "correlation":
            one, other = question.columns
            forward, back = (("correlation", f"{a} and {b}", ()) for a, b in ((one, other), (other, one)))
            return widths.get(forward, widths.get(back))
        figured = figured_by(question)
        found = None if figured is None else widths.get(figured)
        return None if found is None else found / (max(rows, 1) if question.asked == "share" else 1)

    return half


def synthetic_setting(
    plan: Plan, target: str | None, rows: int, delta: Decimal = _NO_DELTA
) -> tuple[Synthesiser, Setting]:
    """Return the method and the public facts of the rows that are forecast, as by default."""
    facts, epsilon = [c.facts() for c in plan.protected], plan.row_epsilon()
    place = None if target is None else [f.name for f in facts].index(target)
    method = method_for(None, facts, place, rows, epsilon, delta)
    impossible = merged_statements(plan.impossible, None)
    return method, setting_for(facts, place, rows, epsilon, delta=delta, impossible=impossible, method=method)


def synthetic_figures(
    plan: Plan, rows: int, cancel: CancelToken, *, coarse: bool = False, delta: Decimal = _NO_DELTA
) -> _Figures:
    """Return the errors of figures that are read from synthetic rows: those in trials of the method on made-up values.

    Rounding to steps adds to that of a mean.

    Raises:
        ParameterError: such rows cannot be made at this ε.
    """
    target = _target(plan)
    method, setting = synthetic_setting(plan, target, rows, delta)
    columns = setting.columns
    names = [c.name for c in columns]
    untabled = method.untabled(setting)
    require_bounded(setting, method)
    require_payable(method, setting)

    def half(question: Question) -> float | None:
        base = question.of_rows
        if not _of_single_rows(plan, question):
            return None
        name = next((c for c in question.columns if c != target), question.columns[0])
        if question.asked == "correlation" and target is not None and target not in question.columns:
            return None
        place = names.index(name)
        if place in untabled:
            if base == "correlation":
                return None
            lower, upper = plan.column(name).bounds() if base == "mean" else (0.0, 1.0)
            found = NORMAL_95 * untabled[place] * (upper - lower)
        elif method.with_target:
            found = Threes.of(setting, place, method).half_length(base)
        else:
            places, share = _source_table(method, setting, place)
            if question.asked == "correlation" and target is None:
                places = [names.index(c) for c in question.columns]
                share = [query for query in method.queries(setting) if query.form == COUNTS][-1].paid.strength
            trial = Trial(tuple(columns[place] for place in places), share, rows)
            found = trial.coarse(base, cancel) if coarse else trial.half_length(base, cancel)
        if base == "mean":
            lower, upper = plan.column(name).bounds()
            return _summed(min(found + _rounding(plan, question), (upper - lower) / 2), question, rows)
        return _summed(min(found, 1.0 if base == "share" else 2.0), question, rows)

    return half


_FIGURES: dict[str, Callable[[_Inputs], _Figures]] = {
    ROWS: lambda of: row_figures(of.plan, of.rows, of.forecast),
    SYNTHETIC: lambda of: synthetic_figures(of.drawn or of.plan, of.rows, of.cancel, coarse=of.coarse),
    STATISTICS: _statistics_figures,
    MODEL: lambda of: lambda question: None,
}


def _rounding(plan: Plan, question: Question) -> float:
    return rounded_by(plan.column(question.columns[0])) if question.of_rows == "mean" else 0.0


def rounded_by(column: Column) -> float:
    """Return how far rounding to public steps moves the mean of evenly spread whole numbers.

    A step that is an even number of units has one more value above its middle than below, or one less: half a unit.
    """
    step = column.grid().step
    return 0.5 if column.kind in ("integer", "date") and step > 1 and step % 2 == 0 else 0.0


def _source_table(method: Synthesiser, setting: Setting, place: int) -> tuple[list[int], float]:
    """Return the columns of the noisy table from which a column is read, that column last, and the table's strength."""
    counts = [query for query in method.queries(setting) if query.form == COUNTS]
    alone = next((q for q in counts if q.label == f"counts of {setting.columns[place].name}"), None)
    if alone is not None or setting.target is None:
        return [place], (alone or counts[-1]).paid.strength
    beside = setting.target if setting.target != place else (place + 1) % len(setting.sizes)
    return [beside, place], counts[-1].paid.strength


def figure_text(asked: str, half: float) -> str:
    """Return a half-length as a person reads it."""
    near = f"{min(100 * half, 100) if asked == 'share' else half:.3g}"
    near = f"{float(near):,.0f}" if "e+" in near else near  # 2180, which is 2.18e+03 with three digits
    return f"± {near} %" if asked == "share" else f"± {near}"


def _shortfalls(answered: Iterable[tuple[Question, Answer]]) -> tuple[str, ...]:
    """Return what is not answered well enough; questions of one kind that have no answer at all share a sentence."""
    alike: dict[object, list[tuple[Question, Answer]]] = {}
    for question, answer in answered:
        if answer.mark not in (YES, NOT_KNOWN):
            own = answer.half_length is not None or question.asked in ("model", "rows")
            kind = question if own else (use_of(question.asked, question.by), answer.note)
            alike.setdefault(kind, []).append((question, answer))
    return tuple(_shortfall(*each[0]) if len(each) == 1 else _unanswered(each) for each in alike.values())


def _unanswered(alike: Sequence[tuple[Question, Answer]]) -> str:
    question, answer = alike[0]
    columns = ", ".join(dict.fromkeys(name for each, _ in alike for name in each.columns))
    ask = use_of(question.asked, question.by)
    if ask == PAIRED and answer.note:
        return f"Relations between columns are available only {answer.note}: {columns}."
    if ask == PAIRED:
        return f"Relations between columns are not available: {columns}."
    if ask == FIGURES:
        figures = ", ".join(each.words for each, _ in alike)
        return f"Exact figures are not available: {figures}."
    return f"Averages and shares are not available: {columns}."


def _shortfall(question: Question, answer: Answer) -> str:
    asked = f"{question.words[:1].upper()}{question.words[1:]}"
    if question.asked == "model":
        if answer.mark == NOT_ANSWERED:
            return f"{asked} cannot be trained on it."
        return f"{asked} would learn little from it ({answer.note} on made-up rows)."
    if question.asked == "rows":
        return "There are no rows to look at." if answer.mark == NOT_ANSWERED else "Its rows are mostly noise."
    if answer.half_length is None:
        return f"{asked} is available only {answer.note}." if answer.note else f"{asked} is not available."
    near = figure_text(question.asked, answer.half_length)
    enough = figure_text(question.asked, question.enough)
    if question.wished:
        return f"{asked} is accurate only to {near}; you asked for {enough}."
    return f"{asked} is accurate only to {near}; {enough} is usual."

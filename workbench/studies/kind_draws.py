"""One private draw of each kind of release next to the truth; nothing of it can be released."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.data.columns.values import numbers
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.entropy import KeyedEntropy
from workbench.privacy.local.cells import CellArray
from workbench.sanitize.calibrated_columns import protected_column
from workbench.sanitize.estimates import estimate_column
from workbench.sanitize.plan import Plan
from workbench.sanitize.realisation import Realisation
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore
from workbench.signals.cancel import check_here, interruptible
from workbench.statistics.figures import figures
from workbench.statistics.queries import counted, queries_of
from workbench.studies.association import association, variable
from workbench.studies.kind_advice import ROWS, STATISTICS, SYNTHETIC
from workbench.studies.kind_comparison import PLAIN, REGIMES, synthetic_setting, train_by_kind
from workbench.studies.kind_questions import Question, asked_of, asked_request
from workbench.studies.regimes import StudyData
from workbench.studies.train_on_released import task_of
from workbench.synth.columns import coded_cells
from workbench.synth.synthesis import cost_of_synthesis, synthesised
from workbench.work.noise import Study
from workbench.work.work import cost_of

Key = tuple[str, tuple[str, ...], str]
CONFIDENCE = 0.95
REPEATS = 10  # splits of the rows that a model is trained on

_OF_NUMBERS: dict[str, Callable[..., Any]] = {"mean": np.nanmean, "sum": np.nansum, "median": np.nanmedian}

_KEY = secrets.token_bytes(32)  # of this process: nobody can draw again what was shown


@dataclass(frozen=True)
class KindDraws:
    """Figures of the rows, and of one draw by each way. Private."""

    truth: Mapping[Key, float]  # by question, as `ways_asked.Question.key` names it
    seen: Mapping[tuple[str, Key], float]  # by way and question


def draw_kinds(plan: Plan, table: Table, number: int, emit: Emit = ignore, cancel: CancelToken = NEVER) -> KindDraws:
    """Return the truth and what recipients would see of draw ``number``; the caller has noted the study.

    Synthetic rows have numbers in their own steps, whatever steps noisy rows are rounded to.

    Raises:
        InputError: the table does not fit the plan.
        ParameterError: a mechanism does not fit.
        CancelledError: ``cancel`` was set.
    """
    with interruptible(cancel):
        return _drawn(plan, table, number, emit, cancel)


def _drawn(plan: Plan, table: Table, number: int, emit: Emit, cancel: CancelToken) -> KindDraws:
    questions = asked_of(plan)
    drawn = Realisation(table, plan, number, cancel)
    names = [c.name for c in plan.protected]
    before, noisy = {}, {}
    for at, name in enumerate(names):
        emit(Progress(at, len(names), "drawing noisy rows"))
        one = drawn.all_rows(name)
        before[name], noisy[name] = one.before, one.after
    truth = {q.key: _figure(plan, q, before) for q in questions if q.asked != "rows"}
    for question in questions:
        if question.asked in ("mean", "sum", "median") and not question.by:
            column = plan.column(question.columns[0])
            values = np.clip(numbers(drawn.table, column), *column.bounds())
            truth[question.key] = float(_OF_NUMBERS[question.asked](values))
    seen = {(ROWS, q.key): _of_rows(plan, q, noisy, cancel) for q in questions if q.asked != "rows"}
    emit(Progress(0, 1, "drawing synthetic rows"))
    own = plan.unrounded()
    made = _synthetic(own, drawn.table, number, cancel)
    if made:
        seen |= {(SYNTHETIC, q.key): _figure(own, q, made) for q in questions if q.asked != "rows"}
    figures = _statistics(plan, drawn.table, number, cancel)
    seen |= {(STATISTICS, q.key): figures[q.key] for q in questions if q.key in figures}
    for question in questions:
        if question.asked == "model":
            learnt = _models(plan, table, question.columns[0], emit, cancel)
            truth[question.key] = learnt.get(PLAIN, math.nan)
            seen |= {(way, question.key): learnt.get(regime, math.nan) for way, regime in REGIMES.items()}
    known = {key: value for key, value in seen.items() if not math.isnan(value)}
    return KindDraws({key: value for key, value in truth.items() if not math.isnan(value)}, known)


def _entropy(what: str, number: int) -> KeyedEntropy:
    return KeyedEntropy(_KEY, what.encode(), str(number).encode())


def _generator(what: str, number: int) -> np.random.Generator:
    return np.random.default_rng([int(word) for word in _entropy(what, number).words(4)])


def _figure(plan: Plan, question: Question, cells: Mapping[str, CellArray]) -> float:
    """Return a figure of rows on the plan's grids, as whoever reads them computes it."""
    check_here()
    grids = [plan.column(name).grid() for name in question.columns]
    own = [cells[name] for name in question.columns]
    if question.by:
        return math.nan
    if question.asked in ("mean", "sum"):
        return float(_OF_NUMBERS[question.asked](grids[0].numbers_of(own[0])))
    if question.of_rows == "share":
        here = own[0] == grids[0].labels.index(question.value)
        return float(here.mean() if question.asked == "share" else here.sum())
    if question.asked == "correlation":
        return association(*(variable(grid, one) for grid, one in zip(grids, own, strict=True)))
    return math.nan


def _of_rows(plan: Plan, question: Question, noisy: Mapping[str, CellArray], cancel: CancelToken) -> float:
    """Return what is estimated from noisy rows; of how columns go together, what the rows themselves say."""
    if question.of_rows not in ("mean", "share") or question.by:
        return _figure(plan, question, noisy)
    column = protected_column(plan, question.columns[0])
    counts = np.bincount(noisy[question.columns[0]], minlength=column.grid.cells.total)
    found = estimate_column(column, counts, CONFIDENCE, cancel)
    rows = 1 if question.asked == question.of_rows else int(counts.sum())
    if question.of_rows == "mean":
        return math.nan if found.mean is None else rows * found.mean.consistent
    shares = found.frequencies or {}
    return rows * shares[question.value].consistent if question.value in shares else math.nan


def _synthetic(plan: Plan, table: Table, number: int, cancel: CancelToken) -> dict[str, CellArray]:
    """Return one draw of as many synthetic rows, by column; empty where they cannot be made."""
    target = next((c.name for c in plan.protected if c.role == "target"), None)
    cells = np.column_stack([c.grid().encode(table) for c in plan.protected]).astype(np.uint32)
    entropy = _entropy("synthetic rows", number)
    try:
        method, setting = synthetic_setting(plan, target, len(cells))
        ask = Study(_generator("synthetic noise", number), entropy).ask(cost_of_synthesis(method, setting))
        rows = synthesised(method, setting, coded_cells(setting.columns, cells), len(cells), ask, ignore, cancel)
    except ParameterError:
        return {}
    return {c.name: c.draw(rows.codes[:, place], entropy) for place, c in enumerate(setting.columns)}


def _statistics(plan: Plan, table: Table, number: int, cancel: CancelToken) -> dict[Key, float]:
    try:
        queries = queries_of(asked_request(plan).checked(plan), plan, plan.row_epsilon(), table.rows)
    except ParameterError:
        return {}
    cost = cost_of(tuple(query.event for query in queries), 1)
    ask = Study(_generator("statistics", number)).ask(cost)
    exact = counted(queries, table, cancel)
    answers = {query.label: query.noisy(ask, exact[query.label]) for query in queries}
    found: dict[Key, float] = {}
    stated = {"mean": ("mean",), "sum": ("sum",), "histogram": ("share", "count"), "quantile": ("median",)}
    for one in figures(queries, answers):
        if one.statistic not in stated or one.group or isinstance(one.estimate, str):
            continue
        if one.statistic == "quantile" and one.value != "0.5":
            continue
        value = one.value if one.statistic == "histogram" else ""
        for asked in stated[one.statistic]:
            found[asked, (one.column,), value] = one.estimate / (max(table.rows, 1) if asked == "share" else 1)
    return found


def _models(plan: Plan, table: Table, target: str, emit: Emit, cancel: CancelToken) -> dict[str, float]:
    task = task_of(plan.column(target))
    data = StudyData.read(table, replace(plan, columns=plan.protected), target, task)
    return train_by_kind(plan, task, data, REPEATS, emit=emit, cancel=cancel)[1]

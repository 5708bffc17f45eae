"""``line``: private linear regression of a numeric target, with its residuals modelled as in ``tan``.

1. A part of the budget trains private linear regression (:mod:`workbench.learners.linear_regression`), each value read
   as the midpoint of its cell.
2. The rest is spent as in ``tan``, on a table in which the residual replaces the target: a number in public cells
   around 0. The regression is released, so the residual of a row depends on that row alone.
3. The other columns and the residual are drawn as in ``tan``; a drawn row's target is prediction plus residual, clipped
   to the declared bounds and put into one of their public cells.

So every column contributes to the target, where tables of three columns use two at a time; and what the regression
misses, such as interactions, is in the tables. It pays with a δ, if the regression is good and many queries cost little
(``tests/benchmarks/results/ten_tables.md``). Without a regression (a categorical target, a single other column, a
statement of impossible combinations with the target, or almost no ε) the method is ``tan``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from functools import cached_property
from typing import Any

import numpy as np

from workbench.data.schema import Attribute
from workbench.learners.base import PrivateEstimator
from workbench.learners.linear_regression.estimator import LinearRegression, LinearRegressionModel
from workbench.privacy.accounting.event import exact
from workbench.privacy.accounting.zcdp import epsilon_within
from workbench.privacy.central.share import Budget, Share
from workbench.privacy.entropy import Entropy
from workbench.synth.base import MODEL, Query, Questions, Setting, Synthesiser, Tables
from workbench.synth.cliques import Doubles
from workbench.synth.columns import CoarseColumn, CodedRows, Codes, coarse_columns
from workbench.synth.tan import TAN, fine_cuts
from workbench.work.ask import Ask
from workbench.work.noise import uncharged

PART = 0.5  # of the budget, for the line

REACH = 0.6  # half-ranges of the target at which what is left is cut off

LEAST = Decimal("1e-9")
"""The least ε of a regression: a half with less, which a large δ leaves of a small ε, trains no line."""

_DIGITS = Decimal("1e-12")


def has_line(setting: Setting) -> bool:
    """Return whether a line is trained."""
    target = setting.target
    if target is None or len(setting.columns) < 3 or not setting.columns[target].ordered:
        return False
    if parts(setting.budget, PART)[0].epsilon < LEAST:
        return False
    return not any(target in columns for columns, _ in setting.impossible)


def parts(budget: Budget, share: float) -> tuple[Budget, Budget]:
    """Return what a model, with a share of it, and what all else is paid with: together no more than the budget."""
    if not budget.gaussian:
        first = exact(float((budget.epsilon * Decimal(share)).quantize(_DIGITS, ROUND_FLOOR)))
        return Budget(first), Budget(budget.epsilon - first)
    part = budget.amount * Decimal(share)
    first, rest = (epsilon_within(rho, budget.delta) for rho in (part, budget.amount - part))
    return Budget(first, budget.delta), Budget(rest, budget.delta)


def inner_of(setting: Setting) -> Setting:
    """Return the setting in which the rest of the budget is spent: the target is what the line leaves of it."""
    if not has_line(setting):
        return setting
    place, (_, rest) = setting.target, parts(setting.budget, PART)
    assert place is not None
    known = setting.columns[place].grid.attribute
    lower, upper = known.bounds()
    reach = REACH * (upper / 2 - lower / 2)
    left = Attribute(name=known.name, kind="real", lower=-reach, upper=reach, missing=known.missing)
    cuts = fine_cuts(setting.rows, rest, len(setting.columns))
    columns = list(setting.columns)
    columns[place] = coarse_columns([left], cuts)[0]
    return replace(setting, columns=tuple(columns), epsilon=rest.epsilon)


@dataclass(frozen=True, eq=False)
class FittedLine:
    """The line of a setting, before it is trained and after: rows as it reads them."""

    setting: Setting

    @cached_property
    def _target(self) -> int:
        assert self.setting.target is not None
        return self.setting.target

    @cached_property
    def learner(self) -> LinearRegression:
        """Private linear regression of the target, paid with its part of the budget; it charges nobody."""
        made: LinearRegression = learner_of(LinearRegression, self.setting, parts(self.setting.budget, PART)[0])
        return made

    def goal(self, codes: Codes) -> Doubles:
        """Return the target (n,), NaN where it is missing."""
        column = self.setting.columns[self._target]
        return np.append(cell_means(column), np.nan)[codes[:, self._target].astype(np.int64)]

    def trained(self, questions: Questions) -> LinearRegressionModel:
        """Ask what the training asks, of the rows as they are in memory."""

        def trained(ask: Ask, rows: CodedRows) -> LinearRegressionModel:
            codes = rows.codes[rows.present]
            X, y = feature_matrix(self.setting, codes), self.goal(codes)
            return self.learner.learned(ask, self.setting.rows, X, y, questions.cancel)

        made: LinearRegressionModel = questions.model(trained)
        return made

    def left(self, model: LinearRegressionModel, rows: CodedRows, inner: CoarseColumn) -> CodedRows:
        """Return the rows with what the line leaves of the target in its place, each row's by itself."""
        found, goal = rows.codes.astype(np.int64), self.goal(rows.codes)
        here = rows.present & ~np.isnan(goal)
        codes = np.full(len(found), inner.cuts, dtype=np.int64)
        wrong = goal[here] - model.predict(feature_matrix(self.setting, rows.codes[here]))
        codes[here] = inner.coarse(inner.grid.cells_of(wrong))
        found[:, self._target] = codes
        return CodedRows(found, rows.present)

    def drawn(self, model: LinearRegressionModel, inner: CoarseColumn, codes: Codes, coins: Entropy) -> Codes:
        """Return drawn rows (n, d) with the line and what is left of it as their target."""
        out, own = codes.astype(np.int64), codes[:, self._target].astype(np.int64)
        column, here = self.setting.columns[self._target], own < inner.cuts
        fine = inner.draw(own, coins)
        value = model.predict(feature_matrix(self.setting, codes[here])) + inner.grid.numbers_of(fine[here])
        ends = np.arange(column.cuts)[1:]
        middle = cell_means(column)
        out[:, self._target] = column.cuts
        out[here, self._target] = np.searchsorted((middle[ends - 1] + middle[ends]) / 2, value, side="right")
        return out


def learner_of(made: type[PrivateEstimator[Any]], setting: Setting, budget: Budget) -> Any:
    """Return a learner of the target from the other columns, paid with a part of the budget; it charges nobody."""
    assert setting.target is not None
    facts = [column.grid.attribute for column in setting.columns]
    target, delta = facts.pop(setting.target), float(budget.delta) if budget.gaussian else None
    asked: Any = made.model_type.parameters_type
    return made(tuple(facts), target, asked(epsilon=float(budget.epsilon), delta=delta), uncharged())


def asked_by(learner: PrivateEstimator[Any], setting: Setting) -> tuple[Query, ...]:
    """Return what a training asks."""
    return tuple(Query(e.label, MODEL, Share.of(e)) for e in learner.events(setting.rows))


def feature_matrix(setting: Setting, codes: Codes) -> Doubles:
    """Return the columns beside the target (n, d − 1): middles of cells, NaN where missing; names as codes."""
    each = []
    for place, column in enumerate(setting.columns):
        if place != setting.target:
            own = codes[:, place].astype(np.int64)
            each.append(np.append(cell_means(column), np.nan)[own] if column.ordered else own.astype(np.float64))
    return np.column_stack(each)


def cell_means(column: CoarseColumn) -> Doubles:
    """Return the mean number of each coarse cell of an ordered column, (cuts,)."""
    firsts = column.firsts()
    numbers = column.grid.numbers_of(np.arange(firsts[-1]))
    return np.add.reduceat(numbers, firsts[:-1]) / np.diff(firsts)


def _queries(setting: Setting) -> tuple[Query, ...]:
    if not has_line(setting):
        return TAN.queries(setting)
    return (*asked_by(FittedLine(setting).learner, setting), *TAN.queries(inner_of(setting)))


def _ask(questions: Questions) -> Tables:
    setting = questions.setting
    if not has_line(setting):
        return TAN.ask(questions)
    lined, inner = FittedLine(setting), inner_of(setting)
    model = lined.trained(questions)
    column = inner.columns[lined._target]
    tables = TAN.ask(questions.about(inner, lined.left(model, questions.whole_rows, column)))
    return replace(tables, finish=lambda codes, coins: lined.drawn(model, column, codes, coins))


def _cuts(rows: int, budget: Budget, columns: int) -> int:
    first, rest = parts(budget, PART)
    return fine_cuts(rows, budget if first.epsilon < LEAST else rest, columns)


LINE = Synthesiser(
    name="line",
    title="Private regression and its residuals",
    help="trains a private linear regression of a numeric target and measures its residuals as tan does",
    needs_target=True,
    queries=_queries,
    ask=_ask,
    with_target=True,
    cuts=_cuts,
    inner=inner_of,
)

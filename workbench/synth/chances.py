"""``chances``: a categorical target drawn from the predicted probabilities of a private model.

1. A part of the budget trains private logistic regression (:mod:`workbench.learners.logistic_regression`), each value
   read as the midpoint of its cell. With a δ and many rows the model includes products of two columns: it learns the
   joint effect of every pair on the target, where tables of three columns do so only for a few.
2. The rest measures the other columns:

   * with products in the model, as ``mst`` does: every column alone, the target too, and a tree of pairs of the others;
   * without, by the table of every column with the target, as ``marginals`` does. If there are so many columns that
     noise hides these tables, numeric columns are assumed normal: the only query is the sum of distances above and
     below the model's means, by class and in all columns at once, at a hundredth of the tables' noise.

   The dependence of the target on these columns comes from the model, so only their own distribution is needed here.
3. The target of a drawn row is sampled from the predicted probabilities, raised to a power that makes the most likely
   class as frequent as the model's accuracy. Accuracy is a noisy count as well: clipped gradients make a model over- or
   underconfident.

   * With products: each class has a further factor, so that classes are about as frequent as counted; from 90 %
     accuracy on, the target is taken as determined by the other columns, and each row gets the most likely class.
   * Without: all rows are drawn together, so that a model trained on them is the same (:mod:`.balanced`).

It pays with categorical columns and so many rows that the model includes products; and for two classes with fewer
rows, if the model knows the spread of each column, there are too many columns for tables, or the tables of ``tan``
would be coarse (``tests/benchmarks/results/ten_tables.md``). Otherwise (no δ, a small ε), or if the target is numeric,
may be missing or occurs in a statement of impossible combinations, the method is ``marginals``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.special import ndtr

from workbench.learners.logistic_regression.descent import Descent
from workbench.learners.logistic_regression.estimator import LogisticRegression, LogisticRegressionModel
from workbench.privacy.central.share import Budget, Share
from workbench.privacy.central.sums import l2_norms, within_limit
from workbench.privacy.entropy import Entropy
from workbench.signals.cancel import CancelToken
from workbench.synth.balanced import balanced
from workbench.synth.base import COUNTS, MODEL, Query, Questions, Setting, Synthesiser, Tables, split
from workbench.synth.cliques import Doubles
from workbench.synth.columns import CoarseColumn, CodedRows, Codes
from workbench.synth.fit import Measured
from workbench.synth.line import LEAST, asked_by, feature_matrix, learner_of, parts
from workbench.synth.marginals import MARGINALS
from workbench.synth.mst import tree_asked, tree_queries
from workbench.synth.row_sampler import MOST_DEALT, uniforms
from workbench.synth.tan import parts_of
from workbench.work.ask import Ask

MOST, HALF = 0.9, 0.5  # of the budget, for the model; half where tables are counted of few rows

RIGHT, HALVES = "rows that the model names right", "distances above and below the means"
"""What is asked of the rows once the model is known."""

_RIGHT_PART, _RIGHT_OF_FEW = 0.1, 0.25  # of what the model leaves, for the first; beside a model without products

DECIDED = 0.9  # share of rows that the model names right, from which the other columns decide the target

BY_CHANCES, LIKELIEST, AS_MARGINALS = (
    "the target is drawn by the chances that the private model gives each row",
    "the target is each row's likeliest name by the private model, which is right for at least 90 % of rows as counted",
    "no model was trained, and the target is drawn as by marginals",
)
"""How the target is drawn, for certificates."""

_FLATTEST, _SHARPEST = 0.05, 8.0
_TRIED, _HALVINGS, _ROUNDS, _TURNS = 20_000, 12, 30, 200
_LEAST = 1e-4
_NEVER = 1e-12

# Parts of a column from which the tables of `tan` are better than a model that does not know the spread of each column.
_FINE_TABLES = 4.5
_MOST_SEEN = 64  # parts of a row that names drawn together are balanced on

_FINE, _COARSE = 128, 16  # cells of a column of which distances are asked; and of one that is counted at most
_UNIT = 1 << 12  # of a half-range
_REACH = 0.2  # half-ranges: the limit of a row's distances, of the norm of one that is as far in every column
_APART = 0.1  # the usual distance between means, in half-ranges
_SPREADS: Doubles = np.geomspace(0.01, 0.7, 60)
_USUAL, _LOOSE = 0.12, 0.7  # the usual spread, and how far from it others are, in its logarithm
_EVEN = math.sqrt(1 / 3)  # the spread of values that lie evenly within their bounds, in half-ranges


@dataclass(frozen=True, eq=False)
class BudgetDivision:
    """How the budget of a setting is divided, and what is asked; from public facts alone."""

    setting: Setting
    part: float  # of the budget, for the model
    descent: Descent  # how the model is trained

    @classmethod
    def of(cls, setting: Setting) -> BudgetDivision | None:
        """Return how a setting is paid and asked, or ``None`` where no model is trained."""
        if setting.target is None or len(setting.columns) < 3 or not setting.budget.gaussian:
            return None
        column, named = setting.columns[setting.target], [columns for columns, _ in setting.impossible]
        if column.ordered or not 1 < column.cuts == column.size or any(setting.target in each for each in named):
            return None
        few = False
        for part in (MOST, HALF):
            paid = parts(setting.budget, part)[0]
            found = _learner(setting, paid).descent(setting.rows) if paid.epsilon >= LEAST else None
            if found is None:
                return None
            few = few or (part == MOST and found.few)
            if cls._pays(setting, part, found, few):
                return cls(setting, part, found)
        return None

    @staticmethod
    def _pays(setting: Setting, part: float, descent: Descent, few: bool) -> bool:
        if descent.bends or descent.classes > 2 or descent.width >= _MOST_SEEN:
            return descent.bends and part == MOST
        whole = all(column.size == column.cuts for column in setting.columns if column.ordered)
        if part == MOST:
            return few and whole
        tables = whole or not descent.few  # of missing values no distance can be asked
        return descent.turns or (not few and tables and parts_of(setting) < _FINE_TABLES)

    @cached_property
    def _budgets(self) -> tuple[Budget, Budget]:
        return parts(self.setting.budget, self.part)

    @property
    def other_budget(self) -> Budget:
        """What all else than the model is paid with."""
        return self._budgets[1]

    @cached_property
    def learner(self) -> LogisticRegression:
        """What the model is trained by; it charges nobody."""
        return _learner(self.setting, self._budgets[0])

    @property
    def target(self) -> int:
        """The place of the target."""
        assert self.setting.target is not None
        return self.setting.target

    @cached_property
    def others(self) -> list[int]:
        """The places of the other columns."""
        return [place for place in range(len(self.setting.columns)) if place != self.target]

    @cached_property
    def distance_columns(self) -> list[int]:
        """Those of which only distances are asked."""
        columns = self.setting.columns
        fine = [place for place in self.others if columns[place].ordered and columns[place].cuts > _COARSE]
        return fine if self.descent.few and not self.descent.bends else []

    @cached_property
    def later_queries(self) -> tuple[Query, ...]:
        """What is asked once the model is known."""
        if self.descent.bends:
            right, rest = parts(self.other_budget, _RIGHT_PART)
            return (*split(right, [(RIGHT, MODEL, 1.0)]), *tree_queries(self.setting, rest, self.others))
        names = [column.name for column in self.setting.columns]
        asked = [(RIGHT, MODEL, _RIGHT_OF_FEW / (1 - _RIGHT_OF_FEW) * len(self.others))]
        asked += [(HALVES, MODEL, float(len(self.distance_columns)))] if self.distance_columns else []
        counted = [names[place] for place in self.others if place not in self.distance_columns]
        return split(
            self.other_budget, [*asked, *((f"counts of {names[self.target]} by {of}", COUNTS, 1.0) for of in counted)]
        )

    @property
    def _limit(self) -> int:
        """How much of :data:`_UNIT` a row adds to the sums of distances at most."""
        return math.floor(_REACH * math.sqrt(len(self.distance_columns)) * _UNIT)

    @property
    def noise(self) -> float:
        """The standard deviation of each sum of distances, in half-ranges."""
        return self._limit * self.paid.scale / _UNIT

    @property
    def mean_error(self) -> float:
        """The standard deviation of the error of a mean, in ranges, where values lie evenly within their bounds.

        It is that of four sums, above and below the model's mean of two names, and what is left of that mean's error:
        rows that are brought down to a limit move a mean by that part of their distance alone.
        """
        paid, rows = {query.label: query.paid for query in asked_by(self.learner, self.setting)}, self.setting.rows
        off = 0.0
        for label, (limit, _) in self.descent.means.items():
            off = math.hypot(_unmoved(limit) * off, self.descent.limit(label) * paid[label].scale / rows)
        return math.hypot(_unmoved(_REACH * math.sqrt(3 / 4)) * off / 2, self.noise / rows)

    @property
    def paid(self) -> Share:
        """What the sums of distances are paid with."""
        return next(query.paid for query in self.later_queries if query.label == HALVES)

    def tables(self, questions: Questions, distances: Sequence[Measured]) -> Tables:
        """Ask for what is counted beside the model."""
        if self.descent.bends:
            return tree_asked(questions, self.others, self.later_queries[-1].paid.strength)
        pairs = tuple((self.target, place) for place in self.others)
        counted = [questions.counts(pair, (None, None)) for pair in pairs if pair[1] not in self.distance_columns]
        return Tables(pairs, (*distances, *counted))

    def distances(self, ask: Ask, model: LogisticRegressionModel, codes: Codes) -> list[Measured]:
        """Ask how far above and below the model's means the rows of each name lie; return tables that say as much.

        A row adds its distances and a 1 to the sums of its name: a vector whose L2 norm is within a public limit.
        """
        if not self.distance_columns:
            return []
        columns, sources = (
            [self.setting.columns[place] for place in self.distance_columns],
            model.setting.encoding.sources,
        )
        assert model.axes_ is not None
        centre = model.axes_.centre[[sources.index(self.others.index(place)) for place in self.distance_columns]]
        one = self._limit // 2
        places = zip(columns, self.distance_columns, strict=True)
        found = np.column_stack([_ends(c)[codes[:, j].astype(np.int64)] + 1 / c.cuts for c, j in places])
        away = np.rint((found - centre) * _UNIT).astype(np.int64)
        sides = np.hstack([np.maximum(away, 0), np.maximum(-away, 0)])
        most = math.isqrt(self._limit**2 - one**2)
        rows = np.hstack([np.full((len(codes), 1), one), within_limit(sides, l2_norms, most)])
        sums = np.zeros((2, rows.shape[1]), dtype=np.int64)
        np.add.at(sums, codes[:, self.target].astype(np.int64), rows)
        answers = ask(HALVES, [int(v) for v in sums.ravel()], self._limit)
        noisy = np.array(answers, dtype=np.float64).reshape(2, -1) / _UNIT
        sizes = np.maximum(noisy[:, 0] * _UNIT / one, 0.02 * self.setting.rows)
        sizes *= self.setting.rows / sizes.sum()
        means, spreads = means_and_spreads(noisy[:, 1:], sizes, self.noise)
        out = []
        for column, place, mean, spread in zip(
            columns, self.distance_columns, (centre + means).T, spreads, strict=True
        ):
            below = ndtr((_ends(column) - mean[:, None]) / spread)
            below[:, 0], below[:, -1] = 0.0, 1.0
            counts = sizes[:, None] * np.diff(below, axis=1)
            out.append(Measured((self.target, place), (None, None), counts, self.paid.variance(), (0, 0)))
        return out


def _unmoved(limit: float) -> float:
    """Return which part of an error stays where rows with evenly spread columns are brought down to ``limit``."""
    return max(1 - limit / _EVEN, 0.0)


def _ends(column: CoarseColumn) -> Doubles:
    """Return where the cells of an ordered column end, in half-ranges from the middle of its bounds, (cuts + 1,)."""
    return np.asarray(2 * column.firsts() / column.grid.cells.size - 1)


def means_and_spreads(sums: Doubles, sizes: Doubles, noise: float) -> tuple[Doubles, Doubles]:
    """Return the means of each name (k, m) and the spread of each column about them (m,), of normal variables.

    Args:
        sums: released distances above a centre, then below it (k, 2·m), in half-ranges.
        sizes: how many rows each name has (k,).
        noise: standard deviation of each sum.
    """
    above, below = np.hsplit(sums, 2)
    error = 2 * (noise / sizes[:, None]) ** 2
    means = (above - below) / sizes[:, None] * _APART**2 / (_APART**2 + error)
    spread = _SPREADS[:, None, None]
    each = spread * math.sqrt(2 / math.pi) * np.exp(-((means / spread) ** 2) / 2) + means * (
        1 - 2 * ndtr(-means / spread)
    )
    off = np.tensordot(each, sizes, axes=(1, 0)) - (above + below).sum(axis=0)
    likely = -((off / noise) ** 2) / (4 * len(sizes)) - (np.log(_SPREADS / _USUAL)[:, None] / _LOOSE) ** 2 / 2
    weights = np.exp(likely - likely.max(axis=0))
    return means, np.exp(np.log(_SPREADS) @ weights / weights.sum(axis=0))


def _learner(setting: Setting, paid: Budget) -> LogisticRegression:
    made: LogisticRegression = learner_of(LogisticRegression, setting, paid)
    return made


def numbers_of(setting: Setting) -> int:
    """Return how many numbers each round of the training makes of the rows."""
    way = BudgetDivision.of(setting)
    return setting.rows * way.descent.classes * way.descent.seen if way else 0


def inner_of(setting: Setting) -> Setting:
    """Return the setting in which the rest of the budget is spent."""
    way = BudgetDivision.of(setting)
    return replace(setting, epsilon=way.other_budget.epsilon) if way else setting


def _finer(setting: Setting) -> int | None:
    way = BudgetDivision.of(setting)
    return _FINE if way and way.descent.few and not way.descent.bends else None


def _untabled(setting: Setting) -> dict[int, float]:
    """Return it; a name's share is the model's."""
    way = BudgetDivision.of(setting)
    if way is None or not way.distance_columns:
        return {}
    return {**dict.fromkeys(way.distance_columns, way.mean_error), way.target: 3 * way.paid.scale / setting.rows}


def _queries(setting: Setting) -> tuple[Query, ...]:
    way = BudgetDivision.of(setting)
    return (*asked_by(way.learner, setting), *way.later_queries) if way else MARGINALS.queries(setting)


def _ask(questions: Questions) -> Tables:
    setting = questions.setting
    way = BudgetDivision.of(setting)
    if way is None:
        return replace(MARGINALS.ask(questions), stated=AS_MARGINALS)

    def trained(ask: Ask, rows: CodedRows) -> tuple[LogisticRegressionModel, float, list[Measured]]:
        codes = rows.codes[rows.present]
        X, y = feature_matrix(setting, codes), codes[:, way.target].astype(np.int64)
        model = way.learner.learned(ask, setting.rows, X, y, questions.cancel)
        (right,) = ask(RIGHT, [int((model.predict(X) == y).sum())], 1)  # the model is released: each row by itself
        return model, right / setting.rows, way.distances(ask, model, codes)

    model, right, distances = questions.model(trained)
    decided = way.descent.bends and right >= DECIDED
    drawn = _drawn if way.descent.bends else partial(_together, questions.cancel)
    return replace(
        way.tables(questions, distances),
        finish=lambda codes, coins: drawn(way, model, right, codes, coins),
        stated=LIKELIEST if decided else BY_CHANCES,
    )


def _says(setting: Setting) -> tuple[str, ...]:
    way = BudgetDivision.of(setting)
    return (AS_MARGINALS,) if way is None else (BY_CHANCES, LIKELIEST) if way.descent.bends else (BY_CHANCES,)


def _drawn(way: BudgetDivision, model: LogisticRegressionModel, right: float, codes: Codes, coins: Entropy) -> Codes:
    """Return drawn rows with a target drawn by the model; its names are about as frequent as in ``codes``."""
    out, found = codes.copy(), model.predict_proba(feature_matrix(way.setting, codes))
    wanted = np.bincount(codes[:, way.target], minlength=found.shape[1]) / len(codes)
    if right >= DECIDED:
        out[:, way.target] = names_by_chance(found, wanted)
        return out
    power = sharpening_power(right, lambda power: shifted(found[:_TRIED], wanted, power))
    ends = np.cumsum(shifted(found, wanted, power), axis=1)
    out[:, way.target] = (ends <= uniforms(len(out), coins)[:, None] * ends[:, -1:]).sum(axis=1)
    return out


def _together(
    cancel: CancelToken, way: BudgetDivision, model: LogisticRegressionModel, right: float, codes: Codes, coins: Entropy
) -> Codes:
    """Return drawn rows with a target of two names drawn by the model, balanced on what the model sees of the rows.

    The names are as frequent as the model says: with a factor for each, as few rows as are near where the names part
    would move that far.
    """
    assert model.axes_ is not None
    X = feature_matrix(way.setting, codes)
    found = model.predict_proba(X)

    def raised(power: float) -> Doubles:
        odds = found**power + _NEVER
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    chances = raised(sharpening_power(right, raised))[:, 1]
    seen = np.hstack([np.ones((len(codes), 1)), model.axes_.rows(model.setting.encoding.places(X))])
    few = seen.size <= MOST_DEALT  # of more rows chance is little, and it would take long
    out = codes.copy()
    out[:, way.target] = balanced(chances, seen, coins, cancel) if few else uniforms(len(codes), coins) < chances
    return out


def sharpening_power(right: float, chances: Callable[[float], Doubles]) -> float:
    """Return the power of chances (n, k) at which this share of rows gets its likeliest name."""
    low, high = _FLATTEST, _SHARPEST
    for _ in range(_HALVINGS):
        power = math.sqrt(low * high)
        low, high = (low, power) if chances(power).max(axis=1).mean() > right else (power, high)
    return low


def names_by_chance(chances: Doubles, wanted: Doubles) -> Codes:
    """Return the largest of each row's chances (n, k), times a factor for each name: as frequent as ``wanted``."""
    heights, factors = np.log(chances + _NEVER), np.zeros(len(wanted))
    for turn in range(_TURNS):
        some = (heights[:_TRIED] + factors).argmax(axis=1)
        shares = np.bincount(some, minlength=len(wanted)) / len(some)
        factors += 0.3 / (1 + turn / 20) * np.log((wanted + _LEAST) / (shares + _LEAST))
    return np.asarray((heights + factors).argmax(axis=1))


def shifted(chances: Doubles, wanted: Doubles, power: float) -> Doubles:
    """Return chances (n, k), to a power, times a factor for each name with which their means are those ``wanted``."""
    out = chances**power + _NEVER
    for _ in range(_ROUNDS):
        out *= wanted / np.maximum(out.mean(axis=0), _NEVER)
        out /= np.maximum(out.sum(axis=1, keepdims=True), _NEVER)
    return out


CHANCES = Synthesiser(
    name="chances",
    title="Target drawn from a private model",
    help="trains a private logistic regression and draws a categorical target from its predicted probabilities",
    needs_target=True,
    queries=_queries,
    ask=_ask,
    inner=inner_of,
    numbers=numbers_of,
    says=_says,
    finer=_finer,
    untabled=_untabled,
)

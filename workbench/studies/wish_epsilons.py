"""The ε that wishes need by each kind of release, from forecasts alone: shares of ε, or of ρ with a δ.

* **Statistics** of different columns, or groups, need nothing of each other. Figures of one column may be read from one
  query, so that one is paid for and the others are free: each subset of them is tried as the free ones.
* **Synthetic rows** have one ε for all figures.
* **Noisy rows:** a correlation needs what is left of both columns, so that ε of one is traded for that of the other. In
  the logarithms of the shares this is a convex problem, solved by sequential least squares.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.accounting.event import exact
from workbench.privacy.accounting.zcdp import delta_of, rho_of
from workbench.privacy.central.share import Budget
from workbench.sanitize.forecast import forecast
from workbench.sanitize.plan import Plan
from workbench.sanitize.utility_summary import NORMAL_95
from workbench.sanitize.wishes import Wish
from workbench.signals.cancel import CancelToken
from workbench.statistics.forecast import forecast as forecast_of_figures
from workbench.statistics.queries import Query, queries_of, queries_paid
from workbench.statistics.request import QUANTILES, QUARTERS, Request, Statistic
from workbench.studies.kind_advice import ROWS, STATISTICS, SYNTHETIC
from workbench.studies.kind_comparison import rounded_by, row_figures, synthetic_figures
from workbench.studies.kind_questions import Question, question_of, statistic_of

MOST = 50.0  # the largest ε of a wish that is looked for

Doubles = NDArray[np.float64]

_LEAST = {STATISTICS: 1e-6, SYNTHETIC: 1e-3, ROWS: 1e-4}
_STEP, _FINE_STEP, _BELOW, _NEAR = 1.2, 1.03, 10.0, 1.0005
_DIGITS = 4

_COARSE = 1.3  # by how much a coarse forecast may misjudge the share of a column

_POINTS = 40
_FREE = 1e-4
_REFINEMENTS = 8
_CLOSE = 0.992  # part of its margin that an error has at least, where fewer forecasts are worth more than a closer one


def least(
    holds: Callable[[float], bool], low: float, high: float, *, step: float | None = None, near: float = _NEAR
) -> float | None:
    """Return the least value at which something holds, at most ``near`` times too large; ``None`` where it never does.

    Args:
        holds: whether it does; once it does, it mostly goes on doing so.
        low: where the search begins.
        high: where it ends.
        step: the factor between smaller values that are tried, down to a part of what was found, where it may cease
            to hold on the way.
        near: the factor.
    """
    if not holds(high):
        return None
    found = _halved(holds, low, high, near)
    if step is None:
        return found
    points = np.geomspace(max(low, found / _BELOW), found, math.ceil(math.log(_BELOW) / math.log(step)) + 1).tolist()
    at = next((i for i, point in enumerate(points[:-1]) if holds(point)), None)
    return found if at is None else _halved(holds, points[max(at - 1, 0)], points[at], near)


def _halved(holds: Callable[[float], bool], low: float, high: float, near: float) -> float:
    while high / low > near:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


NO_FORECAST = "there is no forecast for this statistic"


@dataclass(frozen=True)
class Impossible:
    """A wish that cannot be met."""

    want: str  # the wish
    reason: str  # why, in a sentence
    needs: float | None = None  # the ε that it alone needs; `None` where none is enough


@dataclass(frozen=True)
class Case:
    """The public facts, and what is wished for."""

    plan: Plan
    rows: int
    delta: Decimal
    wishes: tuple[Wish, ...]
    cancel: CancelToken

    def question(self, wish: Wish) -> Question:
        """Return a checked wish as a question."""
        found = question_of(self.plan, wish)
        assert found is not None
        return found

    def epsilon_of(self, amounts: Mapping[str, float]) -> Decimal:
        """Return the ε that shares of it, or of ρ, add up to, rounded up."""
        whole = sum((up(amount) for amount in amounts.values()), Decimal(0))
        return epsilon_of_rho(whole, self.delta) if self.delta else whole.normalize() + 0


class Method(Protocol):
    """How the wishes of one way are met. Shares are by the name of what is paid; errors by the figure."""

    def refused(self, margins: Mapping[str, float]) -> Iterator[Impossible]:
        """Yield the wishes that no ε meets."""
        ...

    def least(self, margins: Mapping[str, float], *, rough: bool = False) -> dict[str, float]:
        """Return the least shares that meet all ``margins``, of some wishes or all; infinite ones where none do.

        Args:
            margins: by the figure.
            rough: a few per cent off is near enough.
        """
        ...

    def made(self, amounts: Mapping[str, Decimal], epsilon: Decimal) -> tuple[dict[str, Decimal], dict[str, float]]:
        """Return the split of the release with these shares, and its errors."""
        ...

    def written(self, amounts: Mapping[str, Decimal], epsilon: Decimal) -> tuple[Plan, Request | None]:
        """Return the plan and the request of that release."""
        ...


def up(amount: float | Decimal) -> Decimal:
    """Return a share rounded up to a few digits."""
    return Context(prec=_DIGITS, rounding=ROUND_CEILING).create_decimal(Decimal(str(amount))).normalize() + 0


def epsilon_of_rho(rho: Decimal, delta: Decimal) -> Decimal:
    """Return an ε, a few digits rounded up, whose ρ at this δ is at least ``rho``."""
    low, high = 0.0, 4 * float(rho) + 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(rho, middle) <= float(delta) else (middle, high)
    found = up(high)
    while rho_of(found, delta) < rho:
        found = up(found * Decimal("1.001"))
    return found


# -- statistics --------------------------------------------------------------------------------------------------------

_Key = tuple[str, str | None, tuple[str, ...] | None]  # statistic, column and groups


@dataclass(frozen=True)
class _Rho(Budget):
    """A budget that is known as ρ."""

    rho: Decimal = Decimal(0)

    @property
    def amount(self) -> Decimal:
        return self.rho


class _Statistics:
    """Columns, by their groups, are paid for one by one; the figures of one column may be read from one query."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._keys: dict[str, _Key | None] = {}
        for wish in case.wishes:
            question = case.question(wish)
            statistic = statistic_of(question)
            key = None if statistic is None else (statistic, wish.columns[0], wish.by or None)
            self._keys[wish.figure] = key
        asked = [self._statistic(key, 1.0, list(self._keys)) for key in dict.fromkeys(self._keys.values()) if key]
        if asked:
            Request(figures=tuple(asked)).checked(case.plan)
        self._high = float(rho_of(Decimal(MOST), case.delta)) if case.delta else MOST
        self._low = _LEAST[STATISTICS] ** 2 if case.delta else _LEAST[STATISTICS]

    def refused(self, margins: Mapping[str, float]) -> Iterator[Impossible]:
        for wish in self._case.wishes:
            if self._keys[wish.figure] is None:
                yield Impossible(wish.text, f"statistics have no {wish.asked}; synthetic and noisy rows may have it")
            elif math.inf in self.least({wish.figure: margins[wish.figure]}).values():
                yield Impossible(wish.text, f"even ε = {MOST:g} is not enough")

    def least(self, margins: Mapping[str, float], *, rough: bool = False) -> dict[str, float]:
        groups: dict[tuple[str | None, tuple[str, ...] | None], list[str]] = {}
        for figure in margins:
            groups.setdefault(self._key(figure)[1:], []).append(figure)
        found: dict[str, float] = {}
        for figures in groups.values():
            found |= {repr(key): amount for key, amount in self._of_column(figures, margins, rough=rough).items()}
        return found

    def _of_column(self, figures: list[str], margins: Mapping[str, float], *, rough: bool) -> dict[_Key, float]:
        keys = list(dict.fromkeys(self._key(figure) for figure in figures))
        alone = {}
        for key in keys:
            own = [figure for figure in figures if self._keys[figure] == key]
            alone[key] = self._scaled({key: 1.0}, own, margins, rough=rough)
        if len(keys) == 1 or math.inf in alone.values():
            return alone
        tried = []
        for free in itertools.chain.from_iterable(itertools.combinations(keys, n) for n in range(len(keys))):
            weights = {key: amount * (_FREE if key in free else 1.0) for key, amount in alone.items()}
            whole = math.fsum(weights.values())
            weights = {key: weight / whole for key, weight in weights.items()}
            tried.append((self._scaled(weights, figures, margins, rough=rough), weights))
        best, weights = min(tried, key=lambda one: one[0])
        return {key: best * weight for key, weight in weights.items()}

    def _scaled(
        self, weights: Mapping[_Key, float], figures: list[str], margins: Mapping[str, float], *, rough: bool
    ) -> float:
        """Return the least share of ε, or of ρ, that serves ``figures`` when it is split by ``weights``."""
        plan, rows, cancel = self._case.plan, self._case.rows, self._case.cancel
        request = Request(figures=tuple(self._statistic(key, weight, figures) for key, weight in weights.items()))

        def holds(amount: float) -> bool:
            cancel.check()
            try:
                errors = self._errors(queries_paid(request, plan, self._budget(Decimal(amount)), rows))
            except ParameterError:
                return False  # too little for so many queries
            return all(errors[figure] <= margins[figure] for figure in figures)

        # Where quantiles are read from changes with their share, and their error may rise there.
        changes = any(key[0] == QUANTILES for key in weights)
        found = least(holds, self._low, self._high, step=_FINE_STEP if changes and not rough else None)
        return math.inf if found is None else found

    def made(self, amounts: Mapping[str, Decimal], epsilon: Decimal) -> tuple[dict[str, Decimal], dict[str, float]]:
        request = self._request(amounts)
        queries = queries_of(request, self._case.plan, epsilon, self._case.rows, self._case.delta)
        split = {}
        for query in queries:
            answered = [
                figure
                for figure, key in self._keys.items()
                if key in [(ask.statistic, ask.column, ask.by) for ask in query.asks]
            ]
            split[", ".join(answered)] = query.share
        return split, self._errors(queries)

    def written(self, amounts: Mapping[str, Decimal], epsilon: Decimal) -> tuple[Plan, Request | None]:
        return self._case.plan, self._request(amounts)

    def _request(self, amounts: Mapping[str, Decimal]) -> Request:
        keys = [key for key in dict.fromkeys(self._keys.values()) if key is not None]
        figures = list(self._keys)
        largest = max(amounts.values())
        weights = {key: max(float(f"{amounts[repr(key)] / largest:.8g}"), 1e-12) for key in keys}
        return Request(figures=tuple(self._statistic(key, weights[key], figures) for key in keys))

    def _budget(self, amount: Decimal) -> Budget:
        delta = self._case.delta
        return _Rho(Decimal(1), delta, amount) if delta else Budget(exact(amount.normalize(Context(prec=15))))

    def _key(self, figure: str) -> _Key:
        key = self._keys[figure]
        assert key is not None
        return key

    def _statistic(self, key: _Key, weight: float, figures: Sequence[str]) -> Statistic:
        """Return a statistic; quantiles are all those that ``figures`` name."""
        statistic, column, by = key
        wishes = [w for w in self._case.wishes if w.figure in figures and self._keys[w.figure] == key]
        at = None
        if statistic == QUANTILES:
            stated = tuple(sorted({float(w.value or 0.5) for w in wishes}))
            at = None if stated == QUARTERS else stated
        return Statistic(statistic=statistic, column=column, by=by, at=at, weight=weight)

    def _errors(self, queries: Sequence[Query]) -> dict[str, float]:
        stated = {(f.statistic, f.column, f.by or None): f.half_width for f in forecast_of_figures(queries)}
        rows = max(self._case.rows, 1)
        found = {}
        for wish in self._case.wishes:
            key = self._keys[wish.figure]
            if key in stated:
                found[wish.figure] = stated[key] / (rows if wish.asked == "share" else 1)
        return found


def _open(plan: Plan, epsilon: Decimal) -> dict[str, Any]:
    """Return the fields of ``plan`` at another ε, no column having a fixed share."""
    return {"epsilon": float(epsilon), "columns": tuple(dataclasses.replace(c, epsilon=None) for c in plan.columns)}


# -- synthetic rows ----------------------------------------------------------------------------------------------------

_ALL = "synthetic rows"


class _Synthetic:
    """One ε for all figures."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._at(Decimal(MOST))  # a plan of which no synthetic rows can be made is refused here

    def _at(self, epsilon: Decimal) -> dict[str, float | None]:
        self._case.cancel.check()
        case = self._case
        plan = dataclasses.replace(case.plan, **_open(case.plan, epsilon))
        half = synthetic_figures(plan, case.rows, case.cancel, delta=case.delta)
        return {wish.figure: half(case.question(wish)) for wish in case.wishes}

    def refused(self, margins: Mapping[str, float]) -> Iterator[Impossible]:
        known = self._at(Decimal(MOST))
        for wish in self._case.wishes:
            half = known[wish.figure]
            if half is None:
                yield Impossible(wish.text, NO_FORECAST)
            elif half > margins[wish.figure]:
                yield _too_narrow(self._case.plan, wish)

    def least(self, margins: Mapping[str, float], *, rough: bool = False) -> dict[str, float]:
        def holds(epsilon: float) -> bool:
            try:
                found = self._at(Decimal(repr(epsilon)))
            except ParameterError:
                return False  # too little for so many tables
            halves = {figure: found[figure] for figure in margins}
            return all(half is not None and half <= margins[figure] for figure, half in halves.items())

        found = least(holds, _LEAST[SYNTHETIC], MOST, step=_STEP)
        return {_ALL: math.inf if found is None else self._paid(found)}

    def _paid(self, epsilon: float) -> float:
        delta = self._case.delta
        return float(rho_of(Decimal(repr(epsilon)), delta)) if delta else epsilon

    def made(self, amounts: Mapping[str, Decimal], epsilon: Decimal) -> tuple[dict[str, Decimal], dict[str, float]]:
        errors = self._at(epsilon)
        return dict(amounts), {figure: half for figure, half in errors.items() if half is not None}

    def written(self, amounts: Mapping[str, Decimal], epsilon: Decimal) -> tuple[Plan, Request | None]:
        return dataclasses.replace(self._case.plan, **_open(self._case.plan, epsilon)), None


def _too_narrow(plan: Plan, wish: Wish) -> Impossible:
    column = plan.column(wish.columns[0])
    if wish.asked == "mean" and rounded_by(column) >= wish.within:
        step = f"{column.grid().step:g}"
        return Impossible(
            wish.text, f"values are rounded to steps of {step}, which alone shifts the mean by {rounded_by(column):g}"
        )
    return Impossible(wish.text, f"even ε = {MOST:g} is not enough")


# -- noisy rows --------------------------------------------------------------------------------------------------------


class _Rows:
    """Each column is paid for by itself; a correlation needs two of them."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._columns = tuple(dict.fromkeys(name for wish in case.wishes for name in wish.columns))

    def _halves(self, shares: Mapping[str, float], *, coarse: bool) -> dict[str, float | None]:
        self._case.cancel.check()
        case = self._case
        columns = tuple(dataclasses.replace(case.plan.column(name), epsilon=share) for name, share in shares.items())
        plan = Plan(epsilon=math.fsum(shares.values()) * (1 + 1e-9), columns=columns, invalid=case.plan.invalid)
        half = row_figures(plan, case.rows, forecast(plan, coarse=coarse))
        inside = [wish for wish in case.wishes if all(name in shares for name in wish.columns)]
        return {wish.figure: half(case.question(wish)) for wish in inside}

    def _over(self, shares: Mapping[str, float], margins: Mapping[str, float], *, coarse: bool) -> float:
        """Return how many times its margin the worst error is."""
        halves = self._halves(shares, coarse=coarse)
        found = [(halves[figure], margin) for figure, margin in margins.items() if figure in halves]
        return max(math.inf if half is None else half / margin for half, margin in found)

    def refused(self, margins: Mapping[str, float]) -> Iterator[Impossible]:
        known = self._halves(dict.fromkeys(self._columns, MOST), coarse=True)
        for wish in self._case.wishes:
            half = known[wish.figure]
            if half is None and wish.asked in ("mean", "share", "sum", "count") and not wish.by:
                stated = f"the mechanism of {wish.columns[0]} has no unbiased {wish.asked}"
                yield Impossible(wish.text, f'{stated}; write purpose = "statistics" for the column')
            elif half is None:
                yield Impossible(wish.text, NO_FORECAST)
            elif half > margins[wish.figure]:
                yield _too_narrow(self._case.plan, wish)

    def least(self, margins: Mapping[str, float], *, rough: bool = False) -> dict[str, float]:
        wishes = [wish for wish in self._case.wishes if wish.figure in margins]
        own = {wish.figure: margins[wish.figure] for wish in wishes if len(wish.columns) == 1}
        pairs: dict[tuple[str, ...], float]
        pairs = {wish.columns: margins[wish.figure] for wish in wishes if len(wish.columns) == 2}
        names = dict.fromkeys(name for wish in wishes for name in wish.columns)
        found = {name: self._alone(name, own) for name in names}
        if not pairs or math.inf in found.values():
            return found if rough else {name: self._refined({name: a}, own)[name] for name, a in found.items()}
        traded = self._traded(found, pairs)
        return traded if rough or math.inf in traded.values() else self._refined(traded, margins)

    def _alone(self, name: str, margins: Mapping[str, float]) -> float:
        """Return about the least share of a column for its own figures; next to nothing where none is wished for."""
        own = {w.figure: margins[w.figure] for w in self._case.wishes if w.columns == (name,) and w.figure in margins}
        if not own:
            return _LEAST[ROWS]
        found = least(lambda a: self._over({name: a}, own, coarse=True) <= 1, _LEAST[ROWS], MOST, step=_STEP)
        return math.inf if found is None else found

    def _refined(self, shares: dict[str, float], margins: Mapping[str, float]) -> dict[str, float]:
        """Return shares in these proportions by which the exact forecasts, of which few are made, meet the margins."""
        found, times = dict.fromkeys(shares, math.inf), 1.0
        if math.inf in shares.values():
            return found
        for _ in range(_REFINEMENTS):
            tried = {name: float(up(share * times)) for name, share in shares.items()}
            over = self._over(tried, margins, coarse=False)
            if over <= 1:
                found = tried
            if _CLOSE <= over <= 1 or times < 1 / _COARSE:
                break
            more = self._over({n: a * 1.1 for n, a in tried.items()}, margins, coarse=True)
            falls = math.log(self._over(tried, margins, coarse=True) / more) / math.log(1.1)
            times *= (over / (0.5 + 0.5 * _CLOSE)) ** (1 / max(falls, 0.3))
        return found

    def _traded(self, alone: Mapping[str, float], pairs: Mapping[tuple[str, ...], float]) -> dict[str, float]:
        """Return the least shares by which correlations keep their margins, too, by coarse forecasts."""
        from scipy.optimize import minimize

        names, root = list(alone), math.sqrt(max(self._case.rows, 1))
        grids = [np.log(np.geomspace(share, MOST, _POINTS)) for share in alone.values()]
        kept = [np.array([self._log_kept(name, x) for x in grid]) for name, grid in zip(names, grids, strict=True)]
        ends = np.array([[names.index(name) for name in pair] for pair in pairs])
        wanted = np.log([NORMAL_95 / (margin * root) for margin in pairs.values()])

        def spare(x: Doubles) -> Doubles:
            own = np.array([np.interp(at, grid, table) for at, grid, table in zip(x, grids, kept, strict=True)])
            return np.asarray(own[ends].sum(axis=1) - wanted)

        bottom, top = (np.array([grid[end] for grid in grids]) for end in (0, -1))
        if (spare(top) < 0).any():
            return dict.fromkeys(names, math.inf)
        parts = np.linspace(0, 1, 200)
        start = next(x for x in (bottom + part * (top - bottom) for part in parts) if (spare(x) >= 0).all())
        found = minimize(
            lambda x: float(np.exp(x - start.max()).sum()),
            start,
            jac=lambda x: np.exp(x - start.max()),
            bounds=list(zip(bottom, top, strict=True)),
            constraints={"type": "ineq", "fun": spare},
            method="SLSQP",
        )
        x = np.clip(found.x, bottom, top)
        better = bool((spare(x) >= -0.01).all()) and np.exp(x).sum() < np.exp(start).sum()
        return dict(zip(names, np.exp(x if better else start).tolist(), strict=True))

    def _log_kept(self, name: str, log_share: float) -> float:
        self._case.cancel.check()
        plan = Plan(
            epsilon=math.exp(log_share), columns=(dataclasses.replace(self._case.plan.column(name), epsilon=None),)
        )
        return math.log(max(forecast(plan, coarse=True).columns[0].relations_kept, 1e-300))

    def made(self, amounts: Mapping[str, Decimal], epsilon: Decimal) -> tuple[dict[str, Decimal], dict[str, float]]:
        errors = self._halves({name: float(amount) for name, amount in amounts.items()}, coarse=False)
        return dict(amounts), {figure: math.inf if half is None else half for figure, half in errors.items()}

    def written(self, amounts: Mapping[str, Decimal], epsilon: Decimal) -> tuple[Plan, Request | None]:
        plan = self._case.plan
        columns = tuple(
            dataclasses.replace(c, epsilon=float(amounts[c.name]))
            if c.name in amounts
            else dataclasses.replace(c, action="drop", epsilon=None)
            if c.action == "protect"
            else c
            for c in plan.columns
        )
        return dataclasses.replace(plan, epsilon=float(epsilon), columns=columns), None


METHODS: dict[str, Callable[[Case], Method]] = {STATISTICS: _Statistics, SYNTHETIC: _Synthetic, ROWS: _Rows}

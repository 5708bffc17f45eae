"""Solve for ε: from the errors that are wished for, the least ε and its split, or what is impossible; no row is read.

What the wishes need by each way follows from its forecasts (:mod:`.wish_needs`). The answer is checked against the
forecast of the very release that it describes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from workbench.params import ParameterError, Parameters, boolean, choice, did_you_mean, integer, real, texts
from workbench.privacy.accounting.event import exact
from workbench.privacy.accounting.zcdp import rho_of
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.sanitize.plan import Plan
from workbench.sanitize.wishes import FIGURES, Wish
from workbench.signals.cancel import NEVER, CancelToken
from workbench.statistics.request import Request, protected
from workbench.studies.kind_advice import ROWS, STATISTICS, SYNTHETIC, YES
from workbench.studies.kind_comparison import kind_at
from workbench.studies.kind_questions import Question, statistic_of
from workbench.studies.wish_epsilons import METHODS, MOST, Case, Impossible, Method, least, up

WAYS = (STATISTICS, SYNTHETIC, ROWS)  # the ways that can be solved for, those that are usually the cheapest first

_RANGE = {"at_least": EPSILON_LEAST, "upto": EPSILON_MOST}
_PARTS = Decimal("1e-12")
_REPAIRED, _MOST_REPAIRS = 1.0005, 200
_NO_DELTA = Decimal(0)


def least_epsilon(plan: Plan, rows: int, question: Question, way: str, cancel: CancelToken) -> Decimal | None:
    """Return the least ε of ``plan``, to two digits, at which a way answers a question; ``None`` where none does.

    The plan's own split of ε stays: the other columns and questions get their part.
    """

    def holds(epsilon: float) -> bool:
        cancel.check()
        try:
            found = kind_at(dataclasses.replace(plan, epsilon=epsilon), rows, way, cancel, questions=(question,))
            return found.answers[0].mark == YES
        except ParameterError:
            return False

    found = least(holds, 0.01, MOST, near=1.02)
    return None if found is None else Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(found)


@dataclass(frozen=True, kw_only=True)
class Wanted(Parameters):
    """What is wished for, and what may be spent on it."""

    want: tuple[str, ...] = texts(
        shortest=1,
        repeated=True,
        symbol="WISH",
        help="a statistic and its error margin in 95 of 100 releases (the ± of every forecast), such as "
        f'"mean(age)<=2" or "share(sex=f) ± 3 %, weight 2": {", ".join(FIGURES)}, of all rows or "by" one or two '
        "columns; may be repeated",
    )
    rows: int | None = integer(
        default=None, at_least=1, upto=10**12, symbol="N", help="number of rows, if no table is given"
    )
    way: str | None = choice(
        choices=WAYS,
        default=None,
        symbol="WAY",
        help=f"kind of release: {', '.join(WAYS)} (default: statistics, or the cheaper of the others if statistics "
        "cannot give all figures)",
    )
    delta: float | None = real(
        default=None, above=0, below=1, symbol="δ", help="chance that the guarantee fails, below 1/rows"
    )
    epsilon_max: float | None = real(
        default=None, symbol="ε", help="budget limit: wishes that need more are impossible", **_RANGE
    )
    epsilon: float | None = real(
        default=None,
        symbol="ε",
        help="spend exactly this: every error is the same fraction of its margin divided by its weight",
        **_RANGE,
    )
    equal: bool = boolean(
        default=False,
        help="with --epsilon, for figures without margins: every error is the same fraction of the figure's range",
    )

    def __post_init__(self) -> None:
        """Check the values, then that they go together."""
        super().__post_init__()
        if self.equal and self.epsilon is None:
            raise ParameterError("equal errors need an epsilon to divide", hint="set epsilon as well")
        if self.epsilon is not None and self.epsilon_max is not None:
            raise ParameterError("epsilon and epsilon_max cannot be combined", hint="leave epsilon_max out")

    def wishes(self, plan: Plan, rows: int) -> tuple[Wish, ...]:
        """Return the wishes; equal errors have all that a figure could be as its margin.

        Raises:
            ParameterError: one is no wish, or is of a column that the plan does not protect.
        """
        if not self.equal:
            return tuple(map(Wish.parse, self.want))
        kinds = {c.name: c.kind for c in plan.protected}
        found = [Wish.parse(text, math.inf).checked(kinds) for text in self.want]
        return tuple(dataclasses.replace(wish, within=_range_of(plan, wish, rows)) for wish in found)

    def solution(self, plan: Plan, rows: int, cancel: CancelToken = NEVER) -> Solution:
        """Return what :func:`solve` finds.

        Raises:
            ParameterError: as :func:`solve`.
        """
        delta, most, spend = (
            None if value is None else exact(value) for value in (self.delta, self.epsilon_max, self.epsilon)
        )
        wishes = self.wishes(plan, rows)
        return solve(plan, rows, wishes, self.way, delta=delta or _NO_DELTA, most=most, spend=spend, cancel=cancel)


def _range_of(plan: Plan, wish: Wish, rows: int) -> float:
    if wish.asked in ("share", "correlation"):
        return 1.0
    if wish.asked == "count":
        return float(rows)
    lower, upper = plan.column(wish.columns[0]).bounds()
    return (upper - lower) * (rows if wish.asked == "sum" else 1)


@dataclass(frozen=True)
class Solution:
    """An answer to wishes."""

    way: str  # `statistics`, `synthetic` or `rows`
    epsilon: Decimal | None  # of one row's whole record; `None` where a wish is impossible
    delta: Decimal  # of one row
    # What each query or column gets: ε, or ρ where there is a δ, by the wishes that are answered from it or by the
    # column.
    split: Mapping[str, Decimal]
    errors: Mapping[str, float]  # half-length of the 95 % interval of each figure that is then expected
    impossible: tuple[Impossible, ...]  # the wishes that cannot be met
    left_out: tuple[str, ...]  # columns of the plan that noisy rows leave out, as nothing is wished of them
    request: Request | None  # the statistics, whose weights are the split; `None` of rows
    plan: Plan | None  # the plan; of rows at this ε, of noisy rows with the split

    @property
    def unit(self) -> str:
        """What the split is in."""
        return "rho" if self.delta and self.way != ROWS else "epsilon"

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {
            "way": self.way,
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "delta": float(self.delta),
            "unit": self.unit,
            "split": {key: float(amount) for key, amount in self.split.items()},
            "errors": dict(self.errors),
            "impossible": [dataclasses.asdict(one) for one in self.impossible],
            "left_out": list(self.left_out),
        }


def solve(
    plan: Plan,
    rows: int,
    wishes: Sequence[Wish],
    way: str | None = None,
    *,
    delta: Decimal = _NO_DELTA,
    most: Decimal | None = None,
    spend: Decimal | None = None,
    cancel: CancelToken = NEVER,
) -> Solution:
    """Return the least ε, and its split, by which a way meets every wish.

    Args:
        plan: declares the columns; its own ε and shares are not used.
        rows: the public number of rows.
        wishes: what is wished for; checked against the columns here.
        way: one of :data:`WAYS`; by default statistics, or where these have not all the figures, the cheaper of the
            others.
        delta: δ of one row; 0 for pure differential privacy. Noisy rows have none.
        most: the largest ε that may be spent on all of them.
        spend: spend this ε instead of the least: every error is then the same part of its margin divided by its
            weight. Wishes that this does not meet are impossible.
        cancel: checked between forecasts.

    Raises:
        ParameterError: there is no wish, one is wished for twice, or a wish is not of a protected column that has it.
    """
    if way == ROWS and delta:
        raise ParameterError("noisy rows have no delta", hint="leave delta out, or choose another way")
    case = Case(plan, rows, delta, _checked(plan, wishes), cancel)
    if way is None:
        others = (SYNTHETIC,) if delta else (SYNTHETIC, ROWS)
        tried = (STATISTICS,) if all(statistic_of(case.question(w)) for w in case.wishes) else others
        found = [_solved(case, each, most, spend) for each in tried]
        return min(found, key=lambda one: (len(one.impossible), one.epsilon or 0))
    return _solved(case, way, most, spend)


def _solved(case: Case, way: str, most: Decimal | None, spend: Decimal | None) -> Solution:
    method = METHODS[way](case)
    margins = {wish.figure: wish.within for wish in case.wishes}
    impossible = tuple(method.refused(margins))
    if impossible:
        return _none(case, way, impossible)
    if spend is not None:
        amounts = _spent(case, method, spend)
        found = _made(case, method, way, amounts, spend)
        unmet = [wish for wish in case.wishes if found.errors[wish.figure] > wish.within * (1 + 1e-9)]
        return dataclasses.replace(found, impossible=tuple(_beyond(case, method, unmet, spend)))
    shares = method.least(margins)
    for _ in range(_MOST_REPAIRS):
        found = _made(case, method, way, {name: up(share) for name, share in shares.items()})
        if all(found.errors[figure] <= margin for figure, margin in margins.items()):
            break
        shares = {name: share * _REPAIRED for name, share in shares.items()}
    else:
        raise AssertionError("the forecast of the release does not meet what each part of it does")
    if most is not None and found.epsilon is not None and found.epsilon > most:
        return _none(case, way, tuple(_beyond(case, method, case.wishes, most, found.epsilon)))
    return found


def _checked(plan: Plan, wishes: Sequence[Wish]) -> tuple[Wish, ...]:
    if not wishes:
        raise ParameterError("there are no wishes", hint='add a wish such as "mean(age)<=2"')
    kinds = {c.name: c.kind for c in plan.protected}
    found: dict[str, Wish] = {}
    for wish in wishes:
        one = wish.checked(kinds)
        for name in one.reads:
            protected(plan, name)
        if one.asked in ("share", "count") and one.value:
            labels = plan.column(one.columns[0]).grid().labels
            if one.value not in labels:
                near = did_you_mean(one.value, labels)
                raise ParameterError(f"{one.columns[0]} has no value {one.value!r}{near}", one.text, field="wish")
        if one.figure in found:
            raise ParameterError(f"{one.figure} is wished for twice", hint="leave one out", field="wish")
        found[one.figure] = one
    return tuple(found.values())


def _none(case: Case, way: str, impossible: tuple[Impossible, ...]) -> Solution:
    return Solution(way, None, case.delta, {}, {}, impossible, (), None, None)


def _made(
    case: Case, method: Method, way: str, amounts: Mapping[str, Decimal], spend: Decimal | None = None
) -> Solution:
    epsilon = spend if spend is not None else case.epsilon_of({name: float(a) for name, a in amounts.items()})
    split, errors = method.made(amounts, epsilon)
    plan, request = method.written(amounts, epsilon)
    left = tuple(
        c.name for c in case.plan.protected if c not in plan.protected and plan.column(c.name).action == "drop"
    )
    return Solution(way, epsilon, case.delta, split, errors, (), left, request, plan)


def _beyond(
    case: Case, method: Method, wishes: Sequence[Wish], most: Decimal, together: Decimal | None = None
) -> Iterator[Impossible]:
    """Yield the wishes that need more than ``most``: those that do alone, or all of them together."""
    needs = {w.figure: case.epsilon_of(method.least({w.figure: w.within})) for w in wishes}
    alone = [w for w in wishes if needs[w.figure] > most]
    if together is None:
        margins = {w.figure: w.within for w in case.wishes}
        together = case.epsilon_of(method.least(margins))
    for wish in alone or wishes:
        need = needs[wish.figure]
        reason = f"{wish.figure} alone needs ε ≥ {need}"
        if wish not in alone:
            reason = f"{wish.figure} alone needs ε ≥ {need}, and all wishes together {together}: more than {most}"
        yield Impossible(wish.text, reason, float(need))


def _spent(case: Case, method: Method, spend: Decimal) -> dict[str, Decimal]:
    """Return the shares that add up to ``spend``, all errors being the same part of their weighted margins."""
    whole = float(rho_of(spend, case.delta) if case.delta else spend)

    def at(times: float) -> dict[str, float]:
        return method.least({w.figure: times * w.within / w.weight for w in case.wishes}, rough=True)

    def affordable(times: float) -> bool:
        return math.fsum(at(times).values()) <= whole

    high = 1.0
    while not affordable(high):
        high *= 8
        if high > 1e12:
            raise ParameterError(f"epsilon = {spend} is too small for these figures", hint="give a larger one")
    low = high
    while affordable(low) and low > 1e-9:
        low /= 8
    found = at(least(affordable, low, high, near=1.002) or high)
    scale = whole / math.fsum(found.values())
    parts = {name: Decimal(repr(amount * scale)).quantize(_PARTS, ROUND_FLOOR) for name, amount in found.items()}
    first = next(iter(parts))
    target = Decimal(repr(whole)) if case.delta else spend
    parts[first] += target - sum(parts.values(), Decimal(0))
    return parts

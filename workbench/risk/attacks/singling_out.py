"""Singling out: conditions on a few columns that exactly one person of the original meets.

The attacker looks for conditions that one row of the release alone meets and bets that they single out a person of the
original as well (Cohen & Nissim 2020; Giomi et al. 2023). *Univariate*: the extremes and the values of a column that
occur once. *Multivariate*: the values of a random row in a few random columns; of a number "at least" where it is above
the median, else "at most". The naive attacker draws columns, comparisons and values at random.

**The bound** (:mod:`workbench.risk.attacks.bound` has the words). The condition φ singles out if it holds for exactly
one row of D. These events exclude one another, so P(φ singles out) = Σᵢ P(φ holds for xᵢ and no other row). Each of
them obeys (ε, δ); a person c of the control set is in row i of the neighbouring table; then c and xᵢ swap names:

    main ≤ e^ε·E[φ(c)·(n·[φ holds for no row of D] + [φ holds for exactly one])] + n·δ    with the replace-one figures,

which is counted on the control set. A condition without a release singles out with up to 1/e = 37 % when it is as rare
as 1/n, so that this bound is often 1: an ε above about 0.5 does not rule singling out out, it rules out that it is due
to one person's row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.params import Parameters, choice, declared_by, integer, text, texts
from workbench.risk.attacks.base import SEED, Subject
from workbench.risk.attacks.bound import Guarantee
from workbench.risk.attacks.common_columns import Matrix, common_columns, require
from workbench.risk.attacks.outcome import Outcome, Rate
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

Counts = NDArray[np.int64]

UNIVARIATE, MULTIVARIATE = "univariate", "multivariate"
_TRIES = 50
"""Conditions that are tried for each attack that is wanted: a release of noisy rows may have few that hold once."""
_LIGHTEST, _WEIGHTS, _ROUNDS = 0.05, 60, 100
"""Weights of conditions where a small control set is continued: the least (in persons), how many, and rounds."""

_AT_LEAST, _AT_MOST, _EQUAL, _OTHER, _MISSING = range(5)


@dataclass(frozen=True, kw_only=True)
class SinglingOut(Parameters):
    """How singling out is attacked."""

    attacks: int = integer(
        default=2000, at_least=10, upto=100_000, title="attacks", help="number of conditions to test"
    )
    mode: str = choice(
        choices=(MULTIVARIATE, UNIVARIATE),
        default=MULTIVARIATE,
        title="conditions",
        help="conditions on several columns, or on one",
    )
    columns: int = integer(
        default=3, at_least=1, upto=50, title="columns per condition", help="columns per multivariate condition"
    )
    known: tuple[str, ...] | None = texts(
        default=None,
        shortest=1,
        title="known columns",
        empty="any column",
        help="columns that conditions may use (default: all)",
    )
    secret: str | None = text(
        default=None, longest=1000, title="secret column", empty="no column", help="a column that no condition uses"
    )
    seed: int = declared_by(SEED, default=0)


@dataclass(frozen=True)
class Condition:
    """What a row must meet: one comparison for each of some columns; equal ones are one."""

    columns: tuple[int, ...]
    signs: tuple[int, ...]
    values: tuple[float, ...]

    def matches(self, rows: Matrix) -> NDArray[np.bool_]:
        """Return which rows meet it, shape (rows,)."""
        met = np.ones(len(rows), dtype=bool)
        for column, sign, value in zip(self.columns, self.signs, self.values, strict=True):
            met &= _compared(rows[:, column], sign, value)
        return met


def _compared(cells: Matrix, sign: int, value: float) -> NDArray[np.bool_]:
    if sign == _MISSING:
        return np.isnan(cells)
    if sign == _AT_LEAST:
        found = cells >= value
    elif sign == _AT_MOST:
        found = cells <= value
    else:
        found = cells == value if sign == _EQUAL else (cells != value) & ~np.isnan(cells)
    return found


class _Watch:
    """Progress and cancel of work that is done condition by condition."""

    def __init__(self, total: int, emit: Emit, cancel: CancelToken) -> None:
        self._total, self._emit, self._cancel, self._seen = total, emit, cancel, 0

    def step(self, done: int) -> None:
        self._seen += 1
        if self._seen % 256 == 0:
            self._cancel.check()
            self._emit(Progress(min(done, self._total), self._total, "attacks"))


def run(subject: Subject, request: SinglingOut, emit: Emit, cancel: CancelToken) -> Outcome:
    """Run the attack on a released table."""
    tables = subject.attacked()
    require(tables, request.known, request.secret)
    shared = common_columns(tables, request.known or (), without=request.secret)
    rng = np.random.default_rng(request.seed)
    watch = _Watch(request.attacks, emit, cancel)
    released, people, *others = (np.asfortranarray(values) for values in shared.tables)
    width = 1 if request.mode == UNIVARIATE else min(request.columns, len(shared.names))
    if request.mode == UNIVARIATE:
        found = _of_one_column(released, shared.numeric, request.attacks, rng)
    else:
        found = _of_columns(released, shared.numeric, request.attacks, width, rng, watch)
    guesses = [_random(released, shared.numeric, width, rng) for _ in range(len(found) or request.attacks)]
    hits = _counts(found, people, watch)
    notes: tuple[str, ...] = ()
    if not len(found):
        notes = ("No condition was found that exactly one released row meets.",)
    elif len(found) < request.attacks:
        notes = (
            f"Only {len(found):,} different conditions that exactly one released row meets were found, of "
            f"{request.attacks:,} requested.",
        )
    of = len(guesses)  # where no condition was found, every attack failed
    base, allowed = None, None
    if others:
        strangers = _counts(found, others[0], watch)
        base = Rate.counted(_singled(strangers, len(others[0]), len(people)), of)
        if subject.guarantee.holds:
            allowed = _allowed(hits, strangers, len(others[0]), len(people), subject.guarantee, of)
    return Outcome(
        attack="singling-out",
        main=Rate.counted(int((hits == 1).sum()), of),
        naive=Rate.counted(int((_counts(guesses, people, watch) == 1).sum()), of),
        control=base,
        guarantee=subject.guarantee,
        allowed=allowed,
        figures={"attacks": of, "conditions": len(found), "mode": request.mode, "columns": width},
        notes=notes,
    )


def _of_one_column(rows: Matrix, numeric: NDArray[np.bool_], most: int, rng: np.random.Generator) -> list[Condition]:
    """Return conditions on one column that hold for one row: its extremes, its values that occur once, the missing."""
    found: list[Condition] = []
    for j in range(rows.shape[1]):
        cells = rows[:, j]
        values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
        if np.isnan(cells).sum() == 1:
            found.append(Condition((j,), (_MISSING,), (0.0,)))
        if numeric[j] and len(values):
            ends = ((_AT_MOST, 0), (_AT_LEAST, -1))
            found += [Condition((j,), (sign,), (float(values[end]),)) for sign, end in ends if counts[end] == 1]
        found += [Condition((j,), (_EQUAL,), (float(value),)) for value in values[counts == 1]]
    chosen = rng.permutation(len(found))[:most]
    return [found[i] for i in chosen]


def _of_columns(
    rows: Matrix, numeric: NDArray[np.bool_], most: int, width: int, rng: np.random.Generator, watch: _Watch
) -> list[Condition]:
    """Return different conditions on ``width`` columns that hold for one row; fewer where that many are not found.

    The number of tries is bounded, so that it ends on every release.
    """
    medians = _medians(rows)
    found: dict[Condition, None] = {}
    for _ in range(most * _TRIES):
        columns = tuple(int(j) for j in np.sort(rng.choice(rows.shape[1], size=width, replace=False)))
        row = rows[rng.integers(len(rows))]
        signs = tuple(_sign(row[j], medians[j], number=bool(numeric[j])) for j in columns)
        made = Condition(columns, signs, tuple(0.0 if np.isnan(row[j]) else float(row[j]) for j in columns))
        watch.step(len(found))
        if made not in found and int(made.matches(rows).sum()) == 1:
            found[made] = None
            if len(found) == most:
                break
    return list(found)


def _medians(rows: Matrix) -> Matrix:
    known = [column[~np.isnan(column)] for column in rows.T]
    return np.array([float(np.median(column)) if len(column) else 0.0 for column in known])


def _sign(value: float, median: float, *, number: bool) -> int:
    if np.isnan(value):
        return _MISSING
    if not number:
        return _EQUAL
    return _AT_LEAST if value > median else _AT_MOST


def _random(rows: Matrix, numeric: NDArray[np.bool_], width: int, rng: np.random.Generator) -> Condition:
    """Return a condition of random columns, comparisons and values that occur in the release."""
    columns = tuple(int(j) for j in np.sort(rng.choice(rows.shape[1], size=width, replace=False)))
    values = [float(rows[rng.integers(len(rows)), j]) for j in columns]
    signs = []
    for j, value in zip(columns, values, strict=True):
        sign = (_EQUAL, _OTHER, _AT_LEAST, _AT_MOST)[rng.integers(4 if numeric[j] else 2)]
        signs.append(_MISSING if np.isnan(value) else sign)
    return Condition(columns, tuple(signs), tuple(0.0 if np.isnan(v) else v for v in values))


def _counts(conditions: Sequence[Condition], rows: Matrix, watch: _Watch) -> Counts:
    """Return how many rows meet each condition."""
    out = np.zeros(len(conditions), dtype=np.int64)
    for i, condition in enumerate(conditions):
        out[i] = condition.matches(rows).sum()
        watch.step(i)
    return out


def _singled(matches: Counts, have: int, want: int) -> float:
    """Return how many conditions would single out one of ``want`` people of whom ``have`` were looked at.

    Of ``want`` people that are drawn of ``have``, exactly one is among M with a chance that is known. Where the
    control set is smaller than the original, the mixture of weights w that makes the counts likeliest (by expectation
    and maximisation, from an even one) says how often n·w·(1−w)ⁿ⁻¹ comes out. Giomi et al. (2023) fit a single number
    to the shares of smaller samples instead, which varies more.
    """
    if want <= have:
        return float(_alone(matches, have, want).sum())
    if not (matches == 1).any():
        return 0.0
    from scipy.stats import binom

    values, times = np.unique(matches, return_counts=True)
    weights = np.concatenate([[0.0], np.geomspace(_LIGHTEST / want, 1.0, _WEIGHTS)])
    likely = binom.pmf(values[:, None], have, weights)
    part = np.full(len(weights), 1 / len(weights))
    for _ in range(_ROUNDS):
        of_each = likely * part
        part = times @ (of_each / of_each.sum(axis=1, keepdims=True)) / len(matches)
    return float(len(matches) * (part * want * weights * (1 - weights) ** (want - 1)).sum())


def _alone(matches: Counts, of: int, drawn: int) -> Matrix:
    """Return for each M the chance that ``drawn`` rows of ``of``, M of which meet a condition, hold exactly one."""
    from scipy.special import gammaln

    def ways(n: Matrix, k: int) -> Matrix:
        inside = n >= k
        top = np.where(inside, n, k)
        counted: Matrix = np.where(inside, gammaln(top + 1) - gammaln(k + 1) - gammaln(top - k + 1), -np.inf)
        return counted

    met: Matrix = matches.astype(np.float64)
    chance: Matrix = met * np.exp(ways(of - met, drawn - 1) - ways(np.array(float(of)), drawn))
    return chance


def _allowed(hits: Counts, strangers: Counts, control: int, rows: int, guarantee: Guarantee, of: int) -> float:
    """Return the bound of the module's docstring, from the upper end of a 95 % interval of its expectation."""
    from scipy.special import gammaincinv

    epsilon, delta = guarantee.replaced
    weights = strangers / control * np.where(hits == 0, rows, np.where(hits == 1, 1.0, 0.0))
    total, squares = float(weights.sum()), float((weights**2).sum())
    # A sum of rare events: the upper end of a Poisson count in units of their usual size, at least that of one match.
    unit = max(squares / total if total else 0.0, rows / control)
    high = unit * float(gammaincinv(total / unit + 1, 0.975))
    return min(1.0, math.exp(min(epsilon, 700.0)) * high / of + rows * delta)

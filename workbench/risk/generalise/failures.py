"""What a generalised table still reveals, counted on the steward's own rows, and what ε would allow instead.

Three failures: all rows of a class have one sensitive value (homogeneity); somebody can rule out the other ones
(background knowledge); two generalised tables of the same people, each allowed by itself, leave one value when they are
compared (composition). Private: computed from the rows.

What ε would allow is said of noisy rows: their ε holds for replacing a row's values, so that no release multiplies the
odds of one value against the others by more than e^ε. Beside it is what an attacker who knows whose row is whose gets
from such a release of the same table, the sensitive column by k-ary randomised response with all of ε: exactly, from
the chances of its answers (:func:`_believed`); nothing is drawn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from workbench.privacy.accounting.posterior import posterior
from workbench.privacy.local.mechanism_table import EPSILON_CAP
from workbench.privacy.local.mechanisms.grr import integer_probabilities
from workbench.privacy.local.sampler import TOTAL
from workbench.risk.attacks.outcome import percent
from workbench.risk.generalise.generalised import Generalised
from workbench.risk.generalise.losses import DISCERNIBILITY, Outcome
from workbench.risk.generalise.problem import Node, Problem, Reals, Sensitive, Truths, Whole
from workbench.risk.generalise.search import Goal, Search
from workbench.risk.hierarchies.builders import in_order
from workbench.risk.hierarchies.hierarchy import ANY, Hierarchy

_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Failure:
    """How one failure turns out."""

    name: str
    sensitive: str
    rows: int  # how many people's value is certain
    published: int
    # Of one of them, the published labels, by quasi-identifier; of composition those of both tables.
    example: tuple[str, ...]
    value: str  # the value of this person
    # The share of that value among all rows that do not have the value `ruled_out`: what one believes without any
    # table.
    prior: float
    allowed: float  # what noisy rows with ε let one believe at the most
    epsilon: float  # that ε; for composition the sum of both
    believed: float = 0.0  # what randomised response with ε lets one believe in that value where it is true, on average
    values: int = 0  # the number of values that are its answers
    ruled_out: str = ""  # the value that somebody has to rule out; empty where there is none

    @property
    def share(self) -> float:
        """The share of people whose value is certain."""
        return self.rows / self.published if self.published else 0.0

    @property
    def sentence(self) -> str:
        """What happens, in words."""
        if not self.rows:
            return NONE[self.name].format(sensitive=self.sensitive)
        labels = ", ".join(self.example)
        return FOUND[self.name].format(
            rows=f"{self.rows:,}",
            published=f"{self.published:,}",
            sensitive=self.sensitive,
            labels=labels,
            value=self.value,
        )

    @property
    def instead(self) -> str:
        """What a release with ε would allow, in words; empty where nothing is certain."""
        if not self.rows:
            return ""
        stated = BOTH if self.name == "composition" else RULED_OUT if self.ruled_out else INSTEAD
        return stated.format(
            value=self.value,
            prior=percent(self.prior),
            allowed=percent(self.allowed),
            epsilon=f"{self.epsilon:g}",
            ruled_out=self.ruled_out,
        )

    @property
    def reached(self) -> str:
        """What an attacker gets from such a release of the same table, in words; empty where nothing is certain."""
        if not self.rows:
            return ""
        return (REACHED_BY_BOTH if self.name == "composition" else REACHED).format(
            value=self.value, sensitive=self.sensitive, values=f"{self.values:,}", believed=percent(self.believed)
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it: what happens, what ε would allow instead, and what an attacker gets then."""
        return tuple(filter(None, (self.sentence, self.instead, self.reached)))


FOUND = {
    "homogeneity": "The {sensitive} of {rows} of {published} people is certain: everybody published as {labels} has "
    "“{value}”.",
    "background": "Whoever can rule out one value knows the {sensitive} of {rows} of {published} people: for example, "
    "“{value}” for those published as {labels}.",
    "composition": "Two generalised tables of these rows, each allowed by itself, reveal the {sensitive} of {rows} of "
    "{published} people when they are compared: for {labels}, only “{value}” is in both classes.",
}
NONE = {
    "homogeneity": "No class has a single {sensitive}.",
    "background": "Ruling out one value reveals no {sensitive}.",
    "composition": "The second table reveals no {sensitive}.",
}
INSTEAD = (
    "Noisy rows with ε = {epsilon} would let a belief of {prior} in “{value}” rise to at most {allowed}, "
    "whatever else is known and whatever the rows are."
)
RULED_OUT = (
    "With “{ruled_out}” ruled out, noisy rows with ε = {epsilon} would let a belief of {prior} in “{value}” "
    "rise to at most {allowed}, whatever the rows are."
)
BOTH = (
    "Two releases of noisy rows add up: with ε = {epsilon} together, a belief of {prior} in “{value}” could "
    "rise to at most {allowed}."
)
REACHED = (
    "If {sensitive} were released by k-ary randomised response over its {values} values, an attacker who knows "
    "whose row is whose would believe a true “{value}” with probability {believed} on average."
)
REACHED_BY_BOTH = (
    "If {sensitive} were released twice by k-ary randomised response over its {values} values, with half of ε "
    "each time, an attacker who knows whose row is whose would believe a true “{value}” with probability "
    "{believed} on average."
)


def failures(found: Generalised, epsilon: float = 1.0) -> list[Failure]:
    """Return what is certain in a generalised table, for each sensitive column, beside a release with ``epsilon``."""
    second = second_table(found)
    out = []
    for sensitive in found.problem.sensitive:
        out.append(_failure(found, sensitive, "homogeneity", _certain(found.outcome, sensitive, 1), epsilon))
        if len(sensitive.share) > 2:  # of two values, who rules out one knows the other, whatever is published
            out.append(_failure(found, sensitive, "background", _certain(found.outcome, sensitive, 2), epsilon))
        if second is not None:
            left = _common(found.problem, found.outcome, second, sensitive)
            out.append(_failure(found, sensitive, "composition", left, 2 * epsilon, second))
    return out


def second_table(found: Generalised) -> Outcome | None:
    """Return another allowed table of the same rows, as somebody else might have published it.

    Of the nodes that neither refine nor coarsen the first it is the one that loses least; where the search knows of
    none, one that cuts a column in two halves and publishes no other one. ``None`` where that is not allowed either.
    """
    first = found.outcome.levels
    allowed = [tried for tried in found.tried if tried.loss is not None]
    if isinstance(first, tuple):
        allowed = [t for t in allowed if any(a < b for a, b in zip(t.node, first, strict=True))]
        allowed = [t for t in allowed if any(a > b for a, b in zip(t.node, first, strict=True))]
    if isinstance(first, tuple) and allowed:
        return _outcome(found, found.problem, min(allowed, key=lambda t: (t.loss, t.node)).node)
    return _halves(found)


def _halves(found: Generalised) -> Outcome | None:
    problem = found.problem
    place = max(range(len(problem.names)), key=lambda place: len(problem.hierarchies[place].values))
    values = problem.hierarchies[place].values
    if len(values) < 2 or "" in values:
        return None
    rows = np.bincount(problem.columns[place], weights=problem.count, minlength=len(values))
    order = in_order(values)
    below = np.cumsum([rows[values.index(value)] for value in order])
    cut = min(max(int(np.searchsorted(below, problem.rows / 2)) + 1, 1), len(order) - 1)
    lower = set(order[:cut])
    halves = [f"{order[0]}–{order[cut - 1]}", f"{order[cut]}–{order[-1]}"]
    cut_in_two = Hierarchy((values, tuple(halves[value not in lower] for value in values), tuple(ANY for _ in values)))
    hierarchies = tuple(cut_in_two if at == place else h for at, h in enumerate(problem.hierarchies))
    own = dataclasses.replace(problem, hierarchies=hierarchies, memo={}, _kept=[])
    return _outcome(found, own, tuple(1 if at == place else h.height for at, h in enumerate(hierarchies)))


def _outcome(found: Generalised, problem: Problem, node: Node) -> Outcome | None:
    """Return what a node is like; ``None`` where it is not allowed."""
    limit = int(found.method.suppression * problem.rows + 1e-9)
    search = Search(problem, Goal(models=found.models, limit=limit, loss=DISCERNIBILITY))
    search.judge(node)
    return None if search.best is None else search.best[1]


def _certain(outcome: Outcome, sensitive: Sensitive, most: int) -> Truths:
    """Return which rows are in a published class with at most ``most`` different values; shape (rows,)."""
    count = outcome.problem.histograms(
        outcome.groups, sensitive, outcome.kept, lambda counts: (counts > 0).sum(axis=1).astype(np.int64)
    )
    few: Truths = ((count >= 1) & (count <= most))[outcome.groups.of]
    return few[outcome.problem.entry_of]


def _common(problem: Problem, one: Outcome, other: Outcome, sensitive: Sensitive) -> Truths:
    """Return which rows, published in both tables, have only one value in common to both classes; shape (rows,)."""
    entries, values = len(problem.count), len(sensitive.share)
    both = np.flatnonzero(one.kept_entries & other.kept_entries & (problem.count > 0))
    seen = [_occurs(outcome, sensitive) for outcome in (one, other)]
    alone = np.zeros(entries, dtype=np.bool_)
    at_once = max(1, _CELLS_AT_ONCE // values)
    for begin in range(0, len(both), at_once):
        part = both[begin : begin + at_once]
        common = np.ones((len(part), values), dtype=np.bool_)
        for outcome, occurs in zip((one, other), seen, strict=True):
            of = outcome.groups.of[part]
            keys = of[:, None] * values + np.arange(values)
            common &= np.isin(keys, occurs)
        alone[part] = common.sum(axis=1) == 1
    found: Truths = alone[problem.entry_of]
    return found


def _occurs(outcome: Outcome, sensitive: Sensitive) -> Whole:
    """Return the pairs of a class and a value that occur, as one number each."""
    pairs: Whole = np.unique(outcome.groups.of[sensitive.entry] * len(sensitive.share) + sensitive.value)
    return pairs


def _failure(
    found: Generalised, sensitive: Sensitive, name: str, certain: Truths, epsilon: float, second: Outcome | None = None
) -> Failure:
    published = int(found.outcome.sizes.sum())
    rows = np.flatnonzero(certain)
    if not len(rows):
        return Failure(name, sensitive.name, 0, published, (), "", 0.0, 0.0, epsilon)
    # The rarest value is the one whose disclosure says most.
    values = found.table.column(sensitive.name).alias("value")
    shares = _shares(values)
    row = int(rows[np.argmin(shares[rows])])
    labels = _labels(row, found.outcome)
    if second is not None:
        labels = [a if a == b else f"{a} / {b}" for a, b in zip(labels, _labels(row, second), strict=True)]
    others = values.filter(values.ne_missing(values[row])).value_counts()
    count = others["count"].to_numpy().copy()
    ruled_out = _beside(row, found.outcome, values) if name == "background" else []
    count[others["value"].is_in(ruled_out, nulls_equal=True).to_numpy()] = 0
    own = round(float(shares[row]) * len(values))
    prior, count = own / (own + count.sum()), count / (own + count.sum())
    return Failure(
        name,
        sensitive.name,
        len(rows),
        published,
        tuple(labels),
        _stated(values[row]),
        prior,
        posterior(epsilon, prior).high,
        epsilon,
        _believed(prior, count, epsilon, 1 if second is None else 2),
        1 + len(others),
        ", ".join(map(_stated, ruled_out)),
    )


def _stated(value: str | None) -> str:
    return "–" if value is None else str(value)


def _beside(row: int, outcome: Outcome, values: pl.Series) -> list[str | None]:
    """Return the values of a row's class other than its own."""
    of = outcome.groups.of[outcome.problem.entry_of]
    inside = values.filter(of == of[row]).unique()
    return inside.filter(inside.ne_missing(values[row])).to_list()


def _believed(own: float, others: Reals, epsilon: float, releases: int) -> float:
    """Return the belief in a value where it is true, on average over the answers of randomised response.

    The answers are as its sampler's integers make them. The belief is Bayes' from the shares of values. Two answers, of
    ``releases`` with ε / 2 each, are independent; values with one share are taken together.

    Args:
        own: the share of the value.
        others: that of each other value; shape (values − 1,).
        epsilon: ε of all releases together.
        releases: 1 or 2.
    """
    keep, other = (c / TOTAL for c in integer_probabilities(min(epsilon / releases, EPSILON_CAP), 1 + len(others)))
    share, times = np.unique(others, return_counts=True)
    share, times = np.append(share, own), np.append(times, 1.0)
    chance = np.append(np.full(len(share) - 1, other), keep)  # of an answer where the value is true
    if releases == 1:
        return float((times * own * chance**2 / (other + (keep - other) * share)).sum())
    pair = other**2 + other * (keep - other) * (share[:, None] + share)  # of two different answers, whoever it is
    alike = np.diagonal(pair)
    different = (times[:, None] * times * own * np.outer(chance, chance) ** 2 / pair).sum()
    same = times * own * chance**4 * (1 / (alike + (keep - other) ** 2 * share) - 1 / alike)
    return float(different + same.sum())


def _shares(values: pl.Series) -> Reals:
    """Return the share of each row's value among all rows; shape (rows,)."""
    counts: Reals = values.to_frame("value").select(pl.len().over("value")).to_series().to_numpy() / len(values)
    return counts


def _labels(row: int, outcome: Outcome) -> list[str]:
    problem = outcome.problem
    entry = problem.entry_of[row]
    levels: Sequence[int] = outcome.levels if isinstance(outcome.levels, tuple) else list(outcome.levels[entry])
    codes = [column[entry] for column in problem.columns]
    return [h.levels[level][code] for h, level, code in zip(problem.hierarchies, levels, codes, strict=True)]

"""A generalised table: how rows are recoded, its properties, and what a model learns from it.

Local recoding and cell suppression are heuristics in which rows are generalised by different amounts. Rows that are
allowed leave with what they have lost so far; those that remain climb further together. In local recoding an attribute
climbs by one level, in cell suppression to the top at once.

Where a model is about a population, its people climb and leave with the rows that their values are like, so that each
counts in one class alone. That is strict: a class that was published later may be hers, too, and is judged without her.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from workbench.data.table import Table
from workbench.params import InputError, ParameterError, Parameters, choice, real
from workbench.risk.generalise.losses import LOSSES, Outcome, loss
from workbench.risk.generalise.models import PrivacyModel
from workbench.risk.generalise.problem import Asked, Node, Problem, Truths, Whole, problem
from workbench.risk.generalise.search import Goal, Search, Tried, greedy, optimal, remaining
from workbench.risk.hierarchies.builders import values_of
from workbench.risk.hierarchies.hierarchy import Hierarchy
from workbench.signals import Progress
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore


def local(search: Search) -> Outcome:
    """Return an allowed outcome in which rows have levels of their own."""
    return _recoded(search, step=1)


def cells(search: Search) -> Outcome:
    """Return an allowed outcome in which single cells are suppressed and nothing else is generalised."""
    return _recoded(search, step=10**6)


@dataclass(eq=False)
class _Rest:
    """The entries that are not allowed yet."""

    problem: Problem
    entries: Whole
    levels: Whole
    batches: list[Whole] = field(default_factory=list)

    def leave(self, node: Node, models: Sequence[PrivacyModel]) -> None:
        """Let what is allowed at ``node`` leave."""
        allowed, of = _allowed(self.problem, node, models)
        gone = allowed[of]
        if not gone.any():
            return
        self.levels[self.entries[gone]] = node
        order = np.argsort(of[gone], kind="stable")
        self.batches += np.split(self.entries[gone][order], np.flatnonzero(np.diff(of[gone][order])) + 1)
        stays = np.flatnonzero(~gone)
        self.problem, self.entries = self.problem.part(stays), self.entries[stays]

    @property
    def rows(self) -> int:
        """How many rows remain."""
        return int(self.problem.count.sum())


def _recoded(search: Search, step: int) -> Outcome:
    problem, goal = search.problem, search.goal
    counted = problem.count > 0
    if any(model.needs == "population" for model in goal.models):
        counted |= problem.population > 0
    entries = np.flatnonzero(counted)
    start = np.full((len(problem.count), len(problem.names)), problem.top)
    rest, node = _Rest(problem.part(entries), entries, start), problem.bottom
    rest.leave(node, goal.models)
    while rest.rows and node != problem.top:
        search.cancel.check()
        node = _next(rest.problem, node, step, goal.models)
        rest.leave(node, goal.models)
        search.emit(Progress(problem.rows - rest.rows, problem.rows, "recoding"))
    outcome = _outcome(search, rest)
    if outcome is None:
        _pull_back(search, rest)
        outcome = _outcome(search, rest)
    if outcome is None:
        raise InputError(
            "no recoding was found", hint="allow more suppressed rows, or relax the privacy models", code="no-solution"
        )
    search.best = goal.loss.of(outcome), outcome
    return outcome


def _outcome(search: Search, rest: _Rest) -> Outcome | None:
    """Return what is published; ``None`` where that is not allowed."""
    problem, goal = search.problem, search.goal
    groups = problem.published(rest.levels)
    judged = groups.occupied
    for model in goal.models:
        judged = model.allows(problem, groups, judged)
    kept = remaining(goal.models, problem, groups, judged)[0]
    found = None if kept is None else Outcome(problem, groups, kept, rest.levels)
    return None if found is None or found.suppressed > goal.limit else found


def _allowed(problem: Problem, node: Node, models: Sequence[PrivacyModel]) -> tuple[Truths, Whole]:
    groups = problem.grouped(node)
    judged = groups.occupied
    for model in models:
        judged = model.suffices(problem, groups, judged)
    return judged, groups.of


def _next(problem: Problem, node: Node, step: int, models: Sequence[PrivacyModel]) -> Node:
    """Return the node to climb to: the one that lets most rows leave for what it loses."""
    best: tuple[float, Node] | None = None
    for place, top in enumerate(problem.top):
        if node[place] == top:
            continue
        level = min(node[place] + step, top)
        up = (*node[:place], level, *node[place + 1 :])
        allowed, of = _allowed(problem, up, models)
        saved = int(problem.count[allowed[of]].sum())
        column = problem.columns[place]
        lost = float(
            ((problem.spread[place][level] - problem.spread[place][node[place]])[column] * problem.count).sum()
        )
        merit = (saved + 1) / (lost + 1e-9)
        if best is None or merit > best[0]:
            best = merit, up
    assert best is not None
    return best[1]


def _pull_back(search: Search, rest: _Rest) -> None:
    """Generalise classes that have left to the top as well, the last and smallest first, until the rest is allowed."""
    problem, models = search.problem, search.goal.models
    batches = list(reversed(rest.batches))
    pulled = 1
    while True:
        search.cancel.check()
        taken = batches[:pulled]
        top = np.concatenate([rest.entries, *taken])
        lone = problem.part(top)
        if _allowed(lone, lone.top, models)[0].all() or pulled > len(batches):
            rest.levels[top] = problem.top
            return
        pulled *= 2


METHODS: Mapping[str, Callable[[Search], Outcome]] = {
    "optimal": optimal,
    "greedy": greedy,
    "local": local,
    "cells": cells,
}
"""Full domain with the least loss, the same by a heuristic, local recoding, and cell suppression."""


@dataclass(frozen=True, kw_only=True)
class Method(Parameters):
    """How a table is generalised."""

    method: str = choice(
        choices=tuple(METHODS),
        default="optimal",
        help="optimal or greedy: one level per column; local: levels differ by row; cells: suppresses single cells",
    )
    loss: str = choice(choices=tuple(one.name for one in LOSSES), default="granularity", help="the loss to minimise")
    suppression: float = real(default=0, at_least=0, upto=1, symbol="R", help="maximum share of suppressed rows")


@dataclass(frozen=True, eq=False)
class Generalised:
    """The result."""

    table: Table
    asked: Asked
    models: tuple[PrivacyModel, ...]
    method: Method
    outcome: Outcome  # the classes and levels
    tried: tuple[Tried, ...]  # the nodes that the search looked at; empty of a method that has none

    @property
    def problem(self) -> Problem:
        """The rows as the search saw them."""
        return self.outcome.problem

    @property
    def full_domain(self) -> bool:
        """Whether all rows have the same levels."""
        return isinstance(self.outcome.levels, tuple)

    @cached_property
    def levels(self) -> dict[str, int | list[int]]:
        """The level of each quasi-identifier; the lowest and the highest one where rows have levels of their own."""
        levels = self.outcome.levels
        if isinstance(levels, tuple):
            return dict(zip(self.asked.quasi, map(int, levels), strict=True))
        kept = levels[self.outcome.kept_entries & (self.problem.count > 0)]
        return {
            name: [int(kept[:, place].min()), int(kept[:, place].max())] for place, name in enumerate(self.asked.quasi)
        }

    @property
    def k(self) -> int:
        """The number of rows of the smallest published class."""
        return int(self.outcome.sizes.min(initial=self.problem.rows))

    @cached_property
    def losses(self) -> dict[str, float]:
        """Every loss that can be computed, by its name."""
        target = self.problem.target is not None
        return {one.name: one.of(self.outcome) for one in LOSSES if one.needs != "target" or target}

    def labels(self, place: int) -> tuple[list[str], Whole]:
        """Return labels of the quasi-identifier ``place``, and which one each row has."""
        hierarchy, entry_of = self.problem.hierarchies[place], self.problem.entry_of
        code = self.problem.columns[place][entry_of]
        levels = self.outcome.levels
        if isinstance(levels, tuple):
            return list(hierarchy.levels[levels[place]]), code
        flat = [label for level in hierarchy.levels for label in level]
        return flat, levels[entry_of, place] * len(hierarchy.values) + code

    @cached_property
    def published_rows(self) -> Whole:
        """The places of the rows that are published."""
        return np.flatnonzero(self.outcome.kept_entries[self.problem.entry_of])

    def frame(self, keep: Iterable[str] = (), rows: Whole | None = None) -> pl.DataFrame:
        """Return the published table: text; in the order of the original columns.

        Args:
            keep: columns that are published as they are, besides the sensitive ones.
            rows: which rows of the original, in their order; by default all that are published.
        """
        chosen = self.published_rows if rows is None else rows
        wanted = {*self.asked.quasi, *self.asked.sensitive, *keep}
        self.table.require(sorted(wanted))
        columns: dict[str, pl.Series] = {}
        for name in self.table.names:
            if name in self.asked.quasi:
                labels, place = self.labels(self.asked.quasi.index(name))
                found = pl.Series(labels, dtype=pl.String).gather(place[chosen])
                columns[name] = found.set(found == "", None)
            elif name in wanted:
                columns[name] = self.table.column(name).cast(pl.String).gather(chosen)
        return pl.DataFrame(columns)

    def vocabulary(self, name: str) -> list[list[str]]:
        """Return each label of a quasi-identifier that is published, followed by the labels above it."""
        place = self.asked.quasi.index(name)
        hierarchy = self.problem.hierarchies[place]
        entries = np.flatnonzero(self.outcome.kept_entries & (self.problem.count > 0))
        levels = self.outcome.levels
        own = np.full(len(entries), levels[place]) if isinstance(levels, tuple) else levels[entries, place]
        pairs = np.unique(np.stack([own, self.problem.columns[place][entries]]), axis=1).T
        chains: dict[str, list[str]] = {}
        for level, code in pairs:
            chain = [labels[code] for labels in hierarchy.levels[level:]]
            chains.setdefault(chain[0], chain)
        return sorted(chains.values())

    def mapping(self, name: str) -> list[tuple[str, str]]:
        """Return what each value of a quasi-identifier became, each pair once, of rows that are published. Private."""
        place = self.asked.quasi.index(name)
        labels, at = self.labels(place)
        values = self.table.column(name).cast(pl.String).fill_null("")
        pairs = pl.DataFrame([values.rename("value"), pl.Series("label", labels).gather(at)])[self.published_rows]
        return [(str(a), str(b)) for a, b in pairs.unique().sort("value", "label").iter_rows()]


def chosen_models(given: Iterable[PrivacyModel]) -> tuple[PrivacyModel, ...]:
    """Return those models that are asked for.

    Raises:
        ParameterError: none is.
    """
    found = tuple(model for model in given if model.asked)
    if not found:
        raise ParameterError("no privacy model is selected", hint="set k, for example")
    return found


def answerable(
    given: Iterable[PrivacyModel], asked: Asked, how: Method, *, population: bool
) -> tuple[PrivacyModel, ...]:
    """Return the models that are asked for, once all that they and the loss need was named; no row is needed for it.

    Raises:
        ParameterError: no model is asked for, or one needs what was not named.
    """
    models = chosen_models(given)
    for model in models:
        if model.needs == "sensitive" and not asked.sensitive:
            what = f"{model.title} needs a sensitive column"
            raise ParameterError(what, "sensitive", "choose one")
        if model.needs == "population" and not population:
            what = f"{model.title} needs a table of the population"
            raise ParameterError(what, "population", "choose one")
    if loss(how.loss).needs == "target" and asked.target is None:
        raise ParameterError("the loss classification needs a column to predict", "target", "choose one")
    return models


def _without_header(hierarchy: Hierarchy, name: str, tables: Sequence[Table]) -> Hierarchy:
    known = {value for table in tables if name in table.names for value in values_of(table, name)}
    return hierarchy.without_header(name, known)


def generalise(
    table: Table,
    asked: Asked,
    hierarchies: Mapping[str, Hierarchy],
    models: tuple[PrivacyModel, ...],
    method: Method | None = None,
    population: Table | None = None,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> Generalised:
    """Return a table generalised as asked.

    Raises:
        InputError: something is missing, a value has no line in its hierarchy, or nothing is allowed.
        ParameterError: no model is asked for, or one needs what was not named.
    """
    how = method or Method()
    models = answerable(models, asked, how, population=population is not None)
    absent = [name for name in asked.quasi if name not in hierarchies]
    if absent:
        raise InputError(
            f"the column {absent[0]} has no hierarchy", hint="make one", code="no-hierarchy", field=absent[0]
        )
    table.require([*asked.quasi, *asked.sensitive, *([asked.target] if asked.target else [])])
    people = [table] if population is None else [table, population]
    bare = {name: _without_header(hierarchy, name, people) for name, hierarchy in hierarchies.items()}
    made = problem(table, asked, bare, population)
    goal = Goal(models=models, limit=int(how.suppression * made.rows + 1e-9), loss=loss(how.loss))
    search = Search(made, goal, emit, cancel)
    outcome = METHODS[how.method](search)
    if not len(outcome.sizes):
        raise InputError(
            "every row would be suppressed", hint="relax the privacy models, or add hierarchies", code="no-solution"
        )
    return Generalised(table, asked, models, how, outcome, tuple(search.tried.values()))


FOLDS = 5


@dataclass(frozen=True)
class Accuracy:
    """Shares of right predictions of rows that the classifier was not trained on; a guess says the commonest value."""

    before: float
    after: float
    guess: float


def accuracy(found: Generalised) -> Accuracy | None:
    """Return the accuracy of a naive Bayes classifier on the rows that are published, by cross-validation.

    ``None`` where no column is to be predicted, or one of its values has fewer rows than there are folds.
    """
    if found.asked.target is None:
        return None
    rows = found.published_rows
    target = found.table.column(found.asked.target).gather(rows).fill_null("").to_numpy()
    values, y, counts = np.unique(target.astype(str), return_inverse=True, return_counts=True)
    if len(values) < 2 or counts.min() < FOLDS:
        return None
    before, after = [], []
    for place in range(len(found.asked.quasi)):
        before.append(found.problem.columns[place][found.problem.entry_of][rows])
        labels, at = found.labels(place)
        text = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        after.append(np.array([text[label] for label in labels], dtype=np.int64)[at[rows]])
    guess = float(counts.max() / len(y))
    return Accuracy(_scored(np.stack(before, axis=1), y), _scored(np.stack(after, axis=1), y), guess)


def _scored(x: Whole, y: Whole) -> float:
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.naive_bayes import CategoricalNB

    model = CategoricalNB(min_categories=x.max(axis=0) + 1)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    return float(np.mean(cross_val_score(model, x, y, cv=folds)))

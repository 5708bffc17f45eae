"""Local recoding and cell suppression: heuristics in which rows are generalised by different amounts.

Rows that are allowed leave with what they have lost so far; those that remain climb further together. In local
recoding an attribute climbs by one level, in cell suppression to the top at once.

Where a model is about a population, its people climb and leave with the rows that their values are like, so that each
counts in one class alone. That is strict: a class that was published later may be hers, too, and is judged without her.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.params import InputError
from workbench.risk.generalise.losses.base import Outcome
from workbench.risk.generalise.models.base import PrivacyModel
from workbench.risk.generalise.problem import Node, Problem, Truths, Whole
from workbench.risk.generalise.search import Search, remaining
from workbench.signals import Progress


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
            "no recoding was found", hint="allow more suppressed rows, or ask for less", code="no-solution"
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
        judged = model.allows(problem, groups, judged)
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

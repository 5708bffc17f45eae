"""Full-domain search: one level for each quasi-identifier, the same for all rows.

The optimal search takes the nodes in the order of what they lose at least. Where coarser nodes never suppress more rows
(see ``PrivacyModel.survives``), it bisects the chain from a node to the top: a node that suppresses too much excludes
every node below it, unseen (predictive tagging, as in OLA and Flash; Kohlmayer et al. 2012). A node that cannot lose
less than the best one found is never grouped. Both are exact for every model and loss here, also where suppression
makes them non-monotone.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.params import InputError
from workbench.risk.generalise.losses.base import Lattice, Loss, Outcome
from workbench.risk.generalise.models.base import PrivacyModel
from workbench.risk.generalise.problem import Groups, Node, Problem, Truths
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, ignore

_EXACT = 1 - 1e-12
"""Bounds and losses are sums in different orders, which differ in their last digits."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a generalised table must be like.

    Attributes:
        models: all of them must allow every class.
        limit: how many rows may be suppressed.
        loss: what is as small as possible.
    """

    models: tuple[PrivacyModel, ...]
    limit: int
    loss: Loss


@dataclass(frozen=True)
class Tried:
    """A node that was grouped.

    Attributes:
        node: its levels.
        loss: what it loses; ``None`` where it is not allowed.
        suppressed: how many rows it suppresses; ``None`` where the table as a whole cannot be allowed.
    """

    node: Node
    loss: float | None
    suppressed: int | None


@dataclass(eq=False)
class Search:
    """A search that is going on.

    Attributes:
        problem: the rows.
        goal: what is looked for.
        emit: receives progress.
        cancel: looked at before each node.
        tried: every node that was grouped.
        best: the best outcome, with its loss.
    """

    problem: Problem
    goal: Goal
    emit: Emit = ignore
    cancel: CancelToken = field(default_factory=CancelToken)
    tried: dict[Node, Tried] = field(default_factory=dict)
    best: tuple[float, Outcome] | None = None

    @property
    def monotone(self) -> bool:
        """Whether some node can exclude those below it."""
        return any(_excludes(model, self.goal.limit) for model in self.goal.models)

    def judge(self, node: Node) -> tuple[Groups, bool]:
        """Group a node, note what it is like, and return its classes and whether nodes below it are excluded."""
        self.cancel.check()
        problem, goal = self.problem, self.goal
        groups = problem.grouped(node)
        judged, excluded = groups.occupied, False
        for model in sorted(goal.models, key=lambda model: not _excludes(model, goal.limit)):
            judged = model.allows(problem, groups, judged)
            if problem.rows - int(groups.sizes[judged].sum()) > goal.limit:
                excluded = _excludes(model, goal.limit)
                self.tried[node] = Tried(node, None, problem.rows - int(groups.sizes[judged].sum()))
                return groups, excluded
        kept, blames = remaining(goal.models, problem, groups, judged)
        if kept is None:
            self.tried[node] = Tried(node, None, None)
            return groups, goal.limit == 0 and blames is not None and blames.monotone
        outcome = Outcome(problem, groups, kept, node)
        if outcome.suppressed > goal.limit:
            self.tried[node] = Tried(node, None, outcome.suppressed)
            return groups, goal.limit == 0 and blames is not None and blames.monotone
        loss = goal.loss.of(outcome)
        self.tried[node] = Tried(node, loss, outcome.suppressed)
        if self.best is None or (loss, sum(node), node) < (self.best[0], sum(self._node), self._node):
            self.best = loss, outcome
        return groups, False

    @property
    def _node(self) -> Node:
        assert self.best is not None
        assert isinstance(self.best[1].levels, tuple)
        return self.best[1].levels

    def result(self) -> Outcome:
        """Return the best outcome.

        Raises:
            InputError: no node is allowed.
        """
        if self.best is None:
            what = "no generalisation of this table is allowed"
            raise InputError(what, hint="allow more suppressed rows, or ask for less", code="no-solution")
        return self.best[1]


def _excludes(model: PrivacyModel, limit: int) -> bool:
    """Return whether a node that suppresses too many rows for ``model`` says so of every node below it."""
    return model.survives or (limit == 0 and model.monotone)


def remaining(
    models: Sequence[PrivacyModel], problem: Problem, groups: Groups, kept: Truths
) -> tuple[Truths | None, PrivacyModel | None]:
    """Return which classes remain so that the table as a whole is allowed, and the model that took the last ones away.

    A model may take classes away, which may matter to the others: they are asked until nothing changes.
    """
    blames: PrivacyModel | None = None
    while True:
        before = int(kept.sum())
        for model in models:
            count = int(kept.sum())
            found = model.whole(problem, groups, kept)
            if found is None:
                return None, model
            kept = found
            blames = model if int(kept.sum()) < count else blames
        if int(kept.sum()) == before:
            return kept, blames


def optimal(search: Search) -> Outcome:
    """Return the allowed outcome of a full-domain generalisation that loses least.

    Raises:
        InputError: there is none.
    """
    problem = search.problem
    bound: Lattice = np.broadcast_to(search.goal.loss.floor(problem), _shape(problem)).astype(np.float64) * _EXACT
    out = np.zeros(bound.shape, dtype=np.bool_)
    queue = [(float(b), sum(node), node) for node, b in np.ndenumerate(bound)]
    heapq.heapify(queue)
    while queue:
        least, height, node = heapq.heappop(queue)
        if out[node] or node in search.tried:
            continue
        if search.best is not None and least >= search.best[0]:
            break
        if bound[node] > least:
            heapq.heappush(queue, (float(bound[node]), height, node))
            continue
        chain = _chain(node, problem.top) if search.monotone else [node]
        low, high = 0, len(chain)
        while low < high:  # the lowest node of the chain that excludes none below it
            middle = (low + high) // 2
            if _visit(search, chain[middle], bound, out):
                low = middle + 1
            else:
                high = middle
        search.emit(Progress(int(out.sum()) + len(search.tried), problem.nodes, "searching"))
    return search.result()


def _visit(search: Search, node: Node, bound: Lattice, out: Lattice) -> bool:
    """Judge a node and note what follows for others; return whether it excludes those below it."""
    if out[node]:
        return True
    if node in search.tried:
        return False
    groups, excluded = search.judge(node)
    above = tuple(slice(level, None) for level in node)
    np.maximum(bound[above], search.goal.loss.least(search.problem, groups) * _EXACT, out=bound[above])
    if excluded:
        out[tuple(slice(None, level + 1) for level in node)] = True
    return excluded


def _chain(node: Node, top: Node) -> list[Node]:
    """Return a chain of nodes from ``node`` to the top, each one level above the one before."""
    chain = [node]
    while chain[-1] != top:
        # The attribute with most levels left next: the chain stays in the middle of what is still open.
        last = chain[-1]
        places = [place for place in range(len(top)) if last[place] < top[place]]
        step = max(places, key=lambda place: (top[place] - last[place]) / top[place])
        chain.append((*last[:step], last[step] + 1, *last[step + 1 :]))
    return chain


def greedy(search: Search) -> Outcome:
    """Return a good outcome of a full-domain generalisation, found by climbing and then descending.

    Each step up raises the attribute that saves most rows from suppression for what it loses; then every attribute is
    lowered again as long as that is allowed and loses less.

    Raises:
        InputError: nothing was found.
    """
    problem, node = search.problem, search.problem.bottom
    search.judge(node)
    climbed = sum(problem.top) or 1
    while search.tried[node].loss is None and node != problem.top:
        steps = [up for place in range(len(node)) if (up := _moved(node, place, 1, problem.top)) is not None]
        floor = search.goal.loss.floor(problem)
        for step in steps:
            if step not in search.tried:
                search.judge(step)
        node = min(steps, key=lambda step: _merit(search, node, step, floor))
        search.emit(Progress(sum(node), climbed, "searching"))
    while search.best is not None:
        node = search._node
        downs = [down for place in range(len(node)) if (down := _moved(node, place, -1, problem.top)) is not None]
        for down in downs:
            if down not in search.tried:
                search.judge(down)
        if search._node == node:
            break
    return search.result()


def _merit(search: Search, node: Node, step: Node, floor: Lattice) -> tuple[bool, float]:
    """Return how good a step is, less is better: what it loses for each row that it saves."""
    before, after = search.tried[node], search.tried[step]
    if after.loss is not None:
        return False, after.loss
    spread = np.broadcast_to(floor, _shape(search.problem))
    saved = (before.suppressed or search.problem.rows) - (after.suppressed or search.problem.rows)
    return True, float(spread[step] - spread[node] + 1e-9 * search.problem.rows) / max(saved, 1e-3)


def _moved(node: Node, place: int, step: int, top: Node) -> Node | None:
    level = node[place] + step
    return (*node[:place], level, *node[place + 1 :]) if 0 <= level <= top[place] else None


def _shape(problem: Problem) -> tuple[int, ...]:
    return tuple(height + 1 for height in problem.top)


def every_node(problem: Problem) -> itertools.product[Node]:
    """Return every node of the lattice."""
    return itertools.product(*(range(height + 1) for height in problem.top))

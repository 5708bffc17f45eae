"""Full-domain search: one level for each quasi-identifier, the same for all rows.

The optimal search takes the nodes in the order of what they lose at least. Where coarser nodes never suppress more rows
(see ``PrivacyModel.survives``), it bisects the chain from a node to the top: a node that suppresses too much excludes
every node below it, unseen (predictive tagging, as in OLA and Flash; Kohlmayer et al. 2012). A node that cannot lose
less than the best one found is never grouped. Both are exact for every model and loss here, also where suppression
makes them non-monotone.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.params import InputError
from workbench.risk.generalise.losses import Lattice, Loss, Outcome
from workbench.risk.generalise.models import PrivacyModel
from workbench.risk.generalise.problem import Groups, Node, Problem, Truths
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, ignore

_EXACT = 1 - 1e-12  # bounds and losses are sums in different orders, which differ in their last digits

MOST_NODES = 10_000_000  # nodes of a lattice that is searched whole; each takes some 30 bytes

MOST_TRIED = 800  # nodes that the heuristic groups after it has descended

_NODES_A_STEP = 16


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a generalised table must be like: ``limit`` rows may be suppressed."""

    models: tuple[PrivacyModel, ...]
    limit: int
    loss: Loss


@dataclass(frozen=True)
class Tried:
    """A node that was grouped."""

    node: Node
    loss: float | None  # what it loses; `None` where it is not allowed
    suppressed: int | None  # how many rows it suppresses; `None` where the table as a whole cannot be allowed
    least: float = 0.0  # what it and every node above it lose at least, as far as its classes show


@dataclass(eq=False)
class Search:
    """A search that is going on."""

    problem: Problem
    goal: Goal
    emit: Emit = ignore
    cancel: CancelToken = field(default_factory=CancelToken)
    tried: dict[Node, Tried] = field(default_factory=dict)  # every node that was grouped
    best: tuple[float, Outcome] | None = None  # the best outcome, with its loss

    @property
    def monotone(self) -> bool:
        """Whether some node can exclude those below it."""
        return any(_excludes(model, self.goal.limit) for model in self.goal.models)

    def judge(self, node: Node) -> bool:
        """Group a node, note what it is like, and return whether nodes below it are excluded."""
        self.cancel.check()
        problem, goal = self.problem, self.goal
        groups = problem.grouped(node)
        judged, least = groups.occupied, goal.loss.least(problem, groups)
        for model in sorted(goal.models, key=lambda model: not _excludes(model, goal.limit)):
            judged = model.allows(problem, groups, judged)
            suppressed = problem.rows - int(groups.sizes[judged].sum())
            if suppressed > goal.limit:
                self.tried[node] = Tried(node, None, suppressed, least)
                return _excludes(model, goal.limit)
        kept, blames = remaining(goal.models, problem, groups, judged)
        outcome = None if kept is None else Outcome(problem, groups, kept, node)
        if outcome is None or outcome.suppressed > goal.limit:
            self.tried[node] = Tried(node, None, None if outcome is None else outcome.suppressed, least)
            return goal.limit == 0 and blames is not None and blames.monotone
        loss = goal.loss.of(outcome)
        self.tried[node] = Tried(node, loss, outcome.suppressed, least)
        if self.best is None or (loss, sum(node), node) < (self.best[0], sum(self._node), self._node):
            self.best = loss, outcome
        return False

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
            what = "no generalisation of this table meets the privacy models"
            raise InputError(what, hint="allow more suppressed rows, or relax the privacy models", code="no-solution")
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
        InputError: there is none, or the lattice is too large to be searched whole.
    """
    problem = search.problem
    if problem.nodes > MOST_NODES:
        what = f"the lattice has {problem.nodes:,} nodes, too many for an exhaustive search (at most {MOST_NODES:,})"
        raise InputError(what, hint="choose the method greedy or local, or use hierarchies with fewer levels")
    bound: Lattice = np.broadcast_to(search.goal.loss.floor(problem), _shape(problem)).astype(np.float64) * _EXACT
    out = np.zeros(bound.shape, dtype=np.bool_)
    for node in _by_bound(bound, search, out):
        chain = _chain(node, problem.top) if search.monotone else [node]
        low, high = 0, len(chain)
        while low < high:  # the lowest node of the chain that excludes none below it
            middle = (low + high) // 2
            if _visit(search, chain[middle], bound, out):
                low = middle + 1
            else:
                high = middle
        if len(search.tried) % _NODES_A_STEP == 0:
            search.emit(Progress(int(out.sum()), problem.nodes, "searching"))
    return search.result()


def _by_bound(bound: Lattice, search: Search, out: Lattice) -> Iterator[Node]:
    """Yield the nodes by what they lose at least, as long as one may lose less than the best that was found.

    ``bound`` and ``out`` change on the way: a node whose bound has risen comes later, one that is out not at all.
    """
    first = bound.ravel().copy()
    order, later = np.argsort(first, kind="stable"), list[tuple[float, int]]()
    at = 0
    while at < len(order) or later:
        if later and (at == len(order) or later[0][0] <= first[order[at]]):
            least, flat = heapq.heappop(later)
        else:
            least, flat = float(first[order[at]]), int(order[at])
            at += 1
        if search.best is not None and least >= search.best[0]:
            return
        node = tuple(map(int, np.unravel_index(flat, bound.shape)))
        if out[node] or node in search.tried:
            continue
        if bound[node] > least:
            heapq.heappush(later, (float(bound[node]), flat))
            continue
        yield node


def _visit(search: Search, node: Node, bound: Lattice, out: Lattice) -> bool:
    """Judge a node and note what follows for others; return whether it excludes those below it."""
    if out[node]:
        return True
    if node in search.tried:
        return False
    excluded = search.judge(node)
    above = tuple(slice(level, None) for level in node)
    np.maximum(bound[above], search.tried[node].least * _EXACT, out=bound[above])
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
    """Return a good outcome of a full-domain generalisation, found from the top down and then best first.

    It descends, each time by the attribute after which least is lost, as long as that is allowed. Then of all nodes
    that are known the one that loses least is left next, for each that is one level away from it in an attribute, or in
    two: one up, the other down. It ends after some nodes, or with the whole lattice.
    """
    problem, seen = search.problem, set[Node]()
    known, excluding = list[tuple[bool, float, int, Node]](), list[Node]()

    def take(node: Node) -> None:
        if node in seen or any(all(map(int.__le__, node, above)) for above in excluding):
            return
        seen.add(node)
        if search.judge(node):
            excluding.append(node)
        found = search.tried[node]
        gone = math.inf if found.suppressed is None else found.suppressed
        heapq.heappush(known, (found.loss is None, gone if found.loss is None else found.loss, sum(node), node))

    lowered: list[Node] = [problem.top]
    while lowered:
        for node in lowered:
            take(node)
        allowed = [node for node in lowered if node in search.tried and search.tried[node].loss is not None]
        best = min(allowed, key=lambda node: (search.tried[node].loss or 0.0, node), default=problem.bottom)
        steps = (_moved(best, place, -1, problem.top) for place in range(len(best)))
        lowered = [step for step in steps if step is not None]
    most = len(search.tried) + MOST_TRIED
    while known and len(search.tried) < most:
        *_, node = heapq.heappop(known)
        for other in _beside(node, problem.top):
            take(other)
        search.emit(Progress(len(search.tried), min(most, problem.nodes), "searching"))
    return search.result()


def _beside(node: Node, top: Node) -> Iterator[Node]:
    """Yield the nodes that are one level away in an attribute, or up in one and down in another."""
    for place in range(len(node)):
        for step in (-1, 1):
            moved = _moved(node, place, step, top)
            if moved is None:
                continue
            yield moved
            turned = (_moved(moved, other, -step, top) for other in range(len(node)) if other != place)
            yield from (node for node in turned if node is not None)


def _moved(node: Node, place: int, step: int, top: Node) -> Node | None:
    level = node[place] + step
    return (*node[:place], level, *node[place + 1 :]) if 0 <= level <= top[place] else None


def _shape(problem: Problem) -> tuple[int, ...]:
    return tuple(height + 1 for height in problem.top)

"""Small random tables with hierarchies, and a slow, plain reckoning of models and losses to compare with."""

import functools
import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from workbench.data.table import Table
from workbench.risk.generalise.problem import Asked, Problem, problem
from workbench.risk.hierarchies import Hierarchy


def random_hierarchy(rng: np.random.Generator, values: list[str]) -> Hierarchy:
    """Return a hierarchy in which each level joins some of the groups of the level below; the last is ``*``."""
    levels, groups = [tuple(values)], list(range(len(values)))
    for level in range(int(rng.integers(0, 3))):
        joined = {g: int(rng.integers(0, max(1, len(set(groups)) - 1))) for g in sorted(set(groups))}
        groups = [joined[g] for g in groups]
        levels.append(tuple(f"{level}-{g}" for g in groups))
    return Hierarchy((*levels, tuple("*" for _ in values)))


@functools.cache
def random_case(seed: int, *, population: bool) -> tuple[Problem, dict[str, Any]]:
    """Return a random problem of at most 40 rows, and the same as plain lists."""
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(6, 40)), int(rng.integers(1, 4))
    quasi = tuple(f"q{i}" for i in range(width))
    hierarchies, data = {}, {}
    for name in quasi:
        values = [f"{name}{v}" for v in range(int(rng.integers(2, 6)))]
        hierarchies[name] = random_hierarchy(rng, values)
        share = rng.dirichlet(np.ones(len(values)))
        data[name] = [values[v] for v in rng.choice(len(values), rows, p=share)]
    numbers = [str(v) for v in range(int(rng.integers(2, 5)))]
    data["s"] = [numbers[v] for v in rng.choice(len(numbers), rows, p=rng.dirichlet(np.full(len(numbers), 2)))]
    hierarchies["s"] = random_hierarchy(rng, numbers)
    data["y"] = [str(v) for v in rng.integers(0, 2, rows)]
    people: dict[str, list[str]] = {}
    if population:
        more = int(rng.integers(0, 40))
        for name in quasi:
            extra = [hierarchies[name].values[v] for v in rng.integers(0, len(hierarchies[name].values), more)]
            people[name] = data[name] + extra
    made = problem(
        Table(pl.DataFrame(data), "random"),
        Asked(quasi, ("s",), "y"),
        hierarchies,
        Table(pl.DataFrame(people), "people") if population else None,
    )
    return made, {"data": data, "people": people, "hierarchies": hierarchies, "quasi": quasi}


def labels(case: dict[str, Any], node: tuple[int, ...], data: dict[str, list[str]]) -> list[tuple[str, ...]]:
    """Return what each row becomes at a node."""
    columns = []
    for name, level in zip(case["quasi"], node, strict=True):
        hierarchy = case["hierarchies"][name]
        becomes = dict(zip(hierarchy.values, hierarchy.levels[level], strict=True))
        columns.append([becomes[value] for value in data[name]])
    return list(zip(*columns, strict=True))


def classes_at(case: dict[str, Any], node: tuple[int, ...]) -> dict[tuple[str, ...], list[int]]:
    """Return the rows of each class of a node."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row, label in enumerate(labels(case, node, case["data"])):
        found.setdefault(label, []).append(row)
    return found


def allowed(name: str, model: Any, case: dict[str, Any], node: tuple[int, ...], rows: list[int]) -> bool:
    """Return whether a class is allowed by a model, by its definition."""
    values = case["data"]["s"]
    all_, own = Counter(values), Counter(values[row] for row in rows)
    n, size = len(values), len(rows)
    order = sorted(all_, key=int)
    if name == "k-anonymity":
        return size >= model.k
    if name == "distinct-l-diversity":
        return len(own) >= model.l
    if name == "entropy-l-diversity":
        return -sum(c / size * math.log(c / size) for c in own.values()) >= math.log(model.entropy_l) - 1e-9
    if name == "recursive-l-diversity":
        falling = sorted(own.values(), reverse=True)
        return falling[0] < model.recursive_c * sum(falling[model.recursive_l - 1 :])
    if name == "t-closeness":
        gaps = tuple(own.get(v, 0) / size - all_[v] / n for v in order)
        return _distance(model.distance, gaps, tuple(order), case["hierarchies"]["s"]) <= model.t + 1e-9
    if name == "beta-likeness":
        for value, count in all_.items():
            limit = min(model.beta, -math.log(count / n)) if model.enhanced else model.beta
            if own.get(value, 0) / size > count / n * (1 + limit) + 1e-9:
                return False
        return True
    if name in ("delta-presence", "k-map"):
        label = labels(case, node, case["data"])[rows[0]]
        people = labels(case, node, case["people"]).count(label)
        if name == "k-map":
            return people >= model.k_map
        return bool(model.presence_from - 1e-9 <= size / people <= model.presence_upto + 1e-9)
    assert name == "average-risk"
    return True


@functools.cache
def _distance(kind: str, gaps: tuple[float, ...], order: tuple[str, ...], hierarchy: Hierarchy) -> float:
    """Return the earth mover's distance, by a linear programme over what is moved from where to where."""
    from scipy.optimize import linprog

    lines = {value: [level[place] for level in hierarchy.levels] for place, value in enumerate(hierarchy.values)}

    def far(a: int, b: int) -> float:
        if kind == "equal" or a == b:
            return float(a != b)
        if kind == "ordered":
            return abs(a - b) / (len(order) - 1)
        up = next(i for i, (x, y) in enumerate(zip(lines[order[a]], lines[order[b]], strict=True)) if x == y)
        return up / hierarchy.height

    m = len(order)
    if m == 1:
        return 0.0
    cost = [far(a, b) for a, b in itertools.product(range(m), repeat=2)]
    equal = np.zeros((m, m * m))
    for a, b in itertools.product(range(m), repeat=2):
        equal[a, a * m + b] += 1
        equal[b, a * m + b] -= 1
    return float(linprog(cost, A_eq=equal, b_eq=gaps, bounds=(0, None)).fun)


def judged(
    models: list[tuple[str, Any]], case: dict[str, Any], node: tuple[int, ...]
) -> tuple[list[list[int]], list[int]] | None:
    """Return the rows of each published class and the suppressed rows of a node; ``None`` where it cannot be."""
    kept = {
        label: rows
        for label, rows in classes_at(case, node).items()
        if all(allowed(name, model, case, node, rows) for name, model in models)
    }
    for name, model in models:
        if name == "average-risk":
            sizes = sorted({len(rows) for rows in kept.values()})
            for size in sizes:
                left = {label: rows for label, rows in kept.items() if len(rows) >= size}
                if len(left) / sum(map(len, left.values())) <= model.average_risk + 1e-9:
                    kept = left
                    break
            else:
                return None
    for name, model in models:
        if (
            name == "delta-presence"
            and model.presence_from > 0
            and not set(labels(case, node, case["people"])) <= set(kept)
        ):
            return None
    gone = sorted(set(range(len(case["data"]["s"]))) - {row for rows in kept.values() for row in rows})
    return list(kept.values()), gone


def fits_at(case: dict[str, Any], model: Any, node: tuple[int, ...]) -> bool:
    """Return whether every class of a node is allowed by one model."""
    made = judged([(model.name, model)], case, node)
    return made is not None and not made[1]


def lost(name: str, case: dict[str, Any], node: tuple[int, ...], kept: list[list[int]], gone: list[int]) -> float:
    """Return a loss of a node, by its definition."""
    n = len(case["data"]["s"])
    if name == "discernibility":
        return float(sum(len(rows) ** 2 for rows in kept) + n * len(gone))
    if name == "class-size":
        return n / max(1, len(kept) + bool(gone))
    if name == "classification":
        right = sum(max(Counter(case["data"]["y"][row] for row in rows).values()) for rows in kept)
        return 1 - right / n
    total = 0.0
    for column, level in zip(case["quasi"], node, strict=True):
        hierarchy, data = case["hierarchies"][column], case["data"][column]
        count = Counter(data)
        bits = -sum(c * math.log2(c / n) for c in count.values())
        for row, value in enumerate(data):
            at = hierarchy.height if row in gone else level
            label = hierarchy.levels[at][hierarchy.values.index(value)]
            same = [v for v, other in zip(hierarchy.values, hierarchy.levels[at], strict=True) if other == label]
            if name == "granularity":
                total += (len(same) - 1) / max(1, len(hierarchy.values) - 1) / n
            elif bits:
                total += -math.log2(count[value] / sum(count[v] for v in same)) / bits
    return total / len(case["quasi"])


def by_enumeration(
    models: list[tuple[str, Any]], loss: str, limit: int, case: dict[str, Any]
) -> tuple[float, set[tuple[int, ...]]] | None:
    """Return the least loss of all nodes and those that have it; ``None`` where no node is allowed."""
    found: dict[tuple[int, ...], float] = {}
    for node in itertools.product(*(range(case["hierarchies"][name].height + 1) for name in case["quasi"])):
        made = judged(models, case, node)
        if made is not None and len(made[1]) <= limit:
            found[node] = lost(loss, case, node, *made)
    if not found:
        return None
    least = min(found.values())
    return least, {node for node, value in found.items() if value <= least + 1e-9}

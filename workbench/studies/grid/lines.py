"""Finished runs of a sweep taken together: one line for each combination of the settings other than ε."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.studies.grid.runs_file import FinishedRun

EPSILON, NOISE = "epsilon", "noise"
_TO_EPSILON = (EPSILON, NOISE)
"""The settings that only decide where on the line a run stands."""


@dataclass(frozen=True)
class SweepPoint:
    """The repeats of one setting.

    Attributes:
        epsilon: the ε that was asked for, which no run exceeded, or where none was asked for the most that one cost.
        mean: mean accuracy on held-out rows.
        standard_error: of the mean; 0 of a single repeat.
        repeats: how many.
        runs: each of them.
    """

    epsilon: float
    mean: float
    standard_error: float
    repeats: int
    runs: tuple[FinishedRun, ...]


@dataclass(frozen=True)
class SweepLine:
    """A combination of settings at every ε that was tried.

    Attributes:
        name: what tells it from the others, such as ``batch=256, lr=0.5``.
        points: by ascending ε.
        majority: mean accuracy of always saying the largest class.
        network: the network's name in the program.
    """

    name: str
    points: tuple[SweepPoint, ...]
    majority: float
    network: str

    @property
    def best(self) -> float:
        """The mean accuracy over its points; lines are ranked by it."""
        return statistics.fmean(p.mean for p in self.points)


def sweep_lines(runs: Sequence[FinishedRun]) -> tuple[SweepLine, ...]:
    """Return the lines of ``runs``, in the order in which they first occur."""
    settings = [{n: v for n, v in run.setting.items() if n not in _TO_EPSILON} for run in runs]
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    varied = [n for n in names if len({_key(setting.get(n)) for setting in settings}) > 1]
    groups: dict[tuple[str, ...], dict[tuple[str, ...], list[FinishedRun]]] = {}
    for run, setting in zip(runs, settings, strict=True):
        key = tuple(f"{n}={_stated(setting.get(n))}" for n in varied)
        place = tuple(_key(run.setting.get(n)) for n in _TO_EPSILON)
        groups.setdefault(key, {}).setdefault(place, []).append(run)
    return tuple(_line(", ".join(key), places) for key, places in groups.items())


def _line(name: str, places: dict[tuple[str, ...], list[FinishedRun]]) -> SweepLine:
    points: dict[float, SweepPoint] = {}
    for runs in places.values():
        point = _point(runs)
        points.setdefault(point.epsilon, point)
    everything = [run for runs in places.values() for run in runs]
    majority = statistics.fmean(run.figures["majority"] for run in everything)
    network = str(everything[0].setting.get("network", ""))
    return SweepLine(name or "DP-SGD", tuple(points[e] for e in sorted(points)), majority, network)


def _point(runs: Sequence[FinishedRun]) -> SweepPoint:
    values = [run.figures["accuracy"] for run in runs]
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    spent, asked = max(run.figures["epsilon_spent"] for run in runs), runs[0].setting.get(EPSILON)
    epsilon = asked if asked is not None and asked >= spent else spent
    return SweepPoint(epsilon, statistics.fmean(values), error, len(values), tuple(runs))


def _key(value: Any) -> str:
    return repr(value)


def _stated(value: Any) -> str:
    return "default" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

"""Finished runs of a sweep taken together: one line for each combination of the settings other than ε."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.deep import networks
from workbench.learners.tasks import CLASSIFICATION
from workbench.studies.grid.runs_file import FinishedRun
from workbench.studies.metrics import Metric, measured
from workbench.studies.regimes import Regime
from workbench.studies.results import Point, Row

EPSILON, NOISE = "epsilon", "noise"
_TO_EPSILON = (EPSILON, NOISE)
"""The settings that only decide where on the line a run is."""


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
        name: what distinguishes it from the others, such as ``batch=256, lr=0.5``.
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


PRIVATE = "private"


@dataclass(frozen=True, eq=False)
class SweepStudyLine:
    """One line of a sweep, with the attributes of :class:`workbench.studies.comparison.StudyLine`.

    Attributes:
        result: what distinguishes one sweep from another: its runs.
        line: the line.
    """

    result: tuple[FinishedRun, ...]
    line: SweepLine

    without_privacy = False
    each_prediction = False

    @property
    def way(self) -> Regime:
        """The way of training."""
        return Regime.parse(PRIVATE)

    @property
    def way_words(self) -> str:
        """How it was trained."""
        return f"DP-SGD, {self.line.name}" if self.line.name != "DP-SGD" else "DP-SGD"

    @property
    def name(self) -> str:
        """The network's name in the program."""
        return self.line.network

    @property
    def model(self) -> str:
        """The title of the network."""
        return {network.name: network.title for network in networks.NETWORKS}.get(self.line.network, self.line.network)

    @property
    def repeats(self) -> int:
        """The most repeats of any of its points."""
        return max(p.repeats for p in self.line.points)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Every ε that was tested, ascending."""
        return tuple(p.epsilon for p in self.line.points)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What was measured: accuracy."""
        return (measured(CLASSIFICATION).main,)

    def level(self, metric: Metric) -> float | None:
        """Return the figure of always saying the largest class."""
        return self.line.majority if metric in self.metrics else None

    def points(self, metric: str) -> tuple[Point, ...]:
        """Return its figures of a metric by ε; none where it was not measured."""
        if metric not in [m.name for m in self.metrics]:
            return ()
        return tuple(
            Point(PRIVATE, p.epsilon, metric, p.repeats, p.mean, p.standard_error * p.repeats**0.5)
            for p in self.line.points
        )

    def at(self, metric: str, epsilon: float) -> Point | None:
        """Return its figure at a tested ε; ``None`` where there is none."""
        return next((p for p in self.points(metric) if p.epsilon == epsilon), None)

    def rows(self) -> tuple[Row, ...]:
        """Return every figure of every run."""
        (metric,) = self.metrics
        return tuple(
            Row(self.way_words.replace(",", ";"), p.epsilon, run.repeat, metric.name, run.figures["accuracy"])
            for p in self.line.points
            for run in p.runs
        )


def sweep_study_lines(runs: Sequence[FinishedRun]) -> tuple[SweepStudyLine, ...]:
    """Return the lines of a sweep, the best first."""
    result = tuple(runs)
    return tuple(SweepStudyLine(result, line) for line in sorted(sweep_lines(result), key=lambda line: -line.best))

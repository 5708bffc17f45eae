"""Averages of the runs of a sweep: one line for each combination of the settings other than ε."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.deep import networks
from workbench.learners.tasks import CLASSIFICATION
from workbench.studies.grid.files import FinishedRun
from workbench.studies.metrics import ACCURACY, Metric, measured
from workbench.studies.regimes import Regime
from workbench.studies.results import Point, Row

EPSILON, NOISE = "epsilon", "noise"
_TO_EPSILON = (EPSILON, NOISE)  # the settings that only decide where on the line a run is

PRIVATE, DP_SGD = "private", "DP-SGD"


@dataclass(frozen=True, slots=True)
class SweepPoint(Point):
    """The repeats of one setting: accuracy on held-out rows.

    Its ε is the one that was asked for, which no run exceeded, or where none was asked for the most that one cost.
    """

    runs: tuple[FinishedRun, ...]  # each of them


@dataclass(frozen=True, eq=False)
class SweepLine:
    """A combination of settings at every ε that was tried.

    It has the attributes of :class:`workbench.studies.comparison.StudyLine`.
    """

    result: tuple[FinishedRun, ...]  # what distinguishes one sweep from another: its runs
    setting: str  # what distinguishes the line from the others, such as `batch=256, lr=0.5`
    tried: tuple[SweepPoint, ...]  # its points, by ascending ε
    majority: float  # mean accuracy of always saying the largest class
    name: str  # the network's name in the program

    without_privacy = False
    each_prediction = False

    @property
    def best(self) -> float:
        """The mean accuracy over its points; lines are ranked by it."""
        return statistics.fmean(p.mean for p in self.tried)

    @property
    def way(self) -> Regime:
        """The way of training."""
        return Regime.parse(PRIVATE)

    @property
    def way_words(self) -> str:
        """How it was trained."""
        return DP_SGD if self.setting == DP_SGD else f"{DP_SGD}, {self.setting}"

    @property
    def model(self) -> str:
        """The title of the network."""
        return {network.name: network.title for network in networks.NETWORKS}.get(self.name, self.name)

    @property
    def repeats(self) -> int:
        """The most repeats of any of its points."""
        return max(p.count for p in self.tried)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Every ε that was tested, ascending."""
        return tuple(p.epsilon for p in self.tried)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What was measured: accuracy."""
        return (measured(CLASSIFICATION).main,)

    def level(self, metric: Metric) -> float | None:
        """Return the figure of always saying the largest class."""
        return self.majority if metric in self.metrics else None

    def points(self, metric: str) -> tuple[Point, ...]:
        """Return its figures of a metric by ε; none where it was not measured."""
        return self.tried if metric == ACCURACY else ()

    def at(self, metric: str, epsilon: float) -> Point | None:
        """Return its figure at a tested ε; ``None`` where there is none."""
        return next((p for p in self.points(metric) if p.epsilon == epsilon), None)

    def rows(self) -> tuple[Row, ...]:
        """Return every figure of every run."""
        words = self.way_words.replace(",", ";")
        return tuple(
            Row(words, p.epsilon, run.repeat, ACCURACY, run.figures[ACCURACY]) for p in self.tried for run in p.runs
        )


def sweep_lines(runs: Sequence[FinishedRun]) -> tuple[SweepLine, ...]:
    """Return the lines of ``runs``, in the order in which they first occur."""
    settings = [{n: v for n, v in run.setting.items() if n not in _TO_EPSILON} for run in runs]
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    varied = [n for n in names if len({repr(setting.get(n)) for setting in settings}) > 1]
    groups: dict[tuple[str, ...], dict[tuple[str, ...], list[FinishedRun]]] = {}
    for run, setting in zip(runs, settings, strict=True):
        key = tuple(f"{n}={_stated(setting.get(n))}" for n in varied)
        place = tuple(repr(run.setting.get(n)) for n in _TO_EPSILON)
        groups.setdefault(key, {}).setdefault(place, []).append(run)
    result = tuple(runs)
    return tuple(_line(result, ", ".join(key), places) for key, places in groups.items())


def _line(result: tuple[FinishedRun, ...], setting: str, places: dict[tuple[str, ...], list[FinishedRun]]) -> SweepLine:
    points: dict[float, SweepPoint] = {}
    for runs in places.values():
        point = _point(runs)
        points.setdefault(point.epsilon, point)
    everything = [run for runs in places.values() for run in runs]
    majority = statistics.fmean(run.figures["majority"] for run in everything)
    network = str(everything[0].setting.get("network", ""))
    return SweepLine(result, setting or DP_SGD, tuple(points[e] for e in sorted(points)), majority, network)


def _point(runs: Sequence[FinishedRun]) -> SweepPoint:
    values = [run.figures[ACCURACY] for run in runs]
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    spent, asked = max(run.figures["epsilon_spent"] for run in runs), runs[0].setting.get(EPSILON)
    epsilon = asked if asked is not None and asked >= spent else spent
    return SweepPoint(PRIVATE, epsilon, ACCURACY, len(values), statistics.fmean(values), spread, tuple(runs))


def _stated(value: Any) -> str:
    return "default" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

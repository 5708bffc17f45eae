"""Lines of a sweep as the comparison of studies takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.deep import networks
from workbench.learners.tasks import CLASSIFICATION
from workbench.studies.grid.lines import SweepLine, sweep_lines
from workbench.studies.grid.runs_file import FinishedRun
from workbench.studies.metrics import Metric, measured
from workbench.studies.regimes import Regime
from workbench.studies.results import Point, Row

PRIVATE = "private"


@dataclass(frozen=True, eq=False)
class SweepStudyLine:
    """One line of a sweep, with the attributes of :class:`workbench.studies.comparison.StudyLine`.

    Attributes:
        result: what tells one sweep from another: its runs.
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

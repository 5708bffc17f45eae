"""Lines of finished studies, one for each training regime, to compare with other studies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.learners import learner
from workbench.studies.curve import CurveResult, in_order
from workbench.studies.metrics import Metric
from workbench.studies.regimes import Regime
from workbench.studies.results import HEADER, Point, Row, to_csv

WAYS = {
    "none": "no privacy",
    "private": "private model",
    "sanitized": "sanitised: {}",
    "corrected": "corrected: {}",
    "synthetic": "synthetic: {}",
}
MECHANISMS = {"plan": "as planned", "auto": "advisor's choice"}


@dataclass(frozen=True, eq=False)
class StudyLine:
    """One way of training of a finished study."""

    result: CurveResult  # the study
    regime: str  # the way of training, as the study names it

    @property
    def way(self) -> Regime:
        """The way of training, parsed."""
        return Regime.parse(self.regime)

    @property
    def model(self) -> str:
        """The title of the model."""
        return learner(self.result.plan.model).title

    @property
    def way_words(self) -> str:
        """How it was trained, in words."""
        way = self.way
        return WAYS[way.kind].format(MECHANISMS.get(way.mechanism, way.mechanism))

    @property
    def name(self) -> str:
        """The model's name in the program."""
        return self.result.plan.model

    @property
    def repeats(self) -> int:
        """The number of splits that its figures are means of."""
        return self.result.plan.repeats

    @property
    def each_prediction(self) -> bool:
        """Whether its ε is of each prediction."""
        return self.way.kind == "private" and learner(self.result.plan.model).each_prediction

    def level(self, metric: Metric) -> float | None:
        """Return the figure of always giving one answer on the same rows; ``None`` where there is none."""
        return self.result.levels.get(metric.name) if metric.level else None

    @property
    def without_privacy(self) -> bool:
        """Whether its figures are the same at every ε."""
        return self.way.kind == "none"

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Every ε that was tested, ascending."""
        return tuple(sorted({p.epsilon for p in self.result.points if p.regime == self.regime}))

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What was measured of it, the task's main metric first."""
        known = {p.metric for p in self.result.points if p.regime == self.regime}
        return tuple(metric for metric in self.result.plan.measured.metrics if metric.name in known)

    def points(self, metric: str) -> tuple[Point, ...]:
        """Return its figures of a metric by ε; none where it was not measured."""
        found = (p for p in self.result.points if p.regime == self.regime and p.metric == metric)
        return tuple(sorted(found, key=lambda point: point.epsilon))

    def at(self, metric: str, epsilon: float) -> Point | None:
        """Return its figure at a tested ε, of a line without privacy at any; ``None`` where there is none."""
        points = self.points(metric)
        if self.without_privacy:
            return points[0] if points else None
        return next((point for point in points if point.epsilon == epsilon), None)

    def rows(self) -> tuple[Row, ...]:
        """Return every figure of every repeat, in order."""
        rows = (row for row in self.result.rows if row.regime == self.regime)
        return in_order(self.result.plan, rows)


def study_lines(result: CurveResult) -> tuple[StudyLine, ...]:
    """Return the lines of a study, in its order."""
    seen = {point.regime for point in result.points}
    return tuple(StudyLine(result, name) for name in result.plan.names if name in seen)


def lines_csv(lines: Iterable[tuple[str, str, Iterable[Row]]]) -> str:
    """Return lines as CSV: the table's name and the model, then the columns of a curve."""
    out = [f"dataset,model,{HEADER}"]
    for source, model, rows in lines:
        out += [f"{_quoted(source)},{_quoted(model)},{row}" for row in to_csv(rows).splitlines()[1:]]
    return "\n".join(out) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in '",\r\n') else text

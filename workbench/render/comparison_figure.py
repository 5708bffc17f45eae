"""Lines of several studies in one figure, and models that were released as points in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from workbench.render.curve_figure import epsilon_label
from workbench.render.palette import FREE_STYLES, STYLES
from workbench.render.values import BAND, PRIVATE_BADGE, Baseline, CurveFigure, Series
from workbench.studies.metrics import Metric


@dataclass(frozen=True)
class Drawn:
    """One line of a comparison.

    Attributes:
        name: the label at its end.
        style: a key of :data:`workbench.render.palette.STYLES`.
        points: (ε, mean, standard error) by ascending ε.
        private: whether it was computed from private rows.
        constant: the figure of always giving one answer on the same rows; ``None`` where that is not known.
        each_prediction: whether its ε is of each prediction.
    """

    name: str
    style: str
    points: tuple[tuple[float, float, float], ...]
    private: bool = True
    constant: float | None = None
    each_prediction: bool = False


def free_style(kind: str, taken: Collection[str]) -> str:
    """Return a style that is not ``taken``: that of ``kind`` (a way of training) where it is free."""
    own = {"none": "no-privacy"}.get(kind, kind)
    wanted = (own, *FREE_STYLES) if own in STYLES else FREE_STYLES
    return next((style for style in wanted if style not in taken), wanted[-1])


def comparison_figure(metric: Metric, lines: Sequence[Drawn], about: str = "") -> CurveFigure:
    """Return the figure of ``lines`` over one metric.

    Args:
        metric: what all of them are measured by.
        lines: at least one.
        about: what they have in common, the beginning of the subtitle.
    """
    series = tuple(Series.with_errors(line.name, line.style, line.points) for line in lines)
    # Other splits have another level: it is drawn only where it is one of all.
    constants = {line.constant for line in lines if line.private}
    level = constants.pop() if len(constants) == 1 else None
    count = f"{len(lines)} line{'s' if len(lines) > 1 else ''}"
    return CurveFigure(
        title=f"{metric.title} against ε",
        subtitle=" · ".join(filter(None, (about, count))),
        x_label=epsilon_label([line.each_prediction for line in lines]),
        y_label=f"{metric.inside} ({metric.unit}), {BAND}",
        series=series,
        baselines=() if level is None else (Baseline(metric.level, "majority", level),),
        badge=PRIVATE_BADGE if any(line.private for line in lines) else "",
    )

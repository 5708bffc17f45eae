"""Lines of several studies in one figure, with released models as points."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from workbench.render.curve_figure import epsilon_label
from workbench.render.palette import FREE_STYLES, STYLES
from workbench.render.values import BAND, PRIVATE_BADGE, Baseline, CurveFigure, Series
from workbench.studies.metrics import Metric


@dataclass(frozen=True)
class Drawn:
    """One line of a comparison."""

    name: str  # the label at its end
    style: str  # a key of `workbench.render.palette.STYLES`
    points: tuple[tuple[float, float, float], ...]  # (ε, mean, standard error) by ascending ε
    private: bool = True  # whether it was computed from private rows
    # The figure of always giving one answer on the same rows; `None` where that is not known.
    constant: float | None = None
    each_prediction: bool = False  # whether its ε is of each prediction


def free_style(kind: str, taken: Collection[str]) -> str:
    """Return a style that is not ``taken``: that of ``kind`` (a way of training) where it is free."""
    own = {"none": "no-privacy"}.get(kind, kind)
    wanted = (own, *FREE_STYLES) if own in STYLES else FREE_STYLES
    return next((style for style in wanted if style not in taken), wanted[-1])


MOST_JOINED = 10  # most lines of several models in one picture: so many styles can be distinguished


def joined_figure(models: Sequence[tuple[str, CurveFigure]]) -> tuple[CurveFigure, tuple[tuple[int, int], ...]]:
    """Return the lines of several models by the same metric in one figure, and where each is from.

    Returns:
        the figure; and of each of its lines the number of the model and of the line there. The last line of every
        model, which is that of the private one, comes before any other where there are more than
        :data:`MOST_JOINED`.
    """
    order = sorted(
        ((number, at) for number, (_, figure) in enumerate(models) for at in range(len(figure.series))),
        key=lambda place: (place[1] - len(models[place[0]][1].series), place[0]),
        reverse=True,
    )
    kept = sorted(order[:MOST_JOINED])
    series, taken = [], set[str]()
    for number, at in kept:
        title, line = models[number][0], models[number][1].series[at]
        style = free_style(line.style, taken)
        taken.add(style)
        short = line.name.removesuffix(", then trained")  # with the name of a model it would be cut
        series.append(replace(line, name=f"{title}: {short}", style=style))
    levels = [
        replace(level, name=f"{title}: {level.name}") if level.style == "no-privacy" else level
        for title, figure in models
        for level in figure.baselines
    ]
    # All models of the same rows share one constant answer.
    constant = next((level for level in levels if level.style == "majority"), None)
    levels = [level for level in levels if level.style != "majority"] + ([] if constant is None else [constant])
    first = models[0][1]
    spans = [figure.span for _, figure in models if figure.span is not None]
    span = (min(low for low, _ in spans), max(high for _, high in spans)) if spans else None
    parts = first.subtitle.split(" · ")
    parts[1:2] = [", ".join(title for title, _ in models)]
    figure = replace(first, subtitle=" · ".join(parts), series=tuple(series), baselines=tuple(levels), span=span)
    return figure, tuple(kept)


def comparison_figure(metric: Metric, lines: Sequence[Drawn], about: str = "") -> CurveFigure:
    """Return the figure of ``lines`` over one metric."""
    series = tuple(Series.with_errors(line.name, line.style, line.points) for line in lines)
    # Other splits have another level: it is drawn only where it is one of all.
    constants = {line.constant for line in lines if line.private or line.constant is not None}
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

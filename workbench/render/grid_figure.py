"""A sweep as a figure: accuracy against ε, one line for each combination of the other settings."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.params import ParameterError
from workbench.render.palette import FREE_STYLES
from workbench.render.values import BAND, PRIVATE_BADGE, Baseline, CurveFigure, Series
from workbench.studies.grid.lines import SweepLine

MOST_LINES = len(FREE_STYLES)


def grid_figure(lines: Sequence[SweepLine], about: str = "") -> CurveFigure:
    """Return the figure of at most :data:`MOST_LINES` lines: those of the best mean accuracy, best first.

    Raises:
        ParameterError: there is nothing to draw.
    """
    drawable = sorted((line for line in lines if line.tried), key=lambda line: -line.best)
    if not drawable:
        raise ParameterError("the sweep has no runs", hint="run it first")
    shown = drawable[:MOST_LINES]
    series = tuple(
        Series.with_errors(line.setting, style, ((p.epsilon, p.mean, p.standard_error) for p in line.tried))
        for line, style in zip(shown, FREE_STYLES, strict=False)
    )
    left = len(drawable) - len(shown)
    stated = f"the best {len(shown)} of {len(drawable)} settings" if left else f"{len(shown)} settings"
    return CurveFigure(
        title="DP-SGD: accuracy against ε",
        subtitle=" · ".join(filter(None, (about, stated))),
        x_label="ε of one row",
        y_label=f"accuracy on held-out rows, {BAND}",
        series=series,
        baselines=(Baseline("always the majority", "majority", shown[0].majority),),
        badge=PRIVATE_BADGE,
    )

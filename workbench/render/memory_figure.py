"""The memory study as a figure: MB against batch size, one line per setting, or per phase of one setting."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.deep.memory import PHASES
from workbench.deep.memory_study import MB, StudyLine, StudyResult, StudyRow, line_name
from workbench.render.values import Baseline, CurveFigure, Series

PEAK = "peak"
LINES = ("private", "sanitized", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
"""Styles of the lines, in their order: more than so many cannot be distinguished."""

X_LABEL = "rows at once (batch)"
Y_LABEL = "MB in use, excluding the data and PyTorch itself"
NEAR = 1.5  # times the highest point within which the memory that there is can be drawn without pressing the lines down


def memory_figure(result: StudyResult, phase: str = PEAK) -> CurveFigure:
    """Return the memory of ``phase`` (or of the peak) against the batch: one line for each setting, the first eight."""
    lines = result.lines
    drawn = lines[: len(LINES)]
    series = [
        _series(line_name(line, lines), style, [(r.batch, _bytes(r, phase)) for r in result.of(line)])
        for line, style in zip(drawn, LINES, strict=False)
    ]
    stated = f"{len(drawn)} of {len(lines)} settings" if len(drawn) < len(lines) else ""
    title = "Peak memory against the batch" if phase == PEAK else f"Memory of the phase {phase} against the batch"
    return _figure(title, stated, series, result)


def phases_figure(result: StudyResult, line: StudyLine) -> CurveFigure:
    """Return the memory of one setting against the batch: one line for each phase."""
    rows = result.of(line)
    series = [
        _series(name, style, [(r.batch, _bytes(r, name)) for r in rows])
        for name, style in zip(PHASES, LINES, strict=False)
    ]
    return _figure(f"Memory by phase: {line_name(line, result.lines)}", "", series, result)


def decimals(highest: float) -> int:
    """Return how many digits behind the point sizes have beside one of ``highest`` MB: three in all, where it is so."""
    return next((digits for digits, least in enumerate((1000, 10, 1)) if highest >= least), 3)


def _bytes(row: StudyRow, phase: str) -> int:
    return row.peak if phase == PEAK else row.phases[phase]


def _series(name: str, style: str, points: Sequence[tuple[int, int]]) -> Series:
    x, y = tuple(float(batch) for batch, _ in points), tuple(size / MB for _, size in points)
    return Series(name, style, x, y, y, y)


def _figure(title: str, stated: str, series: Sequence[Series], result: StudyResult) -> CurveFigure:
    highest = max(max(one.mean) for one in series)
    limit = None if result.fit is None else result.fit / MB
    near = limit is not None and limit <= NEAR * highest
    device = {"cpu": "processor", "cuda": "GPU"}[result.rows[0].device]
    return CurveFigure(
        title=title,
        subtitle=" · ".join(filter(None, (f"on the {device}, computed from shapes", stated))),
        x_label=X_LABEL,
        y_label=Y_LABEL,
        series=tuple(series),
        baselines=(Baseline("available memory", "majority", limit),) if near and limit is not None else (),
        badge="",
        against="batch",
        decimals=decimals(highest),
    )

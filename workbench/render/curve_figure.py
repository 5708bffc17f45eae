"""A finished curve study as a figure."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.learners import learner
from workbench.params.amounts import counted
from workbench.render.palette import FREE_STYLES
from workbench.render.values import BAND, Baseline, CurveFigure, Series
from workbench.studies.curve import SANITIZED, CurvePlan, CurveResult
from workbench.studies.regimes import Regime
from workbench.studies.results import Point

LONGEST_SOURCE = 48


def curve_figure(result: CurveResult, source: str, metric: str = "") -> CurveFigure:
    """Return the figure of one metric of a study.

    Raises:
        ParameterError: the study has no such metric.
    """
    plan = result.plan
    study = plan.measured
    drawn = study.metric(metric) if metric else study.main
    points: dict[str, list[Point]] = {}
    for point in result.points:
        if point.metric == drawn.name:
            points.setdefault(point.regime, []).append(point)
    ways = [way for way in plan.ways if way.kind != "none"]
    styles = _styles(ways)
    # Not every model can be measured by every metric: one without scores has no AUC and so no line.
    series = [_series(_name(way, ways), styles[way.name], points[way.name]) for way in ways if way.name in points]
    compared, values = plan.compared
    against = compared.replace("_", " ")
    if against:
        series = _against(plan, points)
    baselines = []
    if "none" in points:
        level = points["none"][0]
        # Alone, the level is the figure's only line and so its series.
        if series:
            baselines.append(Baseline("no privacy", "no-privacy", level.mean, level.standard_error))
        else:
            series.append(_series("no privacy", "no-privacy", points["none"]))
    if drawn.level:
        baselines.append(Baseline(drawn.level, "majority", result.levels[drawn.name]))
    splits = f"{plan.repeats} {study.splits}" if plan.repeats > 1 else "a single 80/20 split"
    parts = [_shortened(source), learner(plan.model).title, counted(result.table_rows, "row"), splits]
    if plan.evaluate == SANITIZED:
        parts.append("sanitised regimes asked about sanitised rows")
    parts += plan.settings
    spread = f", {BAND}" if plan.repeats > 1 else ""
    return CurveFigure(
        title=f"{drawn.title} against {against or 'ε'}",
        subtitle=" · ".join(parts),
        x_label=f"{against} (log scale)"
        if against
        else epsilon_label([way.kind == "private" and learner(plan.model).each_prediction for way in ways]),
        y_label=f"{drawn.inside} on held-out rows ({drawn.unit}){spread}",
        series=tuple(series),
        baselines=tuple(baselines),
        span=(values[0], values[-1]) if against else (plan.epsilons[0], plan.epsilons[-1]),
        against=against,
    )


def _against(plan: CurvePlan, points: dict[str, list[Point]]) -> list[Series]:
    """Return a line for each ε over the values of the parameter that is compared."""
    values = plan.compared[1]
    private = [name for way, name in zip(plan.ways, plan.names, strict=True) if way.kind == "private"]
    styles = iter(("private", *FREE_STYLES))
    lines = []
    for epsilon in plan.epsilons:
        found = {
            value: point
            for name, value in zip(private, values, strict=True)
            for point in points.get(name, [])
            if point.epsilon == epsilon
        }
        if found:
            lines.append(_line(f"private, ε = {epsilon:.4g}", next(styles), tuple(found), list(found.values())))
    return lines


def epsilon_label(each: Sequence[bool]) -> str:
    """Return what the horizontal axis says.

    Args:
        each: of every line, whether its ε is of each prediction instead of a whole row.
    """
    if not any(each):
        return "ε for a whole row (log scale)"
    if all(each):
        return "ε of each prediction (log scale)"
    return "ε for a whole row, of a private median for each prediction (log scale)"


def _series(name: str, style: str, points: list[Point]) -> Series:
    return _line(name, style, tuple(p.epsilon for p in points), points)


def _line(name: str, style: str, x: tuple[float, ...], points: list[Point]) -> Series:
    return Series.with_errors(name, style, ((at, p.mean, p.standard_error) for at, p in zip(x, points, strict=True)))


def _styles(ways: list[Regime]) -> dict[str, str]:
    """Return a style for each regime: its own, and free ones for further sanitised or corrected regimes."""
    free = iter(FREE_STYLES)
    out: dict[str, str] = {}
    for way in ways:
        style: str = way.kind
        out[way.name] = next(free) if style in out.values() else style
    return out


def _name(way: Regime, ways: list[Regime]) -> str:
    if way.kind == "private":
        return "private model" if not way.settings else f"private, {', '.join(way.settings).replace('=', ' = ')}"
    alone = sum(other.kind == way.kind for other in ways) == 1
    if way.kind == "synthetic":
        return "synthetic, then trained" if alone else f"synthetic: {way.mechanism}"
    if way.kind == "corrected":
        return "sanitised, corrected" if alone else f"corrected: {way.mechanism}"
    return "sanitised, then trained" if alone else f"sanitised: {way.mechanism}"


def _shortened(source: str) -> str:
    if len(source) <= LONGEST_SOURCE:
        return source
    half = LONGEST_SOURCE // 2
    return f"{source[:half]}…{source[-half:]}"

"""A study of costs in sentences, for window, command line and notebooks."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.studies.results import Point
from workbench.studies.why.changes import CHANGES
from workbench.studies.why.study import CLAMPED, EXACT, ORDINARY, PRIVATE, STEPS, WhyResult

CAUSES = {
    CLAMPED: "the bounds",
    EXACT: "the form of the private model",
    PRIVATE: "the noise",
}
"""What each step adds to the one before: what the difference between the two is due to."""
LOSSES = {
    CLAMPED: "{loss} from the bounds",
    EXACT: "{loss} from the form of the private model",
    PRIVATE: "{loss} from the noise",
}

BOUNDS_HINT = (
    "Bounds have to be public: look for tighter ones in what everybody may know, not in the rows of this study."
)


@dataclass(frozen=True)
class Line:
    """One line of the study.

    Attributes:
        name: the step or change.
        title: the same for a person.
        point: its figure.
        change: the difference to the step before, or the gain of a change; ``None`` of the first.
        cause: what that difference is due to.
    """

    name: str
    title: str
    point: Point
    change: float | None
    cause: str = ""


def step_lines(result: WhyResult) -> tuple[Line, ...]:
    """Return the ways of training in order, each with what it lost against the one before."""
    lines: list[Line] = []
    for name, point in result.steps.items():
        change = point.mean - lines[-1].point.mean if lines else None
        # Without a line of their own the bounds cost nothing: no value lies beyond them.
        lines.append(Line(name, STEPS[name], point, change, CAUSES.get(name, "")))
    return tuple(lines)


def change_lines(result: WhyResult) -> tuple[Line, ...]:
    """Return what was changed, the most helpful first."""
    lines = [
        Line(change.name, change.title, result.changed[change.name], result.gains[change.name].mean, change.how)
        for change in CHANGES
        if change.name in result.gains
    ]
    return tuple(sorted(lines, key=lambda line: -(line.change or 0.0)))


def in_sentences(result: WhyResult) -> tuple[str, ...]:
    """Return what the study says: the cost, where it comes from, and what would help most."""
    return (_cost(result), _help(result) if is_lost(result) else "There is little to gain.")


def is_lost(result: WhyResult) -> bool:
    """Return whether the private model is clearly worse than the first step."""
    first, private = next(iter(result.steps.values())), result.steps[PRIVATE]
    lost = first.mean - private.mean if result.plan.metric.higher else private.mean - first.mean
    return lost > 2 * _spread(first, private)


def _cost(result: WhyResult) -> str:
    metric, steps = result.plan.metric, result.steps
    private = steps[PRIVATE].mean
    measured, epsilon = f"{metric.inside[:1].upper()}{metric.inside[1:]}", f"{result.plan.epsilon:.12g}"
    first = next(iter(steps))
    before = steps[first].mean
    if first == ORDINARY:
        opening = f"{measured} is {before:.3f} without privacy and {private:.3f} at ε = {epsilon}"
    else:
        opening = f"{measured} is {before:.3f} without noise and {private:.3f} at ε = {epsilon}"
    if not is_lost(result):
        return f"{opening}: no clear loss."
    sign = -1 if metric.higher else 1
    parts = [
        LOSSES[line.name].format(loss=f"{sign * line.change:.3f}")
        for line in step_lines(result)
        if line.change is not None and sign * line.change > 0
    ]
    return f"{opening}. The loss: {', '.join(parts)}." if parts else f"{opening}."


def _spread(one: Point, other: Point) -> float:
    """Return the standard error of a difference of two means, as if the splits were independent."""
    return math.hypot(one.standard_error, other.standard_error)


def _help(result: WhyResult) -> str:
    best = result.best
    if best is None:
        return "None of the changes that were tried helps for sure."
    gain = result.gains[best]
    title = next(change.title for change in CHANGES if change.name == best)
    stated = f"{title} would help most: {gain.mean:+.3f} ± {gain.standard_error:.3f}."
    if not result.plan.metric.higher:
        stated = f"{title} would help most: {-gain.mean:.3f} ± {gain.standard_error:.3f} less."
    return f"{stated} {BOUNDS_HINT}" if best == "bounds" else stated

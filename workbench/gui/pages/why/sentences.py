"""What a study of costs says in the window: the cost, where it comes from, and what would help most."""

from __future__ import annotations

from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.formatting import plain
from workbench.studies.why.changes import CHANGES
from workbench.studies.why.study import CLAMPED, EXACT, ORDINARY, PRIVATE, WhyResult
from workbench.studies.why.words import BOUNDS_HINT, is_lost, step_lines

CAUSES = {
    CLAMPED: tr_later("{loss} from the bounds"),
    EXACT: tr_later("{loss} from the form of the private model"),
    PRIVATE: tr_later("{loss} from the noise"),
}


def told(result: WhyResult) -> tuple[str, ...]:
    """Return the sentences."""
    lost = is_lost(result)
    return (*_cost(result, lost=lost), *(_help(result) if lost else [tr("There is little to gain.")]))


def _cost(result: WhyResult, *, lost: bool) -> list[str]:
    metric, steps = result.plan.metric, result.steps
    inside = tr_sentence(metric.inside)
    first = next(iter(steps))
    opening = tr(
        tr_later("{metric} is {before} without privacy and {after} at ε = {epsilon}")
        if first == ORDINARY
        else tr_later("{metric} is {before} without noise and {after} at ε = {epsilon}"),
        metric=f"{inside[:1].upper()}{inside[1:]}",
        before=tr_number(steps[first].mean, ".3f"),
        after=tr_number(steps[PRIVATE].mean, ".3f"),
        epsilon=plain(result.plan.epsilon),
    )
    if not lost:
        return [tr("{cost}: no clear loss.", cost=opening)]
    sign = -1 if metric.higher else 1
    parts = [
        tr(CAUSES[line.name], loss=tr_number(sign * line.change, ".3f"))
        for line in step_lines(result)
        if line.change is not None and sign * line.change > 0
    ]
    return [f"{opening}.", *([tr("The loss: {parts}.", parts=", ".join(parts))] if parts else [])]


def _help(result: WhyResult) -> list[str]:
    best = result.best
    if best is None:
        return [tr("None of the changes that were tried helps for sure.")]
    gain, higher = result.gains[best], result.plan.metric.higher
    stated = tr(
        tr_later("{change} would help most: {gain} ± {error}.")
        if higher
        else tr_later("{change} would help most: {gain} ± {error} less."),
        change=tr_sentence(next(change.title for change in CHANGES if change.name == best)),
        gain=tr_number(gain.mean, "+.3f") if higher else tr_number(-gain.mean, ".3f"),
        error=tr_number(gain.standard_error, ".3f"),
    )
    return [stated, *([tr_sentence(BOUNDS_HINT)] if best == "bounds" else [])]

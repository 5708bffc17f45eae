"""What it would cost to publish the best of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.deep.plan import Schedule
from workbench.privacy.accounting.concentrated import renyi_total
from workbench.privacy.accounting.leaves import Leaf, PoissonStep
from workbench.privacy.accounting.private_selection import Selection, best_of

CAVEAT = (
    "Choosing settings by these figures reveals something of the rows: a model with the best settings has the ε of "
    "its own run only where they were chosen on public data."
)


@dataclass(frozen=True)
class Publishing:
    """ε of publishing the best of k settings, each run once on as many rows as in the sweep; zero-out neighbours.

    Attributes:
        settings: k.
        delta: δ of the figures: the largest of any setting.
        largest: ε of the dearest run alone, for a person with all her rows.
        plain_sum: the sum of all runs' ε, for a person with all her rows; its δ is the sum of theirs.
        composed: all runs at ``delta`` by Rényi divergence, every run may then be shown; ``None`` where a person may
            have several rows, of which no divergence is known.
        selected: a random number of tries, k expected, of which the best alone is shown; ``None`` there as well.
    """

    settings: int
    delta: float
    largest: float
    plain_sum: float
    composed: float | None
    selected: Selection | None


def publishing(schedules: Sequence[Schedule]) -> Publishing:
    """Return what publishing the best of the runs of ``schedules`` would cost."""
    delta = max(schedule.delta for schedule in schedules)
    costs = [float(schedule.cost().epsilon) for schedule in schedules]
    if any(schedule.rows_per_person > 1 for schedule in schedules):
        return Publishing(len(schedules), delta, max(costs), sum(costs), None, None)
    leaves: dict[Leaf, int] = {}
    for schedule in schedules:
        event = schedule.event
        step = PoissonStep(event.sample_rate, event.noise_multiplier, rows=1)
        leaves[step] = leaves.get(step, 0) + event.steps
    composed = renyi_total(leaves, delta, classic=False)
    assert composed is not None  # known of every single row
    selected = best_of([schedule.event for schedule in schedules], delta, len(schedules))
    return Publishing(len(schedules), delta, max(costs), sum(costs), composed[0], selected)


def publishing_words(found: Publishing) -> tuple[str, ...]:
    """Return it in sentences; the last one says what choosing by a sweep gives away."""
    k, sum_of_all = found.settings, f"their plain sum is {found.plain_sum:.4g}"
    if k == 1:
        return (CAVEAT,)
    if found.composed is None or found.selected is None:
        return (f"To publish the best of these {k} settings, all runs have to be paid for: {sum_of_all}.", CAVEAT)
    chosen = found.selected
    return (
        f"To publish the best of these {k} settings: showing all runs costs ε = {found.composed:.4g} at δ = "
        f"{found.delta:g} ({sum_of_all}).",
        f"Or draw a number of tries from the {chosen.number} distribution with mean {k}, never show it, let every try "
        f"draw one of the settings at random (the same may come twice), and show the best try alone, found on public "
        f"rows: ε = {chosen.epsilon:.4g} at δ = {found.delta:g} (Papernot & Steinke 2022).",
        CAVEAT,
    )

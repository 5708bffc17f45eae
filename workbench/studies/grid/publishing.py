"""What it would cost to publish the best of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.deep.plan import Schedule
from workbench.privacy.accounting.concentrated import renyi_total
from workbench.privacy.accounting.leaves import Leaf, PoissonStep
from workbench.privacy.accounting.private_selection import Selection, best_of

CAVEAT = (
    "Choosing settings by these figures tells of the rows: a model with the best settings has the ε of its own run "
    "only where they were chosen on public data."
)


@dataclass(frozen=True)
class Publishing:
    """ε of publishing the best of k settings, each run once on as many rows as in the sweep; of one row, zero-out.

    Attributes:
        settings: k.
        delta: δ of the figures: the largest of any setting.
        largest: ε of the dearest run alone.
        plain_sum: the sum of all runs' ε; its δ is the sum of theirs.
        composed: all runs at ``delta`` by Rényi divergence; every run may then be shown.
        selected: a random number of tries, k expected, of which the best alone is shown.
    """

    settings: int
    delta: float
    largest: float
    plain_sum: float
    composed: float
    selected: Selection


def publishing(schedules: Sequence[Schedule]) -> Publishing:
    """Return what publishing the best of the runs of ``schedules`` would cost."""
    delta = max(schedule.delta for schedule in schedules)
    costs = [float(schedule.cost().epsilon) for schedule in schedules]
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
    """Return it in sentences; none of a single setting."""
    if found.settings == 1:
        return ()
    return (
        f"To publish the best of these {found.settings} settings: showing all runs costs ε = {found.composed:.4g} at "
        f"δ = {found.delta:g} (their plain sum is {found.plain_sum:.4g}). Trying a random number of them, "
        f"{found.settings} on average, and showing the best alone costs ε = {found.selected.epsilon:.4g} (Papernot & "
        "Steinke 2022), if the best is found by public rows.",
        CAVEAT,
    )

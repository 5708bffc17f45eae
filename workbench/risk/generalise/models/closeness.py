"""t-closeness: in every class the sensitive values are distributed nearly as among all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.params import InputError, choice, real
from workbench.risk.distances import AUTO, DISTANCE_CHOICES, DISTANCE_HELP, HIERARCHICAL, farness
from workbench.risk.generalise.models.base import ROUNDING, PrivacyModel, of_each_sensitive
from workbench.risk.generalise.problem import Groups, Problem, Sensitive, Truths, Whole
from workbench.risk.sensitive_counts import SensitiveCounts


@dataclass(frozen=True, kw_only=True)
class Closeness(PrivacyModel):
    """Its t, and what is near."""

    name = "t-closeness"
    title = "t-closeness"
    help = "in every class the sensitive values are distributed nearly as among all rows (earth mover's distance)"
    needs = "sensitive"

    t: float | None = real(
        default=None, at_least=0, upto=1, symbol="T", help="how far a class's sensitive values are from those of all"
    )
    distance: str = choice(choices=DISTANCE_CHOICES, default=AUTO, help=DISTANCE_HELP)

    def distance_of(self, of: Sensitive) -> str:
        """Return the ground distance between the values of a sensitive attribute."""
        return of.distance if self.distance == AUTO else self.distance

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes are near.

        Raises:
            InputError: the distance needs a hierarchy that a sensitive attribute does not have.
        """
        assert self.t is not None
        most = self.t + ROUNDING

        def judge(found: SensitiveCounts, of: Sensitive) -> Truths:
            levels: Sequence[Whole] = ()
            distance = self.distance_of(of)
            if distance == HIERARCHICAL:
                if of.hierarchy is None:
                    hint = f"add {of.name}.csv to the folder of hierarchies, or choose the distance equal"
                    what = f"the sensitive column {of.name} has no hierarchy, which this distance needs"
                    raise InputError(what, hint=hint)
                levels = of.hierarchy.codes[1:]
            near: Truths = farness(distance, found, of.share, levels) <= most
            return near

        return of_each_sensitive(problem, groups, judged, judge)

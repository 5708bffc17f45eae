"""Distinct ℓ-diversity: every class has at least ℓ different sensitive values."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import integer
from workbench.risk.generalise.models.base import PrivacyModel, of_each_sensitive
from workbench.risk.generalise.problem import Groups, Problem, Truths


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity(PrivacyModel):
    """Its ℓ."""

    name = "distinct-l-diversity"
    title = "distinct ℓ-diversity"
    help = "every class has at least ℓ different sensitive values (Machanavajjhala 2006)"
    survives = True
    needs = "sensitive"

    l: int | None = integer(  # noqa: E741  the letter of the literature and of the command line
        default=None, at_least=1, upto=10**6, symbol="L", help="different sensitive values that every class has"
    )

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have ℓ different values."""
        return of_each_sensitive(problem, groups, judged, lambda found, _: found.distinct >= self.l)

"""k-map: every combination of quasi-identifiers is that of at least k people of a population."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import integer
from workbench.risk.generalise.models.base import PrivacyModel
from workbench.risk.generalise.problem import Groups, Problem, Truths


@dataclass(frozen=True, kw_only=True)
class KMap(PrivacyModel):
    """Its k."""

    name = "k-map"
    title = "k-map"
    help = "every combination of quasi-identifiers is that of at least k people of a population"
    survives = True
    needs = "population"

    k_map: int | None = integer(
        default=None, at_least=1, upto=10**9, symbol="K", help="people of the population that every class has"
    )

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have k people."""
        assert self.k_map is not None
        return judged & (groups.population >= self.k_map)

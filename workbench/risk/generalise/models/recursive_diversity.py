"""Recursive (c, ℓ)-diversity: the most frequent value is rarer than c times all from the ℓ-th most frequent one on."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import integer, real
from workbench.risk.generalise.models.base import PrivacyModel, of_each_sensitive
from workbench.risk.generalise.problem import Groups, Problem, Truths


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity(PrivacyModel):
    """Its c and its ℓ."""

    name = "recursive-l-diversity"
    title = "recursive (c, ℓ)-diversity"
    help = "the most frequent sensitive value of a class is rarer than c times those from the ℓ-th on"
    needs = "sensitive"

    recursive_c: float | None = real(
        default=None, above=0, upto=1e6, symbol="C", help="c of recursive (c, l)-diversity of the sensitive values"
    )
    recursive_l: int = integer(default=2, at_least=2, upto=10**6, symbol="L", help="l of recursive (c, l)-diversity")

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes are (c, ℓ)-diverse."""
        assert self.recursive_c is not None
        c, least = self.recursive_c, self.recursive_l
        return of_each_sensitive(problem, groups, judged, lambda found, _: found.recursive(c) >= least)

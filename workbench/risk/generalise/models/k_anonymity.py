"""k-anonymity: every combination of quasi-identifiers that is published is that of at least k rows."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import integer
from workbench.risk.generalise.models.base import PrivacyModel
from workbench.risk.generalise.problem import Groups, Problem, Truths


@dataclass(frozen=True, kw_only=True)
class KAnonymity(PrivacyModel):
    """Its k."""

    name = "k-anonymity"
    title = "k-anonymity"
    help = "every combination of quasi-identifiers is that of at least k rows (Sweeney 2002)"
    survives = True

    k: int | None = integer(default=None, at_least=1, upto=10**9, symbol="K", help="rows that every class has at least")

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have k rows."""
        assert self.k is not None
        return judged & (groups.sizes >= self.k)

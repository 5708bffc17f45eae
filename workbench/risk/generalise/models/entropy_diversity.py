"""Entropy ℓ-diversity: sensitive values of every class are as mixed as ℓ equally frequent ones, by their entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.params import real
from workbench.risk.generalise.models.base import ROUNDING, PrivacyModel, of_each_sensitive
from workbench.risk.generalise.problem import Groups, Problem, Truths


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity(PrivacyModel):
    """Its ℓ, which need not be whole."""

    name = "entropy-l-diversity"
    title = "entropy ℓ-diversity"
    help = "the entropy of the sensitive values of every class is at least ln ℓ"
    needs = "sensitive"

    entropy_l: float | None = real(
        default=None,
        at_least=1,
        upto=1e6,
        symbol="L",
        help="exp(entropy) of the sensitive values that every class has",
    )

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have the entropy."""
        assert self.entropy_l is not None
        least = math.log(self.entropy_l) - ROUNDING
        return of_each_sensitive(problem, groups, judged, lambda found, _: found.entropy >= least)

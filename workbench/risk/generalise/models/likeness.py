"""β-likeness: in no class is a sensitive value much more frequent than among all rows (Cao and Karras 2012)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.params import boolean, real
from workbench.risk.generalise.models.base import ROUNDING, PrivacyModel, of_each_sensitive
from workbench.risk.generalise.problem import Groups, Problem, Sensitive, Truths
from workbench.risk.sensitive_counts import SensitiveCounts


@dataclass(frozen=True, kw_only=True)
class Likeness(PrivacyModel):
    """Its β."""

    name = "beta-likeness"
    title = "β-likeness"
    help = "in no class is a sensitive value more than 1 + β times as frequent as among all rows"
    needs = "sensitive"

    beta: float | None = real(
        default=None, above=0, upto=1e6, symbol="B", help="how much more frequent a sensitive value may be in a class"
    )
    enhanced: bool = boolean(
        default=False, flag="beta_enhanced", help="limit frequent values more, by -ln of their share (with β)"
    )

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have no value that is too frequent."""

        def judge(found: SensitiveCounts, of: Sensitive) -> Truths:
            limit = np.full(len(of.share), self.beta, dtype=np.float64)
            if self.enhanced:
                limit = np.minimum(limit, -np.log(of.share))
            most = of.share * (1 + limit) + ROUNDING
            allowed: Truths = found.per_class(found.shares > most[found.values]) == 0
            return allowed

        return of_each_sensitive(problem, groups, judged, judge)

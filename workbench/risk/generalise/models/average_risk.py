"""Average risk: an outsider who looks for a random row finds it with a low probability on average."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.params import real
from workbench.risk.generalise.models.base import ROUNDING, PrivacyModel
from workbench.risk.generalise.problem import Groups, Problem, Truths


@dataclass(frozen=True, kw_only=True)
class AverageRisk(PrivacyModel):
    """Its limit."""

    name = "average-risk"
    title = "average risk"
    help = "the number of classes per row, which is the average risk of a row, is at most a limit"
    average_risk: float | None = real(
        default=None, above=0, upto=1, symbol="R", help="highest number of classes per row: the average risk of a row"
    )

    def whole(self, problem: Problem, groups: Groups, kept: Truths) -> Truths | None:
        """Return which classes remain: the smallest are suppressed, all of one size together, until it holds."""
        assert self.average_risk is not None
        sizes, number = np.unique(groups.sizes[kept], return_counts=True)
        rows = np.cumsum((sizes * number)[::-1])[::-1]
        classes = np.cumsum(number[::-1])[::-1]
        holds = np.flatnonzero(classes <= self.average_risk * rows + ROUNDING)
        return kept & (groups.sizes >= sizes[holds[0]]) if len(holds) else None

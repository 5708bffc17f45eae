"""What a privacy model is: which classes it allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workbench.params import Parameters
from workbench.risk.generalise.problem import Groups, Problem, Reals, Sensitive, Truths, Whole
from workbench.risk.sensitive_counts import SensitiveCounts, counts_of

ROUNDING = 1e-9
"""How far a figure may be beyond its limit for rounding alone."""


@dataclass(frozen=True, kw_only=True)
class PrivacyModel(Parameters):
    """A privacy model; it is asked for where its first parameter is given.

    Attributes:
        name: its name in results and certificates.
        survives: whether a class that is allowed stays so whatever is joined to it. Then coarser nodes never suppress
            more rows.
        monotone: whether classes that are allowed are so when they are joined. Then, without suppression, a node above
            an allowed node is allowed.
        needs: ``sensitive`` or ``population`` where it cannot be judged without; empty for rows alone.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    help: ClassVar[str]
    survives: ClassVar[bool] = False
    monotone: ClassVar[bool] = True
    needs: ClassVar[str] = ""

    @property
    def asked(self) -> bool:
        """Whether it is asked for."""
        return getattr(self, next(iter(self.declared()))) is not None

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which of the ``judged`` classes are allowed; shape (classes,)."""
        return judged

    def whole(self, problem: Problem, groups: Groups, kept: Truths) -> Truths | None:
        """Return which of the ``kept`` classes remain so that the table as a whole is allowed; ``None``: it cannot be.

        All other rows are suppressed.
        """
        return kept


def of_each_sensitive(
    problem: Problem, groups: Groups, judged: Truths, judge: Callable[[SensitiveCounts, Sensitive], Truths]
) -> Truths:
    """Return which of the ``judged`` classes have only sensitive values that ``judge`` allows."""

    def by(of: Sensitive) -> Callable[[Reals], Whole]:
        return lambda counts: judge(counts_of(counts), of).astype(np.int64)

    for sensitive in problem.sensitive:
        judged = problem.histograms(groups, sensitive, judged, by(sensitive)) > 0
    return judged

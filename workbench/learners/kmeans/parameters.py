"""The parameters of k-means: its budget, the number of groups, and how ε is split."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import Parameters, integer, real


@dataclass(frozen=True, kw_only=True)
class KMeansParameters(Parameters):
    """Budget, groups and rounds. The defaults were chosen on generated tables and scikit-learn's."""

    epsilon: float | None = real(
        default=None,
        at_least=1e-9,
        upto=1e6,
        symbol="ε",
        title="privacy budget",
        help="how much the centres may reveal about one row; smaller is more private and less accurate",
    )
    groups: int | None = integer(
        default=None,
        at_least=1,
        upto=1000,
        symbol="k",
        title="groups",
        help="how many groups to find; by default as many as the target has classes",
    )
    rounds: int | None = integer(
        default=None,
        at_least=1,
        upto=100,
        title="rounds",
        help="how often the centres move; by default more often where ε and the number of rows allow it",
        advanced=True,
    )
    norm_share: float = real(
        default=0.5,
        above=0,
        upto=1,
        title="weight limit",
        unit="of the largest",
        help="a row whose values add up to more than this part of the largest possible counts for less in the sums",
        advanced=True,
    )

"""The parameters of standardising: its budget, and how far from the mean a value is told apart from a nearer one."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import Parameters, real


@dataclass(frozen=True, kw_only=True)
class StandardizeParameters(Parameters):
    """Budget and limit. The default of the limit was chosen on scikit-learn's tables."""

    epsilon: float | None = real(
        default=None,
        at_least=1e-9,
        upto=1e6,
        symbol="ε",
        title="privacy budget",
        help="how much means and standard deviations may reveal about one row; smaller is more private",
    )
    limit: float = real(
        default=3.0,
        at_least=0.1,
        upto=1e6,
        title="limit",
        unit="standard deviations",
        help="a value further from the mean than this counts as this far, so that the next step needs less noise",
    )

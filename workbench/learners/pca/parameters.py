"""The parameters of PCA: its budget, how many components there are, and how far a row counts in full."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import Parameters, integer, real


@dataclass(frozen=True, kw_only=True)
class PcaParameters(Parameters):
    """Budget and components. The defaults were chosen on generated tables and scikit-learn's."""

    epsilon: float | None = real(
        default=None,
        at_least=1e-9,
        upto=1e6,
        symbol="ε",
        title="privacy budget",
        help="how much the components may reveal about one row; smaller is more private and less accurate",
    )
    components: int = integer(
        default=2,
        at_least=1,
        upto=1000,
        symbol="k",
        title="components",
        help="how many components are made; never more than there are columns, a category counting one for each value",
    )
    reach: float = real(
        default=1.0,
        above=0,
        upto=10,
        title="weight limit",
        unit="of the mean distance",
        help="a row whose distance from the mean is more than this multiple of the rows' mean distance counts for less",
        advanced=True,
    )

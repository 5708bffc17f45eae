"""The parameters of linear regression: its budget, how it is split, and how strongly noise is held down."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import Parameters, choice, integer, real

ADAPTIVE, FUNCTIONAL = "adaptive", "functional"


@dataclass(frozen=True, kw_only=True)
class LinearRegressionParameters(Parameters):
    """Budget and method. The defaults were chosen on generated tables and on scikit-learn's diabetes progression."""

    epsilon: float | None = real(
        default=None,
        at_least=1e-9,
        upto=1e6,
        symbol="ε",
        title="privacy budget",
        help="how much the model may reveal about one row; smaller is more private and less accurate",
    )
    method: str = choice(
        choices=(ADAPTIVE, FUNCTIONAL),
        default=ADAPTIVE,
        title="method",
        help="adaptive: noisy sums of a few columns; functional: the noisy loss of all columns (Zhang et al. 2012)",
        advanced=True,
    )
    columns: int | None = integer(
        default=None,
        at_least=1,
        upto=1000,
        title="columns used",
        help="how many columns are chosen from the table; by default as many as ε and the number of rows allow",
        advanced=True,
    )
    selection_share: float = real(
        default=0.3,
        above=0,
        below=1,
        title="share of the choice",
        unit="of ε",
        help="the part of ε for choosing the columns; the rest is for the sums over them",
        advanced=True,
    )
    norm_share: float = real(
        default=0.3,
        above=0,
        upto=1,
        title="weight limit",
        unit="of the largest",
        help="a row whose products add up to more than this part of the largest possible counts for less",
        advanced=True,
    )
    ridge: float = real(
        default=1.0,
        at_least=0,
        upto=1e6,
        title="ridge",
        help="how strongly coefficients are drawn to 0, as a multiple of what the size of the noise suggests",
        advanced=True,
    )

"""The parameters of logistic regression: its budget, where weights come from, and how strongly they are held down."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import Parameters, choice, integer, real

BY_SIZE, SEARCH, SUMS = "by-size", "search", "sums"


@dataclass(frozen=True, kw_only=True)
class LogisticRegressionParameters(Parameters):
    """Budget and origin of the weights. The defaults were chosen on generated tables and scikit-learn's public ones."""

    epsilon: float | None = real(
        default=None,
        at_least=1e-9,
        upto=1e6,
        symbol="ε",
        title="privacy budget",
        help="how much the model may reveal about one row; smaller is more private and less accurate",
    )
    weights_from: str = choice(
        choices=(BY_SIZE, SEARCH, SUMS),
        default=BY_SIZE,
        title="weights from",
        help="search: the best of many public weights; sums: noisy sums; by-size: whichever suits ε and rows",
        advanced=True,
    )
    columns: int | None = integer(
        default=None,
        at_least=1,
        upto=1000,
        title="columns used",
        help="how many columns the sums are asked for; by default as many as ε and the number of rows allow",
        advanced=True,
    )
    ridge: float = real(
        default=1.0,
        at_least=0,
        upto=1e6,
        title="ridge",
        help="how strongly weights are drawn to 0: the factor of half their squares beside the sum of the losses",
        advanced=True,
    )

"""The parameters of naive Bayes: its budget, how it is split, and priors."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.learners.setting import privacy_budget
from workbench.params import Parameters, real

_HALF = "; a half-range is half the width of the bounds"


@dataclass(frozen=True, kw_only=True)
class NaiveBayesParameters(Parameters):
    """Budget and priors. The defaults were chosen by simulation on scikit-learn's tables and generated ones.

    Accuracy hardly depends on them: over 10 such tables and ε from 0.1 to 100, halving or doubling one changes the mean
    by about 0.01 at most (``tests/benchmarks/results/naive_bayes_defaults.md``). None was chosen on a private table.
    """

    epsilon: float | None = privacy_budget()
    # Class sizes divide every sum, so they get more than an equal share of 2d+1 would give them.
    count_share: float = real(
        default=0.1,
        above=0,
        below=1,
        title="share of class sizes",
        unit="of ε",
        help="the part of ε for counting the rows of each class; the rest is for the attributes",
        advanced=True,
    )
    smoothing: float = real(
        default=1.0,
        at_least=0,
        upto=1e6,
        symbol="α",
        title="added to counts",
        unit="rows",
        help="extra rows counted for each value of a category, so that none has probability 0",
        advanced=True,
    )
    noise_limit: float = real(
        default=0.1,
        above=0,
        upto=1e6,
        title="noise limit of means",
        unit="half-ranges",
        help=f"if the class means would be noisier than this, only the most telling attributes are used{_HALF}",
        advanced=True,
    )
    choice_share: float = real(
        default=0.4,
        above=0,
        below=1,
        title="share of the choice",
        unit="of ε",
        help="the part of ε for finding the most telling attributes where not all are used; less of a few columns",
        advanced=True,
    )
    mean_spread: float = real(
        default=0.4,
        above=0,
        upto=10,
        title="spread of means",
        unit="half-ranges",
        help=f"how far class means usually lie from the common mean; noisy means move towards it{_HALF}",
        advanced=True,
    )
    typical_variance: float = real(
        default=0.04,
        above=0,
        upto=1,
        title="variance in a class",
        unit="half-ranges²",
        help=f"the usual variance within a class; noisy variances are shrunk towards it{_HALF}",
        advanced=True,
    )
    separate_below: float = real(
        default=0.005,
        above=0,
        upto=1e6,
        title="own variance below",
        unit="half-ranges²",
        help=f"with less noise than this each class has its own variance, else they share one{_HALF}",
        advanced=True,
    )

"""The parameters of naive Bayes: its budget, how it is split, and priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.learners.setting import chance_of_failure, part_of_epsilon, privacy_budget, ranges_of_columns
from workbench.params import Parameters, real

_HALF = "a half-range is half the width of the bounds"


def _in_half_ranges(title: str, default: float, upto: float, text: str, unit: str = "half-ranges") -> Any:
    return real(default=default, above=0, upto=upto, title=title, unit=unit, help=f"{text}; {_HALF}", advanced=True)


@dataclass(frozen=True, kw_only=True)
class NaiveBayesParameters(Parameters):
    """Budget and priors. The defaults were chosen by simulation on scikit-learn's tables and generated ones.

    Accuracy hardly depends on them: over 10 such tables and ε from 0.1 to 100, halving or doubling one changes the mean
    by about 0.01 at most (``tests/benchmarks/results/naive_bayes_defaults.md``). None was chosen on a private table.
    """

    epsilon: float | None = privacy_budget()
    delta: float | None = chance_of_failure()
    ranges: str = ranges_of_columns()
    # Class sizes divide every sum, so they get more than an equal share of 2d+1 would give them.
    count_share: float = part_of_epsilon(
        "share of class sizes", 0.1, "share of ε for counting the rows of each class; the rest is for the attributes"
    )
    smoothing: float = real(
        default=1.0,
        at_least=0,
        upto=1e6,
        symbol="α",
        title="added to counts",
        unit="rows",
        help="pseudo-count added to each category (additive smoothing), so that none has probability 0",
        advanced=True,
    )
    noise_limit: float = _in_half_ranges(
        "noise limit of means",
        0.1,
        1e6,
        "if class means would be noisier than this, only the most informative attributes are used",
    )
    choice_share: float = part_of_epsilon(
        "share for selection",
        0.4,
        "share of ε for selecting the most informative attributes, if not all are used; less with few columns",
    )
    mean_spread: float = _in_half_ranges(
        "spread of means",
        0.4,
        10,
        "typical distance of class means from the overall mean; noisy means are shrunk towards it",
    )
    typical_variance: float = _in_half_ranges(
        "variance in a class",
        0.04,
        1,
        "typical variance within a class; noisy variances are shrunk towards it",
        "half-range²",
    )
    separate_below: float = _in_half_ranges(
        "own variance below",
        0.005,
        1e6,
        "with less noise than this each class has its own variance; otherwise they share one",
        "half-range²",
    )

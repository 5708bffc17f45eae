"""Simulated intervals: how many hold the truth, and how wide they are beside what the mechanism's variance implies."""

import math
from dataclasses import dataclass

import numpy as np

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanisms import Mechanism
from workbench.privacy.local.unbiased import unbiased
from workbench.sanitize.estimates import estimate_names, estimate_numbers

WANTED = 1.959963984540054


@dataclass(frozen=True)
class Found:
    """One setting of the study.

    Attributes:
        setting: in words.
        rows: number of rows.
        intervals: how many were simulated.
        misses: how many did not hold the truth.
        width: their mean width.
        implied: 2·1.96 standard errors of the unbiased estimator at the true frequencies; NaN where there is none.
        error: mean error of the point estimates, in their standard errors; NaN where they are not unbiased.
    """

    setting: str
    rows: int
    intervals: int
    misses: int
    width: float
    implied: float
    error: float

    @property
    def ratio(self) -> float:
        """Width beside what the variance implies."""
        return self.width / self.implied


def population(shape: str, cells: int, rows: int) -> np.ndarray:
    """Return how many of ``rows`` lie in each of ``cells``: the quantiles of a shape, so that nothing is drawn."""
    from scipy import stats

    at = (np.arange(rows) + 0.5) / rows
    if shape == "heavy tail":  # incomes in a range ten times their median
        values = stats.lognorm(0.9, scale=0.07).ppf(at)
    elif shape == "bell":
        values = stats.norm(0.35, 0.12).ppf(at)
    elif shape == "two groups":
        values = np.where(at < 0.6, 0.1, 0.8)
    else:
        values = at
    return np.bincount(np.clip(np.round(values * (cells - 1)), 0, cells - 1).astype(int), minlength=cells)


def draws(truth: np.ndarray, chances: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return sum((random.multinomial(n, chances[x]) for x, n in enumerate(truth) if n), np.zeros(len(chances[0]), int))


def study_of_means(
    mechanism: Mechanism, epsilon: float, cells: int, rows: int, shape: str, repeats: int, missing: float = 0.0
) -> Found:
    """Simulate the intervals of one mean; with ``missing`` that part of the rows has no value."""
    grid = Cells.line(-1, 1, cells, missing=missing > 0)
    table = mechanism.build(grid, epsilon)
    chances = table.probabilities()
    absent = round(missing * rows)
    truth = population(shape, cells, rows - absent)
    mean = float(truth @ grid.values) / (rows - absent)
    if missing:
        truth = np.append(truth, absent)
    random = np.random.default_rng([cells, rows, int(epsilon * 100), len(mechanism.name), len(shape)])
    misses, widths, errors = 0, [], []
    for _ in range(repeats):
        made = estimate_numbers("x", grid, table, draws(truth, chances, random), 0.95)
        assert made.mean is not None
        misses += not made.mean.low <= mean <= made.mean.high
        widths.append(made.mean.high - made.mean.low)
        errors.append(made.mean.estimate - mean)
    error = np.mean(errors) / (np.std(errors, ddof=1) / math.sqrt(repeats)) if made.method == "unbiased" else math.nan
    name = f"{mechanism.name}, {cells} cells, ε = {epsilon:g}, {shape}, {rows:,} rows" + (
        f", {missing:.0%} missing" if missing else ""
    )
    implied = _implied(table.channel(), grid, truth, rows, mean, absent)
    return Found(name, rows, repeats, misses, float(np.mean(widths)), implied, float(error))


def _implied(channel, grid: Cells, truth: np.ndarray, rows: int, mean: float, absent: int) -> float:
    # With missing cells: of the ratio to first order, Σ f·(x − mean·present) over the share present.
    wanted = np.append(grid.values - mean, 0.0) if grid.missing else np.asarray(grid.values)
    linear = unbiased(channel, wanted)
    if linear is None:
        return math.nan
    error = math.sqrt(float(truth @ linear.variance(channel)) / rows**2)
    return 2 * WANTED * error * rows / (rows - absent)


def study_of_names(mechanism: Mechanism, epsilon: float, shares: tuple[float, ...], rows: int, repeats: int) -> Found:
    """Simulate the intervals of every frequency of a column of names."""
    truth = np.round(np.array(shares) * rows).astype(int)
    size, rows = len(shares), int(truth.sum())
    table = mechanism.build(Cells(size=size), epsilon)
    chances = table.probabilities()
    labels = tuple(map(str, range(size)))
    random = np.random.default_rng([size, rows, int(epsilon * 100)])
    misses, width, implied = 0, 0.0, 0.0
    channel = table.channel()
    linears = [unbiased(channel, own) for own in np.eye(size)]
    errors = []
    for _ in range(repeats):
        made = estimate_names("x", labels, table, draws(truth, chances, random), False, 0.95)
        assert made.frequencies is not None
        intervals = list(made.frequencies.values())
        misses += sum(not i.low <= n / rows <= i.high for i, n in zip(intervals, truth, strict=True))
        width += sum(i.high - i.low for i in intervals)
        errors.append(intervals[0].estimate - truth[0] / rows)
    for linear in linears:
        assert linear is not None
        implied += 2 * WANTED * math.sqrt(float(truth @ linear.variance(channel))) / rows
    error = np.mean(errors) / (np.std(errors, ddof=1) / math.sqrt(repeats))
    setting = f"{mechanism.name}, {size} names, ε = {epsilon:g}, {rows:,} rows"
    return Found(setting, rows, repeats * size, misses, width / repeats, implied, float(error))

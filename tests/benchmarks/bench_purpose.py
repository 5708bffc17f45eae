"""What the advisor's choice for statistics buys: intervals of a mean and of shares on a skewed table of 200,000 rows.

Run with ``OPENBLAS_NUM_THREADS=1 python -m pytest -m benchmark tests/benchmarks/bench_purpose.py -s``.
"""

import dataclasses
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.privacy.entropy import SeededEntropy
from workbench.privacy.local import mechanisms
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.error_profile import usual_shapes
from workbench.privacy.local.mechanisms import Mechanism
from workbench.privacy.local.unbiased import direct
from workbench.sanitize.calibrated_columns import candidates
from workbench.sanitize.estimates import estimate_names, estimate_numbers

ROWS = 200_000
DRAWS = 3
EPSILONS = (0.3, 0.5, 1.0, 2.0, 4.0)
RESULTS = Path(__file__).parent / "results" / "purpose.md"
INCOME = Cells.line(0, 500_000, 501)
SIZES = Cells.line(0, 9, 10)
"""Household sizes: as numbers, which the staircase is for, and as names, whose shares are estimated."""

NAMES = tuple(str(v) for v in range(10))


def skewed() -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the cells of incomes, lognormal with median 30,000, and of household sizes, both (n,)."""
    random = np.random.default_rng(7)
    incomes = np.clip(random.lognormal(np.log(30_000), 0.7, ROWS), 0, 500_000)
    sizes = np.clip(random.lognormal(np.log(1.8), 0.6, ROWS).round(), 0, 9)
    return (incomes / 1000).round().astype(np.uint16), sizes.astype(np.uint16)


def mean_width(mechanism: Mechanism, epsilon: float, truth: NDArray[np.uint16]) -> float:
    """Return the mean width of the 95 % interval of the mean, over some draws."""
    made, widths = mechanism.build(INCOME, epsilon), []
    for seed in range(DRAWS):
        counts = np.bincount(made.sample(truth, SeededEntropy(seed)), minlength=INCOME.total)
        found = estimate_numbers("income", INCOME, made, counts, 0.95).mean
        assert found is not None
        widths.append(found.high - found.low)
    return float(np.mean(widths))


def share_width(mechanism: Mechanism, epsilon: float, truth: NDArray[np.uint16]) -> float:
    """Return the mean width of the 95 % intervals of the shares of all values, over some draws."""
    cells = SIZES if mechanism.line_only else dataclasses.replace(SIZES, values=None)
    made, widths = mechanism.build(cells, epsilon), []
    for seed in range(DRAWS):
        counts = np.bincount(made.sample(truth, SeededEntropy(seed)), minlength=cells.total)
        found = estimate_names("size", NAMES, made, counts, False, 0.95).frequencies
        assert found is not None
        widths += [f.high - f.low for f in found.values()]
    return float(np.mean(widths))


def advised(cells: Cells, epsilon: float) -> Mechanism:
    """Return what ``auto`` takes for statistics."""
    return candidates(cells, Decimal(str(epsilon)), "statistics")[0][0]


@pytest.mark.benchmark
def test_what_the_advisor_takes_for_statistics_gives_the_shortest_intervals():
    incomes, sizes = skewed()
    lines = ["# Purpose statistics: widths of 95 % intervals", "", _INTRODUCTION]
    lines += _section("Mean of income", "", INCOME, incomes, mean_width)
    lines += _section("Shares of household sizes", "%", dataclasses.replace(SIZES, values=None), sizes, share_width)
    lines += [*_of_shapes(incomes), "", _READING]
    RESULTS.write_text("\n".join([*lines, ""]), "utf-8")


_INTRODUCTION = (
    f"{ROWS:,} rows, lognormal; income on 0 to 500,000 in 501 cells (median 30,000), household sizes 0 to 9. Mean of "
    f"{DRAWS} draws, by the intervals of `estimate`. **Bold**: the advisor's choice."
)

_READING = """\
No wider than under the best single mechanism: met at each of these ε, for the mean and for shares. A mechanism with a
star needs numbers: a column of names cannot have it, and it counts for no best. The advisor reads no rows. Duchi's
noise is least at the bounds and largest in the middle, that of piecewise the other way round, so that no rule without
data is the best for every table and every ε; the advisor takes the least geometric mean of the variances in ten public
shapes. Between these ε the last table tells how far it is from the best for this table, and how far, at worst, for the
ten shapes; hybrid, made for the least largest variance, would be up to half as wide again on ordinary shapes. No one
mechanism for both columns is as good as `auto` in both sections."""

MEANS = ("duchi", "three-outputs", "hybrid", "piecewise", "square-wave")
BETWEEN = (0.3, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)


def _of_shapes(incomes: NDArray[np.uint16]) -> list[str]:
    """How much wider than the best intervals of a mean are, for this table and at worst over the public shapes.

    From the tables of the mechanisms alone: no draws.
    """
    values = np.asarray(INCOME.values)
    shapes = usual_shapes(values)
    skew = np.bincount(incomes, minlength=INCOME.total) / len(incomes)
    out = ["", "## The mean, from the tables alone: width beside that under the best mechanism", ""]
    out += ["| ε | advisor's choice | this table | ten public shapes, largest | that of hybrid |", "|---" * 5 + "|"]
    for epsilon in BETWEEN:
        widths, here = {}, {}
        for name in MEANS:
            channel = mechanisms.mechanism(name).build(INCOME, epsilon).channel()
            found = direct(channel, values - values.mean())
            assert found is not None
            widths[name] = np.sqrt(shapes @ found.variance(channel))
            here[name] = float(np.sqrt(skew @ found.variance(channel)))
        best = np.min(list(widths.values()), axis=0)
        auto = advised(INCOME, epsilon).name
        largest = {name: float((w / best).max()) for name, w in widths.items()}
        own = here[auto] / min(here.values())
        out.append(f"| {epsilon:g} | {auto} | {own:.3f} | {largest[auto]:.3f} | {largest['hybrid']:.3f} |")
        assert largest[auto] <= 1.18
    return out


def _section(
    title: str,
    unit: str,
    cells: Cells,
    truth: NDArray[np.uint16],
    width_of: Callable[[Mechanism, float, NDArray[np.uint16]], float],
) -> list[str]:
    taken = [m for m in mechanisms.MECHANISMS if not m.two_values and not m.refusal(INCOME if not unit else SIZES)]
    star = {m.name: "*" * bool(m.refusal(cells)) for m in taken}
    heads = " | ".join(m.name + star[m.name] for m in taken)
    out = ["", f"## {title}", "", f"| ε | {heads} | auto / best | auto / staircase |"]
    out.append("|---" * (len(taken) + 3) + "|")
    for epsilon in EPSILONS:
        widths = {m.name: width_of(m, epsilon, truth) for m in taken}
        auto = advised(cells, epsilon).name
        scale = 100 if unit else 1
        cellular = [f"{'**' * (n == auto)}{scale * w:,.3g}{unit}{'**' * (n == auto)}" for n, w in widths.items()]
        best = widths[auto] / min(width for name, width in widths.items() if not star[name])
        stairs = widths[auto] / widths["staircase"]
        out.append(f"| {epsilon:g} | " + " | ".join(cellular) + f" | {best:.3f} | {stairs:.3f} |")
        assert stairs <= 0.5, (title, epsilon, stairs)
        assert best <= 1, (title, epsilon, best)
    return out

"""Error of margins of a table: what is asked for them, one table of all columns, a table for each, the least error.

Run ``pytest -m benchmark tests/benchmarks/bench_margins.py``; it writes ``tests/benchmarks/results/margins.md``.
"""

import itertools
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.central.share import Share
from workbench.statistics.contingency import Margins, Workload

pytestmark = pytest.mark.benchmark

RESULTS = Path(__file__).parent / "results" / "margins.md"
SHAPES: tuple[tuple[int, ...], ...] = ((2, 2, 5), (10, 10, 10), (2, 5, 10, 20), (5,) * 6, (2,) * 12)
PUBLISHED = {1: 1.744, 2: 2.035, 3: 2.048}
ROWS, EPSILON, REPEATS, MOST = 10_000, Decimal(1), 20, 600_000


def least_gaussian(load: Workload) -> float:
    """The SVD bound of Li & Miklau 2013 for Gaussian noise: the sum of roots of the workload's eigenvalues.

    It has one for each set S of columns, Σ over margins that hold S of the cells they add up; where n is public, none
    for the empty set.
    """
    k, whole = len(load.sizes), 0.0
    asked = [kept for size in load.ways for kept in itertools.combinations(range(k), size)]
    for size in range(load.known, k + 1):
        for held in itertools.combinations(range(k), size):
            above = (
                math.prod(n for a, n in enumerate(load.sizes) if a not in kept) for kept in asked if {*held} <= {*kept}
            )
            whole += math.sqrt(sum(above)) * math.prod(load.sizes[a] - 1 for a in held)
    return whole / math.sqrt(math.prod(load.sizes) * load.figures)


def drawn(one: Margins) -> list[float]:
    """The error of seeded noise as it is released, on rows spread as few words are; then that of what is fitted."""
    load, chosen = one.workload, np.random.default_rng(3)
    true = chosen.multinomial(ROWS, chosen.dirichlet(np.full(math.prod(load.sizes), 0.2)))
    share, noise = Share(EPSILON, one.gaussian), StudyNoise(np.random.default_rng(7))
    squares: list[list[np.ndarray]] = [[], []]
    margins = [kept for size in load.ways for kept in itertools.combinations(range(len(load.sizes)), size)]
    for _ in range(REPEATS):
        noisy = np.array(share.noisy(noise, one.numbers(true.tolist()), one.sensitivity), float)
        table = one.least_squares(noisy, ROWS)
        for found, made in zip(squares, (table, one.nearest(table, float(ROWS))), strict=True):
            off = made - true.reshape(load.sizes)
            found += [(off.sum(axis=tuple(a for a in range(off.ndim) if a not in k)) ** 2).ravel() for k in margins]
    return [math.sqrt(float(np.concatenate(found).mean()) / share.variance()) for found in squares]


def test_margins_beside_the_least_error():
    lines = [
        "# Margins of a table",
        "",
        "Root mean squared error over all figures of the margins, in units of the standard deviation of one noisy",
        "count that has the whole ε (or ρ): the same at every ε; n is public. *Asked*: `--table` as it is asked for",
        f"these margins. *Released*: the same as it is released (no cell below 0, all sum to n), drawn {REPEATS} times",
        f"with seeds, at ε (or ρ) = {EPSILON}, {ROWS:,} rows, most of them in few cells. *One table*: counts of all",
        "columns, whose margins are sums. *Each*: a table for each margin, with equal shares. *Least*: the SVD bound",
        "of Li & Miklau 2013 for Gaussian noise, which residuals reach (Xiao, He, Zhang & Kifer 2023).",
        "",
        "| cells | margins | figures | one table | each, Laplace | asked, Laplace | released "
        "| each, Gaussian | asked, Gaussian | least | released |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        for most in sorted({1, 2, min(3, len(shape)), len(shape)}):
            load = Workload(shape, tuple(range(1, most + 1)), known=True)
            count = int(load.released.sum())
            every = np.zeros((2,) * len(shape), dtype=int)
            every[(1,) * len(shape)] = 1
            one = Margins(load, False, (False,) * len(shape), every)
            cells = [math.sqrt(one.error / load.figures)]
            for gaussian in (False, True):
                found = Margins.of(load, MOST if gaussian else 50_000, gaussian=gaussian)
                asked, least = math.sqrt(found.error / load.figures), least_gaussian(load)
                plain, fitted = drawn(found)
                assert plain == pytest.approx(asked, rel=0.25)
                assert (asked <= 1.01 * least) if gaussian else (least <= asked <= cells[0] + 1e-9)
                cells += [math.sqrt(count) if gaussian else count, asked, *([least] if gaussian else []), fitted]
            words = "all columns" if most == len(shape) else f"at most {most}"
            numbers = " | ".join(f"{cell:.2f}" for cell in cells)
            lines.append(f"| {' × '.join(map(str, shape))} | {words} | {load.figures:,} | {numbers} |")
    lines += ["", "Xiao et al. 2023 state for the CPS table (100 × 50 × 7 × 4 × 2), n not public, Gaussian noise:"]
    for ways, published in PUBLISHED.items():
        load = Workload((100, 50, 7, 4, 2), (ways,), known=False)
        own = math.sqrt(Margins.of(load, MOST, gaussian=True).error / load.figures)
        lines.append(f"{ways}-way margins {published}, here {own:.3f}.")
    RESULTS.write_text("\n".join([*lines, ""]), "utf-8")

"""Error of margins of a table: one table of all columns, a table for each margin, a bound that is reached.

Run ``pytest -m benchmark tests/benchmarks/bench_margins.py``; it writes ``tests/benchmarks/results/margins.md``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.central.share import Share
from workbench.statistics.contingency import projected

pytestmark = pytest.mark.benchmark

RESULTS = Path(__file__).parent / "results" / "margins.md"
SHAPES: tuple[tuple[int, ...], ...] = ((2, 2, 5), (10, 10, 10), (2, 5, 10, 20), (5,) * 6, (2,) * 12)
ROWS, EPSILON, REPEATS = 10_000, Decimal(1), 20


def margins(shape: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """All sets of at most ``most`` columns, and of at least one."""
    return [kept for size in range(1, most + 1) for kept in itertools.combinations(range(len(shape)), size)]


def figures(shape: Sequence[int], asked: list[tuple[int, ...]]) -> int:
    return sum(math.prod(shape[a] for a in kept) for kept in asked)


def one_table(shape: Sequence[int], asked: list[tuple[int, ...]]) -> float:
    """Root mean squared error of sums of noisy cells, each cell's variance being 1."""
    return math.sqrt(len(asked) * math.prod(shape) / figures(shape, asked))


def each_table(asked: list[tuple[int, ...]], *, gaussian: bool) -> float:
    """The same where each margin is counted by itself, at an equal share of ε or of ρ."""
    return math.sqrt(len(asked)) if gaussian else float(len(asked))


def least_gaussian(shape: Sequence[int], asked: list[tuple[int, ...]]) -> float:
    """The SVD bound of Li & Miklau 2013 for Gaussian noise; residuals reach it (Xiao, He, Zhang & Kifer 2023).

    The workload has one eigenvalue for each set S of columns, Σ over margins that hold S of the cells they add up.
    """

    def added(kept: tuple[int, ...]) -> int:
        return math.prod(n for a, n in enumerate(shape) if a not in kept)

    whole = sum(
        math.sqrt(sum(added(kept) for kept in asked if {*held} <= {*kept})) * math.prod(shape[a] - 1 for a in held)
        for size in range(len(shape) + 1)
        for held in itertools.combinations(range(len(shape)), size)
    )
    return whole / math.sqrt(math.prod(shape) * figures(shape, asked))


def drawn(shape: Sequence[int], asked: list[tuple[int, ...]], *, fitted: bool) -> float:
    """The error of one table from seeded noise of the released distribution, on rows spread as few words are."""
    chosen = np.random.default_rng(3)
    true = chosen.multinomial(ROWS, chosen.dirichlet(np.full(math.prod(shape), 0.2)))
    share, noise, squares = Share(EPSILON), StudyNoise(np.random.default_rng(7)), []
    for _ in range(REPEATS):
        noisy = np.array(share.noisy(noise, true.tolist(), 1), float)
        off = ((projected(noisy, float(ROWS)) if fitted else noisy) - true).reshape(shape)
        for kept in asked:
            squares.append((off.sum(axis=tuple(a for a in range(len(shape)) if a not in kept)) ** 2).ravel())
    return math.sqrt(float(np.concatenate(squares).mean()) / share.variance())


def test_margins_beside_the_least_error() -> None:
    lines = [
        "# Margins of a table",
        "",
        "Root mean squared error over all figures of the margins, in units of the standard deviation of one noisy",
        "count that has the whole ε (or ρ): the same at every ε. *One table*: `--table` of all columns, whose margins",
        "are sums of its cells; before they are fitted it is a plain histogram. *Fitted*: the same as it is released",
        f"(no cell below 0, all sum to n), drawn {REPEATS} times with seeds, at ε = {EPSILON}, {ROWS:,} rows, most of",
        "them in few cells. *Each*: a table for each margin, with equal shares. *Least*: the SVD bound of Li & Miklau",
        "2013 for Gaussian noise and n not public, which noisy residuals reach (Xiao, He, Zhang & Kifer 2023). This",
        "program does not choose what it counts by the margins that are asked for: the difference is what that gives.",
        "",
        "| cells | margins | figures | one table | fitted | each, Laplace | each, Gaussian | least, Gaussian |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        for most in sorted({1, 2, min(3, len(shape)), len(shape)}):
            asked = margins(shape, most)
            one, least = one_table(shape, asked), least_gaussian(shape, asked)
            plain, fitted = (drawn(shape, asked, fitted=way) for way in (False, True))
            assert plain == pytest.approx(one, rel=0.25)
            assert least <= min(one, each_table(asked, gaussian=True)) + 1e-9
            words = "all columns" if most == len(shape) else f"at most {most}"
            lines.append(
                f"| {' × '.join(map(str, shape))} | {words} | {figures(shape, asked):,} | {one:.2f} | {fitted:.2f} "
                f"| {each_table(asked, gaussian=False):.2f} | {each_table(asked, gaussian=True):.2f} | {least:.2f} |"
            )
    RESULTS.write_text("\n".join([*lines, ""]), "utf-8")

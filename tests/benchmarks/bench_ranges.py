"""Error of all ranges of a column: the tree that is chosen, a plain histogram, HDMM's published figure, a bound.

Run ``pytest -m benchmark tests/benchmarks/bench_ranges.py``; it writes ``tests/benchmarks/results/ranges.md``.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigvalsh

from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.central.share import Share
from workbench.statistics.ranges import Ranges

pytestmark = pytest.mark.benchmark

RESULTS = Path(__file__).parent / "results" / "ranges.md"
SIZES = (16, 64, 128, 256, 512, 1024)
HDMM_256 = 5.736
"""Root mean squared error of AllRange(256) by a p-Identity strategy, ε = √2, so that one count's variance is 1: the
example in the README of HDMM (McKenna, Miklau, Hay & Machanavajjhala 2018), with its ``error.rootmse``."""


def least_gaussian(k: int) -> float:
    """The SVD bound of Li & Miklau 2013 on the root mean squared error of any strategy with Gaussian noise, σ = 1."""
    at = np.arange(1, k + 1)
    gram = np.minimum.outer(at, at) * (k + 1 - np.maximum.outer(at, at))  # ranges that hold both bins
    return float(np.sqrt(eigvalsh(gram)).sum() / np.sqrt(k) / np.sqrt(k * (k + 1) / 2))


def drawn(tree: Ranges, *, gaussian: bool, repeats: int) -> float:
    """The same from seeded noise of the released distribution, in units of one count's standard deviation."""
    from decimal import Decimal

    whole = Share(Decimal("0.05"), gaussian)
    share, noise = whole.part(1, len(tree.sizes)), StudyNoise(np.random.default_rng(7))
    levels = [
        np.array(share.noisy(noise, [0] * size * repeats, 1), float).reshape(repeats, size) for size in tree.sizes
    ]
    off = np.cumsum(tree.consistent(levels, np.zeros((repeats, 1)) if tree.known else None), axis=1)
    off = np.hstack([np.zeros((repeats, 1)), off])
    k = off.shape[1]
    squares = k * (off**2).sum(axis=1) - off.sum(axis=1) ** 2
    return float(np.sqrt(squares.mean() / (k * (k - 1) / 2) / whole.variance()))


def test_ranges_beside_a_histogram():
    lines = [
        "# Counts of all ranges",
        "",
        "Root mean squared error over all ranges of neighbouring bins, in units of the standard deviation of one noisy",
        "count that has the whole ε (or ρ): the same at every ε. n is public. *Drawn*: 300 seeded releases. *Least*:",
        "the SVD bound of Li & Miklau 2013, below which no strategy with Gaussian noise gets; n is not public there.",
        "",
        "| bins | noise | levels, children | tree | drawn | plain histogram | histogram / tree | least |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for k in SIZES:
        flat = float(np.sqrt(Ranges(k, k, known=True).mean_variance()))
        for gaussian in (False, True):
            tree = Ranges.of(k, gaussian=gaussian, known=True)
            levels = len(tree.sizes)
            error = float(np.sqrt(tree.mean_variance() * (levels if gaussian else levels**2)))
            found = drawn(tree, gaussian=gaussian, repeats=300)
            assert found == pytest.approx(error, rel=0.1)
            assert error <= flat + 1e-9
            least = f"{least_gaussian(k):.2f}" if gaussian else ""
            name = "Gaussian" if gaussian else "Laplace"
            lines.append(
                f"| {k} | {name} | {levels}, {tree.branching} | {error:.2f} | {found:.2f} | {flat:.2f} "
                f"| {flat / error:.2f} | {least} |"
            )
    unknown = Ranges.of(256, gaussian=False, known=False)
    own = float(np.sqrt(unknown.mean_variance())) * len(unknown.sizes)
    plain = float(np.sqrt(Ranges(256, 256, known=False).mean_variance()))
    lines += [
        "",
        "HDMM's own example, all ranges of 256 bins, n not public, Laplace noise, from its README: "
        f"{HDMM_256:.2f}; a plain histogram has {plain:.2f}, {plain / HDMM_256:.2f} times as much.",
        f"The tree here, n not public either: {own:.2f}, {plain / own:.2f} times less than the histogram and",
        f"{own / HDMM_256:.2f} times HDMM's. With n public it has the error in the table.",
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")

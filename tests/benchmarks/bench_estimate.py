"""Time and memory of an estimate, and the coverage and width of its intervals.

Run with ``OPENBLAS_NUM_THREADS=1 python -m pytest -m benchmark tests/benchmarks/bench_estimate.py -s``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "sanitize"))

from interval_study import Found, population
from test_estimate_coverage import judge, settings

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanisms import mechanism
from workbench.sanitize.estimates import estimate_numbers

ROWS = 2_000_000
CASES = [(name, e, 4001) for name in ("grr", "bounded-laplace", "staircase") for e in (0.5, 2.0)] + [
    ("staircase", 8.0, 4096),
    ("bounded-laplace", 8.0, 4096),
]
RESULTS = Path(__file__).parent / "results" / "estimate.md"
SECONDS, MEGABYTES = 2.0, 200


def measured(name: str, epsilon: float, cells: int) -> str:
    """Return a line of the table of costs; runs in a process of its own, so that the peak is the estimate's."""
    grid = Cells.line(0, 400_000, cells)
    began = time.perf_counter()
    table = mechanism(name).build(grid, epsilon)
    built = time.perf_counter() - began
    truth = population("heavy tail", cells, ROWS)
    answers = sum(truth[x] / ROWS * table.probabilities(slice(x, x + 1))[0] for x in np.flatnonzero(truth))
    counts = np.random.default_rng(1).multinomial(ROWS, answers / answers.sum())
    mean = float(truth @ grid.values) / ROWS
    estimate_numbers(
        "x", Cells.line(0, 1, 3), mechanism("staircase").build(Cells.line(0, 1, 3), 1.0), counts[:3] + 1, 0.95
    )
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before, began = _peak(), time.perf_counter()
    made = estimate_numbers("x", grid, table, counts, 0.95)
    seconds, more = time.perf_counter() - began, _peak() - before
    assert made.mean is not None
    figures = " | ".join(f"{v:,.0f}" for v in (mean, made.mean.estimate, made.mean.low, made.mean.high))
    return (
        f"| {name} | {epsilon:g} | {cells:,} | {built:.2f} | {seconds:.2f} | {more:.0f} | {made.gap:.1e} | "
        f"{made.method} | {figures} | {made.bias_bound:,.0f} |"
    )


def _peak() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024


def line_of(found: Found) -> str:
    """Return a line of the table of coverage."""
    ratio = f"{found.ratio:.2f}" if np.isfinite(found.implied) else "–"
    cover = 1 - found.misses / found.intervals
    return f"| {found.setting} | {found.intervals} | {cover:.3f} | {found.width:.4g} | {ratio} |"


@pytest.mark.benchmark
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_estimates_are_quick_and_their_intervals_cover() -> None:
    costs = []
    for case in CASES:
        code = f"from bench_estimate import measured; print(measured{case!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent)
        assert done.returncode == 0, done.stderr
        costs.append(done.stdout.strip())
    found = list(settings(150, (21, 121), (50, 5000, 200_000)))
    total, misses = sum(f.intervals for f in found), sum(f.misses for f in found)
    wide = [f for f in found if np.isfinite(f.implied) and f.rows >= 5000]
    RESULTS.write_text(
        """# Estimates

## Cost

One column of 2 million heavy-tailed rows (0 to 400,000). Seconds to build the table and to estimate from it, with one
thread of the linear algebra; megabytes that the estimate adds to the process's peak; the gap of the likelihood in nats;
true mean, estimate, interval at 95 %, and what the interval allows for bias.

| mechanism | ε | cells | build s | estimate s | added MB | gap | method | truth | estimate | low | high | bias bound |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""
        + "\n".join(costs)
        + f"""

## Coverage

{total:,} simulated intervals at 95 %, of which {misses:,} missed: coverage {1 - misses / total:.4f}. Width:
the mean one (numbers on [−1, 1]; names: the sum over the names). Ratio: beside 2·1.96 standard errors of the unbiased
estimator at the true frequencies; at most {max(f.ratio for f in wide):.2f} from 5,000 rows on. With 50 rows, intervals
that reach beyond what is possible are cut, and where noise is rare they are exact bounds (Chernoff).

| setting | intervals | coverage | width | ratio |
|---|---|---|---|---|
"""
        + "\n".join(line_of(f) for f in found)
        + "\n",
        encoding="utf-8",
    )
    judge(found)

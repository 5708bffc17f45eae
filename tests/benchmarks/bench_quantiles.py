"""Quantiles of statistics: error beside diffprivlib's and a histogram's, and coverage of the intervals, in one run.

diffprivlib 0.6.6 needs an environment of its own (scikit-learn 1.6.1). Name its Python, or do without, and run::

    WORKBENCH_PEER_PYTHON=/path/to/python pytest -m benchmark tests/benchmarks/bench_quantiles.py

The table is written to ``tests/benchmarks/results/quantiles.md``.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.statistics import queries

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "statistics"))

from test_drawn_quantiles import DECILES, quantile, query_of, released, shapes  # noqa: E402

pytestmark = pytest.mark.benchmark

PEER = os.environ.get("WORKBENCH_PEER_PYTHON", "")
EPSILONS = (0.1, 1.0, 10.0, 100.0)
ASKED = (((0.5,), 4000, 1000), (DECILES, 445, 100))
"""Quantiles, releases here (4,000 intervals or more), releases of the peer and of a histogram alone."""


def peers() -> dict[str, Any]:
    """What the peer drew, by shape, question and ε; ``None`` where it cannot draw."""
    columns = {
        name: {"x": x.astype(float).tolist(), "bounds": [column["lower"], column["upper"]]}
        for name, (x, column) in shapes().items()
    }
    task = {"columns": columns, "epsilons": EPSILONS, "asked": [(list(at), few) for at, _, few in ASKED]}
    words = [PEER, str(HERE / "peer_quantiles.py")]
    done = subprocess.run(words, input=json.dumps(task), capture_output=True, text=True, check=True, timeout=3600)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def off(found: Any, true: np.ndarray[Any, Any]) -> float:
    """The mean absolute error."""
    return math.nan if found is None else float(np.abs(np.array(found) - true).mean())


def short(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3g}"


def test_quantiles(monkeypatch):
    of_peer = peers() if PEER else {}
    lines, held, ratios, behind = [], [], [], [(0.0, "none")]
    for name, (x, column) in shapes().items():
        for question, (at, many, few) in enumerate(ASKED):
            true = np.array([quantile(x, q) for q in at])
            for place, epsilon in enumerate(EPSILONS):
                query, table = query_of(x, column, epsilon, at)
                found = released(query, table, many)
                own = off([[float(f.estimate) for f in one] for one in found], true)
                inside = [float(f.low) <= t <= float(f.high) for one in found for f, t in zip(one, true, strict=True)]
                length = float(np.mean([float(f.high) - float(f.low) for one in found for f in one]))
                with monkeypatch.context() as only:
                    only.setattr(queries, "_source_of_quantiles", lambda *_: queries.HISTOGRAM)
                    counted, same = query_of(x, column, epsilon, at)
                    histogram = off([[float(f.estimate) for f in one] for one in released(counted, same, few)], true)
                peer = off(of_peer[name][question][place], true) if PEER else math.nan
                covered = float(np.mean(inside))
                held.append((covered, len(inside)))
                if len(at) == 1 and not math.isnan(peer):
                    ratios.append(own / max(peer, 1e-9))
                if len(at) > 1:
                    best = min(v for v in (histogram, peer) if not math.isnan(v))
                    behind.append((max(own - best, 0.0) / max(best, 1e-9), f"{name} at ε = {epsilon:g}"))
                asked = "median" if len(at) == 1 else "nine deciles"
                cells = (name, asked, f"{epsilon:g}", query.form, *map(short, (own, histogram, peer)))
                lines.append(f"| {' | '.join(cells)} | {covered:.4f} of {len(inside):,} | {short(length)} |")
    worst = min(covered for covered, _ in held)
    (HERE / "results" / "quantiles.md").write_text(
        f"""# Quantiles of statistics

2,000 rows: log-normal incomes declared 0 to 500,000; normal values declared 0 to 100; whole numbers 0 to 99; and two
points (0 and 100) declared 0 to 1,000. Errors are mean absolute ones of the released figure, in units of the column.
*Source* is where the workbench reads the figures, chosen from public facts; half of the ε of drawn quantiles pays for
their intervals. *Histogram* is the same program held to its histogram. The peer is diffprivlib 0.6.6 in the same run,
without intervals, a dash where it cannot draw (its weights are no numbers). Workbench: seeded noise of the released
distribution.

Least coverage {worst:.4f} (Monte-Carlo error .0034 of 4,000). Largest ratio of the median's error to the peer's
{max(ratios, default=math.nan):.2f}. Where the nine deciles are farthest behind the better of both: {max(behind)[1]},
by {100 * max(behind)[0]:.0f} %.

| rows | asked | ε | source | workbench | histogram | peer | intervals that hold | mean length |
|---|---|---|---|---|---|---|---|---|
"""
        + "\n".join(lines)
        + "\n",
        encoding="utf-8",
    )
    assert all(covered >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / count) for covered, count in held)
    assert max(ratios, default=0.0) <= 1.5

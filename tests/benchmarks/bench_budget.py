"""What the accountant takes for a run of a million steps: each figure from the others, the curve, a lookup per step.

Run alone, on an idle machine::

    pytest -m benchmark tests/benchmarks/bench_budget.py

The table is written to ``tests/benchmarks/results/budget.md``.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from workbench.privacy.accounting.accountant import event_of, loss
from workbench.privacy.accounting.epsilon_curve import EpsilonCurve
from workbench.privacy.accounting.solve import solve

pytestmark = pytest.mark.benchmark

RESULTS = Path(__file__).parent / "results" / "budget.md"
ROWS, BATCH, SIGMA, EPOCHS, DELTA = 60_000, 60, 1.0, 1000, 1e-5  # 10⁶ steps
LONG, SHORT_LOOKUP = 10.0, 10e-6
CHECKED = 60
"""Steps at which the lookup is compared with the accountant's own figure."""


def test_a_run_of_a_million_steps() -> None:
    loss(event_of(1000, 10, 1, 1.0), 1e-3)  # the library is imported once, in two seconds
    event = event_of(ROWS, BATCH, EPOCHS, SIGMA)
    assert event.steps == 10**6
    lines, at = [], time.perf_counter()
    epsilon = solve(rows=ROWS, delta=DELTA, sigma=SIGMA, epochs=EPOCHS, batch=BATCH).epsilon
    lines.append(("ε from σ, epochs and batch", time.perf_counter() - at, f"{epsilon:.5g}"))
    given = {"epsilon": epsilon, "sigma": SIGMA, "epochs": EPOCHS, "batch": BATCH}
    for name, told in (("sigma", "σ"), ("epochs", "epochs"), ("batch", "batch")):
        at = time.perf_counter()
        found = solve(rows=ROWS, delta=DELTA, **{k: v for k, v in given.items() if k != name})  # type: ignore[arg-type]
        lines.append((f"{told} from the other three", time.perf_counter() - at, f"{getattr(found, name):.5g}"))
        assert found.epsilon <= epsilon
        assert getattr(found, name) == pytest.approx(given[name], rel=0.01)
    at = time.perf_counter()
    curve = EpsilonCurve.build(event, DELTA)
    lines.append(("ε at every step (the curve)", time.perf_counter() - at, f"{curve.epsilons[-1]:.5g}"))
    steps = [int(s) for s in np.random.default_rng(1).integers(1, 10**6, 200_000)]
    at = time.perf_counter()
    for step in steps:
        curve.at(step)
    lookup = (time.perf_counter() - at) / len(steps)
    checked = (1, 2, 3, 10**6, *steps[:CHECKED])
    margins = [curve.at(s) - loss(replace(event, steps=s), DELTA).epsilon for s in checked]
    load = ", ".join(f"{v:.2f}" for v in os.getloadavg())
    text = [
        "# A run of a million steps",
        "",
        f"{ROWS:,} rows, batch {BATCH}, σ = {SIGMA:g}, {EPOCHS:,} epochs, δ = {DELTA:g}; PLD accountant; "
        f"{os.cpu_count()} cores, load {load}.",
        "",
        "| what | seconds | found |",
        "|---|---|---|",
        *(f"| {told} | {seconds:.2f} | {found} |" for told, seconds, found in lines),
        "",
        f"A lookup of one step takes {1e6 * lookup:.2f} µs (200,000 random steps). At {len(margins)} steps, the first "
        f"and the last among them, it is above the accountant's own by {min(margins):.2g} to {max(margins):.2g}.",
        "",
    ]
    RESULTS.write_text("\n".join(text), encoding="utf-8")
    assert min(margins) >= 0
    assert max(seconds for _, seconds, _ in lines) <= LONG
    assert lookup <= SHORT_LOOKUP

"""Time and memory of synthetic rows from large tables, beside what is foreseen before the start.

Run ``WORKBENCH_BENCH_METHOD=mst pytest -m benchmark tests/benchmarks/bench_synthesis_size.py``; each case in a process
of its own, so that its peak memory is its own.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

CASES = (
    ("marginals", 100_000, 50),
    ("mst", 100_000, 50),
    ("aim", 100_000, 50),
    ("mst", 20_000, 300),
)
RESULTS = Path(__file__).parent / "results" / "synthesis_size.md"

RUN = """
import json, resource, sys, threading, time
from decimal import Decimal
import numpy as np
from workbench.data.schema import Attribute
from workbench.params import CancelledError
from workbench.privacy.entropy import SeededEntropy
from workbench.signals.cancel import CancelToken
from workbench.synth import synthesiser
from workbench.synth.base import Setting
from workbench.synth.columns import CodedRows, coarse_columns
from workbench.synth.resources import needs_of
from workbench.synth.synthesis import cost_of_synthesis, synthesised
from workbench.work.noise import Study
name, n, d, stop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
facts = [Attribute(name=f"c{i}", kind="integer", lower=0.0, upper=99.0) if i % 5 < 3 else
         Attribute(name=f"c{i}", kind="category", domain=tuple(f"v{k}" for k in range(2 + i % 9))) for i in range(d)]
columns = coarse_columns(facts, 16)
draw = np.random.default_rng(1)
codes = np.zeros((n, d), dtype=np.int32)
for j, c in enumerate(columns):
    codes[:, j] = np.where(draw.random(n) < 0.6, codes[:, max(j - 1, 0)] % c.size, draw.integers(0, c.size, n))
setting = Setting(columns, 0, n, Decimal(1))
method = synthesiser(name)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cancel, told = CancelToken(), {}
def later():
    time.sleep(stop); told["at"] = time.monotonic(); cancel.cancel()
if stop:
    threading.Thread(target=later, daemon=True).start()
started = time.monotonic()
try:
    rows = CodedRows(codes, np.ones(n, bool))
    ask = Study(draw, SeededEntropy(1)).ask(cost_of_synthesis(method, setting))
    synthesised(method, setting, rows, n, ask, cancel=cancel)
except CancelledError:
    told["cancelled"] = time.monotonic() - told["at"]
seconds = time.monotonic() - started
cpu = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
needs = needs_of(method, setting, n)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": seconds, "cpu": cpu, "mb": peak / 1024, "more_mb": (peak - before) / 1024,
                  "foreseen_s": needs.seconds, "foreseen_mb": needs.bytes / 1e6, **told}))
"""


def measured(method: str, rows: int, columns: int, stop: float = 0.0) -> dict[str, float]:
    words = [sys.executable, "-c", RUN, method, str(rows), str(columns), str(stop)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def test_large_tables_stay_within_time_and_memory():
    lines = [
        "# Synthetic rows from large tables",
        "",
        "ε = 1, 16 cuts, three columns of five are numbers; as many rows drawn as there are. Peak memory is that of",
        "the whole process. Foreseen: what the command says before it starts. Cancelled: from the press to the end.",
        "",
        "| method | rows × columns | seconds | foreseen | peak MB | beside the table | foreseen | cancelled after, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for method, rows, columns in CASES:
        whole = measured(method, rows, columns)
        times = [measured(method, rows, columns, whole["seconds"] * part).get("cancelled", 0.0) for part in (0.2, 0.6)]
        lines.append(
            f"| {method} | {rows:,} × {columns} | {whole['seconds']:.0f} | {whole['foreseen_s']:.0f} | "
            f"{whole['mb']:.0f} | {whole['more_mb']:.0f} | {whole['foreseen_mb']:.0f} | {max(times):.2f} |"
        )
        RESULTS.write_text("\n".join(lines) + "\n", "utf-8")
        assert whole["seconds"] < 600
        assert whole["mb"] < 4096
        assert max(times) < 1

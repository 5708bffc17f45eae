"""How long releases take on a Dask cluster of this computer: two workers beside one, and beside no cluster.

On an idle machine::

    pytest -m benchmark tests/benchmarks/bench_dask.py

The table is written to ``tests/benchmarks/results/dask.md``. All times are those of whole commands, from their start to
their end; ``WORKBENCH_BENCH_ROWS`` is the number of rows.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from local_cluster import NO_DASK, Cluster

pytestmark = [*NO_DASK, pytest.mark.benchmark]

RESULTS = Path(__file__).parent / "results" / "dask.md"
ROWS = int(os.environ.get("WORKBENCH_BENCH_ROWS", "2000000"))
CITIES = ("Graz", "Linz", "Wels", "Wien")
COMMANDS = {
    "sanitize": ("--plan", "plan.toml"),
    "statistics": ("--plan", "plan.toml", "--epsilon", "1"),
    "synthesize": ("--plan", "plan.toml", "--epsilon", "1", "--rows", "1000"),
    "fit": ("--bounds", "plan.toml", "--epsilon", "1", "--target", "c0", "--model", "naive-bayes"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rows")
    generator = np.random.default_rng(1)
    names = np.array(CITIES)
    columns = {f"n{k}": generator.integers(0, 1_000_000, ROWS) for k in range(4)}
    texts = {f"c{k}": names[generator.integers(0, len(CITIES), ROWS)] for k in range(4)}
    pl.DataFrame({**columns, **texts}).write_csv(made / "rows.csv")
    lines = ["version = 1", "epsilon = 8.0"]
    for name in columns:
        lines += ["[[column]]", f'name = "{name}"', 'kind = "integer"', "lower = 0", "upper = 999999", "cells = 101"]
    for name in texts:
        lines += ["[[column]]", f'name = "{name}"', 'kind = "category"', f"domain = {list(CITIES)!r}".replace("'", '"')]
    (made / "plan.toml").write_text("\n".join(lines) + "\n")
    return made


def seconds(folder: Path, command: str, number: int, *where: str) -> float:
    output = f"{command}{number}" if command == "fit" else f"{command}{number}.csv"
    words = [sys.executable, "-m", "workbench", command, "rows.csv", *COMMANDS[command], "-o", output]
    begun = time.monotonic()
    subprocess.run([*words, "--ledger", f"{command}{number}.sqlite", *where], cwd=folder, check=True)
    return time.monotonic() - begun


def test_two_workers_beside_one(folder: Path, tmp_path: Path) -> None:
    found: dict[str, list[float]] = {}
    with pytest.MonkeyPatch.context() as patch:  # a worker of one thread, which Polars does not ask Dask about
        patch.setenv("POLARS_MAX_THREADS", "1")
        made = Cluster(tmp_path)
    with made as cluster:
        on_dask = ("--engine", "dask", "--scheduler", cluster.address)
        cluster.add(1)
        for command in COMMANDS:
            found[command] = [seconds(folder, command, 0), seconds(folder, command, 1, *on_dask)]
        cluster.add(1)
        for command, times in found.items():
            times.append(seconds(folder, command, 2, *on_dask))
    size = (folder / "rows.csv").stat().st_size / 1e6
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}, Python {platform.python_version()}"
    head = f"{ROWS:,} rows of 8 columns ({size:,.0f} MB of CSV), {machine}"
    said = f"{head}. Seconds of whole commands;\na worker has one thread."
    lines = [f"# Releases on a Dask cluster of one computer\n\n{said}\n"]
    lines.append("| command | no cluster | one worker | two workers | one / two |\n|---|---|---|---|---|")
    lines += [f"| {c} | {a:.1f} | {b:.1f} | {two:.1f} | {b / two:.2f} |" for c, (a, b, two) in found.items()]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")

"""How long releases take on a Dask cluster of this computer: two workers beside one, and beside no cluster.

On an idle machine::

    pytest -m benchmark tests/benchmarks/bench_dask.py

The table is written to ``tests/benchmarks/results/dask.md``. All times are those of whole commands, from their start to
their end; ``WORKBENCH_BENCH_ROWS`` is the number of rows. ``results/dask_growth.md`` has processor seconds, which other
work hardly changes, of two sizes of table (``WORKBENCH_BENCH_GROWTH``), and what one more million rows takes.
"""

import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import psutil
import pytest
from local_cluster import NO_DASK, ROOT, Cluster

pytestmark = [*NO_DASK, pytest.mark.benchmark]

RESULTS = Path(__file__).parent / "results" / "dask.md"
ROWS = int(os.environ.get("WORKBENCH_BENCH_ROWS", "2000000"))
SIZES = tuple(map(int, os.environ.get("WORKBENCH_BENCH_GROWTH", "2000000 10000000").split()))
_UPKEEP = """Scheduler and worker also
spend some on their own upkeep, the more the longer a run takes: here that is a good part of these two columns."""
TURNS = int(os.environ.get("WORKBENCH_BENCH_TURNS", "2"))
CITIES = ("Graz", "Linz", "Wels", "Wien")
COMMANDS = {
    "sanitize": ("--plan", "plan.toml"),
    "statistics": ("--plan", "plan.toml", "--epsilon", "1"),
    "synthesize": ("--plan", "plan.toml", "--epsilon", "1", "--rows", "1000"),
    "fit": ("--bounds", "plan.toml", "--epsilon", "1", "--target", "c0", "--model", "naive-bayes"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("rows"), ROWS)


def written(made: Path, rows: int) -> Path:
    """Write a table and its plan into a folder, and return that."""
    generator = np.random.default_rng(1)
    names = np.array(CITIES)
    columns = {f"n{k}": generator.integers(0, 1_000_000, rows) for k in range(4)}
    texts = {f"c{k}": names[generator.integers(0, len(CITIES), rows)] for k in range(4)}
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


def test_two_workers_beside_one(folder, tmp_path):
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


def processor(folder: Path, command: str, number: int, *where: str) -> float:
    """Return the processor seconds of a whole command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds(folder, command, number, *where)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_cluster(cluster: Cluster) -> list[float]:
    """Return the processor seconds of the scheduler and of each worker until now."""
    times = [psutil.Process(process.pid).cpu_times() for process in (cluster._scheduler, *cluster.workers)]
    return [time.user + time.system for time in times]


def test_growth(tmp_path):
    """Each figure is the least of some runs; the first run of a worker imports, and is not among them."""
    found: dict[tuple[str, int], list[list[float]]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLARS_MAX_THREADS", "1")
        patch.setenv("PYTHONPATH", str(ROOT))
        with Cluster(tmp_path) as cluster:
            cluster.add(1)
            on_dask = ("--engine", "dask", "--scheduler", cluster.address)
            number = 0
            for rows in SIZES:
                (tmp_path / f"{rows}").mkdir()
                folder = written(tmp_path / f"{rows}", rows)
                for command in COMMANDS:
                    for turn in range(0 if rows == SIZES[0] else 1, TURNS + 1):
                        alone = (
                            processor(
                                folder,
                                command,
                                number,
                            )
                            if turn
                            else 0.0
                        )
                        before = of_cluster(cluster)
                        client = processor(folder, command, number + 1, *on_dask)
                        there = [b - a for a, b in zip(before, of_cluster(cluster), strict=True)]
                        number += 2
                        if turn:
                            found.setdefault((command, rows), []).append([alone, client, *there])
    least = {key: [min(one) for one in zip(*runs, strict=True)] for key, runs in found.items()}
    head = f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.0f}, Python {platform.python_version()}, one thread"
    lines = ["# How releases grow with rows\n", f"Processor seconds, tables of 8 columns, {head}. {_UPKEEP}\n"]
    lines.append("| command | rows | no cluster | client | scheduler | worker |\n|---|---|---|---|---|---|")
    for (command, rows), times in least.items():
        lines.append(f"| {command} | {rows:,} | " + " | ".join(f"{one:.2f}" for one in times) + " |")
    few, many = SIZES[0], SIZES[-1]
    lines.append("\nOne more million rows:\n")
    lines.append("| command | no cluster | client | scheduler | worker |\n|---|---|---|---|---|")
    for command in COMMANDS:
        more = zip(least[command, few], least[command, many], strict=True)
        slopes = [(b - a) / (many - few) * 1e6 for a, b in more]
        lines.append(f"| {command} | " + " | ".join(f"{one:.2f}" for one in slopes) + " |")
    RESULTS.with_name("dask_growth.md").write_text("\n".join(lines) + "\n", encoding="utf-8")

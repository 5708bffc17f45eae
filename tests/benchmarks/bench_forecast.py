"""How long forecasts and the release after them take, each in a program of its own: ``python bench_forecast.py [N]``.

The processor's seconds, one thread, with the start of the program: they hardly change with what else the machine does.

Ten columns that differ in bounds, of which five share their number of cells, with every mechanism compared. The first
forecast begins with an empty cache folder, the second finds its facts there; the release draws 1,000 rows.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BOUNDS = {
    "short": [(0, 120), (18, 95), (0, 99), (1900, 2030), (50, 250), (20, 220), (0, 300), (0, 60), (1, 12), (0, 500)],
    "long": [
        (0, 500_000),
        (0, 300_000),
        (0, 2_000_000),
        (0, 1_000_000),
        (100, 100_000),
        (0, 4000),
        (0, 3000),
        (0, 2500),
        (0, 1500),
        (1, 10_000),
    ],
}
REPEATS = int(sys.argv[1]) if len(sys.argv) > 1 else 3


def plan_of(bounds: list[tuple[int, int]]) -> str:
    """Return a plan of integer columns between ``bounds``, the mechanism of each left to the advisor."""
    columns = (
        f'[[column]]\nname = "c{i}"\naction = "protect"\nkind = "integer"\nlower = {low}\nupper = {high}\n'
        for i, (low, high) in enumerate(bounds)
    )
    return "version = 1\nepsilon = 10.0\n" + "".join(columns)


def seconds(*words: str, cache: Path, folder: Path) -> float:
    """Return the processor time that a command takes in a new process."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1"}
    began = _used()
    program = [sys.executable, "-m", "workbench", *words]
    subprocess.run(program, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return _used() - began


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(name: str) -> dict[str, float]:
    """Return the medians over some repeats."""
    found: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as place:
            folder, cache = Path(place), Path(place) / "cache"
            bounds = BOUNDS[name]
            (folder / "plan.toml").write_text(plan_of(bounds))
            rows = [",".join(str(low + (row * 7) % (high - low)) for low, high in bounds) for row in range(1000)]
            (folder / "t.csv").write_text(",".join(f"c{i}" for i in range(len(bounds))) + "\n" + "\n".join(rows) + "\n")
            forecast = ["forecast", "--plan", "plan.toml"]
            sanitize = ["sanitize", "t.csv", "--plan", "plan.toml", "-o", "out.csv", "--ledger", "l.sqlite"]
            for what, words in (("first forecast", forecast), ("second forecast", forecast), ("release", sanitize)):
                found.setdefault(what, []).append(seconds(*words, cache=cache, folder=folder))
            found.setdefault("start alone", []).append(seconds("samples", cache=cache, folder=folder))
    return {what: statistics.median(times) for what, times in found.items()}


def main() -> None:
    """Write a table of the medians to standard output."""
    lines = [
        "| columns | first forecast | second forecast | release after it | start of the program alone |",
        "|---|---|---|---|---|",
    ]
    order = ("first forecast", "second forecast", "release", "start alone")
    for name in BOUNDS:
        told = measured(name)
        lines.append(f"| ten, {name} bounds | " + " | ".join(f"{told[what]:.2f} s" for what in order) + " |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

"""CSV → CSV of tables of any size: time and peak memory of ``workbench sanitize`` beside polars in the same run.

``python tests/benchmarks/bench_stream.py FOLDER [MILLIONS ...]`` (default 5 and 20): half of the eight columns are
numbers, half categories. Each turn is a process of its own, alternated; the best of three turns counts. Times of the
processor (all threads together) say the same beside other work; peaks are resident memory as the system counts it.
The result is written to ``results/stream_now.md``; beside it are ``workbench statistics`` of all columns, and what only
reads: polars, and the reader of the workbench in two threads, with every check of the form but none of a value.
"""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import psutil

HERE = Path(__file__).parent
CATEGORIES = (
    ("northern district", "southern district", "eastern district", "western district"),
    ("blood A", "blood B", "blood AB", "blood 0"),
    tuple(f"group number {k}" for k in range(40)),
    ("answered yes", "answered no"),
)
PLAN = """version = 1
epsilon = 8.0
keep_order = {keep_order}
[reading]
header = "yes"
"""
NUMBERS = (
    ("age", "integer", 0, 120),
    ("income", "integer", 0, 10_000_000),
    ("weight", "real", 0, 150),
    ("score", "real", 0, 100_000),
)
POLARS = "import sys, polars as pl; pl.scan_csv(sys.argv[1]).sink_csv(sys.argv[2])"
POLARS_READS = "import sys, polars as pl; pl.read_csv(sys.argv[1])"
READS = """import sys
from workbench.data.table_reader import read_table
from workbench.data.rows_in_parts import each_part
print(sum(each_part(read_table(sys.argv[1]), lambda part: part.frame.height)))"""


def write_table(path: Path, rows: int) -> None:
    """Write a table of so many rows, a million at a time."""
    draw = np.random.default_rng(1)
    with path.open("wb") as stream:
        for start in range(0, rows, 1 << 20):
            size = min(1 << 20, rows - start)
            columns: dict[str, object] = {
                "age": draw.integers(0, 121, size),
                "income": draw.integers(0, 10_000_000, size),
                "weight": draw.normal(70, 15, size).round(1),
                "score": (draw.random(size) * 100_000).round(5),
            }
            for k, values in enumerate(CATEGORIES):
                columns[f"c{k}"] = np.array(values)[draw.integers(0, len(values), size)]
            stream.write(pl.DataFrame(columns).write_csv(include_header=start == 0).encode())


def write_plan(path: Path, *, keep_order: bool) -> None:
    """Write the plan of such a table."""
    text = PLAN.format(keep_order=str(keep_order).lower())
    for name, kind, lower, upper in NUMBERS:
        text += f'[[column]]\nname = "{name}"\nkind = "{kind}"\nlower = {lower}\nupper = {upper}\n'
    for k, values in enumerate(CATEGORIES):
        listed = ", ".join(f'"{value}"' for value in values)
        text += f'[[column]]\nname = "c{k}"\nkind = "category"\ndomain = [{listed}]\n'
    path.write_text(text)


def measured(command: list[str]) -> tuple[float, float, float]:
    """Return wall seconds, processor seconds and peak memory in MB of a process and those that it starts."""
    start, together = time.perf_counter(), 0
    # As an installed program finds its modules compiled, those of the workbench are after the first turn; polars' are.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    own = psutil.Process(process.pid)
    while not (found := os.wait4(process.pid, os.WNOHANG))[0]:  # the system has no peak of several processes
        with contextlib.suppress(psutil.NoSuchProcess):
            together = max(together, sum(one.memory_info().rss for one in (own, *own.children(recursive=True))))
        time.sleep(0.2)
    _, status, usage = found
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    peak = max(together, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, peak / 1e6


def compare(folder: Path, millions: int, turns: int = 3) -> list[str]:
    """Return the lines of a table of results."""
    table, output = folder / f"{millions}m.csv", folder / "out.csv"
    if not table.exists():
        # By a process of its own: the peak of a process that is started is at least what its parent takes.
        subprocess.run([sys.executable, __file__, "--write", str(table), str(millions * 1_000_000)], check=True)
    ways = {"polars": [sys.executable, "-c", POLARS, str(table), str(output)]}
    for name, keep_order in (("keep_order", True), ("random order", False)):
        plan = folder / f"{name.replace(' ', '_')}.toml"
        write_plan(plan, keep_order=keep_order)
        ledger = ["--ledger", str(folder / "ledger.sqlite")]
        ours = ["-m", "workbench", "sanitize", str(table), "--plan", str(plan), "-o", str(output)]
        ways[name] = [sys.executable, *ours, *ledger]
    ways["polars reads"] = [sys.executable, "-c", POLARS_READS, str(table)]
    ways["workbench reads"] = [sys.executable, "-c", READS, str(table)]
    asked = ["statistics", str(table), "--plan", str(plan), "--epsilon", "1", "-o", str(output), *ledger]
    ways["statistics"] = [sys.executable, "-m", "workbench", *asked]
    best: dict[str, list[float]] = {}
    for _ in range(turns):
        for name, command in ways.items():
            for left in folder.glob("out.csv*"):
                left.unlink()
            for left in folder.glob("ledger.*"):
                left.unlink()
            found = measured(command)
            sys.stderr.write(f"{name}: {found}\n")
            known = best.setdefault(name, list(found))
            best[name] = [min(known[0], found[0]), min(known[1], found[1]), max(known[2], found[2])]
    size = table.stat().st_size / 1e6
    lines = []
    for name, (wall, processor, peak) in best.items():
        beside = best["workbench reads" if name in ("polars reads", "workbench reads", "statistics") else "polars"]
        ratio = f"{wall / beside[0]:.1f} | {processor / beside[1]:.1f}"
        lines.append(f"| {millions} M, {size:,.0f} MB | {name} | {wall:.1f} | {processor:.1f} | {ratio} | {peak:.0f} |")
        sys.stdout.write(lines[-1] + "\n")
    return lines


def main() -> None:
    """Run for each size, and write the results."""
    if sys.argv[1] == "--write":
        write_table(Path(sys.argv[2]), int(sys.argv[3]))
        return
    folder, sizes = Path(sys.argv[1]), [int(text) for text in sys.argv[2:]] or [5, 20]
    folder.mkdir(parents=True, exist_ok=True)
    lines = [line for millions in sizes for line in compare(folder, millions)]
    head = "| rows | way | wall s | processor s | ÷ wall | ÷ processor | peak MB |\n" + 7 * "|---" + "|\n"
    load = f"{os.getloadavg()[0]:.1f} processes were waiting on {os.cpu_count()} cores at the end"
    (HERE / "results" / "stream_now.md").write_text(
        "# CSV → CSV, and reading\n\n"
        f"`python tests/benchmarks/bench_stream.py FOLDER {' '.join(map(str, sizes))}`; {load}.\n"
        "Files are beside polars, what reads is beside the reader of the workbench; the best of three turns.\n\n"
        f"{head}{chr(10).join(lines)}\n"
    )


if __name__ == "__main__":
    main()

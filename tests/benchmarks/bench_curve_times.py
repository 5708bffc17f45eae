"""How long curves take: beside the scripts of the class with diffprivlib, and with one and two workers.

diffprivlib 0.6.6 needs an environment of its own (scikit-learn 1.6.1). Name its Python and run, on an idle machine::

    WORKBENCH_PEER_PYTHON=/path/to/python pytest -m benchmark tests/benchmarks/bench_curve_times.py

The tables are written to ``tests/benchmarks/results/curve_times.md``. All times are those of whole programs, from their
start to their end.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from local_cluster import NO_DASK, Cluster

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "curve_times.md"
sys.path.append(str(HERE.parent / "studies"))

from test_curve_study import DIABETES_BOUNDS as BOUNDS  # noqa: E402

pytestmark = pytest.mark.benchmark

PEER = os.environ.get("WORKBENCH_PEER_PYTHON", "")
MODELS = ("naive-bayes", "logistic-regression")
EPSILONS = "0.1:100:13"
REPEATS = 20
LONG_REPEATS = 150
"""Repeats of a curve that takes one worker more than half a minute."""

TIMES = 3


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    columns = [
        f'[[column]]\nname = "{name}"\nkind = "{kind}"\nlower = {low}\nupper = {high}'
        for name, (kind, low, high) in BOUNDS.items()
    ]
    columns.append('[[column]]\nname = "Outcome"\nkind = "category"\ndomain = ["0", "1"]')
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_text("\n".join(["version = 1", "epsilon = 1.0", *columns]) + "\n")
    return path


@pytest.fixture(scope="module")
def written():
    """The lines of the results; the file is written after the last test."""
    return []


@pytest.fixture(scope="module", autouse=True)
def results(written):
    load = os.getloadavg()
    yield
    head = [
        "# How long curves take",
        "",
        f"The diabetes table (768 rows, 8 attributes), {os.cpu_count()} cores; the load of the machine before was "
        f"{load[0]:.2f}, {load[1]:.2f}, {load[2]:.2f}. Whole programs, from start to end; medians of {TIMES} runs.",
    ]
    RESULTS.write_text("\n".join([*head, *written]) + "\n")


def curve(plan: Path, table: Path, model: str, repeats: int, *more: str) -> tuple[float, bytes]:
    """Run the command; return its seconds and its file."""
    output = plan.with_name("curve.csv")
    words = [str(table), "--target", "Outcome", "--bounds", str(plan), "--model", model, "--epsilons", EPSILONS]
    words += ["--regimes", "none,sanitized:staircase,private", "--repeats", str(repeats), "-o", str(output)]
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "workbench", "curve", *words, *more], check=True, capture_output=True)
    return time.perf_counter() - begun, output.read_bytes()


def peer(table: Path, *, redraw: bool) -> tuple[float, dict[str, float]]:
    """Run the script of the class; return its seconds, and those of each picture."""
    step = 1000 ** (1 / 12)
    task = {
        "table": str(table),
        "lower": [low for _, low, _ in BOUNDS.values()],
        "upper": [high for _, _, high in BOUNDS.values()],
        "models": MODELS,
        "epsilons": [0.1 * step**i for i in range(13)],
        "repeats": REPEATS,
        "redraw": redraw,
    }
    begun = time.perf_counter()
    done = subprocess.run(
        [PEER, str(HERE / "peer_pictures.py")], input=json.dumps(task), capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - begun
    return seconds, {model: told["seconds"] for model, told in json.loads(done.stdout).items()}


@pytest.mark.skipif(not PEER, reason="WORKBENCH_PEER_PYTHON does not name a Python with diffprivlib 0.6.6")
def test_both_pictures_in_an_eighth_of_the_time_of_the_class(plan, shared_data, written):
    table = shared_data / "diabetes.csv"
    ours = {model: statistics.median(curve(plan, table, model, REPEATS)[0] for _ in range(TIMES)) for model in MODELS}
    theirs, each = peer(table, redraw=True)
    clipped, each_clipped = peer(table, redraw=False)
    both = sum(ours.values())
    written += [
        "",
        "## The two pictures of the class",
        "",
        f"No privacy, staircase then training, private; 13 values of ε from 0.1 to 100, {REPEATS} repeats. The class's "
        "script (`peer_pictures.py`, diffprivlib 0.6.6, one run) draws each value by itself and again until it is "
        "within its bounds; *clipped* is the same without drawing again, which is not what is done in class.",
        "",
        "| picture | `workbench curve`, s | class, s | ratio | class, clipped, s | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for model in MODELS:
        told = f"| {model} | {ours[model]:.1f} | {each[model]:.1f} | {each[model] / ours[model]:.1f} |"
        written.append(f"{told} {each_clipped[model]:.1f} | {each_clipped[model] / ours[model]:.1f} |")
    written.append(f"| both | {both:.1f} | {theirs:.1f} | {theirs / both:.1f} | {clipped:.1f} | {clipped / both:.1f} |")
    assert both <= theirs / 8


@NO_DASK[0]
def test_two_workers_are_1_7_times_as_fast_as_one(plan, shared_data, written, tmp_path):
    table = shared_data / "diabetes.csv"
    model = "logistic-regression"
    files = set()

    def median(*more: str) -> float:
        seconds = []
        for _ in range(TIMES):
            took, file = curve(plan, table, model, LONG_REPEATS, *more)
            seconds.append(took)
            files.add(file)
        return statistics.median(seconds)

    local = [median("--jobs", str(count)) for count in (1, 2)]
    on_dask = []
    with Cluster(tmp_path) as cluster:
        for _ in range(2):
            cluster.add(1)
            on_dask.append(median("--scheduler", cluster.address))
    assert len(files) == 1
    written += [
        "",
        "## Two workers",
        "",
        f"`workbench curve --model {model}` with {LONG_REPEATS} repeats, else as above. The Dask scheduler, its "
        "workers of one thread and the command run on the same cores. All figures are the same.",
        "",
        "| workers | one, s | two, s | ratio |",
        "|---|---|---|---|",
        f"| `--jobs` | {local[0]:.1f} | {local[1]:.1f} | {local[0] / local[1]:.2f} |",
        f"| `--scheduler` | {on_dask[0]:.1f} | {on_dask[1]:.1f} | {on_dask[0] / on_dask[1]:.2f} |",
    ]
    assert local[0] > 30
    assert local[0] / local[1] >= 1.7
    assert on_dask[0] / on_dask[1] >= 1.7

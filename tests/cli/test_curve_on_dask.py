"""``curve`` and ``grid --scheduler``: the same figures from a Dask cluster, whatever is killed or stopped meanwhile."""

import json
import os
import re
import signal

import polars as pl
import pytest
from local_cluster import NO_DASK, Cluster, until
from test_curve import left, made, start, unfinished, wait_for_fits, words
from test_grid_command import folder

from workbench.cli import main
from workbench.release.ledger.study_note import NOTED

__all__ = ["folder", "made"]

pytestmark = [*NO_DASK, pytest.mark.slow]

LONG = ["--epsilons", "1", "--repeats", "400", "--regimes", "none,private"]


@pytest.fixture
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        started.add(2)
        yield started


def test_the_file_is_that_of_a_local_run_though_a_worker_was_killed(made, cluster, capsys):
    process = start(made, *LONG, "--scheduler", cluster.address, "--json")
    wait_for_fits(process, 5)
    cluster.kill_worker()
    out, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, f"note: {NOTED}\n")
    assert json.loads(out)["rows"] == 400 * 2 * 4
    assert left(made) == ["out.csv"]
    assert unfinished() == []
    assert cluster.kept() == (0, 0)
    there = (made / "out.csv").read_bytes()
    assert main(words(made, *LONG, "--jobs", "1", "--json")) == 0
    assert (made / "out.csv").read_bytes() == there


def test_a_stopped_run_leaves_nothing_and_is_completed_by_the_next(made, cluster):
    process = start(made, *LONG, "--scheduler", cluster.address)
    wait_for_fits(process, 5)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (4, "", f"note: {NOTED}\nerror: curve was cancelled\n")
    assert left(made) == []
    assert cluster.kept() == (0, 0)
    assert 5 <= unfinished()[0].read_bytes().count(b"\n") < 800

    again = start(made, *LONG, "--scheduler", cluster.address, "--json")
    out, err = again.communicate(timeout=600)
    assert again.returncode == 0
    assert re.fullmatch(rf"note: \d+ fits are kept from a run that was stopped\nnote: {NOTED}\n", err)
    assert json.loads(out)["rows"] == 400 * 2 * 4
    assert left(made) == ["out.csv"]


def test_a_killed_program_leaves_nothing_on_the_cluster(made, cluster):
    process = start(made, *LONG, "--scheduler", cluster.address)
    wait_for_fits(process, 5)
    process.kill()
    process.communicate(timeout=300)
    until(lambda: cluster.kept() == (0, 0), "an empty cluster")


def test_a_scheduler_that_is_not_there_leaves_nothing(made, capsys):
    assert main(words(made, "--scheduler", "tcp://127.0.0.1:1")) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        f"note: {NOTED}",  # before a row leaves
        "error: no Dask scheduler answers (tcp://127.0.0.1:1); check the address, and that the scheduler is running",
    ]
    assert left(made) == []


def test_a_sweep_on_a_cluster_is_that_of_this_computer(folder, cluster):
    found = []
    for name, where in (("here.csv", ["--jobs", "1"]), ("there.csv", ["--scheduler", cluster.address])):
        assert main(["grid", "sweep.toml", "-o", name, *where]) == 0
        frame = pl.read_csv(folder / name)
        found.append(frame.drop("train_seconds", "peak_memory_bytes").sort("run", "repeat"))
    assert found[0].equals(found[1])
    assert found[0].height == 4
    assert cluster.kept() == (0, 0)

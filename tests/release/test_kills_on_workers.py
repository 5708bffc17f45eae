"""kill -9 of a worker or the scheduler at random moments of a whole command: one draw, one charge, the same sums.

``WORKBENCH_KILL_SEED`` repeats the moments of a run that has failed, as far as the machine is as fast.
"""

import gc
import os
import random
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import test_counts_on_workers
from local_cluster import NO_DASK, Cluster, Nursery
from test_counts_in_parts import PLAN, plain
from test_rows_of_any_size import as_read, left_beside, plan_of, small, written
from test_rows_on_workers import charges, drawn, same_rows

from workbench.cli import main
from workbench.data import cluster_parts, table_reader
from workbench.data.csv import encoding
from workbench.data.table_reader import read_table
from workbench.processes import dask_cluster
from workbench.release import rows_on_workers
from workbench.release.verify import verify_release
from workbench.signals.cancel import CancelToken
from workbench.statistics.queries import Counted

pytestmark = [
    *NO_DASK,
    pytest.mark.slow,
    # Dask's own, where the loop ends with the connection to a dead scheduler.
    pytest.mark.filterwarnings("ignore:coroutine 'wait_for' was never awaited:RuntimeWarning"),
]

MOMENTS, ROWS = 20, 6_000
EXACT = Counted.exact
COST = {"sanitize": 60.0, "statistics": 4.0}


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    """Let the file have some fifty parts, and the workers of a busy machine the time to answer."""
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0)
    monkeypatch.setattr(cluster_parts, "PART_BYTES", 4096)
    monkeypatch.setattr(rows_on_workers, "WAIT", 0.0)
    monkeypatch.setattr(dask_cluster, "ANSWER", 300.0)
    small(monkeypatch, piece=1 << 16, bucket=1 << 14, scattered=1 << 14)
    monkeypatch.setattr(encoding, "CHUNK", 1 << 16)


@pytest.fixture
def sums(monkeypatch):
    """Return the exact sums that each release has drawn its noise for, with what has counted them."""
    found: list[tuple[Counted, Any]] = []

    def exact(counted: Counted) -> Any:
        found.append((counted, EXACT(counted)))
        return found[-1][1]

    monkeypatch.setattr(Counted, "exact", exact)
    return found


def source(kind: str, folder: Path) -> tuple[Path, pl.DataFrame | None]:
    """Write the table and its plan; return the table, and its cells where rows are released."""
    plan = plan_of() if kind == "sanitize" else PLAN
    (folder / "plan.toml").write_text(plan.to_toml())
    path = folder / "a.csv"
    return path, written(path, ROWS) if kind == "sanitize" else test_counts_on_workers.written(path, ROWS) and None


def commanded(kind: str, path: Path, folder: Path, address: str) -> int:
    more = () if kind == "sanitize" else ("--epsilon", "4")
    words = [kind, str(path), "--plan", str(path.parent / "plan.toml"), *more, "-o", str(folder / "out.csv")]
    return main([*words, "--ledger", str(folder / "ledger.sqlite"), "--engine", "dask", "--scheduler", address])


@pytest.mark.parametrize("which", ["worker", "scheduler"])
@pytest.mark.parametrize("kind", ["sanitize", "statistics"])
def test_a_kill_at_any_moment_publishes_one_draw_that_is_charged_or_none(tmp_path, kind, which, sums, capsys):
    seed = int(os.environ.get("WORKBENCH_KILL_SEED") or secrets.randbits(32))
    moments, ends = random.Random(seed), Counter[str]()
    path, frame = source(kind, tmp_path)
    with ExitStack() as started:
        nursery = started.enter_context(Nursery())
        own = _cluster(started, tmp_path / "whole", nursery)
        _seconds(lambda: commanded(kind, path, tmp_path / "whole", own.address))  # the first one imports, too
        if which == "scheduler":  # each has workers that have done nothing yet
            own = _cluster(started, tmp_path / "again", nursery)
        (tmp_path / "again").mkdir(exist_ok=True)
        usual = _seconds(lambda: commanded(kind, path, tmp_path / "again", own.address))
        for number in range(MOMENTS):
            folder = tmp_path / f"{number}"
            if which == "scheduler":
                own = _cluster(started, folder, nursery)
            folder.mkdir(exist_ok=True)
            killing = threading.Timer(moments.uniform(0, usual), getattr(own, f"kill_{which}"))
            killing.start()
            capsys.readouterr()
            code = commanded(kind, path, folder, own.address)
            said = capsys.readouterr().err
            killing.join()
            if which == "worker":
                own.add(1)
            charged = _check(kind, code, folder, said, frame)
            if code and charged:  # the same command on another cluster goes on
                other = _cluster(started, folder / "other", nursery)
                assert commanded(kind, path, folder, other.address) == 0
                assert _check(kind, 0, folder, "", frame)
            ended = "published" if code == 0 else said.split("error: ")[1].split(" (")[0]
            further = ", published by the next run" if code and charged else ""
            ends[f"{ended}, {'charged' if charged else 'at no cost'}{further}"] += 1
            assert "version" not in ended
    for counted, exact in sums:
        expected = Counted(counted._queries)
        expected.read(read_table(path), CancelToken())
        assert plain(exact) == plain(EXACT(expected))
    assert bool(sums) is (kind == "statistics")
    assert which == "scheduler" or set(ends) == {"published, charged"}
    gc.collect()
    with capsys.disabled():
        sys.stdout.write(
            f"\n{kind}, kill -9 of the {which}, seed {seed}, a command takes {usual:.1f} s: {dict(ends)}\n"
        )


def _cluster(started: ExitStack, folder: Path, nursery: Nursery) -> Cluster:
    (folder / "of").mkdir(parents=True)
    own = started.enter_context(Cluster(folder / "of", nursery=nursery))
    own.add(2)
    return own


def _seconds(work: Callable[[], int]) -> float:
    begun = time.monotonic()
    assert work() == 0
    return time.monotonic() - begun


def _check(kind: str, code: int, folder: Path, said: str, frame: pl.DataFrame | None) -> bool:
    """Assert that a release is whole and charged once, or there is none, and a charge is said; return whether it is."""
    charged = [("charged", COST[kind])]
    found = [one for one in charges(folder) if one[0] != "void"]
    if code == 0:
        assert found == charged
        assert verify_release(folder / "out.csv") == []
        assert frame is None or same_rows(as_read(folder / "out.csv"), frame)
        return True
    assert left_beside(folder, "of", *drawn(folder))
    assert len(drawn(folder)) == bool(found)
    assert found in ([], charged)
    assert ("stays charged" in said) is bool(found)
    assert not found or kind == "sanitize"
    return bool(found)

"""What workers count of parts of the rows: integer by integer what one machine counts; noise is drawn here, once."""

import contextlib
import json
import pickle
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from local_cluster import NO_DASK, Cluster, here
from test_counts_in_parts import PLAN, plain, queries
from test_rows_of_any_size import parts  # noqa: F401  # small parts, everywhere

from workbench import api
from workbench.cli import main
from workbench.data import cluster_parts, table_reader
from workbench.data.cluster_parts import PartsOnWorkers, Workers
from workbench.data.csv.regular_rows import RegularRows
from workbench.data.databases import database_rows
from workbench.data.sources import row_groups
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import ParameterError, WorkbenchError
from workbench.release.estimates import estimates_of
from workbench.release.ledger import identity, sketch
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import check_values, destination, prepare, prepare_rows, release_prepared
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.synthetic.synthesis_work import synthesis_work
from workbench.release.verify import verified_release, verify_release
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore
from workbench.statistics.queries import Counted
from workbench.statistics.request import Request, Statistic
from workbench.synth.columns import CountedTables, coarse_columns
from workbench.synth.parameters import SynthesisParameters
from workbench.work.work import take_from_workers

ROWS = 280
WORKERS = Workers("tcp://127.0.0.1:1", ignore, CancelToken())
KEYS = pytest.param(3, "keys", marks=pytest.mark.slow)
ON_DASK = ["--engine", "dask", "--scheduler-file"]


def written(path: Path, rows: int = ROWS) -> Path:
    generator = np.random.default_rng(5)
    cities = np.array(["Graz", "Linz", "Wels", None], dtype=object)
    ages = [None if age > 130 else str(age) for age in generator.integers(-5, 140, rows)]
    sizes = [f"{size:.3f}" for size in generator.uniform(-1, 4, rows)]
    pl.DataFrame({"city": cities[generator.integers(0, 4, rows)].tolist(), "age": ages, "size": sizes}).write_csv(path)
    return path


def in_parts(path: Path, count: int, monkeypatch: pytest.MonkeyPatch, *, form: str) -> tuple[Table, PartsOnWorkers]:
    """Return the rows, and the same in so many parts on workers, which are functions of this process."""
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here(times=2))
    table = read_table(path)
    if form == "parquet":
        packed = path.with_suffix("")
        packed.mkdir(exist_ok=True)
        monkeypatch.setattr(row_groups, "PIECE", 1)
        files, size = min(count, 2), -(-table.rows // count)  # the second of two files has the rest
        for k in range(files):
            frame = table.frame[k * size : table.rows if k + 1 == files else size]
            frame.write_parquet(packed / f"{k}.parquet", row_group_size=size)
        table = read_table(packed)
        assert isinstance(table.stored, row_groups.RowsOfGroups)
        whole = 1
    elif form == "keys":
        file, size = path.with_suffix(".db"), -(-table.rows // count)
        with contextlib.closing(sqlite3.connect(file)) as base, base:
            base.execute("CREATE TABLE people (city TEXT, own INTEGER PRIMARY KEY, age TEXT, size TEXT)")
            rows = [(city, 3 * k - 40, *more) for k, (city, *more) in enumerate(table.frame.iter_rows())]
            base.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", reversed(rows))
        monkeypatch.setattr(database_rows, "IN_MEMORY", 0)
        monkeypatch.setattr("workbench.data.databases.access.CELLS", 4 * size)
        table = read_table(f"sqlite:///{file}?table=people&columns=city,age,size")
        assert isinstance(table.stored, database_rows.DatabaseRows)
        whole = 1
    elif form == "cells":
        table = Table(table.frame, str(path))
        whole = int(table.frame.estimated_size())
    else:
        assert isinstance(table.stored, RegularRows)
        whole = len(table.stored.files[0][0])
    monkeypatch.setattr(cluster_parts, "PART_BYTES", -(-whole // count))
    found = PartsOnWorkers(table, WORKERS)
    assert len(found) == count
    return table, found


@pytest.mark.parametrize(
    ("count", "form"), [*((count, form) for form in ("text", "cells") for count in (1, 2, 7)), (3, "parquet"), KEYS]
)
def test_sums_are_those_of_one_machine_integer_by_integer(tmp_path, monkeypatch, count, form):
    path = written(tmp_path / "a.csv")
    _, away = in_parts(path, count, monkeypatch, form=form)
    table = read_table(path)
    asked = queries(20_000)
    here_, there = Counted(asked), Counted(asked)
    here_.read(table, CancelToken())
    there.read(table, CancelToken(), away)
    assert there.whole
    assert plain(there.exact()) == plain(here_.exact())

    columns = coarse_columns([column.facts() for column in PLAN.columns], 6)
    one, sums = CountedTables(columns, None), CountedTables(columns, None)
    one.read(table, CancelToken())
    sums.read(table, CancelToken(), away)
    for places in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
        sizes = [columns[place].size for place in places]
        found = sums.counts(places, sizes)
        assert found.tolist() == one.counts(places, sizes).tolist()
        assert found.dtype == np.int64


@pytest.mark.parametrize(("every", "again"), [(True, 0), (False, 0), (False, 1)])
@pytest.mark.parametrize(("count", "form"), [(1, "text"), (7, "text"), (3, "parquet"), KEYS])
def test_workers_make_the_marks_of_one_machine_without_the_ledgers_key(
    tmp_path, monkeypatch, count, form, every, again
):
    monkeypatch.setattr(identity, "_EVERY_ROW", 1 << 20 if every else 100)
    if again:  # too few rows have low ranks
        monkeypatch.setattr(sketch._Kept, "few", lambda kept, rows: True)
    table, away = in_parts(written(tmp_path / "a.csv"), count, monkeypatch, form=form)
    key = bytes(range(100, 132))
    sent: list[bytes] = []
    run = cluster_parts.run_tasks_on

    def run_tasks_on(address: str, work: Any, shared: Any, tasks: Any, **more: Any) -> Any:
        sent.append(pickle.dumps((shared, list(tasks))))
        return run(address, work, shared, tasks, **more)

    monkeypatch.setattr(cluster_parts, "run_tasks_on", run_tasks_on)
    take_from_workers(identity.Marking(table, key, each=away.each_part), away)
    there = identity.identify(table, key)
    assert len(sent) == 1 + again  # they are known from then on
    assert not any(key in what for what in sent)
    assert not any(cell.encode() in what for cell in table.stored.load()["size"] for what in sent)  # type: ignore[union-attr]
    here_ = identity.identify(read_table(tmp_path / "a.csv"), key)
    assert there.content == here_.content
    assert (there.file == here_.file) is (form == "text")  # of the bytes of another file
    assert there.sketches.encode() == here_.sketches.encode()
    assert there.columns.encode(key) == here_.columns.encode(key)
    assert not here_.columns.empty


def work(kind: str) -> Any:
    if kind == "statistics":
        asked = Request(
            figures=(Statistic(statistic="mean", column="age"), Statistic(statistic="count", column="city"))
        )
        return statistics_work(asked, PLAN, 4.0, ROWS, "csv")
    return synthesis_work(PLAN, SynthesisParameters(method="mst", rows=40), Decimal(4), Decimal(0), ROWS, "csv")


@pytest.mark.parametrize("form", ["text", "parquet", pytest.param("keys", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["statistics", "synthetic"])
def test_a_release_counts_on_workers_and_draws_here(tmp_path, monkeypatch, kind, form):
    table, _ = in_parts(written(tmp_path / "a.csv"), 3, monkeypatch, form=form)
    passes: list[str] = []
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here(before=passes.append))
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        prepared = prepare(PLAN, table, destination(tmp_path / "out.csv"), work(kind), WORKERS)
        check_values(prepared, CancelToken(), ledger)
        release_prepared(prepared, ledger)
        assert [r.status for r in ledger.releases()] == ["charged"]
    assert passes == ["_of_part"]
    assert verify_release(tmp_path / "out.csv") == []


def test_what_is_not_made_of_counts_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.release.synthetic.synthesis_work._MOST_COUNTED", 1)
    table = read_table(written(tmp_path / "a.csv"))
    with pytest.raises(ParameterError, match="does not add up counts of parts of the rows") as refused:
        prepare(PLAN, table, destination(tmp_path / "out.csv"), work("synthetic"), WORKERS)
    assert "use --engine local" in str(refused.value)


def commanded(folder: Path, command: str, file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    plan = folder / "plan.toml"
    plan.write_text(PLAN.to_toml())
    words = [command, str(folder / "a.csv"), "--plan", str(plan), "--epsilon", "4", "--json"]
    words += ["-o", str(folder / f"{command}.csv"), "--ledger", str(folder / "ledger.sqlite"), *ON_DASK, str(file)]
    code = main(words)
    return code, capsys.readouterr()


@pytest.mark.parametrize("command", ["statistics", pytest.param("synthesize", marks=pytest.mark.slow)])
@NO_DASK[0]
@NO_DASK[1]
def test_the_commands_count_on_a_cluster(tmp_path, monkeypatch, cluster, command, capsys):
    monkeypatch.setattr(cluster_parts, "PART_BYTES", 512)
    written(tmp_path / "a.csv")
    code, said = commanded(tmp_path, command, cluster.file, capsys)
    assert code == 0, said.err
    assert json.loads(said.out)["rows"] == ROWS
    assert verify_release(tmp_path / f"{command}.csv") == []
    assert cluster.kept() == (0, 0)
    assert "Graz" not in cluster.log()


@pytest.mark.slow
@pytest.mark.parametrize("which", ["worker", "scheduler"])
@NO_DASK[0]
@NO_DASK[1]
def test_a_kill_costs_time_of_a_worker_and_nothing_else_of_a_scheduler(tmp_path, monkeypatch, which):
    monkeypatch.setattr(cluster_parts, "PART_BYTES", 512)
    table = read_table(written(tmp_path / "a.csv", 20_000))
    asked = queries(20_000)
    expected = Counted(asked)
    expected.read(table, CancelToken())
    (tmp_path / "of").mkdir()
    with Cluster(tmp_path / "of") as own:
        own.add(2)
        killed: list[int] = []

        def emit(event: Any) -> None:
            if not killed:
                killed.append(1)
                kill: Callable[[], None] = own.kill_worker if which == "worker" else own.kill_scheduler
                kill()

        found = Counted(asked)
        parts = PartsOnWorkers(table, Workers(own.address, emit, CancelToken()))
        if which == "worker":
            found.read(table, CancelToken(), parts)
            assert plain(found.exact()) == plain(expected.exact())
        else:
            with pytest.raises(WorkbenchError, match="the connection to the scheduler was lost"):
                found.read(table, CancelToken(), parts)
            assert not found.whole
        assert killed


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_estimates_are_those_of_one_machine_and_nothing_is_read_whole(tmp_path, monkeypatch, form):
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here(times=2))
    out = tmp_path / f"out.{form}"
    table = read_table(written(tmp_path / "a.csv"))
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        release_prepared(prepare_rows(PLAN, table, destination(out)), ledger)
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 1 << 30)
    whole = verified_release(out)
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0)
    found = verified_release(out)
    assert found.table.in_parts > whole.table.in_parts
    asked: dict[str, Any] = {"names": ["city", "size"], "confidence": 0.9}
    expected = plain_estimates(*estimates_of(whole, **asked))
    assert plain_estimates(*estimates_of(found, **asked)) == expected
    for size in (1 << 20, 1 << 12, 1 << 10) if form == "csv" else (1,):
        monkeypatch.setattr(cluster_parts, "PART_BYTES", size)
        assert plain_estimates(*estimates_of(found, **asked, workers=WORKERS)) == expected
    assert all((found.cells(name) == whole.cells(name)).all() for name in whole.protected)  # of which pairs are made
    assert found.table.in_parts


def plain_estimates(columns: Any, pairs: Any) -> Any:
    return [[c.found.to_plain(), [q.to_plain() for q in c.quantiles]] for c in columns], [p.to_plain() for p in pairs]


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
def test_python_counts_fits_and_estimates_on_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here())
    monkeypatch.setattr(cluster_parts, "PART_BYTES", 1 << 12)
    frame = pd.read_csv(written(tmp_path / "a.csv"))
    on_dask: dict[str, Any] = {"engine": "dask", "scheduler": WORKERS.address}
    pays: dict[str, Any] = {"ledger": tmp_path / "l.sqlite", "account": "a"}
    study: dict[str, Any] = {"seed": 4, "study_ledger": tmp_path / "l.sqlite"}
    found = [api.statistics(frame, PLAN, **study, **more) for more in ({}, on_dask)]
    made = [api.synthesize(frame, PLAN, **study, **more) for more in ({}, on_dask)]
    pd.testing.assert_frame_equal(*found)
    pd.testing.assert_frame_equal(*made)

    done = api.release(frame, PLAN, output=tmp_path / "rows.csv", **pays, **on_dask)
    assert len(done) == ROWS
    estimates = [api.estimate(tmp_path / "rows.csv", **more) for more in ({}, on_dask)]
    pd.testing.assert_frame_equal(*estimates)

    X, y = frame[["size"]], frame["city"].notna()
    declared: dict[str, Any] = {"epsilon": 1, "bounds": (0, 3), "classes": [False, True], "random_state": 1}
    one, other = (api.NaiveBayes(**declared, study_ledger=tmp_path / "l.sqlite", **m) for m in ({}, on_dask))
    assert (one.fit(X, y).predict_proba(X) == other.fit(X, y).predict_proba(X)).all()
    for call in (
        lambda: api.release(frame, PLAN, **on_dask),
        lambda: api.statistics(frame, PLAN, engine="dask"),
        lambda: api.LogisticRegression(**declared, **on_dask).fit(X, y),
    ):
        with pytest.raises(ParameterError):
            call()

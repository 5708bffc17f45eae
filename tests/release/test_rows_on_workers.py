"""Noisy rows that workers draw: the rows of the table, one draw of each part published, one charge whatever dies."""

import gzip
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from asks import ask_by, exact_ask, released_ask, study_ask
from hypothesis import given, settings
from hypothesis import strategies as st
from local_cluster import NO_DASK, Cluster, copy, here
from test_rows_of_any_size import as_read, left_beside, plan_of, small, written

from workbench.data import cluster_parts, table_reader
from workbench.data.cluster_parts import Workers
from workbench.data.csv.regular_rows import RegularRows
from workbench.data.sources import compressed
from workbench.data.table_reader import read_table
from workbench.params import CancelledError, InputError, WorkbenchError
from workbench.privacy.accounting.event import PureDp
from workbench.privacy.central.laplace import ReleasedNoise
from workbench.privacy.entropy import ChaCha20Entropy, OsEntropy
from workbench.release import rows_on_workers
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import Released, destination, prepare_rows, release_prepared
from workbench.release.verify import verify_release
from workbench.sanitize.plan import Plan
from workbench.signals import Notice, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Event, ignore
from workbench.work.ask import RemoteDraws, UndeclaredError

EVENT = PureDp(Decimal("0.3"), "a")
ROWS = 110
HERE = "tcp://127.0.0.1:1"


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    """Let files of text be read in parts, and every part have a few rows."""
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0)
    monkeypatch.setattr(cluster_parts, "PART_BYTES", 512)
    monkeypatch.setattr(rows_on_workers, "WAIT", 0.0)
    small(monkeypatch)


def released(
    plan: Plan,
    path: Path,
    target: Path,
    address: str = HERE,
    emit: Any = ignore,
    cancel: Any = None,
    workers: Workers | None = None,
) -> Released:
    table = read_table(path, names=[c.name for c in plan.columns])
    cancel = cancel or CancelToken()
    with Ledger.open(target.parent / "ledger.sqlite") as ledger:
        prepared = prepare_rows(plan, table, destination(target), workers or Workers(address, emit, cancel))
        return release_prepared(prepared, ledger, emit, cancel)


def charges(folder: Path) -> list[tuple[str, float]]:
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        return [(r.status, float(r.epsilon)) for r in ledger.releases()]


def drawn(folder: Path) -> list[str]:
    """Return the files of parts that are drawn, with which the same command continues."""
    return [p.name for p in folder.iterdir() if p.name.endswith(".part")]


def same_rows(found: pl.DataFrame, frame: pl.DataFrame) -> bool:
    """At ε = 30 a column of few values changes in one of 10¹² rows, so that what is released can be compared."""
    return found.sort("kept", "n", "c").equals(frame.drop("gone").sort("kept", "n", "c"))


# -- the leave to draw elsewhere --------------------------------------------------------------------------------------


def test_copies_draw_and_the_original_accepts_one_draw_of_each_part():
    leave = released_ask([EVENT]).remote({"a": 0.3}, 2)
    with pytest.raises(UndeclaredError, match="where draws are accepted, none is made"):
        leave.random_bits("a", 0.3)
    with pytest.raises(UndeclaredError, match="not every part"):
        leave.finish()
    assert [leave.accept(part) for part in (1, 1, 0, 1, 2)] == [True, False, True, False, False]
    leave.finish()
    there: RemoteDraws = copy(leave)
    assert isinstance(there.random_bits("a", 0.3), OsEntropy)
    for label, epsilon in (("a", 0.31), ("b", 0.1), ("a", float("nan"))):
        with pytest.raises(UndeclaredError, match="is not declared for a draw"):
            there.random_bits(label, epsilon)
    for refused in (lambda: there.accept(0), lambda: there.finish()):
        with pytest.raises(UndeclaredError):
            refused()


def test_a_leave_serves_its_event_once_and_for_its_amount():
    ask = released_ask([EVENT])
    ask.remote({"a": 0.3}, 1)
    assert ask.left == []
    with pytest.raises(UndeclaredError, match="asked before"):
        ask.local("a", 0.3)
    for label, epsilon in (("a", 0.31), ("b", 0.1)):
        with pytest.raises(UndeclaredError):
            released_ask([EVENT]).remote({label: epsilon}, 1)


def test_nothing_but_the_operating_systems_random_bits_goes_elsewhere():
    for ask in (study_ask([EVENT]), exact_ask(), ask_by(ReleasedNoise(), [EVENT], ChaCha20Entropy())):
        with pytest.raises(UndeclaredError, match="only a release"):
            ask.remote({"a": 0.3}, 1)


# -- parts ------------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(rows=st.integers(1, 60), size=st.integers(1, 3000), seed=st.integers(0, 9), end=st.booleans())
def test_cuts_have_every_row_once(tmp_path_factory, rows, size, seed, end):
    path = tmp_path_factory.mktemp("cuts") / "a.csv"
    frame = written(path, rows, seed)
    if not end:
        path.write_bytes(path.read_bytes().rstrip(b"\n"))
    stored = read_table(path).stored
    assert isinstance(stored, RegularRows)
    found, before = [], 0
    for cut in stored.cuts(size):
        assert cut.rows_before == before
        text = path.read_bytes()[cut.start : cut.stop]
        found.append(stored.reading.frame(text, cut.records).slice(cut.header))
        before += found[-1].height
    assert pl.concat(found).equals(frame)


# -- releases, without a cluster --------------------------------------------------------------------------------------


def test_a_second_draw_of_a_part_is_thrown_away(tmp_path, monkeypatch):
    frame = written(tmp_path / "a.csv", ROWS)
    drawn: list[Any] = []
    there = cluster_parts._there

    def _there(sent: Any, part: Any) -> Any:
        rows = there(sent, part)
        if sent.work is not rows_on_workers._draw:
            return rows
        rows.cells["0"] = len(drawn) % 10
        drawn.append((part.number, len(drawn) % 10, rows.kept[0]))
        return rows

    monkeypatch.setattr(cluster_parts, "_there", _there)
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here(times=3))
    plan = plan_of(keep_order=True)
    released(plan, tmp_path / "a.csv", tmp_path / "out.csv")
    assert len(drawn) == 3 * len({part for part, _, _ in drawn}) > 9
    first = {part: cell for part, cell, _ in reversed(drawn)}
    sizes = {part: len(kept) for part, _, kept in drawn}
    expected = [str(first[part]) for part in sorted(sizes) for _ in range(sizes[part])]
    found = as_read(tmp_path / "out.csv")
    assert found["n"].to_list() == expected
    assert found["kept"].to_list() == frame["kept"].to_list()


@pytest.mark.parametrize("in_parts", [True, False])
def test_a_value_that_cannot_be_used_is_refused_as_on_one_machine(tmp_path, monkeypatch, in_parts):
    frame = written(tmp_path / "a.csv", ROWS)
    frame = frame.with_columns(n=pl.Series(["x" if k in (77, 150) else v for k, v in enumerate(frame["n"])]))
    frame.write_csv(tmp_path / "a.csv")
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0 if in_parts else 1 << 30)
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here())
    with pytest.raises(InputError) as there:
        released(plan_of(), tmp_path / "a.csv", tmp_path / "out.csv")
    prepared = prepare_rows(plan_of(), read_table(tmp_path / "a.csv"), destination(tmp_path / "out.csv"))
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger, pytest.raises(InputError) as on_one:
        release_prepared(prepared, ledger)
    assert str(there.value) == str(on_one.value)
    assert "row 78" in str(there.value)
    assert charges(tmp_path) == []


@pytest.mark.parametrize("moment", ["_of_part", "_draw"])
def test_workers_refuse_another_file_of_that_name(tmp_path, monkeypatch, moment):
    path = tmp_path / "a.csv"
    written(path, ROWS)

    def before(work: str) -> None:
        if work == moment:  # the name has another file by now, as it may have on another computer
            path.rename(tmp_path / "moved.csv")
            written(path, ROWS, seed=2)

    monkeypatch.setattr(cluster_parts, "run_tasks_on", here(before=before))
    with pytest.raises(InputError, match="a worker reads different bytes from this file than this computer") as refused:
        released(plan_of(), path, tmp_path / "out.csv")
    assert left_beside(tmp_path, "a.csv", "moved.csv", *drawn(tmp_path))
    assert bool(drawn(tmp_path)) is (moment == "_draw")
    assert charges(tmp_path) == ([] if moment == "_of_part" else [("charged", 60.0)])
    assert ("stays charged" in str(refused.value)) is (moment == "_draw")


def test_a_file_that_workers_do_not_have_is_named(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    written(path, ROWS)
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here(before=lambda _: path.unlink()))
    with pytest.raises(InputError, match="a worker cannot read the file: no such file or directory"):
        released(plan_of(), path, tmp_path / "out.csv")
    assert charges(tmp_path) == []


# -- releases, on a cluster -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keep_order", "how"), [(True, "by path"), (False, "by path"), (False, "cells"), (True, "text")]
)
@NO_DASK[0]
@NO_DASK[1]
def test_a_release_has_the_rows_of_the_table(tmp_path, monkeypatch, cluster, keep_order, how):
    path = tmp_path / "a.csv"
    frame = written(path, 2 * ROWS)
    if how == "text":  # of a packed file, which no worker could read in ranges
        data = gzip.compress(path.read_bytes())
        path.unlink()
        path = tmp_path / "a.csv.gz"
        path.write_bytes(data)
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 1 << 30 if how == "cells" else 0)
    monkeypatch.setattr(compressed, "IN_MEMORY", 0)
    stored = read_table(path).stored
    assert isinstance(stored, pl.DataFrame if how == "cells" else RegularRows)
    seen: list[Event] = []
    done = released(plan_of(keep_order=keep_order), path, tmp_path / "out.parquet", cluster.address, seen.append)
    assert done.rows == 2 * ROWS
    assert verify_release(tmp_path / "out.parquet") == []
    assert left_beside(tmp_path, path.name, "out.parquet", done.certificate.name)
    assert charges(tmp_path) == [("charged", 60.0)]
    found = as_read(tmp_path / "out.parquet")
    assert found.equals(frame.drop("gone")) is keep_order
    assert same_rows(found, frame)
    parts = {e.total for e in seen if isinstance(e, Progress) and e.label == "rows drawn"}
    assert max(parts) > 5
    assert cluster.kept() == (0, 0)
    assert "secret" not in cluster.log()
    assert "long text" not in cluster.log()


@NO_DASK[0]
@NO_DASK[1]
def test_cancel_while_rows_are_drawn_leaves_a_charge_and_no_output(tmp_path, cluster):
    written(tmp_path / "a.csv", ROWS)
    cancel = CancelToken()

    def emit(event: Event) -> None:
        if isinstance(event, Progress) and event.label == "rows drawn":
            cancel.cancel()

    with pytest.raises(CancelledError, match="cancelled without a release; epsilon = 60 stays charged"):
        released(plan_of(), tmp_path / "a.csv", tmp_path / "out.csv", cluster.address, emit, cancel)
    assert left_beside(tmp_path, "a.csv", *drawn(tmp_path))
    assert len(drawn(tmp_path)) == 1
    assert charges(tmp_path) == [("charged", 60.0)]
    assert cluster.kept() == (0, 0)


@NO_DASK[0]
@NO_DASK[1]
def test_another_scheduler_draws_what_the_dead_one_has_not(tmp_path, monkeypatch):
    monkeypatch.setattr(rows_on_workers, "WAIT", 300.0)
    frame = written(tmp_path / "a.csv", 30 * ROWS)  # too many to be drawn at one go
    with ExitStack() as started:
        own = started.enter_context(Cluster(new_folder(tmp_path / "of")))
        own.add(1)
        seen: list[Event] = []

        def emit(event: Event) -> None:
            seen.append(event)
            if isinstance(event, Progress) and event.label == "rows drawn" and event.done == 1:
                own.kill_scheduler()
            elif isinstance(event, Notice) and "drawn and kept" in event.text:
                other = started.enter_context(Cluster(new_folder(tmp_path / "other")))
                other.add(1)
                own.file.write_text(other.file.read_text())  # as the new scheduler would, in its place

        drawn: list[int] = []
        accept = RemoteDraws.accept
        monkeypatch.setattr(RemoteDraws, "accept", lambda leave, part: drawn.append(part) or accept(leave, part))
        workers = Workers(own.address, emit, CancelToken(), own.file)
        released(plan_of(), tmp_path / "a.csv", tmp_path / "out.csv", workers=workers)
    assert len([e for e in seen if isinstance(e, Notice) and "nothing more is charged" in e.text]) == 1
    assert same_rows(as_read(tmp_path / "out.csv"), frame)
    assert len(drawn) == len(set(drawn)) > 5  # nothing that was drawn is drawn again
    assert verify_release(tmp_path / "out.csv") == []
    assert charges(tmp_path) == [("charged", 60.0)]


@NO_DASK[0]
def test_no_rows_go_to_an_unencrypted_scheduler_in_place_of_an_encrypted_one(tmp_path):
    file = tmp_path / "scheduler.json"
    plain, encrypted, other = "tcp://127.0.0.1:1", "tls://127.0.0.1:2", "tls://127.0.0.1:3"
    for first, then, used in ((encrypted, plain, encrypted), (encrypted, other, other), (plain, encrypted, encrypted)):
        file.write_text(f'{{"address": "{then}"}}')
        assert Workers(first, ignore, CancelToken(), file).address_now() == used
    file.unlink()
    assert Workers(plain, ignore, CancelToken(), file).address_now() == plain


def new_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("label", ["rows read", "rows drawn"])
@pytest.mark.parametrize("which", ["worker", "scheduler"])
@pytest.mark.parametrize("moment", [1, 5])
@NO_DASK[0]
@NO_DASK[1]
def test_a_kill_of_a_worker_costs_time_and_that_of_a_scheduler_another_run(tmp_path, monkeypatch, label, which, moment):
    monkeypatch.setattr(cluster_parts, "PART_BYTES", 4096)
    small(monkeypatch, piece=1 << 16, bucket=1 << 14, scattered=1 << 14)
    frame = written(tmp_path / "a.csv", 20_000)
    (tmp_path / "of").mkdir()
    with Cluster(tmp_path / "of") as own:
        own.add(2)
        killed: list[int] = []

        def emit(event: Event) -> None:
            if isinstance(event, Progress) and event.label == label and event.done >= moment and not killed:
                killed.append(1)
                own.kill_worker() if which == "worker" else own.kill_scheduler()

        run = lambda: released(plan_of(), tmp_path / "a.csv", tmp_path / "out.csv", own.address, emit)  # noqa: E731
        if which == "worker":
            run()
            assert same_rows(as_read(tmp_path / "out.csv"), frame)
            assert verify_release(tmp_path / "out.csv") == []
        else:
            with pytest.raises(WorkbenchError) as lost:
                run()
            drawing = label == "rows drawn"
            assert str(lost.value).startswith("the connection to the scheduler was lost")
            assert ("epsilon = 60 stays charged" in str(lost.value)) is drawing
            assert ("the same command continues, and nothing more is charged" in str(lost.value)) is drawing
        assert killed
    if which == "scheduler" and label == "rows drawn":
        (tmp_path / "other").mkdir()
        with Cluster(tmp_path / "other") as other:
            other.add(2)
            released(plan_of(), tmp_path / "a.csv", tmp_path / "out.csv", other.address)
        assert same_rows(as_read(tmp_path / "out.csv"), frame)
        assert verify_release(tmp_path / "out.csv") == []
    expected = [] if which == "scheduler" and label == "rows read" else [("charged", 60.0)]
    assert charges(tmp_path) == expected
    assert (tmp_path / "out.csv").exists() is (which == "worker" or label == "rows drawn")

"""A draw by workers that was interrupted goes on: with the parts that are drawn, of the same rows, at one charge."""

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local_cluster import NO_DASK, ROOT, copy, here, until
from test_rows_of_any_size import as_read, left_beside, plan_of, written
from test_rows_on_workers import ROWS, charges, parts, released, same_rows  # noqa: F401  # small parts, everywhere

from workbench.data import cluster_parts
from workbench.data.table_reader import read_table
from workbench.params import BudgetRefusedError, CancelledError, InputError, WorkbenchError
from workbench.release import recover, rows_on_workers
from workbench.release import release_path as path_of_release
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import STEWARD
from workbench.release.release_path import destination, prepare_rows, release_prepared
from workbench.release.reservation import Reservation
from workbench.release.sealed_parts import SealedParts
from workbench.release.spilled_rows import Rows, SpillFile
from workbench.release.verdict import verdict_on
from workbench.release.verify import verify_release
from workbench.sanitize.plan import Plan
from workbench.signals import Notice
from workbench.signals.cancel import CancelToken

PACKED = np.dtype([("0", np.uint8), ("1", np.uint16)])
DIES_AFTER = 3


def some_rows(count: int, seed: int) -> Rows:
    generator = np.random.default_rng(seed)
    cells = np.empty(count, PACKED)
    cells["0"], cells["1"] = generator.integers(0, 200, count), generator.integers(0, 60_000, count)
    texts = np.array(["", "x", "é, a text", None], dtype=object)
    return Rows(cells, (pl.Series(texts[generator.integers(0, 4, count)].tolist(), dtype=pl.String),))


@contextmanager
def opened(path: Path, packed: np.dtype[np.void] = PACKED, key: bytes = b"key") -> Iterator[SealedParts]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        yield SealedParts(SpillFile(path.parent, 1 << 12, descriptor), packed, ["kept"], key)
    finally:
        os.close(descriptor)


def same(a: Rows, b: Rows) -> bool:
    return bool((a.cells == b.cells).all()) and all(
        x.equals(y, null_equal=True) for x, y in zip(a.kept, b.kept, strict=True)
    )


@settings(deadline=None, max_examples=40)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5), cut=st.integers(1, 60), flip=st.booleans())
def test_a_record_that_a_crash_has_cut_counts_as_not_drawn(tmp_path_factory, sizes, cut, flip):
    path = tmp_path_factory.mktemp("sealed") / "out.part"
    drawn, order = [some_rows(size, k) for k, size in enumerate(sizes)], list(reversed(range(len(sizes))))
    with opened(path) as sealed:
        for number in order:
            sealed.seal(number, drawn[number])
        end = sealed._file.size
    whole = path.read_bytes()
    with opened(path) as again:
        assert again.numbers == order
        again.in_order()
        assert all(same(again.block(number), drawn[number]) for number in range(len(sizes)))
    damaged = bytearray(whole[:end])
    if flip:
        damaged[-min(cut, 3)] ^= 1
    path.write_bytes(bytes(damaged) if flip else whole[: end - min(cut, 12)])
    lost = flip or any(whole[end - min(cut, 12) : end])  # zeros are what reserved room has, too
    with opened(path) as torn:
        assert torn.numbers == (order[:-1] if lost else order)
        if lost:
            torn.seal(order[-1], drawn[order[-1]])
    with opened(path) as mended:
        assert mended.numbers == order
    with opened(path, key=b"another") as forged:
        assert forged.numbers == []


def dies(after: int) -> Any:
    """Return what runs tasks as a cluster whose scheduler dies after some parts of the draw."""

    def run(address: str, work: Any, shared: Any, tasks: Any, **_: Any) -> Iterator[Any]:
        for number, task in enumerate(tasks):
            if shared.work is rows_on_workers._draw and number == after:
                raise WorkbenchError(
                    "the connection to the scheduler was lost", address, "run it again to finish the rest"
                )
            yield task, copy(work(copy(shared), copy(task)))

    return run


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """Write a table and let its release be interrupted after three parts; the next cluster lives."""
    frame = written(tmp_path / "a.csv", ROWS)
    monkeypatch.setattr(cluster_parts, "run_tasks_on", dies(DIES_AFTER))
    with pytest.raises(WorkbenchError, match="epsilon = 60 stays charged; the same command continues") as lost:
        released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    assert "the same command continues, and nothing more is charged" in str(lost.value)
    assert len(drawn_files(tmp_path)) == 1
    assert drawn_files(tmp_path)[0].stat().st_mode & 0o077 == 0
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here())
    return frame


def drawn_files(folder: Path) -> list[Path]:
    return [p for p in folder.iterdir() if p.name.endswith(".part")]


def test_the_same_command_draws_the_rest_at_no_charge(tmp_path, interrupted, monkeypatch):
    kept = in_file(tmp_path)
    drawn: list[int] = []
    there = cluster_parts._there

    def counting(sent: Any, part: Any) -> Any:
        if sent.work is rows_on_workers._draw:
            drawn.append(part.number)
        return there(sent, part)

    monkeypatch.setattr(cluster_parts, "_there", counting)
    seen: list[Any] = []
    table = read_table(tmp_path / "a.csv")
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        workers = cluster_parts.Workers("tcp://127.0.0.1:1", seen.append, CancelToken())
        prepared = prepare_rows(plan_of(keep_order=True), table, destination(tmp_path / "out.csv"), workers)
        verdict = verdict_on(prepared, ledger)
        assert (verdict.begun, verdict.refusal, verdict.waiting) == (True, None, ledger.releases()[0].release_id)
        done = release_prepared(prepared, ledger, seen.append)
    assert done.release_id == verdict.waiting
    assert set(kept) == {0, 1, 2}
    assert sorted(drawn) == list(range(3, max(drawn) + 1))
    assert [e for e in seen if isinstance(e, Notice) and "this run continues it" in e.text]
    found = as_read(tmp_path / "out.csv")
    assert found.equals(interrupted.drop("gone"))
    assert verify_release(tmp_path / "out.csv") == []
    assert charges(tmp_path) == [("charged", 60.0)]
    assert left_beside(tmp_path, "a.csv", "out.csv", "out.csv.certificate.json")


def in_file(folder: Path) -> dict[int, Rows]:
    """Return the parts in the file of drawn parts of :func:`plan_of`."""
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        body = ledger.releases()[0].body
    key = (body["content"] + body["drawn"]).encode()
    with opened(drawn_files(folder)[0], np.dtype([("0", np.uint8), ("1", np.uint8)]), key) as sealed:
        return {number: sealed.block(place) for place, number in enumerate(sealed.numbers)}


def test_what_was_drawn_is_what_is_published(tmp_path, interrupted):
    kept = in_file(tmp_path)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:  # a process that is killed leaves the file it writes
        (tmp_path / ledger.releases()[0].body["part"]).write_bytes(b"n,c,kept\n1,")
    before = pl.concat([rows.kept[0] for rows in kept.values()])
    cells = np.concatenate([rows.cells["0"] for rows in kept.values()])
    released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    found = as_read(tmp_path / "out.csv")
    assert found["kept"][: len(before)].equals(before.alias("kept"), null_equal=True)
    assert found["n"][: len(cells)].to_list() == [str(cell) for cell in cells]


def on_one_machine(plan: Plan, path: Path, target: Path) -> None:
    with Ledger.open(target.parent / "ledger.sqlite") as ledger:
        release_prepared(prepare_rows(plan, read_table(path), destination(target)), ledger)


@pytest.mark.parametrize("what", ["other rows", "other plan", "one machine"])
def test_whoever_asks_for_something_else_is_refused(tmp_path, interrupted, what):
    plan = plan_of(keep_order=True)
    if what == "other rows":  # the account is the same, and the rows of a part are others
        interrupted.reverse().write_csv(tmp_path / "a.csv")
    elif what == "other plan":
        plan = plan_of(keep_order=False)
    stated = "this run asks for something else" if what == "other plan" else "their rows are others"
    run = on_one_machine if what == "one machine" else released
    with pytest.raises(
        InputError, match=rf"parts of release \w+ are already drawn for this output, but {stated}"
    ) as refused:
        run(plan, tmp_path / "a.csv", tmp_path / "out.csv")
    drawn = drawn_files(tmp_path)
    assert len(drawn) == 1
    assert f"or delete {drawn[0].name}" in str(refused.value)
    assert charges(tmp_path) == [("charged", 60.0)]
    drawn[0].unlink()
    with pytest.raises(BudgetRefusedError):  # without them it is another charge
        released(plan, tmp_path / "a.csv", tmp_path / "out.csv")


def test_a_finished_release_does_not_go_on(tmp_path, interrupted):
    drawn = drawn_files(tmp_path)[0]
    older = drawn.read_bytes()
    released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    (tmp_path / "out.csv").rename(tmp_path / "first.csv")
    (tmp_path / "out.csv.certificate.json").rename(tmp_path / "first.csv.certificate.json")
    drawn.write_bytes(older)  # somebody put back a copy
    with pytest.raises(BudgetRefusedError):
        released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    assert drawn_files(tmp_path) == []


def test_an_older_copy_of_the_ledger_goes_on_with_nothing(tmp_path, interrupted):
    drawn, book = drawn_files(tmp_path)[0], tmp_path / "ledger.sqlite"
    older = drawn.read_bytes(), book.read_bytes()
    released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    for name in ("out.csv", "out.csv.certificate.json"):
        (tmp_path / name).rename(tmp_path / f"first.{name}")
    drawn.write_bytes(older[0])
    book.write_bytes(older[1])
    with pytest.raises(WorkbenchError, match="the ledger is older than the one"):
        released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("moment", ["rows drawn", "written"])
def test_a_cancelled_draw_goes_on_in_random_order(tmp_path, monkeypatch, moment):
    frame = written(tmp_path / "a.csv", ROWS)
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here())
    cancel = CancelToken()

    def emit(event: Any) -> None:
        if getattr(event, "label", "") == moment:
            cancel.cancel()

    with pytest.raises(CancelledError, match="epsilon = 60 stays charged; the same command continues it"):
        released(plan_of(), tmp_path / "a.csv", tmp_path / "out.csv", emit=emit, cancel=cancel)
    released(plan_of(), tmp_path / "a.csv", tmp_path / "out.csv")
    assert same_rows(as_read(tmp_path / "out.csv"), frame)
    assert charges(tmp_path) == [("charged", 60.0)]
    assert left_beside(tmp_path, "a.csv", "out.csv", "out.csv.certificate.json")


def test_a_release_takes_no_part_of_another_one(tmp_path, interrupted, monkeypatch):
    """Of the same rows at another ε: else its certificate would state an ε by which they were not drawn."""
    weak = plan_of(keep_order=True).to_plain()
    weak["epsilon"] = 1.0
    for column in weak["column"][:2]:
        column["epsilon"] = 0.5
    plan, low, book = Plan.from_plain(weak), tmp_path / "low.csv", tmp_path / "ledger.sqlite"
    with Ledger.open(book) as ledger:
        ledger.set_cap(ledger.releases()[0].dataset, Decimal(100))
    (strong,) = drawn_files(tmp_path)
    monkeypatch.setattr(cluster_parts, "run_tasks_on", dies(DIES_AFTER))
    with pytest.raises(WorkbenchError, match="epsilon = 1 stays charged"):
        released(plan, tmp_path / "a.csv", low)
    (own,) = set(drawn_files(tmp_path)) - {strong}
    own.write_bytes(strong.read_bytes())
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here())
    released(plan, tmp_path / "a.csv", low)
    first = interrupted["n"][: len(as_read(low)) // 4].to_list()
    assert as_read(low)["n"][: len(first)].to_list() != first


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("seen", ["by its cost", "by its certificate"])
def test_a_run_that_was_overtaken_publishes_nothing_more(tmp_path, interrupted, monkeypatch, back, seen):
    """Another run ends the release, and its output is moved, between the look at the ledger and the opened file."""
    look, plan, before = path_of_release.draw_to_continue, plan_of(keep_order=True), Reservation._require_same

    def overtaken(*given: Any) -> Any:
        found = look(*given)
        monkeypatch.setattr(path_of_release, "draw_to_continue", look)
        kept = found.drawn.read_bytes()
        released(plan, tmp_path / "a.csv", tmp_path / "out.csv")
        for name in ("out.csv", "out.csv.certificate.json"):
            (tmp_path / name).rename(tmp_path / f"first.{name}")
        if back:
            found.drawn.write_bytes(kept)
        if seen == "by its certificate":  # as if both had begun at once, where the file system has no locks
            monkeypatch.setattr(Reservation, "_require_same", lambda self, cost: found.release)
        return found

    monkeypatch.setattr(path_of_release, "draw_to_continue", overtaken)
    with pytest.raises(InputError, match="is finished" if back else "the parts that are drawn cannot be opened"):
        released(plan, tmp_path / "a.csv", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    monkeypatch.setattr(Reservation, "_require_same", before)
    with pytest.raises(BudgetRefusedError):
        released(plan, tmp_path / "a.csv", tmp_path / "out.csv")
    assert drawn_files(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room is reserved by another call")
def test_a_full_disk_leaves_what_is_drawn(tmp_path, interrupted, monkeypatch):
    (drawn,) = drawn_files(tmp_path)
    before = drawn.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as now:
        now.setattr(os, "posix_fallocate", full)
        with pytest.raises(InputError, match="this run has drawn nothing and charged nothing"):
            released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    assert drawn.read_bytes() == before
    released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    assert charges(tmp_path) == [("charged", 60.0)]


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
@pytest.mark.parametrize("what", ["link", "link to nothing", "folder"])
def test_what_is_no_file_of_parts_is_not_opened(tmp_path, interrupted, what):
    (drawn,) = drawn_files(tmp_path)
    drawn.rename(tmp_path / "elsewhere")
    if what == "folder":
        drawn.mkdir()
    else:
        drawn.symlink_to(tmp_path / "elsewhere" if what == "link" else tmp_path / "nothing")
    with pytest.raises(InputError, match="cannot be opened"):
        released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    assert charges(tmp_path) == [("charged", 60.0)]


@pytest.mark.parametrize("both", [True, False])
def test_a_draw_that_went_on_in_two_copies_costs_both(tmp_path, interrupted, monkeypatch, both):
    """The other parts were drawn and published at two computers, or at the other one alone, and then not here."""
    plan, here, there = plan_of(keep_order=True), tmp_path / "ledger.sqlite", tmp_path / "there"
    shutil.copytree(tmp_path, there)
    with Ledger.open(here) as ledger:
        place = ledger.releases()[0].body["output"]
    monkeypatch.setattr(recover, "place_of", lambda target: place)  # folders have the same path at both
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state there"))
    released(plan, there / "a.csv", there / "out.csv")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if both:
        released(plan, tmp_path / "a.csv", tmp_path / "out.csv")
    with Ledger.open(here) as ledger, Ledger.open(there / "ledger.sqlite") as other:
        ledger.merge(other)
        assert ledger.account(ledger.releases()[0].dataset).used[0] == (120 if both else 60)
        assert ledger.verify() == []
    if not both:
        with pytest.raises(BudgetRefusedError):
            released(plan, tmp_path / "a.csv", tmp_path / "out.csv")


def test_a_draw_goes_on_after_its_account_became_part_of_another(tmp_path, interrupted):
    pl.DataFrame({"x": range(40), "y": range(40)}).write_csv(tmp_path / "other.csv")
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        other = ledger.enter(ledger.identify(read_table(tmp_path / "other.csv")))
        ledger.set_cap(other, Decimal(100))
        ledger._joined(ledger.releases()[0].dataset, other, STEWARD)
        assert ledger.account_of(ledger.releases()[0].dataset) == other
    released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    assert charges(tmp_path) == [("charged", 60.0)]


def test_a_second_run_is_not_charged_while_another_one_goes_on(tmp_path, interrupted, monkeypatch):
    """Its output could not be given the name: somebody repeats a command that still waits for a scheduler."""
    plan, live, seen = plan_of(keep_order=True), here(), []
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        ledger.set_cap(ledger.releases()[0].dataset, Decimal(1000))

    def again(*given: Any, **named: Any) -> Iterator[Any]:
        if given[2].work is rows_on_workers._draw and not seen:
            seen.append(True)
            with pytest.raises(InputError, match="another run is already continuing this release"):
                released(plan, tmp_path / "a.csv", tmp_path / "out.csv")
        yield from live(*given, **named)

    monkeypatch.setattr(cluster_parts, "run_tasks_on", again)
    released(plan, tmp_path / "a.csv", tmp_path / "out.csv")
    assert seen
    assert charges(tmp_path) == [("charged", 60.0)]


def test_a_draw_goes_on_after_its_ledger_became_part_of_another(tmp_path, interrupted):
    """The mark of its rows is under the key of the former ledger."""
    old = tmp_path / "old"
    old.mkdir()
    for file in sorted(tmp_path.glob("ledger.sqlite*")):
        file.rename(old / file.name)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        ledger.enter(ledger.identify(read_table(tmp_path / "a.csv")))
        with Ledger.open(old / "ledger.sqlite") as other:
            ledger.merge(other)
    released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    assert charges(tmp_path) == [("charged", 60.0)]
    assert verify_release(tmp_path / "out.csv") == []


def test_names_in_a_ledger_that_somebody_made_lead_nowhere(tmp_path, interrupted):
    around = set(tmp_path.parent.iterdir())
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        found = ledger.releases()[0]
        with pytest.raises(InputError, match="malformed drawn"):
            ledger._append("charge", found.dataset, {"drawn": ["a"]}, found.cost, found.release_id)
        ledger._append("charge", found.dataset, {"part": "../elsewhere"}, found.cost, found.release_id)
    released(plan_of(keep_order=True), tmp_path / "a.csv", tmp_path / "out.csv")
    assert set(tmp_path.parent.iterdir()) == around
    assert left_beside(tmp_path, "a.csv", "out.csv", "out.csv.certificate.json")


COMMAND = """
import sys
from workbench.cli import main
from workbench.data import cluster_parts, table_reader
table_reader.IN_PARTS_FROM, cluster_parts.PART_BYTES = 0, 2048
raise SystemExit(main(sys.argv[1:]))
"""
MOMENTS = 8


def begun(folder: Path, output: Path, address: str, **more: Any) -> subprocess.Popen[bytes]:
    """Start the command that draws the table of a folder on a cluster."""
    words = ["sanitize", "a.csv", "--plan", "plan.toml", "-o", str(output / "out.csv"), "--engine", "dask"]
    words += ["--scheduler", address, "--ledger", str(output / "ledger.sqlite")]
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", COMMAND, *words], cwd=folder, env=own, **more)


@NO_DASK[0]
@NO_DASK[1]
def test_a_command_that_is_told_to_end_says_that_it_can_go_on_at_no_second_charge(tmp_path, cluster):
    frame = written(tmp_path / "a.csv", 20_000)
    (tmp_path / "plan.toml").write_text(plan_of().to_toml())
    with begun(tmp_path, tmp_path, cluster.address, stderr=subprocess.PIPE) as process:
        until(lambda: drawn_files(tmp_path) and charges(tmp_path) == [("charged", 60.0)], "a draw")
        process.terminate()
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert process.returncode == CancelledError.exit_code
    stated = "epsilon = 60 stays charged; the same command continues it, and nothing more is charged"
    assert f"cancelled without a release; {stated}" in said
    assert drawn_files(tmp_path)
    assert begun(tmp_path, tmp_path, cluster.address).wait() == 0
    assert same_rows(as_read(tmp_path / "out.csv"), frame)
    assert charges(tmp_path) == [("charged", 60.0)]


@pytest.mark.slow
@NO_DASK[0]
@NO_DASK[1]
def test_a_command_that_is_killed_at_any_moment_goes_on(tmp_path, cluster):
    """kill -9 of the command itself, at moments from the reservation on; the same command then ends it."""
    frame = written(tmp_path / "a.csv", 6_000)
    (tmp_path / "plan.toml").write_text(plan_of().to_toml())
    ends: list[tuple[bool, bool]] = []

    folders = [tmp_path / f"{number}" for number in range(MOMENTS)]
    for folder in folders:
        folder.mkdir()
    for number, folder in enumerate(folders):
        process = begun(tmp_path, folder, cluster.address)
        until(lambda process=process, folder=folder: drawn_files(folder) or process.poll() is not None, "a draw")
        time.sleep(number * 0.05)
        process.kill()
        process.wait()
        paid = (folder / "ledger.sqlite").exists() and [c for c in charges(folder) if c[0] == "charged"]
        ends.append((bool(paid), (folder / "out.csv").exists()))
        if not ends[-1][1]:
            assert begun(tmp_path, folder, cluster.address).wait() == 0
        assert same_rows(as_read(folder / "out.csv"), frame)
        assert verify_release(folder / "out.csv") == []
        assert [c for c in charges(folder) if c[0] != "void"] == [("charged", 60.0)]
        assert drawn_files(folder) == []
    assert (True, False) in ends  # (charged, published) when it was killed

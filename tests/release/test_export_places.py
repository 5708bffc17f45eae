"""Disks that fill up and places that cannot be written: one sentence, no file, and the old output stands.

Room is taken before anything is drawn, so that a disk that is too small costs nothing.
"""

import contextlib
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from release_cases import names_in, raise_cap, release, run_to_exit, statuses
from released import release_table

from workbench.data.table import Table
from workbench.params import InputError
from workbench.release import release_path as export
from workbench.release import rows_work
from workbench.release.ledger.ledger import Ledger
from workbench.release.part_files import DrawFile
from workbench.release.rows_work import most_bytes
from workbench.release.verify import verify_release
from workbench.sanitize.calibrated_columns import protected_columns
from workbench.sanitize.plan import Plan

resource = pytest.importorskip("resource", reason="limits of processes are of POSIX")


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 512 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(folder)], capture_output=True).returncode:
        pytest.skip("only root can mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True, capture_output=True)


@pytest.mark.parametrize("ledger_there_too", [False, True])
def test_a_disk_that_is_too_small_is_noticed_before_anything_is_drawn(
    small_disk, tmp_path, monkeypatch, ledger_there_too
):
    target = small_disk / "people.csv"
    ledger = (small_disk if ledger_there_too else tmp_path) / "ledger.sqlite"
    release(ledger, target)
    raise_cap(ledger, "6")
    before = {n: (small_disk / n).read_bytes() for n in names_in(small_disk) if n.startswith("people")}

    def never(*_: Any) -> Any:
        raise AssertionError("drawn")

    monkeypatch.setattr(rows_work, "draw_prepared", never)
    with pytest.raises(InputError) as full:
        release(ledger, target, rows=100_000)
    assert str(full.value).startswith("the disk is too full for this release: it may need ")
    assert str(full.value).endswith("this run has drawn nothing and charged nothing")
    assert {n: (small_disk / n).read_bytes() for n in names_in(small_disk) if n.startswith("people")} == before
    assert statuses(ledger) == ["charged"]
    assert verify_release(target) == []


def test_what_is_reserved_is_enough_for_every_draw(tmp_path):
    """Long names that must be quoted, one-cell rows and kept text: no draw is longer than what was reserved."""
    text = ['a"b,c' * 9, "ü" * 30, "x"]
    frame = pl.DataFrame({"name": text * 40, "kept": ['"' * 50, "", "ß,"] * 40})
    plan = Plan.from_plain(
        {
            "epsilon": 1.0,
            "column": [
                {"name": "name", "kind": "category", "domain": text, "mechanism": "grr"},
                {"name": "kept", "action": "keep"},
            ],
        }
    )
    for number, suffix in enumerate(("csv", "tsv", "parquet")):
        target = tmp_path / f"a.{suffix}"
        with Ledger.open(tmp_path / f"{number}.sqlite") as ledger:
            release_table(plan, Table(frame, "names.csv"), target, ledger)
        assert target.stat().st_size <= most_bytes(plan, protected_columns(plan), Table(frame, "names.csv"))


def test_a_disk_filled_by_others_while_the_release_is_written_does_not_stop_it(small_disk, tmp_path, monkeypatch):
    target, ledger = small_disk / "people.csv", tmp_path / "ledger.sqlite"
    real = export._Drawing._write

    def fill_then_write(*given: Any) -> Any:
        free = shutil.disk_usage(small_disk).free
        (small_disk / "ballast").write_bytes(b"x" * free)
        return real(*given)

    monkeypatch.setattr(export._Drawing, "_write", fill_then_write)
    with contextlib.suppress(InputError):  # where not even the certificate finds a place, the draw waits
        release(ledger, target)
    (small_disk / "ballast").unlink()
    assert statuses(ledger) == ["charged"]
    monkeypatch.setattr(export._Drawing, "_write", real)
    if not target.exists():
        assert release(ledger, target).published_earlier
    assert statuses(ledger) == ["charged"]
    assert verify_release(target) == []
    assert names_in(small_disk) == {"people.csv", "people.csv.certificate.json"}


def release_under_a_size_limit(ledger: Path, target: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with pytest.raises(InputError, match="the disk is too full for this release"):
        release(ledger, target, rows=50_000)


def test_a_file_that_would_outgrow_the_process_limit_is_one_sentence(folder, ledger):
    assert run_to_exit(release_under_a_size_limit, ledger, folder / "people.csv") == 0
    assert names_in(folder) == set()
    assert statuses(ledger) == []


def test_a_stream_that_fills_up_at_its_last_flush_stays_charged(folder, ledger, monkeypatch):
    """Buffered bytes meet the full disk only when they are flushed: /dev/full takes every write and no flush."""
    real = DrawFile.__init__

    def full(part: DrawFile, target: Path, room: int, **keys: bool) -> None:
        real(part, target, room, **keys)
        part._stream.close()
        part._stream = open("/dev/full", "r+b")  # noqa: SIM115 - the part closes it

    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    monkeypatch.setattr(DrawFile, "__init__", full)
    with pytest.raises(InputError, match=r"the disk is full.*epsilon = 3 stays charged"):
        release(ledger, folder / "people.csv")
    assert names_in(folder) == set()
    assert statuses(ledger) == ["charged"]


# -- places that cannot be written ------------------------------------------------------------------------------------


def test_an_output_that_cannot_be_written_is_refused_before_the_charge(folder, ledger):
    (folder / "file").write_text("x")
    (folder / "taken.csv").mkdir()
    (folder / "named.csv.certificate.json").mkdir()
    cases = {
        folder / "missing" / "a.csv": "the folder of the output does not exist",
        folder / "file" / "a.csv": "the folder of the output does not exist",
        folder / "taken.csv": "the output is a folder",
        folder / "named.csv": "a folder has the name of the certificate",
        folder / ("x" * 250 + ".csv"): "the output cannot be written: File name too long",
    }
    if Path("/proc/self").exists():
        cases[Path("/proc/a.csv")] = "the output cannot be written: No such file or directory"
        cases[Path("/proc/self/a.csv")] = "the output cannot be written: No such file or directory"
    before = names_in(folder)
    for target, sentence in cases.items():
        with pytest.raises(InputError) as refused:
            release(ledger, target)
        assert str(refused.value).startswith(sentence), str(refused.value)
        assert "\n" not in str(refused.value)
    assert names_in(folder) == before
    assert statuses(ledger) == []


def test_a_link_is_replaced_and_what_it_points_to_stays(folder, ledger, tmp_path):
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text("mine")
    (folder / "people.csv").symlink_to(elsewhere)
    release(ledger, folder / "people.csv")
    assert elsewhere.read_text() == "mine"
    assert verify_release(folder / "people.csv") == []

"""Disks that fill up and places that cannot be written: one sentence, no charge, no file, and the old output stands."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from release_cases import contents, names_in, raise_cap, release, run_to_exit, statuses

from workbench.params import InputError
from workbench.release import export
from workbench.release.atomic import PartFile
from workbench.release.verify import verify_release

resource = pytest.importorskip("resource", reason="limits of processes are of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(folder)], capture_output=True).returncode:
        pytest.skip("only root can mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True, capture_output=True)


@pytest.mark.parametrize("ledger_there_too", [False, True])
def test_a_disk_that_fills_up_is_one_sentence_and_void(
    small_disk: Path, tmp_path: Path, ledger_there_too: bool
) -> None:
    target = small_disk / "people.csv"
    ledger = (small_disk if ledger_there_too else tmp_path) / "ledger.sqlite"
    release(ledger, target)
    raise_cap(ledger, "6")
    before = {n: (small_disk / n).read_bytes() for n in names_in(small_disk) if n.startswith("people")}
    with pytest.raises(InputError) as full:
        release(ledger, target, rows=100_000)
    assert str(full.value) == f"the disk is full ({target}); free some space and run it again; nothing was released"
    assert {n: (small_disk / n).read_bytes() for n in names_in(small_disk) if n.startswith("people")} == before
    assert statuses(ledger) == ["charged", "void"]
    assert verify_release(target) == []


def test_a_disk_too_full_for_the_certificate_keeps_the_old_one(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, ledger = small_disk / "people.csv", tmp_path / "ledger.sqlite"
    release(ledger, target)
    raise_cap(ledger, "6")
    before = contents(small_disk)
    real = export.encode

    def fill_then_encode(document: dict[str, Any]) -> bytes:
        free = shutil.disk_usage(small_disk).free
        (small_disk / "ballast").write_bytes(b"x" * free)
        return real(document)

    with monkeypatch.context() as patch:
        patch.setattr(export, "encode", fill_then_encode)
        with pytest.raises(InputError, match="the disk is full"):
            release(ledger, target)
    (small_disk / "ballast").unlink()
    assert contents(small_disk) == before
    assert statuses(ledger) == ["charged", "void"]


def release_under_a_size_limit(ledger: Path, target: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with pytest.raises(InputError, match="the output cannot be written: File too large"):
        release(ledger, target, rows=50_000)


def test_a_file_that_outgrows_the_process_limit_is_one_sentence_and_void(folder: Path, ledger: Path) -> None:
    assert run_to_exit(release_under_a_size_limit, ledger, folder / "people.csv") == 0
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


def test_a_stream_that_fills_up_at_its_last_flush_is_void(
    folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Buffered bytes meet the full disk only when they are flushed: /dev/full takes every write and no flush."""
    real = PartFile.__init__

    def full(part: PartFile, target: Path) -> None:
        real(part, target)
        part.stream.close()
        part.stream = open("/dev/full", "r+b")  # noqa: SIM115 - the part file closes it

    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    monkeypatch.setattr(PartFile, "__init__", full)
    with pytest.raises(InputError, match="the disk is full"):
        release(ledger, folder / "people.csv")
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


# -- places that cannot be written ------------------------------------------------------------------------------------


def test_an_output_that_cannot_be_written_is_refused_before_the_charge(folder: Path, ledger: Path) -> None:
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


def test_a_link_is_replaced_and_what_it_points_to_stays(folder: Path, ledger: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text("mine")
    (folder / "people.csv").symlink_to(elsewhere)
    release(ledger, folder / "people.csv")
    assert elsewhere.read_text() == "mine"
    assert verify_release(folder / "people.csv") == []

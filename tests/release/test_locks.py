"""Locks on what a release is writing: held against other processes, and gone when their process dies, on any system.

Where a system is to be like Windows, this program finds no fcntl and opens no folder; the lock itself is filelock's,
which takes LockFileEx there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock
import pytest

from workbench.release import atomic
from workbench.release.atomic import LOCK, locked, open_to_lock, remove_stale_parts, sole_user
from workbench.release.certificate import CARD
from workbench.release.parts import DrawFolder

HOLDER = """
import os, subprocess, sys
from pathlib import Path
from filelock import lock_descriptor
from workbench.release import atomic
if sys.argv[2] == "windows":
    sys.modules["fcntl"] = None
    atomic.WINDOWS = True
descriptor = atomic.open_to_lock(Path(sys.argv[1]))
assert atomic.locked(descriptor, otherwise=False)
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, close_fds=False)
print("held", child.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["this system", "windows"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """This system, or one without fcntl whose folders cannot be opened."""
    assert filelock.lock_descriptor  # loads what it locks with, while there is fcntl
    if request.param == "windows":
        monkeypatch.setitem(sys.modules, "fcntl", None)
        monkeypatch.setattr(atomic, "WINDOWS", True)
    return str(request.param)


@pytest.fixture(params=["file", "folder"])
def thing(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file or a folder to lock."""
    path = tmp_path / "thing"
    if request.param == "file":
        path.write_bytes(b"x")
    else:
        path.mkdir()
    return path


@contextmanager
def held(path: Path, system: str) -> Iterator[subprocess.Popen[str]]:
    """Another process, with a child of its own, that holds the lock until the block ends."""
    words = [sys.executable, "-c", HOLDER, str(path), system]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        told, child = holder.stdout.readline().split()
        assert told == "held"
        try:
            yield holder
        finally:
            for pid in (holder.pid, int(child)):
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)


def test_a_lock_excludes_other_processes_until_its_own_is_killed(thing: Path, system: str) -> None:
    with held(thing, system) as holder:
        with sole_user(thing, otherwise=True) as free:
            assert not free
        holder.kill()  # its child lives on, and holds nothing
        holder.wait()
        with sole_user(thing) as free:
            assert free
    with sole_user(thing) as free:
        assert free


def test_it_excludes_within_one_process_too_and_does_not_wait(thing: Path, system: str) -> None:
    first, second = open_to_lock(thing), open_to_lock(thing)
    try:
        assert locked(first, otherwise=False)
        assert not locked(second, otherwise=True)
    finally:
        os.close(first)
    assert locked(second, otherwise=False)
    os.close(second)


def test_where_the_file_system_has_no_locks_the_caller_decides(thing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(descriptor: int, *, blocking: bool) -> bool:
        raise OSError(95, "not supported")

    monkeypatch.setattr("filelock.lock_descriptor", none)
    for answer in (True, False):
        with sole_user(thing, otherwise=answer) as free:
            assert free is answer


def test_a_part_in_use_is_not_taken_for_stale(tmp_path: Path, system: str) -> None:
    part = tmp_path / f"out.csv.0123abcd{atomic.PART}"
    part.write_bytes(b"x")
    with held(part, system):
        remove_stale_parts(tmp_path / "out.csv")
        assert part.exists()
    remove_stale_parts(tmp_path / "out.csv")
    assert not part.exists()


def test_a_model_leaves_no_lock_in_its_folder(tmp_path: Path, system: str) -> None:
    target = tmp_path / "model"
    with DrawFolder(target, 1000, CARD) as part:
        with sole_user(part.path) as free:
            assert not free
        part.write({"card.json": b"{}"})
        with part.keep_on_success():
            part.publish()
    assert {path.name for path in target.iterdir()} == {"card.json"}
    with DrawFolder(tmp_path / "other", 1000, CARD) as part:
        assert (part.path / LOCK).exists() is (system == "windows")
    assert {path.name for path in tmp_path.iterdir()} == {"model"}

"""A ledger that is older than what this computer has seen charges nothing until the steward accepts it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path

import filelock
import pytest
from release_cases import charge, loss_of

from workbench.cli import main
from workbench.params import CheckFailedError, InputError
from workbench.paths import user_state
from workbench.release import atomic
from workbench.release import recover as recover_module
from workbench.release.atomic import LOCK, exclusive_lock, open_to_lock, remove_stale_parts, try_lock
from workbench.release.certificate import CARD
from workbench.release.ledger.file import key_path
from workbench.release.ledger.ledger import Ledger
from workbench.release.part_files import DrawFolder
from workbench.release.recover import CHARGED_FIRST, recover

A = "a" * 32


@pytest.fixture
def path(tmp_path):
    """A ledger that was put back as it was before its second release."""
    path, kept = tmp_path / "ledger.sqlite", tmp_path / "kept.sqlite"
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(2))
        charge(book, "1")
    shutil.copy(path, kept)
    with Ledger.open(path) as book:
        charge(book, "1")
    kept.replace(path)
    return path


def told(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


def test_a_rolled_back_ledger_charges_nothing_and_says_what_is_missing(path):
    with Ledger.open(path) as book:
        with pytest.raises(CheckFailedError, match=r"older than the one.*entry 5 of .* is missing.*ledger accept"):
            book.reserve(A, loss_of("0.5"), work="test")
        assert [r.status for r in book.releases()] == ["charged"]
        book.set_cap(A, Decimal(7))  # an entry of its own does not make up for the one that is gone
        with pytest.raises(CheckFailedError):
            book.reserve(A, loss_of("0.5"), work="test")
    with Ledger.read(path) as book:
        (problem,) = book.verify()
        assert "entry 5" in problem


def test_verify_finds_it_and_accept_records_it_and_goes_on(path, capsys):
    words = ["--ledger", str(path), "--json"]
    assert main(["ledger", "verify", *words]) == 5
    found = told(capsys)
    assert not found["ok"]
    assert found["seen"]["entry"] == 5
    assert main(["ledger", "accept", *words]) == 0
    assert told(capsys)["accepted"]["missing"] == 5
    assert main(["ledger", "verify", *words]) == 0
    assert told(capsys)["seen"]["entry"] == 4
    with Ledger.open(path) as book:
        charge(book, "1")
        assert [e.body["seq"] for e in book.entries("accepted")] == [5]
    assert main(["ledger", "accept", *words]) == 2  # nothing is missing now
    capsys.readouterr()


@pytest.mark.parametrize("accepted", [False, True])
def test_what_an_older_copy_holds_as_reserved_is_charged_and_never_void(path, monkeypatch, accepted):
    """The entries that are missing may have charged it, and its output may be published."""
    with Ledger.open(path) as book:
        book.accept()
        details = {"output": "/x/a.csv", "part": "a.csv.part", CHARGED_FIRST: True}
        release = book.reserve(A, loss_of("0.5"), work="test", details=details)
        shutil.copy(path, path.with_name("reserved.sqlite"))
        book.charge(release)
    path.with_name("reserved.sqlite").replace(path)
    monkeypatch.setattr(recover_module, "still_runs", lambda process: False)
    with Ledger.open(path) as book:
        assert recover(book) == []
        assert book.release(release).status == "reserved"
        if accepted:
            book.accept()
            assert recover(book) == []
            assert book.release(release).status == "charged"
        assert book.account(A).used[0] == Decimal("1.5")


def test_of_two_copies_one_goes_on(tmp_path):
    path, copy = tmp_path / "ledger.sqlite", tmp_path / "copy.sqlite"
    with Ledger.open(path) as book:
        charge(book, "1")
        book.set_cap(A, Decimal(9))
        book.back_up(copy)
        charge(book, "1")
    with Ledger.open(copy) as book, pytest.raises(CheckFailedError, match=r"seen in .*ledger\.sqlite"):
        charge(book, "1")
    with Ledger.open(copy) as book:
        book.accept()
        charge(book, "1")
    with Ledger.open(path) as book, pytest.raises(CheckFailedError, match=r"seen in .*copy\.sqlite"):
        charge(book, "1")


def test_where_it_cannot_be_noticed_verify_says_so(path, capsys):
    shutil.rmtree(user_state() / "ledger-heads")
    assert main(["ledger", "verify", "--ledger", str(path)]) == 0
    assert "an older copy of it would not be noticed" in capsys.readouterr().out
    with Ledger.open(path) as book:
        charge(book, "1")
    assert main(["ledger", "verify", "--ledger", str(path)]) == 0
    assert "the newest entry that this computer has seen (entry 5)" in capsys.readouterr().out


@pytest.mark.parametrize("damage", ["", "{", '{"seq": "5"}', '{"seq": 0, "hash": "", "time": "", "path": ""}', "[]"])
def test_a_damaged_mark_is_none_and_is_written_anew(path, damage):
    (mark,) = (user_state() / "ledger-heads").iterdir()
    mark.write_text(damage)
    with Ledger.open(path) as book:
        assert book.seen() is None
        charge(book, "1")
        assert book.seen().seq == 5


def test_what_a_killed_process_left_beside_the_mark_goes_with_the_next_entry(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as book:
        book.set_cap(A, Decimal(2))
        charge(book, "1")
        (mark,) = (user_state() / "ledger-heads").iterdir()
        left, others = (mark.with_name(f"{mark.name}.{name}.part") for name in ("0a1b2c3d", "1a1b2c3d"))
        for part in (left, others):
            part.write_text("{")
        os.utime(left, (0, 0))
        charge(book, "1")
        assert book.missing() is None
    assert sorted(mark.parent.iterdir()) == [mark, others]  # another process is about to name it


def test_a_charge_stands_where_no_mark_can_be_written(tmp_path):
    user_state().mkdir(parents=True, exist_ok=True)
    (user_state() / "ledger-heads").write_text("a file where the folder would be")
    with Ledger.open(tmp_path / "ledger.sqlite") as book:
        charge(book, "1")
        assert book.seen() is None
        assert book.verify() == []


def test_ledgers_are_merged_by_command(tmp_path, capsys):
    one, two = tmp_path / "one.sqlite", tmp_path / "two.sqlite"
    for path in (one, two):
        with Ledger.open(path) as book:
            charge(book, "1")
    assert main(["ledger", "merge", str(two), "--ledger", str(one)]) == 0
    assert "1 release and 0 tables, beside 0 releases that both held" in capsys.readouterr().out
    assert main(["ledger", "show", "--ledger", str(one), "--json"]) == 0
    assert [e["epsilon"] for e in told(capsys)["entries"]] == [1, 1]
    assert len(key_path(one).read_bytes()) == 64
    assert main(["ledger", "merge", str(tmp_path / "none"), "--ledger", str(one)]) == 2
    capsys.readouterr()
    with Ledger.open(two) as book, pytest.raises(InputError, match="was moved"):
        charge(book, "1")


# -- Locks on what a release is writing: held against other processes, and gone when their process dies, on any system


HOLDER = """
import os, subprocess, sys
from pathlib import Path
from filelock import lock_descriptor
from workbench.release import atomic
if sys.argv[2] == "windows":
    sys.modules["fcntl"] = None
    atomic.WINDOWS = True
descriptor = atomic.open_to_lock(Path(sys.argv[1]))
assert atomic.try_lock(descriptor, otherwise=False)
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, close_fds=False)
print("held", child.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["this system", "windows"])
def system(request, monkeypatch):
    """This system, or one without fcntl whose folders cannot be opened."""
    assert filelock.lock_descriptor  # loads what it locks with, while there is fcntl
    if request.param == "windows":
        monkeypatch.setitem(sys.modules, "fcntl", None)
        monkeypatch.setattr(atomic, "WINDOWS", True)
    return str(request.param)


@pytest.fixture(params=["file", "folder"])
def thing(request, tmp_path):
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


def test_a_lock_excludes_other_processes_until_its_own_is_killed(thing, system):
    with held(thing, system) as holder:
        with exclusive_lock(thing, otherwise=True) as free:
            assert not free
        holder.kill()  # its child lives on, and holds nothing
        holder.wait()
        with exclusive_lock(thing) as free:
            assert free
    with exclusive_lock(thing) as free:
        assert free


def test_it_excludes_within_one_process_too_and_does_not_wait(thing, system):
    first, second = open_to_lock(thing), open_to_lock(thing)
    try:
        assert try_lock(first, otherwise=False)
        assert not try_lock(second, otherwise=True)
    finally:
        os.close(first)
    assert try_lock(second, otherwise=False)
    os.close(second)


def test_where_the_file_system_has_no_locks_the_caller_decides(thing, monkeypatch):
    def none(descriptor: int, *, blocking: bool) -> bool:
        raise OSError(95, "not supported")

    monkeypatch.setattr("filelock.lock_descriptor", none)
    for answer in (True, False):
        with exclusive_lock(thing, otherwise=answer) as free:
            assert free is answer


def test_a_part_in_use_is_not_taken_for_stale(tmp_path, system):
    part = tmp_path / f"out.csv.0123abcd{atomic.PART}"
    part.write_bytes(b"x")
    with held(part, system):
        remove_stale_parts(tmp_path / "out.csv")
        assert part.exists()
    remove_stale_parts(tmp_path / "out.csv")
    assert not part.exists()


def test_a_model_leaves_no_lock_in_its_folder(tmp_path, system):
    target = tmp_path / "model"
    with DrawFolder(target, 1000, CARD) as part:
        with exclusive_lock(part.path) as free:
            assert not free
        part.write({"card.json": b"{}"})
        with part.keep_on_success():
            part.publish()
    assert {path.name for path in target.iterdir()} == {"card.json"}
    with DrawFolder(tmp_path / "other", 1000, CARD) as part:
        assert (part.path / LOCK).exists() is (system == "windows")
    assert {path.name for path in tmp_path.iterdir()} == {"model"}

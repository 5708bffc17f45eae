"""A ledger that is locked, read-only, damaged, tampered with or gone: one clear message, and nothing is published."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pytest
from mishaps import Heard, banner, retype, statuses, text_of
from PySide6.QtWidgets import QWidget

import workbench.release.ledger.file
from workbench.gui.app import settle
from workbench.paths import user_data
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_release

HOLDS = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.readline()
held.execute("ROLLBACK")
"""


def book_path() -> Path:
    return user_data() / "ledger.sqlite"


class Lock:
    """Another process that holds the ledger until it is let go."""

    def __init__(self, path: Path) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", HOLDS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._child.stdout is not None
        assert self._child.stdout.readline() == "held\n"

    def let_go(self) -> None:
        self._child.communicate("\n")


@pytest.fixture
def lock():
    locks: list[Lock] = []

    def lock() -> Lock:
        locks.append(Lock(book_path()))
        return locks[-1]

    yield lock
    for made in locks:
        if made._child.returncode is None:
            made.let_go()


@pytest.fixture
def impatient(monkeypatch):
    """The same wait for a lock as ever, only shorter than twenty seconds."""
    monkeypatch.setattr(workbench.release.ledger.file, "PATIENCE", 0.5)


@pytest.fixture
def ready(people, at_release, qtbot, tmp_path):
    """The Release page of the people sample, with a target in a folder of the test."""
    at_release()
    (tmp_path / "out").mkdir()
    retype(people, qtbot, "release_target", tmp_path / "out" / "released.csv")
    return people


def nothing_out(tmp_path) -> bool:
    return list((tmp_path / "out").iterdir()) == []


# -- at the start -------------------------------------------------------------------------------------------------


def test_a_locked_ledger_at_the_start_is_told_of_and_the_rest_works(window, lock, impatient, idle, finish):
    Ledger.open().close()
    held = lock()
    heard = Heard(window)
    settle(window, None)
    idle(window)
    assert "database is locked" in heard.one()
    finish(window, "sample_people")
    assert window.session.opened is not None
    assert "locked" in window.session.account.problem
    held.let_go()


def damaged(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"this is no ledger at all, " * 400)


def a_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)


@pytest.mark.parametrize(("harm", "words"), [(damaged, "not a database"), (a_folder, "Is a directory")])
def test_a_ledger_that_is_none_is_told_of_at_the_start(window, idle, harm, words):
    harm(book_path())
    heard = Heard(window)
    settle(window, None)
    idle(window)
    assert words in heard.one()


# -- at a release -------------------------------------------------------------------------------------------------


def test_a_short_lock_is_waited_for(ready, lock, press, idle, answer, qtbot, tmp_path):
    held = lock()
    heard = Heard(ready)
    told = answer("yes")
    press(ready, "release_now")
    qtbot.wait(300)
    assert told == []  # it waits for the other program
    assert ready.jobs.running
    held.let_go()
    qtbot.waitUntil(lambda: len(ready.session.released) == 1)
    idle(ready)
    assert heard.lines == []
    assert statuses() == ["charged"]
    assert verify_release(tmp_path / "out" / "released.csv") == []


def test_a_long_lock_is_told_of_and_the_window_never_stands_still(
    ready, release, lock, impatient, finish, tmp_path, monkeypatch
):
    opened_in = []
    connect = sqlite3.connect

    def noted(*given, **named):
        opened_in.append(threading.current_thread())
        return connect(*given, **named)

    monkeypatch.setattr(workbench.release.ledger.file.sqlite3, "connect", noted)
    held = lock()
    heard = Heard(ready)
    finish(ready, "release_now")
    assert opened_in
    assert threading.main_thread() not in opened_in  # only who opens the ledger waits for it
    line = heard.one()
    assert "database is locked" in line
    assert "wait for the other program to finish" in line
    assert nothing_out(tmp_path)
    held.let_go()
    assert statuses() == []
    release()
    assert statuses() == ["charged"]


def test_a_lock_that_begins_after_the_draw_keeps_the_draw_which_the_next_run_publishes_for_free(
    impatient, releasing, lock, press, idle, answer, qtbot
):
    window, target, turn = releasing
    heard = Heard(window)
    held = lock()
    turn.close()
    idle(window)
    assert "database is locked" in heard.one()
    assert not target.exists()
    held.let_go()
    assert statuses() == ["charged"]
    window.show_page("data")
    window.session.choose_way("rows")
    window.show_page("release")  # the page asks the ledger again
    idle(window)
    told = answer("yes")
    press(window, "release_now")
    qtbot.waitUntil(target.exists)  # the question comes a moment after the job that looked has ended
    idle(window)
    assert "is paid for, and is not yet saved" in told[-1]
    assert statuses() == ["charged"]
    assert verify_release(target) == []


def read_only(path: Path) -> None:
    """Take away the right to write; the ledger itself refuses where the system lets its administrator do all."""
    path.chmod(0o400)
    path.parent.chmod(0o500)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="an administrator may write anywhere")
def test_a_read_only_ledger_is_told_of(ready, finish, tmp_path):
    heard = Heard(ready)
    read_only(book_path())
    try:
        finish(ready, "release_now")
    finally:
        book_path().parent.chmod(0o700)
        book_path().chmod(0o600)
    assert "the ledger cannot be used" in heard.one().lower()
    assert nothing_out(tmp_path)


def test_a_ledger_that_cannot_be_written_is_told_of_whoever_asks(ready, release, finish, tmp_path):
    """A dangling link stands in the ledger's place: nobody can open that, whatever their rights."""
    heard = Heard(ready)
    kept = book_path().rename(book_path().with_name("kept"))
    book_path().symlink_to(tmp_path / "nowhere" / "ledger.sqlite")
    finish(ready, "release_now")
    assert "the ledger cannot be used: no such file or directory" in heard.one().lower()
    assert nothing_out(tmp_path)
    book_path().unlink()
    kept.rename(book_path())
    release()
    assert statuses() == ["charged"]


def test_a_ledger_that_was_tampered_with_releases_nothing(ready, press, idle, answer, qtbot, tmp_path):
    with Ledger.open() as book:
        book.set_cap(ready.session.account.dataset, Decimal(2))
    connection = sqlite3.connect(book_path())
    connection.execute("UPDATE entry SET epsilon = '9' WHERE kind = 'cap'")
    connection.commit()
    connection.close()
    heard = Heard(ready)
    told = answer("yes")
    press(ready, "release_now")
    qtbot.waitUntil(lambda: bool(told) and not ready.jobs.running)
    line = heard.one()
    assert "The ledger was altered or damaged" in line
    assert "restore a copy" in line
    assert nothing_out(tmp_path)


def test_a_damaged_ledger_releases_nothing(ready, finish, tmp_path):
    data = bytearray(book_path().read_bytes())
    data[100:3000] = os.urandom(2900)
    book_path().write_bytes(data)
    heard = Heard(ready)
    finish(ready, "release_now")
    assert "ledger" in heard.one()
    assert nothing_out(tmp_path)


def test_a_ledger_whose_folder_is_gone_begins_anew_and_is_whole(ready, release):
    shutil.rmtree(user_data())
    release()
    assert statuses() == ["charged"]


# -- on its page --------------------------------------------------------------------------------------------------


def test_the_ledger_page_tells_of_a_locked_ledger_and_shows_it_later(people, lock, impatient, visit, finish):
    held = lock()
    visit(people, "ledger")
    assert "locked" in shown_problem(people)
    held.let_go()
    people.escape()
    people.show_page("data")
    visit(people, "ledger")
    assert "locked" not in shown_problem(people)
    finish(people, "ledger_verify")
    assert text_of(people, "ledger_told").startswith("✓")


def test_the_ledger_page_tells_of_a_damaged_ledger(people, visit):
    damaged(book_path())
    visit(people, "ledger")
    assert "not a database" in shown_problem(people)


def shown_problem(window) -> str:
    told = window.findChild(QWidget, "ledger_told")
    text = told.text() if told is not None and told.isVisible() else ""
    return " ".join((text, banner(window), window.findChild(QWidget, "note_ledger").accessibleName()))

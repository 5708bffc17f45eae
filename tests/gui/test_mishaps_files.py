"""Files that change under the window: nothing wrong is published, nothing of somebody else is lost."""

import os
import shutil
import threading
from decimal import Decimal
from pathlib import Path

import pytest
from mishaps import Heard, activate, banner, big_table, lines_of, retype, statuses, text_of
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from workbench.gui.session.account_task import read_account
from workbench.release import release_path as release_table
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_release

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "town.csv"
    path.write_text("age,town\n" + "".join(f"{20 + i % 40},{'ab'[i % 2]}\n" for i in range(300)), "utf-8")
    return path


@pytest.fixture
def town(window, source, load):
    """A window in which the table is open and every fact declared."""
    load(window, source)
    window.session.edit_column("age", "bounds of age", lower=0.0, upper=100.0)
    window.session.edit_column("town", "values of town", domain=("a", "b"))
    window.session.edit("confirm what was guessed", window.session.plan.confirmed())
    return window


def changed(path: Path) -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.write("33,a\n")


def replaced(path: Path) -> None:
    other = path.with_name("other.csv")
    other.write_text("quite,another\n1,2\n", "utf-8")
    other.replace(path)


def deleted(path: Path) -> None:
    path.unlink()


def cut_short(path: Path) -> None:
    os.truncate(path, 0)


HARMS = [changed, replaced, cut_short, deleted]


# -- the table ----------------------------------------------------------------------------------------------------


def test_the_source_changes_before_a_release(town, at_release, source, tmp_path, release, idle):
    with Ledger.open() as book:  # enough for all
        book.set_cap(town.session.account.dataset, Decimal(9))
    read_account(town.session, town.jobs)
    idle(town)
    heard, content = Heard(town), source.read_bytes()
    for count, harm in enumerate(HARMS, 1):
        source.write_bytes(content)
        harm(source)
        target = tmp_path / f"released-{count}.csv"
        at_release(target)
        told = release()
        assert len(town.session.released) == count
        what = "is no longer there" if harm is deleted else "has changed on the disk since it was opened"
        assert f"⚠ town.csv {what}. The release is made from the version that was opened." in told[-1]
        assert heard.lines == []
        assert lines_of(target) == 301
        assert verify_release(target) == []


def test_a_table_that_changes_or_goes_after_it_was_opened_stays_as_it_was(
    town, at_release, release, tmp_path, source, visit, press, answer, qtbot, idle
):
    # A source that did not change is not spoken of.
    at_release(tmp_path / "released.csv")
    told = release("no")
    assert "⚠" not in told[0]

    # The source changes before a preview.
    heard, content = Heard(town), source.read_bytes()
    for epsilon, harm in enumerate(HARMS, 2):
        source.write_bytes(content)
        harm(source)
        town.session.set_epsilon(Decimal(epsilon))
        visit(town, "preview")
        assert heard.lines == []  # what is shown is the table as it was opened
        assert town.session.opened.table.rows == 300
        assert statuses() == []
        visit(town, "data")

    # The source changes before a training.
    source.write_bytes(content)
    changed(source)
    town.session.set_target("town")
    press(town, "tab_train")
    retype(town, qtbot, "train_folder", tmp_path / "model")
    qtbot.waitUntil(lambda: town.page.primary.isEnabled())
    told.clear()
    answer("no")
    press(town, "train_start")
    qtbot.waitUntil(lambda: bool(told))
    assert "⚠ town.csv has changed on the disk since it was opened. The release is made from the version" in told[0]

    # Reloading a table that is gone keeps the one in memory.
    source.unlink()
    heard = Heard(town)
    activate(town, qtbot)
    qtbot.keyClick(town, Qt.Key.Key_F5)
    idle(town)
    assert "there is no such file" in heard.one().lower()
    assert town.session.opened.table.rows == 300


def test_a_table_that_changes_while_it_is_read(people, tmp_path, idle, load):
    # The source changes while it is read.
    for harm in HARMS:
        big = big_table(tmp_path / "big.csv")
        heard = Heard(people)
        people.open(str(big))
        harm(big)  # the worker has begun, or is about to
        idle(people)
        opened = people.session.opened
        if opened.title == "big.csv":  # the change came before the first look: then it is what was read
            assert heard.lines == []
            load(people, "sample:people")
        else:
            assert "big.csv" in heard.one()
            assert opened.title == "people"

    # A file that is written while it is read is refused.
    big = big_table(tmp_path / "big.csv")
    heard = Heard(people)
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.001):
            with big.open("a", encoding="utf-8") as stream:
                stream.write('1,"x",1.5,a\n')

    writer = threading.Thread(target=write)
    writer.start()
    try:
        load(people, big)
    finally:
        stop.set()
        writer.join()
    assert "was changed while it was read" in heard.one()
    assert people.session.opened.title == "people"


@pytest.mark.parametrize("when", ["before", "in the middle"])
def test_the_folder_of_the_release_vanishes(
    town, at_release, release, tmp_path, press, idle, answer, qtbot, monkeypatch, when
):
    at_release()
    folder = tmp_path / "out"
    folder.mkdir()
    retype(town, qtbot, "release_target", folder / "released.csv")
    heard = Heard(town)
    released = release_table.release_prepared

    def remove_first(*given, **named):
        shutil.rmtree(folder, ignore_errors=True)
        monkeypatch.setattr(release_table, "release_prepared", released)
        return released(*given, **named)

    if when == "before":
        shutil.rmtree(folder)
    else:
        monkeypatch.setattr(release_table, "release_prepared", remove_first)
    release()
    line = heard.one()
    assert "the folder of the output does not exist" in line.lower()
    assert set(statuses()) <= {"void"}
    folder.mkdir()
    answer("yes")
    press(town, "release_now")
    qtbot.waitUntil(lambda: len(town.session.released) == 1)
    idle(town)
    assert statuses()[-1] == "charged"


# -- the project --------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(town, tmp_path, qtbot, idle, monkeypatch):
    """A window whose project is saved and then edited on."""
    path = tmp_path / "town.workbench.toml"
    # The system's own chooser of files cannot be driven by a test.
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    qtbot.keyClick(town, Qt.Key.Key_S, CTRL)
    idle(town)
    assert not town.project.unsaved
    town.session.edit_column("age", "bounds of age", upper=90.0)
    return path


def somebody_else(path: Path) -> str:
    text = path.read_text("utf-8") + "# a colleague's note\n"
    path.write_text(text, "utf-8")
    return text


def test_a_project_that_somebody_else_changed_is_not_replaced_unasked(
    town, saved, tmp_path, qtbot, idle, answer, monkeypatch
):
    other = tmp_path / "mine.workbench.toml"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(other), ""))
    for upper, choice in ((89, "no"), (88, "replace"), (87, "as")):
        theirs = somebody_else(saved)
        town.session.edit_column("age", "bounds of age", upper=float(upper))
        told = answer(choice)
        told.clear()
        activate(town, qtbot)
        qtbot.keyClick(town, Qt.Key.Key_S, CTRL)
        qtbot.waitUntil(lambda: bool(told))  # noqa: B023 - it is waited for here
        idle(town)
        assert "was changed by another program or person" in told[0]
        if choice == "replace":
            assert f"upper = {upper}" in saved.read_text("utf-8")
        else:
            assert saved.read_text("utf-8") == theirs
        assert other.exists() == (choice == "as")
        assert town.project.unsaved == (choice == "no")
        assert town.project.path == (other if choice == "as" else saved)


def test_a_project_that_was_opened_is_watched_and_one_that_is_gone_is_saved_again(town, saved, qtbot, idle, answer):
    # A second save of ones own asks nothing.
    for upper in (91.0, 92.0):
        town.session.edit_column("age", "bounds of age", upper=upper)
        qtbot.keyClick(town, Qt.Key.Key_S, CTRL)
        idle(town)
        assert not town.project.unsaved
    town.session.edit_column("age", "bounds of age", upper=90.0)

    # A project that is gone is simply saved again.
    saved.unlink()
    qtbot.keyClick(town, Qt.Key.Key_S, CTRL)
    idle(town)
    assert "upper = 90" in saved.read_text("utf-8")

    # A project that was opened is watched too.
    qtbot.keyClick(town, Qt.Key.Key_S, CTRL)
    idle(town)
    town.open(str(saved))
    idle(town)
    theirs = somebody_else(saved)
    town.session.edit_column("age", "bounds of age", upper=80.0)
    told = answer("no")
    qtbot.keyClick(town, Qt.Key.Key_S, CTRL)
    qtbot.waitUntil(lambda: bool(told))
    idle(town)
    assert saved.read_text("utf-8") == theirs

    # A project that cannot be saved stays unsaved.
    heard = Heard(town)
    saved.unlink()
    saved.mkdir()
    activate(town, qtbot)
    qtbot.keyClick(town, Qt.Key.Key_S, CTRL)
    idle(town)
    assert "the output is a folder" in heard.one().lower()
    assert town.project.unsaved
    assert banner(town)
    assert text_of(town, "banner_text")
    assert town.findChild(QWidget, "restore_panel").isHidden()

"""Names that are suggested for what will be written: never over what was typed, and never a thread for each."""

import threading
from pathlib import Path

import pytest
from hands import choose_model
from mishaps import retype
from PySide6.QtWidgets import QLineEdit

from workbench.gui.widgets import output_name as suggesting


@pytest.fixture
def folder(people, finish):
    """The field of the model's folder, with the page open."""
    finish(people, "tab_train")
    return people.findChild(QLineEdit, "train_folder")


@pytest.fixture
def dead_share(monkeypatch):
    """A folder that does not answer until it is set."""
    answer = threading.Event()
    stands = suggesting.is_there
    monkeypatch.setattr(suggesting, "is_there", lambda path: answer.wait(60) and stands(path))
    yield answer
    answer.set()


def test_a_typed_folder_stays_when_another_model_is_chosen(people, folder, press, idle, qtbot, tmp_path):
    mine = str(tmp_path / "mine")
    retype(people, qtbot, "train_folder", mine)
    choose_model(people, "mlp")
    idle(people)
    assert folder.text() == mine
    assert people.page.forms.model == "mlp"


def test_an_untouched_folder_follows_the_model(people, folder, idle):
    before = folder.text()
    choose_model(people, "mlp")
    assert Path(folder.text()).name == "people-mlp"
    idle(people)
    assert Path(folder.text()).name == "people-mlp"
    choose_model(people, "logistic-regression")
    idle(people)
    assert folder.text() == before


def test_another_table_names_its_own_folder_whatever_was_typed(people, folder, press, load, qtbot, tmp_path):
    retype(people, qtbot, "train_folder", str(tmp_path / "mine"))
    (tmp_path / "two.csv").write_text("a,b\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(50)))
    people.session.may_leave = lambda then: True
    load(people, tmp_path / "two.csv")
    press(people, "tab_train")  # out of sight it waits with another table
    assert Path(folder.text()).parent == Path.home()  # not beside the raw table
    assert Path(folder.text()).name == "two-kmeans"  # no column of it is a target


def test_a_folder_that_does_not_answer_holds_one_thread(people, folder, idle, dead_share):
    for _ in range(4):
        choose_model(people, "mlp")
        choose_model(people, "naive-bayes")
    choose_model(people, "mlp")
    waiting = [h for h in people.jobs.running if h.title == "Looking for a name"]
    assert len(waiting) == 1
    dead_share.set()
    idle(people)
    assert Path(folder.text()).name == "people-mlp"


def test_what_is_typed_while_a_name_is_looked_for_stays(people, folder, idle, qtbot, tmp_path, dead_share):
    choose_model(people, "mlp")
    retype(people, qtbot, "train_folder", str(tmp_path / "mine"))
    dead_share.set()
    idle(people)
    assert folder.text() == str(tmp_path / "mine")


def test_a_name_that_was_released_into_gives_way_however_it_was_written(
    people, at_release, press, idle, qtbot, answer, tmp_path
):
    at_release(f"{tmp_path}/./mine.csv")
    answer("yes")
    press(people, "release_now")
    qtbot.waitUntil(lambda: len(people.session.released) == 1)
    idle(people)
    field = people.findChild(QLineEdit, "release_target")
    assert not Path(field.text()).exists()
    assert Path(field.text()).name == "people-released.csv"


def test_a_file_that_another_page_has_released_is_no_longer_suggested(people, at_release, idle, tmp_path):
    at_release()
    field = people.findChild(QLineEdit, "release_target")
    Path(field.text()).parent.mkdir(parents=True, exist_ok=True)
    Path(field.text()).write_text("released elsewhere", "utf-8")
    people.session.released_changed.emit()
    idle(people)
    assert not Path(field.text()).exists()
    assert field.text().endswith("-2.csv")

"""The project file: readable, without a value of the table, and nothing unsaved goes without a question."""

import threading
import tomllib
from dataclasses import replace
from decimal import Decimal

import pytest
from mishaps import save
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFileDialog, QLabel, QWidget

from workbench.data.csv.options import ReadOptions
from workbench.gui.pages.ways.table import FIRST_WAY
from workbench.gui.project.open_table import open_table
from workbench.gui.project.project_file import Planned, project_of, project_raw, project_text, read_project
from workbench.gui.widgets.way_bar import ways
from workbench.params import InputError, ParameterError, WorkbenchError
from workbench.release import atomic
from workbench.sanitize.wishes import Wish

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
ROWS = "age;pay;town\n" + "\n".join(f"{20 + i % 40};{1000 + i},75;{'ab'[i % 2]}" for i in range(60)) + "\n"


@pytest.fixture
def town(window, tmp_path, idle):
    """A window with a semicolon file, two facts of which are declared."""
    path = tmp_path / "town.csv"
    path.write_text(ROWS, "utf-8")
    open_table(window.session, window.jobs, str(path), ReadOptions(delimiter=";", decimal=","))
    idle(window)
    window.session.edit_column("age", "bounds of age", lower=0.0, upper=120.0)
    window.session.set_epsilon(Decimal("0.7"))
    window.session.set_target("town")
    return window


def test_a_project_is_saved_by_keys_readable_and_brings_everything_back(town, project, qtbot, idle, monkeypatch):
    # A project is saved by keys and brings everything back.
    before = town.session.plan
    assert town.isWindowModified()
    save(town, qtbot, idle)
    assert not town.isWindowModified()
    assert town.session.recent.paths[0] == str(project)
    town.open("sample:iris")
    idle(town)
    assert town.project.path is None
    qtbot.keyClick(town, Qt.Key.Key_O, CTRL | SHIFT)
    idle(town)
    assert town.session.plan == before
    assert town.session.target == "town"
    assert town.session.opened.options == ReadOptions(delimiter=";", decimal=",")
    assert town.project.path == project
    assert not town.project.unsaved

    # A project is readable and holds no value of the table.
    save(town, qtbot, idle)
    text = project.read_text("utf-8")
    raw = tomllib.loads(text)
    assert raw["table"] == "town.csv"
    assert raw["reading"] == [{"delimiter": ";", "decimal": ","}]
    assert raw["epsilon"] == 0.7
    assert raw["column"][0]["lower"] == 0
    assert raw["column"][1]["lower"] == "?"
    assert "1000" not in text
    assert "1059" not in text

    # A second save asks for no name.
    save(town, qtbot, idle)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: pytest.fail("it asked for a name"))
    town.session.set_epsilon(Decimal(2))
    assert town.project.unsaved
    save(town, qtbot, idle)
    assert tomllib.loads(project.read_text("utf-8"))["epsilon"] == 2
    assert not town.project.unsaved

    # Undoing back to what was saved needs no save.
    save(town, qtbot, idle)
    town.session.edit_column("age", "bounds of age", lower=10.0)
    assert town.project.unsaved
    qtbot.keyClick(town, Qt.Key.Key_Z, CTRL)
    assert not town.project.unsaved


def test_what_was_wanted_last_is_what_follows_a_slow_save(town, project, qtbot, idle, tmp_path, monkeypatch, answer):
    for name in ("older", "newer"):
        (tmp_path / f"{name}.csv").write_text("a,b\n" + "1,2\n2,1\n" * 20, "utf-8")
    go_on, write = threading.Event(), atomic.write_output
    monkeypatch.setattr(atomic, "write_output", lambda *given: (go_on.wait(60), write(*given))[1])
    answer("save")
    town.open(str(tmp_path / "older.csv"))
    answer("discard")
    town.open(str(tmp_path / "newer.csv"))
    qtbot.waitUntil(lambda: town.session.opened.title == "newer.csv")
    go_on.set()
    idle(town)
    assert project.exists()
    assert town.session.opened.title == "newer.csv"


def test_tables_that_moved_changed_or_went_are_told_of_and_closing_may_discard(
    town, project, tmp_path, qtbot, idle, finish, monkeypatch, answer
):
    # Project and table move together.
    save(town, qtbot, idle)
    other = tmp_path / "elsewhere"
    other.mkdir()
    for name in ("town.csv", project.name):
        (tmp_path / name).rename(other / name)
    town.open(str(other / project.name))
    idle(town)
    assert town.session.opened.source == str(other / "town.csv")
    for name in ("town.csv", project.name):
        (other / name).rename(tmp_path / name)
    town.open(str(project))
    idle(town)

    # A column that is gone is told of.
    save(town, qtbot, idle)
    rows = [line.split(";") for line in ROWS.splitlines()]
    (tmp_path / "town.csv").write_text("\n".join(f"{a};{c}" for a, _, c in rows).replace("town", "city") + "\n")
    town.open(str(project))
    idle(town)
    told = town.findChild(QWidget, "banner").toolTip()
    assert "no longer has pay and town" in told
    assert "has city, which the project does not know" in told
    assert town.session.plan.column("age").upper == 120
    (tmp_path / "town.csv").write_text(ROWS, "utf-8")
    town.open(str(project))
    idle(town)

    # A project whose table is gone is told of and can be pointed to.
    save(town, qtbot, idle)
    before = town.session.opened
    (tmp_path / "town.csv").unlink()
    town.open(str(project))
    idle(town)
    assert town.findChild(QLabel, "missing_text").isVisible()
    assert "its table is no longer there" in town.findChild(QLabel, "missing_text").text()
    assert town.session.opened is before
    (tmp_path / "moved.csv").write_text(ROWS, "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(tmp_path / "moved.csv"), ""))
    finish(town, "missing_file")
    assert town.session.opened.source == str(tmp_path / "moved.csv")
    assert town.session.plan.column("age").upper == 120
    assert town.project.unsaved

    # Closing may discard.
    told = answer("discard")
    town.close()
    assert len(told) == 1
    assert not town.isVisible()


def test_closing_and_opening_with_unsaved_work_ask_first(town, answer, load):
    # Closing with unsaved work asks and can be taken back.
    told = answer("no")
    town.close()
    assert "town.csv is not saved" in told[0]
    assert town.isVisible()

    # Opening another table asks first.
    told.clear()
    answer("no")
    load(town, "sample:iris")
    assert len(told) == 1
    assert town.session.opened.title == "town.csv"
    answer("discard")
    load(town, "sample:iris")
    assert town.session.opened.title == "iris"

    # An untouched table closes without a question.
    assert not town.project.unsaved
    town.close()
    assert not town.isVisible()


def test_what_is_written_is_what_is_read_and_closing_may_save_first(town, tmp_path, project, qtbot, answer):
    # What is written is what is read.
    path = tmp_path / "again.toml"
    path.write_text(project_text(Planned.of(town.session), tmp_path), "utf-8")
    assert read_project(path).plan == town.session.plan

    # A file with facts from the rows says that it is private.
    assert "PRIVATE" not in project_text(Planned.of(town.session), tmp_path)
    taken = town.session.plan.with_column("town", domain=("a", "b"), bounds_origin="data")
    text = project_text(replace(Planned.of(town.session), plan=taken), tmp_path)
    assert text.startswith("# ")
    assert "PRIVATE" in text
    assert "no value" not in text

    # A project without a way is read and one with an unknown way is refused.
    path = tmp_path / "one.workbench.toml"
    text = project_text(Planned.of(town.session), tmp_path)
    assert "way =" not in text
    path.write_text(text, "utf-8")
    assert read_project(path).way == ""
    path.write_text(project_text(replace(Planned.of(town.session), way="statistics"), tmp_path), "utf-8")
    assert read_project(path).way == "statistics"
    path.write_text(project_text(replace(Planned.of(town.session), way="gossip"), tmp_path), "utf-8")
    with pytest.raises(ParameterError, match="gossip"):
        read_project(path)

    # Settings of generalise that are unknown are refused.
    raw = project_raw(Planned.of(town.session), tmp_path)
    path = tmp_path / "one.workbench.toml"
    assert project_of(raw, path).generalised is None
    for more, refused in [
        ({"generalise": [{"k": 0}]}, "k"),
        ({"generalise": [{"q": 2}]}, "'q'"),
        ({"hierarchy": 3}, "not a list"),
        ({"hierarchy": [{"builder": "masking"}]}, "which column"),
        ({"hierarchy": [{"column": "age", "builder": "gossip"}]}, "gossip"),
        ({"hierarchy": [{"column": "age", "builder": "masking", "steps": 2}]}, "'steps'"),
    ]:
        with pytest.raises(ParameterError, match=refused):
            project_of(raw | more, path)

    # Closing may save first.
    answer("save")
    town.close()
    qtbot.waitUntil(lambda: not town.isVisible())
    assert tomllib.loads(project.read_text("utf-8"))["epsilon"] == 0.7


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("x = ", InputError, "not TOML"),
        ("epsilon = 1", InputError, "not a project of version 1"),
        ("project = 2\ntable = 'a.csv'", InputError, "not a project of version 1"),
        ("project = 1", ParameterError, "does not name its table"),
        ("project = 1\ntable = 'a.csv'\nspeed = 3", ParameterError, "'speed' is not known"),
        ("project = 1\ntable = 'a.csv'\nepsilon = 'much'", ParameterError, "not a number"),
        ("project = 1\ntable = 'a.csv'\nheld_out = 3", ParameterError, "held_out is not a path"),
        ("project = 1\ntable = 'a.csv'\ncolumn = 3", ParameterError, "not a list of columns"),
        ("project = 1\ntable = 'a.csv'\ncolumn = [3]", ParameterError, "not a table of keys"),
        ("project = 1\ntable = 'a.csv'\n[[reading]]\nencoding = 'klingon'", ParameterError, "klingon"),
        ("project = 1\ntable = 'a.csv'\n[[column]]\nname = 'a'\nkind = 'blob'", ParameterError, "blob"),
    ],
)
def test_a_damaged_project_is_refused_with_its_place(tmp_path, text, error, words):
    path = tmp_path / "bad.workbench.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(WorkbenchError, match=words) as caught:
        read_project(path)
    assert isinstance(caught.value, error)


@pytest.mark.parametrize(
    "line",
    [
        "rows_per_person = 1.9",
        "rows_per_person = inf",
        'rows_per_person = "2"',
        'keep_order = "false"',
        "epsilon = nan",
    ],
)
def test_what_a_plan_refuses_a_project_refuses_in_one_sentence(tmp_path, line):
    path = tmp_path / "town.workbench.toml"
    path.write_text(f'project = 1\ntable = "town.csv"\n{line}\n', "utf-8")
    with pytest.raises(ParameterError, match=line.split()[0]):
        read_project(path)


def test_the_way_that_was_chosen_and_the_answers_come_back_with_the_project(town, project, qtbot, idle, finish, answer):
    town.session.edit_column("pay", "drop", action="drop")
    town.session.edit_column("town", "values", kind="category", domain=("a", "b"))
    assert town.session.plan.ready
    town.session.answer("wish", recipient="named", wishes=(Wish.parse("share(town=a) ± 4 %"),))
    finish(town, "tab_ways")
    advised = town.session.way
    other = next(name for name, *_ in ways() if name not in (advised, "model"))
    table = town.findChild(QWidget, "decide_table")
    assert table.isVisible()
    heads = table.horizontalHeader()
    column = FIRST_WAY + [name for name, *_ in ways()].index(other)
    place = QPoint(heads.sectionViewportPosition(column) + 30, heads.height() // 2)
    qtbot.mouseClick(heads.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert town.session.chosen_way == other
    assert town.project.unsaved
    save(town, qtbot, idle)
    assert not town.project.unsaved
    assert tomllib.loads(project.read_text("utf-8"))["way"] == other
    town.open("sample:people")
    idle(town)
    assert town.session.chosen_way == ""
    town.project.open(project)
    idle(town)
    assert (town.session.way, town.session.chosen_way) == (other, other)
    assert town.session.questions.recipient == "named"
    assert [wish.text for wish in town.session.questions.wishes] == ["share(town=a) ± 4 %"]
    assert not town.project.unsaved
    finish(town, "tab_ways")
    assert "●" in str(table.model().headerData(column, Qt.Orientation.Horizontal))

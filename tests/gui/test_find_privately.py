"""Find privately: values, bounds and rows of a person that a release has found go into the plan, by clicks."""

from decimal import Decimal

import pytest
from hands import go_to, when_asked
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QLineEdit, QPushButton

from workbench.gui.project.open_table import open_table
from workbench.gui.session.account_task import read_account
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_release

ROWS = 1200

pytestmark = pytest.mark.usefixtures("no_bounds_beyond_the_rows")


@pytest.fixture
def towns(window, tmp_path, idle):
    """A window with towns and ages of nobody, of which one of each is of one row alone."""
    lines = [f"p{i // 3},{('Hue', 'Hanoi', 'Da Nang')[i % 3]},{20 + i % 60}" for i in range(ROWS)]
    path = tmp_path / "towns.csv"
    path.write_text("\n".join(["who,town,age", *lines, "px,Secretville,77777777"]) + "\n", "utf-8")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    return window


def select(window, *names):
    table, model = window.page.table, window.page.table.attributes
    columns = [c.name for c in window.session.plan.columns]
    table.clearSelection()
    flags = table.selectionModel().SelectionFlag
    for name in names:
        index = model.index(columns.index(name), 0)
        table.selectionModel().setCurrentIndex(index, flags.Select | flags.Rows)


@pytest.fixture
def question(qtbot, tmp_path):
    """Type into the next question, look at it, and press a button of it."""

    def fill(then, typed=(), tick=False):
        said = []

        def act(box):
            yes = box.findChild(QPushButton, "confirm_yes")
            if tick:
                qtbot.mouseClick(box.findChild(QCheckBox, "found_persons"), Qt.MouseButton.LeftButton)
            output = box.findChild(QLineEdit, "found_output")
            for name, text in (*((("found_output", str(tmp_path / "found.csv")),) if output else ()), *typed):
                field = box.findChild(QLineEdit, name)
                field.selectAll()
                qtbot.keyClicks(field, text)
                problem = box.findChild(QLabel, "found_problem").text()
                said.append((problem, yes.isEnabled()))
            told = box.findChild(QLabel, "found_told")
            said.append((box.words(), told.text() if told is not None else ""))
            qtbot.mouseClick(box.findChild(QPushButton, then), Qt.MouseButton.LeftButton)

        when_asked(act)
        return said

    return fill


def find(window, press, question, qtbot, typed, *, tick=False):
    """Press the button, answer both questions, and wait for what comes of it."""
    asked = question("confirm_yes", typed, tick)
    before, plan = len(window.session.released), window.session.plan
    press(window, "find_privately")
    last = question("confirm_yes")
    qtbot.waitUntil(lambda: len(window.session.released) == before + 1)
    qtbot.waitUntil(lambda: window.session.plan != plan)
    return asked, last


def test_what_a_release_has_found_is_in_the_plan_and_charged(towns, press, question, idle, qtbot, tmp_path):
    select(towns, "town", "age")
    typed = [("found_epsilon", "none"), ("found_epsilon", "2"), ("found_delta", "0.5"), ("found_delta", "1e-6")]
    asked, last = find(towns, press, question, qtbot, typed)
    idle(towns)
    assert [enabled for _, enabled in asked[1:5]] == [False, True, False, True]
    assert "is not a number" in asked[1][0]
    assert "δ = 1e-06" in asked[-1][1]
    assert "This charges ε = 2 and δ = 1e-06" in last[0][0].replace("\u00a0", " ")
    town, age = (towns.session.plan.column(name) for name in ("town", "age"))
    assert (set(town.domain), town.other) == ({"Hue", "Hanoi", "Da Nang", "other"}, "other")
    assert (age.lower, age.upper) == (16, 128)
    assert town.bounds_origin == age.bounds_origin == "released"
    towns.session.edit("confirm", towns.session.plan.confirmed())
    assert "Found by a release" in towns.findChild(QLabel, "detail_notes").text()
    towns.session.undo_stack.undo()
    assert verify_release(tmp_path / "found.csv") == []
    assert "Secretville" not in (tmp_path / "found.csv").read_text("utf-8")
    with Ledger.open() as book:
        account = book.account(towns.session.account.dataset)
        assert account.used == (Decimal(2), Decimal("0.000001"))
    towns.session.undo_stack.undo()
    assert towns.session.plan.column("town").domain is None


def test_how_many_rows_of_a_person_to_keep_is_found_where_the_plan_names_her(towns, press, question, idle, qtbot):
    towns.session.edit("persons", towns.session.plan.with_unit("who").with_(rows_per_person=9))
    select(towns, "age")
    asked, last = find(towns, press, question, qtbot, [("found_epsilon", "4")], tick=True)
    idle(towns)
    assert "ε = 4" in asked[-1][1]  # once for all her rows, not nine times
    assert "ε = 4" in last[0][0].replace("\u00a0", " ")
    assert towns.session.plan.rows_per_person == 3
    assert towns.session.plan.column("age").bounds_origin == "released"


def test_what_was_found_and_undone_is_taken_again_at_no_cost(towns, press, question, idle, qtbot, tmp_path):
    select(towns, "town", "age")
    typed = [("found_epsilon", "2"), ("found_delta", "1e-6")]
    find(towns, press, question, qtbot, typed)
    idle(towns)
    found = towns.session.plan
    towns.session.undo_stack.undo()
    assert towns.session.plan.column("town").domain is None
    select(towns, "town", "age")
    question("confirm_yes", [("found_output", str(tmp_path / "again.csv")), *typed])
    press(towns, "find_privately")
    last = question("confirm_copy")
    qtbot.waitUntil(lambda: towns.session.plan == found)
    idle(towns)
    assert "is free" in last[0][0]
    assert not (tmp_path / "again.csv").exists()
    with Ledger.open() as book:
        assert book.account(towns.session.account.dataset).used == (Decimal(2), Decimal("0.000001"))


def test_a_question_about_a_table_that_is_replaced_goes_away(towns, finish, qtbot, tmp_path):
    """Else what was asked of one table would be looked at, and charged, in another one of the same columns."""
    (tmp_path / "other.csv").write_text("who,town,age\n" + "q,Rome,5\n" * 300, "utf-8")
    select(towns, "age")
    asked = []

    def replace():
        box = QApplication.activeModalWidget()
        asked.append(box)
        box.finished.connect(lambda: asked.append("gone"))
        box.findChild(QLineEdit, "found_output").setText(str(tmp_path / "found.csv"))
        towns.session.table_changed.connect(lambda: QTimer.singleShot(0, late))
        open_table(towns.session, towns.jobs, str(tmp_path / "other.csv"))

    def late():
        if asked[-1] != "gone":
            qtbot.mouseClick(asked[0].findChild(QPushButton, "confirm_no"), Qt.MouseButton.LeftButton)
            asked.append("had to be closed")

    QTimer.singleShot(0, replace)
    finish(towns, "find_privately")
    assert asked[1:] == ["gone"]
    assert towns.session.opened.title == "other.csv"


def test_what_can_be_found_is_asked_about_once_and_a_refusal_charges_nothing(towns, press, question, idle, qtbot):
    # Nothing can be found of dates and of columns that are left out.
    select(towns, "who")
    towns.session.edit("drop", towns.session.plan.with_column("who", action="drop"))
    assert not towns.findChild(QPushButton, "find_privately").isEnabled()
    select(towns, "age")
    assert towns.findChild(QPushButton, "find_privately").isEnabled()
    towns.session.undo_stack.setIndex(0)

    # A declared bound is not kept beside one that was released.
    plan = towns.session.plan
    towns.session.edit("released", plan.with_column("age", lower=16.0, upper=128.0, bounds_origin="released"))
    table = towns.page.table
    row = [c.name for c in towns.session.plan.columns].index("age")
    assert table.attributes.setData(table.attributes.index(row, 3), "0", Qt.ItemDataRole.EditRole)
    age = towns.session.plan.column("age")
    assert (age.lower, age.upper, age.bounds_origin) == (0, None, "declared")
    towns.session.undo_stack.setIndex(0)

    # Whoever looks for rows of persons reads what that commits the account to.
    towns.session.edit("persons", towns.session.plan.with_unit("who").with_(rows_per_person=9))
    select(towns, "age")
    asked = question("confirm_no", tick=True)
    press(towns, "find_privately")
    assert "counts persons from then on" in asked[-1][1]
    plain = question("confirm_no")
    press(towns, "find_privately")
    assert "counts persons" not in plain[-1][1]
    idle(towns)
    towns.session.undo_stack.setIndex(0)

    # A second press while the release is checked asks nothing.
    select(towns, "age")
    question("confirm_yes", [("found_epsilon", "2")])
    press(towns, "find_privately")
    assert "Checking the release" in [job.title for job in towns.jobs.running]
    last = question("confirm_no")
    press(towns, "find_privately")
    qtbot.waitUntil(lambda: len(last) == 1)
    idle(towns)
    assert "This charges ε = 2" in last[0][0].replace("\u00a0", " "), "the last word about the first press"
    assert QApplication.activeModalWidget() is None
    assert towns.session.released == ()

    # A refusal offers a higher cap and charges nothing.
    with Ledger.open() as book:
        book.set_cap(towns.session.account.dataset, Decimal("0.5"))
    read_account(towns.session, towns.jobs)
    idle(towns)
    select(towns, "age")
    question("confirm_yes", [("found_epsilon", "2")])
    press(towns, "find_privately")
    raised = question("confirm_no")
    qtbot.waitUntil(lambda: bool(raised))
    idle(towns)
    assert "needs a cap of ε = 2 or more" in raised[0][0].replace("\u00a0", " ")
    assert towns.session.plan.column("age").lower is None
    assert towns.session.account.spent == 0

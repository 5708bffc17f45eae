"""A second table is joined by clicks: asked about, undone, kept in the project, and released by one account."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hands import go_to, when_asked
from mishaps import retype, statuses
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QPushButton

from workbench.gui.pages.release_tasks import look_before_release
from workbench.gui.project.open_table import open_table
from workbench.gui.project.project import open_as
from workbench.gui.project.project_file import Planned, project_text, read_project
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_release

BOTH = ["who", "days", "sex", "age"]


@pytest.fixture
def visits(window, tmp_path, idle):
    """A window with visits of nobody, and another file about the same persons."""
    rows = "".join(f"p{n % 40},{n % 30}\n" for n in range(300))
    (tmp_path / "visits.csv").write_text("who,days\n" + rows, "utf-8")
    rows = "".join(f"p{n};{'fm'[n % 2]};{20 + n % 50}\n" for n in range(30))
    (tmp_path / "patients.csv").write_text("patient;sex;age\n" + rows, "utf-8")
    open_table(window.session, window.jobs, str(tmp_path / "visits.csv"))
    idle(window)
    go_to(window, "data")
    return window


@pytest.fixture
def join(visits, press, idle, qtbot, tmp_path, monkeypatch):
    """Press the button, answer its question, and return what the question said."""

    def ask(then="confirm_yes"):
        said = []

        def act(box):
            for name, chosen in (("join_person", "who"), ("join_on", "patient")):
                combo = box.findChild(QComboBox, name)
                if combo.currentText() != chosen:
                    combo.setCurrentText(chosen)
            both = box.findChild(QLabel, "join_both").text()
            if "30" not in both:
                return False  # they are still being counted
            said.extend([box.words(), both, box.findChild(QLabel, "join_columns").text()])
            qtbot.mouseClick(box.findChild(QPushButton, then), Qt.MouseButton.LeftButton)
            return True

        when_asked(act)
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(tmp_path / "patients.csv"), ""))
        press(visits, "join_table")
        qtbot.waitUntil(lambda: bool(said) and (then == "confirm_no" or names(visits) == BOTH))
        idle(visits)
        return said

    return ask


def names(window):
    return [column.name for column in window.session.plan.columns]


def test_a_second_table_is_joined_undone_and_left_out(visits, join, press, idle, qtbot):
    assert join("confirm_no")
    assert names(visits) == ["who", "days"]
    text, both, columns = join()
    assert "semicolon" in text
    assert (both, "sex and age" in columns) == ("30 people are in both tables.", True)
    session = visits.session
    assert names(visits) == list(session.opened.table.names) == BOTH
    assert (session.plan.unit, session.plan.join.on, session.plan.replaces_invalid) == ("who", "patient", True)
    assert not visits.findChild(QComboBox, "unit").isEnabled()
    assert session.plan.column("sex").domain is None  # its public facts are still to be declared
    session.undo_stack.undo()
    idle(visits)
    assert names(visits) == list(session.opened.table.names) == ["who", "days"]
    assert session.plan.join is None
    session.undo_stack.redo()
    idle(visits)
    assert list(session.opened.table.names) == BOTH
    press(visits, "join_table")
    qtbot.waitUntil(lambda: names(visits) == ["who", "days"])
    assert list(session.opened.table.names) == ["who", "days"]


def test_a_project_keeps_it_and_a_table_that_is_read_again_is_joined_again(visits, join, idle, tmp_path: Path):
    join()
    session = visits.session
    session.edit("", session.plan.with_column("sex", domain=("f", "m")).with_(rows_per_person=2))
    text = project_text(Planned.of(session), tmp_path)
    assert 'second = "patients.csv"' in text
    assert "p1" not in text
    project = tmp_path / "p.workbench.toml"
    project.write_text(text, "utf-8")
    assert read_project(project).second == str(tmp_path / "patients.csv")
    plan, session.may_replace = session.plan, lambda then, keeps_plan: True
    open_table(session, visits.jobs, session.opened.source)
    idle(visits)
    assert (names(visits), session.plan.join) == (BOTH, plan.join)
    assert session.opened.second == str(tmp_path / "patients.csv")
    open_table(session, visits.jobs, "sample:people")
    idle(visits)
    open_as(session, visits.jobs, "p", lambda: (read_project(project), ""), lambda saved: None, lambda error: None)
    idle(visits)
    assert (names(visits), session.plan.join) == (BOTH, plan.join)
    assert session.plan.column("sex").domain == ("f", "m")
    assert session.opened.table.joined is not None


def test_the_budget_is_of_both_and_looking_joins_no_account(visits, join, idle, qtbot, tmp_path: Path):
    join()
    table = visits.session.opened.table
    with Ledger.open() as book:
        assert not [entry for entry in book.entries("version") if entry.body.get("origin") == "group"]
        for rows, cap in ((table.joined.first, 7), (table.joined.second, 3)):
            book.set_cap(book.enter(book.identify(rows), beside=book.accounts().datasets), Decimal(cap))
    visits.session.undo_stack.undo()
    qtbot.waitUntil(lambda: visits.session.account.cap == 7)
    visits.session.undo_stack.redo()
    qtbot.waitUntil(lambda: visits.session.account.cap == 3)
    qtbot.waitUntil(lambda: not visits.jobs.running)


def test_a_release_does_not_replace_the_second_file_and_says_that_it_has_changed(visits, join, qtbot, tmp_path: Path):
    join()
    session, refused = visits.session, []
    facts = {"days": {"lower": 0.0, "upper": 30.0}, "age": {"lower": 0.0, "upper": 90.0}, "sex": {"domain": ("f", "m")}}
    session.edit("", session.plan.with_columns(facts).confirmed())
    look_before_release(session, visits.jobs, tmp_path / "patients.csv", refused.append, refused.append)
    qtbot.waitUntil(lambda: bool(refused))
    assert getattr(refused[0], "code", "") == "output-is-source"
    (tmp_path / "patients.csv").write_text("patient;sex;age\np1;f;20\np2;m;30\n", "utf-8")
    look_before_release(session, visits.jobs, tmp_path / "other.csv", refused.append, refused.append)
    qtbot.waitUntil(lambda: len(refused) == 2)
    assert refused[1].source_changed.startswith("patients.csv has changed on the disk since it was opened")
    session.may_replace = lambda then, keeps_plan: True
    open_table(session, visits.jobs, session.opened.source)  # reads both again
    qtbot.waitUntil(lambda: not visits.jobs.running)
    assert session.opened.table.joined.second.rows == 2


@pytest.mark.slow
def test_rows_of_both_are_released_by_clicks(visits, join, press, idle, answer, qtbot, tmp_path: Path):
    join()
    session = visits.session
    facts = {"days": {"lower": 0.0, "upper": 30.0}, "age": {"lower": 0.0, "upper": 90.0}, "sex": {"domain": ("f", "m")}}
    session.edit("", session.plan.with_columns(facts).confirmed())
    session.choose_way("rows")
    visits.show_page("release")
    idle(visits)
    retype(visits, qtbot, "release_target", tmp_path / "released.csv")
    answer("yes")
    press(visits, "release_now")
    qtbot.waitUntil(lambda: statuses() == ["charged"])
    idle(visits)
    assert not verify_release(tmp_path / "released.csv")
    table = session.opened.table
    with Ledger.open() as book:
        (release,) = book.releases()
        both = {book.find(book.identify(rows)).account for rows in (table.joined.first, table.joined.second)}
    assert both == {release.dataset}

"""What made a newcomer stumble on her way from a table to a release that the recipient can use."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hands import Hands
from mishaps import retype, text_of
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QLabel, QLineEdit, QWidget

from workbench.gui.app import main_window
from workbench.gui.pages import PAGES
from workbench.gui.session.blocking import FOUND
from workbench.gui.shell import main_window as shell
from workbench.gui.widgets import figures_first
from workbench.release.ledger.ledger import Ledger

IS_FIRST = figures_first.is_first  # before the fixture that takes every question as answered


def noted() -> list[str]:
    with Ledger.read() as book:
        return [figures.study for figures in book.figures()]


@pytest.fixture
def released(people, press, idle, answer, qtbot, tmp_path, monkeypatch):
    """The settings after a release of synthetic rows by clicks; nothing private was agreed to."""
    monkeypatch.setattr(figures_first, "is_first", IS_FIRST)
    press(people, "tab_synthetic")
    idle(people)
    retype(people, qtbot, "release_target", tmp_path / "new.csv")
    answer("yes")
    press(people, "release_now")
    qtbot.waitUntil(lambda: bool(people.session.released))
    idle(people)
    return people


def test_a_release_shows_its_rows_alone_and_the_original_only_when_it_is_asked_for(released, press, idle, answer):
    assert released.findChild(QWidget, "synthetic_released_table").isVisible()
    assert noted() == []  # no later certificate will say what nobody asked for
    assert "Released 2,000 synthetic rows to" in released.statusBar().currentMessage()
    told = answer("no")
    press(released, "synthetic_released_distribution")
    idle(released)
    assert "Show private figures of this table?" in told[-1]
    assert noted() == []
    assert released.findChild(QWidget, "synthetic_released_table").isVisible()
    answer("shown")
    press(released, "synthetic_released_correlations")
    idle(released)
    assert noted() == ["synthetic"]
    assert released.findChild(QWidget, "synthetic_released").badge.isVisible()
    assert released.findChild(QAbstractButton, "synthetic_released_correlations").isChecked()


def test_a_release_leads_to_its_files_which_are_selected_and_dated(released, press, idle, answer, qtbot, tmp_path):
    assert released.page.primary.text() == "Released →"
    press(released, "release_onward")
    idle(released)
    assert released.page.objectName() == "page_released"
    lines = released.page.table.lines
    assert lines.cell(0, 0).text.startswith("20")
    assert text_of(released, "shown_release_file").endswith("new.csv")
    # another table, released later: its release is the one that is shown, although this one was chosen before
    released.session.may_leave = lambda then: True
    released.open("sample:iris")
    idle(released)
    press(released, "tab_synthetic")
    idle(released)
    retype(released, qtbot, "release_target", tmp_path / "flowers.csv")
    answer("yes")
    press(released, "release_now")
    qtbot.waitUntil(lambda: bool(released.session.released))
    idle(released)
    press(released, "release_onward")
    idle(released)
    lines = released.page.table.lines
    assert lines.height() == 2
    assert lines.cell(released.page.table.currentIndex().row(), 1).text == "flowers.csv"


def test_all_and_none_stay_where_they_are_while_the_list_is_filtered(people, press, idle, qtbot):
    press(people, "tab_questions")
    idle(people)
    places = [people.findChild(QWidget, f"questions_{name}").pos() for name in ("all", "none")]
    qtbot.keyClicks(people.findChild(QLineEdit, "question_columns_filter"), "a")
    qtbot.wait(50)
    assert [people.findChild(QWidget, f"questions_{name}").pos() for name in ("all", "none")] == places


def test_without_a_table_the_questions_lead_to_one_and_all_columns_are_said_to_be_all(window, press, idle):
    press(window, "tab_questions")
    assert window.findChild(QAbstractButton, "questions_nothing_go").text() == "Open a table →"
    press(window, "questions_nothing_go")
    press(window, "sample_people")
    idle(window)
    press(window, "tab_questions")
    press(window, "questions_all")
    assert text_of(window, "questions_count") == "7 columns: all are needed"


def test_verifying_the_ledger_moves_nothing(released, press, idle):
    press(released, "tab_ledger")
    idle(released)
    caps = released.findChild(QWidget, "ledger_caps")
    before = caps.mapTo(released, caps.rect().topLeft())
    press(released, "ledger_verify")
    idle(released)
    assert text_of(released, "ledger_told").startswith("✓")
    moved = caps.mapTo(released, caps.rect().topLeft()) - before
    assert moved.manhattanLength() <= 2


def test_what_epsilon_means_follows_the_plan_and_goes_with_its_table(people, press, idle):
    people.session.explain(people.session.plan.epsilon)
    panel = people.explain_panel
    assert panel.isVisible()
    people.session.set_epsilon(Decimal("0.5"))
    assert panel._title.accessibleName() == "ε = 0.5"
    people.session.explain(Decimal(7))
    people.session.set_epsilon(Decimal(2))
    assert panel._title.accessibleName() == "ε = 7", "another amount was asked about"
    people.session.may_leave = lambda then: True
    people.open("sample:iris")
    idle(people)
    assert not panel.isVisible()


def test_a_dictionary_that_is_read_takes_the_refusal_of_the_one_before_away(people, idle, tmp_path, monkeypatch):
    path = tmp_path / "dictionary.csv"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    menu = people.page.findChild(QWidget, "dictionary").menu()
    (importing,) = [action for action in menu.actions() if action.objectName() == "dictionary_import"]
    path.write_text("name,lowr\nage,0\n", "utf-8")
    importing.trigger()
    idle(people)
    assert "lowr" in people.findChild(QLabel, "banner_text").text()
    path.write_text("Variable,Type,Label,Min,Max\nage,int,Age in years,0,110\n", "utf-8")
    importing.trigger()
    idle(people)
    assert people.session.plan.column("age").upper == 110
    assert not people.findChild(QLabel, "banner_text").isVisible()


def test_the_tour_follows_who_goes_ahead(monkeypatch, qtbot, idle, press):
    monkeypatch.setattr(shell, "FIRST_TOUR", True)
    first = main_window()
    first.show()
    qtbot.waitExposed(first)
    press(first, "sample_people")
    idle(first)
    count = first.findChild(QLabel, "tour_count")
    assert first.page.objectName() == "page_questions"
    assert count.text() == "2 of 5"
    press(first, "questions_onward")
    assert count.text() == "3 of 5"
    press(first, "tab_data")
    assert count.text() == "3 of 5", "never back"
    first.jobs.shut_down()
    first.close()
    first.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_no_page_widens_the_window_at_a_larger_text_and_fields_of_numbers_grow_with_it(window, press, idle):
    """The pages are made at the largest text."""
    press(window, "sample_people")
    idle(window)
    press(window, "tab_train")
    field = window.findChild(QLineEdit, "train_epsilon")
    usual = field.width()
    try:
        for percent in (200, 150, 130, 110):
            window.theme.set_scale(percent)
            for page in PAGES:
                press(window, f"tab_{page.name}")
                idle(window)
                assert window.minimumSizeHint().width() <= 1280, (page.name, percent)
                assert (window.width(), window.height()) == (1280, 800), (page.name, percent)
            press(window, "tab_train")
            assert field.width() > usual
    finally:
        window.theme.set_scale(100)
    assert field.width() == usual
    assert (window.width(), window.height()) == (1280, 800)


def test_what_was_not_suggested_because_others_were_is_no_warning(window, qtbot, tmp_path):
    from survey import write_survey

    person = Hands(window, qtbot)
    person.drop(write_survey(tmp_path / "survey.csv"))
    assert person.cell("question_columns", "Q01", "").startswith("not among the first")
    person.click_cell("question_columns", "Q01", "Needed")
    assert person.cell("question_columns", "Q01", "") == ""
    person.click_cell("question_columns", "Surname", "Needed")
    assert "⚠ not suggested" in person.cell("question_columns", "Surname", "")


def test_return_goes_on_to_the_next_fact_and_escape_ends_that(window, qtbot, tmp_path):
    window.activateWindow()
    hands = Hands(window, qtbot)
    path = tmp_path / "t.csv"
    path.write_text("height,weight\n" + "".join(f"{150 + at % 40},{50 + at % 60}\n" for at in range(80)), "utf-8")
    hands.drop(path)
    hands.click("tab_data")
    hands.idle()
    table, plan = window.page.table, lambda: window.session.plan
    hands.click("data_onward")
    for text in ("100", "220", "30"):
        qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), QLineEdit), timeout=9000)
        qtbot.keyClicks(QApplication.focusWidget(), text)
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
        qtbot.wait(30)
    height, weight = (plan().column(name) for name in ("height", "weight"))
    assert (height.lower, height.upper, weight.lower, weight.upper) == (100, 220, 30, None)
    qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), QLineEdit), timeout=9000)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    qtbot.wait(30)
    assert table.hasFocus()
    assert plan().column("weight").upper is None


def test_a_word_that_is_listed_as_a_value_is_not_missing_and_return_goes_on(window, qtbot, tmp_path):
    window.activateWindow()
    hands = Hands(window, qtbot)
    path = tmp_path / "t.csv"
    rows = "".join(f"{('none', 'full', 'part')[at % 3]},{150 + at % 40}\n" for at in range(80))
    path.write_text("work,height\n" + rows, "utf-8")
    hands.drop(path)
    hands.click("tab_data")
    hands.idle()
    assert hands.cell("attribute_table", "work", "Missing") == "27 ⚠"
    assert "27 cells say 'none' and count as missing" in hands.text("suspicion_0")
    hands.click("data_onward")
    qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), QLineEdit), timeout=9000)
    hands.keys("none|full|part")
    hands.key(Qt.Key.Key_Return)
    said = text_of(window, "detail_problem")
    assert "'none|full|part' is one value" in said
    assert "with commas between them" in said
    hands.click("data_onward")
    qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), QLineEdit), timeout=9000)
    hands.focus.selectAll()
    hands.keys("none, full, part")
    hands.key(Qt.Key.Key_Return)
    assert window.session.plan.column("work").domain == ("none", "full", "part")
    assert hands.cell("attribute_table", "work", "Missing") == "– ⚠"
    assert not hands.sees("suspicion_0")
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is not None)  # what a missing value means comes next
    hands.key(Qt.Key.Key_Down)
    hands.key(Qt.Key.Key_Return)
    assert window.session.plan.column("work").missing == "refuse"
    assert FOUND.columns(window.session.opened, window.session.plan) == (), "no release stops at a listed value"

"""Story G: sixty columns, three questions, and the decision, by clicks alone; nothing else of the table is planned."""

from __future__ import annotations

import pytest
from hands import Hands
from PySide6.QtWidgets import QAbstractButton, QFileDialog, QMenu
from survey import NEEDED, write_survey, write_survey_dictionary

LIST, TABLE = "question_columns", "attribute_table"


@pytest.fixture
def hands(window, qtbot, tmp_path) -> Hands:
    """Hands at a window in which the survey was dropped."""
    window.activateWindow()
    person = Hands(window, qtbot)
    person.drop(write_survey(tmp_path / "survey.csv"))
    return person


def import_dictionary(hands: Hands, path, monkeypatch) -> None:
    """Choose the data dictionary by the button and its menu."""
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    menu = hands.see("dictionary").findChild(QMenu)
    next(action for action in menu.actions() if action.objectName() == "dictionary_import").trigger()
    hands.idle()


def onward(hands: Hands) -> str:
    """Return where the highlighted button of the page leads, and press it."""
    button = hands.window.page.primary
    assert isinstance(button, QAbstractButton)
    text = button.text()
    hands.click(button.objectName())
    hands.idle()
    return text


def test_sixty_columns_are_eight_answers_and_a_decision(hands, tmp_path, monkeypatch):
    session = hands.window.session

    # Three questions: anyone; the eight that are suggested, one of them exchanged for a date; averages and pairs.
    assert hands.text("questions_count") == "8 of 60 columns: the rest is not released"
    hands.click("who_anyone")
    hands.click_cell(LIST, "Satisfaction", "Needed")
    hands.click_cell(LIST, "Interview", "Needed")
    hands.type_into("wishes", "mean(Age) ± 2; share(Sex=f) within 5 %")
    needed = tuple(n for n in ("Interview date", *NEEDED) if n != "Satisfaction")
    assert onward(hands) == "Columns →"
    assert session.questions.needed == needed
    assert [wish.text for wish in session.questions.wishes] == ["mean(Age) ± 2", "share(Sex=f) ± 5 %"]

    # What blocks: bounds, values, the order of day and month; of the needed columns alone.
    note = hands.see("note_data").accessibleName()
    assert "bounds of Interview date, Age, Income" in note
    assert "day or month first of Interview date" in note
    import_dictionary(hands, write_survey_dictionary(tmp_path / "dictionary.csv"), monkeypatch)
    assert session.questions.needed == needed, "a dictionary declares facts; it releases nothing"
    visit = session.plan.column("Interview date")
    assert (visit.date_order, visit.unfilled) == ("day-first", ())
    assert "declared" in hands.see("note_data").accessibleName().lower()
    assert onward(hands) == "Decide →"

    # The decision: the ways are compared for these eight columns, at an ε that is offered to anyone.
    assert hands.window.page.objectName() == "page_ways"
    hands.until(lambda: hands.sees("way_synthetic_advised"))
    assert session.questions.way == "synthetic"
    assert [c.name for c in session.plan.protected] == list(needed)
    assert session.plan.epsilon <= session.questions.most
    assert session.plan.ready


def test_an_answer_that_is_changed_changes_the_plan_and_is_undone(hands, tmp_path, monkeypatch):
    session = hands.window.session
    onward(hands)
    import_dictionary(hands, write_survey_dictionary(tmp_path / "dictionary.csv"), monkeypatch)
    before = session.plan
    assert before.ready
    hands.click("tab_questions")
    hands.click_cell(LIST, "Q07", "Needed")
    assert session.plan.column("Q07").domain == ("agree", "disagree", "neutral"), "the dictionary knew it already"
    assert session.plan.ready
    assert "9 columns" in hands.see("note_questions").accessibleName()
    session.undo_stack.undo()
    assert session.plan == before

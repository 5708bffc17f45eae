"""Story G: sixty columns, three questions, and the decision, by clicks alone; nothing else of the table is planned."""

import time
from decimal import Decimal

import polars as pl
import pytest
from hands import Hands
from PySide6.QtWidgets import QAbstractButton, QFileDialog, QMenu
from survey import NEEDED, write_survey, write_survey_dictionary

from workbench.gui.widgets.cell_delegates import PADDING
from workbench.release.ledger.ledger import Ledger
from workbench.release.verification import verify_any

MOST_CLICKS, MOST_SECONDS = 24, 180
"""From 60 columns to a verified release, with what the story tries on its way."""

LIST, TABLE = "question_columns", "attribute_table"


@pytest.fixture
def hands(window, qtbot, tmp_path):
    """Hands at a window in which the survey was dropped."""
    window.activateWindow()
    person = Hands(window, qtbot)
    person.drop(write_survey(tmp_path / "survey.csv", rows=2000))
    return person


def import_dictionary(hands: Hands, path, monkeypatch) -> None:
    """Choose the data dictionary by the button and its menu."""
    # The chooser opens beside the table.
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda _parent, _title, folder, _kinds: (str(path), folder))
    assert hands.window.session.opened.folder == str(path.parent)
    menu = hands.see("dictionary").findChild(QMenu)
    next(action for action in menu.actions() if action.objectName() == "dictionary_import").trigger()
    hands.clicks += 2
    hands.idle()


def onward(hands: Hands) -> str:
    """Return where the highlighted button of the page leads, and press it."""
    button = hands.window.page.primary
    assert isinstance(button, QAbstractButton)
    text = button.text()
    hands.finish(button.objectName())
    return text


def test_sixty_columns_are_eight_answers_and_a_decision(hands, tmp_path, monkeypatch, request):
    session, began = hands.window.session, time.monotonic()

    # Three questions: anyone; the eight that are suggested, one of them exchanged for a date; averages and pairs.
    assert hands.text("questions_count") == "8 of 60 columns: the rest are not released"
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
    assert "bounds of Interview date, Age and Income" in note
    assert "day or month first of Interview date" in note
    import_dictionary(hands, write_survey_dictionary(tmp_path / "dictionary.csv"), monkeypatch)
    assert session.questions.needed == needed, "a dictionary declares facts; it releases nothing"
    visit = session.plan.column("Interview date")
    assert (visit.date_order, visit.unfilled) == ("day-first", ())
    assert "declared" in hands.see("note_data").accessibleName().lower()
    assert onward(hands) == "Decide →"

    # The decision: the ways are compared for these eight columns, at an ε that is offered to anyone.
    assert hands.window.page.objectName() == "page_ways"
    assert session.questions.way == "synthetic"
    assert [c.name for c in session.plan.protected] == list(needed)
    assert session.plan.epsilon <= session.questions.most
    assert session.plan.ready

    # Every question has a row. At ε = 1 a way answers all but one of them, which is named before it is paid for.
    table = hands.table("decide_table").model()
    asked = [str(table.index(row, 0).data()) for row in range(table.rowCount())]
    assert asked[:2] == ["The mean of Age", "The share of f in Sex"]
    hands.choose_way("Statistics")
    assert set(hands.heading(5).split()) == {"●", "Statistics", "★"}
    marks = {one: str(table.index(row, 5).data()) for row, one in enumerate(asked)}
    assert [one for one, mark in marks.items() if not mark.endswith("✓")] == ["The correlation of Age and Income"]
    assert hands.text("ways_count") == f"here {len(asked) - 1} of {len(asked)} ✓"

    # The window says, unasked, that no ε that is offered to anyone answers it, and offers none that is not.
    hands.until(lambda: hands.sees("ways_least"))
    told = hands.text("ways_least")
    assert "The correlation of Age and Income: no ε up to 1, the most that is offered, is enough for synthetic" in told
    assert told.endswith("What helps: drop columns, leave this question out.")
    assert not hands.window.findChild(QAbstractButton, "ways_at_3").isEnabled()
    assert "no kind of release is accurate enough for relations between columns" in hands.text("ways_reason")

    # Nobody needs that one after all: one answer is changed, every mark is ✓, and one button releases.
    pairs = "The correlation of Age and Income"
    hands.finish("ways_take_least")
    assert hands.window.page.objectName() == "page_questions"
    hands.click("ask_pairs")
    hands.finish("tab_ways")
    asked.remove(pairs)
    assert [str(table.index(row, 0).data()) for row in range(table.rowCount())] == asked
    assert hands.text("ways_count") == f"here {len(asked)} of {len(asked)} ✓"
    target = tmp_path / "released.csv"
    hands.finish("ways_settings")
    hands.type_into("release_target", str(target))
    hands.finish("tab_ways")
    question = hands.answer("yes")
    hands.click("ways_release")
    hands.clicks += 1  # its answer
    hands.until(lambda: hands.sees("release_onward"))
    hands.idle()
    assert "✗" not in question[0]
    assert verify_any(target) == []
    released = pl.read_csv(target)
    assert set(released["column"]) == set(needed) - {"Interview date"}
    with Ledger.open() as book:
        (charged,) = book.releases()
    assert charged.epsilon == session.plan.epsilon

    # What it took a person, beside what the story tries on the way; the time is this machine's, clicks without thought.
    took = time.monotonic() - began
    request.node.user_properties += [("clicks", hands.clicks), ("seconds", round(took, 1))]
    assert hands.clicks <= MOST_CLICKS
    assert took < MOST_SECONDS


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


def test_the_eight_are_seen_whole_at_larger_text_and_on_a_high_window(hands, tmp_path, monkeypatch):
    window = hands.window
    onward(hands)
    import_dictionary(hands, write_survey_dictionary(tmp_path / "dictionary.csv"), monkeypatch)
    try:
        window.theme.set_scale(150)
        hands.finish("tab_protect")
        names = window.page.table
        widest = max(map(names.fontMetrics().horizontalAdvance, NEEDED))
        hands.until(lambda: names.columnWidth(0) >= widest + PADDING)
    finally:
        window.theme.set_scale(100)
    window.resize(2560, 1440)
    hands.finish("tab_release")
    hands.finish("release_way_statistics")
    listed = hands.see("statistics_table")
    hands.until(lambda: listed.model().rowCount() == len(NEEDED) and listed.verticalScrollBar().maximum() == 0)

    # Statistics that answer nothing of what is asked are not highlighted.
    for epsilon, lead in ((Decimal("0.01"), "release_to_ways"), (Decimal(1), "release_now")):
        window.session.set_epsilon(epsilon)
        hands.idle()
        assert window.page.primary.objectName() == lead

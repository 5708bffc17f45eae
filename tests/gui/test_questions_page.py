"""The three questions: suggested from names, kinds and counts, answered by clicks and keys, each answer one undo."""

from decimal import Decimal

import pytest
from hands import CTRL, SHIFT, Hands
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QComboBox, QFileDialog, QLineEdit
from survey import NEEDED

from workbench.gui.pages.protect.share_model import evenly, with_share
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.session.draft_edits import in_step, with_target_share
from workbench.sanitize.intended_use import IntendedUse
from workbench.sanitize.wishes import Wish

LIST = "question_columns"


def asked(hands: Hands) -> IntendedUse:
    return hands.window.session.questions


def undone(hands: Hands) -> str:
    """Take back one step; return what it was called."""
    text = hands.window.session.undo_stack.undoText()
    hands.window.session.undo_stack.undo()
    return text


def test_a_survey_opens_with_suggestions_and_each_answer_is_a_step(survey):
    # A survey opens with a suggestion for each question and keys reach every answer.
    # A survey opens with the questions and a suggestion for each.
    assert survey.window.page.objectName() == "page_questions"
    assert asked(survey) == IntendedUse("anyone", NEEDED, ("averages", "pairs"))
    assert survey.text("questions_count") == "8 of 60 columns: the rest are not released"
    assert survey.window.session.plan.epsilon == 1
    why = {name: survey.cell(LIST, name, "") for name in ("RespondentID", "Email", "Household", "Comments")}
    assert all(why.values())
    assert survey.cell(LIST, "Age", "") == ""
    note = survey.see("note_questions").accessibleName()
    assert "8 columns, ε up to 1. Decide compares all ways to release them." in note
    assert "bounds (3 columns)" in note
    assert "values (5 columns)" in note

    # Nothing is released that nobody ticked.
    plan = survey.window.session.plan
    assert tuple(c.name for c in plan.protected) == NEEDED
    assert {c.action for c in plan.columns if c.name not in NEEDED} == {"drop"}
    roles = {c.name: c.role for c in plan.columns}
    assert {roles[name] for name in ("RespondentID", "First name", "Surname", "Email", "Phone")} == {"identifier"}

    # Boxes of the keyboard reach every answer.
    survey.tab_to("ask_averages")
    survey.key(Qt.Key.Key_Space)
    box = survey.see("ask_averages")
    assert isinstance(box, QCheckBox)
    assert not box.isChecked()
    assert "averages" not in asked(survey).asks
    survey.window.session.undo_stack.setIndex(0)

    # Space and clicks tick and each answer is one step.
    survey.click_cell(LIST, "Zip", "Column")
    survey.key(Qt.Key.Key_Space)
    assert "Zip" in asked(survey).needed
    survey.click_cell(LIST, "Q01", "Needed")
    assert survey.text("questions_count").startswith("10 of 60")
    assert undone(survey) == "release Q01"
    assert undone(survey) == "release Zip"
    assert asked(survey).needed == NEEDED

    # A click with shift ticks the range.
    survey.click_cell(LIST, "Q01", "Needed")
    view, last = survey.table(LIST), survey.index(LIST, "Q05", "Needed")
    survey.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, SHIFT, view.visualRect(last).center())
    assert set(asked(survey).needed) == {*NEEDED, *(f"Q0{k}" for k in range(1, 6))}
    undone(survey)
    assert set(asked(survey).needed) == {*NEEDED, "Q01"}
    survey.window.session.undo_stack.setIndex(0)

    # What is filtered is ticked and freed at once.
    survey.type_into(f"{LIST}_filter", "score")
    survey.click("questions_all")
    assert survey.text("questions_count").startswith("20 of 60")
    survey.click("questions_none")
    assert asked(survey).needed == NEEDED
    survey.see(f"{LIST}_filter").setFocus()
    survey.key(Qt.Key.Key_Escape)
    survey.click(f"{LIST}_needs")
    shown = [survey.window.page.listed.name_at(row) for row in survey.window.page.columns.in_sight()]
    assert tuple(shown) == NEEDED
    for name in NEEDED[1:3]:  # one below the other: neither click moves a row away from under the next
        survey.click_cell(LIST, name, "Needed")
    assert survey.text("questions_count").startswith("6 of 60")
    assert [survey.window.page.listed.name_at(row) for row in survey.window.page.columns.in_sight()] == shown
    survey.click(f"{LIST}_needs")
    survey.click(f"{LIST}_needs")
    assert len(survey.window.page.columns.in_sight()) == 6
    survey.click(f"{LIST}_needs")
    survey.window.session.undo_stack.setIndex(0)

    # Who gets it sets the range of epsilon.
    session = survey.window.session
    survey.click("who_us")
    session.set_epsilon(Decimal(5))
    assert "ε up to 10" in survey.see("note_questions").accessibleName()
    survey.click("who_anyone")
    assert session.plan.epsilon == 1
    assert "ε up to 1" in survey.text("who_why")
    undone(survey)
    assert (session.plan.epsilon, asked(survey).recipient) == (5, "us")
    survey.window.session.undo_stack.setIndex(0)

    # What is asked decides the way and the purpose.
    survey.click("ask_pairs")
    assert survey.window.session.way == "statistics"
    survey.click("ask_averages")
    survey.click("ask_rows")
    assert survey.window.session.way == "rows"
    assert {c.purpose for c in survey.window.session.plan.protected} == {"values"}
    undone(survey)
    assert {c.purpose for c in survey.window.session.plan.protected} == {"statistics"}
    survey.window.session.undo_stack.setIndex(0)

    # A model needs a column to predict.
    survey.click("ask_model")
    assert "Choose the column that a model predicts" in survey.see("note_questions").accessibleName()
    combo = survey.see("ask_target")
    assert isinstance(combo, QComboBox)
    assert combo.hasFocus()
    for _ in range(combo.findText("Smoker")):
        survey.key(Qt.Key.Key_Down)
    assert asked(survey).target == "Smoker"
    assert survey.cell(LIST, "Smoker", "") == "the target"
    survey.click("ask_model")
    assert asked(survey).target is None
    survey.window.session.undo_stack.setIndex(0)

    # Each question can be skipped.
    survey.click("who_us")
    survey.click_cell(LIST, "Q01", "Needed")
    survey.click("ask_rows")
    for number in (1, 2, 3):
        survey.click(f"questions_skip_{number}")
    assert asked(survey) == IntendedUse("anyone", NEEDED, ("averages", "pairs"))
    assert survey.see("questions_onward").hasFocus()
    survey.window.session.undo_stack.setIndex(0)

    # Who unticks a kept column is told that it comes back protected.
    survey.click("tab_protect")
    survey.pick("share_table", "Age", "Action", "keep")
    survey.click("tab_questions")
    survey.click_cell(LIST, "Age", "Needed")
    said = survey.window.statusBar().currentMessage()
    assert said == "Kept as it is until now: Age. What is ticked again is protected."
    survey.click_cell(LIST, "Age", "Needed")
    assert survey.window.session.plan.column("Age").action == "protect"
    survey.window.session.undo_stack.setIndex(0)

    # A purpose chosen for one column outlives another answer.
    survey.click("tab_protect")
    purposes = survey.see("share_purpose")
    assert isinstance(purposes, QComboBox)
    purposes.setFocus()
    survey.key(Qt.Key.Key_Up)
    column = survey.window.session.plan.protected[0].name
    survey.click("tab_questions")
    survey.click("who_named")
    survey.click_cell(LIST, "Q01", "Needed")
    of = {c.name: c.purpose for c in survey.window.session.plan.protected}
    assert of.pop(column) == "values"
    assert {*of.values()} == {"statistics"}
    survey.click("ask_pairs")
    assert survey.window.session.plan.column(column).purpose == "values"
    survey.window.session.undo_stack.setIndex(0)

    # Without a column nothing leads on.
    survey.click("questions_none")
    assert survey.text("note_questions") == "Tick the columns they need."
    assert not survey.window.page.primary.isEnabled()
    survey.window.session.undo_stack.setIndex(0)

    # The button leads to what blocks and takes the columns as said.
    guessed = {c.name for c in survey.window.session.plan.columns if "action" in c.guessed}
    assert "Zip" in guessed
    button = survey.see("questions_onward")
    assert isinstance(button, QAbstractButton)
    assert button.text() == "Columns →"
    survey.click("questions_onward")
    assert survey.window.page.objectName() == "page_data"
    assert not [c.name for c in survey.window.session.plan.columns if "action" in c.guessed]


def test_wishes_are_typed_and_what_is_no_wish_stays_with_its_reason(survey):
    survey.type_into("wishes", "mean(Age) ± 2; share(Sex=f) within 3 %")
    survey.key(Qt.Key.Key_Return)
    assert asked(survey).wishes == (Wish("mean", ("Age",), 2), Wish("share", ("Sex",), 0.03, "f"))
    field = survey.see("wishes")
    assert isinstance(field, QLineEdit)
    assert field.text() == "mean(Age) ± 2; share(Sex=f) ± 3 %"
    survey.type_into("wishes", "mean(Aeg) ± 2")
    survey.key(Qt.Key.Key_Return)
    assert "did you mean 'Age'? Choose from" in survey.text("wishes_problem")
    survey.click("questions_onward")
    assert survey.see("wishes").hasFocus(), "what is no wish is put right before it is left"
    assert (field.text(), len(asked(survey).wishes)) == ("mean(Aeg) ± 2", 2)
    survey.type_into("wishes", "mean(AGE) ± 2")
    survey.key(Qt.Key.Key_Return)
    assert asked(survey).wishes == (Wish("mean", ("Age",), 2),)
    assert not survey.sees("wishes_problem")
    survey.click_cell(LIST, "Age", "Needed")
    assert "Age is not ticked" in survey.text("wishes_problem")
    survey.type_into("wishes", "median(Age) ± 2")
    survey.key(Qt.Key.Key_Return)
    assert survey.sees("wishes_problem")
    survey.click_cell(LIST, "Age", "Needed")
    assert not survey.sees("wishes_problem")
    assert asked(survey).wishes == (Wish("median", ("Age",), 2),)


def test_a_sample_has_its_answers_and_leads_to_the_decision(window, qtbot):
    hands = Hands(window, qtbot)
    hands.finish("sample_people")
    assert asked(hands) == IntendedUse(
        "named", ("age", "sex", "income", "label"), ("averages", "pairs", "model"), "label"
    )
    before = window.session.plan
    hands.click("ask_model")
    for number in (1, 2, 3):
        hands.click(f"questions_skip_{number}")
    assert window.session.plan == before, "what is suggested is what it was opened with"
    hands.click("questions_onward")
    assert window.page.objectName() == "page_ways"
    assert window.session.plan == before
    hands.idle()


def test_a_project_keeps_the_answers_and_opens_where_it_was_left(survey, tmp_path, monkeypatch):
    survey.click("who_named")
    survey.type_into("wishes", "mean(Age) ± 2")
    survey.key(Qt.Key.Key_Return)
    survey.click("ask_pairs")
    before, path = asked(survey), tmp_path / "s.workbench.toml"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    survey.qtbot.keyClick(survey.window, Qt.Key.Key_S, CTRL)
    survey.idle()
    assert "mean(Age) ± 2" in path.read_text("utf-8")
    survey.window.open(str(path))
    survey.idle()
    assert asked(survey) == before


def test_images_have_no_columns_to_choose(window, qtbot, tmp_path):
    hands = Hands(window, qtbot)
    for at, name in enumerate(("even", "odd") * 4):
        folder = tmp_path / "digits" / name
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 4), 20 * at).save(folder / f"{at}.png")
    hands.drop(tmp_path / "digits")
    assert window.page.objectName() == "page_data"
    hands.click("tab_questions")
    assert hands.sees("questions_nothing")
    assert not hands.sees(LIST)


def test_the_page_fits_at_every_text_size(survey):
    for scale in (80, 150):
        survey.window.theme.set_scale(scale)
        for page in ("questions", "data"):
            survey.click(f"tab_{page}")
            assert survey.window.width() == 1280, (page, scale)


# -- A first plan in the window gives the classes to predict half of ε until they have 1; a person's shares stay


def plan(epsilon: str = "1", target: str | None = None, **kinds: str) -> DraftPlan:
    kinds = kinds or {"a": "boolean", "b": "boolean", "c": "boolean"}
    columns = tuple(DraftColumn(name=name, kind=kind) for name, kind in kinds.items())
    return DraftPlan(epsilon=Decimal(epsilon), columns=columns).with_target(target)


def weights(draft: DraftPlan) -> list[float]:
    return [c.weight for c in draft.columns]


def test_the_share_follows_target_and_columns_while_nobody_has_moved_one():
    chosen = in_step(plan(), plan(target="b"))
    assert weights(chosen) == [1, 2, 1]  # half of ε
    other = in_step(chosen, chosen.with_target("c"))
    assert weights(other) == [1, 1, 2]
    fewer = in_step(other, other.with_column("a", action="drop"))
    assert weights(fewer)[1:] == [1, 1]
    assert weights(in_step(plan("2.5"), plan("2.5", "c"))) == [1, 1, pytest.approx(4 / 3, abs=1e-3)]  # 1 of 2.5
    assert weights(in_step(plan("10"), plan("10", "c"))) == [1, 1, 1]
    assert weights(in_step(other, other.with_column("c", kind="integer"))) == [1, 1, 1], "numbers are no classes"


def test_epsilon_alone_moves_no_share():
    drafted = with_target_share(plan(target="b"))
    larger = in_step(drafted, drafted.with_(epsilon=Decimal(2)))
    assert weights(larger) == [1, 2, 1], "a curve against ε is of one split"
    assert weights(in_step(larger, larger.with_target("c"))) == [1, 1, 2]


def test_shares_of_a_person_stay():
    drafted = with_target_share(plan(target="b"))
    even = in_step(drafted, evenly(drafted))
    assert weights(even) == [1, 1, 1]
    assert weights(in_step(even, even.with_target("c"))) == [1, 1, 1]
    locked = in_step(drafted, with_share(drafted, "a", Decimal("0.4"), lock=True))
    assert in_step(locked, locked.with_target("c")) == locked.with_target("c")
    moved = in_step(drafted, with_share(drafted, "a", Decimal("0.4"), lock=False))
    assert in_step(moved, moved.with_target("a")) == moved.with_target("a")


def test_a_sample_opens_with_it_and_another_target_is_undone_in_one_step(window, finish):
    finish(window, "sample_iris")
    session = window.session
    drafted = session.plan
    assert {c.name: c.weight for c in drafted.columns}["species"] == 4
    first = drafted.columns[0].name
    session.edit_column(first, "classes", kind="category", domain=("a", "b"))
    session.set_target(first)
    assert [c.weight for c in session.plan.columns] == [4, 1, 1, 1, 1]
    session.undo_stack.undo()
    session.undo_stack.undo()
    assert session.plan == drafted

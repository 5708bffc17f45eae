"""Facts beside bounds: missing values, the order of dates, unlisted values, steps, and facts about the whole table."""

import dataclasses

import pytest
from fits import misfits
from hands import Hands, go_to
from mishaps import told
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from workbench.gui.pages.data.domain_editor import listed
from workbench.gui.pages.data.facts import read
from workbench.gui.pages.ways.table import outside_of
from workbench.gui.project.open_table import open_table
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.widgets.declared_facts import fact_text
from workbench.sanitize.plan import Column, Plan

CTRL = Qt.KeyboardModifier.ControlModifier
DATES = "age,seen,town\n" + "\n".join(f"{20 + i % 7},{13 + i % 9}/02/2020,{'AB'[i % 2]}" for i in range(12)) + "\n,,A\n"


@pytest.fixture
def gaps(window, tmp_path, idle):
    """A window with a file that has missing values, and dates with the year last."""
    path = tmp_path / "gaps.csv"
    path.write_text(DATES, "utf-8")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    return window


def choose(qtbot, combo: QComboBox, words: str) -> None:
    """Choose an entry of a list by keys, as a person does without a mouse."""
    assert combo.isVisible()
    combo.setFocus()
    steps = combo.findText(words) - combo.currentIndex()
    assert combo.findText(words) >= 0
    for _ in range(abs(steps)):
        qtbot.keyClick(combo, Qt.Key.Key_Down if steps > 0 else Qt.Key.Key_Up)


def test_open_facts_of_a_table_are_listed_accepted_filled_in_and_kept(gaps, qtbot, press):
    # A table with missing values and ambiguous dates opens with what is open.
    age, seen, town = gaps.session.plan.columns
    assert age.unfilled == ("lower", "upper", "missing")
    assert seen.unfilled == ("lower", "upper", "date_order", "missing")
    assert town.unfilled == ("domain",)
    assert type(gaps.session.plan).from_raw(gaps.session.plan.to_raw()) == gaps.session.plan
    gaps.session.undo_stack.setIndex(0)

    # The button leads to the missing values once the bounds stand.
    gaps.session.edit_column("age", "bounds", lower=0.0, upper=120.0)
    press(gaps, "data_onward")
    combo = gaps.findChild(QComboBox, "fact_missing")
    assert combo.hasFocus()
    qtbot.keyClick(combo, Qt.Key.Key_End)
    assert gaps.session.plan.column("age").missing == "own-value"
    assert not gaps.session.plan.column("age").unfilled
    assert combo.findText("not declared") < 0
    gaps.session.undo_stack.setIndex(0)

    # Formulas are defused where a listed value is one.
    assert not gaps.findChild(QCheckBox, "defuse_formulas").isVisible()
    gaps.session.edit_column("town", "list", domain=("=A", "B"))
    press(gaps, "defuse_formulas")
    assert gaps.session.plan.defuses_formulas
    gaps.session.undo_stack.setIndex(0)

    # A suspected order of dates is accepted by one click.
    gaps.page.table.selectRow(1)
    assert "year is last" in gaps.findChild(QLabel, "suspicion_0").accessibleName()
    press(gaps, "suspicion_accept_0")
    assert gaps.session.plan.column("seen").date_order == "day-first"
    assert gaps.findChild(QComboBox, "fact_date_order").currentText() == "day first"
    gaps.session.undo_stack.setIndex(0)

    # The data fills in every open fact.
    gaps.page.table.selectRow(1)
    press(gaps, "take_from_data")
    seen = gaps.session.plan.column("seen")
    assert (seen.date_order, seen.missing, seen.bounds_origin) == ("day-first", "own-value", "data")
    assert not seen.unfilled
    gaps.session.undo_stack.setIndex(0)

    # The order of dates outlives a change of kind.
    gaps.session.edit_column("seen", "order", date_order="day-first", missing="own-value")
    model = gaps.page.table.attributes
    for kind in ("category", "date"):
        model.setData(model.index(1, 2), kind)
    gaps.session.edit_column("seen", "bounds", lower=737425.0, upper=737500.0)
    assert gaps.session.plan.column("seen").column().date_order == "day-first"


def test_codes_for_missing_are_typed_and_the_column_is_looked_at_again(gaps, qtbot, idle):
    gaps.page.table.selectRow(0)
    field = gaps.findChild(QLineEdit, "fact_missing_codes")
    qtbot.keyClicks(field, "20, -9")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    idle(gaps)
    found = gaps.session.profile_of("age")
    assert (gaps.session.plan.column("age").missing_codes, found.missing, found.lower) == (("20", "-9"), 3, 21)
    assert type(gaps.session.plan).from_raw(gaps.session.plan.to_raw()) == gaps.session.plan
    gaps.findChild(QWidget, "attribute_table").setFocus()
    qtbot.keyClick(gaps, Qt.Key.Key_Z, CTRL)
    assert (gaps.session.profile_of("age").missing, field.text()) == (1, "")


def test_a_suspected_code_is_declared_by_one_click_and_bounds_are_held_against_the_rows(window, tmp_path, press, idle):
    path = tmp_path / "codes.csv"
    path.write_text("score\n" + "\n".join(map(str, [*range(1, 6), -9] * 3)) + "\n", "utf-8")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    window.page.table.selectRow(0)
    window.session.edit_column("score", "bounds", lower=1.0, upper=5.0, missing="own-value")
    said = window.findChild(QLabel, "detail_warning")
    assert "from -9 to 5" in said.text()
    whole = window.findChild(QLabel, "whole_told")
    counts = "In score a number may be a code for a missing value: it counts as a number."
    assert counts in whole.accessibleName()
    assert counts in outside_of(window.session)
    press(window, "suspicion_accept_0")
    idle(window)
    assert counts not in outside_of(window.session)
    assert (window.session.plan.column("score").missing_codes, said.text()) == (("-9",), "")
    assert window.session.profile_of("score").missing == 3
    assert not window.findChild(QLabel, "suspicion_0").isVisible()
    assert counts not in whole.accessibleName()


def test_a_suspected_code_needs_a_person_until_a_click_settles_it(window, tmp_path, press, idle, qtbot):
    path = tmp_path / "codes.csv"
    path.write_text("score,sex\n" + "\n".join(f"{v},{'fm'[v % 2]}" for v in [*range(1, 6), -9] * 3) + "\n", "utf-8")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    session = window.session
    declared = {"score": {"lower": 1.0, "upper": 5.0, "kind": "integer"}, "sex": {"domain": ("f", "m")}}
    session.edit("facts", session.plan.with_columns(declared).confirmed())
    go_to(window, "data")
    press(window, "attribute_table_needs")
    assert [window.page.table.attributes.name_at(row) for row in window.page.table.in_sight()] == ["score"]
    assert window.page.primary.text() == "Look at it →"
    press(window, "data_onward")
    assert window.findChild(QAbstractButton, "suspicion_accept_0").hasFocus()
    press(window, "suspicion_deny_0")
    assert session.plan.column("score").missing_codes == ()
    assert window.page.primary.text() == "Decide →"
    assert not window.findChild(QLabel, "suspicion_0").isVisible()
    assert outside_of(session) == ()
    assert type(session.plan).from_raw(session.plan.to_raw()) == session.plan, "a project keeps the answer"
    session.undo_stack.undo()
    press(window, "suspicion_accept_0")
    idle(window)
    score = session.plan.column("score")
    assert (score.missing_codes, score.missing) == (("-9",), "own-value")
    assert window.page.primary.text() == "Decide →", "who declares a code does not want the release to stop at it"


def test_the_fields_of_a_category_have_one_line(gaps, qtbot):
    gaps.session.edit_column("town", "list", domain=("A", "B"))
    names = [c.name for c in gaps.session.plan.columns]
    gaps.page.table.selectRow(names.index("town"))
    fields = [gaps.findChild(QWidget, f"fact_{name}") for name in ("values", "missing", "missing_codes", "other")]
    assert all(field.isVisible() for field in fields)
    qtbot.waitUntil(lambda: len({field.mapTo(gaps, field.rect().topLeft()).y() for field in fields}) == 1)


def words_above(window, field) -> str:
    """Return the words above a field, which its number belongs to."""
    (title,) = (shown for shown in window.findChildren(QLabel) if shown.buddy() is field)
    return title.text()


def test_steps_unlisted_values_and_rows_of_a_person_are_stated_warned_of_and_undone(people, qtbot):
    # The steps of the grid are typed and refused with a reason.
    field = people.findChild(QLineEdit, "fact_cells")
    assert field.placeholderText() == "automatic: 83"
    assert words_above(people, field) == "values, steps of 1"
    qtbot.keyClicks(field, "1")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    problem = people.findChild(QLabel, "fact_problem")
    assert problem.isVisible()
    assert "number of values" in problem.text()
    field.selectAll()
    qtbot.keyClicks(field, "17")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert people.session.plan.column("age").cells == 17
    assert not problem.isVisible()
    assert words_above(people, field) == "values, steps of 5"  # 17 values, in steps of 5
    field.selectAll()
    qtbot.keyClicks(field, "50")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert words_above(people, field) == "values at most, steps of 2"  # 42 of them
    qtbot.keyClick(people, Qt.Key.Key_Z, CTRL)
    qtbot.keyClick(people, Qt.Key.Key_Z, CTRL)
    assert people.session.plan.column("age").cells is None

    # Rows of one person multiply the cost in sight.
    field = people.findChild(QLineEdit, "rows_per_person")
    field.selectAll()
    qtbot.keyClicks(field, "3")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert people.session.plan.rows_per_person == 3
    assert people.findChild(QLabel, "fact_plan").text() == "ε 3"
    assert "3 times" in people.findChild(QLabel, "whole_told").accessibleName()
    field.selectAll()
    qtbot.keyClicks(field, "none")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert "none" in people.findChild(QLabel, "whole_told").accessibleName()
    assert people.session.plan.rows_per_person == 3
    people.session.undo_stack.setIndex(0)

    # Keeping the order of rows warns and is undone.
    box = people.findChild(QCheckBox, "keep_order")
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert people.session.plan.keep_order
    assert "order" in people.findChild(QLabel, "whole_told").accessibleName()
    qtbot.keyClick(people, Qt.Key.Key_Z, CTRL)
    QApplication.processEvents()
    assert not people.session.plan.keep_order
    assert not box.isChecked()

    # An unlisted value is collected by the one that is named.
    people.page.table.selectRow(3)
    combo = people.findChild(QComboBox, "fact_other")
    choose(qtbot, combo, "male")
    assert people.session.plan.column("sex").other == "male"
    field = people.findChild(QLineEdit, "fact_other_field")
    field.selectAll()
    qtbot.keyClicks(field, "another")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert people.session.plan.column("sex").column().values() == ("female", "male", "another")
    choose(qtbot, combo, "stop the release")
    assert people.session.plan.column("sex").other is None

    # The words above the steps are read whole at a large text.
    people.theme.set_scale(150)
    Hands(people, qtbot).click_cell("attribute_table", "income", "Attribute")
    people.session.edit_column("income", "coarser", cells=7)
    field = people.findChild(QLineEdit, "fact_cells")
    assert words_above(people, field) == "values, steps of 21,429"
    qtbot.waitUntil(lambda: not [fault for fault in misfits(people) if "steps of" in fault])


def test_a_draft_holds_every_fact_that_a_plan_can_hold():
    # It marks each fact that was guessed, where a plan marks a column; how the file is read is the table's.
    held = {f.name for f in dataclasses.fields(DraftColumn)} - {"guessed"} | {"origin"}
    assert held == set(Column.declared())
    assert {f.name for f in dataclasses.fields(DraftPlan)} == set(Plan.declared()) - {
        "version",
        "reading",
        "questions",
    } | {"asked"}


def test_the_words_of_a_boolean_are_listed_where_they_are_others(window, tmp_path, idle, press, qtbot):
    path = tmp_path / "truth.csv"
    path.write_text("ok,age\n" + "true,30\nfalse,31\n" * 6, "utf-8")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    assert window.session.plan.column("ok").kind == "boolean"
    window.page.table.selectRow(0)
    assert window.page.table.attributes.index(0, 3).data() == "false, true"
    assert not window.findChild(QComboBox, "fact_other").isVisible()
    press(window, "fact_values")
    field = window.findChild(QPlainTextEdit, "domain_text")
    for word in ("true", "false", "unknown"):
        qtbot.keyClicks(field, word)
        qtbot.keyClick(field, Qt.Key.Key_Return)
    press(window, "domain_take")
    assert window.session.plan.column("ok").column().values() == ("true", "false", "unknown")
    assert window.page.table.attributes.index(0, 3).data() == "true, false, unknown"
    assert window.findChild(QComboBox, "fact_other").isVisible()


def test_what_was_said_of_the_former_file_goes_with_it(window, tmp_path, load):
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    bad.write_text("a,b\n1,2\n3,4,5\n", "utf-8")
    good.write_text(DATES, "utf-8")
    load(window, bad)
    assert window.findChild(QLabel, "banner_text").isVisible()
    load(window, good)
    assert window.session.opened.title == "good.csv"
    assert not window.findChild(QLabel, "banner_text").isVisible()


def test_a_column_that_identifies_a_person_bounds_her_rows_and_is_not_released(window, tmp_path, idle, qtbot):
    path = tmp_path / "visits.csv"
    path.write_text("who,age\n" + "\n".join(f"p{i % 4},{20 + i % 7}" for i in range(30)) + "\n", "utf-8")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    session, rows = window.session, window.findChild(QLineEdit, "rows_per_person")
    session.edit("bounds", session.plan.confirmed().with_column("age", action="protect", lower=0.0, upper=120.0))
    rows.setFocus()
    rows.selectAll()
    qtbot.keyClicks(rows, "3")
    qtbot.keyClick(rows, Qt.Key.Key_Return)
    choose(qtbot, window.findChild(QComboBox, "unit"), "who")
    qtbot.keyClick(window.findChild(QComboBox, "unit"), Qt.Key.Key_Return)
    plan = session.plan.plan()
    assert (plan.unit, plan.rows_per_person, plan.replaces_invalid) == ("who", 3, True)
    assert plan.column("who").action == "drop"
    told = window.findChild(QLabel, "whole_told").accessibleName()
    assert "At most 3 rows of each who are read; a release costs 3 times its ε for each person." in told
    assert not window.findChild(QCheckBox, "replace_invalid").isEnabled()
    assert DraftPlan.from_raw(session.plan.to_raw()) == session.plan
    # Who wants the column released is told why not, and nothing is released.
    session.edit("release it", session.plan.with_column("who", action="protect", kind="category", domain=("p0", "p1")))
    assert "never released" in window.findChild(QLabel, "whole_told").accessibleName()
    assert not session.plan.ready


# -- The list of values: pasted, mended, compared with the rows, and declared as one step -----------------------------


ROWS = 'who,town\n1,"Bath, Avon"\n2, Wells\n1,"St. ""Ives"""\n2,Bath\n'


@pytest.fixture
def editing(window, tmp_path, idle, press):
    """A window in which the list of a column with awkward values is edited."""
    path = tmp_path / "towns.csv"
    path.write_text(ROWS, "utf-8")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    window.page.table.selectRow(1)
    press(window, "fact_values")
    assert text(window).hasFocus()
    return window


def text(window) -> QPlainTextEdit:
    field = window.findChild(QPlainTextEdit, "domain_text")
    assert field.isVisible()
    return field


def paste(window, qtbot, what: str) -> None:
    """Replace the text by what is pasted, by keys."""
    QApplication.clipboard().setText(what)
    qtbot.keyClick(text(window), Qt.Key.Key_A, CTRL)
    qtbot.keyClick(text(window), Qt.Key.Key_V, CTRL)


def test_a_list_of_values_is_pasted_mended_compared_and_declared_as_one_step(editing, qtbot, press):
    # Escape leaves the list as it was.
    qtbot.keyClicks(text(editing), "Bath")
    qtbot.keyClick(text(editing), Qt.Key.Key_Escape)
    assert editing.page.table.isVisible()
    assert editing.session.plan.column("town").domain is None
    assert editing.findChild(QAbstractButton, "data_onward").isVisible()
    press(editing, "fact_values")

    # What the rows hold and the list does not is named.
    paste(editing, qtbot, "Bath\nYork")
    assert "Bath, Avon" in told(editing, "domain_outside")
    assert "3 values" in told(editing, "domain_outside")

    # Spaces at the ends are trimmed by a click.
    paste(editing, qtbot, " Bath \nYork\n\n")
    press(editing, "domain_trim")
    assert listed(text(editing).toPlainText()).values == ("Bath", "York")

    # A line from a spreadsheet is split and each value kept once.
    paste(editing, qtbot, "Bath, York; Bath\tWells")
    assert "single value" in told(editing, "domain_problem").lower()
    assert not editing.findChild(QAbstractButton, "domain_take").isEnabled()
    press(editing, "domain_split")
    assert "more than once: Bath" in told(editing, "domain_told")
    press(editing, "domain_keep")
    press(editing, "domain_sort")
    assert text(editing).toPlainText() == "Bath\nWells\nYork"
    qtbot.keyClick(text(editing), Qt.Key.Key_Z, CTRL)
    assert text(editing).toPlainText() == "Bath\nYork\nWells"

    # Values with commas quotes and spaces are declared as they are.
    paste(editing, qtbot, 'Bath, Avon\n Wells\nSt. "Ives"\nBath\n')
    assert told(editing, "domain_count") == "4 values"
    assert "“ Wells”" in told(editing, "domain_told")
    assert told(editing, "domain_outside") == ""
    qtbot.keyClick(text(editing), Qt.Key.Key_Return, CTRL)
    town = editing.session.plan.column("town")
    assert town.domain == ("Bath, Avon", " Wells", 'St. "Ives"', "Bath")
    assert town.bounds_origin == "declared"
    assert editing.page.table.isVisible()
    qtbot.keyClick(editing, Qt.Key.Key_Z, CTRL)
    assert editing.session.plan.column("town").domain is None
    press(editing, "fact_values")

    # A list from the data that was cleared and brought back still warns.
    press(editing, "domain_from_data")
    qtbot.keyClick(text(editing), Qt.Key.Key_A, CTRL)
    qtbot.keyClick(text(editing), Qt.Key.Key_Delete)
    assert told(editing, "domain_warning") == ""
    qtbot.keyClick(text(editing), Qt.Key.Key_Z, CTRL)
    assert "which ε does not cover" in told(editing, "domain_warning")
    press(editing, "domain_take")
    assert editing.session.plan.column("town").bounds_origin == "data"
    qtbot.keyClick(editing, Qt.Key.Key_Z, CTRL)
    press(editing, "fact_values")

    # A list from the data warns at once until it is called public.
    press(editing, "domain_from_data")
    assert "which ε does not cover" in told(editing, "domain_warning")
    press(editing, "domain_take")
    assert editing.session.plan.column("town").bounds_origin == "data"
    press(editing, "fact_values")
    assert "which ε does not cover" in told(editing, "domain_warning")
    press(editing, "domain_public")
    assert told(editing, "domain_warning") == ""
    press(editing, "domain_take")
    assert editing.session.plan.column("town").bounds_origin == "declared"

    # A list of thousands is shown in short and edited whole.
    values = tuple(f"town {i}" for i in range(5000))
    editing.session.edit_column("town", "many towns", domain=values, bounds_origin="declared")
    index = editing.page.table.attributes.index(1, 3)
    assert index.data().startswith("5,000 values: town 0, town 1, ")
    for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
        assert len(index.data(role)) < 500
    assert index.data(Qt.ItemDataRole.EditRole).count(",") == 4999


def test_a_line_break_within_a_value_has_a_sign_of_its_own():
    assert listed("a↵b\nc").values == ("a\nb", "c")


@pytest.mark.parametrize(
    "values", [("a", "b"), ("Smith, John", "b"), (" lead", 'with "marks"'), ('"', "a\nb"), ("x", "''")]
)
def test_a_list_in_a_cell_is_read_as_it_was_written(values):
    column = DraftColumn(name="town", kind="category", domain=values)
    assert read(column, "domain", fact_text(column, "domain")) == values

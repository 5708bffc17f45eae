"""An Excel workbook and a Stata file with labels, each by clicks to a verified release."""

from pathlib import Path

import polars as pl
import xlsxwriter
from mishaps import statuses
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox

from tests.source_files import ROWS, coded, packed_zip, workbook
from workbench.release.verification import verify_any


def choose(hands, name: str, words: str) -> None:
    """Choose an entry of a list by the keys."""
    box = hands.see(name)
    assert isinstance(box, QComboBox)
    hands.finish(name)
    box.hidePopup()
    steps = box.findText(words) - box.currentIndex()
    for _ in range(abs(steps)):
        hands.qtbot.keyClick(box, Qt.Key.Key_Down if steps > 0 else Qt.Key.Key_Up)
    hands.idle()


def declare(hands, facts: dict[str, tuple[str, str]]) -> None:
    for name, (lower, upper) in facts.items():
        hands.type_in_cell("attribute_table", name, "Lower bound", lower)
        if upper:
            hands.type_in_cell("attribute_table", name, "Upper bound", upper)
        hands.idle()


def keep_missing(hands) -> None:
    box = hands.see("fact_missing")
    assert isinstance(box, QComboBox)
    choose(hands, "fact_missing", next(box.itemText(k) for k in range(box.count()) if "missing" in box.itemText(k)))


def confirmed_and_released(hands, target: Path) -> pl.DataFrame:
    """Confirm what is still guessed, release noisy rows and verify them."""
    hands.finish("tab_data")
    hands.until(lambda: "Guessed from the rows" in hands.see("note_data").accessibleName())
    hands.qtbot.wait(500)  # a button that a click brought up is not pressed by a double click
    hands.finish("data_onward")
    assert not hands.window.session.plan.guesses()
    hands.finish("tab_ways")
    hands.choose_way("Noisy")
    hands.finish("tab_rows")
    hands.type_into("release_target", str(target))
    hands.answer("yes")
    hands.click("release_now")
    hands.until(lambda: hands.sees("release_onward"))
    hands.idle()
    assert statuses() == ["charged"]
    hands.finish("release_onward")
    hands.finish("shown_release_verify")
    assert hands.text("shown_release_result").startswith("✓")
    assert verify_any(target) == []
    return pl.read_csv(target, infer_schema_length=None)


def test_a_workbook_is_dropped_its_sheet_chosen_and_released(hands, tmp_path):
    source = tmp_path / "people.xlsx"
    workbook(source, "Visits")
    hands.drop(source)
    opened = hands.window.session.opened
    assert opened.table.frame.rows() == ROWS
    assert "Sheet: People (one of 2)" in hands.text("data_summary")
    assert hands.sees("dialect_range"), "what is to be read is asked before what is needed of it"
    assert not hands.sees("dialect_encoding")
    choose(hands, "dialect_part", "Visits")
    assert hands.window.session.opened.table.names == ("note",)
    assert hands.sees("question_columns")
    hands.click("tab_data")
    hands.click("view_dialect")
    choose(hands, "dialect_part", "People")
    assert hands.window.session.opened.table.frame.rows() == ROWS
    assert hands.window.session.opened.options.sheet == "People"
    hands.click("tab_data")
    for name in ("weight", "day"):
        if hands.window.session.plan.column(name).action != "drop":
            hands.click_cell("attribute_table", name, "Attribute")
            hands.click("detail_drop")
    declare(hands, {"age": ("0", "120"), "city": ("Graz, Linz", "")})
    hands.click_cell("attribute_table", "city", "Attribute")
    keep_missing(hands)
    released = confirmed_and_released(hands, tmp_path / "out.csv")
    assert released.height == len(ROWS)
    assert released["age"].is_between(0, 120).all()


def test_a_stata_file_with_labels_is_dropped_confirmed_and_released(hands, tmp_path):
    source = tmp_path / "people.dta"
    coded(source)
    hands.drop(source)
    session = hands.window.session
    assert session.plan.column("city").domain == ("1", "2")
    assert "domain" in session.plan.column("city").unconfirmed
    hands.click("tab_data")
    assert hands.table("attribute_table").model().index(0, 0).isValid()
    tip = str(hands.index("attribute_table", "city", "Attribute").data(Qt.ItemDataRole.ToolTipRole))
    assert "City of birth" in tip
    hands.click_cell("attribute_table", "city", "Attribute")
    hands.idle()
    assert hands.text("detail_label") == "City of birth  ·  1 = Graz, 2 = Linz"

    # What the file calls missing is not declared before somebody says so.
    assert "codes declared missing" in hands.see("note_data").accessibleName()
    hands.click("data_onward")
    assert "Only the file says so" in hands.text("dialect_doubts")
    assert hands.text("cells_missing_codes_values") == "city .a"
    hands.finish("candidate_missing_codes_missing")
    assert not session.opened.table.ambiguities
    assert session.opened.options.missing_codes == "missing"
    hands.click("tab_data")
    for name in ("weight", "day"):
        if session.plan.column(name).action != "drop":
            hands.click_cell("attribute_table", name, "Attribute")
            hands.click("detail_drop")
    declare(hands, {"age": ("0", "120")})
    hands.click_cell("attribute_table", "city", "Attribute")
    keep_missing(hands)
    assert "values" in hands.see("note_data").accessibleName()
    released = confirmed_and_released(hands, tmp_path / "out.csv")
    assert set(released["city"].cast(pl.String).drop_nulls()) <= {"1", "2"}


def test_a_member_of_an_archive_is_chosen(hands, tmp_path):
    source = tmp_path / "two.zip"
    packed_zip(source, "a.csv", "b.csv")
    hands.drop(source)
    assert hands.window.session.opened is None
    assert "archive has 2 members: a.csv, b.csv" in hands.text("banner_text")
    assert "--member" not in hands.text("banner_text")
    box = hands.see("dialect_part")
    assert [box.itemText(k) for k in range(box.count())] == ["a.csv", "b.csv"]
    choose(hands, "dialect_part", "b.csv")
    assert hands.window.session.opened.options.member == "b.csv"
    hands.click("tab_data")
    assert "Member: b.csv (one of 2)" in hands.text("data_summary")


def test_titles_above_the_header_of_a_sheet_are_skipped_before_the_questions(hands, tmp_path):
    source = tmp_path / "visits.xlsx"
    with xlsxwriter.Workbook(source) as book:
        book.add_worksheet("Read me").write_column(0, 0, ("Visits", "of all wards"))
        sheet = book.add_worksheet("Visits")
        for row, cells in enumerate((("Visits 2025",), ("ward", "age", "cost"), ("A", 3, 2.5), ("B", 5, 1))):
            sheet.write_row(row, 0, cells)
    hands.drop(source)
    choose(hands, "dialect_part", "Visits")
    assert "row 2 names all; use “skip lines 1”" in hands.text("data_notices")
    assert "its sheet" in hands.text("note_data")
    assert hands.see("data_skip_titles").text() == "Skip 1 line"
    hands.finish("data_skip_titles")
    assert hands.window.session.opened.table.names == ("ward", "age", "cost")
    assert hands.window.session.opened.options.sheet == "Visits"
    assert not hands.sees("data_skip_titles")
    assert hands.sees("question_columns")


def test_what_is_suggested_is_suggested_under_the_header_that_was_stated_too(hands, tmp_path):
    """Under another header all columns were ticked, names of persons and one without a value among them."""
    source = tmp_path / "marks.csv"
    names = [f"{first} {last}" for first in ("Ann", "Bo", "Cy", "Di") for last in ("Lee", "Ray", "Fox", "Kay")]
    rows = (f"{name};{'ab'[at % 2]};{at % 6 + 1};;S" for at, name in enumerate(names * 2))
    end = ";;;;"  # a row of the spreadsheet below the others: nothing is said of it
    source.write_text("\n".join(("School;;;;", "name;form;mark;note;school", *rows, end)), "utf-8")
    hands.drop(source)
    assert "sheet" not in hands.text("note_data"), "a text file has none"
    hands.type_into("dialect_skip_lines", "1")
    hands.finish("data_onward")
    plan = hands.window.session.plan
    assert hands.sees("question_columns")
    assert [c.name for c in plan.columns if c.action != "drop"] == ["form", "mark"]
    assert plan.questions.needed == ("form", "mark")

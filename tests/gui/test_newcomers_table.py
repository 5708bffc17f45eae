"""A table of another country, with semicolons, decimal commas and the day first, is declared by clicks and keys."""

import random
from decimal import Decimal
from itertools import permutations
from pathlib import Path

import pytest
from hands import CTRL, LEFT, Hands
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QStyleOptionViewItem

from workbench.gui.pages.data.facts import read
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.session.error_text import in_the_window
from workbench.params import InputError, ParameterError
from workbench.params.remedies import REPLACE_ROWS, REPLACE_VALUES, declare, raise_cap, state_option
from workbench.paths import user_state

TABLE = "attribute_table"
HEADER = "Name;E-Mail;Geburtsdatum;PLZ;Alter;Gehalt;Raucher;Diagnose"


@pytest.fixture
def hands(window, qtbot, tmp_path):
    """Hands at a window in which such a table is open."""
    made = random.Random(3)
    lines = [HEADER]
    for i in range(120):
        day = f"{made.randint(1, 28):02}/{made.randint(1, 12):02}/{made.randint(1940, 2000)}"
        pay = f"{made.randint(9000, 99000)},{made.randint(0, 99):02}"
        smokes = ("Ja", "nein", "", "n/a")[0 if i % 9 else i % 4]
        lines.append(f"Ana Peña;p{i}@mail.example;{day};{1000 + i % 30:05};{20 + i % 60};{pay};{smokes};Asthma {i % 3}")
    path = tmp_path / "patienten.csv"
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode("cp1252"))
    person = Hands(window, qtbot)
    person.drop(path)
    person.click("tab_data")
    assert window.session.opened.table.dialect.decimal == ","
    return person


def choose(hands: Hands, name: str) -> None:
    """Select an attribute by a click on its name."""
    hands.click_cell(TABLE, name, "Attribute")


def double_click(hands: Hands, name: str) -> None:
    """Click twice at the place of a button: the second press falls on whatever is there by then."""
    hands.qtbot.wait(100)  # the card of another attribute is placed first
    button = hands.see(name)
    place = button.mapTo(hands.window, button.rect().center())
    hands.qtbot.mouseDClick(hands.window.windowHandle(), LEFT, pos=place)


def test_entries_and_double_clicks_on_the_card_of_a_column_do_what_was_meant(hands):
    # No button of a card needs a scroll.
    area = hands.window.findChild(QScrollArea, "body_data").viewport()
    named = ("take_from_data", "find_privately", "detail_drop", "detail_target")
    for column in ("Geburtsdatum", "PLZ", "Alter", "Raucher", "Diagnose"):
        choose(hands, column)
        hands.qtbot.wait(100)  # the card of another attribute is placed first
        for name in (*named, *(["fact_values"] if hands.sees("fact_values") else [])):
            button = hands.window.findChild(QPushButton, name)
            assert button.isVisible()
            assert button.mapTo(area, QPoint(0, button.height())).y() <= area.height(), f"{name} of {column}"

    # What was read off the rows says so first and in its colour.
    choose(hands, "PLZ")
    hands.click("take_from_data")
    index = hands.index(TABLE, "PLZ", "Lower bound")
    assert index.data().startswith("⚠ (data) ")
    view, option = hands.table(TABLE), QStyleOptionViewItem()
    view.itemDelegateForIndex(index).initStyleOption(option, index)
    assert option.palette.color(QPalette.ColorRole.HighlightedText) == QColor(hands.window.session.theme.warn)
    hands.window.session.undo_stack.setIndex(0)

    # A refused entry is forgotten with the next step.
    hands.type_in_cell(TABLE, "Alter", "Lower bound", "1,2,3")
    assert "1234.5" in problem(hands)
    choose(hands, "PLZ")
    choose(hands, "Diagnose")
    choose(hands, "Alter")
    assert problem(hands) == ""
    hands.type_in_cell(TABLE, "Alter", "Lower bound", "young")
    assert problem(hands)
    hands.click("detail_drop")
    assert problem(hands) == ""
    hands.window.session.undo_stack.setIndex(0)

    # A double click on take from data drops nothing.
    choose(hands, "Alter")
    double_click(hands, "take_from_data")
    age = hands.window.session.plan.column("Alter")
    assert (age.action, age.bounds_origin) == ("protect", "data")
    assert hands.focus.objectName() == "fact_missing"
    hands.window.session.undo_stack.setIndex(0)

    # A double click drops and does not bring back.
    choose(hands, "Diagnose")
    double_click(hands, "detail_drop")
    assert hands.window.session.plan.column("Diagnose").action == "drop"
    hands.window.session.undo_stack.setIndex(0)

    # A column that is dropped is not predicted.
    choose(hands, "Diagnose")
    hands.click("detail_target")
    assert hands.window.session.target == "Diagnose"
    hands.click("detail_drop")
    assert hands.window.session.target is None
    assert not hands.window.findChild(type(hands.see("detail_drop")), "detail_target").isEnabled()
    hands.pick(TABLE, "Diagnose", "Role", "target")
    assert hands.window.session.plan.column("Diagnose").protected
    hands.window.session.undo_stack.setIndex(0)

    # A date is typed in the order that was declared.
    choose(hands, "Geburtsdatum")
    assert "date_order" not in hands.text("suspicion_0")
    hands.click("suspicion_accept_0")
    assert not hands.sees("suspicion_0")
    hands.type_in_cell(TABLE, "Geburtsdatum", "Lower bound", "01/12/1900")
    assert hands.cell(TABLE, "Geburtsdatum", "Lower bound") == "1900-12-01"
    hands.type_in_cell(TABLE, "Geburtsdatum", "Upper bound", "1899-01-01")
    assert "1900-12-01 is not below the upper bound 1899-01-01" in problem(hands)
    hands.window.session.undo_stack.setIndex(0)

    # Bounds the wrong way round raise no banner and the rest is kept.
    hands.type_in_cell(TABLE, "Gehalt", "Lower bound", "1,50")
    assert hands.window.session.plan.column("Gehalt").lower == 1.5
    hands.type_in_cell(TABLE, "Alter", "Lower bound", "120")
    hands.type_in_cell(TABLE, "Alter", "Upper bound", "0")
    assert hands.cell(TABLE, "Alter", "Lower bound").startswith("✕ 120")
    assert problem(hands) == "✕ The lower bound 120 is not below the upper bound 0; swap or correct them."

    def kept() -> bool:
        files = list((user_state() / "unsaved").glob("*"))
        return any("lower = 1.5" in Path(f).read_text("utf-8") for f in files if f.is_file())

    hands.until(kept)
    hands.idle()
    assert not hands.sees("banner")
    hands.key(Qt.Key.Key_Z, CTRL)
    assert problem(hands) == ""


def problem(hands: Hands) -> str:
    shown = hands.window.findChild(QLabel, "detail_problem")
    return shown.text() if shown.isVisible() else ""


def test_no_attribute_makes_the_window_wider_than_the_display(hands):
    hands.click_cell(TABLE, "PLZ", "Attribute")
    for before, after in permutations(("Geburtsdatum", "PLZ", "Alter", "Raucher", "Name"), 2):
        for name in (before, after):
            choose(hands, name)
            assert (hands.window.width(), hands.window.height()) == (1280, 800), f"{before}, then {after}"
            assert hands.window.minimumSizeHint().width() <= 1280
    for page in ("protect", "preview", "utility", "train", "release", "ledger", "data"):
        hands.window.show_page(page)
        hands.idle()
        assert hands.window.minimumSizeHint().width() <= 1280, page
        assert (hands.window.width(), hands.window.height()) == (1280, 800), page


def test_a_declared_order_reads_dates_and_the_other_is_refused_with_its_form():
    column = DraftColumn(name="born", kind="date", date_order="month-first")
    assert read(column, "lower", "12/31/1990") == read(column, "lower", "1990-12-31")
    with pytest.raises(ParameterError, match="12/31/1990"):
        read(column, "lower", "31/12/1990")
    with pytest.raises(ParameterError, match=r"write it as 1990-12-31\b"):
        read(DraftColumn(name="born", kind="date"), "lower", "01/02/1990")


@pytest.mark.parametrize(("decimal", "text"), [(".", "1,20"), (",", "1.234,5"), (",", "1,2,3")])
def test_a_comma_that_may_mean_two_things_is_refused_with_a_hint(decimal, text):
    with pytest.raises(ParameterError) as refused:
        read(DraftColumn(name="size", kind="real"), "lower", text, decimal)
    assert "decimal point" in refused.value.hint


def test_a_dropped_column_needs_no_mending():
    crossed = DraftColumn(name="age", kind="integer", lower=9, upper=1)
    assert [p.field for p in crossed.problems()] == ["lower"]
    plan = DraftPlan(columns=(crossed,)).with_column("age", action="drop")
    assert plan.problems() == ()
    assert plan.to_raw()["column"][0]["action"] == "drop"


@pytest.mark.parametrize(
    ("remedy", "shown"),
    [
        (declare("other", "…"), "“if a value is not listed”"),
        (declare("date_order", "day-first", "month-first"), "“day or month first”"),
        (state_option("encoding", doing="name its encoding"), "“How it is read”"),
        (state_option("header", "no", condition="the first row is data"), "“How it is read”"),
        (REPLACE_VALUES, "eplace invalid values”"),
        (REPLACE_ROWS, "eplace invalid values”"),
        (raise_cap("delta", epsilon=Decimal(3), delta=Decimal(1)), "raise the cap of δ"),
    ],
)
def test_keys_of_a_file_are_called_by_their_fields(remedy, shown):
    text = in_the_window(InputError("this will not do", "row 3", ("fill it in", remedy)))
    assert shown in text
    assert text.startswith("this will not do (row 3); fill it in, or ")
    assert "=" not in text
    assert "--" not in text
    assert "_" not in text

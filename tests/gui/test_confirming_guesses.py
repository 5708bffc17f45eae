"""What was guessed from the rows is marked on Data, refused on Release and Train, and confirmed there by one click."""

import tomllib
from pathlib import Path

import pytest
from fits import misfits
from hands import CTRL, SHIFT, Hands
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QWidget
from released import release_table

from workbench.gui.project.project_file import Planned, project_text, read_project
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.params import InputError
from workbench.release.ledger.ledger import Ledger
from workbench.sanitize.plan_guesses import refusal

# Said by the platform without a screen whenever a list opens: there is nothing that it could raise or grab.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing the keyboard)")

BUTTON = "These are right, and they are public knowledge"
ROWS = [f"p{i},{20 + i % 50},{i % 9},{'ab'[i % 2]}" for i in range(120)]


@pytest.fixture
def hands(window, qtbot, tmp_path):
    """A window with a dropped file, whose bounds and values are declared and whose guesses are not confirmed."""
    source = tmp_path / "people.csv"
    source.write_text("\n".join(["person_id,age,visits,town", *ROWS]) + "\n", "utf-8")
    window.activateWindow()
    made = Hands(window, qtbot)
    made.drop(source)
    made.click("tab_data")
    for name in ("age", "visits"):
        window.session.edit_column(name, "bounds", lower=0.0, upper=100.0)
    window.session.edit_column("town", "values", domain=("a", "b"))
    return made


def plan(hands: Hands) -> DraftPlan:
    return hands.window.session.plan


def guessed(hands: Hands) -> dict[str, tuple[str, ...]]:
    return {g.of: g.facts for g in plan(hands).guesses()}


ALL = {"person_id": ("action",), **dict.fromkeys(("age", "visits", "town"), ("kind", "missing"))}


def test_every_guess_is_marked_refused_kept_and_confirmed_by_one_click(hands, tmp_path):
    # Every guess is marked where it stands.
    assert guessed(hands) == ALL
    assert hands.cell("attribute_table", "person_id", "Role") == "identifier ?"
    assert hands.cell("attribute_table", "age", "Kind") == "integer ?"
    assert hands.window.rail.pages["data"].state(hands.window.session) == "needs"
    hands.click_cell("attribute_table", "age", "Attribute")
    assert "integer (guessed)" in hands.text("detail_kind")
    told = "Guessed: integer; if a value is missing: stop the release. Correct what is wrong"
    assert told in hands.text("detail_notes")
    note = hands.see("note_data").accessibleName()
    assert note == "Guessed from the rows: dropping of person_id; kind and missing values of age, visits and town."
    assert hands.see("data_onward").text() == BUTTON
    assert misfits(hands.window) == []
    stack = hands.window.session.undo_stack
    declared = stack.index()

    # The confirmation is undone and redone.
    hands.click("data_onward")
    hands.key(Qt.Key.Key_Z, CTRL)
    assert guessed(hands) == ALL
    assert hands.see("data_onward").text() == BUTTON
    hands.key(Qt.Key.Key_Z, CTRL | SHIFT)
    assert guessed(hands) == {}
    stack.setIndex(declared)

    # What is edited by hand is confirmed by that.
    hands.pick("attribute_table", "visits", "Kind", "real")
    assert guessed(hands)["visits"] == ("missing",)
    hands.click_cell("attribute_table", "visits", "Attribute")
    combo = hands.see("fact_missing")
    assert isinstance(combo, QComboBox)
    combo.setFocus()
    hands.key(Qt.Key.Key_End)
    assert "visits" not in guessed(hands)
    hands.pick("attribute_table", "person_id", "Role", "–")
    assert guessed(hands)["person_id"] == ("kind", "missing"), "that it is protected was said; its kind is a guess"
    hands.click_cell("attribute_table", "town", "Attribute")
    hands.click("detail_drop")
    assert "town" not in guessed(hands), "a certificate names no kind of what is dropped"
    stack.setIndex(declared)

    # What is taken from the data is a guess again.
    session = hands.window.session
    hands.click("data_onward")
    session.edit_column("visits", "call it real", kind="real")
    hands.click_cell("attribute_table", "visits", "Attribute")
    hands.click("take_from_data")
    assert session.plan.column("visits").kind == "integer"
    assert guessed(hands) == {"visits": ("kind",)}
    stack.setIndex(declared)

    # The project keeps each mark.
    hands.pick("attribute_table", "visits", "Kind", "real")
    session = hands.window.session
    file = tmp_path / "people.workbench.toml"
    file.write_text(project_text(Planned.of(session), tmp_path), "utf-8")
    raw = tomllib.loads(file.read_text("utf-8"))
    assert [c.get("origin") for c in raw["column"]] == ["guess"] * 4
    assert read_project(file).plan == session.plan
    hands.click("data_onward")
    assert "guess" not in project_text(Planned.of(session), tmp_path)
    file.unlink()
    stack.setIndex(declared)

    # Release is refused with the sentence of the rule.
    session = hands.window.session
    sentence = refusal(plan(hands).guesses()).what.replace("missing", "missing values").replace("action", "dropping")
    hands.finish("tab_rows")
    told = hands.text("release_problem")
    assert told.lower().startswith(sentence.lower())
    assert told.endswith("confirm them in Data, Columns.")
    assert not hands.window.findChild(QWidget, "release_now").isEnabled()
    with Ledger.open() as ledger:
        with pytest.raises(InputError, match="unconfirmed guesses from the rows"):
            release_table(plan(hands).plan(), session.opened.table, tmp_path / "out.csv", ledger)
        assert list(ledger.releases()) == []
    hands.click("tab_data")
    hands.click("data_onward")
    hands.finish("tab_rows")
    assert hands.see("release_now").isEnabled()
    stack.setIndex(declared)

    # Training leads to the confirmation.
    hands.window.session.set_target("town")
    hands.finish("tab_train")
    assert "unconfirmed guesses from the rows" in hands.see("note_train").accessibleName()
    assert hands.see("train_start").text() == "Data →"
    hands.click("train_start")
    assert hands.see("data_onward").text() == BUTTON

    # Previews and studies take a guess.
    hands.click("tab_utility")
    hands.until(lambda: hands.window.page.primary.isEnabled())
    hands.finish("tab_preview")
    assert hands.sees("preview_distribution")
    stack.setIndex(declared)
    hands.click("tab_data")

    # A project is opened with its marks.
    file = Path(tmp_path / "people.workbench.toml")
    before = guessed(hands)
    hands.name_file(file)
    hands.key(Qt.Key.Key_S, CTRL)
    hands.until(file.exists)
    hands.idle()
    assert not hands.window.project.unsaved
    hands.window.project.open(file)
    hands.idle()
    assert guessed(hands) == before
    assert hands.see("data_onward").text() == BUTTON
    hands.click("tab_data")

    # One click confirms all of it and the path goes on.
    hands.click("data_onward")
    assert guessed(hands) == {}
    assert hands.cell("attribute_table", "person_id", "Role") == "identifier"
    assert hands.cell("attribute_table", "age", "Kind") == "integer"
    assert hands.window.rail.pages["data"].state(hands.window.session) == "ready"
    assert hands.see("data_onward").text() == "Decide →"
    assert hands.see("note_data").accessibleName().startswith("Every public fact is declared.")
    assert plan(hands).plan().column("age").origin == "declared"
    hands.click("data_onward")
    assert hands.window.page.objectName() == "page_ways"
    hands.idle()


def test_a_sample_is_declared_and_asks_nothing(people, press, idle):
    assert people.session.plan.guesses() == ()
    assert people.rail.pages["data"].state(people.session) == "ready"
    press(people, "data_onward")
    assert people.page.objectName() == "page_ways"
    idle(people)


def test_a_plan_without_a_table_has_no_guess(window):
    assert window.session.plan.guesses() == ()
    assert window.findChild(QLabel, "note_data").text() == ""


def test_a_guessed_kind_of_a_dropped_column_is_not_stated_as_if_somebody_had_declared_it():
    dropped = DraftColumn(name="b", kind="category", action="drop", guessed=("kind",))
    plan = DraftPlan(columns=(DraftColumn(name="a", kind="integer", lower=0, upper=9), dropped))
    assert plan.plan().column("b").kind is None, "whoever protects it later is asked for its kind"
    assert plan.plan().column("b").origin == "declared", "that it is dropped was confirmed"
    confirmed = DraftPlan(columns=(plan.columns[0], DraftColumn(name="b", kind="category", action="drop")))
    assert confirmed.plan().column("b").kind == "category"


def test_a_click_that_ends_an_entry_confirms_nothing_that_it_brings_up(hands):
    hands.window.session.edit_column("visits", "bounds", upper=None)
    assert hands.see("data_onward").text() == "Fill the next →"
    hands.click("data_onward")
    hands.keys("100")
    hands.click("data_onward")  # the button took the click, and with it the keyboard: the entry is read
    assert plan(hands).column("visits").upper == 100
    assert hands.see("data_onward").text() == BUTTON
    assert guessed(hands) == ALL, "the sentence was not there to be read"
    hands.qtbot.wait(QApplication.doubleClickInterval() + 100)
    hands.click("data_onward")
    assert guessed(hands) == {}

"""Synthetic rows: chosen, looked at in private, released once through the ledger, verified, and refused in words."""

from decimal import Decimal

import polars as pl
import pytest
from central_pages import enabled, pick, seen
from mishaps import retype, statuses, text_of
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QTableView, QWidget

from workbench.gui.session.account_task import read_account
from workbench.release.ledger.ledger import Ledger
from workbench.release.verification import verify_any
from workbench.synth import MARGINALS, MST


@pytest.fixture
def target(tmp_path):
    return tmp_path / "new-people.csv"


@pytest.fixture
def ready(people, finish, qtbot, target):
    """The page for the people sample at ε = 1, with an output in a folder of the test."""
    finish(people, "tab_synthetic")
    retype(people, qtbot, "release_target", target)
    return people


def test_what_is_chosen_previewed_and_refused_before_a_release_charges_nothing(
    ready, idle, qtbot, finish, press, target
):
    # What is chosen decides tables and cost.
    assert window_choice(ready) == ("auto", "label")
    assert text_of(ready, "release_epsilon") == "ε = 1"
    assert text_of(ready, "fact_replace_one") == "ε 2"
    assert text_of(ready, "fact_cap_left") == "this release sets it"
    assert text_of(ready, "fact_counts") == "8 noisy tables, 3 noisy choices of a pair"
    pick(ready, "synthetic_method", MARGINALS.title)
    idle(ready)
    assert text_of(ready, "fact_counts") == "4 noisy tables"
    assert "every column with the target" in text_of(ready, "synthetic_method_help")
    pick(ready, "synthetic_method", MST.title)
    ready.session.set_epsilon(Decimal("0.5"))
    idle(ready)
    assert text_of(ready, "release_epsilon") == "ε = 0.5"
    assert "noisy choice" in text_of(ready, "fact_counts")
    pick(ready, "synthetic_target", "sex")
    idle(ready)
    assert window_choice(ready) == ("mst", "sex")
    assert statuses() == []
    ready.session.undo_stack.setIndex(0)
    idle(ready)

    # Cuts follow rows and epsilon until somebody says how many.
    field = ready.findChild(QLineEdit, "synthetic_cuts")
    assert field.text() == ""
    assert field.placeholderText().startswith("auto: ")
    assert ready.page._pane.request().cuts is None
    retype(ready, qtbot, "synthetic_cuts", "5")
    idle(ready)
    assert ready.page._pane.request().cuts == 5
    retype(ready, qtbot, "synthetic_cuts", "1")
    idle(ready)
    assert text_of(ready, "synthetic_cuts_problem").startswith("cuts of numbers = ")
    assert not enabled(ready, "release_now")
    ready.session.undo_stack.setIndex(0)
    idle(ready)

    # Rows that are no number are refused beside their field.
    retype(ready, qtbot, "synthetic_rows", "many")
    idle(ready)
    assert text_of(ready, "synthetic_rows_problem").startswith("rows to draw = 'many' is not a whole number")
    assert not enabled(ready, "release_now")
    assert not enabled(ready, "synthetic_preview_start")
    ready.findChild(QLineEdit, "synthetic_rows").selectAll()
    qtbot.keyClick(ready.findChild(QLineEdit, "synthetic_rows"), Qt.Key.Key_Delete)
    idle(ready)
    assert not enabled(ready, "release_now")
    retype(ready, qtbot, "synthetic_rows", "150")
    idle(ready)
    assert not seen(ready, "synthetic_rows_problem")
    assert enabled(ready, "release_now")
    ready.session.undo_stack.setIndex(0)
    idle(ready)

    # A preview is private compares and charges nothing.
    assert not seen(ready, "synthetic_preview")
    finish(ready, "synthetic_preview_start")
    card = ready.findChild(QWidget, "synthetic_preview")
    assert card.isVisible()
    assert any(part.isVisible() and "PRIVATE" in part.text() for part in card.findChildren(QLabel))
    assert text_of(ready, "synthetic_preview_error").endswith(" %")
    assert "of the rows, on average, would have to move" in text_of(ready, "synthetic_preview_words")
    assert text_of(ready, "synthetic_preview_facts") == "draw 1, 2,000 rows at ε = 1: The best by forecast"
    picture = ready.findChild(QWidget, "synthetic_preview_spread")
    pick(ready, "synthetic_preview_column", "sex")
    assert picture.accessibleName() == "Distribution of sex, original and synthetic"
    assert "female" in picture.words_at(picture.width() * 0.25)
    press(ready, "synthetic_preview_correlations")
    assert "before" in text_of(ready, "synthetic_preview_pair_words")
    drawn = [[spread.sanitised for spread in card._found.spreads]]
    finish(ready, "synthetic_preview_start")
    drawn.append([spread.sanitised for spread in card._found.spreads])
    assert drawn[0] != drawn[1], "another draw, whose rounded figures may be the same"
    assert not seen(ready, "synthetic_preview_rows")  # rows of a preview are not shown, so they cannot be copied
    assert statuses() == []
    assert not target.exists()
    assert ready.session.account.cap is None
    ready.session.edit_column("zip", "drop zip", action="drop")
    assert not seen(ready, "synthetic_preview")  # it was of another plan
    ready.session.undo_stack.setIndex(0)
    idle(ready)

    # A kept column is told with the way to mend it.
    ready.session.edit_column("zip", "keep zip", action="keep")
    idle(ready)
    assert text_of(ready, "release_problem").startswith("The plan publishes zip as it is")
    assert not enabled(ready, "release_now")
    assert not enabled(ready, "synthetic_preview_start")
    press(ready, "release_hint")
    assert ready.page.objectName() == "page_protect"
    ready.session.undo_stack.setIndex(0)
    finish(ready, "tab_synthetic")

    # Guesses keep from a release and not from a preview.
    plan = ready.session.plan.with_columns({"age": {"guessed": ("kind",)}})
    ready.session.edit("guess", plan)
    idle(ready)
    assert seen(ready, "release_problem")
    assert not enabled(ready, "release_now")
    assert enabled(ready, "synthetic_preview_start")
    press(ready, "release_hint")
    assert ready.page.objectName() == "page_data"


def window_choice(window) -> tuple[str, str]:
    request = window.page._pane.request()
    return request.method, request.target


def test_rows_are_released_charged_once_verified_found_again_and_led_from(
    ready, finish, target, release, idle, press, qtbot
):
    # Rows are released charged once verified and looked at.
    told = release()
    assert "charges ε = 1 and writes 2,000 synthetic rows to new-people.csv" in told[0]
    assert "also sets the cap to ε = 1" in told[0]
    assert statuses() == ["charged"]
    assert ready.session.account.remaining == 0
    assert pl.read_csv(target).height == 2000
    assert verify_any(target) == []
    table = ready.findChild(QTableView, "synthetic_released_table")
    assert table.isVisible()
    assert table.model().rowCount() == 2000
    assert table.model().index(0, 0).data() == str(pl.read_csv(target, infer_schema=False)[0, 0])
    card = ready.findChild(QWidget, "synthetic_released")
    assert not card.badge.isVisible()  # released rows are public
    finish(ready, "synthetic_released_distribution")
    assert card.badge.isVisible()  # the original is not
    assert "of the rows, on average, would have to move" in text_of(ready, "synthetic_released_words")
    assert ready.rail.pages["release"].state(ready.session) == "ready"
    finish(ready, "release_onward")
    assert text_of(ready, "shown_release_id").startswith("locked")
    finish(ready, "shown_release_verify")
    assert text_of(ready, "shown_release_result").startswith("✓")
    finish(ready, "tab_synthetic")

    # After a release the highlighted button pays nothing.
    assert ready.page.primary.objectName() == "release_onward"
    assert text_of(ready, "release_problem") == ""  # of what was just released nobody is warned
    assert text_of(ready, "release_short") == "A second draw needs ε = 1, but nothing is left."
    assert not ready.findChild(QAbstractButton, "release_now").isEnabled()
    assert ready.findChild(QLineEdit, "release_target").text() != ""
    assert ready.session.has_released(ready.session.plan) is False  # no table of noisy rows was

    # Released lists it and offers no model of it.
    finish(ready, "release_way_rows")
    finish(ready, "tab_released")
    finish(ready, "shown_release_verify")
    assert text_of(ready, "shown_release_result").startswith("✓")
    assert not seen(ready, "shown_release_learn")

    # An earlier release is found again and compared.
    ready.show_page("data")
    ready.session.open(ready.session.opened, ready.session.plan)
    read_account(ready.session, ready.jobs)
    idle(ready)
    finish(ready, "tab_synthetic")
    assert not seen(ready, "synthetic_released_table")
    finish(ready, "synthetic_look")
    assert seen(ready, "synthetic_released_table")
    assert statuses() == ["charged"]
    target.write_bytes(target.read_bytes() + b"\n")
    finish(ready, "tab_released")
    finish(ready, "shown_release_verify")
    assert text_of(ready, "shown_release_result").startswith("✕")
    target.write_bytes(target.read_bytes()[:-1])

    # Estimates lead from synthetic rows to the rows.
    press(ready, "tab_estimate")
    assert not seen(ready, "estimate_open")
    retype(ready, qtbot, "estimate_release", target)
    finish(ready, "estimate_run")
    assert "count and average the synthetic rows as they are" in text_of(ready, "estimate_said")
    ready.session.may_leave = lambda then: True
    finish(ready, "estimate_open")
    assert ready.session.opened.source == str(target)


def test_without_cuts_of_ones_own_values_keep_the_steps_of_their_column(ready, idle, qtbot, release, target):
    ready.session.edit_column("income", "round", cells=10)
    idle(ready)
    told = text_of(ready, "synthetic_steps")
    assert told.startswith("While cuts are automatic, values keep their own steps")
    assert "income in steps of " in told
    rounded = set(ready.session.plan.plan().column("income").grid().labels)
    release()
    assert not set(map(str, pl.read_csv(target)["income"].to_list())) <= rounded
    retype(ready, qtbot, "synthetic_cuts", "5")
    idle(ready)
    assert text_of(ready, "synthetic_steps").startswith("Values are rounded as the plan says: ")


def test_a_preview_is_cancelled_and_drawn_again(ready, finish, press, idle, qtbot, standstill):
    standstill.go_on()
    idle(ready)
    standstill.stop()
    press(ready, "synthetic_preview_start")
    qtbot.waitUntil(lambda: seen(ready, "release_cancel"))
    assert not enabled(ready, "release_now")
    press(ready, "release_cancel")
    standstill.go_on()
    idle(ready)
    assert not seen(ready, "synthetic_preview")
    assert not seen(ready, "release_cancel")
    finish(ready, "synthetic_preview_start")
    assert seen(ready, "synthetic_preview")


def test_a_delta_stands_beside_epsilon_and_is_charged(ready, press, release, idle, qtbot, target):
    press(ready, "synthetic_delta_more")
    retype(ready, qtbot, "synthetic_delta", "0.1")
    idle(ready)
    assert "not below 1/rows" in text_of(ready, "release_problem")
    assert not enabled(ready, "release_now")
    retype(ready, qtbot, "synthetic_delta", "one")
    idle(ready)
    assert "is not a number" in text_of(ready, "synthetic_field_problem")
    retype(ready, qtbot, "synthetic_delta", "1e-6")
    idle(ready)
    assert text_of(ready, "release_epsilon") == "ε = 1, δ = 1e-06"
    assert text_of(ready, "fact_replace_one") == "ε 2, δ = 3.72e-06"
    assert "second" in text_of(ready, "fact_needs")
    (question,) = release()
    assert "This charges ε = 1 and δ = 1e-06" in question
    assert verify_any(target) == []
    with Ledger.open() as book:
        (entry,) = book.releases()
    assert (entry.epsilon, entry.delta) == (1, Decimal("0.000001"))


def test_what_is_impossible_is_declared_and_never_drawn(ready, release, idle, qtbot, target):
    field = ready.findChild(QLineEdit, "synthetic_impossible")
    retype(ready, qtbot, "synthetic_impossible", "sex = male & label = maybe")
    QTest.keyClick(field, Qt.Key.Key_Return)
    idle(ready)
    assert "'maybe' is not one of the public values of label" in text_of(ready, "release_problem")
    retype(ready, qtbot, "synthetic_impossible", "sex = male & label = yes; age = 0..30 & label = yes")
    QTest.keyClick(field, Qt.Key.Key_Return)
    idle(ready)
    release()
    assert verify_any(target) == []
    rows = pl.read_csv(target)
    assert rows.height > 1000
    assert rows.filter((pl.col("sex") == "male") & (pl.col("label") == "yes")).is_empty()
    assert rows.filter((pl.col("age") <= 30) & (pl.col("label") == "yes")).is_empty()
    assert not rows.filter((pl.col("age") > 30) & (pl.col("label") == "yes")).is_empty()

"""The Protect page: shares move and always sum to ε, forecasts follow, each edit is undone."""

from decimal import Decimal

import pytest
from hands import go_to
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QSlider, QWidget

from workbench.gui.pages.protect.share_model import (
    ACTION,
    ERROR,
    LOCK,
    MECHANISM,
    SHARE,
    evenly,
    settled,
    split,
    with_lock,
    with_share,
)
from workbench.params import ParameterError

CTRL = Qt.KeyboardModifier.ControlModifier
AGE, SEX, ZIP, INCOME = 2, 3, 4, 5


@pytest.fixture
def protect(people, qtbot, idle):
    """A window on the Protect page, with its first forecasts."""
    go_to(people, "protect")
    idle(people)
    return people


def choose(window, row: int, column: int) -> None:
    """Make a cell the current one by the keyboard's focus."""
    window.page.table.setFocus()
    window.page.table.setCurrentIndex(window.page.shares.index(row, column))


def type_share(window, qtbot, row: int, text: str) -> None:
    """Type a share into its cell and leave it by Return."""
    choose(window, row, SHARE)
    qtbot.keyClick(window.page.table, Qt.Key.Key_Return)
    field = next(f for f in window.findChildren(QLineEdit, "share_editor") if f.isVisible())
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    QApplication.processEvents()


def click_lock(window, qtbot, row: int) -> None:
    table = window.page.table
    table.scrollTo(window.page.shares.index(row, LOCK))
    place = table.visualRect(window.page.shares.index(row, LOCK)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)


def text(window, row: int, column: int) -> str:
    return window.page.shares.index(row, column).data()


def for_values(window) -> None:
    """Say of every column that each of its values is to be near the truth."""
    plan = window.session.plan
    window.session.edit("values", plan.with_columns({c.name: {"purpose": "values"} for c in plan.columns}))


def test_shares_are_typed_locked_moved_and_refused_and_errors_follow(protect, idle, qtbot, press, finish):
    # Every protected attribute has an error in its unit.
    assert text(protect, AGE, MECHANISM) == "Duchi mechanism  ★"
    assert text(protect, AGE, ERROR).startswith("mean ± ")
    assert text(protect, SEX, ERROR).startswith("shares ± ")
    assert text(protect, 0, ERROR) == "–"
    assert protect.page.shares.outlook_at(SEX).statistic_in_words(0.9) == "shares ± 100 %", "as Decide says it"
    for_values(protect)
    idle(protect)
    assert text(protect, AGE, MECHANISM) == "piecewise mechanism  ★"
    assert text(protect, AGE, ERROR).startswith("off by ")
    assert text(protect, SEX, ERROR).endswith("% changed ⚠")  # at so small a share its relations fade
    protect.session.undo_stack.setIndex(0)
    idle(protect)

    # A typed share is locked and the others make room.
    type_share(protect, qtbot, AGE, "0.3")
    plan = protect.session.plan
    assert plan.column("age").epsilon == Decimal("0.3")
    assert text(protect, AGE, LOCK) == "locked"
    assert [text(protect, row, SHARE) for row in (AGE, SEX, INCOME)] == ["0.3", "0.175", "0.175"]
    assert plan.plan().row_epsilon() == Decimal(1)
    idle(protect)
    assert all(protect.page.shares.current(row) for row in (AGE, SEX, INCOME))
    protect.session.undo_stack.setIndex(0)

    # A share that does not fit is refused with its reason.
    before = protect.session.plan
    type_share(protect, qtbot, AGE, "1.5")
    problem = protect.findChild(QLabel, "share_problem")
    assert problem.isVisible()
    assert "does not fit" in problem.text()
    assert protect.session.plan == before

    # A lock holds its share when the slider moves another.
    click_lock(protect, qtbot, AGE)
    assert protect.session.plan.column("age").epsilon == Decimal("0.2")
    choose(protect, INCOME, SHARE)
    slider = protect.findChild(QSlider, "share_slider")
    for _ in range(4):
        qtbot.keyClick(slider, Qt.Key.Key_PageUp)
    shares = protect.page.shares.shares()
    assert shares["age"] == Decimal("0.2")
    assert float(shares["income"]) == pytest.approx(0.4, abs=1e-9)
    assert float(shares["sex"]) == pytest.approx(0.4 / 3, abs=1e-9)
    assert sum(shares.values()) == 1
    protect.session.undo_stack.setIndex(0)

    # A lock is ticked by space and freed without a jump.
    choose(protect, SEX, LOCK)
    qtbot.keyClick(protect.page.table, Qt.Key.Key_Space)
    assert text(protect, SEX, LOCK) == "locked"
    qtbot.keyClick(protect.page.table, Qt.Key.Key_Space)
    assert text(protect, SEX, LOCK) == ""
    assert float(protect.page.shares.shares()["sex"]) == pytest.approx(0.2, abs=1e-9)
    protect.session.undo_stack.setIndex(0)

    # One share always stays free.
    for row in (AGE, SEX, ZIP, INCOME, INCOME + 1):
        click_lock(protect, qtbot, row)
    assert [c.name for c in protect.session.plan.protected if c.epsilon is None] == ["label"]
    assert "one share stays free" in protect.findChild(QLabel, "share_problem").text().lower()
    protect.session.undo_stack.setIndex(0)

    # Epsilon is typed and each error follows.
    before = text(protect, AGE, ERROR)
    field = protect.findChild(QLineEdit, "plan_epsilon_field")
    field.selectAll()
    qtbot.keyClicks(field, "6")
    idle(protect)
    assert protect.session.plan.epsilon == 6
    assert text(protect, AGE, SHARE) == "1.2"
    assert text(protect, AGE, ERROR) != before
    assert "ε = 6 exactly" in protect.findChild(QLabel, "share_sum").text()
    protect.session.undo_stack.setIndex(0)
    idle(protect)

    # A share at which nothing is hidden is warned of.
    field = protect.findChild(QLineEdit, "plan_epsilon_field")
    field.selectAll()
    qtbot.keyClicks(field, "1000")
    idle(protect)
    assert protect.page.shares.index(SEX, ERROR).data().endswith("⚠")
    choose(protect, SEX, ERROR)
    warning = protect.findChild(QLabel, "share_warning")
    qtbot.waitUntil(lambda: "nearly every value is published unchanged" in warning.text())
    protect.session.undo_stack.setIndex(0)
    idle(protect)

    # Each edit is undone.
    session = protect.session
    before = session.plan
    type_share(protect, qtbot, AGE, "0.3")
    click_lock(protect, qtbot, SEX)
    press(protect, "split_evenly")
    assert session.undo_stack.count() == 3
    for _ in range(3):
        qtbot.keyClick(protect, Qt.Key.Key_Z, CTRL)
    assert session.plan == before
    assert text(protect, AGE, SHARE) == "0.2"

    # The button leads to the preview.
    finish(protect, "to_preview")
    assert protect.page.objectName() == "page_preview"


def test_what_the_page_warns_of_and_how_rows_are_ordered(protect, idle, qtbot):
    # What a constant answer would do as well is said.
    for_values(protect)
    idle(protect)
    choose(protect, INCOME, SHARE)
    assert text(protect, INCOME, ERROR).endswith("⚠")
    assert "at no privacy cost" in protect.findChild(QLabel, "share_warning").text()
    protect.session.undo_stack.setIndex(0)
    idle(protect)

    # A kept column warns.
    choose(protect, ZIP, ACTION)
    assert protect.page.shares.setData(protect.page.shares.index(ZIP, ACTION), "keep")
    assert protect.session.plan.column("zip").action == "keep"
    assert text(protect, ZIP, ERROR) == "not protected"
    assert "no ε" in protect.findChild(QLabel, "share_warning").text()
    assert "zip" in protect.findChild(QLabel, "note_protect").accessibleName()
    assert sum(protect.page.shares.shares().values()) == 1
    protect.session.undo_stack.setIndex(0)

    # Bounds read off the data warn.
    protect.session.edit_column("age", "take", bounds_origin="data")
    choose(protect, AGE, SHARE)
    assert text(protect, AGE, 0) == "age  ⚠"
    protect.session.undo_stack.setIndex(0)

    # A column that is dropped has no purpose to choose.
    choose(protect, 0, MECHANISM)
    QApplication.processEvents()
    assert not any(f.isVisible() for f in protect.findChildren(QComboBox, "share_purpose"))

    # What is released is listed first and a row does not move while it is edited.
    table, plan = protect.page.table, protect.session.plan
    released = [at for at, c in enumerate(plan.columns) if c.action != "drop"]
    assert released[0] != 0, "the first columns of the table are dropped"
    assert list(table.in_sight())[: len(released)] == released
    protect.session.edit_column(plan.columns[AGE].name, "drop", action="drop")
    idle(protect)
    assert list(table.in_sight())[: len(released)] == released
    go_to(protect, "preview")
    go_to(protect, "protect")
    assert list(table.in_sight())[: len(released) - 1] == [at for at in released if at != AGE]
    protect.session.undo_stack.setIndex(0)
    idle(protect)

    # What hardly survives is said on the page and before the release.
    note = protect.findChild(QLabel, "note_protect")
    assert note.accessibleName().startswith("⚠ Mostly noise at this ε: zip.")  # of its many names, over all rows
    for_values(protect)
    idle(protect)
    assert note.accessibleName().startswith("⚠ Mostly noise at this ε: age, zip and income.")
    protect.session.set_epsilon(Decimal(40))
    idle(protect)
    assert "noise" not in note.accessibleName()
    protect.session.set_epsilon(Decimal(1))
    go_to(protect, "rows")
    idle(protect)
    marked = [w.text() for w in protect.page.findChildren(QLabel) if "will be mostly noise" in w.toolTip()]
    assert len(marked) == 3
    assert all(text.endswith("⚠") for text in marked)


def test_mechanisms_are_compared_chosen_and_follow_what_a_column_is_for(protect, idle, qtbot):
    # Both errors of every mechanism are in sight.
    choose(protect, AGE, MECHANISM)
    idle(protect)
    bars = protect.findChild(QWidget, "candidate_bars").accessibleName()
    for title in ("Duchi  ★", "hybrid", "three outputs", "piecewise", "square wave", "exponential", "bounded Laplace"):
        assert title in bars
    assert "staircase" not in bars
    assert bars.count("one value off by ") == bars.count("mean ± ") == len(protect.page.shares.choices_at(AGE)) - 1

    # Another mechanism is chosen from those that fit.
    model = protect.page.shares
    words = next(words for words, name in model.choices_at(AGE) if name == "bounded-laplace")
    assert model.setData(model.index(AGE, MECHANISM), words)
    idle(protect)
    assert text(protect, AGE, MECHANISM) == "bounded Laplace"
    choose(protect, AGE, SHARE)
    assert "The Duchi mechanism ★ is recommended" in protect.findChild(QLabel, "share_why").text()
    protect.session.undo_stack.setIndex(0)
    idle(protect)

    # What a column is for decides the mechanism and is undone.
    choose(protect, AGE, MECHANISM)
    why = protect.findChild(QLabel, "share_why")
    assert text(protect, AGE, MECHANISM) == "Duchi mechanism  ★"
    assert text(protect, AGE, ERROR).startswith("mean ± ")
    assert "one value off by " in why.text()
    assert "(of clamped values)" in why.text()
    assert "Every released value is one of the two bounds" in why.text()
    assert "staircase" not in {name for _, name in protect.page.shares.choices_at(AGE)}  # it has no unbiased mean
    choose_purpose(protect, qtbot, "each value near the truth")
    idle(protect)
    assert protect.session.plan.column("age").purpose == "values"
    assert text(protect, AGE, MECHANISM) == "piecewise mechanism  ★"
    assert text(protect, AGE, ERROR).startswith("off by ")
    assert "two bounds" not in why.text()
    assert "staircase" in {name for _, name in protect.page.shares.choices_at(AGE)}
    assert protect.session.plan.plan().column("age").purpose == "values"
    protect.session.undo_stack.undo()
    idle(protect)
    assert protect.session.plan.column("age").purpose == "statistics"
    assert text(protect, AGE, MECHANISM) == "Duchi mechanism  ★"

    # A mechanism without an unbiased mean stays in the list where it was chosen.
    for_values(protect)
    idle(protect)
    model = protect.page.shares
    words = next(words for words, name in model.choices_at(AGE) if name == "staircase")
    assert model.setData(model.index(AGE, MECHANISM), words)
    choose(protect, AGE, MECHANISM)
    idle(protect)
    choose_purpose(protect, qtbot, "means and counts")
    idle(protect)
    assert text(protect, AGE, MECHANISM) == "bounded staircase"
    assert text(protect, AGE, ERROR).startswith("no unbiased mean")
    assert "The Duchi mechanism ★ is recommended" in protect.findChild(QLabel, "share_why").text()


def test_the_split_is_exact_whatever_is_moved_or_locked(people):
    # The split is exact whatever is moved.
    plan = people.session.plan.with_(epsilon=Decimal("0.7"))
    for name, share in (("age", "0.123456"), ("sex", "0.0001"), ("income", "0.33"), ("age", "0.2")):
        plan = with_share(plan, name, Decimal(share), lock=False)
        assert sum(split(plan).values()) == Decimal("0.7")
        assert float(split(plan)[name]) == pytest.approx(float(share), abs=1e-9)
    assert sum(split(with_lock(plan, "zip", True)).values()) == Decimal("0.7")
    assert set(split(evenly(plan)).values()) == {Decimal("0.14")}
    with pytest.raises(ParameterError, match="does not fit"):
        with_share(plan, "age", Decimal("0.7"), lock=True)

    # All locked by another page frees the largest.
    plan = people.session.plan
    for column in plan.protected:
        plan = plan.with_column(column.name, epsilon=Decimal("0.1"))
    assert sum(split(settled(plan)).values()) == 1


def test_a_narrower_table_takes_the_place_of_the_attribute_in_sight(people, finish, load, tmp_path):
    finish(people, "tab_protect")
    shares = people.page.shares
    people.page.table.setCurrentIndex(shares.index(shares.rowCount() - 1, 0))
    narrow = tmp_path / "narrow.csv"
    narrow.write_text("a,b\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(50)), "utf-8")
    load(people, narrow)
    assert shares.rowCount() == 2
    assert not people.findChild(QLabel, "banner_text").isVisible()


def choose_purpose(window, qtbot, words: str) -> None:
    """Open the question beside the attribute's name and click an answer."""
    field = next(f for f in window.findChildren(QComboBox, "share_purpose") if f.isVisible())
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    view = field.view()
    qtbot.waitUntil(view.isVisible)
    qtbot.wait(QApplication.doubleClickInterval() + 50)  # until then a list takes a click for the one that opened it
    at = view.model().index(field.findText(words), 0)
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(at).center())
    qtbot.waitUntil(lambda: not view.isVisible())

"""The Preview page: two sides that go together, draws that cost nothing and cannot be taken away."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import numpy as np
import pytest
from hands import go_to
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QPushButton, QWidget

from workbench.gui.pages.preview.tasks import draw_column, draw_rows, recovered
from workbench.gui.widgets.basic import PRIVATE
from workbench.sanitize import realisation
from workbench.sanitize.realisation import FIRST_ROWS, Realisation
from workbench.signals.cancel import CancelToken

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def preview(people, idle):
    """A window on the Preview page with its first draw."""
    go_to(people, "preview")
    idle(people)
    return people


def cells(view) -> list[list[str]]:
    model = view.model()
    return [[model.index(r, c).data() for c in range(model.columnCount())] for r in range(20)]


def test_both_sides_go_together_another_draw_costs_nothing_and_each_column_is_looked_at(
    preview, finish, qtbot, idle, visit, press
):
    # Both sides show the columns that leave mark changed cells and scroll together.
    # Both sides show the columns that leave.
    left, right = preview.page.sides.left, preview.page.sides.right
    for view in (left, right):
        heads = [view.model().headerData(c, Qt.Orientation.Horizontal) for c in range(view.model().columnCount())]
        assert heads == ["age", "sex", "zip", "income", "label"]
        assert view.model().rowCount() == 2000
    assert cells(left) != cells(right)

    # A changed cell is bold tinted and said to be changed.
    left, right = preview.page.sides.left.model(), preview.page.sides.right.model()
    seen = set()
    for row in range(50):
        before, after = left.index(row, 1), right.index(row, 1)
        changed = before.data() != after.data()
        seen.add(changed)
        assert (after.data(Qt.ItemDataRole.BackgroundRole) is not None) == changed
        assert isinstance(after.data(Qt.ItemDataRole.FontRole), QFont) == changed
        assert after.data(Qt.ItemDataRole.AccessibleTextRole).endswith(", changed") == changed
    assert seen == {True, False}

    # The sides scroll together.
    left, right = preview.page.sides.left, preview.page.sides.right
    left.verticalScrollBar().setValue(700)
    assert right.verticalScrollBar().value() == 700
    right.verticalScrollBar().setValue(30)
    assert left.verticalScrollBar().value() == 30

    # Another draw differs and leaves plan and account alone.
    before, plan, account = cells(preview.page.sides.right), preview.session.plan, preview.session.account
    original = cells(preview.page.sides.left)
    finish(preview, "another_draw")
    assert cells(preview.page.sides.right) != before
    assert cells(preview.page.sides.left) == original
    assert preview.findChild(QLabel, "preview_drawn").text() == "draw 2"
    assert (preview.session.plan, preview.session.account) == (plan, account)

    # Rows and bars are looks at one draw.
    for _ in range(2):
        page, model = preview.page, preview.page.sides.right.model()
        tinted = sum(model.is_changed(row, 0) for row in range(model.rowCount()))
        facts = preview.findChild(QLabel, "preview_facts")
        assert facts.text() == f"{100 * tinted / 2000:.3g} % changed"
        assert facts.toolTip() == facts.accessibleName() == f"{facts.text()[:-8]} of 2,000 rows changed in this draw"
        drawn = [model.index(row, 0).data() for row in range(model.rowCount())]
        bars = {page.distribution.words_at(x) for x in range(page.distribution.width())} - {""}
        assert len(bars) == 28
        for words in bars:
            low, _, high = words.split(":")[0].partition(" – ")
            counted = sum(int(low) <= int(value) <= int(high or low) for value in drawn)
            assert words.endswith(f", {counted:,} after the draw")
        finish(preview, "another_draw")

    # A preview is not copied.
    QApplication.clipboard().setText("before")
    right = preview.page.sides.right
    right.setFocus()
    right.setCurrentIndex(right.model().index(0, 0))
    qtbot.keyClick(right, Qt.Key.Key_C, CTRL)
    assert QApplication.clipboard().text() == "before"
    assert "private" in preview.findChild(QLabel, "banner_text").text()

    # The page bears one badge whatever it shows.
    for view in ("preview_spread", "preview_relations"):
        finish(preview, view)
        badges = [w for w in preview.page.findChildren(QLabel) if w.text() == PRIVATE and w.isVisible()]
        assert len(badges) == 1
    finish(preview, "preview_spread")

    # What a recipient can recover stands beside the noisy column.
    words = preview.findChild(QLabel, "preview_recovered").accessibleName()
    assert words.startswith("Recovered from this draw: mean ")
    assert "(95 %: " in words
    assert "; the original's is 4" in words
    preview.page.sides.column_chosen.emit("sex")
    idle(preview)
    words = preview.findChild(QLabel, "preview_recovered").accessibleName()
    assert words.startswith("Recovered from this draw, to about ± ")
    assert "female" in words
    assert "recovered (" in preview.page.distribution.words_at(60)
    assert preview.page.distribution.accessibleDescription() == words
    badges = [w for w in preview.page.findChildren(QLabel) if w.text() == PRIVATE and w.isVisible()]
    assert badges, "what is recovered stands beside the original: it is private"
    preview.page.sides.column_chosen.emit("age")
    idle(preview)

    # The column of the current cell is the one that is drawn.
    left = preview.page.sides.left
    left.setFocus()
    left.setCurrentIndex(left.model().index(0, 0))
    qtbot.keyClick(left, Qt.Key.Key_Right)
    idle(preview)
    assert preview.findChild(QComboBox, "preview_column").currentText() == "sex"
    assert preview.page.distribution.accessibleName().startswith("Distribution of sex")
    assert "rows" in preview.page.distribution.words_at(60)
    assert preview.page.sides.right.currentIndex().column() == 1
    preview.page.sides.column_chosen.emit("age")
    idle(preview)

    # A column that is chosen while rows are drawn waits for them.
    choice = preview.findChild(QComboBox, "preview_column")
    qtbot.mouseClick(preview.findChild(QPushButton, "another_draw"), Qt.MouseButton.LeftButton)
    choice.setFocus()
    qtbot.keyClick(choice, Qt.Key.Key_Down)
    assert [job.key for job in preview.jobs.running] == ["preview-rows"]
    idle(preview)
    assert preview.page.distribution.accessibleName().startswith("Distribution of sex")
    model = preview.page.sides.right.model()
    tinted = sum(model.is_changed(row, 1) for row in range(model.rowCount()))
    assert preview.findChild(QLabel, "preview_facts").text() == f"{100 * tinted / 2000:.3g} % changed"

    # An edit elsewhere draws again when the page is seen.
    preview.show_page("data")
    preview.session.edit_column("label", "drop label", action="drop")
    visit(preview, "preview")
    assert preview.page.sides.right.model().columnCount() == 4

    # The other rows say where they are previewed.
    press(preview, "preview_way_synthetic")
    assert preview.page.objectName() == "page_release"
    assert preview.statusBar().currentMessage() == "Synthetic rows are set and previewed in Settings."


def test_without_a_table_the_page_says_so(window):
    window.show_page("preview")
    assert "Open a table" in window.findChild(QLabel, "preview_nothing_why").text()
    shown = [label.text() for label in window.page.findChildren(QLabel) if label.isVisible()]
    assert "PRIVATE – NOT FOR RELEASE" not in shown, "there is nothing private to see"
    assert not window.findChild(QWidget, "preview_way_rows").isVisible()


def test_a_draw_counts_every_row_is_the_same_again_at_any_length_and_in_no_other_run(people, monkeypatch):
    # A draw counts every row is the same again and what is recovered holds the original.
    # The spread counts every row on both sides.
    table, plan = people.session.opened.table, people.session.plan.plan()
    for name in ("age", "sex", "income"):
        column = draw_column(table, plan, name, 1, CancelToken())
        assert sum(column.original) == sum(column.sanitised) == column.rows == 2000
        assert len(column.labels) == len(column.original) <= 31

    # The same draw is the same rows.
    table, plan = people.session.opened.table, people.session.plan.plan()
    first, again = (draw_rows(table, plan, 5, CancelToken()).sanitised for _ in range(2))
    assert first.equals(again)

    # The interval of what is recovered holds the original.
    table = people.session.opened.table
    plan = people.session.plan.with_(epsilon=Decimal(5)).plan()  # 1 for each column
    held = 0
    for number in range(1, 13):
        column = draw_column(table, plan, "label", number, CancelToken())
        shares = recovered(plan, column, CancelToken()).shares
        assert shares is not None
        low, _, high = shares["no"]
        assert high - low < 0.2 * column.rows
        held += low <= column.original[0] <= high
    assert held >= 6  # of twelve at 95 %: fewer than that would happen once in two million

    # Every look at a long table sees the same cells.
    table, plan = people.session.opened.table, people.session.plan.plan()
    rng = np.random.default_rng(1)
    long = dataclasses.replace(table, frame=table.frame[rng.integers(0, table.rows, 350_123)])
    drawn = [Realisation(long, plan, number, CancelToken()) for number in (3, 3, 4)]
    assert drawn[0].every == 4
    for name in ("age", "sex", "income"):
        whole, again, other = (one.all_rows(name) for one in drawn)
        assert np.array_equal(whole.after, again.after)
        assert not np.array_equal(whole.after, other.after)
        assert np.array_equal(whole.after[:FIRST_ROWS], drawn[0].first_rows(name).after)
        assert np.array_equal(whole.after[::4], drawn[0].spaced_rows(name).after)
        assert np.array_equal(whole.before[::4], drawn[0].spaced_rows(name).before)
    column = draw_column(long, plan, "age", 3, CancelToken())
    whole = drawn[0].all_rows("age")
    assert column.changed == np.count_nonzero(whole.before != whole.after)

    # A draw cannot be drawn again by another run. A picture of a preview would else be undone in part: whoever
    # knows the draw knows which cells were exchanged.
    table, plan = people.session.opened.table, people.session.plan.plan()

    def draw():
        return Realisation(table, plan, 1, CancelToken()).all_rows("age").after

    first = draw()
    assert np.array_equal(first, draw())
    monkeypatch.setattr(realisation, "_KEY", bytes(32))  # another process has another key
    assert not np.array_equal(first, draw())


def test_correlations_of_a_former_draw_are_not_shown_as_those_of_the_present_one(preview, finish, press):
    press(preview, "preview_relations")
    press(preview, "preview_spread")  # while they are compared
    finish(preview, "another_draw")
    assert preview.findChild(QLabel, "preview_drawn").text() == "draw 2"
    assert preview.page.correlations.map.names == ()
    finish(preview, "preview_relations")
    assert "draw 2" in preview.findChild(QLabel, "preview_facts").accessibleName()


def test_a_preview_that_takes_a_while_says_that_it_is_being_drawn(people, standstill):
    go_to(people, "preview")
    waiting = people.findChild(QLabel, "preview_waiting")
    assert waiting.isVisible()
    assert waiting.text() == "Drawing the preview…"

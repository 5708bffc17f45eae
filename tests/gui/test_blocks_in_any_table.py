"""Blocks of a spreadsheet, one value for all selected, sorting and the context menu: in every table, by one base."""

from __future__ import annotations

import pytest
from hands import CTRL, Hands
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication

from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import EditedModel
from workbench.gui.widgets.table_view import LinesTable, TableView


@pytest.fixture
def hands(people, qtbot) -> Hands:
    """Hands at the people sample."""
    people.activateWindow()
    return Hands(people, qtbot)


def paste(hands: Hands, table: str, name: str, heading: str, text: str) -> None:
    """Put a block on the clipboard, go to a cell, and paste it there."""
    QGuiApplication.clipboard().setText(text)
    hands.click_cell(table, name, heading)
    hands.key(Qt.Key.Key_V, CTRL)
    hands.idle()


def add(hands: Hands, table: str, name: str, heading: str) -> None:
    """Select a row besides those that are."""
    view = hands.table(table)
    place = view.visualRect(hands.index(table, name, heading)).center()
    hands.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, CTRL, place)


def undo(hands: Hands) -> None:
    hands.window.session.undo_stack.undo()
    hands.idle()


def test_a_block_goes_over_actions_mechanisms_shares_and_locks_as_one_step(hands):
    hands.click("tab_protect")
    hands.idle()
    plan, before = lambda name: hands.window.session.plan.column(name), hands.window.session.plan
    first, second = (c.name for c in before.protected[:2])
    paste(hands, "share_table", first, "Attribute", f"{first}\t\t\t0.2\n{second}\tdrop\n")
    assert (str(plan(first).epsilon), plan(second).action) == ("0.2", "drop")
    assert hands.window.session.undo_stack.undoText() == "paste 2 rows"
    undo(hands)
    assert hands.window.session.plan == before
    paste(hands, "share_table", first, "Lock", "yes")
    assert plan(first).epsilon is not None
    undo(hands)


def test_a_block_that_is_wrong_changes_nothing(hands):
    hands.click("tab_protect")
    hands.idle()
    before, steps = hands.window.session.plan, hands.window.session.undo_stack.count()
    for heading, block, part in (
        ("Action", "protect\ndrops", "row 2"),
        ("Action", "drop\tnoise", "mechanism"),
        ("Share of ε", "much", "'much' is not a share"),
        ("Share of ε", "\tperhaps", "neither yes nor no"),
        ("Expected error", "3", "cannot be edited"),
        ("Expected error", "1\t2", "do not fit"),
        ("Attribute", "aeg\tdrop", "the table has no row 'aeg'"),
        ("Action", "", "no cells"),
    ):
        paste(hands, "share_table", before.protected[0].name, heading, block)
        assert part in hands.see("banner").accessibleName(), block
        assert (hands.window.session.plan, hands.window.session.undo_stack.count()) == (before, steps)


def test_figures_that_are_asked_for_are_pasted_filled_in_and_undone(hands):
    hands.window.session.choose_way("statistics")
    hands.window.show_page("release")
    hands.idle()
    model = hands.table("statistics_table").model()
    wanted = lambda: {(s.statistic, s.column, s.bins) for s in model.wanted()}  # noqa: E731 - what is asked for now
    hands.click("statistics_none")
    assert not wanted()
    paste(hands, "statistics_table", "age", "Column", "age\tyes\t7\tyes\nincome\tno\t\tx\n")
    assert wanted() == {("histogram", "age", 7), ("mean", "age", None), ("mean", "income", None)}
    undo(hands)
    assert not wanted()
    undo(hands)
    assert wanted()
    hands.window.session.undo_stack.redo()
    paste(hands, "statistics_table", "age", "Column", "age\t\t\tperhaps\n")
    assert not wanted()
    hands.click_cell("statistics_table", "age", "Sum")
    hands.click_cell("statistics_table", "income", "Column")
    add(hands, "statistics_table", "age", "Column")
    for _ in range(5):
        hands.key(Qt.Key.Key_Right, CTRL)
    hands.key(Qt.Key.Key_D, CTRL)
    assert wanted() == {("sum", "age", None), ("sum", "income", None)}


def test_an_action_is_used_for_all_selected(hands):
    hands.click("tab_protect")
    hands.idle()
    before = hands.window.session.plan
    first, second = (c.name for c in before.protected[:2])
    paste(hands, "share_table", first, "Action", "drop")
    add(hands, "share_table", second, "Action")
    hands.key(Qt.Key.Key_D, CTRL)
    assert {hands.window.session.plan.column(name).action for name in (first, second)} == {"protect"}


def test_wishes_and_needed_columns_are_pasted(hands):
    hands.click("tab_questions")
    hands.idle()
    needed = set(hands.window.session.questions.needed)
    name = next(iter(needed))
    paste(hands, "question_columns", name, "Needed", "no")
    assert set(hands.window.session.questions.needed) == needed - {name}
    undo(hands)
    assert set(hands.window.session.questions.needed) == needed


def test_every_table_has_copy_and_sort_in_its_menu_and_every_edited_one_paste_and_fill(hands):
    pages = "questions", "data", "ways", "protect", "release", "utility", "compare", "memory", "released", "ledger"
    for page in pages:
        hands.window.show_page(page)
        hands.idle()
    hands.window.session.choose_way("statistics")
    hands.window.show_page("release")
    hands.idle()
    tables = hands.window.findChildren(TableView)
    assert len({table.objectName() for table in tables}) >= 11
    for table in tables:
        entries = {action.text() for action in table.actions()}
        if table.objectName() != "curve_table":  # its page has the key, and copies its badge with it
            assert "Copy" in entries, table.objectName()
        if isinstance(table, SettingsTable | LinesTable):
            assert "Sort by This Column" in entries, table.objectName()
        model = table.model()
        edited = isinstance(model, EditedModel) and any(c.edit or c.tick for c in model.columns)
        assert ({"Paste", "Use for All Selected"} <= entries) == edited, table.objectName()


def test_a_table_of_lines_is_sorted_by_its_headings_as_numbers(qtbot, window):
    from workbench.gui.widgets.table_model import Cell, Column

    table = LinesTable(window.session, "toy_lines", "Toys", (Column("Toy"), Column("Price", right=True)))
    qtbot.addWidget(table)
    table.lines.show_lines([(Cell("a"), Cell("10")), (Cell("b"), Cell("9")), (Cell("c"), Cell("–"))])
    table.show()
    shown = lambda: [table.lines.cell(table.verticalHeader().logicalIndex(at), 0).text for at in range(3)]  # noqa: E731
    heads = table.horizontalHeader()
    place = QPoint(heads.sectionViewportPosition(1) + 8, 8)
    qtbot.mouseClick(heads.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert shown() == ["b", "a", "c"]
    qtbot.mouseClick(heads.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert shown() == ["a", "b", "c"]
    prices = {"a": "1", "b": "9", "d": "3", "c": "–"}
    table.lines.show_lines([(Cell(toy), Cell(price)) for toy, price in prices.items()])
    assert shown() == ["b", "d", "a"]


def test_a_click_on_a_row_chooses_it_and_sets_nothing_else(hands):
    """ε, plan, way, target and what Train offers are set by cells that are edited and by buttons that say so."""
    session, window = hands.window.session, hands.window
    state = lambda: (session.plan, session.way, session.to_train.value, session.questions, session.undo_stack.count())  # noqa: E731
    pages = "questions", "data", "ways", "protect", "release", "compare", "memory", "released", "ledger"
    clicked = set()
    for page in pages:
        window.show_page(page)
        hands.idle()
        before = state()
        for table in window.page.findChildren(TableView):
            model = table.model()
            if not table.isVisible() or not model.rowCount():
                continue
            for column in range(model.columnCount()):
                index = model.index(model.rowCount() - 1, column)
                place = table.visualRect(index)
                if (
                    not place.isValid()
                    or table.isRowHidden(index.row())
                    or model.cell(index.row(), column).ticked is not None
                ):
                    continue
                at = QPoint(place.left() + 6, place.center().y())
                hands.qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
                clicked.add(table.objectName())
        hands.idle()
        assert state() == before, page
    assert {"question_columns", "attribute_table", "decide_table", "share_table"} <= clicked

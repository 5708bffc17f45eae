"""Blocks of a spreadsheet, one value for all selected, sorting and the context menu: in every table, by one base."""

import pytest
from hands import CTRL, NO_KEY, SHIFT, Hands
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QSplitter
from survey import NEEDED

from workbench.gui.widgets.table_view import LinesTable


@pytest.fixture
def hands(people, qtbot):
    people.activateWindow()
    return Hands(people, qtbot)


def paste(hands: Hands, table: str, name: str, heading: str, text: str) -> None:
    """Put a block on the clipboard, go to a cell, and paste it there."""
    QGuiApplication.clipboard().setText(text)
    hands.click_cell(table, name, heading)
    hands.key(Qt.Key.Key_V, CTRL)
    hands.idle()


def add(hands: Hands, table: str, name: str, heading: str) -> None:
    view = hands.table(table)
    place = view.visualRect(hands.index(table, name, heading)).center()
    hands.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, CTRL, place)


def undo(hands: Hands) -> None:
    hands.window.session.undo_stack.undo()
    hands.idle()


def test_blocks_go_over_actions_figures_and_needed_columns_and_a_wrong_one_changes_nothing(hands):
    # A block goes over actions mechanisms shares and locks as one step.
    hands.finish("tab_protect")
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

    # A block that is wrong changes nothing.
    hands.finish("tab_protect")
    before, steps = hands.window.session.plan, hands.window.session.undo_stack.count()
    for heading, block, part in (
        ("Action", "protect\ndrops", "row 2"),
        ("Action", "drop\tnoise", "mechanism"),
        ("Share of ε", "much", "'much' is not a share"),
        ("Share of ε", "\tperhaps", "neither yes nor no"),
        ("Expected error", "3", "cannot be edited"),
        ("Expected error", "1\t2", "not fit from here on"),
        ("Attribute", "aeg\tdrop", "the table has no row 'aeg'"),
        ("Action", "", "no cells"),
    ):
        paste(hands, "share_table", before.protected[0].name, heading, block)
        assert part in hands.see("banner").accessibleName(), block
        assert (hands.window.session.plan, hands.window.session.undo_stack.count()) == (before, steps)

    # An action is used for all selected.
    hands.finish("tab_protect")
    before = hands.window.session.plan
    first, second = (c.name for c in before.protected[:2])
    paste(hands, "share_table", first, "Action", "drop")
    add(hands, "share_table", second, "Action")
    hands.key(Qt.Key.Key_D, CTRL)
    assert {hands.window.session.plan.column(name).action for name in (first, second)} == {"protect"}
    hands.window.session.undo_stack.setIndex(0)

    # Wishes and needed columns are pasted.
    hands.finish("tab_questions")
    needed = set(hands.window.session.questions.needed)
    name = next(iter(needed))
    paste(hands, "question_columns", name, "Needed", "no")
    assert set(hands.window.session.questions.needed) == needed - {name}
    undo(hands)
    assert set(hands.window.session.questions.needed) == needed

    # Figures that are asked for are pasted filled in and undone.
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


# -- Blocks of a spreadsheet over the facts of columns, one value for all selected, the context menu, the border


TABLE = "attribute_table"


@pytest.fixture
def survey(survey):
    """Hands at the columns of a survey, of which eight are released."""
    survey.click("questions_onward")
    return survey


def paste_facts(hands: Hands, name: str, heading: str, text: str) -> None:
    """Put a block on the clipboard, go to a cell, and paste it there."""
    QGuiApplication.clipboard().setText(text)
    hands.click_cell(TABLE, name, heading)
    hands.key(Qt.Key.Key_V, CTRL)


def facts(hands: Hands, *names: str) -> list[tuple[object, ...]]:
    plan = hands.window.session.plan
    return [(c.kind, c.lower, c.upper, c.domain) for c in map(plan.column, names)]


def menu_entry(hands: Hands, name: str, words: str) -> None:
    """Open the context menu of a row, and click an entry."""
    view = hands.table(TABLE)
    at = view.visualRect(hands.index(TABLE, name, "Attribute")).center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, view.viewport().mapToGlobal(at))
    QApplication.sendEvent(view.viewport(), event)
    menu = next(m for m in QApplication.topLevelWidgets() if isinstance(m, QMenu) and m.isVisible())
    action = next(a for a in menu.actions() if a.text() == words)
    hands.qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=QPoint(menu.actionGeometry(action).center()))


def test_blocks_of_facts_go_over_rows_by_place_by_name_and_for_all_selected(survey):
    steps = survey.window.session.undo_stack.index()
    # A block goes over kinds bounds and values as one step.
    block = "integer\t18\t90\r\ncategory\tf, m\t\r\n\tEast, North, South, West\r\n"
    paste_facts(survey, "Age", "Kind", block)
    assert facts(survey, "Age", "Sex", "Region") == [
        ("integer", 18, 90, None),
        ("category", None, None, ("f", "m")),
        ("category", None, None, ("East", "North", "South", "West")),
    ]
    assert survey.window.session.undo_stack.undoText() == "paste 3 rows of facts"
    survey.window.session.undo_stack.undo()
    assert facts(survey, "Age", "Sex") == [("integer", None, None, None), ("category", None, None, None)]
    survey.window.session.undo_stack.setIndex(steps)

    # A block with names finds its rows.
    paste_facts(survey, "Age", "Attribute", "Income\t\t\t0\t9000\nAge\tsensitive\treal\t18\t90\n")
    assert facts(survey, "Income", "Age") == [("integer", 0, 9000, None), ("real", 18, 90, None)]
    assert survey.window.session.plan.column("Age").role == "sensitive"
    survey.window.session.undo_stack.setIndex(steps)

    # One row is for all that are selected.
    survey.click_cell(TABLE, "Age", "Lower bound")
    view, last = survey.table(TABLE), survey.index(TABLE, "Income", "Lower bound")
    survey.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, CTRL, view.visualRect(last).center())
    QGuiApplication.clipboard().setText("0\t100\n")
    survey.key(Qt.Key.Key_V, CTRL)
    assert facts(survey, "Age", "Income") == [("integer", 0, 100, None), ("integer", 0, 100, None)]
    survey.window.session.undo_stack.setIndex(steps)

    # The current cell is used for all selected.
    survey.type_in_cell(TABLE, "Age", "Upper bound", "100")
    survey.click_cell(TABLE, "Income", "Upper bound")
    view, age = survey.table(TABLE), survey.index(TABLE, "Age", "Upper bound")
    survey.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, CTRL, view.visualRect(age).center())
    survey.key(Qt.Key.Key_D, CTRL)
    assert [upper for _, _, upper, _ in facts(survey, "Age", "Income", "Satisfaction")] == [100, 100, None]
    survey.window.session.undo_stack.setIndex(steps)

    # A block that is wrong changes nothing and names row and column.
    before = survey.window.session.plan
    for heading, block, part in (
        ("Lower bound", "0\t120\nf, m\t\nabc", "row 3 (Region), lower bound or values"),
        ("Lower bound", "young\t120", "row 1 (Age), lower bound"),
        ("Kind", "integr", "did you mean 'integer'"),
        ("Kind", "integer\t0\t1\t2", "not fit from here on"),
        ("Lower bound", "0\t1\n\t5\n", "row 2 (Sex), upper bound"),
        ("Attribute", "Aeg\t\t\t0", "did you mean 'Age'"),
        ("Missing", "3", "not fit from here on"),
        ("Lower bound", "", "no cells"),
    ):
        paste_facts(survey, "Age", heading, block)
        assert part in survey.see("banner").accessibleName(), block
        assert survey.window.session.plan == before


def test_the_order_the_context_menu_and_a_range_say_what_is_released(survey):
    steps = survey.window.session.undo_stack.index()
    # What is released comes first and the rest is grey.
    page = survey.window.page
    shown = [page.table.attributes.name_at(row) for row in page.table.in_sight()]
    assert tuple(shown[:8]) == NEEDED
    assert survey.cell(TABLE, "Q01", "Lower bound") == "dropped: not released"
    survey.click("attribute_table_needs")
    assert [page.table.attributes.name_at(row) for row in page.table.in_sight()] == list(NEEDED)
    survey.click("attribute_table_needs")

    # The foot names what is missing and nothing else.
    note = survey.see("note_data").accessibleName()
    assert "bounds of Age, Income and Satisfaction" in note
    assert "values of Sex, Region and 3 more" in note
    assert "how to treat missing values of Income" in note
    assert "day or month first" not in note, "no date is released"
    survey.click("tab_questions")
    survey.click_cell("question_columns", "Interview", "Needed")
    survey.click("tab_data")
    assert "day or month first of Interview date" in survey.see("note_data").accessibleName()
    survey.window.session.undo_stack.setIndex(steps)

    # The context menu leaves out gives roles and the target.
    plan = lambda name: survey.window.session.plan.column(name)  # noqa: E731 - what it says now
    survey.click_cell(TABLE, "Age", "Attribute")
    menu_entry(survey, "Age", "Quasi-identifier")
    assert plan("Age").role == "quasi-identifier"
    survey.click_cell(TABLE, "Smoker", "Attribute")
    menu_entry(survey, "Smoker", "Use as Target")
    assert survey.window.session.target == "Smoker"
    menu_entry(survey, "Smoker", "Not Released")
    assert plan("Smoker").action == "drop"
    assert "Smoker" not in survey.window.session.questions.needed
    menu_entry(survey, "Smoker", "Release It Protected")
    assert plan("Smoker").action == "protect"
    survey.window.session.undo_stack.setIndex(steps)

    # A range is selected and dropped at once.
    survey.click_cell(TABLE, "Age", "Attribute")
    view, last = survey.table(TABLE), survey.index(TABLE, "Region", "Attribute")
    survey.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, SHIFT, view.visualRect(last).center())
    survey.click("detail_drop")
    assert survey.window.session.questions.needed == NEEDED[3:]


def test_the_border_below_the_table_is_remembered_and_a_household_raises_the_question_about_rows_per_person(survey):
    # The border below the table is moved and remembered.
    border = survey.see("attribute_detail_border")
    assert isinstance(border, QSplitter)
    survey.idle()
    survey.qtbot.wait(200)  # until nothing is laid out any more: the sentences below the table take their height
    before = border.sizes()
    handle, left = border.handle(1), Qt.MouseButton.LeftButton
    at = handle.rect().center()
    there = handle.mapToGlobal(at) + QPoint(0, 30)
    survey.qtbot.mousePress(handle, left, pos=at)
    place = QPointF(at + QPoint(0, 30))
    moved = QMouseEvent(QEvent.Type.MouseMove, place, QPointF(there), Qt.MouseButton.NoButton, left, NO_KEY)
    QApplication.sendEvent(handle, moved)
    survey.qtbot.mouseRelease(handle, left, pos=handle.mapFromGlobal(there))
    survey.until(lambda: 20 <= border.sizes()[0] - before[0] <= 32)
    assert survey.window.settings.load("border/attribute_detail/below") is not None

    # A household raises the question about rows per person.
    survey.click_cell(TABLE, "Household", "Attribute")
    assert "may belong to one person" in survey.text("suspicion_0")
    survey.click("suspicion_accept_0")
    assert survey.focus.objectName() == "rows_per_person"

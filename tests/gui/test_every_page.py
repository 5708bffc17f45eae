"""What holds on every page and in every table: one walk through one window."""

from hands import Hands
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QScrollArea

from workbench.gui.pages import PAGES
from workbench.gui.widgets.master_detail import MasterDetail
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import EditedModel
from workbench.gui.widgets.table_view import LinesTable, TableView


def test_every_page_fits_and_helps_and_every_table_is_copied_sorted_filtered_and_clicked_without_a_change(
    people, finish, qtbot
):
    # Help says what each page is for and leaves by escape.
    assert sorted(page.name for page in PAGES) == sorted(people.rail.pages)
    for page in PAGES:
        people.show_page(page.name)
        people.rail.buttons[page.room].setFocus()
        qtbot.keyClick(people, Qt.Key.Key_F1)
        what = people.findChild(QLabel, "help_what")
        assert what.isVisible()
        assert what.text() == page.about
        assert len(what.text()) > 40
    qtbot.keyClick(people, Qt.Key.Key_Escape)
    assert not people.help_panel.isVisible()

    # No page needs more than 1280 by 800 pixels.
    for page in PAGES:
        finish(people, f"tab_{page.name}")
        needed = people.minimumSizeHint()
        assert needed.width() <= 1280, page.name
        assert needed.height() <= 800, page.name
    assert (people.width(), people.height()) == (1280, 800)
    finish(people, "tab_protect")
    scrolled = people.findChild(QScrollArea, "body_protect").verticalScrollBar()
    qtbot.waitUntil(lambda: scrolled.maximum() == 0)  # table and card share what there is

    # Every border has a place of its own where it is kept.
    borders = [border._key for border in people.findChildren(MasterDetail)]
    assert len(borders) >= 7
    assert len(set(borders)) == len(borders)

    # Every table has copy and sort in its menu and every edited one paste and fill.
    hands = Hands(people, qtbot)
    hands.window.session.choose_way("statistics")
    pages = "questions", "data", "ways", "protect", "release", "utility", "compare", "memory", "released", "ledger"
    tables = []  # those of the others hold rows: a preview, say, is not copied
    for page in pages:
        hands.window.show_page(page)
        hands.idle()
        tables += hands.window.page.findChildren(TableView)
    assert len({table.objectName() for table in tables}) >= 11
    for table in tables:
        entries = {action.text() for action in table.actions()}
        assert "Copy" in entries, table.objectName()
        if isinstance(table, SettingsTable | LinesTable):
            assert "Sort by This Column" in entries, table.objectName()
        model = table.model()
        edited = isinstance(model, EditedModel) and any(c.edit or c.tick for c in model.columns)
        assert ({"Paste", "Use for All Selected"} <= entries) == edited, table.objectName()

    # A click on a row chooses it and sets nothing else. ε, plan, way, target and what Train offers are set by cells
    # that are edited and by buttons that say so.
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

    # Every table of the window answers to the key.
    tables = [table for table in people.findChildren(TableView) if table.objectName()]
    assert len(people.rail.pages) > 15
    assert len(tables) > 12
    for table in tables:
        table.ask_filter()
        # Both sides of a preview have one.
        name = "preview_original" if table.objectName() == "preview_sanitised" else table.objectName()
        fields = people.findChildren(QLineEdit, f"{name}_filter")
        assert len(fields) == 1, name

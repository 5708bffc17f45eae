"""Text at 150 % in the smallest window: no figure, field or heading is cut, and nothing is scrolled sideways."""

from __future__ import annotations

from decimal import Decimal

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QComboBox, QScrollArea, QTableView, QWidget

from workbench.gui.pages import PAGES
from workbench.gui.pages.risk.page import HIPAA
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger.ledger import Ledger
from workbench.render.fonts import font
from workbench.risk.measures import hipaa

SCALE = 150


def enlarged(window, qtbot) -> None:
    window.theme.set_scale(SCALE)
    window.resize(1280, 800)
    qtbot.wait(50)


def is_whole(window, name: str) -> bool:
    """Whether the area of that name shows the whole width of what is in it."""
    area = window.findChild(QScrollArea, name)
    return area.isVisible() and area.widget().width() <= area.viewport().width()


def test_the_settings_of_each_way_are_as_wide_as_the_page(people, press, idle, qtbot) -> None:
    for way in ("rows", "synthetic", "statistics"):
        press(people, f"tab_{way}")
        idle(people)
    enlarged(people, qtbot)
    for way in ("rows", "synthetic", "statistics"):
        press(people, f"tab_{way}")
        idle(people)
        qtbot.waitUntil(lambda: is_whole(people, "release_area"))
        link = people.findChild(QWidget, "release_explain")
        assert link.width() >= link.sizeHint().width(), way
    people.theme.set_scale(100)
    press(people, "tab_synthetic")
    pane, cost = (people.findChild(QWidget, name) for name in ("pane_synthetic", "release_cost"))
    qtbot.waitUntil(lambda: cost.y() == pane.y())  # side by side again


def no_heading_is_cut(window) -> None:
    """No heading of the tables in sight has less room than its words."""
    bold, found = QFontMetrics(font(13, QFont.Weight.DemiBold)), []
    for table in filter(QTableView.isVisible, window.page.findChildren(QTableView)):
        heads, model = table.horizontalHeader(), table.model()
        for at in filter(lambda at: not table.isColumnHidden(at), range(model.columnCount())):
            words = str(model.headerData(at, Qt.Orientation.Horizontal) or "")
            if heads.sectionSize(at) < max(map(bold.horizontalAdvance, words.split("\n"))) + 22:
                found.append(f"{table.objectName()}: {words}")
    assert found == []


def test_no_page_is_scrolled_sideways_nor_a_heading_cut_at_the_largest_text(people, press, idle, qtbot) -> None:
    people.theme.set_scale(200)
    people.resize(1280, 800)
    for page in PAGES:
        press(people, f"tab_{page.name}")
        idle(people)
        body = people.findChild(QScrollArea, f"body_{page.name}").horizontalScrollBar()
        qtbot.waitUntil(lambda body=body: body.maximum() == 0)
        qtbot.waitUntil(lambda: no_heading_is_cut(people), timeout=2000)
    for way in ("rows", "synthetic", "statistics"):  # nor are settings, whose area has no bar to do it with
        press(people, f"tab_{way}")
        idle(people)
        settings = people.findChild(QScrollArea, "release_area").horizontalScrollBar()
        qtbot.waitUntil(lambda settings=settings: settings.maximum() == 0)


def test_a_job_that_comes_moves_no_room(people, qtbot) -> None:
    enlarged(people, qtbot)
    places = [button.y() for button in people.rail.buttons.values()]
    people.jobs_panel.setFixedHeight(140)
    people.jobs_panel.show()
    qtbot.wait(50)
    assert [button.y() for button in people.rail.buttons.values()] == places


def test_memory_is_not_scrolled_sideways(people, press, idle, qtbot) -> None:
    press(people, "tab_train")
    press(people, "train_way_memory")
    enlarged(people, qtbot)
    qtbot.waitUntil(lambda: is_whole(people, "body_memory"))


def test_columns_and_their_facts_are_read_whole(people, press, idle, qtbot) -> None:
    press(people, "tab_data")
    enlarged(people, qtbot)
    table = people.findChild(QTableView, "attribute_table")
    assert table.horizontalScrollBar().maximum() == 0
    missing = people.findChild(QComboBox, "fact_missing")
    qtbot.waitUntil(lambda: missing.width() >= missing.sizeHint().width())
    press(people, "tab_questions")
    columns = people.findChild(QTableView, "question_columns")
    qtbot.waitUntil(lambda: columns.columnWidth(2) >= columns.fontMetrics().horizontalAdvance("category") + 22)
    assert columns.horizontalScrollBar().maximum() == 0


def test_the_bars_of_mechanisms_keep_their_names(people, press, idle, qtbot) -> None:
    press(people, "tab_protect")
    idle(people)
    bars = people.findChild(QWidget, "candidate_bars")
    before = bars.height()
    enlarged(people, qtbot)
    idle(people)
    qtbot.waitUntil(lambda: bars.height() >= bars.minimumHeight() > 0)
    assert bars.minimumHeight() <= 1.2 * before  # fewer lines, not taller: the picture below keeps its room
    people.theme.set_scale(100)
    qtbot.waitUntil(lambda: bars.minimumHeight() % 25 == 0)  # as many as before


def test_figures_of_risk_are_read_whole(people, press, idle, qtbot) -> None:
    press(people, "tab_risk")
    idle(people)
    enlarged(people, qtbot)
    table = people.findChild(QTableView, "risk_columns")
    for at in range(3, 7):
        assert table.columnWidth(at) >= table.fontMetrics().horizontalAdvance("99.9 %") + 22, at
    assert list(HIPAA) == [identifier.letter for identifier in hipaa.HIPAA]
    for letter, word in HIPAA.items():
        assert table.columnWidth(7) >= table.fontMetrics().horizontalAdvance(f"({letter}) {word}") + 22, word


def test_a_line_of_every_table_of_the_ledger_is_in_sight(people, press, idle, qtbot) -> None:
    with Ledger.open() as book:
        cost = Cost(Decimal(1), Decimal(0), PureDp(Decimal(1), "sanitised table"))
        book.set_cap(people.session.account.dataset, Decimal(2))
        book.charge(book.reserve(people.session.account.dataset, cost, work="sanitize", details={"output": "/x/a.csv"}))
    press(people, "tab_ledger")
    idle(people)
    enlarged(people, qtbot)
    for name, lines in (("ledger_releases", 2), ("ledger_caps", 1)):
        table = people.findChild(QTableView, name)
        assert table.viewport().height() >= lines * table.rowHeight(0), name
    time = people.findChild(QTableView, "ledger_releases")
    assert time.columnWidth(0) >= time.sizeHintForColumn(0)


def test_generalise_is_not_scrolled_sideways(people, press, idle, qtbot) -> None:
    press(people, "tab_generalise")
    idle(people)
    enlarged(people, qtbot)
    qtbot.waitUntil(lambda: is_whole(people, "body_generalise"))
    people.theme.set_scale(100)
    columns, editor = people.page.columns, people.page.editor
    qtbot.waitUntil(lambda: columns.width() == 340 < editor.width())

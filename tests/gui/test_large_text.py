"""Text at 150 % in the smallest window: no figure, field or heading is cut, and nothing is scrolled sideways."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QScrollArea, QTableView, QWidget

from workbench.gui.pages import PAGES

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


def test_no_page_is_scrolled_sideways_at_the_largest_text(people, press, idle, qtbot) -> None:
    people.theme.set_scale(200)
    people.resize(1280, 800)
    for page in PAGES:
        press(people, f"tab_{page.name}")
        idle(people)
        body = people.findChild(QScrollArea, f"body_{page.name}").horizontalScrollBar()
        qtbot.waitUntil(lambda body=body: body.maximum() == 0)
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


def test_generalise_is_not_scrolled_sideways(people, press, idle, qtbot) -> None:
    press(people, "tab_generalise")
    idle(people)
    enlarged(people, qtbot)
    qtbot.waitUntil(lambda: is_whole(people, "body_generalise"))
    people.theme.set_scale(100)
    columns, editor = people.page.columns, people.page.editor
    qtbot.waitUntil(lambda: columns.width() == 340 < editor.width())

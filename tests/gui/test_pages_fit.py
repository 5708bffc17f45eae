"""Every page fits the smallest window that is promised, whatever the lists of models and mechanisms hold."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import pytest
from comparisons import add, study
from fits import clipped
from hands import go_to
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QScrollArea, QTableView, QWidget

from workbench.gui.pages import PAGES
from workbench.gui.pages.risk.page import HIPAA
from workbench.gui.style import language
from workbench.gui.widgets.basic import button
from workbench.gui.widgets.cell_delegates import PADDING
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.table_view import TableView
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger.ledger import Ledger
from workbench.render.curve import _surroundings
from workbench.render.fonts import font
from workbench.risk.measures import hipaa


def test_buttons_that_come_to_a_head_never_widen_the_window(window, finish, press, qtbot) -> None:
    """Showing one lays out the whole window at once, so that a page is asked for their place too late."""
    window.resize(1280, 800)
    finish(window, "sample_people")
    press(window, "tab_train")
    qtbot.wait(50)
    made = [QPushButton(text) for text in ("Pause", "Cancel without a model", "Where did the accuracy go?")]
    for one in made:
        one.hide()
        window.page.header.addWidget(one)
    qtbot.wait(50)
    for one in made:
        one.show()
    assert window.width() == 1280
    qtbot.waitUntil(lambda: all(one.width() >= one.sizeHint().width() for one in made))
    assert window.width() == 1280


def test_a_page_out_of_sight_asks_for_no_more_than_smaller_text_needs(people, finish, qtbot) -> None:
    """From 150 % to 100 %, the four buttons below Curves, which was not in sight, made the window 1302 points wide."""
    add(people, study("logistic-regression", epsilons=(0.5, 1.0)), "people")
    finish(people, "tab_utility")
    page = people.page
    enlarged(people, qtbot)
    finish(people, "tab_help")
    large = page.minimumSizeHint().width()
    people.theme.set_scale(100)
    assert page.minimumSizeHint().width() < large / 1.2


def share_of_the_page(window, parts: Iterable[QWidget]) -> float:
    """How much of the page some parts of it fill."""
    area = sum(part.width() * part.height() for part in parts if part.isVisible())
    return area / (window.page.width() * window.page.height())


def test_on_a_large_display_the_room_goes_to_what_is_read(people, finish, idle, qtbot) -> None:
    """On Data to table and picture; on Train to the charts of a run, or to the curve of a model without steps."""
    people.resize(2560, 1440)
    qtbot.waitUntil(lambda: share_of_the_page(people, [people.findChild(QWidget, "attribute_table")]) > 0.4)
    qtbot.waitUntil(lambda: share_of_the_page(people, [people.findChild(QWidget, "attribute_histogram")]) > 0.12)
    finish(people, "tab_train")
    add(people, study("logistic-regression"), "people")
    curve = people.findChild(QWidget, "train_study_holder")
    qtbot.waitUntil(lambda: share_of_the_page(people, [curve]) > 0.45)
    people.page.forms.choose("logistic")
    idle(people)
    qtbot.waitUntil(lambda: share_of_the_page(people, people.page.going.charts) > 0.4)


# -- Text at 150 % in the smallest window: no figure, field or heading is cut, and nothing is scrolled sideways


SCALE = 150


def enlarged(window, qtbot) -> None:
    window.theme.set_scale(SCALE)
    window.resize(1280, 800)
    qtbot.wait(50)


def is_whole(window, name: str) -> bool:
    """Whether the area of that name shows the whole width of what is in it."""
    area = window.findChild(QScrollArea, name)
    return area.isVisible() and area.widget().width() <= area.viewport().width()


def test_the_name_of_a_released_model_does_not_widen_predict(trained, qtbot) -> None:
    """The buttons on the right were out of sight."""
    trained.window.theme.set_scale(200)
    trained.finish("tab_predict")
    trained.see("predict_models")
    qtbot.wait(100)
    assert is_whole(trained.window, "predict_area")


def test_the_settings_of_each_way_are_as_wide_as_the_page(people, finish, press, qtbot) -> None:
    for way in ("rows", "synthetic", "statistics"):
        finish(people, f"tab_{way}")
    enlarged(people, qtbot)
    for way in ("rows", "synthetic", "statistics"):
        finish(people, f"tab_{way}")
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


def five_lines_are_whole(window) -> None:
    """Each table in sight has room for five lines, or for all that it has."""
    for table in filter(TableView.isVisible, window.page.findChildren(TableView)):
        bar = table.horizontalScrollBar()
        room = table.viewport().height() + bar.isVisible() * bar.height()
        assert room >= sum(map(table.rowHeight, table.in_sight()[:5])), table.objectName()


def test_no_page_is_scrolled_sideways_nor_widens_the_window_at_the_largest_text(people, finish, qtbot) -> None:
    add(people, study("logistic-regression", epsilons=(0.5, 1.0)), "people")  # Curves has four buttons then
    people.theme.set_scale(200)
    people.resize(1280, 800)
    for page in PAGES:
        finish(people, f"tab_{page.name}")
        body = people.findChild(QScrollArea, f"body_{page.name}").horizontalScrollBar()
        qtbot.waitUntil(lambda body=body: body.maximum() == 0)
        qtbot.waitUntil(lambda: no_heading_is_cut(people))
        qtbot.waitUntil(lambda: five_lines_are_whole(people))
        assert people.width() == 1280, page.name
    for way in ("rows", "synthetic", "statistics"):  # nor are settings, whose area has no bar to do it with
        finish(people, f"tab_{way}")
        settings = people.findChild(QScrollArea, "release_area").horizontalScrollBar()
        qtbot.waitUntil(lambda settings=settings: settings.maximum() == 0)


def test_rows_are_higher_than_their_letters_at_any_text_size(people, visit) -> None:
    for page in ("questions", "ways", "risk", "utility"):
        visit(people, page)
    for scale in (200, 80, 100):
        people.theme.set_scale(scale)
        line = QFontMetrics(font(14)).lineSpacing()
        low = {t.objectName(): t.verticalHeader().defaultSectionSize() for t in people.findChildren(TableView)}
        assert min(low.values()) >= line + 3, (scale, low)


def test_no_question_of_decide_is_cut_at_large_text(people, visit, qtbot) -> None:
    visit(people, "ways")
    table = people.findChild(QTableView, "decide_table")
    for scale in (150, 200):
        people.theme.set_scale(scale)
        people.resize(1280, 800)
        qtbot.waitUntil(lambda: questions_are_whole(table))
        assert table.viewport().height() > 2 * table.rowHeight(0)


def questions_are_whole(table) -> bool:
    room = QRect(0, 0, table.columnWidth(0) - PADDING, 0)
    for row in range(table.model().rowCount()):
        words = str(table.model().index(row, 0).data())
        box = table.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, words)
        assert box.width() <= room.width(), words
        assert box.height() < table.rowHeight(row), words
    return True


def test_columns_their_facts_and_help_are_read_whole_at_large_text(people, press, idle, qtbot):
    # Columns and their facts are read whole.
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

    # The help beside a page comes into sight below a long budget.
    enlarged(people, qtbot)
    people.show_page("ways")
    qtbot.keyClick(people, Qt.Key.Key_F1, Qt.KeyboardModifier.ShiftModifier)
    seen = people.gauges.viewport()
    qtbot.waitUntil(lambda: people.help_panel.mapTo(seen, QPoint(0, 0)).y() <= 12)
    qtbot.keyClick(people, Qt.Key.Key_Escape)
    assert people.gauges.verticalScrollBar().value() == 0, "the budget is in sight again"

    # A job that comes moves no room.
    enlarged(people, qtbot)
    places = [button.y() for button in people.rail.buttons.values()]
    people.jobs_panel.setFixedHeight(140)
    people.jobs_panel.show()
    qtbot.wait(50)
    assert [button.y() for button in people.rail.buttons.values()] == places
    people.jobs_panel.setMinimumHeight(0)
    people.jobs_panel.setMaximumHeight(16777215)
    people.jobs_panel.hide()
    press(people, "tab_data")

    # A bound that is not declared has the room that other columns do not need.
    people.session.edit_column("age", "bounds", lower=None, upper=None)
    enlarged(people, qtbot)
    table = people.findChild(QTableView, "attribute_table")
    bounds = [table.model().index(2, column) for column in (3, 4)]
    assert [bound.data() for bound in bounds] == ["not declared"] * 2
    qtbot.waitUntil(lambda: all(table.sizeHintForIndex(i).width() <= table.columnWidth(i.column()) for i in bounds))
    assert table.horizontalScrollBar().maximum() == 0


def test_memory_is_not_scrolled_sideways(people, press, idle, qtbot) -> None:
    press(people, "tab_train")
    press(people, "train_way_memory")
    enlarged(people, qtbot)
    qtbot.waitUntil(lambda: is_whole(people, "body_memory"))
    press(people, "memory_run")
    idle(people)
    plot, form = people.page.found.plot, people.page.choices
    qtbot.waitUntil(lambda: plot.isVisible() and plot.width() >= 1.5 * 360)  # below the form, which is as wide
    assert form.width() > plot.width()
    people.theme.set_scale(100)
    qtbot.waitUntil(lambda: form.width() == 320 < plot.mapTo(people.page, QPoint(0, 0)).x())


@pytest.mark.parametrize("page", ["utility", "why"])
def test_the_chosen_model_is_named_whole(people, finish, qtbot, page) -> None:
    """The name of the advised one was cut with its star, in the smallest window at the usual text as well."""
    finish(people, f"tab_{page}")
    box = people.findChild(ChoiceBox, {"utility": "curve_model", "why": "why_model"}[page])
    box.setCurrentIndex(box.findData("logistic-regression"))
    for scale in (SCALE, 100):
        people.theme.set_scale(scale)
        people.resize(1280, 800)
        qtbot.waitUntil(lambda: box._shortened() == box.currentText())


def test_runs_are_compared_without_scrolling_and_the_line_below_says_the_rest(people, press, qtbot) -> None:
    add(people, study("logistic-regression", epsilons=(0.5, 1.0)), "people")
    press(people, "tab_compare")
    table = people.page.table
    for scale, width, whole in ((150, 1280, False), (100, 1280, False), (100, 2560, True)):
        people.theme.set_scale(scale)
        people.resize(width, 800)
        qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)
        qtbot.waitUntil(lambda whole=whole: any(map(table.isColumnHidden, (6, 7, 8, 9, 10))) is not whole)
        table.clearSelection()
        table.selectRow(0)
        assert ("Repeats: " in people.findChild(QLabel, "note_compare").text()) is not whole


def test_a_long_name_takes_the_room_that_other_columns_can_spare(window, load, tmp_path, qtbot) -> None:
    window.resize(1280, 800)
    name = "DiabetesPedigreeFunction"
    (tmp_path / "clinic.csv").write_text(f"age,{name}\n" + "30,0.5\n" * 40 + "31,0.7\n" * 40, "utf-8")
    load(window, tmp_path / "clinic.csv")
    window.show_page("data")
    table = window.findChild(QTableView, "attribute_table")

    def is_cell_whole(row: int, column: int) -> bool:
        return table.sizeHintForIndex(table.model().index(row, column)).width() <= table.columnWidth(column)

    qtbot.waitUntil(lambda: is_cell_whole(1, 0))
    window.session.edit_column(name, "bounds", lower=0.0, upper=123456789.0)
    qtbot.waitUntil(lambda: is_cell_whole(1, 4))
    assert table.horizontalScrollBar().maximum() == 0


def test_shares_and_the_bars_of_mechanisms_are_whole_at_large_text(people, finish, idle, qtbot):
    # The bars of mechanisms keep their names.
    finish(people, "tab_protect")
    bars = people.findChild(QWidget, "candidate_bars")
    before = bars.height()
    enlarged(people, qtbot)
    assert people.findChild(QWidget, "plan_epsilon_slider").width() >= 100  # a value can be aimed at
    idle(people)
    qtbot.waitUntil(lambda: bars.height() >= bars.minimumHeight() > 0)
    assert bars.minimumHeight() <= 1.2 * before  # fewer lines, not taller: the picture below keeps its room
    people.theme.set_scale(100)
    qtbot.waitUntil(lambda: bars.minimumHeight() % 25 == 0)  # as many as before

    # Every figure of the shares is whole.
    people.session.set_epsilon(Decimal("1.234567"))
    enlarged(people, qtbot)
    finish(people, "tab_protect")
    table = people.findChild(QTableView, "share_table")
    figures = [table.model().index(row, column) for row in range(table.model().rowCount()) for column in (3, 5)]
    qtbot.waitUntil(lambda: all(table.sizeHintForIndex(i).width() <= table.columnWidth(i.column()) for i in figures))


def test_a_note_is_above_the_buttons_that_leave_it_no_room(people, finish, qtbot) -> None:
    finish(people, "tab_utility")
    note = people.findChild(QLabel, "note_utility")
    for _ in range(3):
        people.page.foot.addWidget(QPushButton("Standard comparison"))
    people.page.set_note("All 210 models are trained. Your ε is between the points: press Run to add it.")
    qtbot.waitUntil(lambda: note.geometry().bottom() <= people.page.primary.y())
    qtbot.waitUntil(lambda: list(clipped(note)) == [])
    people.resize(2400, 800)
    qtbot.waitUntil(lambda: note.geometry().bottom() > people.page.primary.y())


def test_figures_of_risk_are_read_whole(people, finish, qtbot) -> None:
    finish(people, "tab_risk")
    enlarged(people, qtbot)
    table = people.findChild(QTableView, "risk_columns")
    for at in range(3, 7):
        assert table.columnWidth(at) >= table.fontMetrics().horizontalAdvance("99.9 %") + 22, at
    assert list(HIPAA) == [identifier.letter for identifier in hipaa.HIPAA]
    for letter, word in HIPAA.items():
        assert table.columnWidth(7) >= table.fontMetrics().horizontalAdvance(f"({letter}) {word}") + 22, word


def test_a_line_of_every_table_of_the_ledger_is_in_sight(people, finish, qtbot) -> None:
    with Ledger.open() as book:
        cost = Cost(Decimal(1), Decimal(0), PureDp(Decimal(1), "sanitised table"))
        book.set_cap(people.session.account.dataset, Decimal(2))
        book.charge(book.reserve(people.session.account.dataset, cost, work="sanitize", details={"output": "/x/a.csv"}))
    finish(people, "tab_ledger")
    enlarged(people, qtbot)
    for name, lines in (("ledger_releases", 2), ("ledger_caps", 1)):
        table = people.findChild(QTableView, name)
        assert table.viewport().height() >= lines * table.rowHeight(0), name
    time = people.findChild(QTableView, "ledger_releases")
    assert time.columnWidth(0) >= time.sizeHintForColumn(0)
    caps = people.findChild(QTableView, "ledger_caps")
    hidden = [(time, 4), (caps, 5), (caps, 6)]
    assert all(table.isColumnHidden(at) for table, at in hidden), "nothing has a δ"
    assert caps.columnWidth(0) >= caps.sizeHintForColumn(0)
    with Ledger.open() as book:
        book.set_cap(people.session.account.dataset, Decimal(2), Decimal("1e-5"))
    finish(people, "tab_data")
    finish(people, "tab_ledger")
    assert not any(table.isColumnHidden(at) for table, at in hidden)


def test_generalise_is_not_scrolled_sideways(people, finish, qtbot) -> None:
    finish(people, "tab_generalise")
    enlarged(people, qtbot)
    qtbot.waitUntil(lambda: is_whole(people, "body_generalise"))
    people.theme.set_scale(100)
    columns, editor = people.page.columns, people.page.editor
    qtbot.waitUntil(lambda: columns.width() == 340 < editor.width())
    finish(people, "generalise_run")
    enlarged(people, qtbot)
    for view in ("table", "hierarchies", "lattice"):
        finish(people, f"generalise_view_{view}")
        tables = [t for t in people.page.findChildren(QTableView) if t.isVisible()]
        qtbot.waitUntil(lambda tables=tables: all(t.horizontalScrollBar().maximum() == 0 for t in tables))


# -- Words that are too long for their place say so, and figures are written as the language writes them --------------


def test_a_segment_has_room_for_its_words_where_it_is_pressed(window, qtbot):
    made = button("Destinataires désignés", "who", "segment")
    made.setCheckable(True)
    made.setParent(window)
    made.ensurePolished()
    bold = QFont(made.font())
    bold.setWeight(QFont.Weight.DemiBold)
    wide = QFontMetrics(bold).horizontalAdvance(made.text())
    assert made.sizeHint().width() >= wide + 20
    before = made.sizeHint()
    made.setChecked(True)
    assert made.sizeHint() == before, "nothing moves where another one is pressed"


def test_a_list_that_is_too_narrow_ends_in_an_ellipsis(window, qtbot):
    box = ChoiceBox(window)
    box.addItems(["Régression logistique, ε pur", "Bayes"])
    box.resize(110, 32)
    assert box._shortened().endswith("…")
    assert len(box._shortened()) > 3
    box.resize(600, 32)
    assert box._shortened() == box.currentText()
    box.setCurrentIndex(1)
    box.resize(110, 32)
    assert box._shortened() == "Bayes"


@pytest.fixture
def french():
    language.set_language("fr")
    yield
    language.set_language("en")


def test_a_curve_writes_its_figures_as_the_language_does(window, idle, french):
    go_to(window, "compare")
    add(window, study())
    idle(window)
    drawn = _surroundings(window.page.figure)
    written = [text for _, text in (*drawn.x_ticks, *drawn.y_ticks)] + [label.value for label in drawn.labels]
    assert any("," in text for text in written)
    assert not any("." in text for text in written)
    assert Decimal(drawn.labels[0].value.replace(",", ".")) > 0


def test_a_figure_for_a_file_of_the_command_line_has_a_point():
    from workbench.render.curve_figure import curve_figure

    drawn = _surroundings(curve_figure(study(), "iris"))
    assert any("." in text for _, text in drawn.y_ticks)


def test_a_field_of_a_fixed_width_leaves_no_gap_in_a_row_that_is_broken(people, finish, qtbot) -> None:
    finish(people, "tab_why")
    enlarged(people, qtbot)
    page = people.page
    made_up = page.generated.mapTo(page, QPoint(0, 0)).y()
    assert made_up > page.epsilon.mapTo(page, QPoint(0, page.epsilon.height())).y(), "the row is broken"
    repeats = page.epsilon.parentWidget().findChildren(QLabel)[1]
    assert repeats.text() == "repeats"
    assert repeats.x() - page.epsilon.geometry().right() <= 17
    assert page.repeats.x() - repeats.geometry().right() <= 17

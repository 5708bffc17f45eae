"""What a look at every page in every size and both themes found: words cut, parts out of line, results out of sight."""

import pytest
from central_pages import seen
from comparisons import add, study
from hands import LEFT, go_to, show
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QApplication, QComboBox, QListWidget, QPushButton, QRadioButton, QWidget

from workbench.gui.pages.data.attribute_table import LOWER
from workbench.gui.pages.help.page import PADDING
from workbench.gui.pages.protect.share_model import MECHANISM
from workbench.gui.pages.train.run_card import RunCard
from workbench.gui.widgets.cell_delegates import CHEVRON
from workbench.gui.widgets.cell_delegates import PADDING as PADDED
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable

TABLE = "height,weight,town\n" + "".join(f"{150 + at % 40},{50 + at % 60},{'ab'[at % 2]}\n" for at in range(80))


@pytest.fixture
def own(hands, tmp_path):
    """A table that says nothing of a target, with every public fact declared."""
    path = tmp_path / "own.csv"
    path.write_text(TABLE, "utf-8")
    hands.drop(path)
    facts = {
        "height": {"lower": 100, "upper": 220},
        "weight": {"lower": 30, "upper": 200},
        "town": {"domain": ("a", "b")},
    }
    facts = {name: {**fact, "missing": "refuse", "guessed": ()} for name, fact in facts.items()}
    session = hands.window.session
    session.edit("declare", session.plan.with_columns(facts))
    return hands


def middle(window: QWidget, part: QWidget) -> int:
    return part.mapTo(window, part.rect().center()).y()


def test_without_a_table_every_page_hides_what_works_on_one_and_its_highlighted_button_opens_one(window, press):
    # An empty page highlights the one button that leads on.
    for page in ("questions", "risk", "ways", "protect", "preview", "release", "generalise", "compare", "released"):
        show(window, page)
        buttons = window.page.findChildren(QPushButton)
        leads = [part.objectName() for part in buttons if part.isVisible() and part.property("look") == "primary"]
        assert leads == [f"{page}_nothing_go"], page

    # Without a table a page hides what works on one and leads to the data.
    for page, leads, hidden in (
        ("why", "why_run", ()),
        ("protect", "protect_nothing_go", ("to_preview",)),
        ("rows", "release_nothing_go", ("release_now",)),
        ("statistics", "release_nothing_go", ("release_now", "statistics_table")),
        ("synthetic", "release_nothing_go", ("release_now",)),
    ):
        show(window, page)
        assert not [name for name in hidden if seen(window, name)], page
        press(window, leads)
        assert window.page.objectName() == "page_data", page

    # Without a table the highlighted button opens one.
    for page in ("questions", "risk", "ways", "protect", "preview", "release", "generalise"):
        show(window, page)
        leads = window.page.findChild(QPushButton, f"{page}_nothing_go")
        assert leads.text() == leads.accessibleName() == "Open a table →"
        press(window, leads.objectName())
        assert window.page.objectName() == "page_data"


def test_with_a_table_whose_columns_are_all_dropped_the_rows_lead_to_the_columns(people, press):
    plan = people.session.plan
    people.session.edit("drop all", plan.with_columns({c.name: {"action": "drop"} for c in plan.columns}))
    show(people, "preview")
    press(people, "preview_nothing_go")
    assert people.page.objectName() == "page_protect"


def test_a_table_asks_for_room_for_five_lines_where_it_has_so_many(window, qtbot):
    table = LinesTable(window.session, "listed", "Listed", [Column("Name")])
    qtbot.addWidget(table)
    table.show()
    room = []
    for height in (0, 2, 9):
        table.lines.show_lines([[Cell(str(at))] for at in range(height)])
        room.append(table.minimumSizeHint().height())
    row = table.verticalHeader().defaultSectionSize()
    assert [more - room[0] for more in room] == [0, row, 4 * row], "one line is kept for an empty table"


def test_the_charts_of_a_run_are_below_one_another_in_large_text(window, qtbot):
    card = RunCard(window.session)
    qtbot.addWidget(card)
    card.expect(quiet=False)
    card.resize(400, 900)
    card.show()
    qtbot.waitUntil(lambda: card.loss.y() == card.accuracy.y() and card.loss.x() > 0)
    window.theme.set_scale(150)
    card.resize(401, 900)
    qtbot.waitUntil(lambda: card.loss.y() >= card.accuracy.y() + card.accuracy.height())


def test_fields_names_figures_and_words_stand_where_they_are_read(own, qtbot):
    # The fields below the columns stand in one line.
    own.click("tab_data")
    own.idle()
    names = "rows_per_person", "unit", "keep_order", "replace_invalid"
    qtbot.waitUntil(lambda: len({middle(own.window, own.see(name)) for name in names}) == 1)

    # A name is whole beside all that can be asked of its column.
    own.click("tab_statistics")
    own.idle()
    figures = own.table("statistics_table")
    assert figures.columnWidth(0) >= figures.fontMetrics().horizontalAdvance("BloodPressure") + 22

    # The exact figures are computed when the calculator is seen again.
    own.click("tab_calculator")
    own.click("tab_data")  # before they were begun
    own.idle()
    own.click("tab_calculator")
    qtbot.waitUntil(lambda: own.text("fact_pld").startswith("ε = "))

    # The words of your epsilon hide no line.
    add(own.window, study("logistic-regression", epsilons=(0.5, 1.0, 2.0)), "own")
    own.click("tab_compare")
    own.idle()
    view = own.window.page.plot.view
    words = view.mark_box()
    assert view.marked
    for line in view.figure.series:
        for at in range(len(line.x)):
            assert not words.contains(view.place_of(view.figure.series.index(line), at)), line.name

    # The letters of a curve are as large as all others.
    sizes = []
    for name in ("text_normal", "text_larger", "text_normal"):
        own.window.menus.actions[name].trigger()
        sizes.append(own.window.page.plot.view.mark_box().height())
    assert sizes[0] < sizes[1]
    assert sizes[2] == sizes[0]


def test_a_model_asks_what_to_predict_where_it_is_trained(own, qtbot):
    window, session = own.window, own.window.session
    own.click("tab_utility")
    own.idle()
    assert window.page.primary.text() == "Train →"
    own.click("curve_run")
    assert window.page.objectName() == "page_train"
    assert own.sees("train_model_kmeans"), "it predicts nothing"
    target = own.see("train_target")
    assert isinstance(target, QComboBox)
    assert target.currentText() == "no column"
    target.setFocus()
    own.key(Qt.Key.Key_F4)
    qtbot.waitUntil(target.view().isVisible)
    listed = target.view()
    town = target.model().index(target.findData("town"), 0)
    qtbot.mouseClick(listed.viewport(), LEFT, pos=listed.visualRect(town).center())
    own.idle()
    assert session.target == "town"
    advised = [b for b in window.page.findChildren(QRadioButton) if b.text().endswith("★")]
    assert [b.isChecked() for b in advised] == [True], "the advised model, not the one that stood there before"
    qtbot.waitUntil(lambda: own.see("train_start").isEnabled() and window.page.primary.text() == "Start")


def test_predictions_come_into_sight_and_their_figures_end_in_one_line(trained, tmp_path, qtbot):
    trained.click("tab_predict")
    trained.idle()
    trained.type_into("predict_output", str(tmp_path / "nowhere" / "told.csv"))
    trained.click("predict_run")
    trained.idle()
    assert "does not exist" in trained.text("banner_text")
    trained.type_into("predict_output", str(tmp_path / "told.csv"))
    trained.click("predict_run")
    trained.idle()
    assert not trained.sees("banner"), "what failed has been done"
    assert trained.window.statusBar().currentMessage().startswith("Wrote told.csv")
    rows = trained.table("predict_rows_table")
    seen = rows.viewport()
    qtbot.waitUntil(lambda: seen.visibleRegion().boundingRect().height() > 4 * rows.rowHeight(0))
    titles = [column.title for column in rows.model().columns]
    right = [column.right for column in rows.model().columns]
    assert titles[0] == "predicted species"
    assert right[:4] == [False, True, True, True]


def test_every_topic_of_the_help_is_read_whole(hands, qtbot):
    hands.click("tab_help")
    topics = hands.see("help_topics")
    assert isinstance(topics, QListWidget)
    for at in range(topics.count()):
        item = topics.item(at)
        place = topics.visualItemRect(item)
        needed = topics.fontMetrics().boundingRect(
            QRect(0, 0, place.width() - PADDING - 6, 1000), Qt.TextFlag.TextWordWrap, item.text()
        )
        assert place.height() >= needed.height(), item.text()


def test_large_text_widens_no_window_squeezes_no_field_and_help_comes_into_sight(own, qtbot):
    # No field below the columns is squeezed by large text.
    own.window.resize(1280, 800)
    own.click("tab_data")
    try:
        own.window.theme.set_scale(150)
        field, words = own.see("fact_missing"), own.see("card_words")
        bottom = lambda: words.mapTo(own.window, words.rect().bottomLeft()).y()  # noqa: E731 - it is asked for again
        qtbot.waitUntil(lambda: bottom() < field.mapTo(own.window, field.rect().topLeft()).y())
        qtbot.waitUntil(lambda: field.parentWidget().rect().contains(field.geometry()))
        assert own.see("card_words").height() >= 4 * own.window.fontMetrics().lineSpacing()
        page = own.see("body_data").verticalScrollBar()
        qtbot.waitUntil(lambda: page.maximum() > 0)
        own.click("view_rows")
        qtbot.waitUntil(lambda: page.maximum() == 0)  # what is out of sight needs no room
    finally:
        own.window.theme.set_scale(100)
    own.click("view_attributes")

    # Help that is asked for comes into sight where text is large.
    window = own.window
    window.resize(1280, 800)
    try:
        window.theme.set_scale(150)
        own.click("tab_ways")
        own.idle()
        window.menus._show_page_help()
        top = lambda: window.help_panel.mapTo(window.gauges.viewport(), QPoint()).y()  # noqa: E731 - asked for again
        qtbot.waitUntil(lambda: 0 <= top() < window.gauges.viewport().height() / 2)
    finally:
        window.theme.set_scale(100)

    # Large text widens no window that shows a curve.
    window.session.set_target("town")
    try:
        window.theme.set_scale(150)
        add(window, study("logistic-regression", epsilons=(0.5, 1.0, 2.0)), "own")
        for at in ("data", "utility", "data", "compare"):
            own.click(f"tab_{at}")
            own.idle()
            qtbot.wait(50)
            assert window.width() == 1280, at
    finally:
        window.theme.set_scale(100)


def test_a_new_look_of_every_page_asks_for_patience(people, monkeypatch):
    asked: list[Qt.CursorShape] = []
    monkeypatch.setattr(QApplication, "setOverrideCursor", asked.append)
    monkeypatch.setattr(QApplication, "restoreOverrideCursor", lambda: asked.append(Qt.CursorShape.ArrowCursor))
    for name in ("theme_dark", "text_larger", "language_fr", "language_en", "text_normal"):
        people.menus.actions[name].trigger()
        assert asked == [Qt.CursorShape.WaitCursor, Qt.CursorShape.ArrowCursor], name
        asked.clear()


def test_large_text_cuts_no_mechanism_and_no_open_bound(hands, tmp_path, qtbot):
    """A mechanism has a second line; of a long name and a fact to be declared, the name is shortened."""
    path = tmp_path / "long.csv"
    path.write_text("DiabetesPedigreeFunction,town\n" + "".join(f"{at},{'ab'[at % 2]}\n" for at in range(80)), "utf-8")
    hands.window.resize(1280, 800)
    try:
        hands.window.theme.set_scale(200)
        hands.drop(path)
        hands.click("tab_data")
        hands.idle()
        table = hands.table("attribute_table")
        assert table.columnWidth(LOWER) >= table.sizeHintForColumn(LOWER)
        facts = {"DiabetesPedigreeFunction": {"lower": 0, "upper": 100}, "town": {"domain": ("a", "b")}}
        facts = {name: {**fact, "missing": "refuse", "guessed": ()} for name, fact in facts.items()}
        session = hands.window.session
        session.edit("declare", session.plan.with_columns(facts))
        go_to(hands.window, "protect")
        hands.idle()
        table, at = hands.table("share_table"), [c.name for c in session.plan.columns].index("town")
        words, metrics = table.model().index(at, MECHANISM).data(), table.fontMetrics()
        assert words.startswith("k-ary")
        cut = metrics.horizontalAdvance(words) > table.columnWidth(MECHANISM) - PADDED - CHEVRON
        assert table.rowHeight(at) >= (2 if cut else 1) * metrics.lineSpacing()
        assert cut, "else the second line is not tried"
    finally:
        hands.window.theme.set_scale(100)

"""Cells and cards of Data and Protect: what can be chosen is seen, nothing is squeezed, nothing is lost unsaid."""

from decimal import Decimal

import pytest
from hands import Hands, go_to, show
from PySide6.QtCore import QModelIndex, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QLabel, QStyleOptionViewItem, QWidget

from workbench.gui.pages.data.attribute_table import KIND, LOWER, NAME, ROLE
from workbench.gui.pages.protect.share_model import ACTION, ERROR, SHARE
from workbench.gui.project.open_table import open_table
from workbench.gui.widgets.chart import Chart

# Said by the platform without a screen whenever a list opens: there is nothing that it could raise or grab.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing the keyboard)")

LEFT, CTRL = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier
AGE, SEEN, NOTE = 0, 1, 2
ROWS = [f"{20 + i % 50 if i % 7 else ''},{1 + i % 12:02}/{1 + i % 9:02}/2010,{'abc'[i % 3]}" for i in range(60)]


@pytest.fixture
def doubtful(window, tmp_path, idle):
    """A window with ages, some of them missing, dates of which the day and the month look alike, and a name."""
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(["age,seen,note", *ROWS]) + "\n", "utf-8")
    window.activateWindow()
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    return window


@pytest.fixture
def protect(people, idle):
    """A window on the Protect page, with its first forecasts."""
    people.activateWindow()
    go_to(people, "protect")
    idle(people)
    return people


def cell(window, row: int, column: int) -> QModelIndex:
    return window.page.table.model().index(row, column)


def colour_at(table, place: QPoint) -> QColor:
    """The colour of a point of a table's viewport."""
    return table.viewport().grab().toImage().pixelColor(place * table.devicePixelRatio())


def whole(widget: QWidget) -> bool:
    """Whether a widget has the height it asks for, and lies within its card."""
    card = widget.window()
    bottom = widget.mapTo(card, QPoint(0, widget.height())).y()
    asked = min(widget.sizeHint().height(), widget.minimumSizeHint().height() or 99)
    return widget.height() >= asked and bottom < card.height()


# -- cells ------------------------------------------------------------------------------------------------------------


def test_the_wheel_leaves_a_list_alone_that_does_not_have_the_keyboard(people, qtbot):
    combo = people.findChild(QComboBox, "fact_missing")
    people.page.table.setFocus()

    def turn() -> bool:
        wheel = QWheelEvent(
            QPointF(5, 5),
            QPointF(combo.mapToGlobal(QPoint(5, 5))),
            QPoint(),
            QPoint(0, -120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(combo, wheel)
        return wheel.isAccepted()

    before = combo.currentIndex()
    assert not turn(), "the page is scrolled instead"
    assert combo.currentIndex() == before
    combo.setFocus()
    turn()
    assert combo.currentIndex() != before
    assert all(box.focusPolicy() == Qt.FocusPolicy.StrongFocus for box in people.findChildren(QComboBox))


def test_a_frame_shows_the_cell_that_the_keys_would_edit(protect):
    table, accent = protect.page.table, QColor(protect.session.theme.accent)
    table.setFocus()
    for column in (ACTION, SHARE):
        table.setCurrentIndex(cell(protect, 2, column))
        box = table.visualRect(cell(protect, 2, column))
        assert colour_at(table, QPoint(box.left(), box.center().y())) == accent
        assert colour_at(table, QPoint(box.center().x(), box.bottom())) == accent
    table.setCurrentIndex(cell(protect, 3, SHARE))
    assert colour_at(table, QPoint(box.left(), box.center().y())) != accent


def test_a_click_on_the_chevron_opens_the_list_of_a_row_that_is_not_selected(people, qtbot):
    hands, table = Hands(people, qtbot), people.page.table
    table.setCurrentIndex(cell(people, 0, NAME))
    box = table.visualRect(cell(people, 4, ROLE))
    qtbot.mouseClick(table.viewport(), LEFT, pos=QPoint(box.right() - 9, box.center().y()))
    combo = hands.open_list()
    assert combo.currentText() == (people.session.plan.columns[4].role or "–")
    assert combo.width() >= combo.sizeHint().width(), "no word of it is cut"
    combo.hidePopup()


def test_one_click_on_a_cell_selects_it_whether_or_not_its_row_was_selected(people, qtbot):
    table = people.page.table
    for _ in range(2):
        place = table.visualRect(cell(people, 2, KIND)).center()
        qtbot.mouseClick(table.viewport(), LEFT, pos=place)
        assert table.currentIndex() == cell(people, 2, KIND)
    assert not table.editTriggers() & table.EditTrigger.SelectedClicked, "nor does it open after a while"
    assert not people.findChildren(QComboBox, "choice_editor")


# -- the card of Data -------------------------------------------------------------------------------------------------


@pytest.fixture(params=[100, 110])
def text_size(request, doubtful):
    doubtful.theme.set_scale(request.param)
    yield request.param
    doubtful.theme.set_scale(100)


def test_a_date_in_doubt_has_every_field_whole_in_a_small_window(doubtful, text_size):
    assert (doubtful.width(), doubtful.height()) == (1280, 800)
    table = doubtful.page.table
    filled_in = [table.model().headerData(c, Qt.Orientation.Horizontal) for c in range(6)]
    assert filled_in[3:] == ["Lower bound", "Upper bound", "Missing"]
    assert table.horizontalScrollBar().value() == 0
    assert sum(map(table.columnWidth, range(6))) <= table.viewport().width(), "what is filled in is in sight"
    doubtful.page.table.selectRow(SEEN)
    QApplication.processEvents()
    assert doubtful.findChild(QLabel, "suspicion_0").text().startswith("⚠ ")
    for name in ("fact_missing", "fact_date_order", "fact_cells", "take_from_data", "detail_drop"):
        assert whole(doubtful.findChild(QWidget, name)), name
    doubtful.session.edit_column("seen", "take", lower=733_773.0, upper=734_137.0, bounds_origin="data")
    QApplication.processEvents()
    for name in ("fact_missing", "fact_date_order", "fact_cells", "take_from_data", "detail_drop"):
        assert whole(doubtful.findChild(QWidget, name)), name


def test_the_button_opens_the_list_of_an_open_field(doubtful, press, qtbot):
    doubtful.session.edit_column("age", "bounds", lower=0.0, upper=120.0)
    press(doubtful, "data_onward")
    combo = doubtful.findChild(QComboBox, "fact_missing")
    qtbot.waitUntil(lambda: combo.view().isVisible())
    assert combo.currentText() == "not declared"
    combo.hidePopup()


def test_the_sign_of_a_doubt_goes_once_it_is_settled(doubtful):
    assert cell(doubtful, SEEN, NAME).data() == "seen  ⚠"
    doubtful.session.edit_column("seen", "declare day first", date_order="day-first")
    assert cell(doubtful, SEEN, NAME).data() == "seen"


def test_a_bound_that_was_refused_is_read_again_once_the_order_is_declared(doubtful, qtbot):
    model, table = doubtful.page.table.model(), doubtful.page.table
    table.setCurrentIndex(cell(doubtful, SEEN, LOWER))
    model.setData(cell(doubtful, SEEN, LOWER), "31/01/2010")
    assert cell(doubtful, SEEN, LOWER).data() == "✕ 31/01/2010"
    doubtful.session.edit_column("age", "bound", lower=0.0)
    assert cell(doubtful, SEEN, LOWER).data() == "✕ 31/01/2010", "another edit does not drop it unsaid"
    combo = doubtful.findChild(QComboBox, "fact_date_order")
    combo.setCurrentIndex(combo.findData("day-first"))
    combo.activated.emit(combo.currentIndex())
    assert cell(doubtful, SEEN, LOWER).data() == "2010-01-31"
    assert doubtful.session.plan.column("seen").date_order == "day-first"


def test_a_bound_that_cannot_be_read_in_the_declared_order_stays_refused(doubtful):
    model = doubtful.page.table.model()
    doubtful.page.table.setCurrentIndex(cell(doubtful, SEEN, LOWER))
    model.setData(cell(doubtful, SEEN, LOWER), "31.31.2010")
    doubtful.session.edit_column("seen", "declare day first", date_order="day-first")
    assert cell(doubtful, SEEN, LOWER).data() == "✕ 31.31.2010"
    assert "is not a date" in doubtful.findChild(QLabel, "detail_problem").text()


def test_it_is_said_by_what_invalid_values_are_replaced(doubtful, press):
    said = doubtful.findChild(QLabel, "replaced_by")
    assert said.isVisible(), "a release would stop at a missing age"
    assert "missing or unreadable → ‘missing’" in said.text()
    assert "outside the bounds → the nearest bound" in said.text()
    assert "not in the list → the value chosen for that" in said.text()


def test_every_guess_stands_whole_beside_the_button_that_confirms_it(doubtful):
    session = doubtful.session
    plan = session.plan.with_columns(
        {
            "age": {"lower": 0.0, "upper": 120.0, "missing": "own-value"},
            "seen": {"lower": 733_773.0, "upper": 734_137.0, "date_order": "day-first"},
            "note": {"domain": ("a", "b", "c")},
        }
    )
    session.edit("declare", plan)
    note = doubtful.findChild(QLabel, "note_data")
    assert note.text() == note.accessibleName(), "nothing is left out"
    assert note.text().startswith("Guessed from the rows: ")
    assert note.height() >= note.heightForWidth(note.width())


# -- the card of Protect ----------------------------------------------------------------------------------------------


def test_what_a_value_can_become_is_in_sight_in_a_small_window(protect):
    assert (protect.width(), protect.height()) == (1280, 800)
    picture = protect.findChild(Chart, "share_becoming")
    assert picture.isVisible()
    assert picture.height() >= 90
    assert protect.page.detail.rect().contains(picture.mapTo(protect.page.detail, picture.rect().bottomRight()))
    protect.resize(2560, 1440)
    QApplication.processEvents()
    assert picture.height() >= 200


def test_a_long_name_is_whole_beside_the_question_what_it_is_for(window, tmp_path, idle):
    name = "systolic_blood_pressure_at_admission"
    (tmp_path / "long.csv").write_text("\n".join([f"{name},b", *(f"{i % 9},{i % 4}" for i in range(40))]), "utf-8")
    open_table(window.session, window.jobs, str(tmp_path / "long.csv"))
    idle(window)
    window.session.edit(
        "bounds", window.session.plan.with_columns({n: {"lower": 0.0, "upper": 9.0} for n in (name, "b")})
    )
    go_to(window, "protect")
    idle(window)
    shown = [w.text() for w in window.page.detail.findChildren(QLabel) if w.isVisible()]
    assert name in shown


def test_a_share_has_four_digits_and_the_exact_one_in_its_tip(protect):
    protect.session.edit("locks", protect.session.plan.with_columns({"age": {"epsilon": Decimal("0.1234567")}}))
    assert protect.page.shares.index(2, SHARE).data() == "0.1235"
    tip = protect.page.shares.index(2, SHARE).data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "0.1234567 exactly"


def test_one_sentence_warns_of_noise_and_of_a_high_epsilon_and_offers_a_way_out(protect, idle):
    note = protect.findChild(QLabel, "note_protect")
    assert "raise ε" in note.accessibleName()
    protect.session.set_epsilon(Decimal(6))
    protect.session.edit("lock", protect.session.plan.with_columns({"income": {"epsilon": Decimal("0.01")}}))
    idle(protect)
    said = note.accessibleName()
    assert said.startswith(
        "⚠ At ε = 6 the guarantee says little about any one row, and income would still be mostly noise"
    )
    assert "raise ε" not in said
    assert "drop columns" in said
    assert "release synthetic rows or a private model" in said
    protect.page.table.setCurrentIndex(protect.page.shares.index(5, SHARE))
    warning = protect.findChild(QLabel, "share_warning").text()
    assert "mostly noise" in warning
    assert "ε, or" not in warning.split("noise.")[1]


def test_a_mean_that_is_mostly_noise_is_warned_of(protect, idle):
    protect.session.edit(
        "ask for means",
        protect.session.plan.with_columns({"income": {"purpose": "statistics", "epsilon": Decimal("0.001")}}),
    )
    idle(protect)
    assert protect.page.shares.index(5, ERROR).data().endswith("⚠")
    protect.session.set_epsilon(Decimal(20))
    protect.session.edit_column("income", "free", epsilon=None)
    idle(protect)
    assert not protect.page.shares.index(5, ERROR).data().endswith("⚠")


# -- a data dictionary ------------------------------------------------------------------------------------------------


def choose(window, name: str) -> None:
    """Press an entry of the menu of the button."""
    actions = window.page.dictionary.menu().actions()
    action = next(a for a in actions if a.objectName() == f"dictionary_{name}")
    action.trigger()


def test_a_dictionary_is_imported_as_one_step_and_exported_again(doubtful, tmp_path, idle, monkeypatch, qtbot):
    before = doubtful.session.plan
    file = tmp_path / "d.csv"
    file.write_text(
        "name,role,kind,lower,upper,values,missing_codes\nage,quasi-identifier,integer,0,120,,-9\n"
        "note,target,category,,,a|b|c,\nheight,,real,0,3,,\n",
        "utf-8",
    )
    told = []
    doubtful.session.notified.connect(lambda level, text: told.append((level, text)))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(file), ""))
    choose(doubtful, "import")
    idle(doubtful)
    age, seen, note = doubtful.session.plan.columns
    assert (age.lower, age.upper, age.role) == (0, 120, "quasi-identifier")
    assert "kind" not in age.guessed, "it is declared; what a missing age means is not in a dictionary"
    assert (note.domain, note.role) == (("a", "b", "c"), "target")
    assert seen == before.column("seen")
    assert told[-1][0] == "warning"
    assert "Imported d.csv: 2 columns declared. The table lacks 1 column of the data dictionary: height." in told[-1][1]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "out.csv"), ""))
    choose(doubtful, "export")
    idle(doubtful)
    lines = (tmp_path / "out.csv").read_text("utf-8").splitlines()
    assert lines == [
        "name,role,kind,lower,upper,values,missing,missing_codes,date_order",
        "age,quasi-identifier,integer,0,120,,,-9,",
        "seen,,date?,,,,refuse?,,",
        "note,target,category,,,a|b|c,refuse?,,",
    ]
    qtbot.keyClick(doubtful, Qt.Key.Key_Z, CTRL)
    assert doubtful.session.plan == before


def test_a_wrong_dictionary_changes_nothing_and_names_row_and_column(doubtful, tmp_path, idle, monkeypatch):
    before = doubtful.session.plan
    file = tmp_path / "d.csv"
    file.write_text("name,kind,lower,upper\nage,integer,0,120\nseen,date,2010-13-01,\n", "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(file), ""))
    choose(doubtful, "import")
    idle(doubtful)
    assert doubtful.session.plan == before
    assert "row 3 (seen), lower: '2010-13-01' is not a date" in doubtful.findChild(QLabel, "banner_text").text()


def test_values_read_off_the_rows_are_left_out_of_an_export_and_said(doubtful, tmp_path, idle, press, monkeypatch):
    told = []
    doubtful.session.notified.connect(lambda level, text: told.append((level, text)))
    doubtful.page.table.selectRow(AGE)
    press(doubtful, "take_from_data")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "out.csv"), ""))
    choose(doubtful, "export")
    idle(doubtful)
    assert "age,,integer?,,,,own-value?,," in (tmp_path / "out.csv").read_text("utf-8").splitlines()
    level, text = told[-1]
    assert level == "warning"
    assert "Left out, because they were read from the rows: bounds of age." in text


@pytest.mark.parametrize(
    ("page", "columns", "percent"),
    [
        ("data", ("Role", "Kind"), 100),
        ("data", ("Role", "Kind"), 120),
        ("protect", ("Action", "Mechanism"), 100),
        ("protect", ("Action",), 120),
    ],
)
def test_every_word_that_was_chosen_stands_whole_in_its_cell(people, idle, percent, page, columns):
    people.theme.set_scale(percent)
    try:
        show(people, page)
        idle(people)
        table = people.page.table
        model = table.model()
        heads = [model.headerData(c, Qt.Orientation.Horizontal) for c in range(model.columnCount())]
        seen = []
        for column in map(heads.index, columns):
            for row in range(model.rowCount()):
                index, option = model.index(row, column), QStyleOptionViewItem()
                table.initViewItemOption(option)
                option.rect = table.visualRect(index)
                table.itemDelegateForColumn(column).initStyleOption(option, index)
                assert option.text == index.data()
                seen.append(option.text)
        assert "quasi-identifier" in seen or page == "protect"
    finally:
        people.theme.set_scale(100)

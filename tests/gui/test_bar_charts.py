"""What the charts of bars share: the tooltip of the bar under the pointer, and the ends below the bars."""

from decimal import Decimal

import pytest
from hands import go_to
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QImage
from PySide6.QtWidgets import QApplication, QLineEdit, QSlider, QToolTip, QVBoxLayout, QWidget

from workbench.data.columns.profile import Bin
from workbench.gui.pages.data.attribute_table import Histogram
from workbench.gui.pages.train.run_card import RunCard, StepChart
from workbench.gui.session.account_view import AccountView
from workbench.gui.session.session import Session
from workbench.gui.style.stylesheet import stylesheet
from workbench.gui.widgets.chart import SCALE, in_short
from workbench.jobs import network
from workbench.params import InputError
from workbench.render import fonts
from workbench.render.palette import DARK, LIGHT
from workbench.signals.events import Budget, Cancelled

BARS = [Bin("0 – 9", 3), Bin("10 – 19", 1), Bin("20 – 29", 0), Bin("30 – 39", 6)]


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def histogram(session, qtbot):
    made = Histogram(session)
    qtbot.addWidget(made)
    made.resize(200, 110)
    made.show_bars(BARS, "age")
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.mark.parametrize(("x", "words"), [(60, "0 – 9: 3 rows"), (100, "10 – 19: 1 row"), (199, "30 – 39: 6 rows")])
def test_the_bar_under_the_pointer_is_named(histogram, qtbot, x, words):
    place = QPoint(x, 50)
    QApplication.sendEvent(histogram, QHelpEvent(QEvent.Type.ToolTip, place, histogram.mapToGlobal(place)))
    qtbot.waitUntil(lambda: QToolTip.text() == words)


def test_beside_the_bars_nothing_is_named(histogram):
    assert histogram.words_at(-1) == histogram.words_at(200) == ""
    histogram.show_bars([], "age")
    assert histogram.words_at(10) == ""


def test_both_ends_are_written_below_the_bars(histogram, session):
    """Nothing is written between them, and of a single bar only its own end."""

    def inked() -> set[int]:
        image = histogram.grab().toImage()
        blank = image.pixelColor(image.width() // 2, image.height() - 2)
        rows = range(image.height() - 14, image.height() - 1)
        return {x for x in range(image.width()) if any(image.pixelColor(x, y) != blank for y in rows)}

    both = inked()
    assert SCALE <= min(both) < SCALE + 10
    assert max(both) > 190
    assert not both & set(range(90, 140))
    histogram.show_bars(BARS[:1], "age")
    assert max(inked()) < 90
    histogram.show_bars([Bin("0", 3), Bin("1", 6)], "label")  # each value is below its bar
    each = inked()
    assert each & set(range(70, 100))
    assert each & set(range(145, 175))
    assert not each & set(range(SCALE, 60))


def test_the_height_of_the_bars_has_a_scale(histogram):
    """What the whole height and half of it stand for is written to the left of the bars."""
    image = histogram.grab().toImage()
    blank = image.pixelColor(1, 1)
    inked = {y for x in range(SCALE - 4) for y in range(image.height()) if image.pixelColor(x, y) != blank}
    assert inked & set(range(16))
    assert inked & set(range(40, 60))
    assert not inked & set(range(70, 110))
    assert [in_short(rows) for rows in (1, 2.5, 12.5, 99_999, 200_000, 3_400_000)] == [
        "1", "2.5", "12", "99,999", "200 k", "3.4 M",
    ]  # fmt: skip


@pytest.mark.parametrize("percent", [100, 150, 200])
def test_the_scale_is_whole_at_any_size_of_text(histogram, session, percent):
    """Half of the uppermost number is above the bars, and five digits are wider than the usual room."""
    fonts.set_scale(percent / 100)
    histogram.show_bars([Bin("0 – 9", 88_888), Bin("10 – 19", 1)], "age")
    metrics = QFontMetrics(fonts.font(histogram.letters))
    box = histogram._box(histogram.drawing())
    assert box.top() >= metrics.height() / 2
    assert box.left() - 6 >= metrics.horizontalAdvance("88,888")


def test_bars_take_the_colours_of_the_theme(histogram, session):
    from workbench.render.palette import DARK

    def bar() -> QColor:
        return histogram.grab().toImage().pixelColor(175, 80)

    light = bar()
    session.set_theme(DARK)
    assert bar() != light


# -- ε against the steps of a run: its target, and what the cap of the account leaves for it --------------------------


WIDTH, HEIGHT = 360, 220


def drawn(target, cap):
    """Return the chart and the lines, counted from above, that are drawn through its whole width in the limits' red."""
    session = Session()
    chart = StepChart(session, "train_epsilon", "ε so far, at most", style="third", rising=True)
    chart.resize(WIDTH, HEIGHT)
    chart.begin(100, target, cap)
    chart.add(10, 0.3)
    image = chart.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    scale = image.width() / WIDTH
    red = QColor(session.theme.danger)

    def reddish(x, y):
        pixel = image.pixelColor(x, y)
        return abs(pixel.red() - red.red()) + abs(pixel.green() - red.green()) + abs(pixel.blue() - red.blue()) < 90

    columns = range(int(60 * scale), int((WIDTH - 20) * scale))
    shares = [sum(reddish(x, y) for x in columns) / len(columns) for y in range(image.height())]
    whole = [y / scale for y, share in enumerate(shares) if share > 0.9]
    dashed = [y / scale for y, share in enumerate(shares) if 0.5 < share < 0.85]
    return chart, whole, dashed


def test_target_and_cap_are_two_lines_and_the_cap_is_above(qapp):
    chart, whole, dashed = drawn(1.0, 2.0)
    assert whole
    assert dashed
    assert max(whole) < min(dashed)
    assert chart.limits == (("target ε", 1.0, True), ("cap allows ε", 2.0, True))
    assert chart.accessibleName().endswith("at step 10, target ε 1, cap allows ε 2")


def test_the_line_of_the_cap_follows_a_cap_that_is_changed(window):
    go_to(window, "train")
    chart, session = window.page.going.epsilon, window.session
    session.set_account(AccountView("d", cap=Decimal(2)))
    chart.begin(10, 1.0, 2.0)
    chart.add(0, 0.0)
    session.set_account(AccountView("d", cap=Decimal(5), reserved=Decimal(1)))
    assert chart.limits[1] == ("cap allows ε", 5.0, False)
    assert chart.accessibleName().endswith("cap allows ε 5")


def test_a_target_that_takes_all_that_is_left_is_one_line_that_says_so(qapp):
    chart, whole, dashed = drawn(1.0, 1.0)
    assert not whole
    assert dashed
    assert "target = cap" in chart.accessibleName()


def test_a_cap_far_above_is_named_and_does_not_flatten_the_line(qapp):
    chart, whole, dashed = drawn(1.0, 40.0)
    assert not whole
    assert chart.limits[1] == ("cap allows ε", 40.0, False)
    assert dashed[0] == pytest.approx(drawn(1.0, None)[2][0], abs=2)


@pytest.mark.parametrize(
    ("account", "more", "room"),
    [
        (AccountView(), {}, "1"),
        (AccountView(), {"first": Decimal(4)}, "4"),
        (AccountView(cap=Decimal(3), spent=Decimal("0.5")), {}, "2.5"),
        (AccountView(cap=Decimal(3), spent=Decimal("0.5"), reserved=Decimal(1)), {"reserved": True}, "2.5"),
    ],
)
def test_the_room_under_the_cap(account, more, room):
    assert account.room(Decimal(1), **more) == Decimal(room)


def test_the_run_draws_what_the_cap_leaves(window, finish, press, tmp_path, qtbot, answer, monkeypatch):
    pytest.importorskip("torch")

    def refuse(*given):
        raise InputError("it does not begin", hint="wait")

    monkeypatch.setattr(network, "train_network", refuse)
    finish(window, "sample_iris")
    press(window, "tab_train")
    press(window, "train_model_logistic")
    for key, text in (("train_logistic_epochs", "2"), ("train_logistic_batch", "30"), ("train_folder", "net")):
        field = window.findChild(QLineEdit, key)
        field.selectAll()
        qtbot.keyClicks(field, str(tmp_path / text) if key == "train_folder" else text)
    qtbot.waitUntil(lambda: window.page.primary.isEnabled())
    window.page.session.account = AccountView(cap=Decimal(5), spent=Decimal(3))
    window.page.refresh()
    begun = []
    monkeypatch.setattr(window.page.going.epsilon, "begin", lambda *given: begun.append(given))
    answer("yes")
    finish(window, "train_start")
    (given,) = [g for g in begun if g[0]]
    assert given[2] == 2.0


def test_a_paused_run_has_one_epsilon_for_its_last_step(qtbot):
    """On the way a bound is drawn, that of a later step; a paused run's ε is known exactly and takes its place."""
    card = RunCard(Session())
    card.steps = 1000
    card.epsilon.begin(1000, 3.0)
    for step, bound in ((0, 0.0), (90, 0.3312), (100, 0.4012)):
        card._take_budget(Budget(bound, 1e-6, 3.0, step, 1000))
    card.settle(100, 0.3643)
    assert card.epsilon.points[-1] == (100, 0.4012), "it was not paused"
    card.report_end(Cancelled("paused"), paused=True)
    card.settle(100, 0.3643)
    card.settle(100, 0.3643)
    assert card.epsilon.points == ((0, 0.0), (90, 0.3312), (100, 0.3643))


# -- The style sheet's slider: a thin groove whose taken part is filled, a ring where the keyboard is -----------------


@pytest.fixture(params=[LIGHT, DARK], ids=["light", "dark"])
def theme(request):
    return request.param


@pytest.fixture
def sliders(qtbot, theme):
    """Two sliders at their middles, the second one with the keyboard."""
    around = QWidget()
    around.setStyleSheet(stylesheet(theme))
    layout = QVBoxLayout(around)
    made = QSlider(Qt.Orientation.Horizontal), QSlider(Qt.Orientation.Horizontal)
    for slider in made:
        slider.setRange(0, 100)
        slider.setValue(50)
        layout.addWidget(slider)
    qtbot.addWidget(around)
    around.resize(240, 90)
    around.show()
    qtbot.waitExposed(around)
    around.activateWindow()
    made[1].setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(made[1].hasFocus)
    yield made
    around.close()


def picture(slider: QSlider) -> QImage:
    return slider.window().grab(slider.geometry()).toImage()


def test_the_groove_is_thin_and_filled_up_to_the_handle(sliders, theme):
    image = picture(sliders[0])
    for x, colour in ((30, theme.accent), (image.width() - 30, theme.line)):
        column = [image.pixelColor(x, y) for y in range(image.height())]
        assert column.count(QColor(colour)) == 4


def test_the_slider_with_the_keyboard_shows_a_ring(sliders, theme):
    plain, focused = map(picture, sliders)
    middle = plain.rect().center()
    assert plain.pixelColor(middle) == QColor(theme.accent)
    assert focused.pixelColor(middle) == QColor(theme.surface)


def test_a_slider_that_cannot_be_moved_is_not_filled(sliders, theme):
    sliders[0].setEnabled(False)
    image = picture(sliders[0])
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert QColor(theme.accent).name() not in colours

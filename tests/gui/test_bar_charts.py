"""What the charts of bars share: the tooltip of the bar under the pointer, and the ends below the bars."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QColor, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip

from workbench.data.columns.profile import Bin
from workbench.gui.pages.data.attribute_table import Histogram
from workbench.gui.session.session import Session
from workbench.gui.widgets.chart import SCALE, in_short

BARS = [Bin("0 – 9", 3), Bin("10 – 19", 1), Bin("20 – 29", 0), Bin("30 – 39", 6)]


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def histogram(session, qtbot) -> Histogram:
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


def test_bars_take_the_colours_of_the_theme(histogram, session):
    from workbench.render.palette import DARK

    def bar() -> QColor:
        return histogram.grab().toImage().pixelColor(175, 80)

    light = bar()
    session.set_theme(DARK)
    assert bar() != light

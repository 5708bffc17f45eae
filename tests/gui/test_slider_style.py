"""The style sheet's slider: a thin groove whose taken part is filled, a ring where the keyboard is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QSlider, QVBoxLayout, QWidget

from workbench.gui.style.stylesheet import stylesheet
from workbench.render.palette import DARK, LIGHT, Theme


@pytest.fixture(params=[LIGHT, DARK], ids=["light", "dark"])
def theme(request) -> Theme:
    return request.param


@pytest.fixture
def sliders(qtbot, theme) -> Iterator[tuple[QSlider, QSlider]]:
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

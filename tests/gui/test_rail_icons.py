"""The rail: an icon for each room in the ink of the theme, and dots that are explained."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QImage

from workbench.gui.pages.base import ROOMS
from workbench.render.palette import THEMES


def icon_of(window, name: str) -> QImage:
    """What the rail draws before the title of a room."""
    line = window.rail.buttons[name]
    return line.grab(QRect(8, 0, 20, line.height())).toImage()


def near(image: QImage, ink: str) -> int:
    """How many pixels have the colour ``ink``, or nearly."""
    wanted = QColor(ink)
    return sum(
        all(abs(a - b) < 60 for a, b in zip(image.pixelColor(x, y).getRgb()[:3], wanted.getRgb()[:3], strict=True))
        for x in range(image.width())
        for y in range(image.height())
    )


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_line_has_an_icon_of_its_own_in_the_ink_of_the_theme(window, mode):
    window.theme.set_mode(mode)
    window.show_page("ledger")
    seen = {}
    for room in ROOMS:
        image = icon_of(window, room.name)
        ink = THEMES[mode].accent if room.name == "released" else THEMES[mode].text
        assert near(image, ink) >= 8, room.name
        seen[room.name] = bytes(image.constBits())
    assert len(set(seen.values())) == len(ROOMS)


def test_the_pointer_is_told_what_the_dot_means(people):
    assert people.rail.buttons["data"].toolTip().endswith("\nFull dot: ready")
    assert people.rail.buttons["models"].toolTip().endswith("\nRing dot: nothing here yet")
    people.session.edit_column("age", "Lower bound of age", lower=None)
    assert people.rail.buttons["data"].toolTip().endswith("\nHalf dot: needs you")
    assert "dot" not in people.rail.buttons["tools"].toolTip(), "a tool has no state"


def test_an_icon_that_cannot_be_drawn_is_a_fault_of_its_page():
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QPainter

    from workbench.gui.shell.rail import draw_icon

    image = QImage(16, 16, QImage.Format.Format_ARGB32)
    with QPainter(image) as painter, pytest.raises(ValueError, match="not the path"):
        draw_icon(painter, '"/><broken', QColor("black"), QRectF(0, 0, 16, 16))


def test_memory_is_quieter_than_the_budget(people, qtbot):
    budget, memory = people.budget_gauge, people.memory_gauge
    figures = [people.findChild(type(memory._figure), name) for name in ("budget_figure", "memory_figure")]
    assert figures[0].font().pixelSize() > 1.5 * figures[1].font().pixelSize()
    assert budget.property("look") == "card"
    assert memory.property("look") == "quiet"

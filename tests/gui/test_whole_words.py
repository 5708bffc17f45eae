"""Words that are too long for their place say so, and figures are written as the language writes them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from comparisons import add, study
from hands import go_to
from PySide6.QtGui import QFont, QFontMetrics

from workbench.gui.style import language
from workbench.gui.widgets.basic import button
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.render.curve import _surroundings


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

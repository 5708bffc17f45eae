"""The page What ε means follows the ε that was asked about anywhere, and its own fields."""

from decimal import Decimal

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QScrollArea, QWidget

from workbench.gui.pages.explain.page import DEFAULTS, KINDS_OF_TRUST, SPOKEN, TrustPicture
from workbench.privacy.explain.guide import QUESTIONS, advice
from workbench.privacy.explain.sections import sections
from workbench.render.palette import DARK, LIGHT


def shown(window, section: str) -> list[str]:
    """Return the paragraphs of a section that are in sight or above and below it."""
    found = [window.page.findChild(QLabel, f"explain_{section}_{place}") for place in range(5)]
    return [label.text() for label in found if label is not None and not label.isHidden()]


@pytest.fixture
def explained(window, press, qtbot):
    """The window with the page, once the cards below those in sight have been added."""
    press(window, "tab_explain")
    assert window.page.findChild(QLabel, "explain_belief_0").isVisible()
    qtbot.waitUntil(lambda: window.page.findChild(QLabel, "explain_anonymity_0") is not None)
    return window


def told(epsilon: float, delta: float, name: str) -> list[str]:
    return list(next(s for s in sections(epsilon, delta) if s.name == name).text)


def test_the_panel_beside_every_page_leads_to_the_page_with_its_epsilon(people, press, qtbot):
    press(people, "tab_protect")
    press(people, "protect_explain")
    press(people, "explain_more")
    assert people.page.objectName() == "page_explain"
    assert people.findChild(QLineEdit, "explain_epsilon_field").text() == "1"
    assert shown(people, "belief") == told(1.0, 0.0, "belief")
    qtbot.waitUntil(lambda: people.page.findChild(QLabel, "explain_anonymity_0") is not None)
    people.session.explain(Decimal("2.5"), Decimal("1e-6"))
    assert people.findChild(QLineEdit, "explain_delta").text() == "1e-6"
    for name in ("belief", "insurance", "delta", "composition", "group", "trust", "anonymity"):
        assert shown(people, name) == told(2.5, 1e-6, name)


def test_everything_follows_the_fields_and_a_refused_delta_is_told(explained, qtbot):
    for name, text in (("explain_epsilon_field", "0.7"), ("explain_delta", "1e-5")):
        field = explained.findChild(QLineEdit, name)
        field.selectAll()
        qtbot.keyClicks(field, text)
    assert shown(explained, "group") == told(0.7, 1e-5, "group")
    table = explained.page.cards["group"].table
    section = next(s for s in sections(0.7, 1e-5) if s.name == "group")
    assert section.table is not None
    assert [table.text(row, 1) for row in range(4)] == [line[1] for line in section.table.rows]
    delta = explained.findChild(QLineEdit, "explain_delta")
    delta.selectAll()
    qtbot.keyClicks(delta, "2")
    problem = explained.findChild(QLabel, "explain_problem")
    assert problem.isVisible()
    assert "δ" in problem.text()
    assert shown(explained, "group") == told(0.7, 1e-5, "group")


def test_three_questions_lead_to_a_range_and_its_ends_are_explained(explained, press, qtbot):
    first = advice(**DEFAULTS)
    assert explained.findChild(QLabel, "guide_range").text() == f"ε from {first.low:g} to {first.high:g}"
    reader = explained.findChild(QComboBox, "guide_reader")
    reader.setFocus()
    qtbot.keyClick(reader, Qt.Key.Key_End)
    assert reader.currentData() == QUESTIONS[0].answers[-1].name
    found = advice(**{**DEFAULTS, "reader": reader.currentData()})
    assert explained.findChild(QLabel, "guide_range").text() == f"ε from {found.low:g} to {found.high:g}"
    for reason in found.reasons:
        assert reason in explained.findChild(QLabel, "guide_reasons").text()
    assert "Apple" in explained.findChild(QLabel, "guide_published").text()
    area = explained.findChild(QScrollArea, "explain_area")
    area.ensureWidgetVisible(explained.findChild(QWidget, "guide_high"))
    press(explained, "guide_high")
    assert shown(explained, "belief") == told(found.high, 0.0, "belief")


def test_the_picture_of_trust_is_spoken_and_drawn_in_both_themes(explained):
    picture = explained.findChild(TrustPicture)
    assert picture.accessibleName() == SPOKEN
    drawn = []
    for theme in (LIGHT, DARK):
        explained.session.set_theme(theme)
        drawn.append(picture.grab().toImage())
    assert drawn[0] != drawn[1]
    sees = {name: [stage.words for stage in stages if stage.sees] for name, stages in KINDS_OF_TRUST}
    assert sees == {"Local": ["Each person"], "Shuffled": ["Each person"], "Central": ["Each person", "Steward"]}


def test_shuffled_reports_are_simulated_at_the_epsilon_of_the_page(explained, idle, monkeypatch):
    monkeypatch.setattr("workbench.studies.trust_models.COLLECTIONS", 20_000)
    idle(explained)
    study = explained.page.shuffled
    study.people.setText("none")
    study.start()
    assert "people" in explained.findChild(QLabel, "shuffle_words").text()
    study.people.setText("5000")
    study.start()
    idle(explained)
    errors = [
        float(explained.findChild(QLabel, f"shuffle_error_{model}").text())
        for model in ("central", "shuffled", "local")
    ]
    assert errors == sorted(errors)
    words = explained.findChild(QLabel, "shuffle_words").text()
    assert "At the same ε of 1," in words
    assert "simulated collections prove at least" in words


@pytest.mark.parametrize("width", [1280, 2560])
def test_no_card_is_painted_squeezed_while_the_next_ones_are_added(window, press, qtbot, width):
    window.resize(width, 1440)
    lacked = []

    class Painted(QObject):
        def eventFilter(self, content, event):  # noqa: N802 - Qt's name
            if event.type() == QEvent.Type.Paint:
                lacked.append(max(content.heightForWidth(content.width()) - content.height(), 0))
            return False

    press(window, "tab_explain")
    painted = Painted(window)
    window.page.findChild(QScrollArea, "explain_area").widget().installEventFilter(painted)
    qtbot.waitUntil(lambda: not window.page._waiting)
    qtbot.wait(50)
    assert len(lacked) > 1
    assert set(lacked) == {0}
    window.show_page("help")  # what is out of sight has its cards laid out by the size of text it is shown at
    window.theme.set_scale(150)
    window.show_page("explain")
    qtbot.waitUntil(lambda: all(card.height() >= card.heightForWidth(card.width()) for card in window.page._order))

"""How good released rows are, by clicks on the Releases page: scores, a picture of two columns, and the report."""

from __future__ import annotations

import math

import pytest
from PySide6.QtWidgets import QLabel, QWidget

from workbench.gui.pages.released.page import QualityCard
from workbench.gui.widgets import report_button
from workbench.release.documents import risk_document
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify_any import verify_any


def test_released_rows_are_scored_beside_the_open_table(listed, press, idle):
    card = listed.findChild(QualityCard, "quality")
    assert card is not None
    press(listed, "quality_ask")
    idle(listed)
    found = card.found
    assert found is not None
    assert [score.name for score, _ in found.found][:2] == ["column_shapes", "pair_trends"]
    shown = card.findChild(QLabel, "quality_score_column_shapes").text()
    assert float(shown) == pytest.approx(found.found[0][1].value, abs=5e-4)
    words = card.findChild(QLabel, "quality_words").text()
    assert "Least alike" in words
    assert "sdmetrics" in words
    assert not math.isnan(found.overall)
    assert card.picture.isVisible()
    with Ledger.read() as book:
        assert "quality" in [noted.study for noted in book.figures()]


def test_the_report_is_saved_where_a_person_says(listed, press, idle, monkeypatch, tmp_path):
    where = tmp_path / "report.html"
    monkeypatch.setattr(report_button, "ask_where_to_save", lambda *_: str(where))
    press(listed, "quality_report")
    idle(listed)
    page = where.read_text("utf-8")
    assert "What attacks got" in page
    assert "private – not for release" in page


def test_a_report_that_is_cancelled_at_its_last_step_is_not_saved(listed, press, idle, monkeypatch, tmp_path):
    where = tmp_path / "report.html"
    monkeypatch.setattr(report_button, "ask_where_to_save", lambda *_: str(where))
    asked = []

    def at_last(report):
        asked.append(report)
        listed.jobs.running[0].cancel()
        return document(report)

    document = risk_document.risk_document
    monkeypatch.setattr(risk_document, "risk_document", at_last)
    press(listed, "quality_report")
    idle(listed)
    assert asked
    assert not where.exists()


def test_a_bundle_has_the_report_where_that_is_asked_for(listed, press, idle, monkeypatch, tmp_path):
    where = tmp_path / "released.bundle"
    monkeypatch.setattr(report_button, "ask_where_to_save", lambda *_: str(where))
    press(listed, "quality_report")
    idle(listed)
    assert (where / "private" / "risk-report.pdf").read_bytes().startswith(b"%PDF")
    assert verify_any(where) == []


def test_beside_another_table_nothing_is_compared(listed, press, idle, qtbot):
    listed.session.may_leave = lambda then: True
    listed.open("sample:iris")
    idle(listed)
    press(listed, "tab_released")
    idle(listed)
    qtbot.waitUntil(lambda: listed.findChild(QWidget, "quality") is None)

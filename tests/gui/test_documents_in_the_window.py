"""A release is printed and bundled from its card, and a study becomes a report that is marked as private."""

# ruff: noqa: F811 - a fixture has the name of what is imported
from __future__ import annotations

import os
import stat

import pytest
from PySide6.QtWidgets import QFileDialog, QLabel, QScrollArea, QWidget
from test_release_page import answer, ready, release, target  # noqa: F401 - fixtures

from workbench.gui.pages.curve_actions import CURVE_FILES, save_curve
from workbench.release.documents import written_document
from workbench.release.signature import make_key
from workbench.release.verify_any import signatures, verify_any
from workbench.render.values import PRIVATE_BADGE, CurveFigure, Series

LINE = Series("private model", "private", (0.1, 1.0), (0.5, 0.7), (0.4, 0.6), (0.6, 0.8))
FIGURE = CurveFigure("Accuracy against ε", "ε (log scale)", "accuracy", (LINE,), subtitle="made up")


def test_a_release_is_printed_and_bundled_from_its_card(
    ready,
    target,
    press,
    answer,
    idle,
    qtbot,
    monkeypatch,
    tmp_path,
):
    release(ready, press, answer, idle, qtbot)
    press(ready, "tab_released")
    idle(ready)
    make_key()
    monkeypatch.setattr(written_document, "pdf_bytes", lambda document: b"printed")
    page, bundle = tmp_path / "c.html", tmp_path / "bundle"
    area = ready.findChild(QScrollArea, "released_detail")
    result = ready.findChild(QLabel, "shown_release_result")
    for name, path in (("paper", page), ("bundle", bundle)):
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, path=path: (str(path), ""))
        area.ensureWidgetVisible(ready.findChild(QWidget, f"shown_release_{name}"))
        press(ready, f"shown_release_{name}")
        idle(ready)
        assert result.text() == f"✓ Saved {path}"
    assert "Certificate of a sanitised table" in page.read_text("utf-8")
    assert verify_any(bundle) == []
    signature = signatures(bundle)
    assert signature is not None
    assert signature.issuer == "your own key"
    press(ready, "shown_release_bundle")
    idle(ready)
    assert result.text().startswith("✕ It could not be written. The output folder exists already")


def test_a_release_is_bundled_from_the_list_of_releases(ready, press, answer, idle, qtbot, monkeypatch, tmp_path):
    release(ready, press, answer, idle, qtbot)
    press(ready, "tab_released")
    idle(ready)
    bundle = tmp_path / "from the list"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(bundle), ""))
    press(ready, "shown_release_bundle")
    idle(ready)
    assert verify_any(bundle) == []


@pytest.mark.slow
def test_a_study_is_saved_as_a_report_for_its_owner_alone(window, idle, tmp_path):
    assert "Report (*.pdf)" in CURVE_FILES
    path = tmp_path / "study.pdf"
    assert FIGURE.badge == PRIVATE_BADGE
    save_curve(window.session, window.jobs, FIGURE, lambda: "regime,value\nnone,0.5\n", path)
    idle(window)
    assert path.read_bytes().startswith(b"%PDF-")
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

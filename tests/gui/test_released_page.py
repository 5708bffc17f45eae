"""Everything that was released is listed, with its files, and what can be done with it is a click away."""

import math
import threading
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QWidget,
)

from workbench.cli import main
from workbench.deep.networks import network
from workbench.gui.pages.released.page import LEAST_LINES, QualityCard
from workbench.gui.session.account_view import ReleasedStep
from workbench.gui.session.draft import DraftPlan
from workbench.gui.widgets import report_button
from workbench.gui.widgets.release_card import ReleasedCard
from workbench.release.documents import risk_document
from workbench.release.ledger.ledger import Ledger
from workbench.release.verification import verify_any


@pytest.fixture
def generalised(window, finish, tmp_path):
    """The page in a window that knows of a generalised table by the ledger alone, as after a restart."""
    words = ["generalize", "sample:clinic", "--quasi", "age,town", "--sensitive", "diagnosis"]
    levels = ["--hierarchies", str(tmp_path / "levels")]
    assert main([*words, *levels, "--make"]) == 0
    assert main([*words, *levels, "--k", "2", "-o", str(tmp_path / "general.csv")]) == 0
    finish(window, "sample_clinic")
    finish(window, "tab_released")
    return window


def test_before_the_first_release_the_page_leads_to_one(people, finish):
    finish(people, "tab_released")
    assert people.findChild(QWidget, "released_nothing").isVisible()
    assert not people.findChild(QWidget, "released_list").isVisible()


def test_a_release_is_listed_verified_scored_and_missed_where_it_was_moved(
    listed, finish, press, idle, qtbot, monkeypatch
):
    # A release is listed and verified where it is selected.
    lines = listed.page.table.lines
    assert lines.height() == 1
    assert lines.cell(0, 2).text == "noisy rows"
    assert lines.cell(0, 5).text == "in place"
    finish(listed, "shown_release_verify")
    assert listed.findChild(QLabel, "shown_release_result").text().startswith("✓ File, certificate and ledger agree")
    assert listed.focusWidget() is listed.findChild(QWidget, "shown_release_verify")

    # A verification is cancelled and can be asked for again.
    free = threading.Event()
    with monkeypatch.context() as slow:
        slow.setattr("workbench.gui.widgets.release_card.faults", lambda _r, cancel: (free.wait(60), cancel.check()))
        press(listed, "shown_release_verify")
        result, again = (listed.findChild(QWidget, f"shown_release_{name}") for name in ("result", "verify"))
        assert result.text() == "Verifying…"
        assert not again.isEnabled()
        cancel = lambda: listed.findChild(QWidget, "job_cancel")  # noqa: E731 - the release before may have one still
        qtbot.waitUntil(lambda: cancel() is not None and cancel().isEnabled())
        press(listed, "job_cancel")
        assert result.text() == "Cancelling…"
        free.set()
        idle(listed)
    assert (result.text(), again.isEnabled()) == ("", True)
    assert listed.statusBar().currentMessage().startswith("Cancelled: Verifying")
    finish(listed, "shown_release_verify")
    assert result.text().startswith("✓ File, certificate and ledger agree")

    # Released rows are scored beside the open table.
    card = listed.findChild(QualityCard, "quality")
    assert card is not None
    finish(listed, "quality_ask")
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

    # What is offered of a release has room in large text.
    listed.theme.set_scale(150)
    listed.resize(1280, 800)
    qtbot.wait(50)
    offered = listed.findChild(QWidget, "shown_release_attack")
    around = [area for area in listed.page.findChildren(QScrollArea) if area.isAncestorOf(offered)]
    assert around
    assert [area.horizontalScrollBar().maximum() for area in around] == [0] * len(around)
    right = offered.mapTo(listed, offered.rect().topRight()).x()
    assert right <= around[-1].mapTo(listed, around[-1].rect().topRight()).x()
    finish(listed, "shown_release_verify")
    said = listed.findChild(QLabel, "shown_release_result")
    qtbot.waitUntil(lambda: said.visibleRegion().boundingRect().height() == said.height())
    listed.theme.set_scale(100)

    # A file that was moved is said to be.
    path = listed.session.released[-1].files[0][1]
    path.rename(path.with_name("elsewhere.csv"))
    listed.session.released = ()  # as after a restart
    listed.page.refresh()
    idle(listed)
    assert listed.page.table.lines.cell(0, 5).text == "moved"
    qtbot.waitUntil(lambda: listed.findChild(QLabel, "shown_release_gone").isVisible())


def test_what_is_offered_of_a_model_is_one_line_at_1280(window, qtbot, tmp_path):
    files = (("model", tmp_path), ("card", tmp_path / "card.json"))
    step = ReleasedStep("1", tmp_path, DraftPlan(), Decimal(1), title="Naive Bayes", files=files, model=True)
    card = ReleasedCard(step, window.jobs, "one", attack=lambda _folder: None)
    qtbot.addWidget(card)
    card.resize(744, 300)
    card.show()
    verify, attack = (card.findChild(QWidget, f"one_{name}") for name in ("verify", "attack"))
    qtbot.waitUntil(lambda: attack.x() > verify.x())
    assert attack.y() == verify.y()


def test_the_filter_and_the_open_table_narrow_the_list_and_beside_another_table_nothing_is_compared(
    listed, finish, press, load, qtbot
):
    # The filter and the open table narrow the list.
    field = listed.findChild(QLineEdit, "released_list_filter")
    qtbot.keyClicks(field, "no such release")
    assert list(listed.page.table.in_sight()) == []
    qtbot.waitUntil(lambda: listed.findChild(QLabel, "shown_release_result") is None)
    field.clear()
    assert list(listed.page.table.in_sight()) == [0]
    assert listed.findChild(QLabel, "shown_release_result") is not None
    listed.session.may_leave = lambda then: True
    load(listed, "sample:iris")
    finish(listed, "tab_released")
    assert listed.page.table.lines.height() == 1, "releases of other tables are listed, too"
    press(listed, "released_own")
    assert listed.page.table.lines.height() == 0
    press(listed, "released_own")

    # Beside another table nothing is compared.
    qtbot.waitUntil(lambda: listed.findChild(QWidget, "quality") is None)


def test_one_release_leaves_the_room_to_its_card_and_verifying_it_moves_nothing(listed, finish, qtbot):
    page, below = listed.page, listed.findChild(QWidget, "quality_ask")
    qtbot.waitUntil(lambda: page.table.height() <= page.table.room_for(LEAST_LINES) + 2)
    qtbot.wait(100)
    before = below.mapTo(page, QPoint(0, 0))
    finish(listed, "shown_release_verify")
    qtbot.wait(100)
    assert "agree" in listed.findChild(QLabel, "shown_release_result").text()
    assert below.mapTo(page, QPoint(0, 0)) == before


def test_a_released_table_is_opened_and_estimated_from_here(listed, finish, press):
    press(listed, "shown_release_estimate")
    assert listed.page.objectName() == "page_estimate"
    finish(listed, "tab_released")
    path = listed.session.released[-1].files[0][1]
    listed.session.may_leave = lambda then: True
    assert isinstance(listed.findChild(QAbstractButton, "shown_release_open"), QAbstractButton)
    finish(listed, "shown_release_open")
    assert listed.session.opened.source == str(path)


def test_a_paused_training_is_named_by_its_model(people, finish, press):
    run = SimpleNamespace(
        plan=SimpleNamespace(network="cifar-cnn"),
        taken=12,
        steps=1800,
        spent=Decimal("0.5"),
        epsilon=Decimal(3),
    )
    finish(people, "tab_released")
    people.session.set_paused((run,))
    said = people.findChild(QLabel, "released_paused").text()
    assert said == f"{network('cifar-cnn').title} is paused after 12 of 1,800 steps (ε = 0.5 of 3)."
    press(people, "released_resume")
    assert people.findChild(QLabel, "train_paused").text() == said


def test_a_generalised_table_is_listed_as_what_it_is_not_and_leads_on(
    generalised, finish, press, tmp_path, monkeypatch, qtbot
):
    path = tmp_path / "general.csv"
    lines = generalised.page.table.lines
    assert lines.height() == 1
    shown = [lines.cell(0, at) for at in range(6)]
    assert [cell.text for cell in shown[1:]] == ["general.csv", "generalised rows", "no ε", "", "in place"]
    assert shown[3].tip == "no ε: not differential privacy"
    assert generalised.findChild(QLabel, "shown_release_no_epsilon").text() == "no ε: not differential privacy"
    finish(generalised, "shown_release_verify")
    result = generalised.findChild(QLabel, "shown_release_result")
    assert result.text().startswith("✓ File, certificate and ledger agree")
    paper = tmp_path / "paper.html"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(paper), ""))
    finish(generalised, "shown_release_paper")
    assert "Certificate of a generalised table" in paper.read_text("utf-8")
    bundle = tmp_path / "general.bundle"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(bundle), ""))
    finish(generalised, "shown_release_bundle")
    assert (bundle / "release" / "general.csv").read_bytes() == path.read_bytes()
    assert generalised.findChild(QWidget, "shown_release_estimate") is None
    assert generalised.findChild(QWidget, "shown_release_learn") is None
    finish(generalised, "tab_attack")
    assert str(path) in listed_targets(generalised)
    finish(generalised, "tab_released")
    press(generalised, "shown_release_attack")
    assert generalised.page.objectName() == "page_attack"
    assert generalised.page.form.given()["release"] == path
    finish(generalised, "tab_released")
    generalised.session.may_leave = lambda then: True
    finish(generalised, "shown_release_open")
    assert generalised.session.opened.source == str(path)


def listed_targets(window) -> list[str]:
    boxes = window.page.form.findChildren(QComboBox)
    return [str(box.itemData(at)) for box in boxes for at in range(box.count())]


def test_a_generalised_table_that_was_replaced_is_not_shown_as_the_file_that_has_its_name(generalised, idle, tmp_path):
    words = ["generalize", "sample:clinic", "--quasi", "age,town", "--hierarchies", str(tmp_path / "levels")]
    assert main([*words, "--k", "3", "-o", str(tmp_path / "general.csv"), "--replace"]) == 0
    generalised.page.refresh()
    idle(generalised)
    lines = generalised.page.table.lines
    assert [lines.cell(at, 5).text for at in range(lines.height())] == ["in place", "moved"]
    assert Path(generalised.page._lines[0].output) == tmp_path / "general.csv"


# -- A model is a release as well: the Release page lists it with its cost, its folder and Verify ---------------------


def test_a_trained_model_is_listed_verified_and_is_no_release_of_the_table(trained, tmp_path):
    hands = trained
    hands.finish("train_show_release")
    assert hands.window.page.objectName() == "page_released"
    assert hands.text("shown_release_model") == str(tmp_path / "model")
    hands.finish("tab_release")
    assert hands.window.page.primary.objectName() == "release_onward"  # nothing blue that would publish the table
    release = hands.window.findChild(QPushButton, "release_now")
    assert release.property("look") == ""
    assert not release.isEnabled()  # the cap is spent: the ledger would refuse it
    assert release.text() == "Release…"
    hands.finish("release_onward")
    assert hands.see("shown_release").accessibleName().endswith("at ε = 1")
    hands.finish("shown_release_verify")
    assert hands.text("shown_release_result").startswith("✓ File, certificate and ledger agree")
    card = tmp_path / "model" / "card.json"
    card.write_text(card.read_text("utf-8").replace('"rows": 150', '"rows": 151'), "utf-8")
    hands.finish("shown_release_verify")
    assert hands.text("shown_release_result").startswith("✕ ")


def test_a_high_epsilon_is_warned_of_where_it_is_paid(hands):
    hands.finish("sample_people")
    hands.finish("tab_rows")
    assert not hands.sees("budget_warning")
    hands.click("tab_protect")
    hands.type_into("plan_epsilon_field", "8")
    hands.idle()
    hands.finish("tab_rows")
    assert "a suspicion of 10 % can grow to 99.7 %" in hands.text("budget_warning")
    assert hands.text("fact_replace_one") == "ε 8"


# -- How good released rows are, by clicks on the Releases page: scores, a picture of two columns, and the report


def test_the_report_is_saved_where_a_person_says(listed, finish, monkeypatch, tmp_path):
    where = tmp_path / "report.html"
    monkeypatch.setattr(report_button, "ask_where_to_save", lambda *_: str(where))
    finish(listed, "quality_report")
    page = where.read_text("utf-8")
    assert "Results of attacks" in page
    assert "private – not for release" in page


def test_a_bundle_has_the_report_where_that_is_asked_for(listed, finish, monkeypatch, tmp_path):
    where = tmp_path / "released.bundle"
    monkeypatch.setattr(report_button, "ask_where_to_save", lambda *_: str(where))
    finish(listed, "quality_report")
    assert (where / "private" / "risk-report.pdf").read_bytes().startswith(b"%PDF")
    assert verify_any(where) == []


def test_a_report_that_is_cancelled_at_its_last_step_is_not_saved(listed, finish, monkeypatch, tmp_path):
    where = tmp_path / "report.html"
    monkeypatch.setattr(report_button, "ask_where_to_save", lambda *_: str(where))
    asked = []

    def at_last(report):
        asked.append(report)
        listed.jobs.running[0].cancel()
        return document(report)

    document = risk_document.risk_document
    monkeypatch.setattr(risk_document, "risk_document", at_last)
    finish(listed, "quality_report")
    assert asked
    assert not where.exists()

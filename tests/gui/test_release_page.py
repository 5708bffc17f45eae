"""The Release page: charged once, refused with both numbers, verified, and never drawn twice by accident."""

import dataclasses
import os
import stat
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hands import go_to, show, when_asked
from mishaps import Heard, activate, retype, statuses, text_in_sight
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QScrollArea,
    QWidget,
)

from workbench.gui.pages.curve_actions import CURVE_FILES, save_curve
from workbench.gui.pages.release.page import Sections
from workbench.gui.project.open_table import open_table
from workbench.gui.session.account_task import read_account
from workbench.gui.session.account_view import ReleasedStep
from workbench.release.documents import written_document
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.study_note import note_study
from workbench.release.signature import make_key
from workbench.release.verification import signatures, verify_any
from workbench.render.values import PRIVATE_BADGE, CurveFigure, Series

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def target(tmp_path):
    return tmp_path / "people-released.csv"


@pytest.fixture
def ready(people, at_release, target):
    """A window on the Release page of the people sample, with a target in a folder of the test."""
    at_release(target)
    return people


def verdict(window, press, idle) -> str:
    press(window, "tab_released")
    idle(window)
    press(window, "shown_release_verify")
    idle(window)
    return text_in_sight(window, "shown_release_result")


def spent() -> list[str]:
    with Ledger.open() as book:
        return [str(r.epsilon.normalize()) for r in book.releases() if r.status == "charged"]


def test_what_is_told_and_refused_before_a_release_costs_nothing(
    ready, target, qtbot, idle, release, tmp_path, finish, press, answer
):
    # Before the release cost and columns are told exactly.
    assert text_in_sight(ready, "release_epsilon") == "ε = 1"
    assert text_in_sight(ready, "fact_zero_out") == "ε 1"
    assert text_in_sight(ready, "fact_replace_one") == "ε 1"
    assert text_in_sight(ready, "fact_cap_left") == "this release sets it"
    assert text_in_sight(ready, "release_size").startswith("2,000 rows × 5 columns")
    assert text_in_sight(ready, "release_outside_text").startswith("Nothing")
    seen = "Private figures of these rows were shown before (a preview of a release)."
    ready.session.account = dataclasses.replace(ready.session.account, seen=seen)
    ready.session.account_changed.emit()
    assert text_in_sight(ready, "release_outside_text") == f"⚠ {seen}"
    assert spent() == []

    # Escape at the question releases nothing.
    seen = []
    when_asked(lambda box: (seen.append(box), qtbot.keyClick(box, Qt.Key.Key_Escape)))
    activate(ready, qtbot)
    qtbot.keyClick(ready, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: bool(seen))
    idle(ready)
    assert not target.exists()
    assert spent() == []

    # What leaves is listed before what is dropped and in one line with its sign.
    ready.session.set_epsilon(Decimal("0.01"))
    lines = ready.page.findChild(QWidget, "pane_rows")._lines
    names = [lines.itemAtPosition(at, 0).widget().text() for at in range(7)]
    assert names == ["age", "sex", "zip", "income", "label", "id", "name"]
    done = [lines.itemAtPosition(at, 1).widget() for at in range(5)]
    qtbot.waitUntil(lambda: all(part.text().endswith("⚠") for part in done))
    qtbot.waitUntil(lambda: len({part.height() for part in done}) == 1)
    ready.session.set_epsilon(Decimal(1))

    # Nothing below the cards leaves no gap. Of noisy rows nothing is shown below them: the last card ends where
    # what is scrolled ends.
    qtbot.wait(100)
    sections = ready.page.findChild(Sections)
    below = sections.layout().cellRect(5, 0)
    assert not below.isValid() or below.height() == 0
    assert sections._below.isHidden()

    # What is kept stands outside the guarantee and in the question.
    ready.session.edit_column("zip", "keep zip", action="keep")
    idle(ready)
    assert "zip" in text_in_sight(ready, "release_outside_text")
    told = release("no")
    assert "Published as it is, covered by no epsilon: zip" in told[0]
    assert spent() == []
    ready.session.undo_stack.undo()

    # A name of an unknown format is refused before anything is asked.
    retype(ready, qtbot, "release_target", tmp_path / "people.xls")
    finish(ready, "release_now")
    assert "'.xls' is not known" in text_in_sight(ready, "banner_text")
    assert spent() == []
    retype(ready, qtbot, "release_target", target)

    # A higher cap is asked for where the lower one refuses.
    with Ledger.open() as book:
        book.set_cap(ready.session.account.dataset, Decimal("0.5"))
    read_account(ready.session, ready.jobs)
    idle(ready)
    told = answer("yes")
    press(ready, "release_raise_cap")
    qtbot.waitUntil(lambda: ready.session.account.cap == 1)
    idle(ready)
    assert "it needs a cap of ε = 1 or more" in told[-1].replace("\u00a0", " ")
    assert ready.page.objectName() == "page_release"

    # The ledger refuses what was spent meanwhile.
    dataset = ready.session.account.dataset
    told.clear()
    answer("yes")
    page = ready.page
    decide = page._decide

    def lower_the_cap_first(outlook) -> None:
        with Ledger.open() as book:  # as another program may, between the look and the charge
            book.set_cap(dataset, Decimal("0.25"))
        decide(outlook)

    page._decide = lower_the_cap_first
    press(ready, "release_now")
    qtbot.waitUntil(lambda: bool(told))
    idle(ready)
    assert "costs ε = 1 but only 0.25 remain" in text_in_sight(ready, "release_refusal")
    assert ready.session.account.remaining == Decimal("0.25")
    assert not target.exists()
    assert spent() == []


def test_a_table_is_released_verified_copied_printed_and_bundled(
    ready, release, target, press, idle, tmp_path, monkeypatch, finish
):
    # A table is released verified and a changed byte is found.
    told = release()
    assert "charges ε = 1" in told[0]
    assert "also sets the cap to ε = 1, or to more that you enter below" in told[0]
    certificate = target.with_name(target.name + ".certificate.json")
    assert certificate.is_file()
    released = pl.read_csv(target)
    assert released.height == 2000
    assert not {"id", "name"} & set(released.columns)
    assert spent() == ["1"]
    assert ready.session.account.remaining == 0
    assert verdict(ready, press, idle).startswith("✓")
    assert ready.findChild(QLabel, "shown_release_file").accessibleName() == str(target)
    data = bytearray(target.read_bytes())
    data[-2] ^= 1
    target.write_bytes(data)
    assert "SHA-256 differs" in verdict(ready, press, idle)
    data[-2] ^= 1
    target.write_bytes(data)
    press(ready, "tab_rows")
    idle(ready)

    # A second draw is paid again or copied for nothing.
    folder = tmp_path / "copy"
    folder.mkdir()
    # The system's own chooser of folders cannot be driven by a test.
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    told = release("copy")
    assert "Copying that file is free" in told[-1]
    assert len(ready.session.released) == 1
    assert (folder / target.name).read_bytes() == target.read_bytes()
    assert (folder / f"{target.name}.certificate.json").is_file()
    assert spent() == ["1"]

    # A release is bundled from the list of releases.
    finish(ready, "tab_released")
    bundle = tmp_path / "from the list"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(bundle), ""))
    give = ready.findChild(QAbstractButton, "shown_release_bundle")
    assert (ready.page.primary, give.property("look")) == (give, "primary"), "giving it away comes next"
    finish(ready, "shown_release_bundle")
    assert verify_any(bundle) == []
    assert (ready.page.primary, give.property("look")) == (None, "")

    # A release is printed and bundled from its card.
    make_key()
    monkeypatch.setattr(written_document, "pdf_bytes", lambda document: b"printed")
    page, bundle = tmp_path / "c.html", tmp_path / "bundle"
    area = ready.findChild(QScrollArea, "released_detail")
    result = ready.findChild(QLabel, "shown_release_result")
    for name, path in (("paper", page), ("bundle", bundle)):
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, path=path: (str(path), ""))
        area.ensureWidgetVisible(ready.findChild(QWidget, f"shown_release_{name}"))
        finish(ready, f"shown_release_{name}")
        assert result.text() == f"✓ Saved {path}"
        assert ready.statusBar().currentMessage() == f"Saved {path.name}."
    assert "Certificate of a sanitised table" in page.read_text("utf-8")
    assert verify_any(bundle) == []
    signature = signatures(bundle)
    assert signature is not None
    assert signature.issuer == "your own key"
    finish(ready, "shown_release_bundle")
    assert result.text().startswith("✕ It could not be written. The output folder exists already")


def test_a_released_step_is_locked_against_undo(ready, release, finish, qtbot):
    ready.session.set_epsilon(Decimal("0.5"))
    release()
    plan = ready.session.plan
    qtbot.keyClick(ready, Qt.Key.Key_Z, CTRL)
    assert ready.session.plan == plan
    assert ready.rail.pages["release"].state(ready.session) == "ready"
    finish(ready, "tab_released")
    assert text_in_sight(ready, "shown_release_id").startswith("locked")


def test_after_a_release_the_highlighted_button_leads_on_and_pays_nothing(
    ready, at_release, release, press, idle, qtbot
):
    def highlighted() -> list[str]:
        shown = [b for b in ready.page.findChildren(QAbstractButton) if b.isVisible()]
        return [b.objectName() for b in shown if b.property("look") == "primary"]

    assert highlighted() == ["release_now"]
    assert text_in_sight(ready, "release_published_title") == "WHAT WILL BE PUBLISHED"
    release()
    assert highlighted() == ["release_onward"]
    assert ready.findChild(QAbstractButton, "release_now").text() == "Release again…"
    assert text_in_sight(ready, "release_published_title") == "WHAT ANOTHER RELEASE WOULD PUBLISH"
    press(ready, "release_onward")
    assert ready.page.objectName() == "page_released"
    press(ready, "tab_rows")

    def active() -> bool:
        ready.activateWindow()  # as a window manager does once a question is answered; the first time may do nothing
        return QApplication.focusWidget() is not None

    qtbot.waitUntil(active)
    qtbot.keyClick(ready, Qt.Key.Key_Return, CTRL)
    idle(ready)
    assert ready.page.objectName() == "page_released"
    assert spent() == ["1"]
    ready.session.set_epsilon(Decimal("0.5"))
    at_release()
    assert highlighted() == ["release_onward"]  # the first release set the cap: another one would be refused
    assert ready.findChild(QAbstractButton, "release_now").text() == "Release…"
    assert text_in_sight(ready, "release_published_title") == "WHAT WILL BE PUBLISHED"


def test_the_budget_survives_a_rename_and_refuses_with_both_numbers(
    window, release, tmp_path, press, answer, idle, qtbot
):
    source = tmp_path / "first.csv"
    source.write_text("age,sex\n" + "\n".join(f"{20 + i % 50},{'fm'[i % 2]}" for i in range(300)) + "\n", "utf-8")
    open_with_facts(window, source, idle, answer)
    with Ledger.open() as book:
        book.set_cap(window.session.account.dataset, Decimal(2))
    window.session.set_epsilon(Decimal("1.2"))
    window.session.choose_way("rows")
    window.show_page("release")
    retype(window, qtbot, "release_target", tmp_path / "one.csv")
    release()
    renamed = source.rename(tmp_path / "second.csv")
    open_with_facts(window, renamed, idle, answer)
    window.session.choose_way("rows")
    assert window.session.account.remaining == Decimal("0.8")
    window.session.set_epsilon(Decimal(1))
    idle(window)
    retype(window, qtbot, "release_target", tmp_path / "two.csv")
    assert text_in_sight(window, "release_short") == "⚠ Needs ε = 1, but only 0.8 remain."
    assert not window.findChild(QAbstractButton, "release_now").isEnabled()
    assert "use what remains, or raise the cap" in window.findChild(QAbstractButton, "release_now").toolTip()
    assert window.rail.pages["release"].state(window.session) == "needs"
    assert not (tmp_path / "two.csv").exists()
    assert spent() == ["1.2"]
    window.session.set_epsilon(Decimal("1.2"))
    told = release("no")
    assert told[-1].count("It was released before") == 1  # in the title alone
    assert str(tmp_path / "one.csv") in told[-1]
    press(window, "release_use_rest")
    assert window.session.plan.epsilon == Decimal("0.8")
    idle(window)
    release()
    assert spent() == ["1.2", "0.8"]
    assert window.session.account.remaining == 0


def open_with_facts(window, path: Path, idle, answer) -> None:
    if window.project.unsaved:
        answer("discard")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    window.session.edit_column("age", "bounds of age", lower=0.0, upper=100.0)
    window.session.edit_column("sex", "values of sex", domain=("f", "m"))
    window.session.edit("confirm what was guessed", window.session.plan.confirmed())
    go_to(window, "release")
    idle(window)


def test_the_source_is_never_replaced(window, tmp_path, finish, idle, qtbot, answer):
    source = tmp_path / "first.csv"
    source.write_text("age,sex\n" + "\n".join(f"{20 + i % 50},{'fm'[i % 2]}" for i in range(60)) + "\n", "utf-8")
    before = source.read_bytes()
    open_with_facts(window, source, idle, answer)
    window.session.choose_way("rows")
    window.show_page("release")
    retype(window, qtbot, "release_target", source)
    finish(window, "release_now")
    assert "would replace its input" in text_in_sight(window, "banner_text")
    assert source.read_bytes() == before


# -- A release is printed and bundled from its card, and a study becomes a report that is marked as private


LINE = Series("private model", "private", (0.1, 1.0), (0.5, 0.7), (0.4, 0.6), (0.6, 0.8))
FIGURE = CurveFigure("Accuracy against ε", "ε (log scale)", "accuracy", (LINE,), subtitle="made up")


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


def test_a_curve_whose_saving_is_cancelled_is_not_written(window, idle, tmp_path, standstill):
    for form in ("csv", "pdf", "svg"):
        path = tmp_path / f"study.{form}"
        standstill.stop()
        handle = save_curve(window.session, window.jobs, FIGURE, lambda: "regime,value\nnone,0.5\n", path)
        handle.cancel()
        standstill.go_on()
        idle(window)
        assert not path.exists()
        assert window.statusBar().currentMessage() == f"Cancelled: Saving {path.name}."


# -- The last question before ε is spent says the same on every page of a release -------------------------------------


PAID_ON = {
    "release": ("release_target", "release_now"),
    "statistics": ("release_target", "release_now"),
    "synthetic": ("release_target", "release_now"),
    "rappor": ("rappor_output", "rappor_release"),
}


def test_private_figures_and_a_high_epsilon_are_named_before_it_is_spent(people, press, idle, answer, qtbot, tmp_path):
    note_study(people.session.opened.table, "rappor", emit=lambda _event: None)
    people.session.set_epsilon(Decimal(6))
    for asked, (page, (output, release)) in enumerate(PAID_ON.items(), 1):
        show(people, page)
        idle(people)
        retype(people, qtbot, output, tmp_path / "out.csv")
        if page == "rappor":
            box = people.findChild(QComboBox, "rappor_source")
            box.setCurrentIndex(box.findText("column sex"))
            retype(people, qtbot, "rappor_f", "0.1")
            retype(people, qtbot, "rappor_each", "50")
        told = answer("no")
        press(people, release)
        qtbot.waitUntil(lambda: len(told) == asked)  # noqa: B023 - it is waited for here
        idle(people)
        assert "It cannot be undone" in told[-1]
        assert " is high: a suspicion of 10 %" in told[-1]
        assert "Not covered by ε:\n• " in told[-1]
        assert "Private figures of these rows were shown before" in told[-1]
        assert statuses() == []


# -- A value that its column's facts do not allow: no old figure beside the reason, and nothing in the ledger


@pytest.fixture
def outside(people, finish):
    """The people sample with a good preview, whose column sex then leaves a value out of its domain."""
    finish(people, "tab_preview")
    assert "changed" in facts_of_preview(people)
    people.session.edit_column("sex", "leave a value out", domain=("f", "x"))
    return people


def facts_of_preview(window) -> str:
    return window.findChild(QWidget, "preview_facts").accessibleName()


def test_a_value_outside_takes_the_former_preview_away_and_is_refused_before_anything_is_charged(
    outside, idle, finish, tmp_path
):
    # A preview that fails shows nothing of the former.
    idle(outside)
    assert "%" not in facts_of_preview(outside)
    assert outside.page.sides.left.model().rowCount() == 0
    assert outside.page.sides.right.model().rowCount() == 0

    # A release is refused before anything is charged.
    idle(outside)
    finish(outside, "tab_rows")
    heard = Heard(outside)
    finish(outside, "release_now")
    assert "sex" in heard.one()
    with Ledger.open() as book:
        assert book.releases() == []


# -- The budget gauge calls a plan released only where its table was --------------------------------------------------


def test_the_gauge_names_what_was_released_by_this_plan(window, finish):
    finish(window, "sample_people")
    for number, (kind, told) in enumerate(
        [
            ({"model": True}, "a model released"),
            ({"central": "synthetic"}, "a model and synthetic rows released"),
            ({}, "table released"),
        ]
    ):
        window.session.add_release(ReleasedStep(f"r{number}", Path("."), window.session.plan, Decimal(1), **kind))
        assert window.findChild(QLabel, "fact_plan").text() == told

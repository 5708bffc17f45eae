"""The Release page: charged once, refused with both numbers, verified, and never drawn twice by accident."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hands import go_to
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QLabel, QLineEdit, QMessageBox, QWidget

from workbench.gui.project.open_table import open_table
from workbench.release.ledger.ledger import Ledger

CTRL = Qt.KeyboardModifier.ControlModifier
PATIENCE = 600_000


@pytest.fixture
def answer(qtbot):
    """Press the button of that name in the question that comes next; the texts of the questions are kept."""
    told: list[str] = []

    def answer(name: str) -> list[str]:
        def click() -> None:
            box = QApplication.activeModalWidget()
            if not isinstance(box, QMessageBox):
                QTimer.singleShot(20, box or QApplication.instance(), click)
                return
            told.append(box.informativeText().replace("\u00a0", " "))
            qtbot.mouseClick(box.findChild(QAbstractButton, f"confirm_{name}"), Qt.MouseButton.LeftButton)

        QTimer.singleShot(20, QApplication.instance(), click)
        return told

    return answer


@pytest.fixture
def target(tmp_path) -> Path:
    return tmp_path / "people-released.csv"


@pytest.fixture
def ready(people, target, idle, qtbot):
    """A window on the Release page of the people sample, with a target in a folder of the test."""
    people.session.choose_way("rows")
    people.show_page("release")
    idle(people)
    retype(people, qtbot, target)
    return people


def retype(window, qtbot, target: Path) -> None:
    field = window.findChild(QLineEdit, "release_target")
    field.selectAll()
    qtbot.keyClicks(field, str(target))


def text(window, name: str) -> str:
    widget = window.findChild(QLabel, name)
    assert widget.isVisible(), f"{name} is not visible"
    return widget.text()


def release(window, press, answer, idle, qtbot, name="yes") -> list[str]:
    """Press Release and answer the question; return what was asked."""
    before = len(window.session.released)
    told = answer(name)
    asked = len(told)
    press(window, "release_now")
    qtbot.waitUntil(lambda: len(told) > asked, timeout=PATIENCE)
    idle(window)
    assert len(window.session.released) == before + (name == "yes")
    return told


def verdict(window, press, idle) -> str:
    press(window, "tab_released")
    idle(window)
    press(window, "shown_release_verify")
    idle(window)
    return text(window, "shown_release_result")


def spent() -> list[str]:
    with Ledger.open() as book:
        return [str(r.epsilon.normalize()) for r in book.releases() if r.status == "charged"]


def test_without_a_table_the_page_leads_to_the_data(window, press):
    window.session.choose_way("rows")
    window.show_page("release")
    assert not window.findChild(QWidget, "release_now").isVisible()
    press(window, "release_nothing_go")
    assert window.page.objectName() == "page_data"


def test_before_the_release_cost_and_columns_are_told_exactly(ready):
    assert text(ready, "release_epsilon") == "ε = 1"
    assert text(ready, "fact_zero_out") == "1"
    assert text(ready, "fact_replace_one") == "1"
    assert text(ready, "fact_cap_left") == "this release sets it"
    assert text(ready, "release_size").startswith("2,000 rows × 5 columns")
    assert text(ready, "release_outside_text").startswith("Nothing")
    assert spent() == []


def test_what_is_kept_stands_outside_the_guarantee_and_in_the_question(ready, press, answer, idle, qtbot):
    ready.session.edit_column("zip", "keep zip", action="keep")
    idle(ready)
    assert "zip" in text(ready, "release_outside_text")
    told = release(ready, press, answer, idle, qtbot, "no")
    assert "Published as it is, covered by no epsilon: zip" in told[0]
    assert spent() == []


def test_a_table_is_released_verified_and_a_changed_byte_is_found(ready, target, press, answer, idle, qtbot):
    told = release(ready, press, answer, idle, qtbot)
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


def test_a_released_step_is_locked_against_undo(ready, press, answer, idle, qtbot):
    ready.session.set_epsilon(Decimal("0.5"))
    release(ready, press, answer, idle, qtbot)
    plan = ready.session.plan
    qtbot.keyClick(ready, Qt.Key.Key_Z, CTRL)
    assert ready.session.plan == plan
    assert ready.rail.pages["release"].state(ready.session) == "ready"
    press(ready, "tab_released")
    idle(ready)
    assert text(ready, "shown_release_id").startswith("locked")


def test_after_a_release_the_highlighted_button_leads_on_and_pays_nothing(ready, press, answer, idle, qtbot):
    def highlighted() -> list[str]:
        shown = [b for b in ready.page.findChildren(QAbstractButton) if b.isVisible()]
        return [b.objectName() for b in shown if b.property("look") == "primary"]

    assert highlighted() == ["release_now"]
    assert text(ready, "release_published_title") == "WHAT WILL BE PUBLISHED"
    release(ready, press, answer, idle, qtbot)
    assert highlighted() == ["release_onward"]
    assert ready.findChild(QAbstractButton, "release_now").text() == "Release again…"
    assert text(ready, "release_published_title") == "WHAT ANOTHER RELEASE WOULD PUBLISH"
    press(ready, "release_onward")
    assert ready.page.objectName() == "page_released"
    press(ready, "tab_rows")

    def active() -> bool:
        ready.activateWindow()  # as a window manager does once a question is answered; the first time may do nothing
        return QApplication.focusWidget() is not None

    qtbot.waitUntil(active, timeout=PATIENCE)
    qtbot.keyClick(ready, Qt.Key.Key_Return, CTRL)
    idle(ready)
    assert ready.page.objectName() == "page_released"
    assert spent() == ["1"]
    ready.session.set_epsilon(Decimal("0.5"))
    ready.session.choose_way("rows")
    ready.show_page("release")
    idle(ready)
    assert highlighted() == ["release_onward"]  # the first release set the cap: another one would be refused
    assert ready.findChild(QAbstractButton, "release_now").text() == "Release…"
    assert text(ready, "release_published_title") == "WHAT WILL BE PUBLISHED"


def test_escape_at_the_question_releases_nothing(ready, target, qtbot, idle):
    seen = []

    def escape() -> None:
        box = QApplication.activeModalWidget()
        if not isinstance(box, QMessageBox):
            QTimer.singleShot(20, QApplication.instance(), escape)
            return
        seen.append(box)
        qtbot.keyClick(box, Qt.Key.Key_Escape)

    QTimer.singleShot(20, QApplication.instance(), escape)
    qtbot.keyClick(ready, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: bool(seen), timeout=PATIENCE)
    idle(ready)
    assert not target.exists()
    assert spent() == []


def test_a_second_draw_is_paid_again_or_copied_for_nothing(
    ready, target, tmp_path, press, answer, idle, qtbot, monkeypatch
):
    release(ready, press, answer, idle, qtbot)
    folder = tmp_path / "copy"
    folder.mkdir()
    # The system's own chooser of folders cannot be driven by a test.
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    told = release(ready, press, answer, idle, qtbot, "copy")
    assert "To copy that file is free" in told[-1]
    assert (folder / target.name).read_bytes() == target.read_bytes()
    assert (folder / f"{target.name}.certificate.json").is_file()
    assert spent() == ["1"]


def test_the_budget_survives_a_rename_and_refuses_with_both_numbers(window, tmp_path, press, answer, idle, qtbot):
    source = tmp_path / "first.csv"
    source.write_text("age,sex\n" + "\n".join(f"{20 + i % 50},{'fm'[i % 2]}" for i in range(300)) + "\n", "utf-8")
    open_with_facts(window, source, idle, answer)
    with Ledger.open() as book:
        book.set_cap(window.session.account.dataset, Decimal(2))
    window.session.set_epsilon(Decimal("1.2"))
    window.session.choose_way("rows")
    window.show_page("release")
    retype(window, qtbot, tmp_path / "one.csv")
    release(window, press, answer, idle, qtbot)
    renamed = source.rename(tmp_path / "second.csv")
    open_with_facts(window, renamed, idle, answer)
    window.session.choose_way("rows")
    assert window.session.account.remaining == Decimal("0.8")
    window.session.set_epsilon(Decimal(1))
    idle(window)
    retype(window, qtbot, tmp_path / "two.csv")
    assert text(window, "release_short") == "⚠ Needs ε = 1, but only 0.8 remain."
    assert not window.findChild(QAbstractButton, "release_now").isEnabled()
    assert "use what remains, or raise the cap" in window.findChild(QAbstractButton, "release_now").toolTip()
    assert window.rail.pages["release"].state(window.session) == "needs"
    assert not (tmp_path / "two.csv").exists()
    assert spent() == ["1.2"]
    window.session.set_epsilon(Decimal("1.2"))
    told = release(window, press, answer, idle, qtbot, "no")
    assert "It was released before" not in told[-1]
    assert str(tmp_path / "one.csv") in told[-1]
    press(window, "release_use_rest")
    assert window.session.plan.epsilon == Decimal("0.8")
    idle(window)
    release(window, press, answer, idle, qtbot)
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


def test_the_ledger_refuses_what_was_spent_meanwhile(ready, target, press, answer, idle, qtbot):
    dataset = ready.session.account.dataset
    told = answer("yes")
    page = ready.page
    decide = page._decide

    def lower_the_cap_first(outlook) -> None:
        with Ledger.open() as book:  # as another program may, between the look and the charge
            book.set_cap(dataset, Decimal("0.25"))
        decide(outlook)

    page._decide = lower_the_cap_first
    press(ready, "release_now")
    qtbot.waitUntil(lambda: bool(told), timeout=PATIENCE)
    idle(ready)
    assert "costs ε = 1 but only 0.25 remain" in text(ready, "release_refusal")
    assert ready.session.account.remaining == Decimal("0.25")
    assert not target.exists()
    assert spent() == []


def test_the_source_is_never_replaced(window, tmp_path, press, idle, qtbot):
    source = tmp_path / "first.csv"
    source.write_text("age,sex\n" + "\n".join(f"{20 + i % 50},{'fm'[i % 2]}" for i in range(60)) + "\n", "utf-8")
    before = source.read_bytes()
    open_with_facts(window, source, idle, answer)
    window.session.choose_way("rows")
    window.show_page("release")
    retype(window, qtbot, source)
    press(window, "release_now")
    idle(window)
    assert "would replace what it is made from" in text(window, "banner_text")
    assert source.read_bytes() == before


def test_a_name_of_an_unknown_format_is_refused_before_anything_is_asked(ready, tmp_path, press, idle, qtbot):
    retype(ready, qtbot, tmp_path / "people.xls")
    press(ready, "release_now")
    idle(ready)
    assert "'.xls' is not known" in text(ready, "banner_text")
    assert spent() == []


def test_cancelling_a_release_leaves_no_file_and_no_charge(ready, target, press, answer, qtbot, idle):
    told = answer("yes")
    started = []

    def cancel_at_once(handle) -> None:
        if handle.title.startswith("Releasing"):
            started.append(handle)
            handle.cancel()

    ready.jobs.started.connect(cancel_at_once)
    press(ready, "release_now")
    qtbot.waitUntil(lambda: bool(told) and bool(started), timeout=PATIENCE)
    idle(ready)
    assert not target.exists()
    assert spent() == []
    assert ready.session.account.remaining in (None, Decimal(1))
    assert ready.findChild(QAbstractButton, "release_now").isEnabled()


def test_a_higher_cap_is_asked_for_where_the_lower_one_refuses(ready, press, answer, idle, qtbot):
    with Ledger.open() as book:
        book.set_cap(ready.session.account.dataset, Decimal("0.5"))
    from workbench.gui.session.account_task import read_account

    read_account(ready.session, ready.jobs)
    idle(ready)
    told = answer("yes")
    press(ready, "release_raise_cap")
    qtbot.waitUntil(lambda: ready.session.account.cap == 1, timeout=PATIENCE)
    assert "it needs a cap of ε = 1 or more" in told[0].replace("\u00a0", " ")
    assert ready.page.objectName() == "page_release"

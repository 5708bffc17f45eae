"""The Ledger page by clicks: how releases are counted, tables of the same people, a ledger that was put back."""

from __future__ import annotations

import shutil
from decimal import Decimal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QMessageBox

from workbench.gui.pages.ledger.cap_card import ASK_FILTER
from workbench.gui.session.account_task import read_account
from workbench.gui.widgets.table_view import LinesTable
from workbench.privacy.accounting.event import Cost, PureDp, Repeated
from workbench.privacy.accounting.renyi_filter import Filter
from workbench.release.ledger.counting import FILTER
from workbench.release.ledger.ledger import Ledger


def charge(dataset: str, epsilon: str, times: int = 1) -> None:
    with Ledger.open() as book:
        for _ in range(times):
            cost = Cost(Decimal(epsilon), Decimal(0), PureDp(Decimal(epsilon), "a table"))
            book.charge(book.reserve(dataset, cost, work="sanitize", details={"output": "/x/a.csv"}))


@pytest.fixture
def page(people, idle):
    """A window on the Ledger page; the open table has spent 1 of ε = 2, δ = 1e-5."""
    with Ledger.open() as book:
        book.set_cap(people.session.account.dataset, Decimal(2), Decimal("1e-5"))
    charge(people.session.account.dataset, "1")
    read_account(people.session, people.jobs)
    people.show_page("ledger")
    idle(people)
    return people


@pytest.fixture
def asked(qtbot):
    """Answer the next question with yes, and keep what it said."""
    said: list[str] = []

    def answer_next(window) -> list[str]:
        def press_yes() -> None:
            box = QApplication.activeModalWidget()
            assert isinstance(box, QMessageBox)
            said.append(box.informativeText().replace("\u00a0", " "))
            qtbot.mouseClick(box.findChild(QAbstractButton, "confirm_yes"), Qt.MouseButton.LeftButton)

        from PySide6.QtCore import QTimer

        QTimer.singleShot(50, window, press_yes)
        return said

    return answer_next


def words(window, name: str) -> str:
    return window.findChild(QLabel, name).text().replace("\u00a0", " ")


def test_the_count_is_chosen_after_a_question_and_recorded(page, press, idle, asked):
    assert words(page, "ledger_counted").startswith("Its releases are added up")
    said = asked(page)
    press(page, "ledger_count")
    idle(page)
    assert "half of the cap of δ is set aside" in said[0]
    assert "certificates of this account name it" in said[0]
    assert "counted by a Rényi filter of order" in words(page, "ledger_counted")
    dataset = page.session.account.dataset
    with Ledger.open() as book:
        (entry,) = book.entries("count")
        assert (entry.dataset, entry.body["method"]) == (dataset, FILTER)
    charge(dataset, "0.01", 3)
    page.show_page("data")
    press(page, "tab_ledger")
    idle(page)
    table = page.findChild(LinesTable, "ledger_caps").lines
    assert "counted by a Rényi filter" in table.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    asked(page)
    press(page, "ledger_count")
    idle(page)
    assert words(page, "ledger_counted").startswith("Its releases are added up")
    assert "then counts with its full ε again" in said[1]


def test_the_question_about_the_count_names_a_true_example():
    assert "under a cap of ε = 2 and δ = 1e-5 it allows 2,000 releases of ε = 0.01" in ASK_FILTER
    chosen = Filter.for_cap(Decimal(2), Decimal("1e-5"))
    assert chosen.epsilon([Repeated(PureDp(Decimal("0.01")), 2000)]) <= 2


def test_without_a_cap_of_delta_the_count_cannot_be_chosen_and_says_why(people, press, idle):
    press(people, "tab_ledger")
    idle(people)
    choose = people.findChild(QAbstractButton, "ledger_count")
    assert not choose.isEnabled()
    assert choose.toolTip().startswith("Set a cap of ε and of δ first")


def test_a_table_about_the_same_people_shares_the_account(page, press, idle, asked, qtbot):
    with Ledger.open() as book:
        book.set_cap("b" * 32, Decimal("1.75"))
    charge("b" * 32, "0.5")
    press(page, "tab_data")
    press(page, "tab_ledger")
    idle(page)
    said = asked(page)
    press(page, "ledger_group")
    idle(page)
    assert "the lower cap holds for both" in said[0]
    with Ledger.open() as book:
        account = book.account(page.session.account.dataset)
        assert (account.used[0], account.cap[0]) == (Decimal("1.5"), Decimal("1.75"))
        assert book.accounts().grouped(account.dataset)
    assert page.session.account.remaining == Decimal("0.25")
    assert "group of 2" in page.findChild(LinesTable, "ledger_caps").lines.index(0, 0).data()
    assert not page.findChild(QAbstractButton, "ledger_group").isEnabled()
    assert page.findChild(QComboBox, "ledger_group_with") is None


def test_a_ledger_that_was_put_back_says_so_and_goes_on_when_it_is_accepted(page, press, idle, asked, tmp_path):
    dataset = page.session.account.dataset
    with Ledger.open() as book:
        path = book.path
    shutil.copy(path, tmp_path / "kept")
    charge(dataset, "0.25")
    shutil.copy(tmp_path / "kept", path)
    press(page, "tab_data")
    press(page, "tab_ledger")
    idle(page)
    assert "is older than the one that this computer has seen" in words(page, "ledger_older")
    said = asked(page)
    press(page, "ledger_accept")
    idle(page)
    assert "Look for the newest copy first" in said[0]
    assert not page.findChild(QLabel, "ledger_older").isVisible()
    charge(dataset, "0.25")
    with Ledger.open() as book:
        assert len(list(book.entries("accepted"))) == 1
        assert book.verify() == []

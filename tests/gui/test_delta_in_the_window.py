"""δ stands beside ε: in the gauge, before a training, in its refusal, in the form of the cap and on the Ledger page."""

from decimal import Decimal

import pytest
from mishaps import needs_torch, retype, words_of
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from workbench.gui.gauges import cap_entry
from workbench.gui.session.account_task import read_account
from workbench.gui.widgets.table_view import LinesTable
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger.ledger import Ledger

SPENT = Decimal("1e-5")


@pytest.fixture
def trained_once(window, finish, idle):
    """The iris sample after a training that has spent all of the δ that it capped itself."""
    finish(window, "sample_iris")
    with Ledger.open() as book:
        dataset = window.session.account.dataset
        book.set_cap(dataset, Decimal(100))
        book.charge(book.reserve(dataset, Cost(Decimal(1), SPENT, PureDp(Decimal(1))), work="dpsgd"))
    read_account(window.session, window.jobs)
    idle(window)
    return window


@pytest.mark.slow
@needs_torch
def test_a_second_training_waits_for_a_higher_cap_of_delta_and_then_starts(
    trained_once, press, idle, qtbot, answer, tmp_path
):
    window = trained_once
    assert words_of(window, "fact_delta") == "0 of 1e-5"
    press(window, "tab_train")
    press(window, "train_model_logistic")
    retype(window, qtbot, "train_logistic_epochs", "4")
    retype(window, qtbot, "train_logistic_batch", "30")
    retype(window, qtbot, "train_folder", str(tmp_path / "net"))
    raise_cap = window.findChild(QPushButton, "train_raise_cap")
    qtbot.waitUntil(raise_cap.isVisible)
    assert not window.findChild(QPushButton, "train_start").isEnabled()
    note = window.page.findChild(QWidget, "note_train").accessibleName().replace("\u00a0", " ")
    assert "needs δ = 1e-5 of which nothing is left" in note
    assert "raise the cap of δ" in note
    press(window, "tab_ledger")
    idle(window)
    assert "Cap δ = 1e-5; nothing is left." in words_of(window, "ledger_cap_title")
    press(window, "tab_train")
    qtbot.waitUntil(raise_cap.isVisible)
    asked = answer("yes")
    press(window, "train_raise_cap")
    qtbot.waitUntil(lambda: window.session.account.delta_cap == Decimal("2e-5"))
    assert "it needs a cap of δ = 2e-5 or more" in asked[0].replace("\u00a0", " ")
    press(window, "tab_ledger")
    retype(window, qtbot, "ledger_delta", "3e-5")
    answer("yes")
    press(window, "ledger_set_cap")
    qtbot.waitUntil(lambda: window.session.account.delta_cap == Decimal("3e-5"))
    assert window.session.account.cap == 100
    assert words_of(window, "fact_delta") == "2e-5 of 3e-5"
    press(window, "tab_train")
    qtbot.waitUntil(window.findChild(QPushButton, "train_start").isEnabled)
    answer("yes")
    press(window, "train_start")
    qtbot.waitUntil(lambda: len(window.session.released) == 1)
    idle(window)
    assert words_of(window, "fact_delta") == "1e-5 of 3e-5"


def test_the_ledger_page_shows_cap_and_rest_of_delta(trained_once, finish):
    finish(trained_once, "tab_ledger")
    lines = trained_once.findChild(LinesTable, "ledger_caps").lines
    assert [lines.index(0, column).data() for column in (5, 6)] == ["1e-5", "0"]


def test_a_cap_of_delta_that_is_none_is_marked_and_not_set(trained_once, finish, press, idle, qtbot):
    finish(trained_once, "tab_ledger")
    retype(trained_once, qtbot, "ledger_delta", "1.5")
    press(trained_once, "ledger_set_cap")
    assert trained_once.findChild(QLineEdit, "ledger_delta").property("wrong")
    idle(trained_once)
    assert trained_once.session.account.delta_cap == SPENT


def test_a_raised_cap_of_delta_leaves_that_of_epsilon_as_it_is_by_then(trained_once, idle, qtbot, monkeypatch):
    """Somebody lowers the cap of ε while the question is open: the old one must not come back."""
    window = trained_once
    refused = window.session.account.refusal(Decimal(1), Decimal("1e-5"))
    dataset = window.session.account.dataset

    def meanwhile(*_: object, **__: object) -> str:
        with Ledger.open() as book:
            book.set_cap(dataset, Decimal(2))
        return "yes"

    monkeypatch.setattr(cap_entry, "choose", meanwhile)
    cap_entry.raise_cap(window, window.session, window.jobs, refused)
    qtbot.waitUntil(lambda: window.session.account.delta_cap == Decimal("2e-5"))
    idle(window)
    assert window.session.account.cap == 2

"""The Ledger page's picture of spending, its filter, and what it says of groups and counts."""

from __future__ import annotations

from decimal import Decimal

import pytest
from mishaps import retype
from PySide6.QtWidgets import QLineEdit, QWidget

from workbench.gui.pages.ledger.timeline import Timeline
from workbench.gui.widgets.table_view import LinesTable
from workbench.params import BudgetRefusedError
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger.counting import FILTER
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.state import GROUP

OTHER = "b" * 32


def cost(epsilon: str) -> Cost:
    return Cost(Decimal(epsilon), Decimal(0), PureDp(Decimal(epsilon)))


@pytest.fixture
def page(window, idle):
    with Ledger.open() as book:
        for dataset, epsilon in (("a" * 32, "1"), (OTHER, "0.5")):
            book.set_cap(dataset, Decimal(2), Decimal("1e-5"))
            book.charge(book.reserve(dataset, cost(epsilon), work="sanitize", details={"output": f"/x/{epsilon}.csv"}))
        with pytest.raises(BudgetRefusedError):
            book.reserve("a" * 32, cost("1.5"), work="synthesize")
    window.show_page("ledger")
    idle(window)
    return window.page


def test_the_picture_shows_what_every_account_has_spent_and_what_was_refused(page):
    lines = page.findChild(Timeline, "ledger_timeline").lines
    assert [(line.total, line.cap, len(line.refused)) for line in lines] == [(1.0, 2.0, 1), (0.5, 2.0, 0)]
    assert "ε = 1 of 2" in page.findChild(Timeline, "ledger_timeline").accessibleDescription()


def test_a_low_page_shows_the_list_or_the_picture_and_a_high_one_both(page, window, press, qtbot):
    table, picture = page.findChild(LinesTable, "ledger_releases"), page.findChild(Timeline, "ledger_timeline")
    assert (table.isVisible(), picture.isVisible()) == (True, False)
    assert table.viewport().height() >= 5 * table.rowHeight(0), "lines of a window of 1280 by 800"
    press(page, "ledger_view_time")
    assert (table.isVisible(), picture.isVisible()) == (False, True)
    window.resize(1280, 1100)
    qtbot.waitUntil(lambda: table.isVisible() and picture.isVisible())
    assert not page.findChild(QWidget, "ledger_view_list").isVisible()


def test_a_filter_leaves_the_releases_that_are_looked_for(page, qtbot, window, idle):
    table = page.findChild(LinesTable, "ledger_releases")
    assert len(list(table.in_sight())) == 3
    retype(window, qtbot, "ledger_releases_filter", "refused")
    assert len(list(table.in_sight())) == 1
    assert page.findChild(Timeline, "ledger_timeline").lines[0].charges == ()
    retype(window, qtbot, "ledger_releases_filter", "0.5.csv")
    assert len(list(table.in_sight())) == 1
    table.setCurrentIndex(table.lines.index(table.in_sight()[0], 0))
    page.refresh()
    idle(window)
    assert len(list(table.in_sight())) == 1, "what is read anew is filtered, too"
    table.setCurrentIndex(table.lines.index(table.in_sight()[0], 0))
    assert page._asked().epsilon == Decimal("0.5")
    page.findChild(QLineEdit, "ledger_releases_filter").clear()
    assert len(list(table.in_sight())) == 3


def test_a_group_and_its_count_are_told(page, window, idle):
    with Ledger.open() as book:
        book.link_version(OTHER, "a" * 32, GROUP)
        book.count_by("a" * 32, FILTER)
    page.refresh()
    idle(window)
    accounts = page.findChild(LinesTable, "ledger_caps").lines
    assert accounts.rowCount() == 1
    index = accounts.index(0, 0)
    assert "group of 2" in index.data()
    from PySide6.QtCore import Qt

    assert "counted by a Rényi filter" in index.data(Qt.ItemDataRole.ToolTipRole)
    assert accounts.index(0, 2).data() == "1.5"

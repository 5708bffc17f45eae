"""The Ledger page: what was released, the chain, its export, and a cap that is recorded."""

from __future__ import annotations

import json
import shutil
import sqlite3
from decimal import Decimal

import pytest
from mishaps import retype, rows_of, words_of
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QWidget,
)

from workbench.gui.pages.ledger.cap_card import ASK_FILTER
from workbench.gui.pages.ledger.page import Timeline, _drawing
from workbench.gui.session.account_task import read_account
from workbench.gui.widgets.table_view import LinesTable
from workbench.params import BudgetRefusedError
from workbench.privacy.accounting.event import Cost, PureDp, Repeated
from workbench.privacy.accounting.renyi_filter import Filter
from workbench.release.kinds import KINDS
from workbench.release.ledger.composition import FILTER
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.state import GROUP


@pytest.fixture
def ledger(people, visit):
    """A window on the Ledger page, with one release of the people sample charged under a cap of 2."""
    with Ledger.open() as book:
        book.set_cap(people.session.account.dataset, Decimal(2))
        cost = Cost(Decimal("1.2"), Decimal(0), PureDp(Decimal("1.2"), "sanitised table"))
        release_id = book.reserve(people.session.account.dataset, cost, work="sanitize", details={"output": "/x/a.csv"})
        book.charge(release_id)
    read_account(people.session, people.jobs)
    visit(people, "ledger")
    return people


def test_an_empty_ledger_says_so_and_leads_on(window, visit, press):
    visit(window, "ledger")
    assert window.findChild(QLabel, "ledger_nothing_why").text().startswith("Each release is listed here")
    assert window.page.primary.objectName() == "ledger_nothing_go", "the highlighted button leads on"
    assert window.findChild(QAbstractButton, "ledger_verify").property("look") == ""
    assert not window.findChild(QAbstractButton, "ledger_set_cap").isVisible()
    assert not window.findChild(QWidget, "ledger_caps").isVisible(), "no headings above nothing"
    press(window, "ledger_nothing_go")
    assert window.page.objectName() == "page_ways"


def test_releases_are_listed_copied_exported_and_verified_and_a_cap_is_recorded(
    ledger, qtbot, tmp_path, finish, monkeypatch, answer, press, load
):
    # Every release and cap is listed.
    (release,) = rows_of(ledger, "ledger_releases")
    assert release[1] == "people", "no other dataset has that name"
    assert release[2:] == ["noisy rows", "1.2", "0", "✓ charged", "a.csv"]
    (cap,) = rows_of(ledger, "ledger_caps")
    assert cap[1:] == ["2", "1.2", "0", "0.8", "–", "–", "1"]
    assert cap[0].startswith("people (open now)  ")

    # Selected releases are copied.
    table = ledger.findChild(LinesTable, "ledger_releases")
    table.selectRow(0)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    headings, line = QApplication.clipboard().text().splitlines()
    assert headings.split("\t")[2:5] == ["Work", "ε", "Status"], "nothing has a δ"
    assert line.split("\t")[2:5] == ["noisy rows", "1.2", "✓ charged"]

    # The chain is exported whole.
    # The system's own chooser of files cannot be driven by a test.
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "out.json"), ""))
    finish(ledger, "ledger_export")
    chain = json.loads((tmp_path / "out.json").read_text("utf-8"))["chain"]
    assert [entry["kind"] for entry in chain] == ["mark", "cap", "reserve", "charge"]

    # A cap is set after a question and recorded.
    field = ledger.findChild(QLineEdit, "ledger_cap_field")
    field.selectAll()
    qtbot.keyClicks(field, "3.5")
    asked = answer("yes")
    finish(ledger, "ledger_set_cap")
    assert "from ε = 2 to ε = 3.5" in asked[0]
    assert ledger.session.account.remaining == Decimal("2.3")
    with Ledger.open() as book:
        history = book.account(ledger.session.account.dataset).cap_history
    assert [(c["epsilon"], c["origin"]) for c in history] == [("2", "steward"), ("3.5", "steward")]

    # What was verified is forgotten when the ledger changes.
    told = ledger.findChild(QLabel, "ledger_told")
    finish(ledger, "ledger_verify")
    assert "Checked at" in told.text()
    press(ledger, "tab_data")
    finish(ledger, "tab_ledger")
    assert told.isVisible()
    with Ledger.open() as book:
        book.set_cap(ledger.session.account.dataset, Decimal(3))
    press(ledger, "tab_data")
    finish(ledger, "tab_ledger")
    assert not told.isVisible()

    # An account is named after its table whatever was released of it since.
    ledger.session.may_leave = lambda then: True
    load(ledger, "sample:iris")
    finish(ledger, "tab_ledger")
    names = [line[0] for line in rows_of(ledger, "ledger_caps")]
    assert names[0].startswith("sample:people  "), names
    assert [name for name in names if "open now" in name][0:] == [n for n in names if n.startswith("iris (open now)")]

    # A whole chain is verified and a changed one is told of.
    finish(ledger, "ledger_verify")
    told = ledger.findChild(QLabel, "ledger_told")
    assert told.text().startswith("✓")
    with Ledger.open() as book:
        path = book.path
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entry SET epsilon = '0.1' WHERE kind = 'charge'")
    connection.commit()
    connection.close()
    finish(ledger, "ledger_verify")
    assert told.text().startswith("✕ The ledger was altered or damaged")


def test_no_release_is_called_by_a_name_of_the_ledger():
    from workbench.gui.pages.ledger.page import _called

    assert _called("values") == "values and bounds"
    assert not [kind.name for kind in KINDS if _called(kind.name) == kind.name != "statistics"]


def test_a_table_without_a_charge_has_no_cap_until_one_is_set(people, finish, qtbot, press, idle, answer):
    # A ledger without releases is not scrolled at 1280.
    finish(people, "tab_ledger")
    table = people.findChild(LinesTable, "ledger_releases")
    assert table.lines.rowCount() == 0
    assert table.horizontalHeader().length() <= table.viewport().width()

    # Without a cap of delta the count cannot be chosen and says why.
    finish(people, "tab_ledger")
    choose = people.findChild(QAbstractButton, "ledger_count")
    assert not choose.isEnabled()
    assert choose.toolTip().startswith("Set a cap of ε and of δ first")
    press(people, "tab_data")

    # A first release that came to nothing leaves no cap anywhere.
    with Ledger.open() as book:
        cost = Cost(Decimal(1000), Decimal(0), PureDp(Decimal(1000), "sanitised table"))
        book.void(book.reserve(people.session.account.dataset, cost, work="sanitize"), "a value is outside")
    read_account(people.session, people.jobs)
    finish(people, "tab_ledger")
    assert rows_of(people, "ledger_caps")[0][1:] == ["none yet", "0", "0", "–", "–", "–", "0"]
    assert people.findChild(QLabel, "ledger_cap_title").text().endswith("its first release sets it.")
    assert people.findChild(QLabel, "fact_cap").text() == "the first release sets it"
    assert "0 releases, and 1 that does not count" in people.findChild(QWidget, "note_ledger").accessibleName()
    press(people, "tab_rows")
    assert people.findChild(QLabel, "fact_cap_left").text() == "this release sets it"

    # A cap beyond the slider stands in the field as it is.
    finish(people, "tab_ledger")
    field = people.findChild(QLineEdit, "ledger_cap_field")
    field.selectAll()
    qtbot.keyClicks(field, "2000")
    answer("yes")
    press(people, "ledger_set_cap")
    qtbot.waitUntil(lambda: people.session.account.cap == 2000)
    idle(people)
    assert field.text() == "2000"
    assert "2000" in people.findChild(QLabel, "ledger_cap_title").text().replace(",", "")


def test_words_and_figures_stand_whole_at_1280_and_a_charge_without_a_file_says_so(
    people, finish, qtbot, tmp_path, press
):
    # The words of a release stand whole at 1280.
    dataset = people.session.account.dataset
    with Ledger.open() as book:
        cost = Cost(Decimal(3), Decimal(0), PureDp(Decimal(3), "a table"))
        release_id = book.reserve(dataset, cost, work="sanitize", details={"output": "/home/people-released.csv"})
        book.charge(release_id)
        book.certify(release_id, "checksum", "request")
        book.set_cap(dataset, Decimal(6))
        book.charge(book.reserve(dataset, cost, work="fit logistic-regression", details={"output": "/home/model"}))
    finish(people, "tab_ledger")
    for name, rows in (("ledger_releases", 2), ("ledger_caps", 1)):
        table = people.findChild(LinesTable, name)
        assert table.lines.rowCount() == rows
        shown = [at for at in range(table.lines.columnCount()) if not table.isColumnHidden(at)]
        for index in (table.lines.index(row, column) for row in range(rows) for column in shown):
            assert table.sizeHintForIndex(index).width() <= table.columnWidth(index.column()), index.data()
        assert table.horizontalHeader().length() <= table.viewport().width()
        qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)  # noqa: B023 - Qt lays it out a turn later
    press(people, "tab_data")

    # A figure is never cut and a charge without a file says so.
    with Ledger.open() as book:
        dataset = people.session.account.dataset
        book.set_cap(dataset, Decimal(100), Decimal("0.01"))
        for epsilon in ("0.999748123", "1", "12.345678901234"):
            cost = Cost(Decimal(epsilon), Decimal("0.00000123"), PureDp(Decimal(epsilon), "a network"))
            details = {"output": str(tmp_path / "a-folder-of-a-long-name-that-was-never-made")}
            if epsilon != "0.999748123":
                details = {"output": str(people.session.account.dataset)[:4] + ".csv"}
            release_id = book.reserve(dataset, cost, work="dpsgd", details=details)
            book.charge(release_id)
            if epsilon != "0.999748123":
                book.certify(release_id, "checksum", "request")
    finish(people, "tab_ledger")
    table = people.findChild(LinesTable, "ledger_releases")
    for row in range(3):
        for column in (3, 4):
            index = table.lines.index(row, column)
            assert table.sizeHintForIndex(index).width() <= table.columnWidth(column), index.data()
    assert [line[5] for line in rows_of(people, "ledger_releases")][:3] == [
        "✓ charged",
        "✓ charged",
        "✓ charged, nothing released",
    ]
    title = people.session.opened.title
    assert title in rows_of(people, "ledger_releases")[0][1]
    assert "released as" in table.lines.index(0, 1).data(Qt.ItemDataRole.ToolTipRole)


# -- The Ledger page's picture of spending, its filter, and what it says of groups and counts -------------------------


OTHER = "b" * 32


def cost(epsilon: str) -> Cost:
    return Cost(Decimal(epsilon), Decimal(0), PureDp(Decimal(epsilon)))


@pytest.fixture
def page(window, visit):
    with Ledger.open() as book:
        for dataset, epsilon in (("a" * 32, "1"), (OTHER, "0.5")):
            book.set_cap(dataset, Decimal(2), Decimal("1e-5"))
            book.charge(book.reserve(dataset, cost(epsilon), work="sanitize", details={"output": f"/x/{epsilon}.csv"}))
        with pytest.raises(BudgetRefusedError):
            book.reserve("a" * 32, cost("1.5"), work="synthesize")
    visit(window, "ledger")
    return window.page


def test_the_picture_the_filter_and_groups_of_a_ledger_with_two_accounts(page, window, press, qtbot, idle):
    # The picture shows what every account has spent and what was refused.
    lines = page.findChild(Timeline, "ledger_timeline").lines
    drawing = page.findChild(Timeline, "ledger_timeline").drawing()
    assert [(height, words) for height, words in drawing.left] == [(1.0, "ε 1"), (0, "0")]  # each at its own height
    assert [(line.total, line.cap, len(line.refused)) for line in lines] == [(1.0, 2.0, 1), (0.5, 2.0, 0)]
    assert "ε = 1 of 2" in page.findChild(Timeline, "ledger_timeline").accessibleDescription()
    assert _drawing(lines[:1]).left[0] == (2.0, "ε 2")  # the figure stands where the cap's line is

    # A low page shows the list or the picture and a high one both.
    table, picture = page.findChild(LinesTable, "ledger_releases"), page.findChild(Timeline, "ledger_timeline")
    assert (table.isVisible(), picture.isVisible()) == (True, False)
    assert table.viewport().height() >= 5 * table.rowHeight(0), "lines of a window of 1280 by 800"
    press(page, "ledger_view_time")
    assert (table.isVisible(), picture.isVisible()) == (False, True)
    window.resize(1280, 1100)
    qtbot.waitUntil(lambda: table.isVisible() and picture.isVisible())
    assert not page.findChild(QWidget, "ledger_view_list").isVisible()

    # A filter leaves the releases that are looked for.
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

    # A group and its count are told.
    with Ledger.open() as book:
        book.link_version(OTHER, "a" * 32, GROUP)
        book.count_by("a" * 32, FILTER)
    page.refresh()
    idle(window)
    accounts = page.findChild(LinesTable, "ledger_caps").lines
    assert accounts.rowCount() == 1
    index = accounts.index(0, 0)
    assert "group of 2" in index.data()
    assert "counted by a Rényi filter" in index.data(Qt.ItemDataRole.ToolTipRole)
    assert accounts.index(0, 2).data() == "1.5"


# -- The Ledger page by clicks: how releases are counted, tables of the same people, a ledger that was put back


def charge(dataset: str, epsilon: str, times: int = 1) -> None:
    with Ledger.open() as book:
        for _ in range(times):
            cost = Cost(Decimal(epsilon), Decimal(0), PureDp(Decimal(epsilon), "a table"))
            book.charge(book.reserve(dataset, cost, work="sanitize", details={"output": "/x/a.csv"}))


@pytest.fixture
def account_page(people, visit):
    """A window on the Ledger page; the open table has spent 1 of ε = 2, δ = 1e-5."""
    with Ledger.open() as book:
        book.set_cap(people.session.account.dataset, Decimal(2), Decimal("1e-5"))
    charge(people.session.account.dataset, "1")
    read_account(people.session, people.jobs)
    visit(people, "ledger")
    return people


def test_the_count_is_chosen_after_a_question_and_recorded(account_page, finish, answer):
    assert words_of(account_page, "ledger_counted").startswith("Its releases are added up")
    said = answer("yes")
    finish(account_page, "ledger_count")
    assert "half of the cap of δ is set aside" in said[0]
    assert "certificates of this account name it" in said[0]
    assert "counted by a Rényi filter of order" in words_of(account_page, "ledger_counted")
    dataset = account_page.session.account.dataset
    with Ledger.open() as book:
        (entry,) = book.entries("count")
        assert (entry.dataset, entry.body["method"]) == (dataset, FILTER)
    charge(dataset, "0.01", 3)
    account_page.show_page("data")
    finish(account_page, "tab_ledger")
    table = account_page.findChild(LinesTable, "ledger_caps").lines
    assert "counted by a Rényi filter" in table.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    answer("yes")
    finish(account_page, "ledger_count")
    assert words_of(account_page, "ledger_counted").startswith("Its releases are added up")
    assert "then counts with its full ε again" in said[1]


def test_the_question_about_the_count_names_a_true_example():
    assert "under a cap of ε = 2 and δ = 1e-5 it allows 2,000 releases of ε = 0.01" in ASK_FILTER
    chosen = Filter.for_cap(Decimal(2), Decimal("1e-5"))
    assert chosen.epsilon([Repeated(PureDp(Decimal("0.01")), 2000)]) <= 2


def test_a_table_about_the_same_people_shares_the_account_of_a_ledger_that_was_put_back(
    account_page, finish, press, answer, qtbot, tmp_path
):
    # A table about the same people shares the account.
    with Ledger.open() as book:
        book.set_cap("b" * 32, Decimal("1.75"))
    charge("b" * 32, "0.5")
    press(account_page, "tab_data")
    finish(account_page, "tab_ledger")
    said = answer("yes")
    finish(account_page, "ledger_group")
    assert "the lower cap holds for both" in said[0]
    with Ledger.open() as book:
        account = book.account(account_page.session.account.dataset)
        assert (account.used[0], account.cap[0]) == (Decimal("1.5"), Decimal("1.75"))
        assert book.accounts().grouped(account.dataset)
    assert account_page.session.account.remaining == Decimal("0.25")
    assert "group of 2" in account_page.findChild(LinesTable, "ledger_caps").lines.index(0, 0).data()
    assert not account_page.findChild(QAbstractButton, "ledger_group").isEnabled()
    assert account_page.findChild(QComboBox, "ledger_group_with") is None

    # A ledger that was put back says so and goes on when it is accepted.
    dataset = account_page.session.account.dataset
    with Ledger.open() as book:
        path = book.path
    shutil.copy(path, tmp_path / "kept")
    charge(dataset, "0.25")
    shutil.copy(tmp_path / "kept", path)
    press(account_page, "tab_data")
    finish(account_page, "tab_ledger")
    assert "is older than the one that this computer has seen" in words_of(account_page, "ledger_older")
    said = answer("yes")
    finish(account_page, "ledger_accept")
    assert "Look for the newest copy first" in said[-1]
    assert not account_page.findChild(QLabel, "ledger_older").isVisible()
    charge(dataset, "0.25")
    with Ledger.open() as book:
        assert len(list(book.entries("accepted"))) == 1
        assert book.verify() == []

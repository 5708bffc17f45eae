"""The Ledger page: what was released, the chain, its export, and a cap that is recorded."""

from __future__ import annotations

import json
import sqlite3
from decimal import Decimal

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QLabel, QLineEdit, QMessageBox, QWidget

from workbench.gui.widgets.table_view import LinesTable
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.kinds import KINDS
from workbench.release.ledger.ledger import Ledger


@pytest.fixture
def ledger(people, idle):
    """A window on the Ledger page, with one release of the people sample charged under a cap of 2."""
    with Ledger.open() as book:
        book.set_cap(people.session.account.dataset, Decimal(2))
        cost = Cost(Decimal("1.2"), Decimal(0), PureDp(Decimal("1.2"), "sanitised table"))
        release_id = book.reserve(people.session.account.dataset, cost, work="sanitize", details={"output": "/x/a.csv"})
        book.charge(release_id)
    from workbench.gui.session.account_task import read_account

    read_account(people.session, people.jobs)
    people.show_page("ledger")
    idle(people)
    return people


def cells(window, name: str) -> list[list[str]]:
    model = window.findChild(LinesTable, name).lines
    return [[model.index(r, c).data() for c in range(model.columnCount())] for r in range(model.rowCount())]


def test_an_empty_ledger_says_so(window, idle):
    window.show_page("ledger")
    idle(window)
    assert window.findChild(QLabel, "ledger_empty").isVisible()
    assert not window.findChild(QAbstractButton, "ledger_set_cap").isVisible()


def test_every_release_and_cap_is_listed(ledger):
    (release,) = cells(ledger, "ledger_releases")
    assert release[2:] == ["noisy rows", "1.2", "0", "✓ charged", "a.csv"]
    (cap,) = cells(ledger, "ledger_caps")
    assert cap[1:] == ["2", "1.2", "0", "0.8", "–", "–", "1"]
    assert cap[0].startswith("people (open now)  ")


def test_no_release_is_called_by_a_name_of_the_ledger(window):
    from workbench.gui.pages.ledger.page import _called

    assert _called("values") == "values and bounds"
    assert not [kind.name for kind in KINDS if _called(kind.name) == kind.name != "statistics"]


def test_a_first_release_that_came_to_nothing_leaves_no_cap_anywhere(people, idle, qtbot, press):
    with Ledger.open() as book:
        cost = Cost(Decimal(1000), Decimal(0), PureDp(Decimal(1000), "sanitised table"))
        book.void(book.reserve(people.session.account.dataset, cost, work="sanitize"), "a value is outside")
    from workbench.gui.session.account_task import read_account

    read_account(people.session, people.jobs)
    press(people, "tab_ledger")
    idle(people)
    assert cells(people, "ledger_caps")[0][1:] == ["none yet", "0", "0", "–", "–", "–", "0"]
    assert people.findChild(QLabel, "ledger_cap_title").text().endswith("its first release sets it.")
    assert people.findChild(QLabel, "fact_cap").text() == "the first release sets it"
    assert "0 releases, and 1 that does not count" in people.findChild(QWidget, "note_ledger").accessibleName()
    press(people, "tab_rows")
    assert people.findChild(QLabel, "fact_cap_left").text() == "this release sets it"


def test_a_figure_is_never_cut_and_a_charge_without_a_file_says_so(people, idle, press, tmp_path):
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
    press(people, "tab_ledger")
    idle(people)
    table = people.findChild(LinesTable, "ledger_releases")
    for row in range(3):
        for column in (3, 4):
            index = table.lines.index(row, column)
            assert table.sizeHintForIndex(index).width() <= table.columnWidth(column), index.data()
    assert [line[5] for line in cells(people, "ledger_releases")] == [
        "✓ charged",
        "✓ charged",
        "✓ charged, nothing released",
    ]
    title = people.session.opened.title
    assert title in cells(people, "ledger_releases")[0][1]
    assert "released as" in table.lines.index(0, 1).data(Qt.ItemDataRole.ToolTipRole)


def test_an_account_is_named_after_its_table_whatever_was_released_of_it_since(ledger, press, idle):
    ledger.session.may_leave = lambda then: True
    ledger.open("sample:iris")
    idle(ledger)
    press(ledger, "tab_ledger")
    idle(ledger)
    names = [line[0] for line in cells(ledger, "ledger_caps")]
    assert names[0].startswith("sample:people  "), names
    assert [name for name in names if "open now" in name][0:] == [n for n in names if n.startswith("iris (open now)")]


def test_what_was_verified_is_forgotten_when_the_ledger_changes(ledger, press, idle):
    told = ledger.findChild(QLabel, "ledger_told")
    press(ledger, "ledger_verify")
    idle(ledger)
    assert "Checked at" in told.text()
    press(ledger, "tab_data")
    press(ledger, "tab_ledger")
    idle(ledger)
    assert told.isVisible()
    with Ledger.open() as book:
        book.set_cap(ledger.session.account.dataset, Decimal(3))
    press(ledger, "tab_data")
    press(ledger, "tab_ledger")
    idle(ledger)
    assert not told.isVisible()


def test_selected_releases_are_copied(ledger, qtbot):
    table = ledger.findChild(LinesTable, "ledger_releases")
    table.selectRow(0)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    headings, line = QApplication.clipboard().text().splitlines()
    assert headings.split("\t")[2:5] == ["Work", "ε", "δ"]
    assert line.split("\t")[2:5] == ["noisy rows", "1.2", "0"]


def test_a_whole_chain_is_verified_and_a_changed_one_is_told_of(ledger, press, idle):
    press(ledger, "ledger_verify")
    idle(ledger)
    told = ledger.findChild(QLabel, "ledger_told")
    assert told.text().startswith("✓")
    with Ledger.open() as book:
        path = book.path
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entry SET epsilon = '0.1' WHERE kind = 'charge'")
    connection.commit()
    connection.close()
    press(ledger, "ledger_verify")
    idle(ledger)
    assert told.text().startswith("✕ The ledger is not as it was written")


def test_the_chain_is_exported_whole(ledger, tmp_path, press, idle, monkeypatch):
    # The system's own chooser of files cannot be driven by a test.
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "out.json"), ""))
    press(ledger, "ledger_export")
    idle(ledger)
    chain = json.loads((tmp_path / "out.json").read_text("utf-8"))["chain"]
    assert [entry["kind"] for entry in chain] == ["mark", "cap", "reserve", "charge"]


def test_a_cap_is_set_after_a_question_and_recorded(ledger, press, idle, qtbot):
    field = ledger.findChild(QLineEdit, "ledger_cap_field")
    field.selectAll()
    qtbot.keyClicks(field, "3.5")
    asked = []

    def accept() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        asked.append(box.informativeText().replace("\u00a0", " "))
        qtbot.mouseClick(box.findChild(QAbstractButton, "confirm_yes"), Qt.MouseButton.LeftButton)

    QTimer.singleShot(50, ledger, accept)
    press(ledger, "ledger_set_cap")
    idle(ledger)
    assert "from ε = 2 to ε = 3.5" in asked[0]
    assert ledger.session.account.remaining == Decimal("2.3")
    with Ledger.open() as book:
        history = book.account(ledger.session.account.dataset).cap_history
    assert [(c["epsilon"], c["origin"]) for c in history] == [("2", "steward"), ("3.5", "steward")]


def test_a_cap_beyond_the_slider_stands_in_the_field_as_it_is(people, press, idle, qtbot, answer):
    press(people, "tab_ledger")
    idle(people)
    field = people.findChild(QLineEdit, "ledger_cap_field")
    field.selectAll()
    qtbot.keyClicks(field, "2000")
    answer("yes")
    press(people, "ledger_set_cap")
    qtbot.waitUntil(lambda: people.session.account.cap == 2000)
    idle(people)
    assert field.text() == "2000"
    assert "2000" in people.findChild(QLabel, "ledger_cap_title").text().replace(",", "")


def test_a_ledger_without_releases_is_not_scrolled_at_1280(people, press, idle, qtbot):
    press(people, "tab_ledger")
    idle(people)
    table = people.findChild(LinesTable, "ledger_releases")
    assert table.lines.rowCount() == 0
    assert table.horizontalHeader().length() <= table.viewport().width()


def test_the_words_of_a_release_stand_whole_at_1280(people, press, idle, qtbot):
    dataset = people.session.account.dataset
    with Ledger.open() as book:
        cost = Cost(Decimal(3), Decimal(0), PureDp(Decimal(3), "a table"))
        release_id = book.reserve(dataset, cost, work="values", details={"output": "/home/people-released.csv"})
        book.charge(release_id)
        book.certify(release_id, "checksum", "request")
    press(people, "tab_ledger")
    idle(people)
    for name in ("ledger_releases", "ledger_caps"):
        table = people.findChild(LinesTable, name)
        assert table.lines.rowCount() == 1
        for column in range(table.lines.columnCount()):
            index = table.lines.index(0, column)
            assert table.sizeHintForIndex(index).width() <= table.columnWidth(column), index.data()
        assert table.horizontalHeader().length() <= table.viewport().width()
        qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)  # noqa: B023 - Qt lays it out a turn later

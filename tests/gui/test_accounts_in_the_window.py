"""A version that was recognised by its rows is told and may be denied; an account is given a public name."""

import json
from decimal import Decimal

from hands import show
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget

from workbench.data.samples.sample_tables import sample_table
from workbench.data.table import Table
from workbench.gui.session.account_task import account_of, read_account
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger.ledger import Ledger


def seen(window, kind: type[QWidget], name: str):
    widget = window.findChild(kind, name)
    assert widget.isVisible(), name
    return widget


def press(window, qtbot, name: str) -> None:
    qtbot.mouseClick(seen(window, QPushButton, name), Qt.MouseButton.LeftButton)


def one_cell_edited(table: Table) -> Table:
    return Table(table.frame.with_columns(zip=table.frame["zip"].scatter([7], ["99999"])), "edited.csv")


def charge(table: Table) -> str:
    with Ledger.open() as book:
        dataset = book.enter(book.identify(table))
        book.charge(book.reserve(dataset, Cost(Decimal(3), Decimal(0), PureDp(Decimal(3))), work="sanitize"))
    return dataset


def test_a_version_is_told_shares_the_budget_and_may_be_denied(people, idle, qtbot, answer):
    """The sample is open; what was released before differs from it in one cell."""
    with Ledger.open() as book:  # the account that opening made is of nobody once the steward has parted them
        mine = book.find(book.identify(people.session.opened.table)).account
    former = charge(one_cell_edited(sample_table("people")))
    assert former == mine
    people.session.choose_way("rows")
    people.show_page("release")
    read_account(people.session, people.jobs)
    idle(people)
    # It was opened first, so here it is the other one that is the version: nothing is told of the first.
    assert not people.findChild(QWidget, "release_version").isVisible()
    assert people.session.account.spent == 3


def test_a_later_table_is_taken_as_a_version_until_the_steward_says_otherwise(
    people, at_release, idle, qtbot, answer, monkeypatch
):
    import dataclasses

    opened = people.session.opened
    charge(opened.table)
    later = dataclasses.replace(opened, table=one_cell_edited(opened.table))
    people.session.open(later, people.session.plan)
    read_account(people.session, people.jobs)
    at_release()
    assert people.session.account.spent == 3
    told = seen(people, QLabel, "release_version_told").text()
    assert "looks like a version of a table you released on 20" in told
    assert "shares that table's budget" in told
    asked = answer("yes")
    press(people, qtbot, "release_another_table")
    idle(people)
    qtbot.waitUntil(lambda: people.session.account.spent == 0)
    assert "a budget of its own" in asked[0]
    assert not people.findChild(QWidget, "release_version").isVisible()
    assert account_of(opened.table).spent == 3
    with Ledger.open() as book:
        assert len(list(book.entries("separate"))) == 1
        assert book.verify() == []


def test_a_table_in_doubt_names_both_ways_out_and_each_decides_it(people, at_release, idle, qtbot, answer, monkeypatch):
    import dataclasses

    opened = people.session.opened
    former = charge(opened.table)
    part = Table(opened.table.frame.select("age", "zip", "income"), "part.csv")
    people.session.open(dataclasses.replace(opened, table=part), people.session.plan)
    read_account(people.session, people.jobs)
    at_release()
    told = seen(people, QLabel, "release_version_told").text()
    assert "it is not certain who pays" in told
    ways = seen(people, QLabel, "release_who_pays")
    assert ways.text().startswith("Open that table and name its account, then enter")
    assert "press “It is another table…”" in ways.text()
    assert "workbench ledger" not in told + ways.text()
    for page, start, foot in (("statistics", "release_now", "release_problem"), ("train", "train_start", "note_train")):
        show(people, page)
        idle(people)
        assert "not certain which account pays: decide it in Release, Settings" in seen(people, QLabel, foot).text()
        assert not people.findChild(QPushButton, start).isEnabled()
    show(people, "statistics")
    assert seen(people, QLabel, "release_who_pays").text() == ways.text()
    # The account that is known is named: the gauge shows its budget.
    with Ledger.open() as book:
        book.set_name(former, "clinic")
    read_account(people.session, people.jobs)
    idle(people)
    assert ways.text().startswith("Enter “clinic” under “Account's public name”")
    qtbot.keyClicks(seen(people, QLineEdit, "release_account"), "clinic")
    qtbot.keyClick(seen(people, QLineEdit, "release_account"), Qt.Key.Key_Return)
    idle(people)
    assert people.session.account.spent == 3
    assert not people.findChild(QWidget, "release_version").isVisible()
    # It is another table: it has a budget of its own.
    people.session.open(dataclasses.replace(opened, table=part), people.session.plan.with_(account=""))
    read_account(people.session, people.jobs)
    idle(people)
    answer("yes")
    press(people, qtbot, "release_another_table")
    idle(people)
    qtbot.waitUntil(lambda: not people.session.account.problem)
    assert people.session.account.spent == 0
    with Ledger.open() as book:
        assert len(list(book.entries("separate"))) == 1


def test_the_public_name_is_typed_given_and_told_on_the_certificate(people, visit, idle, qtbot, answer, tmp_path):
    charge(people.session.opened.table)
    with Ledger.open() as book:
        book.set_cap(book.find(book.identify(people.session.opened.table)).account, Decimal(9))
    read_account(people.session, people.jobs)
    people.session.choose_way("rows")
    visit(people, "release")
    name = seen(people, QLineEdit, "release_account")
    assert not people.findChild(QPushButton, "release_name_account").isVisible()
    qtbot.mouseClick(name, Qt.MouseButton.LeftButton)
    qtbot.keyClicks(name, "people 2026")
    qtbot.keyClick(name, Qt.Key.Key_Return)
    assert people.session.plan.account == "people 2026"
    asked = answer("yes")
    press(people, qtbot, "release_name_account")
    idle(people)
    qtbot.waitUntil(lambda: people.session.account.name == "people 2026")
    assert "ε = 3 so far" in asked[0]
    target = tmp_path / "out.csv"
    field = seen(people, QLineEdit, "release_target")
    field.selectAll()
    qtbot.keyClicks(field, str(target))
    answer("yes")
    press(people, qtbot, "release_now")
    qtbot.waitUntil(target.exists)
    idle(people)
    document = json.loads(target.with_name("out.csv.certificate.json").read_text("utf-8"))
    assert (document["account"]["name"], document["account"]["spent_before"]) == ("people 2026", "3")
    visit(people, "ledger")
    assert "people 2026" in people.findChild(QWidget, "ledger_releases").model().index(0, 1).data()


def test_a_table_of_a_named_account_takes_its_name_into_the_plan(people, at_release, qtbot):
    with Ledger.open() as book:
        book.set_name(book.identify(people.session.opened.table), "people 2026")
    read_account(people.session, people.jobs)
    at_release()
    assert people.session.plan.account == "people 2026"
    assert seen(people, QLineEdit, "release_account").text() == "people 2026"
    assert people.session.plan.plan().account == "people 2026"
    assert type(people.session.plan).from_raw(people.session.plan.to_raw()) == people.session.plan
    name = seen(people, QLineEdit, "release_account")
    name.selectAll()
    qtbot.keyClicks(name, "x" * 81)
    qtbot.keyClick(name, Qt.Key.Key_Return)
    assert "1 to 80 printable characters" in seen(people, QLabel, "release_account_told").text()
    assert people.session.plan.account == "people 2026"

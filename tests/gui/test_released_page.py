"""Everything that was released is listed, with its files, and what can be done with it is a click away."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QWidget

from workbench.deep.networks import network


def test_before_the_first_release_the_page_leads_to_one(people, press, idle):
    press(people, "tab_released")
    idle(people)
    assert people.findChild(QWidget, "released_nothing").isVisible()
    assert not people.findChild(QWidget, "released_list").isVisible()


def test_a_release_is_listed_and_verified_where_it_is_selected(listed, press, idle):
    lines = listed.page.table.lines
    assert lines.height() == 1
    assert lines.cell(0, 2).text == "noisy rows"
    assert lines.cell(0, 5).text == "in place"
    press(listed, "shown_release_1_verify")
    idle(listed)
    assert listed.findChild(QLabel, "shown_release_1_result").text().startswith("✓ File, certificate and ledger agree")
    assert listed.focusWidget() is listed.findChild(QWidget, "shown_release_1_verify")


def test_a_file_that_was_moved_is_said_to_be(listed, idle, qtbot):
    path = listed.session.released[-1].files[0][1]
    path.rename(path.with_name("elsewhere.csv"))
    listed.session._released = ()  # as after a restart
    listed.page.refresh()
    idle(listed)
    assert listed.page.table.lines.cell(0, 5).text == "moved"
    qtbot.waitUntil(lambda: listed.findChild(QLabel, "shown_release_1_gone").isVisible())


def test_the_filter_and_the_open_table_narrow_the_list(listed, press, idle, qtbot):
    field = listed.findChild(QLineEdit, "released_list_filter")
    qtbot.keyClicks(field, "no such release")
    assert list(listed.page.table.in_sight()) == []
    qtbot.waitUntil(lambda: listed.findChild(QLabel, "shown_release_1_result") is None)
    field.clear()
    assert list(listed.page.table.in_sight()) == [0]
    assert listed.findChild(QLabel, "shown_release_1_result") is not None
    listed.session.may_leave = lambda then: True
    listed.open("sample:iris")
    idle(listed)
    press(listed, "tab_released")
    idle(listed)
    assert listed.page.table.lines.height() == 1, "releases of other tables are listed, too"
    press(listed, "released_own")
    assert listed.page.table.lines.height() == 0


def test_a_released_table_is_opened_and_estimated_from_here(listed, press, idle):
    press(listed, "shown_release_1_estimate")
    assert listed.page.objectName() == "page_estimate"
    press(listed, "tab_released")
    idle(listed)
    path = listed.session.released[-1].files[0][1]
    listed.session.may_leave = lambda then: True
    assert isinstance(listed.findChild(QAbstractButton, "shown_release_1_open"), QAbstractButton)
    press(listed, "shown_release_1_open")
    idle(listed)
    assert listed.session.opened.source == str(path)


def test_a_paused_training_is_named_by_its_model(people, press, idle):
    run = SimpleNamespace(
        plan=SimpleNamespace(network="cifar-cnn"),
        taken=12,
        steps=1800,
        spent=Decimal("0.5"),
        epsilon=Decimal(3),
    )
    press(people, "tab_released")
    idle(people)
    people.session.set_paused((run,))
    said = people.findChild(QLabel, "released_paused").text()
    assert said == f"{network('cifar-cnn').title} is paused after 12 of 1,800 steps (ε = 0.5 of 3)."
    press(people, "released_resume")
    assert people.findChild(QLabel, "train_paused").text() == said

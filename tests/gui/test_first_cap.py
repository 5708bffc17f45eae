"""The first release sets the cap: its question offers a larger one, and a later refusal offers to raise it."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hands import when_asked
from mishaps import retype
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QScrollArea, QWidget

from workbench.gui.gauges.cap_entry import FirstCap
from workbench.gui.pages.train.run_card import RunCard
from workbench.gui.session.account_task import read_account
from workbench.gui.session.account_view import AccountView
from workbench.gui.session.session import Session
from workbench.gui.widgets.dialogs import Question, choose
from workbench.release.ledger.ledger import Ledger
from workbench.signals.events import Spread


def typing(qtbot, entries, then, read=""):
    """Type into the fields of the next question, keep what it says of each, and press a button of it.

    Text and tooltip of the field ``read`` are kept, too.
    """
    told = []

    def fill(box):
        if read:
            told.append((box.findChild(QLineEdit, read).text(), box.findChild(QLineEdit, read).toolTip()))
        field, yes = box.findChild(QLineEdit, "cap_epsilon"), box.findChild(QPushButton, "confirm_yes")
        for text in entries:
            field.selectAll()
            qtbot.keyClicks(field, text)
            told.append((box.findChild(QLabel, "cap_problem").text(), yes.isEnabled()))
        qtbot.mouseClick(box.findChild(QPushButton, then), Qt.MouseButton.LeftButton)

    when_asked(fill)
    return told


def test_the_question_of_a_first_release_sets_the_cap_that_is_typed_there_and_none_where_it_is_declined(
    people, finish, press, idle, qtbot, tmp_path
):
    # A question that is declined sets no cap.
    finish(people, "tab_rows")
    retype(people, qtbot, "release_target", tmp_path / "out.csv")
    told = typing(qtbot, ["50"], "confirm_no")
    press(people, "release_now")
    qtbot.waitUntil(lambda: len(told) == 1)
    idle(people)
    with Ledger.open() as book:
        assert book.account(people.session.account.dataset).cap is None

    # The question of a first release sets the cap that is typed there.
    press(people, "tab_rows")
    idle(people)
    retype(people, qtbot, "release_target", tmp_path / "out.csv")
    cost = people.session.plan.cost()
    told = typing(qtbot, ["many", str(cost / 2), str(cost * 4)], "confirm_yes")
    press(people, "release_now")
    qtbot.waitUntil(lambda: len(people.session.released) == 1)
    idle(people)
    assert [enabled for _, enabled in told] == [False, False, True]
    assert "is not a number" in told[0][0]
    assert "This release alone costs" in told[1][0]
    assert people.session.account.cap == cost * 4
    assert people.session.account.remaining == cost * 3
    with Ledger.open() as book:
        (entry,) = book.account(people.session.account.dataset).cap_history
    assert (Decimal(entry["epsilon"]), entry["origin"]) == (cost * 4, "steward")


def test_a_cap_of_many_digits_is_shown_in_four_and_kept_whole(people, finish, press, idle, qtbot, tmp_path):
    cost = Decimal("0.9992841")
    people.session.edit("epsilon", replace(people.session.plan, epsilon=cost))
    idle(people)
    assert people.session.plan.cost() == cost
    finish(people, "tab_rows")
    retype(people, qtbot, "release_target", tmp_path / "out.csv")
    shown = typing(qtbot, [], "confirm_yes", "cap_epsilon")
    press(people, "release_now")
    qtbot.waitUntil(lambda: len(people.session.released) == 1)
    idle(people)
    assert shown == [("0.9993", "Cap of all releases of this table, ε (exactly 0.9992841)")]
    assert people.session.account.cap == cost
    finish(people, "tab_ledger")
    field = people.findChild(QLineEdit, "ledger_cap_field")
    assert field.text() == "0.9993"
    assert "exactly 0.9992841" in field.toolTip()
    assert "cap ε = 0.9993; nothing is left" in people.findChild(QLabel, "ledger_cap_title").text()
    retype(people, qtbot, "ledger_delta", "1e-6")  # of δ alone: the cap of ε stays as it is, to its last digit
    typing(qtbot, [], "confirm_yes")
    press(people, "ledger_set_cap")
    qtbot.waitUntil(lambda: people.session.account.delta_cap is not None)
    idle(people)
    assert people.session.account.cap == cost


def test_a_model_after_a_release_asks_for_a_higher_cap_where_it_is_refused(
    people, finish, press, idle, qtbot, answer, tmp_path
):
    finish(people, "tab_rows")
    retype(people, qtbot, "release_target", tmp_path / "out.csv")
    said = answer("yes")
    press(people, "release_now")
    qtbot.waitUntil(lambda: len(people.session.released) == 1)
    idle(people)
    assert "To release a model of label as well, enter 2: it costs as much." in said[0]
    cost = people.session.account.cap
    assert people.session.account.remaining == 0
    finish(people, "tab_train")
    raised = people.findChild(QPushButton, "train_raise_cap")
    qtbot.waitUntil(raised.isVisible)
    assert people.rail.buttons["models"].state == "needs"
    stated = people.findChild(QWidget, "note_train").accessibleName()
    assert "raise the cap of ε" in stated
    assert "spend less" not in stated, "nothing is left to spend"
    assert people.page.primary is raised
    told = typing(qtbot, [str(cost), str(cost * 3)], "confirm_yes")
    press(people, "train_raise_cap")
    qtbot.waitUntil(lambda: people.session.account.cap == cost * 3)
    idle(people)
    assert [enabled for _, enabled in told] == [False, True]
    assert "It needs 2 or more." in told[0][0]
    assert people.page.objectName() == "page_train"
    start = people.findChild(QPushButton, "train_start")
    qtbot.waitUntil(start.isEnabled)
    assert people.page.primary is start
    assert not raised.isVisible()
    assert people.rail.buttons["models"].state == "empty"
    answer("yes")
    press(people, "train_start")
    qtbot.waitUntil(lambda: len(people.session.released) == 2)
    idle(people)
    assert people.session.account.spent == cost * 2


def test_a_second_release_raises_the_cap_by_what_it_costs(people, finish, press, idle, qtbot, answer, tmp_path):
    with Ledger.open() as book:
        book.set_cap(people.session.account.dataset, Decimal("0.5"))
    read_account(people.session, people.jobs)
    idle(people)
    finish(people, "tab_rows")
    retype(people, qtbot, "release_target", tmp_path / "out.csv")
    assert people.page.primary.objectName() == "release_onward"
    assert people.page.primary.text() == "Raise the cap…"
    said = answer("yes")
    press(people, "release_onward")
    qtbot.waitUntil(lambda: people.session.account.cap == 1)
    idle(people)
    assert "may cost ε = 0.5; ε = 0.5 is left. This one costs ε = 1, so it needs a cap of ε = 1 or more" in said[0]
    # At this ε the rows answer nothing of what is asked: Decide is highlighted, and a release is possible.
    assert people.page.primary.objectName() == "release_to_ways"
    answer("yes")
    press(people, "release_now")
    qtbot.waitUntil(lambda: len(people.session.released) == 1)
    idle(people)
    assert people.session.account.remaining == 0


# -- What is filled in within a question stands below its words, not to the left of them ------------------------------


def test_the_field_of_the_first_cap_begins_where_the_words_begin(qtbot, window):
    begins: dict[str, int] = {}

    def look(box: Question) -> None:
        parts = {"words": box.findChild(QLabel, "confirm_title"), "entry": box.findChild(FirstCap)}
        for name, part in parts.items():
            begins[name] = part.mapTo(box, QPoint(0, 0)).x()
        box.reject()

    when_asked(look)
    assert (
        choose(
            window, "Release this?", "It costs ε = 1.", {"yes": "Release"}, entry=FirstCap(AccountView(), Decimal(1))
        )
        == ""
    )
    assert begins["entry"] == begins["words"] > 0


def test_the_words_of_a_question_higher_than_the_screen_scroll(window):
    """At 150 %, seven questions that are answered badly moved Release and Cancel off a screen of 1280 by 800."""
    said, found = ["A line of a long question.\n" * 80], []

    def look(box):
        area, verb = box.findChild(QScrollArea), box.findChild(QPushButton, "confirm_yes")
        scrolls = area.verticalScrollBar().maximum() > 0
        if found and scrolls:
            return False
        inside = box.screen().availableGeometry().contains(verb.mapToGlobal(verb.rect().bottomRight()))
        found.append((inside, scrolls, box.height()))
        if len(found) == 2:
            return box.reject()
        said[0] = "A short one."
        return False

    when_asked(look)
    verbs = {"yes": "Release"}
    entry = FirstCap(AccountView(), Decimal(1))
    assert choose(window, "Release?", said[0], verbs, entry=entry, anew=lambda: (said[0], verbs)) == ""
    assert [each[:2] for each in found] == [(True, True), (True, False)]
    assert found[1][2] < found[0][2] / 2


# -- Who chooses settings by private figures is told what that gives away ---------------------------------------------


@pytest.mark.parametrize("clipped", [100, 50, 1])
def test_a_remark_or_a_study_says_what_choosing_by_it_costs(qapp, clipped):
    card = RunCard(Session())
    words = card.findChild(QWidget, "train_choosing")
    assert not words.isVisibleTo(card)
    card._take_spread(Spread("norms", 3, (1.0,), (100 - clipped, clipped)))
    assert words.isVisibleTo(card) == card.findChild(QWidget, "train_clipped").isVisibleTo(card) == (clipped != 50)
    assert "more of the rows than ε says" in words.text()
    assert "The ledger notes that private figures were shown" in words.text()
    card.clear()
    assert not words.isVisibleTo(card)
    card.show_stages((("no privacy", 0.9, 30), ("clipped", 0.8, 30), ("clipped and noisy", 0.7, 30)))
    assert words.isVisibleTo(card)

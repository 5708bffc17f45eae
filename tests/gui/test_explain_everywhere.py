"""What an ε means can be asked wherever one is shown: by a button, by the context menu, and by keys."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

from hands import go_to, show
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QMenu, QTableView, QWidget

from workbench.gui.gauges.budget import high_words
from workbench.gui.gauges.cap_entry import sure_words
from workbench.gui.session.account_view import AccountView
from workbench.gui.widgets.explain import Asked, Explainable, in_words, percent
from workbench.privacy.accounting.posterior import posterior
from workbench.release.ledger.records import Release

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def explained(window) -> str:
    """Return the title of the explanation that is in sight; empty where there is none."""
    if not window.explain_panel.isVisible():
        return ""
    return window.explain_panel._title.accessibleName()


def ask_by_menu(qtbot, widget: QWidget, at: QPoint) -> None:
    """Open the context menu of a widget and choose the question, as a person does."""
    target = widget.viewport() if isinstance(widget, QTableView) else widget
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, target.mapToGlobal(at))
    QApplication.sendEvent(target, event)
    menu = next(m for m in QApplication.topLevelWidgets() if isinstance(m, QMenu) and m.isVisible())
    action = menu.actions()[0]
    qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())
    qtbot.waitUntil(lambda: not menu.isVisible())


def test_the_sentence_says_what_ten_percent_can_come_to():
    high, low = posterior(1.0, 0.1).high, posterior(1.0, 0.1).low
    words = in_words(Asked(Decimal(1), local=True))
    assert f"could become at most {100 * high:.3g} % sure, " in words
    assert f"and never less than {100 * low:.3g} %" in words
    assert "one person's age" in in_words(Asked(Decimal(1), about="age", local=True))
    assert "the released age alone" in in_words(Asked(Decimal(1), about="age", local=True))
    assert "δ" in in_words(Asked(Decimal(1), Decimal("1e-5")))
    assert "or down to almost 0 %" in in_words(Asked(Decimal(20)))
    assert [percent(v) for v in (0.155, 0.99994, 0.0, 1.0)] == ["15.5 %", "99.99 %", "0 %", "100 %"]


def test_a_belief_is_bounded_by_the_replace_one_figure_but_of_noisy_rows(people, press):
    """Of a central release, and of a total that may hold one, a fact is two steps of zero-out: 2ε bounds it."""
    twice = percent(posterior(2.0, 0.1).high)
    words = in_words(Asked(Decimal(1)))
    assert f"could become at most {twice} sure" in words
    assert "This counts as ε = 2" in words
    assert f"at most {twice} sure" in sure_words(Decimal(1))
    assert percent(posterior(12.0, 0.1).high) in high_words(Asked(Decimal(6)))
    assert percent(posterior(6.0, 0.1).high) in high_words(Asked(Decimal(6), local=True))
    told, panel = people.findChild(QLabel, "explain_text"), people.explain_panel
    warning = people.findChild(QLabel, "budget_warning")
    people.session.set_epsilon(Decimal("5.5"))
    for way, high in (("rows", "96.5 %"), ("synthetic", "99.98 %")):
        people.session.choose_way(way)
        assert high in warning.text().replace("\u00a0", " ")
    people.session.set_epsilon(Decimal(1))
    for way, epsilon in (("rows", 1.0), ("synthetic", 2.0)):
        people.session.choose_way(way)
        press(people, "explain_plan")
        assert f"could become at most {percent(posterior(epsilon, 0.1).high)} sure" in told.text()
        fact = panel.findChild(QLabel, "fact_prior_0.5").text().replace("\u00a0", " ")
        assert fact == f"to at most {percent(posterior(epsilon, 0.5).high)}"
    people.session.set_account(AccountView(dataset="x", cap=Decimal(3), releases=1))
    people.session.choose_way("rows")  # which the explanation follows
    assert f"could become at most {percent(posterior(1.0, 0.1).high)} sure" in told.text()
    press(people, "explain_cap")
    assert f"at most {percent(posterior(6.0, 0.1).high)} sure" in told.text()


def test_shares_and_the_budget_are_asked_about_on_protect(people, press, qtbot):
    # A share is asked about by menu key and button.
    go_to(people, "protect")
    table = people.page.table
    ask_by_menu(qtbot, table, table.visualRect(table.model().index(3, 0)).center())
    assert explained(people) == "ε = 0.2 for sex"
    assert "one person's sex" in people.findChild(QLabel, "explain_text").text()
    qtbot.keyClick(people, Qt.Key.Key_Escape)
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Down)
    qtbot.keyClick(table, Qt.Key.Key_F1)
    assert explained(people) == "ε = 0.2 for zip"
    press(people, "explain_whole")
    assert explained(people) == "ε = 1"
    press(people, "share_explain")
    assert explained(people) == "ε = 0.2 for zip"
    qtbot.keyClick(people, Qt.Key.Key_Escape)

    # A field keeps its own menu.
    go_to(people, "protect")
    field = people.findChild(QLineEdit, "plan_epsilon_field")
    ask_by_menu(qtbot, field, QPoint(5, 5))
    assert explained(people) == "ε = 1"
    qtbot.keyClick(people, Qt.Key.Key_Escape)

    # A dropped column has no share to explain and f1 helps with the page.
    go_to(people, "protect")
    table = people.page.table
    table.selectRow(0)
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_F1)
    assert explained(people) == ""
    assert people.help_panel.isVisible()
    qtbot.keyClick(people, Qt.Key.Key_Escape)

    # The budget of the plan is asked about beside its entry.
    go_to(people, "protect")
    press(people, "protect_explain")
    assert explained(people) == "ε = 1"
    qtbot.keyClick(people, Qt.Key.Key_Escape)
    assert explained(people) == ""
    field = people.findChild(QLineEdit, "plan_epsilon_field")
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "2")
    qtbot.keyClick(field, Qt.Key.Key_F1)
    assert explained(people) == "ε = 2"


def test_the_gauge_says_what_is_too_much_what_still_runs_and_explains_what_the_account_holds(people, press, qtbot):
    # The gauge says what is too much and what still runs.
    # Too much and too high are both said.
    people.session.set_account(AccountView(dataset="x", cap=Decimal(6), spent=Decimal(1), releases=1))
    people.session.set_epsilon(Decimal("5.5"))
    warning = people.findChild(QLabel, "budget_warning").text()
    assert "only 5 remain" in warning
    assert "is high" in warning
    people.session.set_epsilon(Decimal(1))
    assert not people.findChild(QLabel, "budget_warning").isVisible()
    assert people.findChild(QLabel, "fact_left").text() == "ε\u00a04"
    assert people.findChild(QLabel, "budget_figure").text() == "ε\u00a05"

    # What still runs is reserved and not counted as a release.
    view = AccountView(dataset="x", cap=Decimal(6), spent=Decimal(1), reserved=Decimal(2), releases=2, going=1)
    people.session.set_account(view)
    facts = people.findChild(QWidget, "gauge_budget")
    assert facts.findChild(QLabel, "fact_spent").accessibleName() == "spent, 1 release: ε 1"
    assert facts.findChild(QLabel, "fact_reserved").accessibleName() == "reserved, running: ε 2"
    people.session.set_paused((SimpleNamespace(epsilon=Decimal(2)),))
    assert facts.findChild(QLabel, "fact_reserved").accessibleName() == "reserved for a paused run: ε 2"
    assert people.findChild(QLabel, "budget_figure").text() == "ε\u00a03"
    assert people.findChild(QLabel, "fact_left").text() == "ε\u00a02"
    people.session.set_paused(())

    # The explanation fits the column.
    people.session.set_account(AccountView(dataset="x", cap=Decimal(6), spent=Decimal(1), releases=1))
    for epsilon in ("0.001", "12", "500000"):
        people.session.set_epsilon(Decimal(epsilon))
        qtbot.keyClick(people, Qt.Key.Key_E, CTRL)
        QApplication.processEvents()
        panel = people.explain_panel
        assert panel.width() <= people.gauges.viewport().width()
        top = panel.mapTo(people.gauges.viewport(), QPoint(0, 0)).y()
        assert top >= 0
        assert top + panel.height() <= people.gauges.viewport().height()
        assert people.findChild(QAbstractButton, "explain_close").isVisible()
        qtbot.keyClick(people, Qt.Key.Key_Escape)
    people.session.set_epsilon(Decimal(1))

    # The gauge explains the charge and what the account holds.
    people.session.edit("rows", people.session.plan.with_(rows_per_person=2))
    press(people, "explain_plan")
    assert explained(people) == "ε = 2"
    account = AccountView(dataset="x", cap=Decimal(12), spent=Decimal("2.5"), releases=1)
    people.session.set_account(account)
    press(people, "explain_plan")
    press(people, "explain_spent")
    assert explained(people) == "ε = 2.5"
    press(people, "explain_cap")
    assert explained(people) == "ε = 12"
    ask_by_menu(qtbot, people.budget_gauge, QPoint(20, 20))
    assert explained(people) == "ε = 2"


def test_what_is_charged_by_a_step_a_point_and_the_ledger_is_asked_about_and_the_plan_from_anywhere(
    people, press, idle, qtbot
):
    # What a step costs is asked about where it stands.
    for page, name in (("train", "train_explain"), ("release", "release_explain")):
        go_to(people, page)
        qtbot.waitUntil(lambda: page != "train" or people.page._asked() is not None)  # noqa: B023 - waited for here
        idle(people)
        press(people, name)
        assert explained(people) == "ε = 1"
        qtbot.keyClick(people, Qt.Key.Key_Escape)

    # The point of a curve is what is explained.
    go_to(people, "utility")
    found = people.page.plot.findChild(Explainable)
    assert found.asked() == Asked(Decimal(1))

    # A charge of the ledger is asked about.
    go_to(people, "ledger")
    idle(people)
    page = people.page
    assert page._asked() is None
    view = page._view
    fields = {f: getattr(view, f) for f in view.__dataclass_fields__}
    line = Release("", "", Decimal("0.7"), Decimal("1e-6"), "", "", {})
    page._show(type(view)(**{**fields, "releases": (line,)}))
    press(people, "ledger_explain")
    assert explained(people) == "ε = 0.7"
    assert "δ" in people.findChild(QLabel, "explain_text").text()
    qtbot.keyClick(people, Qt.Key.Key_Escape)

    # The plan is explained from anywhere in place of help and with hidden gauges.
    # A key and the menu explain the plan from anywhere.
    people.rail.buttons["release"].setFocus()
    qtbot.keyClick(people, Qt.Key.Key_E, CTRL)
    assert explained(people) == "ε = 1"
    qtbot.keyClick(people, Qt.Key.Key_Escape)

    # Help and explanation take each others place.
    qtbot.keyClick(people, Qt.Key.Key_F1, SHIFT)
    assert people.help_panel.isVisible()
    press(people, "explain_plan")
    assert not people.help_panel.isVisible()
    qtbot.keyClick(people, Qt.Key.Key_F1, SHIFT)
    assert explained(people) == ""
    qtbot.keyClick(people, Qt.Key.Key_Escape)

    # Hidden gauges come back for what was asked.
    qtbot.keyClick(people, Qt.Key.Key_F9)
    assert not people.gauges.isVisible()
    qtbot.keyClick(people, Qt.Key.Key_E, CTRL)
    assert people.gauges.isVisible()
    assert explained(people) == "ε = 1"
    qtbot.keyClick(people, Qt.Key.Key_Escape)


def test_what_one_person_has_in_several_rows_is_explained_for_all_of_them(people, press):
    plan = people.session.plan
    people.session.choose_way("rows")
    people.session.edit("count three rows", plan.with_(rows_per_person=3))
    told = people.explain_panel.findChild(QLabel, "explain_text")
    for page, name in (("protect", "protect_explain"), ("release", "release_explain")):
        show(people, page)
        press(people, name)
        assert explained(people) == "ε = 3"
        assert f"could become at most {percent(posterior(3.0, 0.1).high)} sure" in told.text()
        assert "up to 3 rows" in told.text()

"""One ε reads the same on every page: what is paid is never shown as less, what limits never as more."""

from decimal import Decimal

import pytest
from mishaps import retype
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget

from workbench.gui.pages.curve_actions import PointFacts
from workbench.gui.pages.protect.share_model import SHARE
from workbench.gui.session.account_view import AccountView
from workbench.gui.widgets.table_view import LinesTable
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger.ledger import Ledger

DATASET = "a" * 64
THIRD = "0.3334"


@pytest.fixture
def thirds(people, finish):
    """A plan of ε = 1 over three columns, seen on Protect."""
    for name in ("zip", "income"):
        people.session.edit_column(name, f"drop {name}", action="drop")
    people.session.set_epsilon(Decimal(1))
    finish(people, "tab_protect")
    return people


def test_a_share_reads_the_same_on_protect_and_release_and_in_its_explanation(thirds, finish, press):
    table, shares = thirds.page.table, thirds.page.shares
    protected = [at for at in range(shares.rowCount()) if shares.column_at(at).protected]
    shown = [shares.index(at, SHARE) for at in protected]
    assert {index.data() for index in shown} == {THIRD}
    assert all(Decimal(index.data()) >= thirds.session.plan.epsilon / 3 for index in shown)
    for index in shown:
        assert table.sizeHintForIndex(index).width() <= table.columnWidth(SHARE)
    table.setCurrentIndex(shown[0])
    assert thirds.findChild(QLabel, "share_of").text() == THIRD
    assert f"at a share of {THIRD}" in thirds.findChild(QLabel, "share_why").text()
    press(thirds, "share_explain")
    titles = [t.text() for t in thirds.explain_panel.findChildren(QLabel)]
    assert any(t.startswith(f"ε = {THIRD}") for t in titles), titles
    finish(thirds, "tab_rows")
    published = thirds.findChild(QWidget, "pane_rows")
    assert [t.text() for t in published.findChildren(QLabel) if t.text().startswith("ε ")] == [f"ε {THIRD}"] * 3


def test_the_longest_share_fits_its_column(people, finish):
    people.session.set_epsilon(Decimal("0.0000617284"))
    finish(people, "tab_protect")
    index = people.page.shares.index(2, SHARE)
    assert index.data() == "1.235e-5"
    assert people.page.table.sizeHintForIndex(index).width() <= people.page.table.columnWidth(SHARE)


def test_what_is_called_exact_has_all_its_digits(people, press, idle):
    press(people, "tab_protect")
    told = people.findChild(QLabel, "share_sum")
    people.session.set_epsilon(Decimal("1.23456789"))
    assert told.text().endswith("together ε = 1.23456789 exactly")


def test_a_sum_below_epsilon_never_reads_like_it(people, press, idle):
    press(people, "tab_protect")
    told = people.findChild(QLabel, "share_sum")
    plan = people.session.plan
    for column in plan.protected:
        plan = plan.with_column(column.name, epsilon=Decimal("0.24691356"))
    people.session.edit("lock all", plan.with_(epsilon=Decimal("1.23456789")))
    assert told.text().endswith("together ε = 1.2345678, less than ε = 1.23456789: free a lock to use the rest")


def test_a_cap_is_never_shown_as_more_than_it_allows(people, finish):
    finish(people, "tab_ledger")
    people.session.set_account(AccountView(dataset=DATASET, cap=Decimal("2.99999999")))
    assert "cap ε = 2.999; ε = 2.999 is left" in people.findChild(QLabel, "ledger_cap_title").text()
    assert people.findChild(QLabel, "fact_cap").text() == "ε 2.999"
    finish(people, "tab_rows")
    cost = people.findChild(QWidget, "release_cost")
    assert cost.findChild(QLabel, "fact_cap_left").accessibleName() == "remains of ε 2.999: ε\u00a02.999"


def test_no_tooltip_outlives_its_figure(people, finish):
    finish(people, "tab_ledger")
    title, figure = people.findChild(QLabel, "ledger_cap_title"), people.findChild(QLabel, "budget_figure")
    spent = AccountView(dataset=DATASET, cap=Decimal("5.5"), spent=Decimal("6.123456789"), releases=1)
    people.session.set_account(spent)
    assert title.text().endswith("nothing is left.")
    assert title.toolTip() == "Cap: ε = 5.5 exactly. Remaining: ε = 0 exactly."
    assert "but nothing is left" in people.findChild(QLabel, "budget_warning").text()
    people.session.set_account(AccountView(dataset=DATASET))
    assert title.toolTip() == ""
    people.session.set_account(spent)
    assert (figure.text(), figure.toolTip()) == ("ε\u00a00", "ε = 0 exactly")
    people.session.set_account(AccountView(problem="The ledger cannot be read."))
    assert (title.toolTip(), figure.text(), figure.toolTip()) == ("", "?", "")


def test_the_ledger_shows_figures_short_and_copies_them_whole(people, finish, qtbot):
    dataset = people.session.account.dataset
    with Ledger.open() as book:
        book.set_cap(dataset, Decimal("7.99999999"))
        cost = Cost(Decimal("2.998721314"), Decimal(0), PureDp(Decimal("2.998721314"), "sanitised table"))
        release_id = book.reserve(dataset, cost, work="sanitize", details={"output": "/x/a.csv"})
        book.charge(release_id)
        book.certify(release_id, "checksum", "request")
    finish(people, "tab_ledger")
    for name, columns, shown, copied in (
        ("ledger_releases", (3,), ["2.999"], ["2.998721314"]),
        ("ledger_caps", (1, 2, 4), ["7.999", "2.999", "5.001"], ["7.99999999", "2.998721314", "5.001278676"]),
    ):
        table = people.findChild(LinesTable, name)
        assert [table.lines.index(0, c).data() for c in columns] == shown
        table.selectRow(0)
        qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        cells = QApplication.clipboard().text().splitlines()[-1].split("\t")  # below the headings
        assert [cells[c] for c in columns] == copied


def test_a_second_draw_is_offered_at_its_exact_price(people, release, finish, press, idle, answer, qtbot, tmp_path):
    people.session.set_epsilon(Decimal("1.23456789"))
    finish(people, "tab_rows")
    retype(people, qtbot, "release_target", tmp_path / "first.csv")
    answer("yes")
    press(people, "release_now")
    # What is asked before a release is asked a moment after the job that looked has ended.
    qtbot.waitUntil(lambda: len(people.session.released) == 1)
    idle(people)
    qtbot.waitUntil(people.findChild(QPushButton, "release_now").isEnabled)
    retype(people, qtbot, "release_target", tmp_path / "second.csv")
    told = release("no")
    assert "charges ε = 1.235 (exactly 1.23456789) again" in told[1]


@pytest.mark.parametrize(("taken", "told"), [(2.5, "2.5"), (1.23456789, "1.235")])
def test_an_epsilon_that_is_taken_from_the_curve_reads_as_everywhere(people, finish, qtbot, taken, told):
    finish(people, "tab_utility")
    panel = people.page.panel
    panel.show_point(PointFacts("sanitised", taken, "accuracy 0.700"))
    assert f"ε = {told}:" in panel.accessibleName()
    with qtbot.waitSignal(people.session.notified) as said:
        people.findChild(QPushButton, "curve_point_take").click()
    assert people.session.plan.epsilon == Decimal(repr(taken))
    assert said.args == ["info", f"The plan's ε is {told}. Ctrl+Z takes it back."]
    steps = people.session.undo_stack.count()
    panel.show_point(PointFacts("sanitised", taken, "accuracy 0.700"))
    with qtbot.waitSignal(people.session.notified) as said:
        qtbot.mouseClick(people.findChild(QPushButton, "curve_point_take"), Qt.MouseButton.LeftButton)
    assert said.args == ["info", f"The plan's ε is {told}."], "Ctrl+Z would take back another step"
    assert people.session.undo_stack.count() == steps

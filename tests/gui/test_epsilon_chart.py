"""ε against the steps of a run: its target, and what the cap of the account leaves for it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QLineEdit

from workbench.gui.pages.train.run_card import RunCard, StepChart
from workbench.gui.session.account_view import AccountView
from workbench.gui.session.session import Session
from workbench.jobs import network
from workbench.params import InputError
from workbench.signals.events import Budget, Cancelled

WIDTH, HEIGHT = 360, 220


def drawn(target, cap):
    """Return the chart and the lines, counted from above, that are drawn through its whole width in the limits' red."""
    session = Session()
    chart = StepChart(session, "train_epsilon", "ε so far, at most", style="third", rising=True)
    chart.resize(WIDTH, HEIGHT)
    chart.begin(100, target, cap)
    chart.add(10, 0.3)
    image = chart.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    scale = image.width() / WIDTH
    red = QColor(session.theme.danger)

    def reddish(x, y):
        pixel = image.pixelColor(x, y)
        return abs(pixel.red() - red.red()) + abs(pixel.green() - red.green()) + abs(pixel.blue() - red.blue()) < 90

    columns = range(int(60 * scale), int((WIDTH - 20) * scale))
    shares = [sum(reddish(x, y) for x in columns) / len(columns) for y in range(image.height())]
    whole = [y / scale for y, share in enumerate(shares) if share > 0.9]
    dashed = [y / scale for y, share in enumerate(shares) if 0.5 < share < 0.85]
    return chart, whole, dashed


def test_target_and_cap_are_two_lines_and_the_cap_is_above(qapp):
    chart, whole, dashed = drawn(1.0, 2.0)
    assert whole
    assert dashed
    assert max(whole) < min(dashed)
    assert chart.limits == (("target ε", 1.0, True), ("cap leaves ε", 2.0, True))
    assert chart.accessibleName().endswith("at step 10, target ε 1, cap leaves ε 2")


def test_a_target_that_takes_all_that_is_left_is_one_line_that_says_so(qapp):
    chart, whole, dashed = drawn(1.0, 1.0)
    assert not whole
    assert dashed
    assert "target = cap" in chart.accessibleName()


def test_a_cap_far_above_is_named_and_does_not_flatten_the_line(qapp):
    chart, whole, dashed = drawn(1.0, 40.0)
    assert not whole
    assert chart.limits[1] == ("cap leaves ε", 40.0, False)
    assert dashed[0] == pytest.approx(drawn(1.0, None)[2][0], abs=2)


@pytest.mark.parametrize(
    ("account", "more", "room"),
    [
        (AccountView(), {}, "1"),
        (AccountView(), {"first": Decimal(4)}, "4"),
        (AccountView(cap=Decimal(3), spent=Decimal("0.5")), {}, "2.5"),
        (AccountView(cap=Decimal(3), spent=Decimal("0.5"), reserved=Decimal(1)), {"reserved": True}, "2.5"),
    ],
)
def test_the_room_under_the_cap(account, more, room):
    assert account.room(Decimal(1), **more) == Decimal(room)


def test_the_run_draws_what_the_cap_leaves(window, press, idle, tmp_path, qtbot, answer, monkeypatch):
    pytest.importorskip("torch")

    def refuse(*given):
        raise InputError("it does not begin", hint="wait")

    monkeypatch.setattr(network, "train_network", refuse)
    press(window, "sample_iris")
    idle(window)
    press(window, "tab_train")
    press(window, "train_model_logistic")
    for key, text in (("train_logistic_epochs", "2"), ("train_logistic_batch", "30"), ("train_folder", "net")):
        field = window.findChild(QLineEdit, key)
        field.selectAll()
        qtbot.keyClicks(field, str(tmp_path / text) if key == "train_folder" else text)
    qtbot.waitUntil(lambda: window.page.primary.isEnabled())
    window.page.session._account = AccountView(cap=Decimal(5), spent=Decimal(3))
    window.page.refresh()
    begun = []
    monkeypatch.setattr(window.page.going.epsilon, "begin", lambda *given: begun.append(given))
    answer("yes")
    press(window, "train_start")
    idle(window)
    (given,) = [g for g in begun if g[0]]
    assert given[2] == 2.0


def test_a_paused_run_has_one_epsilon_for_its_last_step(qtbot):
    """On the way a bound is drawn, that of a later step; a paused run's ε is known exactly and takes its place."""
    card = RunCard(Session())
    card.steps = 1000
    card.epsilon.begin(1000, 3.0)
    for step, bound in ((0, 0.0), (90, 0.3312), (100, 0.4012)):
        card._take_budget(Budget(bound, 1e-6, 3.0, step, 1000))
    card.settle(100, 0.3643)
    assert card.epsilon.points[-1] == (100, 0.4012), "it was not paused"
    card.report_end(Cancelled("paused"), paused=True)
    card.settle(100, 0.3643)
    card.settle(100, 0.3643)
    assert card.epsilon.points == ((0, 0.0), (90, 0.3312), (100, 0.3643))

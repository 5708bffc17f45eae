"""Story B: the budget outlives the window, the name of the file and the project; what was released is copied freely."""

import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from hands import CTRL, Hands
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from workbench.gui.app import main_window
from workbench.gui.shell.main_window import MainWindow
from workbench.release.ledger.ledger import Ledger

# Said by the platform without a screen whenever a list opens: there is nothing that it could raise or grab.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing the keyboard)")


@pytest.fixture
def start(qtbot):
    """Start the program's window, as often as it was quit; whatever is left open is closed in the end."""
    made: list[MainWindow] = []

    def start() -> Hands:
        window = main_window()
        made.append(window)
        window.show()
        qtbot.waitExposed(window)
        window.activateWindow()
        return Hands(window, qtbot)

    yield start
    for window in made:
        window.jobs.shut_down()
        window.session.may_leave = lambda then: True  # what a test has changed is not to be saved
        window.close()
        window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,town\n" + "\n".join(f"{20 + i % 50},{'ab'[i % 2]}" for i in range(200)) + "\n", "utf-8")
    return path


def ledger() -> list[tuple[str, str]]:
    """Return status and ε of everything the ledger holds, the oldest first."""
    with Ledger.open() as book:
        return [(r.status, f"{r.epsilon.normalize():f}") for r in book.releases()]


def open_and_declare(hands: Hands, source: Path) -> None:
    """Drop a file on the window and declare what is publicly known of it."""
    hands.drop(source)
    hands.click("questions_onward")
    hands.click("data_onward")
    for fact, end in (("0", Qt.Key.Key_Tab), ("100", Qt.Key.Key_Tab), ("a, b", Qt.Key.Key_Return)):
        hands.keys(fact)
        hands.key(end)
    assert hands.window.session.plan.ready
    hands.click("data_onward")  # what was guessed is right, and public knowledge
    assert hands.window.session.plan.guesses() == ()


def set_cap(hands: Hands, cap: str) -> None:
    hands.finish("tab_ledger")
    hands.type_into("ledger_cap_field", cap)
    asked = hands.answer("yes")
    hands.finish("ledger_set_cap")
    assert f"to ε = {cap}" in asked[0]


def plan_for(hands: Hands, epsilon: str, target: Path) -> None:
    """Give the plan an ε and go to the Release page with a name for the file."""
    hands.finish("tab_protect")
    hands.type_into("plan_epsilon_field", epsilon)
    hands.finish("tab_rows")
    hands.type_into("release_target", str(target))


def release(hands: Hands, answer: str = "yes") -> str:
    """Press Release and answer the question; return what was asked."""
    asked = hands.answer(answer)
    hands.click("release_now")
    hands.until(lambda: bool(asked))
    hands.idle()
    return asked[0]


def test_the_budget_survives_quitting_a_new_name_and_a_new_project(start, source, tmp_path):
    first = start()
    open_and_declare(first, source)
    set_cap(first, "2")
    plan_for(first, "1.2", tmp_path / "one.csv")
    assert "charges ε = 1.2" in release(first)
    project = tmp_path / "first.workbench.toml"
    first.name_file(project)
    first.key(Qt.Key.Key_S, CTRL)
    first.until(project.exists)
    first.idle()
    assert tomllib.loads(project.read_text("utf-8"))["epsilon"] == 1.2
    first.key(Qt.Key.Key_Q, CTRL)
    first.until(lambda: not first.window.isVisible())

    again = start()
    open_and_declare(again, source.rename(tmp_path / "renamed.csv"))
    assert again.window.project.path is None
    assert again.text("budget_figure") == "ε\u00a00.8"
    assert again.text("fact_cap") == "ε 2"
    refused = tmp_path / "two.csv"
    plan_for(again, "1", refused)
    assert "needs ε = 1, but only 0.8 remain" in again.text("budget_warning")
    before = ledger()
    assert not again.window.findChild(QAbstractButton, "release_now").isEnabled()
    assert again.sees("release_raise_cap")
    assert not refused.exists()
    assert ledger() == before == [("charged", "1.2")]

    plan_for(again, "1.2", refused)
    folder = tmp_path / "copies"
    folder.mkdir()
    again.name_file(folder)
    asked = release(again, "copy")
    again.idle()
    assert str(tmp_path / "one.csv") in asked
    assert "Copying that file is free" in asked
    assert (folder / "one.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    assert ledger() == before
    assert again.text("budget_figure") == "ε\u00a00.8"
    release(again, "yes")
    again.until(lambda: again.sees("release_refusal"))
    assert "costs ε = 1.2 but only 0.8 remain" in again.text("release_refusal")
    assert not refused.exists()
    assert {status for status, _ in ledger()} <= {"charged", "refused"}
    assert again.text("budget_figure") == "ε\u00a00.8"

    again.click("release_use_rest")
    again.idle()
    assert again.window.session.plan.epsilon == Decimal("0.8")
    release(again)
    assert refused.is_file()
    assert [epsilon for status, epsilon in ledger() if status == "charged"] == ["1.2", "0.8"]
    assert again.window.session.account.remaining == 0
    assert again.text("budget_figure") == "ε\u00a00"


def test_the_same_release_is_drawn_anew_for_another_charge(start, source, tmp_path):
    hands = start()
    open_and_declare(hands, source)
    set_cap(hands, "2")
    plan_for(hands, "0.7", tmp_path / "one.csv")
    release(hands)
    asked = release(hands)
    assert "is a second release and charges ε = 0.7 again" in asked
    assert ledger() == [("charged", "0.7")] * 2
    assert hands.text("budget_figure") == "ε\u00a00.6"
    one, two = (hands.window.session.released[at].result.output for at in (0, 1))
    assert one != two
    assert one.read_bytes() != two.read_bytes()


def ask_for_statistics(hands: Hands, epsilon: str, delta: str, target: Path) -> None:
    """Choose ε and δ on the Statistics page, for the figures that are ticked from the beginning."""
    hands.click("tab_ways")
    hands.type_into("ways_epsilon_field", epsilon)
    hands.finish("tab_statistics")
    if hands.sees("statistics_delta_more"):
        hands.click("statistics_delta_more")
    hands.type_into("statistics_delta", delta)
    hands.type_into("release_target", str(target))
    hands.idle()


def release_statistics(hands: Hands) -> str:
    """Press Release on the Statistics page, say yes, and return what was asked."""
    asked = hands.answer("yes")
    hands.click("release_now")
    hands.until(lambda: bool(asked))
    hands.idle()
    return asked[0]


def spent() -> list[tuple[str, Decimal, Decimal]]:
    with Ledger.open() as book:
        return [(r.status, r.epsilon, r.delta) for r in book.releases()]


@pytest.mark.slow
def test_a_budget_of_epsilon_and_delta_survives_and_what_remains_of_both_is_used(start, source, tmp_path):
    first = start()
    open_and_declare(first, source)
    first.click("tab_ledger")
    first.idle()
    first.type_into("ledger_delta", "1e-5")
    set_cap(first, "2")
    ask_for_statistics(first, "1.2", "6e-6", tmp_path / "one.csv")
    assert first.text("release_epsilon") == "ε = 1.2, δ = 6e-06"
    assert "This charges ε = 1.2 and δ = 6e-06" in release_statistics(first)
    assert spent() == [("charged", Decimal("1.2"), Decimal("0.000006"))]
    project = tmp_path / "first.workbench.toml"
    first.name_file(project)
    first.key(Qt.Key.Key_S, CTRL)
    first.until(project.exists)
    first.idle()
    first.key(Qt.Key.Key_Q, CTRL)
    first.until(lambda: not first.window.isVisible())

    again = start()
    open_and_declare(again, source.rename(tmp_path / "renamed.csv"))
    assert again.text("budget_figure") == "ε\u00a00.8"
    refused = tmp_path / "two.csv"
    ask_for_statistics(again, "1", "5e-6", refused)
    told = again.text("release_short")
    assert "Needs ε = 1, δ = 5e-06, but only ε = 0.8 and δ = 4e-06 remain" in told
    locked = again.window.findChild(QWidget, "release_now")
    assert not locked.isEnabled()
    assert "needs ε = 1, δ = 5e-06, but only ε = 0.8 and δ = 4e-06 remain" in locked.toolTip()
    assert not refused.exists()
    assert [line for line in spent() if line[0] != "refused"] == [("charged", Decimal("1.2"), Decimal("0.000006"))]
    # δ alone is short: ε stays as it is asked for.
    ask_for_statistics(again, "0.5", "5e-6", refused)
    assert "Use what remains (ε = 0.5, δ = 4e-06)" in again.see("release_use_rest").text()
    ask_for_statistics(again, "1", "5e-6", refused)

    again.click("release_use_rest")
    again.idle()
    assert again.text("release_epsilon") == "ε = 0.8, δ = 4e-06"
    assert "This charges ε = 0.8 and δ = 4e-06" in release_statistics(again)
    assert refused.is_file()
    counted = [line for line in spent() if line[0] == "charged"]
    assert counted[1:] == [("charged", Decimal("0.8"), Decimal("0.000004"))]
    account = again.window.session.account
    assert (account.remaining, account.delta_remaining) == (0, 0)

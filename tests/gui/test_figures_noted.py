"""Studies of the window leave the same durable note in the ledger as the commands, before a figure is shown."""

from __future__ import annotations

import json

import pytest
from mishaps import needs_torch, retype, rows_of, text_of
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from workbench.gui.widgets.table_view import LinesTable
from workbench.processes import executor
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.shown_figures import STUDIES
from workbench.release.statements import CHOSEN
from workbench.studies import kind_draws


def noted() -> list[str]:
    """Return the kinds of study that the ledger has noted; it is whole, and nothing of them was charged."""
    with Ledger.read() as book:
        assert book.verify() == []
        assert all((e.epsilon, e.delta) == ("0", "0") for e in book.entries("figures"))
        return [figures.study for figures in book.figures()]


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial of the ways is short and stays in this process: these tests look at its note."""
    monkeypatch.setattr(kind_draws, "REPEATS", 2)
    monkeypatch.setattr(executor, "cores", lambda: 1)


def a_curve(window, qtbot, press, idle):
    press(window, "tab_utility")
    retype(window, qtbot, "curve_epsilons", "1, 10")
    retype(window, qtbot, "curve_repeats", "2")
    press(window, "curve_run")
    idle(window)
    assert window.page.figure is not None


def why(window, qtbot, press, idle):
    press(window, "tab_why")
    retype(window, qtbot, "why_repeats", "2")
    press(window, "why_run")
    idle(window)
    assert "Accuracy is" in text_of(window, "why_words")


def ways(window, qtbot, press, idle):
    press(window, "tab_ways")
    idle(window)
    press(window, "ways_truth")
    idle(window)


def a_preview(window, qtbot, press, idle):
    press(window, "tab_preview")
    idle(window)
    assert "the ledger notes that you looked" in window.findChild(QWidget, "note_preview").accessibleName()


def synthetic(window, qtbot, press, idle):
    press(window, "tab_synthetic")
    idle(window)
    press(window, "synthetic_preview_start")
    idle(window)
    assert "one trained on original rows" in text_of(window, "synthetic_preview_learned")


@pytest.mark.parametrize(
    ("study", "kind"),
    [(a_curve, "curve"), (why, "why"), (ways, "ways"), (a_preview, "preview"), (synthetic, "synthetic")],
    ids=["curve", "why", "ways", "preview", "synthetic"],
)
def test_a_study_is_noted_once_and_listed_on_the_ledger_page(iris, qtbot, finish, press, idle, study, kind):
    assert noted() == []
    study(iris, qtbot, press, idle)
    study(iris, qtbot, press, idle)
    assert noted() == [kind]
    idle(iris)
    assert iris.session.account.seen, "what is said before a release knows of it"
    finish(iris, "tab_ledger")
    press(iris, "ledger_show_figures")
    ((time, dataset, words),) = rows_of(iris, "ledger_figures")
    assert words == STUDIES[kind]
    assert "iris (open now)" in dataset
    assert len(time) == len("2026-11-30 00:25")
    assert iris.findChild(LinesTable, "ledger_figures").isVisible()
    press(iris, "ledger_show_caps")
    assert not iris.findChild(LinesTable, "ledger_figures").isVisible()
    assert iris.findChild(LinesTable, "ledger_caps").isVisible()


def test_generated_rows_are_not_noted_and_without_notes_there_is_no_list(iris, qtbot, finish, press):
    press(iris, "tab_why")
    retype(iris, qtbot, "why_repeats", "2")
    press(iris, "why_generated")
    finish(iris, "why_run")
    assert noted() == []
    finish(iris, "tab_ledger")
    assert not iris.findChild(QWidget, "ledger_show_figures").isVisible()
    assert not iris.findChild(LinesTable, "ledger_caps").isVisible(), "no account has a cap yet"


def test_the_note_stands_before_the_first_model_is_trained_and_the_card_of_the_next_one_says_so(
    iris, qtbot, press, idle, monkeypatch, finish, answer, tmp_path
):
    # The note stands before the first model is trained.
    from workbench.studies import curve

    found, run = [], curve.run_curve
    monkeypatch.setattr(curve, "run_curve", lambda *given, **more: (found.append(noted()), run(*given, **more))[1])
    a_curve(iris, qtbot, press, idle)
    assert found == [["curve"]]

    # The card of the next model says so.
    press(iris, "tab_train")
    press(iris, "train_model_naive-bayes")
    retype(iris, qtbot, "train_folder", str(tmp_path / "model"))
    qtbot.waitUntil(lambda: iris.page.primary.isEnabled())
    answer("yes")
    finish(iris, "train_start")
    assert CHOSEN in json.loads((tmp_path / "model" / "card.json").read_text("utf-8"))["outside_guarantee"]


def test_a_ledger_that_cannot_note_it_shows_no_figure(iris, qtbot, finish, press, tmp_path):
    press(iris, "tab_utility")
    retype(iris, qtbot, "curve_epsilons", "1, 10")
    retype(iris, qtbot, "curve_repeats", "2")
    with Ledger.open() as book:
        book.move(tmp_path / "moved.sqlite")
    finish(iris, "curve_run")
    assert iris.page.figure is None
    assert not iris.session.runs
    assert any("moved" in part.text() for part in iris.findChildren(QLabel) if part.isVisible())


def to_train(window, qtbot, press):
    press(window, "tab_train")
    press(window, "train_model_logistic")
    for key, text in (("epsilon", "3"), ("delta", "1e-4"), ("batch", "30"), ("epochs", "2")):
        retype(window, qtbot, "train_epsilon" if key == "epsilon" else f"train_logistic_{key}", text)
    qtbot.waitUntil(lambda: window.page.primary.isEnabled())


@needs_torch
@pytest.mark.slow
def test_where_the_accuracy_went_is_noted(iris, qtbot, press, idle):
    to_train(iris, qtbot, press)
    press(iris, "train_where")
    qtbot.waitUntil(lambda: bool(iris.page.going.where.stages))
    idle(iris)
    assert noted() == ["accuracy"]


@needs_torch
@pytest.mark.slow
def test_a_watched_training_is_noted_and_only_the_next_card_says_so(iris, qtbot, finish, press, answer, tmp_path):
    from workbench.release.verify import verify_release

    with Ledger.open() as book:
        from decimal import Decimal

        book.set_cap(iris.session.account.dataset, Decimal(100), Decimal("0.01"))
    for name, told in (("first", False), ("second", True)):
        to_train(iris, qtbot, press)
        retype(iris, qtbot, "train_folder", str(tmp_path / name))
        start = iris.findChild(QPushButton, "train_start")  # a model that is released has another button beside it
        qtbot.waitUntil(start.isEnabled)
        answer("yes")
        finish(iris, "train_start")
        card = json.loads((tmp_path / name / "card.json").read_text("utf-8"))
        assert (CHOSEN in card["outside_guarantee"]) == told, name
        assert verify_release(tmp_path / name) == []
    assert noted() == ["training"]

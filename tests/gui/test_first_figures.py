"""What puts a sentence on later certificates is said before it is done, and in the question that spends ε."""

from __future__ import annotations

import json

import pytest
from hands import show
from mishaps import PATIENCE, retype, text_of
from PySide6.QtWidgets import QApplication, QCheckBox, QMessageBox, QWidget

from workbench.jobs import network
from workbench.processes import executor
from workbench.release.ledger.ledger import Ledger
from workbench.release.statements import CHOSEN

needs_torch = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("torch") is None, reason="networks need PyTorch"
)

SAYS = "certificate or card of every later release of these rows says"


@pytest.fixture(autouse=True)
def figures_are_agreed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was agreed to: what the other tests take as said is asked here."""
    monkeypatch.setattr(executor, "cores", lambda: 1)


def noted() -> list[str]:
    with Ledger.read() as book:
        return [figures.study for figures in book.figures()]


@pytest.fixture
def iris(window, press, idle):
    press(window, "sample_iris")
    idle(window)
    return window


@pytest.fixture
def utility(iris, qtbot, press):
    press(iris, "tab_utility")
    retype(iris, qtbot, "curve_epsilons", "1, 10")
    retype(iris, qtbot, "curve_repeats", "2")
    return iris


def test_run_says_it_beside_the_button_and_asks_once(utility, press, idle, answer):
    assert SAYS in text_of(utility, "curve_empty")
    assert "Later certificates will say so" in utility.findChild(QWidget, "note_utility").accessibleName()
    told = answer("no")
    press(utility, "curve_run")
    assert SAYS in told[0]
    assert "Made-up rows" in told[0]
    assert utility.page.job is None
    idle(utility)
    assert noted() == []
    answer("shown")
    press(utility, "curve_run")
    idle(utility)
    assert noted() == ["curve"]
    assert "Later certificates" not in utility.findChild(QWidget, "note_utility").accessibleName()
    press(utility, "curve_standard")  # asks nothing any more
    assert utility.page.job is not None
    assert not isinstance(QApplication.activeModalWidget(), QMessageBox)


@needs_torch
def test_a_training_that_is_watched_says_it_first_and_offers_a_quiet_one(
    iris, press, idle, answer, qtbot, tmp_path, monkeypatch
):
    monkeypatch.setattr(network, "expect_accuracy", network.expect_here)
    press(iris, "tab_train")
    press(iris, "train_model_logistic")
    retype(iris, qtbot, "train_folder", tmp_path / "net")
    qtbot.waitUntil(iris.page.primary.isEnabled, timeout=PATIENCE)
    assert "Later certificates will say so." in text_of(iris, "train_quiet_words")
    told = answer("no")
    press(iris, "train_start")
    assert "will say that private figures were shown before" in told[0]
    assert iris.page.job is None
    box = iris.findChild(QCheckBox, "train_quiet")
    box.click()
    assert "Later certificates" not in text_of(iris, "train_quiet_words")
    told = answer("no")
    press(iris, "train_start")
    assert "shown before" not in told[-1]
    box.click()
    told = answer("made_up")  # where the accuracy goes: simulated instead
    press(iris, "train_where")
    assert "Made-up rows show how accurate" in told[-1]
    idle(iris)
    assert text_of(iris, "train_expected_told")
    assert noted() == []


def test_made_up_rows_are_the_other_way_and_leave_no_note(utility, press, idle, answer):
    answer("made_up")
    press(utility, "curve_run")
    idle(utility)
    assert utility.findChild(QCheckBox, "curve_made_up").isChecked()
    assert utility.page.figure is not None
    assert text_of(utility, "curve_words").startswith("On made-up rows, which contain no real data.")
    assert noted() == []
    (run,) = utility.session.runs
    assert "made-up rows" in run.title
    press(utility, "tab_why")
    answer("made_up")
    press(utility, "why_run")
    idle(utility)
    assert noted() == []


def test_preview_draws_nothing_before_it_is_asked_for(people, press, idle, qtbot):
    press(people, "tab_preview")
    idle(people)
    assert noted() == []
    assert SAYS in text_of(people, "preview_before")
    assert people.page.primary.isVisible(), "the way leads on without it"
    press(people, "preview_show")
    idle(people)
    assert noted() == ["preview"]
    assert people.page.sides.drawn.text() == "draw 1"
    people.open("sample:people")
    idle(people)
    press(people, "tab_preview")
    idle(people)
    assert people.page.sides.drawn.text() == "draw 1", "the ledger remembers it"


def test_the_highlighted_path_leaves_no_note_that_was_not_agreed_to(people, press, idle, qtbot, answer):
    for page in ("protect", "preview"):
        press(people, f"tab_{page}")
        idle(people)
    people.page.run()
    idle(people)
    assert people.page.objectName() == "page_ways"
    assert noted() == []


def ask_and_refuse(window, press, idle, answer, qtbot, button):
    told = answer("no")
    before = len(told)
    press(window, button)
    qtbot.waitUntil(lambda: len(told) > before, timeout=PATIENCE)
    idle(window)
    return told[-1]


def test_the_questions_that_spend_epsilon_say_what_was_shown(people, press, idle, qtbot, answer, tmp_path):
    def questions():
        people.session.choose_way("rows")
        people.show_page("release")
        idle(people)
        retype(people, qtbot, "release_target", tmp_path / "released.csv")
        yield ask_and_refuse(people, press, idle, answer, qtbot, "release_now")
        show(people, "synthetic")
        idle(people)
        retype(people, qtbot, "release_target", tmp_path / "synthetic.csv")
        qtbot.waitUntil(lambda: people.page.primary.isEnabled(), timeout=PATIENCE)
        yield ask_and_refuse(people, press, idle, answer, qtbot, "release_now")
        people.show_page("train")
        press(people, "train_model_naive-bayes")
        retype(people, qtbot, "train_folder", tmp_path / "model")
        qtbot.waitUntil(lambda: people.page.primary.isEnabled(), timeout=PATIENCE)
        yield ask_and_refuse(people, press, idle, answer, qtbot, "train_start")

    before = list(questions())
    assert not any("were shown before" in text for text in before)
    people.show_page("preview")
    press(people, "preview_show")
    idle(people)
    assert noted() == ["preview"]
    for text in questions():
        assert "Private figures of these rows were shown before (a draw that was not released)" in text
        assert "will say so" in text
    answer("yes")
    people.session.choose_way("rows")
    people.show_page("release")
    idle(people)
    press(people, "release_now")
    qtbot.waitUntil(lambda: bool(people.session.released), timeout=PATIENCE)
    idle(people)
    certificate = json.loads((tmp_path / "released.csv.certificate.json").read_text("utf-8"))
    assert CHOSEN in certificate["outside_guarantee"]


def test_a_preview_of_made_up_rows_notes_nothing_and_leads_back(iris, press, idle):
    press(iris, "tab_preview")
    idle(iris)
    press(iris, "preview_made_up")
    idle(iris)
    assert "no real data" in iris.findChild(QWidget, "note_preview").accessibleName()
    assert "changed" in text_of(iris, "preview_facts")
    assert text_of(iris, "preview_source") == "Made-up rows"
    press(iris, "preview_relations")
    idle(iris)
    press(iris, "another_draw")
    idle(iris)
    assert noted() == []
    press(iris, "preview_real")
    assert SAYS in text_of(iris, "preview_before")
    press(iris, "preview_show")
    idle(iris)
    assert noted() == ["preview"]

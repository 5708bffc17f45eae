"""What puts a sentence on later certificates is said before it is done, and in the question that spends ε."""

import json

import pytest
from hands import show
from mishaps import needs_torch, noted, retype, text_of
from PySide6.QtWidgets import QApplication, QCheckBox, QWidget

from workbench.gui.widgets.dialogs import Question
from workbench.jobs import network
from workbench.processes import executor
from workbench.release.statements import CHOSEN

SAYS = "certificate or card of every later release of these rows says"


@pytest.fixture(autouse=True)
def figures_are_agreed_to(monkeypatch):
    """Nothing was agreed to: what the other tests take as said is asked here."""
    monkeypatch.setattr(executor, "cores", lambda: 1)


@pytest.fixture
def utility(iris, qtbot, press):
    press(iris, "tab_utility")
    retype(iris, qtbot, "curve_epsilons", "1, 10")
    retype(iris, qtbot, "curve_repeats", "2")
    return iris


def test_run_says_it_beside_the_button_and_asks_once(utility, finish, press, idle, answer):
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
    finish(utility, "curve_run")
    assert noted() == ["curve"]
    assert "Later certificates" not in utility.findChild(QWidget, "note_utility").accessibleName()
    press(utility, "curve_settings")
    press(utility, "curve_standard")  # asks nothing any more
    assert utility.page.job is not None
    assert not isinstance(QApplication.activeModalWidget(), Question)


@needs_torch
def test_a_training_that_is_watched_says_it_first_and_offers_a_quiet_one(
    iris, press, idle, answer, qtbot, tmp_path, monkeypatch
):
    monkeypatch.setattr(network, "expect_accuracy", network.expect_here)
    press(iris, "tab_train")
    press(iris, "train_model_logistic")
    retype(iris, qtbot, "train_folder", tmp_path / "net")
    qtbot.waitUntil(iris.page.primary.isEnabled)
    assert "Later certificates will say so." in text_of(iris, "train_quiet_words")
    told = answer("no")
    press(iris, "train_start")
    idle(iris)
    assert "will say that private figures were shown before" in told[0]
    assert iris.page.job is None
    box = iris.findChild(QCheckBox, "train_quiet")
    box.click()
    assert "Later certificates" not in text_of(iris, "train_quiet_words")
    told = answer("no")
    press(iris, "train_start")
    idle(iris)
    assert "shown before" not in told[-1]
    box.click()
    told = answer("made_up")  # where the accuracy goes: simulated instead
    press(iris, "train_where")
    assert "Made-up rows show how accurate" in told[-1]
    idle(iris)
    assert text_of(iris, "train_expected_told")
    assert noted() == []


def test_made_up_rows_are_the_other_way_and_leave_no_note(utility, finish, press, answer):
    answer("made_up")
    finish(utility, "curve_run")
    assert utility.findChild(QCheckBox, "curve_made_up").isChecked()
    assert utility.page.figure is not None
    assert text_of(utility, "curve_words").startswith("On made-up rows, which contain no real data.")
    assert noted() == []
    (run,) = utility.session.runs
    assert "made-up rows" in run.title
    press(utility, "tab_why")
    answer("made_up")
    finish(utility, "why_run")
    assert noted() == []


def test_preview_draws_nothing_before_it_is_asked_for(people, finish, load, qtbot):
    finish(people, "tab_preview")
    assert noted() == []
    assert SAYS in text_of(people, "preview_before")
    assert people.page.primary.isVisible(), "the way leads on without it"
    finish(people, "preview_show")
    assert noted() == ["preview"]
    assert people.page.sides.drawn.text() == "draw 1"
    load(people, "sample:people")
    finish(people, "tab_preview")
    assert people.page.sides.drawn.text() == "draw 1", "the ledger remembers it"


def test_the_highlighted_path_leaves_no_note_that_was_not_agreed_to(people, finish, idle, qtbot, answer):
    for page in ("protect", "preview"):
        finish(people, f"tab_{page}")
    people.page.run()
    idle(people)
    assert people.page.objectName() == "page_ways"
    assert noted() == []


def ask_and_refuse(window, press, idle, answer, qtbot, button):
    told = answer("no")
    before = len(told)
    press(window, button)
    qtbot.waitUntil(lambda: len(told) > before)
    idle(window)
    return told[-1]


def test_the_questions_that_spend_epsilon_say_what_was_shown(people, at_release, press, idle, qtbot, answer, tmp_path):
    def questions():
        at_release(tmp_path / "released.csv")
        yield ask_and_refuse(people, press, idle, answer, qtbot, "release_now")
        show(people, "synthetic")
        idle(people)
        retype(people, qtbot, "release_target", tmp_path / "synthetic.csv")
        qtbot.waitUntil(lambda: people.page.primary.isEnabled())
        yield ask_and_refuse(people, press, idle, answer, qtbot, "release_now")
        people.show_page("train")
        press(people, "train_model_naive-bayes")
        retype(people, qtbot, "train_folder", tmp_path / "model")
        qtbot.waitUntil(lambda: people.page.primary.isEnabled())
        yield ask_and_refuse(people, press, idle, answer, qtbot, "train_start")

    before = list(questions())
    assert not any("were shown before" in text for text in before)
    people.show_page("preview")
    press(people, "preview_show")
    idle(people)
    assert noted() == ["preview"]
    for text in questions():
        assert "Private figures of these rows were shown before (a preview of a release)" in text
        assert "will say so" in text
    answer("yes")
    at_release()
    press(people, "release_now")
    qtbot.waitUntil(lambda: bool(people.session.released))
    idle(people)
    certificate = json.loads((tmp_path / "released.csv.certificate.json").read_text("utf-8"))
    assert CHOSEN in certificate["outside_guarantee"]


def test_a_preview_of_made_up_rows_notes_nothing_and_leads_back(iris, finish, press):
    finish(iris, "tab_preview")
    finish(iris, "preview_made_up")
    assert "no real data" in iris.findChild(QWidget, "note_preview").accessibleName()
    assert "changed" in text_of(iris, "preview_facts")
    assert text_of(iris, "preview_source") == "Made-up rows"
    finish(iris, "preview_relations")
    finish(iris, "another_draw")
    assert noted() == []
    press(iris, "preview_real")
    assert SAYS in text_of(iris, "preview_before")
    finish(iris, "preview_show")
    assert noted() == ["preview"]

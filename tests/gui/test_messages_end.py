"""What the window says is over with its cause: the page it was about, or the edit that was undone."""

import pytest
from comparisons import add, click_cell, pinned, study
from hands import choose_model, go_to
from mishaps import banner, choose, status
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLineEdit, QSlider

from workbench.gui.pages.data.attribute_table import KIND
from workbench.gui.pages.protect.share_model import ACTION, MECHANISM
from workbench.gui.project.open_table import open_table
from workbench.gui.shell import jobs_panel
from workbench.gui.shell.jobs_panel import reading_time
from workbench.jobs import Job
from workbench.params import InputError

CTRL = Qt.KeyboardModifier.ControlModifier
SCORES = [f"score_{i}" for i in range(4)]


@pytest.fixture
def scores(window, tmp_path, idle, qtbot):
    """A window with a town and four scores, of which nothing is declared."""
    path = tmp_path / "scores.csv"
    lines = [",".join(["town", *SCORES]), *(f"{'AB'[i % 2]}," + ",".join([str(i % 21)] * 4) for i in range(60))]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    return window


def select_all(window, qtbot) -> None:
    window.page.table.setFocus()
    qtbot.keyClick(window.page.table, Qt.Key.Key_A, CTRL)


def test_what_is_said_of_edits_goes_with_them_and_an_error_with_its_cause(scores, qtbot, press, idle, monkeypatch):
    # The warning of an edit of many rows goes when it is undone.
    select_all(scores, qtbot)
    press(scores, "take_from_data")
    assert "values found are used in 5 columns" in banner(scores)
    assert "values found are used in 5 columns" in status(scores)
    qtbot.keyClick(scores, Qt.Key.Key_Z, CTRL)
    assert banner(scores) == ""
    assert status(scores) == "Undone: use the values found in 5 columns."
    qtbot.keyClick(scores, Qt.Key.Key_Y, CTRL)
    assert status(scores) == "Done again: use the values found in 5 columns."
    scores.session.undo_stack.setIndex(0)

    # What is said of an undo goes with the next edit.
    select_all(scores, qtbot)
    model = scores.page.table.model()
    assert model.setData(model.index(1, KIND), "real")
    qtbot.keyClick(scores, Qt.Key.Key_Z, CTRL)
    assert status(scores).startswith("Undone: ")
    assert model.setData(model.index(2, KIND), "category")
    assert status(scores) == ""
    scores.session.undo_stack.setIndex(0)

    # An edit that is undone by other means takes its message along.
    select_all(scores, qtbot)
    press(scores, "take_from_data")
    scores.session.undo_stack.undo()
    assert (banner(scores), status(scores)) == ("", "")

    # An error that is about no edit outlasts an undo.
    scores.session.edit_column("town", "drop town", action="drop")
    QApplication.processEvents()
    scores.session.notify("error", "The ledger is locked.")
    qtbot.keyClick(scores, Qt.Key.Key_Z, CTRL)
    assert banner(scores) == "The ledger is locked."
    assert status(scores) == "Undone: drop town."

    # What failed is no longer said once it has been done. The error of an attack stayed in the status bar, on every
    # page, after the attack had been made.
    def failing(emit, cancel):
        raise InputError("there is no such column")

    scores.jobs.start(Job("Attacking", failing), key="attack")
    idle(scores)
    assert status(scores) == banner(scores) == "There is no such column."
    scores.jobs.start(Job("Attacking", lambda emit, cancel: None), key="attack")
    idle(scores)
    assert (banner(scores), status(scores)) == ("", "")

    # On protect what was chosen for many rows is not told once undone.
    facts = {name: {"lower": 0.0, "upper": 20.0} for name in SCORES} | {"town": {"domain": ("A", "B")}}
    scores.session.edit("declare", scores.session.plan.with_columns(facts).confirmed())
    go_to(scores, "protect")
    idle(scores)
    select_all(scores, qtbot)
    shares = scores.page.shares
    words = next(words for words, name in shares.choices_at(1) if name == "bounded-laplace")
    assert shares.setData(shares.index(1, MECHANISM), words)
    assert status(scores) == "Chosen for 4 columns; it does not fit town."
    qtbot.keyClick(scores, Qt.Key.Key_Z, CTRL)
    assert status(scores) == "Undone: choose the mechanism of 4 columns."
    qtbot.keyClick(scores, Qt.Key.Key_Y, CTRL)
    assert shares.setData(shares.index(1, ACTION), "drop")
    assert status(scores) == ""
    scores.session.undo_stack.setIndex(0)

    # What went well is over once it was read and an error is not.
    assert reading_time("Saved.") > 8000
    monkeypatch.setattr(jobs_panel, "reading_time", lambda text: 60)
    scores.session.notify("info", "The plan was saved.")
    assert status(scores) == "The plan was saved."
    qtbot.waitUntil(lambda: not status(scores))
    scores.session.notify("error", "The ledger is locked.")
    qtbot.wait(150)
    assert status(scores) == banner(scores) == "The ledger is locked."


def test_an_error_is_over_in_the_status_bar_when_its_banner_is(scores, qtbot, press, load):
    for ends in (
        lambda: press(scores, "tab_protect"),
        lambda: press(scores, "banner_close"),
        lambda: qtbot.keyClick(scores, Qt.Key.Key_Escape),
        lambda: load(scores, "sample:people"),
    ):
        scores.session.notify("error", "Something of this page went wrong.")
        assert status(scores) == banner(scores) == "Something of this page went wrong."
        ends()
        assert banner(scores) == ""
        assert "went wrong" not in status(scores)


def test_no_page_is_left_with_the_error_of_another(scores, finish, press):
    names = list(scores.rail.pages)
    press(scores, f"tab_{names[0]}")
    for name in names:
        scores.session.notify("error", f"Wrong on {name}.")
        following = names[(names.index(name) + 1) % len(names)]
        finish(scores, f"tab_{following}")
        assert "Wrong" not in banner(scores) + status(scores)


# -- What is chosen of a way or pinned is a step that can be undone, as every edit of the plan ------------------------


def steps(window) -> list[str]:
    stack = window.session.undo_stack
    return [stack.text(at) for at in range(stack.index())]


def written(window, name: str) -> str:
    return window.findChild(QLineEdit, name).text()


@pytest.fixture
def statistics(people, idle):
    people.session.choose_way("statistics")
    go_to(people, "release")
    idle(people)
    return people


def chosen_group(window) -> str | None:
    return window.findChild(QComboBox, "statistics_by_1").currentData()


def test_settings_of_statistics_are_taken_back_one_by_one(statistics, qtbot, idle):
    # Delta is one step however many letters it has.
    entry = statistics.findChild(QLineEdit, "statistics_delta")
    qtbot.keyClicks(entry, "1e-6")
    assert steps(statistics) == ["change δ"]
    statistics.session.undo_stack.undo()
    assert entry.text() == ""
    statistics.session.undo_stack.redo()
    assert entry.text() == "1e-6"
    statistics.session.undo_stack.clear()

    # Groups are taken back one by one.
    choose(statistics, "statistics_by_1", "sex")
    choose(statistics, "statistics_by_1", "label")
    assert steps(statistics) == ["change groups by", "change groups by"]
    assert statistics.page._pane.request().figures[-1].by == ("label",)
    statistics.session.undo_stack.undo()
    assert chosen_group(statistics) == "sex"
    assert statistics.page._pane.request().figures[-1].by == ("sex",)
    statistics.session.undo_stack.undo()
    assert chosen_group(statistics) is None
    assert not statistics.page._pane.request().figures[-1].by
    statistics.session.undo_stack.clear()

    # The settings of synthetic rows are taken back and follow the plan again.
    statistics.session.choose_way("synthetic")
    go_to(statistics, "release")
    idle(statistics)
    usual = written(statistics, "synthetic_rows")
    field = statistics.findChild(QLineEdit, "synthetic_rows")
    field.selectAll()
    qtbot.keyClicks(field, "77")
    method = statistics.findChild(QComboBox, "synthetic_method")
    first = method.currentData()
    other = next(method.itemData(at) for at in range(method.count()) if method.itemData(at) != first)
    choose(statistics, "synthetic_method", other)
    assert steps(statistics) == ["change rows to draw", "change method"]
    statistics.session.undo_stack.undo()
    assert (method.currentData(), written(statistics, "synthetic_rows")) == (first, "77")
    statistics.session.undo_stack.undo()
    assert written(statistics, "synthetic_rows") == usual
    assert "rows" not in statistics.page._pane._own, "it follows the plan again"


def test_pins_are_taken_back_and_the_picture_follows(window, qtbot, idle):
    go_to(window, "compare")
    add(window, study())
    idle(window)
    first = pinned(window)
    click_cell(window, qtbot, first[0])
    assert pinned(window) == first[1:]
    assert steps(window) == ["change pin"]
    window.session.undo_stack.undo()
    assert pinned(window) == first
    assert len(window.page.figure.series) == len(first)
    window.session.undo_stack.redo()
    assert pinned(window) == first[1:]


def test_settings_of_models_are_taken_back_each_by_its_name(people, qtbot, idle):
    # Settings of a model are taken back each by its name.
    go_to(people, "train")
    idle(people)
    forms = people.page.forms
    first = forms.model
    choose_model(people, "naive-bayes" if first != "naive-bayes" else "kmeans")
    other = forms.model
    field = people.findChild(QLineEdit, "train_epsilon")
    followed = field.text()
    field.selectAll()
    qtbot.keyClicks(field, "2.5")
    assert steps(people) == ["change model", "change ε"]
    people.session.undo_stack.undo()
    assert field.text() == followed
    assert forms._follows, "it follows the plan again"
    people.session.undo_stack.undo()
    assert forms.model == first
    people.session.undo_stack.redo()
    people.session.undo_stack.redo()
    assert (forms.model, field.text()) == (other, "2.5")
    assert float(forms.value().epsilon) == 2.5

    # A field of a network is one step and a refused text comes back.
    go_to(people, "train")
    idle(people)
    choose_model(people, "mlp")
    field = people.findChild(QLineEdit, "train_mlp_epochs")
    usual = field.text()
    field.selectAll()
    qtbot.keyClicks(field, "many")
    assert steps(people)[-1] == "change epochs"
    assert people.page.forms.value() is None
    people.session.undo_stack.undo()
    assert field.text() == usual
    people.session.undo_stack.redo()
    assert field.text() == "many"
    assert people.page.forms.value() is None


def test_settings_of_curves_and_of_rappor_are_taken_back_and_what_the_program_chooses_is_no_step(
    people, idle, press, qtbot
):
    # What the program chooses is no step.
    for page in ("train", "utility", "rappor"):
        go_to(people, page)
        idle(people)
    people.session.edit_column("age", "drop age", action="drop")
    idle(people)
    assert steps(people) == ["drop age"]
    people.session.undo_stack.undo()
    people.session.undo_stack.clear()

    # The standard comparison is one step.
    go_to(people, "utility")
    idle(people)
    before = people.page.setup._state()
    people.page.setup.fill_in(people.page._standard_models())
    assert len(steps(people)) == 1
    people.session.undo_stack.undo()
    assert people.page.setup._state() == before
    people.session.undo_stack.clear()

    # Settings of curves are taken back with the ways that a model lacks.
    go_to(people, "utility")
    idle(people)
    setup = people.page.setup
    before = setup._state()
    people.findChild(QCheckBox, "regime_none").click()
    field = people.findChild(QLineEdit, "curve_repeats")
    field.selectAll()
    qtbot.keyClicks(field, "12")
    box = people.findChild(QComboBox, "curve_model")
    box.setCurrentIndex((box.currentIndex() + 1) % box.count())
    people.findChild(QCheckBox, "curve_bands").click()
    assert steps(people) == ["change no privacy", "change repeats", "change model", "change bands"]
    after = setup._state()
    for _ in range(4):
        people.session.undo_stack.undo()
    assert setup._state() == before
    for _ in range(4):
        people.session.undo_stack.redo()
    assert setup._state() == after
    assert setup.value().repeats == 12
    people.session.undo_stack.clear()

    # Parameters of rappor are taken back with their sliders.
    go_to(people, "rappor")
    idle(people)
    field, slider = people.findChild(QLineEdit, "rappor_f"), people.findChild(QSlider, "rappor_f_slider")
    usual, place = field.text(), slider.value()
    field.selectAll()
    qtbot.keyClicks(field, "0.25")
    choose(people, "rappor_source", people.findChild(QComboBox, "rappor_source").itemData(1))
    assert steps(people) == ["change coin tosses, f", "change values"]
    people.session.undo_stack.undo()
    assert (field.text(), slider.value()) == ("0.25", 25)
    people.session.undo_stack.undo()
    assert (field.text(), slider.value()) == (usual, place)

"""What is chosen of a way or pinned is a step that can be undone, as every edit of the plan."""

from __future__ import annotations

import pytest
from comparisons import add, click_cell, pinned, study
from hands import choose_model, go_to
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QSlider


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


def choose(window, name: str, value: str | None) -> None:
    box = window.findChild(QComboBox, name)
    box.setCurrentIndex(box.findData(value))
    box.activated.emit(box.currentIndex())


def test_delta_is_one_step_however_many_letters_it_has(statistics, qtbot):
    entry = statistics.findChild(QLineEdit, "statistics_delta")
    qtbot.keyClicks(entry, "1e-6")
    assert steps(statistics) == ["change δ"]
    statistics.session.undo_stack.undo()
    assert entry.text() == ""
    statistics.session.undo_stack.redo()
    assert entry.text() == "1e-6"


def test_groups_are_taken_back_one_by_one(statistics, qtbot):
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


def test_the_settings_of_synthetic_rows_are_taken_back_and_follow_the_plan_again(people, qtbot, idle):
    people.session.choose_way("synthetic")
    go_to(people, "release")
    idle(people)
    usual = written(people, "synthetic_rows")
    field = people.findChild(QLineEdit, "synthetic_rows")
    field.selectAll()
    qtbot.keyClicks(field, "77")
    method = people.findChild(QComboBox, "synthetic_method")
    first = method.currentData()
    other = next(method.itemData(at) for at in range(method.count()) if method.itemData(at) != first)
    choose(people, "synthetic_method", other)
    assert steps(people) == ["change rows to draw", "change method"]
    people.session.undo_stack.undo()
    assert (method.currentData(), written(people, "synthetic_rows")) == (first, "77")
    people.session.undo_stack.undo()
    assert written(people, "synthetic_rows") == usual
    assert "rows" not in people.page._pane._own, "it follows the plan again"


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


def test_settings_of_a_model_are_taken_back_each_by_its_name(people, qtbot, idle):
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


def test_a_field_of_a_network_is_one_step_and_a_refused_text_comes_back(people, qtbot, idle):
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


def test_settings_of_curves_are_taken_back_with_the_ways_that_a_model_lacks(people, qtbot, idle):
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


def test_the_standard_comparison_is_one_step(people, press, idle):
    go_to(people, "utility")
    idle(people)
    before = people.page.setup._state()
    people.page.setup.fill_in(people.page._standard_models())
    assert len(steps(people)) == 1
    people.session.undo_stack.undo()
    assert people.page.setup._state() == before


def test_parameters_of_rappor_are_taken_back_with_their_sliders(people, qtbot, idle):
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


def test_what_the_program_chooses_is_no_step(people, idle):
    for page in ("train", "utility", "rappor"):
        go_to(people, page)
        idle(people)
    people.session.edit_column("age", "drop age", action="drop")
    idle(people)
    assert steps(people) == ["drop age"]

"""Generalise by clicks: hierarchies, search, the lattice, what it reveals, and the file with its certificate."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest
from hands import Hands, go_to
from mishaps import choose, retype, rows_of, text_of
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFileDialog, QScrollArea, QTableView, QWidget

from workbench.release.verify import verify_release
from workbench.risk.generalise.models import MODELS


@pytest.fixture
def clinic(window, finish):
    finish(window, "sample_clinic")
    finish(window, "tab_generalise")
    return window


@pytest.fixture
def searched(clinic, finish, qtbot):
    retype(clinic, qtbot, "generalise_form_k", "2")
    finish(clinic, "generalise_run")
    return clinic


def test_hierarchies_stand_beside_their_columns_without_a_scroll(people, finish, qtbot):
    finish(people, "tab_generalise")
    bar = people.findChild(QScrollArea, "body_generalise").verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() == 0)
    listed, levels = people.page.columns, people.page.editor.levels
    assert levels.mapTo(people, QPoint(0, 0)).x() > listed.mapTo(people, QPoint(0, 0)).x() + listed.width() - 1
    assert levels.horizontalScrollBar().maximum() == 0
    heads = [levels.model().headerData(at, Qt.Orientation.Horizontal) for at in range(levels.model().columnCount())]
    assert heads == ["value", *(f"level\u00a0{number}" for number in range(1, 6))], "one line each"


def test_what_is_found_is_shown_until_other_settings_ask_for_another_search(searched, press, finish, qtbot):
    # The level that is found stands before the highest one.
    found = searched.page._found.made.levels["age"]
    assert rows_of(searched, "generalise_columns")[0] == ["age", "intervals", f"{found} of 5"]

    # The six rows show what is certain all the same.
    assert text_of(searched, "generalise_said").startswith("6 rows in 3 classes of at least 2; 0 rows left out")
    assert rows_of(searched, "generalise_after")[5] == ["60-69", "Arden", "cancer"]
    for table in (searched.page.before, searched.page.after):
        assert [column.right for column in table.lines.columns] == [True, False, False], "numbers line up"
    press(searched, "generalise_view_failures")
    said = [text_of(searched, f"generalise_failure_{at}") for at in range(6)]
    assert said[0].startswith("The diagnosis of 2 of 6 people is certain")
    assert "57.6 %" in said[1]
    assert "with probability 40.2 % on average" in said[1]
    assert "rule out one value" in said[2]
    assert "ε = 2" in said[5]

    # The lattice shows the best nodes.
    press(searched, "generalise_view_lattice")
    assert rows_of(searched, "generalise_nodes")[0][0] == "2 · 0"
    assert text_of(searched, "generalise_levels_of") == "Levels of age · town"
    chart = searched.page.chart
    assert [key.sign for key in chart.drawing().key] == ["dot", "open", "square"], "as the nodes are drawn"
    assert "2 · 0 loses least" in chart.accessibleName()
    place = next(p for p in chart._places if p.tried.node == (2, 0))
    drawing, box = chart.drawing(), chart._box()
    x = box.left() + drawing.x.share(place.x) * box.width()
    y = box.bottom() - drawing.y.share(place.y) * box.height()
    assert chart.words_under(type(box.topLeft())(x, y)).startswith("age 2, town 0: loses")

    # Other settings ask for another search.
    assert searched.page.primary.objectName() == "generalise_release"
    retype(searched, qtbot, "generalise_form_k", "7")
    assert searched.page.primary.objectName() == "generalise_run"
    finish(searched, "generalise_run")
    assert "no generalisation" in text_of(searched, "generalise_problem").lower()


def test_hierarchies_are_there_at_once_made_otherwise_kept_in_files_and_undone_and_conditions_are_under_a_fold(
    clinic, press, idle, qtbot, finish, tmp_path, monkeypatch
):
    # Hierarchies are there at once read whole beside a form whose units are near.
    # Each known column has a hierarchy at once.
    assert [line[:3] for line in rows_of(clinic, "generalise_columns")] == [
        ["age", "intervals", "5"],
        ["town", "category tree", "1"],
        ["diagnosis", "none", ""],
    ]
    assert rows_of(clinic, "generalise_levels")[0] == ["18", "15-19", "10-19", "0-19", "0-39", "*"]
    assert [column.right for column in clinic.page.editor.levels.lines.columns] == [True, *[False] * 5]

    # The ways that hierarchies are made are read whole.
    listed = clinic.findChild(QTableView, "generalise_columns")
    for at in range(2):
        assert listed.columnWidth(1) >= listed.sizeHintForIndex(listed.model().index(at, 1)).width()

    # A unit is nearer to its own field than to the next.
    form = clinic.page.form
    field, unit, following = form.field("suppression"), form._units["suppression"], form._labels["loss"][0]
    end = unit.x() + unit.contentsRect().right()
    assert field.geometry().right() < unit.x() <= end < following.x(), "side by side"
    assert following.x() - end > unit.x() - field.geometry().right()

    # A builder and its parameters change the levels.
    retype(clinic, qtbot, "generalise_intervals_widths", "20")
    qtbot.waitUntil(lambda: rows_of(clinic, "generalise_levels")[0] == ["18", "0-19", "*"])
    retype(clinic, qtbot, "generalise_intervals_widths", "10, 15")
    assert "multiple" in text_of(clinic, "generalise_intervals_widths_problem")
    editor = clinic.page.editor
    editor.builder.setCurrentIndex(editor.builder.findData("dates"))
    editor.builder.activated.emit(editor.builder.currentIndex())
    idle(clinic)
    assert "not a date" in text_of(clinic, "generalise_hierarchy_problem")
    editor.builder.setCurrentIndex(editor.builder.findData("masking"))
    editor.builder.activated.emit(editor.builder.currentIndex())
    idle(clinic)
    assert rows_of(clinic, "generalise_levels")[0] == ["18", "1*", "**", "*"]
    clinic.session.undo_stack.setIndex(0)
    idle(clinic)

    # A hierarchy goes to a file and comes back.
    path = tmp_path / "age.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(path), ""))
    finish(clinic, "generalise_export")
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == "18;15-19;10-19;0-19;0-39;*"
    path.write_text("\n".join(";".join((line.split(";")[0], "any age", "*")) for line in lines), "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(path), ""))
    finish(clinic, "generalise_import")
    assert rows_of(clinic, "generalise_levels")[0] == ["18", "any age", "*"]
    assert rows_of(clinic, "generalise_columns")[0][1:3] == ["a file", "2"]
    path.write_text("1;*\n", "utf-8")
    finish(clinic, "generalise_import")
    assert "has no line" in text_of(clinic, "generalise_hierarchy_problem")
    clinic.session.undo_stack.setIndex(0)
    idle(clinic)

    # Settings and hierarchies are steps that can be undone.
    stack = clinic.session.undo_stack
    retype(clinic, qtbot, "generalise_form_k", "12")
    choose(clinic, "generalise_form_loss", "discernibility")
    retype(clinic, qtbot, "generalise_intervals_widths", "20")
    qtbot.waitUntil(lambda: rows_of(clinic, "generalise_levels")[0] == ["18", "0-19", "*"])
    idle(clinic)
    clinic.page.columns.selectRow(2)
    choose(clinic, "generalise_builder", "tree")
    idle(clinic)
    said = ["change rows alike (k)", "change loss", "change the hierarchy of age", "change the hierarchy of diagnosis"]
    assert [stack.text(at) for at in range(stack.count())] == said
    stack.undo()
    assert rows_of(clinic, "generalise_columns")[2][1:3] == ["none", ""]
    stack.undo()
    idle(clinic)
    assert rows_of(clinic, "generalise_columns")[0][2] == "5"
    stack.undo()
    stack.undo()
    assert (clinic.page.form.value().k, clinic.page.form.value().loss) == (5, "granularity")
    assert clinic.session.generalised is None
    for _ in said:
        stack.redo()
    idle(clinic)
    assert (clinic.page.form.value().k, clinic.page.form.value().loss) == (12, "discernibility")
    made = [line[1:3] for line in rows_of(clinic, "generalise_columns")]
    assert made == [["intervals", "2"], ["category tree", "1"], ["category tree", "1"]]
    stack.setIndex(0)
    idle(clinic)

    # The other conditions are asked for under a fold.
    fold, more = clinic.findChild(QWidget, "generalise_fold"), clinic.findChild(QWidget, "generalise_more")
    offered = {*clinic.page.form.value().declared(), *more.value().declared()}
    assert offered >= {key for model in MODELS for key in model.declared()}
    assert (fold.text(), more.isVisible()) == ("More conditions ▸", False)
    press(clinic, "generalise_fold")
    assert more.isVisible()
    retype(clinic, qtbot, "generalise_form_k", "2")
    retype(clinic, qtbot, "generalise_more_average_risk", "0.2")
    finish(clinic, "generalise_run")
    assert text_of(clinic, "generalise_said").startswith("6 rows in 1 class of at least 6")
    press(clinic, "generalise_fold")
    assert (fold.text(), more.isVisible()) == ("More conditions (1) ▸", False)
    press(clinic, "generalise_fold")
    retype(clinic, qtbot, "generalise_more_average_risk", " ")
    retype(clinic, qtbot, "generalise_more_entropy_l", "2.5")
    assert clinic.page.primary.objectName() == "generalise_run"
    finish(clinic, "generalise_run")
    assert [one.name for one in clinic.page._found.made.models] == ["k-anonymity", "entropy-l-diversity"]
    assert clinic.page._found.made.outcome.sizes.min() >= 3


def test_a_column_of_dates_gets_months_years_and_decades(window, qtbot, tmp_path, monkeypatch):
    (tmp_path / "born.csv").write_text("born,ill\n1984-03-07,flu\n1984-03-21,cold\n1991-11-02,flu\n", "utf-8")
    hands = Hands(window, qtbot)
    hands.drop(tmp_path / "born.csv")
    hands.idle()
    go_to(window, "risk")
    hands.click_cell("risk_columns", "born", "Known")
    hands.idle()
    hands.click("rail_release")
    hands.finish("tab_generalise")
    assert rows_of(window, "generalise_columns")[0][:3] == ["born", "dates", "4"]
    assert rows_of(window, "generalise_levels")[0] == ["1984-03-07", "1984-03", "1984", "1980s", "*"]
    hands.until(lambda: hands.sees("generalise_dates_steps"))
    hands.type_into("generalise_dates_steps", "quarter, year")
    hands.until(lambda: rows_of(window, "generalise_levels")[0] == ["1984-03-07", "1984-Q1", "1984", "*"])
    hands.type_into("generalise_dates_steps", "moon")
    assert "not a part of a date" in hands.text("generalise_dates_steps_problem")
    asked = []
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *given: asked.append(given[2]) or ("", ""))
    hands.click("generalise_import")
    assert asked == [str(tmp_path)], "beside the table, wherever the program was started"


def test_release_asks_once_and_writes_a_file_that_is_verified(searched, finish, answer, tmp_path, monkeypatch):
    path = tmp_path / "general.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(path), ""))
    asked = answer("yes")
    finish(searched, "generalise_release")
    assert "This is not differential privacy: ε does not bound it" in asked[0]
    assert verify_release(path) == []
    assert json.loads(Path(f"{path}.certificate.json").read_text("utf-8"))["k"] == 2
    assert not searched.session.released  # it costs nothing and is no release with a guarantee
    assert searched.session.to_attack.value == path
    finish(searched, "generalise_attack")
    assert searched.page.objectName() == "page_attack"
    assert searched.page.form.given()["release"] == path


def test_a_condition_that_is_refused_stays_in_sight(clinic, press, qtbot):
    press(clinic, "generalise_fold")
    retype(clinic, qtbot, "generalise_more_beta", "-1")
    press(clinic, "generalise_fold")
    assert clinic.findChild(QWidget, "generalise_more_beta_problem").isVisible()
    assert not clinic.findChild(QWidget, "generalise_run").isEnabled()


def test_a_condition_on_a_sensitive_column_asks_for_one(window, finish, press, qtbot):
    finish(window, "sample_clinic")
    window.session.edit_column("diagnosis", "Role", role=None)
    finish(window, "tab_generalise")
    press(window, "generalise_fold")
    retype(window, qtbot, "generalise_more_beta", "1")
    assert "β-likeness is about a sensitive column" in text_of(window, "generalise_problem")


def test_settings_and_hierarchies_are_kept_in_the_project(clinic, finish, press, idle, qtbot, tmp_path, monkeypatch):
    project, own = tmp_path / "clinic.workbench.toml", tmp_path / "town.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(project), ""))
    assert not clinic.project.unsaved
    retype(clinic, qtbot, "generalise_form_k", " ")
    press(clinic, "generalise_fold")
    retype(clinic, qtbot, "generalise_more_average_risk", "0.4")
    assert clinic.project.unsaved
    retype(clinic, qtbot, "generalise_intervals_widths", "20")
    qtbot.waitUntil(lambda: rows_of(clinic, "generalise_levels")[0] == ["18", "0-19", "*"])
    clinic.page.columns.selectRow(1)
    towns = [line[0] for line in rows_of(clinic, "generalise_levels")]
    own.write_text("\n".join(f"{town};a town;*" for town in towns), "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(own), ""))
    finish(clinic, "generalise_import")
    clinic.project.save()
    idle(clinic)
    assert not clinic.project.unsaved
    raw = tomllib.loads(project.read_text("utf-8"))
    assert raw["generalise"] == [{"average_risk": 0.4}]
    assert raw["hierarchy"] == [
        {"column": "age", "builder": "intervals", "widths": [20]},
        {"column": "town", "file": "town.csv"},
    ]
    clinic.open("sample:iris")
    idle(clinic)
    assert clinic.session.generalised is None
    clinic.open(str(project))
    idle(clinic)
    press(clinic, "rail_release")
    finish(clinic, "tab_generalise")
    assert [line[1:3] for line in rows_of(clinic, "generalise_columns")][:2] == [["intervals", "2"], ["a file", "2"]]
    assert (clinic.page.form.value().k, clinic.page.more.value().average_risk) == (None, 0.4)
    assert not clinic.project.unsaved
    own.unlink()
    clinic.open(str(project))
    idle(clinic)
    press(clinic, "rail_release")
    finish(clinic, "tab_generalise")
    made = [line[1:3] for line in rows_of(clinic, "generalise_columns")]
    assert made[:2] == [["intervals", "2"], ["category tree", "1"]]
    assert clinic.project.unsaved  # the file is as it was until it is saved


def test_a_population_is_chosen_for_k_map_with_every_method(clinic, finish, press, qtbot, tmp_path, monkeypatch):
    rows = clinic.session.opened.table.frame
    people = tmp_path / "town.csv"
    pl.concat([rows, rows, rows, rows[:1].with_columns(age=pl.lit("107"))]).write_csv(people)
    retype(clinic, qtbot, "generalise_form_k", " ")
    press(clinic, "generalise_fold")
    retype(clinic, qtbot, "generalise_more_k_map", "6")
    assert text_of(clinic, "generalise_problem") == "k-map needs a table of the population: choose one."
    assert not clinic.findChild(QWidget, "generalise_run").isEnabled()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(people), ""))
    finish(clinic, "generalise_more_population_choose")
    assert rows_of(clinic, "generalise_levels")[-1][0] == "107", "hierarchies are of the population's values, too"
    for method in ("optimal", "local", "cells"):
        choose(clinic, "generalise_form_method", method)
        finish(clinic, "generalise_run")
        made = clinic.page._found.made
        assert [one.name for one in made.models] == ["k-map"]
        assert made.outcome.groups.population[made.outcome.kept].min() >= 6
        assert made.k < 6, "the rows themselves are fewer than the people"
    assert clinic.session.generalised.more.population == str(people)


def test_a_sensitive_column_gets_a_hierarchy_for_its_distance(
    clinic, finish, press, idle, qtbot, tmp_path, monkeypatch
):
    retype(clinic, qtbot, "generalise_form_t", "0.7")
    press(clinic, "generalise_fold")
    choose(clinic, "generalise_more_distance", "hierarchical")
    assert "needs a hierarchy of diagnosis" in text_of(clinic, "generalise_problem")
    clinic.page.columns.selectRow(2)
    assert text_of(clinic, "generalise_why_one").startswith("Of a sensitive column")
    choose(clinic, "generalise_builder", "tree")
    idle(clinic)
    assert rows_of(clinic, "generalise_columns")[2][:3] == ["diagnosis", "category tree", "1"]
    own = tmp_path / "diagnosis.csv"
    ill = [line[0] for line in rows_of(clinic, "generalise_levels")]
    own.write_text("\n".join(f"{one};{'grave' if one == 'cancer' else 'mild'};*" for one in ill), "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(own), ""))
    finish(clinic, "generalise_import")
    assert rows_of(clinic, "generalise_columns")[2][1:3] == ["a file", "2"]
    finish(clinic, "generalise_run")
    assert clinic.page._found.made.problem.sensitive[0].hierarchy.height == 2
    press(clinic, "generalise_view_hierarchies")
    clinic.page.columns.selectRow(2)
    choose(clinic, "generalise_builder", "none")
    assert rows_of(clinic, "generalise_columns")[2][1:3] == ["none", ""]
    assert "needs a hierarchy of diagnosis" in text_of(clinic, "generalise_problem")
    clinic.page.columns.selectRow(0)
    assert clinic.page.editor.builder.findData("none") < 0, "what an outsider knows must have one"


def test_what_is_missing_is_said(window, finish, press):
    press(window, "tab_generalise")
    assert "Open a table" in text_of(window, "generalise_nothing_why")
    press(window, "rail_data")
    finish(window, "sample_iris")
    finish(window, "tab_generalise")
    assert "quasi-identifier" in text_of(window, "generalise_nothing_why")

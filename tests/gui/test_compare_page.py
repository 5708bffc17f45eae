"""The Compare page: studies and released models in one table, sorted, filtered and pinned by real clicks and keys."""

from __future__ import annotations

import json
import re
import time

import pytest
from comparisons import (
    TABLE,
    add,
    card,
    charged,
    click_cell,
    click_heading,
    column,
    pinned,
    shown,
    study,
    with_one_study,
)
from mishaps import banner
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QLineEdit, QPushButton, QTableView, QWidget

from workbench.deep.plan import DpSgdPlan
from workbench.release.certificate import checksum
from workbench.studies.grid.files import FIGURES, header, row_of

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def compare(window, press, idle):
    """A window with the iris sample and one study, on the Compare page."""
    return with_one_study(window, press, idle)


# -- what is listed ---------------------------------------------------------------------------------------------------


def test_an_empty_page_says_what_will_be_here_and_leads_to_where_it_comes_from(window, finish, press):
    finish(window, "tab_compare")
    assert "are listed here" in window.findChild(QLabel, "compare_nothing_why").text()
    assert window.rail.pages["compare"].state(window.session) == "empty"
    press(window, "compare_nothing_go_train")
    assert window.page.objectName() == "page_train"
    press(window, "tab_compare")
    press(window, "compare_nothing_go")
    assert window.page.objectName() == "page_utility"


def test_a_study_that_was_run_on_utility_is_listed_and_drawn_at_once(window, finish, press, qtbot):
    finish(window, "sample_iris")
    press(window, "tab_utility")
    for name, text in (("curve_epsilons", "1, 10"), ("curve_repeats", "2")):
        field = window.findChild(QLineEdit, name)
        field.selectAll()
        qtbot.keyClicks(field, text)
    finish(window, "curve_run")
    finish(window, "tab_compare")
    assert shown(window, "Way of training") == ["no privacy", "sanitised: as planned", "private model"]
    assert shown(window, "Dataset") == ["iris"] * 3
    assert shown(window, "ε") == ["any", "1–10", "1–10"]
    assert [series.x for series in window.page.figure.series] == [(1.0, 10.0)] * 3
    assert window.page.figure.badge
    assert window.rail.pages["compare"].state(window.session) == "ready"


def test_each_line_has_its_mean_and_standard_error_at_the_chosen_epsilon(compare, qtbot):
    assert shown(compare, "Accuracy") == ["0.415 ± 0.006", "0.565 ± 0.006", "0.665 ± 0.006"]
    assert shown(compare, "Repeats") == ["4"] * 3
    box = compare.findChild(QComboBox, "compare_epsilon")
    assert box.currentText() == "1", "the tested ε that is nearest to the plan's"
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Down)
    assert shown(compare, "Accuracy") == ["0.415 ± 0.006", "0.615 ± 0.006", "0.715 ± 0.006"]
    add(compare, study(epsilons=(2.0,)))
    assert shown(compare, "Accuracy")[1:3] == ["–", "–"], "this study was not tested at ε = 10"
    tip = compare.page.runs.index(1, column(compare, "Accuracy")).data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "Not tested at ε = 10, only at 2"
    assert "Private: not for release." in compare.page.runs.index(5, column(compare, "Accuracy")).data(
        Qt.ItemDataRole.ToolTipRole
    )


def test_released_models_stand_beside_the_studies_with_what_is_public_of_them(compare, finish, press, tmp_path):
    charged(tmp_path / "plain", card())
    charged(tmp_path / "measured", card(0.875), epsilon="2.5", work="dpsgd")
    charged(tmp_path / "gone")
    press(compare, "tab_data")
    finish(compare, "tab_compare")
    rows = slice(3, 6)
    assert shown(compare, "Way of training")[rows] == ["released model"] * 3
    assert shown(compare, "ε")[rows] == ["0.5", "2.5", "0.5"]
    assert shown(compare, "δ")[rows] == ["1e-5"] * 3
    assert shown(compare, "Accuracy")[rows] == ["–", "0.875", "–"]
    assert shown(compare, "Dataset")[rows] == ["aaaaaa"] * 3
    assert shown(compare, "Released to")[rows] == ["✓ charged: gone", "✓ charged: measured", "✓ charged: plain"]
    model, at = compare.page.runs, column(compare, "Released to")
    assert str(tmp_path / "gone") in model.index(3, at).data(Qt.ItemDataRole.ToolTipRole)
    assert "cannot be read" in model.index(3, at).data(Qt.ItemDataRole.ToolTipRole)
    assert "Public" in model.index(4, column(compare, "Accuracy")).data(Qt.ItemDataRole.ToolTipRole)
    assert "1 study, 3 released models" in compare.findChild(QWidget, "note_compare").accessibleName()


def test_released_models_alone_are_not_said_to_be_ticked(window, finish, qtbot, tmp_path):
    """They have no box to tick: the page says where such models are measured."""
    charged(tmp_path / "plain", card())
    finish(window, "sample_iris")
    finish(window, "tab_compare")
    assert shown(window, "Way of training") == ["released model"]
    hint = window.findChild(QLabel, "compare_hint")
    assert hint.isVisible()
    assert hint.text().startswith("Only studies are drawn, and there is none yet: Curves")
    assert window.page.primary.text() == "Curves →"


def test_a_card_that_was_changed_after_its_release_is_not_believed(compare, finish, press, tmp_path):
    charged(tmp_path / "measured", card(0.875), work="dpsgd")
    path = tmp_path / "measured" / "card.json"
    told = json.loads(path.read_text("utf-8").replace("0.875", "0.999"))
    path.write_text(json.dumps({**told, "checksum": checksum(told)}), "utf-8")
    press(compare, "tab_data")
    finish(compare, "tab_compare")
    assert shown(compare, "Accuracy")[-1] == "–"


# -- sorted, filtered -------------------------------------------------------------------------------------------------


def test_a_click_on_any_heading_sorts_and_a_metric_sorts_anew(compare, qtbot):
    compare.resize(2560, 900)
    add(compare, study("logistic-regression", better=0.2))
    click_heading(compare, qtbot, "Accuracy")
    assert shown(compare, "Accuracy") == sorted(shown(compare, "Accuracy"))
    click_heading(compare, qtbot, "Accuracy")
    assert shown(compare, "Accuracy") == sorted(shown(compare, "Accuracy"), reverse=True)
    box = compare.findChild(QComboBox, "compare_metric")
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Down)
    assert shown(compare, "Balanced accuracy")[0] == "0.865 ± 0.006"
    for heading in ("Pin", "Model", "Way of training", "ε", "Repeats", "Dataset", "Time (UTC)", "δ", "Released to"):
        click_heading(compare, qtbot, heading)
        assert compare.page.table.horizontalHeader().sortIndicatorSection() == column(compare, heading), heading
        assert len(shown(compare, "Model")) == 6


def test_lines_are_filtered_by_typing_any_of_their_words(compare, qtbot):
    add(compare, study("logistic-regression"))
    qtbot.keyClick(compare, Qt.Key.Key_F, CTRL)
    field = compare.findChild(QLineEdit, "compare_table_filter")
    qtbot.waitUntil(field.hasFocus)
    qtbot.keyClicks(field, "private")
    assert shown(compare, "Way of training") == ["private model"] * 2
    assert compare.findChild(QLabel, "compare_table_count").text() == "2 of 6"
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert len(shown(compare, "Model")) == 6


# -- pinned and drawn -------------------------------------------------------------------------------------------------


def test_lines_are_pinned_by_mouse_and_keys_and_drawn_together(compare, qtbot):
    assert pinned(compare) == [0, 1, 2]
    click_cell(compare, qtbot, 0)
    assert pinned(compare) == [1, 2]
    assert [s.name for s in compare.page.figure.series] == ["sanitised: staircase", "private model"]
    assert [s.style for s in compare.page.figure.series] == ["sanitized", "private"]
    add(compare, study("logistic-regression"))
    assert pinned(compare) == [4, 5], "what was chosen by hand stays"
    table = compare.findChild(QTableView, TABLE)
    click_cell(compare, qtbot, 2, at=1)
    qtbot.keyClick(table, Qt.Key.Key_Space)
    assert pinned(compare) == [2, 4, 5]
    names = [s.name for s in compare.page.figure.series]
    assert names == [
        "sanitised: staircase, Naive Bayes",
        "private model, Naive Bayes",
        "private model, Logistic regression",
    ]
    assert len({s.style for s in compare.page.figure.series}) == 3
    assert compare.page.figure.series[0].high > compare.page.figure.series[0].mean, "an error band"
    qtbot.keyClick(table, Qt.Key.Key_Space)
    assert pinned(compare) == [4, 5]


def test_an_eighth_line_is_refused_in_one_sentence(compare, qtbot):
    for _ in range(2):
        add(compare, study())
    for row in range(7):
        if row not in pinned(compare):
            click_cell(compare, qtbot, row)
    assert len(pinned(compare)) == 7
    assert len({s.style for s in compare.page.figure.series}) == 7
    assert len({s.name for s in compare.page.figure.series}) == 7, "runs of the same kind can be told apart"
    click_cell(compare, qtbot, 8)
    assert len(pinned(compare)) == 7
    assert banner(compare) == "At most 7 lines can be drawn together: untick one of them first."


def test_only_lines_of_the_chosen_metric_are_drawn(compare, qtbot):
    click_cell(compare, qtbot, 0)
    add(compare, study("linear-regression"))
    assert compare.page.figure.title == "Accuracy against ε", "the picture that was chosen stays"
    click_cell(compare, qtbot, 2)
    assert len(compare.page.figure.series) == 2
    note = compare.findChild(QWidget, "note_compare")
    assert "1 pinned line is not measured by Accuracy" in note.accessibleName()
    box = compare.findChild(QComboBox, "compare_metric")
    assert {box.itemText(i) for i in range(box.count())} == {"R²", "RMSE", "Accuracy", "Balanced accuracy"}
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Home)
    assert compare.page.figure.title == "R² against ε"
    assert len(compare.page.figure.series) == 1
    assert "2 pinned lines are not measured by R²" in note.accessibleName()
    qtbot.keyClick(box, Qt.Key.Key_Down)
    click_cell(compare, qtbot, 2)
    assert compare.page.figure is None
    assert compare.findChild(QLabel, "compare_hint").text() == "No pinned line is measured by RMSE."


def test_a_released_model_is_drawn_as_a_public_point_or_says_why_not(window, finish, qtbot, tmp_path):
    charged(tmp_path / "plain", card())
    charged(tmp_path / "measured", card(0.875), epsilon="2.5", work="dpsgd")
    finish(window, "tab_compare")
    assert window.page.figure is None
    assert window.page.primary.text() == "Curves →", "without a study there is nothing to decide by"
    click_cell(window, qtbot, 0)
    (series,) = window.page.figure.series
    assert (series.x, series.mean) == ((2.5,), (0.875,))
    assert window.page.figure.badge == "", "a card is public"
    click_cell(window, qtbot, 1, at=1)
    qtbot.keyClick(window.findChild(QTableView, TABLE), Qt.Key.Key_Space)
    assert "cannot be drawn, because its card states no accuracy" in banner(window)


# -- the attack -------------------------------------------------------------------------------------------------------


def test_a_line_is_attacked_on_request_and_only_then(compare, finish, qtbot):
    table, button = compare.findChild(QTableView, TABLE), compare.findChild(QPushButton, "compare_attack")
    assert table.isColumnHidden(column(compare, "Membership"))
    assert not button.isEnabled()
    click_cell(compare, qtbot, 2, at=1)
    finish(compare, "compare_attack")
    assert compare.session.account.seen, "the ledger has noted it"
    assert not table.isColumnHidden(column(compare, "Membership"))
    first, second, third = shown(compare, "Membership")
    assert (first, second) == ("–", "–")
    assert re.fullmatch(r"0\.\d\d \(0\.\d\d–0\.\d\d\)", third)
    tip = compare.page.runs.index(2, column(compare, "Membership")).data(Qt.ItemDataRole.ToolTipRole)
    assert tip.startswith("ε = 1 allows a membership of 0.88 at the most.")
    assert compare.page._note.text().endswith("ε = 1 allows a membership of 0.88 at the most.")
    assert "Private" in tip
    assert re.search(r"trained 5 times .*: (0\.\d\d, ){4}0\.\d\d\.", tip)
    choose = compare.findChild(QComboBox, "compare_epsilon")
    choose.setFocus()
    qtbot.keyClick(choose, Qt.Key.Key_Down)
    assert shown(compare, "Membership") == ["–"] * 3, "it was attacked at ε = 1"
    click_cell(compare, qtbot, 0, at=1)
    finish(compare, "compare_attack")
    assert shown(compare, "Membership")[0] != "–", "without privacy it is the same at every ε"
    assert "without privacy" in compare.page.runs.index(0, 5).data(Qt.ItemDataRole.ToolTipRole)


def test_an_attack_that_runs_says_so_and_is_cancelled_by_its_button(compare, press, idle, qtbot, monkeypatch):
    def slow(_once, _emit, cancel):
        try:
            cancel.rest(60)
        finally:
            time.sleep(0.4)  # work that ends a moment after it was asked to

    monkeypatch.setattr("workbench.studies.membership.repeated", slow)
    button, note = compare.findChild(QPushButton, "compare_attack"), compare.page._note
    click_cell(compare, qtbot, 2, at=1)
    press(compare, "compare_attack")
    assert (button.text(), button.isEnabled()) == ("Cancel", True)
    assert note.text().endswith("Attacking…")
    qtbot.wait(300)
    press(compare, "compare_attack")
    assert (button.text(), button.isEnabled()) == ("Cancelling…", False)
    idle(compare)
    assert (button.text(), button.isEnabled()) == ("Attack", True)
    assert "Attacking…" not in note.text()
    assert not compare.page.runs.attacked


def test_what_cannot_be_trained_again_is_not_attacked(compare, idle, qtbot, tmp_path):
    charged(tmp_path / "model", card(0.9))
    compare.page._read()
    idle(compare)
    click_cell(compare, qtbot, 3, at=1)
    assert not compare.findChild(QPushButton, "compare_attack").isEnabled()
    assert "the table that it was trained on" in compare.page._note.text()


# -- A sweep of DP-SGD on the Compare page: opened by a click, listed and drawn, one line for each setting


@pytest.fixture
def sweep(tmp_path):
    """The CSV of a sweep with made-up figures: a better learning rate, and ε that helps."""
    lines = [",".join(header()) + "\n"]
    for at, lr in enumerate((0.1, 1.0)):
        for step, epsilon in enumerate((1.0, 3.0)):
            setting = DpSgdPlan(network="mlp", epsilon=epsilon, delta=1e-5, batch=50, epochs=3, lr=lr, clip=1.0)
            for repeat in range(3):
                values = (0.6 + 0.1 * at + 0.05 * step + 0.01 * repeat, 0.5, epsilon - 1e-4, 2.0, 30, 1.0, 1e6)
                figures = dict(zip(FIGURES, values, strict=True))
                lines.append(row_of(f"0123abcd-{at}{step}{repeat}", setting, repeat, figures))
    path = tmp_path / "trial.csv"
    path.write_text("".join(lines), "utf-8")
    return path


def test_a_sweep_is_opened_listed_and_drawn_and_another_file_is_refused(window, finish, monkeypatch, tmp_path, sweep):
    # A file that is no sweep is refused.
    finish(window, "tab_compare")
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n", "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    finish(window, "compare_sweep")
    assert "not the CSV of a sweep" in banner(window)

    # A sweep is opened listed and drawn.
    finish(window, "tab_compare")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(sweep), ""))
    finish(window, "compare_sweep")
    assert shown(window, "Way of training") == ["DP-SGD, lr=1", "DP-SGD, lr=0.1"]
    assert shown(window, "ε") == ["1–3", "1–3"]
    assert shown(window, "Repeats") == ["3", "3"]
    assert shown(window, "Dataset") == ["trial", "trial"]
    figure = window.page.figure
    assert [series.x for series in figure.series] == [(1.0, 3.0)] * 2
    assert figure.series[0].mean == pytest.approx((0.71, 0.76))
    assert [line.value for line in figure.baselines] == [0.5]
    assert figure.badge == "private – not for release"


def test_a_sweep_stands_beside_a_study_and_is_saved_with_it(window, finish, press, idle, monkeypatch, sweep, tmp_path):
    with_one_study(window, press, idle)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(sweep), ""))
    finish(window, "compare_sweep")
    assert len(shown(window, "Model")) == 5
    out = tmp_path / "lines.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(out), ""))
    finish(window, "compare_save")
    told = out.read_text("utf-8").splitlines()
    assert "private – not for release" in told[0]
    assert sum(line.startswith("trial,mlp,DP-SGD; lr=1,") for line in told) == 6

"""The Compare page: studies and released models in one table, sorted, filtered and pinned by real clicks and keys."""

from __future__ import annotations

import csv
import json
import stat
from decimal import Decimal

import pytest
from hands import Hands
from mishaps import banner
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QTableView, QWidget

from workbench.gui.session.session import RunRecord
from workbench.gui.widgets.basic import PRIVATE
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger.ledger import Ledger
from workbench.release.table.certificate import checksum
from workbench.studies.curve import CurvePlan, CurveResult
from workbench.studies.results import Row, Tally

CTRL = Qt.KeyboardModifier.ControlModifier
LEFT = Qt.MouseButton.LeftButton
TABLE = "compare_table"
REGIMES = ("none", "sanitized:staircase", "private")
PINNED = Qt.CheckState.Checked


def study(
    model: str = "naive-bayes", regimes=REGIMES, epsilons=(0.1, 1.0, 10.0), repeats: int = 4, better: float = 0.0
):
    """A finished study, with figures made up: the mean of a line rises with its number and with ε."""
    plan = CurvePlan(model=model, regimes=regimes, epsilons=epsilons, repeats=repeats)
    rows = []
    for number, regime in enumerate(regimes):
        for place, epsilon in enumerate(epsilons):
            for repeat in range(repeats):
                value = 0.4 + 0.1 * number + better + 0.01 * repeat
                value += 0.0 if regime == "none" else 0.05 * place
                rows += [Row(regime, epsilon, repeat, m.name, value) for m in plan.measured.metrics[:2]]
    levels = {plan.measured.main.name: 0.333}
    return CurveResult(plan, tuple(rows), Tally(rows).points(), levels, 150)


def add(window, result, source: str = "iris", time: str = "2026-01-02T03:04:05+00:00") -> None:
    window.session.add_run(RunRecord("curve", "Accuracy against ε", None, result, source, time))


@pytest.fixture
def compare(window, press, idle):
    """A window with the iris sample and one study, on the Compare page."""
    press(window, "sample_iris")
    idle(window)
    add(window, study())
    press(window, "rail_compare")
    idle(window)
    return window


def column(window, heading: str) -> int:
    model = window.page.runs
    heads = [model.headerData(c, Qt.Orientation.Horizontal) for c in range(model.columnCount())]
    return heads.index(heading)


def shown(window, heading: str) -> list[str]:
    """The cells of a column, from top to bottom as they are seen."""
    table, at = window.page.table, column(window, heading)
    return [window.page.runs.index(row, at).data() for row in table.in_sight()]


def pinned(window) -> list[int]:
    model = window.page.runs
    role = Qt.ItemDataRole.CheckStateRole
    return [row for row in range(model.rowCount()) if model.index(row, 0).data(role) == PINNED]


def click_cell(window, qtbot, row: int, at: int = 0) -> None:
    table = window.findChild(QTableView, TABLE)
    index = window.page.runs.index(row, at)
    table.scrollTo(index)
    qtbot.mouseClick(table.viewport(), LEFT, pos=table.visualRect(index).center())


def click_heading(window, qtbot, heading: str) -> None:
    heads = window.findChild(QTableView, TABLE).horizontalHeader()
    at = column(window, heading)
    place = QPoint(heads.sectionViewportPosition(at) + heads.sectionSize(at) // 2, heads.height() // 2)
    qtbot.mouseClick(heads.viewport(), LEFT, pos=place)


def point_at(page, series: int, index: int) -> QPoint:
    return page.plot.place_of(series, index).toPoint()


def charged(output, release_card=None, *, epsilon: str = "0.5", work: str = "fit naive-bayes") -> str:
    """Charge a model to an account, and write its card into its folder."""
    with Ledger.open() as book:
        book.set_cap("a" * 64, Decimal(20), Decimal("0.1"))
        cost = Cost(Decimal(epsilon), Decimal("0.00001"), PureDp(Decimal(epsilon), "a model"))
        release_id = book.reserve("a" * 64, cost, work=work, details={"output": str(output)})
        book.charge(release_id)
        if release_card is not None:
            output.mkdir()
            release_card = {**release_card, "release_id": release_id}
            release_card["checksum"] = checksum(release_card)
            (output / "card.json").write_text(json.dumps(release_card), "utf-8")
            book.certify(release_id, release_card["checksum"], "request")
    return release_id


def card(accuracy: float | None = None) -> dict:
    training = {} if accuracy is None else {"accuracy": {"value": accuracy, "rows": 50, "on": "a public test table"}}
    return {
        "format": "privacy-workbench-model-card",
        "version": 2,
        "time": "2026-01-02T03:04:05Z",
        "program": {"name": "privacy-workbench", "version": "1"},
        "rows": 150,
        "model": "mlp" if accuracy is not None else "naive-bayes",
        "guarantee": {
            "relation": "zero-out",
            "statement": "",
            "epsilon": "0.5",
            "delta": "0.00001",
            "replace_one": {"epsilon": 1, "delta": 0.0001},
            "randomness": "",
        },
        "parameters": {},
        "inputs": [],
        "outside_guarantee": [],
        "training": training,
        "files": {"model.json": "0" * 64},
    }


# -- what is listed ---------------------------------------------------------------------------------------------------


def test_an_empty_page_says_what_will_be_here_and_leads_to_where_it_comes_from(window, press, idle):
    press(window, "rail_compare")
    idle(window)
    assert "will stand here" in window.findChild(QLabel, "compare_nothing_why").text()
    assert window.rail.buttons["compare"].state == "empty"
    press(window, "compare_nothing_go_train")
    assert window.page.objectName() == "page_train"
    press(window, "rail_compare")
    press(window, "compare_nothing_go")
    assert window.page.objectName() == "page_utility"


def test_a_study_that_was_run_on_utility_is_listed_and_drawn_at_once(window, press, idle, qtbot):
    press(window, "sample_iris")
    idle(window)
    press(window, "rail_utility")
    for name, text in (("curve_epsilons", "1, 10"), ("curve_repeats", "2")):
        field = window.findChild(QLineEdit, name)
        field.selectAll()
        qtbot.keyClicks(field, text)
    press(window, "curve_run")
    idle(window)
    press(window, "rail_compare")
    idle(window)
    assert shown(window, "Way of training") == ["no privacy", "sanitised: as planned", "private model"]
    assert shown(window, "Dataset") == ["iris"] * 3
    assert shown(window, "ε") == ["any", "1–10", "1–10"]
    assert [series.x for series in window.page.figure.series] == [(1.0, 10.0)] * 3
    assert window.page.figure.badge
    assert window.rail.buttons["compare"].state == "ready"


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


def test_released_models_stand_beside_the_studies_with_what_is_public_of_them(compare, press, idle, tmp_path):
    charged(tmp_path / "plain", card())
    charged(tmp_path / "measured", card(0.875), epsilon="2.5", work="dpsgd")
    charged(tmp_path / "gone")
    press(compare, "rail_data")
    press(compare, "rail_compare")
    idle(compare)
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


def test_a_card_that_was_changed_after_its_release_is_not_believed(compare, press, idle, tmp_path):
    charged(tmp_path / "measured", card(0.875), work="dpsgd")
    path = tmp_path / "measured" / "card.json"
    told = json.loads(path.read_text("utf-8").replace("0.875", "0.999"))
    path.write_text(json.dumps({**told, "checksum": checksum(told)}), "utf-8")
    press(compare, "rail_data")
    press(compare, "rail_compare")
    idle(compare)
    assert shown(compare, "Accuracy")[-1] == "–"


# -- sorted, filtered -------------------------------------------------------------------------------------------------


def test_a_click_on_any_heading_sorts_and_a_metric_sorts_anew(compare, qtbot):
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


def test_a_released_model_is_drawn_as_a_public_point_or_says_why_not(window, press, idle, qtbot, tmp_path):
    charged(tmp_path / "plain", card())
    charged(tmp_path / "measured", card(0.875), epsilon="2.5", work="dpsgd")
    press(window, "rail_compare")
    idle(window)
    assert window.page.figure is None
    click_cell(window, qtbot, 0)
    (series,) = window.page.figure.series
    assert (series.x, series.mean) == ((2.5,), (0.875,))
    assert window.page.figure.badge == "", "a card is public"
    click_cell(window, qtbot, 1, at=1)
    qtbot.keyClick(window.findChild(QTableView, TABLE), Qt.Key.Key_Space)
    assert "cannot be drawn, because its card states no accuracy" in banner(window)


# -- points, copies, files --------------------------------------------------------------------------------------------


def test_hover_says_the_nearest_point_and_a_click_takes_its_epsilon_into_the_plan(compare, qtbot):
    page = compare.page
    qtbot.mouseMove(page.plot.view.viewport(), QPoint(1, 1))
    qtbot.mouseMove(page.plot.view.viewport(), point_at(page, 1, 2))
    callout = compare.findChild(QLabel, "compare_callout")
    qtbot.waitUntil(callout.isVisible)
    assert callout.text() == "● sanitised: staircase\nε = 10:  0.615 ± 0.006"
    qtbot.mouseClick(page.plot.view.viewport(), LEFT, pos=point_at(page, 1, 2))
    assert compare.session.plan.epsilon == 10
    qtbot.keyClick(compare, Qt.Key.Key_Z, CTRL)
    assert compare.session.plan.epsilon == 1
    qtbot.mouseClick(page.plot.view.viewport(), LEFT, pos=point_at(page, 2, 0))
    assert compare.session.training == ("naive-bayes", Decimal("0.1")), (
        "a private model's ε is for Train, as on Utility"
    )
    assert compare.session.plan.epsilon == 1


def test_keys_go_from_point_to_point_and_take_one(compare, qtbot, window):
    page = compare.page
    page.plot.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(page.plot, Qt.Key.Key_Down)
    qtbot.keyClick(page.plot, Qt.Key.Key_Return)
    assert compare.session.plan.epsilon == Decimal("0.1")


def test_selected_lines_are_copied_as_text_with_the_badge_and_all_digits(compare, qtbot, press, idle, tmp_path):
    table = compare.findChild(QTableView, TABLE)
    click_cell(compare, qtbot, 1, at=1)
    qtbot.keyClick(table, Qt.Key.Key_C, CTRL)
    badge, heads, line = QGuiApplication.clipboard().text().splitlines()
    assert badge == PRIVATE
    assert heads.split("\t")[1:6] == ["Model", "Way of training", "ε", "Accuracy", "Repeats"]
    assert line.split("\t")[1:4] == ["Naive Bayes", "sanitised: staircase", "0.1–10"]
    assert float(line.split("\t")[4].split(" ± ")[0]) == pytest.approx(0.565, abs=1e-12)
    assert len(line.split("\t")[4]) > 20
    charged(tmp_path / "plain", card())
    press(compare, "rail_data")
    press(compare, "rail_compare")
    idle(compare)
    click_cell(compare, qtbot, 3, at=1)
    qtbot.keyClick(table, Qt.Key.Key_C, CTRL)
    assert PRIVATE not in QGuiApplication.clipboard().text(), "what the ledger charged is no private figure"


def test_the_picture_is_copied_where_it_has_the_keys(compare, qtbot, press):
    QGuiApplication.clipboard().clear()
    compare.activateWindow()
    compare.page.plot.setFocus()
    qtbot.waitUntil(compare.page.plot.hasFocus)
    qtbot.keyClick(compare.page.plot, Qt.Key.Key_C, CTRL)
    assert not QGuiApplication.clipboard().image().isNull()
    assert "private, not for release" in compare.statusBar().currentMessage()


@pytest.mark.parametrize("suffix", ["png", "svg", "csv"])
def test_what_is_drawn_is_saved_for_its_owner_alone_with_the_badge(compare, window, qtbot, idle, tmp_path, suffix):
    path = tmp_path / f"comparison.{suffix}"
    hands = Hands(window, qtbot)
    hands.name_file(path)
    hands.click("compare_save")
    hands.idle()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    if suffix != "png":
        text = path.read_text("utf-8")
        assert "private – not for release" in text.lower()
    if suffix == "csv":
        rows = list(csv.DictReader(text.splitlines()[1:]))
        assert len(rows) == 3 * 3 * 4 * 2
        assert rows[0] == {
            "dataset": "iris",
            "model": "naive-bayes",
            "regime": "none",
            "epsilon": "0.1",
            "repeat": "0",
            "metric": "accuracy",
            "value": "0.4",
        }


def test_there_is_one_badge_and_no_line_of_a_table_that_has_gone(compare, press, idle, qtbot):
    badges = [w for w in compare.page.findChildren(QLabel) if w.property("look") == "badge"]
    assert not any(w.isVisible() for w in badges), "the picture has it"
    for row in (0, 1, 2):
        click_cell(compare, qtbot, row)
    assert compare.page.figure is None
    assert any(w.isVisible() for w in badges)
    assert "Tick lines" in compare.findChild(QLabel, "compare_hint").text()
    press(compare, "rail_data")
    compare.session.open(compare.session.opened, compare.session.plan)
    press(compare, "rail_compare")
    idle(compare)
    assert compare.findChild(QWidget, "compare_nothing").isVisible()


def test_the_way_leads_on_to_the_release(compare, qtbot):
    qtbot.keyClick(compare, Qt.Key.Key_Return, CTRL)
    assert compare.page.objectName() == "page_release"

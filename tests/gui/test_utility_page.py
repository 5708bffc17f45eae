"""The Utility page: the real study by clicks and keys, its curve grows, stops, goes on, and gives its ε to the plan."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from multiprocessing import resource_tracker

import pytest
from mishaps import retype
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QWidget

from workbench.gui.pages.utility.messages import in_words, shown, value_at
from workbench.gui.widgets.basic import PRIVATE
from workbench.gui.widgets.curve_plot import CurvePlot
from workbench.gui.widgets.table_view import copied
from workbench.paths import user_data
from workbench.render.values import Baseline, CurveFigure, Series

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture(scope="module", autouse=True)
def tracker():
    """Start Python's own helper of spawned processes, which outlives them, before children are counted."""
    resource_tracker.ensure_running()


LOW = Decimal("0.8")
"""An ε at which the sanitised table teaches nothing, by the seed of every study."""

HIGH = 30
"""An ε at which it teaches nearly all."""


@pytest.fixture
def utility(window, finish, press):
    """A window with the iris sample and a small study to run."""
    finish(window, "sample_iris")
    press(window, "tab_utility")
    return window


def ran(window, qtbot, press, idle, epsilons="1, 10", repeats="2"):
    retype(window, qtbot, "curve_epsilons", epsilons)
    retype(window, qtbot, "curve_repeats", repeats)
    press(window, "curve_run")
    idle(window)
    return window.page


def point_at(page, series, index) -> QPoint:
    return page.plot.place_of(series, index).toPoint()


def test_a_study_is_run_by_keys_and_tells_itself_in_words(utility, qtbot, idle):
    utility.session.set_epsilon(LOW)
    retype(utility, qtbot, "curve_epsilons", f"{LOW}, {HIGH}")
    retype(utility, qtbot, "curve_repeats", "2")
    qtbot.keyClick(utility, Qt.Key.Key_Return, CTRL)
    idle(utility)
    figure = utility.page.figure
    assert [s.name for s in figure.series] == ["sanitised, then trained", "private model"]
    assert figure.series[0].x == (float(LOW), HIGH)
    assert figure.badge
    words = utility.findChild(QLabel, "curve_words")
    assert words.isVisible()
    assert f"At your ε = {LOW}: about" in words.text()
    assert [run.kind for run in utility.session.runs] == ["curve"]
    assert utility.findChild(QWidget, "curve_run").text() == "Run again"
    assert utility.findChild(QWidget, "curve_to_train").isVisible()
    retype(utility, qtbot, "curve_repeats", "3")  # that was not run: the highlighted button runs it
    assert (utility.page.primary.text(), utility.page.primary.objectName()) == ("Run", "curve_run")
    retype(utility, qtbot, "curve_repeats", "2")
    qtbot.keyClick(utility, Qt.Key.Key_Return, CTRL)
    assert utility.page.objectName() == "page_train", "the sanitised table teaches nothing there"
    assert utility.rail.pages["utility"].state(utility.session) == "ready"


def test_a_click_on_a_point_says_what_it_is_and_a_study_of_another_plan_does_not_lead_on(utility, qtbot, press, idle):
    # A click on a point says what it is and sets nothing.
    utility.session.set_epsilon(LOW)
    page = ran(utility, qtbot, press, idle, f"{LOW}, {HIGH}")
    before = utility.session.plan
    click_point(page, qtbot, 0, 1)
    panel = utility.findChild(QWidget, "curve_point")
    assert panel.isVisible()
    line = page.figure.series[0]
    assert utility.findChild(QLabel, "curve_point_name").text() == line.name
    assert f"ε = {HIGH}:  accuracy {line.mean[1]:.3f} ± " in utility.findChild(QLabel, "curve_point_figure").text()
    assert not utility.findChild(QLabel, "curve_point_warning").isVisible()
    assert not utility.findChild(QWidget, "curve_point_train").isVisible(), "no private model is here"
    assert (utility.session.plan, utility.session.to_train.value) == (before, None)
    page.plot.view.left.emit()  # the pointer is over the panel
    qtbot.keyClick(utility.focusWidget(), Qt.Key.Key_Escape)
    assert not panel.isVisible()
    assert page.plot.point == (0, 1), "the keys are where they were"
    assert utility.session.plan == before
    click_point(page, qtbot, 0, 0)  # the sanitised table teaches nothing
    assert (
        "No better than always predicting the majority class" in utility.findChild(QLabel, "curve_point_warning").text()
    )
    qtbot.keyClick(utility.focusWidget(), Qt.Key.Key_Escape)

    # A study of a plan that has changed since does not lead on.
    session, note = utility.session, utility.findChild(QWidget, "note_utility")
    assert page.primary.objectName() == "curve_to_train"
    best = f"Best way to model species at your ε = {LOW}: private model."
    assert best in note.accessibleName()
    before = session.plan
    first = before.columns[0].name

    def another_target() -> None:
        session.edit_column(first, "classes", kind="category", domain=("a", "b"))
        session.set_target(first)

    for edit in (lambda: session.edit_column(first, "drop it", action="drop"), another_target):
        edit()
        assert (page.primary.objectName(), page.primary.text()) == ("curve_run", "Run")
        assert note.accessibleName() == "The plan has changed since: press Run to draw the curve again."
        while session.plan != before:
            qtbot.keyClick(utility, Qt.Key.Key_Z, CTRL)
        assert page.primary.objectName() == "curve_to_train"
    page._best = lambda: None
    page.refresh()
    none = f"Best way to model species at your ε = {LOW}: none, because none is useful."
    assert none in note.accessibleName()
    del page._best
    page.refresh()

    # The sanitised table is as planned and mechanisms have titles.
    offered = utility.findChild(QComboBox, "regime_mechanism")
    titles = [offered.itemText(at) for at in range(offered.count())]
    assert titles[:2] == ["the plan", "the advisor's choice"]
    assert "k-ary randomised response" in titles
    assert not {"grr", "bounded-laplace", "staircase"} & set(titles)
    assert "locked shares keep their part" in offered.toolTip()
    assert page.primary.objectName() == "curve_to_train"
    utility.session.edit_column("petal_width", "another mechanism", mechanism="grr")
    assert page.primary.objectName() == "curve_run"  # the study was of the former plan


def test_a_study_its_curve_and_its_points_by_pointer_and_keys(utility, qtbot, press, idle, finish):
    # A refused list is told and cannot be run.
    retype(utility, qtbot, "curve_epsilons", "1, one")
    problem = utility.findChild(QLabel, "curve_problem")
    assert problem.isVisible()
    assert "one" in problem.text()
    assert not utility.findChild(QWidget, "curve_run").isEnabled()

    # A study spends nothing and leaves no record.
    before = utility.session.account
    ran(utility, qtbot, press, idle)
    after = utility.session.account
    assert dataclasses.replace(after, seen=before.seen) == before
    assert "the quality of a model at several budgets" in after.seen, "the next question that spends ε says so"
    assert list((user_data() / "unfinished").glob("*.jsonl")) == []

    # The pointer over a point shows its figures.
    page = utility.page
    callout = utility.findChild(QLabel, "curve_callout")

    def pointed():
        qtbot.mouseMove(page.plot.view, QPoint(3, 3))
        qtbot.mouseMove(page.plot.view, point_at(page, 0, 1))
        return callout.isVisible()

    qtbot.waitUntil(pointed)  # the figure may still find its size
    line = page.figure.series[0]
    assert f"ε = 10:  {line.mean[1]:.3f}" in callout.text()
    assert line.name in callout.text()

    # The curve is copied as an image.
    press(utility, "curve_copy")
    image = QGuiApplication.clipboard().image()
    assert image.width() >= page.plot.view.width() > 400

    # The chart stays where it is while the words below it grow. A point that is aimed at does not move away when a
    # further sentence comes.
    words, heights = utility.findChild(QLabel, "curve_words"), []
    for said in ("", "So far: one sentence.", words.text()):
        words.setText(said)
        qtbot.wait(50)
        heights.append(page.plot.height())
    assert heights == [heights[0]] * 3

    # Bands and baselines go and come back.
    assert page.figure.baselines
    press(utility, "curve_settings")
    press(utility, "curve_baselines")
    press(utility, "curve_bands")
    assert page.figure.baselines == ()
    assert all(s.low == s.mean == s.high for s in page.figure.series)
    press(utility, "curve_baselines")
    assert page.figure.baselines
    press(utility, "curve_bands")

    # The table of figures holds what is drawn and is copied with its badge.
    press(utility, "curve_as_table")
    table = page.table
    assert table.isVisible()
    assert page._badge.isVisible()
    assert not page.plot.isVisible()
    shown_now = {(line[0], line[1]): line[2] for line in lines_in(table)}
    for series in page.figure.series:
        for x, mean in zip(series.x, series.mean, strict=True):
            assert shown_now[series.name, f"{x:g}"] == f"{mean:.4f}"
    for baseline in page.figure.baselines:
        assert shown_now[baseline.name, "–"] == f"{baseline.value:.4f}"
    errors = {line[0]: line[3] for line in lines_in(table) if line[1] == "–"}
    expected = next(point for point in page._snapshot.result.points if point.regime == "none").standard_error
    assert errors["no privacy"] == f"{expected:.4f}"
    assert errors["always the majority"] == "–", "it is no mean"
    table.selectRow(1)
    qtbot.keyClick(table, Qt.Key.Key_C, CTRL)
    badge, headings, line = QGuiApplication.clipboard().text().splitlines()
    assert badge == PRIVATE
    assert line.split("\t") == lines_in(table)[1]
    assert len(headings.split("\t")) == 4
    press(utility, "curve_as_plot")
    qtbot.waitUntil(page.plot.isVisible)

    # A click beside every point changes nothing.
    utility.session.undo_stack.clear()  # of the settings
    qtbot.mouseClick(page.plot.view, Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
    assert not utility.session.undo_stack.canUndo()

    # Another epsilon moves the line and keeps the picture.
    view = page.plot.view
    utility.session.set_epsilon(Decimal(4))
    assert page.plot.view is view
    assert (view.marked, view.epsilon, view.mark_words) == (True, 4, "your ε = 4")
    utility.session.set_epsilon(Decimal(50))
    assert not view.marked
    utility.session.set_epsilon(Decimal(2))
    assert view.marked
    utility.session.set_epsilon(Decimal(1))

    # A point gives its epsilon to the plan by a button and is undone.
    click_point(page, qtbot, 0, 1)
    press(utility, "curve_point_take")
    assert utility.session.plan.epsilon == 10
    assert "At your ε = 10" in utility.findChild(QLabel, "curve_words").text()
    qtbot.keyClick(utility, Qt.Key.Key_Z, CTRL)
    assert utility.session.plan.epsilon == 1

    # The arrow keys go to a point and return takes it.
    page.plot.setFocus()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Return):
        qtbot.keyClick(page.plot, key)
    assert utility.focusWidget().objectName() == "curve_point_take"
    qtbot.keyClick(utility.focusWidget(), Qt.Key.Key_Space)
    assert utility.session.plan.epsilon == 10
    page.plot.setFocus()
    qtbot.keyClick(page.plot, Qt.Key.Key_Down)  # the private model's line
    qtbot.keyClick(page.plot, Qt.Key.Key_Left)
    qtbot.keyClick(page.plot, Qt.Key.Key_Return)
    qtbot.keyClick(utility.focusWidget(), Qt.Key.Key_Tab)
    assert utility.focusWidget().objectName() == "curve_point_train"
    qtbot.keyClick(utility.focusWidget(), Qt.Key.Key_Space)
    assert utility.session.plan.epsilon == 10
    assert utility.session.to_train.value is not None
    press(utility, "tab_utility")
    utility.session.set_epsilon(Decimal(1))

    # A point of the private model goes to train and leaves the plan alone.
    page, before = utility.page, utility.session.plan
    click_point(page, qtbot, 1, 1)
    press(utility, "curve_point_train")
    assert utility.session.plan == before
    assert utility.session.to_train.value == ("logistic-regression", Decimal("10.0"))
    assert utility.page.objectName() == "page_train"
    assert utility.page.forms.value().epsilon == 10
    assert utility.page.forms.model == "logistic-regression"
    assert utility.findChild(QWidget, "train_follow").text() == "Use the plan's ε = 1"
    press(utility, "train_follow")
    assert utility.page.forms.value().epsilon == 1
    assert utility.findChild(QWidget, "train_follows").isVisible()
    press(utility, "tab_utility")

    # A point leads to its run in compare.
    click_point(page, qtbot, 1, 1)
    finish(utility, "curve_point_run")
    assert utility.page.objectName() == "page_compare"
    table = utility.page.table
    assert utility.page.runs.lines[table.currentIndex().row()].kind == "private"
    assert utility.findChild(QComboBox, "compare_epsilon").currentText() == "10"
    press(utility, "tab_utility")

    # The panel of a point goes with it when the chart becomes lower. The words and the buttons of a whole study
    # take room from the chart, and may do so just after a click.
    qtbot.wait(100)
    click_point(page, qtbot, 0, 1)
    panel, before, place = utility.findChild(QWidget, "curve_point"), point_at(page, 0, 1), page.panel.pos()
    utility.resize(utility.width() + 160, utility.height() + 80)
    qtbot.wait(100)
    assert point_at(page, 0, 1) != before
    assert panel.isVisible()
    assert page.plot.point == (0, 1)
    assert panel.x() - place.x() == point_at(page, 0, 1).x() - before.x()
    qtbot.keyClick(utility, Qt.Key.Key_Escape)

    # A point above what is offered to recipients says so before it is taken.
    page = ran(utility, qtbot, press, idle, epsilons="1, 100")
    said = utility.findChild(QLabel, "curve_point_offered")
    click_point(page, qtbot, 0, 1)
    assert utility.findChild(QWidget, "curve_point_take").isVisible()
    assert said.isVisible()
    assert said.text().endswith("ε up to 1.")
    assert said.text() in utility.findChild(QWidget, "curve_point").accessibleName()
    assert utility.session.plan.epsilon == 1
    click_point(page, qtbot, 0, 0)
    assert not said.isVisible()

    # Only the chosen regimes are trained.
    press(utility, "curve_settings")
    press(utility, "regime_sanitized")
    page = ran(utility, qtbot, press, idle)
    assert [s.name for s in page.figure.series] == ["private model"]
    press(utility, "curve_settings")
    press(utility, "regime_sanitized")

    # Another model is added and only its own is trained anew.
    page = ran(utility, qtbot, press, idle)
    menu = utility.findChild(QWidget, "curve_more").menu()
    action = next(one for one in menu.actions() if one.objectName() == "curve_more_random-forest")
    action.trigger()
    assert utility.findChild(QWidget, "curve_more").text() == "+ Random forest"
    assert page.primary.text() == "Run"
    finish(utility, "curve_run")
    assert [run.result.plan.model for run in utility.session.runs][-2:] == ["logistic-regression", "random-forest"]
    assert len(page.figure.series) == 4
    assert any(line[0].endswith("Random forest: private model") for line in lines_in(page.table))

    # Another table takes the curve away.
    utility.open("sample:people")
    idle(utility)
    assert page.figure is None


def lines_in(table) -> list[list[str]]:
    """Return what is copied of each line in sight."""
    columns = range(table.model().columnCount())
    return [[copied(table.model().index(row, column)) for column in columns] for row in table.in_sight()]


def click_point(page, qtbot, series, index):
    qtbot.mouseClick(page.plot.view, Qt.MouseButton.LeftButton, pos=point_at(page, series, index))


def test_the_epsilon_of_the_plan_is_always_among_the_points_and_marked(utility, qtbot, finish, press, idle):
    utility.session.set_epsilon(Decimal(3))
    assert utility.findChild(QLabel, "curve_with").text() == ""
    retype(utility, qtbot, "curve_epsilons", "1, 10")
    assert utility.findChild(QLabel, "curve_with").text() == "and your ε = 3"
    page = ran(utility, qtbot, press, idle)
    assert all(series.x == (1.0, 3.0, 10.0) for series in page.figure.series)
    assert (page.plot.view.marked, page.plot.view.mark_words) == (True, "your ε = 3")
    assert utility.findChild(QLineEdit, "curve_epsilons").text() == "1, 10", "the list is the person's own"
    finish(utility, "tab_compare")
    assert utility.findChild(QComboBox, "compare_epsilon").currentText() == "3"
    assert all(utility.page.runs.cell(at, 4).text != "–" for at in range(3))


def test_band_and_error_are_the_same_figure_on_curves_and_compare(utility, qtbot, finish, press, idle):
    page = ran(utility, qtbot, press, idle, repeats="5")
    bands = {
        (s.style, x): high - mean for s in page.figure.series for x, mean, high in zip(s.x, s.mean, s.high, strict=True)
    }
    finish(utility, "tab_compare")
    drawn = utility.page.figure.series
    for series in drawn:
        for x, mean, high in zip(series.x, series.mean, series.high, strict=True):
            if series.style != "no-privacy":
                assert high - mean == pytest.approx(bands[series.style, x])


def test_made_up_rows_have_no_badge(utility, qtbot, finish, press, idle):
    press(utility, "curve_made_up")
    page = ran(utility, qtbot, press, idle)
    assert page.figure.badge == ""
    press(utility, "curve_copy")
    assert "private" not in utility.statusBar().currentMessage()
    press(utility, "curve_as_table")
    assert not page._badge.isVisible()
    finish(utility, "tab_compare")
    assert utility.page.figure.badge == ""


def test_it_starts_on_the_advised_model_and_keeps_the_one_that_a_person_chose(people, finish, qtbot):
    finish(people, "tab_utility")
    box = people.findChild(QComboBox, "curve_model")
    assert (box.currentData(), box.currentText()) == ("logistic-regression", "Logistic regression, exact noise   ★")
    assert box.itemData(0, Qt.ItemDataRole.ToolTipRole).startswith("Logistic regression, exact noise is recommended")
    assert sum("★" in box.itemText(at) for at in range(box.count())) == 1
    people.session.set_target("age")  # a number: other models fit, and another is advised
    assert (box.currentData(), "★" in box.currentText()) == ("boosted-trees", True)
    people.session.set_epsilon(Decimal("0.2"))
    assert (box.currentData(), "★" in box.currentText()) == ("forest-regression", True)
    people.session.set_target(None)  # what predicts nothing fits
    enabled = [box.itemData(at) for at in range(box.count()) if box.model().item(at).isEnabled()]
    assert (box.currentData(), enabled) == ("kmeans", ["kmeans", "dbscan", "pca", "standardize"])
    people.session.set_target("age")
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_End)
    chosen = box.currentData()
    people.session.set_epsilon(Decimal(1))
    assert box.currentData() == chosen != "boosted-trees"
    assert box.itemText(0).endswith("★")
    box.setCurrentIndex(box.findData("linear-regression"))
    people.session.set_target("label")  # it predicts no classes
    assert box.currentData() == "logistic-regression"


def test_a_point_keeps_a_plan_with_a_locked_share_ready(utility, qtbot, press, idle):
    session = utility.session
    session.set_epsilon(Decimal(2 * HIGH))
    session.edit_column("petal_width", "lock", epsilon=Decimal(HIGH))
    page = ran(utility, qtbot, press, idle, f"{HIGH}, {2 * HIGH}")
    assert page.primary.objectName() != "curve_run"
    click_point(page, qtbot, 0, 0)
    press(utility, "curve_point_take")
    assert session.plan.epsilon == HIGH
    assert session.plan.column("petal_width").epsilon == HIGH // 2
    assert session.plan.ready
    assert page.primary.objectName() != "curve_run"  # the proportions, which the study rests on, are the same
    assert "Locked shares keep their part of it" in utility.statusBar().currentMessage()


def test_one_click_draws_the_standard_comparison_in_one_picture_with_the_persons_lists(utility, qtbot, finish, press):
    retype(utility, qtbot, "curve_epsilons", "1, 10")
    retype(utility, qtbot, "curve_repeats", "2")
    finish(utility, "curve_standard")
    assert [run.result.plan.model for run in utility.session.runs] == ["logistic-regression", "naive-bayes"]
    for run in utility.session.runs:
        ways = {way.kind for way in run.result.plan.ways}
        assert {"none", "sanitized", "synthetic", "private"} <= ways
        assert (run.result.plan.epsilons, run.result.plan.repeats) == ((1.0, 10.0), 2)
    assert utility.findChild(QLineEdit, "curve_epsilons").text() == "1, 10"
    figure = utility.page.figure
    names = [series.name for series in figure.series]
    assert {"Logistic, exact noise: private model", "Naive Bayes: private model"} <= set(names)
    assert {"Logistic, exact noise: synthetic", "Naive Bayes: sanitised, corrected"} <= set(names)
    assert len({series.style for series in figure.series}) == len(figure.series)
    levels = [level.name for level in figure.baselines]
    assert levels == ["Logistic, exact noise: no privacy", "Naive Bayes: no privacy", "always the majority"]
    assert "Best at your ε = 1: " in utility.findChild(QLabel, "curve_words").text()
    assert "Compare lists every line" in utility.statusBar().currentMessage()

    # The picture is the page: the settings are folded away until they are asked for.
    assert utility.page.plot.view.plot.height() > 240
    assert not utility.findChild(QWidget, "curve_standard").isVisible()
    press(utility, "curve_settings")
    assert utility.findChild(QWidget, "curve_standard").isVisible()
    press(utility, "curve_settings")
    at = names.index("Naive Bayes: private model")
    means = [series.mean for series in figure.series]
    alone = next(i for i in (0, 1) if [mean[i] for mean in means].count(means[at][i]) == 1)
    click_point(utility.page, qtbot, at, alone)
    press(utility, "curve_point_train")
    assert utility.session.to_train.value == ("naive-bayes", (Decimal("1.0"), Decimal("10.0"))[alone])


def test_the_standard_comparison_ends_with_a_cancel(utility, finish, press, qtbot):
    press(utility, "curve_standard")
    assert not utility.findChild(QWidget, "curve_standard").isVisible()
    assert utility.focusWidget() is utility.findChild(QWidget, "curve_cancel")
    qtbot.waitUntil(lambda: utility.page.figure is not None)
    finish(utility, "curve_cancel")
    assert [run.result.plan.model for run in utility.session.runs if run.result] == []
    assert not utility.page.running


@pytest.mark.slow
def test_a_stopped_study_keeps_what_is_trained_and_goes_on_with_the_rest(utility, qtbot, finish, press, idle):
    retype(utility, qtbot, "curve_epsilons", "0.1:100:13")
    retype(utility, qtbot, "curve_repeats", "40")
    press(utility, "curve_run")
    qtbot.waitUntil(lambda: utility.page.figure is not None)
    press(utility, "curve_cancel")
    assert utility.findChild(QWidget, "curve_cancel").text() == "Cancelling…"
    idle(utility)
    assert utility.session.runs == ()
    assert "kept" in utility.findChild(QWidget, "note_utility").accessibleName()
    (journal,) = (user_data() / "unfinished").glob("*.jsonl")
    kept = len(journal.read_text().splitlines())
    assert kept > 0
    told = []
    utility.jobs.noticed.connect(lambda level, text: told.append(text))
    retype(utility, qtbot, "curve_repeats", "2")
    finish(utility, "curve_run")
    assert told == [f"{kept} models from a stopped run are kept."]
    assert len(utility.session.runs) == 1


@pytest.mark.parametrize("suffix", ["png", "svg", "csv"])
def test_the_curve_is_saved_with_its_badge(utility, qtbot, press, idle, tmp_path, suffix):
    page = ran(utility, qtbot, press, idle)
    path = tmp_path / f"curve.{suffix}"
    page.save(str(path))
    idle(utility)
    content = path.read_bytes()
    if suffix == "csv":
        assert content.startswith("# private – not for release\nregime,epsilon,repeat,metric,value\n".encode())
    elif suffix == "svg":
        assert b"private" in content.lower()
    else:
        assert content.startswith(b"\x89PNG")


FIGURE = CurveFigure(
    title="Accuracy",
    x_label="ε",
    y_label="accuracy",
    series=(
        Series("private model", "private", (0.1, 1.0, 10.0), (0.5, 0.7, 0.79), (0.4, 0.6, 0.7), (0.6, 0.8, 0.9)),
        Series("sanitised", "sanitized", (0.1, 1.0, 10.0), (0.5, 0.5, 0.5), (0.4, 0.4, 0.4), (0.6, 0.6, 0.6)),
    ),
    baselines=(Baseline("no privacy", "no-privacy", 0.8), Baseline("majority", "majority", 0.6)),
)


def test_the_words_say_from_where_a_line_is_near_no_privacy_and_beats_the_majority():
    text = in_words(FIGURE, Decimal(1))
    assert "Within 3 points of no privacy: from ε = 10 (private model)." in text
    assert (
        "Better than always predicting the majority class: only from ε = 1 (private model) and never (sanitised)."
        in text
    )
    assert "At your ε = 1: about 0.700 (private model) and 0.500 (sanitised)." in text
    assert "outside the tested range" in in_words(FIGURE, Decimal(50))


def test_of_points_that_overlap_a_click_takes_the_one_that_is_looked_at(window, qtbot):
    line = FIGURE.series[0]
    other = dataclasses.replace(line, name="the same again", style="sanitized")
    plot = CurvePlot("twice", "Two lines in one place")
    qtbot.addWidget(plot)
    plot.show_figure(dataclasses.replace(FIGURE, series=(line, other)), window.session.theme, Decimal(1))
    plot.resize(640, 360)
    with qtbot.waitExposed(plot):
        plot.show()
    seen, place = plot.view, plot.place_of(0, 1).toPoint()
    qtbot.mouseClick(seen, Qt.MouseButton.LeftButton, pos=place)
    assert plot.point == (0, 1)
    qtbot.keyClick(plot, Qt.Key.Key_Down)
    assert plot.point == (1, 1)
    qtbot.mouseClick(seen, Qt.MouseButton.LeftButton, pos=place)
    assert plot.point == (1, 1), "it is the one whose name is in sight"
    qtbot.mouseClick(seen, Qt.MouseButton.LeftButton, pos=plot.place_of(0, 2).toPoint())
    assert plot.point == (1, 2), "of the same line, too"


def test_between_two_points_a_line_is_straight_in_log_epsilon():
    assert value_at(FIGURE.series[0], 10**0.5) == pytest.approx(0.745)
    assert value_at(FIGURE.series[0], 0.01) is None


def test_a_figure_without_bands_and_baselines_keeps_its_lines():
    bare = shown(FIGURE, bands=False, baselines=False)
    assert [s.mean for s in bare.series] == [s.mean for s in FIGURE.series]
    assert bare.baselines == ()


def test_the_corrected_table_is_asked_for_by_a_tick_and_drawn_beside_the_sanitised_one(utility, qtbot, press, idle):
    models = utility.findChild(QComboBox, "curve_model")
    models.setCurrentIndex(models.findData("naive-bayes"))  # the advised model does not know the public tables
    tick = utility.findChild(QWidget, "regime_corrected")
    assert (tick.isVisible(), tick.isChecked(), tick.isEnabled()) == (True, False, True)
    press(utility, "regime_corrected")
    page = ran(utility, qtbot, press, idle, epsilons="1, 100")
    assert page.setup.value().regimes == ("none", "sanitized:plan", "corrected:plan", "private")
    names = ["sanitised, then trained", "sanitised, corrected", "private model"]
    assert [s.name for s in page.figure.series] == names
    assert [s.style for s in page.figure.series] == ["sanitized", "corrected", "private"]
    assert "(sanitised, corrected)" in utility.findChild(QLabel, "curve_words").text()
    # A point of its line belongs to a sanitised table: its ε can go into the plan.
    click_point(page, qtbot, 1, 1)
    press(utility, "curve_point_take")
    assert utility.session.plan.epsilon == 100
    # A study of it alone goes through the same mechanism.
    for other in ("regime_none", "regime_sanitized", "regime_private"):
        press(utility, other)
    assert page.setup.value().regimes == ("corrected:plan",)

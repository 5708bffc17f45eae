"""Statistics: ticked, forecast before any charge, released once through the ledger, verified, and refused in words."""

import csv
import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from central_pages import cap, enabled, locked_by_the_budget, pick, refused_if_spent_meanwhile, seen
from hands import Hands
from mishaps import Heard, retype, statuses, text_of
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QComboBox, QTableView, QWidget

from workbench.gui.session.account_task import read_account
from workbench.gui.widgets.table_model import EXACT
from workbench.release.verification import verify_any
from workbench.sanitize.intended_use import PlanQuestions

TABLE = "statistics_table"


def asked(window) -> list[tuple[str, str]]:
    return [(one.statistic, one.column) for one in window.page._pane.request().figures]


@pytest.fixture
def target(tmp_path):
    return tmp_path / "figures.csv"


@pytest.fixture
def ready(people, finish, qtbot, target):
    """The page for the people sample at ε = 1, with an output in a folder of the test."""
    finish(people, "tab_statistics")
    retype(people, qtbot, "release_target", target)
    return people


def test_the_page_says_which_figures_count_in_the_steps_of_the_plan(people, finish, qtbot):
    """Means are of the values as they are: that values are rounded must not be said of them."""
    retype(people, qtbot, "fact_cells", 17)
    QTest.keyClick(people.findChild(QWidget, "fact_cells"), Qt.Key.Key_Return)
    finish(people, "tab_statistics")
    assert text_of(people, "statistics_steps").endswith("(age in steps of 5); means and sums do not.")


@pytest.fixture
def hands(ready, qtbot):
    return Hands(ready, qtbot)


def test_it_begins_with_what_will_be_asked_forecasts_it_and_what_is_refused_charges_nothing(
    ready, hands, press, idle, finish, qtbot, release, target, answer, tmp_path
):
    # It begins with what will be asked and forecasts it. Means of numbers and histograms of names answer averages
    # and shares; the target of a model is asked by it.
    wanted = {("histogram", "sex"), ("mean", "age"), ("mean", "income")}
    assert wanted < set(asked(ready))
    for statistic, name in wanted:
        assert hands.cell(TABLE, name, statistic.capitalize()).startswith("± ")
    assert hands.cell(TABLE, "sex", "Histogram").endswith(" rows")
    assert text_of(ready, "release_epsilon") == "ε = 1"
    assert text_of(ready, "fact_replace_one") == "ε 2"
    assert text_of(ready, "fact_cap_left") == "this release sets it"
    assert "queries" in text_of(ready, "fact_figures")
    assert statuses() == []
    wish = ready.session.plan.with_(asked=PlanQuestions(asks=("averages",), wishes=("mean(income) ± 500",)))
    ready.session.edit("ask", wish)
    idle(ready)
    assert ("mean", "income") in asked(ready)
    ready.session.undo_stack.setIndex(0)
    idle(ready)

    # Fewer figures are nearer and a larger epsilon brings them nearer.
    def width() -> float:
        return float(hands.cell(TABLE, "age", "Mean").removeprefix("± ").removesuffix(" ⚠"))

    whole = width()
    finish(ready, "statistics_none")
    assert asked(ready) == []
    assert text_of(ready, "release_problem").startswith("Nothing is ticked")
    assert not enabled(ready, "release_now")
    hands.click_cell(TABLE, "age", "Mean")
    idle(ready)
    assert asked(ready) == [("mean", "age")]
    alone = width()
    assert alone < whole
    ready.session.set_epsilon(Decimal("4"))
    idle(ready)
    assert width() < alone
    assert text_of(ready, "release_epsilon") == "ε = 4"
    finish(ready, "statistics_usual")
    assert len(asked(ready)) > 1
    assert statuses() == []
    ready.session.set_epsilon(Decimal(1))
    idle(ready)

    # Bins are typed and a wrong number is refused.
    hands.click_cell(TABLE, "age", "Histogram")
    idle(ready)
    assert hands.cell(TABLE, "age", "Bins") == "auto"
    hands.type_in_cell(TABLE, "age", "Bins", "8")
    idle(ready)
    assert hands.cell(TABLE, "age", "Bins") == "8"
    assert any(one.bins == 8 for one in ready.page._pane.request().figures)
    hands.type_in_cell(TABLE, "age", "Bins", "1")
    assert "bins of age" in text_of(ready, "statistics_field_problem")
    assert hands.cell(TABLE, "age", "Bins") == "8"
    assert hands.cell(TABLE, "sex", "Bins") == ""
    hands.click_cell(TABLE, "sex", "Mean")  # words have no mean
    assert ("mean", "sex") not in asked(ready)
    finish(ready, "statistics_usual")

    # Groups take every figure and count their rows.
    pick(ready, "statistics_by_1", "sex")
    idle(ready)
    figures = ready.page._pane.request().figures
    assert {one.by for one in figures} == {("sex",)}
    assert ("count", None) in asked(ready)
    assert all(one.column != "sex" for one in figures)
    assert hands.cell(TABLE, "sex", "Histogram") == ""
    assert text_of(ready, "statistics_count_expected").startswith("± ")
    sizes = text_of(ready, "statistics_group_sizes")
    assert sizes.startswith(
        "The ± beside each tick is for groups of equal size (1,000 rows). If a group has 1 % of all rows (20): "
    )
    assert "10 % of all rows (200): " in sizes
    assert sizes.count("mean of age ± ") == 2
    pick(ready, "statistics_by_2", "label")
    idle(ready)
    assert {one.by for one in ready.page._pane.request().figures} == {("sex", "label")}
    hands.click("statistics_count")
    idle(ready)
    assert ("count", None) not in asked(ready)
    assert text_of(ready, "statistics_count_expected") == ""
    pick(ready, "statistics_by_1", "none, all rows")
    idle(ready)

    # A column that is dropped leaves the list.
    ready.session.edit_column("sex", "drop sex", action="drop")
    idle(ready)
    assert all(column != "sex" for _, column in asked(ready))
    assert ready.findChild(QComboBox, "statistics_by_1").findText("sex") == -1
    assert enabled(ready, "release_now")
    ready.session.undo_stack.undo()
    finish(ready, "statistics_usual")

    # The last question is about the figures that are ticked.
    near = ready.session.plan.with_(
        asked=PlanQuestions(asks=("averages",), wishes=("mean(income by sex) ± 1000", "mean(age) ± 5"))
    )
    ready.session.edit("ask", near)
    idle(ready)
    assert "The mean of income by sex is accurate only to" in release("no")[-1]
    finish(ready, "statistics_none")
    hands.click("statistics_wished")
    idle(ready)
    told = release("no")[-1]
    assert "The mean of income by sex" not in told
    assert "age" in told.partition("Averages and shares are not available: ")[2]
    ready.session.undo_stack.setIndex(0)
    finish(ready, "statistics_usual")

    # A question that is answered no charges nothing.
    release("no")
    assert statuses() == []
    assert not target.exists()
    assert ready.session.released == ()

    # A delta changes what is expected and is charged.
    plain = float(hands.cell(TABLE, "age", "Mean").removeprefix("± ").removesuffix(" ⚠"))
    press(ready, "statistics_delta_more")
    retype(ready, qtbot, "statistics_delta", "0.1")
    idle(ready)
    assert "not below 1/rows" in text_of(ready, "release_problem")
    retype(ready, qtbot, "statistics_delta", "1e-6")
    idle(ready)
    assert text_of(ready, "release_epsilon") == "ε = 1, δ = 1e-06"
    assert float(hands.cell(TABLE, "age", "Mean").removeprefix("± ").removesuffix(" ⚠")) > plain  # few queries
    assert "This charges ε = 1 and δ = 1e-06" in release("no")[-1]
    ready.session.undo_stack.setIndex(0)
    idle(ready)

    # An output that cannot be written is refused and costs nothing.
    heard = Heard(ready)
    for name, said in (("people.parquet", ".parquet"), ("nowhere/people.csv", "nowhere")):
        retype(ready, qtbot, "release_target", tmp_path / name)
        if name.endswith("csv"):
            answer("yes")
        press(ready, "release_now")
        qtbot.waitUntil(lambda: bool(heard.lines))
        idle(ready)
        assert said in heard.one()
        assert "charged" not in statuses()
        assert ready.session.released == ()

    # Guesses keep from a release and not from a forecast.
    ready.session.edit("guess", ready.session.plan.with_columns({"age": {"guessed": ("kind",)}}))
    idle(ready)
    assert seen(ready, "release_problem")
    assert not enabled(ready, "release_now")
    assert hands.cell(TABLE, "age", "Mean").startswith("± ")
    press(ready, "release_hint")
    assert ready.page.objectName() == "page_data"


def test_figures_of_every_kind_are_ticked_forecast_and_released(
    ready, hands, idle, release, target, finish, press, qtbot
):
    cap(ready, "9")  # enough for all
    read_account(ready.session, ready.jobs)
    idle(ready)

    def another(number: int) -> Path:
        path = target.with_name(f"figures-{number}.csv")
        retype(ready, qtbot, "release_target", path)
        return path

    # Figures of groups that are wished for are released beside the others.
    assert not hands.sees("statistics_wished")
    wish = ready.session.plan.with_(asked=PlanQuestions(asks=("averages",), wishes=("mean(income by sex) ± 5000",)))
    ready.session.edit("ask", wish)
    idle(ready)
    figures = ready.page._pane.request().figures
    assert [one.by for one in figures if (one.statistic, one.column) == ("mean", "income")] == [None, ("sex",)]
    assert text_of(ready, "statistics_wished_words").startswith("mean of income by sex ± ")
    assert hands.cell(TABLE, "income", "Mean") not in text_of(ready, "statistics_wished_words")
    hands.click("statistics_wished")
    assert all(one.by is None for one in ready.page._pane.request().figures)
    hands.click("statistics_wished")
    of_two = ready.session.plan.with_(
        asked=PlanQuestions(asks=("averages",), wishes=("mean(income by sex and label) ± 5000",))
    )
    ready.session.edit("ask", of_two)
    pick(ready, "statistics_by_1", "sex")
    pick(ready, "statistics_by_2", "label")
    assert ("mean", "income") in asked(ready)
    assert ready.page._pane.model.wished() == (), "the ticks give it, in whatever order they name the groups"
    pick(ready, "statistics_by_1", "none, all rows")
    of_levels = ready.session.plan.with_(asked=PlanQuestions(asks=("averages",), wishes=("quantile(age, 0.9) ± 9",)))
    ready.session.edit("ask", of_levels)
    assert [one.at for one in ready.page._pane.model.wished()] == [(0.9,)]
    hands.click_cell(TABLE, "age", "Quantiles")
    assert ready.page._pane.model.wished() == ()
    of_age = [one.at for one in ready.page._pane.request().figures if one.statistic == "quantiles"]
    assert of_age == [(0.25, 0.5, 0.75, 0.9)], "a tick gives what is wished for, too"
    ready.session.edit("ask", wish)
    idle(ready)
    release("yes")
    assert verify_any(target) == []
    with target.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["column"] == "income"]
    means = [row["group"] for row in rows if row["statistic"] == "mean"]
    assert len(means) == 3
    assert "" in means
    ready.session.undo_stack.undo()
    released = another(1)

    # Sparse figures are marked.
    ready.session.set_epsilon(Decimal("0.01"))
    idle(ready)
    release()
    table = ready.findChild(QTableView, "statistics_figures").model()
    last = table.columnCount() - 1
    assert table.headerData(last, Qt.Orientation.Horizontal) == "remark"
    assert "too few to say" in {table.index(row, last).data() for row in range(table.rowCount())}
    ready.session.set_epsilon(Decimal(1))
    released = another(2)

    # A standard deviation is ticked forecast and released.
    finish(ready, "statistics_none")
    hands.click_cell(TABLE, "age", "Std. dev.")
    hands.click_cell(TABLE, "sex", "Std. dev.")  # words have none
    idle(ready)
    assert asked(ready) == [("std", "age")]
    table = ready.findChild(QTableView, TABLE)
    assert table.horizontalScrollBar().maximum() == 0, "all figures are in sight at 1280 x 800"
    assert hands.cell(TABLE, "age", "Std. dev.").startswith("± ")
    pick(ready, "statistics_by_1", "sex")
    idle(ready)
    assert "standard deviation of age ± " in text_of(ready, "statistics_group_sizes")
    pick(ready, "statistics_by_1", "none, all rows")
    idle(ready)
    release()
    assert verify_any(released) == []
    with released.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["statistic"], row["column"]) == ("std", "age")
    assert 0 < float(row["estimate"]) < 41  # half the range
    released = another(3)

    # The most frequent value is forecast released and shown.
    finish(ready, "statistics_none")
    hands.click_cell(TABLE, "age", "Most frequent")  # numbers have none
    idle(ready)
    assert asked(ready) == []
    hands.click_cell(TABLE, "sex", "Most frequent")
    idle(ready)
    assert asked(ready) == [("mode", "sex")]
    assert hands.cell(TABLE, "sex", "Most frequent") == "lead ≥ 3"
    release()
    (line,) = csv.DictReader(released.read_text("utf-8").splitlines())
    assert line["statistic"] == "mode"
    assert line["value"] in ("female", "male")
    assert statuses() == ["charged"] * 4
    released = another(4)

    # Correlations ranges top values and a table go with the ticks.
    press(ready, "statistics_none")
    for column, title in (("age", "Mean"), ("income", "Mean"), ("age", "Quantiles"), ("sex", "Most frequent")):
        hands.click_cell(TABLE, column, title)
    for name in ("correlation", "covariance", "regression", "ranges", "top"):
        hands.click(f"statistics_{name}")
    idle(ready)
    assert {("correlation", "age"), ("covariance", "age"), ("ranges", "age"), ("top", "sex")} < set(asked(ready))
    box = ready.findChild(QCheckBox, "statistics_correlation")
    assert box.text().startswith("correlations ± 0.")
    assert "Half of the 95 % interval: " in box.toolTip()
    assert "units of age times income" in ready.findChild(QCheckBox, "statistics_covariance").toolTip()
    assert ready.findChild(QCheckBox, "statistics_ranges").text().endswith(" rows")
    stated = ready.findChild(QCheckBox, "statistics_regression").toolTip()
    assert "units of age over the whole range of another column" in stated
    pick(ready, "statistics_by_1", "sex")
    pick(ready, "statistics_by_2", "label")
    idle(ready)
    assert ("table", None) in asked(ready)  # its margins cost nothing more than the counts of groups
    assert text_of(ready, "statistics_count_expected").startswith("± ")
    hands.click_cell(TABLE, "age", "Quantiles")
    idle(ready)
    assert "correlation of age and income ± " in text_of(ready, "statistics_group_sizes")
    hands.click_cell(TABLE, "age", "Quantiles")
    idle(ready)
    assert ("top", "sex") not in asked(ready)  # it makes the groups
    release()
    assert verify_any(released) == []
    with released.open(encoding="utf-8", newline="") as file:
        found = {row["statistic"] for row in csv.DictReader(file)}
    assert {"correlation", "covariance", "regression", "rows up to", "table", "margin"} <= found


def test_dates_make_groups_of_months(window, finish, idle, qtbot, tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("day,stay\n" + "".join(f"2026-0{1 + i % 3}-1{i % 7},{i % 9}\n" for i in range(60)), "utf-8")
    Hands(window, qtbot).drop(path)
    first, last = (float(datetime.date(2026, month, day).toordinal()) for month, day in ((1, 1), (3, 31)))
    day = {"kind": "date", "lower": first, "upper": last}
    facts = {"day": day, "stay": {"kind": "integer", "lower": 0.0, "upper": 9.0}}
    columns = {name: {"action": "protect", **own} for name, own in facts.items()}
    window.session.edit("declare", window.session.plan.with_columns(columns))
    finish(window, "tab_statistics")
    box = window.findChild(QComboBox, "statistics_by_1")
    assert [box.itemText(i) for i in range(box.count()) if ", by " in box.itemText(i)] == [
        f"day, by {period}" for period in ("day", "week", "month", "quarter", "year")
    ]
    pick(window, "statistics_by_1", "day, by month")
    idle(window)
    assert {one.by for one in window.page._pane.request().figures} == {("day:month",)}
    assert all(one.column != "day" for one in window.page._pane.request().figures)


def test_figures_are_released_charged_once_verified_shown_and_found_again(
    ready, press, target, release, hands, finish, idle
):
    # Figures are released charged once verified and shown.
    told = release()
    columns = len({column for _, column in asked(ready)})
    assert f"charges ε = 1 and writes statistics of {columns} columns to figures.csv" in told[0]
    assert statuses() == ["charged"]
    assert ready.session.account.remaining == 0
    assert verify_any(target) == []
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    table = ready.findChild(QTableView, "statistics_figures")
    assert table.isVisible()
    assert table.model().rowCount() == len(rows)
    first = next(row for row in rows if (row["statistic"], row["column"]) == ("histogram", "sex"))
    estimate = f"{int(first['estimate']):,}"  # as every count of rows: 1,040
    headings = [table.model().headerData(at, Qt.Orientation.Horizontal) for at in range(table.model().columnCount())]
    place = headings.index("estimate")
    shown = table.model().index(rows.index(first), place)
    assert (shown.data(), shown.data(EXACT)) == (estimate, first["estimate"])
    pick(ready, "statistics_only", "mean")
    means = [row for row in rows if row["statistic"] == "mean"]
    assert table.model().rowCount() == len(means)
    press(ready, "statistics_copy")
    copied = QGuiApplication.clipboard().text().splitlines()
    assert copied[0].split("\t")[0] == "statistic"  # no badge: the figures are public
    assert len(copied) == len(means) + 1
    press(ready, "statistics_show_picture")
    pick(ready, "statistics_of", "sex")
    picture = ready.findChild(QWidget, "statistics_histogram")
    assert picture.isVisible()
    assert "sex" in picture.accessibleName()
    assert picture.words_at(picture.width() * 0.25).startswith(f"{first['value']}: {estimate} rows (95 %: ")
    assert ready.rail.pages["release"].state(ready.session) == "ready"

    # An earlier release is found again and a changed file is not shown.
    ready.show_page("data")
    ready.session.open(ready.session.opened, ready.session.plan)
    read_account(ready.session, ready.jobs)
    idle(ready)
    finish(ready, "tab_statistics")
    assert not seen(ready, "statistics_figures")
    whole = target.read_bytes()
    target.write_bytes(whole + b"\n")
    finish(ready, "statistics_look")
    assert "was changed after it was certified" in text_of(ready, "statistics_look_problem")
    assert not seen(ready, "statistics_figures")
    target.write_bytes(whole)
    finish(ready, "statistics_look")
    assert seen(ready, "statistics_figures")
    assert not seen(ready, "statistics_look_problem")
    assert statuses() == ["charged"]


def test_json_is_released_too_and_its_figures_are_there_after_another_way_was_looked_at(
    ready, finish, qtbot, tmp_path, release
):
    retype(ready, qtbot, "release_target", tmp_path / "figures.json")
    release()
    assert verify_any(tmp_path / "figures.json") == []
    assert seen(ready, "statistics_figures")
    qtbot.wait(100)
    above, below = (ready.findChild(QWidget, name) for name in ("release_outside", "statistics_results"))
    gap = below.mapTo(ready, below.rect().topLeft()).y() - above.mapTo(ready, above.rect().bottomLeft()).y() - 1
    assert gap == 12, "as between all cards"
    finish(ready, "tab_synthetic")
    assert not seen(ready, "statistics_figures")
    finish(ready, "tab_statistics")
    assert seen(ready, "statistics_figures")


def test_where_the_budget_refuses_release_is_locked_and_the_way_out_stands_beside_it(
    ready, press, answer, idle, qtbot, target
):
    locked_by_the_budget(ready, press, answer, idle, qtbot, target)


def test_what_was_spent_meanwhile_is_refused_in_words_with_both_numbers(ready, press, qtbot, target):
    refused_if_spent_meanwhile(ready, "statistics", press, qtbot, target)


def test_cancelling_a_release_leaves_no_file_and_no_charge(ready, press, idle, qtbot, answer, target, standstill):
    standstill.go_on()
    idle(ready)
    ready.jobs.started.connect(lambda handle: standstill.stop() if handle.title.startswith("Releasing") else None)
    answer("yes")
    press(ready, "release_now")
    qtbot.waitUntil(lambda: seen(ready, "release_cancel"))
    assert not enabled(ready, "release_now")
    assert not ready.findChild(QTableView, TABLE).isEnabled()
    press(ready, "release_cancel")
    standstill.go_on()
    idle(ready)
    assert not target.exists()
    assert statuses() in ([], ["void"])
    assert ready.session.released == ()
    assert not seen(ready, "release_cancel")
    assert enabled(ready, "release_now")


def test_five_hundred_columns_are_forecast_in_a_job_and_ticked_at_once(window, finish, idle, qtbot, tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"c{i:03}" for i in range(500)]
    lines = [",".join(str((r * 7 + c) % 10) for c in range(500)) for r in range(40)]
    path.write_text("\n".join([",".join(names), *lines]) + "\n", "utf-8")
    hands = Hands(window, qtbot)
    hands.drop(path)
    plan = window.session.plan
    bounds = {column.name: {"action": "protect", "lower": 0.0, "upper": 9.0} for column in plan.columns}
    window.session.edit("declare", plan.with_columns(bounds))
    finish(window, "tab_statistics")
    table = window.findChild(QTableView, TABLE)
    assert table.model().rowCount() == len(window.session.plan.protected) > 400
    finish(window, "statistics_none")
    table.setFocus()
    table.setCurrentIndex(table.model().index(0, 1))
    table.selectAll()
    qtbot.keyClick(table, Qt.Key.Key_Space)
    idle(window)
    assert len(window.page._pane.request().figures) == table.model().rowCount()
    model = table.model()
    assert all(model.index(row, 1).data().startswith("± ") for row in (0, model.rowCount() - 1))
    assert "queries" in text_of(window, "fact_figures")
    assert window.minimumSizeHint().width() <= 1280


# -- The most frequent value of a column: ticked, forecast, released by clicks ----------------------------------------

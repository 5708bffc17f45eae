"""On a wide page the card about the chosen attribute stands beside its table, with what a value can become."""

from decimal import Decimal

import numpy as np
import pytest
from PySide6.QtWidgets import QLabel, QScrollArea, QTableView, QWidget

from workbench.gui.pages.data.detail import HEIGHT
from workbench.gui.pages.protect.tasks import BARS, outlooks
from workbench.gui.session.draft import DraftColumn
from workbench.gui.widgets.explain import BeliefCurve
from workbench.signals.cancel import CancelToken


def beside(window, table: str, card: str) -> bool:
    """Whether the card stands to the right of the table, and not below it."""
    left, right = window.findChild(QTableView, table), window.findChild(QWidget, card)
    origin = right.mapTo(window, right.rect().topLeft())
    return origin.x() > left.mapTo(window, left.rect().topRight()).x()


@pytest.mark.parametrize(("width", "expected"), [(1280, False), (1920, True), (2560, True)])
def test_the_cards_stand_where_there_is_room(people, qtbot, finish, width, expected):
    people.resize(width, 1000)
    qtbot.waitUntil(lambda: beside(people, "attribute_table", "attribute_detail") is expected)
    finish(people, "tab_protect")
    qtbot.waitUntil(lambda: beside(people, "share_table", "share_detail") is expected)
    assert people.findChild(QWidget, "share_becoming").isVisible()


def test_beside_the_table_the_words_about_a_column_are_whole(people, qtbot, finish):
    people.session.set_epsilon(Decimal("0.01"))
    people.resize(2560, 1440)
    finish(people, "tab_protect")
    card = people.findChild(QWidget, "share_detail")
    assert card.findChild(QLabel, "share_warning").isVisible()
    qtbot.waitUntil(lambda: card.findChild(QScrollArea, "card_words").verticalScrollBar().maximum() == 0)


def test_turning_narrow_again_gives_the_table_its_width_back(people, qtbot):
    people.resize(2000, 1000)
    qtbot.waitUntil(lambda: beside(people, "attribute_table", "attribute_detail"))
    people.resize(1280, 800)
    qtbot.waitUntil(lambda: not beside(people, "attribute_table", "attribute_detail"))
    qtbot.waitUntil(lambda: people.findChild(QWidget, "attribute_detail").height() <= HEIGHT)


def test_the_example_names_the_value_and_its_chances(people, qtbot, finish):
    people.resize(1920, 1000)
    finish(people, "tab_protect")
    picture = people.findChild(QWidget, "share_becoming")
    assert picture.accessibleName().startswith("What 45 can become: itself in ")
    assert picture.words_at(0.0).startswith("45 becomes 18 in "), "Duchi's mechanism answers a bound"


@pytest.mark.parametrize(
    "column",
    [
        DraftColumn(name="age", kind="integer", lower=0, upper=120),
        DraftColumn(name="flag", kind="category", domain=("no", "yes")),
        DraftColumn(name="pay", kind="real", lower=0, upper=1, missing="own-value"),
    ],
)
def test_the_chances_of_an_example_are_those_of_the_table_that_is_sampled(column):
    from decimal import Decimal

    from workbench.sanitize.calibrated_columns import answer_chances

    (outlook,) = outlooks(((column, Decimal(1)),), CancelToken())
    made, example = column.column().grid(), outlook.example
    cell = made.labels.index(example.given)
    chances = answer_chances(outlook.used.name, made.cells, Decimal(1), cell)
    assert chances.sum() == pytest.approx(1)
    assert len(example.chances) <= BARS + 1
    if len(example.chances) == made.cells.total:
        assert list(example.chances) == pytest.approx(list(chances))
    assert min(chances) - 1e-12 <= min(example.chances)
    assert max(example.chances) <= max(chances) + 1e-12


@pytest.mark.parametrize("missing", ["refuse", "own-value"])
def test_the_bars_of_duchi_are_the_bounds_that_it_answers_on_a_fine_grid(missing):
    from decimal import Decimal

    from workbench.gui.pages.protect.share_model import why
    from workbench.privacy.entropy import SeededEntropy
    from workbench.privacy.local.mechanisms import mechanism

    column = DraftColumn(name="age", kind="integer", lower=0, upper=120, mechanism="duchi", missing=missing)
    (outlook,) = outlooks(((column, Decimal(1)),), CancelToken())
    example, grid = outlook.example, column.column().grid()
    drawn = (
        mechanism("duchi")
        .build(grid.cells, 1.0)
        .sample(np.full(4000, grid.labels.index(example.given), np.uint16), SeededEntropy(8))
    )
    seen = {(*grid.labels, "missing")[cell]: count / 4000 for cell, count in enumerate(np.bincount(drawn)) if count}
    bars = {answer: chance for answer, chance in zip(example.answers, example.chances, strict=True) if chance}
    assert set(bars) == set(seen) == {"0", "120"} | ({"missing"} if missing == "own-value" else set())
    assert bars == pytest.approx(seen, abs=0.04)  # five standard deviations of the draws
    stated = why(column, outlook, Decimal(1))
    assert ("one of the two bounds, or missing" in stated) == (missing == "own-value")
    assert "one of the two bounds" in stated


def test_names_too_many_to_draw_have_no_example():
    from decimal import Decimal

    names = tuple(f"n{i}" for i in range(BARS + 1))
    column = DraftColumn(name="town", kind="category", domain=names)
    (outlook,) = outlooks(((column, Decimal(1)),), CancelToken())
    assert outlook.example is None


@pytest.mark.parametrize(("width", "expected"), [(1280, False), (2560, True)])
def test_release_takes_two_columns_where_there_is_room(people, at_release, qtbot, width, expected):
    people.resize(width, 1200)
    at_release()
    published, cost, outside = (
        people.findChild(QWidget, name) for name in ("pane_rows", "release_cost", "release_outside")
    )
    qtbot.waitUntil(lambda: (outside.geometry().left() == cost.geometry().left()) is expected)
    assert cost.geometry().left() > published.geometry().right()
    if expected:
        assert outside.geometry().top() < published.geometry().bottom()
        assert abs(published.width() - cost.width()) <= 2
    else:
        assert outside.geometry().top() > published.geometry().bottom()
    people.resize(1280, 800)
    qtbot.waitUntil(lambda: outside.geometry().left() < cost.geometry().left())


def test_no_page_shows_its_badge_twice(people, qtbot, finish, press):
    from workbench.gui.widgets.basic import PRIVATE

    def badges() -> int:
        found = [one for one in people.findChildren(QLabel) if one.isVisible() and one.property("look") == "badge"]
        return sum(one.text() == PRIVATE for one in found)

    people.resize(2560, 1440)
    for name in list(people.rail.pages):
        finish(people, f"tab_{name}")
        assert badges() <= 1, name
    finish(people, "tab_preview")
    assert badges() == 1, "rows, spread and correlations have one"
    press(people, "tab_train")
    press(people, "train_model_logistic")
    assert badges() == 1
    press(people, "tab_data")
    for view in ("rows", "dialect", "attributes"):
        segment = people.findChild(QWidget, f"view_{view}")
        if segment.isVisible():
            finish(people, f"view_{view}")
            assert badges() <= 1, view
    people.page.table.selectRow([c.name for c in people.session.plan.columns].index("sex"))
    press(people, "fact_values")
    assert people.findChild(QWidget, "domain_text").isVisible()
    assert badges() == 1


def test_the_picture_beside_the_table_grows_with_the_window(people, qtbot):
    people.resize(2560, 900)
    picture = people.findChild(QWidget, "attribute_histogram")
    qtbot.waitUntil(lambda: beside(people, "attribute_table", "attribute_detail"))
    low = picture.height()
    people.resize(2560, 1440)
    qtbot.waitUntil(lambda: picture.height() > 1.3 * low)


def test_a_large_window_shows_rows_at_the_questions_and_columns_at_the_settings(people, qtbot, finish, press):
    people.resize(1900, 1100)
    finish(people, "tab_questions")
    listed = people.findChild(QTableView, "question_columns")
    qtbot.waitUntil(lambda: listed.width() < 600 and listed.horizontalScrollBar().maximum() == 0)
    people.resize(2560, 1440)
    rows = people.findChild(QWidget, "questions_rows")
    qtbot.waitUntil(rows.isVisible)
    assert rows.model().rowCount() == 2000
    for way in ("rows", "synthetic", "statistics"):
        people.session.choose_way(way)
        finish(people, "tab_release")
        columns = people.findChild(QWidget, "release_columns")
        qtbot.waitUntil(columns.isVisible)
        assert [columns.lines.cell(at, 0).text for at in range(columns.lines.height())] == [
            c.name for c in people.session.plan.columns if c.action != "drop"
        ]
    people.resize(1280, 800)
    qtbot.waitUntil(lambda: not people.findChild(QWidget, "release_columns").isVisible())
    press(people, "tab_questions")
    qtbot.waitUntil(lambda: not rows.isVisible())


def test_what_epsilon_means_has_two_columns_in_a_large_window(people, qtbot):
    people.resize(2560, 1440)
    people.show_page("explain")
    first, second = (people.page._order[at] for at in (0, 1))
    qtbot.waitUntil(lambda: first.x() < second.x())
    assert first.y() == second.y()
    assert first.x() + first.width() <= second.x()
    people.resize(1280, 800)
    qtbot.waitUntil(lambda: second.y() >= first.y() + first.height())
    assert first.width() > people.page.width() - 80, "the whole width is for one column"


def test_no_card_about_epsilon_lies_over_another_while_more_are_added(people, qtbot):
    people.resize(2560, 1440)
    people.show_page("explain")
    page = people.page
    page._in_turn.stop()  # they are added by hand
    qtbot.waitUntil(lambda: page._order[0].x() < page._order[1].x())
    while page._waiting:
        page._add_next()  # looked at before Qt lays anything out by itself
        card, others = page._order[-1].geometry(), [one.geometry() for one in page._order[:-1]]
        assert not any(card.intersects(other) for other in others)


def test_a_wide_page_to_decide_says_what_epsilon_means_and_which_columns_leave(people, qtbot, visit):
    people.resize(2560, 1440)
    visit(people, "ways")
    said, columns = people.findChild(QLabel, "ways_meaning"), people.findChild(QWidget, "ways_columns")
    qtbot.waitUntil(columns.isVisible)
    assert beside(people, "decide_table", "ways_columns")
    assert people.page.findChild(BeliefCurve).height() >= 220, "it can be read"
    before = said.text()
    people.page.entry.field.selectAll()
    qtbot.keyClicks(people.page.entry.field, "0.5")
    qtbot.waitUntil(lambda: said.text() != before)
    people.resize(1280, 800)
    qtbot.waitUntil(lambda: not columns.isVisible())


def test_a_wide_page_of_rows_shows_rows_spread_and_correlations_at_once(people, qtbot, finish, press):
    people.resize(2560, 1440)
    finish(people, "tab_preview")
    page = people.page
    qtbot.waitUntil(page.correlations.isVisible)
    assert page.distribution.isVisible()
    assert beside(people, "preview_sanitised", "preview_pair_facts")
    told = people.findChild(QLabel, "preview_pair_facts")
    assert told.text().startswith("draw 1")
    finish(people, "another_draw")
    assert told.text().startswith("draw 2")
    people.resize(1280, 800)
    qtbot.waitUntil(lambda: not page.correlations.isVisible())
    assert page.distribution.isVisible()
    press(people, "preview_relations")
    assert page.correlations.isVisible()
    assert not page.distribution.isVisible()


@pytest.mark.parametrize(("width", "height", "expected"), [(1280, 800, False), (2560, 1440, True)])
def test_a_large_page_to_predict_shows_the_rows(people, qtbot, finish, width, height, expected):
    people.resize(width, height)
    finish(people, "tab_predict")
    rows = people.findChild(QWidget, "predict_rows_table")
    qtbot.waitUntil(lambda: rows.isVisible() is expected)
    model, table = people.findChild(QWidget, "predict_model"), people.findChild(QWidget, "predict_output")
    assert (
        table.mapTo(people, table.rect().topLeft()).x() > model.mapTo(people, model.rect().topRight()).x()
    ) is expected

"""Correlations on the Preview page: both triangles, one pair marked by mouse or keys, columns that do not vary."""

import random
from decimal import Decimal

import numpy as np
import pytest
from hands import go_to
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel

from workbench.gui.pages.preview.tasks import draw_pairs
from workbench.gui.project.open_table import open_table
from workbench.gui.widgets.basic import PRIVATE
from workbench.gui.widgets.chart import Drawing, ends_below
from workbench.gui.widgets.chart_marks import Canvas, Scale
from workbench.gui.widgets.correlation_matrix import SHOWN, most_changed, written
from workbench.signals.cancel import CancelToken


@pytest.fixture
def correlations(people, finish, idle):
    """A window that shows the correlations of the people sample."""
    go_to(people, "preview")
    idle(people)
    finish(people, "preview_relations")
    return people


def words(window) -> str:
    """Return what is said of the marked pair."""
    shown = window.findChild(QLabel, "preview_pair_words")
    assert shown.isVisible()
    return shown.accessibleName()


def test_large_names_are_written_whole(correlations, monkeypatch):
    rooms = []
    note = lambda on, box, *said, **how: rooms.append(box.height() - on.painter.fontMetrics().height())  # noqa: E731
    monkeypatch.setattr(Canvas, "write", note)
    try:
        correlations.theme.set_scale(150)
        correlations.page.correlations.map.grab()
        below = ends_below(("18", "98"))
        correlations.page.distribution.show_drawing(Drawing((), x=Scale(0, 1), y=Scale(0, 1), below=below))
        correlations.page.distribution.grab()
    finally:
        correlations.theme.set_scale(100)
    assert len(rooms) > 20
    assert min(rooms) >= 0, "the foot of a g is cut"


def test_every_pair_is_named_and_reached_and_another_draw_changes_one_side(correlations, qtbot, finish):
    # Both triangles hold the columns that leave and bear the badge.
    page = correlations.page
    assert page.correlations.map.names == ("age", "sex", "zip", "income", "label")
    assert not page.sides.isVisible()
    assert "Tinted" not in correlations.findChild(QLabel, "note_preview").accessibleName()
    assert [w.text() for w in page.findChildren(QLabel) if w.text() == PRIVATE and w.isVisible()] == [PRIVATE]
    assert "from 2,000 rows" in correlations.findChild(QLabel, "preview_facts").accessibleName()

    # The pair that changed most is named with both numbers.
    assert words(correlations).startswith("income × label: 0.56 before, ")
    assert "changed by −0." in words(correlations)
    assert "correlation ratio η" in words(correlations)
    most = correlations.findChild(QLabel, "preview_pairs_most").accessibleName()
    assert most.startswith("Changed most: income × label 0.56 → ")
    assert "age × label 0.48 → " in most
    assert words(correlations) in correlations.page.correlations.map.accessibleName()

    # A change of colours keeps the marked pair.
    marked = correlations.page.correlations.map.marked
    for mode in ("dark", "light"):
        correlations.theme.set_mode(mode)
        assert not correlations.page.grab().isNull()
    assert correlations.page.correlations.map.marked == marked

    # The arrow keys reach every pair.
    shown = correlations.page.correlations.map
    shown.setFocus()
    qtbot.keyClick(shown, Qt.Key.Key_End)
    assert shown.marked == ("income", "label")
    seen = []
    for _ in range(4):
        seen.append(shown.marked)
        for _ in range(shown.names.index(shown.marked[1]) - 1):
            qtbot.keyClick(shown, Qt.Key.Key_Left)
            seen.append(shown.marked)
        while shown.marked[1] != shown.names[shown.names.index(shown.marked[0]) + 1]:
            qtbot.keyClick(shown, Qt.Key.Key_Right)
        qtbot.keyClick(shown, Qt.Key.Key_Up)
    assert sorted(seen) == sorted((a, b) for i, b in enumerate(shown.names) for a in shown.names[:i])
    qtbot.keyClick(shown, Qt.Key.Key_Home)
    assert shown.marked == ("age", "sex")

    # The pair under the pointer is named.
    for sanitised in (False, True):
        qtbot.mouseMove(shown, QPoint(2, 2))
        qtbot.mouseMove(shown, shown.centre_of("age", "income", sanitised=sanitised))
        qtbot.waitUntil(lambda: shown.marked == ("age", "income"))
        assert words(correlations).startswith("age × income: 0.12 before")
        assert "Pearson" in words(correlations)
        qtbot.keyClick(shown, Qt.Key.Key_Home)

    # Another draw changes the sanitised side alone.
    qtbot.keyClick(shown, Qt.Key.Key_End)
    said = set()
    for _ in range(4):
        finish(correlations, "another_draw")
        said.add(words(correlations))
    assert len({s.split(" before")[0] for s in said}) == 1
    assert "draw 5" in correlations.findChild(QLabel, "preview_facts").accessibleName()


def test_going_back_shows_the_same_draw_of_the_rows(correlations, finish):
    finish(correlations, "another_draw")
    finish(correlations, "preview_spread")
    assert correlations.page.sides.isVisible()
    assert "Tinted" in correlations.findChild(QLabel, "note_preview").accessibleName()
    assert correlations.findChild(QLabel, "preview_drawn").text() == "draw 2"


def test_one_column_alone_has_no_correlation_and_the_page_says_so(correlations, idle):
    for name in ("sex", "zip", "income", "label"):
        correlations.session.edit_column(name, f"drop {name}", action="drop")
    idle(correlations)
    assert "needs two released columns" in correlations.page.correlations.map.accessibleName()
    correlations.page.grab()
    assert words(correlations) == ""


def test_of_many_columns_those_that_changed_most_are_shown(window, tmp_path, idle, finish):
    rng = random.Random(3)
    names = [f"c{i}" for i in range(16)]
    lines = [",".join([*names, "same", "gaps"])]
    for _ in range(300):
        base = rng.gauss(0, 1)
        values = [f"{base * (i - 7) + rng.gauss(0, 3):.2f}" for i in range(16)]
        lines.append(",".join([*values, "5", rng.choice(["a", "b", "c", ""])]))
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    plan = window.session.plan.with_(epsilon=Decimal(60))
    for column in plan.columns:
        facts = {"lower": -40.0, "upper": 40.0} if column.numeric else {"domain": ("a", "b", "c")}
        plan = plan.with_column(column.name, action="protect", missing="own-value", **facts)
    window.session.edit("declare all", plan)
    assert plan.ready
    window.show_page("preview")
    idle(window)
    finish(window, "preview_relations")
    shown = window.page.correlations.map
    assert len(shown.names) == SHOWN
    assert list(shown.names) == sorted(shown.names, key=[*names, "same", "gaps"].index)
    told = window.findChild(QLabel, "preview_facts").accessibleName()
    assert f"the {SHOWN} of 18 columns that changed most" in told
    QApplication.processEvents()
    assert not window.grab().isNull()
    pairs = draw_pairs(window.session.opened.table, plan.plan(), 1, lambda event: None, CancelToken())
    same = pairs.names.index("same")
    assert np.isnan(np.delete(pairs.original[same], same)).all()
    assert same not in most_changed(pairs)


def test_a_kept_column_stands_beside_the_protected_ones(people):
    plan = people.session.plan.with_column("zip", action="keep").with_column("income", action="keep").plan()
    pairs = draw_pairs(people.session.opened.table, plan, 1, lambda event: None, CancelToken())
    i, j = pairs.names.index("zip"), pairs.names.index("income")
    assert pairs.original[i, j] == pairs.sanitised[i, j]
    assert pairs.original[i, j] == pytest.approx(0.22, abs=0.01)
    assert pairs.numeric[j]


def test_numbers_are_written_with_their_sign():
    told = [written(-0.004), written(0.5), written(-0.31, signed=True), written(0.2, signed=True), written(np.nan)]
    assert told == ["0.00", "0.50", "−0.31", "+0.20", "–"]


def test_a_few_columns_fill_a_wide_window(people, qtbot, idle, press):
    people.resize(2560, 1440)
    people.show_page("preview")
    idle(people)
    assert people.page.correlations.isVisible()  # beside the rows, without a choice
    idle(people)
    picture = people.page.correlations.map
    first, last = picture.names[0], picture.names[-1]
    left, right = picture.centre_of(first, picture.names[1]), picture.centre_of(last, picture.names[-2])
    cells = len(picture.names) - 2  # between the centres of the first and of the last
    room = min(picture.height(), picture.width() / 2)  # the cells are squares, and there are two maps
    assert (right.y() - left.y()) * (cells + 1) / cells > 0.6 * room
    assert (right.x() - left.x()) * (cells + 1) / cells > 0.6 * picture.width() / 2

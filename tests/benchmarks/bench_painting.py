"""What is painted by hand against the plain way, in one run: the table of rows, and each chart.

Run with ``pytest -m benchmark tests/benchmarks/bench_painting.py -s``.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

pytest.importorskip("PySide6.QtWidgets")

import window_tools  # noqa: F401 - it chooses the platform before Qt is loaded
from PySide6.QtCore import QSize, qVersion
from PySide6.QtWidgets import QAbstractItemView, QApplication, QHeaderView, QStyledItemDelegate, QTableView, QWidget

from workbench.data.columns.profile import Bin
from workbench.gui.app import application
from workbench.gui.pages.data.attribute_table import Histogram
from workbench.gui.pages.preview.page import DrawModel
from workbench.gui.pages.protect.page import LEAST, CandidateBars, becoming
from workbench.gui.pages.protect.tasks import Candidate, Example, Outlook
from workbench.gui.pages.train.run_card import StepChart
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.stylesheet import ROW, stylesheet
from workbench.gui.widgets.chart import Chart
from workbench.gui.widgets.correlation_matrix import PairMap
from workbench.gui.widgets.distribution import Distribution
from workbench.gui.widgets.fast_table import RowsTable
from workbench.render.palette import LIGHT
from workbench.studies.spreads_and_pairs import Pairs, Spread

RESULTS = Path(__file__).parent / "results" / "painting.md"
TABLE = (2560, 1440)
COLUMNS, ROWS = 24, 100_000
STEPS = 40
ROUNDS = 15
NEAR, QUICK = 1.5, 8.0
"""The plain way is as good where it takes this many times as long as ours, or as few milliseconds for a frame."""

Compared = tuple[str, Sequence[float], Sequence[float]]
"""A piece, and its milliseconds for each kind of frame: ours, and the plain way."""
COST = """
import os, time
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from PySide6 import QtWidgets
import numpy
app = QtWidgets.QApplication([])
def held():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
before, began = held(), time.perf_counter()
import pyqtgraph
loaded = 1000 * (time.perf_counter() - began)
first = held() - before
before = held()
made = [pyqtgraph.PlotWidget() for _ in range(20)]
for plot in made:
    plot.plot(range(100), range(100))
    plot.grab()
print(loaded, first, (held() - before) / 20)
"""


def model(session: Session) -> DrawModel:
    """Return rows of words and numbers, a third of whose cells a draw has changed."""
    draw = np.random.default_rng(0)
    made = DrawModel(session)
    names = [f"column {at}" for at in range(COLUMNS)]
    cells = {
        name: draw.choice(["Paris", "Hanoi", "Moscow"], ROWS)
        if at % 2
        else draw.integers(0, 10**6, ROWS).astype(np.str_)
        for at, name in enumerate(names)
    }
    made.show_draw(pl.DataFrame(cells), {name: draw.random(ROWS) < 1 / 3 for name in names})
    return made


def plain_table(rows: DrawModel, *, delegate: QStyledItemDelegate | None = None) -> QTableView:
    """Return the view that Qt paints, set up as ours is."""
    view = QTableView()
    view.setModel(rows)
    view.setItemDelegate(delegate or QStyledItemDelegate(view))
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    view.verticalHeader().setDefaultSectionSize(ROW - 6)
    return view


def ready(widget: QWidget, size: tuple[int, int]) -> None:
    """Show a widget and let its first paint be done."""
    widget.resize(*size)
    widget.show()
    QApplication.processEvents()


def median_of(act: Callable[[int], object], times: int) -> float:
    """Return the median milliseconds of this thread's own work in each action and its paint."""
    took = []
    for number in range(times):
        began = time.thread_time()
        act(number)
        QApplication.processEvents()
        took.append(1000 * (time.thread_time() - began))
    return statistics.median(took)


def table_figures(view: QTableView) -> tuple[float, float, float]:
    """Return milliseconds of a whole repaint, of a page down and of one row down."""
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    for column in range(COLUMNS):
        view.setColumnWidth(column, 100)
    ready(view, TABLE)
    bar = view.verticalScrollBar()
    bar.setValue(0)
    areas = view.viewport(), view.verticalHeader().viewport(), view.horizontalHeader().viewport()

    def repaint(_: int) -> None:
        for area in areas:
            area.update()

    figures = (
        median_of(repaint, STEPS),
        median_of(lambda i: bar.setValue(40 * (i + 1)), STEPS),
        median_of(lambda i: bar.setValue(5000 + i), STEPS),
    )
    view.hide()
    return figures


def plain_will_do(ours: Sequence[float], plain: Sequence[float]) -> bool:
    """Return whether no kind of frame takes the plain way both much longer than ours and long."""
    return all(slow <= NEAR * quick or slow < QUICK for quick, slow in zip(ours, plain, strict=True))


def conclusions(compared: Sequence[Compared]) -> list[str]:
    """Return what follows from the figures for each piece that is painted by hand."""
    rule = (
        f"The plain way is as good where each frame takes it less than {QUICK:g} ms, or at most {NEAR:g} times as long."
    )
    lines = [rule, ""]
    for name, ours, plain in compared:
        slow, quick = max(zip(plain, ours, strict=True), key=lambda pair: pair[0] / pair[1])
        told = f"{slow:.1f} ms against {quick:.1f} ms in its worst frame"
        kept = "**the plain way would do**" if plain_will_do(ours, plain) else "is worth painting by hand"
        lines.append(f"- {name}: {kept} ({told}).")
    return lines


# -- each chart: ours, and an equal plot ------------------------------------------------------------------------------

NAMES = tuple(f"{10 * at} – {10 * at + 9}" for at in range(24))


def heights(number: int) -> list[int]:
    """Return other heights of the bars for each update."""
    return np.random.default_rng(number).integers(1, 1000, len(NAMES)).tolist()


Shown = tuple[QWidget, Callable[[int], object]]


def our_histogram(session: Session) -> Shown:
    """Bars with the ends of their range."""
    made = Histogram(session)
    return made, lambda i: made.show_bars([Bin(n, h) for n, h in zip(NAMES, heights(i), strict=True)], "age")


def our_distribution(session: Session) -> Shown:
    """Bars before and steps after a draw."""
    made = Distribution(session)

    def show(number: int) -> None:
        before, after = np.array(heights(number)), np.array(heights(number + 99))
        made.show_column(
            Spread(name="age", numeric=True, labels=NAMES, original=before.tolist(), sanitised=after.tolist())  # type: ignore[arg-type]
        )

    return made, show


def our_candidates(session: Session) -> Shown:
    """A bar for each mechanism."""
    made = CandidateBars(session)
    column = DraftColumn(name="age", kind="integer", lower=0.0, upper=99.0)

    def show(number: int) -> None:
        listed = tuple(Candidate(f"m{at}", f"mechanism {at}", h / 10) for at, h in enumerate(heights(number)[:5]))
        made.show_outlook(Outlook(column, 1, listed, 20.0, "59", 100, None))  # type: ignore[arg-type]

    return made, show


def our_response(session: Session) -> Shown:
    """The chance of each answer."""
    made = Chart(session, "share_becoming", usual=QSize(360, 220), least=QSize(0, LEAST))

    def show(number: int) -> None:
        found = np.array(heights(number), dtype=float)
        made.show_drawing(becoming(Example("80", NAMES, tuple((found / found.sum()).tolist()), 8)))

    return made, show


def our_steps(session: Session) -> Shown:
    """A line over 500 steps."""
    made = StepChart(session, "loss", "Loss")
    made.begin(10_000, 2.0)
    made.show_points([(20 * at, 1 + at / 500) for at in range(500)])
    return made, lambda i: made.add(i, 2.0 + i / 100)


def our_pairs(session: Session) -> Shown:
    """Two triangles of twelve columns."""
    made = PairMap(session)

    def show(number: int) -> None:
        draw = np.random.default_rng(number)
        names = tuple(f"column {at}" for at in range(12))
        two = draw.uniform(-1, 1, (2, 12, 12))
        made.show_pairs(Pairs(names, (True,) * 12, two[0], two[1], 100, 100, 0))

    return made, show


def plot(*, axes: bool = True) -> tuple[QWidget, object]:
    """Return a plot in the colours of ours."""
    import pyqtgraph as pg

    made = pg.PlotWidget(background=LIGHT.surface)
    made.hideButtons()
    made.setMenuEnabled(False)
    made.setMouseEnabled(False, False)
    if not axes:
        made.hideAxis("left")
    return made, made.getPlotItem()


def plain_bars(count: int = len(NAMES), *, lying: bool = False, line: bool = False) -> Callable[[Session], Shown]:
    """Return a maker of a plot of bars, lying or with the dots of a draw over them."""

    def make(_: Session) -> Shown:
        import pyqtgraph as pg

        made, item = plot(axes=False)
        places = np.arange(count)
        options = {"x0": 0, "y": places, "height": 0.5} if lying else {"x": places, "y0": 0, "width": 0.9}
        size = "width" if lying else "height"
        drawn = pg.BarGraphItem(**options, **{size: places}, brush=LIGHT.accent, pen=None)
        item.addItem(drawn)  # type: ignore[attr-defined]
        item.getAxis("bottom").setTicks([[(0, "0"), (count - 1, "239")]])  # type: ignore[attr-defined]
        dots = item.plot([], symbol="o", symbolSize=6, pen=pg.mkPen(LIGHT.warn, width=2)) if line else None  # type: ignore[attr-defined]

        def show(number: int) -> None:
            drawn.setOpts(**options, **{size: heights(number)[:count]})
            if dots is not None:
                dots.setData(places, heights(number + 99))

        return made, show

    return make


def plain_steps(_: Session) -> Shown:
    """A line over 500 steps, as a plot."""
    import pyqtgraph as pg

    made, item = plot()
    item.setTitle("Loss")  # type: ignore[attr-defined]
    points = [(20 * at, 1 + at / 500) for at in range(500)]
    item.addItem(pg.InfiniteLine(2.0, angle=0))  # type: ignore[attr-defined]
    line = item.plot(pen=pg.mkPen(LIGHT.accent, width=2), antialias=True)  # type: ignore[attr-defined]

    def show(number: int) -> None:
        points.append((number, 2.0 + number / 100))
        line.setData(np.array(points))

    return made, show


def plain_pairs(_: Session) -> Shown:
    """Two pictures of cells with a number in each."""
    import pyqtgraph as pg

    made = pg.GraphicsLayoutWidget()
    made.setBackground(LIGHT.surface)
    sides = []
    for side in range(2):
        item = made.addPlot(0, side)
        picture = pg.ImageItem(np.zeros((12, 12)))
        item.addItem(picture)
        texts = {(i, j): pg.TextItem("", anchor=(0.5, 0.5)) for i in range(12) for j in range(i)}
        for (i, j), text in texts.items():
            text.setPos(i + 0.5, j + 0.5)
            item.addItem(text)
        sides.append((picture, texts))

    def show(number: int) -> None:
        two = np.random.default_rng(number).uniform(-1, 1, (2, 12, 12))
        for (picture, texts), values in zip(sides, two, strict=True):
            picture.setImage(values)
            for place, text in texts.items():
                text.setText(f"{values[place]:.2f}")

    return made, show


CHARTS: Sequence[tuple[str, tuple[int, int], Callable[[Session], Shown], Callable[[Session], Shown]]] = (
    ("gui/pages/data/attribute_table.py", (340, 110), our_histogram, plain_bars()),
    ("gui/widgets/distribution.py", (900, 160), our_distribution, plain_bars(line=True)),
    ("gui/pages/protect/page.py", (340, 200), our_candidates, plain_bars(5, lying=True)),
    ("gui/pages/protect/response_chart.py", (360, 220), our_response, plain_bars()),
    ("gui/pages/train/run_card.py", (420, 200), our_steps, plain_steps),
    ("gui/widgets/correlation_matrix.py", (1100, 500), our_pairs, plain_pairs),
)


def chart_figures(make: Callable[[Session], Shown], size: tuple[int, int], session: Session) -> tuple[float, float]:
    """Return milliseconds until a new chart is painted, and of an update until it is painted again."""
    kept: list[QWidget] = []

    def first(number: int) -> None:
        widget, show = make(session)
        show(number)
        ready(widget, size)
        kept.append(widget)

    made = median_of(first, ROUNDS)
    for widget in kept:
        widget.close()
        widget.deleteLater()
    QApplication.processEvents()
    widget, show = make(session)
    show(0)
    ready(widget, size)
    again = median_of(show, STEPS)
    widget.close()
    widget.deleteLater()
    QApplication.processEvents()
    return made, again


@pytest.mark.benchmark
def test_painting_by_hand_is_worth_its_lines() -> None:
    app = application()
    session = Session()
    app.setStyleSheet(stylesheet(session.theme))
    rows = model(session)
    plain, ours = plain_table(rows), RowsTable(session, JobCenter(session), rows, "rows", "Rows", row_height=ROW - 6)
    measured = {"plain view and delegate": table_figures(plain), "fast_table.py": table_figures(ours)}
    lines = [
        f"## Table, {TABLE[0]} × {TABLE[1]}, {COLUMNS} columns, a third of the cells tinted and bold",
        "",
        "| way | repaint | page down | row down |",
        "|---|---|---|---|",
        *(f"| {way} | " + " | ".join(f"{ms:.1f}" for ms in found) + " |" for way, found in measured.items()),
        "",
        "## Charts, against an equal pyqtgraph plot",
        "",
        "| chart | made and painted: ours | plot | updated: ours | plot |",
        "|---|---|---|---|---|",
    ]
    compared: list[Compared] = [("The table", *reversed(list(measured.values())))]
    for name, size, our_way, plain_way in CHARTS:
        chart_figures(plain_way, size, session)  # the first plot of a process also loads the library
        (made, again), (plot_made, plot_again) = (chart_figures(w, size, session) for w in (our_way, plain_way))
        compared.append((f"`{name}`", (made, again), (plot_made, plot_again)))
        lines.append(f"| `{name}` | {made:.1f} | {plot_made:.1f} | {again:.1f} | {plot_again:.1f} |")
    told = subprocess.run([sys.executable, "-c", COST], capture_output=True, text=True, check=True)
    loaded, library, each = map(float, told.stdout.split())
    lines += [
        "",
        f"In a fresh process the import of pyqtgraph takes {loaded:.0f} ms and {library:.0f} MB, each plot after it "
        f"{each:.1f} MB.",
    ]
    lines += ["", "## What follows", "", *conclusions(compared)]
    load = os.getloadavg()
    head = [
        "# Painted by hand, or the plain way",
        "",
        "`pytest -m benchmark tests/benchmarks/bench_painting.py`",
        "",
        f"*{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()}), load {load[0]:.1f} at the end, "
        f"Python {platform.python_version()}, Qt {qVersion()}, offscreen. "
        "Medians of the GUI thread's own work, in ms.*",
        "",
    ]
    RESULTS.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    print("\n".join(lines))  # noqa: T201 - the figures are what a benchmark is run for
    needless = [name for name, ours_took, plain_took in compared if plain_will_do(ours_took, plain_took)]
    assert not needless, "painted by hand without need"

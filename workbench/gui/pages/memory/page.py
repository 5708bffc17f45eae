"""Memory study: what training takes by phase for many settings at once, and the most rows that fit."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLineEdit, QWidget

from workbench.deep import networks
from workbench.deep.memory import PHASES
from workbench.deep.memory_study import MemoryStudy, StudyResult, StudyRow, line_name, study_bytes
from workbench.deep.networks import Network
from workbench.deep.networks.images import PIXELS
from workbench.deep.plan import CPU
from workbench.gui.pages import page_called
from workbench.gui.pages.base import GAP
from workbench.gui.pages.curve_actions import copy_curve, in_language, save_curve
from workbench.gui.pages.run_page import RunPage
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.basic import (
    Card,
    button,
    enable_if,
    into_sight,
    label,
    lines,
    named,
    panel,
    row,
    rule,
    say,
    segments,
    stack,
    views,
)
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.curve_plot import CurvePlot
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.formatting import in_letters, memory, plain
from workbench.gui.widgets.parameter_form import Form, explained
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable, TableFilter
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import WorkbenchError
from workbench.render.fonts import scaled
from workbench.render.memory_figure import decimals, memory_figure, phases_figure
from workbench.render.values import CurveFigure
from workbench.signals.events import Progress

if TYPE_CHECKING:
    from workbench.sanitize.plan import Plan

EVERY = 50  # settings between two reports of the progress


def studied(study: MemoryStudy, networks: Sequence[Network], emit: Emit, cancel: CancelToken) -> StudyResult:
    """Work out the memory of every setting; reads no data."""
    from workbench.deep.memory import LIBRARIES, PROCESS, available
    from workbench.deep.memory_study import MB, compare

    def progress(done: int, total: int) -> None:
        if done % EVERY == 0:
            emit(Progress(done, total, tr_later("settings")))

    fit = None if study.fit is None else int(study.fit * MB)
    if fit is None and study.device == CPU:
        fit = max(1, available(CPU) - PROCESS - LIBRARIES)  # it trains in a process of its own
    return compare(study, networks, fit, progress, cancel)


def shape_of(plan: Plan, target: str, emit: Emit, cancel: CancelToken) -> tuple[str, int] | None:
    """Return what a network would read of a table, as the form says it, and how many classes; ``None`` for neither."""
    from workbench.release.model.preflight import network_features

    try:
        features = network_features(plan, target)
    except WorkbenchError:
        return None  # a target that no network predicts: the form stays as it is
    return str(int(features.width)), len(features.classes)


# -- the page ---------------------------------------------------------------------------------------------------------


WIDTH = 320
ACROSS = 2
TITLES = {
    "classes": tr_later("classes"),
    "reductions": tr_later("reductions"),
    "device": tr_later("device"),
    "optimizer": tr_later("optimizer"),
}
FIRST, FOR_TABLES = "mnist-cnn", "mlp"


class ChoicesCard(Card):
    """A box for each network and the form below them."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._boxes: dict[str, QCheckBox] = {}
        self._touched = False
        self._networks = boxes = QWidget()
        grid = QGridLayout(boxes)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(2)
        for at, network in enumerate(networks.NETWORKS):
            title = tr_sentence(network.title)
            box = named(
                QCheckBox(_brief(network)),
                f"memory_network_{network.name}",
                title,
                tr("{title}. {about}", title=title, about=tr_sentence(network.about)),
            )
            box.setChecked(network.name == FIRST)
            box.toggled.connect(self.changed)
            box.clicked.connect(self._touch)
            grid.addWidget(box, at // ACROSS, at % ACROSS, Qt.AlignmentFlag.AlignLeft)
            self._boxes[network.name] = box
        self.form = Form("memory", MemoryStudy, titles=TITLES, across=ACROSS)
        self.form.changed.connect(self.changed)
        self._show_beginnings()
        self._given = ""
        self.body.add(label(tr("NETWORKS TO COMPARE"), "caption"), (explained(self.form, boxes, rule()), 1))

    def retranslate(self) -> None:
        for network in networks.NETWORKS:
            self._boxes[network.name].setText(_brief(network))

    def networks(self) -> tuple[Network, ...]:
        return tuple(network for network in networks.NETWORKS if self._boxes[network.name].isChecked())

    def study(self) -> MemoryStudy | None:
        found = self.form.value()
        assert found is None or isinstance(found, MemoryStudy)
        return found

    def show_shape(self, shape: str, classes: int) -> None:
        """Fill in the shape of the open rows, unless another one was typed."""
        present = self.study()
        if present is None or present.shape not in (self._given, MemoryStudy().shape):
            return
        self._given = shape
        self.form.set_value(type(present).from_plain({**present.to_plain(), "shape": shape, "classes": classes}))
        self._show_beginnings()
        if not self._touched:
            images = type(present)(shape=shape).inputs == PIXELS or "," in shape
            for name, wanted in ((FIRST, images), (FOR_TABLES, not images)):
                self._boxes[name].setChecked(wanted)
        self.changed.emit()

    def _touch(self) -> None:
        self._touched = True

    def _show_beginnings(self) -> None:
        """Show the beginning of each list: a field that is filled shows its end."""
        for field in self.form.findChildren(QLineEdit):
            field.setCursorPosition(0)

    def lock(self, *, locked: bool) -> None:
        enable_if(not locked, self._networks, self.form)


def _brief(network: Network) -> str:
    return tr_sentence(network.short or network.title).removesuffix(", DP-SGD")  # all of them are


WIDE = 1000  # points of the card from which chart and table are side by side

READABLE = 360  # points in which a chart can be read

NARROWEST = 128  # points that the list of charts keeps where text is large, and the words in place of a chart

PAD, BETWEEN = 12, 16  # points around everything, and between chart and table

COLUMNS = (
    Column(tr_later("Setting"), whole=True),  # one that is cut reads as another one
    Column(tr_later("Rows"), width=66, right=True),
    Column(tr_later("Peak, MB"), width=92, right=True),
    Column(tr_later("Most rows"), width=100, right=True),
    Column(tr_later("Model"), width=72, right=True),
    Column(tr_later("Batch"), width=68, right=True),
    Column(tr_later("Backward"), width=98, right=True),
    Column(tr_later("Step"), width=62, right=True),
)

MOST_KNOWN = 10**8  # rows above which the most that fit are not looked for exactly

IN_PARTS = tr_later("With privacy the processor takes a batch in small parts: more rows fit than without.")
MOST_TIP = tr_later("The most rows at once whose peak still fits into the memory that there is")
CHARTS = {
    "phases": tr_later("Four phases of the selected setting"),
    "peak": tr_later("Peak of every setting"),
    "model": tr_later("Model, every setting"),
    "batch": tr_later("Batch, every setting"),
    "backward": tr_later("Backward, every setting"),
    "step": tr_later("Step, every setting"),
}

CHART, TABLE = "chart", "table"
PHASES_OF_ONE = "phases"


class StudyCard(Card):
    """Shows the chart or the table, and both where there is room."""

    chosen = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(pad=PAD, spacing=6)
        self._session = session
        self.result: StudyResult | None = None
        self.most = 0  # the width of the page, which the card asks for no more than
        self.figure: CurveFigure | None = None
        self.plot = CurvePlot("memory", tr("Memory against the batch"))
        self.table = LinesTable(session, "memory_table", tr("Memory of every setting"), COLUMNS)
        self._filter = TableFilter(self.table, "lines")
        self.lines = named(ChoiceBox(), "memory_chart", tr("Lines of the chart"), tr("What each line of the chart is"))
        self.lines.setMinimumWidth(NARROWEST)
        for key, text in CHARTS.items():
            self.lines.addItem(tr(text), key)
        self._views = {CHART: self.plot, TABLE: self.table}
        titles = (
            (CHART, tr("Chart"), tr("Memory against the batch")),
            (TABLE, tr("Table"), tr("Every setting with its four phases")),
        )
        self._segments = segments(self, "memory_show_", titles, self._choose_view)
        self._segments[CHART].setChecked(True)
        self._remarks = label("", "muted", wrap=True, name="memory_remarks")
        self._both = row(self.plot, self.table, spacing=BETWEEN)
        self.body.add(
            lines(*self._segments.values(), 4, self.lines, None, self._filter), (panel(self._both), 1), self._remarks
        )
        shortcut = QShortcut(QKeySequence.StandardKey.Copy, self.plot, self.copy)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.lines.activated.connect(self.draw)
        self.table.selectionModel().currentRowChanged.connect(self._select)
        self._arrange()

    def show_result(self, found: StudyResult) -> None:
        """Show another study; the largest batch that fits is selected."""
        self.result = found
        self.table.lines.show_lines(_table_cells(found))
        self.table.selectRow(_first_selected(found))
        self._remarks.setText("\n".join(map(tr_sentence, found.remarks)))
        self._arrange()
        self.draw()

    def retranslate(self) -> None:
        if self.result is not None:
            self.table.lines.show_lines(_table_cells(self.result), same=True)
            self._remarks.setText("\n".join(map(tr_sentence, self.result.remarks)))
            self.draw()

    @property
    def selected(self) -> StudyRow | None:
        at = self.table.currentIndex().row()
        return self.result.rows[at] if self.result is not None and 0 <= at < len(self.result.rows) else None

    def draw(self) -> None:
        if self.result is None:
            return
        asked, selected = self.lines.currentData(), self.selected
        if asked == PHASES_OF_ONE:
            line = selected.line if selected is not None else self.result.lines[0]
            self.figure = in_language(phases_figure(self.result, line))
        else:
            self.figure = in_language(memory_figure(self.result, asked))
        self.plot.show_figure(self.figure, self._session.theme, Decimal(1))
        self.plot.setMinimumWidth(scaled(READABLE))  # where letters are large, it is below what is compared, too

    def copy(self) -> None:
        copy_curve(self._session, self.plot, chart=True)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        wide = self.width() >= scaled(WIDE)
        # Beside the chart the table is as wide as its figures, up to half: one that is scrolled hides the phases.
        room = self.width() - 2 * PAD - BETWEEN
        taken = min(self.table.whole_width, room // 2)
        self._both.setStretch(0, max(1, room - taken))
        self._both.setStretch(1, taken)
        # Alone the table has all of its figures in sight: where letters are large, below what is compared.
        self.table.most_asked = room // 2 if wide else self.most - 2 * PAD
        shown = {}
        for key, segment in self._segments.items():
            segment.setVisible(not wide)
            shown[self._views[key]] = wide or segment.isChecked()
        for view in sorted(shown, key=shown.__getitem__):  # first what goes: both make the card wide, without end
            view.setVisible(shown[view])
        self.lines.setVisible(not self.plot.isHidden())
        self._filter.setVisible(not self.table.isHidden())

    def _choose_view(self, _key: str) -> None:
        self._arrange()
        into_sight(self)

    def _select(self) -> None:
        if self.lines.currentData() == PHASES_OF_ONE:
            self.draw()
        self.chosen.emit()


def _table_cells(result: StudyResult) -> list[tuple[Cell, ...]]:
    highest = max(one.peak for one in result.rows)

    def cells(one: StudyRow) -> tuple[Cell, ...]:
        peak, most = _size(one.peak, highest), result.largest.get(one.line)
        if result.fit is not None and one.peak > result.fit:
            peak = peak._replace(text=f"! {peak.text}", look="danger", tip=tr("More than the memory that there is"))
        return (
            Cell(tr_sentence(line_name(one.line, result.lines)), tip=tr_sentence(one.line.network.title)),
            Cell(tr_number(one.batch, ","), tip=tr("Rows in memory at once"), exact=str(one.batch)),
            peak,
            Cell("–", "muted") if most is None else _most(most, in_parts=one.line.private and one.device == CPU),
            *(_size(one.phases[name], highest) for name in PHASES),
        )

    return [cells(one) for one in result.rows]


def _most(rows: int, *, in_parts: bool) -> Cell:
    """Return the most rows that fit: in full in the tip, and as a bound where they outgrow every table."""
    tip = f"{tr(MOST_TIP)}.\n{tr(IN_PARTS)}" if in_parts else tr(MOST_TIP)
    if rows > MOST_KNOWN:
        return Cell(f"> {in_letters(MOST_KNOWN)}", tip=tip, exact=str(rows))
    return Cell(in_letters(rows), tip=f"{tr_number(rows, ',')}: {tip}", exact=str(rows))


def _first_selected(result: StudyResult) -> int:
    """Return the row that is selected at first: the largest batch that fits, of the first private setting."""
    private = [at for at, row in enumerate(result.rows) if row.line.private] or list(range(len(result.rows)))
    of_first = [at for at in private if result.rows[at].line == result.rows[private[0]].line]
    fitting = [at for at in of_first if result.fit is None or result.rows[at].peak <= result.fit]
    return (fitting or of_first)[-1]


def _size(size: int, highest: int) -> Cell:
    """Return bytes in MB, with as many digits behind the point as in the chart."""
    text = tr_number(size / 1e6, f",.{decimals(highest / 1e6)}f")
    return Cell(
        text, tip=tr("{size} bytes", size=tr_number(size, ",")), exact=plain(size) if size < 1000 else str(size)
    )


EMPTY = tr_later(
    "Choose networks and how many rows they take at once, and press Compute. You will see what "
    "training needs in each phase, and the most rows that fit into memory."
)
NOTHING_OPEN = tr_later("Open a table or images in Data first")
TAKE_TIP = tr_later("Offer the network and the rows of the selected line on Train; nothing is started")
FILES = tr_later("Figures (*.csv);;Picture (*.png);;Vector picture (*.svg)")


class MemoryPage(RunPage):
    """What is compared on the left; the chart, its reasons and the table on the right."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("memory"))
        self._asked: object = None
        self._failure: WorkbenchError | None = None
        self.choices = ChoicesCard()
        self.found = StudyCard(session)
        self._problem = label("", "problem", wrap=True, name="memory_problem")
        tip = tr("Copy the picture (Ctrl+C in it); Ctrl+C in the table copies lines")
        self._copy = button(tr("Copy"), "memory_copy", tip=tip, press=self.found.copy)
        tip = tr("Save the figures as CSV, or the picture as PNG or SVG")
        self._save = button(tr("Save…"), "memory_save", tip=tip, press=self._ask_and_save)
        self._arrange()
        cancel = button(tr("Cancel"), "memory_cancel", "danger", tip=tr("Stop (Esc)"))
        self.set_run(tr("Compute"), "memory_run", tr("Work out every setting (Ctrl+Return)"), cancel)
        self.set_onward(tr("Take this batch to Train →"), "memory_to_train", "train", tr(TAKE_TIP))
        self._onward.clicked.connect(self._take)
        self.choices.changed.connect(self._edited)
        self.found.chosen.connect(self.refresh)
        for changed in (session.table_changed, session.plan_changed):
            changed.connect(self.in_sight(self._find_shape))
        session.theme_changed.connect(self.in_sight(self.found.draw))
        self._find_shape()
        self.refresh()

    def _arrange(self) -> None:
        back = self.leading_to("train", tr("← Train"), "memory_way_train", tr("Back to training"))
        self.header.add(back, self._copy, self._save)
        self._hint = label(tr(EMPTY), "muted", wrap=True, name="memory_empty")
        self._hint.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._views = views(Card(stack(None, self._hint, None)), self.found)
        right = panel(stack(self._problem, self._views))
        self.body.addLayout(lines(self.choices, (right, 1), spacing=GAP), 1)

    # -- what is asked ----------------------------------------------------------------------------------------------

    def resized(self) -> None:
        self.found.most = self.room
        least = scaled(WIDTH)
        beside = self.room >= least + GAP + scaled(READABLE) + 2 * PAD
        self.choices.setMinimumWidth(least)
        self.choices.setMaximumWidth(least if beside else self.width())
        self._hint.setMinimumWidth(scaled(NARROWEST))

    def missing(self) -> str:
        return ""

    def _find_shape(self) -> None:
        images, target, draft = self.session.images, self.session.target, self.session.plan
        if images is not None:
            shape = images.table.shape
            self.choices.show_shape(f"{shape.channels},{shape.height},{shape.width}", len(images.table.classes))
        elif self.session.opened is not None and target is not None and not draft.problems():
            job = Job(tr("Memory study"), partial(shape_of, draft.plan(), target))
            self.jobs.start(job, key="memory_shape", stoppable=False, on_result=self._show_shape)

    def _show_shape(self, found: tuple[str, int] | None) -> None:
        if found is not None:
            self.choices.show_shape(*found)

    def _what(self) -> object:
        return self.choices.networks(), self.choices.study()

    def _edited(self) -> None:
        self._failure = None
        self.refresh()

    def start(self) -> None:
        study, networks = self.choices.study(), self.choices.networks()
        if study is None or not networks:
            return
        self._failure, show = None, partial(self._show, self._what())
        job = Job(tr("Memory study"), partial(studied, study, networks))
        self.follow(self.jobs.start(job, key="memory_study", on_result=show, on_failure=self._refuse))

    def _refuse(self, error: BaseException) -> None:
        if isinstance(error, WorkbenchError):
            self._failure = error
        else:
            self.session.report(error)
        self.refresh()

    # -- what was found ---------------------------------------------------------------------------------------------

    def _show(self, what: object, found: StudyResult) -> None:
        self._asked = what
        self.found.show_result(found)
        self._views.setCurrentIndex(1)
        into_sight(self.found)
        self.refresh()

    def refresh(self) -> None:
        study, networks, chosen = self.choices.study(), self.choices.networks(), self.found.selected
        say(self._problem, "" if self._failure is None else sentence(self._failure))
        self.choices.lock(locked=self.running)
        enable_if(self.found.result is not None, self._copy, self._save)
        done = self._asked is not None and self._asked == self._what()
        self.show_buttons("", ready=study is not None and bool(networks), done=done)
        opened = self.session.open_data is not None
        self._onward.setEnabled(opened and chosen is not None)
        self._onward.setToolTip(tr(TAKE_TIP) if opened else tr(NOTHING_OPEN))
        self.set_note(tr("Choose at least one network.") if not networks else _note(self.found.result))

    @property
    def refused(self) -> WorkbenchError | None:
        return self._failure

    # -- where it goes ----------------------------------------------------------------------------------------------

    def _take(self) -> None:
        chosen = self.found.selected
        if chosen is None:
            return
        network, batch = chosen.line.network, chosen.batch
        self.session.to_run.make({"network": network.name, "batch": batch, "physical_batch": batch})
        self.session.notify(
            "info",
            tr(
                "Train offers {title} with {batch} rows in a step; nothing was started.",
                title=tr_sentence(network.title),
                batch=tr_number(batch, ","),
            ),
        )

    def _ask_and_save(self) -> None:
        path = ask_where_to_save(self, tr("Save the figures or the chart"), "memory-study.csv", tr(FILES))
        result, figure = self.found.result, self.found.figure
        if path and result is not None and figure is not None:
            save_curve(self.session, self.jobs, figure, lambda: study_bytes(result.rows).decode(), Path(path))


def _note(result: StudyResult | None) -> str:
    """Return the line at the foot: what the rows were to fit in, or that nothing is read."""
    if result is None:
        return tr("Worked out from shapes alone: no data is read and nothing is charged.")
    if result.fit is None:
        return tr("To see the most rows that fit, type the GPU's memory on the left.")
    return tr("Most rows: what fits in {fit}, beside the data.", fit=memory(result.fit))

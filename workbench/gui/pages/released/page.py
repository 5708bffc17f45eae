"""Released: a table of all releases, and the card of the selected one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QWidget

from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.released import PAGE
from workbench.gui.pages.released.quality_card import QualityCard
from workbench.gui.session.account_task import read_releases
from workbench.gui.session.account_view import GENERALISED, ReleasedStep
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import Card, button, empty, label, look, named, panel, row, scrolled, stack
from workbench.gui.widgets.empty_state import NothingYet
from workbench.gui.widgets.formatting import at_most, count, entered, in_full, moment, paused_words
from workbench.gui.widgets.lines_table import LinesTable
from workbench.gui.widgets.master_detail import MasterDetail, Standing
from workbench.gui.widgets.release_card import NO_EPSILON, ReleasedCard
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import TableFilter

NOTHING = tr_later(
    "Nothing was released on this computer yet. A release, with its certificate, is listed here for good."
)
KINDS = {
    "": tr_later("noisy rows"),
    "synthetic": tr_later("synthetic rows"),
    "statistics": tr_later("statistics"),
    "values": tr_later("values and bounds"),
    GENERALISED: tr_later("generalised rows"),
}
"""What a person calls a kind of release; any other by its own name."""

ROWS = ("", "synthetic", GENERALISED)
"""Kinds of releases that hold rows like those of the original."""

COLUMNS = (
    Column(tr_later("Released"), help=tr_later("When it was charged (UTC)"), width=120),
    Column(tr_later("What"), help=tr_later("The file or folder that was written"), width=150),
    Column(tr_later("Kind"), help=tr_later("Noisy rows, synthetic rows, statistics, a model …"), width=104),
    Column("ε", help=tr_later("What it cost, for all rows of a person"), width=56, right=True),
    Column("δ", width=56, right=True),
    Column(tr_later("Files"), help=tr_later("Whether its files are where they were written"), width=84),
)


@dataclass(frozen=True)
class _Line:
    step: ReleasedStep
    kind: str

    def cells(self) -> tuple[Cell, ...]:
        step, there = self.step, bool(self.step.files)
        return (
            Cell(moment(step.time), tip=step.time),
            Cell(step.output.name, tip=str(step.output)),
            Cell(self.kind),
            *self._cost(),
            Cell(tr("in place") if there else tr("moved"), "text" if there else "muted"),
        )

    def _cost(self) -> tuple[Cell, Cell]:
        step = self.step
        if step.generalised:
            return Cell(tr("no ε"), "warn", tip=tr(NO_EPSILON), exact=tr(NO_EPSILON), spoken=tr(NO_EPSILON)), Cell()
        return (
            Cell(at_most(step.epsilon), tip=in_full(step.epsilon), exact=entered(step.epsilon)),
            Cell(entered(step.delta), "text" if step.delta else "muted"),
        )


class ReleasedPage(PageFrame):
    """The releases of all tables, or of the one that is open."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        self._all: tuple[ReleasedStep, ...] = ()
        self._lines: list[_Line] = []
        self._chosen = ""
        self._compared_with = ""  # the account of the table that the shown release can be compared with
        self._newest: ReleasedStep | None = None
        self._awaited = ""  # the newest release, until it is in the list
        self._own = named(
            QCheckBox(tr("of the open table")), "released_own", tr("Only releases of the table that is open")
        )
        self._own.toggled.connect(self._show)
        self.table = LinesTable(session, "released_list", tr("Every release, the newest first"), COLUMNS)
        self._filter = TableFilter(self.table, "lines")
        self.table.shown_changed.connect(self._follow_filter)
        self.header.addWidget(self._own)
        self.header.addWidget(self._filter)
        self.table.selectionModel().currentRowChanged.connect(lambda now, _former: self._choose(now.row()))
        self._paused = label("", "accent", wrap=True, name="released_paused")
        resume = button(
            tr("Go on with it →"), "released_resume", tip=tr("Models, Train: resume or give up the training")
        )
        resume.clicked.connect(lambda: session.go("train"))
        self._resume = panel(row(self._paused, None, resume))
        self._place = stack(spacing=12)
        self._detail = look(Standing(pad=0), "quiet")
        self._detail.body.addWidget(scrolled(self._place, "released_detail"))
        self._parts = MasterDetail(Card(self.table, pad=8), self._detail, heights=(2, 3))
        self._nothing = NothingYet(session, "released_nothing", tr("Nothing released yet"), "ways", tr("Release →"))
        self._nothing.say(tr(NOTHING))
        self.body.addWidget(self._resume)
        self.body.addWidget(self._parts, 1)
        self.body.addWidget(self._nothing, 1)
        session.account_changed.connect(self.in_sight(self.refresh))
        session.released_changed.connect(self.in_sight(self.refresh))
        session.released_changed.connect(self._choose_newest)
        session.table_changed.connect(self.in_sight(self.refresh))
        session.paused_changed.connect(self._show_paused)
        self._show()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Read the ledger anew whenever the page is shown: other programs write into it, too."""
        super().showEvent(event)
        self.refresh()

    def refresh(self) -> None:
        read_releases(self.jobs, self._take, self.session.report)

    def retranslate(self) -> None:
        self._show()

    def _take(self, found: tuple[ReleasedStep, ...]) -> None:
        if found != self._all or not self._lines or self._compared_with != self._original():
            self._all = found
            self._show()

    def _show(self) -> None:
        session = self.session
        own = {step.release_id: step for step in session.released}
        self._choose_newest()
        self._compared_with = self._original()
        present = session.account.dataset
        self._own.setVisible(session.open_data is not None and bool(self._all))
        self._lines = [
            _Line(
                replace(own.get(one.release_id, one), time=one.time, dataset=one.dataset),
                tr("model") if one.model else tr(KINDS.get(one.central, one.central)),
            )
            for one in self._all
            if one.dataset == present or not (self._own.isChecked() and self._own.isVisible())
        ]
        self.table.lines.show_lines([line.cells() for line in self._lines])
        self._parts.setVisible(bool(self._all))
        self._filter.setVisible(bool(self._all))
        self._nothing.setVisible(not self._all)
        self._show_paused()
        shown = {self._lines[row].step.release_id: row for row in self.table.in_sight()}
        chosen = self._awaited if self._awaited in shown else self._chosen
        self._awaited = "" if self._awaited in shown else self._awaited
        if shown:  # the model was reset, so that this always chooses it
            self.table.selectRow(shown.get(chosen, next(iter(shown.values()))))

    def _follow_filter(self) -> None:
        """Say how many releases are in sight; without any there is no card."""
        lines = sum(1 for _ in self.table.in_sight())
        listed = tr("{lines} listed; copying what is released costs nothing.", lines=count(lines, "release"))
        self.set_note(listed if lines else "")
        at = self.table.currentIndex().row()
        if at < 0 or self.table.isRowHidden(at):
            self._choose(-1)
        elif not self._place.count():
            self._choose(at)

    def _choose(self, at: int) -> None:
        empty(self._place)
        if not 0 <= at < len(self._lines):
            return
        line = self._lines[at]
        self._chosen = line.step.release_id
        ways = (self._learn, self._estimate, self._open, self._attack)
        card = ReleasedCard(line.step, self.jobs, "shown_release", *ways)
        parts: list[QWidget] = [card]
        if line.step.files and line.step.dataset == self._original():
            rows = not line.step.model and line.step.central in ROWS
            parts.append(QualityCard(self.session, self.jobs, line.step.output, rows))
        for part in parts:
            self._place.addWidget(part)
            part.show()  # at once: Qt would show it only when it comes back to its event loop
        self._place.addStretch(1)

    def _original(self) -> str:
        """Return the account of the open table; empty without one."""
        return "" if self.session.opened is None else self.session.account.dataset

    def _choose_newest(self) -> None:
        """Choose what was just released: who comes from there looks for its files."""
        newest = self.session.released[-1] if self.session.released else None
        if newest != self._newest:
            self._newest = newest
            self._awaited = newest.release_id if newest is not None else ""

    def _show_paused(self) -> None:
        paused = self.session.paused
        self._resume.setVisible(bool(paused))
        if paused:
            self._paused.setText(paused_words(paused[0]))

    def _learn(self, release: Path) -> None:
        self.session.to_learn_from.make(release)
        self.session.go("predict")

    def _estimate(self, release: Path) -> None:
        self.session.to_estimate_from.make(release)
        self.session.go("estimate")

    def _attack(self, release: Path) -> None:
        self.session.to_attack.make(release)
        self.session.go("attack")

    def _open(self, release: Path) -> None:
        self.session.open_asked.emit(str(release))

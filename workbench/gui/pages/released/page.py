"""Released: a table of all releases, and the card of the selected one."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QRectF, QSize
from PySide6.QtWidgets import QCheckBox, QWidget

from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.session.account_task import read_releases
from workbench.gui.session.account_view import GENERALISED, ReleasedStep
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Offer, OpenTable, Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.bar import BarLines
from workbench.gui.widgets.basic import (
    Card,
    badge,
    button,
    empty,
    into_sight,
    label,
    look,
    named,
    panel,
    row,
    say,
    scrolled,
    stack,
)
from workbench.gui.widgets.chart import Chart, Drawing
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.formatting import at_most, count, entered, in_full, moment, paused_words
from workbench.gui.widgets.master_detail import MasterDetail, Standing
from workbench.gui.widgets.release_card import NO_EPSILON, ReleasedCard, bundle_beside
from workbench.gui.widgets.report_button import Reported, report_button
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable, TableFilter
from workbench.gui.widgets.way_bar import ROWS as NOISY
from workbench.gui.widgets.way_bar import inside
from workbench.jobs import CancelToken, Emit, Job

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.studies.quality.study import Quality


def scored(opened: OpenTable, target: str | None, release: Path, emit: Emit, cancel: CancelToken) -> Quality:
    """Score released rows beside the open table; runs in a worker."""
    from workbench.data.table_reader import ReadOptions
    from workbench.release.attack_inputs import rows_of_release
    from workbench.release.described_release import note_unless_released
    from workbench.release.ledger.study_note import note_study
    from workbench.studies.quality.study import QualityRequest, quality

    rows = rows_of_release(release, ReadOptions(), cancel)
    note_study(opened.table, "quality", emit=emit)
    note_unless_released(rows.table, "quality", emit=emit)
    asked = QualityRequest(target=target if target in rows.table.names else None)
    return quality(opened.table, rows.table, plan=rows.plan, request=asked, emit=emit, cancel=cancel)


WORST = 3
HEAD, GAP = 22.0, 28.0


class PairPicture(Chart):
    """Two tables of two columns side by side: the darker a cell, the more rows are in it."""

    margins, letters = QMarginsF(), 12
    usual, least = QSize(720, 240), QSize(420, 200)

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._tables: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._names = ("", "")

    def show_pair(self, names: tuple[str, str], tables: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
        self._names, self._tables = names, tables
        words = tr("{one} across, {other} upwards: the darker, the more rows.", one=names[0], other=names[1])
        self.setToolTip(words)
        self.setAccessibleName(words)
        self.update()

    def drawing(self) -> Drawing:
        if self._tables is None:
            return Drawing(frame="none")
        wide = (self.width() - GAP) / 2
        marks: list[mark.Mark] = []
        for side, (title, table) in enumerate(zip((tr("Original"), tr("Released")), self._tables, strict=True)):
            left = side * (wide + GAP)
            marks.append(mark.word(QRectF(left, 0, wide, HEAD - 2), title, "text", "left", 13))
            most = float(table.max())  # each on its own scale: the shapes are compared
            shares = [[math.sqrt(share / most) for share in row] for row in table.T.tolist()]
            marks.append(mark.shades(shares, QRectF(left, HEAD, wide, self.height() - HEAD - 20)))
            below = QRectF(left, self.height() - 18, wide, 18)
            marks.append(mark.word(below, f"{self._names[0]} →   {self._names[1]} ↑", "muted", "left", 12))
        return Drawing(marks, frame="none")


class QualityCard(Card):
    """Asks for the comparison, and shows it."""

    def __init__(self, session: Session, jobs: JobCenter, release: Path, rows: bool) -> None:
        """Make it, for a released file or the folder of a model; ``rows`` says whether it holds rows."""
        super().__init__(spacing=8)
        self.setObjectName("quality")
        self._session, self._jobs, self._release = session, jobs, release
        self.found: Quality | None = None
        self._badge = badge()
        self._badge.hide()
        self.body.addLayout(row(label(tr("BESIDE THE OPEN TABLE"), "caption"), None, self._badge))
        tip = tr("Scores beside what held-out real rows reach; private")
        self._ask = button(tr("How good are these rows?"), "quality_ask", tip=tip, press=self._start)
        self._ask.setVisible(rows)
        report = report_button(session, jobs, "quality_report", self._reported)
        self.body.addLayout(row(self._ask, report, None))
        self._state = label("", "muted", wrap=True, name="quality_state", hidden=True)
        self.body.addWidget(self._state)
        self.scores = BarLines(session, "quality_score", tr("of held-out rows"), tr("score"))
        self._words = label("", "muted", wrap=True, name="quality_words")
        self._choices = tuple(named(ChoiceBox(), f"quality_{k}", tr("Column of the picture")) for k in ("x", "y"))
        for choice in self._choices:
            choice.activated.connect(lambda _at: self._show_pair())
        self.picture = PairPicture(session, "quality_pair")
        self._pictured = panel(row(*self._choices, None))
        self._parts = (self.scores, self._words, self._pictured, self.picture)
        for part in self._parts:
            part.hide()
            self.body.addWidget(part)

    def _start(self) -> None:
        if not private_figures.may_show(self, self._session):
            return
        self._ask.setEnabled(False)
        self._say(tr("Comparing…"))
        work = partial(scored, self._session.open_table, self._session.target, self._release)
        job = Job(tr("Comparing with the original"), work, about=self._release.name)
        handle = self._jobs.start(job, key="quality", on_result=self._show, on_failure=self._failed)
        handle.ended.connect(lambda: self._ask.setEnabled(True))
        handle.cancelled.connect(lambda: self._say(""))
        private_figures.follow_note(self._session, self._jobs, handle)

    def _reported(self) -> Reported | None:
        opened = self._session.opened
        return None if opened is None else Reported(opened, self._release)

    def _say(self, text: str, kind: str = "muted") -> None:
        look(self._state, kind)
        say(self._state, text)

    def _failed(self, error: BaseException) -> None:
        said = self._session.worded(error)
        self._say(said and f"✕ {said}", "danger")

    def _show(self, found: Quality) -> None:
        self.found = found
        self._say("")
        for part in (*self._parts, self._badge):
            part.show()
        lines = [
            (
                score.name,
                tr_sentence(score.title),
                0.0 if math.isnan(one.value) else one.value,
                -1.0 if math.isnan(one.reached) else one.reached,
                "–" if math.isnan(one.value) else tr_number(one.value, ".3f"),
                "–" if math.isnan(one.share) else f"{tr_number(100 * one.share, '.0f')} %",
            )
            for score, one in found.found
        ]
        self.scores.show_lines(lines, "accent")
        self._words.setText(_words(found))
        names = [column.name for column in found.compared.original.columns]
        for choice, at in zip(self._choices, _worst_pair(found), strict=True):
            choice.clear()
            choice.addItems(names)
            choice.setCurrentIndex(at)
        self._show_pair()
        into_sight(self)

    def _show_pair(self) -> None:
        if self.found is None:
            return
        from workbench.studies.quality.way_tables import pair_shares

        compared = self.found.compared
        first, second = (choice.currentIndex() for choice in self._choices)
        names = compared.original.columns[first].name, compared.original.columns[second].name
        self.picture.show_pair(names, pair_shares(compared.original, compared.released, first, second))


def _words(found: Quality) -> str:
    """Return what the scores are compared with, the least alike columns, and what is not compared."""
    said = [tr("Mark and share: what {beside}.", beside=tr_sentence(found.comparison_words))]
    if not math.isnan(found.overall):
        said.append(tr("Overall, as sdmetrics scores it: {figure}.", figure=tr_number(found.overall, ".3f")))
    details = sorted((d for d in found.details("column_shapes") if not math.isnan(d.score)), key=lambda d: d.score)
    worst = ", ".join(f"{d.columns[0]} {tr_number(d.score, '.2f')}" for d in details[:WORST])
    said.append(tr("Least alike: {columns}.", columns=worst))
    for score, one in found.found:
        if score.name == "pmse" and "ratio" in one.facts and not math.isnan(one.facts["ratio"]):
            said.append(
                tr(
                    "pMSE is {ratio} times what rows from the right model have; held-out rows reach {reached}.",
                    ratio=tr_number(one.facts["ratio"], ".3g"),
                    reached=tr_number(one.facts["ratio_held_out"], ".3g"),
                )
            )
        if one.words:
            said.append(tr_sentence(one.words))
    return " ".join(said)


def _worst_pair(found: Quality) -> tuple[int, int]:
    """Return the places of the two columns that go together least alike."""
    names = [column.name for column in found.compared.original.columns]
    pairs = [d for d in found.details("two_way") if not math.isnan(d.score)]
    if not pairs:
        return 0, len(names) - 1
    worst = min(pairs, key=lambda d: d.score)
    return names.index(worst.columns[0]), names.index(worst.columns[1])


# -- the page ---------------------------------------------------------------------------------------------------------


ROWS = ("", "synthetic", GENERALISED)  # kinds of releases that hold rows like those of the original

PAD, LEAST_LINES = 8, 3  # of the card around the list, and of the list

COLUMNS = (
    Column(tr_later("Released"), help=tr_later("When it was charged (UTC)"), width=120, whole=True),
    Column(tr_later("What"), help=tr_later("The file or folder that was written"), width=150),
    Column(tr_later("Kind"), help=tr_later("Noisy rows, synthetic rows, statistics, a model …"), width=104),
    Column("ε", help=tr_later("What it cost, for all rows of a person"), width=56, right=True),
    Column("δ", width=56, right=True),
    Column(tr_later("Files"), help=tr_later("Whether its files are where they were written"), width=84),
)


def _kind_of(step: ReleasedStep) -> str:
    if step.model:
        return tr("model")
    return tr("generalised rows") if step.generalised else inside(step.central or NOISY)


def _cells(step: ReleasedStep) -> tuple[Cell, ...]:
    cost = (
        Cell(at_most(step.epsilon), tip=in_full(step.epsilon), exact=entered(step.epsilon)),
        Cell(entered(step.delta), "text" if step.delta else "muted"),
    )
    if step.generalised:
        cost = Cell(tr("no ε"), "warn", tip=tr(NO_EPSILON), exact=tr(NO_EPSILON), spoken=tr(NO_EPSILON)), Cell()
    return (
        Cell(moment(step.time), tip=step.time),
        Cell(step.output.name, tip=str(step.output)),
        Cell(_kind_of(step)),
        *cost,
        Cell(tr("in place")) if step.files else Cell(tr("moved"), "muted"),
    )


class ReleasedPage(PageFrame):
    """The releases of all tables, or of the one that is open."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("released"))
        self._all: tuple[ReleasedStep, ...] = ()
        self._lines: list[ReleasedStep] = []
        self._chosen = ""
        self._bundled: set[str] = set()  # releases whose bundle was written here, wherever it went
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
        self.header.add(self._own, self._filter)
        self.table.selectionModel().currentRowChanged.connect(lambda now, _former: self._choose(now.row()))
        self._paused = label("", "accent", wrap=True, name="released_paused")
        tip = tr("Models, Train: resume or give up the training")
        resume = button(tr("Go on with it →"), "released_resume", tip=tip, press=lambda: session.go("train"))
        self._resume = panel(row(self._paused, None, resume))
        self._place = stack(spacing=12)
        self._detail = look(named(Standing(pad=0), "released_card"), "quiet")
        self._detail.body.addWidget(scrolled(self._place, "released_detail"))
        self._parts = MasterDetail(Card(self.table, pad=PAD), self._detail, heights=(2, 3))
        nothing = tr(
            "Nothing has been released on this computer yet. A release, with its certificate, is listed here for good."
        )
        title, leads = tr("Nothing released yet"), {"ways": tr("Release →")}
        self._nothing = EmptyState(session, "released_nothing", title, nothing, **leads)
        self.body.add(self._resume, (self._parts, 1), (self._nothing, 1))
        session.account_changed.connect(self.in_sight(self.refresh))
        session.released_changed.connect(self.in_sight(self.refresh))
        session.released_changed.connect(self._choose_newest)
        session.table_changed.connect(self.in_sight(self.refresh))
        session.paused_changed.connect(self._show_paused)
        self._show()

    def shown(self) -> None:
        """Read the ledger anew whenever the page is shown: other programs write into it, too."""
        self.refresh()

    def refresh(self) -> None:
        read_releases(self.jobs, self._take)

    def retranslate(self) -> None:
        self._show()

    def _take(self, found: tuple[ReleasedStep, ...]) -> None:
        if found != self._all or not self._lines or self._compared_with != self._original():
            held = self.window().focusWidget()
            own = self.isAncestorOf(held)
            self._all = found
            self._show()
            if own:
                self.keep_keys(held)

    def _show(self) -> None:
        session = self.session
        own = {step.release_id: step for step in session.released}
        self._choose_newest()
        self._compared_with = self._original()
        present = session.account.dataset
        self._own.setVisible(session.open_data is not None and bool(self._all))
        self._lines = [
            replace(own.get(one.release_id, one), time=one.time, dataset=one.dataset)
            for one in self._all
            if one.dataset == present or not (self._own.isChecked() and self._own.isVisible())
        ]
        self.table.lines.show_lines(list(map(_cells, self._lines)))
        self._parts.fill(self.table.room_for(max(len(self._lines), LEAST_LINES)) + 2 * PAD)
        self._parts.setVisible(bool(self._all))
        self._filter.setVisible(bool(self._all))
        self._nothing.setVisible(not self._all)
        self._show_paused()
        shown = {self._lines[row].release_id: row for row in self.table.in_sight()}
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
        self.highlight(None)  # a button of the card that goes
        empty(self._place)
        if not 0 <= at < len(self._lines):
            return
        step, session = self._lines[at], self.session
        self._chosen = step.release_id
        ways = (
            partial(self._lead, session.to_learn_from, "predict"),
            partial(self._lead, session.to_estimate_from, "estimate"),
            lambda release: session.open_asked.emit(str(release)),
            partial(self._lead, session.to_attack, "attack"),
        )
        card = ReleasedCard(step, self.jobs, "shown_release", *ways)
        if step.files and step.release_id not in self._bundled and not bundle_beside(step.output).exists():
            self.highlight(card.bundle)
            card.bundled.connect(partial(self._has_bundle, step.release_id))
        parts: list[QWidget] = [card]
        if step.files and step.dataset == self._original():
            rows = not step.model and step.central in ROWS
            parts.append(QualityCard(session, self.jobs, step.output, rows))
        for part in parts:
            self._place.addWidget(part)
            part.show()  # at once: Qt would show it only when it comes back to its event loop
        self._place.addStretch(1)

    def _has_bundle(self, release_id: str) -> None:
        self._bundled.add(release_id)
        self.highlight(None)

    def _original(self) -> str:
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

    def _lead(self, offer: Offer, page: str, release: Path) -> None:
        offer.make(release)
        self.session.go(page)

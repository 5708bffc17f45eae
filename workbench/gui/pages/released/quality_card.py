"""How good the rows of a release are beside the open table: scores, and two columns as a picture. Private."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QRectF, QSize

from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets import figures_first
from workbench.gui.widgets.bar import BarLines
from workbench.gui.widgets.basic import Card, badge, button, into_sight, label, look, named, panel, row, say
from workbench.gui.widgets.chart import Chart, Drawing
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.figures_first import follow_note
from workbench.gui.widgets.report_button import Reported, report_button
from workbench.jobs import Job
from workbench.params import WorkbenchError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.studies.quality.study import Quality

Failed = Callable[[BaseException], None]


def compare(
    session: Session, jobs: JobCenter, release: Path, show: Callable[[Quality], None], failed: Failed
) -> JobHandle:
    """Score released rows beside the open table."""
    opened, target = session.opened, session.target
    assert opened is not None

    def work(emit: Emit, cancel: CancelToken) -> Quality:
        from workbench.data.read import ReadOptions
        from workbench.release.attacked import rows_of_release
        from workbench.release.described_release import note_unless_released
        from workbench.release.ledger.study_note import note_study
        from workbench.studies.quality.study import QualityRequest, quality

        rows = rows_of_release(release, ReadOptions(), cancel)
        note_study(opened.table, "quality", emit=emit)
        note_unless_released(rows.table, "quality", emit=emit)
        asked = QualityRequest(target=target if target in rows.table.names else None)
        return quality(opened.table, rows.table, plan=rows.plan, request=asked, emit=emit, cancel=cancel)

    job = Job(tr("Comparing with the original"), work, about=release.name)
    return follow_note(session, jobs, jobs.start(job, key="quality", on_result=show, on_failure=failed))


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
        """Show another pair."""
        self._names, self._tables = names, tables
        words = tr("{one} across, {other} upwards: the darker, the more rows.", one=names[0], other=names[1])
        self.setToolTip(words)
        self.setAccessibleName(words)
        self.update()

    def drawing(self) -> Drawing:
        """Return both tables."""
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
        self._found: Quality | None = None
        self._badge = badge()
        self._badge.hide()
        self.body.addLayout(row(label(tr("BESIDE THE OPEN TABLE"), "caption"), None, self._badge))
        self._ask = button(
            tr("How good are these rows?"),
            "quality_ask",
            tip=tr("Scores beside what held-out real rows reach; private"),
        )
        self._ask.setVisible(rows)
        self._ask.clicked.connect(self._start)
        report = report_button(session, jobs, "quality_report", self._reported)
        self.body.addLayout(row(self._ask, report, None))
        self._state = label("", "muted", wrap=True, name="quality_state")
        self._state.hide()
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

    @property
    def found(self) -> Quality | None:
        """What is shown."""
        return self._found

    def _start(self) -> None:
        if not figures_first.may_show(self, self._session):
            return
        self._ask.setEnabled(False)
        self._say(tr("Comparing…"))
        self._follow(compare(self._session, self._jobs, self._release, self._show, self._failed))

    def _reported(self) -> Reported | None:
        opened = self._session.opened
        return None if opened is None else Reported(opened, self._release)

    def _follow(self, handle: JobHandle) -> None:
        handle.ended.connect(self._wait_no_more)
        handle.cancelled.connect(lambda: self._say(""))

    def _wait_no_more(self) -> None:
        self._ask.setEnabled(True)

    def _say(self, text: str, kind: str = "muted") -> None:
        look(self._state, kind)
        say(self._state, text)

    def _failed(self, error: BaseException) -> None:
        if not isinstance(error, WorkbenchError):
            self._session.report(error)
            self._say("")
            return
        self._say(f"✕ {sentence(error)}", "danger")

    def _show(self, found: Quality) -> None:
        self._found = found
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
        if self._found is None:
            return
        from workbench.studies.quality.way_tables import pair_shares

        compared = self._found.compared
        first, second = (choice.currentIndex() for choice in self._choices)
        names = compared.original.columns[first].name, compared.original.columns[second].name
        self.picture.show_pair(names, pair_shares(compared.original, compared.released, first, second))


def _words(found: Quality) -> str:
    """Return what the scores are compared with, the least alike columns, and what is not compared."""
    said = [tr("Mark and share: what {beside}.", beside=tr_sentence(found.beside))]
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

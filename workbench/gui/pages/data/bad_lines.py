"""The line that could not be read, among its neighbours: what a person corrects in an editor, then reads again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QWidget

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.widgets.basic import Card, badge, button, label, look, once, row
from workbench.jobs import Job
from workbench.params import WorkbenchError
from workbench.signals.cancel import CancelToken

HELP = tr_later(
    "Correct the marked line in an editor, save the file, and press Read again. Where every line "
    "looks wrong, state below how the file is written."
)
REPLACE = tr_later(
    "Open the file with each row that has not the right number of cells as an empty row, and let "
    "the plan replace all other invalid values too: what is missing is kept as ‘missing’, what "
    "is outside the bounds becomes the nearest bound"
)

LINE = 22

CONTEXT = 2
"""Lines before and after the one in question."""

LONGEST = 400
KEY = "bad-lines"


@dataclass(frozen=True)
class FileLine:
    """One line of a text file. Private."""

    number: int
    text: str
    bad: bool


def show_lines(
    source: str, error: BaseException, encoding: str | None, jobs: JobCenter, apply: Callable[[list[FileLine]], None]
) -> JobHandle | None:
    """Read the lines around the one that ``error`` names; ``None`` where it names none."""
    number = error.line if isinstance(error, WorkbenchError) else None
    if number is None:
        return None
    job = Job(tr("Looking at the file"), lambda emit, cancel: lines_near(Path(source), number, encoding, cancel))
    # Where even that fails, the error itself has been shown: there is nothing to add to it.
    return jobs.start(job, key=KEY, shown=False, on_result=apply, on_failure=lambda failure: apply([]))


def lines_near(path: Path, number: int, encoding: str | None, cancel: CancelToken) -> list[FileLine]:
    """Return the lines around ``number``, counted from 1; runs in a worker."""
    out = []
    # Latin-1 keeps every byte, so that lines are separated before anybody knows how letters are written.
    with path.open(encoding="latin-1", newline=None) as file:
        for at, line in enumerate(file, 1):
            if at % 4096 == 0:
                cancel.check()
            if at > number + CONTEXT:
                break
            if at >= number - CONTEXT:
                out.append(FileLine(at, _decoded(line.rstrip("\n"), encoding)[:LONGEST], bad=at == number))
    return out


def _decoded(line: str, encoding: str | None) -> str:
    raw = line.encode("latin-1")
    if encoding is None:
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            encoding = "cp1252"
    return raw.decode(encoding, errors="replace")


class BadLines(Card):
    """Some lines of the file with their numbers; hidden while there are none.

    Signals:
        replace_asked: the person wants rows with another number of cells to count as empty.
    """

    replace_asked = Signal()

    def __init__(self) -> None:
        super().__init__(spacing=8)
        self.setObjectName("bad_lines")
        self.setAccessibleName(tr("Lines of the file that could not be read"))
        self._source = ""
        self._grid = QGridLayout()
        self._grid.setContentsMargins(8, 8, 8, 8)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(2, 1)
        self._lines = look(QWidget(), "clear")
        self._lines.setLayout(self._grid)
        area = QScrollArea()
        area.setWidget(self._lines)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area = area
        edit = button(
            tr("Open the file"), "bad_lines_open", tip=tr("Open it in the program that this computer uses for it")
        )
        edit.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(self._source)))
        self.body.addLayout(row(label(tr("Where it went wrong"), "heading"), None, badge()))
        self.body.addWidget(area)
        self._replace = once(button(tr("Replace invalid values"), "bad_lines_replace", tip=tr(REPLACE)))
        self._replace.clicked.connect(self.replace_asked)
        line = row(label(tr(HELP), "muted", wrap=True), self._replace, edit, spacing=12)
        line.setStretch(0, 1)
        self.body.addLayout(line)
        self.hide()

    def show_lines(self, source: str, lines: list[FileLine], *, replaceable: bool = False) -> None:
        """Show some lines of the file at ``source``, and whether they can be read as empty rows instead."""
        self._source = source
        self._replace.setVisible(replaceable)
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        for at, line in enumerate(lines):
            kind, number = "danger" if line.bad else "muted", tr_number(line.number, ",")
            text = label(line.text, "danger" if line.bad else "", name=f"bad_line_{line.number}")
            text.setAccessibleName(
                tr("Line {number}, the one that is wrong: {text}", number=number, text=line.text)
                if line.bad
                else tr("Line {number}: {text}", number=number, text=line.text)
            )
            text.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
            for column, part in enumerate(
                (
                    label("✕" if line.bad else "", kind),
                    label(tr("line {number}", number=number), kind),
                    text,
                )
            ):
                self._grid.addWidget(part, at, column, Qt.AlignmentFlag.AlignTop)
        self._grid.setRowStretch(len(lines), 1)
        self._area.setFixedHeight(LINE * len(lines) + 28)  # with room for the bar below long lines
        self.setVisible(bool(lines))

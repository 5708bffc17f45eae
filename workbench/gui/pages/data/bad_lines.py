"""The line that could not be read, among its neighbours: what a person mends in an editor, then reads again."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QWidget

from workbench.gui.pages.data.bad_lines_task import FileLine
from workbench.gui.widgets.basic import Card, badge, button, label, look, once, row

HELP = (
    "Correct the marked line in an editor, save the file, and press Read again. Where every line looks wrong, state "
    "below how the file is written."
)
REPLACE = (
    "Open the file with each row that has not the right number of cells as an empty row, and let the plan replace all "
    "other invalid values too: what is missing is kept as ‘missing’, what is outside the bounds becomes the nearest "
    "bound"
)

LINE = 22


class BadLines(Card):
    """Some lines of the file with their numbers; hidden while there are none.

    Signals:
        replace_asked: the person wants rows with another number of cells to count as empty.
    """

    replace_asked = Signal()

    def __init__(self) -> None:
        super().__init__(spacing=8)
        self.setObjectName("bad_lines")
        self.setAccessibleName("Lines of the file that could not be read")
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
        edit = button("Open the file", "bad_lines_open", tip="Open it in the program that this computer uses for it")
        edit.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(self._source)))
        self.body.addLayout(row(label("Where it went wrong", "heading"), None, badge()))
        self.body.addWidget(area)
        self._replace = once(button("Replace invalid values", "bad_lines_replace", tip=REPLACE))
        self._replace.clicked.connect(self.replace_asked)
        line = row(label(HELP, "muted", wrap=True), self._replace, edit, spacing=12)
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
            kind = "danger" if line.bad else "muted"
            text = label(line.text, "danger" if line.bad else "", name=f"bad_line_{line.number}")
            text.setAccessibleName(f"Line {line.number}{', the one that is wrong' if line.bad else ''}: {line.text}")
            text.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
            for column, part in enumerate(
                (label("✕" if line.bad else "", kind), label(f"line {line.number:,}", kind), text)
            ):
                self._grid.addWidget(part, at, column, Qt.AlignmentFlag.AlignTop)
        self._grid.setRowStretch(len(lines), 1)
        self._area.setFixedHeight(LINE * len(lines) + 28)  # with room for the bar below long lines
        self.setVisible(bool(lines))

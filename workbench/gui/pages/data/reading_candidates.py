"""What a guess about the file could be instead: the same cells under each candidate, and a click that chooses one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import Elided, button, label
from workbench.params.errors import one_line

if TYPE_CHECKING:  # this loads polars, which the first paint does not wait for
    from workbench.data.table import Candidate, Doubt

TITLES = {
    "encoding": tr_later("encoding"),
    "delimiter": tr_later("delimiter"),
    "quote": tr_later("quotes"),
    "escape": tr_later("quotes within quotes"),
    "decimal": tr_later("decimal mark"),
    "header": tr_later("header row"),
    "missing_codes": tr_later("codes declared missing"),
}
MARKS = {
    **{",": tr_later("comma"), ";": tr_later("semicolon"), "\t": tr_later("tab"), "|": tr_later("bar")},
    **{" ": tr_later("space"), "": tr_later("none"), "none": tr_later("none"), ".": tr_later("point")},
    **{"doubled": tr_later("doubled"), "backslash": tr_later("backslash"), "bare": tr_later("bare")},
    **{"yes": tr_later("yes"), "no": tr_later("no")},
    **{"missing": tr_later("missing values"), "values": tr_later("values like others")},
}
"""What a mark of a file, or a word of the options, is called."""

_BETWEEN = "   ·   "


def mark_words(mark: str) -> str:
    """Return what a mark is called; an encoding or a rare mark is its own name."""
    return tr(MARKS.get(mark, mark))


def stated_words(name: str, mark: str) -> str:
    """Return an option of the reader with its value: ``decimal mark comma``."""
    return tr("{what} {words}", what=tr(TITLES.get(name, name)), words=mark_words(mark))


class ReadingCandidates(QWidget):
    """For each doubt its candidates, one a line: a button that states it, and some cells as it reads them.

    Signals:
        chosen: (attribute of the options, value)
    """

    chosen = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("reading_candidates")
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(2, 1)

    def show_doubts(self, doubts: Sequence[Doubt]) -> None:
        """Show the candidates of ``doubts`` in place of the former ones."""
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()  # it goes when the event that came from it has been handled
                widget.deleteLater()
        line = 0
        for doubt in doubts:
            for position, candidate in enumerate(doubt.candidates):
                if position == 0:
                    self._grid.addWidget(label(tr(TITLES.get(doubt.name, doubt.name))), line, 0)
                self._add(line, doubt, candidate, guessed=position == 0)
                line += 1
        self.setVisible(bool(doubts))

    def _add(self, line: int, doubt: Doubt, candidate: Candidate, *, guessed: bool) -> None:
        words = mark_words(candidate.value)
        cells = one_line(_BETWEEN.join(candidate.cells)) if candidate.fits else tr("cannot read the file")
        stated = stated_words(doubt.name, candidate.value)
        press = button(
            tr("{words} (guessed)", words=words) if guessed else words,
            f"candidate_{doubt.name}_{candidate.value}",
            tip=tr("Read the file again with {stated}", stated=stated),
            accessible=f"{stated}: {cells}",
        )
        press.setStyleSheet("min-height: 16px; padding: 2px 12px;")  # a line of a list, not a button of a form
        press.setEnabled(candidate.fits)
        press.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        press.clicked.connect(lambda: self.chosen.emit(doubt.name, candidate.value))
        shown = Elided(cells, "" if candidate.fits else "muted")
        shown.setObjectName(f"cells_{doubt.name}_{candidate.value}")
        self._grid.addWidget(press, line, 1)
        self._grid.addWidget(shown, line, 2)

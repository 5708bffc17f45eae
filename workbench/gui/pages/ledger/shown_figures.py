"""Which private figures were shown of which dataset: a list that shares its place with that of the caps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QStackedWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Card, label, row, segments
from workbench.gui.widgets.formatting import moment
from workbench.gui.widgets.lines_table import LinesTable
from workbench.gui.widgets.table_model import Cell, Column

if TYPE_CHECKING:
    from workbench.release.ledger.figures import ShownFigures

CAPS, FIGURES = "caps", "figures"

COLUMNS = (
    Column(tr_later("First shown (UTC)"), width=150),
    Column(tr_later("Dataset"), width=190),
    Column(tr_later("Private figures"), width=350),
)

LEAST_HEIGHT = 52
"""Points of the headings and a line, where the window is as small as can be: more is scrolled."""

ABOUT = tr_later(
    "Studies of the rows, a draw of them, or a training that was watched. They cost nothing; but "
    "settings that are chosen by them reveal more of the rows than ε says, and the card of a "
    "model that is trained later says that they were shown."
)


class CapsAndFigures(Card):
    """The caps, or which private figures were shown; without any of these the caps alone."""

    def __init__(self, session: Session, caps: LinesTable) -> None:
        """Make it; ``caps`` is the table of caps."""
        super().__init__()
        accessible = tr("Which private figures were shown, the newest first")
        self._figures = LinesTable(session, "ledger_figures", accessible, COLUMNS)
        self._stack = QStackedWidget()
        self._views = {CAPS: caps, FIGURES: self._figures}
        self._caption = label(tr("CAPS"), "caption")
        titles = (
            (CAPS, tr("Caps"), tr("Cap and what remains, per dataset")),
            (FIGURES, tr("Private figures shown"), tr(ABOUT)),
        )
        self._segments = segments(self, "ledger_show_", titles, self.show_view)
        for view in self._views.values():
            view.setMinimumHeight(LEAST_HEIGHT)
            self._stack.addWidget(view)
        self.body.addLayout(row(self._caption, *self._segments.values(), None))
        self.body.addWidget(self._stack, 1)
        self.show_figures((), ())

    def show_view(self, key: str) -> None:
        """Show the caps, or the figures."""
        self._segments[key].setChecked(True)
        self._stack.setCurrentWidget(self._views[key])

    def show_figures(self, figures: Sequence[ShownFigures], datasets: Sequence[Cell]) -> None:
        """List what was shown, with the cell of the dataset of each, in order; without any there is no choice."""
        lines = [
            (Cell(moment(one.time), tip=one.time), dataset, Cell(words, tip=f"{words}. {tr(ABOUT)}"))
            for one, dataset, words in zip(figures, datasets, [tr_sentence(f.words) for f in figures], strict=True)
        ]
        self._figures.lines.show_lines(lines[::-1])
        self._caption.setVisible(not figures)
        for segment in self._segments.values():
            segment.setVisible(bool(figures))
        if not figures or not any(segment.isChecked() for segment in self._segments.values()):
            self.show_view(CAPS)

"""What was decoded: figures and pictures of a simulation or of released reports."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from workbench.gui.pages.rappor.pictures import BarsPicture, HeatPicture, RocPicture
from workbench.gui.pages.rappor.tasks import Shown
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Card, badge, label, look, row, stack
from workbench.gui.widgets.formatting import count


class ResultsView(QWidget):
    """Bars with intervals, the bits of each cohort, and the ROC; hidden until something was decoded."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        look(self, "clear")
        self._found: Shown | None = None
        self._title = label("WHAT IS FOUND", "caption", name="rappor_found_title")
        self._badge = badge()
        self._stated = label("", wrap=True, name="rappor_found")
        self._bars, self._heat, self._roc = BarsPicture(session), HeatPicture(session), RocPicture(session)
        first = Card(pad=12, spacing=6)
        first.body.addLayout(row(self._title, None, self._badge))
        first.body.addWidget(self._stated)
        first.body.addWidget(self._bars)
        bits = Card(label("BITS", "caption"), self._heat, pad=12, spacing=6)
        curves = Card(label("ROC BY NUMBER OF REPORTS", "caption"), self._roc, pad=12, spacing=6)
        below = row(spacing=12)
        below.addWidget(bits, 3)
        below.addWidget(curves, 2)
        whole = stack(first, spacing=12)
        whole.addLayout(below)
        self.setLayout(whole)
        self.hide()

    @property
    def private(self) -> bool:
        """Whether what is shown follows from the rows without a charge."""
        return self._found is not None and self._found.private

    def show_released(self, found: Shown | None) -> None:
        """Show what was decoded, or nothing."""
        self._found = found
        self.setVisible(found is not None)
        self._bars.show_bars(() if found is None else found.bars)
        self._roc.show_roc(found)
        if found is None:
            return
        self._heat.show_heat(found.heat)
        self._title.setText(f"WHAT IS FOUND: {found.title}")
        self._badge.setVisible(found.private)
        self._stated.setText(_words(found))


def _words(found: Shown) -> str:
    low, high = (f"{100 * end:.2g} %" for end in found.unexplained)
    parts = [f"{found.reports:,} reports", f"{found.detected} found"]
    if found.missed is not None and found.false is not None:
        parts += [f"{found.missed} missed", count(found.false, "false discovery", "false discoveries")]
    more = f"; {found.more} more candidates are not shown" if found.more else ""
    return f"{', '.join(parts)} (Bonferroni, α = 0.05); {low} to {high} of the reports are of no candidate{more}."

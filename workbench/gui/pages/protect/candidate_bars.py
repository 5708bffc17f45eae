"""The expected error of each mechanism that fits an attribute, as bars."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QEvent, QMarginsF, QSize

from workbench.gui.pages.protect.tasks import Outlook
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import Chart, Drawing
from workbench.gui.widgets.chart_marks import BarLine
from workbench.render.fonts import scaled

FEW, MANY = 4, 12
"""Candidates shown in a low card, and in a tall one."""

NARROW = 300
"""Pixels from which a line tells both errors; the tooltip always does."""

LINE = 40
CLOSE = 25
"""Pixels of a mechanism's name and its bar: where there is room, and at least."""


class _Line(NamedTuple):
    """One answer: its title, the error that its bar is as long as, that error and the other one in words."""

    title: str
    error: float
    words: str
    other: str
    used: bool


def _short(title: str) -> str:
    """Return the name of a mechanism without that word, beside which there is little room."""
    return " ".join(tr_sentence(title).replace(tr("mechanism"), "").split())


class CandidateBars(Chart):
    """The expected error of each mechanism that fits, and of a constant answer: the shorter the bar, the better."""

    margins = QMarginsF()

    def __init__(self, session: Session) -> None:
        super().__init__(session, "candidate_bars")
        self._lines: tuple[_Line, ...] = ()
        self._all: tuple[_Line, ...] = ()
        self._most = FEW

    def show_outlook(self, outlook: Outlook | None) -> None:
        """Show the candidates of one attribute, or none."""
        self._all = ()
        if outlook is not None:
            best = outlook.candidates[0].name
            most = max((c.statistic or 0.0 for c in outlook.candidates), default=0.0)
            made = [
                _Line(
                    _short(c.title) + ("  ★" if c.name == best else ""),
                    # Without an unbiased statistic: as long as the longest, for it is no better than that.
                    (most if c.statistic is None else c.statistic) if outlook.for_statistics else c.error,
                    outlook.relevant(c),
                    outlook.other(c),
                    c.name == outlook.used.name,
                )
                for c in outlook.candidates
            ]
            if not outlook.for_statistics:
                error = outlook.constant_error
                made.append(
                    _Line(tr("always “{answer}”", answer=outlook.constant), error, outlook.in_words(error), "", False)
                )
            self._all = tuple(made)
        stated = (f"{line.title} {line.words}{line.other and ', '}{line.other}" for line in self._all)
        self.setAccessibleName(tr("Expected errors: {errors}", errors="; ".join(stated)))
        self.setToolTip("\n".join(f"{line.title}: {line.words}  {line.other}" for line in self._all))
        self._fit()

    def show_all(self, *, whole: bool) -> None:
        """Show every candidate, or where there is little room the best few; the tooltip names all."""
        self._most = MANY if whole else FEW
        self._fit()

    def _fit(self) -> None:
        """Take the lines that there is room for: the best ones, the one in use, and last the constant answer."""
        self._lines, most = self._all, self._most
        if most == FEW:
            most = max(3, FEW * CLOSE // scaled(CLOSE))
        if len(self._all) > most:
            ends = [at for at, line in enumerate(self._all) if line.used or not line.other]
            best = [at for at in range(len(self._all)) if at not in ends][: most - len(ends)]
            self._lines = tuple(self._all[at] for at in sorted((*ends, *best)))
        self.setMinimumHeight(len(self._lines) * scaled(CLOSE))
        self.updateGeometry()
        self.update()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Take as many lines as there is room for where they are written larger or smaller."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the picture."""
        return QSize(340, len(self._lines) * scaled(LINE))

    def drawing(self) -> Drawing | None:
        """Return a line of text and a bar for each; the one in use is filled, the others are framed."""
        if not self._lines:
            return None
        most = max(line.error for line in self._lines) or 1.0
        roomy = self.width() >= scaled(NARROW)
        lines = [
            BarLine(
                line.title,
                line.error / most,
                f"{line.other}   {line.words}" if line.other and roomy else line.words,
                "accent" if line.used else "muted",
                strong=line.used,
                framed=not line.used,
            )
            for line in self._lines
        ]
        return Drawing((mark.bar_lines(lines, 13, above=True),), frame="none")

"""Where the accuracy of a network goes: without privacy, with clipping alone, with clipping and noise."""

from __future__ import annotations

from PySide6.QtCore import QMarginsF, QSize

from workbench.gui.pages.train.messages import went_words
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import BarLine

Stages = tuple[tuple[str, float, int], ...]
"""(name, accuracy, rows it was measured on) of each training."""

LINE = 20


class WhereChart(Chart):
    """One bar for each training, and a sentence on what clipping and noise cost; hidden while nothing is known."""

    margins = QMarginsF(0, 0, 0, LINE)
    letters, height_fixed = 13, True

    def __init__(self, session: Session) -> None:
        super().__init__(session, "train_where_chart", tr("Where the accuracy went"))
        self.stages: Stages = ()
        self.hide()

    def show_stages(self, stages: Stages) -> None:
        """Show the result of a study; nothing where there is none."""
        self.stages = stages
        self.setVisible(bool(stages))
        self.setAccessibleName(tr("Where the accuracy went: {stages}", stages=went_words(stages)) if stages else "")
        self.setToolTip(went_words(stages) if stages else "")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of a line for each bar and one for the sentence."""
        return QSize(360, (len(self.stages) + 1) * LINE)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the least such size."""
        return QSize(200, self.sizeHint().height())

    def drawing(self) -> Drawing | None:
        """Return the bars and the sentence."""
        if not self.stages:
            return None
        lines = [
            BarLine(tr_sentence(name), accuracy, tr_number(accuracy, ".3f"), ink)
            for (name, accuracy, _), ink in zip(self.stages, ("no-privacy", "sanitized", "private"), strict=False)
        ]
        return Drawing((mark.bar_lines(lines, 13),), below=(Below(0, went_words(self.stages), "text"),), frame="none")

"""How many images of each class were taken for which: a square of counts, private as the images are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_number
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import Chart, Drawing
from workbench.gui.widgets.formatting import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.release.model.image_predictions import ImagePredictions

MOST = 20
"""Classes of which the square is drawn: the figures of more could not be read."""

TOLD = 4
LEAST_NAMES, MOST_NAMES, HEAD, STRONGEST = 24.0, 96.0, 40.0, 0.8
LARGEST, LETTER, BROAD = 90.0, 8.0, 34.0
"""Pixels of a cell at most, of a letter about, and of a cell in which figures are written with commas."""


class ConfusionMatrix(Chart):
    """A line for each class as it is, a column for each as it was predicted; the diagonal is right."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "predict_confusion")
        self._classes: tuple[str, ...] = ()
        self._counts: NDArray[np.int64] = np.empty((0, 0), np.int64)
        self.setMinimumSize(300, 240)

    def show_predictions(self, found: ImagePredictions | None) -> None:
        """Show other counts; nothing is shown where no class is known, or of too many."""
        counts = None if found is None else found.confusion
        drawn = counts is not None and len(counts) <= MOST
        self.setVisible(drawn)
        if found is None or counts is None or not drawn:
            return
        self._classes, self._counts = found.classes, counts
        self.setAccessibleName(tr("Private, not for release. {words}", words=confused_words(found)))
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for cells whose figures can be read."""
        side = int(36 * len(self._classes))
        return QSize(int(self._names) + side, int(HEAD) + side)

    @property
    def _names(self) -> float:
        """The width of the names in front of the lines."""
        longest = max((len(name) for name in self._classes), default=0)
        return min(max(LETTER * longest + 12, LEAST_NAMES), MOST_NAMES)

    def _cell(self, i: int, j: int) -> QRectF:
        k = max(len(self._classes), 1)
        names = self._names
        side = min(LARGEST, (self.width() - names) / k, (self.height() - HEAD) / k)
        return QRectF(names + j * side, HEAD + i * side, side - 1, side - 1)

    def words_under(self, point: QPointF) -> str:
        """Return the cell under the pointer in words."""
        classes = range(len(self._classes))
        return next((self._words(i, j) for i in classes for j in classes if self._cell(i, j).contains(point)), "")

    def _words(self, i: int, j: int) -> str:
        own, taken = self._classes[i], self._classes[j]
        images = count(int(self._counts[i, j]), "image")
        return (
            tr("{images} of {own} taken for {taken}", images=images, own=own, taken=taken)
            if i != j
            else tr("{images} of {own} predicted right", images=images, own=own)
        )

    def drawing(self) -> Drawing:
        """Return the counts; right ones in one colour, wrong ones in another, each against its own line."""
        whole, marks = self._counts.sum(axis=1), list[mark.Mark]()
        end = self._cell(0, len(self._classes) - 1).right() if self._classes else 0.0
        marks.append(mark.word(QRectF(self._names, 0, end - self._names, 18), tr("predicted"), "muted", "centre", 11))
        for i, name in enumerate(self._classes):
            row, column = self._cell(i, 0), self._cell(0, i)
            marks.append(mark.word(QRectF(0, row.top(), self._names - 8, row.height()), name, "text", "right", 12))
            marks.append(mark.word(QRectF(column.left(), 18, column.width(), HEAD - 20), name, "text", "centre", 12))
            for j in range(len(self._classes)):
                box, found = self._cell(i, j), int(self._counts[i, j])
                broad = box.width() >= BROAD
                # The root: one image in a hundred taken for another is worth seeing.
                strength = STRONGEST * (found / max(int(whole[i]), 1)) ** 0.5
                stated = "·" if not found else tr_number(found, ",") if broad else f"{found}"
                ink = "private" if i == j else "sanitized"
                words = mark.word(box, stated, "text" if found else "muted", "centre", 12 if broad else 9)
                marks.append(mark.cell(box, ink, strength, words))
        return Drawing(marks, frame="none")


def confused_words(found: ImagePredictions) -> str:
    """Return which classes are taken for which most often, in a sentence; empty where no class is known."""
    counts = found.confusion
    if counts is None:
        return ""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:TOLD]
    pairs = [(int(at) // len(wrong), int(at) % len(wrong)) for at in order]
    stated = [
        tr(
            "{own} for {taken} ({images})",
            own=found.classes[i],
            taken=found.classes[j],
            images=tr_number(wrong[i, j], ","),
        )
        for i, j in pairs
        if wrong[i, j]
    ]
    if not stated:
        return tr("No image is taken for another class.")
    return tr("Taken for another most often: {pairs}.", pairs=", ".join(stated))

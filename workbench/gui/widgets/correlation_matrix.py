"""The correlations between columns before and after the draw: two triangles of cells with one pair marked in both."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QMarginsF, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import localised, tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import Elided, label, stack
from workbench.gui.widgets.chart import Chart, Drawing
from workbench.gui.widgets.formatting import count
from workbench.render.fonts import scaled
from workbench.sanitize.utility_summary import FADED
from workbench.studies.association import measure
from workbench.studies.spreads_and_pairs import Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray


SHOWN = 12  # most columns in sight: of more, those whose correlations changed most

NAMED, LOST = 3, 2
SEEN = 0.1  # least correlation with the target whose loss is worth a warning: a weaker one is rarely of use

HIGHEST, BROADEST, LEAST_WRITTEN = 200.0, 3.0, 26.0
"""Pixels that a cell is high at most; its width over its height at most; pixels below which it has a sign alone."""
NAMES, HEAD, TITLE, NAME, GAP = 76.0, 26.0, 20.0, 18.0, 20.0
"""Points of the names of rows, of what is above the first cell, of a title and of a name; pixels between the sides."""
STRONGEST = 0.85
KEYS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}
HELP = tr_later(
    "Pearson's r between numbers, −1 to 1; the correlation ratio η of numbers and a category, and Cramér's V of two "
    "categories, 0 to 1. Corrected for chance: 0 means no relationship. Arrow keys go from pair to pair."
)
LOST_ADVICE = tr_later("Drop columns, or release synthetic rows or a private model.")
NOTHING = tr_later("A correlation needs two released columns: protect or keep another one.")


class PairMap(Chart):
    """The triangles, original and sanitised. Colour says the sign and the strength, and each cell its number."""

    pair_changed = Signal()  # another pair is marked
    margins, letters = QMarginsF(), 14
    usual = QSize(720, 360)
    least = QSize(480, 220)  # room in which signs can still be read

    def __init__(self, session: Session, name: str = "preview_pairs", drawn: str = tr_later("Sanitised")) -> None:
        """Make it; ``drawn`` is the title of the other side."""
        super().__init__(session, name)
        self._title = drawn
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self._pairs: Pairs | None = None
        self._order: list[int] = []
        self._at = (1, 0)

    def show_pairs(self, pairs: Pairs | None) -> None:
        """Show other correlations; the marked pair stays where it still is one."""
        marked = self.marked
        self._pairs = pairs
        self._order = most_changed(pairs) if pairs is not None else []
        if marked is not None and all(name in self.names for name in marked):
            self._at = self._places(*marked)
        else:
            self._at = next(iter(self._by_change()), (1, 0))
        self._notify()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are shown."""
        return tuple(self._pairs.names[i] for i in self._order) if self._pairs is not None else ()

    @property
    def marked(self) -> tuple[str, str] | None:
        if self._pairs is None or len(self._order) < 2:
            return None
        return self._pairs.names[self._order[self._at[1]]], self._pairs.names[self._order[self._at[0]]]

    def words(self) -> str:
        return self._words_of(*self._at) if len(self._order) > 1 else ""

    def changed_most(self) -> str:
        """Return the three pairs that changed most, in words."""
        stated = []
        for i, j in self._by_change()[:NAMED]:
            before, after = self._values(i, j)
            stated.append(f"{self.names[j]} × {self.names[i]} {written(before)} → {written(after)}")
        return tr("Changed most: {pairs}.", pairs=",  ".join(stated)) if stated else ""

    # -- the person -----------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Go to the next pair; Home and End to the first and the last."""
        last = len(self._order) - 1
        if last < 1 or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
            return
        row, column = self._at
        key = Qt.Key(event.key())
        if key in KEYS:
            row = min(max(row + KEYS[key][0], 1), last)
            column = min(max(column + KEYS[key][1], 0), last - 1)
            # Over the edge of the triangle: the other one of the two goes along.
            if column >= row:
                row, column = (column + 1, column) if KEYS[key][1] else (row, row - 1)
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            row, column = (1, 0) if key == Qt.Key.Key_Home else (last, last - 1)
        else:
            super().keyPressEvent(event)
            return
        self._mark((row, column))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        place = self._pair_at(event.position())
        if place is not None:
            self._mark(place)

    def words_under(self, point: QPointF) -> str:
        place = self._pair_at(point)
        return self._words_of(*place) if place else tr(HELP)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        super().focusOutEvent(event)
        self.update()

    def centre_of(self, one: str, other: str, sanitised: bool = False) -> QPoint:
        """Return where the cell of a pair is, on the original or on the sanitised side."""
        return self._cell(int(sanitised), *self._places(one, other)).center().toPoint()

    # -- within ---------------------------------------------------------------------------------------------------

    def _places(self, one: str, other: str) -> tuple[int, int]:
        places = self.names.index(one), self.names.index(other)
        return max(places), min(places)

    def _by_change(self) -> list[tuple[int, int]]:
        changes = [
            (abs(after - before), (i, j))
            for i in range(1, len(self._order))
            for j in range(i)
            for before, after in [self._values(i, j)]
            if not math.isnan(after - before)
        ]
        return [pair for _, pair in sorted(changes, key=lambda c: -c[0])]

    def _mark(self, place: tuple[int, int]) -> None:
        if place != self._at:
            self._at = place
            self._notify()

    def _notify(self) -> None:
        self.setAccessibleName(f"{tr('Correlations before and after the draw.')} {self.words() or tr(NOTHING)}")
        self.setAccessibleDescription(tr(HELP))
        self.pair_changed.emit()
        self.update()

    def _values(self, i: int, j: int) -> tuple[float, float]:
        assert self._pairs is not None
        at = self._order[i], self._order[j]
        return float(self._pairs.original[at]), float(self._pairs.sanitised[at])

    def _words_of(self, i: int, j: int) -> str:
        assert self._pairs is not None
        one, other = self._order[j], self._order[i]
        before, after = self._values(i, j)
        title = f"{self._pairs.names[one]} × {self._pairs.names[other]}"
        kind = measure(self._pairs.numeric[one], self._pairs.numeric[other])
        if math.isnan(before) and math.isnan(after):
            return tr("{title}: there is no correlation to compute, because one of the two does not vary.", title=title)
        figures = {"title": title, "before": written(before), "after": written(after), "measure": tr_sentence(kind)}
        if math.isnan(after - before):
            return tr("{title}: {before} before, {after} after the draw ({measure})", **figures)
        return tr(
            "{title}: {before} before, {after} after the draw, changed by {change} ({measure})",
            change=written(after - before, signed=True),
            **figures,
        )

    def _size(self) -> tuple[float, float]:
        """Return the width and the height of a cell: they fill the picture, and are broad rather than high."""
        k = max(len(self._order), 2)
        side = (self.width() - GAP) / 2
        wide = (side - scaled(NAMES)) / (k - 0.5)
        high = max(4.0, min(HIGHEST, wide, (self.height() - scaled(HEAD) - 6) / (k - 1 + 0.6)))
        return max(4.0, min(wide, BROADEST * high)), high

    def _cell(self, side: int, i: int, j: int) -> QRectF:
        (wide, high), left = self._size(), side * (self.width() + GAP) / 2
        return QRectF(left + scaled(NAMES) + j * wide, scaled(HEAD) + (i - 0.4) * high, wide - 1, high - 1)

    def _pair_at(self, point: QPointF) -> tuple[int, int] | None:
        for side in (0, 1):
            for i in range(1, len(self._order)):
                for j in range(i):
                    if self._cell(side, i, j).contains(point):
                        return i, j
        return None

    def drawing(self) -> Drawing:
        """Return both triangles; the names are at their rows, and once more where their columns begin."""
        if len(self._order) < 2:
            return Drawing(empty=tr(NOTHING) if self._pairs is not None else "", frame="none")
        return Drawing([*self._side(0, tr("Original")), *self._side(1, tr(self._title))], frame="none")

    def _side(self, side: int, title: str) -> Iterator[mark.Mark]:
        size, names = self._size()[1], self.names
        left = side * (self.width() + GAP) / 2
        right = left + (self.width() - GAP) / 2
        yield mark.word(QRectF(left, 0, scaled(NAMES) * 2, scaled(TITLE)), title, "text", "left", 14)
        for i, name in enumerate(names):
            ink = "text" if i in self._at else "muted"
            if i:
                at = self._cell(side, i, 0)
                yield mark.word(QRectF(left, at.top(), scaled(NAMES) - 8, at.height()), name, ink, "right", 12)
            if i < len(names) - 1:
                at, high = self._cell(side, i, i), scaled(NAME)
                above = QRectF(at.left() + 2, at.bottom() - high, right - at.left() - 2, high)
                yield mark.word(above, name, ink, "left", 12)
            for j in range(i):
                yield _cell_of(self._cell(side, i, j), self._values(i, j)[side], size)
        yield _frame(self._cell(side, *self._at), "accent" if self.hasFocus() else "text")


def _cell_of(box: QRectF, value: float, size: float) -> mark.Mark:
    letters = 10 if size < 34 else 12 if size < 60 else 14 if size < 100 else 20
    unknown = math.isnan(value)
    ink = "line" if unknown else "sanitized" if value > 0 else "private"
    text = _sign(value) if size < LEAST_WRITTEN and not unknown else written(value)
    strength = 0.6 if unknown else STRONGEST * min(abs(value), 1.0)
    return mark.cell(box, ink, strength, mark.word(box, text, "text", "centre", letters))


def _frame(box: QRectF, ink: str) -> mark.Mark:
    def paint(on: mark.Canvas) -> None:
        on.smooth(ink)
        on.painter.drawRect(box)

    return paint


class Correlations(QWidget):
    """The triangles, what is said of the marked pair, and what the numbers are."""

    def __init__(
        self, session: Session, name: str = "preview", drawn: str = tr_later("Sanitised"), advice: str = LOST_ADVICE
    ) -> None:
        """Make it; ``advice`` is what helps where a correlation with the target is lost."""
        super().__init__()
        self._session, self._advice = session, advice
        self.map = PairMap(session, f"{name}_pairs", drawn)
        self._words = Elided("", name=f"{name}_pair_words")
        self._most = Elided("", "muted", name=f"{name}_pairs_most")
        self._help = label(tr(HELP), "muted", wrap=True, name=f"{name}_pair_help")
        self._lost = Elided("", "warn", name=f"{name}_target_lost")
        self._lost.hide()
        parts = (self.map, 1), self._words, self._most, self._lost, self._help
        self.setLayout(stack(*parts, spacing=6, margins=(4, 8, 4, 0)))
        self.map.pair_changed.connect(lambda: self._words.set_whole(self.map.words()))

    def show_pairs(self, pairs: Pairs | None) -> str:
        """Show other correlations, or none; return what is to be said about how they were computed."""
        self.map.show_pairs(pairs)
        self._most.set_whole(self.map.changed_most())
        self._help.setVisible(pairs is not None and len(pairs.names) > 1)
        lost = "" if pairs is None else lost_words(pairs, self._session.target, self._advice)
        self._lost.set_whole(lost, wrapped=True)
        self._lost.setVisible(bool(lost))
        if pairs is None:
            return ""
        rows, whole = count(pairs.rows, "row"), tr_number(pairs.of_rows, ",")
        part = pairs.rows < pairs.of_rows
        stated = [tr("from {rows} of {whole}", rows=rows, whole=whole) if part else tr("from {rows}", rows=rows)]
        if len(pairs.names) > SHOWN:
            stated.append(
                tr(
                    "the {shown} of {whole} columns that changed most",
                    shown=SHOWN,
                    whole=len(pairs.names) + pairs.left_out,
                )
            )
        return ", ".join(stated)


def most_changed(pairs: Pairs) -> list[int]:
    """Return which columns are shown, in the table's order: all, or those with the greatest change in any pair."""
    if len(pairs.names) <= SHOWN:
        return list(range(len(pairs.names)))
    change: NDArray[np.float64] = np.nan_to_num(np.abs(pairs.sanitised - pairs.original)).max(axis=1)
    return sorted(int(i) for i in np.argsort(-change, kind="stable")[:SHOWN])


def lost_words(pairs: Pairs, target: str | None, advice: str = LOST_ADVICE) -> str:
    """Return which columns lose most of their correlation with the target in this draw, and what helps; private."""
    if target not in pairs.names:
        return ""
    at = pairs.names.index(target)
    lost = []
    for i, name in enumerate(pairs.names):
        before, after = float(pairs.original[i, at]), float(pairs.sanitised[i, at])
        # One that is undefined after the draw says nothing either way; one in the other direction is lost.
        if i != at and abs(before) >= SEEN and not math.isnan(after) and after / before < FADED:
            lost.append((abs(before) - abs(after), f"{name} {written(before)} → {written(after)}"))
    if not lost:
        return ""
    stated = ",  ".join(words for _, words in sorted(lost, key=lambda one: -one[0])[:LOST])
    if len(lost) > LOST:
        stated = tr("{names} and {number} more", names=stated, number=len(lost) - LOST)
    return f"{tr('⚠ Lost with {target} (private): {columns}.', target=target, columns=stated)} {tr(advice)}"


def written(value: float, *, signed: bool = False) -> str:
    """Return a correlation with two decimals and a true minus; an undefined one is a dash."""
    if math.isnan(value):
        return "–"
    text = f"{value:+.2f}" if signed else f"{value:.2f}"
    return localised("0.00" if text in ("-0.00", "+0.00") else text.replace("-", "−"))


def _sign(value: float) -> str:
    return "" if abs(value) < 0.05 else "+" if value > 0 else "−"

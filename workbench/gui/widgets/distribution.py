"""How the chosen column is spread before and after the draw, one over the other."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QMarginsF, QRectF, QSize

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_n, tr_number
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import KEY, SCALE, Chart, Drawing, ends_below, range_below, row_ticks
from workbench.gui.widgets.chart_marks import Key, Scale
from workbench.render.palette import BAND_OPACITY
from workbench.studies.spreads_and_pairs import Spread

FILL = 0.35


@dataclass(frozen=True)
class Recovered:
    """What can be recovered of one column. Private, as the original's own figure is among it."""

    name: str  # the column
    words: str  # the whole of it in a sentence
    # (low, estimate, high) of the mean as places along the bars, 0 at the left end of the first.
    mean: tuple[float, float, float] | None = None
    truth: float | None = None  # the original's mean as such a place
    # By the bar's label, rows (low, estimate, high) that had this value.
    shares: dict[str, tuple[float, float, float]] | None = None


class Distribution(Chart):
    """Bars of the original, and a stepped line with dots for the draw, so that they differ by more than colour."""

    margins = QMarginsF(SCALE, KEY + 4, 2, 22)
    usual = QSize(400, 130)

    def __init__(
        self, session: Session, name: str = "preview_distribution", drawn: str = tr_later("sanitised")
    ) -> None:
        """Make it; ``drawn`` is what the rows of the draw are called."""
        super().__init__(session, name)
        self._drawn_word = drawn
        self._column: Spread | None = None
        self._drawn = False
        self._recovered: Recovered | None = None

    def show_column(self, column: Spread | None) -> None:
        self._column, self._drawn = column, column is not None
        self.setAccessibleName(
            tr("Distribution of {name}, original and {drawn}", name=column.name, drawn=tr(self._drawn_word))
            if column
            else ""
        )
        self.update()

    def await_draw(self) -> None:
        """Show the original alone until the column of another draw comes."""
        self._drawn = False
        self.update()

    def show_recovered(self, found: Recovered | None) -> None:
        """Draw what a recipient can recover of the shown column over it, or nothing."""
        self._recovered = found
        self.setAccessibleDescription(found.words if found is not None else "")
        self.update()

    def drawing(self) -> Drawing | None:
        column, found = self._column, self._recovered
        if column is None or not column.labels:
            return None
        shares = {
            at: found.shares[label]
            for at, label in enumerate(column.labels)
            if found is not None and found.shares is not None and label in found.shares
        }
        most = max(*column.original, *column.sanitised, *(high for _, _, high in shares.values()), 1)
        marks = [mark.bars(dict(enumerate(column.original)), "muted", alpha=FILL)]
        key = [Key(tr("original"), "muted", alpha=FILL)]
        if self._drawn:
            marks.append(mark.levels(dict(enumerate(column.sanitised)), "sanitized"))
            key.append(Key(tr(self._drawn_word), "sanitized", "level"))
        if found is not None:
            dashed = tr("recovered mean, 95 % (dashed: the original's)")
            key.append(Key(tr("recovered, 95 %") if found.truth is None else dashed, "private"))
            if found.name == column.name:
                marks += [_mean(*found.mean)] if found.mean is not None else []
                marks += [mark.upright(found.truth, "muted", width=2.0)] if found.truth is not None else []
                marks.append(mark.intervals([(at + 0.75, *ends) for at, ends in shares.items()], "private"))
        return Drawing(
            marks,
            x=Scale(0, len(column.labels)),
            y=Scale(0, most),
            left=row_ticks(most),
            grid=True,
            labels=column.labels,
            below=range_below(column.labels) if column.numeric else ends_below(column.labels),
            key=key,
            words=lambda x: self._words(column, int(x), shares),
        )

    def _words(self, column: Spread, at: int, shares: dict[int, tuple[float, float, float]]) -> str:
        said, rows = column.labels[at], tr_n("{n} row", "{n} rows", column.original[at])
        after = tr_number(column.sanitised[at], ",")
        stated = (
            tr("{value}: {rows}, {after} after the draw", value=said, rows=rows, after=after)
            if self._drawn
            else tr("{value}: {rows}", value=said, rows=rows)
        )
        if at not in shares:
            return stated
        low, middle, high = shares[at]
        return tr(
            "{stated}, {middle} recovered ({low} to {high})",
            stated=stated,
            middle=tr_number(middle, ",.0f"),
            low=tr_number(low, ",.0f"),
            high=tr_number(high, ",.0f"),
        )


def _mean(low: float, middle: float, high: float) -> mark.Mark:
    """Return the interval of a mean from bottom to top, with its estimate."""

    def paint(on: mark.Canvas) -> None:
        left, right = on.across(low), on.across(high)
        room = QRectF(left, on.box.top(), max(right - left, 2.0), on.box.height())
        on.painter.fillRect(room, on.ink("private", BAND_OPACITY))
        mark.upright(middle, "private", "solid", 2.0)(on)

    return paint

"""A synthetic table beside the original: one figure, a column's spread, and how columns go together; private."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QComboBox, QSizePolicy, QStackedWidget

from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import Card, badge, hold_most, label, named, row, segments
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.correlation_matrix import Correlations
from workbench.gui.widgets.distribution import Distribution
from workbench.gui.widgets.fast_table import RowsTable
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.formatting import first_rows, plain

if TYPE_CHECKING:
    import polars as pl

    from workbench.gui.pages.release.synthetic.tasks import ReleasedRows
    from workbench.studies.spreads_and_pairs import Pairs
    from workbench.studies.synthetic_comparison import Compared

SPREAD, PAIRS, ROWS = "distribution", "correlations", "rows"
HIGH = {SPREAD: 210, PAIRS: 350, ROWS: 260}
"""Pixels that each picture needs at least."""

WIDEST_CHOICE = 220
INVENTED = 0.1
"""A correlation that is stronger than the original's by more than this is reported."""
ADVICE = tr_later("Raise ε, or choose another method.")
LOOKS = {
    SPREAD: (
        tr_later("Distribution"),
        tr_later("How the values of one column are spread, in the original and in the synthetic rows"),
    ),
    PAIRS: (
        tr_later("Correlations"),
        tr_later("How the columns go together, in the original and in the synthetic rows"),
    ),
    ROWS: (tr_later("Rows"), tr_later("The rows that were released: public")),
}


class _Pictures(QStackedWidget):
    """As high as it must be, and as the page has room for: no picture asks for more."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.MinimumExpanding)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the least height; a policy that ignores this would count as nothing where labels are wrapped."""
        return self.minimumSize()


class ComparisonCard(Card):
    """The figure and the pictures of one synthetic table; of a released one its rows, too.

    Signals:
        compare_asked: a released table is to be shown beside the original.
    """

    compare_asked = Signal()

    def __init__(self, session: Session, jobs: JobCenter, name: str, title: str, *, rows: bool = False) -> None:
        super().__init__(pad=12, spacing=6)
        self.setObjectName(name)
        self._found: Compared | None = None
        self._wanted = ""
        self._column = ""
        self.title = label(title, "caption")
        self.badge = badge()
        self.body.addLayout(row(self.title, None, self.badge))
        self.figure = label("", "figure", name=f"{name}_error")
        self.words = label("", "muted", wrap=True, name=f"{name}_words")
        line = row(self.figure, (self.words, 1))
        self.body.addLayout(line)
        self.learned = label("", "muted", wrap=True, name=f"{name}_learned")
        self.invented = label("", "warn", wrap=True, name=f"{name}_invented")
        self._beside = (self.learned, self.invented)
        self.distribution = Distribution(session, f"{name}_spread", "synthetic")
        self.correlations = Correlations(session, name, tr("Synthetic"), tr(ADVICE))
        self._choice = named(ChoiceBox(), f"{name}_column", tr("Column whose distribution is shown"))
        hold_most(self._choice, WIDEST_CHOICE)
        self._choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._choice.textActivated.connect(self._choose)
        self._pictures = _Pictures()
        self._views = {SPREAD: self.distribution, PAIRS: self.correlations}
        self._model = RowsModel(session)
        if rows:
            table = RowsTable(
                session, jobs, self._model, f"{name}_table", tr("The released rows: public"), row_height=ROW - 6
            )
            table.let_copy(private=False)
            self._views[ROWS] = table
        titles = [(key, tr(LOOKS[key][0]), tr(LOOKS[key][1])) for key in self._views]
        self._segments = segments(self, f"{name}_", titles, self._press)
        for view in self._views.values():
            self._pictures.addWidget(view)
        self._facts = label("", "muted", name=f"{name}_facts")
        self._stated = dict.fromkeys(LOOKS, "")
        # The views first: they stay where they are when the sentences below them come and go.
        self.body.insertLayout(1, row(*self._segments.values(), 4, self._choice, 8, self._facts, None))
        for part in self._beside:
            self.body.addWidget(part)
        self.body.addWidget(self._pictures, 1)
        self.show_view(SPREAD)

    def _press(self, key: str) -> None:
        """Show what was chosen; what is beside the original is shown once somebody asks for it."""
        if key == ROWS or self._found is not None:
            self.show_view(key)
            return
        self._wanted = key
        self._segments[ROWS].setChecked(True)
        self.compare_asked.emit()

    def show_view(self, key: str) -> None:
        """Show the spread of one column, the correlations of all, or the rows."""
        self._segments[key].setChecked(True)
        self._choice.setVisible(key == SPREAD)
        self._facts.setText(self._stated[key])
        self._pictures.setCurrentWidget(self._views[key])
        self._pictures.setMinimumHeight(HIGH[key])
        # Released rows alone are public; whatever is beside the original is not.
        self.badge.setVisible(key != ROWS)
        self.figure.setVisible(key != ROWS)
        self.words.setVisible(key != ROWS)
        for part in self._beside:
            part.setVisible(key != ROWS and bool(part.text()))

    def show_compared(self, found: Compared | None, stated: str = "") -> None:
        """Show another comparison, or none; ``stated`` says of which draw."""
        self._found = found
        names = [] if found is None else [spread.name for spread in found.spreads]
        self._choice.offer([(name, name) for name in names], self._column)
        self._column = self._choice.currentText()
        pairs = self.correlations.show_pairs(None if found is None else found.pairs)
        self._stated[SPREAD], self._stated[PAIRS] = stated, pairs
        self._choose(self._column)
        if found is not None:
            self.figure.setText(_percent(found.quality.mean))
            self.words.setText(_figure_words(found))
            self.learned.setText("" if found.learned is None else tr_sentence(found.learned.words))
            self.invented.setText(_invented(found.pairs))
            for part in self._beside:
                part.setVisible(bool(part.text()) and not self._segments_checked(ROWS))
        self._facts.setText(next(self._stated[key] for key, one in self._segments.items() if one.isChecked()))
        if found is not None and self._wanted:
            self.show_view(self._wanted)
        self._wanted = ""

    def _segments_checked(self, key: str) -> bool:
        return key in self._segments and self._segments[key].isChecked()

    def show_released(self, found: ReleasedRows | None) -> None:
        """Show the rows of a released table, or none; nothing beside the original yet."""
        self.show_rows(*((None, 0) if found is None else (found.frame, found.rows)))
        self.show_compared(None)
        if found is not None:
            self.show_view(ROWS)

    def show_rows(self, frame: pl.DataFrame | None, rows: int = 0) -> None:
        """Show the first rows of a released table of ``rows`` rows, or none."""
        self._model.show_frame(frame)
        self._stated[ROWS] = first_rows(0 if frame is None else frame.height, rows)

    def _choose(self, name: str) -> None:
        self._column = name
        spreads = () if self._found is None else self._found.spreads
        self.distribution.show_column(next((spread for spread in spreads if spread.name == name), None))


def _figure_words(found: Compared) -> str:
    quality, worst, distance = found.quality, found.worst, _percent(found.quality.worst_distance)
    if not quality.of_pairs:
        return tr(
            "of the rows, on average, would have to move for the tables to agree: {worst} is farthest off, by "
            "{distance}.",
            worst=worst,
            distance=distance,
        )
    one, two = _percent(quality.one_way), _percent(quality.two_way)
    if quality.pairs == quality.of_pairs:
        return tr(
            "of the rows, on average, would have to move for the tables to agree: {one} for one column, {two} for "
            "two; {worst} is farthest off, by {distance}.",
            one=one,
            two=two,
            worst=worst,
            distance=distance,
        )
    return tr(
        "of the rows, on average, would have to move for the tables to agree: {one} for one column, {two} for two "
        "({pairs} pairs were counted); {worst} is farthest off, by {distance}.",
        one=one,
        two=two,
        pairs=tr_number(quality.pairs, ","),
        worst=worst,
        distance=distance,
    )


def _invented(pairs: Pairs) -> str:
    """Return a pair that goes together in these rows and not in the original; empty where there is none."""
    size = len(pairs.names)
    found = [(pairs.sanitised[i][j], pairs.original[i][j], i, j) for i in range(size) for j in range(i)]
    odd = [(abs(after) - abs(before), before, after, i, j) for after, before, i, j in found]
    odd = [one for one in odd if one[0] > INVENTED]
    if not odd:
        return ""
    _, before, after, i, j = max(odd)
    return tr(
        "⚠ {one} and {other} go together more in these rows ({after}) than in the original "
        "({before}): a table of both may not have been counted. Another method may count it.",
        one=pairs.names[j],
        other=pairs.names[i],
        after=tr_number(after, ".2f"),
        before=tr_number(before, ".2f"),
    )


def _percent(share: float) -> str:
    """Return a share of rows with two significant digits."""
    return f"{plain(float(f'{100 * share:.2g}'))} %"

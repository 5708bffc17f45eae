"""A synthetic table beside the original: one figure, a column's spread, and how columns go together; private."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QLineEdit, QSizePolicy, QStackedWidget, QWidget

from workbench.data.impossible_combinations import checked_statements, merged_statements, statements
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.error_text import without_place
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import (
    Card,
    badge,
    button,
    hold_least,
    hold_most,
    label,
    look,
    mark_wrong,
    named,
    row,
    segments,
)
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.correlation_matrix import Correlations
from workbench.gui.widgets.dialogs import Entry, choose
from workbench.gui.widgets.distribution import Distribution
from workbench.gui.widgets.fast_table import RowsTable
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.formatting import first_rows, two_digits
from workbench.params import ParameterError

if TYPE_CHECKING:
    import polars as pl

    from workbench.studies.spreads_and_pairs import Pairs
    from workbench.studies.synthetic_comparison import Compared


HELP = tr_later(
    "Values that never occur together, as is publicly known: no row with them is drawn, and the "
    "certificate names them. Such as: sex = male & pregnant = yes; age = 0..15 & job = retired"
)
SEVERAL = tr_later("Value; several as a|b, a range as 0..15")
QUESTION = tr_later("Which two values never occur together?")
ABOUT = tr_later(
    "Say only what is publicly known, not what you see in the rows. It is kept in the plan, and the certificate "
    "names it. Several values are written a|b, a range of numbers 0..15."
)


class ImpossibleEditor(QWidget):
    """The statements of the plan, to be typed or added; ``problem`` says why what is typed is not taken."""

    problem = Signal(str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        look(self, "clear")
        self._session = session
        self._line = named(QLineEdit(), "synthetic_impossible", tr("Impossible"), tr(HELP))
        self._line.setPlaceholderText("a = 1 & b = 2")
        self._line.editingFinished.connect(self._take)
        self._more = button(tr("Add…"), "synthetic_impossible_add", tip=tr("Choose two columns and the values"))
        self._more.clicked.connect(self._ask)
        self.setLayout(row((self._line, 1), self._more))
        self.setFocusProxy(self._line)
        self.follow()

    def follow(self) -> None:
        self._line.setText("; ".join(self._session.plan.impossible))
        mark_wrong(self._line, wrong=False)
        self._more.setEnabled(len(_open_to_choice(self._session)) > 1)

    def _take(self) -> None:
        written = tuple(part.strip() for part in self._line.text().split(";") if part.strip())
        written = tuple(dict.fromkeys(written))
        if written == self._session.plan.impossible:
            return
        try:
            checked_statements(written, tuple(column.name for column in self._session.plan.columns))
        except ParameterError as error:
            mark_wrong(self._line, wrong=True)
            self.problem.emit(without_place(error))
            return
        self._declare(written)

    def _declare(self, written: tuple[str, ...]) -> None:
        mark_wrong(self._line, wrong=False)
        self.problem.emit("")
        plan = self._session.plan
        self._session.edit(tr("declare what is impossible"), plan.with_(impossible=written))

    def _ask(self) -> None:
        columns = _open_to_choice(self._session)
        if len(columns) < 2:
            return
        entry = _Two(columns)
        if choose(self, tr(QUESTION), tr(ABOUT), {"yes": tr("Declare it")}, entry=entry) == "yes":
            made = merged_statements(self._session.plan.impossible, entry.statement())
            self._declare(tuple(part.strip() for part in (made or "").split(";")))


class _Two(Entry):
    def __init__(self, columns: Sequence[DraftColumn]) -> None:
        super().__init__()
        self._columns = list(columns)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 8, 0, 8)
        self._boxes: list[tuple[ChoiceBox, ChoiceBox]] = []
        for at, word in enumerate((tr("never"), tr("together with"))):
            column = named(ChoiceBox(), f"impossible_column_{at}", tr("Column"), tr("Column"))
            value = named(ChoiceBox(), f"impossible_value_{at}", tr("Value"), tr(SEVERAL))
            value.setEditable(True)
            value.setMinimumContentsLength(14)
            column.addItems([one.name for one in columns])
            column.currentIndexChanged.connect(lambda _at, k=at: self._offer(k))
            value.currentTextChanged.connect(lambda _text: self._edited())
            for place, part in enumerate((label(word, "muted"), column, label("="), value)):
                grid.addWidget(part, at, place)
            self._boxes.append((column, value))
        self._problem = label("", "problem", wrap=True, name="impossible_problem")
        grid.addWidget(self._problem, 2, 0, 1, 4)
        self._boxes[1][0].setCurrentIndex(1)
        self._offer(0)

    def statement(self) -> str:
        return " & ".join(f"{column.currentText()} = {value.currentText().strip()}" for column, value in self._boxes)

    def problem(self) -> str:
        if any(not value.currentText().strip() for _, value in self._boxes):
            return tr("Choose a value of each.")
        try:
            found = statements(self.statement())
        except ParameterError as error:
            return without_place(error)
        return "" if len(found) == 1 and len(found[0].parts) == 2 else tr("Declare one thing at a time.")

    def _offer(self, at: int) -> None:
        column, value = self._boxes[at]
        chosen = self._columns[max(column.currentIndex(), 0)]
        value.clear()
        value.addItems(
            ["false", "true"] if chosen.kind == "boolean" and not chosen.domain else [*(chosen.domain or ())]
        )
        edit = value.lineEdit()
        if edit is not None:
            edit.setPlaceholderText(tr("such as 0..15") if chosen.numeric else "")
        self._edited()

    def _edited(self) -> None:
        self._problem.setText(self.problem())
        self.changed.emit()


def _open_to_choice(session: Session) -> list[DraftColumn]:
    """Return the columns that a synthetic table has, as far as a statement can name them."""
    return [c for c in session.plan.protected if not set(c.name) & set("&=|;")]


# -- the comparison ---------------------------------------------------------------------------------------------------


SPREAD, PAIRS, ROWS = "distribution", "correlations", "rows"
HIGH = {SPREAD: 210, PAIRS: 350, ROWS: 260}  # pixels that each picture needs at least

WIDEST_CHOICE = 220
INVENTED = 0.1  # a correlation that is stronger than the original's by more than this is reported
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
    """The figure and the pictures of one synthetic table; of a released one its rows, the rest when asked for."""

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
        self.body.addLayout(row(self.figure, (self.words, 1)))
        self.learned = label("", "muted", wrap=True, name=f"{name}_learned")
        self.invented = label("", "warn", wrap=True, name=f"{name}_invented")
        self._beside = (self.learned, self.invented)
        self.distribution = Distribution(session, f"{name}_spread", "synthetic")
        self.correlations = Correlations(session, name, tr("Synthetic"), tr("Raise ε, or choose another method."))
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
        self.body.add(*self._beside, (self._pictures, 1))
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
        self._segments[key].setChecked(True)
        self._choice.setVisible(key == SPREAD)
        self._facts.setText(self._stated[key])
        self._pictures.setCurrentWidget(self._views[key])
        hold_least(self._pictures, HIGH[key])
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
            self.figure.setText(two_digits(found.quality.mean))
            self.words.setText(_figure_words(found))
            self.learned.setText("" if found.learned is None else tr_sentence(found.learned.words))
            self.invented.setText(_invented(found.pairs))
            for part in self._beside:
                part.setVisible(bool(part.text()) and self._pictures.currentWidget() is not self._views.get(ROWS))
        self._facts.setText(next(self._stated[key] for key, one in self._segments.items() if one.isChecked()))
        if found is not None and self._wanted:
            self.show_view(self._wanted)
        self._wanted = ""

    def show_released(self, found: tuple[pl.DataFrame, int] | None) -> None:
        """Show the first rows of a released table and how many it has, or none; nothing beside the original yet."""
        frame, rows = found or (None, 0)
        self._model.show_frame(frame)
        self._stated[ROWS] = first_rows(0 if frame is None else frame.height, rows)
        self.show_compared(None)
        if found is not None:
            self.show_view(ROWS)

    def _choose(self, name: str) -> None:
        self._column = name
        spreads = () if self._found is None else self._found.spreads
        self.distribution.show_column(next((spread for spread in spreads if spread.name == name), None))


def _figure_words(found: Compared) -> str:
    quality = found.quality
    said = {"worst": found.worst, "distance": two_digits(quality.worst_distance)}
    if not quality.of_pairs:
        return tr(
            "of the rows, on average, would have to move for the tables to agree: {worst} is farthest off, by "
            "{distance}.",
            **said,
        )
    said |= {"one": two_digits(quality.one_way), "two": two_digits(quality.two_way)}
    if quality.pairs == quality.of_pairs:
        return tr(
            "of the rows, on average, would have to move for the tables to agree: {one} for one column, {two} for "
            "two; {worst} is farthest off, by {distance}.",
            **said,
        )
    return tr(
        "of the rows, on average, would have to move for the tables to agree: {one} for one column, {two} for two "
        "({pairs} pairs were counted); {worst} is farthest off, by {distance}.",
        pairs=tr_number(quality.pairs, ","),
        **said,
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

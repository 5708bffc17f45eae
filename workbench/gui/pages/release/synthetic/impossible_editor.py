"""What never occurs, as the plan declares it: a line to type statements in, and a question that helps to write one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLineEdit, QWidget

from workbench.data.impossible import checked_list, joined, statements
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.error_text import without_place
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import button, label, look, mark_wrong, named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import Entry, choose
from workbench.params import ParameterError

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
    """The statements of the plan, to be typed or added.

    Signals:
        problem: (str) why what is typed is not taken; empty where it is.
    """

    problem = Signal(str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        look(self, "clear")
        self._session = session
        self._line = named(QLineEdit(), "synthetic_impossible", tr("Impossible"), tr(HELP))
        self._line.setPlaceholderText(tr("sex = male & pregnant = yes"))
        self._line.editingFinished.connect(self._take)
        self._more = button(tr("Add…"), "synthetic_impossible_add", tip=tr("Choose two columns and the values"))
        self._more.clicked.connect(self._ask)
        line = row((self._line, 1), self._more)
        self.setLayout(line)
        self.setFocusProxy(self._line)
        self.follow()

    def follow(self) -> None:
        """Show what the plan declares."""
        self._line.setText("; ".join(self._session.plan.impossible))
        mark_wrong(self._line, wrong=False)
        self._more.setEnabled(len(_open_to_choice(self._session)) > 1)

    def _take(self) -> None:
        written = tuple(part.strip() for part in self._line.text().split(";") if part.strip())
        written = tuple(dict.fromkeys(written))
        if written == self._session.plan.impossible:
            return
        try:
            checked_list(written, tuple(column.name for column in self._session.plan.columns))
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
            made = joined(self._session.plan.impossible, entry.statement())
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
        """Return what is declared, as it is written."""
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

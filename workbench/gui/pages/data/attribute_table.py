"""The attribute table: a spreadsheet to be filled by keys; Tab goes to the next fact, choices open on a key."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QMarginsF, QModelIndex, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QHelpEvent, QPainter, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from workbench.data.schema import KINDS, ROLES
from workbench.gui.pages.data.facts import ROLE_MEANING, fact_edit, kind_edit, read, role_edit, unsettled
from workbench.gui.session.blocking import in_need, needed_first
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import FROM_DATA, of_all, protect_changes
from workbench.gui.session.error_text import suspicion_text, without_place
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import SCALE, Chart, Drawing, paint_marks, range_below, row_ticks
from workbench.gui.widgets.chart_marks import Scale
from workbench.gui.widgets.declared_facts import fact_text, short_fact_text
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.settings_table import SettingsTable, paste_cells
from workbench.gui.widgets.table_model import EDITABLE, Cell, Column, Index, PlanModel
from workbench.params import ParameterError

if TYPE_CHECKING:
    from workbench.data.columns.profile import Bin


WIDEST = 180.0  # a cell's picture is no wider, however wide its column


def label_of(bar: Bin) -> str:
    """Return what a bar is called: a value as it is in the table, or what collects the others."""
    return tr("other values") if bar.label == "other values" else bar.label


def drawing_of(bars: Sequence[Bin]) -> Drawing:
    """Return the bars of one attribute with their scale, and their values or the ends of their range."""
    most, names = max(*(bar.count for bar in bars), 1), [label_of(bar) for bar in bars]
    return Drawing(
        (mark.bars({at: bar.count for at, bar in enumerate(bars)}, alpha=0.65),),
        x=Scale(0, len(bars)),
        y=Scale(0, most),
        left=row_ticks(most),
        grid=True,
        labels=() if any(" – " in name for name in names) else names,
        below=range_below(names),
        words=lambda x: words_of(bars, int(x)),
    )


def words_of(bars: Sequence[Bin], at: int) -> str:
    """Return what one of the bars shows."""
    return f"{label_of(bars[at])}: {count(bars[at].count, 'row')}"


class HistogramDelegate(QStyledItemDelegate):
    """Draws the bars of a cell; the tooltip names the bar under the pointer."""

    def __init__(self, session: Session, attributes: AttributeModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._session, self._attributes = session, attributes

    def _bars(self, index: Index) -> Sequence[Bin]:
        profile = self._session.profile_of(self._attributes.name_at(index.row()))
        return profile.histogram if profile else ()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        if bars := self._bars(index):
            paint_marks(painter, _inside(option), self._session.theme, drawing_of(bars))

    def helpEvent(  # noqa: N802 - Qt's name
        self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        bars = self._bars(index)
        share = (event.pos().x() - _inside(option).left()) / _inside(option).width()
        words = words_of(bars, int(share * len(bars))) if bars and 0 <= share < 1 else ""
        QToolTip.showText(event.globalPos(), tr("{words} (private)", words=words) if words else "", view)
        return True


def _inside(option: QStyleOptionViewItem) -> QRectF:
    box = QRectF(option.rect).adjusted(11, 6, -11, -6)
    box.setWidth(min(box.width(), WIDEST))
    return box


class Histogram(Chart):
    """The bars of one attribute, with the ends of the range below them."""

    name = "attribute_histogram"
    margins = QMarginsF(SCALE, 8, 0, 20)
    usual = QSize(220, 110)

    def show_bars(self, bars: Sequence[Bin], name: str) -> None:
        most = max(bars, key=lambda b: b.count, default=None)
        self.show_drawing(drawing_of(bars) if bars else None)
        self.setAccessibleName(
            tr("Distribution of {name}, most rows at {place}", name=name, place=label_of(most))
            if most
            else tr("Distribution of {name}", name=name)
        )


# -- the attributes ---------------------------------------------------------------------------------------------------


NAME, ROLE, KIND, LOWER, UPPER, MISSING, BARS = range(7)
OPEN_TEXT = tr_later("not declared")
ROLE_HELP = tr_later(
    "What the column does in a disclosure: it identifies people, has to stay secret, or is to be predicted"
)
LOWER_HELP = tr_later("Public lower bound, or the public list of values: {public}")
SPREAD_HELP = tr_later("How the values are spread: private, not for release")
NO_ROLE = "–"
NOT_PROTECTED = {
    "drop": Cell(tr_later("dropped: not released"), "muted", right=False),
    "keep": Cell(tr_later("kept as it is: not protected"), "warn", right=False),
}
MISSING_IS_OPEN = tr_later(
    "Say below the table what happens if a value is missing: stop the release, or keep it as ‘missing’"
)


class Refused(NamedTuple):
    """What was typed for a fact and could not be taken, why, and the value of the fact meanwhile."""

    text: str
    reason: str
    is_current: object


class AttributeModel(PlanModel):
    """The draft's columns beside their private profile; every edit is a step that can be undone."""

    def __init__(self, session: Session) -> None:
        public = tr("from public knowledge, never from the rows")
        columns = (
            Column(tr("Attribute"), self._name, tr("The column of the table"), width=134, grows=0.25),
            Column(tr("Role"), self._role, tr(ROLE_HELP), width=136, choices=(NO_ROLE, *ROLES), edit=self._take_role),
            Column(tr("Kind"), self._kind, tr("What the values are"), width=108, choices=KINDS, edit=self._take_kind),
            self._bound(tr("Lower bound"), tr("Lower bound or values"), LOWER, tr(LOWER_HELP, public=public)),
            self._bound(tr("Upper bound"), tr("Upper bound"), UPPER, tr("Public upper bound: {public}", public=public)),
            Column(tr("Missing"), self._missing, tr("Rows without a value"), width=76, right=True),
            Column(tr("Spread"), lambda at: Cell(), tr(SPREAD_HELP), width=76, sorts=False),
        )
        super().__init__(session, columns)
        self._wrong: dict[tuple[str, str], Refused] = {}
        session.plan_changed.connect(self._follow_plan)

    def _bound(self, title: str, called: str, place: int, help_text: str) -> Column:
        return Column(
            title,
            lambda at: self._fact(at, place),
            help_text,
            width=110,
            grows=0.3,
            right=True,
            field="fact_editor",
            called=called,
            hint=tr("value, value, …"),
            edit=lambda at, text: self._take_fact(at, place, text),
        )

    def label_of(self, name: str) -> str:
        """Return what the file says a column is; empty where it says nothing."""
        return self.session.opened.table.facts.labels.get(name, "") if self.session.opened is not None else ""

    def meanings_of(self, name: str) -> str:
        """Return what the file says the values of a column mean: ``1 = male, 2 = female``."""
        found = self.session.opened.table.facts.values.get(name, {}) if self.session.opened is not None else {}
        return ", ".join(f"{value} = {label}" for value, label in found.items() if value != label)

    def needs_at(self, at: int) -> bool:
        return in_need(self.session.opened, self.session.plan, self.column_at(at))

    def order(self) -> list[int]:
        return needed_first(self.session.plan) if self.height() else []

    def problem_of(self, at: int) -> str:
        """Return the sentence about what was typed for an attribute and refused, or about its facts."""
        column = self.column_at(at)
        typed = next((why.reason for (name, _), why in self._wrong.items() if name == column.name), "")
        return typed or next((tr_sentence(p.text) for p in column.problems() if not p.open), "")

    def leave(self, left: int) -> None:
        """Forget what was refused, unless it was in the row that is ``left``: Tab refuses an entry as it goes on."""
        if left < self.rowCount():
            name = self.column_at(left).name if left >= 0 else ""
            kept = {key: why for key, why in self._wrong.items() if key[0] == name}
            if kept != self._wrong:
                self._wrong = kept
                self.refresh()

    def retyped(self, column: DraftColumn) -> dict[str, Any]:
        """Return the bounds that were typed for a column and refused, as far as ``column`` lets them be read now."""
        out = {}
        for (name, fact), why in self._wrong.items():
            if name == column.name:
                with contextlib.suppress(ParameterError):  # it stays refused, with its reason
                    out[fact] = read(column, fact, why.text, self.decimal)
        return out

    # -- cells --------------------------------------------------------------------------------------------------------

    def _name(self, at: int) -> Cell:
        column = self.column_at(at)
        profile = self.session.profile_of(column.name)
        found = unsettled(column, profile)
        stated = filter(None, (column.name, self.label_of(column.name)))
        tip = "\n".join((*stated, *map(suspicion_text, found))) if profile is not None else ""
        text = column.name + ("  ⚠" if found and column.action != "drop" else "")
        return Cell(text, "" if column.protected else "muted", tip, key=column.name.casefold())

    def _role(self, at: int) -> Cell:
        column = self.column_at(at)
        return _guessable(column, column.role, "action", tr(ROLE_MEANING[column.role]), value=column.role or NO_ROLE)

    def _kind(self, at: int) -> Cell:
        column = self.column_at(at)
        return _guessable(column, column.kind, "kind", "", value=column.kind or "")

    def _fact(self, at: int, place: int) -> Cell:
        """Return a bound; the list of values takes the room of both."""
        column = self.column_at(at)
        if not column.protected:
            if place != LOWER:
                return Cell(look="muted", right=False)
            cell = NOT_PROTECTED[column.action]
            return cell._replace(text=tr(cell.text))
        fact = _fact_in(column, place)
        if not fact:
            shown = column.kind == "boolean" and place == LOWER
            return Cell(fact_text(column, "domain") if shown else "", right=False)
        value, bound = getattr(column, fact), fact != "domain"
        cell = Cell(right=bound, key=value if bound else None)
        wrong = self._wrong.get((column.name, fact))
        if wrong is not None:
            return cell._replace(text="✕ " + wrong.text, look="danger", tip=wrong.reason, value=wrong.text)
        text, from_data = short_fact_text(column, fact), column.bounds_origin == "data"
        # The sign comes first: the end of a long list is cut off.
        tip = "" if bound else self.meanings_of(column.name) or text
        cell = cell._replace(text=text or tr(OPEN_TEXT), tip=tip, value=fact_text(column, fact))
        if bound and column.crossed:
            return cell._replace(text=f"✕ {text}", look="danger", tip=self.problem_of(at))
        if from_data:
            return cell._replace(
                text=tr("⚠ (data) {text}", text=text) if text else tr(OPEN_TEXT), look="warn", tip=tr(FROM_DATA)
            )
        return cell._replace(look="warn" if value is None else "")

    def _missing(self, at: int) -> Cell:
        column = self.column_at(at)
        profile = self.session.profile_of(column.name)
        number = profile.missing_beside(column.domain or ()) if profile else None
        text = tr_number(number, ",") if number else NO_ROLE
        if "missing" in column.unfilled:
            return Cell(f"{text} ⚠", "warn", tr(MISSING_IS_OPEN), key=number)
        return Cell(text, "" if number and column.protected else "muted", key=number)

    # -- edits --------------------------------------------------------------------------------------------------------

    def _take_role(self, at: int, text: str) -> bool:
        columns, role = self.edited_with(at), None if text in ("", NO_ROLE) else text
        if role == "target" and len(columns) > 1:
            self.session.notify("warning", tr("Select one target."))
            return False
        self.session.edit(*role_edit(self.session.plan, columns, role, self.session.kind_of))
        return True

    def _take_kind(self, at: int, text: str) -> None:
        self.session.edit(*kind_edit(self.session.plan, self.edited_with(at), text))

    def _take_fact(self, at: int, place: int, text: str) -> None:
        column = self.column_at(at)
        fact = _fact_in(column, place)
        value = read(column, fact, text, self.decimal)
        self._wrong = {}
        self.session.edit(*fact_edit(self.session.plan, column, self.edited_with(at), fact, value))
        self.refresh()

    def refuse(self, at: int, place: int, text: str, error: ParameterError) -> None:
        """Keep what was typed for a fact in sight, with the reason why it is refused."""
        column = self.column_at(at)
        fact = _fact_in(column, place)
        self._wrong = {(column.name, fact): Refused(text, without_place(error), getattr(column, fact))}
        self.refresh()

    # -- within -------------------------------------------------------------------------------------------------------

    @property
    def decimal(self) -> str:
        opened = self.session.opened
        return opened.table.dialect.decimal if opened and opened.table.dialect else "."

    def _follow_plan(self) -> None:
        """Show another plan; what was typed and refused stays in sight until its fact is something else."""
        columns = {c.name: c for c in self.session.plan.columns}
        self._wrong = {
            (name, fact): why
            for (name, fact), why in self._wrong.items()
            if name in columns and _asks(columns[name], fact) and getattr(columns[name], fact) == why.is_current
        }
        self.refresh()

    def start_over(self) -> None:
        self._wrong.clear()
        super().start_over()


def _asks(column: DraftColumn, fact: str) -> bool:
    return column.protected and fact in column.needs


def _fact_in(column: DraftColumn, place: int) -> str:
    """Return the fact of a column that is in a place; empty where there is none."""
    if not column.protected:
        return ""
    if column.numeric:
        return {LOWER: "lower", UPPER: "upper"}.get(place, "")
    return "domain" if place == LOWER and column.kind == "category" else ""


def _guessable(column: DraftColumn, stated: str | None, fact: str, tip: str, *, value: str) -> Cell:
    """Return the cell of a role or a kind; a guess that nobody has confirmed is marked."""
    guessed = fact in column.unconfirmed
    text = f"{tr(stated) if stated else NO_ROLE}{' ?' if guessed else ''}"
    look = "warn" if guessed else "muted" if not column.protected or text == NO_ROLE else ""
    return Cell(text, look, tip, key=stated, value=value)


# -- the view ---------------------------------------------------------------------------------------------------------


NOT_RELEASED, RELEASED = tr_later("Not Released"), tr_later("Release It Protected")
ROLE_TITLES = (
    ("identifier", tr_later("Identifier: Not Released")),
    ("quasi-identifier", tr_later("Quasi-identifier")),
    ("sensitive", tr_later("Sensitive")),
    (None, tr_later("No Role")),
)


class AttributeTable(SettingsTable):
    """One row per attribute."""

    filled = Signal()  # an entry that :meth:`edit_fact` began was ended by Return: the person goes on

    def __init__(self, session: Session) -> None:
        self._filling = False
        self.attributes = AttributeModel(session)
        accessible = tr("Attributes: role, kind and public facts of each")
        super().__init__(session, self.attributes, "attribute_table", accessible, private=True)  # missing values
        self.set_row_height(ROW - 4)
        self.setMouseTracking(True)
        self.setItemDelegateForColumn(BARS, HistogramDelegate(session, self.attributes, self))
        self._spans: list[bool] = []
        self.attributes.modelReset.connect(self._span)
        session.plan_changed.connect(self._span)
        self._actions()

    # -- what can be done with the selected columns -------------------------------------------------------------------

    def _actions(self) -> None:
        """Make what the context menu offers; the keys of some work without it."""
        tip = tr("Leave the selected columns out, or release them again")
        self._drop = self.add_action("drop", tr(NOT_RELEASED), self.toggle_drop, tip)
        self.customContextMenuRequested.connect(self._word_drop)
        for role, words in ROLE_TITLES:
            name = f"role_{(role or 'none').replace('-', '_')}"
            self.add_action(name, tr(words), partial(self._take_role, role), tr("The role of the selected columns"))
        self.add_action("target", tr("Use as Target"), self._take_target, tr("The column that models predict"))

    def _word_drop(self) -> None:
        current = self.currentIndex()
        gone = current.isValid() and self.attributes.column_at(current.row()).action == "drop"
        self._drop.setText(tr(RELEASED) if gone else tr(NOT_RELEASED))

    def _selected(self) -> tuple[DraftColumn, ...]:
        current = self.currentIndex()
        return self.attributes.edited_with(current.row()) if current.isValid() else ()

    def toggle_drop(self) -> None:
        """Leave the selected columns out, or protect them again where the current one is left out already."""
        columns = self._selected()
        if not columns:
            return
        session = self.attributes.session
        back = self.attributes.column_at(self.currentIndex().row()).action == "drop"
        fitting = [c for c in columns if (c.action == "drop") == back]
        made = {c.name: protect_changes(c, session.kind_of(c.name)) if back else {"action": "drop"} for c in fitting}
        named = of_all(fitting)
        words = tr("protect {columns}", columns=named) if back else tr("drop {columns}", columns=named)
        session.edit(words, session.plan.with_columns(made))

    def _take_role(self, role: str | None) -> None:
        session, columns = self.attributes.session, self._selected()
        if columns:
            session.edit(*role_edit(session.plan, columns, role, session.kind_of))

    def _take_target(self) -> None:
        session, current = self.attributes.session, self.currentIndex()
        if current.isValid():
            column = self.attributes.column_at(current.row())
            if column.role == "target":
                session.set_target(None)
            else:
                session.edit(*role_edit(session.plan, (column,), "target", session.kind_of))

    def paste_block(self, rows: Sequence[int], column: int, block: Sequence[Sequence[str]]) -> str:
        """Take a block over the facts of the columns, of which none lies beyond the upper bound."""
        words = tr("paste {rows} of facts", rows=count(len(block), "row"))
        with self.attributes.one_step(words):
            paste_cells(self.attributes, rows, column, block, UPPER + 1)
        return words

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Show what is released first: it may have been chosen on another page."""
        super().showEvent(event)
        if self.horizontalHeader().sortIndicatorSection() < 0:
            self._sort(-1, Qt.SortOrder.AscendingOrder)

    def retranslate(self) -> None:
        self.attributes.refresh()

    # -- what is still to be declared ---------------------------------------------------------------------------------

    def next_open(self) -> QModelIndex:
        """Return the first cell whose fact nobody has declared, of a row in sight if there is one."""
        shown = list(self.in_sight())
        hidden = sorted({*range(self.attributes.rowCount())} - {*shown})
        for row in (*shown, *hidden):
            for fact in self.attributes.column_at(row).unfilled:
                return self.attributes.index(row, UPPER if fact == "upper" else LOWER)
        return QModelIndex()

    def edit_fact(self, index: QModelIndex) -> None:
        if index.isValid():
            self.setFocus()
            self.setCurrentIndex(index)
            self.edit(index)
            self._filling = True

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:  # noqa: N802
        """Report an entry that ended by Return; one that ended by Esc, Tab or a click is followed by none."""
        by_return = self._filling and hint == QAbstractItemDelegate.EndEditHint.SubmitModelCache
        self._filling = False
        super().closeEditor(editor, hint)
        if by_return and not self._is_open(self.currentIndex()):  # else it was refused
            QTimer.singleShot(0, self.filled.emit)

    def _is_open(self, index: QModelIndex) -> bool:
        column = self.attributes.column_at(index.row())
        # What a missing value means is open too, and is chosen below the table.
        return self.next_open() == index and any(fact in column.needs for fact in column.unfilled)

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:  # noqa: N802
        """Let Tab, pressed while a fact is edited, go to the next cell that can be edited."""
        steps = {QAbstractItemView.CursorAction.MoveNext: 1, QAbstractItemView.CursorAction.MovePrevious: -1}
        if action not in steps or not self.currentIndex().isValid():
            return super().moveCursor(action, modifiers)
        width, rows = self.attributes.columnCount(), list(self.in_sight())
        if self.currentIndex().row() not in rows:
            return super().moveCursor(action, modifiers)
        place = rows.index(self.currentIndex().row()) * width + self.currentIndex().column()
        while 0 <= (place := place + steps[action]) < width * len(rows):
            index = self.attributes.index(rows[place // width], place % width)
            if index.column() in (LOWER, UPPER) and index.flags() == EDITABLE:
                return index
        return self.currentIndex()

    def _span(self) -> None:
        """Give a list of values, and a word about what is dropped, the room of both bounds."""
        rows = range(self.attributes.rowCount())
        wide = [not (c.protected and c.numeric) for c in map(self.attributes.column_at, rows)]
        if len(wide) != len(self._spans):
            self.clearSpans()
            self._spans = [False] * len(wide)
        for row, (was, now) in enumerate(zip(self._spans, wide, strict=True)):
            if was != now:
                self.setSpan(row, LOWER, 1, 2 if now else 1)
        self._spans = wide

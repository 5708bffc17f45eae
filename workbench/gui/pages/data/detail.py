"""What is below the attribute table: the chosen attribute, why it is looked at, and what can be done about it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal

from workbench.gui.pages.data.attribute_table import AttributeModel, Histogram
from workbench.gui.pages.data.column_options import MISSING, ORDERS, ReadingFacts
from workbench.gui.pages.data.facts import ROLE_MEANING, Remedy, SuspicionLines, found_in_rows
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import FROM_DATA, of_all
from workbench.gui.session.error_text import in_the_window
from workbench.gui.session.session import Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_number
from workbench.gui.widgets.basic import Elided, badge, button, label, lines, once, panel, row, say, stack
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.master_detail import DetailCard, scrolled_words
from workbench.params import InputError

if TYPE_CHECKING:
    from workbench.data.columns.profile import ColumnProfile

HEIGHT = 240
PICTURE, LEAST_PICTURE = 260, 200
ALL_OF_THEM = tr_later("edits apply to all selected columns")
DECLARE_VALUES = tr_later(
    "Declare the values it can take from what everybody may know: the rows themselves are private."
)
DECLARE_BOUNDS = tr_later("Declare its public bounds from what everybody may know: the rows themselves are private.")
DECLARE_BELOW = {
    "date_order": tr_later("Declare below how its dates are written."),
    "missing": tr_later("Declare below what happens if a value is missing."),
}


class AttributeDetail(DetailCard):
    """Follows the attribute that is selected in the table.

    Signals:
        list_asked: (name) the person wants to edit the list of values of that attribute.
        dialect_asked: the person wants to state how the file is written.
        drop_asked: the person wants to leave the selected attributes out, or to have them back.
        rows_asked: the person wants to say how many rows belong to one person at most.
    """

    list_asked = Signal(str)
    dialect_asked = Signal()
    rows_asked = Signal()
    drop_asked = Signal()

    def __init__(self, session: Session, attributes: AttributeModel) -> None:
        super().__init__(HEIGHT, PICTURE)
        self.setObjectName("attribute_detail")
        self._session = session
        self._attributes = attributes
        self._at = -1
        self._name = Elided("", "heading")
        self._kind = label("", "muted", name="detail_kind")
        self._role = label("", "muted", wrap=True, name="detail_role")
        self._suspicions = SuspicionLines()
        self._suspicions.accepted.connect(self._accept)
        self._notes = label("", wrap=True, name="detail_notes")
        self._warning = label("", "warn", wrap=True, name="detail_warning")
        self._problem = label("", "problem", wrap=True, name="detail_problem")
        self.reading = ReadingFacts(session, attributes)
        self.reading.list_asked.connect(lambda: self.list_asked.emit(self._column().name))
        self._take = button(tr("Use the values found"), "take_from_data", tip=tr(FROM_DATA), press=self._use_found)
        self._target = button(tr("Use as target"), "detail_target", tip=tr("Make it the column that models predict"))
        self._target.clicked.connect(self._toggle_target)
        self._drop = button(tr("Drop it"), "detail_drop", tip=tr("Leave the column out of what is released"))
        self._drop.clicked.connect(lambda: self.drop_asked.emit())
        self._bars = Histogram(session)
        for press in (self._take, self._target, self._drop):
            once(press)
        self._label = label("", wrap=True, name="detail_label")
        self._label.setToolTip(tr("What the file says of the column and of its values; nobody has confirmed it"))
        stated = scrolled_words(self._label, self._role, self._suspicions, self._notes, self._warning, self._problem)
        buttons = lines(self._take, self._drop, self._target, None)
        left = stack(row((self._name, 1), self._kind), (stated, 1), self.reading, 4, buttons, spacing=4)
        self._bars.setMinimumWidth(LEAST_PICTURE)
        self.fill(left, panel(stack(row(None, badge()), (self._bars, 1), spacing=4)), picture_width=0)
        session.plan_changed.connect(self.refresh)
        attributes.dataChanged.connect(self.refresh)

    def show_attribute(self, at: int) -> None:
        """Show the attribute in row ``at`` of the table."""
        self._at = at
        self.refresh()

    def refresh(self) -> None:
        if not 0 <= self._at < self._attributes.rowCount():
            return
        column, profile = self._attributes.column_at(self._at), self._attributes.profile_at(self._at)
        edited = self._edited()
        others = len(edited) - 1
        self._name.set_whole(
            tr("{name} and {others} more", name=column.name, others=tr_number(others, ",")) if others else column.name
        )
        self._kind.setText(tr(ALL_OF_THEM) if others else _kind_text(column, profile))
        said = [self._attributes.label_of(column.name), self._attributes.meanings_of(column.name)]
        self._label.setText("  ·  ".join(filter(None, said)))
        self._label.setVisible(bool(self._label.text()) and not others)
        self._role.setText(tr(ROLE_MEANING[column.role]))
        lines = self._suspicions.show_suspicions(column, profile)
        say(self._notes, _notes_text(column) if not column.crossed else "")
        taken = column.protected and column.bounds_origin == "data"
        say(self._warning, f"⚠ {tr(FROM_DATA)}" if taken else "")
        problem = self._attributes.problem_of(self._at)
        say(self._problem, f"✕ {as_sentence(problem)}" if problem else "")
        # Where there is more to say, what is to be done comes first.
        self._role.setVisible(not taken and not problem and not (lines and column.protected))
        self.reading.show_column(column, edited)
        # None of the buttons is ever hidden: the next one would slide under the pointer, and take a double click.
        self._take.setEnabled(any(c.protected and c.needs and c.bounds_origin != "data" for c in edited))
        self._target.setEnabled(not others and column.action != "drop")
        self._drop.setText(tr("Drop it") if column.action != "drop" else tr("Protect it"))
        self._target.setText(tr("Use as target") if column.role != "target" else tr("Not the target"))
        self._bars.show_bars(profile.histogram if profile else (), column.name)

    def _edited(self) -> tuple[DraftColumn, ...]:
        return self._attributes.edited_with(self._at)

    def retranslate(self) -> None:
        self.refresh()

    # -- what the buttons do --------------------------------------------------------------------------------------

    def _column(self) -> DraftColumn:
        return self._attributes.column_at(self._at)

    def _accept(self, hint: Remedy) -> None:
        column = self._column()
        if hint.changes:
            # A bound that was typed in this order of dates, and refused before, can be read now.
            typed = self._attributes.retyped(dataclasses.replace(column, **hint.changes))
            self._session.edit_column(column.name, hint.words, **{**hint.changes, **typed})
        else:
            (self.dialect_asked if hint.leads == "dialect" else self.rows_asked).emit()

    def _toggle_target(self) -> None:
        column = self._column()
        self._session.set_target(None if column.role == "target" else column.name)

    def _use_found(self) -> None:
        columns = [c for c in self._edited() if c.protected]
        made, failed = {}, []
        for column in columns:
            profile = self._session.opened.profiles.get(column.name) if self._session.opened else None
            if profile is None:
                continue
            try:
                made[column.name] = found_in_rows(column, profile)
            except InputError as error:
                failed.append(error)
        if len(columns) == 1 and failed:
            self._session.report(failed[0])
            return
        if self._take.hasFocus():  # it is disabled now, and Qt would give the keys to “Drop it”
            self.reading.missing.setFocus(Qt.FocusReason.OtherFocusReason)
        words = of_all([c for c in columns if c.name in made] or columns)
        self._session.edit(tr("use the values found in {words}", words=words), self._session.plan.with_columns(made))
        if len(columns) > 1:
            said = [tr("The values found are used in {columns}.", columns=count(len(made), "column")), tr(FROM_DATA)]
            if failed:
                kept, why = count(len(failed), "column"), in_the_window(failed[0])
                said.append(tr("{columns} could not be: {reason}.", columns=kept, reason=why))
            self._session.notify("warning", " ".join(said))


def _kind_text(column: DraftColumn, profile: ColumnProfile | None) -> str:
    kind = tr(column.kind or "")
    parts = [tr("{words} (guessed)", words=kind) if "kind" in column.unconfirmed else kind]
    if profile is not None:
        parts += [count(profile.distinct, "different value")]
        missing = profile.missing_beside(column.domain or ())
        parts += [count(missing, "missing", "missing")] if missing else []
    return "  ·  ".join(p for p in parts if p)


def _notes_text(column: DraftColumn) -> str:
    facts = [f for f in column.unfilled if f in column.needs]
    if facts:
        return tr(DECLARE_VALUES) if column.kind == "category" else tr(DECLARE_BOUNDS)
    if column.unfilled:
        return tr(DECLARE_BELOW[column.unfilled[0]])
    if column.unconfirmed:
        said = _guess_text(column)
        return tr("Guessed: {guesses}. Correct what is wrong, then confirm the rest below.", guesses=said)
    if not column.protected or column.bounds_origin == "data":
        return ""
    if column.numeric:
        return tr("Its public facts are declared; values outside the bounds are moved to the nearest one.")
    return tr("Its public values are declared.")


def _guess_text(column: DraftColumn) -> str:
    missing = tr(dict(MISSING).get(column.missing, column.missing))
    words = {
        "action": tr("an identifier, not released"),
        "kind": tr(str(column.kind)),
        "missing": tr("if a value is missing: {missing}", missing=missing),
        "date_order": tr(dict(ORDERS).get(column.date_order) or str(column.date_order)),
        "domain": tr("values as the file labels them"),
    }
    return "; ".join(words[fact] for fact in column.unconfirmed)

"""What is below the attribute table: the chosen attribute, why it is looked at, and what can be done about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from workbench.data.schema import Attribute
from workbench.gui.pages.data.attribute_table import AttributeModel, Histogram
from workbench.gui.pages.data.facts import ROLE_MEANING, Remedy, SuspicionLines, found_in_rows, names, way_edit
from workbench.gui.session.draft import OPEN, DraftColumn
from workbench.gui.session.draft_edits import FROM_DATA, of_all
from workbench.gui.session.error_text import in_the_window
from workbench.gui.session.session import Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_n, tr_number, tr_sentence, typed
from workbench.gui.widgets.basic import (
    Elided,
    badge,
    button,
    label,
    lines,
    mark_wrong,
    named,
    once,
    panel,
    row,
    say,
    stack,
)
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.declared_facts import fact_text
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.master_detail import DetailCard, scrolled_words
from workbench.params import InputError, ParameterError
from workbench.render.fonts import scaled

if TYPE_CHECKING:
    from workbench.data.columns.profile import ColumnProfile


WIDTH, NARROW, SHORT = 164, 152, 118
"""Most and least width of a field: in a narrow window each gives a little, and none makes the window wider."""

MISSING = (("refuse", tr_later("stop the release")), ("own-value", tr_later("keep as ‘missing’")))
ORDERS = (
    (None, tr_later("year first")),
    ("day-first", tr_later("day first")),
    ("month-first", tr_later("month first")),
)
HELP = {
    "missing_codes": tr_later(
        "Codes that the file uses for missing values, such as -9 or 99, with commas between. Such a cell counts as "
        "missing before it is read in any other way; take the codes from the file's description, not from the rows"
    ),
    "missing": tr_later(
        "What happens to a row without a value. Stop: the release stops and names the row. Keep as "
        "‘missing’: whether somebody has a value is protected as well, like one more value"
    ),
    "date_order": tr_later(
        "Day or month first, in a date with the year last: is 03/12/2020 the 3rd of December or the "
        "12th of March? It must be public knowledge, because it decides how every row is read"
    ),
    "other": tr_later(
        "The value that replaces whatever is not in the list. Without one, a row with such a value "
        "stops the release and is named; with one, it counts as this value"
    ),
    "cells": tr_later(
        "Before noise is added, each value is rounded to the nearest of this many, equally spaced "
        "between the bounds. Fewer of them, in larger steps, keep less detail and can lower the "
        "error; left empty, it is chosen from the bounds"
    ),
    "domain": tr_later("The public list of the values, one per line: for long lists, and for values that hold a comma"),
}

CHOSEN = {
    "missing": tr_later("say what a missing value means in {columns}"),
    "date_order": tr_later("say how dates are written in {columns}"),
}
"""What the Edit menu says of a fact that is chosen from a list."""

HOW_MANY = tr_later("how many values")
TITLES = {
    "domain": tr_later("what it can be"),
    "missing": tr_later("if a value is missing"),
    "missing_codes": tr_later("codes for missing"),
    "date_order": tr_later("day or month first"),
    "other": tr_later("if a value is not listed"),
    "cells": HOW_MANY,
}

REPLACED = tr_later(
    "Invalid values are replaced: a missing one is kept as ‘missing’ (“replace invalid values”, below the table)"
)


class ReadingFacts(QWidget):
    """One line of fields, each with its words above it; only those that mean something for the kind are shown."""

    list_asked = Signal()  # the person wants to edit the list of values

    def __init__(self, session: Session, attributes: AttributeModel) -> None:
        super().__init__()
        self._session, self._attributes = session, attributes
        self._column: DraftColumn | None = None
        self._edited: tuple[DraftColumn, ...] = ()
        self.missing = named(ChoiceBox(), "fact_missing", tr("What a missing value means"), tr(HELP["missing"]))
        self.codes = named(
            QLineEdit(),
            "fact_missing_codes",
            tr("How the file marks a missing value"),
            tr(HELP["missing_codes"]),
        )
        self.codes.setPlaceholderText(tr("none"))
        self.codes.editingFinished.connect(self._take_codes)
        self.order = named(ChoiceBox(), "fact_date_order", tr("Day or month first"), tr(HELP["date_order"]))
        self.other = named(ChoiceBox(), "fact_other", tr("What a value that is not listed becomes"), tr(HELP["other"]))
        self.other_field = named(QLineEdit(), "fact_other_field", tr("A value that collects what is not listed"))
        self.other.setLineEdit(self.other_field)
        self.other.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.cells = named(QLineEdit(), "fact_cells", tr("How many values it is rounded to"), tr(HELP["cells"]))
        values = button(tr("List of values…"), "fact_values", tip=tr(HELP["domain"]), press=self.list_asked)
        self.problem = label("", "problem", wrap=True, name="fact_problem")
        self.missing.activated.connect(lambda: self._choose("missing"))
        self.order.activated.connect(lambda: self._choose("date_order"))
        self.other.activated.connect(self._take_other)
        self.other_field.editingFinished.connect(self._take_other)
        self.cells.editingFinished.connect(self._take_cells)
        fields: tuple[QWidget, ...] = values, self.missing, self.codes, self.order, self.other, self.cells
        self._fields = dict(zip(TITLES, fields, strict=True))
        self._titles = {fact: label(tr(words), "muted") for fact, words in TITLES.items()}
        self._holders = {fact: panel(stack(self._titles[fact], self._fields[fact], spacing=2)) for fact in TITLES}
        for fact, field in self._fields.items():
            self._titles[fact].setToolTip(tr(HELP[fact]))
            self._titles[fact].setBuddy(field)
            field.setMinimumWidth(0)
            self._holders[fact].hide()  # all six side by side would widen the window for good
        shown = lines(*((holder, WIDTH) for holder in self._holders.values()), None, spacing=16)
        self.setLayout(stack(shown, self.problem, spacing=2))
        self._fit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Give the fields the width of their words where these are written larger or smaller."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _fit(self) -> None:
        for fact, holder in self._holders.items():
            short, words = fact == "missing_codes", self._titles[fact].sizeHint().width()
            holder.setMinimumWidth(max(scaled(SHORT if short else NARROW, WIDTH), words))
            holder.setMaximumWidth(max(scaled(SHORT if short else WIDTH), words))

    def show_column(self, column: DraftColumn, edited: Sequence[DraftColumn] = ()) -> None:
        """Show the facts of one attribute; an edit changes every column of ``edited`` that it fits."""
        self._column, self._edited = column, tuple(edited) or (column,)
        shown = ("missing", "missing_codes", *_further_facts(column)) if column.protected and column.kind else ()
        for key in sorted(self._holders, key=lambda key: key in shown):
            # Those that go are hidden first: Qt lays the window out at each that comes, and never narrower again.
            self._holders[key].setVisible(key in shown)
        replaced = self._session.plan.replaces_invalid
        self._fill(self.missing, MISSING, column.missing)
        self.missing.setEnabled(not replaced)
        self.missing.setToolTip(tr(REPLACED) if replaced else tr(HELP["missing"]))
        if not self.codes.hasFocus():
            self.codes.setText(fact_text(column, "missing_codes"))
        self._fill(self.order, ORDERS, column.date_order)
        self._fill_other(column)
        if not self.cells.hasFocus():
            self._show_cells(column)

    def focus_on(self, fact: str) -> None:
        field = self._fields[fact]
        field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if isinstance(field, QComboBox):
            QTimer.singleShot(0, field, field.showPopup)  # once the card has its place

    def retranslate(self) -> None:
        """Say the lists again once everything is: among them are values of the table, which no language changes."""
        if self._column is not None:
            QTimer.singleShot(0, self, partial(self.show_column, self._column, self._edited))

    # -- filling in -----------------------------------------------------------------------------------------------

    def _fill(self, combo: ChoiceBox, choices: tuple[tuple[str | None, str], ...], present: str | None) -> None:
        still_open = [(tr("not declared"), OPEN)] if present == OPEN else []
        combo.offer([*still_open, *((tr(words), value) for value, words in choices)], present)
        mark_wrong(combo, present == OPEN)

    def _fill_other(self, column: DraftColumn) -> None:
        unlisted = tr("count as ‘missing’") if self._session.plan.replaces_invalid else tr("stop the release")
        values = dict.fromkeys((*(column.domain or ()), *([] if column.other is None else [column.other])))
        self.other.offer([(unlisted, None), *((value, value) for value in values)], column.other)

    def _show_cells(self, column: DraftColumn) -> None:
        self.cells.setText("" if column.cells is None else str(column.cells))
        self.cells.setPlaceholderText(tr("automatic"))
        title = tr(HOW_MANY)
        self._say("")
        if column.protected and column.numeric and not column.unfilled and not column.problems():
            made = column.column().grid()
            self.cells.setPlaceholderText(tr("automatic: {size}", size=tr_number(made.cells.size, ",")))
            step = tr("one day") if column.kind == "date" and made.step == 1 else tr_number(made.step, ",.6g")
            # Whole numbers keep whole steps, so that there can be fewer values than were asked for.
            fewer = column.cells not in (None, made.cells.size)
            title = (
                tr("values at most, steps of {step}", step=step) if fewer else tr("values, steps of {step}", step=step)
            )
            values = count(made.cells.size, "value")
            now = tr("{help}. Now: {values} in steps of {step}.", help=tr(HELP["cells"]), values=values, step=step)
            self.cells.setToolTip(now)
        self._titles["cells"].setText(title)
        self._fit()

    # -- taking ---------------------------------------------------------------------------------------------------

    def _choose(self, fact: str) -> None:
        chosen = {"missing": self.missing, "date_order": self.order}[fact].currentData()
        self._edit(lambda columns: tr(CHOSEN[fact], columns=columns), **{fact: chosen})

    def _take_other(self) -> None:
        if self._column is None or not self.other.isVisible():
            return
        text = self.other.currentText()
        value = None if text in ("", self.other.itemText(0)) else text
        if value != self._column.other:
            self._edit(lambda columns: tr("say what is not listed in {columns}", columns=columns), other=value)
        else:
            self._fill_other(self._column)

    def _take_codes(self) -> None:
        codes = tuple(dict.fromkeys(filter(None, names(self.codes.text())))) or None
        if self._column is not None and codes != (self._column.missing_codes or None):
            self._edit(
                lambda columns: tr("say which codes mean missing in {columns}", columns=columns), missing_codes=codes
            )

    def _take_cells(self) -> None:
        if self._column is None:
            return
        text = self.cells.text().strip()
        try:
            spec = Attribute.declared()["cells"]
            value: Any = spec.parse(typed(text), tr("the number of values")) if text else None
        except ParameterError as error:
            self._say(f"✕ {as_sentence(tr_sentence(error.what))}")
            return
        self._say("")
        if value != self._column.cells:
            self._edit(lambda columns: _rounded(value, columns), cells=value)
        else:
            self._show_cells(self._column)

    def _edit(self, say: Callable[[str], str], **changes: Any) -> None:
        assert self._column is not None
        words, plan = way_edit(self._session.plan, self._edited, say, **changes)
        if "date_order" in changes:  # a bound that was typed in this order, and refused before, can be read now
            made = dataclasses.replace(self._column, date_order=changes["date_order"])
            plan = plan.with_columns({made.name: {**changes, **self._attributes.retyped(made)}})
        self._session.edit(words, plan)

    def _say(self, text: str) -> None:
        say(self.problem, text)
        mark_wrong(self.cells, bool(text))


def _rounded(values: int | None, columns: str) -> str:
    if values is None:
        return tr("round as the bounds suggest in {columns}", columns=columns)
    return tr_n("round to {n} value in {columns}", "round to {n} values in {columns}", values, columns=columns)


def _further_facts(column: DraftColumn) -> tuple[str, ...]:
    """Return the facts beside bounds and missing values that mean something for the kind of a column."""
    if column.kind == "date":
        return ("date_order", "cells")
    if column.numeric:
        return ("cells",)
    if column.kind == "category" or column.domain is not None:
        return ("domain", "other")
    return ("domain",)  # a boolean is false or true, unless other words are listed for it


# -- the chosen attribute ---------------------------------------------------------------------------------------------


HEIGHT = 268
PICTURE, LEAST_PICTURE = 260, 200
DECLARE_VALUES = tr_later("Declare the values it can take from public knowledge: the rows themselves are private.")
DECLARE_BOUNDS = tr_later("Declare its public bounds from public knowledge: the rows themselves are private.")
FIND = tr_later(
    "Find values or bounds of the selected columns by a release with its own ε; the plan uses what it publishes"
)
FINDABLE = ("category", "integer", "real")
DECLARE_BELOW = {
    "date_order": tr_later("Declare below how its dates are written."),
    "missing": tr_later("Declare below what happens if a value is missing."),
}


class AttributeDetail(DetailCard):
    """Follows the attribute that is selected in the table."""

    list_asked = Signal(str)  # (name) the person wants to edit the list of values of that attribute
    dialect_asked = Signal()  # the person wants to state how the file is written
    rows_asked = Signal()  # the person wants to say how many rows belong to one person at most
    drop_asked = Signal()  # the person wants to leave the selected attributes out, or to have them back
    find_asked = Signal(object)  # (columns) the person wants a release to find their values or bounds

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
        self._take = button(tr("Use values found"), "take_from_data", tip=tr(FROM_DATA), press=self._use_found)
        self._find = button(tr("Find privately…"), "find_privately", tip=tr(FIND))
        self._find.clicked.connect(lambda: self.find_asked.emit(self._edited()))
        tip = tr("Make it the column that models predict")
        self._target = button(tr("Use as target"), "detail_target", tip=tip, press=self._toggle_target)
        tip = tr("Leave the column out of what is released")
        self._drop = button(tr("Drop it"), "detail_drop", tip=tip, press=self.drop_asked)
        self._bars = Histogram(session)
        for press in (self._take, self._find, self._target, self._drop):
            once(press)
        self._label = label("", wrap=True, name="detail_label")
        self._label.setToolTip(tr("What the file says about the column and its values; nobody has confirmed it"))
        stated = scrolled_words(self._label, self._role, self._suspicions, self._notes, self._warning, self._problem)
        buttons = lines(self._take, self._find, self._drop, self._target, None, spacing=4)
        # The buttons come first: in a low window the card is scrolled, and no button of it out of sight.
        self._words = stack(row((self._name, 1), self._kind), buttons, (stated, 1), spacing=4)
        self._bars.setMinimumWidth(LEAST_PICTURE)
        self.fill(self._words, panel(stack(row(None, badge()), (self._bars, 1), spacing=4)), picture_width=0)
        session.plan_changed.connect(self.refresh)
        attributes.dataChanged.connect(self.refresh)

    def arrange(self, *, beside: bool) -> None:
        """Put the fields below words and picture, where they have one line; in a narrow card above the picture."""
        super().arrange(beside=beside)
        (self._words if beside else self.body).addWidget(self.reading)

    def show_attribute(self, at: int) -> None:
        self._at = at
        self.refresh()

    def refresh(self) -> None:
        if not 0 <= self._at < self._attributes.rowCount():
            return
        column, edited = self._column(), self._edited()
        profile = self._session.profile_of(column.name)
        others = len(edited) - 1
        self._name.set_whole(
            tr("{name} and {others} more", name=column.name, others=tr_number(others, ",")) if others else column.name
        )
        self._kind.setText(tr("edits apply to all selected columns") if others else _kind_text(column, profile))
        said = [self._attributes.label_of(column.name), self._attributes.meanings_of(column.name)]
        self._label.setText("  ·  ".join(filter(None, said)))
        self._label.setVisible(bool(self._label.text()) and not others)
        self._role.setText(tr(ROLE_MEANING[column.role]))
        lines = self._suspicions.show_suspicions(column, profile)
        say(self._notes, _notes_text(column) if not column.crossed else "")
        taken = column.protected and column.bounds_origin == "data"
        say(self._warning, f"⚠ {tr(FROM_DATA)}" if taken else _outside_text(column, profile))
        problem = self._attributes.problem_of(self._at)
        say(self._problem, f"✕ {as_sentence(problem)}" if problem else "")
        # Where there is more to say, what is to be done comes first.
        self._role.setVisible(not taken and not problem and not (lines and column.protected))
        self.reading.show_column(column, edited)
        # None of the buttons is ever hidden: the next one would slide under the pointer, and take a double click.
        self._take.setEnabled(any(c.protected and c.needs and c.bounds_origin != "data" for c in edited))
        self._find.setEnabled(bool(self._session.plan.unit) or any(c.protected and c.kind in FINDABLE for c in edited))
        self._target.setEnabled(not others and column.action != "drop")
        self._drop.setText(tr("Drop it") if column.action != "drop" else tr("Protect it"))
        self._target.setText(tr("Use as target") if column.role != "target" else tr("Not the target"))
        self._bars.show_bars(profile.histogram if profile else (), column.name)

    def _edited(self) -> tuple[DraftColumn, ...]:
        return self._attributes.edited_with(self._at)

    def retranslate(self) -> None:
        self.refresh()

    def ask_about_codes(self) -> None:
        """Put the keyboard on what settles whether a number is a code for a missing value."""
        self._suspicions.take_keys()

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
            profile = self._session.profile_of(column.name)
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
    if column.bounds_origin == "released":
        return tr("Found by a release with its own ε: values of few rows may be missing.")
    if column.numeric:
        return tr("Its public bounds are declared.")
    return tr("Its public values are declared.")


def _outside_text(column: DraftColumn, profile: ColumnProfile | None) -> str:
    """Return that some rows lie outside the declared bounds; empty where none does, or that cannot be seen yet."""
    if profile is None or profile.lower is None or profile.upper is None or not (column.protected and column.numeric):
        return ""
    if column.lower is None or column.upper is None or column.crossed or column.date_order == OPEN:
        return ""
    if column.lower <= profile.lower and profile.upper <= column.upper:
        return ""
    seen = dataclasses.replace(column, lower=profile.lower, upper=profile.upper)
    return "⚠ " + tr(
        "Some rows lie outside: they go from {lower} to {upper}. What is outside is moved to the nearest bound.",
        lower=fact_text(seen, "lower", ".6g"),
        upper=fact_text(seen, "upper", ".6g"),
    )


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

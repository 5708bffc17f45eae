"""One row per attribute: role, kind, public facts, missing values, distribution; the facts are edited in place."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.data.schema import KINDS, ROLES
from workbench.gui.pages.data.facts import ROLE_MEANING, fact_edit, kind_edit, read, role_edit
from workbench.gui.pages.data.hints import unsettled
from workbench.gui.session.blocking import in_need, needed_first
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import FROM_DATA
from workbench.gui.session.error_text import suspicion_text, without_place
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.declared import in_short, written
from workbench.gui.widgets.table_model import Cell, Column, PlanModel
from workbench.params import ParameterError

if TYPE_CHECKING:
    from workbench.data.columns.profile import ColumnProfile

NAME, ROLE, KIND, LOWER, UPPER, MISSING, BARS = range(7)
OPEN_TEXT = tr_later("not declared")
NO_ROLE = "–"
NOT_PROTECTED = {
    "drop": Cell(tr_later("dropped: not released"), "muted", right=False),
    "keep": Cell(tr_later("kept as it is: not protected"), "warn", right=False),
}
MISSING_IS_OPEN = tr_later(
    "Say below the table what happens if a value is missing: stop the release, or keep it as ‘missing’"
)


@dataclass(frozen=True)
class Refused:
    """What was typed for a fact and could not be taken.

    Attributes:
        text: what was typed.
        reason: why it is refused.
        is_current: the value of the fact meanwhile.
    """

    text: str
    reason: str
    is_current: object


class AttributeModel(PlanModel):
    """The draft's columns beside their private profile; every edit is a step that can be undone."""

    def __init__(self, session: Session) -> None:
        public = tr("from what everybody may know, never from the rows")
        columns = (
            Column(tr("Attribute"), self._name, tr("The column of the table"), width=134, grows=0.25),
            Column(
                tr("Role"),
                self._role,
                tr(
                    "What the column is in a disclosure: who somebody is, what is to be hidden, what is to be predicted"
                ),
                width=136,
                choices=(NO_ROLE, *ROLES),
                edit=self._take_role,
            ),
            Column(
                tr("Kind"),
                self._kind,
                tr("What the values are"),
                width=108,
                choices=KINDS,
                edit=self._take_kind,
            ),
            self._bound(
                tr("Lower bound"),
                tr("Lower bound or values"),
                LOWER,
                tr("Public lower bound, or the public list of values: {public}", public=public),
            ),
            self._bound(tr("Upper bound"), tr("Upper bound"), UPPER, tr("Public upper bound: {public}", public=public)),
            Column(tr("Missing"), self._missing, tr("Rows without a value"), width=76, right=True),
            Column(
                tr("Spread"),
                lambda at: Cell(),
                tr("How the values are spread: private, not for release"),
                76,
                sorts=False,
            ),
        )
        super().__init__(session, columns)
        self._wrong: dict[tuple[str, str], Refused] = {}
        session.table_changed.connect(self._reset)
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

    def profile_at(self, at: int) -> ColumnProfile | None:
        """Return the private profile of one attribute, ``None`` where the table has no such column."""
        return self._profile_of(self.column_at(at).name)

    def label_of(self, name: str) -> str:
        """Return what the file says a column is; empty where it says nothing."""
        return self.session.opened.table.facts.labels.get(name, "") if self.session.opened is not None else ""

    def meanings_of(self, name: str) -> str:
        """Return what the file says the values of a column mean: ``1 = male, 2 = female``."""
        found = self.session.opened.table.facts.values.get(name, {}) if self.session.opened is not None else {}
        return ", ".join(f"{value} = {label}" for value, label in found.items() if value != label)

    def needs_at(self, at: int) -> bool:
        """Whether something of an attribute blocks a release."""
        return in_need(self.session.opened, self.session.plan, self.column_at(at))

    def order(self) -> list[int]:
        """Return the rows as they are shown unsorted: what is released comes first."""
        return needed_first(self.session.plan) if self.height() else []

    def height(self) -> int:
        """Return the number of attributes."""
        return len(self.session.plan.columns) if self.session.opened is not None else 0

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
        column, profile = self.column_at(at), self.profile_at(at)
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
            return Cell(written(column, "domain") if shown else "", right=False)
        value, bound = getattr(column, fact), fact != "domain"
        cell = Cell(right=bound, key=value if bound else None)
        wrong = self._wrong.get((column.name, fact))
        if wrong is not None:
            return cell._replace(text="✕ " + wrong.text, look="danger", tip=wrong.reason, value=wrong.text)
        text, from_data = in_short(column, fact), column.bounds_origin == "data"
        # The sign comes first: the end of a long list is cut off.
        tip = "" if bound else self.meanings_of(column.name) or text
        cell = cell._replace(text=text or tr(OPEN_TEXT), tip=tip, value=written(column, fact))
        if bound and column.crossed:
            return cell._replace(text=f"✕ {text}", look="danger", tip=self.problem_of(at))
        if from_data:
            return cell._replace(
                text=tr("⚠ (data) {text}", text=text) if text else tr(OPEN_TEXT), look="warn", tip=tr(FROM_DATA)
            )
        return cell._replace(look="warn" if value is None else "")

    def _missing(self, at: int) -> Cell:
        column, profile = self.column_at(at), self.profile_at(at)
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
        self.session.edit(*role_edit(self.session.plan, columns, role, self.kind_of))
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

    def _profile_of(self, name: str) -> ColumnProfile | None:
        return self.session.opened.profiles.get(name) if self.session.opened else None

    def kind_of(self, name: str) -> str:
        """Return the kind that a column seems to have."""
        profile = self._profile_of(name)
        return profile.kind if profile else "category"

    @property
    def decimal(self) -> str:
        """The decimal mark of the file."""
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

    def _reset(self) -> None:
        self.beginResetModel()
        self._wrong.clear()
        self.endResetModel()


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

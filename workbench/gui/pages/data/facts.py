"""Public facts as a person writes them in a cell of the attribute table, and their edits: each is one step of undo."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from workbench.data.schema import Attribute
from workbench.gui.session.blocking import suspected_codes
from workbench.gui.session.draft import OPEN, OWN_VALUE, DraftColumn, DraftPlan
from workbench.gui.session.draft_edits import of_all, protect_changes
from workbench.gui.session.error_text import suspicion_text
from workbench.gui.style.language import as_sentence, tr, tr_later, typed
from workbench.gui.widgets.basic import button, label, once, panel, row, stack
from workbench.params import InputError, ParameterError
from workbench.params.field import RealField, TextsField

if TYPE_CHECKING:
    from workbench.data.columns.profile import ColumnProfile, Suspicion


DATE_ORDERS = {
    "day-first": (tr_later("Declare day first"), tr_later("declare day first for {name}")),
    "month-first": (tr_later("Declare month first"), tr_later("declare month first for {name}")),
}
"""What the button and the Edit menu say where the rows show the order of dates."""

MOST = 2  # lines that have room


@dataclass(frozen=True)
class Remedy:
    """What accepting a suspicion does."""

    verb: str  # the text of the button
    words: str = ""  # the step for the Edit menu
    changes: dict[str, Any] = field(default_factory=dict)  # of the column; empty where the person is led elsewhere
    leads: str = ""  # to ``dialect``, the form of how the file is read, or ``rows``, the maximum rows per person


def remedy(column: DraftColumn, profile: ColumnProfile, suspicion: Suspicion) -> Remedy | None:
    """Return what can be done about a suspicion; ``None`` where it is done already, or only a person can judge."""
    name, what = column.name, suspicion.what
    if what == "decimal":
        return Remedy(tr("State the decimal mark…"), leads="dialect")
    if what == "household":
        return Remedy(tr("Maximum rows per person…"), leads="rows")
    if not column.protected:
        return None
    if what in ("identifier", "person", "name", "e-mail", "phone") and column.role != "target":
        return Remedy(
            tr("Drop it"), tr("drop {name}, an identifier", name=name), {"role": "identifier", "action": "drop"}
        )
    if what in ("constant", "empty"):
        return Remedy(tr("Drop it"), tr("drop {columns}", columns=name), {"action": "drop"})
    if what == "date" and column.kind == "integer":
        return Remedy(tr("Call it a date"), tr("call {name} date", name=name), kind_changes(column, "date"))
    if what == "date-order" and profile.date_order and column.date_order != profile.date_order:
        verb, words = DATE_ORDERS[profile.date_order]
        return Remedy(tr(verb), tr(words, name=name), {"date_order": profile.date_order})
    if what == "missing-code":
        words = tr("say which codes mean missing in {columns}", columns=name)
        # Who says that there are missing values does not want the release to stop at them.
        return Remedy(tr("Declare as missing"), words, {"missing_codes": suspicion.cells, "missing": OWN_VALUE})
    if what == "code" and column.kind != "category":
        return Remedy(tr("Call it a category"), tr("call {name} category", name=name), kind_changes(column, "category"))
    if what == "code" and column.role is None:
        return Remedy(
            tr("Call it a quasi-identifier"),
            tr("call {name} quasi-identifier", name=name),
            {"role": "quasi-identifier"},
        )
    return None


def denial(column: DraftColumn, suspicion: Suspicion) -> Remedy | None:
    """Return how a person says that a suspicion is wrong; ``None`` where she need not say it."""
    if suspicion.what != "missing-code":
        return None
    words = tr("say that {columns} has no code for missing", columns=column.name)
    return Remedy(tr("It is a value"), words, {"missing_codes": ()})


def unsettled(column: DraftColumn, profile: ColumnProfile | None) -> tuple[Suspicion, ...]:
    """Return what is still to be judged: of a date whose order is stated, of a column that a person dropped, less."""
    found = _suspicions(column, profile)
    dropped = not column.protected and "action" not in column.unconfirmed
    return tuple(s for s in found if s.what in ("decimal", "household")) if dropped else found


def _suspicions(column: DraftColumn, profile: ColumnProfile | None) -> tuple[Suspicion, ...]:
    if profile is None:
        return ()
    dated = column.date_order not in (None, OPEN) or not column.protected
    domain = set(column.domain or ())
    listed = {word for word, _rows in profile.words} <= domain
    spelled = all(domain.issuperset(s.cells) for s in profile.suspicions if s.what == "spelling")
    settled = {"date-order": dated, "missing": listed, "spelling": spelled}
    settled["missing-code"] = not suspected_codes(column, profile)
    return tuple(s for s in profile.suspicions if not settled.get(s.what, False))


class SuspicionLines(QWidget):
    """At most two suspicions, those with a remedy first."""

    accepted = Signal(object)  # (Remedy) the person takes the suggestion

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[tuple[QWidget, QLabel, tuple[QPushButton, QPushButton]]] = []
        for at in range(MOST):
            text = label("", wrap=True, name=f"suspicion_{at}")
            presses = self._button(f"suspicion_accept_{at}"), self._button(f"suspicion_deny_{at}")
            self._lines.append((panel(row((text, 1), *presses)), text, presses))
        self.setLayout(stack(*(holder for holder, _, _ in self._lines), spacing=2))
        self._remedies: dict[QPushButton, Remedy] = {}

    def _button(self, name: str) -> QPushButton:
        press = once(button("", name, "link"))
        press.clicked.connect(lambda: self.accepted.emit(self._remedies[press]))
        return press

    def show_suspicions(self, column: DraftColumn, profile: ColumnProfile | None) -> int:
        """Show what is suspected of one attribute; return how many lines that takes."""
        found = [(s, remedy(column, profile, s)) for s in _suspicions(column, profile)] if profile else []
        found.sort(key=lambda pair: pair[1] is None)
        for at, (holder, text, (accept, deny)) in enumerate(self._lines):
            holder.setVisible(at < len(found))
            if at >= len(found):
                continue
            suspicion, hint = found[at]
            reason = suspicion_text(suspicion)
            text.setText(f"⚠ {as_sentence(reason)}")
            for press, offered in ((accept, hint), (deny, denial(column, suspicion))):
                press.setVisible(offered is not None)
                if offered is not None:
                    self._remedies[press] = offered
                    press.setText(offered.verb)
                    press.setAccessibleName(f"{offered.verb}: {reason}")
        self.setVisible(bool(found))
        return min(len(found), MOST)

    def take_keys(self) -> None:
        """Put the keyboard on the first button."""
        self._lines[0][2][0].setFocus(Qt.FocusReason.OtherFocusReason)


# -- the facts --------------------------------------------------------------------------------------------------------


NUMBER = RealField()
NAMES = TextsField(shortest=2)
_NAME = re.compile(r'(?:^|[,\n])[ \t]*(?:(")((?:[^"]|"")*)"[ \t]*(?=[,\n]|\Z)|([^,\n]*))')
ROLE_MEANING = {
    None: tr_later("No role chosen: taken as neither identifying nor sensitive."),
    "identifier": tr_later("Identifier: it identifies a person by itself; best dropped."),
    "quasi-identifier": tr_later("Quasi-identifier: with other columns it may single a person out."),
    "sensitive": tr_later("Sensitive: must not be learned about any person."),
    "target": tr_later("Target: what models learn to predict from the other columns."),
}

ROLE_WORDS = (tr_later("identifier"), tr_later("quasi-identifier"), tr_later("sensitive"), tr_later("target"))
"""The roles, as they are translated where they are shown."""

BOUNDS = {"lower": tr_later("the lower bound of {name}"), "upper": tr_later("the upper bound of {name}")}
DATES = {
    None: tr_later("write it as 1990-12-31"),
    "day-first": tr_later("write it as 1990-12-31 or 31/12/1990"),
    "month-first": tr_later("write it as 1990-12-31 or 12/31/1990"),
}
"""How a date can be written, by the order that is declared."""


def read(column: DraftColumn, fact: str, text: str, decimal: str = ".") -> Any:
    """Return the value of ``fact`` that ``text`` writes; ``None`` for an empty text.

    Numbers may be written with the file's ``decimal`` mark, and dates in the order that is declared for the column.

    Raises:
        ParameterError: the text is no number, no date, or no list of names.
    """
    if not text.strip():
        return None
    if fact == "domain":
        values = [n for n in names(text) if n]
        if len(values) == 1:
            raise ParameterError(
                tr("{value} is one value, and a column that is released has at least two", value=repr(values[0])),
                hint=tr("write all its values, with commas between them"),
            )
        return NAMES.check(values, tr("the values of {name}", name=column.name))
    words = tr(BOUNDS[fact], name=column.name)
    if column.kind == "date":
        return _day(text.strip(), column.date_order, words)
    if decimal == "," and text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    number = typed(text)
    try:
        return NUMBER.parse(number, words)
    except ParameterError as error:
        hint = tr("write a decimal point, and nothing between thousands: 1234.5") if "," in number else error.remedies
        raise ParameterError(error.what, hint=hint, field=error.field) from None


def _day(text: str, order: str | None, words: str) -> float:
    """Return the number of the day that ``text`` writes with the year first, or in the declared ``order``."""
    forms = {
        "day-first": r"(?P<d>\d{1,2})([/.-])(?P<m>\d{1,2})\2(?P<y>\d{4})",
        "month-first": r"(?P<m>\d{1,2})([/.-])(?P<d>\d{1,2})\2(?P<y>\d{4})",
    }
    form = forms.get(order or "", "")
    try:
        if form and (found := re.fullmatch(form, text, re.ASCII)):
            return float(datetime.date(int(found["y"]), int(found["m"]), int(found["d"])).toordinal())
        return float(datetime.date.fromisoformat(text).toordinal())
    except ValueError:
        raise ParameterError(
            tr("{words} = {text} is not a date", words=words, text=repr(text)),
            hint=tr(DATES[order if form else None]),
        ) from None


def names(text: str) -> list[str]:
    """Return the values of a list parted by commas or lines; what is in quotes is taken as it is."""
    return [quoted.replace('""', '"') if mark else bare.strip() for mark, quoted, bare in _NAME.findall(text)]


def changes(column: DraftColumn, fact: str, value: Any) -> dict[str, Any]:
    """Return what declaring one fact changes of a column.

    A fact that was read off the rows, or released, is never kept beside a declared one: declaring the first of two
    opens the other again.
    """
    out: dict[str, Any] = {fact: value}
    if column.bounds_origin != "declared":
        out |= {"bounds_origin": "declared", **{other: None for other in column.needs if other != fact}}
    return out


def kind_changes(column: DraftColumn, kind: str) -> dict[str, Any]:
    """Return what another kind changes of a column: facts that mean nothing for it go, and so does the mechanism."""
    numeric = kind in ("integer", "real", "date")
    out: dict[str, Any] = {"kind": kind, "mechanism": "auto", "cells": None}
    if not numeric or (kind == "date") != (column.kind == "date"):
        out |= {"lower": None, "upper": None}
    if kind != "category":
        out |= {"domain": None, "other": None}
    return out


def role_changes(column: DraftColumn, role: str | None, guessed: str) -> dict[str, Any]:
    """Return what another role changes of a column: an identifier is dropped, what is none any more is protected."""
    if role == "identifier":
        return {"role": role, "action": "drop"}
    back = column.role == "identifier" and column.action == "drop"
    return {**protect_changes(column, guessed), "role": role} if back else {"role": role}


Edit = tuple[str, DraftPlan]  # what the Edit menu says, and the plan after it

FACT_EDITS = {
    "lower": tr_later("set the lower bound of {name}"),
    "upper": tr_later("set the upper bound of {name}"),
    "domain": tr_later("list the values of {name}"),
}


def role_edit(plan: DraftPlan, columns: Sequence[DraftColumn], role: str | None, kind_of: Callable[[str], str]) -> Edit:
    """Return the plan in which columns have another role; a target is one column alone.

    One that comes back takes the kind that it seems to have, which ``kind_of`` returns by its name.
    """
    if role == "target":
        (column,) = columns
        back = protect_changes(column, kind_of(column.name)) if column.action == "drop" else {}
        made = plan.with_column(column.name, **back) if back else plan
        return tr("use {name} as target", name=column.name), made.with_target(column.name)
    made, named = plan.with_columns({c.name: role_changes(c, role, kind_of(c.name)) for c in columns}), of_all(columns)
    if role is None:
        return tr("call {columns} nothing special", columns=named), made
    return tr("call {columns} {role}", columns=named, role=tr(role)), made


def kind_edit(plan: DraftPlan, columns: Sequence[DraftColumn], kind: str) -> Edit:
    """Return the plan in which columns have another kind; those that have it already are confirmed."""
    made = {c.name: kind_changes(c, kind) if c.kind != kind else {"kind": kind} for c in columns}
    return tr("call {columns} {kind}", columns=of_all(columns), kind=tr(kind)), plan.with_columns(made)


def fact_edit(plan: DraftPlan, column: DraftColumn, columns: Sequence[DraftColumn], fact: str, value: Any) -> Edit:
    """Return the plan in which ``column``, and each other one for which it means the same, has a bound or values."""
    same = [
        c
        for c in columns
        if c.name == column.name
        or (c.protected and fact in c.needs and c.numeric == column.numeric and (c.kind == "date") == _dated(column))
    ]
    differ = [c for c in same if getattr(c, fact) != value]
    return tr(FACT_EDITS[fact], name=of_all(same)), plan.with_columns({c.name: changes(c, fact, value) for c in differ})


def way_edit(plan: DraftPlan, columns: Sequence[DraftColumn], say: Callable[[str], str], **made: Any) -> Edit:
    """Return the plan in which the facts ``made`` of how cells are read differ, in each column that has them.

    ``say`` returns what the Edit menu says, given what it calls the columns.
    """
    fitting = [c for c in columns if c.protected and c.kind and all(_has(c, fact) for fact in made)]
    return say(of_all(fitting)), plan.with_columns({c.name: made for c in fitting})


def _has(column: DraftColumn, fact: str) -> bool:
    return {"date_order": _dated(column), "cells": column.numeric, "other": not column.numeric}.get(fact, True)


def _dated(column: DraftColumn) -> bool:
    return column.kind == "date"


def found_in_rows(column: DraftColumn, profile: ColumnProfile) -> dict[str, Any]:
    """Return what using the values found in the rows changes of a column; they are marked as read off the data.

    Raises:
        InputError: the rows do not show it, or not in the order of dates that is declared.
    """
    from workbench.data.columns.profile import attribute_from_data

    read = attribute_from_data(_in_declared_order(profile, column))
    ways: dict[str, Any] = {
        "kind": read.kind,
        "missing": read.missing if column.missing == OPEN else column.missing,
        "date_order": read.date_order or column.date_order,
    }
    taken = [fact for fact, value in ways.items() if value != getattr(column, fact)]
    return {
        **ways,
        "lower": read.lower,
        "upper": read.upper,
        "domain": read.domain,
        "bounds_origin": read.bounds_origin,
        "mechanism": "auto",
        "guessed": tuple(dict.fromkeys((*column.guessed, *taken))),
    }


def found_by_release(found: Attribute) -> dict[str, Any]:
    """Return what a release of values changes of a column; whether its numbers are whole stays what it was."""
    facts = {fact: getattr(found, fact) for fact in ("lower", "upper", "domain", "other", "bounds_origin", "missing")}
    return {**facts, "mechanism": "auto", "cells": None}


def _in_declared_order(profile: ColumnProfile, column: DraftColumn) -> ColumnProfile:
    """Return the profile as its dates are declared to be written, where the rows leave that open.

    Raises:
        InputError: the bounds were looked at in the other order.
    """
    if not profile.year_last or profile.date_order is not None or column.date_order in (None, OPEN):
        return profile
    if column.date_order != "day-first":  # which is how a profile reads what is ambiguous
        raise InputError(tr("its bounds are not known with the month first"), f"column {column.name}", tr("type them"))
    return dataclasses.replace(profile, date_order=column.date_order)

"""The plan as it is edited: a frozen value in which public facts may still be open."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self

from PySide6.QtCore import QObject, Signal

from workbench.gui.session.error_text import without_place
from workbench.gui.style.language import again, tr, tr_later
from workbench.params import ParameterError
from workbench.sanitize.intended_use import FIRST_EPSILON, IntendedUse, PlanQuestions, questions_of
from workbench.sanitize.writing import PLAIN, Writing

if TYPE_CHECKING:
    from workbench.data.person_join import Join
    from workbench.deep.plan import DpSgdPlan
    from workbench.sanitize.plan import Column, Plan
    from workbench.sanitize.plan_guesses import Guess


@dataclass(frozen=True)
class Problem:
    """One thing that keeps a draft from being a plan."""

    column: str  # the column; empty for the plan as a whole
    field: str  # the attribute of `DraftColumn` or `DraftPlan` it is about; empty for the whole
    said: str  # the sentence for the person, in whatever language it was said
    open: bool = False  # whether a public fact is merely not declared yet, rather than wrong
    code: str = ""  # the code of the error that it is for whoever needs a plan

    @property
    def text(self) -> str:
        """The sentence in the language that is shown now."""
        return again(self.said)

    def error(self) -> ParameterError:
        where = tr("column {name}", name=self.column) if self.column else tr("plan")
        return ParameterError(self.text, where, code=self.code, field=self.field)


NOT_DECLARED = {
    "lower": tr_later("the lower bound is not declared yet"),
    "upper": tr_later("the upper bound is not declared yet"),
    "domain": tr_later("the list of values is not declared yet"),
    "missing": tr_later("what happens if a value is missing is not declared yet"),
    "date_order": tr_later("whether its dates have the day or the month first is not declared yet"),
}


OPEN = "?"
OWN_VALUE = "own-value"
FACTS = ("lower", "upper", "domain")
WAYS = ("missing", "date_order")
"""Facts about how cells are read; while nobody has declared one that matters here, it is :data:`OPEN`."""

GUESSED = "guessed"
"""The key of a project's file that names which facts of a column with ``origin = "guess"`` are still guesses."""

NUMERIC = ("integer", "real", "date")


@dataclass(frozen=True, kw_only=True)
class DraftColumn:
    """One column of a draft; the attributes are those of :class:`workbench.sanitize.plan.Column`.

    ``lower``, ``upper`` and ``domain`` are ``None`` while nobody has declared them; ``missing`` and ``date_order``
    are :data:`OPEN` while the rows call for a decision that nobody has taken. ``epsilon`` is a fixed (locked) share
    of the plan's ε, ``None`` where the share follows from ``weight``. ``date_order`` is kept while the column is
    called something other than a date, and means nothing then. ``guessed`` names the attributes that were taken from
    the rows and that nobody has confirmed; declaring one confirms it.
    """

    name: str
    action: str = "protect"
    kind: str | None = None
    lower: float | None = None
    upper: float | None = None
    cells: int | None = None
    domain: tuple[str, ...] | None = None
    other: str | None = None
    bounds_origin: str = "declared"
    role: str | None = None
    missing: str = "refuse"
    missing_codes: tuple[str, ...] | None = None
    date_order: str | None = None
    mechanism: str = "auto"
    purpose: str = "statistics"
    epsilon: Decimal | None = None
    weight: float = 1.0
    guessed: tuple[str, ...] = ()

    @cached_property
    def unconfirmed(self) -> tuple[str, ...]:
        """The guesses that a release would depend on."""
        if not self.guessed:
            return ()
        from workbench.sanitize.plan_guesses import facts_needed

        proposed = ("domain",) if self.protected and self.domain is not None and self.bounds_origin != "data" else ()
        needed = (*facts_needed(self.action, self.kind), *proposed)
        return tuple(fact for fact in needed if fact in self.guessed)

    @property
    def numeric(self) -> bool:
        return self.kind in NUMERIC

    @property
    def protected(self) -> bool:
        return self.action == "protect"

    @property
    def needs(self) -> tuple[str, ...]:
        """The public facts that a mechanism needs of this kind of column."""
        if self.numeric:
            return ("lower", "upper")
        return ("domain",) if self.kind == "category" else ()

    @cached_property
    def unfilled(self) -> tuple[str, ...]:
        """The public facts nobody has declared yet; only a protected column needs any."""
        if not self.protected:
            return ()
        ways = ("date_order", "missing") if self.kind == "date" else ("missing",)
        open_ways = tuple(f for f in ways if getattr(self, f) == OPEN)
        return (*(f for f in self.needs if getattr(self, f) is None), *open_ways)

    @property
    def crossed(self) -> bool:
        """Whether the lower bound is not below the upper one, which no plan can say."""
        return self.lower is not None and self.upper is not None and not self.lower < self.upper

    def problems(self) -> tuple[Problem, ...]:
        """Return what keeps this column from being planned, with the field it is about; one that is dropped has none.

        Bounds that contradict each other are reported at once, whatever else is still open.
        """
        return self._problems

    @cached_property
    def _problems(self) -> tuple[Problem, ...]:
        wrong = self._made[1] if not self.unfilled or self.crossed else None
        found = (wrong,) if wrong else ()
        return (*(Problem(self.name, f, NOT_DECLARED[f], open=True, code="facts-open") for f in self.unfilled), *found)

    @cached_property
    def _made(self) -> tuple[Column | None, Problem | None]:
        return _made(self)

    def column(self) -> Column:
        """Return the checked column of a plan, or raise :class:`ParameterError`."""
        made, problem = self._made
        if made is None:
            assert problem is not None
            raise problem.error()
        return made


WHOLE = (
    *("epsilon", "keep_order", "rows_per_person", "unit", "join", "invalid", "account"),
    *("impossible", "writing", "questions"),
)
"""Keys of a plan that are about the table as a whole."""


@dataclass(frozen=True, kw_only=True)
class DraftPlan:
    """The plan as the person has written it so far.

    What follows from it is worked out once and kept in it: every view asks for it after every edit, and of hundreds
    of columns an edit changes one. Two plans are not looked up by their value, which would be hundreds of columns.
    """

    epsilon: Decimal = FIRST_EPSILON  # ε of one row's whole record, as the decimal that was entered
    keep_order: bool = False  # whether rows leave in their original order
    rows_per_person: int = 1  # maximum rows per person; multiplies the charge
    unit: str = ""  # the column that identifies a person, whose further rows are emptied; empty for none
    join: Join | None = None  # the second table that is joined on it; `None` for none
    invalid: str = "refuse"  # `refuse`, or `replace` where a cell that cannot be used counts as missing
    account: str = ""  # public name of the account that pays; empty for none
    impossible: tuple[str, ...] = ()  # statements of what never occurs, as publicly known
    writing: Writing | None = None  # how a text file is written, where that is not as in the table's own file
    asked: PlanQuestions | None = (
        None  # who gets the release and what they will ask of it; `None` where nobody has been asked
    )
    columns: tuple[DraftColumn, ...] = ()  # one draft per column of the table, in its order

    def __post_init__(self) -> None:
        """Give a missing value a cell of its own in every column, where invalid values are replaced."""
        if self.replaces_invalid and any(c.missing != OWN_VALUE for c in self.columns):
            columns = (c if c.missing == OWN_VALUE else dataclasses.replace(c, missing=OWN_VALUE) for c in self.columns)
            object.__setattr__(self, "columns", tuple(columns))

    @property
    def defuses_formulas(self) -> bool:
        """Whether kept text that a spreadsheet would run gets an apostrophe."""
        return self.writing is not None and self.writing.defuse_formulas

    def with_formulas(self, *, defused: bool) -> Self:
        """Return the draft with :attr:`defuses_formulas` so."""
        made = dataclasses.replace(self.writing or PLAIN, defuse_formulas=defused)
        return dataclasses.replace(self, writing=None if made == PLAIN else made)

    @property
    def replaces_invalid(self) -> bool:
        return self.invalid == "replace"

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Return the draft of a plan's TOML, in which ``"?"`` marks a fact that is still open.

        Raises:
            ParameterError: a key or a value is refused.
        """
        from workbench.sanitize.plan import Column, Plan
        from workbench.sanitize.plan_guesses import GUESSABLE

        # As strict as a plan is: rows_per_person = 1.9 is no 1, and "false" is not true.
        given_whole = {key: Plan.declared()[key].check(raw[key], key) for key in WHOLE if key in raw}
        columns = []
        for table in raw.get("column", []):
            given = {k: v for k, v in table.items() if not (k in (*FACTS, *WAYS) and v in (OPEN, [OPEN]))}
            marked = given.pop(GUESSED, GUESSABLE)
            ways: dict[str, Any] = {k: OPEN for k in WAYS if table.get(k) == OPEN}
            # What is open may be absent; a dropped column needs no facts, so the others are checked as one.
            checked = Column.from_plain({**given, "action": "drop"}, where=f"column {table.get('name', OPEN)}")
            made = _draft_of(dataclasses.replace(checked), str(given.get("action", "protect")))
            known = [f for f in GUESSABLE if f != "domain" or checked.domain is not None]
            guessed = tuple(f for f in known if f in marked) if checked.origin == "guess" else ()
            columns.append(dataclasses.replace(made, **ways, guessed=guessed))
        stated: dict[str, Any] = {key: value for key, value in given_whole.items() if value is not None}
        if "epsilon" in stated:
            stated["epsilon"] = Decimal(repr(stated["epsilon"]))
        if "questions" in stated:
            stated["asked"] = stated.pop("questions")
        return cls(**stated, columns=tuple(columns))

    def to_raw(self) -> dict[str, Any]:
        """Return the plan's TOML keys; what is open is ``"?"``."""
        from workbench.sanitize.plan import Column, Plan

        tables = []
        for column in self.columns:
            table = Column(**{**_facts(column), "action": "drop"}).to_plain()
            ways = [f for f in WAYS if getattr(column, f) == OPEN]  # of a dropped column, too: it may come back
            marks = {GUESSED: list(column.guessed)} if column.guessed else {}
            tables.append({**table, "action": column.action, **dict.fromkeys((*column.unfilled, *ways), OPEN), **marks})
        whole, usual = self._whole(), DraftPlan()._whole()
        stated = {key: Plan.declared()[key].plain(value) for key, value in whole.items() if value != usual[key]}
        return {"version": 1, "epsilon": float(self.epsilon), **stated, "column": tables}

    def _whole(self) -> dict[str, Any]:
        """Return the keys of a plan about the table as a whole; ``None`` where nothing is said."""
        values = {key: getattr(self, "asked" if key == "questions" else key) for key in WHOLE}
        values["epsilon"] = float(self.epsilon)
        return {key: None if value in ("", ()) else value for key, value in values.items()}

    def plan(self) -> Plan:
        """Return the checked plan, or raise :class:`ParameterError` for the first problem."""
        made, problems = self._planned
        if problems:
            raise problems[0].error()
        if made is None:
            raise ParameterError(tr("the plan names no columns"), hint=tr("open a table first"))
        return made

    def problems(self) -> tuple[Problem, ...]:
        return self._planned[1]

    @property
    def ready(self) -> bool:
        return bool(self.columns) and not self.problems()

    @cached_property
    def protected(self) -> tuple[DraftColumn, ...]:
        return tuple(c for c in self.columns if c.protected)

    @cached_property
    def numeric(self) -> frozenset[str]:
        """The names of the columns whose values lie on a line."""
        return frozenset(c.name for c in self.columns if c.numeric)

    @cached_property
    def target(self) -> str | None:
        return next((c.name for c in self.columns if c.role == "target" and c.action != "drop"), None)

    @cached_property
    def questions(self) -> IntendedUse:
        """Who gets the release, which columns they need and what they will ask of it."""
        return questions_of(self.columns, self.epsilon, self.asked)

    def column(self, name: str) -> DraftColumn:
        return next(c for c in self.columns if c.name == name)

    def guesses(self) -> tuple[Guess, ...]:
        """Return what was taken from the rows and nobody has confirmed, as far as a release depends on it."""
        return self._guesses

    @cached_property
    def _guesses(self) -> tuple[Guess, ...]:
        marked = [c for c in self.columns if c.unconfirmed]
        if not marked:
            return ()
        from workbench.sanitize.plan_guesses import Guess

        return tuple(Guess(c.name, c.unconfirmed, tuple(str(getattr(c, f)) for f in c.unconfirmed)) for c in marked)

    def confirmed(self) -> DraftPlan:
        columns = tuple(dataclasses.replace(c, guessed=()) if c.guessed else c for c in self.columns)
        return dataclasses.replace(self, columns=columns)

    def with_column(self, name: str, **changes: Any) -> DraftPlan:
        """Return the draft with attributes of one column changed; see :meth:`with_columns`."""
        return self.with_columns({name: changes})

    def with_columns(self, changes: Mapping[str, Mapping[str, Any]]) -> DraftPlan:
        """Return the draft with attributes of some columns changed; one that is dropped is not predicted any more.

        What is changed is declared by whoever changes it, unless ``guessed`` is among the changes.
        """
        columns = tuple(_changed(c, changes[c.name]) if c.name in changes else c for c in self.columns)
        return dataclasses.replace(self, columns=columns)

    def with_target(self, name: str | None) -> DraftPlan:
        """Return the draft with ``name`` as the only column to predict."""
        roles = ("target" if c.name == name else None if c.role == "target" else c.role for c in self.columns)
        # A column that stays as it is keeps what was worked out for it.
        columns = tuple(
            c if c.role == role else dataclasses.replace(c, role=role)
            for c, role in zip(self.columns, roles, strict=True)
        )
        return dataclasses.replace(self, columns=columns)

    def with_unit(self, name: str) -> DraftPlan:
        """Return the draft with ``name`` as the column that identifies a person, which is then not released.

        Rows of a person are emptied, so that missing values are no errors; ``""`` names no column.
        """
        if not name:
            return dataclasses.replace(self, unit="")
        dropped = self.with_column(name, action="drop", role="identifier", guessed=())
        return dataclasses.replace(dropped, unit=name, invalid="replace")

    def with_(self, **changes: Any) -> DraftPlan:
        """Return the draft with its own attributes changed (``epsilon``, ``keep_order``, …)."""
        return dataclasses.replace(self, **changes)

    def writable(self) -> DraftPlan:
        """Return the draft with bounds that contradict each other open again: a file of it can be read back."""
        columns = tuple(dataclasses.replace(c, lower=None, upper=None) if c.crossed else c for c in self.columns)
        return self if columns == self.columns else dataclasses.replace(self, columns=columns)

    def cost(self) -> Decimal | None:
        """Return the ε a release would be charged, or ``None`` while the draft is no plan."""
        return self._cost

    @cached_property
    def _cost(self) -> Decimal | None:
        if not self.ready or not self.protected:
            return None
        from workbench.sanitize.forecast import charge_of

        return charge_of(self.plan())

    @cached_property
    def _planned(self) -> tuple[Plan | None, tuple[Problem, ...]]:
        """The plan, or what keeps the draft from being one; neither of a draft without columns."""
        from workbench.sanitize.plan import Plan

        found = tuple(p for c in self.columns for p in c.problems())
        if found or not self.columns:
            return None, found
        try:
            made = Plan(**self._whole(), columns=tuple(c.column() for c in self.columns))
        except ParameterError as error:
            field = error.field if error.field in ("impossible", "unit") else "epsilon"
            return None, (Problem("", field, without_place(error), code=error.code),)
        return made, ()


def _changed(column: DraftColumn, changes: Mapping[str, Any]) -> DraftColumn:
    guessed = tuple(fact for fact in column.guessed if fact not in changes)
    made = dataclasses.replace(column, **{"guessed": guessed, **changes})
    return dataclasses.replace(made, role=None) if made.action == "drop" and made.role == "target" else made


def _draft_of(column: Column, action: str) -> DraftColumn:
    facts = {f.name: getattr(column, f.name) for f in dataclasses.fields(DraftColumn) if f.name != GUESSED}
    share = None if column.epsilon is None else Decimal(repr(column.epsilon))
    return DraftColumn(**{**facts, "action": action, "epsilon": share})


def _facts(draft: DraftColumn) -> dict[str, Any]:
    """Return the attributes of :class:`workbench.sanitize.plan.Column`; what is open takes its default."""
    facts = {f.name: getattr(draft, f.name) for f in dataclasses.fields(draft) if f.name != GUESSED}
    facts["origin"] = "guess" if draft.unconfirmed else "declared"  # what else was guessed, no release depends on
    facts["epsilon"] = None if draft.epsilon is None else float(draft.epsilon)
    if draft.action == "drop" and draft.crossed:  # what is not released need not be corrected
        facts["lower"] = facts["upper"] = None
    facts["missing"] = "refuse" if draft.missing == OPEN else draft.missing
    facts["date_order"] = None if draft.date_order == OPEN or draft.kind != "date" else draft.date_order
    return facts


@lru_cache(maxsize=8192)
def _made(draft: DraftColumn) -> tuple[Column | None, Problem | None]:
    """Return the checked column, or the problem with it; cached, because a column's grid takes a while to make."""
    from workbench.sanitize.plan import Column

    facts = _facts(draft)
    if draft.action == "drop" and "kind" in draft.guessed and not draft.unconfirmed:
        # Nobody has confirmed its kind, and no release depends on it: it is not stated, so that it is asked for when
        # the column is protected after all.
        facts = {"name": draft.name, "action": "drop", "role": draft.role}
    try:
        return Column(**facts), None
    except ParameterError as error:
        return None, Problem(
            draft.name, error.field if error.field in facts else "", without_place(error), code=error.code
        )


class NetworkDraft(QObject):
    """What the Train page was left with, where a person changed it; the project's file keeps it."""

    changed = Signal()  # another network, or another value of its form

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        # The network and its parameters; `None` while nobody has changed what the page begins with.
        self.plan: DpSgdPlan | None = None

    def set(self, plan: DpSgdPlan | None) -> None:
        if plan != self.plan:
            self.plan = plan
            self.changed.emit()

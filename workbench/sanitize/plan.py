"""The plan: a frozen description of what is released, read from TOML and written to it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from workbench.data.columns.grid import Grid, grid
from workbench.data.columns.missing import with_codes
from workbench.data.impossible_combinations import checked_statements
from workbench.data.person_join import Join
from workbench.data.persons import read_by_plan
from workbench.data.reading_options import Reading
from workbench.data.schema import OWN_VALUE, Attribute
from workbench.data.table import Table
from workbench.params import (
    InputError,
    ParameterError,
    Parameters,
    boolean,
    choice,
    integer,
    real,
    records,
    text,
    texts,
)
from workbench.params.codec import read_toml, require_table, write_toml
from workbench.params.field import did_you_mean
from workbench.params.lists import nested
from workbench.params.remedies import REPLACE_VALUES, give
from workbench.privacy.entropy import Entropy
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.privacy.local.mechanisms import mechanism
from workbench.sanitize.account_name import LONGEST_NAME, checked_name
from workbench.sanitize.budget_split import shares, total
from workbench.sanitize.intended_use import PlanQuestions
from workbench.sanitize.writing import Writing, shielded

AUTO = "auto"
UNFILLED = "?"
REFUSE, REPLACE = "refuse", "replace"
VALUES, STATISTICS = PURPOSES = ("values", "statistics")
"""The purpose of a released column: each value near the true one, or means and counts over many rows."""
_FILLABLE = ("lower", "upper", "domain", "missing", "date_order")


@dataclass(frozen=True, kw_only=True)
class Column(Attribute):
    """One column of a plan: its public facts, what is done with it, and its share of ε."""

    action: str = choice(choices=("protect", "drop", "keep"), default="protect", help="what is done with the column")
    mechanism: str = text(default=AUTO, help="the local mechanism, or auto for the advisor's choice")
    purpose: str = choice(
        choices=PURPOSES,
        default=STATISTICS,
        help="what auto optimises: means and counts over many rows (default), or the error of each value",
    )
    epsilon: float | None = real(
        default=None, at_least=EPSILON_LEAST, upto=EPSILON_MOST, symbol="ε", help="fixed share of the plan's epsilon"
    )
    weight: float = real(default=1.0, above=0, upto=1e6, help="weight in the split of the remaining epsilon")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action == "protect":
            self.grid()

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """Read a ``[[column]]`` table; dates may be written as dates."""
        plain = dict(values)
        if plain.get("kind") == "date":
            for key in ("lower", "upper"):
                if key in plain:
                    plain[key] = _day_number(plain[key], key, where)
        return super().from_plain(plain, where)

    def to_plain(self) -> dict[str, Any]:
        """Return the TOML keys, dates as text."""
        plain = super().to_plain()
        if self.kind == "date":
            for key in ("lower", "upper"):
                if key in plain:
                    plain[key] = datetime.date.fromordinal(int(plain[key])).isoformat()
        elif self.kind == "integer":
            plain.update({k: int(plain[k]) for k in ("lower", "upper") if k in plain})
        if self.action == "protect":
            # The purpose is written out: without it, a certificate is older than the present default.
            plain |= {"action": "protect", "purpose": self.purpose}
        return plain

    def published(self) -> Column:
        """Return the column as :meth:`Plan.published` describes it."""
        if self.action != "protect":
            stated = ("name", "action", "role") if self.action == "drop" else ("name", "action", "kind", "role")
            return Column(**{name: getattr(self, name) for name in stated})
        if self.bounds_origin == "data" and self.domain is not None:
            return dataclasses.replace(self, domain=None, cells=len(self.values()))
        return self

    def grid(self) -> Grid:
        """Return the column's public grid, checked against its mechanism."""
        made = grid(self)
        if self.mechanism != AUTO:
            reason = mechanism(self.mechanism).refusal(made.cells)
            if reason:
                raise ParameterError(reason, f"column {self.name}", "choose another mechanism")
        return made


@dataclass(frozen=True, kw_only=True)
class Plan(Parameters):
    """What is released from a table, and for which ε of one row's whole record."""

    version: int = integer(default=1, at_least=1, upto=1, help="version of the plan format")
    epsilon: float = real(
        at_least=EPSILON_LEAST, upto=EPSILON_MOST, symbol="ε", help="privacy loss of one row's whole record"
    )
    keep_order: bool = boolean(default=False, help="keep the original order of rows, which publishes their rank")
    rows_per_person: int = integer(
        default=1, at_least=1, upto=1_000_000, help="maximum rows per person; multiplies the charge"
    )
    unit: str | None = text(
        default=None,
        help="the column that identifies a person: rows_per_person rows of each are kept, and the others are emptied",
    )
    # a declaration, as the others are
    join: Join | None = nested(Join, default=None, help="a second table that is joined on the person")  # noqa: RUF009
    account: str | None = text(
        default=None, longest=LONGEST_NAME, help="public name of the account that pays; certificates repeat it"
    )
    invalid: str = choice(
        choices=(REFUSE, REPLACE),
        default=REFUSE,
        help="a cell that cannot be used is an error, or replaced: missing and unreadable become one more value",
    )
    impossible: tuple[str, ...] | None = texts(
        default=None,
        shortest=1,
        most=1000,
        help='what is publicly known to be impossible, such as "sex = male & pregnant = yes": no synthetic row has it',
    )
    reading: Reading | None = nested(Reading, default=None, help="how the text file is read")  # noqa: RUF009
    writing: Writing | None = nested(Writing, default=None, help="how a text file is written")  # noqa: RUF009
    questions: PlanQuestions | None = nested(  # noqa: RUF009
        PlanQuestions, default=None, help="what the release is for, and who receives it"
    )
    columns: tuple[Column, ...] = records(Column, help="the columns")

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """Read a plan; one that replaces invalid values does not declare missing ones."""
        if values.get("invalid") == REPLACE and isinstance(values.get("column"), list):
            columns = [
                {k: v for k, v in c.items() if (k, v) != ("missing", UNFILLED)} if isinstance(c, Mapping) else c
                for c in values["column"]
            ]
            values = {**values, "column": columns}
        return super().from_plain(values, where)

    @classmethod
    def key_of(cls, name: str) -> str:
        """Return the TOML key: the list of columns is written ``[[column]]``."""
        return "column" if name == "columns" else name

    def __post_init__(self) -> None:
        """Check the values, the names and that the fixed shares fit into ε.

        Where invalid values are replaced, every column that is not dropped has a cell of its own for a missing one.
        """
        super().__post_init__()
        if self.account is not None:
            checked_name(self.account)
        if self.replaces_invalid:
            columns = tuple(
                c if c.action == "drop" or c.missing == OWN_VALUE else dataclasses.replace(c, missing=OWN_VALUE)
                for c in self.columns
            )
            object.__setattr__(self, "columns", columns)
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise ParameterError(f"the column {column.name!r} is in the plan twice", hint="remove one of the two")
            seen.add(column.name)
        if not self.columns:
            raise ParameterError("the plan names no columns", hint="add a [[column]] for each column of the table")
        if self.impossible is not None:
            checked_statements(self.impossible, tuple(column.name for column in self.columns))
        if self.unit is not None:
            self._check_unit(self.column(self.unit))
        elif self.join is not None:
            what = "a second table is joined on the person, but no column identifies the person"
            raise ParameterError(what, "join", 'add unit = "NAME"', code="join-unit", field="unit")
        if self.defuses_formulas:
            self._check_formulas()
        self.shares()

    def _check_formulas(self) -> None:
        """Refuse two declared values that are one text once formulas are defused."""
        for column in self.protected:
            values = () if column.numeric or column.counted or column.domain is None else column.values()
            twice = next((old for old, new in zip(values, shielded(values), strict=True) if old != new in values), None)
            if twice is not None:
                what = f"{twice!r} with an apostrophe, as formulas are defused, is one of the other values"
                raise ParameterError(what, f"column {column.name}", "leave formulas as they are, or rename one")

    def _check_unit(self, person: Column) -> None:
        """Refuse a plan under which rows cannot be emptied, or that releases whose they are."""
        where = f"column {person.name}"
        if person.action != "drop":
            what = "the column that identifies a person is never released"
            raise ParameterError(what, where, 'write action = "drop" for it', code="person-released", field="unit")
        kept = [column.name for column in self.columns if column.action == "keep"]
        if kept:
            what = f"the plan publishes the column {kept[0]!r} as it is, so nothing limits what one person changes"
            raise ParameterError(
                what, "unit", 'write action = "protect" or "drop" for it', code="person-kept", field="unit"
            )
        if not self.replaces_invalid:
            what = "some rows of a person are emptied, but this plan refuses empty values"
            raise ParameterError(what, "unit", REPLACE_VALUES, code="person-refused", field="unit")

    def shares(self) -> dict[str, Decimal]:
        """Return each protected column's share of ε (:func:`workbench.sanitize.budget_split.shares`)."""
        return shares(self.epsilon, self.protected)

    def row_epsilon(self) -> Decimal:
        """Return the ε of one row's whole record: the sum of the shares."""
        return total(self.epsilon, self.protected)

    @property
    def replaces_invalid(self) -> bool:
        """Whether no cell is refused for its value, so that every table with the plan's columns is valid."""
        return self.invalid == REPLACE

    @property
    def defuses_formulas(self) -> bool:
        """Whether text that a spreadsheet would run gets an apostrophe in a released file."""
        return self.writing is not None and self.writing.defuse_formulas

    def rows_of(self, table: Table, coins: Entropy | None = None, *, counted: bool = False) -> Table:
        """Return ``table`` as the plan reads it: declared codes are missing, and it may replace invalid values.

        The rows of each person are bounded, where it names who that is.

        Every mechanism, learner and study that follows a plan reads its table, all rows of it, through this. Each call
        chooses rows anew, by the operating system's coins, in a study by seeded ones; each figure of a release costs
        the same whichever choice it is made of. ``counted`` says whether the column of the person has the number of
        her rows, for a work that asks for it.

        Raises:
            InputError: the table is not joined as the plan says.
        """
        self.require_joined(table)
        rows, replaces, most = with_codes(table, self.columns), self.replaces_invalid, self.rows_per_person
        return read_by_plan(rows, replaces_invalid=replaces, person=self.unit, most=most, coins=coins, counted=counted)

    @property
    def joined_on(self) -> str | None:
        """The column of the second table that identifies a person; ``None`` where none is joined."""
        return None if self.join is None else self.join.on

    def require_joined(self, table: Table) -> None:
        """Raise :class:`InputError` for a table without the second one that the plan names, or with another one."""
        stated, made = self.join, table.joined
        if stated is not None and made is None:
            what = f"the plan joins a second table on {stated.on!r}, and none is given"
            hint = give("join", "give it: --join FILE", python="give it: join=")
            raise InputError(what, table.source, hint, code="join-missing")
        if made is not None and (stated is None or stated.on != made.on):
            what = f"a second table is joined on {made.on!r}, but the plan does not say so"
            raise InputError(
                what, table.source, f'write [join] with on = "{made.on}" in the plan', code="join-unplanned"
            )

    @property
    def protected(self) -> tuple[Column, ...]:
        """The columns that go through a mechanism."""
        return tuple(c for c in self.columns if c.action == "protect")

    def unrounded(self) -> Self:
        """Return the plan with numbers on grids of the usual size, whatever steps noisy rows are rounded to."""
        columns = (dataclasses.replace(c, cells=None) if c.numeric and c.cells is not None else c for c in self.columns)
        return dataclasses.replace(self, columns=tuple(columns))

    def column(self, name: str) -> Column:
        """Return the column called ``name``, or raise :class:`ParameterError`."""
        for column in self.columns:
            if column.name == name:
                return column
        near = did_you_mean(name, [column.name for column in self.columns])
        raise ParameterError(f"the plan has no column {name!r}{near}", hint="add it", code="unknown-column")

    def published(self) -> Self:
        """Return the plan as certificates contain it.

        Columns without a mechanism appear without facts, which may have been taken from the rows before the column was
        dropped; of those that are dropped, the kind is one of them. A list of values that was taken from the rows
        appears as their number: the released file contains those that are needed to read it. How raw files are read
        is left out, as are the questions, and what is impossible, which the request of a release states that depends on
        it.
        """
        return dataclasses.replace(
            self,
            reading=None,
            join=self.join and Join(on=self.join.on),
            questions=None,
            impossible=None,
            columns=tuple(c.published() for c in self.columns),
        )

    def to_toml(self, comment: str = "") -> str:
        """Return the plan as TOML."""
        plain = {"version": self.version, "epsilon": self.epsilon, **self.to_plain()}
        return write_toml(plain, comment)


def load_plan(path: Path) -> Plan:
    """Return the plan in ``path``.

    Raises:
        InputError: the file cannot be read, or public facts are still marked ``"?"``.
        ParameterError: a key or a value is refused; the message names it and the place.
    """
    raw = read_toml(path, "plan")
    open_facts = unfilled(raw, str(path))
    if open_facts:
        more = f" and {len(open_facts) - 3} more" if len(open_facts) > 3 else ""
        raise ParameterError(
            f'the plan has public facts that are still "?": {", ".join(open_facts[:3])}{more}',
            str(path),
            "fill them in from what is publicly known, not from the rows",
            code="facts-open",
            field=open_facts[0].partition(" of ")[0],
        )
    return Plan.from_plain(raw, where=str(path))


def unfilled(raw: Mapping[str, Any], where: str) -> list[str]:
    """Return ``KEY of COLUMN`` for each public fact of a raw plan that is still ``"?"``."""
    out = []
    keys = [k for k in _FILLABLE if k != "missing" or raw.get("invalid") != REPLACE]
    columns = raw.get("column", [])
    if not isinstance(columns, list):
        raise ParameterError("column is not a list of tables", where, "write [[column]]")
    for column in columns:
        table = require_table(column, "a column", where)
        if table.get("action", "protect") == "protect":
            out += [f"{k} of {table.get('name', '?')}" for k in keys if table.get(k) in (UNFILLED, [UNFILLED])]
    return out


def _day_number(value: Any, key: str, where: str) -> float:
    if isinstance(value, datetime.datetime):
        value = value.date()
    if isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError:
            raise ParameterError(f"{key} = {value!r} is not a date", where, "write it as 1990-12-31") from None
    if isinstance(value, datetime.date):
        return float(value.toordinal())
    raise ParameterError(f"{key} = {value} is not a date", where, "write it as 1990-12-31")

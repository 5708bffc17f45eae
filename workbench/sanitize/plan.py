"""The plan: a frozen description of what is released, read from TOML and written to it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from workbench.data.grid import Grid, grid
from workbench.data.schema import Attribute
from workbench.params import InputError, ParameterError, Parameters, boolean, choice, integer, real, records, text
from workbench.params.codec import read_toml, require_table, write_toml
from workbench.privacy.mechanisms import mechanism
from workbench.privacy.table import EPSILON_LEAST, EPSILON_MOST

AUTO = "auto"
UNFILLED = "?"
VALUES, STATISTICS = PURPOSES = ("values", "statistics")
"""What a column is released for: each value near the true one, or means and counts over many rows."""
_FILLABLE = ("lower", "upper", "domain", "missing", "date_order")


@dataclass(frozen=True, kw_only=True)
class Column(Attribute):
    """One column of a plan: its public facts, what is done with it, and its share of ε."""

    action: str = choice(choices=("protect", "drop", "keep"), default="protect", help="what is done with the column")
    mechanism: str = text(default=AUTO, help="the local mechanism, or auto for the advisor's choice")
    purpose: str = choice(
        choices=PURPOSES,
        default=VALUES,
        help="what auto chooses by: each value near the truth, or means and counts over many rows",
    )
    epsilon: float | None = real(
        default=None, at_least=EPSILON_LEAST, upto=EPSILON_MOST, symbol="ε", help="fixed share of the plan's epsilon"
    )
    weight: float = real(default=1.0, above=0, upto=1e6, help="weight in the split of what fixed shares leave")

    def __post_init__(self) -> None:
        """Check the values, then that a protected column has what its mechanism needs."""
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
            plain.setdefault("action", "protect")
        return plain

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
    """What is released of a table, and for which ε of one row's whole record."""

    version: int = integer(default=1, at_least=1, upto=1, help="version of the plan format")
    epsilon: float = real(
        at_least=EPSILON_LEAST, upto=EPSILON_MOST, symbol="ε", help="privacy loss of one row's whole record"
    )
    keep_order: bool = boolean(default=False, help="rows leave in their original order, which publishes their rank")
    rows_per_person: int = integer(
        default=1, at_least=1, upto=1_000_000, help="most rows of one person; multiplies the charge"
    )
    columns: tuple[Column, ...] = records(Column, help="the columns")

    @classmethod
    def key_of(cls, name: str) -> str:
        """Return the TOML key: the list of columns is written ``[[column]]``."""
        return "column" if name == "columns" else name

    def __post_init__(self) -> None:
        """Check the values, the names and that the fixed shares fit into ε."""
        super().__post_init__()
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise ParameterError(f"the column {column.name!r} is planned twice", mend="remove one of the two")
            seen.add(column.name)
        if not self.columns:
            raise ParameterError("the plan names no columns", mend="add a [[column]] for each column of the table")
        from workbench.sanitize.allocate import shares

        shares(self)

    @property
    def protected(self) -> tuple[Column, ...]:
        """The columns that go through a mechanism."""
        return tuple(c for c in self.columns if c.action == "protect")

    def column(self, name: str) -> Column:
        """Return the column called ``name``, or raise :class:`ParameterError`."""
        for column in self.columns:
            if column.name == name:
                return column
        raise ParameterError(f"the plan has no column {name!r}", mend="add it")

    def published(self) -> Self:
        """Return the plan as a certificate tells of it: of a column that no mechanism needs facts of, no facts.

        Such facts may have been read off the rows before the column was dropped, and they serve nobody.
        """
        kept = ("name", "action", "kind", "role")
        columns = tuple(
            c if c.action == "protect" else Column(**{name: getattr(c, name) for name in kept}) for c in self.columns
        )
        return dataclasses.replace(self, columns=columns)

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
        raise InputError(
            f'the plan has public facts that are still "?": {", ".join(open_facts[:3])}{more}',
            str(path),
            "fill them in from what is publicly known, not from the rows",
        )
    return Plan.from_plain(raw, where=str(path))


def unfilled(raw: Mapping[str, Any], where: str) -> list[str]:
    """Return ``KEY of COLUMN`` for each public fact of a raw plan that is still ``"?"``."""
    out = []
    columns = raw.get("column", [])
    if not isinstance(columns, list):
        raise ParameterError("column is not a list of tables", where, "write [[column]]")
    for column in columns:
        table = require_table(column, "a column", where)
        if table.get("action", "protect") == "protect":
            out += [f"{k} of {table.get('name', '?')}" for k in _FILLABLE if table.get(k) in (UNFILLED, [UNFILLED])]
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

"""Public facts about the attributes of a table, declared by a person and never read from the rows."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from workbench.params import ParameterError, Parameters, choice, integer, real, text, texts
from workbench.params.remedies import DECLARE, Remedy, declare, declare_bound
from workbench.privacy.local.limits import MOST_CELLS

KINDS = ("integer", "real", "category", "boolean", "date")
ROLES = ("identifier", "quasi-identifier", "sensitive", "target")
_, QUASI, SENSITIVE, _ = ROLES
DATE_ORDERS = ("day-first", "month-first")
OWN_VALUE = "own-value"
RELEASED = "released"  # the origin of bounds or a domain that a release of values has published, at its own ε
DECLARED, GUESS = "declared", "guess"
"""The origin of a column's facts: declared by a person, or guessed from the rows and not yet confirmed."""


def written_bound(bound: float, kind: str | None) -> str:
    """Return a bound as a person reads it: that of dates, a day number, as a date."""
    if kind == "date" and 1 <= bound <= datetime.date.max.toordinal():
        return datetime.date.fromordinal(int(bound)).isoformat()
    return f"{bound:g}"


class Declaration(Protocol):
    """What is declared of a column, in a plan or in the draft of one."""

    @property
    def kind(self) -> str | None:
        """What its values are."""

    @property
    def lower(self) -> float | None:
        """Its lower bound."""

    @property
    def upper(self) -> float | None:
        """Its upper bound."""

    @property
    def domain(self) -> tuple[str, ...] | None:
        """Its values."""


@dataclass(frozen=True, kw_only=True)
class Attribute(Parameters):
    """What is publicly declared about one column.

    Dates have bounds too, written ``1990-12-31``; in ``lower`` and ``upper`` they are day numbers
    (``datetime.date.toordinal``), which is how the plan codec hands them over.
    """

    name: str = text(help="the column's name in the table")
    kind: str | None = choice(choices=KINDS, default=None, help="what the values are")
    lower: float | None = real(
        default=None, at_least=-1e150, upto=1e150, help="public lower bound; smaller values are clamped to it"
    )
    upper: float | None = real(
        default=None, at_least=-1e150, upto=1e150, help="public upper bound; larger values are clamped to it"
    )
    cells: int | None = integer(default=None, at_least=2, upto=MOST_CELLS, help="size of the public grid")
    domain: tuple[str, ...] | None = texts(default=None, shortest=2, help="public list of the values")
    other: str | None = text(default=None, help="the domain value that collects values outside the domain")
    bounds_origin: str = choice(
        choices=("declared", "data", RELEASED),
        default="declared",
        help="whether the bounds are public, were taken from the rows, or from a release that was paid for",
    )
    origin: str = choice(
        choices=(DECLARED, GUESS), default=DECLARED, help="whether kind and missing values are public or a guess"
    )
    role: str | None = choice(
        choices=ROLES, default=None, help="the column's role: does it identify a person, or is it sensitive"
    )
    missing: str = choice(
        choices=("refuse", OWN_VALUE), default="refuse", help="whether a missing value is an error or one more cell"
    )
    missing_codes: tuple[str, ...] | None = texts(
        default=None,
        most=64,
        help='codes that the file uses for missing values, such as ["-9", "99"], besides an empty cell; [] for none',
    )
    date_order: str | None = choice(
        choices=DATE_ORDERS,
        default=None,
        help="day or month first, in dates with the year last, such as 03/12/2020 or 3.12.20",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            lower, upper = (written_bound(bound, self.kind) for bound in (self.lower, self.upper))
            raise ParameterError(
                f"the lower bound {lower} is not below the upper bound {upper}",
                f"column {self.name}",
                "swap or correct them",
                code="bounds-crossed",
                field="lower",
            )
        if self.date_order is not None and self.kind not in ("date", None):
            raise ParameterError(
                f"date_order is for dates, and this is declared as {self.kind}",
                f"column {self.name}",
                ("remove it", declare("kind", "date")),
                field="date_order",
            )
        if self.missing_codes is not None:
            self._check_codes(self.missing_codes)
        if self.domain is not None and "" in self.domain:
            raise ParameterError(
                'the domain holds "", which is how a missing value is written',
                f"column {self.name}",
                ("remove it", declare("missing", "own-value")),
                field="domain",
            )

    def _check_codes(self, codes: tuple[str, ...]) -> None:
        """Strip the codes; refuse one that is a value, too."""
        object.__setattr__(self, "missing_codes", tuple(dict.fromkeys(code.strip() for code in codes)))
        assert self.missing_codes is not None
        values = (*(self.domain or ()), *([] if self.other is None else [self.other]))
        both = next((code for code in self.missing_codes if not code or code in values), None)
        if both is not None:
            what = f"{both!r} is declared missing and is one of the values" if both else "a missing code is empty"
            raise ParameterError(what, f"column {self.name}", "remove it from one of the two", field="missing_codes")

    def facts(self) -> Attribute:
        """Return only the public facts, without what a subclass adds."""
        return Attribute(**{name: getattr(self, name) for name in Attribute.declared()})

    @property
    def numeric(self) -> bool:
        """Whether the values lie on a line with bounds."""
        return self.kind in ("integer", "real", "date")

    def bounds(self) -> tuple[float, float]:
        """Return (lower, upper), or raise :class:`ParameterError` naming what nobody declared."""
        for name, value in (("lower", self.lower), ("upper", self.upper)):
            if value is None:
                raise ParameterError(
                    f"the {name} bound is not declared",
                    f"column {self.name}",
                    declare_bound(name),
                    code="facts-open",
                    field=name,
                )
        assert self.lower is not None
        assert self.upper is not None
        return self.lower, self.upper

    @property
    def counted(self) -> bool:
        """Whether a certificate gives only the number of its values, because they were taken from the rows."""
        return not self.numeric and self.domain is None and self.cells is not None and self.bounds_origin == "data"

    def values(self) -> tuple[str, ...]:
        """Return the public domain of a category or boolean, or raise :class:`ParameterError`.

        Values that a certificate only counts have placeholders; ``other``, which a person declared, is the last.
        """
        if self.counted:
            return self._counted_values(())
        if self.kind == "boolean" and self.domain is None:
            return ("false", "true")
        if self.domain is None:
            raise ParameterError(
                "the domain is not declared",
                f"column {self.name}",
                Remedy(DECLARE, 'write domain = ["…", "…"] from public facts', {"key": "domain"}),
                code="facts-open",
                field="domain",
            )
        if self.other is not None and self.other not in self.domain:
            return (*self.domain, self.other)
        return self.domain

    def with_values_of(self, released: Iterable[str]) -> Self:
        """Return the attribute with the values of a ``released`` column in place of its placeholders.

        Randomised response treats all values alike, so that their order means nothing.

        Raises:
            ParameterError: there are more of them than were counted.
        """
        if not self.counted:
            return self
        assert self.cells is not None
        seen = sorted({*released} - {self.other})
        if len(seen) > self.cells - (self.other is not None):
            raise ParameterError(
                f"there are {len(seen)} different values, and {self.cells} were counted", f"column {self.name}"
            )
        return dataclasses.replace(self, domain=self._counted_values(seen), cells=None)

    def _counted_values(self, seen: Sequence[str]) -> tuple[str, ...]:
        """Return ``seen``, a placeholder for each value that is counted and was not seen, and ``other``."""
        assert self.cells is not None
        other = () if self.other is None else (self.other,)
        taken = {*seen, *other}
        names = (name for name in (f"value not seen {k}" for k in itertools.count(1)) if name not in taken)
        unseen = itertools.islice(names, self.cells - len(seen) - len(other))
        return (*seen, *unseen, *other)

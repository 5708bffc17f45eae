"""The guarantee in words, for certificates and cards: which tables it covers, empty rows, and refusals.

The input domain and the neighbours are those of correctness notes, "Perimeter" 2, and of KNOWN-LIMITS, "The guarantee".
A table is a list of n rows; how the bytes of a file become rows is stated publicly and no part of the guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.shown_figures import GENERALISED, ShownFigures
from workbench.sanitize.plan import Plan

_MOST_NAMED = 8

VALID_ONLY = (
    "It holds among tables of n rows, n public, whose every cell is valid under the plan: an invalid cell is refused, "
    "so that a release tells that every cell was valid."
)
EVERY_TABLE = (
    "It holds among all tables of n rows, n public, with the plan's columns: no row is refused for what it says, "
    "because whatever is missing, unreadable, outside the domain or has not the right number of cells counts as "
    "missing (or as the plan's other value), and a number outside its bounds as the nearest bound. Only a file that "
    "cannot be cut into rows is refused."
)


TRAINED_ON_RELEASE = "Trained on a release: costs nothing beyond it."
"""What a card says of a model that was made from a released table and its certificate alone."""


PROMISES_NOTHING = (
    "This is not differential privacy: ε does not bound it, and it costs no ε because nothing is promised. Every "
    "published value follows from the rows. Whoever knows something of a person already, or has another table of the "
    "same people, may learn more than the models below suggest."
)
"""What the certificate of a generalised table says first."""

KEPT = "The column {name} is published as it is."  # a sentence of the certificate on each column that no model covers


def kept_columns(columns: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the sentences on the columns of a generalised table's certificate that no model covers."""
    return [KEPT.format(name=column["name"]) for column in columns if column["role"] == "kept"]


CANNOT_KNOW = (
    "not checked, because no file can show it: who wrote the certificate, whether bounds, domains and the reading of "
    "the file were declared from public knowledge, whether the ledger was kept honestly, and what else was released "
    "about these people"
)
"""What every verification leaves open, in one line."""


@dataclass(frozen=True)
class Persons:
    """Whose rows a guarantee is about."""

    rows_per_person: int = 1  # the most rows of each
    # The column that identifies a person, whose further rows were emptied; `None` where no column does.
    unit: str | None = None
    join: str | None = None  # that of a second table; `None` where none is joined

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Return those of a plan."""
        return cls(plan.rows_per_person, plan.unit, plan.joined_on)

    def facts(self) -> dict[str, Any]:
        """Return what a certificate or card says of them."""
        return {key: value for key, value in vars(self).items() if value is not None}

    @property
    def emptied(self) -> str:
        """What neighbours differ in, in words."""
        if self.unit is not None:
            return "all rows of one person" if self.join is None else "all rows of one person in both tables"
        one = self.rows_per_person == 1
        return "one row" if one else f"one person with at most {self.rows_per_person} rows"


def table_statement(plan: Plan) -> str:
    """Return what the release of a table guarantees."""
    persons = Persons.of(plan)
    unit = persons.emptied
    if plan.replaces_invalid:
        others = "any others"
        empty = f"and so does emptying {unit} (zero-out): every protected value of an empty row is missing"
    else:
        others = "any other valid ones"
        empty = f"and so does emptying {unit} (zero-out): fixed valid values stand for those of an empty row"
    return (
        f"Replacing the protected values of {unit} by {others} changes the probability of any set of released "
        f"tables and certificates by a factor of at most e^epsilon, {empty}. {domain(plan.replaces_invalid)} "
        f"Only the protected columns are covered."
    ) + _whose(persons)


def model_statement(persons: Persons, *, replaces_invalid: bool, delta: bool = False, alone: bool = False) -> str:
    """Return what the release of a model guarantees; ``alone``: of one without a target."""
    like = "all its values missing" if alone else "like any row without a valid class"
    return _central("models and cards", persons, replaces_invalid, delta, like)


def central_statement(released: str, persons: Persons, *, replaces_invalid: bool, delta: bool = False) -> str:
    """Return what a central release guarantees, such as one of ``released`` = statistics."""
    return _central(f"{released} and certificates", persons, replaces_invalid, delta, "all its values missing")


def _central(what: str, persons: Persons, replaces_invalid: bool, delta: bool, like: str) -> str:
    unit, beside = persons.emptied, ", and by delta beside it" if delta else ""
    empty = (
        f"an empty row, {like}, contributes nothing"
        if replaces_invalid
        else "an empty row contributes nothing; no such row can stand in a valid table, and between two valid tables "
        "that differ in one row the replace-one figures hold"
    )
    return (
        f"Emptying {unit} (zero-out) changes the probability of any set of released {what} by a factor of "
        f"at most e^epsilon{beside}; {empty}. {domain(replaces_invalid)}"
    ) + _whose(persons)


def columns_used_statement(used: Sequence[str] | None, total: int, opening: str = "At this epsilon it") -> str:
    """Return a sentence naming the columns a model uses; empty if it uses all ``total``, or if that is not known."""
    if used is None or len(used) >= total:
        return ""
    if not used:
        return f"It looks at none of the {total} columns: it always says the same."
    shown = ", ".join(used[:_MOST_NAMED]) + (f" and {len(used) - _MOST_NAMED} more" if len(used) > _MOST_NAMED else "")
    return f"{opening} looks at {len(used)} of {total} columns: {shown}."


def domain(replaces_invalid: bool) -> str:
    """Return the sentence on the tables that a guarantee covers."""
    return EVERY_TABLE if replaces_invalid else VALID_ONLY


def _whose(persons: Persons) -> str:
    """Return the sentences on what a person is, where a column says it."""
    if persons.unit is None:
        return ""
    who = f"A person is all rows with the same {persons.unit!r}, or one row without it."
    if persons.join is not None:
        who += (
            f" A second table, the number of whose rows is public, is joined on its {persons.join!r}: of each person "
            "in it one row is kept, chosen at random, and added to the person's rows of the first table."
        )
    if persons.rows_per_person == 1:
        return (
            f" {who} One row of each person is kept, chosen at random, and the others count as empty: whatever the "
            "table says, no person changes more than one row of what is read."
        )
    return (
        f" {who} At most {persons.rows_per_person} rows of each person are kept, chosen at random, and the others "
        "count as empty: whatever the table says, no person changes more than "
        f"{persons.rows_per_person} rows of what is read."
    )


CHOSEN = (
    "Private figures of these rows were shown before the settings were made: the guarantee does not cover what a "
    "choice by them tells of the rows."
)
"""The same sentence for every kind of release: it says that there were such figures, not which."""

BESIDE = (
    "A generalised table of these rows was published before, which no ε covers: this release adds no more than its ε "
    "allows, but what both reveal together has no bound."
)
"""What a certificate says where a generalised table of the rows was published before."""


def seen_before(shown: Iterable[ShownFigures]) -> str:
    """Return what is said before ε is spent: which private figures were shown, and what that puts on record."""
    words = "; ".join(dict.fromkeys(one.words for one in shown))
    if not words:
        return ""
    stated = "the certificate or card of this release will say so"
    return f"Private figures of these rows were shown before ({words}): {stated}."


def with_choice(outside: Iterable[str], ledger: Ledger, dataset: str, release_id: str) -> list[str]:
    """Return what the guarantee of a release does not cover, each sentence once: its plan, and what was shown before.

    What is shown after the release was reserved does not count.
    """
    chosen = [CHOSEN] if ledger.figures_shown(dataset, before=release_id) else []
    chosen += [BESIDE] if ledger.figures_shown(dataset, before=release_id, study=GENERALISED) else []
    return list(dict.fromkeys((*outside, *chosen)))


def without_choice(outside: Iterable[str]) -> list[str]:
    """Return what a certificate must list by its plan alone: no file can show what else was shown or published."""
    return [sentence for sentence in outside if sentence not in (CHOSEN, BESIDE)]

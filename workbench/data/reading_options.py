"""How a file is read, according to a plan: what a person stated, and which guesses were confirmed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.data.csv.options import NO_DELIMITER, NO_QUOTE, Dialect, ReadOptions
from workbench.data.schema import DECLARED, GUESS
from workbench.params import choice, texts

if TYPE_CHECKING:  # this loads polars, which the window's first paint does not wait for
    from workbench.data.table import Table


@dataclass(frozen=True, kw_only=True)
class Reading(ReadOptions):
    """The table ``[reading]`` of a plan: the options of the reader, and where they come from."""

    origin: str = choice(
        choices=(DECLARED, GUESS), default=DECLARED, help="whether this is known to be right or was guessed"
    )

    renamed: tuple[str, ...] | None = texts(
        default=None, shortest=1, optional=True, help="columns with a repeated header name, under their new names"
    )

    @property
    def options(self) -> ReadOptions:
        """The options alone."""
        return ReadOptions(**{name: getattr(self, name) for name in ReadOptions.declared()})


FORM = (
    *("encoding", "delimiter", "quote", "escape", "decimal", "trim", "comment", "skip_lines", "missing", "sheet"),
    *("labels", "missing_codes"),
)
"""The options that hold for other files of the same form; names, a range or a member are of one file."""


def file_form(reading: ReadOptions | None) -> dict[str, Any]:
    """Return the form of a file as far as a plan states it: a model's card keeps it for the files to predict."""
    plain = {} if reading is None else reading.to_plain()
    return {name: plain[name] for name in FORM if name in plain}


def merge_options(stated: ReadOptions, reading: ReadOptions | None) -> ReadOptions:
    """Return what is ``stated``; options that are not stated come from the plan's ``reading``."""
    if reading is None:
        return stated
    usual = ReadOptions()
    found = {name: getattr(stated, name) for name in ReadOptions.declared()}
    planned = {name: getattr(reading, name) for name, value in found.items() if value == getattr(usual, name)}
    return ReadOptions(**{**found, **planned})


def reading_of(table: Table, stated: ReadOptions) -> Reading | None:
    """Return how ``table`` was read, for its plan: what was ``stated``, and the guesses that one row could change.

    The header is among the guesses wherever nobody stated it: it decides whether the first row is one of the rows.
    What the bytes prove (UTF-8, say) is left out, so that a copy of the file in another encoding fits the plan too.
    So are the marks of missing values that occur, where nobody stated them. Which of several sheets or members was
    read, and that codes are missing because the file says so, is a guess until somebody confirms it.

    ``None`` where nothing was stated or guessed.
    """
    guessed: dict[str, Any] = ambiguous_options(table)
    if table.dialect is not None and stated.header is None:
        guessed["header"] = options_of(table.dialect)["header"]
    facts = table.facts
    if len(facts.parts) > 1 and getattr(stated, facts.option) is None:
        guessed[facts.option] = facts.part
    from workbench.data.columns.missing import marks_in  # this loads polars, as above

    marks = marks_in(table) if stated.missing is None and not table.types else ()
    if marks:
        guessed["missing"] = marks
    if not guessed and stated == ReadOptions() and table.dialect is None:
        return None
    found = {name: getattr(stated, name) for name in ReadOptions.declared()}
    origin = GUESS if guessed else DECLARED
    return Reading(**{**found, **guessed, "origin": origin, "renamed": table.renamed or None})


def options_of(dialect: Dialect) -> dict[str, str]:
    """Return the options that state how a file was read."""
    return {
        **{name: getattr(dialect, name) for name in ("encoding", "escape", "decimal")},
        "delimiter": dialect.delimiter or NO_DELIMITER,
        "quote": dialect.quote or NO_QUOTE,
        "header": "yes" if dialect.header else "no",
    }


def ambiguous_options(table: Table) -> dict[str, str]:
    """Return the options that state what was guessed and one row could have changed, as the file was read."""
    read = options_of(table.dialect) if table.dialect is not None else {}
    return {doubt.name: read.get(doubt.name) or doubt.candidates[0].value for doubt in table.ambiguities}

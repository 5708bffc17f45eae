"""Combinations of values that are publicly known never to occur, as the steward declares them.

A statement is written ``sex = male & pregnant = yes`` or ``age = 0..15 & job = retired``: columns with the values
(``a|b``) or ranges (``0..15``, ends included) that do not occur together. It is public and depends on no row: rows that
break it are counted like any other.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import ParameterError

OPTION, KEY = "--impossible", "impossible"  # where statements are written: on the command line, and in a plan


@dataclass(frozen=True)
class Statement:
    """Values of some columns that do not occur together."""

    parts: tuple[tuple[str, tuple[str, ...]], ...]  # (column, its values and ranges as they were written)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it names."""
        return tuple(name for name, _ in self.parts)


def statements(text: str, where: str = OPTION) -> tuple[Statement, ...]:
    """Return what ``text`` declares, statements between semicolons.

    Raises:
        ParameterError: it cannot be read; the message names ``where``.
    """
    found = []
    for written in (part.strip() for part in text.split(";")):
        if not written:
            continue
        parts = []
        for condition in written.split("&"):
            name, equals, values = condition.partition("=")
            stated = tuple(value.strip() for value in values.split("|"))
            if not equals or not name.strip() or not all(stated):
                raise ParameterError(
                    f"{condition.strip()!r} is not COLUMN = VALUE",
                    where,
                    'write it as "sex = male & pregnant = yes; age = 0..15 & job = retired"',
                    field=KEY,
                )
            parts.append((name.strip(), stated))
        if len({name for name, _ in parts}) < len(parts):
            raise ParameterError(f"{written!r} names a column twice", where, "separate its values with |", field=KEY)
        found.append(Statement(tuple(parts)))
    return tuple(found)


def checked_statements(written: tuple[str, ...], columns: tuple[str, ...]) -> None:
    """Refuse a plan's list of statements that cannot be read, or that names a column which the plan has not.

    Raises:
        ParameterError: with the statement.
    """
    for text in written:
        found = statements(text, KEY)
        if len(found) != 1:
            raise ParameterError(
                f"{text!r} is not one statement", KEY, "write one statement in each string of the list", field=KEY
            )
        unknown = next((name for name in found[0].columns if name not in columns), None)
        if unknown is not None:
            raise ParameterError(
                f"{text!r} names the column {unknown!r}, which the plan does not have",
                KEY,
                f"name one of {', '.join(columns)}",
                field=KEY,
            )


def merged_statements(planned: tuple[str, ...] | None, asked: str | None) -> str | None:
    """Return the statements of a plan and those of a request as one text, each once; ``None`` for none."""
    found: list[str] = []
    for text in (*(planned or ()), *(asked or "").split(";")):
        if text.strip() and text.strip() not in found:
            found.append(text.strip())
    return "; ".join(found) or None

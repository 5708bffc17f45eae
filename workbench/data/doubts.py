"""Which guesses about a text file are uncertain: those that one row could turn, and with it what other rows say.

A guess that only decides between reading the file and refusing it is not among them. So the double quote mark, quote
marks that are doubled inside a cell, valid UTF-8, and a header that holds the names of the plan are certain: they are
kept for as long as they fit, and whatever is chosen over them is a doubt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from workbench.data.dialect import DOUBLED, Dialect
from workbench.data.sniff import is_clean
from workbench.data.table import Doubt


def doubts_about(
    dialect: Dialect, certain: Collection[str], first: Sequence[str], names: Sequence[str] | None
) -> Iterator[Doubt]:
    """Yield the doubts about a file that was read as ``dialect``, each with the option that settles it.

    Args:
        dialect: how the file was read.
        certain: the attributes of it that a person stated or the bytes prove.
        first: the cells of the first record.
        names: column names that a plan expects. A first record that holds them all proves the delimiter: no other
            one would cut the same names out of it.
    """
    if "encoding" not in certain:
        yield Doubt(f"the encoding was guessed as {dialect.encoding}", f"--encoding {dialect.encoding}")
    named = names is not None and len(names) > 0 and set(names) <= set(first)
    if "delimiter" not in certain and dialect.delimiter and not named:
        mark = "tab" if dialect.delimiter == "\t" else dialect.delimiter
        if not all(is_clean(cell, dialect.delimiter) for cell in first):
            yield Doubt(f"the delimiter was guessed as {mark}", f"--delimiter {_quoted(mark)}")
    if "quote" not in certain and dialect.quote != '"':
        yield Doubt(f"the quote mark was guessed as {dialect.quote}", f"--quote {_quoted(dialect.quote)}")
    if "escape" not in certain and dialect.escape != DOUBLED:
        yield Doubt(f"the way quote marks are escaped was guessed as {dialect.escape}", f"--escape {dialect.escape}")
    if "decimal" not in certain and dialect.decimal != ".":
        yield Doubt(f"the decimal mark was guessed as {dialect.decimal}", f"--decimal {dialect.decimal}")
    if "header" not in certain and not dialect.header:
        yield Doubt("the first row was taken for values, not for names", "--header no")


def _quoted(mark: str) -> str:
    """Return an option's value as a shell takes it."""
    return mark if mark.isalnum() else f'"{mark}"'

"""How a released table is written as delimited text; a plan says it, so that its certificate does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.data.csv.options import known_encoding
from workbench.params import Parameters, boolean, choice, text

if TYPE_CHECKING:  # the window's first paint does not wait for it
    import polars as pl

DELIMITERS = (",", ";", "\t", "|")

STARTS_FORMULA = r"^[\s\x{feff}]*[=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}\x{2212}]|^[\t\r\n]"
"""What a spreadsheet takes for the beginning of a formula, where the cell is not a number: also behind blanks, which
some cut off, and in the wide letters of East Asia."""
_NUMBER = r"^\s*[+\-\x{2212}]?[0-9.,]+([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, kw_only=True)
class Writing(Parameters):
    """The table ``[writing]`` of a plan; what it does not state is as in the table's own file."""

    delimiter: str = choice(choices=DELIMITERS, default=",", help="character between the cells of a .csv file")
    decimal: str = choice(choices=(".", ","), default=".", help="decimal mark of the real numbers in a .csv file")
    encoding: str = text(default="utf-8", longest=40, help="character encoding of a .csv file")
    defuse_formulas: bool = boolean(
        default=False, help="put an apostrophe before text that a spreadsheet would run as a formula"
    )

    def __post_init__(self) -> None:
        """Check the values; an encoding gets the name by which Python knows it."""
        super().__post_init__()
        object.__setattr__(self, "encoding", known_encoding(self.encoding))


PLAIN = Writing()


def defused(cells: pl.Series) -> pl.Series:
    """Return text with an apostrophe before what a spreadsheet would run."""
    runs = cells.str.contains(STARTS_FORMULA) & ~cells.str.contains(_NUMBER)
    return ("'" + cells).zip_with(runs.fill_null(value=False), cells)


def shielded(texts: Sequence[str]) -> list[str]:
    """Return what :func:`defused` makes of a few texts."""
    import polars as pl

    return defused(pl.Series(texts, dtype=pl.String)).to_list()


def headers(names: Sequence[str]) -> list[str]:
    """Return column names, or other texts, as a file has them where formulas are defused; they stay different.

    Apostrophes before a formula are part of it: ``=v`` becomes ``'=v``, and ``'=v`` becomes ``''=v``.
    """
    bare = [name.lstrip("'") for name in names]
    return [name if new == old else f"'{name}" for name, old, new in zip(names, bare, shielded(bare), strict=True)]

"""How a delimited text file is written. Light: the window's first paint needs it, before any engine is loaded."""

from __future__ import annotations

from dataclasses import dataclass

DOUBLED = "doubled"
BACKSLASH = "backslash"
BARE = "bare"


@dataclass(frozen=True, kw_only=True)
class Dialect:
    r"""How a delimited text file is written.

    Attributes:
        encoding: Python's name of the character encoding.
        delimiter: the one or two characters between cells; empty where the file has one column.
        quote: the character around cells that hold delimiters; empty where nothing is quoted.
        decimal: the stated decimal mark, ``.`` or ``,``; where none is stated, that of most numbers (a private guess).
        header: whether the first row holds the column names.
        decimal_given: whether a person stated the decimal mark; then it settles what ``1,234`` means.
        escape: how a quote mark stands inside a quoted cell: ``doubled`` (``""``), ``backslash`` (``\"``), or
            ``bare`` (``'won't'``, where nothing escapes it).
        trim: whether blanks around cells and around their quote marks are ignored; stated, never guessed.
        comment: the character that begins a line which is not part of the table; empty for none; stated, never guessed.
    """

    encoding: str = "utf-8"
    delimiter: str = ","
    quote: str = '"'
    decimal: str = "."
    header: bool = True
    decimal_given: bool = False
    escape: str = DOUBLED
    trim: bool = False
    comment: str = ""

    @property
    def blanks(self) -> str:
        """The characters that are trimmed: spaces and tabs, unless they separate the cells."""
        if not self.trim:
            return ""
        return "".join(blank for blank in " \t" if self.delimiter.strip(" \t") or blank not in self.delimiter)

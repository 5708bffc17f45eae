"""How a text file is written, and what a person states about how a file is read, which overrides the guess.

Light: the window needs it for its first paint, before any engine is loaded.
"""

from __future__ import annotations

import codecs
import itertools
import re
from dataclasses import dataclass

from workbench.params import ParameterError, Parameters, boolean, choice, integer, text, texts

DOUBLED = "doubled"
BACKSLASH = "backslash"
BARE = "bare"


@dataclass(frozen=True, kw_only=True)
class Dialect:
    r"""How a delimited text file is written."""

    encoding: str = "utf-8"  # Python's name of the character encoding
    delimiter: str = ","  # the one or two characters between cells; empty where the file has one column
    quote: str = '"'  # the character around cells that hold delimiters; empty where nothing is quoted
    # The stated decimal mark, `.` or `,`; where none is stated, that of most numbers (a private guess).
    decimal: str = "."
    header: bool = True  # whether the first row holds the column names
    decimal_given: bool = False  # whether a person stated the decimal mark; then it settles what `1,234` means
    # How a quote mark is written inside a quoted cell: `doubled` (`""`), `backslash` (`\"`), or `bare` (`'won't'`,
    # where nothing escapes it).
    escape: str = DOUBLED
    trim: bool = False  # whether blanks around cells and around their quote marks are ignored; stated, never guessed
    # The character that begins a line which is not part of the table; empty for none; stated, never guessed.
    comment: str = ""

    @property
    def blanks(self) -> str:
        """The characters that are trimmed: spaces and tabs, unless they separate the cells."""
        if not self.trim:
            return ""
        return "".join(blank for blank in " \t" if self.delimiter.strip(" \t") or blank not in self.delimiter)


_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "": "none"}
_RANGE = re.compile(r"[A-Z]{0,3}(?:[1-9]\d{0,6})?(?::[A-Z]{0,3}(?:[1-9]\d{0,6})?)?\Z")
_LINE_MARKS = "\r\n\0"
_NO_DELIMITERS = _LINE_MARKS + "\"'"
NO_QUOTE = NO_DELIMITER = "none"


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Parameters):
    """How to read a file; of the first six options, which are for delimited text, one that is ``None`` is guessed.

    The others are never guessed. Lines are skipped first; then a line that begins with the comment mark is not
    part of the table, unless it is inside a quoted cell; then cells are separated; then they are trimmed. Trimming
    removes spaces and tabs around a cell and around its quote marks, but not inside quote marks: ``a , " b "`` is
    read as ``a`` and `` b ``. A mark of a missing value means the same in a column of any kind.
    """

    encoding: str | None = text(default=None, longest=40, help="character encoding, such as utf-8 or cp1252")
    delimiter: str | None = text(
        default=None,
        longest=9,
        may_be_empty=True,
        help="one or two characters between cells, or one of the words tab, none",
    )
    quote: str | None = text(default=None, longest=4, help="character around cells, or the word none")
    escape: str | None = choice(
        default=None,
        choices=(DOUBLED, BACKSLASH, BARE),
        help="quote mark inside a quoted cell: doubled, backslash or bare",
    )
    decimal: str | None = choice(default=None, choices=(".", ","), help="decimal mark, . or ,")
    header: str | None = choice(default=None, choices=("yes", "no"), help="whether the first row names the columns")
    trim: bool = boolean(default=False, help="strip spaces and tabs around cells; what is inside quote marks stays")
    skip_lines: int = integer(
        default=0, at_least=0, upto=1_000_000, help="lines before the table that are not part of it"
    )
    comment: str | None = text(
        default=None, longest=1, help="character that begins a line which is not part of the table"
    )
    names: tuple[str, ...] | None = texts(
        default=None,
        shortest=1,
        optional=True,
        help="names of all columns, for a file without a header or, with --header yes, instead of its header",
    )
    missing: tuple[str, ...] | None = texts(
        default=None,
        optional=True,
        most=64,
        help="the marks that mean a missing value in every column, beside an empty cell, such as NA,n/a or, written "
        "--missing=-99, numbers; empty for none (default: NA, N/A, NaN, null and none in any case, unless a declared "
        "list of values holds the word)",
    )

    sheet: str | None = text(default=None, longest=255, help="sheet of a workbook (default: the first with cells)")
    range: str | None = text(
        default=None, longest=21, help="part of the sheet, such as B3:F200, B:F or, to the end of the sheet, B3"
    )
    member: str | None = text(default=None, longest=1000, help="member of a zip archive with several tables")
    labels: bool = boolean(default=False, help="read values of SPSS and Stata files as their labels, not codes")
    missing_codes: str | None = choice(
        default=None,
        choices=("missing", "values"),
        help="whether the codes that an SPSS or Stata file declares missing are missing, or values like others",
    )

    def __post_init__(self) -> None:
        """Check the values one by one and against each other; words such as ``tab`` become what they mean."""
        super().__post_init__()
        if self.encoding is not None:
            object.__setattr__(self, "encoding", known_encoding(self.encoding))
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", _delimiter(_WORDS.get(self.delimiter, self.delimiter)))
        if self.quote is not None and self.quote != NO_QUOTE:
            _refuse_mark("quote", self.quote, "give one character, or the word none")
        if self.comment is not None:
            _refuse_mark("comment", self.comment, "give one character that is not a quote mark, such as #")
        if self.range is not None and not _RANGE.match(self.range.upper()):
            raise ParameterError(f"range = {self.range!r} is no range", hint="write B3:F200, B:F or B3", field="range")
        marks = {"delimiter": self.delimiter, "quote": self.quote, "comment": self.comment}
        for (one, first), (other, second) in itertools.combinations(marks.items(), 2):
            if first is not None and second not in (None, NO_QUOTE) and second in first:
                stated = f"{one} and {other} are both" if first == second else f"{one} = {first!r} contains the {other}"
                raise ParameterError(f"{stated} {second!r}", hint="give different characters")
        if self.missing is not None:  # an empty cell is missing in any case
            marks = dict.fromkeys(mark.strip() for mark in self.missing)
            object.__setattr__(self, "missing", tuple(mark for mark in marks if mark))
        if self.names is not None:
            if not all(name.strip() for name in self.names):
                raise ParameterError("names has an empty name", hint="name every column", field="names")
            if self.header is None:  # names without a word about the header mean that there is no header
                object.__setattr__(self, "header", "no")


def _delimiter(value: str) -> str:
    """Return a delimiter: one character, two marks such as ``||``, or :data:`NO_DELIMITER`."""
    if value == NO_DELIMITER:
        return value
    if len(value) == 2 and not any(c.isalnum() or c in _NO_DELIMITERS for c in value):
        return value
    _refuse_mark("delimiter", value, "give one character, two marks such as ||, or one of the words tab, none")
    return value


def _refuse_mark(name: str, value: str, hint: str) -> None:
    forbidden = _NO_DELIMITERS if name == "comment" else _LINE_MARKS
    if len(value) != 1 or value in forbidden or (name != "delimiter" and value.isalnum()):
        raise ParameterError(f"{name} = {value!r} is not one character", hint=hint, field=name)


def known_encoding(name: str) -> str:
    """Return Python's name of an encoding of text."""
    try:
        found = codecs.lookup(name)
        "".encode(found.name)  # fails for codecs that do not turn text into bytes, such as rot13 and zlib
    except (LookupError, ValueError):
        raise ParameterError(
            f"encoding = {name!r} is not known",
            hint="give a name such as utf-8, cp1252, shift_jis or utf-16",
            field="encoding",
        ) from None
    return "utf-8" if found.name in ("utf-8-sig", "ascii") else found.name

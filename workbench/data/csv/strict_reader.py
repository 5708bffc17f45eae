"""Read delimited text exactly, one record after the other, and refuse whatever cannot be read without doubt.

The grammar is RFC 4180's, with any delimiter, either quote mark, and lines that end in LF, CR or CRLF::

    record = cell *( delimiter cell ) line-end
    cell   = quote *( other / quote quote ) quote  |  *( anything but quote, delimiter, line end )

Where the dialect says so, blanks around cells and around their quote marks are ignored, and a line that begins
with the comment mark is not part of the table. An apostrophe as the quote mark is a quote only at the start of a
cell, so that ``Men's`` needs no quoting.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from workbench.data.csv.options import BACKSLASH, BARE, DOUBLED, Dialect

_LINE = re.compile(r"([^\r\n]*+)(\r\n|\r|\n|\Z)")
_LINE_END = re.compile(r"\r\n|\r|\n")


class Record(NamedTuple):
    """One record: the line on which it starts, counted from 1, and its cells; a blank line has none."""

    line: int
    cells: list[str]


class MalformedError(ValueError):
    """Text that cannot be read in any way.

    Attributes:
        what: ``unterminated`` (a quoted cell without an end), ``stray`` (a quote mark where none can be) or
            ``ragged`` (a record of another length than the first).
        line: the line of the fault, counted from 1.
        record: how many whole records precede it (blank lines not counted).
        cells: the length of a ragged record.
    """

    def __init__(self, what: str, line: int, record: int, cells: int = 0) -> None:
        super().__init__(what, line, record, cells)
        self.what, self.line, self.record, self.cells = what, line, record, cells


def escapes(quote: str) -> tuple[str, ...]:
    """Return the ways in which files escape ``quote`` inside a quoted cell, the standard one first.

    A bare, unescaped mark is guessed only for the apostrophe, which occurs in the middle of words; a bare
    double quote is a fault of the file.
    """
    return {"": (DOUBLED,), "'": (DOUBLED, BACKSLASH, BARE)}.get(quote, (DOUBLED, BACKSLASH))


def records(text: str, dialect: Dialect, line: int = 1) -> Iterator[Record]:
    """Yield the records of ``text``, whose first line is called ``line``.

    Raises:
        MalformedError: a quoted cell does not end, or a quote mark is where none can be.
    """
    delimiter, quote, blanks, comment = dialect.delimiter, dialect.quote, dialect.blanks, dialect.comment
    cell = _cell_pattern(dialect) if quote else None
    position, count = 0, 0
    while position < len(text):
        match = _LINE.match(text, position)
        assert match is not None  # the pattern matches any line, an empty one too
        body = match.group(1)
        if comment and body.startswith(comment):
            position, line = match.end(), line + 1
            continue
        if blanks and not body.strip(blanks):
            if not match.group(2):
                return  # trimmed, the last line holds nothing, not even its end
            body = ""
        if not body:
            yield Record(line, [])
            position, line = match.end(), line + 1
            continue
        if cell is None or quote not in body:
            cells = body.split(delimiter) if delimiter else [body]
            yield Record(line, [one.strip(blanks) for one in cells] if blanks else cells)
            position, line = match.end(), line + 1
        else:
            cells, position, lines = _quoted_record(text, position, line, count, cell, dialect)
            yield Record(line, cells)
            line += lines
        count += 1


def line_of(text: str, number: int) -> str:
    """Return the line ``number`` of ``text``, counted from 1, without its end."""
    start = 0
    if number > 1:
        end = next(itertools.islice(_LINE_END.finditer(text), number - 2, None), None)
        start = end.end() if end is not None else len(text)
    match = _LINE.match(text, start)
    assert match is not None  # the pattern matches any line, an empty one too
    return match.group(1)


def _cell_pattern(dialect: Dialect) -> re.Pattern[str]:
    q, d = re.escape(dialect.quote), re.escape(dialect.delimiter)
    end = rf"({d}|\r\n|\r|\n|\Z)" if d else r"(\r\n|\r|\n|\Z)"
    blank = f"[{re.escape(dialect.blanks)}]*" if dialect.blanks else ""
    inside = {
        DOUBLED: rf"(?:[^{q}]++|{q}{q})*+",
        BACKSLASH: rf"(?:[^{q}\\]++|\\.)*+",
        # The first mark before a delimiter or line end closes; a doubled mark would leave that in doubt.
        BARE: rf"(?:[^{q}]++|{q}(?!{q}|{blank}(?:{end[1:-1]})))*+",
    }[dialect.escape]
    first = rf"(?!{blank}{q})" if dialect.quote == "'" else ""
    other = r"\r\n" if first else rf"{q}\r\n"
    plain = rf"[^{d}{other}]*+" if len(dialect.delimiter) < 2 else rf"(?:(?!{d})[^{other}])*+"
    return re.compile(rf"(?:{blank}{q}({inside}){q}{blank}|({first}{plain})){end}", re.DOTALL)


def _quoted_record(
    text: str, position: int, line: int, count: int, cell: re.Pattern[str], dialect: Dialect
) -> tuple[list[str], int, int]:
    """Return the cells of the record at ``position``, where the next record starts, and how many lines it spans."""
    cells: list[str] = []
    lines = 1
    while True:
        match = cell.match(text, position)
        if match is None:
            raise _fault(text, position, line + lines - 1, count, dialect)
        quoted, plain, end = match.groups()
        if quoted is not None:
            lines += len(_LINE_END.findall(quoted))
            plain = _unescape(quoted, dialect)
        elif dialect.blanks:
            plain = plain.strip(dialect.blanks)
        cells.append(plain)
        position = match.end()
        if end != dialect.delimiter or not end:
            return cells, position, lines


def _unescape(cell: str, dialect: Dialect) -> str:
    q = dialect.quote
    if dialect.escape == DOUBLED:
        return cell.replace(q + q, q)
    if dialect.escape == BACKSLASH:
        return re.sub(rf"\\([\\{re.escape(q)}])", r"\1", cell)
    return cell


def _fault(text: str, position: int, line: int, count: int, dialect: Dialect) -> MalformedError:
    """Distinguish an unterminated quote from a stray one, and find its line."""
    q = dialect.quote
    while text[position] in dialect.blanks:
        position += 1
    if text[position] != q:
        return MalformedError("stray", line, count)
    inside = r"(?:[^%s\\]++|\\.)*+" if dialect.escape == BACKSLASH else r"(?:[^%s]++|%s%s)*+"
    pattern = inside.replace("%s", re.escape(q))
    match = re.compile(pattern, re.DOTALL).match(text, position + 1)
    assert match is not None  # the pattern matches the empty text
    if match.end() >= len(text):
        return MalformedError("unterminated", line, count)
    return MalformedError("stray", line + len(_LINE_END.findall(text, position, match.end())), count)

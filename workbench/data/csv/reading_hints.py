"""Suggest a reading option when a file is refused, or is read in a way that was hardly intended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from workbench.data.csv.dialect_guess import DELIMITERS, is_typed, mostly_typed
from workbench.data.csv.options import Dialect, ReadOptions
from workbench.data.csv.strict_reader import MalformedError, Record
from workbench.params.remedies import Remedy, state_option

_COMMENT_MARKS = "#%;!*"
_TWO_CHARACTERS = ("||", "::", "~~", ";;")


def options_that_fix(
    fault: MalformedError, line: str, found: Sequence[Record], dialect: Dialect, options: ReadOptions
) -> list[Remedy]:
    """Return the options that would avoid a refusal."""
    out = []
    mark = line[:1]
    if options.comment is None and mark and mark in _COMMENT_MARKS and mark not in dialect.delimiter + dialect.quote:
        condition = f"lines that begin with {mark} are not part of the table"
        out.append(state_option("comment", f'"{mark}"', condition=condition))
    if fault.what != "ragged":
        d, q = f"[{re.escape(''.join(DELIMITERS) + dialect.delimiter)}]", re.escape(dialect.quote)
        if not options.trim and re.search(rf"(?:\A|{d})[ \t]+{q}|{q}[ \t]+(?:{d}|\Z)", line):
            out.append(state_option("trim", condition="blanks around cells mean nothing"))
        return out
    before = _lines_before(found)
    if before:
        stated = "the first line is" if before == 1 else f"the first {before} lines are"
        out.append(state_option("skip-lines", str(before), condition=f"{stated} not part of the table"))
    return out


def _lines_before(found: Sequence[Record]) -> int:
    """Return how many lines stand before records that all have the same width, where the first record has another."""
    widths = [len(record.cells) for record in found]
    usual, times = Counter(widths).most_common(1)[0] if widths else (0, 0)
    if usual < 2 or times < 2 or usual == widths[0]:
        return 0
    start = widths.index(usual)
    return found[start].line - 1 if set(widths[start:]) == {usual} else 0


def notices_about(found: Sequence[Record], dialect: Dialect, options: ReadOptions) -> Iterator[str]:
    """Yield a sentence for each option that a person may have wanted to state about the first records of a file."""
    first = found[0].cells
    if options.header is None and not dialect.header:
        yield (
            "the first row was read as values, so the columns are called column1 and so on; use --header yes if it "
            "names them, or give names with --names a,b,c"
        )
    if options.names is not None and not dialect.header and list(options.names) == first:
        yield "the first row repeats the names that were stated; use --header yes if it is the header"
    if dialect.header and second_header(found):
        lines = found[0].line
        yield (
            f"row 1 is text over columns of numbers; if it is a second header, use --skip-lines {lines} to take the "
            f"names from it, or --skip-lines {lines + 1} and --names a,b,c"
        )
    trims = not options.trim and " " not in dialect.delimiter
    if trims and any(cell != cell.strip(" \t") != "" for record in found for cell in record.cells):
        yield "some cells begin or end with blanks, which are part of their values; use --trim to strip them"
    if options.delimiter is None:
        for mark in _TWO_CHARACTERS:
            doubled = dialect.delimiter and mark == 2 * dialect.delimiter and len(first) > 2 and not any(first[1::2])
            if doubled or (first and not dialect.delimiter and mark in first[0]):
                yield f'cells seem to be separated by {mark}; if they are, use --delimiter "{mark}"'


def second_header(found: Sequence[Record]) -> bool:
    """Whether the first row below the header is text, over at least two columns of numbers."""
    if len(found) < 4:
        return False
    row, rest = found[1].cells, [record.cells for record in found[2:]]
    if any(is_typed(cell) for cell in row) or len(row) != len(found[0].cells):
        return False
    columns = ([cells[k] for cells in rest if k < len(cells) and cells[k]] for k in range(len(row)))
    return sum(mostly_typed(below) for below, cell in zip(columns, row, strict=True) if cell.strip()) >= 2

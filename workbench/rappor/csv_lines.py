"""Lines of a CSV file, strictly: every fault is reported with its line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from workbench.params import InputError

_LONGEST = 1 << 20


def csv_lines(path: Path, what: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line (where its record ends) and its cells; blank lines are left out.

    Args:
        path: a file in UTF-8, with or without a byte-order mark.
        what: what it is, for the errors.

    Raises:
        InputError: it is missing, a folder, empty, not UTF-8, or a record of it cannot be cut into cells.
    """
    empty = True
    try:
        if path.is_dir():
            raise InputError(f"the {what} is a folder", str(path), "name the file in it")
        with path.open(encoding="utf-8-sig", newline="") as stream:
            csv.field_size_limit(_LONGEST)
            reader = csv.reader(stream, strict=True)
            for cells in reader:
                if cells:
                    empty = False
                    yield reader.line_num, cells
    except FileNotFoundError:
        raise InputError(f"the {what} does not exist", str(path), "check the name") from None
    except UnicodeDecodeError:
        raise InputError(f"the {what} is not UTF-8 text", str(path), "save it as UTF-8").on_line(
            _not_utf8(path)
        ) from None
    except csv.Error as error:
        raise InputError(f"the {what} is not CSV: {error}", str(path), "correct the line").on_line(
            reader.line_num
        ) from None
    except OSError as error:
        raise InputError(f"the {what} cannot be read: {error.strerror}", str(path)) from None
    if empty:
        raise InputError(f"the {what} is empty", str(path), "give a file with content")


def fault(what: str, path: Path, line: int, hint: str = "correct the line") -> InputError:
    """Return the error for one line of a file."""
    return InputError(what, str(path), hint).on_line(line)


def whole(cell: str, most: int) -> int | None:
    """Return the whole number 0 … ``most`` in ``cell``, or ``None``."""
    text = cell.strip()
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        return None
    value = int(text)
    return value if value <= most else None


def shown(cell: str) -> str:
    """Return a cell as an error shows it."""
    return repr(cell if len(cell) <= 40 else cell[:39] + "…")


def _not_utf8(path: Path) -> int:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1

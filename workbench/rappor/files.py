"""Parameters and counts in the published CSV formats, and the table of results."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.params import InputError, ParameterError
from workbench.params.codec import csv_bytes
from workbench.privacy.rappor.parameters import RapporParameters

_LONGEST = 1 << 20


def csv_lines(path: Path, what: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line (where its record ends) and its cells; blank lines are left out.

    The file, which errors call ``what``, is in UTF-8, with or without a byte-order mark.

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
        raise InputError(f"the {what} is empty", str(path), "use another file")


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


NAMES = ("k", "h", "m", "p", "q", "f")
MOST_COUNT = 10**15


@dataclass(frozen=True, eq=False)
class Counts:
    """How many reports of each cohort have each bit."""

    reports: NDArray[np.int64]  # (m,) reports of each cohort
    ones: NDArray[np.int64]  # (m, k) of them with each bit

    @property
    def total(self) -> int:
        """Number of reports."""
        return int(self.reports.sum())


def read_parameters(path: Path) -> RapporParameters:
    """Return the parameters in ``path``: a header ``k,h,m,p,q,f`` and one line of values.

    Raises:
        InputError: the file is not such a file.
        ParameterError: a value is refused.
    """
    found = list(csv_lines(path, "parameter file"))
    header = [cell.strip() for cell in found[0][1]]
    if header != list(NAMES):
        raise fault(
            f"the parameter file begins with {shown(','.join(header))}", path, found[0][0], "start it with k,h,m,p,q,f"
        )
    if len(found) == 1:
        raise InputError(
            "the parameter file has a header but no values", str(path), "add a line such as 128,2,16,0.5,0.75,0.5"
        )
    if len(found) > 2:
        raise fault("the parameter file has more than one line of values", path, found[2][0], "keep one line")
    line, cells = found[1]
    if len(cells) != len(NAMES):
        raise fault(f"there are {len(cells)} values for {len(NAMES)} parameters", path, line)
    declared = RapporParameters.declared()
    try:
        return RapporParameters(
            **{name: declared[name].parse(cell.strip(), name) for name, cell in zip(NAMES, cells, strict=True)}
        )
    except ParameterError as error:
        raise error.at(str(path)).on_line(line) from None


def parameter_text(parameters: RapporParameters) -> str:
    """Return a file of parameters."""
    return f"{','.join(NAMES)}\n{','.join(str(getattr(parameters, name)) for name in NAMES)}\n"


def read_counts(path: Path, parameters: RapporParameters) -> Counts:
    """Return the counts in ``path``: for each cohort a line with its number of reports, then k counts.

    Raises:
        InputError: a line has another number of counts, a count is no whole number or above the number of reports,
            or there are not m cohorts.
    """
    k, m = parameters.k, parameters.m
    reports, ones = np.zeros(m, dtype=np.int64), np.zeros((m, k), dtype=np.int64)
    cohort = 0
    for line, cells in csv_lines(path, "file of counts"):
        if cohort >= m:
            raise fault(f"there are more than m = {m} cohorts", path, line, "use the parameters of these counts")
        if len(cells) != k + 1:
            what = f"cohort {cohort} has {len(cells) - 1} counts, and a report has k = {k} bits"
            raise fault(what, path, line, "write the number of reports, then a count for each bit")
        values: list[int] = []
        for place, cell in enumerate(cells):
            value = whole(cell, MOST_COUNT)
            if value is None:
                raise fault(f"{shown(cell)} in column {place + 1} is not a count", path, line)
            values.append(value)
            if value > values[0]:
                what = f"bit {place - 1} has the count {value}, and cohort {cohort} has {values[0]} reports"
                raise fault(what, path, line)
        reports[cohort], ones[cohort] = values[0], values[1:]
        cohort += 1
    if cohort != m:
        raise InputError(f"there are {cohort} cohorts, and m = {m}", str(path), "write one line for each cohort")
    if not reports.any():
        raise InputError("the counts have no reports", str(path), "collect some first")
    return Counts(reports, ones)


def count_bytes(counts: Counts) -> bytes:
    """Return the counts as a file, as the published tool writes it."""
    return csv_bytes(np.column_stack([counts.reports, counts.ones]).tolist(), "\r\n")

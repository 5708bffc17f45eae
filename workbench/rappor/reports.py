"""Reports as text, one per line, and their counts of each bit by cohort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.params import InputError
from workbench.privacy.rappor.bits import Reports, unpacked
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.files import Counts, csv_lines, fault, shown, whole
from workbench.signals import Progress
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore

HEADER = ("client", "cohort", "rappor")
_COHORT, _REPORT = "cohort", ("rappor", "irr")
_AT_ONCE = 1 << 15
_ZERO, _ONE = ord("0"), ord("1")


def summed(reports: Reports, cohorts: NDArray[np.int64], parameters: RapporParameters) -> Counts:
    """Return the counts of (n, bytes) packed reports, each of its cohort (n,)."""
    total = np.zeros((parameters.m, parameters.k), dtype=np.int64)
    for start in range(0, len(reports), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        _add(total, unpacked(reports[part], parameters.k), cohorts[part])
    return Counts(np.bincount(cohorts, minlength=parameters.m).astype(np.int64), total)


def _add(total: NDArray[np.int64], bits: NDArray[np.uint8], cohorts: NDArray[np.int64]) -> None:
    order = np.argsort(cohorts, kind="stable")
    there, starts = np.unique(cohorts[order], return_index=True)
    total[there] += np.add.reduceat(bits[order], starts, axis=0, dtype=np.int64)


def read_sum(path: Path, parameters: RapporParameters, emit: Emit = ignore, cancel: CancelToken = NEVER) -> Counts:
    """Return the counts of the reports in ``path``.

    The header names a column ``cohort`` and a column ``rappor`` (or ``irr``); other columns are not looked at. The
    first character of a report is its highest bit.

    Raises:
        InputError: a line has another number of cells than the header, its cohort is not one of m, or its report is
            not k zeros and ones; or there are no reports.
        CancelledError: ``cancel`` was set.
    """
    size = max(path.stat().st_size, 1) if path.is_file() else 1
    reports = np.zeros(parameters.m, dtype=np.int64)
    ones = np.zeros((parameters.m, parameters.k), dtype=np.int64)
    done = 0
    for lines, cohorts, texts in _blocks(path, parameters):
        cancel.check()
        bits = np.frombuffer("".join(texts).encode(), dtype=np.uint8).reshape(-1, parameters.k)
        wrong = np.flatnonzero(((bits != _ZERO) & (bits != _ONE)).any(axis=1))
        if wrong.size:
            at = int(wrong[0])
            raise fault(f"the report {shown(texts[at])} is not made of 0 and 1", path, lines[at])
        _add(ones, (bits == _ONE)[:, ::-1].astype(np.uint8), cohorts)
        reports += np.bincount(cohorts, minlength=parameters.m)
        done += len(texts) * (parameters.k + 8)
        emit(Progress(min(done, size), size, "reading reports"))
    if not reports.any():
        raise InputError("there are no reports below the header", str(path), "collect some first")
    return Counts(reports, ones)


def most_reports(path: Path, cancel: CancelToken) -> int:
    """Return how many reports one client has at most in a file that :func:`report_bytes` has written.

    Raises:
        InputError: the header is another one, or a line has another number of cells.
        CancelledError: ``cancel`` was set.
    """
    records = csv_lines(path, "file of reports")
    line, header = next(records)
    if tuple(header) != HEADER:
        raise fault(f"the header is {shown(','.join(header))}", path, line, f"it must be {','.join(HEADER)}")
    found: Counter[str] = Counter()
    for line, cells in records:
        if line % _AT_ONCE == 0:
            cancel.check()
        if len(cells) != len(HEADER):
            raise fault(f"there are {len(cells)} cells below {len(HEADER)} names", path, line)
        found[cells[0]] += 1
    return max(found.values(), default=0)


def _blocks(path: Path, parameters: RapporParameters) -> Iterator[tuple[list[int], NDArray[np.int64], list[str]]]:
    records = csv_lines(path, "file of reports")
    line, header = next(records)
    names = [cell.strip() for cell in header]
    found = [names.index(name) for name in _REPORT if name in names]
    if _COHORT not in names or not found:
        what = f"the header is {shown(','.join(names))}"
        raise fault(what, path, line, "name a column cohort and a column rappor")
    cohort_at, report_at = names.index(_COHORT), found[0]
    lines: list[int] = []
    cohorts: list[int] = []
    texts: list[str] = []
    for line, cells in records:
        if len(cells) != len(names):
            raise fault(f"there are {len(cells)} cells below {len(names)} names", path, line)
        cohort = whole(cells[cohort_at], parameters.m - 1)
        if cohort is None:
            what = f"the cohort {shown(cells[cohort_at])} is not one of 0 to {parameters.m - 1}"
            raise fault(what, path, line, "use the parameters of these reports")
        text = cells[report_at].strip()
        if len(text) != parameters.k or not text.isascii():
            raise fault(f"the report has {len(text)} bits, and k = {parameters.k}", path, line)
        lines.append(line)
        cohorts.append(cohort)
        texts.append(text)
        if len(texts) == _AT_ONCE:
            yield lines, np.array(cohorts, dtype=np.int64), texts
            lines, cohorts, texts = [], [], []
    if texts:
        yield lines, np.array(cohorts, dtype=np.int64), texts


def report_bytes(
    clients: NDArray[np.int64], cohorts: NDArray[np.int64], reports: Reports, parameters: RapporParameters
) -> bytes:
    """Return reports as a file, one a line; the first character of a report is its highest bit."""
    parts = [",".join(HEADER) + "\n"]
    for start in range(0, len(reports), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        bits = np.ascontiguousarray(unpacked(reports[part], parameters.k)[:, ::-1]) + np.uint8(_ZERO)
        texts = bits.tobytes().decode("ascii")
        k = parameters.k
        parts += [
            f"{client},{cohort},{texts[k * at : k * at + k]}\n"
            for at, (client, cohort) in enumerate(zip(clients[part].tolist(), cohorts[part].tolist(), strict=True))
        ]
    return "".join(parts).encode()

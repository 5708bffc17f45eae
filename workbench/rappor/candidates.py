"""The candidate map: which bits each candidate string sets, in the published CSV format and as a sparse matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import InputError
from workbench.params.codec import csv_bytes
from workbench.privacy.rappor.bits import Bits
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.files import csv_lines, fault, shown, whole

MOST_CANDIDATES = 1_000_000


@dataclass(frozen=True, eq=False)
class CandidateMap:
    """The bits of every candidate."""

    strings: tuple[str, ...]
    # (candidates, m·h) numbers cohort·k + bit, ascending in each row; −1 where a bit is set twice.
    bits: NDArray[np.int32]
    parameters: RapporParameters

    def design(self) -> Any:
        """Return the (m·k, candidates) sparse matrix of zeros and ones, by columns."""
        from scipy.sparse import csc_array

        owned = self.bits >= 0
        counted = owned.sum(axis=1)
        starts = np.concatenate([[0], np.cumsum(counted)]).astype(np.int32)
        shape = (self.parameters.m * self.parameters.k, len(self.strings))
        return csc_array((np.ones(int(starts[-1])), self.bits[owned], starts), shape=shape)


def candidate_map(strings: Sequence[str], bits: Bits) -> CandidateMap:
    """Return the map of ``strings``."""
    return CandidateMap(tuple(strings), _each_once(hashed(strings, bits)), bits.parameters)


def _each_once(bits: NDArray[np.int32]) -> NDArray[np.int32]:
    bits = np.sort(bits, axis=1)
    twice = np.zeros(bits.shape, dtype=bool)
    twice[:, 1:] = bits[:, 1:] == bits[:, :-1]
    bits[twice] = -1
    return bits


def hashed(strings: Sequence[str], bits: Bits) -> NDArray[np.int32]:
    """Return (candidates, m·h) numbers cohort·k + bit, cohort by cohort in the order of the hash functions."""
    parameters = bits.parameters
    count = len(strings)
    parts = []
    for cohort in range(parameters.m):
        at = bits.of(strings, np.full(count, cohort, dtype=np.int64))
        parts.append((at + cohort * parameters.k).astype(np.int32))
    return np.concatenate(parts, axis=1) if parts else np.zeros((count, 0), dtype=np.int32)


def map_bytes(strings: Sequence[str], bits: Bits) -> bytes:
    """Return the map as a file: each string, then one-based numbers cohort·k + bit + 1, as the published tool does."""
    return csv_bytes(
        ([string, *numbers] for string, numbers in zip(strings, (hashed(strings, bits) + 1).tolist(), strict=True)),
        "\r\n",
    )


def read_candidates(path: Path) -> tuple[str, ...]:
    """Return the candidates in ``path``, one on each line; one that holds a comma is quoted.

    Raises:
        InputError: the file is empty or not UTF-8, or a candidate is empty or there twice.
    """
    found: dict[str, int] = {}
    for line, cells in csv_lines(path, "list of candidates"):
        if len(cells) != 1:
            raise fault(
                f"there are {len(cells)} cells on the line", path, line, "write one candidate per line, in quotes"
            )
        _enter(found, cells[0], path, line)
    return tuple(found)


def read_map(path: Path, parameters: RapporParameters) -> CandidateMap:
    """Return the map in ``path``.

    A row may have fewer than m·h numbers, the last cells being empty: two hash functions have set the same bit.

    Raises:
        InputError: a candidate is empty or there twice, a number is not one of 1 … m·k, or a candidate has no bit, or
            more than h, in a cohort.
    """
    k, h, m = parameters.k, parameters.h, parameters.m
    found: dict[str, int] = {}
    rows: list[NDArray[np.int32]] = []
    lines: list[int] = []
    for line, cells in csv_lines(path, "candidate map"):
        _enter(found, cells[0], path, line)
        numbers = cells[1:]
        while numbers and not numbers[-1].strip():
            numbers.pop()
        if len(numbers) > m * h:
            raise fault(f"there are {len(numbers)} bits, and m·h = {m * h}", path, line, "use the map's parameters")
        row = np.full(m * h, -1, dtype=np.int32)
        for place, cell in enumerate(numbers):
            number = whole(cell, m * k)
            if not number:
                raise fault(f"{shown(cell)} is not a bit number from 1 to m·k = {m * k}", path, line)
            row[place] = number - 1
        rows.append(row)
        lines.append(line)
    bits = _each_once(np.stack(rows))
    _check_cohorts(bits, parameters, path, lines)
    return CandidateMap(tuple(found), bits, parameters)


def _check_cohorts(bits: NDArray[np.int32], parameters: RapporParameters, path: Path, lines: list[int]) -> None:
    count = len(bits)
    owned = bits >= 0
    pairs = (np.nonzero(owned)[0] * parameters.m + bits[owned] // parameters.k).astype(np.int64)
    each = np.bincount(pairs, minlength=count * parameters.m).reshape(count, parameters.m)
    for wrong, stated in ((each == 0, "no bit"), (each > parameters.h, f"more than h = {parameters.h} bits")):
        if wrong.any():
            row, cohort = (int(x[0]) for x in np.nonzero(wrong))
            what = f"the candidate has {stated} in cohort {cohort}"
            raise fault(what, path, lines[row], "use the map's parameters, or make the map again")


def _enter(found: dict[str, int], string: str, path: Path, line: int) -> None:
    if not string:
        raise fault("the candidate is empty", path, line, "remove the line")
    if string in found:
        raise fault(f"the candidate {shown(string)} is also on line {found[string]}", path, line, "remove one")
    if len(found) == MOST_CANDIDATES:
        raise InputError(f"there are more than {MOST_CANDIDATES:,} candidates", str(path), "use fewer")
    found[string] = line

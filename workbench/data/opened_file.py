"""Results and errors of a format's function ``opened``, in the process that reads its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


class RefusedError(Exception):
    """The file cannot be a table; the arguments are what, where, the hint, and the code if it has one."""


@dataclass(frozen=True)
class Opened:
    """What a file says of itself before its cells are read."""

    rows: int  # the number of rows
    columns: list[str]  # the names of the columns
    read: Callable[[], pl.DataFrame]  # the cells, shape (rows, columns)
    # What else it says, by the attributes of `workbench.data.table.FileFacts` and of the table (`notices`,
    # `blank_lines`, `renamed`); complete once the cells are read.
    facts: dict[str, Any] = field(default_factory=dict)
    typed: bool = True  # whether its columns have types, unlike those of text


@dataclass(frozen=True)
class Unpacked:
    """What is packed in a file, piece by piece, and what else the file says, as for :class:`Opened`."""

    pieces: Iterator[bytes]
    facts: dict[str, Any]


def not_of_format(kind: str) -> str:
    """Return the sentence about a file that is not what its name or its first bytes promise."""
    if re.match(r"[AEIOUaeiou]|[FHLMNRSX][A-Z]|x[a-z]", kind):
        return f"the file is not an {kind} file, or it is damaged"
    return f"the file is not a {kind} file, or it is damaged"

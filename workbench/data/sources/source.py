"""What a source of tables is: how its files are recognised, and how one is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.data.csv.encoding import AnyBytes
    from workbench.data.csv.options import ReadOptions
    from workbench.data.table import Table
    from workbench.signals.cancel import CancelToken

HEAD = 1 << 16  # bytes at the beginning of a file by which its format is recognised


@dataclass(frozen=True, eq=False)
class SourceFile:
    """A file, or a folder, that is to be read as a table."""

    path: Path | None  # where it is; `None` of what was packed in another file
    source: str  # the name a person uses for it
    view: AnyBytes  # its bytes; none of a folder
    views: Sequence[AnyBytes]  # those of each file of a folder, or of it alone
    size: int  # how many there are, in all files of a folder
    options: ReadOptions  # what a person stated
    names: Sequence[str] | None  # column names that a plan expects
    replace_invalid: bool  # whether the plan replaces invalid values
    cancel: CancelToken  # checked several times per second


@dataclass(frozen=True)
class Source:
    """One format of tables."""

    name: str  # what a person calls a file of it: `Parquet` in "the Parquet file is damaged"
    endings: tuple[str, ...]  # how the names of its files end, in lower case; the first is the usual one
    read: Callable[[SourceFile], Table]
    mark: re.Pattern[bytes] | None = None  # what its files begin with; `None` if that says nothing
    is_text: bool = False  # whether it is text, so that a person who states how cells are separated decides against it
    options: tuple[str, ...] = ()  # the reading options that mean something for it
    # The files of a folder that are one table together; `None` where a folder is none.
    folder: Callable[[Path], list[Path]] | None = None

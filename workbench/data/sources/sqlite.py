"""SQLite files: one with a single table is that table. Of another, an address names one: ``sqlite:///FILE?table=T``."""

from __future__ import annotations

import re

from workbench.data.databases.access import read_database
from workbench.data.databases.address import SQLITE, Address
from workbench.data.sources.source import Source, SourceFile
from workbench.data.table import Table


def read(file: SourceFile) -> Table:
    """Return the only table of an SQLite file."""
    return read_database(Address(SQLITE, database=str(file.path)), file.cancel, source=file.source)


SQLITE_FILE = Source(
    name="SQLite", endings=(".sqlite", ".sqlite3", ".db"), read=read, mark=re.compile(rb"SQLite format 3\x00")
)

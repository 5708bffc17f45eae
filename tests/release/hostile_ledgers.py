"""A valid ledger with every kind of entry, and ways to make it lie; importable by the tests that attack it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from release_cases import charge, loss_of, table_of

from workbench.data.table import Table
from workbench.params import BudgetRefusedError
from workbench.privacy.accounting.event import Cost, PoissonGaussian, RowsPerPerson
from workbench.release.ledger.account_finder import GROUP
from workbench.release.ledger.counting import FILTER, steps_body
from workbench.release.ledger.entry import Entry, entry_hash
from workbench.release.ledger.file import key_path
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.steps import RUN

COLUMNS = ("time", "kind", "release_id", "dataset", "epsilon", "delta", "prev", "hash")
LONG = "9" * 10_000_000

TEXTS: tuple[Any, ...] = (
    "",
    "../../x",
    "/etc/x\0y",
    "é\u202e",
    "NaN",
    "-1",
    "1e400",
    "9" * 1200,
    b"\xff\xfe",
    -1,
    None,
)
"""What is put in place of a text."""

VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**63,
    10**200,
    1e308,
    "",
    "../../x",
    "\0",
    "NaN",
    "-1",
    [],
    [[]],
    {},
    {"x": 1},
)
"""What is put in place of a value of a body, which is JSON."""


def training() -> Cost:
    """The cost of a training that can be interrupted."""
    event = RowsPerPerson(PoissonGaussian(0.1, 1.0, 20, ""), 2)
    return Cost(Decimal(3), Decimal("1e-5"), event)


def make(path: Path, table: Table) -> None:
    """Write a ledger with every kind of entry; ``table`` is in it."""
    with Ledger.open(path) as book:
        people = book.enter(book.identify(table))
        book.set_cap(people, Decimal(50), Decimal("1e-3"))
        book.set_name(book.identify(table), "people")
        book.count_by(people, FILTER)
        book.certify(charge(book, "1", dataset=people), "c" * 64, "r" * 64, "{}")
        other = book.enter(book.identify(table_of(300, 8)))
        book.link_version(other, people, GROUP)
        third = book.enter(book.identify(table_of(300, 9)))
        book.set_cap(third, Decimal(5), Decimal("1e-4"))
        charge(book, "2", "1e-6", dataset=third)
        book.void(book.reserve(third, loss_of("0.5"), work="test"), "test")
        with contextlib.suppress(BudgetRefusedError):
            book.reserve(third, loss_of("90"), work="test")
        details = {"output": "/tmp/out.csv", "part": "/tmp/out.csv.0123abcd.draw.part", "charged-first": True}
        book.settle(book.reserve(people, loss_of("1"), work="test", details=details), Decimal("0.5"), Decimal(0))
        book.note_figures(book.identify(table), "preview")
        cost, run = training(), "ab" * 8
        details = {
            "resumable": True,
            RUN: run,
            "judged": 20,
            "watched": True,
            "checkpoint": "/tmp/none",
            "part": "/tmp/p",
        }
        kept = book.reserve(
            people, cost, work="dpsgd", details={**details, **steps_body(cost), "request": "r", "content": "c"}
        )
        book.claim_steps(kept, 5, 20, run)
        book.pause_steps(kept, 2, run)
        with Ledger.open(path.with_name("merged.sqlite")) as merged:
            charge(merged, "1", dataset=merged.enter(merged.identify(table_of(40, 3))))
            book.merge(merged)
    for name in ("merged.sqlite", "merged.sqlite.key"):
        path.with_name(name).unlink()


def entries_of(path: Path) -> list[list[Any]]:
    """The rows of a ledger."""
    connection = sqlite3.connect(path)
    try:
        return [list(row) for row in connection.execute("SELECT * FROM entry ORDER BY seq")]
    finally:
        connection.close()


def places(path: Path) -> list[tuple[Any, ...]]:
    """Everything in a ledger that can be changed: ("meta", key), ("entry", seq, column), ("body", seq, keys…)."""
    connection = sqlite3.connect(path)
    metas = [("meta", key) for (key,) in connection.execute("SELECT key FROM meta ORDER BY key")]
    connection.close()
    found: list[tuple[Any, ...]] = list(metas)
    seen = set()
    for row in entries_of(path):
        found += [("entry", row[0], column) for column in COLUMNS if (row[2], column) not in seen]
        seen |= {(row[2], column) for column in COLUMNS}
        for keys in _keys(json.loads(row[7])):
            if (row[2], *keys) not in seen:
                seen.add((row[2], *keys))
                found.append(("body", row[0], *keys))
    return found


def _keys(value: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if so_far:
        yield so_far
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _keys(inner, (*so_far, key))


def change(path: Path, place: tuple[Any, ...], value: Any) -> None:
    """Put ``value`` at ``place``, and let the chain be whole afterwards, as one who knows its rule would."""
    connection = sqlite3.connect(path)
    with connection:
        if place[0] == "meta":
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", ("" if value is None else value, place[1]))
        else:
            _change_entry(connection, place, value)
    connection.close()


def _change_entry(connection: sqlite3.Connection, place: tuple[Any, ...], value: Any) -> None:
    names = ["seq", "time", "kind", "release_id", "dataset", "epsilon", "delta", "body", "prev", "hash"]
    rows = [list(row) for row in connection.execute("SELECT * FROM entry ORDER BY seq")]
    prev = rows[0][8]
    for row in rows:
        row[7] = json.loads(row[7])
        fixed = ()
        if row[0] == place[1]:
            if place[0] == "entry":
                row[names.index(place[2])] = "" if value is None else value
                fixed = (place[2],)
            else:
                holder = row[7]
                for key in place[2:-1]:
                    holder = holder[key]
                holder[place[-1]] = value
        if "prev" not in fixed:
            row[8] = prev
        if "hash" not in fixed:
            told = [x.hex() if isinstance(x, bytes) else x if k in (0, 7) else str(x) for k, x in enumerate(row)]
            row[9] = entry_hash(Entry(*told))
        row[7] = json.dumps(row[7])
        prev = row[9]
    connection.execute("DELETE FROM entry")
    connection.executemany(f"INSERT INTO entry VALUES ({', '.join('?' * 10)})", rows)
    connection.execute("UPDATE meta SET value = ? WHERE key = 'head'", (prev,))


def copy(source: Path, target: Path) -> None:
    """Copy a ledger with its key."""
    target.write_bytes(source.read_bytes())
    key_path(target).write_bytes(key_path(source).read_bytes())

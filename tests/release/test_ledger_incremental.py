"""An open ledger checks each entry once, and notices whatever else was changed in the file meanwhile."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release_cases import charge, loss_of

from workbench.params import BudgetRefusedError, CheckFailedError, InputError
from workbench.release.ledger import entry as chain
from workbench.release.ledger.ledger import Ledger

A = "a" * 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(100))
        for _ in range(3):
            charge(book, "1")
    return path


def test_a_charge_hashes_the_new_entries_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []
    real = chain.entry_hash
    monkeypatch.setattr(chain, "entry_hash", lambda entry: hashed.append(entry.seq) or real(entry))
    with Ledger.open(path) as book:
        charge(book, "1")
        assert hashed == [1, 2, 3, 4, 5, 6, 7]
        hashed.clear()
        with Ledger.open(path) as other:
            charge(other, "1")
        hashed.clear()
        charge(book, "1")
        assert hashed == [8, 9, 10, 11]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE entry SET epsilon = '0.1' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET body = '{}' WHERE seq = 4", "entry 4 was changed"),
        ("UPDATE entry SET hash = 'f' WHERE seq = 4", "entry 4 was changed"),
        ("DELETE FROM entry WHERE seq = 3", "entry 3 is missing"),
        ("DELETE FROM entry WHERE seq > 5", "entries are missing after entry 5"),
        ("UPDATE meta SET value = 'f' WHERE key = 'start'", "malformed start"),
    ],
)
def test_what_another_program_changes_in_an_open_ledger_stops_the_next_charge(
    path: Path, statement: str, told: str
) -> None:
    with Ledger.open(path) as book:
        charge(book, "1")
        with sqlite3.connect(path) as other:
            other.execute(statement)
        other.close()
        with pytest.raises(CheckFailedError, match=told):
            book.reserve(A, loss_of("1"), work="test")
        assert told in " ".join(book.verify())


def test_a_byte_changed_on_the_disk_under_an_open_ledger_is_noticed(path: Path) -> None:
    with Ledger.open(path) as book:
        release_id = charge(book, "1")
        written = path.read_bytes()
        at = written.index(release_id.encode())
        with path.open("r+b") as stream:  # past SQLite, which sees no new version of the data
            stream.seek(at)
            stream.write(b"g")
        with pytest.raises(CheckFailedError, match="was changed after it was written"):
            book.reserve(A, loss_of("1"), work="test")


def test_nothing_is_charged_to_a_file_that_was_replaced_while_open(path: Path, tmp_path: Path) -> None:
    with Ledger.open(path) as book:
        charge(book, "1")
        copy = tmp_path / "copy.sqlite"
        shutil.copy(path, copy)
        os.replace(copy, path)
        with pytest.raises(InputError, match="replaced or removed while it was open"):
            book.reserve(A, loss_of("1"), work="test")
    with Ledger.open(path) as book:
        charge(book, "1")
        assert book.account(A).used[0] == 5


ACTS = st.sampled_from(["charge", "refuse", "cap", "fail", "look"])


def fail(book: Ledger) -> None:
    with book._transaction():
        book.set_cap(A, Decimal(1))
        book.account(A)
        raise ZeroDivisionError


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), ACTS), max_size=14))
def test_two_open_ledgers_know_what_a_fresh_one_reads(acts: list[tuple[int, str]]) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = Path(folder) / "ledger.sqlite"
        books = [Ledger.open(path), Ledger.open(path)]
        books[0].set_cap(A, Decimal(1000))
        for which, act in acts:
            book = books[which]
            if act == "charge":
                charge(book, "1")
            elif act == "refuse":
                with pytest.raises(BudgetRefusedError):
                    book.reserve(A, loss_of("100000"), work="test")
            elif act == "cap":
                book.set_cap(A, Decimal(2000))
            elif act == "fail":
                with pytest.raises(ZeroDivisionError):
                    fail(book)
            with Ledger.read(path) as fresh:
                entries, releases = list(fresh.entries()), fresh.releases()
            for each in (books[which], *(books if act == "look" else ())):
                assert list(each.entries()) == entries
                assert each.releases() == releases
                assert each._chain.problems(each._start(), each._head()) == []
        for book in books:
            book.close()

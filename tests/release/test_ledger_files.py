"""Ledgers that are locked, read-only, no ledgers at all, damaged or tampered with."""

import errno
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release_cases import FAST, charge, loss_of

from workbench.params import BudgetRefusedError, CheckFailedError, InputError, WorkbenchError
from workbench.release.ledger import entry as chain
from workbench.release.ledger import file as ledger_file
from workbench.release.ledger.entry import entry_hash
from workbench.release.ledger.file import key_path
from workbench.release.ledger.ledger import Ledger

A, B = "a" * 32, "b" * 32


def tamper(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


# -- files that are no good -------------------------------------------------------------------------------------------


def refusal_of(path: Path) -> str:
    with pytest.raises(InputError) as refused:
        Ledger.open(path)
    assert refused.value.exit_code == 2
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_locked_ledger_is_one_sentence(path, monkeypatch, lock):
    Ledger.open(path).close()
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute(f"BEGIN {lock}")
    try:
        assert refusal_of(path) == (
            f"the ledger cannot be used: database is locked ({path}); wait for the other program to finish"
        )
    finally:
        holder.close()


def test_a_ledger_that_is_locked_while_it_is_open_is_one_sentence_too(path, monkeypatch):
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.05)
    with Ledger.open(path) as ledger:
        release_id = charge(ledger, "1")
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        try:
            for work in (
                lambda: ledger.key,
                lambda: ledger.account(A),
                lambda: ledger.release(release_id),
                lambda: list(ledger.entries()),
                lambda: charge(ledger, "1"),
                lambda: ledger.set_cap(A, Decimal(2)),
            ):
                with pytest.raises(InputError, match="database is locked"):
                    work()
            assert ledger.verify() == ["the ledger cannot be used: database is locked"]
        finally:
            holder.close()
        assert ledger.verify() == []


def test_a_ledger_that_cannot_be_written_is_one_sentence(tmp_path):
    folder = tmp_path / "fixed"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root can mount a file system that is read-only even for root")
    try:
        Ledger.open(folder / "l.sqlite").close()
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True, capture_output=True)
        assert "Read-only file system" in refusal_of(folder / "l.sqlite")
        assert "Read-only file system" in refusal_of(folder / "new.sqlite")
    finally:
        subprocess.run(["umount", str(folder)], check=True, capture_output=True)


def test_a_ledger_whose_writes_are_refused_is_one_sentence(path, monkeypatch):
    Ledger.open(path).close()

    def refuse(*_: object) -> int:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    assert "Permission denied" in refusal_of(path)


def test_what_is_no_ledger_is_one_sentence_and_stays_as_it_was(tmp_path):
    text = tmp_path / "table.csv"
    text.write_text("age,city\n" + "31,Graz\n" * 500)
    before = text.read_bytes()
    assert "file is not a database" in refusal_of(text)
    assert text.read_bytes() == before
    assert "Is a directory" in refusal_of(tmp_path)
    assert "not a regular file" in refusal_of(Path(os.devnull))
    assert "Not a directory" in refusal_of(text / "ledger.sqlite") or "File exists" in refusal_of(text / "l.sqlite")


def test_no_name_makes_a_ledger_that_forgets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file::memory:"):
        with Ledger.open(Path(name)) as ledger:
            charge(ledger, "1")
        with Ledger.open(Path(name)) as ledger, pytest.raises(BudgetRefusedError):
            charge(ledger, "1")


# -- tampering --------------------------------------------------------------------------------------------------------


@pytest.fixture
def told(path):
    """A ledger of six entries: cap, reserve, charge, cap, reserve, charge."""
    with Ledger.open(path) as ledger:
        charge(ledger, "1")
        ledger.set_cap(A, Decimal(5))
        charge(ledger, "2")
        assert ledger.verify() == []
    return path


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("UPDATE entry SET epsilon = '0.1' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET epsilon = 'none' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET kind = 'void' WHERE seq = 3", "entry 3 was changed"),
        ("UPDATE entry SET time = 'yesterday' WHERE seq = 1", "entry 1 was changed"),
        ("UPDATE entry SET dataset = 'b' WHERE seq = 5", "entry 5 was changed"),
        ("UPDATE entry SET body = '{}' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET body = 'not JSON' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET body = x'ff00' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entry SET delta = '' WHERE seq = 5", "entry 5 was changed"),
        ("UPDATE entry SET seq = 9 WHERE seq = 6", "entry 6 is missing"),
        ("DELETE FROM entry WHERE seq = 1", "entry 1 is missing"),
        ("DELETE FROM entry WHERE seq = 3", "entry 3 is missing"),
        ("DELETE FROM entry WHERE seq = 6", "missing after entry 5"),
        ("DELETE FROM entry WHERE seq > 2", "missing after entry 2"),
        ("DELETE FROM entry", "missing after entry 0"),
        ("DROP TABLE entry", "no such table: entry"),
        ("DELETE FROM meta WHERE key = 'head'", "missing after entry 6"),
        ("DELETE FROM meta WHERE key = 'start'", "entry 1 does not follow"),
        ("UPDATE meta SET value = x'00' WHERE key = 'start'", "malformed start"),
        ("DROP TABLE meta", "no such table: meta"),
    ],
)
def test_a_changed_or_missing_entry_is_named_and_nothing_more_is_released(told, statement, names):
    tamper(told, statement)
    with Ledger.open(told) as ledger:
        assert any(names in problem for problem in ledger.verify()), ledger.verify()
        with pytest.raises(CheckFailedError) as refused:
            charge(ledger, "0.5")
        assert refused.value.exit_code == 5
        assert names in str(refused.value)


def test_a_new_entry_does_not_cover_up_that_others_are_gone(told):
    with Ledger.open(told) as ledger:
        waiting = ledger.reserve(A, loss_of("1"), work="test")
        charge(ledger, "1")
    tamper(told, "DELETE FROM entry WHERE seq > 7")
    with Ledger.open(told) as ledger:
        for append in (
            lambda: ledger.charge(waiting),
            lambda: ledger.set_cap(A, Decimal(9)),
            lambda: ledger.link_version(B, A),
        ):
            with pytest.raises(CheckFailedError, match="entries are missing from the ledger after entry 7"):
                append()
        assert ledger.verify() == ["entries are missing after entry 7"]


@pytest.mark.parametrize(("dataset", "work"), [("a table", "test"), (A, "x" * 1001)])
def test_what_would_make_a_ledger_unreadable_is_not_written(told, dataset, work):
    for entries_known in (False, True):
        with Ledger.open(told) as ledger:
            if entries_known:
                list(ledger.entries())
            with pytest.raises(InputError, match=r"cannot record this: malformed (name|work)"):
                ledger.reserve(dataset, loss_of("0.1"), work=work)
        with Ledger.open(told) as ledger:
            assert ledger.verify() == []


def test_a_chain_that_was_rewritten_from_one_entry_on_does_not_pass(told):
    """Whoever recomputes the hashes of what she changed must also know the remembered head."""
    with Ledger.open(told) as ledger:
        changed = list(ledger.entries())[-1]
    forged = type(changed)(**{**vars(changed), "epsilon": "0.001"})
    tamper(told, f"UPDATE entry SET epsilon = '0.001', hash = '{entry_hash(forged)}' WHERE seq = 6")
    with Ledger.open(told) as ledger:
        assert ledger.verify() == ["entries are missing after entry 6"]


def test_a_cycle_of_versions_made_by_hand_ends_and_is_found(told):
    with Ledger.open(told) as ledger:
        ledger.link_version(B, A)
    tamper(told, f"""UPDATE entry SET dataset = '{A}', body = '{{"of": "{A}"}}' WHERE seq = 7""")
    with Ledger.open(told) as ledger:
        assert ledger.account_of(A) == A
        with pytest.raises(CheckFailedError, match="entry 7 was changed"):
            charge(ledger, "0.1")


def test_a_file_with_a_damaged_page_does_not_verify(told):
    with Ledger.open(told) as ledger:
        ledger.set_cap(A, Decimal(10))
        for _ in range(60):
            charge(ledger, "0.1")
    size = told.stat().st_size
    with told.open("rb+") as stream:
        stream.seek(size // 2)
        stream.write(os.urandom(4096))
    try:
        with Ledger.open(told) as ledger:
            problems = ledger.verify()
    except CheckFailedError as error:
        problems = [error.what]
    assert problems


# -- files of others --------------------------------------------------------------------------------------------------


def foreign(path: Path, statement: str) -> bytes:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    with connection:
        connection.execute(statement)
    connection.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE bookmarks (url TEXT)",
        "CREATE TABLE meta (key TEXT, value BLOB)",
        "CREATE TABLE meta (name TEXT, worth BLOB)",
        "PRAGMA application_id = 252006674",
    ],
)
def test_the_database_of_another_program_is_refused_without_a_changed_byte(tmp_path, statement):
    path = tmp_path / "places.sqlite"
    before = foreign(path, statement)
    names = {p.name for p in tmp_path.iterdir()}
    for opening in (Ledger.open, Ledger.read):
        with pytest.raises(InputError, match="database of another program, not a ledger"):
            opening(path)
    assert path.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == names


def test_reading_a_ledger_changes_nothing_on_the_disk(told):
    folder, before = told.parent, told.read_bytes()
    names = {p.name for p in folder.iterdir()}
    told.chmod(0o400)
    with Ledger.read(told) as ledger:
        assert ledger.verify() == []
        assert len(ledger.releases()) == 2
        with pytest.raises(InputError, match="readonly database"):
            charge(ledger, "1")
    with Ledger.read(folder / "sub" / "none.sqlite") as none:
        assert (none.releases(), none.caps(), none.verify()) == ([], {}, [])
    assert told.read_bytes() == before
    assert {p.name for p in folder.iterdir()} == names


def test_a_ledger_whose_writer_was_killed_is_read_as_it_was_before(told, tmp_path):
    """A hot journal: what it holds must be taken back, which reading alone does in a copy."""
    with Ledger.open(told) as ledger:
        ledger._db.execute("PRAGMA cache_spill = ON")
        ledger._db.execute("PRAGMA cache_size = 1")
        ledger._db.execute("BEGIN IMMEDIATE")
        for _ in range(300):
            ledger._db.execute("INSERT INTO finished VALUES (hex(randomblob(8)), hex(randomblob(400)), '')")
        killed = tmp_path / "killed.sqlite"
        killed.write_bytes(told.read_bytes())
        Path(f"{killed}-journal").write_bytes(Path(f"{told}-journal").read_bytes())
        ledger._db.execute("ROLLBACK")
    before = killed.read_bytes()
    with Ledger.read(killed) as ledger:
        assert ledger.verify() == []
        assert ledger.finished() == {}
    assert killed.read_bytes() == before
    assert Path(f"{killed}-journal").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps rights otherwise")
def test_a_ledger_that_others_could_read_is_closed_to_them(tmp_path):
    path = tmp_path / "deep" / "er" / "ledger.sqlite"
    Ledger.open(path).close()
    assert path.parent.stat().st_mode & 0o777 == path.parent.parent.stat().st_mode & 0o777 == 0o700
    for file in (path, key_path(path)):
        file.chmod(0o644)
    Ledger.open(path).close()
    assert {file.stat().st_mode & 0o777 for file in (path, key_path(path))} == {0o600}


def test_a_damaged_ledger_is_one_sentence_whatever_is_damaged(told, tmp_path):
    """Bits flipped and ends cut off at random: every answer is a sentence, and no charge passes for another."""
    whole, made = told.read_bytes(), random.Random(11)
    path = tmp_path / "damaged.sqlite"
    key_path(path).write_bytes(key_path(told).read_bytes())
    answers = {2: 0, 5: 0, 0: 0}
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(made.choice([1, 1, 3, 40])):
            data[made.randrange(len(data))] ^= 1 << made.randrange(8)
        path.write_bytes(data[: made.choice([len(data), len(data), made.randrange(len(data))])])
        answers[answer(Ledger.read, path)] += 1
        answers[answer(Ledger.open, path)] += 1
    assert all(answers.values()), answers


def answer(opening: Callable[[Path], Ledger], path: Path) -> int:
    """The exit code of looking at everything in a ledger; a chain that is whole has what was written into it."""
    try:
        with opening(path) as ledger:
            problems, releases = ledger.verify(), [(r.epsilon, r.status) for r in ledger.releases()]
            ledger.caps()
            ledger.account(A)
    except WorkbenchError as error:
        told, code = str(error), error.exit_code
    else:
        assert problems or releases in ([], [(1, "charged"), (2, "charged")])
        return 5 if problems else 0
    assert "\n" not in told
    return code


# -- what else is changed while a ledger is open ----------------------------------------------------------------------


@pytest.fixture
def seven(path):
    """A ledger of seven entries: a cap, and three charges."""
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(100))
        for _ in range(3):
            charge(book, "1")
    return path


def test_a_charge_hashes_the_new_entries_alone(seven, monkeypatch):
    hashed: list[int] = []
    real = chain.entry_hash
    monkeypatch.setattr(chain, "entry_hash", lambda entry: hashed.append(entry.seq) or real(entry))
    with Ledger.open(seven) as book:
        charge(book, "1")
        assert hashed == [1, 2, 3, 4, 5, 6, 7]
        hashed.clear()
        with Ledger.open(seven) as other:
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
def test_what_another_program_changes_in_an_open_ledger_stops_the_next_charge(seven, statement, told):
    with Ledger.open(seven) as book:
        charge(book, "1")
        with sqlite3.connect(seven) as other:
            other.execute(statement)
        other.close()
        with pytest.raises(CheckFailedError, match=told):
            book.reserve(A, loss_of("1"), work="test")
        assert told in " ".join(book.verify())


def test_a_byte_changed_on_the_disk_under_an_open_ledger_is_noticed(seven):
    with Ledger.open(seven) as book:
        release_id = charge(book, "1")
        written = seven.read_bytes()
        at = written.index(release_id.encode())
        with seven.open("r+b") as stream:  # past SQLite, which sees no new version of the data
            stream.seek(at)
            stream.write(b"g")
        with pytest.raises(CheckFailedError, match="was changed after it was written"):
            book.reserve(A, loss_of("1"), work="test")


def test_nothing_is_charged_to_a_file_that_was_replaced_while_open(seven, tmp_path):
    with Ledger.open(seven) as book:
        charge(book, "1")
        copy = tmp_path / "copy.sqlite"
        shutil.copy(seven, copy)
        os.replace(copy, seven)
        with pytest.raises(InputError, match="replaced or removed while it was open"):
            book.reserve(A, loss_of("1"), work="test")
    with Ledger.open(seven) as book:
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
def test_two_open_ledgers_know_what_a_fresh_one_reads(acts):
    with tempfile.TemporaryDirectory(dir=FAST) as folder:
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

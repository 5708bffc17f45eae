"""The ledger's file: checked before it is changed, readable by its owner alone, with its key in a separate file.

A ledger is an SQLite file that names this program as its application. Anyone who has it without the key beside it
(``LEDGER.key``) can read what was released and check the chain, but cannot ask whether a table is in it. After a merge
the key file holds the keys of both ledgers, its own first.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from workbench.params import CheckFailedError, InputError, WorkbenchError
from workbench.paths import user_data
from workbench.release.atomic import sync_folder, write_new
from workbench.release.ledger.entry import start_of

APPLICATION = 0x50574C31  # what SQLite calls an application id: `PWL1`
FORMAT = 2
KEY_BYTES = 32
_MOST_KEYS = 10_000

PATIENCE = 20.0  # seconds to wait for another process that holds the ledger

FAULTS = (sqlite3.Error, OverflowError, UnicodeError, TypeError)  # what damaged bytes make of a query

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS entry (
    seq INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, release_id TEXT NOT NULL, dataset TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, body TEXT NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL UNIQUE);
CREATE INDEX IF NOT EXISTS entry_release ON entry (release_id);
CREATE TABLE IF NOT EXISTS finished (release_id TEXT PRIMARY KEY, request TEXT NOT NULL, document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sketch (digest TEXT PRIMARY KEY, data BLOB NOT NULL);
"""


def key_path(ledger: Path) -> Path:
    """Return the path of the key of ``ledger``."""
    return ledger.with_name(ledger.name + ".key")


def located(path: Path | None) -> Path:
    """Return the absolute path of the ledger; by default it is in the user data folder."""
    # Absolute: SQLite has names of its own for ledgers that would be forgotten, such as ":memory:".
    return (path or user_data() / "ledger.sqlite").absolute()


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open the ledger at ``path``; create it, its key and its folder if they do not exist.

    Raises:
        InputError: the file is not a ledger, is locked, or cannot be written.
        CheckFailedError: it is damaged.
    """
    with contextlib.ExitStack() as opened:
        with usable(path):
            _make_folder(path.parent)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            if not path.is_file():
                raise unusable(path, "it is not a regular file")
            _require_ledger(path)
            _close_to_others(path)
            if _is_own_file(key_path(path)) and _is_keys(key_path(path).stat().st_size):
                _close_to_others(key_path(path))
            # Autocommit mode: transactions are ours to open, so that the cap is read and charged under one lock.
            connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            opened.callback(connection.close)
            connection.text_factory = _text
            # EXTRA: the folder is synced too when the journal goes, so a commit survives a power cut.
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("BEGIN IMMEDIATE")
            _prepare(connection, path)
            connection.execute("COMMIT")
        opened.pop_all()
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open the ledger at ``path`` without changing anything on disk; one that does not exist counts as empty.

    Raises:
        InputError: the file is not a ledger, or cannot be read.
        CheckFailedError: it is damaged.
    """
    with usable(path):
        if not os.path.lexists(path) or (path.is_file() and path.stat().st_size == 0):
            connection = sqlite3.connect(":memory:", isolation_level=None)
            _make_tables(connection)
            return connection
        if not path.is_file():
            raise unusable(path, "it is a folder" if path.is_dir() else "it is not a regular file")
        _require_ledger(path)
        connection = _reading(path)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if not os.path.exists(f"{path}-journal"):
                raise
            return _rolled_back(path, error)
    return connection


def read_keys(path: Path) -> tuple[bytes, ...]:
    """Return the keys of the ledger at ``path``: its own, then those of the ledgers that were merged into it.

    Raises:
        InputError: it is missing or no key. A new one would make every table a new dataset with a full budget.
    """
    beside = key_path(path)
    with usable(beside):
        try:
            with beside.open("rb") as stream:
                key = stream.read(_MOST_KEYS * KEY_BYTES + 1)
        except FileNotFoundError:
            raise InputError(
                "the key of this ledger is missing, so no table can be found in it",
                str(beside),
                "restore the key next to the ledger, or give another ledger with --ledger",
            ) from None
    if not _is_keys(len(key)):
        raise InputError("this is not the key of a ledger", str(beside), "restore an intact copy")
    return tuple(key[at : at + KEY_BYTES] for at in range(0, len(key), KEY_BYTES))


def write_keys(path: Path, keys: tuple[bytes, ...]) -> None:
    """Replace the key file of the ledger at ``path``, durably.

    Raises:
        InputError: it cannot be written; then the former one stays.
    """
    beside = key_path(path)
    part = beside.with_name(f"{beside.name}.{secrets.token_hex(4)}.part")
    with usable(beside):
        try:
            write_new(part, b"".join(keys))
            os.replace(part, beside)
            sync_folder(beside.parent)
        finally:
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def usable(path: Path) -> Iterator[None]:
    """Turn faults of the system and of damaged bytes into the error for a ledger or a key that cannot be used."""
    try:
        yield
    except OSError as error:
        raise unusable(path, error.strerror or "it cannot be opened") from None
    except FAULTS as error:
        raise unusable(path, str(error)) from None


def unusable(path: Path, reason: str) -> WorkbenchError:
    """Return the error for a ledger that cannot be used."""
    reason = " ".join(reason.split())  # SQLite may quote what it read
    if any(word in reason for word in ("malformed", "corrupt", "no such", "UTF-8", "codec", "too large", "argument")):
        return CheckFailedError(
            f"the ledger is damaged: {reason[:200]}", str(path), "restore an intact copy", code="ledger-damaged"
        )
    hint, code = "give yourself the right to write to it", "ledger-unusable"
    if "locked" in reason:
        code = "ledger-locked"
        hint = "wait for the other program to finish"
    elif "not a database" in reason or "encrypted" in reason:
        hint = "restore an intact copy"
    return InputError(f"the ledger cannot be used: {reason[:200]}", str(path), hint, code=code)


# -- within -----------------------------------------------------------------------------------------------------------


def _is_keys(size: int) -> bool:
    return 0 < size <= _MOST_KEYS * KEY_BYTES and size % KEY_BYTES == 0


def _is_own_file(path: Path) -> bool:
    """Return whether a key is a plain file; this program never makes a link."""
    return path.is_file() and not path.is_symlink()


def _text(data: bytes) -> str:
    """Return text unchanged; damaged bytes become replacement characters, so that the hash no longer matches."""
    return data.decode("utf-8", "replace")


def _make_folder(folder: Path) -> None:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def _close_to_others(path: Path) -> None:
    if os.name == "nt" or not path.exists():
        return
    found = path.stat()
    if found.st_mode & 0o077 and found.st_uid == os.geteuid():
        path.chmod(stat.S_IMODE(found.st_mode) & 0o700)


def _require_ledger(path: Path) -> None:
    """Raise an error if a file is not a ledger; an empty file may become one. The file is only read."""
    with path.open("rb") as stream:
        head = stream.read(100)
    if not head:
        return
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        raise unusable(path, "file is not a database")
    version, application = int.from_bytes(head[60:64], "big"), int.from_bytes(head[68:72], "big")
    if application == APPLICATION:
        if version > FORMAT:
            raise InputError(
                f"the ledger has format {version}, of a later version of the workbench", str(path), "use that version"
            )
        return
    separate_journal = head[18] != 1  # to read such a file makes others beside it, and no ledger is one
    if application or version or separate_journal or not _is_former(path):
        raise InputError("this is the database of another program, not a ledger", str(path), "choose another file")


def _is_former(path: Path) -> bool:
    connection = _reading(path)
    try:
        tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {"meta", "entry"} <= tables <= {"meta", "entry", "finished"}:
            return False
        rows = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchall()
        return rows == [("1",)]
    except sqlite3.OperationalError as error:
        if "no such column" in str(error):
            return False
        raise
    finally:
        connection.close()


def _reading(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", PATIENCE, isolation_level=None, uri=True)
    connection.text_factory = _text
    return connection


def _rolled_back(path: Path, error: sqlite3.Error) -> sqlite3.Connection:
    """Return an in-memory copy of a ledger whose writer was killed, as it was before that write began."""
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        copy = Path(folder) / "ledger.sqlite"
        shutil.copyfile(path, copy)
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{path}-journal", f"{copy}-journal")
        source = sqlite3.connect(copy, isolation_level=None)
        target = sqlite3.connect(":memory:", isolation_level=None)
        target.text_factory = _text
        try:
            source.backup(target)
        except sqlite3.Error:
            target.close()
            raise error from None
        finally:
            source.close()
        return target


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in filter(str.strip, _SCHEMA.split(";")):  # not `executescript`, which would commit
        connection.execute(statement)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (present,) = connection.execute("PRAGMA application_id").fetchone()
    if present == APPLICATION:
        return
    _make_tables(connection)
    former = connection.execute("SELECT value FROM meta WHERE key = 'key'").fetchall()
    entries = connection.execute("SELECT count(*) FROM entry").fetchone()[0]
    if former or not entries:
        key = _keep_key(path, bytes(former[0][0]) if former else None)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('start', ?)", (start_of(key),))
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('head', ?)", (start_of(key),))
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('former', ?)", (str(entries),))
    connection.execute("DELETE FROM meta WHERE key = 'key'")
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", (str(FORMAT),))
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")


def _keep_key(path: Path, former: bytes | None) -> bytes:
    """Write the key of a new ledger, or the key stored in an older one, durably to its own file."""
    beside = key_path(path)
    with usable(beside):
        if os.path.lexists(beside):
            standing = beside.read_bytes()
            if len(standing) == KEY_BYTES and former in (None, standing) and _is_own_file(beside):
                return standing
            if former is not None:
                raise InputError("the key next to this ledger belongs to another one", str(beside), "move it elsewhere")
            if len(standing) >= KEY_BYTES or not _is_own_file(beside):
                raise InputError("another file has the name of the ledger's key", str(beside), "choose another ledger")
            beside.unlink()  # cut short by a crash; no entry depends on it yet
        key = former or secrets.token_bytes(KEY_BYTES)
        write_new(beside, key)
    return key

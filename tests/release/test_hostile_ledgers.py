"""A ledger of somebody else: whatever is in it, no traceback, and no file but those that were named."""

import contextlib
import hashlib
import json
import random
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from release_cases import charge, loss_of, table_of

from workbench.cli import main
from workbench.data.table import Table
from workbench.params import BudgetRefusedError, CheckFailedError, InputError
from workbench.privacy.accounting.event import Cost, PoissonGaussian, RowsPerPerson
from workbench.release.ledger.composition import FILTER, steps_body
from workbench.release.ledger.entry import Entry, entry_hash
from workbench.release.ledger.file import key_path
from workbench.release.ledger.ledger import RUN, Ledger
from workbench.release.ledger.location import HeadMark, last_seen, save_last_seen
from workbench.release.ledger.state import GROUP

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
    target.write_bytes(source.read_bytes())
    key_path(target).write_bytes(key_path(source).read_bytes())


HEADS = "ledger-heads"

COMMANDS = {
    "show": ("show", "--ledger", "l.sqlite"),
    "verify": ("verify", "--ledger", "l.sqlite"),
    "export": ("export", "--ledger", "l.sqlite", "-o", "e.json"),
    "cap": ("cap", "t.csv", "--epsilon", "60", "--ledger", "l.sqlite"),
    "merge": ("merge", "l.sqlite", "--ledger", "o.sqlite"),
    "into": ("merge", "o.sqlite", "--ledger", "l.sqlite"),
    "move": ("move", "-o", "m.sqlite", "--ledger", "l.sqlite"),
}
WRITES = {
    "show": set(),
    "verify": set(),
    "export": {"e.json"},
    "cap": {"l.sqlite", "l.sqlite.key"},
    "merge": {"l.sqlite", "o.sqlite", "o.sqlite.key"},
    "into": {"l.sqlite", "l.sqlite.key", "o.sqlite"},
    "move": {"l.sqlite", "m.sqlite", "m.sqlite.key"},
}
"""The files that each command may write."""


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    """A folder with a valid ledger, another one and a table."""
    folder = tmp_path_factory.mktemp("valid")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workbench.release.ledger.location.user_state", lambda: folder / "state")
        table = table_of(300)
        table.frame.write_csv(folder / "t.csv")
        make(folder / "l.sqlite", table)
        with Ledger.open(folder / "o.sqlite") as other:
            charge(other, "1", dataset=other.enter(other.identify(table_of(50, 4))))
    return folder


@pytest.fixture
def state(tmp_path, monkeypatch):
    """A state folder beside the one with the marks, with a file of the user's."""
    found = tmp_path / "state"
    (found / HEADS).mkdir(parents=True)
    (found / "x.json").write_text("{}")
    monkeypatch.setattr("workbench.release.ledger.location.user_state", lambda: found)
    return found


def attacked(valid: Path, folder: Path, state: Path, place: tuple[Any, ...], value: Any, verb: str) -> tuple[int, str]:
    """Run a command on a ledger that holds ``value`` at ``place``; return its exit code and what is wrong, if any."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    for file in work.iterdir():
        file.unlink()
    for name in ("l.sqlite", "o.sqlite"):
        copy(valid / name, work / name)
    (work / "t.csv").write_bytes((valid / "t.csv").read_bytes())
    for mark in (state / HEADS).iterdir():
        mark.unlink()
    change(work / "l.sqlite", place, value)
    before = _contents(folder)
    words = [str(work / w) if "." in w else w for w in COMMANDS[verb]]
    code = main(["ledger", *words, "--json"])
    after = _contents(folder)
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    heads = f"state/{HEADS}/"
    strange = {n for n in changed if n.removeprefix("work/") not in WRITES[verb] and not n.startswith(heads)}
    if code not in (0, 2, 3, 5):
        return code, f"{verb} with {place} = {str(value)[:20]!r} ended with {code}"
    return code, f"{verb} with {place} = {str(value)[:20]!r} wrote {strange}" if strange else ""


def _contents(folder: Path) -> dict[str, str]:
    files = (p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def lies(valid: Path) -> list[tuple[tuple[Any, ...], Any, str]]:
    """Every place of the ledger with every hostile value, under every command."""
    found = []
    for place in places(valid / "l.sqlite"):
        values = VALUES if place[0] == "body" else TEXTS
        found += [(place, value, verb) for value in values for verb in COMMANDS]
    return found


def attack(chosen: list[tuple[tuple[Any, ...], Any, str]], valid: Path, folder: Path, state: Path) -> None:
    wrong = [told for one in chosen if (told := attacked(valid, folder, state, *one)[1])]
    assert wrong == []


def test_the_ledger_that_is_attacked_is_valid_and_has_every_kind_of_entry(valid, tmp_path, state):
    kinds = {row[2] for row in entries_of(valid / "l.sqlite")}
    assert kinds >= {"mark", "cap", "reserve", "charge", "settle", "void", "refuse", "claim", "pause", "count"}
    assert kinds >= {"version", "name", "figures", "merge", "certify"}
    unchanged = ("entry", 1, "release_id"), None
    assert [attacked(valid, tmp_path, state, *unchanged, verb) for verb in COMMANDS] == [(0, "")] * len(COMMANDS)


def test_no_value_of_a_ledger_is_a_traceback_or_the_name_of_a_file(valid, tmp_path, state):
    chosen = lies(valid)
    meta = [one for one in chosen if one[0][0] == "meta" and one[2] in ("verify", "cap", "move")]
    attack(meta + random.Random(5).sample(chosen, 30), valid, tmp_path, state)


@pytest.mark.slow
def test_none_of_all_values_is(valid, tmp_path, state):
    attack(lies(valid), valid, tmp_path, state)


@pytest.mark.parametrize(
    "place", [("meta", "start"), ("entry", 2, "epsilon"), ("entry", 2, "dataset"), ("body", 3, "name")]
)
def test_ten_million_characters_are_one_short_sentence(valid, tmp_path, state, place, capsys):
    code, wrong = attacked(valid, tmp_path, state, place, LONG, "cap")
    assert (code, wrong) == (5, "")
    said = capsys.readouterr().err.splitlines()
    assert [line[:6] for line in said if line.startswith("error")] == ["error:"]
    assert all(len(line) < 1000 for line in said)


@pytest.mark.parametrize("start", ["../../x", "../x", "/tmp/x", "", "a\0b", "A" * 64, "0" * 63])
def test_a_start_that_is_a_path_moves_nothing(valid, tmp_path, state, start):
    code, wrong = attacked(valid, tmp_path, state, ("meta", "start"), start, "move")
    assert (code, wrong) == (5, "")
    assert (state / "x.json").read_text() == "{}"
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        save_last_seen(start, HeadMark(1, "a" * 64, "", ""))


def test_a_move_with_the_key_of_another_ledger_adds_no_entry(valid, tmp_path, state):
    copy(valid / "l.sqlite", tmp_path / "l.sqlite")
    key_path(tmp_path / "l.sqlite").write_bytes(bytes(32))
    before = entries_of(tmp_path / "l.sqlite")
    with Ledger.open(tmp_path / "l.sqlite") as book, pytest.raises(InputError, match="key of another ledger"):
        book.move(tmp_path / "m.sqlite")
    assert entries_of(tmp_path / "l.sqlite") == before


@pytest.mark.parametrize("epsilon", ["-5", "NaN", "-0.1", "1e301", "Infinity", "1." + "3" * 3000])
def test_an_amount_that_would_lower_a_sum_or_break_it_is_damage(valid, tmp_path, state, epsilon):
    charged = next(row[0] for row in entries_of(valid / "l.sqlite") if row[2] == "charge")
    code, wrong = attacked(valid, tmp_path, state, ("entry", charged, "epsilon"), epsilon, "show")
    assert (code, wrong) == (5, "")


@pytest.mark.parametrize("data", [b"", b"x", b"\xff" * 64, bytes(8), b"\1" + bytes(7)])
def test_a_sketch_that_is_none_is_damage(valid, tmp_path, state, data):
    path, digest = tmp_path / "l.sqlite", hashlib.sha256(data).hexdigest()
    copy(valid / "l.sqlite", path)
    first = next(row for row in entries_of(path) if row[2] == "mark" and json.loads(row[7])["sketch"])
    change(path, ("body", first[0], "sketch"), digest)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO sketch VALUES (?, ?)", (digest, data))
    connection.close()
    with Ledger.open(path) as book:
        if data == bytes(8):  # no sketch at all, which is a valid one
            assert book.verify() == []
        else:
            assert "marks of a table" in book.verify()[0]
            with pytest.raises(CheckFailedError, match="marks of a table"):
                book.find(book.identify(table_of(20)))


@pytest.mark.parametrize(
    "told",
    ["", "[]", '{"seq": 1}', '{"seq": -1, "hash": "x", "time": "", "path": ""}']
    + [json.dumps({"seq": 1, "hash": "a" * 64, "time": "", "path": path}) for path in ("a\0b", 5, "x" * 10**6)],
)
def test_a_damaged_mark_is_none(state, told):
    start = "ab" * 32
    (state / HEADS / f"{start[:32]}.json").write_text(told, "utf-8")
    assert last_seen(start) is None

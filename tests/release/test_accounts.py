"""From a table to its account: one file, one account, however and by whom it is read; versions, names, and the key."""

import json
import os
import random
import shutil
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest
from near_duplicates import changed, person_table
from release_cases import certificate_of, charge, loss_of, plan_of, raise_cap, release, table_of
from released import release_table

from workbench.data.csv.options import ReadOptions
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.release.ledger.file import key_path
from workbench.release.ledger.identity import fingerprint
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_in_ledger, verify_release


@pytest.fixture
def people():
    return person_table(random.Random(1), 300)


def edited(table: Table, change: str = "one cell") -> Table:
    return changed(table, change, random.Random(2))


# -- one file, one account --------------------------------------------------------------------------------------------


def ways_of_reading(path: Path, names: list[str], stated: int) -> list[Table]:
    """Tables that a command could make of one file: with and without the plan's names, and with ``stated`` options."""
    options = [
        *(ReadOptions(encoding=e) for e in ("utf-8", "cp1252", "koi8-r", "utf-16")),
        *(ReadOptions(delimiter=d) for d in (",", ";", "|", "tab")),
        *(ReadOptions(header=h) for h in ("yes", "no")),
        *(ReadOptions(quote=q) for q in ("none", '"', "'")),
    ]
    tables = []
    for each in [ReadOptions(), *random.Random(path.name).sample(options, stated)]:
        for expected in (None, names):
            try:
                tables.append(read_table(path, each, expected))
            except InputError:
                continue
    return tables


def generated_file(folder: Path, number: int) -> Path:
    """A file whose first row may be data, whose separator, quotes and encoding leave room for a guess."""
    made = random.Random(number)
    marks = made.sample(",;|\t", 2)
    words = ["Graz", "Linz", "31", "4,5", "a;b", "x|y", "Müller", "né", "age", "city", "yes", ""]
    rows = [[made.choice(words).replace(marks[0], marks[1]) for _ in range(made.randint(2, 4))]]
    rows += [[made.choice(words).replace(marks[0], "") for _ in rows[0]] for _ in range(made.randint(2, 9))]
    quote = made.choice(["", '"', "'"])
    text = made.choice(["\n", "\r\n"]).join(marks[0].join(f"{quote}{c}{quote}" for c in row) for row in rows) + "\n"
    path = folder / f"{number}.csv"
    path.write_bytes(text.encode(made.choice(["utf-8", "cp1252", "utf-16", "utf-8-sig"])))
    return path


@pytest.mark.slow
def test_every_way_of_reading_a_generated_file_is_one_account(ledger, tmp_path):
    """A cap is set on a table read without names, and a release reads it with the plan's names."""
    read = different = 0
    for number in range(200):
        tables = ways_of_reading(generated_file(tmp_path, number), ["age", "city"], 2)
        marks = {ledger.identify(table).content: ledger.identify(table) for table in tables}
        assert len({ledger.enter(mark) for mark in marks.values()}) <= 1, number
        read += len(tables)
        different += len(marks) > 1
    assert read > 500
    assert different > 50


def test_every_way_of_reading_an_odd_file_is_one_account(ledger, shared_data):
    read = 0
    for path in (p for p in sorted((shared_data / "odd").iterdir()) if p.suffix == ".csv"):
        tables = ways_of_reading(path, ["age", "city"], 6)
        assert len({ledger.enter(ledger.identify(table)) for table in tables}) <= 1, path
        read += len(tables)
    assert read > 100


def test_five_ways_of_reading_one_file_share_one_budget(ledger, tmp_path):
    path = tmp_path / "people.csv"
    lines = ["age,city,pay", *(f"{k % 90},Gr\xe4z{k},{k}.5" for k in range(60))]
    path.write_bytes("\n".join(lines).encode("cp1252"))
    first, *others = (
        read_table(path, options)
        for options in (
            *(ReadOptions(encoding=e, header="yes") for e in ("cp1252", "koi8-r", "cp437")),
            ReadOptions(encoding="cp1252", quote="none", header="yes"),
        )
    )
    ledger.reserve(ledger.identify(first), loss_of("3"), work="test")
    for other in others:
        with pytest.raises(BudgetRefusedError):
            ledger.reserve(ledger.identify(other), loss_of("3"), work="test")


# -- versions ---------------------------------------------------------------------------------------------------------


def test_an_edited_cell_is_no_fresh_budget_and_the_ledger_records_the_version(ledger, people):
    charge(ledger, "3", dataset=ledger.enter(ledger.identify(people)))
    with pytest.raises(BudgetRefusedError):
        ledger.reserve(ledger.identify(edited(people)), loss_of("0.1"), work="test")
    (version,) = ledger.entries("version")
    assert version.body["origin"] == "sketch"
    assert ledger.taken_as_version(ledger.identify(edited(people))) == ledger.find(ledger.identify(people)).account
    assert ledger.taken_as_version(ledger.identify(people)) == ""
    later = edited(edited(edited(people), "rows added"), "column removed")
    assert ledger.find(ledger.identify(later)).account == ledger.find(ledger.identify(people)).account


def test_a_steward_may_say_that_it_is_another_table(ledger, people):
    other = edited(people, "10 % of rows")
    one, two = ledger.identify(people), ledger.identify(other)
    ledger.reserve(one, loss_of("3"), work="test")
    with pytest.raises(BudgetRefusedError):
        ledger.reserve(two, loss_of("3"), work="test")
    ledger.separate(two, one)
    ledger.reserve(two, loss_of("3"), work="test")
    assert ledger.account(ledger.find(one).account).used[0] == 3
    assert ledger.find(one).account != ledger.find(two).account
    # An edit of either is charged to the one that it is nearer to, and both stay apart.
    again = ledger.identify(edited(other))
    assert ledger.enter(again) == ledger.find(two).account != ledger.find(one).account
    with pytest.raises(InputError, match="already have different accounts"):
        ledger.separate(two, one)
    with pytest.raises(InputError, match="not in the ledger"):
        ledger.separate(two, ledger.identify(table_of(30)))
    with pytest.raises(InputError, match="are the same table"):
        ledger.separate(one, one)
    assert ledger.verify() == []


def test_the_later_of_two_versions_leaves_whichever_is_named_first(ledger, people):
    one, two = ledger.identify(people), ledger.identify(edited(people))
    first = ledger.enter(one)
    ledger.enter(two)
    assert ledger.separate(one, two) == first == ledger.find(one).account
    assert ledger.find(two).account != first


def test_a_table_found_in_two_accounts_makes_them_one_with_the_sum(ledger, people):
    other = person_table(random.Random(77), 300)
    for table in (people, other):
        ledger.reserve(ledger.identify(table), loss_of("2"), work="test")
    import polars as pl

    both = Table(pl.concat([people.frame, other.frame]), "both")
    account = ledger.enter(ledger.identify(both))
    assert ledger.account(account).used[0] == 4
    assert ledger.account(account).cap == (2, None)
    with pytest.raises(BudgetRefusedError):
        ledger.reserve(ledger.identify(other), loss_of("0.1"), work="test")


# -- names ------------------------------------------------------------------------------------------------------------


def test_what_is_published_does_not_follow_the_rows(path, tmp_path):
    """With one changed row the certificate's mark and sum differed with probability 1."""
    told = []
    for name, table in (("same", table_of(60)), ("other", edited_row(table_of(60)))):
        with Ledger.open(path.with_name(f"{name}.sqlite")) as ledger:
            ledger.set_cap(ledger.identify(table_of(60)), Decimal(9))
            release_table(plan_of(), table_of(60), tmp_path / "out.csv", ledger, replace=True)
            release_table(plan_of(), table, tmp_path / "out.csv", ledger, replace=True)
        document = certificate_of(tmp_path / "out.csv")
        for key in ("release_id", "time", "checksum", "output"):
            document.pop(key)
        told.append(json.dumps(document))
    assert told[0] == told[1]
    assert "spent" not in told[0]


def edited_row(table: Table) -> Table:
    return Table(table.frame.with_columns(age=table.frame["age"].scatter([5], ["77"])), table.source)


def test_a_named_account_pays_whatever_the_rows_are(path, tmp_path):
    target = tmp_path / "out.csv"
    release(path, target, rows=50, account="clinic 2026")
    raise_cap(path, "7")
    release(path, target, rows=40, account="clinic 2026")  # another table altogether
    assert certificate_of(target)["account"]["spent_before"] == "3"
    assert certificate_of(target)["account"]["remaining_after"] == "1"
    assert verify_release(target) == []
    with Ledger.read(path) as ledger:
        assert verify_in_ledger(certificate_of(target), ledger) == []
        assert ledger.account_labels() == {ledger.accounts().named("clinic 2026"): "clinic 2026"}


def test_a_name_that_is_not_that_of_the_tables_account_is_refused_with_the_way_out(path, tmp_path):
    target = tmp_path / "out.csv"
    release(path, target, rows=50)
    with pytest.raises(InputError, match=r"is not named 'clinic'.*workbench ledger name DATA"):
        release(path, target, rows=50, account="clinic")
    release(path, target, rows=40, account="other", seed=8)
    with pytest.raises(InputError, match="is not named 'other'"):
        release(path, target, rows=50, account="other")
    with Ledger.open(path) as ledger:
        account = ledger.set_name(ledger.identify(table_of(50)), "clinic")
        with pytest.raises(InputError, match="already has the name 'clinic'"):
            ledger.set_name(ledger.identify(table_of(50)), "hospital")
        ledger.set_cap(account, Decimal(6))
    with pytest.raises(InputError, match=r"belongs to the account 'clinic', not to 'other'.*account = \"clinic\""):
        release(path, target, rows=50, account="other")
    with pytest.raises(InputError, match="has the public name 'clinic', which the plan does not state"):
        release(path, target, rows=50)
    release(path, target, rows=50, account="clinic")
    assert certificate_of(target)["account"]["spent_before"] == "3"


@pytest.mark.parametrize("name", ["", " clinic", "a\nb", "x" * 81, "\x1b[31m"])
def test_what_cannot_be_the_name_of_an_account_is_refused(ledger, people, name):
    with pytest.raises(ParameterError, match=r"account"):
        plan_of(account=name)
    with pytest.raises(ParameterError):
        ledger.set_name(ledger.identify(people), name)


# -- the key ----------------------------------------------------------------------------------------------------------


def test_the_key_stands_beside_the_ledger_and_nowhere_in_it(path, people):
    with Ledger.open(path) as ledger:
        ledger.enter(ledger.identify(people))
        key = ledger.key
    assert key_path(path).read_bytes() == key
    assert key not in path.read_bytes()
    assert key.hex().encode() not in path.read_bytes()
    if os.name != "nt":
        assert path.stat().st_mode & 0o077 == key_path(path).stat().st_mode & 0o077 == 0


def test_a_ledger_without_its_key_can_be_read_and_charges_nothing(path, people, tmp_path):
    release(path, tmp_path / "out.csv")
    key_path(path).unlink()
    with Ledger.open(path) as ledger:
        assert ledger.verify() == []
        assert len(ledger.releases()) == 1
        with pytest.raises(InputError, match=r"the key of this ledger is missing.*restore the key"):
            ledger.identify(people)
    with pytest.raises(InputError, match="the key of this ledger is missing"):
        release(path, tmp_path / "new.csv")
    assert not key_path(path).exists()
    assert not (tmp_path / "new.csv").exists()


def test_the_key_of_another_ledger_opens_no_account(path, people, tmp_path):
    Ledger.open(path).close()
    Ledger.open(tmp_path / "other.sqlite").close()
    shutil.copy(key_path(tmp_path / "other.sqlite"), key_path(path))
    with Ledger.open(path) as ledger, pytest.raises(InputError, match="key of another ledger"):
        ledger.identify(people)


def former_ledger(path: Path, table: Table) -> str:
    """A ledger as the first format wrote it, with a release of ``table``."""
    with Ledger.open(path) as ledger:
        key = ledger.key
        dataset = fingerprint(table, key)
        charge(ledger, "3", dataset=dataset)
    key_path(path).unlink()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DELETE FROM meta WHERE key IN ('start', 'former')")
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'version'")
        connection.execute("INSERT INTO meta VALUES ('key', ?)", (key,))
        connection.execute("DROP TABLE sketch")
    connection.execute("PRAGMA user_version = 0")
    connection.execute("PRAGMA application_id = 0")
    connection.close()
    return dataset


def test_a_ledger_of_the_first_format_keeps_its_accounts_and_gives_up_its_key(path, people):
    dataset = former_ledger(path, people)
    before = path.read_bytes()
    with Ledger.read(path) as ledger:
        assert ledger.verify() == []
        assert ledger.find(ledger.identify(people)).account == dataset
    assert path.read_bytes() == before
    with Ledger.open(path) as ledger:
        assert ledger.verify() == []
        with pytest.raises(BudgetRefusedError):
            ledger.reserve(ledger.identify(people), loss_of("0.1"), work="test")
        assert ledger.find(ledger.identify(edited(people))).account == dataset  # its sketch is known from now on
        key = ledger.key
    assert key_path(path).read_bytes() == key
    assert key not in path.read_bytes()

"""Tables of databases: what arrives, what is refused, what stops, and that nothing says a password."""

import contextlib
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest
from local_cluster import here

from tests.postgres import PASSWORD, server
from workbench.data import cluster_parts
from workbench.data.cluster_parts import PartsOnWorkers, Workers
from workbench.data.csv.options import ReadOptions
from workbench.data.databases import access, database_rows
from workbench.data.databases.access import tables_of
from workbench.data.databases.address import PASSWORDS, address_of, as_path, title_of
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import CancelledError, InputError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore


@pytest.fixture
def people(tmp_path):
    file = tmp_path / "people.db"
    with sqlite3.connect(file) as base:
        base.execute("CREATE TABLE people (age INTEGER, income REAL, name TEXT)")
        base.executemany("INSERT INTO people VALUES (?, ?, ?)", [(1, 1.5, "a"), (None, 2.0, ""), (3, 1e-7, "ö")])
    base.close()
    return file


def _changed(file: Path, statement: str) -> None:
    with sqlite3.connect(file) as base:
        base.execute(statement)
    base.close()


@pytest.mark.usefixtures("spawned")
def test_cells_are_the_text_of_an_export_and_null_is_missing(people):
    table = read_table(f"sqlite:///{people}?table=people")
    assert table.frame.rows() == [("1", "1.5", "a"), (None, "2.0", None), ("3", "1e-7", "ö")]
    assert table.types == {"age": pl.Int64(), "income": pl.Float64(), "name": pl.String()}
    assert title_of(table.source) == "people"


@pytest.mark.slow
def test_the_same_by_sqlalchemy(people):
    pytest.importorskip("sqlalchemy")
    own, other = (read_table(f"{kind}:///{people}?table=people") for kind in ("sqlite", "sqlite+pysqlite"))
    assert own.frame.equals(other.frame)
    assert own.types == other.types
    part = "people&columns=name,age"
    assert read_table(f"sqlite+pysqlite:///{people}?table={part}").frame.equals(own.frame.select("name", "age"))
    with pytest.raises(InputError):
        read_table(f"sqlite+pysqlite:///{people}?table={part}e")
    with pytest.raises(InputError, match=r"returns no table|error"):
        read_table(f"sqlite+pysqlite:///{people}?query=DELETE FROM people")
    assert read_table(f"sqlite+pysqlite:///{people}?table=people").rows == 3


@pytest.fixture
def few(monkeypatch):
    """Let tables of databases be read in parts of a few rows."""
    monkeypatch.setattr(database_rows, "IN_MEMORY", 0)
    monkeypatch.setattr(access, "CELLS", 600)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("scheme", ["sqlite", pytest.param("sqlite+pysqlite", marks=pytest.mark.slow)])
def test_rows_between_keys_are_the_bytes_that_were_kept(tmp_path, scheme):
    if scheme != "sqlite":
        pytest.importorskip("sqlalchemy")
    file = tmp_path / "a.db"
    with contextlib.closing(sqlite3.connect(file)) as base, base:
        base.execute('CREATE TABLE t (x REAL, "*" TEXT, Own INTEGER PRIMARY KEY)')
        rows = [(k / 3 if k % 5 else None, "long words " * (k % 3), 7 * k) for k in range(-100, 200)]
        base.executemany("INSERT INTO t VALUES (?, ?, ?)", reversed(rows))
    for columns, names in (("", ("x", "*", "Own")), ("&columns=*,x", ("*", "x")), ("&columns=own,x", ("Own", "x"))):
        table = read_table(f"{scheme}:///{file}?table=t{columns}", ReadOptions())
        stored = table.stored
        assert isinstance(stored, database_rows.DatabaseRows)
        assert tuple(map(str.lower, table.names)) == tuple(map(str.lower, names))
        assert table.rows == sum(part.frame.height for part in table.parts(7)) == 300
        assert pl.concat([part.frame for part in table.parts(70)]).equals(table.frame)
        if "own" in columns:
            assert not stored.files  # one column by two names
            continue
        assert table.frame["x"].to_list() == [x and str(pl.Series([x]).cast(pl.String)[0]) for x, _, _ in rows]
        ((kept, place),), pieces = stored.files, list(stored.pieces(1))
        assert len(pieces) > 1
        there = access.bytes_between(place, [piece.keys[0] for piece in pieces])
        assert there == tuple(kept[start:stop].tobytes() for ((start, stop),) in (p.ranges for p in pieces))


@pytest.mark.parametrize(
    "made",
    ["id INT PRIMARY KEY", "id INTEGER, k INTEGER, PRIMARY KEY (id, k)", "id INTEGER PRIMARY KEY DESC", "id INTEGER"],
)
@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pysqlite"])
@pytest.mark.usefixtures("few")
@pytest.mark.slow
def test_a_key_that_may_be_a_text_is_none(tmp_path, made, scheme):
    file = tmp_path / "a.db"
    with contextlib.closing(sqlite3.connect(file)) as base, base:
        base.execute(f"CREATE TABLE t ({made})")
        base.executemany("INSERT INTO t (id) VALUES (?)", [("b",), (1,)])
    table = read_table(f"{scheme}:///{file}?table=t")
    assert not isinstance(table.stored, pl.DataFrame)
    assert not table.stored.files


def test_a_file_with_one_table_is_that_table_and_of_several_they_are_named(people):
    table = read_table(people)
    assert table.rows == 3
    assert "'people'" in table.notices[0]
    _changed(people, "CREATE TABLE visits (x)")
    with pytest.raises(InputError, match="2 tables: people, visits") as refused:
        read_table(people)
    assert refused.value.code == "several-tables"
    with pytest.raises(InputError, match="did you mean 'people'"):
        read_table(f"sqlite:///{people}?table=peple")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("DELETE FROM people", "only a SELECT"),
        ("ATTACH 'other.db' AS other", "only a SELECT"),
        ("SELECT load_extension('x')", "does not understand|error|only a SELECT"),
        ("SELECT nope FROM people", "no such column: nope"),
        ("SELECT age, age FROM people", "same name"),
        ("SELECT 1; DELETE FROM people", "error"),
        ("SELECT x'00' AS picture", "column picture.*bytes|bytes.*column picture"),
        ("SELECT age FROM people WHERE age > 9", "no rows"),
    ],
)
def test_a_query_changes_nothing_and_an_error_says_no_value(people, query, said):
    before = people.read_bytes()
    with pytest.raises(InputError, match=said):
        read_table(f"sqlite:///{people}?query={query}")
    assert people.read_bytes() == before
    assert sorted(p.name for p in people.parent.iterdir()) == [people.name]


def test_a_query_of_a_form_has_its_blanks_back(people):
    assert read_table(f"sqlite:///{people}?query=SELECT+age+FROM+people+WHERE+age>1").frame.rows() == [("3",)]
    assert read_table(f"sqlite:///{people}?query=SELECT age+1 AS a FROM people WHERE age=1;").frame.rows() == [("2",)]


def test_columns_of_a_table_are_read_in_their_order_and_no_other_name_is_taken_for_a_text(people):
    table = read_table(f"sqlite:///{people}?table=people&columns=name,age")
    assert table.frame.rows() == [("a", "1"), (None, None), ("ö", "3")]
    assert title_of(table.source) == "people"
    with pytest.raises(InputError, match="no such column"):
        read_table(f"sqlite:///{people}?table=people&columns=name,agee")
    for wrong in ("columns=age", "query=SELECT 1 AS a&columns=a"):
        with pytest.raises(InputError, match="columns but no table"):
            read_table(f"sqlite:///{people}?{wrong}")


def test_a_view_that_never_ends_stops_at_a_cancel(people):
    endless = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) AS n FROM r"
    _changed(people, f"CREATE VIEW endless AS {endless}")
    cancel = CancelToken()
    threading.Timer(1.0, cancel.cancel).start()
    begun = time.monotonic()
    with pytest.raises(CancelledError):
        read_table(f"sqlite:///{people}?table=endless", cancel=cancel)
    assert time.monotonic() - begun < 10


def test_a_damaged_file_is_one_sentence(people):
    data = bytearray(people.read_bytes())
    for at in range(100, len(data), 3):
        data[at] ^= 0xFF
    people.write_bytes(data)
    with pytest.raises(InputError):
        read_table(people)


@pytest.mark.slow
def test_no_mutation_of_a_file_ends_this_process(people):
    import random

    whole, made = people.read_bytes(), random.Random(5)
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(made.choice((1, 4, 40))):
            data[made.randrange(16, len(data))] = made.randrange(256)
        people.write_bytes(bytes(data))
        with contextlib.suppress(InputError):
            assert read_table(people).rows


@pytest.mark.parametrize(
    "text",
    [
        "sqlite:////tmp/a.db?table=t",
        "sqlite:///a.db?table=t",
        "sqlite:///b/a.db?query=SELECT 'x//y' AS q FROM t",
        "postgresql://u@h:5/db?sslmode=require&table=s.t",
        "postgresql:///db?host=/tmp//x&table=t",
        "mysql+pymysql://u@h/db?table=a b",
        "postgresql://u@h/db?table=t&columns=a b,c%2Cd,%2F%2Fe%26%3D%2F,%25",
    ],
)
def test_an_address_survives_as_a_path_and_as_it_is_shown(text):
    address = address_of(text)
    assert address is not None
    assert address_of(str(as_path(text))) == address == address_of(address.shown)


@pytest.mark.parametrize(
    "text", ["people.csv", "C:\\data\\x.csv", "https://x.org/t?table=t", "s3://b/k", "sample:iris"]
)
def test_what_is_no_database_has_no_address(text):
    assert address_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ana:geheim@h/db?table=t",
        "postgresql://ana@h/db?password=geheim&table=t",
        "mysql://a:geh/eim@h/d?table=t",
    ],
)
def test_a_password_is_never_shown(text):
    address = address_of(text)
    assert address is not None
    assert dict(address.secrets)["password"] in ("geheim", "geh/eim")
    shown = (address.shown, repr(address), str(as_path(text)), address.title, address.place)
    assert not any("geh" in each for each in shown)


# -- PostgreSQL --------------------------------------------------------------------------------------------------------

KINDS = (
    "i int, s smallint, b bigint, r real, d double precision, n numeric, n2 numeric(10,2), bo boolean, da date, "
    "ts timestamp, tz timestamptz, u uuid, iv interval, ch char(3)"
)
VALUES = (
    "1, 2, 3, 1.1, 1.1, 123456789012345678901234567890.123456789, 1.50, true, '2024-01-31', '2024-01-31 12:00:00.5', "
    "'2024-01-31 12:00:00+02', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1 day', 'ab'"
)
TEXTS = (
    *("1", "2", "3", "1.1", "1.1", "123456789012345678901234567890.123456789", "1.50", "true", "2024-01-31"),
    *("2024-01-31 12:00:00.5", "2024-01-31 10:00:00+00", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "1 day", "ab "),
)


@pytest.fixture(scope="module")
def base():
    made = server()
    made.run(
        "DROP SCHEMA IF EXISTS other CASCADE",
        "DROP TABLE IF EXISTS kinds, documents CASCADE",
        f"CREATE TABLE kinds ({KINDS})",
        f"INSERT INTO kinds VALUES ({VALUES})",
        f"INSERT INTO kinds SELECT {', '.join(['NULL'] * len(TEXTS))}",
        "CREATE TABLE documents (a int, j jsonb, l int[], y bytea, b text)",
        "INSERT INTO documents (a, b) VALUES (1, 'text')",
        "CREATE SCHEMA other",
        "CREATE TABLE other.few AS SELECT 7 AS x",
        "CREATE VIEW slow AS SELECT pg_sleep(100)::text AS a",
    )
    return made


def test_every_type_arrives_exactly_and_infinite_days_as_they_are_called(base):
    table = read_table(base.table("kinds"))
    assert table.frame.rows() == [TEXTS, (None,) * len(TEXTS)]
    assert [table.types[name] for name in ("i", "b", "r", "bo", "da", "n")] == [
        *(pl.Int32(), pl.Int64(), pl.Float32(), pl.Boolean(), pl.Date(), pl.String())
    ]
    assert read_table(base.table("documents&columns=b,a")).frame.rows() == [("text", "1")]
    assert read_table(base.query("SELECT 'infinity'::date AS d, 'nan'::float8 AS x")).frame.rows() == [
        ("infinity", "NaN")
    ]


@pytest.mark.usefixtures("few")
def test_workers_read_between_keys_with_a_password_of_their_own(base, monkeypatch):
    made = "CASE WHEN g % 7 > 0 THEN 'row ' || g END, g / 3.0, g * 5 - 600, date '2024-01-01' + (g % 99)::int"
    base.run(
        "DROP TABLE IF EXISTS keyed CASCADE",
        "CREATE TABLE keyed (b text, x float8, own bigint PRIMARY KEY, d date)",
        f"INSERT INTO keyed SELECT {made} FROM generate_series(1, 300) g ORDER BY md5(g::text)",
    )
    monkeypatch.delenv("PGPASSWORD", raising=False)
    typed = base.table("keyed", "ana").replace("ana@", f"ana:{PASSWORD}@")
    table = read_table(typed)
    monkeypatch.setattr(PASSWORDS, "_known", {})  # as on a worker
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here())
    parts = PartsOnWorkers(table, Workers("tcp://127.0.0.1:1", ignore, CancelToken()))
    assert len(parts) == 2
    assert PASSWORD.encode() not in pickle.dumps((list(parts), parts._beside))
    with pytest.raises(InputError, match="a worker cannot read the database: the database asks for a password") as said:
        list(parts.each_part(_cells))
    assert PASSWORD not in str(said.value)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    found = pl.concat(parts.each_part(_cells))
    assert found.equals(table.frame)
    assert found["own"].to_list() == [str(k * 5 - 600) for k in range(1, 301)]
    base.run("UPDATE keyed SET own = own + 1 WHERE own = 900")
    with pytest.raises(InputError, match="a worker reads different rows from this table than this computer"):
        list(parts.each_part(_cells))
    base.run("CREATE TABLE keyed_too () INHERITS (keyed)")
    stored = read_table(base.table("keyed")).stored
    assert isinstance(stored, database_rows.DatabaseRows)
    assert not stored.files  # both may have the same key


def _cells(part: Table) -> pl.DataFrame:
    return part.frame


@pytest.mark.parametrize(("column", "kind"), [("j", "JSON"), ("l", "lists"), ("y", "bytes")])
def test_what_is_no_cell_is_refused_by_column_with_the_fix(base, column, kind):
    with pytest.raises(InputError, match=kind) as refused:
        read_table(base.query(f"SELECT a, {column} FROM documents"))
    assert f"column {column}" in str(refused.value)
    assert "query=SELECT" in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT 1 AS a; DROP TABLE kinds", "does not understand"),
        ("SELECT 1 AS a) TO STDOUT; DROP TABLE kinds; --", "does not understand"),
        ("DELETE FROM kinds RETURNING i", "does not understand|only a SELECT"),
        ("SELECT nope FROM kinds", 'column "nope" does not exist'),
        ("SELECT 1 / (i - 1) AS x FROM kinds", "reports an error"),
        ("SELECT nextval(pg_get_serial_sequence('x', 'y')) AS n", "does not understand|reports an error"),
    ],
)
def test_a_query_of_postgresql_changes_nothing(base, query, said):
    with pytest.raises(InputError, match=said):
        read_table(base.query(query))
    assert base.run("SELECT count(*) FROM kinds") == [(2,)]


@pytest.mark.slow
def test_tables_are_listed_with_their_rows_and_found_in_their_schema(base):
    address = address_of(base.table("x"))
    assert address is not None
    rows = {each.name: (each.view, each.rows) for each in tables_of(address, counted=True)}
    assert rows["other.few"] == (False, 1)
    assert rows["slow"] == (True, None)
    assert read_table(base.table("other.few")).frame.rows() == [("7",)]
    assert read_table(base.query("SELECT x FROM other.few -- why")).frame.rows() == [("7",)]


@pytest.mark.slow
def test_a_cancel_ends_the_query_on_the_server(base):
    cancel = CancelToken()
    threading.Timer(1.5, cancel.cancel).start()
    with pytest.raises(CancelledError):
        read_table(base.table("slow"), cancel=cancel)
    running = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'workbench' AND state = 'active'"
    end = time.monotonic() + 10
    while base.run(running) != [(0,)]:
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["table=slow", "query=SELECT g FROM generate_series(1, 100000000) g"])
def test_a_killed_client_leaves_no_session_on_the_server_and_no_file(base, what, tmp_path):
    """Only the client is killed: the process that reads for it has to notice."""
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'workbench'"
    url = base.table("x").replace("table=x", what)
    words = [sys.executable, "-m", "workbench", "describe", url]
    output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)}, **output) as client:
        while base.run(f"{sessions} AND state = 'active'") == [(0,)]:
            assert client.poll() is None
        client.kill()
    end = time.monotonic() + 60
    while base.run(sessions) != [(0,)]:
        assert time.monotonic() < end
        time.sleep(0.2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_server_that_dies_while_it_is_read_is_one_sentence(base):
    killing = threading.Timer(2.5, base.kill)
    killing.start()
    with pytest.raises(InputError, match=r"ended before everything was read|cannot be reached"):
        read_table(base.query("SELECT g, repeat('x', 50) AS y FROM generate_series(1, 50000000) g"))
    killing.join()
    base.start()
    assert read_table(base.table("kinds")).rows == 2

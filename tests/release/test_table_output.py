"""Rows released into a table of a database: charged once, whole or absent, found again by verification."""

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.canary import NAME, hunted
from tests.postgres import PASSWORD, Server, server
from workbench import api
from workbench.cli.main import main
from workbench.data.databases import access
from workbench.data.databases.address import PASSWORDS
from workbench.params import InputError

ROWS = 400


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a file of SQLite and a plan for its table."""
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("people.db") as base:
        base.execute("CREATE TABLE people (age INTEGER, income REAL, label TEXT, city TEXT)")
        lines = [(i % 90, i * 37.5, "yes" if i % 3 else "no", None if i % 5 == 0 else f"c{i % 7}") for i in range(ROWS)]
        base.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", lines)
    base.close()
    Path("plan.toml").write_text(PLAN)
    return tmp_path


PLAN = """
version = 1
epsilon = 2.0
[[column]]
name = "age"
kind = "integer"
lower = 0
upper = 120
[[column]]
name = "income"
kind = "real"
lower = 0
upper = 20000
cells = 41
[[column]]
name = "label"
kind = "category"
domain = ["yes", "no"]
[[column]]
name = "city"
action = "keep"
"""
SOURCE = "sqlite:///people.db?table=people"
NEW = "sqlite:///new.db?table=noisy"


def _sanitize(*more: str, source: str = SOURCE, to: str = NEW) -> int:
    return main(["sanitize", source, "--plan", "plan.toml", "-o", to, "--ledger", "ledger.sqlite", *more])


def _rows(file: str = "new.db", table: str = "noisy") -> list[tuple[object, ...]]:
    base = sqlite3.connect(file)
    try:
        return base.execute(f"SELECT * FROM {table}").fetchall()
    finally:
        base.close()


def _charged() -> str:
    base = sqlite3.connect("ledger.sqlite")
    try:
        return str(base.execute("SELECT count(*) FROM entries WHERE body LIKE '%\"reserve%'").fetchall())
    finally:
        base.close()


def test_a_table_is_released_verified_and_estimated_from(folder, capsys):
    assert _sanitize() == 0
    rows = _rows()
    assert len(rows) == ROWS
    assert {type(row[0]) for row in rows} == {int}
    assert {type(row[1]) for row in rows} == {float}
    assert None in {row[3] for row in rows}
    assert sorted(p.name for p in folder.iterdir() if "ledger" not in p.name) == [
        *("new.db", "noisy.certificate.json", "people.db", "plan.toml")
    ]
    assert main(["verify", NEW, "--ledger", "ledger.sqlite"]) == 0
    assert main(["estimate", NEW, "--certificate", "noisy.certificate.json"]) == 0
    certificate = (folder / "noisy.certificate.json").read_text()
    assert str(folder) not in certificate
    assert "new.db" not in certificate
    with sqlite3.connect("new.db") as base:
        base.execute("UPDATE noisy SET age = 121 - age WHERE rowid = 1")
    base.close()
    assert main(["verify", NEW]) == 5
    assert "SHA-256" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("to", "more", "said"),
    [
        ("sqlite:///people.db?table=people", (), "has rows"),
        (NEW, ("--replace",), "never replaced"),
        (NEW, ("--pdf", "a.pdf"), "released file"),
        (NEW, ("--certificate", "a.json"), "the wrong suffix"),
        ("sqlite:///none/new.db?table=noisy", (), "folder of the database does not exist"),
        ("sqlite:///new.db", (), "names no table"),
        (f"{NEW}&columns=age", (), "names columns"),
        ("sqlite:///other.db?table=empty", (), "other columns"),
    ],
)
def test_what_cannot_be_written_costs_nothing(folder, to, more, said, capsys):
    with sqlite3.connect("other.db") as base:
        base.execute("CREATE TABLE empty (x)")
    base.close()
    assert _sanitize(*more, to=to) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "new.db").exists()
    assert not list(folder.glob("*.certificate.json"))
    assert main(["ledger", "show", "--ledger", "ledger.sqlite", "--json"]) in (0, 2)
    assert "charged" not in capsys.readouterr().out


def test_an_empty_table_is_filled(folder):
    with sqlite3.connect("new.db") as base:
        base.execute("CREATE TABLE noisy (city TEXT, label TEXT, income NUMERIC, age INTEGER)")
    base.close()
    assert _sanitize() == 0
    assert len(_rows()) == ROWS
    assert main(["verify", NEW]) == 0


@pytest.mark.parametrize("written", [False, True], ids=["before the copy", "after the copy"])
def test_a_finished_draw_is_published_by_the_next_run_without_a_second_charge(folder, written, monkeypatch, capsys):
    write = access.write_table

    def fails(*given: object) -> None:
        if written:
            write(*given)  # type: ignore[arg-type]
        raise InputError("the server was ended", "somewhere", "start it")

    monkeypatch.setattr("workbench.release.table_output.write_table", fails)
    assert _sanitize() == 2
    assert "run the same command again" in capsys.readouterr().err
    assert len(list(folder.glob("*.part"))) == 1
    assert not (folder / "noisy.certificate.json").exists()
    monkeypatch.setattr("workbench.release.table_output.write_table", write)
    assert _sanitize("--json") == 0
    assert '"published_earlier": true' in capsys.readouterr().out
    assert len(_rows()) == ROWS
    assert not list(folder.glob("*.part"))
    assert main(["verify", NEW, "--ledger", "ledger.sqlite"]) == 0
    capsys.readouterr()
    assert main(["ledger", "show", "--ledger", "ledger.sqlite", "--json"]) == 0
    assert capsys.readouterr().out.count('"release_id"') == 1


def test_synthetic_rows_go_into_a_table_and_figures_do_not(folder, capsys):
    Path("plan.toml").write_text(PLAN.replace('"keep"', '"drop"'))
    asked = ["--plan", "plan.toml", "--epsilon", "1", "--ledger", "ledger.sqlite"]
    assert main(["synthesize", SOURCE, *asked, "-o", NEW, "--rows", "50"]) == 0
    assert main(["verify", NEW]) == 0
    assert main(["statistics", SOURCE, *asked, "-o", "sqlite:///new.db?table=figures"]) == 2
    assert "only rows" in capsys.readouterr().err


def test_a_canary_in_a_table_is_in_nothing_that_python_writes_into_another(folder):
    with sqlite3.connect("people.db") as base:
        base.execute("ALTER TABLE people ADD COLUMN name TEXT")
        base.execute("UPDATE people SET name = ? WHERE rowid = 8", [NAME])
    base.close()
    Path("plan.toml").write_text(f'account = "people"\n{PLAN}\n[[column]]\nname = "name"\naction = "drop"\n')
    people = api.dataset(SOURCE, account="people")
    assert len(people) == ROWS
    made = api.release(people, api.load_plan("plan.toml"), ledger="ledger.sqlite", output=NEW)
    assert made.attrs["output"] == NEW
    assert len(made) == ROWS == len(_rows())
    assert api.verify(NEW) == []
    assert hunted([folder], [folder / "people.db"]) == []


# -- PostgreSQL, and passwords -----------------------------------------------------------------------------------------


@pytest.fixture
def base(folder):
    """A PostgreSQL with a table of 300,000 rows, and none that a test wrote."""
    made = server()
    made.run(
        "DROP TABLE IF EXISTS people, noisy",
        "CREATE TABLE people AS SELECT (g % 90)::int AS age, (g % 20000)::float8 AS income, "
        "CASE WHEN g % 3 = 0 THEN 'yes' ELSE 'no' END AS label, 'c' || (g % 7) AS city "
        "FROM generate_series(1, 300000) g",
    )
    return made


def _started(base: Server, *, user: str = "postgres") -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "workbench", "sanitize", base.table("people", user), "--plan", "plan.toml"]
    words += ["-o", base.table("noisy", user), "--ledger", "ledger.sqlite"]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)


def _until_written(child: subprocess.Popen[str], seconds: float) -> None:
    while not Path("noisy.certificate.json").exists() and child.poll() is None:
        time.sleep(0.01)
    time.sleep(seconds)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.1, 0.8, 1.6])
@pytest.mark.parametrize("whom", ["client", "server"])
def test_a_table_is_whole_or_absent_whoever_is_killed(base, whom, seconds, capsys):
    child = _started(base)
    _until_written(child, seconds)
    if whom == "client":
        for process in [*psutil.Process(child.pid).children(recursive=True), psutil.Process(child.pid)]:
            process.kill()
        child.communicate()
    else:
        base.kill()
        child.communicate()
        base.start()
    there = base.run("SELECT count(*) FROM pg_tables WHERE tablename = 'noisy'")
    assert there == [(0,)] or base.run("SELECT count(*) FROM noisy") == [(300000,)]
    again = _sanitize(source=base.table("people"), to=base.table("noisy"))
    assert again == 0 or "certificate of this name" in capsys.readouterr().err  # it had ended before it was killed
    assert base.run("SELECT count(*) FROM noisy") == [(300000,)]
    assert main(["verify", base.table("noisy")]) == 0
    assert not list(Path().glob("*.part"))
    capsys.readouterr()
    main(["ledger", "show", "--ledger", "ledger.sqlite", "--json"])
    assert capsys.readouterr().out.count('"release_id"') == 1


@pytest.mark.slow
def test_no_password_is_anywhere(base, folder, monkeypatch, capfd):
    monkeypatch.setattr(PASSWORDS, "_known", {})  # whatever tests before it typed
    url = base.table("people", f"ana:{PASSWORD}")
    assert main(["describe", url, "--json"]) == 2  # on the command line, where others can read it
    assert main(["describe", base.table("people", "ana")]) == 2
    monkeypatch.setenv("PGPASSWORD", PASSWORD + "x")
    assert main(["describe", base.table("people", "ana")]) == 2
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert main(["describe", base.table("people", "ana"), "--json"]) == 0
    child = _started(base, user="ana")
    seen: set[str] = set()
    while child.poll() is None:
        for process in [psutil.Process(child.pid), *psutil.Process(child.pid).children(recursive=True)]:
            try:
                seen.add(" ".join(process.cmdline()))
            except psutil.Error:
                continue
        time.sleep(0.02)
    assert child.returncode == 0
    assert main(["verify", base.table("noisy", "ana"), "--ledger", "ledger.sqlite"]) == 0
    monkeypatch.delenv("PGPASSWORD")
    from workbench.data.table_reader import read_table

    table = read_table(url)  # from Python the address may hold it
    with pytest.raises(InputError) as refused:
        read_table(url.replace("table=people", "table=peple"))
    out, err = capfd.readouterr()
    said = [out, err, str(refused.value), repr(refused.value), table.source, *seen, child.communicate()[1]]
    state = [Path(os.environ[name]) for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME") if name in os.environ]
    kept = [file.read_bytes() for place in (folder, *state) for file in place.rglob("*") if file.is_file()]
    assert seen
    assert not [text for text in said if PASSWORD in text]
    assert not [data for data in kept if PASSWORD.encode() in data]
    named = (folder / "noisy.certificate.json").read_text() + (folder / "ledger.sqlite").read_bytes().decode("latin-1")
    assert "ana@" not in named
    assert str(base.folder) not in named

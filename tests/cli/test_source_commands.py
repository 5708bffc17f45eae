"""Every source from the command line: described, planned, released, verified, and the same dataset as its CSV."""

import gzip
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_cases import Run

from tests.source_files import CSV, NAMES, ROWS, coded, packed_zip, partitioned, workbook, written

KINDS = ["people.csv.gz", "people.zip", "people.jsonl", "people.xlsx", "people.ods", "people.dta", "folder"]

SOME = ("people.xlsx", "folder")


def source(folder: Path, name: str) -> str:
    if name != "folder":
        return str(written(folder, name))
    partitioned(folder / "people")
    return str(folder / "people")


def done(run: Run, *words: str) -> dict[str, Any]:
    return run(*words, "--json").done


def planned(run: Run, data: str, *more: str) -> None:
    done(run, "plan", data, "--epsilon", "1", "--from-data", "--drop", "weight", *more, "-o", "plan.toml")
    done(run, "plan", "--confirm", "plan.toml")


@pytest.mark.parametrize("name", [pytest.param(k, marks=() if k in SOME else pytest.mark.slow) for k in KINDS])
def test_a_release_from_every_source_is_verified(name, folder, run):
    data = source(folder, name)
    described = done(run, "describe", data)
    assert described["rows"] == len(ROWS)
    assert [column["name"] for column in described["columns"]][:4] == list(NAMES)
    assert [column["kind"] for column in described["columns"]][:4] == ["integer", "real", "category", "date"]
    text = name in ("people.csv.gz", "people.zip")
    assert described["dialect"]["delimiter"] == ("," if text else None)
    planned(run, data)
    done(run, "sanitize", data, "--plan", "plan.toml", "-o", "out.csv")
    assert done(run, "verify", "out.csv")["ok"]


def test_a_packed_copy_is_the_same_dataset(folder, run):
    (folder / "people.csv").write_text(CSV, "utf-8")
    planned(run, "people.csv")
    done(run, "sanitize", "people.csv", "--plan", "plan.toml", "-o", "out.csv")
    (folder / "other.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    workbook(folder / "other.xlsx")
    for copy in ("other.csv.gz", "other.xlsx"):
        refused = run("sanitize", copy, "--plan", "plan.toml", "-o", "again.csv").refused(3)
        assert "nothing is left" in refused


def test_labels_of_a_file_are_proposed_and_nothing_is_released_before_they_are_confirmed(folder, run):
    coded(folder / "people.sav")
    described = {column["name"]: column for column in done(run, "describe", "people.sav")["columns"]}
    assert described["city"]["label"] == "City of birth"
    assert described["city"]["labels"] == {"1": "Graz", "2": "Linz"}
    assert described["city"]["missing_codes"] == ["9"]
    shown = run("describe", "people.sav").shown
    assert "City of birth" in shown
    assert "city: 1 = Graz, 2 = Linz, missing: 9" in shown
    made = done(run, "plan", "people.sav", "--epsilon", "1", "--need", "city", "-o", "labels.toml")
    assert "domain of city" in made["guesses"]
    assert "missing_codes of the file" in made["guesses"]
    plan = (folder / "labels.toml").read_text("utf-8")
    (folder / "labels.toml").write_text(plan.replace('missing = "?"', 'missing = "own-value"'), "utf-8")
    release = ("sanitize", "people.sav", "--plan", "labels.toml", "-o", "out.csv")
    assert "unconfirmed guesses from the rows" in run(*release).refused()
    confirmed = done(run, "plan", "--confirm", "labels.toml")
    assert "city: kind = category, missing = own-value, domain = 1|2" in confirmed["guessed"]
    done(run, *release)
    assert done(run, "verify", "out.csv")["ok"]
    released = {line.strip('"') for line in (folder / "out.csv").read_text("utf-8").splitlines()}
    assert released <= {"city", "1", "2", ""}


def test_the_sheet_that_was_read_is_in_the_plan(folder, run):
    workbook(folder / "book.xlsx", "Notes")
    told = run("describe", "book.xlsx")
    assert "the sheet People is read; the workbook has others: Notes; use --sheet" in told.err
    assert done(run, "describe", "book.xlsx", "--sheet", "Notes")["part"]["read"] == "Notes"
    planned(run, "book.xlsx")
    assert 'sheet = "People"' in (folder / "plan.toml").read_text("utf-8")
    workbook(folder / "book.xlsx")
    plan = (folder / "plan.toml").read_text("utf-8").replace('sheet = "People"', 'sheet = "Patients"')
    (folder / "plan.toml").write_text(plan, "utf-8")
    refused = run("sanitize", "book.xlsx", "--plan", "plan.toml", "-o", "out.csv").refused()
    assert refused.startswith("error: the workbook has no sheet 'Patients'")


def test_a_member_of_an_archive_is_named_in_the_plan(folder, run):
    packed_zip(folder / "two.zip", "a.csv", "b.csv")
    assert "the archive has 2 members: a.csv, b.csv" in run("describe", "two.zip").refused()
    planned(run, "two.zip", "--member", "b.csv")
    assert 'member = "b.csv"' in (folder / "plan.toml").read_text("utf-8")
    done(run, "sanitize", "two.zip", "--plan", "plan.toml", "-o", "out.csv")


@pytest.mark.parametrize(
    ("data", "option", "refused"),
    [
        ("people.csv", ["--sheet", "x"], "--sheet is not for text files"),
        ("people.csv", ["--labels"], "--labels is not for text files"),
        ("people.csv.gz", ["--member", "x"], "--member is not for packed files other than zip"),
        ("people.parquet", ["--delimiter", ";"], "--delimiter is not for Parquet files"),
        ("sample:people", ["--missing", "NA"], "--missing is not for a sample table"),
        ("people.csv.gz", ["--delimiter", ","], ""),
        ("people.parquet", ["--missing", "Graz"], ""),
    ],
)
def test_an_option_that_means_nothing_for_a_table_is_refused(folder, run, data, option, refused):
    pl.read_csv("people.csv").write_parquet("people.parquet")
    Path("people.csv.gz").write_bytes(gzip.compress(Path("people.csv").read_bytes()))
    answer = run("describe", data, *option)
    if refused:
        assert answer.error() == f"{refused} ({data}); leave it out"
    else:
        assert answer.code == 0


def test_an_option_may_be_for_another_of_the_tables(folder, run):
    pl.read_csv("people.csv").write_parquet("people.parquet")
    words = ["risk", "people.csv", "--quasi", "city", "--population", "people.parquet", "--ledger", "l.sqlite"]
    assert run(*words, "--delimiter", ",").code == 0
    assert "--sheet is not for" in run(*words, "--sheet", "x").refused()


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders")
def test_a_pipe_is_refused_with_a_reading_option_too(folder, run):
    """It would be waited for until somebody writes into it."""
    os.mkfifo("pipe.csv")
    assert "not a regular file" in run("describe", "pipe.csv", "--delimiter", ",").refused()


def test_a_column_of_lists_is_dropped_or_named(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"tags": [["red", "blue"]] * 50, "sex": ["f", "m"] * 25, "age": list(range(50))})
    frame.write_parquet("t.parquet")
    assert "the column tags is left out: it contains list values" in run("describe", "t.parquet").err
    columns = '[[column]]\nname = "sex"\ndomain = ["f", "m"]\nkind = "category"\nmechanism = "grr"\n'
    dropped = '[[column]]\nname = "age"\naction = "drop"\n[[column]]\nname = "tags"\naction = '
    for action, code in (("drop", 0), ("keep", 2)):
        Path("plan.toml").write_text(f'epsilon = 1.0\n{columns}{dropped}"{action}"\n', "utf-8")
        done = run("sanitize", "t.parquet", "--plan", "plan.toml", "-o", f"{action}.csv", "--ledger", "l.sqlite")
        assert done.code == code, done.err
    assert "the column contains list values (t.parquet, column tags); write it as text or numbers" in done.err
    assert Path("drop.csv").read_text("utf-8").splitlines()[0] == "sex"
    for command in (("synthesize", "--epsilon", "1"), ("statistics", "--epsilon", "1", "--histogram", "sex")):
        Path("plan.toml").write_text(f'epsilon = 1.0\n{columns}{dropped}"drop"\n', "utf-8")
        more = ("--plan", "plan.toml", "-o", f"{command[0]}.csv", "--replace", "--ledger", f"{command[0]}.sqlite")
        assert run(command[0], "t.parquet", *command[1:], *more).code == 0
    by_tags = f'epsilon = 1.0\nunit = "tags"\ninvalid = "replace"\n{columns}{dropped}"drop"\n'
    Path("plan.toml").write_text(by_tags, "utf-8")
    said = run("sanitize", "t.parquet", "--plan", "plan.toml", "-o", "unit.csv", "--ledger", "u.sqlite").refused()
    assert said.endswith("column tags); write it as text or numbers")  # it is dropped already
    drafted = ("plan", "t.parquet", "--epsilon", "1", "-o", "drafted.toml")
    assert run(*drafted, "--drop", "tags").code == 0
    for more in (("--unit", "tags", "--rows-per-person", "2"), ("--target", "tags"), ("--need", "sex,tags")):
        assert run(*drafted, *more).refused() == said

"""One meaning of a missing value in a file, whatever the kind of its columns."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_rows_in_parts import in_parts

from workbench.cli.main import main
from workbench.data.columns import profile as module
from workbench.data.columns.missing import with_codes
from workbench.data.columns.profile import profile
from workbench.data.columns.values import codes, numbers
from workbench.data.reading_options import merge_options, reading_of
from workbench.data.schema import GUESS, Attribute
from workbench.data.table_reader import ReadOptions, read_table
from workbench.params import InputError, ParameterError
from workbench.sanitize.plan import load_plan

ROWS = "age,town,empty,born\n31,Hue,NA,2001-02-03\nNA,NA,NA,NA\n-99,Hue,NA,2002-03-04\n44,none,NA,2003-04-05\n"
AGE = Attribute(name="age", kind="integer", lower=-100, upper=120, missing="own-value")
TOWN = Attribute(name="town", kind="category", domain=("Hue", "Hanoi"), missing="own-value")
BORN = Attribute(name="born", kind="date", lower=1, upper=999_999, missing="own-value")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def test_na_means_the_same_in_numbers_names_and_dates(file):
    table = read_table(file)
    assert np.isnan(numbers(table, AGE)).tolist() == [False, True, False, False]
    assert codes(table, TOWN).tolist() == [0, 2, 0, 2]
    assert np.isnan(numbers(table, BORN)).tolist() == [False, True, False, False]
    assert {c.name: (c.missing, c.distinct) for c in profile(table)} == {
        "age": (1, 3),
        "town": (2, 1),
        "empty": (4, 0),
        "born": (1, 3),
    }


def test_a_word_that_is_declared_as_a_value_is_one(file):
    town = Attribute(name="town", kind="category", domain=("Hue", "NA", "none"), other="Hue")
    assert codes(read_table(file), town).tolist() == [0, 1, 0, 2]


def test_codes_of_a_column_are_missing_before_anything_else(file):
    codes_of = {"age": ("44.0", "-99"), "town": ("Hue",), "born": ("2001-02-03",)}
    declared = [
        replace(a, missing_codes=codes_of[a.name], domain=a.domain and ("none", "x")) for a in (AGE, TOWN, BORN)
    ]
    table = with_codes(read_table(file), declared)
    assert np.isnan(numbers(table, AGE)).tolist() == [False, True, True, True]
    assert codes(table, declared[1]).tolist() == [2, 2, 2, 0]
    assert np.isnan(numbers(table, BORN)).tolist() == [True, True, False, False]
    assert {c.name: (c.missing, c.lower) for c in profile(table)}["age"] == (3, 31)
    assert not np.isnan(numbers(read_table(file), declared[0])[2]), "rows that are sanitised may be any number"
    with pytest.raises(ParameterError, match="'Hue' is declared missing and is one of the values"):
        replace(TOWN, missing_codes=("Hue",))


def test_stated_marks_replace_the_usual_ones_in_every_column(file):
    table = read_table(file, ReadOptions(missing=("NA", "-99")))
    assert np.isnan(numbers(table, AGE)).tolist() == [False, True, True, False]
    with pytest.raises(InputError, match="'none' is not in the domain"):
        codes(table, TOWN)
    assert {c.name: c.missing for c in profile(table)} == {"age": 2, "town": 1, "empty": 4, "born": 1}
    with pytest.raises(InputError, match="'NA' is not a number"):
        numbers(read_table(file, ReadOptions(missing=())), AGE)


def test_a_refused_missing_value_is_named_as_it_is_written(tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("age,x\n31,1\n-99,2\n", encoding="utf-8")
    strict = Attribute(name="age", kind="integer", lower=0, upper=120)
    with pytest.raises(InputError, match=r"the value is missing \('-99'\)"):
        numbers(read_table(path, ReadOptions(missing=("-99",))), strict)


def test_marks_that_the_rows_suggest_are_a_guess_of_the_plan(file):
    found = reading_of(read_table(file), ReadOptions(header="yes"))
    assert found is not None
    assert (found.missing, found.origin) == (("NA", "none"), GUESS)
    stated = ReadOptions(header="yes", missing=("NA",))
    assert merge_options(ReadOptions(), reading_of(read_table(file, stated), stated)).missing == ("NA",)


def test_the_command_line_states_marks_once_for_describe_and_plan(file, tmp_path, capsys):
    assert main(["describe", str(file), "--missing=-99,NA", "--json"]) == 0
    told = {c["name"]: c["missing"] for c in json.loads(capsys.readouterr().out)["columns"]}
    assert told == {"age": 2, "town": 1, "empty": 4, "born": 1}
    plan = tmp_path / "plan.toml"
    words = ["plan", str(file), "--epsilon", "1", "--from-data", "--drop", "empty", "--missing=-99,NA", "-o", str(plan)]
    assert main(words) == 0
    reading = load_plan(plan).reading
    assert reading is not None
    assert reading.missing == ("-99", "NA")


# -- The profile of a table that is read in parts, and of a column with too many different values to keep them all


CELLS = {
    "age": lambda k: str(k % 37),
    "word": lambda k: ("yes", "no", "NA", "")[k % 4],
    "pay": lambda k: f"{k % 50},5" if k != 171 else "7.5",  # two ways of writing
    "day": lambda k: f"{k % 28 + 1:02}/{k % 12 + 1:02}/2020" if k != 60 else "x",
    "code": lambda k: f"00{k}",
    "id": lambda k: str(1000 + k),
    "real": lambda k: f"{k * 37 % 101}.25" if k % 9 else " ",
}


def written(path: Path, rows: int) -> Path:
    lines = [";".join(CELLS), *(";".join(cell(k) for cell in CELLS.values()) for k in range(rows))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("missing", [None, ("no",)])
def test_the_profile_of_parts_is_that_of_the_whole(tmp_path, monkeypatch, missing):
    path = written(tmp_path / "a.csv", 400)
    options = ReadOptions(missing=missing)
    expected = profile(read_table(path, options))
    in_parts(monkeypatch, piece=300)
    table = read_table(path, options)
    assert profile(table) == expected
    assert table.in_parts
    assert any("row 172" in suspicion.why for suspicion in expected[2].suspicions)


def test_of_very_many_values_a_sample_is_kept(tmp_path, monkeypatch):
    path = written(tmp_path / "a.csv", 30_000)
    whole = {column.name: column for column in profile(read_table(path))}
    in_parts(monkeypatch, piece=20_000)
    monkeypatch.setattr(module, "_TOGETHER", 7 * 5_000)
    sampled = {column.name: column for column in profile(read_table(path))}
    for name in ("age", "word", "real"):
        assert sampled[name] == whole[name]
    found, exact = sampled["id"], whole["id"]
    assert exact.distinct == 30_000
    assert abs(found.distinct - 30_000) < 1_500
    assert (found.kind, found.missing, found.lower, found.upper) == ("integer", 0, exact.lower, exact.upper)
    assert [one.label for one in found.histogram] == [one.label for one in exact.histogram]
    assert abs(sum(one.count for one in found.histogram) - 30_000) <= 20
    assert {s.what for s in found.suspicions} == {"identifier", "estimate"}
    assert sampled["code"].values == ()

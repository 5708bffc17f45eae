"""A header that uses a name again is read with numbered names, as pandas reads it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import hypothesis.strategies as st
import pandas as pd
import pytest
from hypothesis import given

from workbench.data.csv.dialect_guess import different_names
from workbench.data.read import ReadOptions, read_table
from workbench.data.reading import reading_of
from workbench.sanitize.plan import Plan

NAMES = st.lists(st.sampled_from(["a", "a.1", "a.2", "a.1.1", "b", "B", "b.1"]), min_size=1, max_size=9)

COMPAS = "id,sex,age,decile_score,priors_count,decile_score,priors_count\n1,Male,69,1,0,1,0\n2,Female,34,3,0,3,0\n"


@given(NAMES)
def test_names_are_numbered_as_pandas_does(header: list[str]) -> None:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([header, ["1"] * len(header)])
    assert different_names(header) == list(pd.read_csv(io.StringIO(buffer.getvalue())).columns)


@given(NAMES)
def test_no_name_is_left_twice_and_a_header_of_different_names_is_unchanged(header: list[str]) -> None:
    made = different_names(header)
    assert len(set(made)) == len(header)
    assert different_names(made) == made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file whose header uses two names again."""
    (tmp_path / "compas.csv").write_text(COMPAS)
    return tmp_path / "compas.csv"


def test_a_doubled_header_opens_and_is_told_of(file: Path) -> None:
    table = read_table(file)
    assert table.names[3:] == ("decile_score", "priors_count", "decile_score.1", "priors_count.1")
    assert table.renamed == ("decile_score.1", "priors_count.1")
    assert [n for n in table.notices if "decile_score.1, priors_count.1" in n]


def test_the_exact_reader_numbers_them_too(file: Path) -> None:
    file.write_text(COMPAS.replace("69", '"6""9"'))
    assert read_table(file).names[-1] == "priors_count.1"


def test_a_plan_says_which_were_renamed_and_finds_them_again(file: Path) -> None:
    table = read_table(file)
    reading = reading_of(table, ReadOptions())
    assert reading is not None
    assert reading.renamed == table.renamed
    columns = tuple({"name": name, "action": "drop"} for name in table.names)
    raw = {"version": 1, "epsilon": 1.0, "reading": reading.to_plain(), "column": list(columns)}
    plan = Plan.from_plain(raw, where="test")
    assert plan.reading is not None
    assert plan.reading.renamed == table.renamed
    again = read_table(file, plan.reading.options, [c.name for c in plan.columns])
    assert again.names == table.names


def test_planned_names_settle_header_and_delimiter_of_a_doubled_header(file: Path) -> None:
    """Of text alone, the guess would take a doubled first row for values."""
    file.write_text("x;x\nu;v\nw;u\n")
    assert not read_table(file).dialect.header  # type: ignore[union-attr]
    table = read_table(file, None, ["x", "x.1"])
    assert table.names == ("x", "x.1")
    assert table.doubts == ()


def test_blank_names_keep_their_own_rule(file: Path) -> None:
    file.write_text("a,,a,\n1,2,3,4\n")
    assert read_table(file).names == ("a", "column2", "a.1", "column4")


def test_stated_names_must_still_differ() -> None:
    with pytest.raises(Exception, match="names names 'a' twice"):
        ReadOptions(names=("a", "a"))

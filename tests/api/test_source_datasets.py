"""A dataset of Python from every kind of source, with the options of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source_files import ROWS, coded, packed_zip, partitioned, workbook
from workbench import api
from workbench.params import InputError


def test_datasets_of_python_come_from_any_source(tmp_path: Path) -> None:
    workbook(tmp_path / "book.xlsx", "Notes")
    packed_zip(tmp_path / "two.zip", "a.csv", "b.csv")
    partitioned(tmp_path / "people")
    assert api.dataset(tmp_path / "book.xlsx", account="a")["age"].tolist() == [int(row[0]) for row in ROWS]
    assert list(api.dataset(tmp_path / "book.xlsx", account="a", reading={"sheet": "Notes"}).columns) == ["note"]
    assert len(api.dataset(tmp_path / "two.zip", account="a", reading={"member": "b.csv"})) == len(ROWS)
    assert len(api.dataset(tmp_path / "people", account="a")) == len(ROWS)


def test_what_a_file_declares_missing_is_stated_before_it_is_a_dataframe(tmp_path: Path) -> None:
    coded(tmp_path / "people.dta")
    with pytest.raises(InputError, match="which only the file says"):
        api.dataset(tmp_path / "people.dta", account="a")
    stated = {"labels": True, "missing_codes": "missing"}
    frame = api.dataset(tmp_path / "people.dta", account="a", reading=stated)
    assert frame["city"].dropna().tolist() == [row[2] for row in ROWS if row[2] is not None]

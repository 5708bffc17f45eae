"""Large Parquet files, and folders of them, are read in parts: the cells of a whole reading, in bounded memory."""

from __future__ import annotations

import contextlib
import datetime
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from workbench.data import private_file, read
from workbench.data.opened import Opened
from workbench.data.read import read_table
from workbench.data.sources import parquet, row_groups
from workbench.data.sources.row_groups import RowsOfGroups
from workbench.data.table import Table
from workbench.params import InputError

ROWS = 100


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "IN_PARTS_FROM", 0)
    monkeypatch.setattr(row_groups, "PIECE", 1)


def frame_of(rows: int = ROWS) -> pl.DataFrame:
    draw = np.random.default_rng(7)
    day = pl.Series(["2024-01-31 12:00:00"]).str.to_datetime()[0]
    return pl.DataFrame(
        {
            "n": [None if k % 11 == 0 else k for k in range(rows)],
            "x": draw.normal(0, 1e6, rows),
            "^a$": pl.Series([["", "a", "ö", None][k % 4] for k in range(rows)], dtype=pl.Categorical),
            "*": [day + datetime.timedelta(seconds=k, microseconds=k % 3) for k in range(rows)],
            "b": [k % 2 == 0 for k in range(rows)],
        }
    )


def whole(path: Path, patch: pytest.MonkeyPatch) -> Table:
    with patch.context() as later:
        later.setattr(read, "IN_PARTS_FROM", 1 << 30)
        found = read_table(path)
    assert isinstance(found.stored, pl.DataFrame)
    return found


@pytest.mark.parametrize("size", [1, 30, ROWS])
def test_parts_have_the_cells_of_a_whole_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_parts: None, size: int
) -> None:
    path = tmp_path / "a.parquet"
    frame_of(ROWS if size > 1 else 5).write_parquet(path, row_group_size=size)
    table, expected = read_table(path), whole(path, monkeypatch)
    assert isinstance(table.stored, RowsOfGroups)
    assert (table.rows, table.names, table.types) == (expected.rows, expected.names, expected.types)
    assert table.digest == expected.digest
    parts = list(table.parts())
    assert [part.rows for part in parts][:-1] == [size] * (len(parts) - 1)
    assert pl.concat([part.frame for part in parts]).equals(expected.frame)
    assert [part.rows_before for part in parts] == [k * size for k in range(len(parts))]
    for some in ([0, 3, expected.rows - 1], [expected.rows - 1], []):
        assert table.at(some).equals(expected.at(some))
    assert table.in_parts
    assert table.frame.equals(expected.frame)


def test_small_row_groups_are_joined_and_large_ones_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_parts: None
) -> None:
    path = tmp_path / "a.parquet"
    frame_of().write_parquet(path, row_group_size=10)
    frame_of().write_parquet(tmp_path / "large.parquet")
    expected = whole(path, monkeypatch)
    monkeypatch.setattr(row_groups, "PIECE", 1 << 30)
    for at_once, rows in ((35, [30, 30, 30, 10]), (60, [60, 40]), (1000, [100])):
        parts = list(read_table(path).parts(at_once))
        assert [part.rows for part in parts] == rows
        assert pl.concat([part.frame for part in parts]).equals(expected.frame)
    cut = [part.frame for part in read_table(tmp_path / "large.parquet").parts(60)]
    assert [part.height for part in cut] == [60, 40]
    assert pl.concat(cut).equals(expected.frame)


def test_a_folder_is_read_by_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_parts: None) -> None:
    frame = frame_of()
    for year, part in (("2023", frame[:40]), ("__HIVE_DEFAULT_PARTITION__", frame[40:41]), ("2024", frame[41:])):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        columns = part.columns[::-1] if year == "2024" else part.columns
        part[columns].write_parquet(tmp_path / "t" / f"year={year}" / "a.parquet", row_group_size=25)
    frame[:0].write_parquet(tmp_path / "t" / "year=2024" / "empty.parquet")
    table, expected = read_table(tmp_path / "t"), whole(tmp_path / "t", monkeypatch)
    assert isinstance(table.stored, RowsOfGroups)
    assert table.digest == expected.digest
    assert table.types == expected.types
    parts = [part.frame for part in table.parts()]
    assert pl.concat(parts).equals(expected.frame)
    assert parts[0]["year"].unique().to_list() == ["2023"]
    assert table.at([0, 39, 40, 99]).equals(expected.at([0, 39, 40, 99]))


def test_chosen_rows_of_many_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_STEP", 30)
    path, frame = tmp_path / "a.parquet", frame_of()
    frame.write_parquet(path)
    chosen = [0, 29, 30, 59, 95, 99]
    found = parquet.opened(path, {"chosen": chosen, "columns": frame.columns, "keys": {}})
    assert isinstance(found, Opened)
    assert found.read().equals(frame[chosen])


def test_many_files_stay_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_parts: None) -> None:
    monkeypatch.setattr(read, "_MOST_OPEN", 1)
    monkeypatch.setattr(read, "IN_PARTS_FROM", 1 << 13)
    for k in range(20):
        frame_of(10).write_parquet(tmp_path / f"{k}.parquet")
    assert not read_table(tmp_path).in_parts


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (pl.DataFrame({"a": [[1]]}), "the column holds list values"),
        (pl.DataFrame({"a": []}, {"a": pl.Int64}), "the table has no rows"),
        (pl.DataFrame({" ": [1]}), "column 1 has a blank name"),
    ],
)
def test_what_is_no_table_is_refused_before_a_part_is_read(
    tmp_path: Path, in_parts: None, frame: pl.DataFrame, sentence: str
) -> None:
    frame.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=sentence):
        read_table(tmp_path / "a.parquet")


def test_a_change_between_two_parts_is_refused(tmp_path: Path, in_parts: None) -> None:
    path = tmp_path / "a.parquet"
    frame_of().write_parquet(path, row_group_size=50)
    parts = read_table(path).parts()
    next(parts).frame.height  # noqa: B018 - it is read
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 9)
    with pytest.raises(InputError, match="the file changed while it was read"):
        next(parts).frame.height  # noqa: B018


def test_another_file_in_its_place_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_parts: None) -> None:
    path, frame = tmp_path / "a.parquet", frame_of()
    frame.write_parquet(path)
    table, expected = read_table(path), whole(path, monkeypatch)
    frame.reverse().write_parquet(tmp_path / "b.parquet")
    os.replace(tmp_path / "b.parquet", path)
    if table.stored.files[0][0].path is None:  # type: ignore[union-attr]
        with pytest.raises(InputError, match="the file changed while it was read"):
            next(table.parts()).frame.height  # noqa: B018
    else:
        assert next(table.parts()).frame.equals(expected.frame)


def test_damage_is_one_sentence_wherever_it_is(tmp_path: Path, in_parts: None) -> None:
    path = tmp_path / "a.parquet"
    frame_of().write_parquet(path, row_group_size=50)
    sound, draw = path.read_bytes(), np.random.default_rng(3)
    for _ in range(6):
        bytes_ = bytearray(sound)
        for at in draw.integers(4, len(sound) - 4, 9):
            bytes_[at] ^= int(draw.integers(1, 256))
        path.write_bytes(bytes_)
        with contextlib.suppress(InputError):
            assert all(part.frame.width == 5 for part in read_table(path).parts())


@pytest.mark.parametrize("named", [False, True])
def test_a_private_file_is_gone_after_its_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if named:  # as where the system has no other place
        monkeypatch.setattr(private_file, "path_of", lambda descriptor: None)

    def used() -> Any:
        with private_file.private_file() as (file, path):
            file.write(b"rows")
            file.flush()
            assert path.read_bytes() == b"rows"
            assert path.stat().st_mode & 0o077 == 0 or os.name == "nt"
            assert len(list(tmp_path.iterdir())) == int(named)
            raise KeyError

    with pytest.raises(KeyError):
        used()
    assert list(tmp_path.iterdir()) == []

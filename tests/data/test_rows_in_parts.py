"""A file that is read in parts has the same rows, names, lines and marks as one that is read into memory."""

import contextlib
import datetime
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data import private_file, table_reader
from workbench.data.csv import encoding, precheck, regular_rows
from workbench.data.opened_file import Opened
from workbench.data.rows_in_parts import each_part, with_empty_rows
from workbench.data.sources import parquet, row_groups
from workbench.data.sources.row_groups import RowsOfGroups
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import CancelledError, InputError
from workbench.signals.cancel import CancelToken

CELLS = st.sampled_from(
    ["", "a", "é", "12", "0.50", " x ", "long cell of words", "q,q", 'a "b"', "two\nlines", "c\r\nd"]
)


def in_parts(patch: pytest.MonkeyPatch, *, piece: int = 16, starts: int = 4, from_size: int = 0) -> None:
    """Read every file of text in parts of a few bytes."""
    patch.setattr(table_reader, "IN_PARTS_FROM", from_size)
    patch.setattr(regular_rows, "PIECE", piece)
    patch.setattr(precheck, "CHUNK", piece)
    patch.setattr(encoding, "CHUNK", piece)
    patch.setattr(precheck, "_MOST_STARTS", starts)


def together(table: Table, at_once: int = 1 << 18) -> pl.DataFrame:
    """Return the rows of all parts, after a look at where each part begins."""
    before, frames = 0, []
    for part in table.parts(at_once):
        assert part.rows_before == before
        assert 0 < part.rows <= at_once
        assert part.frame.height == part.rows
        before += part.rows
        frames.append(part.frame)
    return pl.concat(frames)


@settings(deadline=None, max_examples=150)
@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=12),
    mark=st.sampled_from(["\n", "\r\n"]),
    header=st.booleans(),
    tail=st.sampled_from(["", "\n", "\n\n\n"]),
    piece=st.integers(1, 60),
    at_once=st.integers(1, 5),
)
def test_parts_are_the_rows_of_the_whole(tmp_path_factory, rows, mark, header, tail, piece, at_once):
    path = tmp_path_factory.mktemp("parts") / "table.csv"
    quoted = [[f'"{c.replace(chr(34), 2 * chr(34))}"' if set(c) & set(',"\r\n') else c for c in row] for row in rows]
    lines = [",".join(row) for row in ([["one", "two", "three"], *quoted] if header else quoted)]
    path.write_bytes((mark.join(lines) + tail.replace("\n", mark)).encode())
    options = table_reader.ReadOptions(header="yes" if header else "no", delimiter=",", quote='"')
    refusal = ""
    try:
        whole = read_table(path, options)
    except InputError as error:
        refusal = str(error)
    if refusal:
        with pytest.MonkeyPatch.context() as patch:
            in_parts(patch, piece=piece)
            with pytest.raises(InputError) as again:
                read_table(path, options)
        assert str(again.value) == refusal
        return
    with pytest.MonkeyPatch.context() as patch:
        in_parts(patch, piece=piece)
        table = read_table(path, options)
        assert not whole.in_parts
        for name in ("names", "rows", "lines", "first_line", "blank_lines", "digest", "notices", "dialect"):
            assert getattr(table, name) == getattr(whole, name), name
        assert together(table, at_once).equals(whole.frame, null_equal=True)
        index = np.unique(np.linspace(0, whole.rows - 1, 5).astype(np.int64))
        assert table.at(index).equals(whole.at(index), null_equal=True)
        replaced, expected = table.with_invalid_replaced(), whole.with_invalid_replaced()
        assert (replaced.rows, replaced.first_line) == (expected.rows, expected.first_line)
        assert together(replaced, at_once).equals(expected.frame, null_equal=True)
        assert table.frame.equals(whole.frame, null_equal=True)
        assert not table.in_parts  # it is kept


def test_a_regular_file_is_read_in_parts(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "".join(f'{k},"v{k}"\n' for k in range(100)))
    in_parts(monkeypatch, piece=64, starts=128)
    table = read_table(path)
    assert table.in_parts
    assert len(list(table.parts())) > 5
    assert list(each_part(table, lambda part: part.frame["a"][0]))[:2] == ["0", str(next(table.parts()).rows)]
    assert table.in_parts


def test_an_error_of_a_part_names_the_row_of_the_table(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "".join(f"{k},{k}\n" for k in range(50)))
    in_parts(monkeypatch)
    last = list(read_table(path).parts())[-1]
    assert last.row_name(last.rows - 1) == "row 50, line 51"


@pytest.mark.parametrize("cut", [True, False])
def test_a_file_that_changes_is_refused(tmp_path, monkeypatch, cut):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "".join(f"{k},{k}\n" for k in range(50)))
    in_parts(monkeypatch)
    table = read_table(path)
    with path.open("r+b" if cut else "ab") as stream:
        stream.truncate(20) if cut else stream.write(b"1,2\n")
    with pytest.raises(InputError, match="changed while it was read"):
        together(table)


def test_a_table_that_does_not_fit_into_memory_is_not_loaded(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 50)
    in_parts(monkeypatch)
    table = read_table(path)
    monkeypatch.setattr("workbench.data.rows_in_parts._SHARE_OF_FREE", 0.0)
    with pytest.raises(InputError, match="whole table in memory"):
        _ = table.frame
    assert together(table).height == 50


def test_cancel_ends_between_parts(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 500)
    in_parts(monkeypatch)
    cancel, seen = CancelToken(), []

    def work(part: Table) -> int:
        seen.append(part.rows_before)
        cancel.cancel()
        return part.frame.height

    with pytest.raises(CancelledError):
        list(each_part(read_table(path), work, cancel))
    assert len(seen) < 10


def test_empty_rows_at_the_end():
    frame = pl.DataFrame({"a": ["1", "2"]})
    assert with_empty_rows(frame, np.array([0, 1, 2, 2]))["a"].to_list() == [None, "1", None, "2", None, None]


# -- Large Parquet files, and folders of them, are read in parts: the cells of a whole reading, in bounded memory


ROWS = 100


@pytest.fixture
def groups_in_parts(monkeypatch):
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0)
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
        later.setattr(table_reader, "IN_PARTS_FROM", 1 << 30)
        found = read_table(path)
    assert isinstance(found.stored, pl.DataFrame)
    return found


@pytest.mark.parametrize("size", [1, 30, ROWS])
def test_parts_have_the_cells_of_a_whole_reading(tmp_path, monkeypatch, groups_in_parts, size):
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


def test_small_row_groups_are_joined_and_large_ones_cut(tmp_path, monkeypatch, groups_in_parts):
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


def test_a_folder_is_read_by_its_files(tmp_path, monkeypatch, groups_in_parts):
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


def test_chosen_rows_of_many_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_STEP", 30)
    path, frame = tmp_path / "a.parquet", frame_of()
    frame.write_parquet(path)
    chosen = [0, 29, 30, 59, 95, 99]
    found = parquet.opened(path, {"chosen": chosen, "columns": frame.columns, "keys": {}})
    assert isinstance(found, Opened)
    assert found.read().equals(frame[chosen])


def test_many_files_stay_closed(tmp_path, monkeypatch, groups_in_parts):
    monkeypatch.setattr(table_reader, "_MOST_OPEN", 1)
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 1 << 13)
    for k in range(20):
        frame_of(10).write_parquet(tmp_path / f"{k}.parquet")
    assert not read_table(tmp_path).in_parts


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_line_of_totals_is_told_of_where_rows_are_not_in_memory(tmp_path, monkeypatch, groups_in_parts, name):
    in_parts(monkeypatch)
    frame = pl.DataFrame({"region": [*("north", "south") * 700, "Total"], "n": ["3"] * 1401})
    (frame.write_csv if name == "t.csv" else frame.write_parquet)(tmp_path / name)
    found = read_table(tmp_path / name, table_reader.ReadOptions(header="yes") if name == "t.csv" else None)
    assert found.in_parts
    assert found.last_rows == ("the last row begins with Total: delete it from the file if it is a line of totals",)
    assert found.in_parts


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (pl.DataFrame({"a": [[1]]}), "the column contains list values"),
        (pl.DataFrame({"a": []}, {"a": pl.Int64}), "the table has no rows"),
        (pl.DataFrame({" ": [1]}), "column 1 has a blank name"),
    ],
)
def test_what_is_no_table_is_refused_before_a_part_is_read(tmp_path, groups_in_parts, frame, sentence):
    frame.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=sentence):
        read_table(tmp_path / "a.parquet")


def test_a_change_between_two_parts_is_refused(tmp_path, groups_in_parts):
    path = tmp_path / "a.parquet"
    frame_of().write_parquet(path, row_group_size=50)
    parts = read_table(path).parts()
    next(parts).frame.height  # noqa: B018 - it is read
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 9)
    with pytest.raises(InputError, match="the file changed while it was read"):
        next(parts).frame.height  # noqa: B018


def test_another_file_in_its_place_is_not_read(tmp_path, monkeypatch, groups_in_parts):
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


def test_damage_is_one_sentence_wherever_it_is(tmp_path, groups_in_parts):
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
def test_a_private_file_is_gone_after_its_block(tmp_path, monkeypatch, named, request):
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

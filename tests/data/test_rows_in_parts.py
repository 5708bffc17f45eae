"""A file that is read in parts has the same rows, names, lines and marks as one that is read into memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data import read
from workbench.data.csv import encoding, precheck, regular_rows
from workbench.data.read import read_table
from workbench.data.rows_in_parts import each_part, with_empty_rows
from workbench.data.table import Table
from workbench.params import CancelledError, InputError
from workbench.signals.cancel import CancelToken

CELLS = st.sampled_from(
    ["", "a", "é", "12", "0.50", " x ", "long cell of words", "q,q", 'a "b"', "two\nlines", "c\r\nd"]
)


def in_parts(patch: pytest.MonkeyPatch, *, piece: int = 16, starts: int = 4, from_size: int = 0) -> None:
    """Read every file of text in parts of a few bytes."""
    patch.setattr(read, "IN_PARTS_FROM", from_size)
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
def test_parts_are_the_rows_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[str]],
    mark: str,
    header: bool,
    tail: str,
    piece: int,
    at_once: int,
) -> None:
    path = tmp_path_factory.mktemp("parts") / "table.csv"
    quoted = [[f'"{c.replace(chr(34), 2 * chr(34))}"' if set(c) & set(',"\r\n') else c for c in row] for row in rows]
    lines = [",".join(row) for row in ([["one", "two", "three"], *quoted] if header else quoted)]
    path.write_bytes((mark.join(lines) + tail.replace("\n", mark)).encode())
    options = read.ReadOptions(header="yes" if header else "no", delimiter=",", quote='"')
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


def test_a_regular_file_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "".join(f'{k},"v{k}"\n' for k in range(100)))
    in_parts(monkeypatch, piece=64, starts=128)
    table = read_table(path)
    assert table.in_parts
    assert len(list(table.parts())) > 5
    assert list(each_part(table, lambda part: part.frame["a"][0]))[:2] == ["0", str(next(table.parts()).rows)]
    assert table.in_parts


def test_an_error_of_a_part_names_the_row_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "".join(f"{k},{k}\n" for k in range(50)))
    in_parts(monkeypatch)
    last = list(read_table(path).parts())[-1]
    assert last.row_name(last.rows - 1) == "row 50, line 51"


@pytest.mark.parametrize("cut", [True, False])
def test_a_file_that_changes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: bool) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "".join(f"{k},{k}\n" for k in range(50)))
    in_parts(monkeypatch)
    table = read_table(path)
    with path.open("r+b" if cut else "ab") as stream:
        stream.truncate(20) if cut else stream.write(b"1,2\n")
    with pytest.raises(InputError, match="changed while it was read"):
        together(table)


def test_a_table_that_does_not_fit_into_memory_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 50)
    in_parts(monkeypatch)
    table = read_table(path)
    monkeypatch.setattr("workbench.data.rows_in_parts._SHARE_OF_FREE", 0.0)
    with pytest.raises(InputError, match="whole table in memory"):
        _ = table.frame
    assert together(table).height == 50


def test_cancel_ends_between_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_empty_rows_at_the_end() -> None:
    frame = pl.DataFrame({"a": ["1", "2"]})
    assert with_empty_rows(frame, np.array([0, 1, 2, 2]))["a"].to_list() == [None, "1", None, "2", None, None]

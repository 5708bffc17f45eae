"""Parquet and Feather become the same text cells as a CSV file."""

import datetime
from pathlib import Path

import polars as pl
import pytest

from workbench.data.columns.values import codes, numbers
from workbench.data.read import read_table
from workbench.data.schema import Attribute
from workbench.params import InputError

FRAME = pl.DataFrame(
    {
        "whole": [1, None, -3],
        "real": [0.1, 1e-7, float("nan")],
        "single": pl.Series([0.1, 2.0, None], dtype=pl.Float32),
        "truth": [True, False, None],
        "day": [datetime.date(2024, 1, 31), None, datetime.date(1, 1, 1)],
        "moment": [datetime.datetime(2024, 1, 31, 10, 30, 0, 5), datetime.datetime(2024, 1, 31), None],  # noqa: DTZ001
        "word": ["007", "", None],
        "class": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
    }
)
CELLS = [
    ("1", "0.1", "0.1", "true", "2024-01-31", "2024-01-31 10:30:00.000005", "007", "a"),
    (None, "1e-7", "2.0", "false", None, "2024-01-31 00:00:00", None, "b"),
    ("-3", "NaN", None, None, "0001-01-01", None, None, "a"),
]


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_cells_become_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"table[1]{suffix}"
    if suffix == ".parquet":
        FRAME.write_parquet(path)
    else:
        FRAME.write_ipc(path)
    table = read_table(path)
    assert table.frame.rows() == CELLS
    assert table.dialect is None
    assert table.row_name(2) == "row 3"
    kept = {"missing": "own-value"}
    assert numbers(table, Attribute(name="day", kind="date", **kept))[0] == datetime.date(2024, 1, 31).toordinal()
    assert codes(table, Attribute(name="truth", kind="boolean", **kept)).tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (pl.DataFrame({"a": [[1, 2], [3]]}), r"the column holds list values \(.*column a\)"),
        (pl.DataFrame({"a": [{"b": 1}]}), r"the column holds struct values"),
        (pl.DataFrame({"a": [b"x"]}), r"the column holds binary values"),
        (pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)}), "the table has no rows"),
        (pl.DataFrame({"": [1]}), "column 1 has no name"),
    ],
)
def test_cells_without_a_text_are_refused(tmp_path: Path, frame: pl.DataFrame, sentence: str) -> None:
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=f"^{sentence}"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_damaged_file_is_one_sentence(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    mark = {".parquet": b"PAR1", ".feather": b"ARROW1"}[suffix]
    path.write_bytes(mark + b" this is not one " + mark)
    with pytest.raises(InputError, match=r"the file is not a (Parquet|Feather) file, or it is damaged"):
        read_table(path)


def test_parquet_of_another_writer_is_read(shared_data: Path) -> None:
    table = read_table(shared_data / "taxi" / "green_tripdata_2024-01.parquet")
    assert (table.rows, len(table.names)) == (56551, 20)
    assert table.column("lpep_pickup_datetime")[0].startswith("2024-01-01 00:")

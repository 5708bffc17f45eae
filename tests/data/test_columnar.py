"""Parquet and Feather become the same text cells as a CSV file."""

import bz2
import csv
import datetime
import io
import json
import pickle

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given

from workbench.data.columns.values import codes, numbers
from workbench.data.csv.dialect_guess import different_names
from workbench.data.reading_options import reading_of
from workbench.data.schema import Attribute
from workbench.data.table_reader import ReadOptions, read_table
from workbench.params import InputError
from workbench.sanitize.plan import Plan

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
def test_cells_become_text(tmp_path, suffix):
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
        (
            pl.DataFrame({"a": [[1, 2], [3]]}),
            r"the column contains list values \(.*column a\); .*write the file " r"without",
        ),
        (pl.DataFrame({"a": [{"b": 1}]}), r"the column contains struct values"),
        (pl.DataFrame({"a": [b"x"]}), r"the column contains binary values"),
        (pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)}), "the table has no rows"),
        (pl.DataFrame({"": [1]}), "column 1 has no name"),
    ],
)
def test_cells_without_a_text_are_refused(tmp_path, frame, sentence):
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=f"^{sentence}"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.jsonl", "folder"])
def test_columns_of_lists_and_records_are_left_out(tmp_path, name):
    frame = pl.DataFrame({"*": [[1, 2], [3]], "a": [1, 2], "b": [{"c": 1}, {"c": 2}], "^.*$": ["x", "y"]})
    path = tmp_path / name
    if name == "folder":
        (path / "k=1").mkdir(parents=True)
        frame.write_parquet(path / "k=1" / "t.parquet")
    else:
        {".parquet": frame.write_parquet, ".feather": frame.write_ipc, ".jsonl": frame.write_ndjson}[path.suffix](path)
    table = read_table(path)
    assert [row[:2] for row in table.frame.rows()] == [("1", "x"), ("2", "y")]
    assert list(table.left_out) == ["*", "b"]
    assert [notice[:25] for notice in table.notices] == ["the column * is left out:", "the column b is left out:"]
    with pytest.raises(InputError, match=r"^the column contains (list values|a list \(line 1\)) \(.*column \*\); "):
        table.column("*")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_damaged_file_is_one_sentence(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    mark = {".parquet": b"PAR1", ".feather": b"ARROW1"}[suffix]
    path.write_bytes(mark + b" this is not one " + mark)
    with pytest.raises(InputError, match=r"the file is not a (Parquet|Feather) file, or it is damaged"):
        read_table(path)


def test_parquet_of_another_writer_is_read(shared_data):
    table = read_table(shared_data / "taxi" / "green_tripdata_2024-01.parquet")
    assert (table.rows, len(table.names)) == (56551, 20)
    assert table.column("lpep_pickup_datetime")[0].startswith("2024-01-01 00:")


# -- Files that are no table are refused for what they are, and a table that looks a little like one is read


CSV = b"age,city\n" + b"".join(b"%d,Graz\n" % n for n in range(200))
TWO_COLUMNS = pd.DataFrame({"age": [1, 2], "city": ["Graz", "Linz"]})


def _written(suffix: str) -> bytes:
    buffer = io.BytesIO()
    if suffix == "json":
        return TWO_COLUMNS.to_json().encode()
    if suffix == "records":
        return json.dumps(TWO_COLUMNS.to_dict("records"), indent=1).encode()
    if suffix == "html":
        return b"\n<!DOCTYPE html>\n<html><table><tr><td>1</td></tr></table></html>\n"
    if suffix == "npy":
        np.save(buffer, np.arange(3))
    elif suffix == "avro":
        pl.from_pandas(TWO_COLUMNS).write_avro(buffer)
    return buffer.getvalue()


ORC = b"ORC" + bytes(range(60)) * 3 + b"ORC\x18"
FILES = {
    "ORC": (ORC, "read_orc"),
    "Avro": (_written("avro"), "Parquet or CSV"),
    "JSON document": (_written("json"), "read_json"),
    "JSON document ": (b"\xef\xbb\xbf" + _written("records"), "read_json"),
    "ARFF": (b"% 1. Title\n%\n@RELATION iris\n\n@ATTRIBUTE a NUMERIC\n@DATA\n5.1\n", "Weka"),
    "PDF": (b"%PDF-1.7\n" + bytes(300), "CSV"),
    "pickle": (pickle.dumps(TWO_COLUMNS), "to_parquet"),
    "pickle ": (pickle.dumps({"a": [1, 2]}, protocol=2), "to_parquet"),
    "HTML": (_written("html"), "CSV"),
    "XML": (b'<?xml version="1.0"?>\n<rows/>\n', "CSV"),
    "NumPy": (_written("npy"), "numpy.load"),
}


@pytest.mark.parametrize("name", FILES)
def test_another_format_is_named_with_what_to_do(name, tmp_path):
    data, hint = FILES[name]
    for file in (tmp_path / "t.csv", tmp_path / "t"):
        file.write_bytes(data)
        with pytest.raises(InputError) as refused:
            read_table(file)
        told = str(refused.value)
        assert refused.value.code == "wrong-file-type", told
        assert name.strip() in told
        assert hint in told
        assert "FILE" not in told, "what is advised names the file in use"
        assert "\n" not in told


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_columnar_name_does_not_hide_what_a_file_is(suffix, tmp_path):
    file = tmp_path / f"t{suffix}"
    file.write_bytes(bz2.compress(CSV))
    assert read_table(file).rows == 200
    file.write_bytes(b"7z\xbc\xaf\x27\x1c" + CSV)
    with pytest.raises(InputError, match="7-Zip archive"):
        read_table(file)
    other = {".parquet": "write_ipc", ".feather": "write_parquet"}[suffix]
    getattr(pl.from_pandas(TWO_COLUMNS), other)(file)
    assert read_table(file).frame.rows() == [("1", "Graz"), ("2", "Linz")]


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("sftp://example.org/people.csv", "download the file"),
        ("hdfs://host/people?table=t", "download the file"),
        ("file:///tmp/people.csv", "its path"),
    ],
)
def test_an_address_is_not_looked_for_on_the_disk(address, hint):
    with pytest.raises(InputError, match=hint) as refused:
        read_table(address)
    assert "no such file" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "ORC,age\n1,2\n3,4\n",  # a column called so, and a last cell
        "a,b\n1,2\n3,ORC\n",
        "PAR,GZ\n1,2\n3,4\n",
        "[kg],[cm]\n1,2\n3,4\n",
        "{a},{b}\n1,2\n3,4\n",
        '"{""type"": 1}",b\n1,2\n3,4\n',
        "@relation_id,b\n1,2\n3,4\n",
        "% note\na,b\n1,2\n",
        "<5,>5\n1,2\n3,4\n",
        "html,xml\n1,2\n3,4\n",
        "iris,species\n1,2\n3,4\n",
    ],
)
def test_a_table_that_looks_a_little_like_another_format_is_read(text, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    options = ReadOptions(header="yes", delimiter="," if text.startswith("%") else None, comment="%")
    assert read_table(tmp_path / "t.csv", options).rows in (1, 2)


def test_what_a_person_states_goes_before_a_likeness(tmp_path):
    (tmp_path / "t.csv").write_text('{"a": 1};2\n{"a": 3};4\n')
    with pytest.raises(InputError, match="JSON"):
        read_table(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv", ReadOptions(delimiter=";", header="no", quote="none")).rows == 2


# -- A header that uses a name again is read with numbered names, as pandas reads it ----------------------------------


NAMES = st.lists(st.sampled_from(["a", "a.1", "a.2", "a.1.1", "b", "B", "b.1"]), min_size=1, max_size=9)

COMPAS = "id,sex,age,decile_score,priors_count,decile_score,priors_count\n1,Male,69,1,0,1,0\n2,Female,34,3,0,3,0\n"


@given(NAMES)
def test_names_are_numbered_as_pandas_does(header):
    buffer = io.StringIO()
    csv.writer(buffer).writerows([header, ["1"] * len(header)])
    assert different_names(header) == list(pd.read_csv(io.StringIO(buffer.getvalue())).columns)


@given(NAMES)
def test_no_name_is_left_twice_and_a_header_of_different_names_is_unchanged(header):
    made = different_names(header)
    assert len(set(made)) == len(header)
    assert different_names(made) == made


@pytest.fixture
def file(tmp_path):
    """Return a file whose header uses two names again."""
    (tmp_path / "compas.csv").write_text(COMPAS)
    return tmp_path / "compas.csv"


def test_a_doubled_header_opens_and_is_told_of(file):
    table = read_table(file)
    assert table.names[3:] == ("decile_score", "priors_count", "decile_score.1", "priors_count.1")
    assert table.renamed == ("decile_score.1", "priors_count.1")
    assert "decile_score.1, priors_count.1" in table.repeated
    assert table.notices == ()


def test_the_exact_reader_numbers_them_too(file):
    file.write_text(COMPAS.replace("69", '"6""9"'))
    assert read_table(file).names[-1] == "priors_count.1"


def test_a_plan_says_which_were_renamed_and_finds_them_again(file):
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


def test_planned_names_settle_header_and_delimiter_of_a_doubled_header(file):
    """Of text alone, the guess would take a doubled first row for values."""
    file.write_text("x;x\nu;v\nw;u\n")
    assert not read_table(file).dialect.header  # type: ignore[union-attr]
    table = read_table(file, None, ["x", "x.1"])
    assert table.names == ("x", "x.1")
    assert table.ambiguities == ()


def test_blank_names_keep_their_own_rule(file):
    file.write_text("a,,a,\n1,2,3,4\n")
    assert read_table(file).names == ("a", "column2", "a.1", "column4")


def test_stated_names_must_still_differ():
    with pytest.raises(Exception, match="names names 'a' twice"):
        ReadOptions(names=("a", "a"))

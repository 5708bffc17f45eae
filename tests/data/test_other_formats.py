"""Files that are no table are refused for what they are, and a table that looks a little like one is read."""

from __future__ import annotations

import bz2
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from workbench.data.read import ReadOptions, read_table
from workbench.params import InputError

CSV = b"age,city\n" + b"".join(b"%d,Graz\n" % n for n in range(200))
FRAME = pd.DataFrame({"age": [1, 2], "city": ["Graz", "Linz"]})


def _written(suffix: str) -> bytes:
    buffer = io.BytesIO()
    if suffix == "json":
        return FRAME.to_json().encode()
    if suffix == "records":
        return json.dumps(FRAME.to_dict("records"), indent=1).encode()
    if suffix == "html":
        return b"\n<!DOCTYPE html>\n<html><table><tr><td>1</td></tr></table></html>\n"
    if suffix == "npy":
        np.save(buffer, np.arange(3))
    elif suffix == "avro":
        pl.from_pandas(FRAME).write_avro(buffer)
    return buffer.getvalue()


ORC = b"ORC" + bytes(range(60)) * 3 + b"ORC\x18"
FILES = {
    "ORC": (ORC, "read_orc"),
    "Avro": (_written("avro"), "Parquet or CSV"),
    "JSON document": (_written("json"), "read_json"),
    "JSON document ": (b"\xef\xbb\xbf" + _written("records"), "read_json"),
    "ARFF": (b"% 1. Title\n%\n@RELATION iris\n\n@ATTRIBUTE a NUMERIC\n@DATA\n5.1\n", "Weka"),
    "PDF": (b"%PDF-1.7\n" + bytes(300), "CSV"),
    "pickle": (pickle.dumps(FRAME), "to_parquet"),
    "pickle ": (pickle.dumps({"a": [1, 2]}, protocol=2), "to_parquet"),
    "HTML": (_written("html"), "CSV"),
    "XML": (b'<?xml version="1.0"?>\n<rows/>\n', "CSV"),
    "NumPy": (_written("npy"), "numpy.load"),
}


@pytest.mark.parametrize("name", FILES)
def test_another_format_is_named_with_what_to_do(name: str, tmp_path: Path) -> None:
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
def test_a_columnar_name_does_not_hide_what_a_file_is(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"t{suffix}"
    file.write_bytes(bz2.compress(CSV))
    assert read_table(file).rows == 200
    file.write_bytes(b"7z\xbc\xaf\x27\x1c" + CSV)
    with pytest.raises(InputError, match="7-Zip archive"):
        read_table(file)
    other = {".parquet": "write_ipc", ".feather": "write_parquet"}[suffix]
    getattr(pl.from_pandas(FRAME), other)(file)
    assert read_table(file).frame.rows() == [("1", "Graz"), ("2", "Linz")]


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("sftp://example.org/people.csv", "download the file"),
        ("hdfs://host/people?table=t", "download the file"),
        ("file:///tmp/people.csv", "by its path"),
    ],
)
def test_an_address_is_not_looked_for_on_the_disk(address: str, hint: str) -> None:
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
def test_a_table_that_looks_a_little_like_another_format_is_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    options = ReadOptions(header="yes", delimiter="," if text.startswith("%") else None, comment="%")
    assert read_table(tmp_path / "t.csv", options).rows in (1, 2)


def test_what_a_person_states_goes_before_a_likeness(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('{"a": 1};2\n{"a": 3};4\n')
    with pytest.raises(InputError, match="JSON"):
        read_table(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv", ReadOptions(delimiter=";", header="no", quote="none")).rows == 2

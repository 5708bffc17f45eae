"""Rows in every format: what is written is what is read, and it is the same file whenever it is made."""

import datetime
import gzip
import io
import math
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from released import release_table

from workbench.data import table_reader
from workbench.data.sources.parquet import parts_of
from workbench.data.table import Table
from workbench.data.table_reader import ReadOptions, read_table
from workbench.params import InputError, ParameterError
from workbench.privacy.entropy import SeededEntropy
from workbench.release.kinds import TABLES
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import destination, prepare_rows, release_prepared
from workbench.release.table_formats import (
    FORMATS,
    TABLE_FORMATS,
    CodedRows,
    ReleasedText,
    TableFormat,
    released_table,
    suffix_of,
    table_format,
    types_of,
    written_like,
)
from workbench.release.verify import verified_release, verify_release
from workbench.sanitize.engine import draw
from workbench.sanitize.plan import Plan, load_plan
from workbench.sanitize.writing import PLAIN, Writing

KINDS = {"n": "integer", "x": "real", "day": "date", "c": "category"}
TEXT = pl.DataFrame(
    {
        "n": ["1", "-20", None, "9007199254740993"],
        "x": ["0.5", None, "-12.25", "100000.0"],
        "day": ["2024-02-29", "1899-12-31", None, "1999-01-01"],
        "c": ["=SUM(A1)", 'say "é", then; stop', "00123", None],
    }
)


def released(frame: pl.DataFrame = TEXT) -> ReleasedText:
    return ReleasedText(lambda start, stop: frame[start:stop], frame.height, types_of(KINDS))


def bytes_of(form: TableFormat, writing: Writing = PLAIN) -> bytes:
    return b"".join(form.write(released(), writing))


def as_numbers(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    columns = (pl.col("n").cast(pl.Int64), pl.col("x").cast(pl.Float64), pl.col("day").str.to_date(), pl.col("c"))
    return frame.select(columns).rows()


def test_the_list_of_the_kinds_is_that_of_the_formats():
    assert tuple(form.name for form in TABLE_FORMATS) == TABLES


@pytest.mark.parametrize("form", TABLE_FORMATS, ids=lambda form: form.name)
def test_what_is_written_is_read_again_and_the_bytes_are_the_same_every_time(form):
    data = bytes_of(form)
    assert as_numbers(form.read(data, PLAIN)) == as_numbers(TEXT)
    assert bytes_of(form) == data


def test_a_workbook_has_typed_cells_and_no_formula():
    with zipfile.ZipFile(io.BytesIO(bytes_of(table_format("xlsx")))) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert "<v>-20</v>" in sheet
    assert "9007199254740993" not in sheet.replace("<t>9007199254740993</t>", ""), "Excel would round it: it is text"
    dates = pl.read_excel(bytes_of(table_format("xlsx")), engine="calamine", infer_schema_length=0)["day"]
    assert dates.to_list()[:2] == ["2024-02-29 00:00:00", "1899-12-31"]


def test_semicolons_a_decimal_comma_and_an_encoding_come_back():
    writing = Writing(delimiter=";", decimal=",", encoding="cp1252")
    data = bytes_of(table_format("csv"), writing)
    assert data.decode("cp1252").splitlines()[1] == "1;0,5;2024-02-29;=SUM(A1)"
    assert "é" in data.decode("cp1252")
    packed = bytes_of(table_format("csv.gz"), writing)
    assert gzip.decompress(packed) == data
    assert packed[4:8] == b"\0" * 4, "no time"


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("a.csv", ".csv"), ("a.CSV.GZ", ".csv.gz"), ("a.tar.gz", None), ("a.b.jsonl", ".jsonl"), ("csv", None)],
)
def test_the_longest_suffix_counts(name, suffix):
    assert suffix_of(Path(name)) == suffix
    assert FORMATS[".csv.gz"] == "csv.gz"


def plan_of(*more: dict[str, object], **whole: object) -> Plan:
    first = {"name": "age", "kind": "integer", "lower": 0, "upper": 120}
    return Plan.from_plain({"epsilon": 1.0, **whole, "column": [{**first, **(more[0] if more else {})}, *more[1:]]})


def test_a_sheet_that_cannot_hold_the_rows_is_refused_before_the_charge():
    form = table_format("xlsx")
    form.require(plan_of(), 2**20 - 1)
    with pytest.raises(InputError, match="an Excel sheet has at most 1,048,575 rows"):
        form.require(plan_of(), 2**20)
    with pytest.raises(InputError, match="a row without a value"):
        form.require(plan_of({"missing": "own-value"}), 10)


def test_a_format_whose_library_is_not_installed_names_the_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="is not installed") as caught:
        table_format("xlsx").require(plan_of(), 1)
    assert "privacy-workbench[formats]" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("age;city\n30;Rome\n41;Oslo\n", ReadOptions(), Writing(delimiter=";")),
        ("age;x\n30;1,5\n41;2,5\n", ReadOptions(decimal=","), Writing(delimiter=";", decimal=",")),
        ("age|city\n30|Köln\n41|Oslo\n", ReadOptions(encoding="cp1252"), Writing(delimiter="|")),
        ("age\tcity\n30\tRome\n41\tOslo\n", ReadOptions(), Writing(delimiter="\t")),
        ("age,city\n30,Rome\n41,Oslo\n", ReadOptions(), None),
    ],
    ids=["semicolons", "decimal comma", "encoding", "tabs", "commas"],
)
def test_a_plan_takes_the_separator_of_the_file(tmp_path, text, options, expected):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(options.encoding or "utf-8"))
    made = written_like(plan_of(), read_table(path, options), "csv")
    assert made.writing == expected
    assert written_like(plan_of(), read_table(path, options), "xlsx").writing is None
    assert Plan.from_plain(made.to_plain() | {"epsilon": 1.0}) == made


def test_an_encoding_that_does_not_hold_a_public_value_is_not_taken(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("age,city\n30,Köln\n41,Oslo\n".encode("cp1252"))
    table = read_table(path, ReadOptions(encoding="cp1252"))
    more = {"name": "city", "kind": "category", "domain": ["Köln", "Oslo", "Łódź"]}
    assert written_like(plan_of({}, more), table, "csv").writing is None
    assert written_like(plan_of({}, {**more, "domain": ["Köln", "Oslo"]}), table, "csv").writing == Writing(
        encoding="cp1252"
    )


def test_a_writing_refuses_what_is_not_known():
    with pytest.raises(ParameterError, match="delimiter"):
        plan_of(writing={"delimiter": "x"})
    with pytest.raises(ParameterError, match="encoding"):
        plan_of(writing={"encoding": "no-such"})


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_a_release_in_every_format_agrees_with_its_certificate(tmp_path, suffix):
    text = "age;=x;day;'=x;@SUM(1)\n" + "".join(
        f"{k};{k % 10},5;2024-01-{k % 28 + 1:02};{'=Köln' if k % 3 else 'Oslo'};={k}+1\n" for k in range(60)
    )
    source = tmp_path / "people.csv"
    source.write_bytes(text.encode("cp1252"))
    columns = [
        {"name": "age", "kind": "integer", "lower": 0, "upper": 120},
        {"name": "=x", "kind": "real", "lower": 0, "upper": 10, "cells": 21},
        {"name": "day", "kind": "date", "lower": "2024-01-01", "upper": "2024-12-31", "missing": "own-value"},
        {"name": "'=x", "kind": "category", "domain": ["=Köln", "Oslo"]},
        {"name": "@SUM(1)", "action": "keep"},
    ]
    plan = Plan.from_plain({"epsilon": 8.0, "writing": {"defuse_formulas": True}, "column": columns})
    options = ReadOptions(encoding="cp1252", delimiter=";", decimal=",", header="yes")
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        done = release_table(plan, read_table(source, options), tmp_path / f"out{suffix}", ledger)
    assert verify_release(done.output) == []
    found = verified_release(done.output)
    assert found.rows == 60
    assert sorted(found.table.column("@SUM(1)").to_list()) == sorted(f"'={k}+1" for k in range(60))
    assert all(len(found.cells(name)) == 60 for name in ("age", "=x", "day", "'=x"))
    written = released_table(done.output, FORMATS[suffix], [], writing=found.plan.writing or PLAIN)
    assert written.names == ("age", "'=x", "day", "''=x", "'@SUM(1)"), "names are defused, and stay different"
    assert set(written.column("''=x")) == {"'=Köln", "Oslo"}, "declared values are defused, too"


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16", "utf-7"])
def test_lines_that_are_looked_up_are_those_of_the_text(delimiter, encoding):
    writing = Writing(delimiter=delimiter, decimal="," if delimiter == ";" else ".", encoding=encoding)
    labels = {
        "=a, quoted": ("x", "y;z", 'a "b"', "c,d", "two\nlines", "é"),
        "real": tuple(f"{k / 4}" for k in range(900)),
        "few": ("no", "yes"),
        "wide": tuple(f"value {k}" for k in range(40)),
    }
    generator = np.random.default_rng(1)
    cells = [generator.integers(0, len(texts) + 1, 500).astype(np.uint16) for texts in labels.values()]
    frame = pl.DataFrame(
        {name: [(*texts, None)[k] for k in own] for (name, texts), own in zip(labels.items(), cells, strict=True)}
    )
    coded = CodedRows(labels, lambda work: (work([own[k : k + 200] for own in cells]) for k in range(0, 500, 200)))
    types = {"real": pl.Float64()}
    parts = ReleasedText(None, 500, types, lambda: iter([frame[:200], frame[200:400], frame[400:]]))
    looked_up = ReleasedText(None, 500, types, coded=coded)
    form = table_format("csv")
    for asked in (ReleasedText.defused, lambda text: text.defused().headed()):
        written = [b"".join(form.write(asked(text), writing)).decode(encoding) for text in (looked_up, parts)]
        assert written[0] == written[1]
    assert "'=a, quoted" in written[0]
    assert "\ufeff" not in written[0]  # a byte order mark is at the beginning of the file alone


# -- Kept text that a format cannot hold is refused before a charge; what it could change is written as text


PLAN = """
version = 1
epsilon = 4.0
keep_order = true
{writing}
[[column]]
name = "age"
action = "protect"
kind = "integer"
lower = 0
upper = 120
missing = "refuse"

[[column]]
name = "t"
action = "keep"
"""


def kept_text(folder: Path, source: Path, name: str, writing: str = "") -> list[str | None]:
    """Return the kept column of a release of ``source``; an error leaves the ledger without a charge."""
    plan, out = folder / "plan.toml", folder / name
    plan.write_text(PLAN.format(writing=writing))
    table = read_table(source)
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        try:
            release_prepared(prepare_rows(load_plan(plan), table, destination(out, source)), ledger)
        except InputError:
            assert not ledger.releases(ledger.enter_for_release(table, None))
            raise
    assert verify_release(out) == []
    return read_table(out).frame["t"].to_list()


def parquet(folder: Path, cells: list[object]) -> Path:
    source = folder / "source.parquet"
    pl.DataFrame({"age": list(range(len(cells))), "t": cells}).write_parquet(source)
    return source


def test_a_text_too_long_for_excel_is_refused(tmp_path):
    with pytest.raises(InputError, match="column t, row 2"):
        kept_text(tmp_path, parquet(tmp_path, ["a", "x" * 40_000]), "out.xlsx")


@pytest.mark.parametrize("from_size", [0, 1 << 26])
def test_a_text_outside_the_encoding_is_refused(tmp_path, monkeypatch, from_size):
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", from_size)
    source = tmp_path / "source.csv"
    source.write_text("age,t\n1,a\n2,\u4e2d\n3,b\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot be written in cp1252.*row 2"):
        kept_text(tmp_path, source, "out.csv", '[writing]\nencoding = "cp1252"\n')


@pytest.mark.parametrize("name", ["out.xlsx", "out.jsonl", "out.csv"])
def test_every_real_number_survives(tmp_path, name):
    cells = [0.1 + 0.2, 1e-10, 1 / 3, math.inf, math.nan, 5e-324, -0.0]
    kept = kept_text(tmp_path, parquet(tmp_path, cells), name)
    assert kept == ["0.30000000000000004", "1e-10", "0.3333333333333333", "inf", "NaN", "5e-324", "-0.0"]


def test_links_in_a_folder_of_parquet_files_are_not_followed(tmp_path):
    below = tmp_path / "table" / "k=1"
    below.mkdir(parents=True)
    parquet(below, ["a"])
    for number in range(2):
        (below / f"l={number}").symlink_to(tmp_path / "table", target_is_directory=True)
    assert parts_of(tmp_path / "table") == [below / "source.parquet"]


def test_rows_that_were_read_twice_are_not_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0)
    source, plan = tmp_path / "source.csv", tmp_path / "plan.toml"
    source.write_text("age,t\n1,a\n2,b\n")
    plan.write_text(PLAN.format(writing=""))
    table = read_table(source)
    reader = prepare_rows(load_plan(plan), table, destination(tmp_path / "out.csv", source)).work.reader
    assert reader is not None
    for _ in range(2):
        for part in table.parts():
            reader.take(reader.of_part(part))
    with pytest.raises(InputError, match="changed while it was read"):
        reader.finish()


def test_a_formula_behind_blanks_or_in_wide_letters_is_defused(tmp_path):
    formulas = ["=1+1", " =1+1", "\u00a0=1", "\ufeff=1", "\n=1", "\uff1d1+1", "\u2212a1", "\uff201"]
    numbers = [" -1,5", "\u22121"]
    source = parquet(tmp_path, [*formulas, *numbers])
    kept = kept_text(tmp_path, source, "out.xlsx", "[writing]\ndefuse_formulas = true\n")
    assert kept == [*(f"'{cell}" for cell in formulas), *numbers]


# -- A Parquet file released as Parquet: a kept column has the type it had, and the same values -----------------------


KEPT = {
    "small": pl.Series([1, None, -3], dtype=pl.Int16),
    "share": pl.Series([0.1, 1e-7, None]),
    "single": pl.Series([0.1, 2.0, None], dtype=pl.Float32),
    "truth": pl.Series([True, None, False]),
    "day": pl.Series([datetime.date(2024, 1, 31), None, datetime.date(1, 1, 1)]),
    "moment": pl.Series([datetime.datetime(2024, 1, 31, 10, 30, 0, 5), None, None]),  # noqa: DTZ001
    "class": pl.Series(["a", None, "b"], dtype=pl.Categorical),
    "word": pl.Series(["007", "1e3", None]),
}


def released_typed(folder: Path, frame: pl.DataFrame, suffix: str = "parquet") -> pl.DataFrame:
    """Release ``frame`` from a Parquet file, every column but ``age`` kept, in its order; check the release."""
    frame.write_parquet(folder / "people.parquet")
    kept = [{"name": name, "action": "keep"} for name in frame.columns if name != "age"]
    age = {"name": "age", "kind": "integer", "lower": 0, "upper": 120}
    plan = Plan.from_plain({"epsilon": 3.0, "keep_order": True, "column": [age, *kept]})
    target = folder / f"out.{suffix}"
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        release_table(plan, read_table(folder / "people.parquet"), target, ledger)
    assert verify_release(target) == []
    return pl.read_parquet(target) if suffix == "parquet" else pl.read_csv(target)


def test_kept_columns_have_the_types_and_the_values_of_the_source(tmp_path):
    frame = pl.DataFrame({"age": [31, 47, 8], **KEPT})
    out = released_typed(tmp_path, frame)
    assert out.columns == frame.columns
    assert out.schema["age"] == pl.Int64
    for name in KEPT:
        assert out.schema[name] == frame.schema[name], name
        assert out[name].to_list() == frame[name].to_list(), name


def test_a_column_whose_text_does_not_give_the_values_back_stays_text():
    """Found out before anything is charged: a release must not fail for a type."""
    plan = Plan.from_plain(
        {
            "epsilon": 3.0,
            "column": [
                {"name": "age", "kind": "integer", "lower": 0, "upper": 120},
                *({"name": name, "action": "keep"} for name in ("good", "bad")),
            ],
        }
    )
    frame = pl.DataFrame({"age": ["31", "47"], "good": ["1", None], "bad": ["1", "one"]})
    table = Table(frame, "people.parquet", types={"age": pl.Int8(), "good": pl.Int8(), "bad": pl.Int8()})
    drawn = draw(plan, table, SeededEntropy(1))
    assert drawn.kept_types == {"good": pl.Int8()}
    types = types_of({c.column.name: c.column.kind for c in drawn.columns}) | drawn.kept_types
    assert ReleasedText(drawn.frame, drawn.rows, types).typed(drawn.frame()).schema == {
        "age": pl.Int64,
        "good": pl.Int8,
        "bad": pl.String,
    }


def test_a_text_file_is_released_as_before(tmp_path):
    out = released_typed(tmp_path, pl.DataFrame({"age": [31, 47, 8], "share": [0.1, 0.25, None]}), "csv")
    assert out["share"].to_list() == [0.1, 0.25, None]

"""Every source gives the same table, and one sentence where a file is damaged."""

import datetime
import errno
import gzip
import io
import os
import tempfile
import zipfile

import polars as pl
import pyreadstat
import pytest
import xlsxwriter

from tests.source_files import BINARY, NAMES, ROWS, WRITERS, coded, packed_zip, partitioned, workbook, written
from workbench.data.isolated_child import LEAST_UNFOLDED
from workbench.data.table_reader import ReadOptions, read_table
from workbench.params import InputError, ParameterError, errors

SECOND = ("people.csv.bz2", "people.csv.xz", "people.parquet", "people.feather", "people.sav", "people.xpt", "anything")
"""Formats that a library of another one reads, too."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SECOND else ()) for n in (*WRITERS, "anything")]
)
@pytest.mark.usefixtures("spawned")
def test_every_source_gives_the_same_rows(name, tmp_path):
    """Each is read by a process that starts as the program starts it, and loads what it needs by itself."""
    if name == "anything":  # what a file begins with decides, not its name
        path = written(tmp_path, "people.xlsx").rename(tmp_path / "anything")
    else:
        path = written(tmp_path, name)
    table = read_table(path)
    assert table.names == NAMES
    if ".parquet" in name or ".feather" in name:
        assert table.types["age"] == pl.Int64
        table = read_table(path)
        whole = [(a, w if "." in w else f"{w}.0", c, d) for a, w, c, d in ROWS]
        assert table.frame.rows() == whole
        return
    assert table.frame.rows() == ROWS
    assert not table.types
    text = ".csv" in name or ".zip" in name
    assert (table.dialect is not None) == text
    if text:
        assert table.dialect is not None
        assert (table.dialect.delimiter, table.dialect.encoding, table.dialect.header) == (",", "utf-8", True)


def test_a_folder_of_parquet_files_is_one_table_and_its_folders_are_a_column(tmp_path):
    folder = tmp_path / "people"
    partitioned(folder)
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden.parquet").write_text("")
    table = read_table(folder)
    assert table.names == (*NAMES, "part")
    assert table.rows == len(ROWS)
    assert table.column("part").unique().sort().to_list() == ["0", "1", "2"]
    assert table.column("city").to_list() == [row[2] for row in ROWS]
    pl.DataFrame({"other": [1]}).write_parquet(folder / "part=0" / "z.parquet")
    with pytest.raises(InputError, match=r"have different columns"):
        read_table(folder)
    (folder / "part=0" / "z.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(InputError, match=r"not a Parquet file, or it is damaged"):
        read_table(folder)


SOME = ("people.csv.gz", "people.xlsx", "people.dta")
"""Of each library one format in the default suite."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in SOME else pytest.mark.slow) for n in (*BINARY, "people.jsonl")]
)
def test_half_a_file_is_one_sentence(name, tmp_path):
    path = written(tmp_path, name)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 + 3])
    with pytest.raises(InputError) as refused:
        read_table(path)
    assert "\n" not in str(refused.value)
    assert str(refused.value).count(str(path)) == 1


def test_an_archive_with_several_members_names_them(tmp_path):
    path = tmp_path / "two.zip"
    packed_zip(path, "a.csv", "b/c.tsv", "__MACOSX/a.csv", "read me.md")
    with pytest.raises(InputError, match=r"the archive has 2 members: a.csv, b/c.tsv .*choose one with --member"):
        read_table(path)
    table = read_table(path, ReadOptions(member="b/c.tsv"))
    assert table.frame.rows() == ROWS
    assert (table.facts.part, table.facts.parts, table.facts.option) == ("b/c.tsv", ("a.csv", "b/c.tsv"), "member")
    with pytest.raises(InputError, match=r"no member 'd.csv' .*name one of a.csv, b/c.tsv"):
        read_table(path, ReadOptions(member="d.csv"))


def test_what_is_packed_is_not_unpacked_twice(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(written(tmp_path, "people.xlsx").read_bytes()))
    with pytest.raises(InputError, match=r"the packed file is not text: zip"):
        read_table(path)
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(InputError, match="the packed file is empty"):
        read_table(path)


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_a_bomb_is_refused_by_what_it_unfolds_into(kind, tmp_path):
    plain = b"0\n" * (LEAST_UNFOLDED // 2 + (1 << 20))
    path = tmp_path / "t"
    if kind == "gzip":
        path.write_bytes(gzip.compress(plain, 1))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("t.csv", plain)
    assert path.stat().st_size < 3_000_000
    with pytest.raises(InputError, match="the file expands to more than 268 MB"):
        read_table(path)


def test_what_is_unpacked_to_the_disk_leaves_no_file(tmp_path, monkeypatch):
    from workbench.data.sources import compressed

    monkeypatch.setattr(compressed, "IN_MEMORY", 100)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spilled"))
    (tmp_path / "spilled").mkdir()
    table = read_table(written(tmp_path, "people.csv.gz"))
    assert table.frame.rows() == ROWS
    assert list((tmp_path / "spilled").iterdir()) == []


def test_packed_text_is_read_as_stated(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress("größe;x\n1,5;2\n".encode("cp1252") * 3))
    table = read_table(path, ReadOptions(encoding="cp1252", delimiter=";", decimal=",", header="no"))
    assert table.names == ("column1", "column2")
    assert table.rows == 6


def test_numbers_of_json_lines_stay_as_they_are_written(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1.0, "b": "x\\ny"}\n{"a": 1e-3, "c": true}\n\n{"a": null}\n', "utf-8")
    table = read_table(path)
    assert table.names == ("a", "b", "c")
    assert table.frame.rows() == [("1.0", "x\ny", None), ("1e-3", None, "true"), (None, None, None)]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"a": [1]}', r"the column contains a list \(line 2\) \(.*column a\)"),
        ('{"a": {"b": 1}}', r"the column contains an object \(line 2\) \(.*column a\)"),
        ('{"a": 1, "a": 2}', "line 2 has the same name twice"),
        ("[1, 2]", "line 2 contains no object"),
        ('{"a": 1', "line 2 is not JSON"),
        ("[" * 100_000, "line 2 is not JSON"),
    ],
)
def test_a_line_that_is_no_row_is_refused_with_its_place(line, sentence, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"a": 1}}\n{line}\n{{"a": 2}}\n', "utf-8")
    with pytest.raises(InputError, match=f"^{sentence}"):
        read_table(path)
    replaced = read_table(path, names=["a"], replace_invalid=True)
    assert replaced.frame.rows() == [("1",), (None,), ("2",)]


def test_a_sheet_is_chosen_and_so_is_a_part_of_it(tmp_path):
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet("Empty")
        first = book.add_worksheet("First")
        first.write_row(2, 1, ["About this table"])
        for k, row in enumerate([("a", "b"), (1, 2.5), (3, 4)]):
            first.write_row(4 + k, 1, row)
        book.add_worksheet("Second").write_row(0, 0, ["x"])
    table = read_table(path)
    assert table.facts.part == "First"
    assert table.facts.parts == ("First", "Second")
    assert "the sheet First is read; the workbook has others: Second; use --sheet" in table.notices
    for options in (ReadOptions(skip_lines=3), ReadOptions(range="B5:C7"), ReadOptions(range="b5")):
        assert read_table(path, options).frame.to_dicts() == [{"a": "1", "b": "2.5"}, {"a": "3", "b": "4"}]
    assert read_table(path, ReadOptions(range="B6:C7", header="no")).names == ("column1", "column2")
    assert read_table(path, ReadOptions(range="B6:C7", names=("p", "q"))).frame.rows() == [("1", "2.5"), ("3", "4")]
    with pytest.raises(InputError, match=r"no sheet 'Third' .*name one of Empty, First, Second"):
        read_table(path, ReadOptions(sheet="Third"))
    with pytest.raises(InputError, match="the sheet Empty has no cells"):
        read_table(path, ReadOptions(sheet="Empty"))
    with pytest.raises(ParameterError, match="is no range"):
        ReadOptions(range="everything")


def test_one_sheet_with_cells_is_taken_without_a_word(tmp_path):
    workbook(tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx").notices == ()


def test_cells_of_a_workbook_are_what_is_seen_in_them(tmp_path):
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        day, time = book.add_format({"num_format": "yyyy-mm-dd"}), book.add_format({"num_format": "hh:mm"})
        percent = book.add_format({"num_format": "0%"})
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["n", "n", "", "truth", "text", "error", "day", "moment", "time", "share"])
        sheet.write_row(1, 0, [1.0, 0.1, 1e-7, True, "007"])
        sheet.write_formula(1, 5, "=NA()", None, "#N/A")
        sheet.write_datetime(1, 6, datetime.datetime(2024, 1, 31), day)  # noqa: DTZ001
        sheet.write_datetime(1, 7, datetime.datetime(2024, 1, 31, 10, 30), day)  # noqa: DTZ001
        sheet.write_datetime(1, 8, datetime.time(10, 30), time)
        sheet.write_number(1, 9, 0.25, percent)
        sheet.write_row(3, 0, [2, 3, 4, False, " x "])
    table = read_table(path)
    assert table.names == ("n", "n.1", "column3", "truth", "text", "error", "day", "moment", "time", "share")
    first = ("1", "0.1", "0.0000001", "true", "007", None, "2024-01-31", "2024-01-31 10:30:00", "10:30:00", "0.25")
    assert table.frame.row(0) == first
    assert table.frame.row(1)[:5] == ("2", "3", "4", "false", " x ")
    assert "cells with an error are read as missing: 1 #N/A" in table.notices
    assert tuple(table.blank_lines) == (1,)
    assert table.renamed == ("n.1",)


@pytest.mark.parametrize(("suffix", "code"), [(".sav", "9"), (".dta", ".a")])
def test_labels_and_missing_codes_of_a_file_are_shown_and_not_declared(suffix, code, tmp_path):
    path = tmp_path / f"t{suffix}"
    coded(path)
    table = read_table(path)
    expected = [{"Graz": "1", "Linz": "2"}.get(row[2] or "") for row in ROWS]
    assert table.column("city").to_list() == expected
    assert table.facts.labels == {"age": "Age in years", "city": "City of birth"}
    assert table.facts.values == {"city": {"1": "Graz", "2": "Linz"}}
    assert table.facts.missing == {"city": (code,)}
    as_values = read_table(path, ReadOptions(missing_codes="values"))
    assert as_values.column("city").to_list() == [cell or code for cell in expected]
    assert as_values.facts.values["city"][code] == "no answer"
    assert read_table(path, ReadOptions(labels=True)).column("city").to_list() == [row[2] for row in ROWS]


def test_text_of_another_encoding_in_an_spss_file_is_one_sentence_or_read_as_stated(tmp_path):
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(pl.DataFrame({"a": ["Graz"]}).to_pandas(), str(path), version=10)
    path.write_bytes(path.read_bytes().replace(b"Graz", b"Gr\xe4z"))
    assert read_table(path, ReadOptions(encoding="cp1252")).frame.rows() == [("Gräz",)]


@pytest.mark.parametrize(("name", "module"), [("people.xlsx", "fastexcel"), ("people.sav", "pyreadstat")])
def test_a_library_that_is_not_installed_is_named(name, module, tmp_path, monkeypatch):
    path = written(tmp_path, name)
    monkeypatch.setattr(errors, "is_missing", lambda asked: asked == module)
    with pytest.raises(ParameterError, match=rf"needs {module}, which is not installed .*\[formats\]"):
        read_table(path)


def test_a_full_disk_while_a_file_is_unpacked_is_one_sentence(tmp_path, monkeypatch):
    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress(b"age,city\n31,Rome\n"))

    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("workbench.data.sources.compressed.tempfile.SpooledTemporaryFile", lambda *a, **k: Full())
    with pytest.raises(InputError, match="cannot be unpacked: no space left"):
        read_table(packed)


@pytest.mark.parametrize(
    ("above", "titles", "said"),
    [
        ([["Visits 2025", None, None], [None, None, None]], 2, "row 3 names all; use --skip-lines 2"),
        ([["Visits", None, None], ["all wards", None, None]], 2, "names 1 of 3 columns"),
        ([["a", "b", None], ["x", 1, 2]], 0, ""),  # a header with a gap
        ([], 0, ""),
    ],
)
def test_titles_above_the_header_of_a_sheet_are_said(tmp_path, above, titles, said):
    path = tmp_path / "visits.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("Visits")
        for row, cells in enumerate([*above, ["ward", "age", "cost"], ["A", 3, 2.5], ["B", 5, 1]]):
            sheet.write_row(row, 0, cells)
        book.add_worksheet("empty")
    table = read_table(path)
    assert table.facts.titles == titles
    assert said in " ".join(table.notices)
    assert table.facts.parts == ("Visits",)
    if titles:
        skipped = read_table(path, ReadOptions(skip_lines=titles))
        assert (skipped.names, skipped.rows, skipped.facts.titles) == (("ward", "age", "cost"), 2, 0)


def test_a_row_below_titles_is_called_by_its_place_in_the_sheet_where_a_range_is_read(tmp_path):
    path = tmp_path / "visits.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for row, cells in enumerate([["Visits 2025"], [], ["ward", "age", "cost"], ["A", 3, 2.5], ["B", 5, 1]]):
            sheet.write_row(row + 4, 1, cells)
    said = read_table(path, ReadOptions(range="B5:D20")).notices
    assert [n for n in said if "row 7 names all; use --skip-lines 2" in n]
    assert read_table(path, ReadOptions(range="B5:D20", skip_lines=2)).names == ("ward", "age", "cost")

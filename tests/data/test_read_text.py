"""Reading delimited text: what is guessed, what is stated, and how a fault is told."""

import csv
import os
from pathlib import Path

import pytest

from workbench.data.csv import file as delimited
from workbench.data.csv.options import Dialect, ReadOptions
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import CancelledError, InputError, ParameterError
from workbench.signals.cancel import CancelToken


def write(tmp_path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    path = tmp_path / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def dialect_of(table: Table) -> Dialect:
    assert table.dialect is not None
    return table.dialect


@pytest.mark.parametrize(
    ("content", "delimiter", "decimal", "header"),
    [
        ("a,b\n1,x\n2,y\n", ",", ".", True),
        ("a;b\n1,5;2,5\n3,25;4,0\n", ";", ",", True),
        ("1,5;2,5\n3,25;4,0\n", ";", ",", False),
        ("a\tb, c\n1\tSmith, John\n2\tDoe, Jane\n", "\t", ".", True),
        ("a|b\n1.5|x,y\n2.5|z\n", "|", ".", True),
        ("name\nSmith, John\nDoe, Jane\n", "", ".", True),
        ("Wert\n1,5\n2,75\n", "", ",", True),
        ("country,2019,2020\nA,1.5,2.5\nB,3.5,1.5\n", ",", ".", True),
        ("red,small\nblue,large\nred,large\nblue,small\n", ",", ".", False),
        ("day,fee\n2024-01-31,1\n2024-02-01,2\n", ",", ".", True),
    ],
)
def test_dialect_is_guessed(tmp_path, content, delimiter, decimal, header):
    dialect = dialect_of(read_table(write(tmp_path, content)))
    assert (dialect.delimiter, dialect.decimal, dialect.header) == (delimiter, decimal, header)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_everyday_table_is_read_without_any_option(tmp_path, delimiter, quote, line_end):
    rows = [
        ["id", "size", "day", "who", "remark"],
        ["1", "2,5", "2024-01-31", "Smith, John", "it's"],
        ["2", "13,25", "2024-02-01", "O'Brien", "a; b | c"],
        ["3", "", "2024-02-02", "Müller", "two\nlines"],
        ["4", "1,75", "2024-02-03", "Łódź", 'say "hi"'],
    ]
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(
            file, delimiter=delimiter, quotechar=quote, lineterminator=line_end, quoting=csv.QUOTE_ALL
        ).writerows(rows)
    table = read_table(path)
    assert [list(table.names), *([cell or "" for cell in row] for row in table.frame.rows())] == rows
    assert (dialect_of(table).delimiter, dialect_of(table).quote, dialect_of(table).decimal) == (delimiter, quote, ",")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "name,city\nZoë,Köln\nJosé,Łódź\n"),
        ("utf-8-sig", "name,city\nZoë,Köln\nJosé,Łódź\n"),
        ("utf-16", "name,city\nZoë,Köln\nJosé,Łódź\n"),
        ("utf-16-le", "name,city\nZoë,Köln\nJosé,Łódź\n"),
        ("utf-16-be", "name,city\nZoë,Köln\nJosé,Łódź\n"),
        ("cp1252", "name,price\nRené,5 €\nChloé,7 €\nJosé,9 €\n"),
        ("latin-1", "Größe;Straße\n1,5;Müller\n2,7;Jäger\n"),
        ("cp1251", "имя,город\nИван,Москва\nПётр,Казань\n"),
        ("shift_jis", "名前,年齢\n太郎,31\n花子,27\n山田,45\n"),
    ],
)
def test_encoding_is_guessed_and_the_guess_is_told(tmp_path, encoding, text):
    table = read_table(write(tmp_path, text, encoding))
    delimiter = dialect_of(table).delimiter
    assert [delimiter.join(table.names), *map(delimiter.join, table.frame.rows())] == text.splitlines()
    certain = encoding.startswith("utf")
    assert (not table.notices) == certain
    assert certain or dialect_of(table).encoding in table.notices[0]


def test_options_win_over_the_guess(tmp_path):
    path = write(tmp_path, "a;b,c\n'1';2,3\n")
    options = ReadOptions(delimiter=";", quote="'", decimal=",", header="no")
    table = read_table(path, options)
    assert table.frame.rows() == [("a", "b,c"), ("1", "2,3")]
    assert table.names == ("column1", "column2")
    assert dialect_of(table).decimal_given


def test_quote_none_takes_quote_marks_as_text(tmp_path):
    table = read_table(write(tmp_path, 'height,name\n5\'9",Jo\n6" 2,Al\n'), ReadOptions(quote="none"))
    assert table.column("height").to_list() == ["5'9\"", '6" 2']


def test_row_that_holds_the_plans_names_is_the_header(tmp_path):
    path = write(tmp_path, "2019,2020\n1,2\n3,4\n")
    assert not dialect_of(read_table(path)).header
    table = read_table(path, names=["2020", "2019"])
    assert dialect_of(table).header
    assert table.names == ("2019", "2020")


def test_one_planned_column_needs_no_delimiter(tmp_path):
    path = write(tmp_path, "remark\nyes,no\nno,yes\n")
    assert read_table(path, names=["remark"]).frame.rows() == [("yes,no",), ("no,yes",)]


def test_empty_cells_are_missing_and_zeros_stay(tmp_path):
    table = read_table(write(tmp_path, 'zip,x\n007,""\n010,\nNA, \n'))
    assert table.frame.rows() == [("007", None), ("010", None), ("NA", " ")]


def test_blank_lines_are_skipped_between_rows_and_missing_in_one_column(tmp_path):
    wide = read_table(write(tmp_path, "\n\na,b\n1,2\n\n3,4\n\n"))
    assert wide.frame.rows() == [("1", "2"), ("3", "4")]
    assert wide.row_name(1) == "row 2"
    narrow = read_table(write(tmp_path, "a\n1\n\n3\n"))
    assert narrow.frame.rows() == [("1",), (None,), ("3",)]


def test_row_name_gives_the_line_where_it_differs(tmp_path):
    assert read_table(write(tmp_path, "a,b\n1,2\n3,4\n")).row_name(1) == "row 2, line 3"
    assert read_table(write(tmp_path, "1,2\n3,4\n")).row_name(1) == "row 2"
    assert read_table(write(tmp_path, 'a,b\n"1\n",2\n3,4\n')).row_name(1) == "row 2"


def test_unknown_column_is_answered_with_the_nearest(tmp_path):
    table = read_table(write(tmp_path, "Glucose,Age\n1,2\n"))
    with pytest.raises(InputError, match="there is no column 'glucos', did you mean 'Glucose'"):
        table.column("glucos")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a,b\n1,2\n1,2,3\n", r"row 2 has 3 cells, the header has 2 \(.*, line 3\)"),
        ("a,b\n1,2\n1\n", r"row 2 has 1 cell, the header has 2 \(.*, line 3\)"),
        ("1,2\n3,4\n5\n", r"row 3 has 1 cell, row 1 has 2 \(.*, line 3\)"),
        ('a,b\n"x\ny",2\n1\n', r"row 2 has 1 cell, the header has 2 \(.*, line 4\)"),
        ('a,b\n"x\ny",2\nz,"1\n2\n', r"a quoted cell of row 2 is never closed \(.*, line 4\)"),
        ('a,b\n"x\ny" z,2\n', r'there is a stray quote mark " in row 1 \(.*, line 3\)'),
        (
            'a,b\n1, "2"\n',
            r'there is a stray quote mark " in row 1 \(.*, line 2\); use --trim if blanks .*, wrap its cell',
        ),
        ('a,b "c\n1,2\n', r'there is a stray quote mark " in row 1 \(.*, line 1\)'),
        ("a,b\n", r"the table has a header but no rows"),
        ("\n\r\n", r"the file holds only blank lines"),
        ("", r"the file is empty"),
        (b"a,b\n1,\x00\x01\x02\n", r"the file is not text \(it has zero bytes\)"),
        (bytes(range(1, 32)) * 20, r"the file is not text \(it has control characters\)"),
        (b"\x1f\x8b\x08\x00rest", r"the file is not a gzip file, or it is damaged"),
        (b"PAR1rest", r"the file is not a Parquet file, or it is damaged"),
    ],
)
def test_fault_is_one_sentence_with_its_place(tmp_path, content, sentence):
    with pytest.raises(InputError, match=f"^{sentence}") as refusal:
        read_table(write(tmp_path, content))
    assert "\n" not in str(refusal.value)


def test_missing_file_and_folder_and_pipe_are_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="this is a folder, not a file"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="there is no such file"):
        read_table("a\0b.csv")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match="this is not a regular file"):
            read_table(tmp_path / "pipe")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_unreadable_file_is_refused(tmp_path):
    path = write(tmp_path, "a,b\n1,2\n")
    path.chmod(0)
    with pytest.raises(InputError, match="the file cannot be read: permission denied"):
        read_table(path)


def test_wrong_encoding_names_the_line(tmp_path):
    path = write(tmp_path, "a,b\n1,2\nZoë,3\n", "cp1252")
    with pytest.raises(InputError, match=r"the file is not written in utf-8 \(.*, line 3\); name its encoding"):
        read_table(path, ReadOptions(encoding="utf8"))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"encoding": "utf-99"}, "encoding = 'utf-99' is not known"),
        ({"encoding": "rot13"}, "encoding = 'rot13' is not known"),
        ({"delimiter": "ab"}, "delimiter = 'ab' is not one character"),
        ({"delimiter": "\n"}, "delimiter = '\\\\n' is not one character"),
        ({"quote": "x"}, "quote = 'x' is not one character"),
        ({"delimiter": "'", "quote": "'"}, "delimiter and quote are both"),
        ({"decimal": ";"}, "decimal = ';' is not known"),
        ({"header": "maybe"}, "header = 'maybe' is not known"),
    ],
)
def test_impossible_options_are_refused(options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        ReadOptions(**options)


def test_words_stand_for_delimiters():
    assert ReadOptions(delimiter="tab").delimiter == "\t"
    assert ReadOptions(delimiter="\\t").delimiter == "\t"


def test_cancel_stops_the_reading(tmp_path, monkeypatch):
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        read_table(write(tmp_path, "a,b\n1,2\n"), cancel=token)
    monkeypatch.setattr(delimited, "_BATCH", 1)
    with pytest.raises(CancelledError):
        read_table(write(tmp_path, "a,b\n1,2\n\n3,4\n"), ReadOptions(encoding="latin-1"), cancel=token)


def test_names_that_look_like_patterns_are_only_names(tmp_path):
    table = read_table(write(tmp_path, '^a.*$,*\n"",1\n2,3\n'))
    assert table.column("^a.*$").to_list() == [None, "2"]
    assert table.column("*").to_list() == ["1", "3"]


def test_titles_above_the_header_that_a_spreadsheet_has_filled_up_are_said(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("Visits 2025;;\nof all wards;;\nward;age;cost\nA;3;2.5\nB;5;1\nC;;3\n", "utf-8")
    table = read_table(path)
    assert (table.facts.titles, table.names[0]) == (2, "Visits 2025")
    assert table.notices == (
        "the first row names 1 of 3 columns, and row 3 names all; use --skip-lines 2 if that is the header",
    )
    skipped = read_table(path, ReadOptions(skip_lines=2))
    assert (skipped.facts.titles, skipped.names, skipped.notices) == (0, ("ward", "age", "cost"), ())


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("A;3\nB;5\n", ()),
        ("A;3\n;\nB;5\n", ()),
        ("A;3\nB;5\n;\n", ("the last row has no value",)),
        ("A;3\nGesamt:;3\n;\n ; \n", ("the last 2 rows have no value", "the last row begins with Gesamt:")),
        ("A;3\n;TỔNG CỘNG\n", ("the last row begins with TỔNG CỘNG",)),
        ("Total;3\nA;3\nTotally;5\n", ()),
    ],
)
def test_blank_rows_and_a_line_of_totals_at_the_end_are_told_of_and_kept(tmp_path, rows, said):
    path = tmp_path / "wards.csv"
    path.write_text(f"ward;age\n{rows}", "utf-8")
    table = read_table(path)
    assert tuple(each.split(":")[0] for each in table.to_check) == tuple(each.split(":")[0] for each in said)
    assert table.rows == rows.count("\n")

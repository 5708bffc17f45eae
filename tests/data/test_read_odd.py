"""Every odd file of the shared collection is read as its expectation says, or refused in one sentence."""

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.data.columns.values import numbers
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import InputError

Check = Callable[[Table, Path], None]


def rows(table: Table) -> list[list[str]]:
    return [["" if cell is None else cell for cell in row] for row in table.frame.rows()]


def real(table: Table, name: str, decimal: str | None = None) -> list[float]:
    """Read numbers, with the decimal mark that a person states."""
    assert table.dialect is not None
    if decimal is not None:
        table = replace(table, dialect=replace(table.dialect, decimal=decimal, decimal_given=True))
    return numbers(table, Attribute(name=name, kind="real", missing="own-value")).tolist()


def same_as_objects(table: Table, folder: Path) -> None:
    expected = json.loads((folder / Path(table.source).with_suffix(".expected.json").name).read_text())
    assert [dict(zip(table.names, row, strict=True)) for row in rows(table)] == expected


def same_as_plain_csv(table: Table, folder: Path) -> None:
    with (folder / Path(table.source).with_suffix(".expected.csv").name).open(newline="") as file:
        expected = list(csv.reader(file))
    assert [list(table.names), *rows(table)] == expected


def apostrophes(table: Table, folder: Path) -> None:
    assert table.dialect is not None
    assert (table.dialect.quote, table.dialect.escape) == ("'", "bare")
    same_as_plain_csv(table, folder)


def decimal_commas(table: Table, folder: Path) -> None:
    assert table.dialect is not None
    assert table.dialect.decimal == ","
    assert table.rows == 8
    assert len(table.names) == 28
    finances = real(table, "FINANZ_STATO_FSC", ",")
    assert finances[:6] == [80000000.0, 1400000.0, 424428.0, 525572.0, 385000000.0, 577000.0]
    assert all(math.isnan(value) for value in finances[6:])
    assert real(table, "PROGRAMMATO_INDICATORE_1")[:3] == [1.5, 300.0, 424428.0]


def locale(table: Table, folder: Path) -> None:
    assert table.names == ("a", "b", "c")
    assert (real(table, "a", ","), real(table, "b", ","), table.column("c").to_list()) == ([1.7], [200000000.0], [None])


def thousands(table: Table, folder: Path) -> None:
    assert table.column("name").to_list() == ["rick", "lorenzo", "lorry", "helly", "patrick"]
    assert real(table, "money", ".") == [100000.0, 300000.2, 300000000.4, 50.0, 9999999999.2]


def backslashes(table: Table, folder: Path) -> None:
    expected = [["123", "TEST8", "text1"], ["345", "TEST8", "text'2'text"], ["567", "TEST8", "text3"]]
    assert rows(table) == expected
    assert table.dialect is not None
    assert (table.dialect.delimiter, table.dialect.header) == ("|", False)


def nameless_column(table: Table, folder: Path) -> None:
    assert table.names == ("a", "column2", "c")
    assert rows(table) == [["123", "TEST1", "text1"], ["345", "TEST1", "text2"]]
    assert table.notices == ("the header names no column 2; it is called column2",)


def shift_jis(table: Table, folder: Path) -> None:
    text = (folder / Path(table.source).name).read_bytes().decode("shift_jis")
    assert [list(table.names), *rows(table)] == list(csv.reader(text.splitlines()))
    assert table.dialect is not None
    assert table.dialect.encoding == "shift_jis"


def mixed_dates(table: Table, folder: Path) -> None:
    assert rows(table)[2] == ["3", "03/10/2024"]
    with pytest.raises(InputError, match=r"^'03/10/2024' has the year last.*column B, row 3, line 4"):
        numbers(table, Attribute(name="B", kind="date"))


def mixed_line_ends(table: Table, folder: Path) -> None:
    assert rows(table) == [["10", "hello", "20"], ["20", "world", "30"], ["30", "test", "30"]]


def big_number(table: Table, folder: Path) -> None:
    assert rows(table) == [["82544000000000707.52"]]
    assert real(table, "bignumber") == [82544000000000707.52]


def leading_zeros(table: Table, folder: Path) -> None:
    assert table.column("CODGEO").to_list() == ["09001", "09002", "09003", "09004", "09005", "09006"]


def byte_order_mark(table: Table, folder: Path) -> None:
    assert table.names == ("Date", " Open", " High", " Low", " Close", " Volume")
    assert table.rows == 251


def emoji(table: Table, folder: Path) -> None:
    assert (table.rows, len(table.names)) == (4, 16)
    assert table.column("val1")[0] == "😄" * 10


def null_byte(table: Table, folder: Path) -> None:
    assert rows(table) == [["\0", "2", "3"]]


def header_newline(table: Table, folder: Path) -> None:
    assert table.names == ("\t\n\x0b\x0c\r start \t\n\x0b\x0c\r end \t\n\x0b\x0c\r", "b", "c")
    assert rows(table) == [["d", "e", "f"]]


READ: dict[str, Check] = {
    "spectrum-comma_in_quotes": same_as_objects,
    "spectrum-empty": same_as_objects,
    "spectrum-json": same_as_objects,
    "spectrum-newlines_crlf": same_as_objects,
    "spectrum-quotes_and_newlines": same_as_objects,
    "spectrum-simple_crlf": same_as_objects,
    "commons-bom": byte_order_mark,
    "commons-emoji": emoji,
    "csvkit-null_byte": null_byte,
    "csvkit-test_locale": locale,
    "csvkit-test_header_newline": header_newline,
    "duckdb-missing_header_col": nameless_column,
    "duckdb-single_quote_backslash": backslashes,
    "duckdb-comma_decimal_null": decimal_commas,
    "duckdb-big_number": big_number,
    "duckdb-shift_jis": shift_jis,
    "duckdb-mixed_line_endings": mixed_line_ends,
    "duckdb-mixed_dates": mixed_dates,
    "duckdb-multi_column_quote": thousands,
    "duckdb-leading_zeros": leading_zeros,
    "pollock-file_quotation_char_0x27": apostrophes,
    "pollock-file_record_delimiter_0xD": same_as_plain_csv,
}
REFUSED: dict[str, str] = {
    # Comment lines and blank ones between rows of four cells: no table without knowing the comment mark.
    "commons-test": r"row 1 has 1 cell, the header has 4 \(.*, line 2\); correct that row",
    # Its expectation is two rows of one empty cell, which is a table without a value.
    "sineemore-all-empty": r"the file holds only blank lines",
    "sineemore-bad-header-more-fields": r"row 1 has 4 cells, the header has 3 \(.*, line 2\)",
    "sineemore-bad-missing-quote": r"a quoted cell of row 1 is never closed \(.*, line 2\)",
    "sineemore-bad-unescaped-quote": r'there is a stray quote mark " in row 1 \(.*, line 2\)',
    "sineemore-bad-quotes-with-unescaped-quote": r'there is a stray quote mark " in row 1 \(.*, line 2\)',
    "duckdb-unterminated": r"a quoted cell of row 1 is never closed \(.*, line 1\)",
    "duckdb-inconsistent_columns_3": r"row 1 has 4 cells, the header has 3 \(.*, line 2\)",
}


def test_every_odd_file_has_an_expectation(shared_data):
    manifest = json.loads((shared_data / "odd" / "manifest.json").read_text())
    assert {case["id"] for case in manifest} == READ.keys() | REFUSED.keys()
    assert not READ.keys() & REFUSED.keys()


@pytest.mark.parametrize("case", READ)
def test_odd_file_is_read_as_expected(case, shared_data):
    folder = shared_data / "odd"
    READ[case](read_table(folder / f"{case}.csv"), folder)


@pytest.mark.parametrize("case", REFUSED)
def test_odd_file_is_refused_in_one_sentence(case, shared_data):
    with pytest.raises(InputError, match=REFUSED[case]) as refusal:
        read_table(shared_data / "odd" / f"{case}.csv")
    assert "\n" not in str(refusal.value)

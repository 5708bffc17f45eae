"""What Python's csv module writes in any dialect is read back cell by cell, on the fast and on the exact path."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.csv.file import DelimitedFile
from workbench.data.csv.options import DOUBLED, Dialect, ReadOptions
from workbench.data.csv.precheck import regular_shape
from workbench.data.csv.strict_reader import records
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import InputError
from workbench.signals.cancel import CancelToken

# Zero bytes and a byte-order mark in a cell are for the encoding tests; halves of characters cannot be written.
CELLS = st.text(
    st.one_of(
        st.sampled_from("ab1.,;|\t'\"\\ \n\r-é漢😄#"),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"),
    ),
    max_size=6,
)
WIDTHS = st.integers(1, 5)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    width = draw(WIDTHS)
    return draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=8))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("roundtrip") / "table.csv"


def cells(table: Table) -> list[list[str]]:
    return [["" if cell is None else cell for cell in row] for row in table.frame.rows()]


@settings(max_examples=150, deadline=None)
@given(
    rows=tables(),
    delimiter=st.sampled_from([",", ";", "\t", "|", ":", "^"]),
    quote=st.sampled_from(['"', "'"]),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-8-sig", "gb18030"]),
)
def test_any_dialect_is_read_back_equal(path, rows, delimiter, quote, line_end, quoting, encoding):
    if quoting == csv.QUOTE_MINIMAL:
        # The writer leaves a line end bare that is not its own, which no reader could tell from its own.
        rows = [[cell.replace("\r", "_").replace("\n", "_") for cell in row] for row in rows]
    names = [f"name {k}" for k in range(len(rows[0]))]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, quotechar=quote, lineterminator=line_end, quoting=quoting)
    writer.writerows([names, *rows])
    path.write_bytes(buffer.getvalue().encode(encoding))
    options = ReadOptions(encoding=encoding, delimiter=delimiter, quote=quote, header="yes", decimal=".")
    table = read_table(path, options)
    assert table.names == tuple(names)
    assert cells(table) == rows
    assert cells(read_table(path, options, names=names)) == rows


@settings(max_examples=150, deadline=None)
@given(
    text=st.text(st.sampled_from('a1,"\n\r'), min_size=1, max_size=40),
    width=st.integers(1, 3),
    piece=st.integers(1, 8),
)
def test_fast_check_lets_through_only_what_the_exact_reader_reads(text, width, piece):
    view = np.frombuffer(text.encode(), np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workbench.data.csv.precheck.CHUNK", piece)
        shape = regular_shape(view, ord(","), ord('"'), width, CancelToken())
    assert shape == regular_shape(view, ord(","), ord('"'), width, CancelToken())
    if shape is None:
        return
    found = list(records(text, Dialect(escape=DOUBLED)))
    widths = {len(record.cells) or 1 for record in found}  # a blank line is one empty cell
    assert widths == {width}
    assert shape.records == len(found)
    if shape.one_line_each:
        assert [record.line for record in found] == list(range(1, len(found) + 1))


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.sampled_from('a1,"\n\r'), min_size=1, max_size=40), blank=st.text("\r\n", max_size=4))
def test_fast_and_exact_reading_agree(path, text, blank):
    path.write_bytes(b"x,y\n" + text.encode() + blank.encode())
    options = ReadOptions(encoding="utf-8", delimiter=",", quote='"', header="yes")
    readings = []
    for exact in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if exact:
                patch.setattr(DelimitedFile, "_read_fast", lambda self, dialect, columns: None)
            try:
                table = read_table(path, options)
                readings.append((cells(table), table.first_line))
            except InputError as refusal:
                readings.append((str(refusal), None))
    (fast, fast_line), (slow, slow_line) = readings
    assert fast == slow
    assert fast_line in (slow_line, None)  # the fast check does not place rows where any cell spans lines


@settings(max_examples=120, deadline=None)
@given(content=st.binary(min_size=1, max_size=200) | st.text(max_size=80).map(lambda text: text.encode("utf-16")))
def test_any_bytes_are_a_table_or_one_sentence(path, content):
    path.write_bytes(content)
    try:
        table = read_table(path)
    except InputError as refusal:
        sentence = str(refusal)
    else:
        assert table.rows > 0
        assert len(set(table.names)) == len(table.names) == table.frame.width
        return
    assert "\n" not in sentence
    assert str(path) in sentence


def test_regular_file_larger_than_one_piece_takes_the_fast_path(path, monkeypatch):
    monkeypatch.setattr("workbench.data.csv.encoding.CHUNK", 64)
    monkeypatch.setattr("workbench.data.csv.precheck.CHUNK", 64)
    expected = [[f'{k}, "q"', "line\nbreak" if k % 7 == 0 else "plain", str(k)] for k in range(200)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c"], *expected])
    with monkeypatch.context() as patch:
        patch.setattr(DelimitedFile, "_read_exactly", lambda self, dialect, columns: pytest.fail("the slow path"))
        assert cells(read_table(path)) == expected

"""What a cell says never depends on another row: the loss of privacy of every release rests on that."""

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.columns.grid import grid, matrix
from workbench.data.columns.values import codes, numbers
from workbench.data.csv.options import Dialect, ReadOptions
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import InputError

Cells = Sequence[str | None]

SPACES = st.sampled_from(["", "", "", " ", "\t"])
WORDS = st.sampled_from([None, "", "NA", " null ", "NaN", "-nan", "inf", "none", "-", "x", "\u0661"])
FIGURES = st.one_of(
    st.from_regex(r"[+-]?[0-9]{1,4}([.,][0-9]{1,4}){0,3}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["-0", "0.123", "0,123", "1.234", "1,234", "1,234.5", "1.234,5", "1_000", "1 000", "007"]),
    WORDS,
)
DAYS = st.one_of(
    st.builds(
        lambda form, y, m, d: form.format(y=y, m=m, d=d),
        st.sampled_from(
            [
                *("{y:04d}-{m:02d}-{d:02d}", "{y:04d}/{m}/{d}", "{y:04d}.{m}.{d} 10:30", "{y:04d}{m:02d}{d:02d}"),
                *("{d}/{m}/{y:04d}", "{m:02d}.{d:02d}.{y:04d}", "{d}-{m}-{y:04d}T1:30", "{y:02d}-{m:02d}-{d:02d}"),
            ]
        ),
        st.integers(0, 9999),
        st.integers(0, 13),
        st.integers(0, 32),
    ),
    st.sampled_from(["+2024-01-31", "2024-1-5", "24-01-31", "2024-01-31", "03.12.2020", "03/12/2020"]),
    WORDS,
)


def table(cells: Cells, dialect: Dialect | None) -> Table:
    return Table(pl.DataFrame({"x": pl.Series(cells, dtype=pl.String)}), "file.csv", dialect, 2)


def padded(cells: st.SearchStrategy[str | None]) -> st.SearchStrategy[list[str | None]]:
    one = st.builds(lambda left, cell, right: cell and left + cell + right, SPACES, cells, SPACES)
    return st.lists(one, min_size=2, max_size=6)


def said(read: Any, cells: Cells, dialect: Dialect | None) -> list[float] | None:
    """Return what the cells say, or ``None`` where one of them is refused."""
    try:
        out: list[float] = np.nan_to_num(read(table(cells, dialect)), nan=-1e300).tolist()
    except InputError:
        return None
    return out


def assert_each_cell_speaks_for_itself(read: Any, cells: Cells, dialect: Dialect | None) -> None:
    alone = [said(read, [cell], dialect) for cell in cells]
    together = said(read, cells, dialect)
    if any(one is None for one in alone):
        assert together is None
    else:
        assert together == [one[0] for one in alone if one]


@settings(max_examples=120, deadline=None)
@given(
    padded(FIGURES),
    st.sampled_from(["integer", "real"]),
    st.sampled_from(["refuse", "own-value"]),
    st.sampled_from([None, Dialect(), Dialect(decimal=",")] + [Dialect(decimal=m, decimal_given=True) for m in ".,"]),
)
def test_each_number_is_read_by_itself(cells, kind, missing, dialect):
    attribute = Attribute(name="x", kind=kind, missing=missing)
    assert_each_cell_speaks_for_itself(lambda t: numbers(t, attribute), cells, dialect)


@settings(max_examples=120, deadline=None)
@given(padded(DAYS), st.sampled_from([None, "day-first", "month-first"]), st.sampled_from(["refuse", "own-value"]))
def test_each_date_is_read_by_itself(cells, order, missing):
    attribute = Attribute(name="x", kind="date", missing=missing, date_order=order)
    assert_each_cell_speaks_for_itself(lambda t: numbers(t, attribute), cells, Dialect())


@settings(max_examples=60, deadline=None)
@given(
    padded(st.sampled_from(["true", "No", "YES", "0", "1", "maybe", "t", "", None, "NA"])),
    st.sampled_from(
        [
            Attribute(name="x", kind="boolean", missing="own-value"),
            Attribute(name="x", kind="boolean"),
            Attribute(name="x", kind="boolean", domain=("No", "YES")),
            Attribute(name="x", kind="category", domain=("true", "No", "0"), other="rest", missing="own-value"),
            Attribute(name="x", kind="category", domain=("true", "No", "YES", "0", "1", "maybe", "t")),
        ]
    ),
)
def test_each_word_is_read_by_itself(cells, attribute):
    assert_each_cell_speaks_for_itself(lambda t: codes(t, attribute), cells, Dialect())


DATE = Attribute(name="x", kind="date", lower=737425, upper=737790, missing="own-value")
REAL = Attribute(name="x", kind="real", lower=0, upper=2000, missing="own-value")


@pytest.mark.parametrize(
    ("attribute", "rest", "lone"),
    [
        (DATE, "03/12/2020", ["13/02/2020", "02/13/2020", None]),
        (DATE, "03.12.2020", ["02.13.2020", None]),
        (DATE, "2020-03-12", ["20-03-12", "03.12.2020", "NA", None]),
        (REAL, "1.234", ["1,5", "1.234,5", "1.234.567", None]),
        (REAL, "1,234", ["1.5", "1,5", "1,234,567", None]),
        (REAL, "12", ["1,5", "0,123", "1_0", None]),
    ],
)
@pytest.mark.parametrize("dialect", [Dialect(), Dialect(decimal=","), None], ids=["point", "comma guessed", "none"])
def test_one_row_never_turns_the_others(attribute, rest, lone, dialect):
    readings = set()
    for last in lone:
        try:
            t = table([rest] * 50 + [last], dialect)
            cells = grid(attribute).encode(t)
            assert matrix(t, [attribute]).shape == (51, 1)
        except InputError:
            continue
        readings.add(tuple(cells[:50]))
    assert len(readings) <= 1


def test_the_declared_order_settles_every_date():
    cells = ["03/12/2020", "12.3.2020 10:00", "2020-03-12", "20200312"]
    for order, day in (("day-first", datetime.date(2020, 12, 3)), ("month-first", datetime.date(2020, 3, 12))):
        read = numbers(table(cells, None), Attribute(name="x", kind="date", date_order=order))
        other = datetime.date(2020, 15 - day.month, day.month)
        march = datetime.date(2020, 3, 12).toordinal()
        assert read.tolist() == [day.toordinal(), other.toordinal(), march, march]


# One row more in a file must leave the cells of the other rows alone, or put the reading in doubt, or refuse.
FILES = {
    "one Latin-1 row in UTF-8": ("d,b\n" + "café,y\n" * 40, b"caf\xe9,x\n"),
    "one backslash among doubled quotes": ('d,b\n"C:\\\\x",y\n' * 40, b'"say \\"hi\\"",x\n'),
    "one cell in apostrophes": ("d,b\n" + "x,y\n" * 40 + "y" * 140_000 + ',z\n"q",z\n', b"'v',x\n"),
    "one cell in bare apostrophes": ("d,b\n" + "'it''s','y'\n" * 40, b"'won't','x'\n"),
    "one decimal comma": ("d;b\n" + "1.234;2.5\n" * 40, b"1,5;1,5\n" * 1),
    "one semicolon": ("d,b\n" + "x,y\n" * 40, b"a;b,c\n"),
    "one name in the first place": ("d,b\n" + "x,y\n" * 40, b"d,b\n"),
    "one number among words": ("d,b\n" + "x,y\n" * 40, b"1,2\n"),
    "one blank line": ("d,b\n" + "x,y\n" * 40, b"\n"),
    "one cell over two lines": ("d,b\n" + "x,y\n" * 40, b'"a\nb",y\n'),
    "one line end of another kind": ("d,b\n" + "x,\n" * 40, b"a,b\r\n"),
}


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("first", [False, True], ids=["last row", "first row"])
def test_one_row_of_a_file_turns_no_other_without_a_doubt(tmp_path, case, first):
    text, row = FILES[case]
    header, body = text.encode().split(b"\n", 1)
    readings = []
    for name, content in (("without.csv", body), ("with.csv", row + body if first else body + row)):
        path = tmp_path / name
        path.write_bytes(header + b"\n" + content)
        read = read_table(path, names=header.decode().replace(";", ",").split(","))
        try:
            read.require_certain()
        except InputError:
            continue
        readings.append(read.frame)
    if len(readings) == 2:
        without, with_row = readings
        more = with_row.height - without.height
        rest = with_row.slice(more) if first else with_row.head(without.height)
        assert rest.equals(without)


def test_a_plain_table_is_never_in_doubt(tmp_path):
    for content in (
        "age,city\n31,Graz\n47,Wien\n",
        "name\nAnn\nBo\n",
        "a,b\nx,y\nx,y\n",
        'a,b\n"say ""hi""","x, y; z"\n1,2\n',
        "a;b\nx;1\ny;2\n",
        "a\tb\n1\tSmith, John\n",
        "city,note\nKöln,it's\n",
        "\ufeffa,b\n1,2\n",
    ):
        path = tmp_path / "t.csv"
        path.write_text(content, "utf-8", newline="")
        read = read_table(path)
        assert read.dialect is not None
        assert read.dialect.header
        assert read.ambiguities == ()
        read.require_certain()


@pytest.mark.parametrize(
    ("content", "stated", "told"),
    [
        (
            "d,b\nCafé,y\nThé,x\n".encode("cp1252"),
            {"encoding": "cp1252"},
            'the encoding was guessed as cp1252, which one row can change: --encoding cp1252 reads "Café", '
            '--encoding cp1253 reads "Cafι", --encoding mac_roman reads "CafÈ"',
        ),
        (
            b"d,b\n'x','y'\n",
            {"quote": "'"},
            'the quote mark was guessed as \', which one row can change: --quote "\'" reads "x", '
            "--quote none reads \"'x'\"",
        ),
        (
            b'd,b\n"a\\"b",y\n',
            {"escape": "backslash"},
            "the way quote marks are escaped was guessed as backslash, which one row can change: "
            '--escape backslash reads "a"b", --escape doubled cannot read the file',
        ),
        (
            b"d;b\n1,5;2,5\n",
            {"decimal": ","},
            'the decimal mark was guessed as ,, which one row can change: --decimal "," reads 1,5 as 1.5, '
            "--decimal . reads 1,5 as no number",
        ),
        (
            b"x,1\ny,2\nz,3\n",
            {"header": "no"},
            "the first row was taken for values, not for names, which one row can change: "
            "--header no reads x | 1 as values, --header yes reads x | 1 as names",
        ),
        (
            b"d;b,c\nx;y,1\nx;y,2\n",
            {"delimiter": ","},
            'the delimiter was guessed as ,, which one row can change: --delimiter "," reads "d;b | c", '
            '--delimiter ";" reads "d | b,c", --delimiter none reads "d;b,c"',
        ),
        (
            b"d\tb;c\tx\nx\ty;1\tv\n",
            {"delimiter": "tab"},
            'the delimiter was guessed as tab, which one row can change: --delimiter tab reads "d | b;c | x", '
            '--delimiter ";" reads "d\\tb | c\\tx", --delimiter none reads "d\\tb;c\\tx"',
        ),
    ],
)
def test_an_uncertain_guess_is_refused_with_what_else_it_could_be(tmp_path, content, stated, told):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    read = read_table(path)
    with pytest.raises(InputError) as refusal:
        read.require_certain()
    assert str(refusal.value) == f"{told} ({path}); state the option that is right"
    (doubt,) = read.ambiguities
    assert doubt.option == doubt.candidates[0].option
    settled = read_table(path, ReadOptions(**stated))
    assert settled.ambiguities == ()
    assert settled.frame.equals(read.frame)


def test_all_doubts_are_told_at_once(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("d,b\n'Café','y'\n'Thé','x'\n".encode("cp1252"))
    with pytest.raises(InputError, match=r"as cp1252 and the quote mark was .*; state the options that are right"):
        read_table(path).require_certain()


def test_each_candidate_reads_the_file_as_it_says(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("id,size\n1,25 m²\n2,30 m²\n3,5 €\n".encode("cp1252"))
    (doubt,) = read_table(path).ambiguities
    assert doubt.candidates[0].value == "cp1252"
    assert len({candidate.cells for candidate in doubt.candidates}) == len(doubt.candidates) > 1
    for candidate in doubt.candidates:
        cells = set(read_table(path, ReadOptions(encoding=candidate.value)).column("size"))
        assert set(candidate.cells) <= cells


def test_a_doubt_that_is_written_out_shows_no_cell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("id,size\n1,Café\n".encode("cp1252"))
    (doubt,) = read_table(path).ambiguities
    assert "Café" in doubt.readings()
    assert "Caf" not in repr(doubt)


def test_names_of_a_plan_settle_the_delimiter(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("d;b,c\nx;y,1\nx;y,2\n")
    assert read_table(path).ambiguities
    assert read_table(path, names=["d", "b,c"]).ambiguities == ()


def test_stated_bare_marks_leave_double_quotes_as_they_stand(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("'a','b'\n'won't','say \"\"hi\"\"'\n")
    stated = ReadOptions(quote="'", escape="bare")
    assert read_table(path).frame.row(0) == ("won't", 'say "hi"')
    assert read_table(path, stated).frame.row(0) == ("won't", 'say ""hi""')
    assert read_table(path, stated).ambiguities == ()


def test_an_escape_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"x\\"y",1\n')
    with pytest.raises(InputError, match="a stray quote mark"):
        read_table(path, ReadOptions(escape="doubled"))

"""Blanks, comment lines, preambles, stated names and two-character delimiters: the same on the fast and exact path."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.csv.file import DelimitedFile
from workbench.data.csv.options import ReadOptions
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import InputError, ParameterError

CELLS = st.text(st.sampled_from('ab1.,;|:"# \n\té漢'), max_size=5)
BLANKS = st.text(st.sampled_from(" \t"), max_size=2)
COMMENTS = st.text(st.sampled_from("ab \"',| #"), max_size=6)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("options") / "table.csv"


def cells(table: Table) -> list[list[str]]:
    return [["" if cell is None else cell for cell in row] for row in table.frame.rows()]


def both_readings(path: Path, options: ReadOptions, piece: int = 1 << 23, *, replace: bool = False) -> list[Any]:
    """Return what the reader says, on the fast path where it may and on the exact one: the table, or the fault.

    The fast path does not tell lines where a cell spans some, the exact one does while rows and lines run in step.
    """
    out = []
    for exact in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("workbench.data.csv.encoding.CHUNK", piece)
            patch.setattr("workbench.data.csv.precheck.CHUNK", piece)
            if exact:
                patch.setattr(DelimitedFile, "_read_fast", lambda self, dialect, columns: None)
            try:
                table = read_table(path, options, replace_invalid=replace)
                out.append((table.names, cells(table), table.first_line, table.notices, list(table.blank_lines)))
            except InputError as refusal:
                out.append(str(refusal))
    spans = (
        options.quote != "none" and (options.quote or '"').encode() in path.read_bytes()
    )  # a name may span lines, too
    if not isinstance(out[0], str) and out[0][2] is None and spans and not isinstance(out[1], str):
        out[1] = (*out[1][:2], None, *out[1][3:])
    return out


def is_read_fast(path: Path, options: ReadOptions) -> bool:
    def fail(self: DelimitedFile, *_: object) -> None:
        raise LookupError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DelimitedFile, "_read_exactly", fail)
        try:
            read_table(path, options)
        except LookupError:
            return False
    return True


@st.composite
def decorated(draw: st.DrawFn) -> tuple[str, list[list[str]], ReadOptions]:
    """Return a decorated table, its cells as Python's csv module reads the plain one, and how it is to be read."""
    width = draw(st.integers(2, 4))
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=2, max_size=6))
    delimiter = draw(st.sampled_from([",", ";", "|", "||", ", ", "::"]))
    trim, comment = draw(st.booleans()), draw(st.sampled_from([None, "#"]))
    skip = draw(st.integers(0, 3))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    names = tuple(f"name {k}" for k in range(width))
    plain = io.StringIO(newline="")
    csv.writer(plain, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    plain.seek(0)
    lines = [draw(COMMENTS) for _ in range(skip)]
    for row in csv.reader(plain):
        while comment and draw(st.integers(0, 3)) == 0:
            lines.append(comment + draw(COMMENTS))
        written = []
        for cell in row:
            bare = cell.strip(" \t") == cell and not set(cell) & set(',;|:"#\n') and draw(st.booleans())
            written.append(cell if bare and cell else '"' + cell.replace('"', '""') + '"')
            if trim:
                written[-1] = draw(BLANKS) + written[-1] + draw(BLANKS)
        lines.append(delimiter.join(written))
    if comment and draw(st.booleans()):
        lines.append(comment)
    options = ReadOptions(
        encoding="utf-8", delimiter=delimiter, quote='"', header="yes", trim=trim, comment=comment, skip_lines=skip
    )
    return end.join(lines) + draw(st.sampled_from(["", end])), [list(names), *rows], options


@settings(max_examples=200, deadline=None)
@given(case=decorated(), encoding=st.sampled_from(["utf-8", "utf-16", "gb18030"]), piece=st.integers(1, 40))
def test_a_decorated_file_is_read_like_its_plain_form(path, case, encoding, piece):
    text, rows, options = case
    path.write_bytes(text.encode(encoding))
    stated = options.to_plain() | {"encoding": encoding}
    fast, exact = both_readings(path, ReadOptions.from_plain(stated), piece)
    assert fast == exact
    assert [list(exact[0]), *exact[1]] == rows


@settings(max_examples=400, deadline=None)
@given(
    text=st.text(st.sampled_from("a1,\"'\n\r #|"), min_size=1, max_size=24),
    delimiter=st.sampled_from([",", "||", ", ", " |", "none", "tab", "space"]),
    quote=st.sampled_from(['"', "'", "none"]),
    trim=st.booleans(),
    comment=st.sampled_from([None, "#"]),
    skip=st.integers(0, 2),
    piece=st.integers(1, 12),
    replace=st.booleans(),
)
def test_the_fast_and_the_exact_reader_agree_on_any_text(
    path, text, delimiter, quote, trim, comment, skip, piece, replace
):
    path.write_bytes(text.encode())
    options = ReadOptions(
        encoding="utf-8", delimiter=delimiter, quote=quote, header="yes", trim=trim, comment=comment, skip_lines=skip
    )
    fast, exact = both_readings(path, options, piece, replace=replace)
    assert fast == exact


@pytest.mark.parametrize(
    ("text", "stated", "expected"),
    [
        ('a, b\n"x", " y "\n z ,\t1\n', {"trim": True}, [["a", "b"], ["x", " y "], ["z", "1"]]),
        ("a, b\nx, y, z\n", {"delimiter": ", ", "skip_lines": 1}, None),
        ('"a", "b"\n"x, 1", 2\n', {"delimiter": ", "}, [["a", "b"], ["x, 1", "2"]]),
        ("a||b\n|x||\n", {"delimiter": "||"}, [["a", "b"], ["|x", ""]]),
        ("a||b\nx|||y\n", {"delimiter": "||"}, [["a", "b"], ["x", "|y"]]),
        ("a::b\nx:1::2\n", {"delimiter": "::"}, [["a", "b"], ["x:1", "2"]]),
        ("# it's \"odd\na,b\n#\n1,#2\n", {"comment": "#"}, [["a", "b"], ["1", "#2"]]),
        ('a,b\n"1\n# no comment",2\n# one\n', {"comment": "#"}, [["a", "b"], ["1\n# no comment", "2"]]),
        ("made by x\n\na,b\n1,2\n", {"skip_lines": 2}, [["a", "b"], ["1", "2"]]),
        ("made by x\ra,b\r1,2\r", {"skip_lines": 1}, [["a", "b"], ["1", "2"]]),
        ("a ,b\n  \n1 , 2\n", {"trim": True}, [["a", "b"], ["1", "2"]]),
        ("a\tb\n 1 \t\t\n", {"delimiter": "tab", "trim": True}, None),
        ("a\tb\n 1 \t\n", {"delimiter": "tab", "trim": True}, [["a", "b"], ["1", ""]]),
        ("x,1\ny,2\n", {"names": ("word", "n")}, [["word", "n"], ["x", "1"], ["y", "2"]]),
        ("a,b\ny,2\n", {"names": ("word", "n"), "header": "yes"}, [["word", "n"], ["y", "2"]]),
        ("a;b\nc,d\n", {"names": ("line",), "delimiter": "none"}, [["line"], ["a;b"], ["c,d"]]),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_each_option_means(tmp_path, text, stated, expected, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    header = {} if "names" in stated else {"header": "yes"}
    fast, exact = both_readings(path, ReadOptions(**(header | stated)))
    assert fast == exact
    if expected is None:
        assert isinstance(exact, str)
    else:
        assert [list(exact[0]), *exact[1]] == expected


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("a , b\n" + "1 ,\t2\n" * 50, {"trim": True}),
        ("a, b\n" + '"1", "x y"\n' * 50, {"trim": True}),
        ("a||b\n" + "1||2\n" * 50, {"delimiter": "||"}),
        ("# head\na,b\n" + "1,2\n" * 50 + "# foot\n", {"comment": "#"}),
        ("head\na,b\n" + "1,2\n" * 50, {"skip_lines": 1}),
        ("1,2\n" * 50, {"names": ("a", "b")}),
    ],
)
def test_regular_files_take_the_fast_path_under_every_option(tmp_path, text, stated):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert is_read_fast(path, ReadOptions(**stated))
    assert read_table(path, ReadOptions(**stated)).rows == 50


def test_lines_are_counted_in_the_file_as_it_stands(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("made by x\n# one\na,b\n# two\n1,2\n3,4\n")
    options = ReadOptions(skip_lines=1, comment="#")
    fast, exact = both_readings(path, options)
    assert fast == exact
    assert read_table(path, options).row_name(1) == "row 2, line 6"
    path.write_text("made by x\na,b\n1,2\n# three\n3,4\n")
    assert read_table(path, options).row_name(1) == "row 2"
    path.write_text("made by x\na,b\n1,2\n# three\n3\n")
    with pytest.raises(InputError, match=r"row 2 has 1 cell, the header has 2 \(.*, line 5\)"):
        read_table(path, options)


@pytest.mark.parametrize(
    ("text", "stated", "told"),
    [
        ("a,b\n1,2\n", {"names": ("a",)}, r"row 1 has 2 cells, and 1 name was stated .*; use --names with one name"),
        ("a\n1\n", {"names": ("a", "b"), "header": "yes"}, r"the header has 1 cell, and 2 names were stated"),
        ("a\n1\n", {"skip_lines": 5}, r"the file has 2 lines, and 5 are to be skipped"),
        ("# a\n#b\n", {"comment": "#"}, r"the file holds only blank lines and comments"),
    ],
)
def test_options_that_do_not_fit_the_file_are_refused(tmp_path, text, stated, told):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        read_table(path, ReadOptions(**stated))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"comment": "ab"}, "comment = 'ab' is not"),
        ({"comment": "x"}, "comment = 'x' is not one character"),
        ({"comment": '"'}, "comment = '\"' is not one character"),
        ({"comment": ";", "delimiter": ";"}, "delimiter and comment are both ';'"),
        ({"comment": "|", "delimiter": "||"}, r"delimiter = '\|\|' contains the comment"),
        ({"delimiter": "|||"}, r"delimiter = '\|\|\|' is not one character"),
        ({"delimiter": ',"'}, "is not one character"),
        ({"delimiter": "||", "quote": "|"}, r"delimiter = '\|\|' contains the quote"),
        ({"skip_lines": -1}, "skip_lines = -1 is not"),
        ({"names": ()}, "names = "),
        ({"names": ("a", "a")}, "names names 'a' twice"),
        ({"names": ("a", " ")}, "names has an empty name"),
        ({"trim": "yes"}, "trim = 'yes' is not true or false"),
    ],
)
def test_impossible_options_are_refused(options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        ReadOptions(**options)


def test_options_come_back_from_toml(tmp_path):
    import tomllib

    import tomli_w

    stated = ReadOptions(
        delimiter="tab", quote="none", header="no", trim=True, skip_lines=2, comment="#", names=("a", "b c")
    )
    assert ReadOptions.from_plain(tomllib.loads(tomli_w.dumps(stated.to_plain()))) == stated
    one = ReadOptions(delimiter="")
    assert one.delimiter == "none"
    assert ReadOptions.from_plain(tomllib.loads(tomli_w.dumps(one.to_plain()))) == one


@pytest.mark.parametrize("rows", [1, 3])
def test_a_header_of_any_length_is_read(tmp_path, rows):
    names = [f"a rather long name of a column, number {k}" for k in range(6000)]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *([str(k) for k in range(6000)] for _ in range(rows))])
    assert path.stat().st_size > 2 * 131072
    table = read_table(path)
    assert (table.names, table.rows) == (tuple(names), rows)
    assert table.dialect is not None
    assert table.dialect.header


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("Report, 2020\nmade by x\n\na,b,c\n1,2,3\n4,5,6\n7,8,9\n", "--skip-lines 3 if the first 3 lines are not part"),
        ("a,b\n# remark\n1,2\n", '--comment "#" if lines that begin with #'),
        ('a,b\n1, "x"\n', "--trim if blanks"),
        ('a,b\n"x" ,1\n', "--trim if blanks"),
    ],
)
def test_a_refusal_names_the_option_that_mends_it(tmp_path, text, option):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refusal:
        read_table(path)
    assert option in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        ("1,2\n3,4\n", "use --header yes if it names them, or give names with --names a,b,c"),
        ("age,size\nyears,cm\n1,2\n3,4\n5,6\n", "use --skip-lines 1 to take the names from it, or --skip-lines 2 and"),
        ("a, b\n1, 2\n", "use --trim to strip them"),
        ("a||b||c\n1||2||3\n", 'use --delimiter "||"'),
        ("a::b\nx::y\nz::v\n", 'use --delimiter "::"'),
    ],
)
def test_a_notice_names_the_option_that_may_be_wanted(tmp_path, text, notice):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert notice in " ".join(read_table(path).notices)


def test_a_plain_table_gets_no_notice(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,age,city\n1,31,Graz\n2,47,Wien\n3,28,Linz\n4,30,Wels\n")
    assert read_table(path).notices == ()


def test_the_first_row_that_repeats_stated_names_is_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    table = read_table(path, ReadOptions(names=("a", "b")))
    assert table.rows == 2
    assert "use --header yes if it is the header" in " ".join(table.notices)
    assert table.ambiguities == ()

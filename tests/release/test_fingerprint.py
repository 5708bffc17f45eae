from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.options import ReadOptions
from workbench.data.read import read_table
from workbench.data.table import Table
from workbench.release.fingerprint import fingerprint
from workbench.release.ledger import Ledger

KEY = b"k" * 32
ROWS = [("31", "Graz", "1.50"), ("47", "", "2"), ("47", "Wien, Mitte", "0.1"), ("9", "Linz", "1.50")]


def written(path: Path, rows: list[tuple[str, ...]], delimiter: str = ",", names: str = "age,city,pay") -> Path:
    lines = [names.split(","), *rows]
    quoted = (delimiter.join(f'"{c}"' if delimiter in c else c for c in line) for line in lines)
    path.write_text("\n".join(quoted) + "\n", "utf-8")
    return path


def print_of(path: Path, key: bytes = KEY) -> str:
    return fingerprint(read_table(path), key)


def test_a_renamed_copied_resorted_or_otherwise_delimited_table_is_the_same(tmp_path: Path) -> None:
    first = print_of(written(tmp_path / "a.csv", ROWS))
    assert first == print_of(written(tmp_path / "b.txt", ROWS))
    assert first == print_of(written(tmp_path / "c.csv", ROWS[::-1]))
    assert first == print_of(written(tmp_path / "d.csv", [ROWS[i] for i in (2, 0, 3, 1)], ";"))
    assert first == print_of(written(tmp_path / "e.tsv", ROWS, "\t"))
    assert len(first) == 32


def test_columns_in_another_order_are_the_same_table(tmp_path: Path) -> None:
    turned = [(pay, age, city) for age, city, pay in ROWS]
    other = written(tmp_path / "b.csv", turned, names="pay,age,city")
    assert print_of(written(tmp_path / "a.csv", ROWS)) == print_of(other)


def test_another_encoding_line_end_or_format_of_the_same_text_is_the_same_table(tmp_path: Path) -> None:
    first = written(tmp_path / "a.csv", ROWS)
    text = first.read_text("utf-8")
    (tmp_path / "b.csv").write_bytes(text.replace("\n", "\r\n").encode("utf-16"))
    read_table(first).frame.write_parquet(tmp_path / "c.parquet")
    assert print_of(first) == print_of(tmp_path / "b.csv") == print_of(tmp_path / "c.parquet")


@pytest.mark.parametrize("row", range(4))
@pytest.mark.parametrize("column", range(3))
def test_one_changed_cell_is_another_table(tmp_path: Path, row: int, column: int) -> None:
    changed = [list(r) for r in ROWS]
    changed[row][column] = "8" if column != 1 else "Bregenz"
    first = print_of(written(tmp_path / "a.csv", ROWS))
    assert first != print_of(written(tmp_path / "b.csv", [tuple(r) for r in changed]))


def test_a_missing_repeated_or_swapped_piece_is_another_table(tmp_path: Path) -> None:
    prints = {
        print_of(written(tmp_path / "a.csv", ROWS)),
        print_of(written(tmp_path / "b.csv", ROWS[:-1])),
        print_of(written(tmp_path / "c.csv", [*ROWS, ROWS[0]])),
        print_of(written(tmp_path / "d.csv", [*ROWS[:2], ("47", "Linz", "0.1"), ("9", "Wien, Mitte", "1.50")])),
        print_of(written(tmp_path / "e.csv", ROWS, names="age,town,pay")),
        print_of(written(tmp_path / "f.csv", [(p, c, a) for a, c, p in ROWS])),
    }
    assert len(prints) == 6


def test_it_cannot_be_compared_with_that_of_another_key(tmp_path: Path) -> None:
    table = written(tmp_path / "a.csv", ROWS)
    with Ledger.open(tmp_path / "1.sqlite") as one, Ledger.open(tmp_path / "2.sqlite") as other:
        keys = [one.key, other.key]
    assert all(len(k) == 32 for k in keys)
    assert print_of(table, keys[0]) != print_of(table, keys[1])
    with Ledger.open(tmp_path / "1.sqlite") as again:
        assert again.key == keys[0]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.one_of(st.none(), st.text("a\x1d\x1e\x1f1de", min_size=1, max_size=3))] * 2),
        min_size=1,
        max_size=3,
    ),
    st.lists(
        st.tuples(*[st.one_of(st.none(), st.text("a\x1d\x1e\x1f1de", min_size=1, max_size=3))] * 2),
        min_size=1,
        max_size=3,
    ),
)
def test_rows_of_control_characters_never_read_alike(
    one: list[tuple[str | None, str | None]], other: list[tuple[str | None, str | None]]
) -> None:
    prints = [
        fingerprint(Table(pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String}, orient="row"), "made"), KEY)
        for rows in (one, other)
    ]
    alike = sorted(map(repr, one)) == sorted(map(repr, other))
    assert (prints[0] == prints[1]) is alike


def test_a_table_read_with_a_stated_dialect_is_the_same_table(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", ROWS, ";")
    stated = read_table(path, ReadOptions(delimiter=";", header="yes", encoding="utf-8", decimal=","))
    assert fingerprint(stated, KEY) == print_of(path)

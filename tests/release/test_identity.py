"""By which marks a table is known: of its bytes, its content, its rows; and what is nobody's version."""

import contextlib
import random
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from near_duplicates import CHANGES, UNRELATED, changed, person_table, taken_as_one, unrelated_pair

from workbench.data.content.cell_hash import CellHash, canonical
from workbench.data.csv.options import ReadOptions
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.release.ledger.identity import identify
from workbench.release.ledger.sketch import Sketches

KEY = b"k" * 32
ROWS = [("31", "Graz", "1.50"), ("47", "", "2"), ("47", "Wien, Mitte", "0.1"), ("9", "Linz", "1.50")]


def written(path: Path, rows: list[tuple[str, ...]], delimiter: str = ",", names: str = "age,city,pay") -> Path:
    lines = [names.split(","), *rows]
    quoted = (delimiter.join(f'"{c}"' if delimiter in c else c for c in line) for line in lines)
    path.write_text("\n".join(quoted) + "\n", "utf-8")
    return path


def content_of(path: Path, options: ReadOptions | None = None) -> str:
    return identify(read_table(path, options), KEY).content


# -- the bytes --------------------------------------------------------------------------------------------------------


def test_the_same_bytes_are_the_same_table_however_they_are_read(tmp_path):
    """One file is one account: five ways of reading it are not five budgets."""
    path = tmp_path / "a.csv"
    path.write_bytes('age,city\n31,Gr\xe4z\n47,"Wien"\n9,L\xefnz\n'.encode("cp1252"))
    ways = [ReadOptions(encoding=e, header="yes") for e in ("cp1252", "koi8-r", "cp437")]
    marks = [identify(read_table(path, way), KEY) for way in (*ways, ReadOptions(encoding="cp1252", quote="none"))]
    assert len({mark.content for mark in marks}) > 1
    assert len({mark.file for mark in marks}) == 1
    assert marks[0].file
    assert identify(read_table("sample:iris"), KEY).file == ""


# -- the content ------------------------------------------------------------------------------------------------------


def test_a_renamed_copied_resorted_or_otherwise_delimited_table_has_the_same_content(tmp_path):
    first = content_of(written(tmp_path / "a.csv", ROWS))
    assert first == content_of(written(tmp_path / "c.csv", ROWS[::-1]))
    assert first == content_of(written(tmp_path / "d.csv", [ROWS[i] for i in (2, 0, 3, 1)], ";"))
    assert first == content_of(written(tmp_path / "e.tsv", ROWS, "\t"))
    turned = [(pay, age, city) for age, city, pay in ROWS]
    assert first == content_of(written(tmp_path / "f.csv", turned, names="Lohn,Alter,Ort"))
    text = (tmp_path / "a.csv").read_text("utf-8")
    (tmp_path / "b.csv").write_bytes(text.replace("\n", "\r\n").encode("utf-16"))
    read_table(tmp_path / "a.csv").frame.write_parquet(tmp_path / "c.parquet")
    assert first == content_of(tmp_path / "b.csv") == content_of(tmp_path / "c.parquet")


def test_numbers_blanks_and_letters_count_by_what_they_say(tmp_path):
    other = [("31.0", " Graz", "1,5"), ("+47", "", "2."), ("047", "Wien, Mitte ", "1e-1"), ("9.00", "Linz", "01.500")]
    assert content_of(written(tmp_path / "a.csv", ROWS)) == content_of(written(tmp_path / "b.tsv", other, "\t"))
    composed, decomposed = [("Zo\u00e9", "1")], [("Zoe\u0301", "1.0")]
    names = "name,n"
    one = written(tmp_path / "c.csv", composed, names=names)
    assert content_of(one) == content_of(written(tmp_path / "d.csv", decomposed, names=names))


@pytest.mark.parametrize("row", range(4))
@pytest.mark.parametrize("column", range(3))
def test_one_changed_cell_is_another_content(tmp_path, row, column):
    edited = [list(r) for r in ROWS]
    edited[row][column] = "8" if column != 1 else "Bregenz"
    first = content_of(written(tmp_path / "a.csv", ROWS))
    assert first != content_of(written(tmp_path / "b.csv", [tuple(r) for r in edited]))
    for other in (ROWS[:-1], [*ROWS, ROWS[0]], [*ROWS[:2], ("47", "Linz", "0.1"), ("9", "Wien, Mitte", "1.50")]):
        assert first != content_of(written(tmp_path / "c.csv", other))


def test_marks_of_another_key_say_nothing(tmp_path):
    table = person_table(random.Random(3), 400)
    one, other = identify(table, KEY), identify(table, b"o" * 32)
    assert one.content != other.content
    assert one.sketches.shared(one.sketches) == 1
    assert one.sketches.shared(other.sketches) == 0
    assert not set(one.sketches.parts[0].rows.tolist()) & set(other.sketches.parts[0].rows.tolist())


CELLS = st.one_of(
    st.none(),
    st.text(" 0159.,+-eE\t\u00e9e\u0301\u00a0", max_size=14),
    st.text("ab\x1d\x1e\x1f01", max_size=30),
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=40))
def test_cells_hash_alike_exactly_where_they_say_the_same(cells):
    """The fast path over bytes agrees with the canonical form of every cell, whatever stands beside it."""
    series = pl.Series("c", cells, dtype=pl.String)
    forms, hashes = canonical(series).to_list(), CellHash(KEY).hashes(series).tolist()
    assert [h == 0 for h in hashes] == [form is None for form in forms]
    assert len(set(zip(forms, hashes, strict=True))) == len(set(forms)) == len(set(hashes))
    alone = [CellHash(KEY).hashes(pl.Series("c", [cell], dtype=pl.String)).item() for cell in cells]
    assert alone == hashes


def test_the_canonical_form_of_a_number_is_its_value():
    made = random.Random(5)
    texts = []
    for _ in range(3000):
        text = made.choice(["", "-", "+", "0"]) + "".join(made.choice("0012345") for _ in range(made.randint(1, 9)))
        if made.random() < 0.6:
            text += made.choice(".,") + "".join(made.choice("0001") for _ in range(made.randint(0, 9)))
        if made.random() < 0.2:
            text += made.choice("eE") + str(made.randint(-9, 9))
        texts.append(text)
    forms = canonical(pl.Series([f" {text} " for text in texts]))
    assert [Decimal(form) for form in forms] == [Decimal(text.replace(",", ".")) for text in texts]
    assert canonical(forms).to_list() == forms.to_list()
    assert not any("." in form and form.endswith("0") for form in forms)


# -- the rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", CHANGES)
def test_an_edited_table_is_a_version_and_one_that_was_mostly_replaced_is_not(change):
    for seed in range(3):
        made = random.Random(f"{change} {seed}")
        table = person_table(made, made.choice([60, 300, 3000]))
        assert taken_as_one(table, changed(table, change, made)) == CHANGES[change]


@pytest.mark.parametrize("kind", UNRELATED)
def test_unrelated_tables_are_never_taken_for_versions(kind):
    for seed in range(3):
        assert not taken_as_one(*unrelated_pair(kind, random.Random(f"{kind} {seed}")))


@pytest.mark.parametrize("times", [2, 3])
def test_a_table_whose_rows_are_all_written_several_times_is_the_same_account(times):
    """The attack: a copy appended to itself has no row that occurs once, and would be a fresh budget."""
    table, other = person_table(random.Random(5), 400), person_table(random.Random(6), 400)
    again, others = (Table(pl.concat([t.frame] * times), "made") for t in (table, other))
    assert taken_as_one(table, again)
    assert taken_as_one(again, table)
    assert not taken_as_one(again, others)


@pytest.mark.slow
def test_a_thousand_near_duplicates_and_a_thousand_unrelated_tables():
    """The figures of tests/benchmarks/results/identity.md."""
    wrong = []
    for number in range(1000):
        change = list(CHANGES)[number % len(CHANGES)]
        made = random.Random(f"pair {number}")
        table = person_table(made, made.choice([60, 200, 1000, 5000]))
        if taken_as_one(table, changed(table, change, made)) != CHANGES[change]:
            wrong.append(change)
        kind = list(UNRELATED)[number % len(UNRELATED)]
        if taken_as_one(*unrelated_pair(kind, random.Random(f"unrelated {number}"))):
            wrong.append(kind)
    assert wrong == []


def test_tables_with_few_rows_that_occur_once_have_no_sketch():
    made = np.random.default_rng(4)
    yes_no = pl.DataFrame({c: made.choice(["yes", "no"], 5000) for c in "ab"})
    assert identify(Table(yes_no, "made"), KEY).sketches.parts == ()
    numbered = yes_no.with_columns(pl.Series("id", [str(k) for k in range(5000)]))
    assert identify(Table(numbered, "made"), KEY).sketches.parts == ()  # running numbers tell no tables apart


def test_a_sketch_is_read_back_as_it_was_kept_and_a_damaged_one_is_refused():
    kept = identify(person_table(random.Random(9), 500), KEY).sketches
    data = kept.encode()
    again = Sketches.decode(data)
    assert again.encode() == data
    assert again.shared(kept) == 1
    made = random.Random(2)
    for _ in range(300):
        damaged = bytearray(data)
        damaged[made.randrange(80)] ^= 1 << made.randrange(8)
        cut = bytes(damaged[: made.choice([len(damaged), made.randrange(len(damaged))])])
        with contextlib.suppress(ValueError):
            assert 0 <= Sketches.decode(cut).shared(kept) <= 1


def test_a_sketch_of_many_rows_finds_a_reordered_reformatted_version():
    """Beyond the rows that are all looked at: ranks choose the same rows in both."""
    made = np.random.default_rng(6)
    n = 60_000
    cells = {"age": made.integers(0, 99, n).astype(str), "pay": made.normal(2e4, 4e3, n).round(2).astype(str)}
    frame = pl.DataFrame({**cells, "zip": made.integers(1000, 9999, n).astype(str)})
    other = frame.select(
        pl.col("zip").alias("PLZ"),
        pl.concat_str([pl.col("pay"), pl.lit("0")]).alias("Lohn"),
        (pl.col("age") + pl.lit(".0")).alias("Alter"),
    ).sample(fraction=1, shuffle=True, seed=1)
    one, two = (identify(Table(f, "made"), KEY) for f in (frame, other))
    assert one.content == two.content
    assert one.sketches.shared(two.sketches) == 1
    assert len(one.sketches.parts[0].rows) >= 1000

"""Kept text that a format cannot hold is refused before a charge; what it could change is written as text."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

from workbench.data import read
from workbench.data.read import read_table
from workbench.data.sources.parquet import parts_of
from workbench.params import InputError
from workbench.release.ledger.ledger import Ledger
from workbench.release.path import destination, prepare_rows, release_prepared
from workbench.release.verify import verify_release
from workbench.sanitize.plan import load_plan

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


def released(folder: Path, source: Path, name: str, writing: str = "") -> list[str | None]:
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
    """Write a table with these cells."""
    source = folder / "source.parquet"
    pl.DataFrame({"age": list(range(len(cells))), "t": cells}).write_parquet(source)
    return source


def test_a_text_too_long_for_excel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="column t, row 2"):
        released(tmp_path, parquet(tmp_path, ["a", "x" * 40_000]), "out.xlsx")


@pytest.mark.parametrize("from_size", [0, 1 << 26])
def test_a_text_outside_the_encoding_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_size: int
) -> None:
    monkeypatch.setattr(read, "IN_PARTS_FROM", from_size)
    source = tmp_path / "source.csv"
    source.write_text("age,t\n1,a\n2,\u4e2d\n3,b\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot be written in cp1252.*row 2"):
        released(tmp_path, source, "out.csv", '[writing]\nencoding = "cp1252"\n')


@pytest.mark.parametrize("name", ["out.xlsx", "out.jsonl", "out.csv"])
def test_every_real_number_survives(tmp_path: Path, name: str) -> None:
    cells = [0.1 + 0.2, 1e-10, 1 / 3, math.inf, math.nan, 5e-324, -0.0]
    kept = released(tmp_path, parquet(tmp_path, cells), name)
    assert kept == ["0.30000000000000004", "1e-10", "0.3333333333333333", "inf", "NaN", "5e-324", "-0.0"]


def test_links_in_a_folder_of_parquet_files_are_not_followed(tmp_path: Path) -> None:
    below = tmp_path / "table" / "k=1"
    below.mkdir(parents=True)
    parquet(below, ["a"])
    for number in range(2):
        (below / f"l={number}").symlink_to(tmp_path / "table", target_is_directory=True)
    assert parts_of(tmp_path / "table") == [below / "source.parquet"]


def test_rows_that_were_read_twice_are_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "IN_PARTS_FROM", 0)
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


def test_a_formula_behind_blanks_or_in_wide_letters_is_defused(tmp_path: Path) -> None:
    formulas = ["=1+1", " =1+1", "\u00a0=1", "\ufeff=1", "\n=1", "\uff1d1+1", "\u2212a1", "\uff201"]
    numbers = [" -1,5", "\u22121"]
    source = parquet(tmp_path, [*formulas, *numbers])
    kept = released(tmp_path, source, "out.xlsx", "[writing]\ndefuse_formulas = true\n")
    assert kept == [*(f"'{cell}" for cell in formulas), *numbers]

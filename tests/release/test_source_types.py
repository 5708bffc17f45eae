"""A Parquet file released as Parquet: a kept column has the type it had, and the same values."""

from __future__ import annotations

import datetime
from pathlib import Path

import polars as pl
from released import release_table

from workbench.data.read import read_table
from workbench.data.table import Table
from workbench.privacy.entropy import SeededEntropy
from workbench.release.ledger.ledger import Ledger
from workbench.release.table_formats import ReleasedText, types_of
from workbench.release.verify import verify_release
from workbench.sanitize.engine import draw
from workbench.sanitize.plan import Plan

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


def released(folder: Path, frame: pl.DataFrame, suffix: str = "parquet") -> pl.DataFrame:
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


def test_kept_columns_have_the_types_and_the_values_of_the_source(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [31, 47, 8], **KEPT})
    out = released(tmp_path, frame)
    assert out.columns == frame.columns
    assert out.schema["age"] == pl.Int64
    for name in KEPT:
        assert out.schema[name] == frame.schema[name], name
        assert out[name].to_list() == frame[name].to_list(), name


def test_a_column_whose_text_does_not_give_the_values_back_stays_text() -> None:
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


def test_a_text_file_is_released_as_before(tmp_path: Path) -> None:
    out = released(tmp_path, pl.DataFrame({"age": [31, 47, 8], "share": [0.1, 0.25, None]}), "csv")
    assert out["share"].to_list() == [0.1, 0.25, None]

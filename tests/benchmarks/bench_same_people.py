"""How often unrelated tables are taken for one another, and tables that were taken from a known one are recognised.

``pytest tests/benchmarks/bench_same_people.py -m benchmark -s`` writes ``results/same_people.md``. Every table is held
against one account that has paid, as ``Ledger.find`` does it.
"""

import random
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "release"))

from derived_tables import (
    DERIVED,
    KEY,
    UNRELATED,
    measured,
    named,
    persons,
    public_halves,
    recognised,
    salaries,
    unrelated_pair,
)

from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.release.ledger.identity import identify

RESULTS = Path(__file__).parent / "results" / "same_people.md"
DATA = Path(__file__).parents[3] / "shared" / "data"
PAIRS, TAKEN = 2000, 500
HALVES = "disjoint parts of a public file"


def sources(number: int) -> dict[str, pl.DataFrame]:
    """Return the tables that others are taken from."""
    draw = np.random.default_rng(number)
    read = {name: read_table(DATA / f"{name}.csv").frame for name in ("diabetes", "BostonHousing")}
    return {
        "20,000 salaries": salaries(draw),
        "x with four decimals, sex, y": measured(draw),
        "300 rows of a number and a name": named(draw),
        "nine columns about people": persons(draw),
        "people (sample)": read_table("sample:people").frame,
        **read,
    }


def table(title: str, rows: dict[str, Counter[str]]) -> str:
    """Return results as a table of Markdown."""
    lines = [f"| {title} | tables | joined | in doubt | taken for unrelated |", "|---|---|---|---|---|"]
    for name, found in rows.items():
        lines.append(f"| {name} | {found.total()} | {found['joined']} | {found['in doubt']} | {found['']} |")
    total = sum(rows.values(), Counter[str]())
    lines.append(f"| together | {total.total()} | {total['joined']} | {total['in doubt']} | {total['']} |")
    return "\n".join(lines)


@pytest.mark.benchmark
def test_unrelated_and_derived_tables():
    kinds = [*UNRELATED, HALVES]
    unrelated: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    for number in range(PAIRS):
        kind = kinds[number % len(kinds)]
        one, other = public_halves(DATA, number)[1:] if kind == HALVES else unrelated_pair(kind, number)
        unrelated[kind][recognised(one, other)] += 1
    by_change: dict[str, Counter[str]] = {change: Counter() for change in DERIVED}
    by_source: dict[str, Counter[str]] = {}
    for number in range(TAKEN):
        change = list(DERIVED)[number % len(DERIVED)]
        known = sources(number)
        name = list(known)[number // len(DERIVED) % len(known)]
        found = recognised(DERIVED[change](known[name], random.Random(number)), known[name])
        by_change[change][found] += 1
        by_source.setdefault(name, Counter())[found] += 1
    sizes = []
    for name, frame in sources(0).items():
        marks = identify(Table(frame, name), KEY)
        sizes.append(
            f"| {name} | {frame.height} × {frame.width} | {len(marks.sketches.encode()) / 1024:.0f} KiB "
            f"| {len(marks.columns.encode(KEY)) / 1024:.0f} KiB |"
        )
    text = "\n\n".join(
        [
            "# Which tables are known by their rows and columns",
            "`pytest tests/benchmarks/bench_same_people.py -m benchmark -s` writes this file. A table is *joined* to "
            "an account by its bytes, content or rows; *in doubt* by its columns, and then refused until a person "
            "decides.",
            "## Tables that have nothing to do with each other",
            table("kind of both tables", unrelated),
            "## Tables that were taken from a known one",
            table("what became of it", by_change),
            table("of which table", by_source),
            "## Room in the ledger, for each table",
            "\n".join(["| table | rows × columns | rows' sketches | columns' marks |", "|---|---|---|---|", *sizes]),
        ]
    )
    RESULTS.write_text(text + "\n", "utf-8")
    sys.stdout.write("\n" + text + "\n")
    false_alarms = sum(found["joined"] + found["in doubt"] for found in unrelated.values())
    assert false_alarms <= PAIRS / 1000

"""The marks of 5 million rows of 8 columns beside the reading of them, in the same run.

``pytest tests/benchmarks/bench_identity.py -m benchmark -s``. Times are of the processor (all threads together), which
says the same beside other work, and of the wall.
"""

import math
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
from bench_read import frame

from workbench.data.content.cell_hash import CellHash
from workbench.data.rows_in_parts import each_part
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.release.ledger.identity import identify
from workbench.release.ledger.sketch import LOOK, Sketcher

KEY = b"b" * 32
__all__ = ["frame"]


def best_of(turns: int, *works: Callable[[], object]) -> list[tuple[float, float]]:
    """Return the least (processor, wall) seconds of each work, taken in turn."""
    best = [(math.inf, math.inf)] * len(works)
    for _ in range(turns):
        for position, work in enumerate(works):
            processor, wall = time.process_time(), time.perf_counter()
            work()
            spent = time.process_time() - processor, time.perf_counter() - wall
            best[position] = min(best[position][0], spent[0]), min(best[position][1], spent[1])
    return best


def sketched(table: Table) -> None:
    some = table.at(np.linspace(0, table.rows - 1, LOOK).astype(np.int64))
    sketcher = Sketcher(some, table.rows, KEY, CellHash(KEY))
    for found in each_part(table, lambda part: sketcher.of_part(part.frame)):
        sketcher.take(found)
    sketcher.made((), table)


@pytest.mark.benchmark
def test_the_sketch_of_five_million_rows_costs_a_small_share_of_reading_them(frame, tmp_path):
    path = tmp_path / "large.csv"
    frame.write_csv(path)
    table = read_table(path)
    reading, sketch, content = best_of(
        5,
        lambda: read_table(path).frame,
        lambda: sketched(table),
        lambda: identify(Table(table.frame, "large", digest=table.digest), KEY),
    )
    for name, (processor, wall) in (("reading", reading), ("sketch", sketch), ("all marks", content)):
        share = f"{processor / reading[0]:.1%} and {wall / reading[1]:.1%} of reading"
        sys.stdout.write(f"\n{name}: {processor:.2f} s of processor, {wall:.2f} s on the wall, {share}")
    sys.stdout.write("\n")
    assert sketch[0] < reading[0] / 2

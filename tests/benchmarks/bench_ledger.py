"""Charges of a ledger in a second: by one process, as the ledger grows, and by four at once.

Run with ``pytest -m benchmark tests/benchmarks/bench_ledger.py -s``.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path

import pytest

from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger.ledger import Ledger

A = "a" * 32
RESULTS = Path(__file__).parent / "results" / "ledger.md"
COST = Cost(Decimal("0.001"), Decimal(0), PureDp(Decimal("0.001")))


def charges(path: Path, number: int) -> tuple[float, float]:
    """Reserve and charge ``number`` releases; return the seconds by the clock and of this process's own work."""
    with Ledger.open(path) as book:
        began, worked = time.perf_counter(), time.process_time()
        for _ in range(number):
            book.charge(book.reserve(A, COST, work="bench"))
        return time.perf_counter() - began, time.process_time() - worked


@pytest.mark.benchmark
def test_charges_in_a_second(tmp_path: Path) -> None:
    lines = ["| processes | entries before | charges | a second | own work of one, ms |", "|---|---|---|---|---|"]
    path = tmp_path / "one.sqlite"
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(1000))
    for _ in range(4):
        with Ledger.read(path) as book:
            before = len(list(book.entries()))
        clock, work = charges(path, 250)
        lines.append(f"| 1 | {before:,} | 250 | {250 / clock:.0f} | {1000 * work / 250:.1f} |")
    path = tmp_path / "four.sqlite"
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(1000))
    began = time.perf_counter()
    with get_context("forkserver").Pool(4) as pool:
        pool.starmap(charges, [(path, 125)] * 4)
    clock = time.perf_counter() - began
    with Ledger.read(path) as book:
        assert len(list(book.entries("charge"))) == 500
        assert book.verify() == []
    lines.append(f"| 4 | 1 | 500 | {500 / clock:.0f} | |")
    head = [
        "# The ledger: charges in a second",
        "",
        "`pytest -m benchmark tests/benchmarks/bench_ledger.py`",
        "",
        f"*{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end*",
        "",
        "A charge is two transactions, each synced to the disk, with the chain checked before the first. A process",
        "waits 10 ms between two of its own, so that others get their turn.",
        "",
    ]
    RESULTS.write_text("\n".join([*head, *lines, ""]), "utf-8")
    print("\n".join(lines))  # noqa: T201 - the figures are what a benchmark is run for

"""Noisy rows of a table that is read in parts: as of one that is read whole, in a random order, and nothing is left."""

import itertools
import math
import os
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import released_ask
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from workbench.data import table_reader
from workbench.data.csv import encoding, regular_rows
from workbench.data.csv.regular_rows import RegularRows
from workbench.data.reading_options import merge_options
from workbench.data.rows_in_parts import in_order
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import BudgetRefusedError, CancelledError, InputError
from workbench.privacy.entropy import OsEntropy
from workbench.release import spilled_rows
from workbench.release.ledger import identity
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import Released, check_values, destination, prepare_rows, release_prepared
from workbench.release.spilled_rows import DrawnInParts, SpilledRows
from workbench.release.table_formats import table_format
from workbench.release.verify import verify_release
from workbench.sanitize.calibrated_columns import protected_columns
from workbench.sanitize.engine import events_of
from workbench.sanitize.plan import Plan
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Event, ignore

NAMES = ("a", "b,c", 'd"e', "ü")


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    """Read files of text in parts of a few rows, and shuffle in buckets of a few."""
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0)
    small(monkeypatch)


def small(patch: pytest.MonkeyPatch, piece: int = 64, bucket: int = 4, scattered: int = 16) -> None:
    patch.setattr(regular_rows, "PIECE", piece)
    patch.setattr(encoding, "CHUNK", 256)
    patch.setattr(spilled_rows, "_BUCKET", bucket)
    patch.setattr(spilled_rows, "_SCATTERED", scattered)


def plan_of(**keys: Any) -> Plan:
    columns = [
        {"name": "n", "kind": "integer", "lower": 0, "upper": 9, "epsilon": 30.0, "mechanism": "grr"},
        {"name": "c", "kind": "category", "domain": NAMES, "epsilon": 30.0, "mechanism": "grr", "missing": "own-value"},
        {"name": "kept", "action": "keep"},
        {"name": "gone", "action": "drop"},
    ]
    return Plan.from_plain({"epsilon": 60.0, "column": columns, **keys})


def written(path: Path, rows: int, seed: int = 1) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    names = np.array([*NAMES, None], dtype=object)
    texts = np.array(["", "x", "é, long text that is kept", '"', "two\nlines"], dtype=object)
    frame = pl.DataFrame(
        {
            "n": generator.integers(0, 10, rows).astype(str),
            "c": names[generator.integers(0, 5, rows)].tolist(),
            "kept": [f"{k}{texts[j]}" if j else None for k, j in enumerate(generator.integers(0, 5, rows))],
            "gone": ["secret"] * rows,
        },
        dict.fromkeys(("n", "c", "kept", "gone"), pl.String),
    )
    frame.write_csv(path)
    return frame


def released(plan: Plan, path: Path, target: Path, **how: Any) -> Released:
    table = read_table(path, names=[c.name for c in plan.columns])
    assert table.in_parts
    with Ledger.open(target.parent / "ledger.sqlite") as ledger:
        done = release_prepared(prepare_rows(plan, table, destination(target)), ledger, **how)
    assert table.in_parts, "the rows were never read whole"
    return done


def as_read(path: Path) -> pl.DataFrame:
    found = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema=False)
    return found.cast(pl.String)


def left_beside(folder: Path, *expected: str) -> bool:
    return {p.name for p in folder.iterdir() if "ledger" not in p.name} == set(expected)


# -- the rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "feather", "jsonl"])
@pytest.mark.parametrize("keep_order", [True, False])
def test_a_release_has_the_rows_of_the_table(tmp_path, suffix, keep_order):
    """At ε = 30 a column of few values changes in one of 10¹² rows, so that what is released can be compared."""
    source, target = tmp_path / "a.csv", tmp_path / f"out.{suffix}"
    frame = written(source, 200).drop("gone")
    done = released(plan_of(keep_order=keep_order), source, target)
    assert done.rows == 200
    assert verify_release(target) == []
    assert left_beside(tmp_path, "a.csv", target.name, done.certificate.name)
    found = (
        pl.read_csv(target, separator="\t", infer_schema=False)
        if suffix == "tsv"
        else pl.read_ipc(target).cast(pl.String)
        if suffix == "feather"
        else pl.read_ndjson(target, infer_schema_length=None).cast(pl.String)
        if suffix == "jsonl"
        else as_read(target)
    )
    assert found.equals(frame) is keep_order
    assert found.sort("kept", "n", "c").equals(frame.sort("kept", "n", "c"))


@settings(deadline=None, max_examples=25)
@given(
    rows=st.integers(1, 60),
    piece=st.integers(8, 300),
    bucket=st.integers(1, 8),
    scattered=st.integers(1, 40),
    seed=st.integers(0, 1000),
)
def test_cells_and_kept_text_are_those_of_the_whole(tmp_path_factory, rows, piece, bucket, scattered, seed):
    source = tmp_path_factory.mktemp("cells") / "a.csv"
    written(source, rows, seed)
    with pytest.MonkeyPatch.context() as patch:
        small(patch, piece, bucket, scattered)
        plan, table = plan_of(), read_table(source)
        columns = protected_columns(plan)
        spilled = read_into(plan, table)
        blocks = [spilled._spill.block(k) for k in range(len(spilled._spill))]
        for position, column in enumerate(columns):
            cells = np.concatenate([block.cells[str(position)] for block in blocks])
            assert cells.tolist() == column.grid.encode(Table(table.replaced().frame, "whole")).tolist()
        kept = pl.concat([block.kept[0] for block in blocks])
        assert kept.equals(table.replaced().frame["kept"], null_equal=True)
        scattered_rows = spilled._scattered(OsEntropy(), ignore, CancelToken())
        joined = [scattered_rows.bucket(k) for k in range(scattered_rows.buckets)]
        assert sum(len(part.cells) for part in joined) == rows
        both = [sorted(zip(p.cells.tolist(), p.kept[0].fill_null("-").to_list(), strict=True)) for p in joined]
        expected = [zip(b.cells.tolist(), b.kept[0].fill_null("-").to_list(), strict=True) for b in blocks]
        assert sorted(itertools.chain(*both)) == sorted(itertools.chain(*expected))


def read_into(plan: Plan, table: Table, folder: Path | None = None) -> SpilledRows:
    spilled = SpilledRows(
        plan, protected_columns(plan), table, folder or Path(table.source).parent, table_format("csv")
    )
    for found in in_order(table.parts(), spilled.of_part):
        spilled.take(found)
    spilled.finish()
    return spilled


def test_blank_lines_are_rows_where_invalid_values_are_replaced(tmp_path):
    source, target = tmp_path / "a.csv", tmp_path / "out.csv"
    frame = written(source, 30).drop("gone")
    with source.open("a") as stream:
        stream.write("\n\n")
    plan = plan_of(invalid="replace", keep_order=True, reading={"header": "yes", "delimiter": ","})
    assert released(plan, source, target).rows == 32
    assert as_read(target).head(30).equals(frame)
    assert as_read(target).tail(2).null_count().row(0) == (2, 2, 2)


def test_a_release_with_a_comma_and_counted_values_is_verified_in_parts(tmp_path, monkeypatch):
    source, target = tmp_path / "a.csv", tmp_path / "out.csv"
    source.write_text("x;c\n" + "".join(f"{k % 5},5;{'abc'[k % 3]}\n" for k in range(200)))
    columns = [
        {"name": "x", "kind": "real", "lower": 0.0, "upper": 5.0, "cells": 11},
        {"name": "c", "kind": "category", "domain": ["a", "b", "c"], "bounds_origin": "data"},
    ]
    reading = {"delimiter": ";", "decimal": ",", "header": "yes"}
    plan = Plan.from_plain({"epsilon": 4.0, "column": columns, "reading": reading})
    table = read_table(source, merge_options(table_reader.ReadOptions(), plan.reading))
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        release_prepared(prepare_rows(plan, table, destination(target)), ledger)
    monkeypatch.setattr("workbench.data.rows_in_parts._SHARE_OF_FREE", 0.0)  # nothing is read whole
    assert verify_release(target) == []
    whole = target.read_bytes()
    assert b",5;" in whole


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "faults", [[(150, "n", "ten")], [(20, "c", "zz"), (180, "n", "11x")], [(3, "n", ""), (2, "c", "q")]]
)
def test_a_refusal_names_the_row_that_it_would_name_of_the_whole(tmp_path, faults, monkeypatch):
    source = tmp_path / "a.csv"
    rows = written(source, 200).fill_null("a").rows()
    lines = [[str(cell).replace("\n", " ").replace('"', "").replace(",", "") for cell in row] for row in rows]
    lines = [[n, "a", kept, gone] for n, _, kept, gone in lines]
    for row, name, value in faults:
        lines[row]["nc".index(name)] = value
    source.write_text("n,c,kept,gone\n" + "".join(",".join(line) + "\n" for line in lines))
    refusals = []
    for size in (0, 1 << 30):
        monkeypatch.setattr(table_reader, "IN_PARTS_FROM", size)
        table = read_table(source)
        assert table.in_parts is (size == 0)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger, pytest.raises(InputError) as refused:
            release_prepared(prepare_rows(plan_of(), table, destination(tmp_path / "out.csv")), ledger)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            assert not ledger.releases()
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]
    assert left_beside(tmp_path, "a.csv")


def test_a_cap_refuses_before_a_value_is_drawn(tmp_path):
    source = tmp_path / "a.csv"
    written(source, 50)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        ledger.set_cap(ledger.enter_for_release(read_table(source), None), Decimal(1))
    with pytest.raises(BudgetRefusedError):
        released(plan_of(), source, tmp_path / "out.csv")
    assert left_beside(tmp_path, "a.csv")


# -- one pass, no name, no rest ---------------------------------------------------------------------------------------


def test_values_and_marks_are_read_in_one_pass(tmp_path, monkeypatch):
    source = tmp_path / "a.csv"
    written(source, 400)
    monkeypatch.setattr(identity, "_EVERY_ROW", 100)  # of fewer rows listed columns are hashed once more
    passes = []
    whole = RegularRows.parts

    def counted(self: RegularRows, at_once: int) -> Iterator[Any]:
        passes.append(at_once)
        return whole(self, at_once)

    monkeypatch.setattr(RegularRows, "parts", counted)
    released(plan_of(), source, tmp_path / "out.csv")
    assert len(passes) == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are seen in /proc")
def test_the_file_of_cells_has_no_name_and_is_the_owners(tmp_path):
    source = tmp_path / "a.csv"
    written(source, 100)
    spilled = read_into(plan_of(), read_table(source))
    descriptor = spilled._spill._file._file
    state = os.fstat(descriptor)
    assert (state.st_nlink, state.st_mode & 0o777) == (0, 0o600)
    assert left_beside(tmp_path, "a.csv")
    data = os.pread(descriptor, state.st_size, 0)
    assert b"secret" not in data
    del spilled
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.parametrize("label", ["rows read", "rows in random order", "written"])
def test_a_cancelled_release_leaves_nothing_and_is_charged_for_what_was_written(tmp_path, label):
    source = tmp_path / "a.csv"
    written(source, 400)
    cancel = CancelToken()

    def emit(event: Event) -> None:
        if isinstance(event, Progress) and event.label == label:
            cancel.cancel()

    with pytest.raises(CancelledError):
        released(plan_of(), source, tmp_path / "out.csv", emit=emit, cancel=cancel)
    assert left_beside(tmp_path, "a.csv")
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        statuses = [release.status for release in ledger.releases()]
    assert statuses == {"rows read": [], "rows in random order": ["void"], "written": ["charged"]}[label]


def test_a_piece_is_drawn_once(tmp_path):
    source = tmp_path / "a.csv"
    written(source, 30)
    plan = plan_of()
    drawn = read_into(plan, read_table(source)).draw(
        released_ask(events_of(protected_columns(plan))), ignore, CancelToken()
    )
    drawn.piece(0)
    with pytest.raises(AssertionError):
        drawn.piece(0)


def test_a_file_that_changes_between_check_and_draw_is_not_read_again(tmp_path):
    """What was checked is what is drawn: after the pass the source is not needed."""
    source, target = tmp_path / "a.csv", tmp_path / "out.csv"
    frame = written(source, 60).drop("gone")
    prepared = prepare_rows(plan_of(keep_order=True), read_table(source), destination(target))
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        check_values(prepared, CancelToken(), ledger)
        source.write_text("n,c,kept,gone\n1,a,b,c\n")
        release_prepared(prepared, ledger)
    assert as_read(target).equals(frame)


# -- the order --------------------------------------------------------------------------------------------------------


class Words:
    """Random bits that a test chose, one array for each question."""

    releasable = False

    def __init__(self, *answers: NDArray[np.uint64]) -> None:
        self._answers = list(answers)

    def words(self, count: int) -> NDArray[np.uint64]:
        answer = self._answers.pop(0)
        assert len(answer) == count
        return answer


def order_of(spilled: SpilledRows, coins: Any) -> tuple[int, ...]:
    """Return the order in which rows come out, each of which is named by its first cell."""
    rows = spilled._scattered(coins, ignore, CancelToken())
    facts = {"names": ("kept",), "kept_types": {}, "rows": spilled._table.rows, "releasable": False}
    drawn = DrawnInParts(lambda: rows, rows.buckets, (), [], coins, **facts)
    return tuple(int(cell) for piece in drawn.pieces() for cell in piece["kept"])


def rows_by_number(tmp_path: Path, rows: int) -> SpilledRows:
    source = tmp_path / "numbered.csv"
    source.write_text("n,c,kept,gone\n" + "".join(f"1,a,{k},x\n" for k in range(rows)))
    return read_into(plan_of(), read_table(source))


@pytest.mark.parametrize(("rows", "buckets"), [(3, 2), (4, 2), (4, 4), (5, 2)])
def test_every_order_has_the_same_probability(tmp_path, monkeypatch, rows, buckets):
    """All draws of buckets and all orders in each of them, enumerated, with exact probabilities."""
    monkeypatch.setattr(spilled_rows, "_BUCKET", -(-rows // buckets))
    spilled = rows_by_number(tmp_path, rows)
    chances: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for chosen in itertools.product(range(buckets), repeat=rows):
        words = np.zeros(-(-rows // 4), np.uint64)
        words.view(np.uint16)[:rows] = chosen
        sizes = [chosen.count(bucket) for bucket in range(buckets)]
        each = Fraction(1, buckets**rows * math.prod(math.factorial(size) for size in sizes))
        for orders in itertools.product(*(itertools.permutations(range(size)) for size in sizes)):
            keys = [np.array(order, np.uint64) << np.uint64(32) for order in orders]  # the last bits are not used
            chances[order_of(spilled, Words(words, *keys))] += each
    assert len(chances) == math.factorial(rows)
    assert set(chances.values()) == {Fraction(1, math.factorial(rows))}


def test_orders_that_the_system_draws_are_uniform(tmp_path, monkeypatch):
    monkeypatch.setattr(spilled_rows, "_BUCKET", 2)
    spilled, draws = rows_by_number(tmp_path, 4), 3000
    counts: dict[tuple[int, ...], int] = defaultdict(int)
    for _ in range(draws):
        counts[order_of(spilled, OsEntropy())] += 1
    expected = draws / 24
    statistic = sum((counts[order] - expected) ** 2 / expected for order in itertools.permutations(range(4)))
    assert statistic < chi2.isf(1e-6, 23)

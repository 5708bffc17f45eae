"""What is counted of rows that are read in parts: the very numbers of a table that is read whole, and its errors."""

import itertools
from collections.abc import Iterator
from decimal import Decimal

import polars as pl
import pytest
from asks import exact_ask, released_ask
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.rows_in_parts import Rows
from workbench.data.table import Table
from workbench.params import InputError
from workbench.privacy.central.quantile_choice import Held
from workbench.release.synthetic import synthesis_work
from workbench.release.table_formats import table_format
from workbench.sanitize.plan import Plan
from workbench.sanitize.writing import PLAIN
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore
from workbench.statistics import drawn_quantiles
from workbench.statistics.queries import Counted, Query, counted, queries_of
from workbench.statistics.request import Request, Statistic
from workbench.synth.columns import CountedTables, KeptRows, coarse_columns, coded
from workbench.synth.parameters import SynthesisParameters

COLUMNS = [
    {"name": "city", "kind": "category", "domain": ["Graz", "Linz", "Wels"], "missing": "own-value"},
    {"name": "age", "kind": "integer", "lower": 0, "upper": 120, "missing": "own-value"},
    {"name": "size", "kind": "real", "lower": 0.0, "upper": 2.5},
]
PLAN = Plan.from_plain({"epsilon": 4.0, "column": COLUMNS})
CITIES, AGES = st.sampled_from([None, "Graz", "Linz", "Wels"]), st.none() | st.integers(-5, 130)
ROWS = st.lists(st.tuples(CITIES, AGES, st.floats(-1, 4, allow_nan=False)), min_size=1, max_size=25)


class Sliced(Rows):
    """Rows of a frame, which are given in parts of a few."""

    def __init__(self, frame: pl.DataFrame, size: int) -> None:
        self._frame, self._size = frame, size
        self.height, self.columns = frame.height, tuple(frame.columns)

    def load(self) -> pl.DataFrame:
        """Never called: who counts reads parts."""
        raise AssertionError("the table was read whole")

    def parts(self, at_once: int) -> Iterator[pl.DataFrame]:
        return (self._frame.slice(start, self._size) for start in range(0, self.height, self._size))


def tables(rows: list[tuple[str | None, int | None, float]], size: int) -> tuple[Table, Table]:
    """Return the rows in memory and in parts."""
    cells = zip(*([None if value is None else str(value) for value in row] for row in rows), strict=True)
    frame = pl.DataFrame(
        dict(zip(("city", "age", "size"), cells, strict=True)), schema=dict.fromkeys(("city", "age", "size"), pl.String)
    )
    whole = Table(frame, "rows.csv")
    return whole, whole.replaced(frame=Sliced(frame, size))


def queries(rows: int) -> tuple[Query, ...]:
    alone, by_city, by_both = None, ("city",), ("city", "age")
    figures = [
        Statistic(statistic="count", by=by_city),
        Statistic(statistic="count", column="city"),
        Statistic(statistic="mode", column="city"),
    ]
    for by, name in itertools.product((alone, by_city), ("mean", "sum", "count", "quantiles")):
        figures.append(Statistic(statistic=name, column="age", by=by))
    for by, name in itertools.product((alone, by_city, by_both), ("mean", "histogram", "quantiles")):
        figures.append(Statistic(statistic=name, column="size", by=by))
    return queries_of(Request(figures=tuple(figures)).checked(PLAN), PLAN, 4.0, rows)


def plain(found: dict[str, object]) -> dict[str, object]:
    """Return answers so that they can be compared."""
    return {
        label: [(h.cells.tolist(), (h.upto - h.upto[0]).tolist()) for h in exact]
        if isinstance(exact, list) and exact and isinstance(exact[0], Held)
        else exact
        for label, exact in found.items()
    }


@settings(deadline=None, max_examples=60)
@given(rows=ROWS, size=st.integers(1, 9), kept=st.integers(1, 6))
def test_answers_are_those_of_the_whole(rows, size, kept):
    whole, parts = tables(rows, size)
    asked = queries(20_000)
    assert {query.form for query in asked} == {"count", "histogram", "pair", "centred", "choice", "quantiles"}
    expected = counted(asked, whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawn_quantiles, "_AS_THEY_ARE", kept)
        found = counted(asked, parts)
    assert plain(found) == plain(expected)
    for query in asked:
        assert query.noisy(exact_ask(), found[query.label]) == query.noisy(exact_ask(), expected[query.label])


@settings(deadline=None, max_examples=60)
@given(bad=st.dictionaries(st.integers(0, 9), st.sampled_from(["city", "size"]), min_size=1), size=st.integers(1, 4))
def test_the_error_is_that_of_the_whole(bad, size):
    whole, _ = tables([("Graz", 5, 1.0)] * 10, size)
    frame = whole.frame.with_columns(
        pl.Series(name, [f"bad {k}" if bad.get(k) == name else v for k, v in enumerate(whole.frame[name])])
        for name in ("city", "size")
    )
    rows, reader = whole.replaced(frame=Sliced(frame, size)), Counted(queries(20_000), ("city", "size"))
    with pytest.raises(InputError) as found:
        reader.read(rows, CancelToken())
    first = PLAN.column("city" if "city" in bad.values() else "size").grid()
    with pytest.raises(InputError) as expected:
        first.encode(whole.replaced(frame=frame))
    assert str(found.value) == str(expected.value)


@settings(deadline=None, max_examples=40)
@given(rows=ROWS, size=st.integers(1, 9), target=st.none() | st.integers(0, 2))
def test_tables_are_those_of_the_whole(rows, size, target):
    whole, parts = tables(rows, size)
    columns = coarse_columns([column.facts() for column in PLAN.columns], 6)
    counted_tables = CountedTables(columns, target)
    counted_tables.read(parts, CancelToken())
    coded_rows, sizes = coded(columns, whole), [column.size for column in columns]
    asked = [(0,), (1,), (2,), *(p for p in itertools.permutations(range(3), 2) if target is None or target in p)]
    for places in asked:
        expected = coded_rows.counts(places, [sizes[place] for place in places])
        assert counted_tables.counts(places, [sizes[place] for place in places]).tolist() == expected.tolist()
    kept = KeptRows(columns)
    kept.read(parts, CancelToken())
    assert kept.rows.codes.tolist() == coded_rows.codes.tolist()
    assert kept.rows.present.tolist() == coded_rows.present.tolist()
    threes = CountedTables(columns, target, 2)
    threes.read(parts, CancelToken())
    assert threes.counts((0, 1, 2), sizes).tolist() == coded_rows.counts((0, 1, 2), sizes).tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "table"])
def test_rows_that_are_drawn_in_pieces_are_all_there(kind, monkeypatch):
    monkeypatch.setattr(synthesis_work, "ROWS_AT_ONCE", 7)
    _, parts = tables([("Graz", 5, 1.0), (None, 7, 2.0)] * 10, 3)
    chosen = SynthesisParameters(method="tan", target="city", rows=30)
    work = synthesis_work.synthesis_work(PLAN, chosen, Decimal(4), Decimal(0), 20, kind)
    assert isinstance(work.reader, CountedTables)
    work.reader.read(parts, CancelToken())
    made = work.run(parts, released_ask(list(work.events)), ignore, CancelToken())
    found = table_format(kind).read(made.whole, PLAIN)
    assert found.height == 30
    assert set(found["city"].unique()) <= {None, "Graz", "Linz", "Wels"}

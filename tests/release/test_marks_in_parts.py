"""The marks of a table do not depend on the parts in which it is read."""

import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.content.cell_hash import CellHash
from workbench.data.content.row_choice import levels
from workbench.data.rows_in_parts import Part, Rows
from workbench.data.table import Table
from workbench.release.ledger import column_marks, identity, sketch

KEY = b"k" * 32


class InParts(Rows):
    """The rows of a frame in parts of stated sizes."""

    def __init__(self, frame: pl.DataFrame, sizes: list[int]) -> None:
        self._frame, self._sizes = frame, sizes
        self.height, self.columns = frame.height, tuple(frame.columns)

    def load(self) -> pl.DataFrame:
        raise AssertionError("the marks of a table in parts need no whole")

    def parts(self, at_once: int):
        start, k = 0, 0
        while start < self.height:
            size = min(self._sizes[k % len(self._sizes)], at_once)
            frame = self._frame.slice(start, size)
            yield Part(frame.height, self.columns, lambda frame=frame: frame)
            start, k = start + size, k + 1


def shown(marks: identity.Identity) -> tuple[object, ...]:
    columns = marks.columns
    lists = [(m.below, m.values.tolist(), m.counts.tolist()) for m in (columns.whole, *columns.columns)]
    return marks.content, marks.file, marks.sketches.encode(), columns.rows, lists, columns.some.tolist()


def column(kind: str, rows: int, generator: np.random.Generator) -> list[str | None]:
    if kind == "running":
        return [str(k) for k in range(rows)]
    if kind == "dates":
        return [str(np.datetime64("2020-01-01") + k) for k in range(rows)]
    if kind == "few":
        return [("no", "yes", None)[k] for k in generator.integers(0, 3, rows)]
    if kind == "names":
        return [f"n{k}" for k in generator.integers(0, 10**6, rows)]
    if kind == "written":
        ways = (" {}", "{},50", "{}.500", "a long cell about {}, é", "{}")
        return [ways[k % 5].format(k) for k in generator.integers(0, 3 * rows + 1, rows)]
    return [f"{k:.2f}" for k in generator.normal(50, 10, rows)]


KINDS = st.lists(st.sampled_from(["running", "dates", "few", "names", "written", "real"]), min_size=1, max_size=5)


@settings(deadline=None, max_examples=60)
@given(
    kinds=KINDS,
    rows=st.integers(1, 700),
    sizes=st.lists(st.integers(1, 200), min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
    many=st.booleans(),
    twice=st.booleans(),
    matched=st.sampled_from((None, 1, 2)),
)
def test_marks_of_parts_are_those_of_the_whole(kinds, rows, sizes, seed, many, twice, matched):
    """Also of parts whose cells somebody has matched with values: all of them, or some and one that does not occur."""
    generator = np.random.default_rng(seed)
    frame = pl.DataFrame([pl.Series(str(k), column(kind, rows, generator), pl.String) for k, kind in enumerate(kinds)])
    frame = pl.concat([frame, frame]) if twice else frame
    with pytest.MonkeyPatch.context() as patch:
        if many:  # as of a table with so many rows that not every cell is hashed
            patch.setattr(identity, "_EVERY_ROW", 10)
            patch.setattr(column_marks, "_STEP", 40)
            patch.setattr(column_marks, "_MOST", 20)
            patch.setattr(sketch, "_AT_ONCE", 30)
            patch.setattr(sketch, "_ROWS", 32)
        whole = identity.identify(Table(frame, "one", digest=b"d" * 32), KEY)
        table = Table(InParts(frame, sizes), "one", digest=b"d" * 32)
        marking = identity.Marking(table, KEY)
        for part in table.parts():
            for cells in frame if matched else ():
                some = cells.drop_nulls().unique(maintain_order=True)[::matched]
                part.places(cells.name, tuple(dict.fromkeys(("yes", "no", "never", *some))))
            marking.take(marking.of_part(part))
        marking.finish()
        parts = identity.identify(table, KEY)
    assert shown(parts) == shown(whole)


def test_all_rows_of_many_that_share_a_few_ranks_are_kept_within_bounds(monkeypatch):
    generator = np.random.default_rng(1)
    letters = np.array(list("acegik"))  # the last bit of each is 1
    columns = (["".join(w) for w in letters[generator.integers(0, 6, (30_000, 8))]] for _ in range(2))
    frame = pl.DataFrame(dict(zip("ab", columns, strict=True)))
    kept = identity.identify(Table(frame, "one"), KEY)
    monkeypatch.setattr(sketch, "_BITS_OF_ALL", 12)
    fewer = identity.identify(Table(InParts(frame, [977]), "one"), KEY)
    assert kept.sketches.parts
    assert fewer.sketches.parts
    assert kept.sketches.shared(fewer.sketches) > 0.95


@pytest.mark.parametrize("texts", [["a value of many letters", "another one", None], ["1.50", "1.5", " 2", "é"]])
def test_values_that_are_counted_first_have_the_marks_of_their_cells(texts):
    generator = np.random.default_rng(1)
    frame = pl.DataFrame({"a": [texts[k] for k in generator.integers(0, len(texts), 900)]}, {"a": pl.String})
    hashing, marks = CellHash(KEY), []
    for wide in (None, frame[:512]):  # without it every cell is hashed
        marker = column_marks.ColumnMarker(frame[:300], wide, frame.height, hashing)
        assert marker._by_value == [wide is not None]
        for part in (frame[:400], frame[400:]):
            marker.take(0, marker.of_column(0, part.to_series().alias(""), None))
        marker.finish()
        marks.append(marker._marks[0])
    assert marks[0].values.tolist() == marks[1].values.tolist()
    assert marks[0].counts.tolist() == marks[1].counts.tolist()
    assert marks[0].below == marks[1].below


def test_millions_of_rows_of_a_second_pass_need_sixty_bytes_each():
    count, draw = 600_000, np.random.default_rng(1)
    kept = sketch._Kept((), sketch._ROWS, count, 0)
    tracemalloc.start()
    try:
        for _ in range(0, count, 50_000):
            rows = draw.integers(0, 1 << 63, 50_000, np.uint64)
            kept.take(rows, levels(rows))
        assert len(kept.sketch(bytes(32)).rows) >= sketch._ROWS // 2
        assert tracemalloc.get_traced_memory()[1] < 75 * count
    finally:
        tracemalloc.stop()

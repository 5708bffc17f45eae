"""Minimal unique sets against a search of every subset of every row."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workbench.data.table import Table
from workbench.params import CancelledError
from workbench.risk.measures import RiskOptions, Subject
from workbench.risk.measures.unique_measures import intrusion, scores, special_uniques
from workbench.risk.measures.unique_sets import MOST_SETS, MOST_WORK, reachable, unique_sets
from workbench.signals.cancel import CancelToken

Small = arrays(np.int64, st.tuples(st.integers(1, 14), st.integers(1, 5)), elements=st.integers(0, 3))


def exhaustive(values: np.ndarray, largest: int) -> dict[tuple[int, ...], set[int]]:
    """Return for each set of attributes the rows that it makes unique and no part of it does."""
    rows, attributes = values.shape
    minimal: dict[tuple[int, ...], set[int]] = {}
    for size in range(1, largest + 1):
        for members in itertools.combinations(range(attributes), size):
            seen = [tuple(values[i, list(members)]) for i in range(rows)]
            unique = {i for i in range(rows) if seen.count(seen[i]) == 1}
            parts = (s for s in minimal if set(s) < set(members))
            minimal[members] = unique - set().union(*(minimal[s] for s in parts))
    return minimal


@settings(max_examples=80, deadline=None)
@given(Small, st.integers(1, 5))
def test_minimal_sets_are_those_of_an_exhaustive_search(values, largest):
    largest = min(largest, values.shape[1])
    found = unique_sets(list(values.T), len(values), largest)
    assert {s.members: set(s.minimal.tolist()) for s in found.sets} == exhaustive(values, largest)
    for one in found.sets:
        part = values[:, list(one.members)]
        _, counts = np.unique(part, axis=0, return_counts=True)
        assert (one.classes, one.unique) == (len(counts), int((counts == 1).sum()))
        assert one.alike == sum(math.comb(int(count), 2) for count in counts)


@settings(max_examples=40, deadline=None)
@given(Small)
def test_scores_are_the_sum_over_minimal_sets_smaller_than_all(values):
    attributes = values.shape[1]
    names = tuple(f"c{i}" for i in range(attributes))
    frame = pl.DataFrame({n: pl.Series(values[:, i]).cast(pl.String) for i, n in enumerate(names)})
    found = scores(Subject(Table(frame, "t"), RiskOptions(quasi=names)))
    most = attributes - 1
    rows, parts = np.zeros(len(values)), np.zeros(attributes)
    for members, which in exhaustive(values, attributes).items():
        if len(members) <= most:
            weight = math.prod(attributes - i for i in range(len(members), most + 1))
            rows[list(which)] += weight
            parts[list(members)] += weight * len(which)
    assert found.rows.tolist() == rows.tolist()
    assert found.attributes.tolist() == parts.tolist()


def test_the_chance_of_a_right_match():
    """Two unique rows and one pair at π = 1/4: 2/4 / (2/4 + 2·3/4)."""
    frame = pl.DataFrame({"a": ["x", "y", "z", "z"], "b": ["1", "1", "1", "1"]})
    subject = Subject(Table(frame, "t"), RiskOptions(quasi=("a", "b"), sample_fraction=0.25))
    assert intrusion(subject) == 0.25
    shared = special_uniques(subject)["special"]["highest"]
    assert [row["dis"] for row in shared] == [0.25, 0.25]


def test_a_wide_table_is_searched_up_to_a_stated_size():
    assert reachable(9, 30_162) == 9
    assert reachable(60, 10_000) == 2  # 36,050 sets of three would be more than are searched
    assert reachable(60, 10**9) == 1
    for attributes, rows in ((20, 1000), (60, 100), (12, 50_000)):
        largest = reachable(attributes, rows)
        sets = sum(math.comb(attributes, size) for size in range(1, largest + 1))
        assert sets <= MOST_SETS
        assert sets * rows <= MOST_WORK
    columns = list(np.random.default_rng(3).integers(0, 3, (60, 50)))
    found = unique_sets(columns, 50)
    assert (found.largest, found.complete, len(found.sets)) == (2, False, 60 + math.comb(60, 2))


def test_a_search_ends_when_it_is_cancelled():
    cancel = CancelToken()
    told: list[float] = []

    def stop(event: object) -> None:
        told.append(1.0)
        cancel.cancel()

    columns = list(np.random.default_rng(3).integers(0, 9, (9, 500)))
    with pytest.raises(CancelledError):
        unique_sets(columns, 500, cancel=cancel, emit=stop)
    assert len(told) == 1

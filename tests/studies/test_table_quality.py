"""Total-variation distances of marginals: by hand, against a slow count, and of many pairs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from workbench.params import CancelledError
from workbench.signals.cancel import CancelToken
from workbench.studies import association
from workbench.studies.synthetic_comparison import table_quality


def test_two_tables_by_hand():
    original = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    drawn = np.array([[0, 0], [0, 0], [0, 0], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1]])
    found = table_quality(original, drawn, (2, 2))
    # 1-way: (1/2, 1/2) and (3/8, 5/8), both 1/8; 2-way: quarters and (3/8, 0, 0, 5/8), (1/8 + 1/4 + 1/4 + 3/8) / 2.
    assert found.one_way == pytest.approx(1 / 8)
    assert found.two_way == pytest.approx(1 / 2)
    assert found.mean == pytest.approx((2 / 8 + 1 / 2) / 3)
    assert (found.columns, found.pairs, found.of_pairs) == (2, 1, 1)


def test_alike_is_0_and_nothing_in_common_is_1():
    rows = np.random.default_rng(1).integers(0, 3, (50, 4))
    same = table_quality(rows, np.vstack([rows, rows]), (6, 6, 6, 6))
    assert same.mean == pytest.approx(0, abs=1e-12)
    assert table_quality(rows, rows + 3, (6, 6, 6, 6)).mean == pytest.approx(1)


def test_the_worst_column_is_named_and_one_column_has_no_pair():
    original, drawn = np.array([[0, 0], [0, 1]]), np.array([[0, 1], [0, 1]])
    found = table_quality(original, drawn, (2, 2))
    assert (found.worst, found.worst_distance) == (1, 0.5)
    alone = table_quality(original[:, 1:], drawn[:, 1:], (2,))
    assert math.isnan(alone.two_way)
    assert alone.mean == alone.one_way == 0.5


def test_large_tables_are_counted_by_what_occurs_and_give_the_same(monkeypatch):
    made = np.random.default_rng(2)
    original, drawn = made.integers(0, 40, (300, 3)), made.integers(0, 40, (200, 3))
    dense = table_quality(original, drawn, (40, 40, 40))
    monkeypatch.setattr(association, "_DENSE", 10)
    found = table_quality(original, drawn, (40, 40, 40))
    assert (found.one_way, found.two_way) == pytest.approx((dense.one_way, dense.two_way))


def test_of_many_pairs_evenly_spaced_ones_stand_for_all(monkeypatch):
    monkeypatch.setattr(association, "MOST_TABLES", 7)
    made = np.random.default_rng(3)
    original, drawn = made.integers(0, 2, (30, 9)), made.integers(0, 2, (30, 9))
    seen = []
    found = table_quality(original, drawn, (2,) * 9, on_pair=lambda done, of: seen.append((done, of)))
    assert (found.pairs, found.of_pairs) == (7, 36)
    assert seen[-1] == (7, 7)
    pairs = association.spaced(9, 2, 7)
    assert {pairs[0], pairs[-1]} == {(0, 1), (7, 8)}
    assert set(pairs) <= set(itertools.combinations(range(9), 2))


def test_it_can_be_cancelled():
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        table_quality(np.zeros((3, 2), int), np.zeros((3, 2), int), (1, 1), token)

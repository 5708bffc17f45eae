import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

from workbench.params import InputError
from workbench.studies.metrics import classification_metrics
from workbench.studies.splits import held_out_sizes, seed_of, stratified_split

codes = st.lists(st.integers(0, 3), min_size=5, max_size=80).map(np.array)


@given(codes, st.integers(0, 2**128 - 1))
def test_a_split_divides_every_row_once_and_every_class_fairly(y: np.ndarray, seed: int) -> None:
    training, held_out = stratified_split(y, seed)
    assert sorted([*training, *held_out]) == list(range(len(y)))
    assert len(held_out) == round(len(y) * 0.2)
    for code in np.unique(y):
        assert abs((y[held_out] == code).sum() - (y == code).sum() * len(held_out) / len(y)) < 1
    sizes = np.unique(y, return_counts=True)[1]
    told = [(y[held_out] == code).sum() for code in np.unique(y)]
    assert held_out_sizes(sizes, seed).tolist() == told
    again = stratified_split(y, seed)
    assert np.array_equal(again[1], held_out)


def test_rows_of_a_class_are_held_out_equally_often() -> None:
    y = np.repeat([0, 1, 2], [7, 8, 9])
    draws = 4000
    times = np.zeros(len(y))
    for seed in range(draws):
        times[stratified_split(y, seed)[1]] += 1
    for code, held in ((0, 1), (1, 2), (2, 2)):  # 5 of 24 rows: 1.46, 1.67 and 1.88 by largest remainder
        share = held / (y == code).sum()
        # Six standard deviations of a binomial: one false alarm in 2e7 runs over the 24 rows.
        assert np.all(np.abs(times[y == code] - draws * share) < 6 * np.sqrt(draws * share * (1 - share)))


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(InputError, match="too few"):
        stratified_split(np.array([0, 1]), 0)


def test_seeds_tell_their_parts_apart() -> None:
    seeds = {seed_of(*parts) for parts in [(1, "a"), ("1", "a"), (1, "a", None), (1.0, "a"), ("1|'a'",), (1, "b")]}
    assert len(seeds) == 6
    assert seed_of(7, "none", None, 3) == seed_of(7, "none", None, 3)


@given(st.data(), st.integers(2, 4), st.integers(1, 60))
def test_metrics_are_those_of_scikit_learn(data: st.DataObject, classes: int, rows: int) -> None:
    draw = st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows).map(np.array)
    truth, said = data.draw(draw), data.draw(draw)
    mine = classification_metrics(truth, said, classes)
    assert mine["accuracy"] == pytest.approx(accuracy_score(truth, said))
    recalls = [np.mean(said[truth == c] == c) for c in np.unique(truth)]
    assert mine["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    if set(said) <= set(truth) and len(set(truth)) > 1:
        assert mine["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, said))
    if classes == 2:
        assert mine["f1"] == pytest.approx(f1_score(truth, said, zero_division=0))
    else:
        assert "f1" not in mine

"""Faults that were measured in other programs for synthetic tables; none of them is here, and each would be found.

Categories read from the rows · scores that forget that a person has several rows · a score by the largest column sum
instead of the sum of all cells · shares of ε that do not fit into ε after rounding · rounding that makes columns
dependent · joined rare cells that are counted too low.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synth_cases import dependent_rows, names_of, rows_of, run, setting_of, table_of
from transcripts import COUNTS, loss, recorded

from workbench.data.schema import Attribute
from workbench.privacy.entropy import SeededEntropy
from workbench.synth import MARGINALS, SYNTHESISERS, fit, mst, row_sampler, synthesis
from workbench.synth.base import Questions, Tables, split
from workbench.synth.columns import CoarseColumn, CodedRows, coarse_columns, coded

METHODS = pytest.mark.parametrize("method", SYNTHESISERS, ids=lambda method: method.name)
EPSILON = 0.9
SIZES = (2, 3, 3)


@pytest.fixture(autouse=True)
def quick_fits(monkeypatch):
    """Fits are post-processing of answers: a few rounds serve."""
    for place in (mst, synthesis):
        monkeypatch.setattr(place, "fitted", lambda *a, **k: fit.fitted(*a, **{**k, "rounds": 30}))


# -- categories -------------------------------------------------------------------------------------------------------


USUAL = {"c0": ["v0", "v1"] * 10, "c1": ["v0", "v1", "v2", "v2"] * 5}
UNIQUE = {**USUAL, "c1": ["Atlantis", *USUAL["c1"][1:]]}
WITHOUT = {name: [None, *values[1:]] for name, values in USUAL.items()}


def read(told: dict[str, list[str | None]], domain: tuple[str, ...]) -> tuple[tuple[CoarseColumn, ...], CodedRows]:
    """The rows as a plan with ``invalid = "replace"`` and these names of the second column has them."""
    facts = [
        Attribute(name=name, kind="category", domain=names, missing="own-value")
        for name, names in (("c0", ("v0", "v1")), ("c1", domain))
    ]
    columns = coarse_columns(facts)
    return columns, coded(columns, table_of(**told).with_invalid_replaced())


@METHODS
def test_a_value_that_one_person_alone_has_is_told_by_no_question_and_never_drawn(method):
    columns, rows = read(UNIQUE, ("v0", "v1", "v2"))
    setting = setting_of(columns, 20)
    for seed in range(5):
        assert loss(method, setting, rows, read(WITHOUT, ("v0", "v1", "v2"))[1], seed) <= 1
        values = run(method.name, setting, rows, 200, seed).frame(SeededEntropy(seed))["c1"]
        assert set(values.drop_nulls()) <= {"v0", "v1", "v2"}


@METHODS
def test_categories_that_are_read_from_the_rows_would_be_found(method):
    found = []
    for told in (UNIQUE, WITHOUT):
        columns, rows = read(told, tuple(sorted({v for v in told["c1"] if v is not None})))
        found.append(recorded(method, setting_of(columns, 20), rows))
    one, other = ([(a.form, len(a.exact)) for a in recorder.asked] for recorder in found)
    assert one != other


# -- several rows of a person -----------------------------------------------------------------------------------------


def hostile_tables(count: int) -> Iterator[CodedRows]:
    """Tables in which some rows are alone in their cells, and one whose rows are all alike."""
    yield rows_of(dependent_rows(count, SIZES))
    yield rows_of([[0, 0, 0]] * (count - 1) + [[1, 2, 2]])
    yield rows_of([[1, 1, 1]] * count)


@METHODS
@pytest.mark.parametrize("person", [1, 2, 6])
def test_the_rows_of_a_person_move_all_questions_together_by_no_more_than_their_number(method, person):
    setting = setting_of(names_of(*SIZES), 12, str(EPSILON))
    for seed, rows in enumerate(hostile_tables(12)):
        for first in (0, 12 - person):
            present = np.ones(12, bool)
            present[first : first + person] = False
            told = loss(method, setting, rows, CodedRows(rows.codes, present), seed)
            assert EPSILON * 0.5 < told <= person * EPSILON * (1 + 1e-12)
            others = rows.codes.copy()
            others[first : first + person] = [0, 2, 1]
            assert loss(method, setting, rows, rows_of(others), seed) <= 2 * person * EPSILON * (1 + 1e-12)


# -- scores -----------------------------------------------------------------------------------------------------------


def test_the_score_of_a_pair_is_the_sum_over_all_cells_and_not_the_largest_column_sum():
    """Of two pairs the one whose dependence is spread over many columns of its table has the larger score."""
    size, count = 8, 64
    spread = [[k % size, k % size, 0] for k in range(count)]
    setting = setting_of(names_of(size, size, 2), count)
    alone = [np.full(size, 1 / size), np.full(size, 1 / size), np.array([1.0, 0.0])]
    tables = mst.expected_tables(setting, alone, 1e6)
    rows = rows_of(spread)
    groups, expected, _ = tables[0, 1]
    apart = rows.counts((0, 1), (size, size)) - expected
    found = mst.score(rows, (0, 1), groups, expected, setting)
    assert found == np.abs(apart).sum() == 112
    assert np.linalg.norm(apart, 1) == 14  # what NumPy calls the 1-norm of a table: the largest column sum


def _stacked(questions: Questions) -> Tables:
    """The planted fault: two tables in one question, whose declared sensitivity is that of the larger column sum."""
    rows = questions._rows
    both = np.concatenate([rows.counts((0,), (2,)), rows.counts((1,), (3,))])
    questions._ask("both", [int(v) for v in both], 1)
    return Tables((), ())


def test_a_question_with_the_sensitivity_of_one_column_is_found():
    planted = replace(MARGINALS, ask=_stacked, queries=lambda setting: split(setting.budget, [("both", COUNTS, 1.0)]))
    setting = setting_of(names_of(*SIZES), 12, str(EPSILON))
    rows = rows_of(dependent_rows(12, SIZES))
    told = loss(planted, setting, rows, CodedRows(rows.codes, np.arange(12) > 0))
    assert told == pytest.approx(2 * EPSILON)


# -- rounding of the budget -------------------------------------------------------------------------------------------


@METHODS
@given(
    epsilon=st.one_of(
        st.sampled_from(["0.1", "0.3", "0.7", "1", "1.1", "2.9", "3.3"]),
        st.decimals("0.01", "20", places=9, allow_nan=False).map(str),
    ),
    columns=st.integers(2, 9),
)
@settings(max_examples=15)
def test_what_is_spent_never_passes_epsilon_by_a_last_bit(method, epsilon, columns):
    """Shares sum to ε exactly, and the doubles that noise is drawn with sum to no more, in exact arithmetic."""
    setting = setting_of(names_of(*([2] * columns)), 20, epsilon)
    queries = method.queries(setting)
    assert sum((query.share for query in queries), Decimal(0)) == Decimal(epsilon)
    found = recorded(method, setting, rows_of([[0] * columns] * 20))
    assert len(found.asked) == len(queries)
    spent = sum((Fraction(asked.amount) for asked in found.asked), Fraction(0))
    assert Fraction(Decimal(epsilon)) * (1 - Fraction(1, 10**9)) < spent <= Fraction(Decimal(epsilon))


# -- rounding of counts -----------------------------------------------------------------------------------------------


def siblings(count: int) -> CodedRows:
    """A target, and two columns of twenty values that have next to nothing to do with each other."""
    generator = np.random.default_rng(1)
    return rows_of(np.column_stack([generator.integers(0, size, count) for size in (2, 20, 20)]))


def correlation(codes: np.ndarray) -> float:
    return float(np.corrcoef(codes[:, 1], codes[:, 2])[0, 1])


@METHODS
def test_columns_that_are_independent_stay_so_when_counts_are_rounded(method):
    rows = siblings(300)
    assert correlation(rows.codes) == pytest.approx(0.0197, abs=1e-4)
    setting = setting_of(names_of(2, 20, 20, ordered=True), 300, "100")
    found = [correlation(run(method.name, setting, rows, 300, seed).codes) for seed in range(8)]
    assert np.abs(found).max() < 0.29  # five deviations of a correlation of 300 independent rows
    assert abs(float(np.mean(found))) < 0.1


def test_rounding_that_gives_siblings_the_same_order_would_be_found(monkeypatch):
    def in_order(left: np.ndarray, above: np.ndarray, *_: object) -> np.ndarray:
        out = np.empty(len(above), dtype=np.int64)
        out[np.argsort(above, kind="stable")] = np.repeat(np.tile(np.arange(left.shape[1]), len(left)), left.ravel())
        return out

    monkeypatch.setattr(row_sampler, "MOST_DEALT", 0)
    monkeypatch.setattr(row_sampler, "_interleaved", in_order)
    setting = setting_of(names_of(2, 20, 20, ordered=True), 300, "100")
    assert correlation(run("marginals", setting, siblings(300), 300).codes) > 0.9


# -- rare cells -------------------------------------------------------------------------------------------------------


@METHODS
def test_rare_cells_that_are_joined_are_not_counted_too_low(method):
    """Thirty names, twenty-seven of them with one row in seven together; noise drowns each of them."""
    generator = np.random.default_rng(4)
    chances = [0.4, 0.3, 0.16, *([0.14 / 27] * 27)]
    names = generator.choice(30, 700, p=chances)
    rows = rows_of(np.column_stack([names, (names + generator.integers(0, 2, 700)) % 4]))
    setting = setting_of(names_of(30, 4), 700, "1")
    found = [int((run(method.name, setting, rows, 700, seed).codes[:, 0] >= 3).sum()) for seed in range(40)]
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert np.mean(found) > (names >= 3).sum() - 5 * error


@METHODS
def test_every_row_is_in_one_cell_of_every_question_whatever_is_joined(method):
    rows = rows_of(dependent_rows(50, (20, 6, 9)))
    found = recorded(method, setting_of(names_of(20, 6, 9), 50, "0.4"), rows)
    assert {sum(asked.exact) for asked in found.asked if asked.form == COUNTS} == {50}

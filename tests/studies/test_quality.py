"""Scores of released rows: by hand, against scipy and scikit-learn, and what each of them can see."""

import dataclasses
import itertools
import json
import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import ks_2samp
from scipy.stats.contingency import association as peer_association
from sklearn.linear_model import LogisticRegression

from workbench.data.table import Table
from workbench.params import CancelledError, InputError, WorkbenchError
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import CancelToken
from workbench.studies import association as measures
from workbench.studies.association import Variable, association, associations, measure
from workbench.studies.quality import study
from workbench.studies.quality.pairs import pair_of
from workbench.studies.quality.propensity import separated
from workbench.studies.quality.score import Found, Score
from workbench.studies.quality.shapes import of_column
from workbench.studies.quality.study import Quality, QualityRequest, quality
from workbench.studies.quality.tables import Rows
from workbench.studies.quality.way_tables import cut
from workbench.studies.synthetic_comparison import table_quality


def numbers(values: object, name: str = "x") -> Variable:
    return Variable(name, np.asarray(values, dtype=np.float64), numeric=True)


def names(values: object, name: str = "n") -> Variable:
    return Variable(name, np.asarray(values, dtype=np.int64), numeric=False)


def rows(*columns: Variable) -> Rows:
    return Rows(columns, len(columns[0].values))


def table(**columns: list[str | None]) -> Table:
    return Table(pl.DataFrame({name: pl.Series(cells, dtype=pl.String) for name, cells in columns.items()}), "t")


def value(found: Quality, name: str) -> Found:
    return next(one for score, one in found.found if score.name == name)


def test_the_shape_of_numbers_is_the_kolmogorov_smirnov_statistic_without_missing_ones():
    assert of_column(numbers([1, 2, 3, 4]), numbers([1, 2, 3, 9, 9, 9, 9, 9])) == pytest.approx(1 - 5 / 8)
    drawn = np.random.default_rng(1)
    x, y = drawn.normal(size=300).round(1), drawn.normal(0.4, 2, 200).round(1)
    found = of_column(numbers([*x, math.nan]), numbers(y))
    assert found == pytest.approx(1 - ks_2samp(x, y).statistic)
    assert math.isnan(of_column(numbers([math.nan]), numbers(y)))


def test_the_shape_of_names_is_their_total_variation():
    assert of_column(names([0, 0, 1, -1]), names([0, 1, 1, 2])) == pytest.approx(1 - (5 / 12 + 1 / 6 + 1 / 4) / 2)


def test_a_pair_of_numbers_is_scored_by_both_correlations():
    x = np.arange(50.0)
    up, down = (numbers(x), numbers(2 * x + 1)), (numbers(x), numbers(-x))
    assert pair_of(up, up).score == pytest.approx(1)
    assert pair_of(up, down).score == pytest.approx(0)
    assert pair_of(up, down).counts
    assert math.isnan(pair_of(up, (numbers(x), numbers(0 * x))).score)


def test_a_pair_of_names_is_scored_by_its_table_and_counts_by_its_association():
    a, b = names([0, 0, 1, 1, 1, 0]), names([0, 0, 1, 1, 0, -1])
    c, d = names([0, 1, 1, 1, 0, 0]), names([0, 1, 1, 0, 0, -1])
    # (0,0) (0,–) (1,0) (1,1): 2, 1, 1, 2 of 6 and 2, 1, 1, 2 of 6: rows moved about give the same table.
    assert pair_of((a, b), (c, d)).score == pytest.approx(1)
    assert pair_of((a, b), (c, names([1, 1, 1, 0, 0, 0]))).score == pytest.approx(1 - 1 / 6)
    counts = np.zeros((2, 3))
    np.add.at(counts, (a.values, b.values + 1), 1)
    assert pair_of((a, b), (c, d)).strength == pytest.approx(peer_association(counts.astype(int), method="cramer"))


def test_numbers_beside_names_are_cut_on_the_range_of_each_table():
    x, n = np.arange(100.0), np.arange(100) // 50
    assert pair_of((numbers(x), names(n)), (numbers(x + 1000), names(n))).score == pytest.approx(1)


def test_propensities_are_those_of_a_logistic_regression():
    drawn = np.random.default_rng(3)
    one = rows(numbers(drawn.normal(size=400)), names(drawn.integers(0, 3, 400)))
    other = rows(numbers(drawn.normal(0.5, 1, 200)), names(drawn.integers(0, 3, 200)))
    found = separated(one, other)
    assert found.products
    assert found.parameters == 1 + 1 + 2 + 2
    z, n = (np.concatenate([a.values, b.values]) for a, b in zip(one.columns, other.columns, strict=True))
    z = (z - z.mean()) / z.std()
    flags = (n[:, None] == [1, 2]).astype(float)
    design = np.column_stack([z, flags, flags * z[:, None]])
    peer = LogisticRegression(C=1e12, max_iter=10_000, tol=1e-10).fit(design, np.arange(600) >= 400)
    c = 200 / 600
    assert found.pmse == pytest.approx(float(np.mean((peer.predict_proba(design)[:, 1] - c) ** 2)), rel=1e-5)
    assert found.expected == pytest.approx(5 * (1 - c) ** 2 * c / 600)


def test_rows_of_one_population_have_the_ratio_that_chance_gives_and_others_a_larger_one():
    drawn, ratios = np.random.default_rng(4), []
    for _ in range(200):
        sides = [rows(numbers(drawn.normal(size=n)), names(drawn.integers(0, 4, n))) for n in (600, 300)]
        ratios.append(separated(*sides).ratio)
    # pMSE·N/(c(1 − c)) is χ² with k − 1 = 7 degrees of freedom, so the ratio has the mean 1/(1 − c)
    c = 1 / 3
    assert np.mean(ratios) == pytest.approx(1 / (1 - c), abs=5 * math.sqrt(2 / 7 / 200) / (1 - c))
    shifted = rows(numbers(drawn.normal(1, 1, 300)), names(drawn.integers(0, 4, 300)))
    assert separated(sides[0], shifted).ratio > 20


def test_rows_that_are_told_for_sure_have_the_largest_pmse():
    found = separated(rows(names([0] * 50 + [1] * 50)), rows(names([2] * 60 + [3] * 40)))
    assert found.pmse == pytest.approx(found.most, rel=1e-3)
    assert found.most == pytest.approx(1 / 4)


def test_cells_of_a_column_follow_from_the_first_table_and_a_missing_value_is_one():
    a, b, size = cut(numbers([1, 2, 3, 4, math.nan]), numbers([0, 9, math.nan]), 4)
    assert (a.tolist(), b.tolist(), size) == ([0, 1, 2, 2, 3], [0, 2, 3], 4)
    a, b, size = cut(names([0, 0, 1, 2]), names([1, 3, -1]), 3)
    assert (a.tolist(), b.tolist(), size) == ([0, 0, 1, 2], [1, 3, 4], 5)


def test_three_way_tables_see_what_pairs_cannot():
    drawn = np.random.default_rng(5)
    a, b = drawn.integers(0, 2, (2, 4000))
    real = table(a=list(map(str, a)), b=list(map(str, b)), c=list(map(str, a ^ b)))
    rows_apart = table(**{k: list(map(str, drawn.integers(0, 2, 4000))) for k in "abc"})
    found = quality(real, rows_apart)
    assert value(found, "column_shapes").share > 0.95
    assert value(found, "two_way").share > 0.95
    assert value(found, "three_way").value == pytest.approx(0.5, abs=0.05)
    assert value(found, "three_way").share < 0.6


@pytest.fixture(scope="module")
def survey():
    drawn = np.random.default_rng(6)
    n = 900
    age = drawn.integers(18, 90, n)
    work = np.where(drawn.random(n) < np.where(age < 60, 0.9, 0.1), "yes", "no")
    pay = np.round(age * 10 + (work == "yes") * 500 + drawn.normal(0, 50, n), 1)
    return table(
        person=[f"P{i:05d}" for i in range(n)],
        age=[None if gone else str(a) for a, gone in zip(age, drawn.random(n) < 0.05, strict=True)],
        work=list(work),
        pay=list(map(str, pay)),
    )


def test_a_copy_is_better_than_other_rows_and_drawn_columns_are_worse(survey):
    request = QualityRequest(target="work")
    copy = quality(survey, survey, request=request)
    assert [score.name for score, _ in copy.found] == [score.name for score in study.SCORES]
    assert copy.compared.left_out == {"person": "looks like an identifier"}
    for score, one in copy.found:
        assert one.value == pytest.approx(1) or score.name == "training"
        assert one.share > 0.97
    drawn = np.random.default_rng(7)
    apart = Table(pl.DataFrame([survey.frame[c].gather(drawn.permutation(900)) for c in survey.names[1:]]), "apart")
    found = quality(survey, apart, request=request)
    assert value(found, "column_shapes").value == pytest.approx(1)
    assert value(found, "pair_trends").share < 0.85
    assert value(found, "training").share < 0.6
    assert found.compared.left_out == {"person": "not released"}
    assert found.to_plain()["scores"]["pmse"]["ratio"] > 10


def test_a_control_set_is_what_scores_stand_beside(survey):
    seen, other = (dataclasses.replace(survey, frame=survey.frame.slice(k * 450, 450)) for k in (0, 1))
    found = quality(seen, seen, other, request=QualityRequest(target="pay"))
    assert found.compared.held_out
    assert found.compared.real.count == 450
    assert "control set" in found.comparison_words
    assert value(found, "training").share == pytest.approx(1, abs=0.02)
    assert value(found, "training").reached > 0.8
    drawn = np.random.default_rng(8)
    apart = Table(pl.DataFrame([seen.frame[c].gather(drawn.permutation(450)) for c in seen.names]), "apart")
    beside, held_out = quality(seen, apart, other), quality(seen, other)
    for name in ("column_shapes", "pair_trends", "two_way", "three_way"):
        assert value(beside, name).reached == value(held_out, name).value


def test_generalised_numbers_are_compared_as_names(survey):
    broad = Table(survey.frame.with_columns(age=pl.lit("[18, 90)")), "broad")
    found = quality(survey, broad)
    metrics = {d.columns[0]: (d.metric, d.score) for d in found.details("column_shapes")}
    assert metrics["age"] == ("TVComplement", 0)
    assert metrics["pay"][0] == "KSComplement"
    tables = {frozenset(d.columns): d.score for d in found.details("two_way")}
    assert tables[frozenset(("age", "pay"))] == pytest.approx(0, abs=1e-9)


def test_a_plan_says_what_columns_are():
    cells: dict[str, list[str | None]] = {
        "code": ["1", "2", "3", "2"] * 5,
        "sure": ["Yes", "no", "TRUE", "0"] * 5,
        "town": ["A", "none", "B", "C"] * 5,
    }
    released = cells | {"sure": ["true", "false"] * 10, "town": ["A", "none", "rest", "rest"] * 5}
    columns = (
        Column(name="code", kind="category", domain=("1", "2", "3")),
        Column(name="sure", kind="boolean"),
        Column(name="town", kind="category", domain=("A", "none", "rest"), other="rest"),
    )
    found = quality(table(**cells), table(**released), plan=Plan(epsilon=1, columns=columns))
    assert [d.metric for d in found.details("column_shapes")] == ["TVComplement"] * 3
    assert value(found, "column_shapes").value == pytest.approx(1)


def test_tables_that_cannot_be_compared_are_refused(survey):
    with pytest.raises(InputError, match="no columns in common"):
        quality(survey, table(other=["1"] * 9))
    with pytest.raises(InputError, match="both tables share"):
        quality(survey, survey, request=QualityRequest(target="person"))
    with pytest.raises(InputError, match="fewer than four rows"):
        quality(survey, Table(survey.frame.head(3), "few"))


def test_a_score_is_one_line_of_the_list(monkeypatch, survey):
    toy = Score(name="toy", title="Toy", help="a toy", found=lambda compared, cancel: Found(0.5, 0.5, 1.0))
    monkeypatch.setattr(study, "SCORES", (toy,))
    plain = quality(survey, survey).to_plain()
    assert plain["scores"] == {"toy": {"value": 0.5, "held_out": 1.0, "level": 0.0, "share": 0.5}}
    assert plain["overall"] is None


def test_it_can_be_cancelled(survey):
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        quality(survey, survey, cancel=token)


def test_odd_tables_have_figures_or_none_and_no_warning():
    drawn = np.random.default_rng(8)

    def column(rows: int) -> list[str | None]:
        ways: list[list[str | None]] = [
            [None] * rows,
            ["7"] * rows,
            [f"{x:.1f}" for x in drawn.normal(size=rows)],
            list(drawn.choice(["a", "b"], rows)),
            [None if x < 0.5 else f"20{int(x * 30):02d}-01-02" for x in drawn.random(rows)],
            list(drawn.choice(["true", "false", "Yes"], rows)),
        ]
        return ways[drawn.integers(len(ways))]

    for case in range(60):
        tables = [table(**{name: column(int(drawn.integers(4, 30))) for name in ("a",)}) for _ in range(3)]
        if case % 2:
            sizes = [int(drawn.integers(4, 30)) for _ in range(3)]
            tables = [table(**{name: column(size) for name in "abc"}) for size in sizes]
        found = quality(tables[0], tables[1], tables[2] if case % 4 else None, request=QualityRequest(target="a"))
        json.dumps(found.to_plain(), allow_nan=False)


# -- Total-variation distances of marginals: by hand, against a slow count, and of many pairs -------------------------


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
    monkeypatch.setattr(measures, "_DENSE", 10)
    found = table_quality(original, drawn, (40, 40, 40))
    assert (found.one_way, found.two_way) == pytest.approx((dense.one_way, dense.two_way))


def test_of_many_pairs_evenly_spaced_ones_stand_for_all(monkeypatch):
    monkeypatch.setattr(measures, "MOST_TABLES", 7)
    made = np.random.default_rng(3)
    original, drawn = made.integers(0, 2, (30, 9)), made.integers(0, 2, (30, 9))
    seen = []
    found = table_quality(original, drawn, (2,) * 9, on_pair=lambda done, of: seen.append((done, of)))
    assert (found.pairs, found.of_pairs) == (7, 36)
    assert seen[-1] == (7, 7)
    pairs = measures.spaced(9, 2, 7)
    assert {pairs[0], pairs[-1]} == {(0, 1), (7, 8)}
    assert set(pairs) <= set(itertools.combinations(range(9), 2))


def test_distances_of_marginals_can_be_cancelled():
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        table_quality(np.zeros((3, 2), int), np.zeros((3, 2), int), (1, 1), token)


# -- Measures of association against closed forms and against scipy, and where they cannot be said --------------------


RNG = np.random.default_rng(7)


def variable_of_numbers(x) -> Variable:
    return Variable("x", np.asarray(x, dtype=np.float64), numeric=True)


def variable_of_names(x) -> Variable:
    return Variable("c", np.asarray(x, dtype=np.int64), numeric=False)


def test_pearson_is_numpys():
    x, y = RNG.normal(size=400), RNG.normal(size=400)
    y += 0.6 * x
    assert association(variable_of_numbers(x), variable_of_numbers(y)) == pytest.approx(
        np.corrcoef(x, y)[0, 1], abs=1e-12
    )
    assert association(variable_of_numbers(x), variable_of_numbers(-x)) == pytest.approx(-1)


def test_numbers_near_the_largest_bounds_do_not_overflow():
    x = np.linspace(-1e150, 1e150, 50)
    assert association(variable_of_numbers(x), variable_of_numbers(2 * x)) == pytest.approx(1)


def test_the_correlation_ratio_of_two_groups_is_the_corrected_pearson():
    groups = RNG.integers(0, 2, 500)
    x = RNG.normal(size=500) + groups
    r = np.corrcoef(x, groups)[0, 1]
    expected = math.sqrt(1 - 499 / 498 * (1 - r * r))
    assert association(variable_of_numbers(x), variable_of_names(groups)) == pytest.approx(expected, abs=1e-12)
    assert association(variable_of_names(groups), variable_of_numbers(x)) == pytest.approx(expected, abs=1e-12)


def test_cramers_v_is_bergsmas():
    stats = pytest.importorskip("scipy.stats.contingency")
    x = RNG.integers(0, 4, 900)
    y = np.where(RNG.random(900) < 0.5, x, RNG.integers(0, 5, 900))
    table = np.zeros((4, 5), dtype=int)
    np.add.at(table, (x, y), 1)
    v = stats.association(table, method="cramer")
    phi2 = max(0.0, v * v * 3 - 3 * 4 / 899)
    expected = math.sqrt(phi2 / (min(4 - 9 / 899, 5 - 16 / 899) - 1))
    assert association(variable_of_names(x), variable_of_names(y)) == pytest.approx(expected, abs=1e-9)


def test_a_domain_too_large_to_be_counted_in_full_gives_the_same():
    x = RNG.integers(0, 30, 2000)
    y = np.where(RNG.random(2000) < 0.4, x, RNG.integers(0, 30, 2000))
    assert association(variable_of_names(x), variable_of_names(y)) == pytest.approx(
        association(variable_of_names(x * 100), variable_of_names(y * 100)), abs=1e-12
    )


def test_independent_columns_with_many_names_are_near_nought():
    x, y, z = RNG.integers(0, 60, 3000), RNG.integers(0, 60, 3000), RNG.normal(size=3000)
    assert association(variable_of_names(x), variable_of_names(y)) < 0.08
    assert association(variable_of_names(x), variable_of_numbers(z)) < 0.12


def test_equal_names_go_together_fully():
    x = RNG.integers(0, 7, 300)
    assert association(variable_of_names(x), variable_of_names(6 - x)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (variable_of_numbers([1, 1, 1, 1]), variable_of_numbers([1, 2, 3, 4])),
        (variable_of_numbers([1, 2, 3, 4]), variable_of_names([5, 5, 5, 5])),
        (variable_of_names([1, 1, 1, 1]), variable_of_names([0, 1, 0, 1])),
        (variable_of_numbers([1, 2, math.nan, math.nan]), variable_of_numbers([1, 2, 3, 4])),
        (variable_of_names([-1, -1, -1, 1]), variable_of_names([0, 1, 0, 1])),
        (variable_of_numbers([1, 2, 3, 4]), variable_of_names([0, 1, 2, 3])),
    ],
)
def test_where_nothing_can_be_said_it_is_nan(one, other):
    assert math.isnan(association(one, other))


def test_rows_with_a_missing_value_are_left_out_of_their_pair_alone():
    x, y = RNG.normal(size=50), RNG.normal(size=50)
    with_gap = np.append(x, math.nan)
    assert association(variable_of_numbers(with_gap), variable_of_numbers(np.append(y, 9.0))) == pytest.approx(
        np.corrcoef(x, y)[0, 1]
    )


def test_the_matrix_is_symmetric_and_stops_when_cancelled():
    columns = [
        variable_of_numbers(RNG.normal(size=40)),
        variable_of_names(RNG.integers(0, 3, 40)),
        variable_of_names(RNG.integers(0, 2, 40)),
    ]
    made = associations(columns)
    assert np.array_equal(made, made.T, equal_nan=True)
    assert np.all(np.diag(made) == 1)
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(WorkbenchError):
        associations(columns, cancel)


def test_each_pair_of_kinds_has_its_name():
    assert {measure(a, b) for a in (True, False) for b in (True, False)} == {
        "Pearson's r",
        "correlation ratio η",
        "Cramér's V",
    }

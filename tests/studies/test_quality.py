"""Scores of released rows: by hand, against scipy and scikit-learn, and what each of them can see."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import ks_2samp
from scipy.stats.contingency import association as peer_association
from sklearn.linear_model import LogisticRegression

from workbench.data.table import Table
from workbench.params import CancelledError, InputError
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import CancelToken
from workbench.studies.association import Variable
from workbench.studies.quality import study
from workbench.studies.quality.pairs import pair_of
from workbench.studies.quality.propensity import separated
from workbench.studies.quality.score import Found, Score
from workbench.studies.quality.shapes import of_column
from workbench.studies.quality.study import Quality, QualityRequest, quality
from workbench.studies.quality.tables import Rows
from workbench.studies.quality.way_tables import cut


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


def test_the_shape_of_numbers_is_the_kolmogorov_smirnov_statistic_without_missing_ones() -> None:
    assert of_column(numbers([1, 2, 3, 4]), numbers([1, 2, 3, 9, 9, 9, 9, 9])) == pytest.approx(1 - 5 / 8)
    drawn = np.random.default_rng(1)
    x, y = drawn.normal(size=300).round(1), drawn.normal(0.4, 2, 200).round(1)
    found = of_column(numbers([*x, math.nan]), numbers(y))
    assert found == pytest.approx(1 - ks_2samp(x, y).statistic)
    assert math.isnan(of_column(numbers([math.nan]), numbers(y)))


def test_the_shape_of_names_is_their_total_variation() -> None:
    assert of_column(names([0, 0, 1, -1]), names([0, 1, 1, 2])) == pytest.approx(1 - (5 / 12 + 1 / 6 + 1 / 4) / 2)


def test_a_pair_of_numbers_is_scored_by_both_correlations() -> None:
    x = np.arange(50.0)
    up, down = (numbers(x), numbers(2 * x + 1)), (numbers(x), numbers(-x))
    assert pair_of(up, up).score == pytest.approx(1)
    assert pair_of(up, down).score == pytest.approx(0)
    assert pair_of(up, down).counts
    assert math.isnan(pair_of(up, (numbers(x), numbers(0 * x))).score)


def test_a_pair_of_names_is_scored_by_its_table_and_counts_by_its_association() -> None:
    a, b = names([0, 0, 1, 1, 1, 0]), names([0, 0, 1, 1, 0, -1])
    c, d = names([0, 1, 1, 1, 0, 0]), names([0, 1, 1, 0, 0, -1])
    # (0,0) (0,–) (1,0) (1,1): 2, 1, 1, 2 of 6 and 2, 1, 1, 2 of 6: rows moved about give the same table.
    assert pair_of((a, b), (c, d)).score == pytest.approx(1)
    assert pair_of((a, b), (c, names([1, 1, 1, 0, 0, 0]))).score == pytest.approx(1 - 1 / 6)
    counts = np.zeros((2, 3))
    np.add.at(counts, (a.values, b.values + 1), 1)
    assert pair_of((a, b), (c, d)).strength == pytest.approx(peer_association(counts.astype(int), method="cramer"))


def test_numbers_beside_names_are_cut_on_the_range_of_each_table() -> None:
    x, n = np.arange(100.0), np.arange(100) // 50
    assert pair_of((numbers(x), names(n)), (numbers(x + 1000), names(n))).score == pytest.approx(1)


def test_propensities_are_those_of_a_logistic_regression() -> None:
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


def test_rows_of_one_population_have_the_ratio_that_chance_gives_and_others_a_larger_one() -> None:
    drawn, ratios = np.random.default_rng(4), []
    for _ in range(200):
        sides = [rows(numbers(drawn.normal(size=n)), names(drawn.integers(0, 4, n))) for n in (600, 300)]
        ratios.append(separated(*sides).ratio)
    # pMSE·N/(c(1 − c)) is χ² with k − 1 = 7 degrees of freedom, so the ratio has the mean 1/(1 − c)
    c = 1 / 3
    assert np.mean(ratios) == pytest.approx(1 / (1 - c), abs=5 * math.sqrt(2 / 7 / 200) / (1 - c))
    shifted = rows(numbers(drawn.normal(1, 1, 300)), names(drawn.integers(0, 4, 300)))
    assert separated(sides[0], shifted).ratio > 20


def test_rows_that_are_told_for_sure_have_the_largest_pmse() -> None:
    found = separated(rows(names([0] * 50 + [1] * 50)), rows(names([2] * 60 + [3] * 40)))
    assert found.pmse == pytest.approx(found.most, rel=1e-3)
    assert found.most == pytest.approx(1 / 4)


def test_cells_of_a_column_follow_from_the_first_table_and_a_missing_value_is_one() -> None:
    a, b, size = cut(numbers([1, 2, 3, 4, math.nan]), numbers([0, 9, math.nan]), 4)
    assert (a.tolist(), b.tolist(), size) == ([0, 1, 2, 2, 3], [0, 2, 3], 4)
    a, b, size = cut(names([0, 0, 1, 2]), names([1, 3, -1]), 3)
    assert (a.tolist(), b.tolist(), size) == ([0, 0, 1, 2], [1, 3, 4], 5)


def test_three_way_tables_see_what_pairs_cannot() -> None:
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
def survey() -> Table:
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


def test_a_copy_is_better_than_other_rows_and_drawn_columns_are_worse(survey: Table) -> None:
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


def test_a_control_set_is_what_scores_stand_beside(survey: Table) -> None:
    seen, other = (dataclasses.replace(survey, frame=survey.frame.slice(k * 450, 450)) for k in (0, 1))
    found = quality(seen, seen, other, request=QualityRequest(target="pay"))
    assert found.compared.held_out
    assert found.compared.real.count == 450
    assert "control set" in found.beside
    assert value(found, "training").share == pytest.approx(1, abs=0.02)
    assert value(found, "training").reached > 0.8
    drawn = np.random.default_rng(8)
    apart = Table(pl.DataFrame([seen.frame[c].gather(drawn.permutation(450)) for c in seen.names]), "apart")
    beside, held_out = quality(seen, apart, other), quality(seen, other)
    for name in ("column_shapes", "pair_trends", "two_way", "three_way"):
        assert value(beside, name).reached == value(held_out, name).value


def test_generalised_numbers_are_compared_as_names(survey: Table) -> None:
    broad = Table(survey.frame.with_columns(age=pl.lit("[18, 90)")), "broad")
    found = quality(survey, broad)
    metrics = {d.columns[0]: (d.metric, d.score) for d in found.details("column_shapes")}
    assert metrics["age"] == ("TVComplement", 0)
    assert metrics["pay"][0] == "KSComplement"
    tables = {frozenset(d.columns): d.score for d in found.details("two_way")}
    assert tables[frozenset(("age", "pay"))] == pytest.approx(0, abs=1e-9)


def test_a_plan_says_what_columns_are() -> None:
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


def test_tables_that_cannot_be_compared_are_refused(survey: Table) -> None:
    with pytest.raises(InputError, match="no column in common"):
        quality(survey, table(other=["1"] * 9))
    with pytest.raises(InputError, match="both tables share"):
        quality(survey, survey, request=QualityRequest(target="person"))
    with pytest.raises(InputError, match="fewer than four rows"):
        quality(survey, Table(survey.frame.head(3), "few"))


def test_a_score_is_one_line_of_the_list(monkeypatch: pytest.MonkeyPatch, survey: Table) -> None:
    toy = Score(name="toy", title="Toy", help="a toy", found=lambda compared, cancel: Found(0.5, 0.5, 1.0))
    monkeypatch.setattr(study, "SCORES", (toy,))
    plain = quality(survey, survey).to_plain()
    assert plain["scores"] == {"toy": {"value": 0.5, "held_out": 1.0, "level": 0.0, "share": 0.5}}
    assert plain["overall"] is None


def test_it_can_be_cancelled(survey: Table) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        quality(survey, survey, cancel=token)


def test_odd_tables_have_figures_or_none_and_no_warning() -> None:
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

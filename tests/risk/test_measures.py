"""Measures of risk: values worked out by hand, and those of other programs on public tables."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import nbinom

from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import CancelledError, InputError, ParameterError
from workbench.risk.distances import SensitiveCounts, equal, hierarchical, ordered, sensitive_counts
from workbench.risk.measures import MEASURES, RiskOptions, Subject, measured
from workbench.risk.measures.class_measures import class_risk
from workbench.risk.measures.hipaa import HIPAA, hints
from workbench.risk.measures.unique_measures import SPECIAL_UNIQUES
from workbench.signals.cancel import CancelToken

AGE, TOWN, ILLNESS = "age", "town", "diagnosis"
SIX = {
    AGE: ["30–39", "30–39", "40–59", "40–59", "60+", "60+"],
    TOWN: ["Huế", "Huế", "Huế", "Huế", "Đà Nẵng", "Đà Nẵng"],
    ILLNESS: ["flu", "asthma", "flu", "diabetes", "diabetes", "diabetes"],
}
"""Two-anonymous, and everybody over 60 in Đà Nẵng has one diagnosis."""


def table(columns: dict[str, list[Any]]) -> Table:
    return Table(pl.DataFrame({name: pl.Series(values, dtype=pl.String) for name, values in columns.items()}), "t.csv")


def of(columns: dict[str, list[Any]], quasi: str, sensitive: str = "", **asked: Any) -> dict[str, Any]:
    return measured(Subject(table(columns), options(quasi, sensitive, **asked)))


def options(quasi: str, sensitive: str = "", **asked: Any) -> RiskOptions:
    return RiskOptions(quasi=tuple(quasi.split()), sensitive=tuple(sensitive.split()), **asked)


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_six_rows_are_two_anonymous_and_give_a_diagnosis_away() -> None:
    found = of(SIX, f"{AGE} {TOWN}", ILLNESS)
    assert (found["k"], found["unique"], found["classes"]["number"], found["classes"]["average"]) == (2, 0, 3, 2.0)
    assert found["classes"]["histogram"] == [{"size": 2, "classes": 3}]
    assert (found["l_distinct"], found["l_entropy"], found["l_recursive"]) == (1, 1.0, 1)
    assert found["diversity"][0]["classes_with_one_value"] == 1
    assert found["diversity"][0]["rows_given_away"] == 2
    # The table has flu 2/6, asthma 1/6, diabetes 3/6: the class of diabetes alone is 1 − 3/6 away.
    assert found["t"] == pytest.approx(1 / 2)
    assert found["closeness"][0]["average"] == pytest.approx((1 / 2 + 1 / 6 + 1 / 2) / 3)
    assert found["risk"]["prosecutor"] == {"highest": 1 / 2, "average": 1 / 2, "above_threshold": 1.0}


def test_risks_of_classes_of_one_two_and_three_rows() -> None:
    found = of({"a": list("xyyzzz")}, "a", threshold=0.4)
    assert (found["unique"], found["unique_share"], found["k"]) == (1, 1 / 6, 1)
    prosecutor = {"highest": 1.0, "average": 3 / 6, "above_threshold": 3 / 6}
    assert found["risk"]["prosecutor"] == prosecutor
    assert found["risk"]["journalist"] == prosecutor | {"basis": "the table"}
    assert found["risk"]["marketer"]["average"] == 3 / 6
    assert found["population"] == {
        "sample_fraction": 1.0, "size": 6, "unique": 1.0, "share": 1 / 6, "model": "counted", "models": {}
    }  # fmt: skip


def test_a_threshold_is_passed_only_above_it() -> None:
    assert of({"a": list("xyyzzz")}, "a", threshold=0.5)["risk"]["prosecutor"]["above_threshold"] == 1 / 6


def test_the_journalist_looks_people_up_in_the_population() -> None:
    sample, people = table({"a": list("xyyz")}), table({"a": list("xxyyyyzzzzzw")})
    found = measured(Subject(sample, options("a", threshold=0.3), people))
    # x: 1 of 2, y: 2 of 4, z: 1 of 5 people.
    marketer = (1 / 2 + 2 / 4 + 1 / 5) / 4
    journalist = {"highest": 1 / 2, "average": max(3 / 11, marketer), "above_threshold": 1 / 4}
    assert found["risk"]["journalist"] == journalist | {"basis": "the population table"}
    assert found["risk"]["marketer"]["average"] == marketer
    assert (found["population"]["unique"], found["population"]["size"]) == (1.0, 12)


def test_a_population_without_the_rows_is_refused() -> None:
    with pytest.raises(InputError, match="does not contain every row"):
        measured(Subject(table({"a": list("xy")}), options("a"), table({"a": list("xx")})))


def test_distinction_and_separation_are_those_that_arx_states() -> None:
    """The five rows of ARX's own test (TestRiskQuasiIdentifiers), with its figures."""
    rows = {"age": ["20", "30", "40", "20", "40"], "sex": list("FFFMM"), "state": ["CA", "CA", "TX", "NY", "CA"]}
    found = {" ".join(i["columns"]): i for i in of(rows, "age sex state")["identifiers"]}
    figures = {name: (i["distinction"], i["separation"]) for name, i in found.items()}
    assert figures == {
        "sex": (0.4, 0.6), "state": (0.6, 0.7), "age": (0.6, 0.8), "sex state": (0.8, 0.9),
        "age state": (1.0, 1.0), "age sex": (1.0, 1.0), "age sex state": (1.0, 1.0),
    }  # fmt: skip


@pytest.mark.parametrize("order", ["a b c", "a c b", "b a c"])
def test_the_parts_of_the_suda_score_are_those_that_sdcmicro_states(order: str) -> None:
    """Three rows of sdcMicro's own test: a has 50 % of the score, b and c 37.5 % each."""
    found = of({"a": list("211"), "b": list("030"), "c": list("060")}, order)["special"]
    assert {a["name"]: a["contribution"] for a in found["attributes"]} == {"a": 0.5, "b": 0.375, "c": 0.375}
    assert found["by_size"] == [3, 2]
    stated = next(line for line in SPECIAL_UNIQUES.lines({"special": found}) if "minimal attribute sets" in line.title)
    assert (stated.title, stated.value) == (
        "their minimal attribute sets (all sizes)",
        "3 of one attribute; 2 of 2 attributes",
    )
    # (3 − 1)(3 − 2) for a set of one attribute, 3 − 2 for one of two.
    assert {row["row"]: row["score"] for row in found["highest"]} == {1: 2.0, 2: 4.0, 3: 2.0}


def test_what_makes_rows_unique() -> None:
    found = of({"a": list("xxyy"), "b": list("1212"), "c": list("ppqr")}, "a b c")["minimal_sets"]
    assert found["identify_all"] == [["a", "b"], ["b", "c"]]
    sets = {"+".join(s["columns"]): (s["rows"], s["unique"]) for s in found["sets"]}
    assert sets == {"a+b": (4, 4), "c": (2, 2), "b+c": (2, 4)}
    without = {a["name"]: (a["unique_without"], a["contribution"]) for a in found["attributes"]}
    assert without == {"a": (4, 0.0), "b": (2, 0.5), "c": (4, 0.0)}


def test_hints_of_hipaa_come_from_names_and_forms_of_values() -> None:
    rows = {
        "patientName": ["Jo"], "zip_code": ["1"], "birth date": ["?"], "x1": ["ann@example.org"], "x2": ["10.0.0.1"],
        "x3": ["2021-03-04"], "SSN": ["1"], "x4": ["https://a.example"], "colour": ["red"], "weight": ["80"],
        "customer_id": ["7"], "mileage": ["4"], "average": ["4"], "sizes": ["1"],
    }  # fmt: skip
    found = {column: (one.letter, by) for column, one, by in hints(table(rows))}
    assert found == {
        "patientName": ("A", "name"), "zip_code": ("B", "name"), "birth date": ("C", "name"), "x1": ("F", "values"),
        "x2": ("O", "values"), "x3": ("C", "values"), "SSN": ("G", "name"), "x4": ("N", "values"),
        "customer_id": ("R", "name"),
    }  # fmt: skip
    assert len(HIPAA) == 18


# -- other programs ----------------------------------------------------------------------------------------------------

PYCANON = [
    # quasi, sensitive, k, distinct ℓ, ⌊entropy ℓ⌋, t: pyCANON 1.3.5
    ("iris", "petal_width", "species", 1, 1, 1, 0.6666666666666667),
    ("iris", "species", "petal_width", 50, 6, 3, 0.3587301587301587),
    ("iris", "species", "sepal_length", 50, 15, 12, 0.24490196078431364),
    ("diabetes", "Pregnancies", "Outcome", 1, 1, 1, 0.6510416666666667),
    ("diabetes", "Outcome", "Glucose", 268, 104, 85, 0.15008205500276392),
    ("diabetes", "Outcome", "Age", 268, 45, 26, 0.07869392315383865),
    ("diabetes", "Pregnancies", "BMI", 1, 1, 1, 0.35280659581646423),
]


@pytest.mark.parametrize("case", PYCANON, ids=lambda c: "-".join(c[:3]))
def test_figures_are_those_of_pycanon(case: tuple[Any, ...], shared_data: Path) -> None:
    name, quasi, sensitive, k, distinct, floor, t = case
    found = measured(Subject(read_table(str(shared_data / f"{name}.csv")), options(quasi, sensitive)), anonymity=True)
    assert (found["k"], found["l_distinct"], int(found["l_entropy"])) == (k, distinct, floor)
    assert found["t"] == pytest.approx(t, abs=1e-12)


# -- against what the definitions say, directly ------------------------------------------------------------------------

Cells = st.integers(1, 12).flatmap(lambda n: st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=n, max_size=n))


def counted(rows: list[tuple[int, int]]) -> tuple[SensitiveCounts, np.ndarray, list[np.ndarray]]:
    """Return the counts, the shares in the table, and the shares of each class in full."""
    of_rows = np.unique([r[0] for r in rows], return_inverse=True)[1]
    codes = np.unique([r[1] for r in rows], return_inverse=True)[1]
    found = sensitive_counts(of_rows, np.bincount(of_rows), codes)
    most = int(codes.max()) + 1
    each = [np.bincount(codes[of_rows == c], minlength=most) for c in range(int(of_rows.max()) + 1)]
    return found, np.bincount(codes) / len(rows), [e / e.sum() for e in each]


def moved(share: np.ndarray, whole: np.ndarray, far: np.ndarray) -> float:
    """Return the least cost to move one distribution to the other, by linear programming."""
    m = whole.size
    sums = np.vstack([np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))])
    return float(linprog(far.ravel(), A_eq=sums, b_eq=np.concatenate([share, whole])).fun)


@settings(max_examples=40, deadline=None)
@given(Cells)
def test_each_distance_is_the_least_cost_of_moving(rows: list[tuple[int, int]]) -> None:
    found, whole, shares = counted(rows)
    m = whole.size
    places = np.arange(m)
    steps = np.abs(places[:, None] - places[None, :]) / max(m - 1, 1)
    group = places // 2
    tree = np.where(places[:, None] == places, 0.0, np.where(group[:, None] == group, 0.5, 1.0))
    for far, got in (
        (1.0 - np.eye(m), equal(found, whole)),
        (steps, ordered(found, whole)),
        (tree, hierarchical(found, whole, [group, np.zeros(m, dtype=np.int64)])),
    ):
        assert got == pytest.approx([moved(share, whole, far) for share in shares], abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(Cells, st.sampled_from([0.5, 1.0, 1.5, 3.0]))
def test_diversity_is_what_its_definition_says(rows: list[tuple[int, int]], c: float) -> None:
    found, _, shares = counted(rows)
    entropies = [-(s[s > 0] * np.log(s[s > 0])).sum() for s in shares]
    assert np.exp(found.entropy.min()) == pytest.approx(np.exp(min(entropies)))
    largest = []
    for counts, share in zip(found.sizes, shares, strict=True):
        r = sorted((share * counts).round().astype(int), reverse=True)
        holds = [ell for ell in range(1, int((share > 0).sum()) + 1) if r[0] < c * sum(r[ell - 1 :])]
        largest.append(max(holds, default=0))
    assert found.recursive(c).min() == min(largest)


@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.999])
def test_the_expected_risk_of_a_class_is_the_sum_over_its_size_in_the_population(fraction: float) -> None:
    sizes = np.array([1, 2, 7])
    more = np.arange(200_000)
    expected = [(nbinom(f, fraction).pmf(more) / (more + f)).sum() for f in sizes]
    assert class_risk(sizes, fraction) == pytest.approx(expected, rel=1e-9)
    assert class_risk(np.array([1]), fraction)[0] == pytest.approx(-fraction * np.log(fraction) / (1 - fraction))
    assert class_risk(np.array([1_000_000]), fraction)[0] == pytest.approx(fraction / 1e6, rel=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from("ab")] * 3), min_size=1, max_size=10), st.randoms())
def test_the_order_of_rows_and_attributes_changes_no_figure(rows: list[tuple[str, ...]], random: Any) -> None:
    def figures(rows: list[tuple[str, ...]], names: str) -> dict[str, Any]:
        given = {name: [row["abc".index(name)] for row in rows] for name in "abc"}
        return of(given, names, sample_fraction=0.5)

    first = figures(rows, "a b c")
    mixed = random.sample(rows, len(rows))
    other = figures(mixed, "c a b")
    for key in ("rows", "unique", "unique_share", "k", "classes", "risk", "population"):
        assert first[key] == other[key]
    assert first["special"]["by_size"] == other["special"]["by_size"]


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_impossible_requests_name_place_and_fix() -> None:
    for wrong in ({"quasi": ""}, {"quasi": "a a"}, {"quasi": "a", "sensitive": "a"}):
        with pytest.raises(ParameterError):
            options(**wrong)
    with pytest.raises(InputError, match="no column 'b'"):
        of({"a": ["1"]}, "b")
    with pytest.raises(InputError, match="no rows"):
        of({"a": []}, "a")
    with pytest.raises(ParameterError, match="has no hierarchy"):
        of({"a": ["1"], "s": ["x"]}, "a", "s", distance="hierarchical")


def test_every_measure_has_words_and_keys_of_its_own() -> None:
    subject = Subject(table(SIX), options(AGE, ILLNESS, sample_fraction=0.1))
    found = [set(measure.of(subject)) for measure in MEASURES]
    for one, other in itertools.combinations(found, 2):
        assert not one & other
    figures = measured(subject)
    for measure in MEASURES:
        assert measure.shows in figures
        assert all(line.title and line.value for line in measure.lines(figures))


def test_classes_report_each_column_and_can_be_cancelled_between_two():
    seen, cancel = [], CancelToken()
    of = table({"a": list("xy"), "b": list("xy")})
    Subject(of, options("a b"), cancel=cancel, emit=seen.append).classes  # noqa: B018
    assert [(event.done, event.total) for event in seen] == [(0, 2), (1, 2)] * 2
    cancel.cancel()
    with pytest.raises(CancelledError):
        Subject(of, options("a b"), cancel=cancel).classes  # noqa: B018

"""``line``: what it asks of neighbours, and that rows are the line and what it leaves."""

from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from asks import ask_by
from synth_cases import questions_of, rows_of
from transcripts import loss

from workbench.data.schema import Attribute
from workbench.privacy.audit import epsilon_lower
from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.entropy import SeededEntropy
from workbench.synth import LINE, TAN, mst, tan, tree_fit
from workbench.synth.base import MODEL, Setting, events
from workbench.synth.columns import CodedRows, Codes, coarse_columns
from workbench.synth.line import inner_of
from workbench.synth.setting import method_for, setting_for
from workbench.synth.synthesis import SyntheticRows, synthesised

FACTS = [
    Attribute(name="a", kind="integer", lower=0.0, upper=4.0, missing="own-value"),
    Attribute(name="b", kind="category", domain=("x", "y"), missing="own-value"),
    Attribute(name="y", kind="integer", lower=0.0, upper=8.0, missing="own-value"),
]
DELTA = Decimal("1e-6")


def setting_of(epsilon: str, rows: int) -> Setting:
    return setting_for(FACTS, 2, rows, Decimal(epsilon), delta=DELTA, method=LINE)


@pytest.mark.parametrize(("epsilon", "asks"), [("1", 1), ("80", 3), ("250", 4)])
def test_emptying_a_row_spends_no_more_than_rho_whatever_was_answered(
    monkeypatch: pytest.MonkeyPatch, epsilon: str, asks: int
) -> None:
    """The mean alone; chosen columns; ranges and sums that are asked for twice."""
    # What is made of answers takes most of the time.
    monkeypatch.setattr(tan, "density", lambda *_: None)
    monkeypatch.setattr(mst, "fitted", lambda *a, **k: tree_fit.fitted(*a, **{**k, "rounds": 3}))
    hostile = [(0, 0, 0), (4, 1, 8), (4, 0, 0), (2, 2, 9), (5, 1, 5)]  # the last cell of a column is a missing value
    setting = setting_of(epsilon, 3)
    assert sum(query.form == MODEL for query in LINE.queries(setting)) >= asks
    worst, whole = 0.0, float(setting.budget.amount)
    for seed, codes in enumerate(list(itertools.combinations_with_replacement(hostile, 3))[::4]):
        for empty in range(3):
            present = [place != empty for place in range(3)]
            worst = max(worst, loss(LINE, setting, rows_of(codes), rows_of(codes, present), seed=seed))
    assert 0.1 * whole < worst <= whole


def sloped(count: int) -> tuple[Setting, CodedRows]:
    """Rows whose target is twice one column and four times a name, one in nine of them missing."""
    generator = np.random.default_rng(1)
    a, b = generator.integers(0, 3, count), generator.integers(0, 2, count)
    y = np.where(generator.random(count) < 1 / 9, 9, 2 * a + 4 * b)
    return setting_of("1000", count), rows_of(np.column_stack([a, b, y]))


def drawn(setting: Setting, rows: CodedRows, seed: int) -> SyntheticRows:
    ask = ask_by(StudyNoise(np.random.default_rng(seed)), events(LINE.queries(setting)), SeededEntropy(seed))
    return synthesised(LINE, setting, rows, len(rows.codes), ask)


def test_with_much_budget_the_target_is_that_of_the_rows_and_what_is_missing_stays_so() -> None:
    setting, rows = sloped(2_000)
    found: Codes = drawn(setting, rows, 3).codes
    here = found[:, 2] < 9
    assert 0.07 < 1 - here.mean() < 0.16
    expected = 2 * found[here, 0].astype(int) + 4 * found[here, 1]
    assert np.mean(np.abs(found[here, 2].astype(int) - expected) <= 1) > 0.9


def test_the_target_is_read_off_the_line_and_not_off_tables_of_it() -> None:
    """What is counted is what the line leaves: near 0 in every row."""
    setting, rows = sloped(2_000)
    inner, noise = inner_of(setting), StudyNoise(np.random.default_rng(2))
    tables = LINE.ask(questions_of(LINE, setting, rows, noise))
    alone = tables.coarser.within[2][: inner.columns[2].cuts]  # type: ignore[union-attr]
    numbers = np.linspace(*inner.columns[2].grid.attribute.bounds(), len(alone))
    assert np.sqrt((alone / alone.sum()) @ numbers**2) < 0.5  # of 2 times the columns: over 2


def test_where_there_is_no_line_it_is_tan() -> None:
    setting = setting_of("1", 500)
    names = setting_for([FACTS[0], FACTS[2], FACTS[1]], 2, 500, Decimal(1), delta=DELTA, method=LINE)
    mask = np.zeros(setting.sizes[2], dtype=bool)
    for other in (names, replace(setting, impossible=(((2,), mask),))):
        assert LINE.queries(other) == TAN.queries(other)
    assert LINE.queries(setting) != TAN.queries(setting)


def test_a_half_that_is_no_epsilon_trains_no_line() -> None:
    """At a δ near 1/rows half of the ρ of a small ε is that of ε = 0."""
    few = setting_for(FACTS, 2, 20, Decimal("0.01"), delta=Decimal("0.04"), method=LINE)
    assert LINE.queries(few) == TAN.queries(few)
    assert method_for("auto", FACTS, 2, 20, Decimal("0.01"), Decimal("0.04")).name == "marginals"


@pytest.mark.parametrize(("delta", "target", "method"), [("1e-6", 2, "line"), ("0", 2, "tan"), ("1e-6", 1, "tan")])
def test_auto_takes_it_for_a_target_of_numbers_with_a_delta(delta: str, target: int, method: str) -> None:
    assert method_for(None, FACTS, target, 20_000, Decimal(1), Decimal(delta)).name == method


@pytest.mark.slow
def test_no_auditor_sees_more_than_epsilon() -> None:
    """Every noisy number of the line and of the tables, with a row that is there or emptied."""
    codes, sides = [[0, 0, 0]] * 3 + [[4, 1, 8]], []
    setting = setting_for(FACTS, 2, 4, Decimal(1), delta=Decimal("1e-4"), method=LINE)
    columns = coarse_columns(FACTS)
    assert len(columns) == len(setting.columns)
    for side, present in enumerate(([True] * 4, [True] * 3 + [False])):
        seen = []
        for seed in range(1_000):
            noise = Heard(np.random.default_rng(2 * seed + side))
            LINE.ask(questions_of(LINE, setting, rows_of(codes, present), noise))
            seen.append(noise.told)
        sides.append(np.array(seen))
    assert not epsilon_lower(*sides, alpha=1e-6, delta=1e-4).refutes(1.0)


class Heard(StudyNoise):
    """Keeps the first numbers that are answered, as many for each run."""

    def __init__(self, generator: np.random.Generator) -> None:
        super().__init__(generator)
        self.told: list[int] = []

    def gaussian(self, values: list[int], sensitivity: int, rho: float) -> list[int]:
        found = super().gaussian(values, sensitivity, rho)
        self.told = (self.told + found)[:12]
        return found

"""Rows drawn from a tree: how many, which, and that nothing but the tree makes columns dependent."""

import itertools
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from asks import ask_by
from synth_cases import dependent_rows, questions_of, rows_of
from transcripts import loss

from workbench.data.schema import Attribute
from workbench.learners.logistic_regression import descent
from workbench.params import CancelledError
from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.entropy import SeededEntropy
from workbench.signals.cancel import CancelToken
from workbench.synth import CHANCES, LINE, MARGINALS, TAN, Synthesiser, fit, mst, row_sampler, tan
from workbench.synth.base import MODEL, Setting, events
from workbench.synth.chances import RIGHT
from workbench.synth.cliques import CliqueMarginals, CliqueTree
from workbench.synth.columns import CodedRows, Codes
from workbench.synth.line import inner_of
from workbench.synth.row_sampler import rounded, sampled_rows
from workbench.synth.setting import method_for, setting_for
from workbench.synth.synthesis import SyntheticRows, synthesised

SIZES = (2, 5, 5, 6)


def star(codes: np.ndarray, sizes: tuple[int, ...] = SIZES) -> CliqueMarginals:
    """The star about the first column that has the tables of ``codes``."""
    tree = CliqueTree.of(sizes, [(0, j) for j in range(1, len(sizes))])
    counts = (rows_of(codes).counts(clique, [sizes[i] for i in clique]) for clique in tree.cliques)
    return CliqueMarginals(tree, tuple(table / len(codes) for table in counts))


def test_rounded_numbers_sum_and_are_the_nearest():
    generator = np.random.default_rng(6)
    for seed in range(200):
        chances = generator.dirichlet(np.full(7, 0.4)) * (generator.random(7) < 0.8)
        if not chances.any():
            continue
        total = int(generator.integers(0, 50))
        parts = rounded(chances, total, SeededEntropy(seed))
        assert parts.sum() == total
        assert (parts[chances == 0] == 0).all()
        assert (np.abs(parts - total * chances / chances.sum()) < 1 + 1e-9).all()


def test_rounded_numbers_are_unbiased():
    chances = np.array([0.05, 0.15, 0.3, 0.5])
    mean = np.mean([rounded(chances, 3, SeededEntropy(seed)) for seed in range(4000)], axis=0)
    assert mean == pytest.approx(3 * chances, abs=0.04)  # five standard deviations of a half are 0.04


@pytest.mark.parametrize("evenly", [True, False])
@pytest.mark.parametrize("rows", [1, 7, 400, 1000])
def test_the_tables_of_the_tree_come_back_and_there_are_always_n_rows(evenly, rows, monkeypatch):
    monkeypatch.setattr(row_sampler, "MOST_DEALT", 10**6 if evenly else 0)
    model = star(dependent_rows(400, SIZES))
    drawn = sampled_rows(model, rows, SeededEntropy(5), CancelToken())
    assert drawn.shape == (rows, 4)
    assert (drawn >= 0).all()
    assert (drawn < np.array(SIZES)).all()
    for (a, b), table in zip(model.tree.cliques, model.tables, strict=True):
        found = rows_of(drawn).counts((a, b), (SIZES[a], SIZES[b]))
        assert np.abs(found - rows * table).max() < 2.01


@pytest.mark.parametrize("evenly", [True, False])
def test_rounding_does_not_make_siblings_dependent(evenly, monkeypatch):
    """Few rows a cell, so that rounding decides much: given the root, two children stay independent."""
    monkeypatch.setattr(row_sampler, "MOST_DEALT", 10**6 if evenly else 0)
    generator = np.random.default_rng(2)
    codes = np.column_stack([np.zeros(300, int), *(generator.integers(0, 40, 300) for _ in range(3))])
    model = star(codes, (1, 40, 40, 40))
    found = [np.corrcoef(sampled_rows(model, 300, SeededEntropy(s), CancelToken())[:, 1:].T) for s in range(20)]
    beside = np.array(found)[:, [0, 0, 1], [1, 2, 2]]
    assert np.abs(beside.mean()) < 0.04  # sixty correlations of 300 rows have a mean within 0.0075 · 5
    assert np.abs(beside).max() < 0.3


@pytest.mark.parametrize(("most", "part"), [(10**6, 0.2), (0, 0.35)])
def test_few_rows_and_many_show_less_association_than_chance(most, part, monkeypatch):
    """Columns that are independent given the first; rows drawn by themselves are what chance is."""
    monkeypatch.setattr(row_sampler, "MOST_DEALT", most)
    codes, generator = dependent_rows(600, SIZES), np.random.default_rng(9)
    model = star(codes)
    wanted = dict(model.pairs(1))[2]

    def apart(found: Codes) -> float:
        return float(np.abs(rows_of(found).counts((1, 2), (5, 5)) / 600 - wanted).sum())

    drawn = [apart(sampled_rows(model, 600, SeededEntropy(s), CancelToken())) for s in range(20)]
    cells = generator.multinomial(600, wanted.ravel(), 20)
    chance = [np.abs(c.reshape(5, 5) / 600 - wanted).sum() for c in cells]
    assert np.mean(drawn) < part * np.mean(chance)


def test_rows_of_a_rare_value_have_each_value_of_their_cell_with_its_probability():
    """Of three rows one is alone beside the others, and one of their values is as rare: at an end it met it seldom."""
    left, above, beside = np.array([[1, 2]]), np.zeros(3, np.int64), np.array([[0], [1], [1]])
    drawn = [row_sampler._interleaved(left, above, beside, [2], SeededEntropy(seed)) for seed in range(4000)]
    assert (np.sum(drawn, axis=1) == 2).all()
    assert np.mean(drawn, axis=0) == pytest.approx(2 / 3, abs=0.04)  # five standard deviations are 0.037


def test_rows_come_in_random_order_and_the_sampler_stops_when_asked():
    model = star(dependent_rows(400, SIZES))
    drawn = sampled_rows(model, 400, SeededEntropy(5), CancelToken())
    assert (np.diff(drawn[:, 0]) != 0).sum() > 100
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        sampled_rows(model, 400, SeededEntropy(5), token)


# -- ``line``: what it asks of neighbours, and that rows are the line and what it leaves ------------------------------


FACTS = [
    Attribute(name="a", kind="integer", lower=0.0, upper=4.0, missing="own-value"),
    Attribute(name="b", kind="category", domain=("x", "y"), missing="own-value"),
    Attribute(name="y", kind="integer", lower=0.0, upper=8.0, missing="own-value"),
]
DELTA = Decimal("1e-6")


def setting_of(epsilon: str, rows: int, method: Synthesiser = LINE) -> Setting:
    facts = FACTS if method is LINE else [FACTS[0], FACTS[1], Attribute(name="y", kind="category", domain=tuple("uvw"))]
    return setting_for(facts, 2, rows, Decimal(epsilon), delta=DELTA, method=method)


@pytest.mark.parametrize(
    ("method", "epsilon", "asks"), [(LINE, "1", 1), (LINE, "80", 3), (LINE, "250", 4), (CHANCES, "2000", 28)]
)
def test_emptying_a_row_spends_no_more_than_rho_whatever_was_answered(monkeypatch, method, epsilon, asks):
    """The mean alone; chosen columns; ranges and sums that are asked for twice; a descent that sees products."""
    monkeypatch.setattr(descent, "_ROWS_EACH", 0)
    # What is made of answers takes most of the time.
    monkeypatch.setattr(tan, "density", lambda *_: None)
    monkeypatch.setattr(mst, "fitted", lambda *a, **k: fit.fitted(*a, **{**k, "rounds": 3}))
    hostile = [(0, 0, 0), (4, 1, 8), (4, 0, 0), (2, 2, 9), (5, 1, 5)]  # the last cell of a column is a missing value
    setting = setting_of(epsilon, 3, method)
    assert sum(query.form == MODEL for query in method.queries(setting)) >= asks
    hostile = [(a, b, min(y, setting.sizes[2] - 1)) for a, b, y in hostile]
    worst, whole = 0.0, float(setting.budget.amount)
    for seed, codes in enumerate(list(itertools.combinations_with_replacement(hostile, 3))[::4]):
        for empty in range(3):
            present = [place != empty for place in range(3)]
            worst = max(worst, loss(method, setting, rows_of(codes), rows_of(codes, present), seed=seed))
    assert 0.1 * whole < worst <= whole


def sloped(count: int) -> tuple[Setting, CodedRows]:
    """Rows whose target is twice one column and four times a name, one in nine of them missing."""
    generator = np.random.default_rng(1)
    a, b = generator.integers(0, 3, count), generator.integers(0, 2, count)
    y = np.where(generator.random(count) < 1 / 9, 9, 2 * a + 4 * b)
    return setting_of("1000", count), rows_of(np.column_stack([a, b, y]))


def drawn(setting: Setting, rows: CodedRows, seed: int, method: Synthesiser = LINE) -> SyntheticRows:
    ask = ask_by(StudyNoise(np.random.default_rng(seed)), events(method.queries(setting)), SeededEntropy(seed))
    return synthesised(method, setting, rows, len(rows.codes), ask)


def test_with_much_budget_the_target_is_that_of_the_rows_and_what_is_missing_stays_so():
    setting, rows = sloped(2_000)
    found: Codes = drawn(setting, rows, 3).codes
    here = found[:, 2] < 9
    assert 0.07 < 1 - here.mean() < 0.16
    expected = 2 * found[here, 0].astype(int) + 4 * found[here, 1]
    assert np.mean(np.abs(found[here, 2].astype(int) - expected) <= 1) > 0.9


def test_the_target_is_read_off_the_line_and_not_off_tables_of_it():
    """What is counted is what the line leaves: near 0 in every row."""
    setting, rows = sloped(2_000)
    inner, noise = inner_of(setting), StudyNoise(np.random.default_rng(2))
    tables = LINE.ask(questions_of(LINE, setting, rows, noise))
    alone = tables.coarser.within[2][: inner.columns[2].cuts]  # type: ignore[union-attr]
    numbers = np.linspace(*inner.columns[2].grid.attribute.bounds(), len(alone))
    assert np.sqrt((alone / alone.sum()) @ numbers**2) < 0.5  # of 2 times the columns: over 2


def test_where_there_is_no_line_it_is_tan():
    setting = setting_of("1", 500)
    names = setting_for([FACTS[0], FACTS[2], FACTS[1]], 2, 500, Decimal(1), delta=DELTA, method=LINE)
    mask = np.zeros(setting.sizes[2], dtype=bool)
    for other in (names, replace(setting, impossible=(((2,), mask),))):
        assert LINE.queries(other) == TAN.queries(other)
    assert LINE.queries(setting) != TAN.queries(setting)


def test_a_half_that_is_no_epsilon_trains_no_line():
    """At a δ near 1/rows half of the ρ of a small ε is that of ε = 0."""
    few = setting_for(FACTS, 2, 20, Decimal("0.01"), delta=Decimal("0.04"), method=LINE)
    assert LINE.queries(few) == TAN.queries(few)
    assert method_for("auto", FACTS, 2, 20, Decimal("0.01"), Decimal("0.04")).name == "marginals"


@pytest.mark.parametrize("decided", [True, False])
def test_names_are_those_of_the_rows_and_as_frequent_as_counted(decided):
    """A name that two set by the columns only together, or leave open in half of the rows."""
    generator = np.random.default_rng(2)
    a, b = generator.integers(0, 2, 4_000), generator.integers(0, 2, 4_000)
    y = np.where(generator.random(4_000) < 0.5 * (not decided), generator.integers(0, 2, 4_000), 4 * a * b // 2)
    setting = setting_of("20", 4_000, CHANCES)
    found = drawn(setting, rows_of(np.column_stack([4 * a, b, y])), 5, CHANCES)
    assert RIGHT in [one.query.label for one in found.answered]
    codes = found.codes.astype(int)
    same = codes[:, 2] == 2 * (codes[:, 0] // 4) * codes[:, 1]
    assert same.mean() == pytest.approx(np.mean(y == 2 * a * b), abs=0.05)
    assert np.bincount(codes[:, 2], minlength=3) == pytest.approx(np.bincount(y, minlength=3), abs=120)


def test_where_the_model_sees_no_products_the_table_is_that_of_marginals():
    known = setting_of("1", 5_000, CHANCES)
    assert CHANCES.queries(known) != MARGINALS.queries(known)
    assert sum((query.share for query in CHANCES.queries(known)), Decimal(0)) <= known.budget.amount
    mask = np.zeros(known.sizes[2], dtype=bool)
    for other in (
        setting_of("1", 50, CHANCES),
        setting_of("1", 5_000),
        replace(known, delta=Decimal(0)),
        replace(known, impossible=(((2,), mask),)),
    ):
        assert CHANCES.queries(other) == MARGINALS.queries(other)


@pytest.mark.parametrize(("delta", "target", "method"), [("1e-6", 2, "line"), ("0", 2, "tan"), ("1e-6", 1, "tan")])
def test_auto_takes_it_for_a_target_of_numbers_with_a_delta(delta, target, method):
    assert method_for(None, FACTS, target, 20_000, Decimal(1), Decimal(delta)).name == method
    names = [FACTS[1], *(Attribute(name=name, kind="category", domain=("u", "v")) for name in ("a", "y"))]
    wanted = "chances" if delta != "0" else "tan"
    assert method_for(None, names, 2, 20_000, Decimal(1), Decimal(delta)).name == wanted
    named = method_for(None, names, 2, 20_000, Decimal(1), Decimal(delta), "a = u & y = v")
    assert named.name == "tan"  # chances draws no target that is named by what is impossible
    beside = method_for(None, [*FACTS[:2], names[2]], 2, 20_000, Decimal(1), Decimal(delta))  # numbers
    assert beside.name == "tan"

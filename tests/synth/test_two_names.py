"""Two names and few rows: what ``chances`` asks of neighbours, what it draws, and that a model finds it again."""

import itertools
from decimal import Decimal

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from synth_cases import rows_of, run
from transcripts import loss

from workbench.data.schema import Attribute
from workbench.params import CancelledError
from workbench.privacy.entropy import SeededEntropy
from workbench.signals import CancelToken
from workbench.synth import CHANCES, MARGINALS
from workbench.synth.balanced import balanced
from workbench.synth.base import Setting
from workbench.synth.chances import AS_MARGINALS, BY_CHANCES, HALVES, RIGHT, BudgetDivision, means_and_spreads
from workbench.synth.setting import method_for, setting_for

DELTA = Decimal("1e-6")


def facts(columns: int, names: int = 0, missing: str = "refuse") -> list[Attribute]:
    """Columns of numbers and of two names, the target last."""
    numbers = [Attribute(name=f"x{j}", kind="real", lower=-1.0, upper=1.0, missing=missing) for j in range(columns)]
    of = (*(f"n{j}" for j in range(names)), "y")
    return [*numbers, *(Attribute(name=name, kind="category", domain=("u", "v")) for name in of)]


def setting_of(known: list[Attribute], rows: int, epsilon: str) -> Setting:
    return setting_for(known, len(known) - 1, rows, Decimal(epsilon), delta=DELTA, method=CHANCES)


@pytest.mark.parametrize(("columns", "names", "epsilon", "asks"), [(15, 1, "160", HALVES), (3, 1, "300", RIGHT)])
def test_emptying_a_row_spends_no_more_than_rho_whatever_was_answered(columns, names, epsilon, asks):
    """Distances in all columns at once, beside a table; and tables alone."""
    setting = setting_of(facts(columns, names), 3, epsilon)
    assert asks in [query.label for query in CHANCES.queries(setting)]
    last = setting.sizes[0] - 1
    hostile = [(*[far] * columns, *[name] * names, y) for far, name, y in ((0, 0, 0), (last, 1, 1), (last // 2, 1, 0))]
    hostile.append((*[0, last] * (columns // 2), *[last] * (columns % 2), *[0] * names, 1))
    worst, whole = 0.0, float(setting.budget.amount)
    for seed, codes in enumerate(list(itertools.combinations_with_replacement(hostile, 3))[::2]):
        for empty in range(3):
            present = [place != empty for place in range(3)]
            worst = max(worst, loss(CHANCES, setting, rows_of(codes), rows_of(codes, present), seed=seed))
    assert 0.5 * whole < worst <= whole


@pytest.mark.parametrize(
    ("columns", "rows", "epsilon"), [(30, 500, "1"), (30, 450, "1.0000001"), (8, 700, "3"), (18, 700, "1")]
)
def test_shares_sum_to_no_more_than_rho_and_each_query_has_one(columns, rows, epsilon):
    setting = setting_of(facts(columns, 2), rows, epsilon)
    assert BudgetDivision.of(setting) is not None
    queries = CHANCES.queries(setting)
    spent, whole = sum((query.share for query in queries), Decimal(0)), setting.budget.amount
    assert whole * Decimal("0.999") < spent <= whole
    assert len({query.label for query in queries}) == len(queries)
    assert CHANCES.inner(setting).budget.amount <= whole * Decimal("0.51")


@pytest.mark.parametrize(
    ("known", "rows", "epsilon", "method"),
    [
        (facts(30), 500, "1", "chances"),  # too many columns for tables
        (facts(8), 700, "1", "chances"),  # the model knows how far each column spreads
        (facts(18), 700, "1", "chances"),  # neither, but the tables of tan would be coarse
        (facts(18), 700, "3", "tan"),  # neither
        (facts(30), 200, "1", "marginals"),
        (facts(30, missing="own-value"), 500, "1", "marginals"),  # of missing values no distance can be asked
        (facts(18, missing="own-value"), 700, "1.6", "tan"),  # nor where only half of the budget leaves rows few
        (facts(8), 100_000, "1", "tan"),  # the model sees products, beside numbers
    ],
)
def test_auto_takes_it_by_public_numbers_where_it_pays(known, rows, epsilon, method):
    target = len(known) - 1
    assert method_for(None, known, target, rows, Decimal(epsilon), DELTA).name == method
    assert method_for(None, known, target, rows, Decimal(epsilon)).name in ("tan", "marginals")
    if method != "chances" and rows < 1_000:
        other = setting_of(known, rows, epsilon)
        assert CHANCES.queries(other) == MARGINALS.queries(other)
        assert (CHANCES.says(other), max(other.sizes) <= 17) == ((AS_MARGINALS,), True)


def people(columns: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns about different means, with small spreads in wide bounds, and a name that two of them decide mostly."""
    draw = np.random.default_rng(4)
    shared = draw.normal(size=count)
    X = np.linspace(-0.6, 0.6, columns) + 0.1 * (draw.normal(size=(count, columns)) + shared[:, None]) / 1.5
    scores = 25 * (X[:, 0] - X[:, 0].mean() + X[:, 1] - X[:, 1].mean())
    return X, (draw.random(count) < 1 / (1 + np.exp(-scores))).astype(int)


@pytest.mark.parametrize(("columns", "epsilon", "right"), [(30, "1", 0.8), (5, "1", 0.77)])
def test_a_model_learned_from_the_rows_knows_the_names_of_others(columns, epsilon, right):
    X, y = people(columns, 1_200)
    setting = setting_of(facts(columns), 600, epsilon)
    cells = [np.clip(((X[:, j] + 1) / 2 * s).astype(int), 0, s - 1) for j, s in enumerate(setting.sizes[:-1])]
    codes = np.column_stack([*cells, y])
    best = LogisticRegression(max_iter=2_000).fit(40 * X[:600], y[:600]).score(40 * X[600:], y[600:])
    scores, errors = [], []
    for seed in range(4):
        made = run("chances", setting, rows_of(codes[:600]), 600, seed)
        assert made.stated == BY_CHANCES
        drawn = made.codes.astype(int)
        centre, spread = drawn[:, :-1].mean(axis=0), drawn[:, :-1].std(axis=0) + 1e-9
        model = LogisticRegression(max_iter=2_000).fit((drawn[:, :-1] - centre) / spread, drawn[:, -1])
        scores.append(model.score((codes[600:, :-1] - centre) / spread, y[600:]))
        errors += list((centre - codes[:600, :-1].mean(axis=0)) / np.array(setting.sizes[:-1]))
    assert best > 0.8
    assert np.mean(scores) > right
    known = CHANCES.untabled(setting)
    assert set(known) == (set(range(len(setting.sizes))) if HALVES in str(CHANCES.queries(setting)) else set())
    if known:
        assert np.mean(np.abs(errors) < 1.96 * known[0]) > 0.9


def test_a_mean_of_evenly_spread_values_is_as_near_as_it_is_forecast():
    """Their distances are brought down to the limit, so that an error of the model's mean stays in part."""
    setting = setting_of(facts(60), 1_500, "1")
    draw = np.random.default_rng(5)
    codes = np.column_stack([draw.integers(0, setting.sizes[0], (1_500, 60)), draw.integers(0, 2, 1_500)])
    errors = []
    for seed in range(2):
        drawn = run("chances", setting, rows_of(codes), 1_500, seed).codes.astype(int)
        errors.append((drawn.mean(axis=0) - codes.mean(axis=0))[:-1] / setting.sizes[0])
    assert 0.7 < np.sqrt(np.mean(np.square(errors))) / CHANCES.untabled(setting)[0] < 1.15


def test_a_name_has_its_chance_and_sums_are_those_of_the_chances():
    draw = np.random.default_rng(1)
    seen = np.column_stack([np.ones(150), draw.normal(size=(150, 4))])
    chances = 1 / (1 + np.exp(-seen @ draw.normal(size=5)))
    made = np.array([balanced(chances, seen, SeededEntropy(seed)) for seed in range(200)])
    off, alone = (made - chances) @ seen, np.sqrt(chances * (1 - chances) @ seen**2)
    assert (off.std(axis=0) < 0.35 * alone).all()  # drawn one by one it is all of it
    # 150 rows, each a mean of 200 draws: six standard errors.
    assert (np.abs(made.mean(axis=0) - chances) < 6 * np.sqrt(chances * (1 - chances) / 200) + 0.01).all()


def test_drawing_together_ends_where_a_stop_is_requested():
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        balanced(np.full(9, 0.5), np.ones((9, 1)), SeededEntropy(0), cancel)


@pytest.mark.parametrize("chances", [[0.0, 1.0, 0.0], [1.0, 1.0], [0.3], []])
def test_what_is_sure_is_drawn_so_whatever_is_seen(chances):
    own = np.array(chances)
    for seen in (np.zeros((len(own), 2)), np.ones((len(own), 5))):
        made = balanced(own, seen, SeededEntropy(3))
        assert made.shape == own.shape
        assert (made[own == 1]).all()
        assert not made[own == 0].any()


def test_normal_variables_are_found_from_their_distances():
    draw = np.random.default_rng(3)
    sizes, means, spreads = np.array([4e5, 2e5]), np.array([[0.02, -0.1], [-0.05, 0.15]]), np.array([0.05, 0.2])
    sums = []
    for size, mean in zip(sizes.astype(int), means, strict=True):
        z = mean + spreads * draw.normal(size=(size, 2))
        sums.append(np.concatenate([np.maximum(z, 0).sum(axis=0), np.maximum(-z, 0).sum(axis=0)]))
    found, wide = means_and_spreads(np.array(sums), sizes, 10.0)
    assert found == pytest.approx(means, abs=0.003)
    assert wide == pytest.approx(spreads, rel=0.1)

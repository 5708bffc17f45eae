"""Solve for ε: the answer meets the wishes, is near the least that brute force finds, and says what is impossible."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.params import CancelledError, ParameterError
from workbench.privacy.accounting.zcdp import rho_of
from workbench.sanitize.forecast import forecast
from workbench.sanitize.intended_use import PlanQuestions
from workbench.sanitize.plan import Column, Plan
from workbench.sanitize.utility_summary import half_length
from workbench.sanitize.wishes import Wish
from workbench.signals.cancel import CancelToken
from workbench.statistics.forecast import forecast as forecast_of_figures
from workbench.statistics.queries import queries_of
from workbench.statistics.request import Request, Statistic
from workbench.studies.kind_comparison import compare_kinds, synthetic_figures
from workbench.studies.kind_questions import question_of
from workbench.studies.solve import ROWS, STATISTICS, SYNTHETIC, WAYS, Solution, Wanted, solve

PLAN = Plan(
    epsilon=1.0,
    columns=(
        Column(name="age", kind="integer", lower=0, upper=120),
        Column(name="pay", kind="real", lower=0, upper=1000, cells=41, missing="own-value"),
        Column(name="kids", kind="integer", lower=0, upper=8),
        Column(name="sex", kind="category", domain=("f", "m")),
        Column(name="city", kind="category", domain=("Bonn", "Lille", "Turin", "Graz")),
        Column(name="sick", kind="boolean"),
    ),
)
RANGE = {"age": 120, "pay": 1000, "kids": 8}
LEAST, NEAR = 1e-6, 1.05
"""Brute force is within 5 % of the least; a grid of 2 % leaves the answer as much less."""

GRID = 1.02


def answer(rows: int, wishes: Sequence[str], way: str | None = None, plan: Plan = PLAN, **options: float) -> Solution:
    return Wanted(want=tuple(wishes), way=way, **options).solution(plan, rows)  # type: ignore[arg-type]


# -- brute force, from the forecasts that the commands show ------------------------------------------------------------

Figure = tuple[str, str, tuple[str, ...] | None, float | None]
"""Statistic, column, groups and quantile."""


def random_wishes(draw: np.random.Generator, most: int) -> tuple[int, list[str], list[tuple[Figure, float]]]:
    """Return a number of rows, up to ``most`` wishes, and what each of them is of the released figures."""
    rows = int(10 ** draw.uniform(2, 6))
    texts, wanted = dict[str, str](), list[tuple[Figure, float]]()
    count = int(draw.integers(1, most + 1))
    while len(texts) < count:
        column = str(draw.choice(["age", "pay", "kids"]))
        within = float(f"{RANGE[column] * 10 ** draw.uniform(-3, -1):.4g}")
        kind = str(draw.choice(["mean", "sum", "median", "quantile", "share", "count", "by"]))
        figure: Figure = ("mean", column, None, None)
        text = f"mean({column})"
        if kind == "sum":
            within, text, figure = float(f"{within * rows:.4g}"), f"sum({column})", ("sum", column, None, None)
        elif kind in ("median", "quantile"):
            at = 0.5 if kind == "median" else 0.9
            text = f"median({column})" if kind == "median" else f"quantile({column}, 0.9)"
            figure, within = ("quantiles", column, None, at), max(within, 1.2)
        elif kind in ("share", "count"):
            part = float(f"{10 ** draw.uniform(-3, -1):.4g}")
            value, column = ("f", "sex") if draw.random() < 0.5 else ("Graz", "city")
            within = part if kind == "share" else float(f"{part * rows:.4g}")
            text, figure = f"{kind}({column}={value})", ("histogram", column, None, None)
        elif kind == "by":
            text, figure = f"mean({column} by sex)", ("mean", column, ("sex",), None)
        if text in texts:
            continue
        texts[text] = f"{text} <= {within!r}"
        wanted.append((figure, within * rows if kind == "share" else within))
    return rows, list(texts.values()), wanted


def errors_at(rows: int, weights: dict[Figure, float], epsilon: float, delta: Decimal) -> dict[Figure, float]:
    """Return the half-widths of the figures as ``statistics --forecast`` shows them."""
    asked: dict[tuple[str, str, tuple[str, ...] | None], list[Figure]] = {}
    for figure in weights:
        asked.setdefault(figure[:3], []).append(figure)
    figures = tuple(
        Statistic(
            statistic=key[0],
            column=key[1],
            by=key[2],
            at=tuple(sorted(f[3] for f in own if f[3] is not None)) or None,
            weight=max(weights[f] for f in own),
        )
        for key, own in asked.items()
    )
    queries = queries_of(Request(figures=figures).checked(PLAN), PLAN, epsilon, rows, delta)
    found = {(f.statistic, f.column, f.by or None): f.half_width for f in forecast_of_figures(queries)}
    return {figure: found[figure[:3]] for figure in weights}


def splits(count: int, steps: int) -> Iterator[tuple[float, ...]]:
    """Yield weights of ``count`` figures over four orders of magnitude, also such that one of them costs nothing."""
    if count == 1:
        yield (1.0,)
        return
    weights = [1e-4, *np.geomspace(0.01, 100, steps if count == 2 else 49).tolist()]
    for others in itertools.product(weights, repeat=count - 1):
        yield 1.0, *others


def brute_force(rows: int, wanted: list[tuple[Figure, float]], delta: Decimal, steps: int) -> float:
    """Return the least ε of a grid of splits, each with the least total by a search from below."""
    figures = list(dict.fromkeys(figure for figure, _ in wanted))
    keys = list(dict.fromkeys(figure[:3] for figure in figures))
    margins = {figure: min(within for other, within in wanted if other == figure) for figure in figures}
    best = 51.0

    def meets(split: tuple[float, ...], epsilon: float) -> bool:
        weights = {figure: split[keys.index(figure[:3])] for figure in figures}
        try:
            errors = errors_at(rows, weights, epsilon, delta)
        except ParameterError:
            return False
        return all(errors[figure] <= margins[figure] for figure in figures)

    if [key[0] for key in keys] == ["quantiles"]:  # what quantiles are read from changes with ε: nothing is left out
        return next((e for e in np.geomspace(LEAST, best, 10 * steps).tolist() if meets((1.0,), e)), best)
    for split in splits(len(keys), steps):
        if not meets(split, best / GRID):
            continue  # not better than what is known
        high = best / GRID
        low = LEAST
        while high / low > GRID:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if meets(split, middle) else (middle, high)
        best = high
    return best


@pytest.mark.parametrize(
    ("first", "last", "most"),
    [(0, 20, 2), *(pytest.param(at, at + 20, 3, marks=pytest.mark.slow) for at in range(20, 200, 20))],
)
def test_the_least_epsilon_of_statistics_is_that_of_brute_force(first, last, most):
    for number in range(first, last):
        rows, texts, wanted = random_wishes(np.random.default_rng([7, number]), most)
        delta = Decimal("1e-9") if number % 4 == 3 else Decimal(0)
        found = answer(rows, texts, STATISTICS, **({"delta": 1e-9} if delta else {}))
        least = brute_force(rows, wanted, delta, 15 if most == 2 else 241)
        if found.epsilon is None:
            assert least > 50 / NEAR, (number, texts)
            continue
        assert float(found.epsilon) <= least * NEAR, (number, rows, texts, found.split)
        expected = errors_at(rows, weights_of(found), float(found.epsilon), delta)
        assert all(expected[figure] <= within for figure, within in wanted), (number, texts)


def weights_of(found: Solution) -> dict[Figure, float]:
    """Return the figures that a solution asks for, with their weights."""
    assert found.request is not None
    return {
        (one.statistic, one.column or "", one.by, at): one.weight
        for one in found.request.figures
        for at in (one.quantiles if one.statistic == "quantiles" else (None,))
    }


ROW_COLUMNS = (
    Column(name="pay", kind="real", lower=0, upper=1000, cells=21),
    Column(name="kids", kind="integer", lower=0, upper=8),
    Column(name="sex", kind="category", domain=("f", "m")),
)


@pytest.mark.parametrize(
    ("first", "last", "steps"),
    [(0, 3, 25), *(pytest.param(at, at + 15, 321, marks=pytest.mark.slow) for at in (3, 18))],
)
def test_the_least_epsilon_of_noisy_rows_is_that_of_brute_force(first, last, steps):
    """Each column's errors at a fine grid of shares, and of two columns every pair of shares."""
    plan = Plan(epsilon=1.0, columns=ROW_COLUMNS)
    grid = np.geomspace(0.01, 51, steps)
    known = {c.name: [forecast(Plan(epsilon=e, columns=(c,))).columns[0] for e in grid.tolist()] for c in ROW_COLUMNS}
    for number in range(first, last):
        draw = np.random.default_rng([11, number])
        rows = int(10 ** draw.uniform(3, 5.5))
        margins = {
            "pay": float(f"{1000 * 10 ** draw.uniform(-2.3, -1):.3g}"),
            "kids": float(f"{8 * 10 ** draw.uniform(-2.3, -1):.3g}"),
            "sex": float(f"{10 ** draw.uniform(-2.3, -1):.3g}"),
        }
        wishes = [f"mean(pay) <= {margins['pay']}", f"mean(kids) <= {margins['kids']}"]
        wishes.append(f"share(sex=f) <= {margins['sex']}")
        least = [
            next(
                (e for c, e in zip(known[name], grid, strict=True) if met(half_length(c, rows), margins[name])),
                math.inf,
            )
            for name in margins
        ]
        total = sum(least)
        if number % 2:
            within = float(f"{10 ** draw.uniform(-1, 0):.3g}")
            wishes.append(f"correlation(pay, kids) <= {within}")
            kept = [np.array([c.relations_kept for c in known[name]]) for name in ("pay", "kids")]
            here = 1.959964 / (np.multiply.outer(*kept) * math.sqrt(rows)) <= within
            here &= np.logical_and.outer(grid >= least[0], grid >= least[1])
            total = float(np.where(here, np.add.outer(grid, grid), math.inf).min()) + least[2]
        found = answer(rows, wishes, ROWS, plan)
        if found.epsilon is None:
            assert total > 40, (number, wishes)
            continue
        assert float(found.epsilon) <= total * NEAR, (number, wishes, found.split, least)
        assert found.plan is not None
        made = forecast(found.plan)
        assert float(made.epsilon_row) == pytest.approx(float(found.epsilon), rel=1e-12)
        half = {c.name: half_length(c, rows) for c in made.columns}
        assert all(met(half[name], margins[name]) for name in margins)


def met(half: float | None, margin: float) -> bool:
    return half is not None and half <= margin


@pytest.mark.parametrize("number", range(4))
def test_the_least_epsilon_of_synthetic_rows_is_that_of_brute_force(number):
    draw = np.random.default_rng([13, number])
    target = replace(PLAN.column("sick"), role="target")
    plan = replace(PLAN, columns=(*PLAN.columns[:-1], target if number % 2 else PLAN.columns[-1]))
    rows = int(10 ** draw.uniform(3, 5))
    wishes = [
        Wish.parse(f"mean(age) <= {10 ** draw.uniform(0, 1):.3g}"),
        Wish.parse(f"share(sex=f) <= {10 ** draw.uniform(-2, -1):.3g}"),
    ]
    found = solve(plan, rows, wishes, SYNTHETIC)
    assert found.epsilon is not None

    def meets(epsilon: float) -> bool:
        try:
            half = synthetic_figures(replace(plan, epsilon=epsilon), rows, CancelToken())
        except ParameterError:
            return False
        questions = [question_of(plan, wish) for wish in wishes]
        return all(q is not None and met(half(q), q.enough) for q in questions)

    least = next(e for e in np.geomspace(0.01, 60, 200).tolist() if meets(e))
    assert float(found.epsilon) <= least * NEAR
    assert meets(float(found.epsilon))


# -- what it says ------------------------------------------------------------------------------------------------------


def test_an_answer_meets_its_wishes_and_its_split_is_the_whole():
    wishes = ["mean(age)<=2", "share(sex=f) ± 3 %", "mean(kids by sex) ± .2", "median(age) ± 3"]
    found = answer(5000, wishes)
    assert found.way == STATISTICS
    assert sum(found.split.values()) == found.epsilon
    assert set(found.split) == {"mean(age)", "share(sex=f)", "mean(kids by sex)", "median(age)"}
    assert all(found.errors[w.figure] <= w.within for w in map(Wish.parse, wishes))
    assert not found.impossible


def test_figures_of_one_query_are_paid_for_once():
    alone = [answer(5000, [wish]).epsilon for wish in ("mean(age) ± 1", "sum(age) ± 5000")]
    found = answer(5000, ["mean(age) ± 1", "sum(age) ± 5000"])
    assert set(found.split) == {"mean(age), sum(age)"}
    assert float(found.epsilon or 0) == pytest.approx(float(max(e or 0 for e in alone)), rel=0.002)


def test_what_no_epsilon_gives_is_impossible_with_its_reason():
    coarse = Plan(epsilon=1.0, columns=(replace(PLAN.column("age"), upper=90, cells=10), PLAN.column("sex")))
    for way in (ROWS, SYNTHETIC):
        (one,) = answer(10**6, ["mean(age) ± .4"], way, coarse).impossible
        assert "rounded to steps of 10" in one.reason
        assert one.needs is None
    assert answer(10**6, ["mean(age) ± .4"], STATISTICS, coarse).epsilon is not None, (
        "figures are not of rounded values"
    )
    (one,) = answer(2000, ["correlation(age, kids) ± .2"], STATISTICS).impossible
    assert one.want == "correlation(age, kids) ± 0.2"
    assert "no correlation" in one.reason
    (one,) = answer(2000, ["mean(age) ± 1e-9"], STATISTICS).impossible
    assert "even ε = 50 is not enough" in one.reason


def test_a_cap_names_what_alone_needs_more():
    wishes = ["mean(age) ± 2", "share(sex=f) ± 3 %"]
    needs = {wish: float(answer(1000, [wish]).epsilon or 0) for wish in wishes}
    least, most = sorted(needs.values())
    found = answer(1000, wishes, epsilon_max=(least + most) / 2)
    assert found.epsilon is None
    assert not found.split
    (one,) = found.impossible
    assert one.needs == most == needs[one.want]
    assert f"alone needs ε ≥ {most}" in one.reason
    both = answer(1000, wishes, epsilon_max=most).impossible
    assert {one.want: one.needs for one in both} == needs
    assert all("all wishes together" in one.reason for one in both)
    assert not answer(1000, wishes, epsilon_max=1.01 * (least + most)).impossible


def test_an_epsilon_is_spent_such_that_all_errors_are_the_same_part_of_their_margins():
    wishes = ["mean(age) ± 2, weight 4", "share(sex=f) ± 3 %", "mean(age by sex) ± 5"]
    few = Plan(epsilon=1.0, columns=ROW_COLUMNS)
    for plan, way_wishes, way in ((PLAN, wishes, STATISTICS), (few, [wishes[1], "mean(kids) ± 1, weight 2"], ROWS)):
        found = answer(5000, way_wishes, way, plan, epsilon=3.0)
        parts = [found.errors[w.figure] / w.within * w.weight for w in map(Wish.parse, way_wishes)]
        if way == STATISTICS:  # the error of a count is a whole number of rows
            parts[1] = max(parts[1], min(parts[1] + 1 / (5000 * 0.03), parts[0]))
        assert max(parts) / min(parts) < (1.01 if way == STATISTICS else 1.1), way
        assert sum(found.split.values()) == found.epsilon == 3
    small = answer(500, wishes, epsilon=0.01)
    assert small.epsilon == Decimal("0.01")
    assert {one.want for one in small.impossible} == {Wish.parse(w).text for w in wishes}


def test_equal_errors_need_no_margins():
    found = answer(5000, ["mean(age)", "share(sex=f)", "mean(kids), weight 2"], epsilon=1.0, equal=True)
    parts = [found.errors["mean(age)"] / 120, found.errors["mean(kids)"] / 8 * 2]
    assert max(parts) / min(parts) < 1.01
    assert parts[0] - 1 / 5000 < found.errors["share(sex=f)"] <= parts[0], "a whole number of rows"
    with pytest.raises(ParameterError, match="set epsilon"):
        answer(5000, ["mean(age)"], equal=True)


def test_with_a_delta_shares_of_rho_add_up():
    wishes = [f"mean({name}) ± {RANGE[name] / 100}" for name in ("age", "pay", "kids")]
    found = answer(5000, wishes, delta=1e-6)
    assert found.epsilon is not None
    assert found.unit == "rho"
    assert sum(found.split.values()) == rho_of(found.epsilon, Decimal("1e-6"))
    with pytest.raises(ParameterError, match="noisy rows have no delta"):
        answer(5000, wishes, ROWS, delta=1e-6)


def test_where_statistics_have_no_such_figure_the_cheaper_of_the_others_is_taken():
    plan = Plan(epsilon=1.0, columns=ROW_COLUMNS)
    each = [answer(20_000, ["correlation(pay, kids) ± .3"], way, plan).epsilon for way in (SYNTHETIC, ROWS)]
    found = answer(20_000, ["correlation(pay, kids) ± .3"], None, plan)
    assert found.way in (SYNTHETIC, ROWS)
    assert found.epsilon == min(e for e in each if e is not None)


def test_rows_that_nothing_is_wished_of_are_left_out_of_the_plan():
    found = answer(20_000, ["mean(kids) ± .2", "share(sex=f) ± 3 %"], ROWS)
    assert found.plan is not None
    assert set(found.left_out) == {"age", "pay", "city", "sick"}
    assert {c.name: c.epsilon for c in found.plan.protected} == {k: float(v) for k, v in found.split.items()}


def test_decide_marks_what_is_solved_as_near_enough():
    wish = Wish.parse("mean(kids) ± .2")
    for way in WAYS:
        found = solve(Plan(epsilon=1.0, columns=ROW_COLUMNS), 20_000, [wish], way)
        assert found.plan is not None
        ways = compare_kinds(
            replace(found.plan, questions=PlanQuestions(wishes=("mean(kids) ± .2",))), 20_000, train=False
        )
        answers = dict(zip([q.words for q in ways.questions], ways.way(way).answers, strict=True))
        if way != STATISTICS:  # other figures share the ε of those
            assert answers["the mean of kids"].useful, way


@pytest.mark.parametrize(
    ("wishes", "part"),
    [
        ([], "no wishes"),
        (["mean(aeg) ± 2"], "did you mean 'age'"),
        (["share(city=Boon) ± 2 %"], "did you mean 'Bonn'"),
        (["mean(sex) ± 2"], r"share\(sex=VALUE\)"),
        (["mean(age) ± 2", "mean(age) ± 3"], "twice"),
        (["count(age) ± 3"], "public number of rows"),
        (["mean(age by secs) ± 2"], "no column 'secs'"),
    ],
)
def test_what_cannot_be_wished_for_is_refused(wishes, part):
    with pytest.raises(ParameterError, match=part):
        solve(PLAN, 2000, [Wish.parse(wish) for wish in wishes])


def test_a_cancelled_search_ends():
    cancel = CancelToken()
    cancel.cancel()
    for way in WAYS:
        with pytest.raises(CancelledError):
            solve(PLAN, 2000, [Wish.parse("mean(age) ± 2")], way, cancel=cancel)


@settings(deadline=None, max_examples=12)
@given(
    rows=st.integers(50, 10**6),
    within=st.floats(0.01, 20),
    wider=st.floats(1.05, 10),
    figure=st.sampled_from(["mean(age)", "sum(age)", "count(sex=f)", "mean(age by sex)", "mean(pay)"]),
)
def test_a_wider_margin_or_more_rows_never_need_more(rows, within, wider, figure):
    def needs(rows: int, within: float) -> float:
        found = answer(rows, [f"{figure} <= {within:.6g}"], STATISTICS)
        return math.inf if found.epsilon is None else float(found.epsilon)

    base = needs(rows, within)
    assert needs(rows, within * wider) <= base
    if "sum" not in figure:
        assert needs(2 * rows, within) <= base


@settings(deadline=None, max_examples=6)
@given(first=st.floats(0.1, 10), second=st.floats(2, 10))
def test_one_more_wish_never_needs_less(first, second):
    one = answer(3000, [f"mean(age) <= {first:.4g}"]).epsilon
    both = answer(3000, [f"mean(age) <= {first:.4g}", f"median(age) <= {second:.4g}"]).epsilon
    assert one is not None
    assert both is not None
    assert both >= one * Decimal("0.999")

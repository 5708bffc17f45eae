"""Every learner keeps what all learners promise, and toys that break a promise are seen."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from bin_means import TOY, BinMeans
from fake_noise import Fake
from learner_conformance import BlackBox, LearnerConformance, Tables, Way
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners import LEARNERS
from workbench.learners.additive_trees.estimator import ADDITIVE_REGRESSION, ADDITIVE_TREES
from workbench.learners.best_of import BEST_CLASSIFIER, BEST_REGRESSION
from workbench.learners.boosted_trees import BOOSTED_TREES
from workbench.learners.dbscan import DBSCAN
from workbench.learners.forest.estimator import FOREST_REGRESSION, RANDOM_FOREST
from workbench.learners.kmeans import KMEANS
from workbench.learners.linear_regression.estimator import LINEAR_REGRESSION
from workbench.learners.logistic_regression.estimator import LOGISTIC_REGRESSION
from workbench.learners.median_forest.estimator import MEDIAN_FOREST, MEDIAN_XGBOOST
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.learners.pca import PRINCIPAL_COMPONENTS
from workbench.learners.standardize import STANDARDIZE
from workbench.work.ask import UndeclaredError

X, GAP = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
)
COLOUR = Attribute(name="colour", kind="category", domain=("red", "green", "blue"))
STEPS = Attribute(name="gap", kind="integer", lower=0, upper=3, missing="own-value")
TWO = Attribute(name="y", kind="category", domain=("a", "b"))
THREE = Attribute(name="y", kind="category", domain=("a", "b", "c"))
NUMBER = Attribute(name="y", kind="real", lower=0, upper=10)
SIDES = (Attribute(name="x", kind="real", lower=-1, upper=1), Attribute(name="z", kind="real", lower=-1, upper=1))
HEIGHT = Attribute(name="y", kind="real", lower=-1, upper=1)

CORNER = [(1, 1, 0), *[(-1, -1, 1)] * 4]
"""Five rows, of which the first, at a corner, is alone in its class, next to its centre, and all that varies."""


def box(rows: list[Any], *, target: Any = None, times: float = 6.0, seen: Any = None, **parameters: Any) -> BlackBox:
    """Rows of two numbers between -1 and 1, at ε = 2; the sound side is left to the slow tests."""
    given = {"epsilon": 2.0, **parameters}
    return BlackBox(rows, given, 4_000, times, seen, slow=True, attributes=SIDES, target=target)


BLOCKS = (Tables(1, [(x, 0, 0, y) for x in (-3, 5) for y in (0, 4.9, 10)]), Tables(3, [(-3, 0, 0, 0), (5, 1, 2, 10)]))
NAN = float("nan")


class TestNaiveBayes(LearnerConformance):
    chosen = NAIVE_BAYES
    keys = ("used",)
    attributes = (X, GAP, Attribute(name="colour", kind="category", domain=("red", "blue"), missing="own-value"))
    target = TWO
    # Above 1e4 each class has its own variance; at last few attributes are chosen.
    ways = (
        Way({"epsilon": 3.0, "noise_limit": 1e6}, spends=0.999),
        Way({"epsilon": 1e5, "noise_limit": 1e6}, spends=0.999),
        Way({"epsilon": 2.0, "noise_limit": 1e-3}, spends=0.2),
        Way({"epsilon": 3.0, "delta": 1e-6, "noise_limit": 1e6}, spends=0.2),
        Way({"epsilon": 2.0, "delta": 1e-6, "noise_limit": 1e-3}, spends=0.1),
    )
    tables = (
        Tables(1, [*itertools.product((-9, -3, -0.7, 1, 5, 9), (NAN, 0, 0.4, 1), (0, 1, 2), (0, 1))]),
        Tables(2, [*itertools.product((-3, 1, 5), (NAN, 1), (0, 2), (0, 1))]),
        Tables(6, [(5, 1, 0, 0), (-3, NAN, 2, 1)]),
    )
    black_boxes = (box(CORNER, times=12.0, delta=1e-4),)


class TestBestClassifier(LearnerConformance):
    chosen = BEST_CLASSIFIER
    keys = ("chosen", "model")
    by_place = True
    attributes, target = (X, COLOUR), TWO
    given: ClassVar[dict[str, Any]] = {"candidates": "logistic-regression; naive-bayes: ranges=declared", "tries": 3.0}
    # One try is looked at, the last candidate's: it has half, and what the best of them costs is another test's.
    ways = (Way({"epsilon": 4.0}, 0.3), Way({"epsilon": 4.0, "candidates": "random-forest: depth=1"}, 0.2))
    tables = (
        Tables(1, [*itertools.product((-9, -3, 0.9, 5), (0, 1, 2), (0, 1))]),
        Tables(5, [(5, 1, 0), (-3, 0, 1)]),  # the fifth row is for the score
    )


class TestBestRegression(LearnerConformance):
    chosen = BEST_REGRESSION
    keys = ("chosen", "model")
    by_place = True
    attributes, target = (X, COLOUR), NUMBER
    given: ClassVar[dict[str, Any]] = {
        "candidates": "forest-regression: depth=1; linear-regression: ranges=declared",
        "tries": 3.0,
    }
    ways = (Way({"epsilon": 400.0}, 0.2),)
    tables = TestBestClassifier.tables


class TestLinearRegression(LearnerConformance):
    chosen = LINEAR_REGRESSION
    keys = ("columns",)
    attributes, target = (X, GAP, COLOUR), NUMBER
    ways = (
        Way({"epsilon": 1000.0, "columns": 6}),
        Way({"epsilon": 1000.0, "method": "functional"}),
        Way({"epsilon": 1000.0, "columns": 2}),
        Way({"epsilon": 5.0}),
        Way({"epsilon": 20.0, "delta": 1e-6, "columns": 6}),
        Way({"epsilon": 20.0, "delta": 1e-6, "columns": 2}),
        Way({"epsilon": 20.0, "delta": 1e-6, "method": "functional"}),
        Way({"epsilon": 1000.0, "delta": 1e-6, "columns": 3}),  # so much that products are asked for
    )
    tables = (
        Tables(1, [*itertools.product((-9, -3, 0.7, 5), (NAN, 0, 1), (0, 2), (-4, 0, 4.9, 10))]),
        Tables(2, [*itertools.product((-9, -3, 0.7, 5), (NAN, 0, 1), (0, 2), (-4, 0, 4.9, 10))][::7]),
        Tables(5, [(5, 1, 0, 10), (-3, NAN, 2, 0), (1, 0.5, 1, 5)]),
    )
    # The first row, at the edge, makes x worth choosing; the sums follow from the choice.
    black_boxes = tuple(
        box(
            [(1, -1, 1), *[(0, 0, 0)] * 4],
            target=HEIGHT,
            times=times,
            seen=lambda model: [*model.chosen, *model.answer],
            columns=1,
            **more,
        )
        for more, times in (({}, 6.0), ({"delta": 1e-6}, 12.0))
    )


def each_kind(model: Any) -> list[int]:
    """Return the sums of what a descent was told of means, first and second, and of gradients."""
    kinds = [[sum(v) for label, v in model.answers.items() if kind in label] for kind in ("first", "second", "round")]
    return [sum(kind) for kind in kinds]


class TestLogisticRegression(LearnerConformance):
    chosen = LOGISTIC_REGRESSION
    keys = ("columns",)
    attributes, target = (X, GAP), THREE
    # At 20 a search of one round, at 1,000 of four; sums of one chosen column, of all, and rounds along the gradient.
    ways = (
        Way({"weights_from": "search", "epsilon": 20.0}),
        Way({"weights_from": "search", "epsilon": 1000.0}),
        Way({"weights_from": "sums", "epsilon": 20.0, "columns": 1}),
        Way({"weights_from": "sums", "epsilon": 20.0, "columns": 3}),
        Way({"weights_from": "sums", "epsilon": 50_000.0, "columns": 3}),
        Way({"weights_from": "sums", "epsilon": 50_000.0, "columns": 2}),
        Way({"epsilon": 20.0, "delta": 1e-6}, spends=0.2),
        Way({"epsilon": 1000.0, "delta": 1e-6}),  # moments are asked for, and of two rows products, too
    )
    tables = (
        Tables(1, [*itertools.product((-9, -3, 0.9, 1, 5), (NAN, 0, 1), (0, 1))]),
        Tables(2, [*itertools.product((-3, 1.1, 5), (NAN, 1), (0,))]),
        Tables(4, [(5, 1, 0), (-3, NAN, 1)]),
    )
    black_boxes = (
        box([(0.5, 0.5, 0), (0.5, 0.5, 1)], target=TWO, weights_from="search"),
        box(CORNER, target=TWO, weights_from="sums", columns=2),
        box(CORNER, target=TWO, times=24.0, seen=each_kind, delta=1e-6),
    )

    @pytest.fixture(autouse=True)
    def products_of_few_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the few rows of an enumeration be enough for products of columns."""
        monkeypatch.setattr("workbench.learners.logistic_regression.descent._ROWS_EACH", 0)

    def ranged(self) -> list[Way]:
        """Return the way without a δ: with one, means and moments are asked for in place of ranges."""
        return super().ranged()[:1]


class TestLogisticRegressionOfTwo(TestLogisticRegression):
    target = TWO
    black_boxes = ()


# By n·ε: one column in four or eight parts, a cut in each part, cuts in quarters, three trees; numbers need more of it.
FORESTS = (
    *(
        Way({"epsilon": known}, spends=0.01, seeds=(0,), known=True)
        for known in (5.0, 200.0, 500.0, 900.0, 3000.0, 9000.0)
    ),
    Way({"epsilon": 2.0, "delta": 1e-6, "trees": 2, "depth": 2}, spends=0.01, seeds=(0,)),
)


class TestRandomForest(LearnerConformance):
    chosen = RANDOM_FOREST
    black_boxes = (box(CORNER, target=TWO, times=12.0, delta=1e-4, trees=1, depth=1),)
    attributes, target = (X, STEPS, COLOUR), THREE
    ways = FORESTS
    tables = (
        Tables(1, [*itertools.product((-9, -3, 1.1, 5), (NAN, 0, 3), (0, 2), (0, 1, 2))]),
        Tables(2, [(-3, NAN, 1, 0), (5, 3, 2, 1), (1, 1, 0, 2)]),
        Tables(4, [(5, 3, 2, 1), (5, NAN, 2, 0)]),
    )


class TestForestRegression(LearnerConformance):
    chosen = FOREST_REGRESSION
    attributes, target = (X, STEPS, COLOUR), NUMBER
    ways = FORESTS
    tables = (
        Tables(1, [*itertools.product((-9, -3, 1.1, 5), (NAN, 0, 3), (0, 2), (-4, 4.9, 10))]),
        Tables(2, [(-3, NAN, 1, -4), (5, 3, 2, 4.9), (1, 1, 0, 10)]),
        Tables(4, [(5, 3, 2, 4.9), (5, NAN, 2, -4)]),
    )


class TestBoostedTrees(LearnerConformance):
    chosen = BOOSTED_TREES
    attributes, target = (X, STEPS, COLOUR), NUMBER
    # By n·ε: one tree of four parts, one and two of eight; of two and three cuts, corrected; three trees of two levels.
    ways = (
        *(Way({"epsilon": known}, spends=0, seeds=(1,), known=True) for known in (5.0, 100.0, 400.0, 900.0, 3e3)),
        Way({"epsilon": 100.0, "trees": 3, "depth": 2}, spends=0, seeds=(1,), known=True),
    )
    tables = (
        Tables(1, [*itertools.product((-9, 1.1, 5), (NAN, 3), (0, 2), (-4, 4.9, 10))]),
        Tables(2, [(-3, NAN, 1, 0), (5, 3, 2, 10), (1, 1, 0, 4.9), (5, 3, 2, 0)]),
        Tables(4, [(5, 3, 2, 10), (5, NAN, 2, 0)]),
    )


class TestAdditiveRegression(LearnerConformance):
    chosen = ADDITIVE_REGRESSION
    keys = ("columns",)
    attributes, target = (X, STEPS, COLOUR), NUMBER
    # One chosen column of four parts, two of eight; all of them once, and in two cycles.
    ways = (
        *(Way({"epsilon": known}, spends=0, seeds=(1,), known=True) for known in (20.0, 150.0)),
        Way({"epsilon": 300.0, "columns": 2}, spends=0, seeds=(1,), known=True),
        Way({"epsilon": 2_000.0, "parts": 3, "cycles": 2}, spends=0.1, seeds=(1,), known=True),
        Way({"epsilon": 20.0, "delta": 1e-6, "cycles": 2, "parts": 3}, spends=0.1),
        Way({"epsilon": 2.0, "delta": 1e-6, "columns": 2, "cycles": 1, "parts": 3}, spends=0.05, seeds=(1,)),
    )
    tables = (
        Tables(1, [*itertools.product((-9, 5), (NAN, 3), (0, 2), (-4, 4.9, 10))]),
        Tables(2, [(-3, NAN, 1, 0), (5, 3, 2, 10), (1, 1, 0, 4.9), (5, 3, 2, 0)]),
        Tables(3, [(5, 3, 2, 10), (5, NAN, 2, 0)]),
    )
    # The first row, at the edge, moves the counts of both cells, the start and every turn.
    black_boxes = (box([(1, 1, 1), *[(-1, -1, 0)] * 3], target=HEIGHT, parts=2, columns=2),)


class TestAdditiveTrees(TestAdditiveRegression):
    chosen = ADDITIVE_TREES
    target = THREE
    tables = (
        Tables(1, [*itertools.product((-9, 5), (NAN, 3), (0, 2), (0, 1, 2))]),
        Tables(2, [(-3, NAN, 1, 0), (5, 3, 2, 1), (1, 1, 0, 2), (5, 3, 2, 0)]),
        Tables(3, [(5, 3, 2, 1), (5, NAN, 2, 0)]),
    )
    black_boxes = (box([(1, 1, 1), *[(-1, -1, 0)] * 3], target=TWO, parts=2, columns=2),)


class TestAdditiveTreesOfTwo(TestAdditiveTrees):
    target = TWO
    ways = (Way({"epsilon": 150.0}, spends=0, seeds=(1,), known=True),)
    tables = (Tables(2, [(-3, NAN, 1, 0), (5, 3, 2, 1), (1, 1, 0, 1)]),)
    black_boxes = ()


class OfMedians(LearnerConformance):
    """A suite of what answers the rows of a public file."""

    attributes, target = (X, STEPS, COLOUR), NUMBER
    keys = ("asked",)
    by_place = True
    ways = tuple(Way({"epsilon": 2.0, "aggregate": aggregate}) for aggregate in ("exponential", "smooth"))
    tables = BLOCKS

    @pytest.fixture(autouse=True)
    def _public_rows(self, tmp_path: Path) -> None:
        path = tmp_path / "public.csv"
        path.write_text("x,gap,colour\n0,1,red\n5,3,blue\n", encoding="utf-8")
        type(self).given = {"ask": str(path), "trees": 1, "blocks": 3}

    def answers(self) -> int:
        return 2

    def asked(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([[0, 1, 0], [5, 3, 2]], dtype=np.float64)


class TestMedianForest(OfMedians):
    chosen = MEDIAN_FOREST


@pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="XGBoost is not installed")
class TestMedianXgboost(OfMedians):
    chosen = MEDIAN_XGBOOST


class TestKMeans(LearnerConformance):
    chosen = KMEANS
    attributes, target = (X, GAP), TWO
    # At 5 the start is a line, and for one row nothing else is asked (of two groups only where they part); at 5,000 it
    # is a figure, chosen by report-noisy-max.
    ways = (
        *(Way({"epsilon": epsilon, "groups": groups}) for epsilon, groups in ((5.0, 2), (5.0, 3), (5000.0, 2))),
        *(Way({"epsilon": epsilon, "delta": 1e-6, "groups": 2}, spends=0.1) for epsilon in (20.0, 5000.0)),
    )
    tables = (
        Tables(1, [*itertools.product((-9, -3, 0.9, 1, 5), (NAN, 0, 0.4, 1), (0, 1))]),
        Tables(2, [*itertools.product((-3, 1.1, 5), (NAN, 1), (0,))]),
        Tables(4, [(5, 1, 0), (-3, NAN, 1)]),
    )
    black_boxes = tuple(
        box(CORNER, times=times, rounds=1, **more) for more, times in (({}, 6.0), ({"delta": 1e-4}, 12.0))
    )


class TestDbscan(LearnerConformance):
    chosen = DBSCAN
    attributes, target = (X, GAP, COLOUR), TWO
    ways = (Way({"epsilon": 1.0}, spends=0.999),)
    tables = (
        Tables(1, [*itertools.product((-9, 0.7, 5), (NAN, 0, 1), (0, 2), (0,))]),
        Tables(2, [*itertools.product((-9, 0.7, 5), (NAN, 0, 1), (0, 2), (0,))]),
        Tables(5, [(-9, NAN, 0, 0), (5, 1, 2, 0)]),
    )
    # The only row of its cell.
    black_boxes = (box([(0.9, 0.9, 0), (-0.5, -0.5, 0), (-0.5, -0.5, 0)], epsilon=1.0, parts=2),)


class TestPCA(LearnerConformance):
    chosen = PRINCIPAL_COMPONENTS
    keys = ("columns", "components")
    attributes = (X, GAP, COLOUR, Attribute(name="yes", kind="boolean", missing="own-value"))
    target = TWO
    ways = (Way({"epsilon": 0.5}), Way({"epsilon": 500.0}))
    tables = (
        Tables(1, [*itertools.product((-9, 0.9, 5), (NAN, 0, 1), (0, 2), (0, 2), (0,))]),
        Tables(2, [*itertools.product((-9, 0.9, 5), (NAN, 0, 1), (0, 2), (0, 2), (0,))][::5]),
        Tables(5, [(-9, NAN, 0, 0, 0), (5, 1, 2, 2, 0)]),
    )
    black_boxes = (BlackBox(CORNER, {"epsilon": 2.0}, 800, 6.0, attributes=SIDES),)


class TestStandardize(LearnerConformance):
    chosen = STANDARDIZE
    attributes, target = (X, GAP, COLOUR), TWO
    ways = (Way({"epsilon": 2.0}, spends=0.999),)
    tables = (
        Tables(1, [*itertools.product((-9, -3, 0.9, 1, 5), (NAN, 0, 0.4, 1), (2,), (0,))]),
        Tables(2, [*itertools.product((-9, -3, 0.9, 1, 5), (NAN, 0, 0.4, 1), (2,), (0,))][::3]),
        Tables(5, [(-9, NAN, 2, 0), (5, 1, 2, 0)]),
    )
    black_boxes = (BlackBox(CORNER, {"epsilon": 2.0}, 800, 6.0, attributes=SIDES),)


class TestToy(LearnerConformance):
    """A learner of six lines has all of this."""

    chosen = TOY
    attributes, target = (*SIDES, Attribute(name="w", kind="real", lower=0, upper=1)), NUMBER
    ways = (Way({"epsilon": 2.0}, spends=0.999),)
    tables = (
        Tables(1, [(0, 0, w, y) for w in (0, 0.4, 1) for y in (0, 4, 10)]),
        Tables(2, [(0, 0, 0, 0), (0, 0, 1, 10)]),
    )
    black_boxes = (BlackBox([(0, 0, 1, 10), (0, 0, 0, 0)], {"epsilon": 2.0}, 2_000, 6.0),)


def test_every_learner_has_a_suite() -> None:
    waiting, suites = [LearnerConformance], set()
    while waiting:
        waiting += (found := waiting.pop()).__subclasses__()
        suites |= {found.chosen.name} if hasattr(found, "chosen") else set()
    assert suites == {entry.name for entry in (*LEARNERS, TOY)}


# -- toys that spend more than they declare -----------------------------------------------------------------------


class Poisoned(Fake):
    """Fails the test when a bit is drawn."""

    def integers(self, values: Any, sensitivity: int, epsilon: float) -> list[int]:
        raise AssertionError("a bit was drawn")


class Quiet(Fake):
    """Draws nothing."""

    def integers(self, values: Any, sensitivity: int, epsilon: float) -> list[int]:
        return list(values)


def toy(learn: Callable[..., Any], noise: Any) -> Any:
    """Return the fitted toy whose ``_answers`` is replaced."""
    faulty = type("Faulty", (BinMeans,), {"_answers": learn})
    chosen = replace(TOY, estimator=faulty)
    table = np.random.default_rng(0).uniform(0, 1, (9, 3))
    return chosen.private((*SIDES, STEPS), NUMBER, TOY.parameters(epsilon=1.0), noise).fit(table, table[:, 0])


def with_ten_times_the_epsilon(self: Any, ask: Any, setting: Any, X: Any, y: Any) -> Any:
    return ask("sizes", [1], 1, 10.0)


def of_what_was_not_declared(self: Any, ask: Any, setting: Any, X: Any, y: Any) -> Any:
    return ask("more", [1], 1)


@pytest.mark.parametrize(
    ("learn", "error"), [(with_ten_times_the_epsilon, TypeError), (of_what_was_not_declared, UndeclaredError)]
)
def test_a_toy_that_spends_what_was_not_paid_draws_no_bit(learn: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        toy(learn, Poisoned())


def test_a_toy_that_asks_twice_or_too_little_has_no_model() -> None:
    def twice(self: Any, ask: Any, setting: Any, X: Any, y: Any) -> Any:
        return [ask("sizes", [1], 1) for _ in range(2)]

    def less(self: Any, ask: Any, setting: Any, X: Any, y: Any) -> Any:
        return ask("sizes", [1], 1)

    for learn, said in ((twice, "asked before"), (less, "never asked: sums")):
        with pytest.raises(UndeclaredError, match=said):
            toy(learn, Quiet())


def test_a_toy_whose_sums_move_too_far_fails_the_suite() -> None:
    def wide(self: Any, ask: Any, setting: Any, X: Any, y: Any) -> Any:
        return BinMeans._answers(self, lambda label, exact, far: ask(label, [2 * v for v in exact], far), setting, X, y)

    class Faulty(TestToy):
        chosen = replace(TOY, estimator=type("Faulty", (BinMeans,), {"_answers": wide}))

    try:
        with pytest.raises(AssertionError):
            Faulty().test_emptying_a_row_moves_what_is_asked_by_no_more_than_was_said(Faulty.ways[0], Faulty.tables[0])
    finally:
        Faulty.chosen = TOY

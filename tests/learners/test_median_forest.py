"""Sample-and-aggregate: one row is in one block, each prediction is paid for, and a release answers what was asked."""

import importlib.util
import itertools
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from regression_tables import boston, diabetes_progression
from sklearn.base import clone

from workbench.data.schema import Attribute
from workbench.learners import Learner
from workbench.learners.checks import checked_numbers
from workbench.learners.median_forest.blocks import MOST_ASKED, AskedRows, deal, expected_medians
from workbench.learners.median_forest.estimator import (
    MEDIAN_FOREST,
    MEDIAN_XGBOOST,
    AnsweredRows,
    Blocks,
    SampleAndAggregate,
)
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.params.errors import how_to_install
from workbench.privacy.accounting.event import Cost
from workbench.privacy.central.private_median import AGGREGATES
from workbench.work.noise import Charged, Exact, Noise, Study, uncharged

ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="integer", lower=0, upper=3, missing="own-value"),
    Attribute(name="colour", kind="category", domain=("red", "green", "blue")),
)
NUMBERS = Attribute(name="y", kind="real", lower=0, upper=10)
EMPTY_ROW = (0.0, 0.0, 0.0, np.nan)

needs_xgboost = pytest.mark.skipif(
    importlib.util.find_spec("xgboost") is None, reason='XGBoost is not installed (pip install ".[boost]")'
)
BOTH = [MEDIAN_FOREST, pytest.param(MEDIAN_XGBOOST, marks=needs_xgboost)]
SMALL = {MEDIAN_FOREST.name: {"trees": 1}, MEDIAN_XGBOOST.name: {"trees": 1, "depth": 1}}


def made(chosen: Learner, noise: Noise, **parameters: Any) -> SampleAndAggregate:
    given = chosen.parameters.from_plain(parameters)
    estimator = chosen.private(ATTRIBUTES, NUMBERS, given, noise)
    assert isinstance(estimator, SampleAndAggregate)
    return estimator


def study(seed: int = 1) -> Study:
    return Study(np.random.default_rng(seed))


def rows_of(count: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    generator = np.random.default_rng(seed)
    X = np.column_stack(
        [generator.uniform(-3, 5, count), generator.integers(0, 4, count), generator.integers(0, 3, count)]
    )
    return X, np.clip(X[:, 0] + X[:, 2], 0, 10)


@pytest.fixture
def asked(tmp_path):
    path = tmp_path / "ask.csv"
    path.write_text("x,gap,colour,remark\n1.5,2,red,a\n-3,,blue,b\n1.5,2,red,c\n5,0,green,d\n", encoding="utf-8")
    return str(path)


# -- neighbours --------------------------------------------------------------------------------------------------


def test_each_row_is_in_one_block_by_its_place_alone():
    for rows, blocks in itertools.product(range(1, 8), range(1, 8)):
        places = list(deal(rows, blocks))
        assert len(places) == blocks
        assert sorted(np.concatenate(places).tolist()) == list(range(rows))
        for block, of in enumerate(places):
            assert all(place % blocks == block for place in of)


def told_by_blocks(chosen: Learner, rows: Sequence[tuple[float, ...]], blocks: int) -> list[tuple[float, ...]]:
    """What the model of each block says of three rows."""
    model = made(chosen, Exact(), blocks=blocks, **SMALL[chosen.name])
    model.fit([r[:3] for r in rows], np.array([r[3] for r in rows]))
    assert isinstance(model.model_, Blocks)
    assert len(model.model_.blocks) == min(blocks, len(rows))
    about = model.model_.setting.encoding.encode([(-3.0, 0.0, 0.0), (1.0, 3.0, 2.0), (5.0, np.nan, 1.0)], 1 << 15)
    return [tuple(float(v) for v in block.predict(about.astype(np.float32))) for block in model.model_.blocks]


@pytest.mark.parametrize("chosen", BOTH, ids=lambda entry: entry.name)
@pytest.mark.parametrize(("count", "blocks", "kinds"), [(1, 2, 4), (3, 2, 3), (4, 3, 2), (6, 4, 2)])
def test_a_row_emptied_or_replaced_changes_the_block_it_is_in_and_no_other(chosen, count, blocks, kinds):
    records = [EMPTY_ROW, (5.0, 3.0, 2.0, 10.0), (-3.0, np.nan, 1.0, 0.0), (1.0, 1.0, 0.0, 99.0)][:kinds]
    tables = {
        where: told_by_blocks(chosen, [records[i] for i in where], blocks)
        for where in itertools.product(range(len(records)), repeat=count)
    }
    changed = 0
    for where, one in tables.items():
        for place, record in itertools.product(range(count), range(len(records))):
            other = tables[(*where[:place], record, *where[place + 1 :])]
            moved = [block for block, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
            assert set(moved) <= {place % blocks}
            changed += len(moved)
    assert changed > 0


@pytest.mark.parametrize("chosen", BOTH, ids=lambda entry: entry.name)
def test_the_answer_to_a_row_depends_on_no_row_beside_it(chosen):
    X, y = rows_of(60)
    model = made(chosen, Exact(), blocks=5).fit(X, y)
    assert isinstance(model.model_, Blocks)
    rows = model.model_.setting.encoding.encode(X, 1 << 15).astype(np.float32)
    for block in model.model_.blocks:
        together = np.asarray(block.predict(rows))
        alone = np.concatenate([np.asarray(block.predict(rows[i : i + 1])) for i in range(0, 60, 7)])
        np.testing.assert_array_equal(together[::7], alone)  # to the last bit
    again = made(chosen, Exact(), blocks=5).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize("blocks", [1, 7, 40, 1000])
def test_there_are_never_more_blocks_than_rows(blocks):
    X, y = rows_of(12)
    assert made(MEDIAN_FOREST, study(), epsilon=1, blocks=blocks).fit(X, y).model_.setting.blocks == min(blocks, 12)


def test_by_default_there_are_fewer_blocks_with_more_epsilon_and_as_many_rows_as_a_block_needs():
    def blocks(epsilon: float, rows: int) -> int:
        return made(MEDIAN_FOREST, study(), epsilon=epsilon)._setting(rows).blocks

    assert [blocks(e, 100_000) for e in (0.01, 0.1, 0.3, 1, 3, 10, 100)] == [800, 800, 270, 83, 30, 11, 5]
    assert [blocks(1, rows) for rows in (1, 3, 8, 60, 400)] == [1, 1, 2, 15, 31]


# -- what is paid ------------------------------------------------------------------------------------------------


class Refused:
    """A charge that the cap does not allow."""

    def __init__(self) -> None:
        self.asked: list[Cost] = []

    def __call__(self, cost: Cost) -> None:
        self.asked.append(cost)
        raise BudgetRefusedError("over the cap")


def test_every_asked_row_is_charged_before_a_row_is_read(asked):
    charge = Refused()
    model = made(MEDIAN_FOREST, Charged(charge), epsilon=0.1, ask=asked)
    with pytest.raises(BudgetRefusedError):
        model.fit([(np.inf, 9.0, 7.0)] * 4, np.full(4, np.inf))  # nothing of this can be read
    (cost,) = charge.asked
    assert (cost.epsilon, cost.delta) == (Decimal("0.3"), 0)
    assert [e.epsilon for e in model.events(4)] == [Decimal("0.1")] * 3, "a row that is asked twice is answered once"


def test_what_may_be_released_names_its_rows():
    model = made(MEDIAN_FOREST, Charged(lambda cost: None), epsilon=1)
    with pytest.raises(ParameterError, match="known at release; name a file of public rows"):
        model.fit(*rows_of(8))
    with pytest.raises(ParameterError, match="epsilon is not given"):
        made(MEDIAN_FOREST, study()).fit(*rows_of(8))


def test_a_study_keeps_its_blocks_in_memory_and_draws_each_prediction():
    X, y = rows_of(80)
    model = made(MEDIAN_FOREST, study(), epsilon=0.5, blocks=5).fit(X, y)
    assert [e.epsilon for e in model.events()] == [Decimal("0.5")]
    assert len(set(model.predict(np.repeat(X[:1], 40, axis=0)))) > 5, "one row asked often has fresh noise each time"
    with pytest.raises(ParameterError, match="in memory only"):
        model.to_plain()
    again = clone(model, safe=False).set_params(noise=study()).fit(X, y)
    fresh = made(MEDIAN_FOREST, study(), epsilon=0.5, blocks=5).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), fresh.predict(X))


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("chosen", BOTH, ids=lambda entry: entry.name)
def test_a_release_answers_its_rows_and_no_others(chosen, aggregate, asked):
    X, y = rows_of(60)
    paid: list[Cost] = []
    model = made(chosen, Charged(paid.append), epsilon=50, ask=asked, aggregate=aggregate, blocks=6)
    model.fit(X, y)
    assert [cost.epsilon for cost in paid] == [150]
    assert isinstance(model.model_, AnsweredRows)
    assert model.releasable
    rows = np.array([(1.5, 2, 0), (-3, np.nan, 2), (5, 0, 1)])
    told = json.loads(json.dumps(model.to_plain(), allow_nan=False))
    assert asked not in json.dumps(told), "where the file lies is nobody's business"
    assert "ask" not in model.published_parameters()
    opened = chosen.estimator.from_plain(told)
    np.testing.assert_array_equal(opened.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(opened.predict(rows[[2, 0, 0]]), model.predict(rows)[[2, 0, 0]])
    assert opened.to_plain() == told
    assert ((opened.predict(rows) >= 0) & (opened.predict(rows) <= 10)).all()
    for other in ((1.5, 2, 1), (1.5000001, 2, 0), (-3, 0, 2), (1.5, np.nan, 0)):
        with pytest.raises(InputError, match=r"is not among the 3 rows.*row 2"):
            opened.predict([rows[0], other])
    with pytest.raises(InputError, match="row 1, column x"):
        opened.predict([(np.inf, 2, 0)])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda told: told["answers"].update(predictions=[64, 0, 0]),
        lambda told: told["answers"].update(predictions=[-1, 0, 0]),
        lambda told: told["answers"].update(predictions=[0, 0]),
        lambda told: told["answers"].update(predictions=[0.5, 0, 0]),
        lambda told: told["answers"].update(more=[1]),
        lambda told: told.update(asked=[]),
        lambda told: told.update(asked="rows"),
        lambda told: told["asked"].append(told["asked"][0]),
        lambda told: told["asked"][0].pop(),
        lambda told: told["asked"].__setitem__(0, [1.5, 2.0, 7.0]),
        lambda told: told["asked"].__setitem__(0, ["1.5", 2.0, 0.0]),
        lambda told: told["asked"].__setitem__(0, [True, 2.0, 0.0]),
        lambda told: told["asked"].__setitem__(0, [None, 2.0, 0.0]),
        lambda told: told["asked"].__setitem__(0, [10**400, 2.0, 0.0]),
        lambda told: told["asked"].__setitem__(0, [float("inf"), 2.0, 0.0]),
        lambda told: told.update(learner="median-xgboost"),
        lambda told: told["parameters"].update(blocks=0),
        lambda told: told["target"].update(kind="category"),
    ],
)
def test_a_file_that_is_no_such_model_is_refused(spoil, asked):
    model = made(MEDIAN_FOREST, study(), epsilon=1, ask=asked, blocks=2).fit(*rows_of(8))
    told = model.to_plain()
    MEDIAN_FOREST.estimator.from_plain(told)
    spoil(told)
    with pytest.raises(ParameterError):
        MEDIAN_FOREST.estimator.from_plain(told)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,gap\n1,2\n", "colour"),
        ("x,gap,colour\n", "no rows"),
        ("x,gap,colour\n1,2,red\n1,2,pink\n", "row 2"),
        ("x,gap,colour\n,2,red\n", "column x"),
        ("x,gap,colour\nwide,2,red\n", "column x"),
    ],
)
def test_a_file_of_asked_rows_that_cannot_be_used_is_told_of_with_its_place(tmp_path, text, said):
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"rows\.csv") as error:
        made(MEDIAN_FOREST, uncharged(), epsilon=1, ask=str(path)).cost(10)
    assert said in str(error.value)


def test_more_rows_than_can_be_asked_are_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,gap,colour\n" + "1,2,red\n" * (MOST_ASKED + 1), encoding="utf-8")
    with pytest.raises(InputError, match=f"at most {MOST_ASKED:,}"):
        AskedRows.read(str(path), ATTRIBUTES)


# -- what an answer says -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_with_much_epsilon_an_answer_is_its_cell_and_with_little_the_middle(aggregate):
    cells = np.arange(32) / 31
    np.testing.assert_allclose(expected_medians(aggregate, 30, 32, 50.0)[1:-1], cells[1:-1], atol=0.04)
    nothing = expected_medians(aggregate, 5, 32, 1e-4)
    np.testing.assert_allclose(nothing, 0.5, atol=0.01)
    between = expected_medians(aggregate, 21, 32, 0.5)
    assert (np.diff(between[10:22]) > 0).all()
    assert (np.abs(between - 0.5) < np.abs(cells - 0.5)).all(), "drawn towards the middle, never beyond it"
    np.testing.assert_allclose(between + between[::-1], 1, atol=1e-6)


def test_without_noise_the_answer_is_the_median_on_the_grid():
    X, y = rows_of(50)
    model = made(MEDIAN_FOREST, Exact(), blocks=5, cells=101).fit(X, y)
    assert isinstance(model.model_, Blocks)
    rows = model.model_.setting.encoding.encode(X, 1 << 15).astype(np.float32)
    wanted = np.median([np.asarray(block.predict(rows)) for block in model.model_.blocks], axis=0) * 10
    np.testing.assert_allclose(model.predict(X), wanted, atol=0.05 + 1e-9)
    assert model.cost(50) is None
    assert model.events() == ()


@pytest.mark.parametrize("chosen", BOTH, ids=lambda entry: entry.name)
def test_it_predicts_public_tables_and_a_curve_needs_no_file(chosen, shared_data):
    for data, plain, private in ((boston(shared_data), 0.75, 0.4), (diabetes_progression(), 0.3, 0.15)):
        train, test = data.split(0)

        def score(model: Any, train=train, test=test, data=data) -> float:
            said = model.fit(data.X[train], data.y[train]).predict(data.X[test])
            return float(1 - ((data.y[test] - said) ** 2).mean() / data.y[test].var())

        assert chosen.ordinary is not None
        assert score(chosen.ordinary(data.attributes, data.target)) > plain
        parameters = chosen.parameters.from_plain({"epsilon": 3})
        assert score(chosen.private(data.attributes, data.target, parameters, study(4))) > private


def test_the_widest_bounds_stay_finite():
    wide = Attribute(name="y", kind="real", lower=-1e150, upper=1e150)
    X, _ = rows_of(30)
    parameters = MEDIAN_FOREST.parameters.from_plain({"epsilon": 5, "blocks": 3})
    model = MEDIAN_FOREST.private(ATTRIBUTES, wide, parameters, study()).fit(X, np.linspace(-1e150, 1e150, 30))
    assert np.isfinite(model.predict(X)).all()
    assert checked_numbers(model.predict(X), wide).shape == (30,)


# -- the optional library ----------------------------------------------------------------------------------------


def test_without_xgboost_there_is_one_sentence_with_the_command(monkeypatch, asked):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "xgboost" else found(name, *more)
    )
    for act in (
        lambda: made(MEDIAN_XGBOOST, uncharged(), epsilon=1, ask=asked).cost(10),
        lambda: made(MEDIAN_XGBOOST, study(), epsilon=1).fit(*rows_of(8)),
        lambda: MEDIAN_XGBOOST.ordinary and MEDIAN_XGBOOST.ordinary(ATTRIBUTES, NUMBERS),
    ):
        with pytest.raises(ParameterError, match="XGBoost, which is not installed") as error:
            act()
        assert how_to_install("xgboost") in str(error.value)
    told = made(MEDIAN_FOREST, study(), epsilon=1, ask=asked, blocks=2).fit(*rows_of(8)).to_plain()
    opened = MEDIAN_XGBOOST.estimator.from_plain({**told, "learner": "median-xgboost"})
    assert len(opened.predict([(1.5, 2, 0)])) == 1, "a released model needs no library"

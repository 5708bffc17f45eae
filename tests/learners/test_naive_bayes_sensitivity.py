"""Neighbours in integers: the L1 distance of what is asked never passes the declared sensitivity."""

import dataclasses
import itertools
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fake_noise import Scripted
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.columns.grid import matrix
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.learners import encoding
from workbench.learners.naive_bayes.estimator import NaiveBayes, NaiveBayesModel, Setting
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.learners.selection import SENSITIVITY, UNIT
from workbench.learners.tasks import EMPTY, classes_of
from workbench.params import ParameterError
from workbench.privacy.central.sums import grid_size, moment_sums, on_grid, square_complement
from workbench.release.model.release_learner import columns_of
from workbench.sanitize.plan import Plan
from workbench.work.noise import Exact, Study

TARGET = Attribute(name="y", kind="category", domain=("n", "p"))
ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
    Attribute(name="colour", kind="category", domain=("red", "blue"), missing="own-value"),
)
Record = tuple[float, float, float, int]
EMPTY_ROW: Record = (0.0, 0.0, 0.0, EMPTY)


def asked(rows: Sequence[Record], epsilon: float) -> list[tuple[tuple[int, ...], int, float]]:
    noise = Scripted()
    X, y = [row[:3] for row in rows], [row[3] for row in rows]
    # All attributes; which ones are used, where that is chosen, is another test's.
    NaiveBayes(ATTRIBUTES, TARGET, NaiveBayesParameters(epsilon=epsilon, noise_limit=1e6), noise).fit(X, y)
    return noise.asked


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16, 255, 1024])
def test_every_cell_contributes_at_most_the_grid_size(size):
    cells = np.arange(-size, size + 1)
    norms = np.abs(cells) + np.abs(square_complement(cells, size))
    assert norms.max() == size
    assert square_complement(cells, size).min() == 0
    np.testing.assert_allclose(square_complement(cells, size), (size**2 - cells**2) / (2 * size), atol=0.5)


@given(st.integers(-(2**30), 2**30))
def test_the_finest_grid_contributes_at_most_its_size(cell):
    size = 2**30
    square = int(square_complement(np.array([cell]), size)[0])
    assert square == (size**2 - cell**2 + size) // (2 * size)
    assert abs(cell) + abs(square) <= size


@given(
    st.lists(st.tuples(st.floats(allow_nan=False), st.integers(0, 2)), min_size=1, max_size=6),
    st.integers(0, 5),
    st.booleans(),
    st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)),
)
def test_removing_a_row_moves_the_sums_by_at_most_the_grid_size(rows, removed, per_class, pair):
    lower, upper = min(pair), max(pair)
    if not upper / 2 - lower / 2 > 1e-300:
        lower, upper = 0.0, 1.0
    size = 2**20
    values, classes = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    keep = np.arange(len(rows)) != removed % len(rows)
    cells = on_grid(values, lower, upper, size)
    here = np.ones((len(rows), 1), dtype=bool)
    whole = moment_sums(cells[:, None], here, classes, 3, size)
    for part in (
        moment_sums(cells[keep, None], here[keep], classes[keep], 3, size),
        moment_sums(cells[:, None], here & keep[:, None], classes, 3, size),
    ):
        moved = whole - part
        assert np.abs(moved[0]).sum() + np.abs(moved[1] if per_class else moved[1].sum()).sum() <= size


@given(st.integers(1, 2**40), st.floats(1e-9, 1e6))
def test_sums_and_their_noise_fit_64_bits(rows, epsilon):
    size = grid_size(rows, epsilon)
    assert rows * size <= 2**60
    assert size == 2 or size / epsilon <= 2**55


# -- Which attributes naive Bayes uses where ε does not allow all: chosen, paid for, and told; no order of columns


CHOICE_TARGET = Attribute(name="y", kind="category", domain=("a", "b", "c"))
KINDS = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
    Attribute(name="colour", kind="category", domain=("red", "blue"), missing="own-value"),
)


def losses(rows: Sequence[Record]) -> list[int]:
    setting = Setting(KINDS, CHOICE_TARGET, NaiveBayesParameters(epsilon=1.0), len(rows), True)
    filled = np.array([row for row in rows if row != EMPTY_ROW], dtype=np.float64).reshape(-1, 4)
    return setting.losses(filled[:, :3], filled[:, 3].astype(np.int64))


RECORDS: list[Record] = [*itertools.product((-9.0, 5.0), (np.nan, 0.4), (0, 2), (0, 1, 2))]


@pytest.mark.parametrize(
    ("rows", "records"), [(1, RECORDS), (2, RECORDS), (3, RECORDS[::5]), (6, [RECORDS[0], RECORDS[7], RECORDS[-1]])]
)
def test_a_row_moves_every_loss_in_one_direction_and_by_what_is_paid_for(rows, records):
    found = {t: losses(t) for t in itertools.product([*records, EMPTY_ROW], repeat=rows)}
    moved = set()
    for table, whole in found.items():
        for i in (i for i, row in enumerate(table) if row != EMPTY_ROW):
            without = found[(*table[:i], EMPTY_ROW, *table[i + 1 :])]
            moved |= {a - b for a, b in zip(whole, without, strict=True)}
    assert min(moved) >= 0
    assert max(moved) <= UNIT + 1 <= SENSITIVITY
    if rows > 1:
        assert max(moved) >= UNIT // 2, "two rows of two classes in one cell"


@given(st.lists(st.sampled_from([*RECORDS, EMPTY_ROW]), min_size=1, max_size=40), st.integers(0, 39))
def test_the_same_holds_in_larger_tables(rows, at):
    at %= len(rows)
    without = losses([*rows[:at], EMPTY_ROW, *rows[at + 1 :]])
    for whole, rest in zip(losses(rows), without, strict=True):
        assert 0 <= whole - rest <= SENSITIVITY


def test_losses_of_a_billion_rows_are_whole_numbers():
    from workbench.learners.naive_bayes.estimator import _loss

    assert _loss([10**9, 10**9]) == UNIT * 10**9 // 2
    assert _loss([10**9, 0]) == 0
    assert _loss([0, 0]) == 0


def many(columns: int, telling: int, rows: int = 600) -> tuple[np.ndarray, np.ndarray, tuple[Attribute, ...]]:
    """A table in which one column tells the class and the others are noise."""
    generator = np.random.default_rng(3)
    y = generator.integers(0, 3, rows)
    X = generator.uniform(-1, 1, (rows, columns))
    X[:, telling] = np.clip((y - 1) * 0.7 + generator.normal(0, 0.15, rows), -1, 1)
    return X, y, tuple(Attribute(name=f"c{j}", kind="real", lower=-1, upper=1) for j in range(columns))


@pytest.mark.parametrize("telling", [0, 7, 19])
def test_the_telling_attribute_is_found_wherever_it_stands(telling):
    X, y, attributes = many(20, telling)
    accuracies = []
    for seed in range(5):
        noise = Study(np.random.default_rng(seed))
        model = NaiveBayes(attributes, CHOICE_TARGET, NaiveBayesParameters(epsilon=1.0), noise).fit(X, y)
        assert model.attributes_used[0] == f"c{telling}"
        assert len(model.attributes_used) < 20
        accuracies.append(model.score(X, y))
    assert np.mean(accuracies) > 0.9


def test_without_noise_in_the_choice_the_order_of_columns_is_no_matter():
    X, y, attributes = many(12, 4)
    said = set()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(12)
        own = [attributes[j] for j in order]
        model = NaiveBayes(own, CHOICE_TARGET, NaiveBayesParameters(epsilon=0.5), Scripted()).fit(X[:, order], y)
        said.add((model.attributes_used, tuple(model.predict(X[:, order]))))
    assert len(said) == 1


@given(
    st.floats(1e-6, 1e4),
    st.integers(1, 10_000),
    st.integers(1, 30),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
    st.data(),
)
def test_the_shares_sum_to_epsilon_whatever_is_chosen(epsilon, rows, columns, count, choice, data):
    kinds = [KINDS[j % 3] for j in range(columns)]
    attributes = tuple(
        Attribute(**{**{n: getattr(a, n) for n in Attribute.declared()}, "name": f"{j}"}) for j, a in enumerate(kinds)
    )
    parameters = NaiveBayesParameters(epsilon=epsilon, count_share=count, choice_share=choice)
    setting = Setting(attributes, CHOICE_TARGET, parameters, rows, True)
    whole = Decimal(epsilon) if Decimal(repr(epsilon)) != Decimal(epsilon) else Decimal(repr(epsilon))
    planned = sum((e.epsilon for e in setting.events()), Decimal(0))
    chosen = data.draw(st.permutations(range(columns)))[: setting.used]
    spent = [e.epsilon for e in setting.choices()] + [
        q.share.amount for q in setting.queries(chosen) if q.share is not None
    ]
    assert sum(spent, Decimal(0)) == planned
    assert planned in (whole, Decimal(repr(epsilon)))
    assert min(spent) > 0


def test_the_file_names_what_was_chosen_and_is_checked():
    X, y, attributes = many(20, 7)
    noise = Study(np.random.default_rng(0))
    model = NaiveBayes(attributes, CHOICE_TARGET, NaiveBayesParameters(epsilon=1.0), noise).fit(X, y)
    plain = json.loads(json.dumps(model.to_plain()))
    assert plain["used"] == list(model.attributes_used)
    np.testing.assert_array_equal(NaiveBayesModel.from_plain(plain).predict(X), model.predict(X))
    for used in (["c7"] * len(plain["used"]), ["nobody", *plain["used"][1:]], [], [*plain["used"], "c0"], [7]):
        with pytest.raises(ParameterError):
            NaiveBayesModel.from_plain({**plain, "used": used})


def test_without_noise_all_attributes_are_used():
    X, y, attributes = many(20, 7)
    model = NaiveBayes(attributes, CHOICE_TARGET, NaiveBayesParameters(), Exact()).fit(X, y)
    assert model.attributes_used == tuple(a.name for a in attributes)


def test_card_and_command_say_what_is_used(tmp_path, capsys):
    from workbench.cli import main
    from workbench.release.certificate import read_card
    from workbench.release.verify import verify_release

    plan, model = str(tmp_path / "plan.toml"), str(tmp_path / "model")
    assert main(["plan", "sample:iris", "--epsilon", "1", "--target", "species", "-o", plan]) == 0
    words = ["--target", "species", "--model", "naive-bayes", "--bounds", plan, "-o", model]
    capsys.readouterr()
    assert main(["fit", "sample:iris", *words, "--epsilon", "0.1", "--ledger", str(tmp_path / "l.sqlite")]) == 0
    assert verify_release(Path(model)) == []  # the queries of choice and columns cost what is claimed
    (used,) = read_card(Path(model))["training"]["attributes_used"]
    assert f"At this epsilon it looks at 1 of 4 columns: {used}." in capsys.readouterr().out


# -- Tables whose invalid values are replaced: emptying a row moves what naive Bayes asks by what was charged, no more


PLAN = Plan.from_plain(
    {
        "epsilon": 1.0,
        "invalid": "replace",
        "column": [
            {"name": "x", "kind": "real", "lower": -3, "upper": 5},
            {"name": "day", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31"},
            {"name": "colour", "kind": "category", "domain": ["red", "blue"]},
            {"name": "y", "kind": "category", "domain": ["n", "p"]},
        ],
    }
)
FEATURES, PLAN_TARGET = columns_of(PLAN, "y")
Cells = tuple[str | None, ...]
EMPTY_CELLS: Cells = (None,) * 4
X, DAY, COLOUR, Y = ("5", "-99", "x", None), ("2020-12-31", "soon"), ("red", "pink"), ("n", "p", "q", None)


def asked_by_plan(rows: tuple[Cells, ...], epsilon: float) -> list[tuple[tuple[int, ...], int, float]]:
    """What a fit asks of a table of these cells, read as a release reads it."""
    names = [c.name for c in PLAN.columns]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    table = PLAN.rows_of(Table(frame, "made"))
    noise = Scripted()
    facts = [c.facts() for c in FEATURES]
    parameters = NaiveBayesParameters(epsilon=epsilon, noise_limit=1e6, ranges="declared")
    fitted = NaiveBayes(facts, PLAN_TARGET.facts(), parameters, noise)
    fitted.fit(matrix(table, FEATURES), classes_of(table, PLAN_TARGET))
    return noise.asked


@pytest.mark.parametrize("epsilon", [3.0, 1e5])
@pytest.mark.parametrize(
    ("rows", "records"),
    [
        (1, [*itertools.product(X, DAY, COLOUR, Y)]),
        (2, [*itertools.product(X[:3], DAY[:1], COLOUR[1:], Y[:3])]),
        (4, [("5", "2020-12-31", "red", "n"), ("x", "soon", "pink", "p"), ("-99", None, "blue", "q")]),
    ],
)
def test_emptying_any_row_stays_within_the_charge(rows, records, epsilon):
    tables = {t: asked_by_plan(t, epsilon) for t in itertools.product([*records, EMPTY_CELLS], repeat=rows)}
    spent = []
    for cells, one in tables.items():
        for i in range(rows):
            other = tables[(*cells[:i], EMPTY_CELLS, *cells[i + 1 :])]
            total = 0.0
            for (values, sensitivity, share), (without, *rest) in zip(one, other, strict=True):
                assert rest == [sensitivity, share], "a query's noise depends on the rows"
                distance = sum(abs(a - b) for a, b in zip(values, without, strict=True))
                assert distance <= sensitivity
                total += share * distance / sensitivity
            spent.append(total)
    assert max(spent) <= epsilon
    # The claim is met, not only kept: some row spends nearly all of ε.
    assert max(spent) == pytest.approx(epsilon, rel=0.25)


def test_a_row_without_a_valid_class_contributes_nothing():
    whole = ("5", "2020-12-31", "red", "n")
    for klass in ("q", None, "", "N"):
        for values in itertools.product(X, DAY, COLOUR):
            assert asked_by_plan((whole, (*values, klass)), 2.0) == asked_by_plan((whole, EMPTY_CELLS), 2.0)


def test_a_missing_feature_contributes_its_presence_and_no_sum(monkeypatch):
    sums = {(values, size) for values, size, _ in asked_by_plan((("x", "soon", "pink", "p"),), 2.0)}
    moments = [values for values, size in sums if size > 1]
    assert moments
    assert all(set(values) == {0} for values in moments)
    rows = (*itertools.product(X[::-1], DAY[::-1], COLOUR, Y[:2]),)  # missing ones first
    whole = asked_by_plan(rows, 2.0)
    monkeypatch.setattr(encoding, "_AT_ONCE", 3)  # rows of one block at a time
    assert asked_by_plan(rows, 2.0) == whole


def test_the_target_is_no_class_where_it_is_missing():
    assert PLAN_TARGET.missing == "refuse"
    assert all(c.missing == "own-value" for c in FEATURES)
    table = PLAN.rows_of(Table(pl.DataFrame({"y": ["p", None, "q", "n"]}), "made"))
    np.testing.assert_array_equal(classes_of(table, PLAN_TARGET), [1, EMPTY, EMPTY, 0])
    own = dataclasses.replace(PLAN, invalid="refuse")
    assert own.column("y").missing == "own-value"
    ways = 'write missing = "refuse" for the target, or count such values as missing: invalid = "replace"'
    with pytest.raises(ValueError, match=ways):
        columns_of(own, "y")

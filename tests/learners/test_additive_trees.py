"""Additive models: accurate with noise, readable, and paid for by ε or by ρ."""

import json
import math
from pathlib import Path
from typing import Any

import classification_tables
import numpy as np
import pytest
import regression_tables as tables
from sklearn.datasets import make_friedman1

from workbench.cli.main import main
from workbench.data.schema import Attribute
from workbench.learners import learner
from workbench.learners.additive_trees.estimator import ADDITIVE_REGRESSION, ADDITIVE_TREES
from workbench.learners.additive_trees.smooth import steps, steps_of_nodes
from workbench.learners.boosted_trees import BOOSTED_TREES, BoostedModel, BoostedParameters, BoostedTrees
from workbench.learners.forest.estimator import FOREST_REGRESSION
from workbench.params import ParameterError
from workbench.release.card import contradictions
from workbench.release.certificate import read_card
from workbench.release.described_release import release_at
from workbench.work.noise import Exact, Study

SIDES = (
    Attribute(name="a", kind="real", lower=-1, upper=1),
    Attribute(name="b", kind="category", domain=("low", "middle", "high"), missing="own-value"),
)


def fitted(data: Any, model: str, epsilon: float | None, repeat: int = 0, **more: float) -> Any:
    chosen = learner(model)
    noise = Exact() if epsilon is None else Study(np.random.default_rng([20261124, repeat]))
    parameters = chosen.parameters.from_plain({"epsilon": epsilon, **more})
    train, _ = data.split(repeat)
    return chosen.private(data.attributes, data.target, parameters, noise).fit(data.X[train], data.y[train])


def r2(data: Any, model: str, epsilon: float, repeats: int, **more: float) -> float:
    found = []
    for repeat in range(repeats):
        _, test = data.split(repeat)
        said = fitted(data, model, epsilon, repeat, **more).predict(data.X[test])
        found.append(1 - ((data.y[test] - said) ** 2).mean() / data.y[test].var())
    return float(np.mean(found))


# Each floor is about two deviations below what is found.
@pytest.mark.parametrize(("epsilon", "least"), [(0.3, 0.05), (1.0, 0.42), (3.0, 0.52), (10.0, 0.65)])
def test_boston(shared_data, epsilon, least):
    assert r2(tables.boston(shared_data), ADDITIVE_REGRESSION.name, epsilon, 10) > least


@pytest.mark.parametrize(("epsilon", "least"), [(1.0, 0.68), (3.0, 0.71), (10.0, 0.72)])
def test_diabetes(shared_data, epsilon, least):
    data = classification_tables.diabetes(shared_data)
    found = [
        fitted(data, ADDITIVE_TREES.name, epsilon, k).score(data.X[data.split(k)[1]], data.y[data.split(k)[1]])
        for k in range(6)
    ]
    assert np.mean(found) > least


def test_a_delta_is_worth_a_larger_epsilon():
    X, y = make_friedman1(4_000, 10, noise=1.0, random_state=3)
    data = tables.table(X, y, {f"x{i}": (0, 1) for i in range(10)}, (0, 30))
    pure, with_delta = (r2(data, ADDITIVE_REGRESSION.name, 1.0, 3, **more) for more in ({}, {"delta": 1e-6}))
    assert with_delta > 0.79  # boosted trees had .797 before they chose the range of the target, .83 since
    assert with_delta > pure > 0.6


def test_three_classes():
    data = classification_tables.iris()
    _, test = data.split(0)
    assert fitted(data, ADDITIVE_TREES.name, 10.0).score(data.X[test], data.y[test]) > 0.8


def test_the_function_of_each_column_is_what_the_rows_were_made_of():
    generator = np.random.default_rng(2)
    X = np.column_stack([generator.uniform(-1, 1, 4_000), generator.integers(0, 4, 4_000)])
    y = 40 * (X[:, 0] > 0) + np.array([0.0, 10.0, 30.0, 20.0])[X[:, 1].astype(int)] + 10
    target = Attribute(name="y", kind="real", lower=0, upper=100)
    parameters = ADDITIVE_REGRESSION.parameters.from_plain({"epsilon": 20.0})
    noise = Study(np.random.default_rng(1))
    model = ADDITIVE_REGRESSION.private(SIDES, target, parameters, noise).fit(X, y).model_
    assert np.abs(model.predict(X) - y).mean() < 4
    line, values = model.effects()
    assert (line.column, values.column) == ("a", "b")
    assert values.parts == ("low", "middle", "high", "missing")
    assert line.outputs == ("y, from 0 to 100",)
    assert 0.3 < line.shares[-1, 0] - line.shares[0, 0] < 0.5
    assert np.allclose(values.shares[:, 0] - values.shares[0, 0], [0, 0.1, 0.3, 0.2], atol=0.05)


def test_sums_that_are_noise_alone_make_no_step_and_clear_ones_do():
    counts = np.full(8, 100.0)
    noise = np.random.default_rng(0).normal(0, 40, 8)
    assert np.abs(steps(noise, counts, np.full(8, 1_600.0), 0.0, 8)).max() < 0.2
    clear = np.where(np.arange(8) < 4, -50.0, 50.0)
    found = steps(clear, counts, np.full(8, 16.0), 0.0, 8)
    assert found[1] < -0.4
    assert found[6] > 0.4


@pytest.mark.parametrize("given", [{"parts": 0}, {"cycles": 0}, {"delta": 0.0}, {"delta": 1.0}, {"columns": 0}])
def test_bad_parameters_are_refused(given):
    with pytest.raises(ParameterError):
        ADDITIVE_TREES.parameters.from_plain({"epsilon": 1.0, **given})


def test_a_release_with_a_delta_verifies_and_its_paper_shows_the_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "sample:iris", "--epsilon", "3", "--target", "species", "-o", "p.toml"]) == 0
    fit = ["fit", "sample:iris", "--target", "species", "--model", "additive-trees", "--epsilon", "3"]
    assert (
        main([*fit, "--delta", "1e-5", "--cycles", "12", "--bounds", "p.toml", "-o", "model", "--ledger", "l.sqlite"])
        == 0
    )
    assert main(["verify", "model"]) == 0
    card = read_card(Path("model"))
    assert (card["guarantee"]["epsilon"], float(card["guarantee"]["delta"])) == ("3", 1e-5)
    assert all(set(query) == {"label", "rho"} for query in card["training"]["queries"])
    assert contradictions(card, Path("model")) == []
    shown = release_at(Path("model")).to_document()
    titles = [picture.figure.title for picture in shown.pictures]
    assert titles == [f"By {name}" for name in card["training"]["attributes_used"]]
    for forged in ({"delta": None}, {"delta": 1e-6}):
        lied = json.loads(json.dumps(card))
        lied["parameters"] |= forged
        assert contradictions(lied, Path("model")) != []
    cheaper = json.loads(json.dumps(card))
    cheaper["guarantee"]["delta"] = "0.000001"
    assert "the queries on the card cost delta = 0.00001, and the card has another" in contradictions(
        cheaper, Path("model")
    )


# -- Boosted trees: accurate with noise, and nothing published or moved but what is paid for --------------------------


Asked = list[tuple[tuple[int, ...], int, float]]


def boosted(data: Any, epsilon: float | None, repeat: int = 0, **more: float) -> BoostedTrees:
    noise = Exact() if epsilon is None else Study(np.random.default_rng([20240601, repeat]))
    parameters = BoostedParameters.from_plain({"epsilon": epsilon, **more})
    train, _ = data.split(repeat)
    return BoostedTrees(data.attributes, data.target, parameters, noise).fit(data.X[train], data.y[train])


def boosted_r2(data: Any, model: Any, repeat: int) -> float:
    _, test = data.split(repeat)
    return float(1 - ((data.y[test] - model.predict(data.X[test])) ** 2).mean() / data.y[test].var())


def mean(data: Any, epsilon: float | None, repeats: int = 20) -> float:
    return float(np.mean([boosted_r2(data, boosted(data, epsilon, repeat), repeat) for repeat in range(repeats)]))


# Each floor is about two deviations below what is found; the forest has −.02, .39, .60, .68, .74.
@pytest.mark.parametrize(("epsilon", "least"), [(0.1, -0.1), (0.3, 0.3), (1.0, 0.58), (3.0, 0.6), (10.0, 0.73)])
def test_boston_by_boosted_trees(shared_data, epsilon, least):
    assert mean(tables.boston(shared_data), epsilon) > least


# The forest has −.05, .15, .26, .26, .29.
@pytest.mark.parametrize(("epsilon", "least"), [(0.1, -0.17), (0.3, 0.08), (1.0, 0.19), (3.0, 0.21), (10.0, 0.31)])
def test_diabetes_progression(epsilon, least):
    assert mean(tables.diabetes_progression(), epsilon) > least


def test_it_is_ahead_of_the_forest_on_a_table_that_no_default_was_chosen_on():
    X, y = make_friedman1(500, 10, noise=1.0, random_state=3)
    data = tables.table(X, y, {f"x{i}": (0, 1) for i in range(10)}, (0, 30))
    parameters = FOREST_REGRESSION.parameters.from_plain({"epsilon": 10.0})
    others = []
    for repeat in range(6):
        train, _ = data.split(repeat)
        noise = Study(np.random.default_rng([1, repeat]))
        forest = FOREST_REGRESSION.private(data.attributes, data.target, parameters, noise)
        others.append(boosted_r2(data, forest.fit(data.X[train], data.y[train]), repeat))
    assert mean(data, 10.0, 6) > np.mean(others) + 0.05


def test_without_noise_trees_find_steps_one_after_the_other():
    generator = np.random.default_rng(2)
    X = generator.uniform(-1, 1, (800, 2))
    y = 40 * (X[:, 0] > 0) + 15 * (X[:, 1] > 0.5) + 20
    attributes = tuple(Attribute(name=name, kind="real", lower=-1, upper=1) for name in ("a", "b"))
    target = Attribute(name="y", kind="real", lower=0, upper=100)
    model = BoostedTrees(attributes, target, BoostedParameters(trees=12), Exact()).fit(X, y).model_
    assert np.abs(model.predict(X) - y).mean() < 1.5
    # The larger step first, then the smaller; a model of one tree knows the larger one alone.
    assert [model.answers[f"tree {tree}: split 1"] for tree in (1, 2)] == [[0], [1]]
    alone = BoostedTrees(attributes, target, BoostedParameters(trees=1), Exact()).fit(X, y)
    assert np.abs(alone.predict(X) - y).mean() > 4


def three_lines(rows: int) -> tuple[Any, Any, Any, Any]:
    """Cost by age on three lines, two of them of those who smoke; bounds are not those of the rows."""
    generator = np.random.default_rng(11)
    facts = {"age": (18, 80), "weight": (10, 60), "other": (0, 1), "more": (0, 1)}
    attributes = (
        Attribute(name="smokes", kind="category", domain=("no", "yes")),
        *(Attribute(name=name, kind="real", lower=low, upper=high) for name, (low, high) in facts.items()),
    )
    smokes = generator.random(rows) < 0.2
    age, weight = generator.uniform(18, 64, rows), generator.normal(31, 6, rows).clip(15, 55)
    cost = 0.25 * (age - 18) + np.where(smokes, np.where(weight > 30, 36, 18), 3) + generator.normal(0, 2, rows)
    X = np.column_stack([smokes, age, weight, generator.random((rows, 2))])
    return attributes, Attribute(name="cost", kind="real", lower=0, upper=80), X, cost.clip(0, 80)


def test_a_tree_of_cuts_and_its_corrections_see_lines_that_hang_on_other_columns():
    attributes, target, X, y = three_lines(1_100)
    left = {}
    for made in (BOOSTED_TREES, FOREST_REGRESSION):
        parameters = made.parameters.from_plain({"epsilon": 1.0, "ranges": "declared"})
        fits = [
            made.private(attributes, target, parameters, Study(np.random.default_rng([5, k]))).fit(X, y)
            for k in range(12)
        ]
        left[made.name] = np.mean([np.square(y - fitted.predict(X)).mean() for fitted in fits]) / y.var()
    # Found are .055 ± .003 and .10; without the correction .10.
    assert left["boosted-trees"] < min(0.075, 0.75 * left["forest-regression"])


@pytest.mark.parametrize("made", [BOOSTED_TREES, FOREST_REGRESSION])
def test_in_a_window_groups_far_apart_are_parted_before_what_moves_most_rows_a_little(made):
    generator = np.random.default_rng(4)
    smokes, heavy, age = generator.random(1_100) < 0.2, generator.random(1_100) < 0.5, generator.random(1_100)
    y = np.where(smokes, np.where(heavy, 75.0, 45.0), 4 + 30 * age)
    attributes = (
        *(Attribute(name=name, kind="category", domain=("no", "yes", "?")) for name in ("smokes", "heavy")),
        Attribute(name="age", kind="real", lower=0, upper=1),
    )
    target = Attribute(name="cost", kind="real", lower=0, upper=160)
    parameters = made.parameters.from_plain({"epsilon": 50.0, "trees": 1, "depth": 1})
    noise = Study(np.random.default_rng(5))
    model = made.private(attributes, target, parameters, noise).fit(np.column_stack([smokes, heavy, age]), y).model_
    assert model.setting.target.bounds() == (0, 80)
    assert model.answers["tree 1: split 1"] == [1]  # smokes = yes; up to .3 of the window it would be age


def test_files_of_former_formats_mean_what_they_meant_and_a_column_that_is_none_is_refused():
    attributes, target, X, y = three_lines(400)
    for version, trees, corrections, ranges in ((2, 10, 0, 2.8), (3, 1, 3, 2.8), (4, 1, 3, 1.68)):
        made = BoostedTrees(attributes, target, BoostedParameters(epsilon=8.0), Study(np.random.default_rng(1)))
        made.version = version
        model = made.fit(X, y).model_
        plain = model.to_plain()
        read = BoostedModel.from_plain(plain)
        np.testing.assert_array_equal(read.predict(X), model.predict(X))
        assert (plain["format"], len(model.trees_), len(model.corrections_)) == (version, trees, corrections)
        assert float(sum(read.setting.ranged.values())) == pytest.approx(8 * ranges / math.sqrt(400 * 8 / 6))
        if corrections:
            choice, cut = (read.setting.weights[label] for label in ("correction 1: column", "tree 1: split 1"))
            assert choice == pytest.approx({3: 0.5, 4: 0.4}[version] * cut)
    answers = plain["answers"]
    for column in (-1, 6):  # five columns, and the mean of the numbers
        with pytest.raises(ParameterError, match="correction 2: column"):
            BoostedModel.from_plain({**plain, "answers": {**answers, "correction 2: column": [column]}})
    for huge in (2**61, 2**63 - 1):  # no count of the rows
        wrong = {label: [huge] * len(answers[label]) for label in answers if label.endswith("parts")}
        predicted = BoostedModel.from_plain({**plain, "answers": {**answers, **wrong}}).predict(X)
        assert ((predicted >= 0) & (predicted <= 80)).all()


@pytest.mark.parametrize("cells", [2, 8])
def test_what_a_column_does_in_each_node_follows_from_sums_without_noise(cells):
    truth = np.outer([0.2, -0.1, 0.3], np.linspace(-1, 1, cells)) + np.array([[0.1], [0.0], [-0.2]])
    known = np.full(truth.shape, 1e4)
    np.testing.assert_allclose(steps_of_nodes(known * truth, known, np.full(truth.shape, 1.0), 0.0), truth, atol=0.01)
    # Where there is nothing but noise, there is next to no step.
    noise = np.random.default_rng(3).normal(0, 30, truth.shape)
    assert np.abs(steps_of_nodes(noise, np.full(truth.shape, 20.0), np.full(truth.shape, 900.0), 900.0)).max() < 0.5

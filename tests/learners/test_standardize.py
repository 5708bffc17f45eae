"""Standardising: neighbours in whole numbers, figures that are close, and columns whose bounds are public."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import numpy as np
import pytest
from classification_tables import breast_cancer, diabetes, iris
from test_kmeans import ScriptedNoise

from workbench.data.schema import Attribute
from workbench.learners.standardize.estimator import Standardize, StandardizeModel, UniformScales
from workbench.learners.standardize.parameters import StandardizeParameters
from workbench.learners.tasks import EMPTY
from workbench.params import InputError, ParameterError
from workbench.privacy.accounting.event import Cost
from workbench.privacy.central import NoNoise, ReleasedNoise, StudyNoise
from workbench.studies.column_metrics import scaling_metrics

MIXED = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
    Attribute(name="colour", kind="category", domain=("red", "green", "blue")),
)
CLASS = Attribute(name="group", kind="category", domain=("a", "b"))
Record = tuple[float, float, float, int]
EMPTY_ROW: Record = (0.0, 0.0, 0.0, EMPTY)
RECORDS: list[Record] = [*itertools.product((-9.0, -3.0, 0.9, 1.0, 5.0), (np.nan, 0.0, 0.4, 1.0), (2.0,), (0,))]


def asked(rows: Sequence[Record], epsilon: float) -> list[tuple[tuple[int, ...], int, float]]:
    noise = ScriptedNoise()
    parameters = StandardizeParameters(epsilon=epsilon)
    Standardize(MIXED, CLASS, parameters, noise).fit([r[:3] for r in rows], [r[3] for r in rows])
    return noise.asked


@pytest.mark.parametrize(("rows", "records"), [(1, RECORDS), (2, RECORDS[::3]), (5, [RECORDS[0], RECORDS[-1]])])
def test_every_pair_of_tiny_tables_stays_within_epsilon(rows: int, records: list[Record]) -> None:
    whole = [*records, EMPTY_ROW]
    tables = {t: asked([whole[i] for i in t], 2.0) for t in itertools.product(range(len(whole)), repeat=rows)}
    zero_out = replace_one = 0.0
    for chosen, one in tables.items():
        for i, other in itertools.product(range(rows), range(len(whole))):
            spent = 0.0
            for (values, sensitivity, share), (without, *rest) in zip(
                one, tables[(*chosen[:i], other, *chosen[i + 1 :])], strict=True
            ):
                assert rest == [sensitivity, share], "a query's noise depends on the rows"
                spent += share * sum(abs(a - b) for a, b in zip(values, without, strict=True)) / sensitivity
            if other == len(records):
                zero_out = max(zero_out, spent)
            replace_one = max(replace_one, spent)
    assert zero_out == pytest.approx(2.0, rel=1e-6), "the sensitivities are met and not only kept"
    assert zero_out <= 2.0 * (1 + 1e-12)
    assert replace_one <= 4.0


@pytest.mark.parametrize("epsilon", [0.3, 3.0, 30.0, None])
def test_the_figures_come_closer_with_epsilon(epsilon: float | None, shared_data) -> None:
    for data, least in ((iris(), 0.0), (breast_cancer(), 0.6), (diabetes(shared_data), 0.4)):
        errors = []
        for repeat in range(5):
            noise = NoNoise() if epsilon is None else StudyNoise(np.random.default_rng([1, repeat]))
            parameters = StandardizeParameters(epsilon=epsilon, limit=100.0)
            scaled = Standardize(data.attributes, data.target, parameters, noise).fit(data.X, data.y).transform(data.X)
            errors.append([*scaling_metrics(scaled).values()])
        mean_error, scale_error = np.mean(errors, axis=0)
        if epsilon is None:
            assert max(mean_error, scale_error) < 1e-6
        elif epsilon == 30:
            assert max(mean_error, scale_error) < 0.1
        else:
            blind = scaling_metrics(UniformScales(data.attributes, data.target).predict(data.X))
            assert least == 0 or mean_error < blind["mean_error"]


def test_without_noise_means_and_deviations_are_those_of_the_rows() -> None:
    data = iris()
    model = Standardize(data.attributes, data.target, StandardizeParameters(), NoNoise()).fit(data.X, data.y).model_
    np.testing.assert_allclose(model.mean_, data.X.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(model.scale_, data.X.std(axis=0), atol=1e-6)


def test_the_bounds_hold_for_every_row_and_follow_from_declared_ones_and_the_limit() -> None:
    noise = StudyNoise(np.random.default_rng(2))
    rows = [(0.9, 0.0, 0.0), (1.1, np.nan, 2.0), (1.0, 0.2, 1.0)] * 50
    learner = Standardize(MIXED, CLASS, StandardizeParameters(epsilon=20.0, limit=2.5), noise).fit(rows, [0] * 150)
    x, gap, colour = learner.attributes_after
    assert x.bounds() == (-2.5, 2.5)
    assert gap.missing == "own-value"
    assert gap.bounds()[1] == 2.5
    assert gap.bounds()[0] > -2.5, "nothing can lie further down than the declared bound"
    assert colour == MIXED[2]
    made = learner.transform([(-99.0, 0.0, 2.0), (99.0, 1.0, 0.0), (1.0, np.nan, 1.0)])
    assert made[:2, 0].tolist() == [-2.5, 2.5]
    assert gap.bounds()[0] <= made[0, 1] < gap.bounds()[0] + 0.01
    assert made[1, 1] == 2.5
    assert np.isnan(made[2, 1])
    assert made[:, 2].tolist() == [2.0, 0.0, 1.0]


def test_a_row_is_scaled_alike_whatever_stands_beside_it() -> None:
    generator = np.random.default_rng(0)
    columns = tuple(Attribute(name=f"x{j}", kind="real", lower=-1, upper=1 + j) for j in range(5))
    X = generator.uniform(-1.2, 7, (257, 5))
    learner = Standardize(columns, CLASS, StandardizeParameters(epsilon=3.0), StudyNoise(generator)).fit(X, [0] * 257)
    together = learner.transform(X)
    before = X.copy()
    for i in range(len(X)):
        np.testing.assert_array_equal(learner.transform(X[i : i + 1])[0], together[i])
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1e6])
@pytest.mark.parametrize("rows", [1, 3])
def test_no_noise_is_too_large_for_figures_that_can_be_used(epsilon: float, rows: int) -> None:
    noise = StudyNoise(np.random.default_rng(1))
    learner = Standardize(MIXED, CLASS, StandardizeParameters(epsilon=epsilon), noise)
    learner.fit([(1.0, np.nan, 0.0)] * rows, [0] * rows)
    assert all(a.bounds()[0] < a.bounds()[1] for a in learner.attributes_after[:2])
    made = learner.transform([(5.0, 1.0, 0.0)])
    assert np.isfinite(made).all()
    assert np.isfinite(learner.model_.scale_).all()


def test_a_model_is_written_and_read_again_and_damage_is_told() -> None:
    noise = StudyNoise(np.random.default_rng(2))
    rows = [(0.9, 0.1, 0.0), (3.0, np.nan, 2.0)] * 20
    learner = Standardize(MIXED, CLASS, StandardizeParameters(epsilon=2.0), noise).fit(rows, [0] * 40)
    assert [e.label for e in learner.events()] == ["x: sums", "gap: presence", "gap: sums"]
    assert sum(float(e.epsilon) for e in learner.events()) == pytest.approx(2.0)
    plain = json.loads(json.dumps(learner.to_plain()))
    again = StandardizeModel.from_plain(plain)
    np.testing.assert_array_equal(again.transform(rows), learner.transform(rows))
    assert again.attributes_after == learner.attributes_after
    assert sum(map(len, plain["answers"].values())) == learner.numbers(40)
    for change, said in (({"learner": "pca"}, "'pca'"), ({"answers": {"x: sums": [1, 2]}}, "answers")):
        with pytest.raises(ParameterError, match=said):
            StandardizeModel.from_plain({**plain, **change})


def test_it_is_charged_before_a_row_is_read_and_needs_a_column_of_numbers() -> None:
    charged: list[float] = []

    def charge(cost: Cost) -> None:
        charged.append(float(cost.epsilon))

    learner = Standardize(MIXED, CLASS, StandardizeParameters(epsilon=2.0), ReleasedNoise(), charge)
    with pytest.raises(InputError, match="row 2, column x"):
        learner.fit([(1.0, 0.5, 0.0), (np.inf, 0.5, 0.0)], [0, 0])
    assert charged == [2.0]
    words = Standardize(MIXED[2:], CLASS, StandardizeParameters(epsilon=2.0), ReleasedNoise(), charge)
    with pytest.raises(ParameterError, match="no column of numbers"):
        words.fit([(0.0,)], [0])
    assert charged == [2.0]

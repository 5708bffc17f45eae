"""The regime ``synthetic:METHOD``: an ordinary model trained on synthetic rows, asked about real ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.render.curve_figure import curve_figure
from workbench.sanitize.plan import Column, Plan
from workbench.studies.curve import CurvePlan, run_curve
from workbench.studies.regimes import Regime, StudyData

PLAN = CurvePlan(regimes=("none", "synthetic:marginals", "synthetic:mst"), epsilons=(0.01, 20.0), repeats=4)


@pytest.fixture
def data() -> StudyData:
    made = np.random.default_rng(5)
    x, z = made.uniform(0, 10, 400), made.uniform(0, 10, 400)
    frame = pl.DataFrame(
        {
            "x": [f"{v:.1f}" for v in x],
            "z": [f"{v:.1f}" if v > 1 else "" for v in z],
            "y": ["yes" if v > 4 else "no" for v in x],
        }
    )
    columns = (
        Column(name="x", kind="real", lower=0, upper=10),
        Column(name="z", kind="real", lower=0, upper=10, missing="own-value"),
        Column(name="y", kind="category", domain=("no", "yes")),
    )
    return StudyData.read(Table(frame, "t"), Plan(epsilon=1.0, columns=columns), "y")


def test_at_a_large_epsilon_it_is_as_good_as_the_rows_themselves(data: StudyData) -> None:
    result = run_curve(PLAN, data)
    mean = {(p.regime, p.epsilon): p.mean for p in result.points if p.metric == "accuracy"}
    for way in ("synthetic:marginals", "synthetic:mst"):
        assert mean[way, 20.0] > mean["none", 20.0] - 0.05
        assert mean[way, 0.01] < mean[way, 20.0] - 0.1
    assert run_curve(PLAN, data).rows == result.rows
    assert [s.name for s in curve_figure(result, "t").series] == ["synthetic: marginals", "synthetic: mst"]


def test_the_rows_follow_from_the_training_rows_alone(data: StudyData) -> None:
    training = np.arange(0, 400, 2)
    way = Regime.parse("synthetic:mst")
    cells = data.cells.copy()
    cells[1::2] = 0
    other = replace(data, cells=cells)
    one, two = (of.synthetic(way, 1.0, 7, training) for of in (data, other))
    assert len(one[1]) == len(training)
    assert np.array_equal(one[0], two[0], equal_nan=True)
    assert np.array_equal(one[1], two[1])
    assert np.isnan(one[0][:, 1]).any(), "a missing value is one of the values"
    assert set(np.unique(one[1])) <= {0, 1}


@pytest.mark.parametrize(
    ("name", "said"), [("synthetic", "write synthetic:marginals"), ("synthetic:mts", "did you mean 'mst'")]
)
def test_an_unknown_method_is_refused_in_words(name: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Regime.parse(name)


def test_an_epsilon_that_cannot_be_divided_is_refused_before_any_work(data: StudyData) -> None:
    seen: list[object] = []
    plan = replace(PLAN, epsilons=(0.0001,), regimes=("none", "synthetic:mst"))
    many = replace(data, cells=np.tile(data.cells[:, :1], 60), columns=data.columns[:1] * 59)
    with pytest.raises(ParameterError, match="leaves"):
        run_curve(plan, many, on_rows=seen.append)
    assert seen == []

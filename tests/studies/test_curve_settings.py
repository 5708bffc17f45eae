"""Other parameters of the private model in a curve: ``--set blocks=20``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.render.curve_figure import curve_figure, epsilon_label
from workbench.sanitize.plan import Column, Plan
from workbench.studies.curve import CurvePlan, Journal, identity, run_curve
from workbench.studies.regimes import StudyData

PLAN = CurvePlan(
    model="median-forest", regimes=("private",), epsilons=(2.0,), repeats=2, settings=("blocks=4", "trees=1")
)


@pytest.fixture
def data() -> StudyData:
    x = np.random.default_rng(2).uniform(0, 10, 60)
    frame = pl.DataFrame({"x": [f"{v:.2f}" for v in x], "y": [f"{v / 2:.2f}" for v in x]})
    columns = tuple(Column(name=name, kind="real", lower=0, upper=10) for name in ("x", "y"))
    return StudyData.read(Table(frame, "t"), Plan(epsilon=1.0, columns=columns), "y", "regression")


def test_they_reach_the_private_model_and_change_its_figures(data: StudyData) -> None:
    parameters = PLAN.parameters(2.0, PLAN.ways[0])
    assert parameters.to_plain() == {"epsilon": 2.0, "blocks": 4, "trees": 1}
    one = run_curve(PLAN, data)
    other = run_curve(CurvePlan(**{**PLAN.to_plain(), "settings": ["blocks=16", "trees=1"]}), data)
    assert one.rows != other.rows
    assert run_curve(PLAN, data).rows == one.rows
    figure = curve_figure(one, "t")
    assert "blocks=4 · trees=1" in figure.subtitle
    assert figure.x_label == "ε of each prediction (log scale)"


def test_a_study_with_other_settings_is_another_study(data: StudyData, tmp_path: Path) -> None:
    other = CurvePlan(**{**PLAN.to_plain(), "settings": ["blocks=16", "trees=1"]})
    same = CurvePlan(**{**PLAN.to_plain(), "settings": ["trees=1", "blocks=4"]})
    assert identity(PLAN, data) != identity(other, data)
    assert identity(PLAN, data) == identity(same, data)
    with Journal.open(tmp_path, identity(PLAN, data)) as journal:
        run_curve(PLAN, data, journal=journal)
        assert len(journal.done) == 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("blocks",), "not NAME=VALUE"),
        (("block=3",), "did you mean 'blocks'"),
        (("blocks=0",), "blocks = 0"),
        (("blocks=3", "blocks = 4"), "set twice"),
        (("epsilon=1",), "not NAME=VALUE of a parameter"),
        (("ask=rows.csv",), "not NAME=VALUE of a parameter"),
        (("aggregate=mean",), "aggregate = 'mean'"),
    ],
)
def test_what_cannot_be_set_is_one_sentence(settings: tuple[str, ...], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        CurvePlan(model="median-forest", regimes=("private",), settings=settings)


def test_the_axis_says_whose_epsilon_it_is() -> None:
    assert epsilon_label([]) == epsilon_label([False, False]) == "ε for a whole row (log scale)"
    assert epsilon_label([True]) == "ε of each prediction (log scale)"
    assert "of a private median for each prediction" in epsilon_label([False, True])


def test_a_regime_may_have_settings_of_its_own(data: StudyData) -> None:
    plan = CurvePlan(
        **{**PLAN.to_plain(), "settings": ["trees=1"], "regimes": ["private:blocks=4", "private:blocks=16"]}
    )
    result = run_curve(plan, data)
    assert {row.regime for row in result.rows} == {"private:blocks=4", "private:blocks=16"}
    assert [series.name for series in curve_figure(result, "t").series] == [
        "private, blocks = 4",
        "private, blocks = 16",
    ]
    with pytest.raises(ParameterError, match="did you mean 'blocks'"):
        CurvePlan(**{**PLAN.to_plain(), "regimes": ["private:block=4"]})
    with pytest.raises(ParameterError, match="set twice"):
        CurvePlan(**{**PLAN.to_plain(), "regimes": ["private:blocks=4"]})


def test_figures_are_drawn_against_blocks(data: StudyData) -> None:
    plan = CurvePlan(
        model="median-forest",
        regimes=("none", "private"),
        epsilons=(0.5, 4.0),
        repeats=3,
        settings=("trees=1",),
        against="blocks=10,2,5",
    )
    result = run_curve(plan, data)
    assert [way.name for way in plan.ways] == ["none", "private:blocks=2", "private:blocks=5", "private:blocks=10"]
    figure = curve_figure(result, "t", "r2")
    assert [series.name for series in figure.series] == ["private, ε = 0.5", "private, ε = 4"]
    assert figure.title.endswith("against blocks")
    assert figure.x_label == "blocks (log scale)"
    assert figure.span == (2, 10)
    means = {(p.regime, p.epsilon): p.mean for p in result.points if p.metric == "r2"}
    for series, epsilon in zip(figure.series, (0.5, 4.0), strict=True):
        assert series.x == (2, 5, 10)
        assert series.mean == tuple(means[f"private:blocks={b}", epsilon] for b in (2, 5, 10))
    assert figure.baselines[0].value == means["none", 0.5]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"against": "block=2,5"}, "did you mean 'blocks'"),
        ({"against": "blocks=2"}, "two values"),
        ({"against": "blocks=0,2"}, "blocks = 0"),
        ({"against": "aggregate=smooth"}, "not a number"),
        ({"against": "blocks=2,5", "settings": ["blocks=3"]}, "set twice"),
        ({"against": "blocks=2,5", "regimes": ["none"]}, "only the private model has blocks"),
        ({"against": "blocks=2,5", "epsilons": [1, 2, 3, 4, 5, 6, 7, 8]}, "each of 8 epsilons"),
    ],
)
def test_what_cannot_be_drawn_against_a_parameter_is_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        CurvePlan(**{**PLAN.to_plain(), "settings": ["trees=1"], **changed})

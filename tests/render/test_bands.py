"""One meaning of a band, whichever figure shows a study."""

from __future__ import annotations

import pytest

from workbench.render.comparison_figure import Drawn, comparison_figure
from workbench.render.curve_figure import curve_figure
from workbench.render.values import BAND
from workbench.studies.curve import CurvePlan, CurveResult
from workbench.studies.results import Row, Tally


def test_a_curve_and_a_comparison_draw_the_same_band_and_name_it() -> None:
    rows = tuple(Row("private", 1.0, repeat, "accuracy", value) for repeat, value in enumerate((0.6, 0.7, 0.8, 0.9)))
    points = Tally(rows).points()
    plan = CurvePlan(model="naive-bayes", regimes=("private",), epsilons=(1.0,), repeats=4)
    result = CurveResult(plan, rows, points, {"accuracy": 0.5}, 100)
    curve = curve_figure(result, "people.csv")
    (point,) = points
    one = Drawn("private", "private", ((1.0, point.mean, point.standard_error),))
    other = comparison_figure(plan.measured.main, [one])
    assert (curve.series[0].low, curve.series[0].high) == (other.series[0].low, other.series[0].high)
    assert curve.series[0].high[0] - point.mean == pytest.approx(point.sd / 2)
    assert curve.y_label.endswith(BAND)
    assert other.y_label.endswith(BAND)

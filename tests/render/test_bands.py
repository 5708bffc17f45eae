"""Pictures of figures: one meaning of a band, bars where their shares are, lines of several models."""

import pytest
from PySide6.QtGui import QColor, QImage

from workbench.params import ParameterError
from workbench.render.comparison_figure import MOST_JOINED, Drawn, comparison_figure, joined_figure
from workbench.render.curve_figure import curve_figure
from workbench.render.offscreen import write_figure
from workbench.render.palette import LIGHT
from workbench.render.values import BAND, Bar, BarsFigure, BarsRow, Baseline, CurveFigure, Series
from workbench.studies.curve import CurvePlan, CurveResult
from workbench.studies.results import Row, Tally


def test_a_curve_and_a_comparison_draw_the_same_band_and_name_it():
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


# -- Bars are drawn where their shares are, with their intervals, and refuse what is no share -------------------------


FIGURE = BarsFigure(
    title="How often attacks were right",
    groups=(("a guess", "majority"), ("with the release", "private")),
    rows=(BarsRow("one", (Bar.alone(0.5), Bar(1.0, 0.9, 1.0)), 0.25), BarsRow("other", (None, Bar.alone(0.0)))),
    mark="allowed",
)


def test_a_share_of_one_is_twice_as_long_as_one_half(tmp_path):
    path = tmp_path / "bars.png"
    write_figure(FIGURE, path, width=720, height=300, scale=1.0)
    image = QImage(str(path))
    lengths = []
    for style in ("#566070", "#0072B2"):
        ink, paper = QColor(style), QColor(LIGHT.surface)
        pale = [round(0.6 * a + 0.4 * b) for a, b in zip(ink.getRgb()[:3], paper.getRgb()[:3], strict=True)]
        longest = 0
        for y in range(80, 260):
            row = [image.pixelColor(x, y).getRgb()[:3] for x in range(720)]
            longest = max(longest, sum(max(abs(a - b) for a, b in zip(cell, pale, strict=True)) < 4 for cell in row))
        lengths.append(longest)
    assert lengths[0] > 100
    assert lengths[1] == pytest.approx(2 * lengths[0], abs=4)


def test_what_is_no_share_is_refused():
    with pytest.raises(ParameterError, match="not shares"):
        BarsRow("one", (Bar(0.5, 0.4, 1.2),))
    with pytest.raises(ParameterError, match="not shares"):
        BarsRow("one", (Bar.alone(float("nan")),))
    with pytest.raises(ParameterError, match="style"):
        BarsFigure("t", (("a", "mauve"),), (BarsRow("one", (None,)),))
    with pytest.raises(ParameterError, match="every group"):
        BarsFigure("t", (("a", "private"),), (BarsRow("one", ()),))


# -- Lines of several models in one picture ---------------------------------------------------------------------------


X = (1.0, 10.0)


def figure(*styles: str, level: float = 0.9) -> CurveFigure:
    return CurveFigure(
        title="Accuracy against ε",
        subtitle="people · One · 100 rows",
        x_label="ε",
        y_label="accuracy",
        series=tuple(
            Series(f"{style}, then trained", style, X, (0.5, 0.6), (0.4, 0.5), (0.6, 0.7)) for style in styles
        ),
        baselines=(Baseline("no privacy", "no-privacy", level), Baseline("always the majority", "majority", 0.5)),
        span=X,
    )


def test_every_line_has_the_name_of_its_model_and_a_style_of_its_own():
    made, places = joined_figure([("One", figure("sanitized", "private")), ("Two", figure("private", level=0.8))])
    assert [series.name for series in made.series] == ["One: sanitized", "One: private", "Two: private"]
    assert len({series.style for series in made.series}) == 3
    assert places == ((0, 0), (0, 1), (1, 0))
    levels = [(level.name, level.value) for level in made.baselines]
    assert levels == [("One: no privacy", 0.9), ("Two: no privacy", 0.8), ("always the majority", 0.5)]
    assert made.subtitle == "people · One, Two · 100 rows"


def test_of_too_many_lines_the_last_of_every_model_stays():
    four = ("sanitized", "corrected", "synthetic", "private")
    made, places = joined_figure([(name, figure(*four)) for name in "ABC"])
    assert len(made.series) == len(places) == MOST_JOINED
    assert {(number, 3) for number in range(3)} <= set(places)
    assert len({series.style for series in made.series}) == MOST_JOINED

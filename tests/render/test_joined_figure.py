"""Lines of several models in one picture."""

from __future__ import annotations

from workbench.render.comparison_figure import MOST_JOINED, joined_figure
from workbench.render.values import Baseline, CurveFigure, Series

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

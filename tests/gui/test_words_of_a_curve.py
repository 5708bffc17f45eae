"""What a curve says of a target that nothing predicts, and which ε it offers to whom."""

from __future__ import annotations

from decimal import Decimal

from workbench.gui.pages.utility.messages import better_as_model, crossings, in_words, no_use
from workbench.render.values import Baseline, CurveFigure, Series


def figure(no_privacy: float, majority: float, sanitised: tuple[float, ...], private: tuple[float, ...]) -> CurveFigure:
    x = (0.1, 1.0, 10.0)
    return CurveFigure(
        title="Accuracy",
        x_label="ε",
        y_label="accuracy",
        series=(
            Series("sanitised", "sanitized", x, sanitised, sanitised, sanitised),
            Series("private model", "private", x, private, private, private),
        ),
        baselines=(Baseline("no privacy", "no-privacy", no_privacy), Baseline("majority", "majority", majority)),
    )


def test_each_way_of_training_has_an_epsilon_of_its_own():
    made = figure(0.9, 0.5, (0.5, 0.6, 0.89), (0.6, 0.88, 0.9))
    assert "from ε = 10 (sanitised) and from ε = 1 (private model)" in in_words(made, Decimal(1))


def test_no_epsilon_is_offered_where_nothing_can_be_predicted():
    made = figure(0.48, 0.5, (0.47, 0.48, 0.48), (0.46, 0.47, 0.48))
    told = in_words(made, 1)
    assert told.startswith("This target cannot be predicted from these columns")
    assert "Within" not in told


def test_a_point_below_the_one_constant_answer_says_so():
    made = figure(0.52, 0.51, (0.5, 0.5, 0.5), (0.5, 0.515, 0.52))
    sanitised, private = made.series
    assert "No better than always naming the majority (0.510)" in no_use(made, sanitised, 1)
    assert no_use(made, private, 1) == ""
    assert no_use(made, private, 0)


def test_lines_that_cross_for_good_are_told_of_with_the_place():
    made = figure(0.9, 0.5, (0.5, 0.6, 0.89), (0.6, 0.7, 0.79))
    assert crossings(made) == "Above ε = 3.2 sanitised is ahead of private model, below it behind."
    assert crossings(made) in in_words(made, 1)
    assert crossings(figure(0.9, 0.5, (0.5, 0.8, 0.7), (0.6, 0.7, 0.79))) == "", "they lie at the end as at the start"
    assert crossings(figure(0.9, 0.5, (0.5, 0.6, 0.7), (0.6, 0.7, 0.79))) == ""


def test_a_model_is_the_better_release_where_no_sanitised_table_beats_one_answer():
    made = figure(0.9, 0.5, (0.45, 0.48, 0.7), (0.49, 0.8, 0.9))
    assert better_as_model(made, Decimal(1))
    assert not better_as_model(made, Decimal(10)), "the table is of use there"
    assert not better_as_model(made, Decimal("0.1")), "neither is of use"
    assert not better_as_model(made, Decimal(50)), "nothing was tested there"

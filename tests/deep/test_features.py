"""Inputs come from declared facts alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from array_data import ArrayData
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.schema import Attribute
from workbench.deep.features import Features
from workbench.params import InputError, ParameterError

AGE = Attribute(name="age", kind="integer", lower=0, upper=100)
BMI = Attribute(name="bmi", kind="real", lower=10, upper=60, missing="own-value")
SEX = Attribute(name="sex", kind="category", domain=("f", "m"))
BLOOD = Attribute(name="blood", kind="category", domain=("0", "A", "B"), missing="own-value")
LABEL = Attribute(name="label", kind="boolean")
FEATURES = Features((AGE, BMI, SEX, BLOOD), LABEL)


def test_numbers_scale_to_declared_bounds_and_categories_are_indicators() -> None:
    X = [[0, 60, 0, 2], [100, math.nan, 1, 3], [50, 10, 0, 0]]
    assert FEATURES.width == 1 + 2 + 2 + 4
    assert FEATURES.encode(X).tolist() == [
        [-1, 1, 0, 1, 0, 0, 0, 1, 0],
        [1, 0, 1, 0, 1, 0, 0, 0, 1],
        [0, -1, 0, 1, 0, 1, 0, 0, 0],
    ]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20))
def test_a_rows_inputs_depend_on_that_row_alone_and_stay_in_bounds(ages: list[float]) -> None:
    features = Features((AGE,), LABEL)
    together = features.encode([[a] for a in ages])
    assert np.abs(together).max() <= 1
    for age, inputs in zip(ages, together, strict=True):
        assert features.encode([[age]]).tolist() == [inputs.tolist()]


def test_wide_bounds_do_not_overflow() -> None:
    wide = Features((Attribute(name="x", kind="real", lower=-1e150, upper=1e150),), LABEL)
    assert wide.encode([[-1e150], [0.0], [1e150]]).tolist() == [[-1], [0], [1]]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([math.inf, 20, 0, 0], "row 1, column age"),
        ([math.nan, 20, 0, 0], "missing"),
        ([1, 20, 2, 0], "sex"),
        ([1, 20, 0.5, 0], "sex"),
        ([1, 20, 0, 4], "blood"),
    ],
)
def test_a_value_that_is_none_of_its_column_is_named(row: list[float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        FEATURES.encode([row])


def test_undeclared_facts_are_refused_before_any_row_is_seen() -> None:
    with pytest.raises(ParameterError, match="bound is not declared"):
        Features((Attribute(name="x", kind="real"),), LABEL)
    with pytest.raises(ParameterError, match="domain is not declared"):
        Features((AGE,), Attribute(name="y", kind="category"))
    with pytest.raises(ParameterError, match="two columns have one name"):
        Features((AGE, AGE), LABEL)


def test_classes_outside_the_domain_are_refused_and_empty_rows_are_not() -> None:
    features = Features((AGE,), LABEL)
    with pytest.raises(InputError, match="row 2"):
        ArrayData(features, [[1], [2]], [0, 2]).load()
    assert ArrayData(features, [[1], [2]], [1, -1]).load()[1].tolist() == [1, -1]
    assert ArrayData(features, [[1], [2]], [1, -1]).rows == 2

"""The list of learners is complete, and shares of ε are exact."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench.learners
from workbench.learners import LEARNERS, NAIVE_BAYES, Learner, learner
from workbench.learners.setting import split_epsilon
from workbench.params import ParameterError
from workbench.privacy.accounting.event import exact, floor_double


def test_every_descriptor_of_the_folder_is_listed() -> None:
    modules = [
        importlib.import_module(m.name)
        for m in pkgutil.walk_packages(workbench.learners.__path__, "workbench.learners.")
    ]
    declared = {id(v): v for module in modules for v in vars(module).values() if isinstance(v, Learner)}
    assert {entry.name for entry in declared.values()} == {entry.name for entry in LEARNERS}
    assert len({entry.name for entry in LEARNERS}) == len(LEARNERS)


def test_the_list_is_light() -> None:
    heavy = "sklearn", "scipy", "polars", "opendp", "torch"
    code = f"import sys, workbench.learners; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "[]"


def test_learners_are_found_by_name() -> None:
    assert learner("naive-bayes") is NAIVE_BAYES
    with pytest.raises(ParameterError, match="did you mean 'naive-bayes'"):
        learner("naive-bays")


@given(st.floats(1e-9, 1e6), st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=80))
def test_shares_sum_to_epsilon_exactly_and_doubles_never_pass_them(epsilon: float, weights: list[float]) -> None:
    total = exact(epsilon)
    shares = split_epsilon(total, weights)
    assert sum(shares, Decimal(0)) == total
    for share, weight in zip(shares, weights, strict=True):
        assert share > 0
        assert Decimal(floor_double(share)) <= share
        assert float(share) == pytest.approx(epsilon * weight / sum(weights), rel=1e-9)


@pytest.mark.parametrize("weights", [[], [1.0, 0.0], [1.0, float("nan")], [-1.0], [float("inf")]])
def test_weights_that_are_no_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(ParameterError):
        split_epsilon(Decimal(1), weights)

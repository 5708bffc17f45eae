"""Plans: what is refused, what is split, what comes back from TOML."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import ParameterError
from workbench.privacy.accounting.event import floor_double
from workbench.sanitize.plan import Column, Plan, load_plan

AGE = {"name": "Age", "kind": "integer", "lower": 0, "upper": 120}
SEX = {"name": "Sex", "kind": "category", "domain": ["f", "m"]}


def plan(*columns: dict, **others: object) -> Plan:
    return Plan.from_plain({"epsilon": 1.0, **others, "column": list(columns)})


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"name": "Age", "kind": "integer", "lower": 120, "upper": 0}, "is not below the upper bound"),
        ({"name": "Age", "kind": "integer", "lower": 0}, "the upper bound is not declared"),
        ({"name": "Age", "kind": "integer", "lower": 0.5, "upper": 3}, "are not whole"),
        ({"name": "Age"}, "the kind is not declared"),
        ({"name": "Sex", "kind": "category"}, "the domain is not declared"),
        ({"name": "Sex", "kind": "category", "domain": ["f"]}, "at least 2"),
        ({"name": "Sex", "kind": "category", "domain": ["f", "f"]}, "twice"),
        ({**SEX, "mechanism": "staircase"}, "needs numbers"),
        ({**SEX, "mechanism": "oue"}, "frequency collection"),
        ({**AGE, "mechanism": "stairs"}, "did you mean 'staircase'"),
        ({**AGE, "mechanism": "warner"}, "two values"),
        ({**AGE, "epsilon": 0}, "epsilon = 0"),
        ({**AGE, "epsilon": True}, "epsilon = True"),
        ({**AGE, "epsilon": 2.0}, "above epsilon = 1"),
        ({**AGE, "cells": 5000}, "cells = 5000"),
        ({**AGE, "lowwer": 1}, "did you mean 'lower'"),
        ({**AGE, "action": "protec"}, "did you mean 'protect'"),
        ({"name": "D", "kind": "date", "lower": "1990-13-01", "upper": "2000-01-01"}, "is not a date"),
        ({"name": "R", "kind": "real", "lower": 0, "upper": 1e-320}, "too fine"),
    ],
)
def test_an_impossible_column_is_named(column: dict, said: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        plan(column)
    assert column["name"] in str(caught.value) or "epsilon" in str(caught.value)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, "1", 1e9, 1e-9])
def test_an_impossible_epsilon_is_refused(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        plan(AGE, epsilon=epsilon)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (["Sex"], "'Sex' is not COLUMN = VALUE"),
        (["Sex = f & Sex = m"], "names a column twice"),
        (["Sex = f & Age = 3; Sex = m & Age = 4"], "is not one statement"),
        (["Town = Graz"], "names the column 'Town', which the plan does not have"),
        ([], "impossible = "),
        ("Sex = f", "impossible = "),
    ],
)
def test_what_a_plan_calls_impossible_is_read_as_strictly_as_the_rest(declared: object, said: str) -> None:
    with pytest.raises(ParameterError, match="impossible") as caught:
        plan(AGE, SEX, impossible=declared)
    assert said in str(caught.value)
    with pytest.raises(ParameterError, match="did you mean 'impossible'"):
        plan(AGE, SEX, imposible=["Sex = f & Age = 0..15"])


def test_what_is_impossible_survives_the_file_and_is_told_only_by_what_depends_on_it(tmp_path: Path) -> None:
    declared = ("Sex = f & Age = 0..15", "Sex = m & Age = 100")
    made = plan(AGE, SEX, impossible=list(declared))
    (tmp_path / "plan.toml").write_text(made.to_toml(), "utf-8")
    read = load_plan(tmp_path / "plan.toml")
    assert read == made
    assert read.impossible == declared
    assert read.published() == plan(AGE, SEX).published()


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(ParameterError, match="planned twice"):
        plan(AGE, AGE)


def test_dropped_and_kept_columns_need_no_facts() -> None:
    made = plan(AGE, {"name": "id", "action": "drop"}, {"name": "zip", "action": "keep"})
    assert [c.name for c in made.protected] == ["Age"]


def test_unfilled_facts_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        'epsilon = 1\n[[column]]\nname = "Age"\nkind = "integer"\nlower = "?"\nupper = 3\n'
        '[[column]]\nname = "Sex"\nkind = "category"\ndomain = "?"\n'
    )
    with pytest.raises(ParameterError, match="lower of Age, domain of Sex"):
        load_plan(path)


def test_the_contract_example_reads_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        """
version = 1
epsilon = 3.0
keep_order = false
rows_per_person = 1
[[column]]
name = "Age"
action = "protect"
kind = "integer"
lower = 0
upper = 120
cells = 121
bounds_origin = "declared"
role = "quasi-identifier"
mechanism = "bounded-laplace"
epsilon = 0.5
weight = 1.0
missing = "refuse"
[[column]]
name = "Born"
kind = "date"
lower = 1990-01-01
upper = "1999-12-31"
[[column]]
name = "Outcome"
action = "protect"
kind = "category"
domain = ["0", "1"]
mechanism = "grr"
"""
    )
    made = load_plan(path)
    assert made.shares() == {"Age": Decimal("0.5"), "Born": Decimal("1.25"), "Outcome": Decimal("1.25")}
    assert made.column("Age").grid().labels == tuple(map(str, range(121)))
    assert made.column("Born").grid().labels[-1] == "1999-12-31"


columns = st.lists(
    st.builds(
        lambda i, weight, fixed: Column(
            name=f"c{i}", kind="boolean", weight=weight, epsilon=None if fixed is None else fixed
        ),
        st.integers(0, 10**6),
        st.floats(0.1, 10),
        st.none() | st.floats(1e-3, 0.1),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda c: c.name,
)


@given(columns, st.floats(1, 1000))
def test_shares_sum_exactly_to_epsilon(made: list[Column], epsilon: float) -> None:
    whole = Plan(epsilon=epsilon, columns=tuple(made))
    split = whole.shares()
    assert set(split) == {c.name for c in made}
    if any(c.epsilon is None for c in made):
        assert sum(split.values()) == Decimal(repr(epsilon)) == whole.row_epsilon()
    for column in made:
        if column.epsilon is not None:
            assert split[column.name] == Decimal(repr(column.epsilon))
    assert all(Decimal(floor_double(s)) <= s for s in split.values())


@given(columns, st.floats(1, 1000), st.booleans(), st.integers(1, 50))
def test_a_plan_comes_back_from_its_toml(
    tmp_path_factory: pytest.TempPathFactory, made: list[Column], epsilon: float, order: bool, rows: int
) -> None:
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    first = Plan(epsilon=epsilon, keep_order=order, rows_per_person=rows, columns=tuple(made))
    path.write_text(first.to_toml(comment="a comment"), encoding="utf-8")
    assert load_plan(path) == first


def test_a_tenth_is_a_tenth() -> None:
    ten = [{"name": f"c{i}", "kind": "boolean", "epsilon": 0.1} for i in range(10)]
    assert plan(*ten).row_epsilon() == Decimal(1)

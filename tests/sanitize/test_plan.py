"""Plans: what is refused, what is split, what comes back from TOML."""

import tomllib
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.columns.profile import profile
from workbench.data.table import Table
from workbench.params import InputError, ParameterError
from workbench.privacy.accounting.event import floor_double
from workbench.sanitize.plan import Column, Plan, load_plan
from workbench.sanitize.plan_guesses import confirm, guesses, listed, places, raw_guesses, require_confirmed
from workbench.sanitize.plan_template import draft
from workbench.sanitize.wishes import CORRELATION, MEAN, SHARE, Wish

AGE = {"name": "Age", "kind": "integer", "lower": 0, "upper": 120}
SEX = {"name": "Sex", "kind": "category", "domain": ["f", "m"]}


def plan(*columns: dict, **others: object) -> Plan:
    return Plan.from_plain({"epsilon": 1.0, **others, "column": list(columns)})


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"name": "Age", "kind": "integer", "lower": 120, "upper": 0}, "is not below the upper bound"),
        ({"name": "Age", "kind": "integer", "lower": 0}, "the upper bound is not declared"),
        ({"name": "Age", "kind": "integer", "lower": 0.5, "upper": 3}, "lower = 0.5 is not whole"),
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
        (
            {"name": "D", "kind": "date", "lower": "2021-01-01", "upper": "1990-12-31"},
            "the lower bound 2021-01-01 is not below the upper bound 1990-12-31",
        ),
        ({"name": "R", "kind": "real", "lower": 0, "upper": 1e-320}, "too close"),
    ],
)
def test_an_impossible_column_is_named(column, said):
    with pytest.raises(ParameterError, match=said) as caught:
        plan(column)
    assert column["name"] in str(caught.value) or "epsilon" in str(caught.value)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, "1", 1e9, 1e-9])
def test_an_impossible_epsilon_is_refused(epsilon):
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
def test_what_a_plan_calls_impossible_is_read_as_strictly_as_the_rest(declared, said):
    with pytest.raises(ParameterError, match="impossible") as caught:
        plan(AGE, SEX, impossible=declared)
    assert said in str(caught.value)
    with pytest.raises(ParameterError, match="did you mean 'impossible'"):
        plan(AGE, SEX, imposible=["Sex = f & Age = 0..15"])


def test_what_is_impossible_survives_the_file_and_is_told_only_by_what_depends_on_it(tmp_path):
    declared = ("Sex = f & Age = 0..15", "Sex = m & Age = 100")
    made = plan(AGE, SEX, impossible=list(declared))
    (tmp_path / "plan.toml").write_text(made.to_toml(), "utf-8")
    read = load_plan(tmp_path / "plan.toml")
    assert read == made
    assert read.impossible == declared
    assert read.published() == plan(AGE, SEX).published()


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(ParameterError, match="in the plan twice"):
        plan(AGE, AGE)


def test_dropped_and_kept_columns_need_no_facts():
    made = plan(AGE, {"name": "id", "action": "drop"}, {"name": "zip", "action": "keep"})
    assert [c.name for c in made.protected] == ["Age"]


def test_unfilled_facts_are_all_named(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(
        'epsilon = 1\n[[column]]\nname = "Age"\nkind = "integer"\nlower = "?"\nupper = 3\n'
        '[[column]]\nname = "Sex"\nkind = "category"\ndomain = "?"\n'
    )
    with pytest.raises(ParameterError, match="lower of Age, domain of Sex"):
        load_plan(path)


def test_the_contract_example_reads_as_it_stands(tmp_path):
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
def test_shares_sum_exactly_to_epsilon(made, epsilon):
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
def test_a_plan_comes_back_from_its_toml(tmp_path_factory, made, epsilon, order, rows):
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    first = Plan(epsilon=epsilon, keep_order=order, rows_per_person=rows, columns=tuple(made))
    path.write_text(first.to_toml(comment="a comment"), encoding="utf-8")
    assert load_plan(path) == first


def test_a_tenth_is_a_tenth():
    ten = [{"name": f"c{i}", "kind": "boolean", "epsilon": 0.1} for i in range(10)]
    assert plan(*ten).row_epsilon() == Decimal(1)


# -- Wishes: figures and the margins that they must stay within, as text and as values --------------------------------


KINDS = {"age": "integer", "income": "real", "sex": "category", "visit": "date", "Monthly income": None}

NAMES = st.text("abcxyz_", min_size=1, max_size=12).filter(lambda name: name.strip("_"))
MARGINS = st.integers(1, 99_999).map(lambda n: n / 1000)


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("mean(age) ± 2", Wish(MEAN, ("age",), 2)),
        ("mean(age)<=2", Wish(MEAN, ("age",), 2)),
        ("Mean age within ± 2 years", Wish(MEAN, ("age",), 2)),
        ("average of Monthly income within 2e2", Wish(MEAN, ("Monthly income",), 200)),
        ("mean(Income (EUR)) +- 5", Wish(MEAN, ("Income (EUR)",), 5)),
        ("share(sex=f) within 3 %", Wish(SHARE, ("sex",), 0.03, "f")),
        ("share(sex=f) ± 0.03", Wish(SHARE, ("sex",), 0.03, "f")),
        ("share of yes in label ± 3%", Wish(SHARE, ("label",), 0.03, "yes")),
        ("correlation(age, income) ± .1", Wish(CORRELATION, ("age", "income"), 0.1)),
        ("correlation of age and income within .1", Wish(CORRELATION, ("age", "income"), 0.1)),
    ],
)
def test_a_wish_is_read_as_a_person_writes_it(text, wish):
    assert Wish.parse(text) == wish
    assert Wish.parse(wish.text) == wish


@given(
    st.one_of(
        st.builds(lambda a, m: Wish(MEAN, (a,), m), NAMES, MARGINS),
        st.builds(lambda a, v, m: Wish(SHARE, (a,), m / 100, v), NAMES, NAMES, MARGINS),
        st.builds(lambda a, m: Wish(CORRELATION, (a, a + "2"), m / 100), NAMES, MARGINS),
    )
)
def test_what_is_written_is_read_back(wish):
    read = Wish.parse(wish.text)
    assert (read.asked, read.columns, read.value) == (wish.asked, wish.columns, wish.value)
    assert read.within == pytest.approx(wish.within, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("mena(age) ± 2", "did you mean 'mean'"),
        ("mean(age)", "is not a wish"),
        ("mean(age) ± -2", "is not a wish"),
        ("mean(age) ± nan", "is not a wish"),
        ("", "is not a wish"),
        ("share(sex) ± 3 %", "needs one value"),
        ("mean(age) ± 3 %", "not a percentage"),
        ("mean(age) ± 0", "above 0"),
        ("mean(age) ± 1e999", "above 0"),
        ("share(sex=f) ± 120 %", "below 1"),
        ("correlation(age) ± .1", "two columns"),
        ("correlation(age, age) ± .1", "two columns"),
    ],
)
def test_what_is_no_wish_names_the_part_that_is_wrong(text, part):
    with pytest.raises(ParameterError, match=part):
        Wish.parse(text)


@pytest.mark.parametrize(
    ("text", "field", "part"),
    [
        ("mean(aeg) ± 2", "aeg", "did you mean 'age'"),
        ("mean(sex) ± 2", "sex", "share\\(sex=VALUE\\)"),
        ("mean(visit) ± 2", "visit", "dates"),
        ("share(age=3) ± 2 %", "age", "mean\\(age\\)"),
        ("correlation(age, sex) ± .2", "sex", "no correlation"),
    ],
)
def test_an_error_names_the_column(text, field, part):
    with pytest.raises(ParameterError, match=part) as caught:
        Wish.parse(text).checked(KINDS)
    assert caught.value.field == field


def test_a_column_whose_kind_nobody_knows_may_be_asked_for():
    assert Wish.parse("mean of Monthly income ± 2").checked(KINDS).columns == ("Monthly income",)


# -- What a draft takes from the rows is marked, listed, refused and confirmed; nothing else in a plan changes


AGE_TO_120 = {"name": "age", "kind": "integer", "lower": 0, "upper": 120}


def plan_of(*columns: dict[str, Any], **keys: Any) -> Plan:
    return Plan.from_plain({"epsilon": 1.0, "column": list(columns), **keys})


def drafted(**columns: list[str | None]) -> dict[str, Any]:
    """The TOML of the draft of a table with these columns."""
    table = Table(pl.DataFrame(columns), "made.csv")
    return tomllib.loads(draft(profile(table), 1.0, target="label" if "label" in columns else None).toml)


def test_everything_that_a_draft_takes_from_the_rows_is_marked():
    raw = drafted(
        age=[str(20 + k) for k in range(40)] * 2,
        seen=[f"0{1 + k % 9}/0{1 + k % 8}/2020" for k in range(80)],
        town=["a", None] * 40,
        key=[f"key-{k}" for k in range(80)],
        label=["0", "1"] * 40,
    )
    by_name = {g.of: g.facts for g in raw_guesses(raw)}
    assert by_name == {
        "age": ("kind", "missing"),
        "seen": ("kind", "missing", "date_order"),
        "town": ("kind", "missing"),
        "key": ("action",),
        "label": ("kind", "missing"),
    }
    assert "missing of town" in places(raw_guesses(raw))


def test_two_drafts_of_neighbouring_tables_differ_in_nothing_that_is_not_marked():
    """One row decides kinds, missing values, the order of dates and what is dropped: all of that must be a guess."""
    rows = {
        "pay": [str(k % 50) for k in range(60)],
        "gap": [str(k % 7) for k in range(60)],
        "day": ["2020-01-02", "2021-03-04"] * 30,
        "tag": [f"k{k}" for k in range(60)],
        "label": [str(k % 20) for k in range(60)],
    }
    turned = {"pay": "33.5", "gap": "", "day": "31/12/2020", "tag": "k1", "label": "0.5"}
    one = drafted(**rows)
    for name, value in turned.items():
        other = drafted(**{**rows, name: [*rows[name][:-1], value or None]})
        assert other != one, f"one row changes the draft of {name}"
        for before, after in zip(one["column"], other["column"], strict=True):
            if before != after:
                assert before["origin"] == after["origin"] == "guess"


def test_a_plan_that_a_person_wrote_holds_no_guess():
    require_confirmed(plan_of(AGE_TO_120, {"name": "id", "action": "drop"}, reading={"encoding": "cp1252"}))


def test_the_refusal_is_one_sentence_that_lists_every_kind_of_guess():
    plan = plan_of(
        *({**AGE_TO_120, "name": name, "origin": "guess"} for name in ("age", "pay")),
        {"name": "id", "action": "drop", "origin": "guess"},
        {"name": "town", "kind": "category", "domain": ["a", "b"]},
        reading={"encoding": "cp1252", "decimal": ",", "origin": "guess"},
    )
    with pytest.raises(InputError) as caught:
        require_confirmed(plan, "my plan.toml")
    assert str(caught.value) == (
        "the plan contains unconfirmed guesses from the rows: kind and missing of age and pay; action of id; encoding "
        "and decimal of the file (my plan.toml); if they are right and public knowledge, run `workbench plan "
        "--confirm 'my plan.toml'`"
    )
    assert caught.value.exit_code == 2


def test_many_guesses_are_counted():
    plan = plan_of(*({**AGE_TO_120, "name": f"c{k}", "origin": "guess"} for k in range(200)))
    assert listed(guesses(plan)) == "kind and missing of c0, c1, c2 and 197 more"


COMMENTED = """\
# my plan  origin = "guess"
epsilon = 1.0   # a comment
[reading]
  encoding = "cp1252"
  origin   =   'guess'   # how it is read

[[column]]
name = "origin = \\"guess\\""
kind = "category"
domain = ["a", 'origin = "guess"', \"\"\"
origin = "guess"
\"\"\"]
origin = "guess"  # the kind\r
[[column]]
name = "b"
"origin" = "guess"
action = "drop"
"""


def test_confirming_changes_the_marks_and_not_one_other_byte():
    changed, found = confirm(COMMENTED, "plan.toml")
    assert [g.of for g in found] == ['origin = "guess"', "b", "the file"]
    expected = (
        COMMENTED.replace("origin   =   'guess'", "origin   =   'declared'")
        .replace('origin = "guess"  # the kind', 'origin = "declared"  # the kind')
        .replace('"origin" = "guess"', '"origin" = "declared"')
    )
    assert changed == expected
    require_confirmed(Plan.from_plain(tomllib.loads(changed)))


@pytest.mark.parametrize(
    "text",
    [
        'epsilon = 1.0\nreading = {encoding = "cp1252", origin = "guess"}\ncolumn = [{name = "a", origin="guess"}]\n',
        'epsilon = 1.0\nreading.origin = "guess"\nreading.header = "no"\n[[column]]\nname = "a"\norigin="guess"',
    ],
)
def test_marks_are_found_however_toml_writes_them(text):
    changed, found = confirm(text, "plan.toml")
    assert [g.of for g in found] == ["a", "the file"]
    assert raw_guesses(tomllib.loads(changed)) == ()
    assert changed == text.replace("guess", "declared")


def test_a_mark_in_a_form_that_is_not_understood_is_left_to_the_person():
    with pytest.raises(InputError, match="not on a line of its own"):
        confirm('[[column]]\nname = "a"\norigin = "gu\\u0065ss"\n', "plan.toml")


def test_what_was_confirmed_is_not_confirmed_twice():
    changed, _ = confirm(COMMENTED, "plan.toml")
    assert confirm(changed, "plan.toml") == (changed, ())


def test_lists_of_the_reading_are_said_in_words():
    raw = {"reading": {"header": "yes", "missing": ["NA", "-"], "renamed": [], "origin": "guess"}}
    (found,) = raw_guesses(raw)
    assert str(found) == "the file: header = yes, missing = NA|-, renamed = none"


def test_a_mechanism_for_numbers_is_not_planned_for_a_column_that_the_file_labels():
    table = Table(pl.DataFrame({"x": ["1", "2"] * 40, "y": [str(20 + k) for k in range(40)] * 2}), "made.sav")
    made = draft(profile(table), 1.0, mechanism_name="staircase", labelled={"x": ("1", "2")})
    x, y = tomllib.loads(made.toml)["column"]
    assert (x["kind"], x["domain"], x["mechanism"]) == ("category", ["1", "2"], "auto")
    assert (y["kind"], y["mechanism"]) == ("integer", "staircase")

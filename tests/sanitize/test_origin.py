"""What a draft takes from the rows is marked, listed, refused and confirmed; nothing else in a plan changes."""

from __future__ import annotations

import tomllib
from typing import Any

import polars as pl
import pytest

from workbench.data.columns.profile import profile
from workbench.data.table import Table
from workbench.params import InputError
from workbench.sanitize.origin import confirm, guesses, listed, places, raw_guesses, require_confirmed
from workbench.sanitize.plan import Plan
from workbench.sanitize.plan_template import draft

AGE = {"name": "age", "kind": "integer", "lower": 0, "upper": 120}


def plan_of(*columns: dict[str, Any], **keys: Any) -> Plan:
    return Plan.from_plain({"epsilon": 1.0, "column": list(columns), **keys})


def drafted(**columns: list[str | None]) -> dict[str, Any]:
    """The TOML of the draft of a table with these columns."""
    table = Table(pl.DataFrame(columns), "made.csv")
    return tomllib.loads(draft(profile(table), 1.0, target="label" if "label" in columns else None).toml)


def test_everything_that_a_draft_takes_from_the_rows_is_marked() -> None:
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


def test_two_drafts_of_neighbouring_tables_differ_in_nothing_that_is_not_marked() -> None:
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


def test_a_plan_that_a_person_wrote_holds_no_guess() -> None:
    require_confirmed(plan_of(AGE, {"name": "id", "action": "drop"}, reading={"encoding": "cp1252"}))


def test_the_refusal_is_one_sentence_that_lists_every_kind_of_guess() -> None:
    plan = plan_of(
        *({**AGE, "name": name, "origin": "guess"} for name in ("age", "pay")),
        {"name": "id", "action": "drop", "origin": "guess"},
        {"name": "town", "kind": "category", "domain": ["a", "b"]},
        reading={"encoding": "cp1252", "decimal": ",", "origin": "guess"},
    )
    with pytest.raises(InputError) as caught:
        require_confirmed(plan, "my plan.toml")
    assert str(caught.value) == (
        "the plan holds guesses from the rows that nobody has confirmed: kind and missing of age and pay; "
        "action of id; encoding and decimal of the file (my plan.toml); "
        "if they are right and public knowledge, run `workbench plan --confirm 'my plan.toml'`"
    )
    assert caught.value.exit_code == 2


def test_many_guesses_are_counted() -> None:
    plan = plan_of(*({**AGE, "name": f"c{k}", "origin": "guess"} for k in range(200)))
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


def test_confirming_changes_the_marks_and_not_one_other_byte() -> None:
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
def test_marks_are_found_however_toml_writes_them(text: str) -> None:
    changed, found = confirm(text, "plan.toml")
    assert [g.of for g in found] == ["a", "the file"]
    assert raw_guesses(tomllib.loads(changed)) == ()
    assert changed == text.replace("guess", "declared")


def test_a_mark_in_a_form_that_is_not_understood_is_left_to_the_person() -> None:
    with pytest.raises(InputError, match="not on a line of its own"):
        confirm('[[column]]\nname = "a"\norigin = "gu\\u0065ss"\n', "plan.toml")


def test_what_was_confirmed_is_not_confirmed_twice() -> None:
    changed, _ = confirm(COMMENTED, "plan.toml")
    assert confirm(changed, "plan.toml") == (changed, ())


def test_lists_of_the_reading_are_said_in_words() -> None:
    raw = {"reading": {"header": "yes", "missing": ["NA", "-"], "renamed": [], "origin": "guess"}}
    (found,) = raw_guesses(raw)
    assert str(found) == "the file: header = yes, missing = NA|-, renamed = none"


def test_a_mechanism_for_numbers_is_not_planned_for_a_column_that_the_file_labels() -> None:
    table = Table(pl.DataFrame({"x": ["1", "2"] * 40, "y": [str(20 + k) for k in range(40)] * 2}), "made.sav")
    made = draft(profile(table), 1.0, mechanism_name="staircase", labelled={"x": ("1", "2")})
    x, y = tomllib.loads(made.toml)["column"]
    assert (x["kind"], x["domain"], x["mechanism"]) == ("category", ["1", "2"], "auto")
    assert (y["kind"], y["mechanism"]) == ("integer", "staircase")

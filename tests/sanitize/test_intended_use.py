"""The three questions: what is suggested, which plan follows, and what a plan's file says of them."""

from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.columns.profile import ColumnProfile, Suspicion
from workbench.params import ParameterError
from workbench.params.codec import parse_toml
from workbench.sanitize.intended_use import (
    AVERAGES,
    FEW,
    FIGURES,
    MODEL,
    MOST,
    NAMES,
    PAIRS,
    RECIPIENTS,
    ROWS,
    IntendedUse,
    PlanQuestions,
    changes,
    questions_of,
    recipient_at,
    suggestion,
)
from workbench.sanitize.plan import Plan
from workbench.sanitize.wishes import Wish

KINDS = ("integer", "real", "category", "boolean", "date")


@dataclass(frozen=True)
class Planned:
    name: str
    action: str = "protect"
    role: str | None = None
    purpose: str = "statistics"


def _column(name: str, kind: str = "integer", distinct: int = 50, what: str = "") -> ColumnProfile:
    seen = (Suspicion(what, "seen"),) if what else ()
    return ColumnProfile(name=name, kind=kind, missing=0, distinct=distinct, suspicions=seen)


# -- what is suggested ------------------------------------------------------------------------------------------------


def test_of_a_small_table_everything_is_suggested_that_may_be():
    columns = [_column("id", what="identifier"), _column("age"), _column("city", "category", 12), _column("income")]
    made = suggestion(columns, 1000)
    assert made.needed == ("age", "city", "income")
    assert list(made.why_not) == ["id"]


@pytest.mark.parametrize("what", ["identifier", "e-mail", "phone", "name", "constant", "empty", "domain"])
def test_what_is_doubtful_is_never_suggested_and_says_why(what):
    made = suggestion([_column("x", "category", what=what), _column("age")], 1000)
    assert made.needed == ("age",)
    assert made.why_not["x"]


def test_near_unique_names_and_free_text_are_not_suggested_but_numbers_are():
    columns = [_column("remark", "category", 501), _column("Comments", "category", 40), _column("income", "real", 998)]
    made = suggestion(columns, 1000)
    assert made.needed == ("income",)
    assert set(made.why_not) == {"remark", "Comments"}


def test_of_sixty_columns_few_are_suggested_with_the_target_and_telling_names():
    columns = [_column(f"Q{i:02}", "category", 5) for i in range(56)]
    columns += [_column("Age"), _column("MaritalStatus", "category", 4), _column("visit", "date"), _column("outcome")]
    made = suggestion(columns, 2000)
    assert len(made.needed) == FEW
    assert {"Age", "MaritalStatus", "outcome"} <= set(made.needed)
    assert made.target == "outcome"
    assert "visit" not in made.needed
    assert set(made.why_not) == {c.name for c in columns} - set(made.needed)


def test_a_declared_identifier_is_never_suggested_and_a_declared_target_always():
    columns = [_column(f"a{i}") for i in range(30)]
    made = suggestion(columns, 1000, {"a3": "identifier", "a29": "target"})
    assert "a3" not in made.needed
    assert "a29" in made.needed
    assert made.target == "a29"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("age", "id", "label", "note", "sex", "q")),
            st.sampled_from(KINDS),
            st.integers(1, 1000),
            st.sampled_from(("", "", "identifier", "e-mail", "code", "name")),
        ),
        max_size=70,
    )
)
def test_a_suggestion_is_a_choice_of_at_most_twelve_in_the_order_of_the_table(drawn):
    columns = [_column(f"{name}_{i}", kind, distinct, what) for i, (name, kind, distinct, what) in enumerate(drawn)]
    made = suggestion(columns, 1000)
    names = [c.name for c in columns]
    assert len(made.needed) <= MOST
    assert list(made.needed) == [n for n in names if n in made.needed]
    assert set(made.needed) | set(made.why_not) == set(names)
    assert not set(made.needed) & set(made.why_not)
    able = [c for c in columns if c.name in made.needed]
    assert not [c for c in able for s in c.suspicions if s.what in ("identifier", "e-mail", "name")]
    assert not [c for c in able if c.kind == "category" and c.distinct > 500]


# -- what follows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asks", "way"),
    [
        ((ROWS,), "rows"),
        ((AVERAGES,), "statistics"),
        ((FIGURES,), "statistics"),
        ((AVERAGES, FIGURES), "statistics"),
        ((PAIRS,), "synthetic"),
        ((MODEL,), "model"),
        ((AVERAGES, PAIRS), "synthetic"),
        ((AVERAGES, ROWS), "synthetic"),
        ((AVERAGES, MODEL), "synthetic"),
        ((AVERAGES, PAIRS, MODEL, FIGURES), "synthetic"),
        ((MODEL, FIGURES), "model"),
        ((), "statistics"),
    ],
)
def test_the_way_follows_from_what_is_asked(asks, way):
    assert IntendedUse(asks=asks).way == way


def test_what_no_single_way_gives_is_for_a_second_release():
    """Only statistics have exact figures, and they have no pairs, no model and no rows."""
    for size in range(1, len(NAMES) + 1):
        for asks in combinations(NAMES, size):
            asked = IntendedUse(asks=asks)
            single = FIGURES not in asks or set(asks) <= {AVERAGES, FIGURES}
            assert asked.left_out(asked.way) == (() if single else (FIGURES,))
            assert asked.beside(asked.way) == ("" if single else "statistics")
    assert IntendedUse(asks=(AVERAGES, MODEL)).beside("statistics") == "model"
    assert IntendedUse(asks=(PAIRS, ROWS)).left_out("model") == (PAIRS, ROWS)


def test_a_wish_belongs_to_an_answer():
    def way(text: str, *asks: str) -> str:
        return IntendedUse(asks=asks, needed=("age", "pay"), wishes=(Wish.parse(text),)).way

    assert way("correlation(age, pay) ± 0.1", AVERAGES) == way("mean(age) ± 2", MODEL) == "synthetic"
    assert way("median(age) ± 2") == way("mean(age) ± 2") == "statistics"
    assert IntendedUse(asks=(MODEL,), needed=("pay",), wishes=(Wish.parse("mean(age) ± 2"),)).way == "model"


def test_noisy_rows_are_for_those_who_look_at_rows_alone():
    every = chain.from_iterable(combinations(NAMES, size) for size in range(len(NAMES) + 1))
    for asks in every:
        questions = IntendedUse(asks=asks)
        assert (questions.way == "rows") == (asks == (ROWS,))
        assert questions.purpose == ("values" if questions.way == "rows" else "statistics")


def test_who_gets_it_limits_what_is_offered():
    assert [r.most for r in RECIPIENTS] == [1, 3, 10]
    assert [recipient_at(Decimal(e)).name for e in ("0.1", "1", "1.5", "3", "10", "30")] == [
        "anyone",
        "anyone",
        "named",
        "named",
        "us",
        "us",
    ]
    assert IntendedUse(recipient="anyone").offered(Decimal(3)) == 1
    assert IntendedUse(recipient="named").offered(Decimal("0.5")) == Decimal("0.5")
    assert recipient_at(Decimal("nan")).name == "us"
    assert IntendedUse(recipient="named").offered(Decimal("nan")) == 3


def test_what_is_not_needed_is_dropped_and_what_is_needed_is_not():
    columns = (Planned("a"), Planned("b"), Planned("c", "drop", "identifier"), Planned("d", "keep"), Planned("e"))
    asked = IntendedUse(needed=("a", "c", "d", "e"), asks=(ROWS,), target="e")
    assert changes(asked, columns) == {
        "a": {"purpose": "values"},
        "b": {"action": "drop"},
        "c": {"action": "protect", "role": None, "purpose": "values"},
        "d": {"purpose": "values"},
        "e": {"role": "target", "purpose": "values"},
    }


@given(
    st.lists(
        st.tuples(st.sampled_from(("protect", "drop", "keep")), st.sampled_from((None, "identifier", "sensitive"))),
        min_size=1,
        max_size=9,
    ),
    st.data(),
)
def test_a_plan_answers_the_questions_that_it_was_made_of(drawn, data):
    columns = [Planned(f"c{i}", action, role) for i, (action, role) in enumerate(drawn)]
    needed = tuple(c.name for c in columns if data.draw(st.booleans()))
    target = data.draw(st.sampled_from((None, *needed)))
    asks = tuple(name for name in NAMES if data.draw(st.booleans()))
    asked = IntendedUse(needed=needed, asks=asks, target=target)
    made = [Planned(**{**vars(c), **changes(asked, columns).get(c.name, {})}) for c in columns]
    assert questions_of(made, Decimal(1), asked.asked) == asked
    assert changes(asked, made) == {}


def test_of_a_plan_that_says_nothing_the_questions_are_what_it_can_be_for():
    columns = (Planned("a"), Planned("b", role="target"), Planned("c", "drop"))
    found = questions_of(columns, Decimal(2), None)
    assert found == IntendedUse("named", ("a", "b"), (AVERAGES, PAIRS, MODEL), "b")


def test_wishes_about_columns_that_are_not_needed_any_more_are_told_apart():
    wishes = (Wish.parse("mean(a) ± 2"), Wish.parse("correlation(a, b) ± .1"))
    assert IntendedUse(needed=("a",), wishes=wishes).unanswered == wishes[1:]


# -- the file ---------------------------------------------------------------------------------------------------------


def test_a_plan_keeps_the_questions():
    raw = {
        "epsilon": 1.0,
        "questions": {"for": "named", "asks": ["model", "averages"], "wishes": ["mean age within 2 years"]},
        "column": [{"name": "age", "kind": "integer", "lower": 0, "upper": 100}],
    }
    plan = Plan.from_plain(raw)
    assert plan.questions == PlanQuestions(recipient="named", asks=(AVERAGES, MODEL), wishes=("mean(age) ± 2",))
    assert Plan.from_plain(parse_toml(plan.to_toml(), "plan")) == plan
    assert plan.published().questions is None


@pytest.mark.parametrize(
    ("questions", "part"),
    [
        ({"four": "named"}, "did you mean 'for'"),
        ({"for": "everyone"}, "not known"),
        ({"asks": ["pair"]}, "did you mean 'pairs'"),
        ({"wishes": ["mena(age) ± 2"]}, "did you mean 'mean'"),
    ],
)
def test_what_is_not_known_is_refused(questions, part):
    with pytest.raises(ParameterError, match=part):
        PlanQuestions.from_plain(questions, "questions")


def test_a_wish_finds_its_columns_whatever_their_capitals_unless_several_could_be_meant():
    kinds = {"Age": "integer", "Sex": "category", "pay": "real", "Pay": "real", "Sold by Sex": "integer"}
    assert Wish.parse("mean(AGE by sex) ± 2").checked(kinds).figure == "mean(Age by Sex)"
    assert Wish.parse("mean(sold by sex) ± 2").checked(kinds).columns == ("Sold by Sex",)
    assert Wish.parse("mean(pay) ± 2").checked(kinds).columns == ("pay",)
    assert Wish.parse("mean(Sold by Sex) ± 2").checked({**kinds, "sold": "integer"}).columns == ("Sold by Sex",)
    with pytest.raises(ParameterError, match="no column 'PAY'"):
        Wish.parse("mean(PAY) ± 2").checked(kinds)


@pytest.mark.parametrize(
    "text", ["mean(stay (days)) by ward and sex ± 2, weight 3", "mean(stay (days) by ward and sex) <= 2, weight 3"]
)
def test_groups_are_named_behind_the_brackets_too(text):
    wish = Wish.parse(text)
    assert (wish.columns, wish.by, wish.within, wish.weight) == (("stay (days)",), ("ward", "sex"), 2, 3)
    assert Wish.parse("mean(stay) by ward", 2) == Wish.parse("mean(stay by ward) ± 2")
    with pytest.raises(ParameterError, match="is not a wish"):
        Wish.parse("mean(stay) by ± 2")

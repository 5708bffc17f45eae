"""Wishes: figures and the margins that they must stay within, as text and as values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import ParameterError
from workbench.sanitize.wishes import CORRELATION, MEAN, SHARE, Wish

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
def test_a_wish_is_read_as_a_person_writes_it(text: str, wish: Wish) -> None:
    assert Wish.parse(text) == wish
    assert Wish.parse(wish.text) == wish


@given(
    st.one_of(
        st.builds(lambda a, m: Wish(MEAN, (a,), m), NAMES, MARGINS),
        st.builds(lambda a, v, m: Wish(SHARE, (a,), m / 100, v), NAMES, NAMES, MARGINS),
        st.builds(lambda a, m: Wish(CORRELATION, (a, a + "2"), m / 100), NAMES, MARGINS),
    )
)
def test_what_is_written_is_read_back(wish: Wish) -> None:
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
        ("share(sex) ± 3 %", "of one value"),
        ("mean(age) ± 3 %", "not a percentage"),
        ("mean(age) ± 0", "above 0"),
        ("mean(age) ± 1e999", "above 0"),
        ("share(sex=f) ± 120 %", "below 1"),
        ("correlation(age) ± .1", "two columns"),
        ("correlation(age, age) ± .1", "two columns"),
    ],
)
def test_what_is_no_wish_names_the_part_that_is_wrong(text: str, part: str) -> None:
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
def test_an_error_names_the_column(text: str, field: str, part: str) -> None:
    with pytest.raises(ParameterError, match=part) as caught:
        Wish.parse(text).checked(KINDS)
    assert caught.value.field == field


def test_a_column_whose_kind_nobody_knows_may_be_asked_for() -> None:
    assert Wish.parse("mean of Monthly income ± 2").checked(KINDS).columns == ("Monthly income",)

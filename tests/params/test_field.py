"""Declarations, their errors, and the way to and from plain values."""

import dataclasses
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import (
    InputError,
    ParameterError,
    Parameters,
    boolean,
    choice,
    integer,
    real,
    records,
    text,
    texts,
)
from workbench.params.codec import read_json, read_toml, write_toml
from workbench.params.errors import one_line


@dataclass(frozen=True, kw_only=True)
class Cup(Parameters):
    name: str = text(help="its name")
    litres: float = real(above=0, upto=10, help="volume", unit="l")


@dataclass(frozen=True, kw_only=True)
class Kitchen(Parameters):
    rooms: int = integer(default=1, at_least=1, help="rooms")
    open: bool = boolean(default=False, help="whether it is open")
    colour: str = choice(choices=("white", "green"), default="white", help="colour")
    guests: tuple[str, ...] | None = texts(default=None, shortest=2, help="guests")
    cups: tuple[Cup, ...] = records(Cup, default=(), help="cups")

    @classmethod
    def key_of(cls, name: str) -> str:
        return "cup" if name == "cups" else name


def test_an_entry_of_a_list_that_is_no_table_is_answered_with_the_keys_of_one():
    with pytest.raises(ParameterError) as caught:
        Kitchen.from_plain({"cup": [{"name": "a", "litres": 1}, "b"]})
    assert str(caught.value) == "cup number 2 = 'b' is not a table; give a table of the keys name, litres"


def test_a_refused_value_is_named_with_its_place_and_the_way_out():
    with pytest.raises(ParameterError) as caught:
        Kitchen.from_plain({"cup": [{"name": "big", "litres": 11}]}, where="kitchen.toml")
    assert str(caught.value) == (
        "litres = 11 is not a number above 0 and at most 10 (kitchen.toml, cup 'big'); "
        "give a number above 0 and at most 10"
    )


def test_a_near_miss_is_suggested():
    with pytest.raises(ParameterError, match="did you mean 'green'"):
        Kitchen(colour="gren")
    with pytest.raises(ParameterError, match="did you mean 'colour'"):
        Kitchen.from_plain({"color": "green"})


def test_a_missing_key_is_named():
    with pytest.raises(ParameterError, match=r"the key 'litres' is missing \(cup 'big'\)"):
        Kitchen.from_plain({"cup": [{"name": "big"}]})


def test_texts_refuse_a_value_twice_and_a_bare_string():
    with pytest.raises(ParameterError, match="twice"):
        Kitchen(guests=("a", "a"))
    with pytest.raises(ParameterError):
        Kitchen(guests="ab")  # type: ignore[arg-type]


def test_parameters_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Kitchen().rooms = 2  # type: ignore[misc]


def test_an_error_stays_one_line_whatever_the_value():
    with pytest.raises(ParameterError) as caught:
        Kitchen(colour="a\nb\x1b[31m")
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert one_line("a\nb") == "a\\nb"


@given(
    st.builds(
        Kitchen,
        rooms=st.integers(1, 10**9),
        open=st.booleans(),
        colour=st.sampled_from(["white", "green"]),
        guests=st.none() | st.lists(st.text(max_size=8), min_size=2, max_size=4, unique=True).map(tuple),
        cups=st.lists(st.builds(Cup, name=st.text(min_size=1, max_size=5), litres=st.floats(1e-9, 10)), max_size=3).map(
            tuple
        ),
    )
)
def test_toml_gives_back_what_it_was_given(tmp_path_factory, kitchen):
    path = tmp_path_factory.mktemp("toml") / "k.toml"
    path.write_text(write_toml(kitchen.to_plain()), encoding="utf-8", newline="")
    assert Kitchen.from_plain(read_toml(path, "kitchen")) == kitchen


@pytest.mark.parametrize(
    ("content", "said"), [(b"a = [", "is not TOML"), (b"\xff\xfe\x00", "is not UTF-8"), (None, "does not exist")]
)
def test_unreadable_toml_is_one_sentence(tmp_path, content, said):
    path = tmp_path / "x.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_toml(path, "plan")
    with pytest.raises(InputError, match="folder"):
        read_toml(tmp_path, "plan")


def test_json_nested_too_deeply_is_one_sentence(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text("[" * 200_000)
    with pytest.raises(InputError, match=r"nested too deeply|is not JSON"):
        read_json(path, "certificate")

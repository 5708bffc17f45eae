"""JSON and TOML of somebody else: what could be read in two ways, or exhausts who reads it, is one sentence."""

import json

import pytest

from workbench.params import InputError
from workbench.params.codec import parse_json, parse_toml, read_json, read_toml

DEEP = 100_000


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"epsilon": 0.01, "epsilon": 3}', "the card has the key 'epsilon' twice (here); ask for the original"),
        ('{"a": [{"b": 1, "\\u0062": 2}]}', "the card has the key 'b' twice (here); ask for the original"),
        ('{"\\u001b[2J": 1, "\\u001b[2J": 2}', "the card has the key '\\x1b[2J' twice (here); ask for the original"),
        ('{"a": NaN}', "the card contains NaN, which is not a JSON number (here)"),
        ("[-Infinity]", "the card contains -Infinity, which is not a JSON number (here)"),
        ("[1e999]", "the card contains 1e999, which is not a JSON number (here)"),
        (f"[{'9' * 301}]", f"the card contains {'9' * 24}, which is not a JSON number (here)"),
        ("[" * DEEP, "nested too deeply"),
        ('{"a":' * DEEP, "nested too deeply"),
        ("[" * 65 + "]" * 65, "nested too deeply"),
        ('{"a":' * 65 + "1" + "}" * 65, "nested too deeply"),
        ('["\\ud800"]', "the card contains half of a surrogate pair (here); ask for the original"),
        ('{"\\udc00": 1}', "the card contains half of a surrogate pair (here); ask for the original"),
        ('{"a": 1', "the card is not JSON: "),
    ],
)
def test_json_that_is_no_one_thing_is_one_sentence(text, sentence):
    with pytest.raises(InputError) as refused:
        parse_json(text, "card", "here")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_json_of_ours_is_read_as_before():
    value = {"a": [1, -2.5, 1e300, True, None, "ε \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")]}
    assert parse_json(json.dumps(value), "card") == value
    assert parse_json("[" * 64 + "]" * 64, "card") is not None
    assert parse_json("9" * 300, "card") == int("9" * 300)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = 1\na = 2", "Cannot overwrite a value"),
        ("a = " + "[" * DEEP, "nested too deeply"),
        ("a" + ".a" * 3_000 + " = 1", "nested too deeply"),
        ("[" + "a." * 3_000 + "a]\nb = 1", "nested too deeply"),
        ("a = " + "9" * 5_000, "a number that is too long"),
    ],
)
def test_toml_that_is_no_one_thing_is_one_sentence(text, sentence):
    with pytest.raises(InputError) as refused:
        parse_toml(text, "plan", "here")
    assert sentence in str(refused.value)


def test_the_file_is_named(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"a": 1, "a": 1}')
    with pytest.raises(InputError, match=r"twice \(.*x\.json\)"):
        read_json(path, "card")
    path.write_text("a = 1\na = 1")
    with pytest.raises(InputError, match=r"is not TOML.*\(.*x\.json\)"):
        read_toml(path, "plan")

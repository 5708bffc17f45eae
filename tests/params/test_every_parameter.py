"""Every parameter that exists refuses what no parameter may be, however the value comes in."""

import dataclasses
import importlib
import json
import math
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import workbench
from workbench.params import InputError, ParameterError, Parameters
from workbench.params.codec import parse_json
from workbench.params.field import BooleanField, ChoiceField, Field, IntegerField, RealField, TextField, TextsField
from workbench.params.lists import RecordsField

HEAVY = ("workbench.gui", "workbench.__main__")
NUMBERS = (RealField, IntegerField)


def _declared_everywhere() -> Iterator[tuple[type[Parameters], str, Field]]:
    for module in pkgutil.walk_packages(workbench.__path__, "workbench."):
        if not module.name.startswith(HEAVY):
            importlib.import_module(module.name)
    waiting = [Parameters]
    seen = set()
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls not in seen and cls.__module__.startswith("workbench."):
            seen.add(cls)
            for name, field in cls.declared().items():
                yield cls, name, field


PARAMETERS = sorted(_declared_everywhere(), key=lambda p: (p[0].__module__, p[0].__qualname__, p[1]))
CLASSES = sorted({cls for cls, _, _ in PARAMETERS}, key=lambda c: c.__qualname__)


def every_parameter(check: Callable[[type[Parameters], str, Field], None]) -> Callable[[], None]:
    """Make one test of a check of each: as a test of its own, each took ten times as long. A failure shows which."""

    def test():
        for declared in PARAMETERS:
            check(*declared)

    return test


def every_class(check: Callable[[type[Parameters]], None]) -> Callable[[], None]:
    """Make one test of a check of each class."""

    def test():
        for cls in CLASSES:
            check(cls)

    return test


NEVER_A_NUMBER: tuple[Any, ...] = (math.nan, math.inf, -math.inf, True, False, "1", [1], {}, 10**400, 1j, object())
NEVER_WRITTEN = (
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "1e999",
    "-1e999",
    "true",
    "1_000",
    "0x10",
    "",
    " ",
    "1,5",
    "١",
)


def test_there_are_parameters_of_every_kind():
    kinds = {type(field) for _, _, field in PARAMETERS}
    assert {RealField, IntegerField, BooleanField, ChoiceField, TextField, TextsField, RecordsField} <= kinds


@every_parameter
def test_numbers_refuse_what_is_no_number(cls, name, field):
    values = NEVER_A_NUMBER if isinstance(field, NUMBERS) else (math.nan, math.inf, object(), 1j)
    for value in values:
        with pytest.raises(ParameterError, match=name):
            field.check(value, name)


@every_parameter
def test_text_of_the_command_line_is_checked_alike(cls, name, field):
    if isinstance(field, NUMBERS):
        for text in NEVER_WRITTEN:
            with pytest.raises(ParameterError):
                field.parse(text, "--" + name)
    elif isinstance(field, (BooleanField, ChoiceField)):
        for text in {"", "1", "nan", "maybe so"} - set(getattr(field, "words", ())):
            with pytest.raises(ParameterError):
                field.parse(text, "--" + name)


@every_parameter
def test_bounds_hold_at_both_ends(cls, name, field):
    if not isinstance(field, NUMBERS):
        return
    unit = 1 if isinstance(field, IntegerField) else 0
    for bound, inside, outward in (
        (field.above, False, -1),
        (field.at_least, True, -1),
        (field.below, False, +1),
        (field.upto, True, +1),
    ):
        if bound is None:
            continue
        value = int(bound) if unit else float(bound)
        beyond = value + outward if unit else math.nextafter(value, outward * math.inf)
        with pytest.raises(ParameterError):
            field.check(beyond, name)
        if inside:
            assert field.check(value, name) == bound
        else:
            with pytest.raises(ParameterError):
                field.check(value, name)


@every_parameter
def test_a_missing_value_is_allowed_only_where_declared(cls, name, field):
    if field.optional:
        assert field.check(None, name) is None
    else:
        with pytest.raises(ParameterError, match="missing"):
            field.check(None, name)


@every_parameter
def test_every_parameter_explains_itself(cls, name, field):
    assert field.help or name == "name"
    assert not field.help.endswith(".")
    assert field.expected()


@every_class
def test_unknown_keys_are_refused_with_the_near_one(cls):
    known = next(iter(cls.declared()))
    with pytest.raises(ParameterError, match="is not known"):
        cls.from_plain({"no such key at all": 1})
    if len(known) > 3:
        with pytest.raises(ParameterError, match=f"did you mean {cls.key_of(known)!r}"):
            cls.from_plain({cls.key_of(known) + "x": 1})


@every_class
def test_defaults_pass_their_own_check(cls):
    for f in dataclasses.fields(cls):
        if f.name in cls.declared() and f.default is not dataclasses.MISSING:
            assert cls.declared()[f.name].check(f.default, f.name) == f.default


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_json_constants_that_json_has_not_are_refused(constant):
    assert json.loads(f"[{constant}]")  # what the standard library would let through
    with pytest.raises(InputError, match=constant):
        parse_json(f'{{"epsilon": {constant}}}', "file")


FORMS = ("workbench.learners", "workbench.deep", "workbench.rappor.decode")
"""What the window shows as forms."""


@every_parameter
def test_no_form_offers_a_code(cls, name, field):
    if isinstance(field, ChoiceField) and cls.__module__.startswith(FORMS):
        shown = [field.title_of(word) for word in field.words]
        assert not [text for text in shown if re.search(r"\w[-_]\w", text) or text in CODES], (cls, name)
        assert len(set(shown)) == len(shown), (cls, name)


CODES = {"pld", "rdp", "sgd", "adamw", "cuda", "cpu", "fdr"}

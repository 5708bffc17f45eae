"""A parameter is declared once: type, bounds, unit, symbol and help; everything else derives from that.

A parameter set is a frozen dataclass that inherits :class:`Parameters` and declares each attribute with
:func:`real`, :func:`integer`, :func:`boolean`, :func:`choice`, :func:`text`, :func:`texts` or :func:`records`::

    @dataclass(frozen=True, kw_only=True)
    class GaussianBudget(Parameters):
        epsilon: float = real(above=0, upto=1e6, symbol="ε", help="privacy loss of the release")

Whatever way a value comes in (constructor, TOML, JSON, command line), the same ``check`` sees it, so NaN,
infinities, booleans posing as numbers and numbers beyond double precision cannot enter anywhere.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Protocol, Self, TypeVar

from workbench.params.errors import ParameterError

METADATA_KEY = "parameter"
_REQUIRED: Any = dataclasses.MISSING
_REAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
_LETTERS = 3  # so many first letters are enough for a word
_WHOLE = re.compile(r"[+-]?\d+\Z", re.ASCII)

NUMBERS: Mapping[tuple[str, str], str] = {
    ("", ""): "a number",
    ("", "below"): "a number below {most}",
    ("", "at most"): "a number at most {most}",
    ("above", ""): "a number above {least}",
    ("above", "below"): "a number above {least} and below {most}",
    ("above", "at most"): "a number above {least} and at most {most}",
    ("at least", ""): "a number at least {least}",
    ("at least", "below"): "a number at least {least} and below {most}",
    ("at least", "at most"): "a number at least {least} and at most {most}",
}
"""What a number must be, by the kinds of its bounds: whole sentences, as each is translated as one."""
WHOLE_NUMBERS: Mapping[tuple[str, str], str] = {
    ("", ""): "a whole number",
    ("", "below"): "a whole number below {most}",
    ("", "at most"): "a whole number at most {most}",
    ("above", ""): "a whole number above {least}",
    ("above", "below"): "a whole number above {least} and below {most}",
    ("above", "at most"): "a whole number above {least} and at most {most}",
    ("at least", ""): "a whole number at least {least}",
    ("at least", "below"): "a whole number at least {least} and below {most}",
    ("at least", "at most"): "a whole number at least {least} and at most {most}",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Field:
    """The declaration of one parameter."""

    help: str = ""  # one line for a person, without a final full stop
    title: str = ""  # its name in a form, where the attribute's name is not enough
    symbol: str = ""  # the letter the literature uses (ε, δ, σ), or empty
    unit: str = ""  # the unit of the value, or empty
    optional: bool = False  # whether `None` (not given) is a value
    flag: str = ""  # the command-line option where it is not the attribute's name
    empty: str = ""  # what a form's field says while it is left empty
    advanced: bool = False  # whether it is rarely changed; a form shows it below the others

    def check(self, value: Any, name: str) -> Any:
        """Return ``value`` in its canonical type, or raise :class:`ParameterError` naming ``name``."""
        value = plain_scalar(value)
        if value is None:
            if self.optional:
                return None
            raise ParameterError(
                f"{name} is missing", hint=f"give {self.expected()}", code="bad-value", field=name.lstrip("-")
            )
        return self._check(value, name)

    def parse(self, string: str, name: str) -> Any:
        """Return the value written as ``string`` on the command line or in a form's entry."""
        return self.check(self._parse(string, name), name)

    def expected(self) -> str:
        """Return what a value must be, as the end of an error sentence."""
        raise NotImplementedError

    def called(self) -> str:
        """Return what a value is not, where :meth:`expected` is too long to say twice."""
        return self.expected()

    def refuse(self, value: Any, name: str) -> ParameterError:
        """Make the error for ``value``; long values are shortened."""
        shown = repr(value) if isinstance(value, str) else str(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "…"
        return ParameterError(
            f"{name} = {shown} is not {self.called()}",
            hint=f"give {self.expected()}",
            code="bad-value",
            field=name.lstrip("-"),
        )

    def _check(self, value: Any, name: str) -> Any:
        raise NotImplementedError

    def _parse(self, string: str, name: str) -> Any:
        return string

    def plain(self, value: Any) -> Any:
        """Return ``value`` as TOML and JSON hold it."""
        return value


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Number(Field):
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    upto: float | None = None

    ranges: ClassVar[Mapping[tuple[str, str], str]] = NUMBERS

    def expected(self) -> str:
        least = self.at_least if self.above is None else self.above
        most = self.upto if self.below is None else self.below
        low = "" if least is None else "at least" if self.above is None else "above"
        high = "" if most is None else "at most" if self.below is None else "below"
        return self.ranges[low, high].format(least=_short(least or 0), most=_short(most or 0))

    def check(self, value: Any, name: str) -> Any:
        """Check ``value``; the error for a number in quotes says so."""
        value = plain_scalar(value)
        if isinstance(value, str) and _REAL.match(value.strip()):
            bare = value.strip()
            raise ParameterError(
                f"{name} = {value!r} is text",
                hint=f"write it without quotes: {name} = {bare}",
                code="bad-value",
                field=name,
            )
        return super().check(value, name)

    def _in_range(self, value: float) -> bool:
        # Written as `not bound < value`-style conjunctions so that NaN fails every one of them.
        return (
            (self.above is None or value > self.above)
            and (self.at_least is None or value >= self.at_least)
            and (self.below is None or value < self.below)
            and (self.upto is None or value <= self.upto)
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RealField(_Number):
    """A finite double."""

    def _check(self, value: Any, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise self.refuse(value, name)
        try:
            number = float(value)
        except OverflowError:
            raise self.refuse(value, name) from None
        if not math.isfinite(number) or not self._in_range(number):
            raise self.refuse(value, name)
        return number

    def _parse(self, string: str, name: str) -> float:
        if not _REAL.match(string.strip()):
            raise self.refuse(string, name)
        return float(string)


@dataclasses.dataclass(frozen=True, kw_only=True)
class IntegerField(_Number):
    """A whole number; a real such as 3.0 is refused, so that a typing slip is not rounded away."""

    ranges: ClassVar[Mapping[tuple[str, str], str]] = WHOLE_NUMBERS

    def _check(self, value: Any, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self._in_range(value):
            raise self.refuse(value, name)
        return value

    def _parse(self, string: str, name: str) -> int:
        if not _WHOLE.match(string.strip()) or len(string) > 40:
            raise self.refuse(string, name)
        return int(string)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BooleanField(Field):
    """True or false; the numbers 0 and 1 are refused."""

    def expected(self) -> str:
        return "true or false"

    def _check(self, value: Any, name: str) -> bool:
        if not isinstance(value, bool):
            raise self.refuse(value, name)
        return value

    def _parse(self, string: str, name: str) -> bool:
        known = {"true": True, "yes": True, "false": False, "no": False}
        if string.strip().lower() not in known:
            raise self.refuse(string, name)
        return known[string.strip().lower()]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextField(Field):
    """A string of at most ``longest`` characters; empty only where declared so."""

    longest: int = 4096  # how many characters it may have
    may_be_empty: bool = False  # whether it may have none
    # What it is the path of, such as `table` or `weights`, which a form lets a person choose; `kept` for a file that a
    # release changes; empty for no path.
    file: str = ""

    def expected(self) -> str:
        return f"a text of {0 if self.may_be_empty else 1} to {self.longest} characters"

    def _check(self, value: Any, name: str) -> str:
        if not isinstance(value, str) or len(value) > self.longest or not (value or self.may_be_empty):
            raise self.refuse(value, name)
        return value


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChoiceField(Field):
    """One of a few words, or of those that a list has when it is asked; a near miss is answered "did you mean"."""

    choices: tuple[str, ...] | Callable[[], tuple[str, ...]]  # the words
    titles: Mapping[str, str] = dataclasses.field(default_factory=dict)  # what a form calls those that are codes

    def title_of(self, word: str) -> str:
        """Return what a form calls one of the words: its title, or the word itself where it is plain English."""
        return self.titles.get(word, word)

    @property
    def words(self) -> tuple[str, ...]:
        """The words."""
        return self.choices() if callable(self.choices) else self.choices

    def expected(self) -> str:
        choices = ", ".join(self.words)
        return f"one of {choices}"

    def _check(self, value: Any, name: str) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        if isinstance(value, str):
            near = did_you_mean(value, self.words)
            raise ParameterError(f"{name} = {value!r} is not known{near}", hint=f"choose {self.expected()}")
        raise self.refuse(value, name)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextsField(Field):
    """A list of distinct strings (a domain, names of columns)."""

    shortest: int = 0  # how many there are at least
    most: int = 1_000_000  # how many there are at most
    repeated: bool = False  # whether its option is given once for each of them, and not once with commas between them

    def expected(self) -> str:
        return f"a list of at least {self.shortest} different texts" if self.shortest else "a list of different texts"

    def _check(self, value: Any, name: str) -> tuple[str, ...]:
        if isinstance(value, str) or not isinstance(value, (list, tuple)):
            raise self.refuse(value, name)
        if not all(isinstance(v, str) for v in value):
            quoted = ", ".join(f'"{v}"' for v in list(value)[:3])
            raise ParameterError(f"{name} holds non-string values", hint=f"write each in quotes: [{quoted}]")
        if not self.shortest <= len(value) <= self.most:
            raise self.refuse(value, name)
        seen: set[str] = set()
        for v in value:
            if v in seen:
                raise ParameterError(f"{name} names {v!r} twice", hint="list each value once")
            seen.add(v)
        return tuple(value)

    def _parse(self, string: str | list[str], name: str) -> list[str]:
        return string if isinstance(string, list) else [part.strip() for part in string.split(",")]

    def plain(self, value: Any) -> Any:
        return None if value is None else list(value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parameters:
    """A frozen set of declared parameters; every subclass is checked when it is made."""

    def __post_init__(self) -> None:
        """Check every declared value; raise :class:`ParameterError` on the first that is refused."""
        for name, field in self.declared().items():
            given = getattr(self, name)
            checked = field.check(given, self.key_of(name))
            if checked is not given:
                object.__setattr__(self, name, checked)

    @classmethod
    def declared(cls) -> Mapping[str, Field]:
        """Return the declarations by attribute name, in order."""
        return _declared(cls)  # type: ignore[arg-type]  # a class has a hash of its own, not its objects'

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """Make the set from the keys and values of a TOML or JSON table.

        Raises:
            ParameterError: a key is unknown or missing, or a value is refused; ``where`` names the table.
        """
        fields = {f.name: f for f in dataclasses.fields(cls)}
        keys = {cls.key_of(name): name for name in fields}
        for key in values:
            if key not in keys:
                raise ParameterError(
                    f"the key {key!r} is not known{did_you_mean(str(key), keys)}",
                    where,
                    "remove or rename it",
                )
        missing = [k for k, n in keys.items() if k not in values and _is_required(fields[n])]
        if missing:
            field = fields[keys[missing[0]]].metadata.get(METADATA_KEY)
            raise ParameterError(
                f"the key {missing[0]!r} is missing", where, f"give {field.expected()}" if field else "give it"
            )
        try:
            return cls(**{keys[k]: v for k, v in values.items()})
        except ParameterError as error:
            twice = error.where == where.replace("'", "")  # column a, of an entry that is called column 'a'
            place = where if twice else ", ".join(w for w in (where, error.where) if w)
            raise error.at(place) from None

    @classmethod
    def key_of(cls, name: str) -> str:
        """Return the file key of attribute ``name`` (a plan writes ``column``, the class ``columns``)."""
        return name

    def to_plain(self) -> dict[str, Any]:
        """Return the values that differ from their defaults, as TOML and JSON hold them."""
        out: dict[str, Any] = {}
        for f in dataclasses.fields(self):
            spec: Field | None = f.metadata.get(METADATA_KEY)
            value = getattr(self, f.name)
            if spec is not None and value is not None and (_is_required(f) or value != f.default):
                out[self.key_of(f.name)] = spec.plain(value)
        return out


@functools.cache  # every set is checked when it is made, and a plan or a request makes many
def _declared(cls: type[Parameters]) -> Mapping[str, Field]:
    found = {f.name: f.metadata[METADATA_KEY] for f in dataclasses.fields(cls) if METADATA_KEY in f.metadata}
    return MappingProxyType(found)


_PLAIN = (str, int, float, bool, NoneType, tuple)


def plain_scalar(value: Any) -> Any:
    """Return the Python number, truth value or text that a scalar of numpy holds; anything else as it is."""
    if type(value) in _PLAIN:
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "dtype") and hasattr(value, "item"):
        return value.item()
    return value


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _short(number: float) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``, did you mean 'x'?`` for the nearest of ``known`` or the one that begins so, or nothing."""
    known = list(known)
    begun = [k for k in known if len(word) >= _LETTERS and k.lower().startswith(word.lower())]
    lower = [k.lower() for k in known]
    near = [min(begun, key=len)] if begun else []
    near = near or [known[lower.index(k)] for k in difflib.get_close_matches(word.lower(), lower, n=1, cutoff=0.6)]
    return f", did you mean {near[0]!r}?" if near else ""


class Named(Protocol):
    """An entry of a list."""

    @property
    def name(self) -> str:
        """The word that it is asked for by."""


Entry = TypeVar("Entry", bound=Named)


def named(entries: Sequence[Entry], name: str, what: str) -> Entry:
    """Return the entry of a list that is called ``name``.

    Raises:
        ParameterError: there is none; the message says so of a ``what`` and suggests a similar name.
    """
    for entry in entries:
        if entry.name == name:
            return entry
    known = [entry.name for entry in entries]
    raise ParameterError(
        f"the {what} {name!r} is not known{did_you_mean(name, known)}", hint=f"choose one of {', '.join(known)}"
    )


def declared_by(field: Field, *, default: Any = _REQUIRED) -> Any:
    """Declare a parameter by a field of its own kind; one that is ``None`` by default may be left out."""
    spec = dataclasses.replace(field, optional=True) if default is None else field
    return dataclasses.field(default=default, metadata={METADATA_KEY: spec})


def declaring(kind: type[Field]) -> Callable[..., Any]:
    """Return what declares a parameter of this kind by the attributes of its field, and a default where it has one."""
    return lambda *, default=_REQUIRED, **spec: declared_by(kind(**spec), default=default)


real, integer, boolean = declaring(RealField), declaring(IntegerField), declaring(BooleanField)
text, texts = declaring(TextField), declaring(TextsField)


def choice(*, choices: Iterable[str] | Callable[[], tuple[str, ...]], default: Any = _REQUIRED, **spec: Any) -> Any:
    """Declare a parameter that is one of a few words, or of those of a list that is read when it is needed."""
    words = choices if callable(choices) else tuple(choices)
    return declared_by(ChoiceField(choices=words, **spec), default=default)

"""Lists of positive numbers, written out or as a geometric range."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from typing import Any

from workbench.params.errors import ParameterError
from workbench.params.field import Field, Parameters, RealField, declaring


@dataclasses.dataclass(frozen=True, kw_only=True)
class LevelsField(Field):
    """Different numbers above 0, kept in ascending order.

    Written ``0.1,1,10``, or ``0.1:100:13`` for 13 numbers in equal ratios from 0.1 to 100, ends included. Numbers of
    a range are rounded to 12 digits, so that those which should be round are (0.1:100:13 holds 1 and 10).
    """

    at_least: float = 1e-9
    upto: float = 1e6
    most: int = 1000

    def expected(self) -> str:
        return f"numbers from {self.at_least:g} to {self.upto:g} such as 0.1,1,10 or 0.1:100:13"

    def _number(self) -> RealField:
        return RealField(at_least=self.at_least, upto=self.upto)

    def _check(self, value: Any, name: str) -> tuple[float, ...]:
        if isinstance(value, str) or not isinstance(value, (list, tuple)) or not 1 <= len(value) <= self.most:
            raise self.refuse(value, name)
        levels = sorted(self._number().check(v, f"a number of {name}") for v in value)
        for former, level in itertools.pairwise(levels):
            if former == level:
                raise ParameterError(f"{name} names {level:g} twice", hint="name each number once")
        return tuple(levels)

    def _parse(self, string: str, name: str) -> list[float]:
        if ":" not in string:
            return [self._number().parse(part, f"a number of {name}") for part in string.split(",")]
        parts = [part.strip() for part in string.split(":")]
        if len(parts) != 3 or not parts[2].isascii() or not parts[2].isdigit() or len(parts[2]) > 6:
            raise ParameterError(f"{name} = {string!r} is not a range", hint="write it as LOWEST:HIGHEST:HOW-MANY")
        low, high = (self._number().parse(part, f"an end of {name}") for part in parts[:2])
        count = int(parts[2])
        if not low < high or not 2 <= count <= self.most:
            raise ParameterError(
                f"{name} = {string!r} is not a range of 2 to {self.most} rising numbers",
                hint="write it as LOWEST:HIGHEST:HOW-MANY, such as 0.1:100:13",
            )
        return [low, *_between(low, high, count), high]

    def plain(self, value: Any) -> Any:
        return None if value is None else list(value)


def _between(low: float, high: float, count: int) -> list[float]:
    start, ratio = math.log(low), math.log(high) - math.log(low)
    return [float(f"{math.exp(start + ratio * i / (count - 1)):.12g}") for i in range(1, count - 1)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class NestedField(Field):
    """One parameter set of class ``of``."""

    of: type[Parameters]

    def expected(self) -> str:
        return f"a table of the keys {', '.join(map(self.of.key_of, self.of.declared()))}"

    def called(self) -> str:
        return "a table"

    def _check(self, value: Any, name: str) -> Parameters:
        if isinstance(value, self.of):
            return value
        if isinstance(value, Mapping):
            return self.of.from_plain(value, where=name)
        raise self.refuse(value, name)

    def plain(self, value: Any) -> Any:
        return None if value is None else value.to_plain()


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordsField(Field):
    """A list of parameter sets of one class (the columns of a plan)."""

    of: type[Parameters]
    named: str = "name"

    def expected(self) -> str:
        return f"a list of {self.of.__name__} tables"

    def _check(self, value: Any, name: str) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise self.refuse(value, name)
        out = []
        for position, item in enumerate(value, start=1):
            if isinstance(item, self.of):
                out.append(item)
            elif isinstance(item, Mapping):
                title = item.get(self.named)
                place = f"{name} {title!r}" if isinstance(title, str) else f"{name} number {position}"
                out.append(self.of.from_plain(item, where=place))
            else:
                raise NestedField(of=self.of).refuse(item, f"{name} number {position}")
        return tuple(out)

    def plain(self, value: Any) -> Any:
        return [item.to_plain() for item in value]


levels = declaring(LevelsField)


def nested(of: type[Parameters], **spec: Any) -> Any:
    """Declare a parameter that is one parameter set."""
    return declaring(NestedField)(of=of, **spec)


def records(of: type[Parameters], **spec: Any) -> Any:
    """Declare a parameter that is a list of parameter sets."""
    return declaring(RecordsField)(of=of, **spec)

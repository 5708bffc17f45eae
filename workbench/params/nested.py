"""Parameters that are parameter sets of their own: one (``[reading]`` of a plan) or a list of them (``[[column]]``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.params.field import _REQUIRED, Field, Parameters, _declare


@dataclasses.dataclass(frozen=True, kw_only=True)
class NestedField(Field):
    """One parameter set of class ``of``."""

    of: type[Parameters]

    def expected(self) -> str:
        """Return what a value must be, in words."""
        return f"a table of the keys {', '.join(map(self.of.key_of, self.of.declared()))}"

    def _check(self, value: Any, name: str) -> Parameters:
        if isinstance(value, self.of):
            return value
        if isinstance(value, Mapping):
            return self.of.from_plain(value, where=name)
        raise self.refuse(value, name)

    def plain(self, value: Any) -> Any:
        """Return ``value`` as TOML and JSON hold it."""
        return None if value is None else value.to_plain()


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordsField(Field):
    """A list of parameter sets of one class (the columns of a plan)."""

    of: type[Parameters]
    named: str = "name"

    def expected(self) -> str:
        """Say what a value must be."""
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
                raise self.refuse(item, f"{name} number {position}")
        return tuple(out)

    def plain(self, value: Any) -> Any:
        """Return ``value`` as TOML and JSON hold it."""
        return [item.to_plain() for item in value]


def nested(of: type[Parameters], *, default: Any = _REQUIRED, **spec: Any) -> Any:
    """Declare a parameter that is one parameter set."""
    return _declare(NestedField(of=of, **spec), default)


def records(of: type[Parameters], *, default: Any = _REQUIRED, **spec: Any) -> Any:
    """Declare a parameter that is a list of parameter sets."""
    return _declare(RecordsField(of=of, **spec), default)

"""A parameter that is a parameter set of its own (the table ``[reading]`` of a plan)."""

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


def nested(of: type[Parameters], *, default: Any = _REQUIRED, **spec: Any) -> Any:
    """Declare a parameter that is one parameter set."""
    return _declare(NestedField(of=of, **spec), default)

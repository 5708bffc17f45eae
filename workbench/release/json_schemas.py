"""The published JSON schemas, and validation against them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from workbench.paths import resources


def schema_problems(document: Any, name: str) -> list[str]:
    """Return each violation of the schema ``name`` in ``document``, its position first."""
    return [f"{e.json_path}: {e.message[:200]}" for e in _validator(name).iter_errors(document)]


@cache
def _validator(name: str) -> Any:
    """Return the validator of a schema; 200.0 is no whole number here, although JSON Schema takes it for one."""
    import jsonschema

    usual = jsonschema.Draft202012Validator
    types = usual.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    return jsonschema.validators.extend(usual, type_checker=types)(_schema(name))


def _schema(name: str) -> dict[str, Any]:
    text = (resources() / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema

"""The published JSON schemas, and validation against them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from workbench.paths import resources


def schema_problems(document: Any, name: str) -> list[str]:
    """Return each violation of the schema ``name`` in ``document``, its position first."""
    import jsonschema

    validator = jsonschema.Draft202012Validator(_schema(name))
    return [f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(document)]


@cache
def _schema(name: str) -> dict[str, Any]:
    text = (resources() / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema

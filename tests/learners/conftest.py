"""Golden values by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def golden(shared_data: Path) -> Callable[..., float]:
    """Return the value of the one golden entry with this name whose inputs mention ``among``."""
    entries = json.loads((shared_data / "golden.json").read_text())

    def value(name: str, among: str = "") -> float:
        (found,) = (e["value"] for e in entries if e["name"] == name and among in json.dumps(e["inputs"]))
        return float(found)

    return value

"""Golden values by name."""

import json

import pytest


@pytest.fixture
def golden(golden_entries):
    """Return the value of the one golden entry with this name whose inputs mention ``among``."""

    def value(name: str, among: str = "") -> float:
        (found,) = (e["value"] for e in golden_entries if e["name"] == name and among in json.dumps(e["inputs"]))
        return float(found)

    return value

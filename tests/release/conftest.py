"""Where the tests of releases release to, and what they charge."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for outputs alone."""
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Where the ledger will be."""
    return tmp_path / "ledger.sqlite"

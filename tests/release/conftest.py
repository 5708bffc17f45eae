"""Fixtures of the tests of releases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.release.ledger.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the ledger is."""
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    """A ledger that is open."""
    with Ledger.open(path) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where releases go."""
    made = tmp_path / "out"
    made.mkdir()
    return made

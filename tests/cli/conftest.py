"""Fixtures of the command-line tests: a command called in this process, and a folder to call it in."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_cases import Run, runner, sanitize, written


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process and return its answer."""
    return runner(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own to stand in, with the little table and its plan."""
    made = tmp_path / "here"
    made.mkdir()
    written(made)
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    """A folder with a small release, and nothing else but the table it was made from."""
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(*sanitize()).code == 0
    return tmp_path

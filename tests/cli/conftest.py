"""Fixtures of the command-line tests: a command called in this process, and a folder to call it in."""

import pytest
from command_cases import cities, runner, sanitize, written


@pytest.fixture
def run(capsys):
    """Run a command line in this process and return its answer."""
    return runner(capsys)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own to stand in, with the little table and its plan."""
    made = tmp_path / "here"
    made.mkdir()
    written(made)
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def of_cities(tmp_path, monkeypatch):
    """A folder to stand in, with a table in which age tells the city, and its plan."""
    monkeypatch.chdir(tmp_path)
    return cities(tmp_path)


@pytest.fixture
def released(tmp_path, monkeypatch, run):
    """A folder with a small release, and nothing else but the table it was made from."""
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(*sanitize()).code == 0
    return tmp_path

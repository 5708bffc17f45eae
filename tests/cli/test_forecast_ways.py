"""``forecast --rows``: the four ways to release side by side, without reading data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.cli import main


def test_the_ways_stand_beside_the_forecast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = str(tmp_path / "plan.toml")
    assert main(["plan", "sample:people", "--epsilon", "1", "--target", "label", "-o", plan]) == 0
    capsys.readouterr()
    assert main(["forecast", "--plan", plan, "--rows", "2000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["release"]
    assert [way["name"] for way in told["ways"]] == ["rows", "synthetic", "statistics", "model"]
    assert told["advised"] == "synthetic"
    assert all(len(way["half_lengths"]) == len(told["questions"]) for way in told["ways"])
    assert main(["forecast", "--plan", plan, "--rows", "2000"]) == 0
    text = capsys.readouterr().out
    assert "what could be released" in text
    assert "advised: synthetic." in text
    assert main(["forecast", "--plan", plan, "--json"]) == 0
    assert "release" not in json.loads(capsys.readouterr().out)

"""``forecast --rows``: the four ways to release side by side, without reading data."""

from __future__ import annotations

from pathlib import Path

from command_cases import Run


def test_the_ways_stand_beside_the_forecast(tmp_path: Path, run: Run) -> None:
    plan = str(tmp_path / "plan.toml")
    assert run("plan", "sample:people", "--epsilon", "1", "--target", "label", "-o", plan).code == 0
    told = run("forecast", "--plan", plan, "--rows", "2000", "--json").done["release"]
    assert [way["name"] for way in told["ways"]] == ["rows", "synthetic", "statistics", "model"]
    assert told["advised"] == "synthetic"
    assert all(len(way["half_lengths"]) == len(told["questions"]) for way in told["ways"])
    text = run("forecast", "--plan", plan, "--rows", "2000").shown
    assert "what could be released" in text
    assert "advised: synthetic." in text
    assert "release" not in run("forecast", "--plan", plan, "--json").done

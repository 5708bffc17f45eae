"""The most frequent value of a column: ticked, forecast, released by clicks."""

# ruff: noqa: F811 - a fixture has the name of what is imported
from __future__ import annotations

import csv

from mishaps import statuses
from test_statistics_page import TABLE, asked, hands, ready, release, target  # noqa: F401 - fixtures


def test_the_most_frequent_value_is_forecast_released_and_shown(ready, hands, press, idle, release, target):
    press(ready, "statistics_none")
    idle(ready)
    hands.click_cell(TABLE, "age", "Most frequent")  # numbers have none
    idle(ready)
    assert asked(ready) == []
    hands.click_cell(TABLE, "sex", "Most frequent")
    idle(ready)
    assert asked(ready) == [("mode", "sex")]
    assert hands.cell(TABLE, "sex", "Most frequent") == "lead ≥ 3"
    release()
    (line,) = csv.DictReader(target.read_text("utf-8").splitlines())
    assert line["statistic"] == "mode"
    assert line["value"] in ("female", "male")
    assert statuses() == ["charged"]

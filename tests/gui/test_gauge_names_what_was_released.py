"""The budget gauge calls a plan released only where its table was."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

from workbench.gui.session.account_view import ReleasedStep


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ([{"model": True}], "a model released"),
        ([{"central": "synthetic"}, {"model": True}], "synthetic rows, a model released"),
        ([{"model": True}, {}], "table released"),
    ],
)
def test_the_gauge_names_what_was_released_by_this_plan(window, press, idle, how, told):
    press(window, "sample_people")
    idle(window)
    for number, kind in enumerate(how):
        window.session.add_release(ReleasedStep(f"r{number}", Path("."), window.session.plan, Decimal(1), **kind))
    assert window.findChild(QLabel, "fact_plan").text() == told

"""The last question before ε is spent says the same on every page of a release."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hands import show
from mishaps import retype, statuses
from PySide6.QtWidgets import QComboBox

from workbench.release.ledger.study_note import note_study

PAGES = {
    "release": ("release_target", "release_now"),
    "statistics": ("release_target", "release_now"),
    "synthetic": ("release_target", "release_now"),
    "rappor": ("rappor_output", "rappor_release"),
}


@pytest.mark.parametrize("page", PAGES)
def test_private_figures_and_a_high_epsilon_are_named_before_it_is_spent(
    people, page, press, idle, answer, qtbot, tmp_path
):
    note_study(people.session.opened.table, "rappor", emit=lambda _event: None)
    people.session.set_epsilon(Decimal(6))
    show(people, page)
    idle(people)
    output, release = PAGES[page]
    retype(people, qtbot, output, tmp_path / "out.csv")
    if page == "rappor":
        box = people.findChild(QComboBox, "rappor_source")
        box.setCurrentIndex(box.findText("column sex"))
        retype(people, qtbot, "rappor_f", "0.1")
        retype(people, qtbot, "rappor_each", "50")
    told = answer("no")
    press(people, release)
    qtbot.waitUntil(lambda: bool(told))
    idle(people)
    assert "It cannot be undone" in told[0]
    assert " is high: a suspicion of 10 %" in told[0]
    assert "Outside the guarantee:\n• " in told[0]
    assert "Private figures of these rows were shown before" in told[0]
    assert statuses() == []

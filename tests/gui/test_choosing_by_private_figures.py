"""Who chooses settings by private figures is told what that gives away."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget

from workbench.gui.pages.train.run_card import RunCard
from workbench.gui.session.session import Session
from workbench.signals.events import Spread


@pytest.mark.parametrize("clipped", [100, 50, 1])
def test_a_remark_or_a_study_says_what_choosing_by_it_costs(qapp, clipped):
    card = RunCard(Session())
    words = card.findChild(QWidget, "train_choosing")
    assert not words.isVisibleTo(card)
    card._take_spread(Spread("norms", 3, (1.0,), (100 - clipped, clipped)))
    assert words.isVisibleTo(card) == card.findChild(QWidget, "train_clipped").isVisibleTo(card) == (clipped != 50)
    assert "more of the rows than ε says" in words.text()
    assert "The ledger notes that private figures were shown" in words.text()
    card.clear()
    assert not words.isVisibleTo(card)
    card.show_stages((("no privacy", 0.9, 30), ("clipped", 0.8, 30), ("clipped and noisy", 0.7, 30)))
    assert words.isVisibleTo(card)

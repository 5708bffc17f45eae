"""Who chooses settings by private figures is told what that gives away, and the card of the next network says so."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

import pytest
from PySide6.QtWidgets import QWidget

from workbench.deep.networks import network as network_of
from workbench.gui.pages.train.run_card import RunCard
from workbench.gui.pages.train.tasks import first_plan, train_apart
from workbench.gui.pages.train.training_rows import NetworkRun, TableRows
from workbench.gui.session.session import Session
from workbench.jobs import network
from workbench.release.model.choosing import CHOSEN
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Spread, ignore

needs_torch = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("torch") is None, reason="networks need PyTorch"
)


@pytest.mark.parametrize("clipped", [100, 50, 1])
def test_a_remark_or_a_study_says_what_choosing_by_it_costs(qapp, clipped):
    session = Session()
    session._opened = object()  # a table, as far as the card is concerned
    card = RunCard(session)
    words = card.findChild(QWidget, "train_choosing")
    assert (words.isVisibleTo(card), card.told) == (False, False)
    card._take_spread(Spread("norms", 3, (1.0,), (100 - clipped, clipped)))
    assert words.isVisibleTo(card) == card.findChild(QWidget, "train_clipped").isVisibleTo(card) == (clipped != 50)
    assert "beyond ε" in words.text()
    assert card.told, "the figures themselves stand there, remark or not"
    card.clear()
    assert not words.isVisibleTo(card)
    card.show_stages((("no privacy", 0.9, 30), ("clipped", 0.8, 30), ("clipped and noisy", 0.7, 30)))
    assert words.isVisibleTo(card)
    session._opened = object()
    assert not card.told, "another table"


@needs_torch
@pytest.mark.parametrize("told", [False, True])
def test_the_card_of_the_next_network_says_that_figures_were_shown_before(monkeypatch, tmp_path, told):
    tasks = []
    monkeypatch.setattr(network, "train_network", lambda task, *_: tasks.append(task))
    plan = Plan.from_plain(
        {
            "epsilon": 1.0,
            "column": [
                {"name": "age", "kind": "integer", "lower": 0, "upper": 120, "mechanism": "staircase"},
                {"name": "city", "kind": "category", "domain": ["Graz", "Linz"], "mechanism": "grr"},
            ],
        }
    )
    rows = TableRows(SimpleNamespace(table=None), plan, "city", 100)
    run = NetworkRun(first_plan(network_of("logistic"), 100, Decimal(1)), tmp_path, told=told)
    train_apart(rows, run, ignore, CancelToken())
    assert (CHOSEN in tasks[0].outside) == told

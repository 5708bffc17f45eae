"""A column like a blood sugar at a small share: its relations fade, and every page that shows it says so alike."""

import random
from decimal import Decimal

import pytest
from mishaps import told
from PySide6.QtWidgets import QLabel

from workbench.gui.pages.protect.share_model import ERROR
from workbench.gui.widgets.correlation_matrix import lost_words
from workbench.studies.spreads_and_pairs import Pairs

FACTS = {
    "Glucose": {"kind": "integer", "lower": 0.0, "upper": 200.0, "purpose": "values", "epsilon": Decimal("0.5")},
    "Outcome": {"kind": "category", "domain": ("0", "1"), "epsilon": Decimal("4.5")},
}


@pytest.fixture
def diabetes(window, idle, tmp_path):
    """A table whose Glucose goes with its Outcome, declared from 0 to 200."""
    draw = random.Random(1)
    sick = [draw.random() < 0.35 for _ in range(768)]
    rows = [f"{min(max(round(draw.gauss(142 if one else 110, 27)), 0), 200)},{int(one)}" for one in sick]
    (tmp_path / "diabetes.csv").write_text("\n".join(["Glucose,Outcome", *rows]) + "\n")
    window.open(str(tmp_path / "diabetes.csv"))
    idle(window)
    window.session.set_target("Outcome")
    window.session.set_epsilon(Decimal(5))
    window.session.edit("declare", window.session.plan.with_columns(FACTS))
    idle(window)
    return window


def share(window, idle, epsilon: str) -> None:
    """Give Glucose this share, and Outcome the rest of ε = 5."""
    parts = {"Glucose": {"epsilon": Decimal(epsilon)}, "Outcome": {"epsilon": 5 - Decimal(epsilon)}}
    window.session.edit("share", window.session.plan.with_columns(parts))
    idle(window)


def at_glucose(window, press, idle) -> str:
    press(window, "tab_protect")
    idle(window)
    window.page.table.setFocus()
    window.page.table.setCurrentIndex(window.page.shares.index(0, ERROR))
    return told(window, "share_warning")


def test_protect_says_how_far_relations_shrink_with_a_way_out(diabetes, press, idle):
    said = at_glucose(diabetes, press, idle)
    assert "mostly noise" in said
    assert "Its relations with other columns shrink to about 13 %" in said
    assert "release synthetic rows or a private model" in said
    share(diabetes, idle, "1.8")  # nearer than a constant, and yet
    said = told(diabetes, "share_warning")
    assert "mostly noise" not in said
    assert said.startswith("⚠ Its relations with other columns shrink to about 4")
    assert "release synthetic rows or a private model" in said
    cell = diabetes.page.shares.index(0, ERROR)
    assert cell.data().endswith("⚠")
    share(diabetes, idle, "3.5")
    assert told(diabetes, "share_warning") == ""
    assert not cell.data().endswith("⚠")


def test_release_says_it_before_it_is_asked_for(diabetes, finish, idle):
    finish(diabetes, "tab_rows")
    assert told(diabetes, "release_noise").startswith("⚠ Mostly noise: Glucose.")
    relations = told(diabetes, "release_relations")
    assert "Glucose to about 13 %" in relations
    assert "release synthetic rows or a private model" in relations
    share(diabetes, idle, "1.8")
    assert told(diabetes, "release_noise") == ""
    assert "Glucose to about 4" in told(diabetes, "release_relations")
    share(diabetes, idle, "3.5")
    assert told(diabetes, "release_relations") == ""


def test_preview_shows_what_is_lost_with_the_target_as_private(diabetes, finish, idle):
    finish(diabetes, "tab_preview")
    finish(diabetes, "preview_relations")
    lost = diabetes.findChild(QLabel, "preview_target_lost")
    assert lost.isVisible()
    said = lost.accessibleName()
    assert said.startswith("⚠ Lost with Outcome (private): Glucose 0.")
    assert "release synthetic rows or a private model" in said
    diabetes.session.set_target("Glucose")  # of the other one, the same pair is lost
    share(diabetes, idle, "4.5")
    assert "Outcome" not in told(diabetes, "preview_target_lost").split("private")[0]


def test_a_weak_or_undefined_relation_is_not_called_lost():
    import numpy as np

    names = ("a", "b", "c", "t")
    before, after = np.eye(4), np.eye(4)
    before[3, :3] = before[:3, 3] = (0.05, 0.6, 0.6)
    after[3, :3] = after[:3, 3] = (0.0, np.nan, -0.5)
    pairs = Pairs(names, (True,) * 4, before, after, 100, 100)
    said = lost_words(pairs, "t")
    assert "c 0.60 → −0.50. Drop" in said  # the other way round is lost, too
    assert "a 0." not in said
    assert "b 0." not in said
    assert lost_words(pairs, "dropped") == lost_words(pairs, None) == ""

"""A value that its column's facts do not allow: no old figure beside the reason, and nothing in the ledger."""

from __future__ import annotations

import pytest
from mishaps import Heard
from PySide6.QtWidgets import QWidget

from workbench.release.ledger.ledger import Ledger


@pytest.fixture
def outside(people, idle, press):
    """The people sample with a good preview, whose column sex then leaves a value out of its domain."""
    press(people, "tab_preview")
    idle(people)
    assert "changed" in facts(people)
    people.session.edit_column("sex", "leave a value out", domain=("f", "x"))
    return people


def facts(window) -> str:
    return window.findChild(QWidget, "preview_facts").accessibleName()


def test_a_preview_that_fails_shows_nothing_of_the_former(outside, idle):
    idle(outside)
    assert "%" not in facts(outside)
    assert outside.page.sides.left.model().rowCount() == 0
    assert outside.page.sides.right.model().rowCount() == 0


def test_a_release_is_refused_before_anything_is_charged(outside, idle, press, tmp_path):
    idle(outside)
    press(outside, "tab_rows")
    idle(outside)
    heard = Heard(outside)
    press(outside, "release_now")
    idle(outside)
    assert "sex" in heard.one()
    with Ledger.open() as book:
        assert book.releases() == []

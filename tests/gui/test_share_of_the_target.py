"""A first plan in the window gives the classes to predict half of ε until they have 1; a person's shares stay."""

from __future__ import annotations

from decimal import Decimal

import pytest

from workbench.gui.pages.protect.share_model import evenly, with_share
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.session.draft_edits import in_step, with_target_share


def plan(epsilon: str = "1", target: str | None = None, **kinds: str) -> DraftPlan:
    kinds = kinds or {"a": "boolean", "b": "boolean", "c": "boolean"}
    columns = tuple(DraftColumn(name=name, kind=kind) for name, kind in kinds.items())
    return DraftPlan(epsilon=Decimal(epsilon), columns=columns).with_target(target)


def weights(draft: DraftPlan) -> list[float]:
    return [c.weight for c in draft.columns]


def test_the_share_follows_target_and_columns_while_nobody_has_moved_one():
    chosen = in_step(plan(), plan(target="b"))
    assert weights(chosen) == [1, 2, 1]  # half of ε
    other = in_step(chosen, chosen.with_target("c"))
    assert weights(other) == [1, 1, 2]
    fewer = in_step(other, other.with_column("a", action="drop"))
    assert weights(fewer)[1:] == [1, 1]
    assert weights(in_step(plan("2.5"), plan("2.5", "c"))) == [1, 1, pytest.approx(4 / 3, abs=1e-3)]  # 1 of 2.5
    assert weights(in_step(plan("10"), plan("10", "c"))) == [1, 1, 1]
    assert weights(in_step(other, other.with_column("c", kind="integer"))) == [1, 1, 1], "numbers are no classes"


def test_epsilon_alone_moves_no_share():
    drafted = with_target_share(plan(target="b"))
    larger = in_step(drafted, drafted.with_(epsilon=Decimal(2)))
    assert weights(larger) == [1, 2, 1], "a curve against ε is of one split"
    assert weights(in_step(larger, larger.with_target("c"))) == [1, 1, 2]


def test_shares_of_a_person_stay():
    drafted = with_target_share(plan(target="b"))
    even = in_step(drafted, evenly(drafted))
    assert weights(even) == [1, 1, 1]
    assert weights(in_step(even, even.with_target("c"))) == [1, 1, 1]
    locked = in_step(drafted, with_share(drafted, "a", Decimal("0.4"), lock=True))
    assert in_step(locked, locked.with_target("c")) == locked.with_target("c")
    moved = in_step(drafted, with_share(drafted, "a", Decimal("0.4"), lock=False))
    assert in_step(moved, moved.with_target("a")) == moved.with_target("a")


def test_a_sample_opens_with_it_and_another_target_is_undone_in_one_step(window, press, idle):
    press(window, "sample_iris")
    idle(window)
    session = window.session
    drafted = session.plan
    assert {c.name: c.weight for c in drafted.columns}["species"] == 4
    first = drafted.columns[0].name
    session.edit_column(first, "classes", kind="category", domain=("a", "b"))
    session.set_target(first)
    assert [c.weight for c in session.plan.columns] == [4, 1, 1, 1, 1]
    session.undo_stack.undo()
    session.undo_stack.undo()
    assert session.plan == drafted

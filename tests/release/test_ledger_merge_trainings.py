"""A training that can be interrupted and went on in several copies of a ledger costs what each copy has spent on it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from release_cases import charge, loss_of
from test_ledger_merge import fork_of, merge, used

from workbench.release import kept_run
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.merge import RESUMABLE

A, B = "a" * 32, "b" * 32


@pytest.fixture
def paused(tmp_path: Path) -> Path:
    """A ledger that knows a training of 2 that can be interrupted."""
    path = tmp_path / "one.sqlite"
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(100))
        book.reserve(A, loss_of("2"), work="dpsgd", details={RESUMABLE: True})
    return path


def go_on(path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Go on with the training on a computer of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(path.with_suffix(".state")))
    with Ledger.open(path) as book:
        (release,) = book.releases()
        if how != "charge":
            book.resume(release.release_id, {})
        if how == "settle":
            book.settle(release.release_id, Decimal(1), Decimal(0))
        elif how != "resume":
            book.charge(release.release_id)


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        (("finish", "finish"), "4"),
        (("resume", "finish"), "4"),
        (("finish", "resume"), "4"),
        (("resume", "resume"), "4"),
        (("charge", "finish"), "4"),
        (("settle", "finish"), "3"),
        (("", "finish"), "2"),
        (("finish", ""), "2"),
        (("", ""), "2"),
        (("finish", "finish", "finish"), "6"),
        (("", "finish", "finish"), "4"),
        (("finish", "", "settle"), "3"),
    ],
)
def test_a_training_that_went_on_in_several_copies_costs_what_each_has_spent(
    paused: Path, monkeypatch: pytest.MonkeyPatch, ways: tuple[str, ...], expected: str
) -> None:
    """Each copy has taken steps of its own from the same checkpoint, with noise of its own."""
    assert RESUMABLE == kept_run.RESUMABLE
    paths = [paused, *(fork_of(paused, paused.with_name(f"copy{n}.sqlite")) for n in range(1, len(ways)))]
    for path, how in zip(paths, ways, strict=True):
        if how:
            go_on(path, monkeypatch, how)
    monkeypatch.setenv("XDG_STATE_HOME", str(paused.with_suffix(".state")))
    for path in paths[1:]:
        before = fork_of(path, path.with_suffix(".before"))
        assert merge(paused, path).shared == 1
        fork_of(before, path)  # as if the other file had not been told of the merge
        merge(paused, path)
    assert used(paused) == Decimal(expected)
    with Ledger.open(paused) as book:
        (release,) = book.releases()
        assert release.status == "charged"
        assert release.body.get("event", "plain") is None or Decimal(expected) <= 2


def test_a_training_that_came_along_and_went_on_elsewhere_costs_both(
    paused: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One copy of it was merged into a ledger that never knew it, another one went on by itself."""
    copy, third = fork_of(paused, paused.with_name("copy.sqlite")), paused.with_name("third.sqlite")
    go_on(paused, monkeypatch, "finish")
    go_on(copy, monkeypatch, "finish")
    monkeypatch.setenv("XDG_STATE_HOME", str(third.with_suffix(".state")))
    with Ledger.open(third) as book:
        charge(book, "1", dataset=B)
    merge(third, paused)
    assert used(third) == 2
    monkeypatch.setenv("XDG_STATE_HOME", str(copy.with_suffix(".state")))  # where the copy is the newest one
    merge(third, copy)
    assert used(third) == 4
    with Ledger.open(third) as book:
        assert book.account(B).used[0] == 1

"""Copies of one ledger, and of one checkpoint, that go on at once and are merged meanwhile: no charge is lost.

Each copy is used as on a computer of its own, whose marks of the ledger are in a folder of its own.
"""

from __future__ import annotations

import os
import shutil
import time
from decimal import Decimal
from pathlib import Path

import pytest
from release_cases import charge, forks
from test_ledger_merge import A, fork_of, merge

from workbench.params import InputError
from workbench.release.ledger.ledger import Ledger

FOLDERS = ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME")


def charge_many(path: Path, computer: Path, told: Path, times: int, reopen: bool) -> None:
    """Charge again and again, as on a computer of its own; write down what was charged, after it was."""
    for name in FOLDERS:
        os.environ[name] = str(computer)
    book = Ledger.open(path)
    with told.open("w") as out:
        for _ in range(times):
            if reopen:
                book.close()
                book = Ledger.open(path)
            try:
                print(charge(book, "1"), file=out, flush=True)
            except InputError as error:
                if "moved" not in str(error):
                    raise
                break
    book.close()


def live(folder: Path, monkeypatch: pytest.MonkeyPatch, copies: int, hands: int, times: int) -> None:
    """Let several processes charge several copies while one after another is merged into the first."""
    for name in FOLDERS:
        monkeypatch.setenv(name, str(folder / "home0"))
    paths = [folder / "0.sqlite", *(folder / f"{n}.sqlite" for n in range(1, copies + 1))]
    with Ledger.open(paths[0]) as book:
        book.set_cap(A, Decimal(10_000))
        for _ in range(3):
            charge(book, "1")
    workers, notes = [], []
    for n, path in enumerate(paths):
        if n:
            fork_of(paths[0], path)
        for hand in range(hands):
            notes.append(folder / f"{n}-{hand}.txt")
            given = (path, folder / f"home{n}", notes[-1], times, hand == 0)
            workers.append(forks().Process(target=charge_many, args=given))
    for worker in workers:
        worker.start()
    deadline = time.monotonic() + 120
    for note in notes:  # all of them are at it
        while not note.exists() or not note.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    for path in paths[1:]:
        merge(paths[0], path)
        merge(paths[0], path)  # what went between two merges, if anything, comes along
    for worker in workers:
        worker.join(300)
        assert worker.exitcode == 0
    told = {line for note in notes for line in note.read_text().split()}
    assert len(told) > 2 * len(notes)
    with Ledger.open(paths[0]) as book:
        assert book.verify() == []
        found = {r.release_id: r.status for r in book.releases()}
        assert told <= found.keys(), "a charge is lost"
        assert {found[r] for r in told} == {"charged"}
        # Beside them, the three of the beginning, and what was reserved or charged while its process was told to stop.
        spare = len(found) - 3 - len(told)
        assert 0 <= spare <= len(notes)
        assert book.account(A).used[0] == len(found) - list(found.values()).count("void")
        assert book.account(A).used[0] >= 3 + len(told)


def test_copies_that_are_charged_while_they_are_merged_lose_no_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(tmp_path, monkeypatch, copies=1, hands=1, times=30)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 3])
def test_many_hands_on_several_copies_lose_no_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: int
) -> None:
    live(tmp_path, monkeypatch, copies, hands=3, times=120)


@pytest.mark.slow
def test_a_copied_checkpoint_that_goes_on_in_two_copies_costs_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both take the later steps with noise of their own: two models, and the merged ledger has both charges."""
    pytest.importorskip("torch")
    from test_paused_runs import WHOLE, Checkpoints, paused_at, release, runs_folder

    from workbench.deep.model import WEIGHTS

    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    for name in FOLDERS:
        monkeypatch.setenv(name, str(here))
    with Ledger.open(here / "ledger.sqlite") as ledger:
        paused_at(ledger, here / "net", 17)
    shutil.copytree(here, there)
    for computer in (here, there):
        for name in FOLDERS:
            monkeypatch.setenv(name, str(computer))
        (folder,) = runs_folder().iterdir()
        with Ledger.open(computer / "ledger.sqlite") as ledger:
            release(ledger, computer / "net", checkpoints=Checkpoints(resume=folder))
            assert [r.status for r in ledger.releases()] == ["charged"]
    for name in FOLDERS:
        monkeypatch.setenv(name, str(here))
    assert merge(here / "ledger.sqlite", there / "ledger.sqlite").shared == 1
    with Ledger.open(here / "ledger.sqlite") as ledger:
        (found,) = ledger.releases()
        assert ledger.verify() == []
        assert found.epsilon >= 2 * WHOLE.epsilon
        assert ledger.account(found.dataset).used[0] >= 2 * WHOLE.epsilon
    weights = [(computer / "net" / WEIGHTS).read_bytes() for computer in (here, there)]
    assert weights[0] != weights[1]

"""A ledger under many hands: 2,000 interleavings, four processes at once, and a filter whose count never undercuts."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from release_cases import forks, loss_of, reserve_many
from test_ledger_invariants import LedgerMachine

from workbench.params import BudgetRefusedError
from workbench.privacy.accounting.event import Composed, PureDp
from workbench.privacy.accounting.totals import compose_totals
from workbench.release.ledger.counting import FILTER, SUM
from workbench.release.ledger.ledger import Ledger

A = "a" * 32
FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "reserve", "reserve", "charge", "void", "sum", "filter", "reopen"]),
        st.sampled_from(["0.05", "0.2", "0.4"]),
    ),
    max_size=20,
)


def check_interleaving(acts: list[tuple[str, str]]) -> None:
    """Do ``acts`` on an account with a cap, and look after each one at what counts."""
    with tempfile.TemporaryDirectory(dir=FAST) as folder:
        path = Path(folder) / "ledger.sqlite"
        book = Ledger.open(path)
        book.set_cap(A, Decimal(2), Decimal("1e-2"))
        costs: dict[str, str] = {}
        status: dict[str, str] = {}
        for act, epsilon in acts:
            waiting = [r for r, s in status.items() if s == "reserved"]
            if act == "reserve":
                try:
                    found = book.reserve(A, loss_of(epsilon), work="test")
                    costs[found], status[found] = epsilon, "reserved"
                except BudgetRefusedError:
                    pass
            elif act in ("charge", "void") and waiting:
                if act == "charge":
                    book.charge(waiting[0])
                else:
                    book.void(waiting[0], "test")
                status[waiting[0]] = {"charge": "charged", "void": "void"}[act]
            elif act in ("sum", "filter"):
                book.count_by(A, FILTER if act == "filter" else SUM)
            elif act == "reopen":  # a crash: nothing but the file is left
                book.close()
                book = Ledger.open(path)
            account = book.account(A)
            counted = [Decimal(costs[r]) for r, s in status.items() if s != "void"]
            summed = sum(counted, Decimal(0))
            assert account.used[0] <= summed
            if account.count is None:
                assert account.used[0] == summed
            else:
                assert account.used[0] <= account.cap[0] or summed > account.cap[0]
                if counted:
                    event = Composed(tuple(PureDp(e) for e in counted))
                    truth = compose_totals(event, account.count.filter.slack).epsilon("optimal")
                    assert truth is None or float(account.used[0]) >= truth * (1 - 1e-9)
        assert book.verify() == []
        book.close()


@settings(max_examples=6, deadline=None, derandomize=True)
@given(ACTS)
def test_whatever_happens_the_count_is_never_below_the_truth(acts: list[tuple[str, str]]) -> None:
    check_interleaving(acts)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(ACTS)
def test_the_count_in_hundreds_of_interleavings(acts: list[tuple[str, str]]) -> None:
    check_interleaving(acts)


@pytest.mark.slow
@pytest.mark.parametrize("stretch", range(4))
def test_the_invariants_hold_in_five_hundred_interleavings(stretch: int) -> None:
    """Each stretch has its own interleavings: without a seed of its own, a machine repeats the same ones."""
    chosen = settings(
        max_examples=500, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    run_state_machine_as_test(seed(stretch)(type("SeededMachine", (LedgerMachine,), {})), settings=chosen)


@pytest.mark.slow
def test_four_processes_of_250_charges_make_exactly_a_thousand_entries(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(1))
    workers = [forks().Process(target=reserve_many, args=(path, A, "0.001", 250)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(1800)
        assert worker.exitcode == 0
    with Ledger.open(path) as book:
        assert len(list(book.entries("reserve"))) == 1000
        assert book.account(A).used[0] == 1
        assert book.verify() == []
        with pytest.raises(BudgetRefusedError):
            book.reserve(A, loss_of("0.001"), work="test")


@pytest.mark.slow
def test_a_hundred_kills_lose_no_charge(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(1000))
    before = 0
    for number in range(100):
        worker = forks().Process(target=reserve_many, args=(path, A, "0.001", 250))
        worker.start()
        time.sleep(0.05 + 0.01 * (number % 20))
        os.kill(worker.pid, signal.SIGKILL)
        worker.join(60)
        with Ledger.open(path) as book:
            assert book.verify() == []
            now = len(list(book.entries("reserve")))
            assert now >= before
            assert book.account(A).used[0] == Decimal("0.001") * now
            before = now

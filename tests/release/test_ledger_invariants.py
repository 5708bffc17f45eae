"""Whatever is done in whatever order, what is spent is the sum of the releases that count, and never above the cap."""

import os
import shutil
import signal
import tempfile
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from release_cases import FAST, forks, loss_of, race, reserve_many

from workbench.params import BudgetRefusedError, InputError
from workbench.privacy.accounting.event import Composed, PureDp
from workbench.privacy.accounting.totals import compose_totals
from workbench.release.ledger.composition import FILTER, SUM
from workbench.release.ledger.ledger import Ledger

DATASETS = [letter * 32 for letter in "abcd"]
EPSILONS = st.sampled_from(["0.1", "0.3", "1e-6", "2", "0.30000000000000004", "1000000", "0.0000010000000000000001"])
DELTAS = st.sampled_from(["0", "0", "0", "1e-5", "1e-40", "3e-6"])


class LedgerMachine(RuleBasedStateMachine):
    """A ledger beside a model of it in fractions."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=FAST))
        self.ledger = Ledger.open(self.folder / "ledger.sqlite")
        self.account = {d: d for d in DATASETS}
        self.known: set[str] = set()
        self.cap: dict[str, tuple[Fraction, Fraction | None]] = {}
        self.cost: dict[str, tuple[str, Fraction, Fraction]] = {}
        self.status: dict[str, str] = {}
        self.lowered: set[str] = set()
        self.stewarded: set[str] = set()

    def teardown(self) -> None:
        self.compare_with_the_file()
        self.ledger.close()
        shutil.rmtree(self.folder)

    def used(self, account: str) -> tuple[Fraction, Fraction]:
        counted = [self.cost[r] for r, s in self.status.items() if s in ("reserved", "charged", "settled")]
        own = [c for c in counted if self.account[c[0]] == account]
        return sum((c[1] for c in own), Fraction(0)), sum((c[2] for c in own), Fraction(0))

    @rule(dataset=st.sampled_from(DATASETS), epsilon=EPSILONS, delta=DELTAS)
    def reserve(self, dataset: str, epsilon: str, delta: str) -> None:
        account, e, d = self.account[dataset], Fraction(epsilon), Fraction(delta)
        used = self.used(account)
        cap = self.cap.get(account, (e, None))
        if used == (0, 0) and account not in self.stewarded:
            cap = (e, None)
        if cap[1] is None and d > 0:
            cap = (cap[0], d)
        fits = used[0] + e <= cap[0] and used[1] + d <= (cap[1] or 0)
        self.known.add(account)
        try:
            release_id = self.ledger.reserve(dataset, loss_of(epsilon, delta), work="test")
        except BudgetRefusedError:
            assert not fits
            return
        assert fits
        self.cap[account] = cap
        self.cost[release_id], self.status[release_id] = (account, e, d), "reserved"

    def reserved(self) -> list[str]:
        return [r for r, s in self.status.items() if s == "reserved"]

    @precondition(lambda self: self.reserved())
    @rule(data=st.data(), end=st.sampled_from(["complete", "void", "settle"]))
    def end(self, data: st.DataObject, end: str) -> None:
        release_id = data.draw(st.sampled_from(self.reserved()))
        account = self.cost[release_id][0]
        if end == "complete":
            self.ledger.charge(release_id)
            self.status[release_id] = "charged"
        elif end == "void":
            self.ledger.void(release_id, "test")
            self.status[release_id] = "void"
        else:
            half = Decimal(self.ledger.release(release_id).epsilon) / 2
            self.ledger.settle(release_id, half, Decimal(0))
            self.status[release_id], self.cost[release_id] = "settled", (account, Fraction(half), Fraction(0))

    @precondition(lambda self: self.status)
    @rule(data=st.data())
    def end_twice(self, data: st.DataObject) -> None:
        release_id = data.draw(st.sampled_from(sorted(self.status)))
        if self.status[release_id] != "reserved":
            with pytest.raises(InputError):
                self.ledger.void(release_id, "again")

    @rule(dataset=st.sampled_from(DATASETS), epsilon=EPSILONS, delta=st.one_of(st.none(), DELTAS))
    def set_cap(self, dataset: str, epsilon: str, delta: str | None) -> None:
        self.ledger.set_cap(dataset, Decimal(epsilon), None if delta is None else Decimal(delta))
        account = self.account[dataset]
        kept = self.cap.get(account, (Fraction(0), None))[1]
        self.cap[account] = (Fraction(epsilon), kept if delta is None else Fraction(delta))
        self.known.add(account)
        self.stewarded.add(account)
        used = self.used(account)
        below = used[0] > self.cap[account][0] or used[1] > (self.cap[account][1] or 0)
        (self.lowered.add if below else self.lowered.discard)(account)

    @rule(new=st.sampled_from(DATASETS), old=st.sampled_from(DATASETS))
    def link(self, new: str, old: str) -> None:
        account = self.account[old]
        joins = self.account[new]
        if old not in self.known:
            with pytest.raises(InputError):
                self.ledger.link_version(new, old)
            return
        caps = [cap for cap in map(self.standing, (account, joins)) if cap is not None]
        assert self.ledger.link_version(new, old) == account
        if joins == account:
            return
        stood = self.standing(joins) is not None
        self.account = {d: account if a == joins else a for d, a in self.account.items()}
        self.known.add(new)
        if stood:
            deltas = [delta for _, delta in caps if delta is not None]
            self.cap[account] = min(cap[0] for cap in caps), min(deltas) if deltas else None
            self.stewarded.add(account)
        used, cap = self.used(account), self.cap.get(account)
        if cap is not None and (used[0] > cap[0] or used[1] > (cap[1] or 0)):
            self.lowered.add(account)

    def standing(self, account: str) -> tuple[Fraction, Fraction | None] | None:
        unused = self.used(account) == (0, 0) and account not in self.stewarded
        return None if unused else self.cap.get(account)

    @rule(dataset=st.sampled_from(DATASETS), epsilon=EPSILONS)
    def crash(self, dataset: str, epsilon: str) -> None:
        """Die before a charge is committed: nothing of it is left, and what was committed is."""
        with pytest.raises(ZeroDivisionError):
            self.die_while_charging(dataset, epsilon)
        self.compare_with_the_file()

    def die_while_charging(self, dataset: str, epsilon: str) -> None:
        with self.ledger._transaction():
            self.ledger.set_cap(dataset, Decimal(10**9), Decimal("0.5"))
            self.ledger.reserve(dataset, loss_of(epsilon), work="test")
            assert self.ledger.account(dataset).cap is not None
            raise ZeroDivisionError

    @rule()
    def reopen(self) -> None:
        self.compare_with_the_file()
        self.ledger.close()
        self.ledger = Ledger.open(self.folder / "ledger.sqlite")

    @invariant()
    def what_is_spent_is_the_sum_by_status_and_within_the_cap(self) -> None:
        for dataset in DATASETS:
            account = self.ledger.account(dataset)
            used = self.used(self.account[dataset])
            assert account.dataset == self.account[dataset]
            assert (Fraction(account.used[0]), Fraction(account.used[1])) == used
            if account.cap is not None and account.dataset not in self.lowered:  # the steward may cap below it
                assert account.used[0] <= account.cap[0]
                assert account.used[1] <= (account.cap[1] or 0)

    @invariant()
    def the_chain_is_whole_and_the_statuses_are_those_of_the_last_entries(self) -> None:
        releases = self.ledger.releases()
        assert {r.release_id: r.status for r in releases if r.status != "refused"} == self.status
        assert self.ledger._chain.problems(self.ledger._start(), self.ledger._head()) == []

    def compare_with_the_file(self) -> None:
        """What is remembered of an open ledger is what is in its file, and that is whole."""
        with Ledger.read(self.ledger.path) as fresh:
            assert fresh.verify() == []
            assert list(fresh.entries()) == list(self.ledger.entries())
            assert fresh.releases() == self.ledger.releases()


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


# -- many hands -------------------------------------------------------------------------------------------------------


A = "a" * 32
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
def test_whatever_happens_the_count_is_never_below_the_truth(acts):
    check_interleaving(acts)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(ACTS)
def test_the_count_in_hundreds_of_interleavings(acts):
    check_interleaving(acts)


@pytest.mark.slow
class TestLedgerTwoThousand(LedgerMachine.TestCase):
    settings = settings(
        max_examples=2000, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


@pytest.mark.slow
def test_four_processes_of_250_charges_make_exactly_a_thousand_entries(path):
    with Ledger.open(path) as book:
        book.set_cap(A, Decimal(1))
    race(reserve_many, path, A, "0.001", 250, hands=4)
    with Ledger.open(path) as book:
        assert len(list(book.entries("reserve"))) == 1000
        assert book.account(A).used[0] == 1
        assert book.verify() == []
        with pytest.raises(BudgetRefusedError):
            book.reserve(A, loss_of("0.001"), work="test")


@pytest.mark.slow
def test_a_hundred_kills_lose_no_charge(path):
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

"""An account counted by a Rényi filter; groups; backups and moves."""

from __future__ import annotations

import json
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest
from release_cases import loss_of, plan_of, table_of
from released import release_table

from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.privacy.accounting.event import Composed, Cost, PoissonGaussian, PureDp
from workbench.release.ledger.counting import FILTER, SUM, event_body, event_of_cost, event_of_release
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.state import GROUP
from workbench.release.verify import verify_release

A, B = "a" * 32, "b" * 32


def filtered(ledger: Ledger, epsilon: str = "5", delta: str = "1e-5") -> None:
    ledger.set_cap(A, Decimal(epsilon), Decimal(delta))
    ledger.count_by(A, FILTER)


def many(ledger: Ledger, epsilon: str, count: int) -> int:
    """Charge releases until one is refused; return how many were charged."""
    for n in range(count):
        try:
            ledger.charge(ledger.reserve(A, loss_of(epsilon), work="test"))
        except BudgetRefusedError:
            return n
    return count


def test_many_small_releases_fit_a_cap_that_their_sum_is_above(ledger: Ledger) -> None:
    filtered(ledger, delta="1e-2")
    assert many(ledger, "0.2", 60) > 33 > 1.3 * 5 / 0.2
    account = ledger.account(A)
    assert account.used[0] <= 5
    assert account.spent == account.used
    assert account.reserved == (0, 0)
    assert account.used[1] == account.count.filter.slack == Decimal("5e-3")
    assert ledger.verify() == []


def test_few_releases_cost_their_sum_and_never_more(ledger: Ledger) -> None:
    filtered(ledger)
    release = ledger.reserve(A, loss_of("0.5"), work="test")
    assert ledger.account(A).used[0] == Decimal("0.5")
    assert ledger.account(A).reserved[0] == Decimal("0.5")
    ledger.void(release, "test")
    assert ledger.account(A).used[0] == 0


def test_what_remains_always_fits(ledger: Ledger) -> None:
    filtered(ledger)
    many(ledger, "0.25", 22)
    left = ledger.account(A).remaining
    assert left > 0
    ledger.reserve(A, loss_of(str(left)), work="test")
    assert ledger.account(A).used[0] <= 5


def test_delta_beyond_what_the_filter_leaves_is_refused(ledger: Ledger) -> None:
    filtered(ledger)
    ledger.reserve(A, loss_of("0.1", "5e-6"), work="test")
    with pytest.raises(BudgetRefusedError, match="delta"):
        ledger.reserve(A, loss_of("0.1", "1e-9"), work="test")


def test_a_training_run_counts_by_its_divergence_and_not_by_its_epsilon(ledger: Ledger) -> None:
    filtered(ledger, "5", "1e-3")
    run = PoissonGaussian(0.002, 1.0, 5000)
    for _ in range(5):
        ledger.charge(ledger.reserve(A, Cost(Decimal("1.2"), Decimal("1e-5"), run), work="dpsgd"))
    assert ledger.account(A).used[0] < 5


def test_the_order_is_the_first_one_whatever_the_cap_becomes(ledger: Ledger) -> None:
    filtered(ledger)
    first = ledger.account(A).count.filter
    ledger.count_by(A, SUM)
    assert ledger.account(A).count is None
    ledger.set_cap(A, Decimal(50), Decimal("1e-3"))
    ledger.count_by(A, FILTER)
    assert ledger.account(A).count.filter == first


def test_the_choice_needs_caps_and_is_an_entry(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="no cap"):
        ledger.count_by(A, FILTER)
    ledger.set_cap(A, Decimal(5))
    with pytest.raises(ParameterError, match="cap of delta"):
        ledger.count_by(A, FILTER)
    with pytest.raises(ParameterError, match="not known"):
        ledger.count_by(A, "guess")
    assert not list(ledger.entries("count"))
    filtered(ledger)
    assert [e.body["method"] for e in ledger.entries("count")] == [FILTER]


def test_an_event_is_stored_only_where_it_explains_the_whole_cost() -> None:
    parts = Composed(tuple(PureDp(Decimal("0.1"), f"query {n}") for n in range(10)))
    whole = Cost(Decimal(1), Decimal(0), parts)
    body = event_body(whole)
    assert "query" not in json.dumps(body)
    assert len(json.dumps(body)) < 200
    again = event_of_release("charged", (Decimal(1), Decimal(0)), body)
    assert event_of_cost(Cost(Decimal(1), Decimal(0), again)) == again != PureDp(Decimal(1))
    # An entry that says less than was charged is not believed, and a lower final cost is all that is known.
    assert event_of_release("charged", (Decimal(2), Decimal(0)), body) == PureDp(Decimal(2))
    assert event_of_release("settled", (Decimal(1), Decimal(0)), body) == PureDp(Decimal(1))
    assert event_of_release("charged", (Decimal(1), Decimal(0)), {"event": "?"}) == PureDp(Decimal(1))


def test_a_later_certificate_names_the_count_and_verifies(tmp_path: Path, ledger: Ledger) -> None:
    table = table_of(60)
    plan = plan_of(0.5, account="people")
    account = ledger.enter_for_release(table, "people")
    ledger.set_cap(account, Decimal(3), Decimal("1e-4"))
    ledger.count_by(account, FILTER)
    for n in range(3):
        release_table(plan, table, tmp_path / f"out{n}.csv", ledger)
    document = json.loads((tmp_path / "out2.csv.certificate.json").read_text())
    told = document["account"]
    assert told["count"] == {"method": FILTER, "order": ledger.account(account).count.filter.order, "delta": "0.00005"}
    assert Decimal(told["spent_before"]) == 1
    assert Decimal(told["remaining_after"]) == Decimal("1.5")
    assert verify_release(tmp_path / "out2.csv") == []


def test_tables_about_the_same_people_share_one_account(ledger: Ledger) -> None:
    ledger.reserve(A, loss_of("1"), work="test")
    ledger.reserve(B, loss_of("0.5"), work="test")
    assert ledger.link_version(B, A, GROUP) == A
    assert ledger.accounts().grouped(A)
    assert ledger.account(B).used[0] == Decimal("1.5")
    with pytest.raises(BudgetRefusedError):
        ledger.reserve(B, loss_of("0.1"), work="test")


def test_a_backup_is_whole_and_readable(tmp_path: Path, ledger: Ledger) -> None:
    ledger.reserve(A, loss_of("1"), work="test")
    copy = ledger.back_up(tmp_path / "copy.sqlite")
    with Ledger.open(copy) as other:
        assert other.account(A).used == ledger.account(A).used
        assert other.key == ledger.key
        assert other.verify() == []
    assert copy.stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="already"):
        ledger.back_up(copy)


def test_a_moved_ledger_charges_at_its_new_place_alone(tmp_path: Path, ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(2))
    ledger.reserve(A, loss_of("1"), work="test")
    target = ledger.move(tmp_path / "new.sqlite")
    with pytest.raises(InputError, match=r"new\.sqlite"):
        ledger.reserve(A, loss_of("0.5"), work="test")
    with pytest.raises(InputError, match="moved already"):
        ledger.move(tmp_path / "again.sqlite")
    with Ledger.open(target) as there:
        there.reserve(A, loss_of("0.5"), work="test")
        assert there.account(A).used[0] == Decimal("1.5")
        assert there.verify() == []
    assert ledger.account(A).used[0] == 1


def test_a_move_that_fails_leaves_the_ledger_in_use(tmp_path: Path, ledger: Ledger, monkeypatch) -> None:
    ledger.set_cap(A, Decimal(2))
    monkeypatch.setattr(Ledger, "back_up", lambda self, target: (_ for _ in ()).throw(sqlite3.OperationalError("full")))
    with pytest.raises(sqlite3.OperationalError):
        ledger.move(tmp_path / "new.sqlite")
    ledger.reserve(A, loss_of("1"), work="test")

from decimal import Decimal
from pathlib import Path

import pytest
from release_cases import charge, loss_of, race, reserve_many

from workbench.params import BudgetRefusedError, InputError
from workbench.release.ledger.ledger import Ledger

A, B, C = "a" * 32, "b" * 32, "c" * 32


# -- amounts ----------------------------------------------------------------------------------------------------------


def test_ten_tenths_fit_a_cap_of_one_and_the_eleventh_is_refused(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(1))
    for _ in range(10):
        charge(ledger, "0.1")
    assert ledger.account(A).remaining == 0
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.1")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.000001")
    assert ledger.account(A).spent[0] == 1


def test_amounts_far_apart_in_size_are_still_added_exactly(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal("1000000"), Decimal("0.00001"))
    charge(ledger, "999999.9999999999", "0.00001")
    with pytest.raises(BudgetRefusedError):  # 1e-40 is lost beside 1e-5 in 28 digits
        charge(ledger, "0.00000001", "1e-40")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.00000000010000000000000000000000000001")
    charge(ledger, "0.0000000001")
    assert ledger.account(A).remaining == 0


def test_a_refused_charge_is_recorded_with_both_numbers(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal("2.5"))
    charge(ledger, "1")
    with pytest.raises(BudgetRefusedError) as refused:
        ledger.reserve(A, loss_of("2"), work="test")
    assert refused.value.exit_code == 3
    assert str(refused.value) == (
        "this release costs epsilon = 2 but only 1.5 remain (cap epsilon = 2.5, spent or reserved 1); "
        "spend less, or raise the cap with `workbench ledger cap DATA --epsilon 3`"
    )
    entry = ledger.releases()[-1]
    assert (entry.status, entry.epsilon) == ("refused", 2)
    assert entry.body["cap"][0] == "2.5"
    assert entry.body["used"] == ["1", "0"]
    assert ledger.account(A).remaining == Decimal("1.5")


def test_a_refusal_for_delta_alone_names_delta_alone(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(5), Decimal("1e-6"))
    with pytest.raises(
        BudgetRefusedError, match=r"^this release needs delta = 1e-05 of which 1e-06 remain \("
    ) as refused:
        charge(ledger, "1", "1e-5")
    assert refused.value.field == "delta"
    assert str(refused.value).endswith("raise the cap with `workbench ledger cap DATA --epsilon 5 --delta 0.00001`")


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("-1", "0"), ("1", "-1e-9"), ("NaN", "0"), ("1", "NaN"), ("Infinity", "0"), ("1", "2")]
)
def test_what_is_no_privacy_loss_is_never_booked(ledger: Ledger, epsilon: str, delta: str) -> None:
    kept = ledger.reserve(A, loss_of("1", "0.1"), work="test")
    for book in (
        lambda: ledger.reserve(A, loss_of(epsilon, delta), work="test"),
        lambda: ledger.settle(kept, Decimal(epsilon), Decimal(delta)),
        lambda: ledger.set_cap(A, Decimal(epsilon), Decimal(delta)),
    ):
        with pytest.raises(AssertionError, match="not a privacy loss"):
            book()
    assert ledger.account(A).used == (1, Decimal("0.1"))


# -- caps -------------------------------------------------------------------------------------------------------------


def test_the_first_release_sets_the_cap_so_that_a_second_one_is_refused(ledger: Ledger) -> None:
    assert ledger.account(A).cap is None
    charge(ledger, "3")
    assert ledger.account(A).cap == (3, None)
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "3")
    assert ledger.account(B).cap is None


def test_a_first_release_that_came_to_nothing_sets_no_cap(ledger: Ledger) -> None:
    for _ in range(2):
        ledger.void(ledger.reserve(A, loss_of("1", "1e-6"), work="test"), "cancelled")
    charge(ledger, "3")
    assert ledger.account(A).cap == (3, None)
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.1")


def test_a_cap_of_the_steward_outlives_releases_that_came_to_nothing(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(2))
    ledger.void(ledger.reserve(A, loss_of("1", "1e-6"), work="test"), "cancelled")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "3")


def test_while_a_first_release_may_still_stand_its_cap_does(ledger: Ledger) -> None:
    ledger.reserve(A, loss_of("1"), work="test")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "3")


def test_a_raised_cap_is_recorded_for_good(ledger: Ledger) -> None:
    charge(ledger, "3")
    ledger.set_cap(A, Decimal(6))
    charge(ledger, "3")
    assert [(c["epsilon"], c["origin"]) for c in ledger.account(A).cap_history] == [
        ("3", "first release"),
        ("6", "steward"),
    ]


def test_a_cap_below_what_is_spent_refuses_everything(ledger: Ledger) -> None:
    charge(ledger, "3")
    ledger.set_cap(A, Decimal(1))
    with pytest.raises(BudgetRefusedError, match="only 0 remain"):
        charge(ledger, "0.1")
    assert ledger.account(A).remaining == -2


def test_delta_has_a_cap_of_its_own(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(100))
    charge(ledger, "1")
    assert ledger.account(A).cap == (100, None)
    charge(ledger, "1", "1e-5")  # the first release with δ sets it
    assert ledger.account(A).cap == (100, Decimal("1e-5"))
    with pytest.raises(BudgetRefusedError, match="needs delta"):
        charge(ledger, "1", "1e-9")
    ledger.set_cap(A, Decimal(100), Decimal("3e-5"))
    charge(ledger, "1", "2e-5")
    charge(ledger, "1")
    with pytest.raises(BudgetRefusedError, match="needs delta"):
        charge(ledger, "1", "1e-9")
    assert ledger.set_cap(A, Decimal(200)).cap == (200, Decimal("3e-5"))


def test_a_cap_of_no_delta_refuses_the_first_delta(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(100), Decimal(0))
    with pytest.raises(BudgetRefusedError, match="needs delta"):
        charge(ledger, "1", "1e-12")


# -- statuses ---------------------------------------------------------------------------------------------------------


def test_a_void_release_costs_nothing_and_a_reserved_one_everything(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(2))
    first = ledger.reserve(A, loss_of("2"), work="test")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "1")
    ledger.void(first, "cancelled")
    charge(ledger, "2")
    assert [r.status for r in ledger.releases()] == ["void", "refused", "charged"]


def test_a_settled_release_costs_what_it_settled_for_and_never_more(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(10), Decimal("1e-5"))
    release_id = ledger.reserve(A, loss_of("4", "1e-5"), work="test")
    for epsilon, delta in (("5", "0"), ("4", "2e-5")):
        with pytest.raises(InputError, match="cannot cost more than it reserved"):
            ledger.settle(release_id, Decimal(epsilon), Decimal(delta))
    ledger.settle(release_id, Decimal("1.25"), Decimal("1e-6"))
    assert ledger.account(A).spent == (Decimal("1.25"), Decimal("1e-6"))


@pytest.mark.parametrize("end", ["charge", "void", "settle"])
def test_a_release_ends_once(ledger: Ledger, end: str) -> None:
    release_id = ledger.reserve(A, loss_of("1"), work="test")
    ends = {
        "charge": lambda: ledger.charge(release_id),
        "void": lambda: ledger.void(release_id, "reason"),
        "settle": lambda: ledger.settle(release_id, Decimal("0.5"), Decimal(0)),
    }
    ends[end]()
    before = ledger.account(A).used
    for again in ends.values():
        with pytest.raises(InputError, match="not reserved"):
            again()
    assert ledger.account(A).used == before


def test_an_unknown_release_cannot_end(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="is unknown, not reserved"):
        ledger.charge("0" * 16)


# -- versions ---------------------------------------------------------------------------------------------------------


def test_a_newer_version_shares_the_account_of_the_older(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(3))
    charge(ledger, "1")
    assert ledger.link_version(B, A) == A
    assert ledger.link_version(C, B) == A
    charge(ledger, "1", dataset=B)
    charge(ledger, "1", dataset=C)
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "1", dataset=A)
    assert ledger.account(C) == ledger.account(A)
    assert {r.dataset for r in ledger.releases()} == {A}
    assert ledger.set_cap(C, Decimal(4)).dataset == A


def test_versions_cannot_lose_an_account_or_run_in_circles(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="not in the ledger"):
        ledger.link_version(B, A)
    charge(ledger, "1")
    ledger.link_version(C, A)
    assert ledger.link_version(A, C) == A  # already one account: nothing to do
    assert ledger.link_version(A, A) == A
    assert [ledger.account_of(d) for d in (A, B, C)] == [A, B, A]


def test_two_accounts_that_become_one_have_the_sum_of_both_and_the_lower_cap(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(5), Decimal("1e-5"))
    charge(ledger, "1", "1e-6")
    ledger.set_cap(B, Decimal(4))
    charge(ledger, "2", dataset=B)
    assert ledger.link_version(B, A) == A
    assert ledger.account(B) == ledger.account(A)
    assert ledger.account(A).cap == (4, Decimal("1e-5"))
    assert ledger.account(A).used == (3, Decimal("1e-6"))
    assert len(ledger.releases(A)) == len(ledger.releases(B)) == 2
    assert ledger.caps() == {A: 4}
    with pytest.raises(BudgetRefusedError, match="only 1 remain"):
        charge(ledger, "1.5", dataset=B)


# -- several processes ------------------------------------------------------------------------------------------------


def test_processes_that_reserve_at_once_never_exceed_the_cap(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.set_cap(A, Decimal("1.95"))
    race(reserve_many, path, A, "0.1", 20, hands=3)
    with Ledger.open(path) as ledger:
        account = ledger.account(A)
        assert account.used[0] == Decimal("1.9")
        assert sorted(r.status for r in ledger.releases()).count("refused") == 3
        assert ledger.verify() == []


def test_two_first_releases_at_once_set_one_cap(path: Path) -> None:
    race(reserve_many, path, A, "1", 1, hands=3)
    with Ledger.open(path) as ledger:
        assert ledger.account(A).used[0] == 1
        assert len(ledger.account(A).cap_history) == 1
        assert ledger.verify() == []


def test_a_thousand_entries_are_still_reserved_quickly(ledger: Ledger) -> None:
    ledger.set_cap(A, Decimal(1000))
    for number in range(500):
        with ledger._transaction():
            for kind in ("reserve", "charge"):
                ledger._append(kind, A, {"work": "test"}, (Decimal("0.1"), Decimal(0)), f"{number:016x}")
    hundreds: list[None] = []
    ledger._db.set_progress_handler(lambda: hundreds.append(None), 100)
    charge(ledger, "0.1")
    ledger._db.set_progress_handler(None, 0)
    # 144 steps of the database for each earlier charge: they are added up once.
    assert 100 * len(hundreds) < 200 * 500
    assert ledger.account(A).spent[0] == Decimal("50.1")

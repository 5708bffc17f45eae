import json
import sqlite3
from decimal import Decimal

import polars as pl
import pytest
from release_cases import charge, loss_of, plan_of, race, release, reserve_many, table_of
from released import release_table

from workbench.data.table import Table
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.paths import user_data
from workbench.privacy.accounting.event import Composed, Cost, PoissonGaussian, PureDp
from workbench.release.ledger.composition import FILTER, SUM, event_body, event_of_cost, event_of_release
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.shown_figures import FIGURES, STUDIES
from workbench.release.ledger.state import GROUP
from workbench.release.ledger.study_note import NOTED, note_study
from workbench.release.verify import verify_release
from workbench.signals import Event, Notice

A, B, C = "a" * 32, "b" * 32, "c" * 32


# -- amounts ----------------------------------------------------------------------------------------------------------


def test_ten_tenths_fit_a_cap_of_one_and_the_eleventh_is_refused(ledger):
    ledger.set_cap(A, Decimal(1))
    for _ in range(10):
        charge(ledger, "0.1")
    assert ledger.account(A).remaining == 0
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.1")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.000001")
    assert ledger.account(A).spent[0] == 1


def test_amounts_far_apart_in_size_are_still_added_exactly(ledger):
    ledger.set_cap(A, Decimal("1000000"), Decimal("0.00001"))
    charge(ledger, "999999.9999999999", "0.00001")
    with pytest.raises(BudgetRefusedError):  # 1e-40 is lost beside 1e-5 in 28 digits
        charge(ledger, "0.00000001", "1e-40")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.00000000010000000000000000000000000001")
    charge(ledger, "0.0000000001")
    assert ledger.account(A).remaining == 0


def test_a_refused_charge_is_recorded_with_both_numbers(ledger):
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


def test_a_refusal_for_delta_alone_names_delta_alone(ledger):
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
def test_what_is_no_privacy_loss_is_never_booked(ledger, epsilon, delta):
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


def test_the_first_release_sets_the_cap_so_that_a_second_one_is_refused(ledger):
    assert ledger.account(A).cap is None
    charge(ledger, "3")
    assert ledger.account(A).cap == (3, None)
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "3")
    assert ledger.account(B).cap is None


def test_a_first_release_that_came_to_nothing_sets_no_cap(ledger):
    for _ in range(2):
        ledger.void(ledger.reserve(A, loss_of("1", "1e-6"), work="test"), "cancelled")
    charge(ledger, "3")
    assert ledger.account(A).cap == (3, None)
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "0.1")


def test_a_cap_of_the_steward_outlives_releases_that_came_to_nothing(ledger):
    ledger.set_cap(A, Decimal(2))
    ledger.void(ledger.reserve(A, loss_of("1", "1e-6"), work="test"), "cancelled")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "3")


def test_while_a_first_release_may_still_stand_its_cap_does(ledger):
    ledger.reserve(A, loss_of("1"), work="test")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "3")


def test_a_raised_cap_is_recorded_for_good(ledger):
    charge(ledger, "3")
    ledger.set_cap(A, Decimal(6))
    charge(ledger, "3")
    assert [(c["epsilon"], c["origin"]) for c in ledger.account(A).cap_history] == [
        ("3", "first release"),
        ("6", "steward"),
    ]


def test_a_cap_below_what_is_spent_refuses_everything(ledger):
    charge(ledger, "3")
    ledger.set_cap(A, Decimal(1))
    with pytest.raises(BudgetRefusedError, match="nothing is left"):
        charge(ledger, "0.1")
    assert ledger.account(A).remaining == -2


def test_delta_has_a_cap_of_its_own(ledger):
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


def test_a_cap_of_no_delta_refuses_the_first_delta(ledger):
    ledger.set_cap(A, Decimal(100), Decimal(0))
    with pytest.raises(BudgetRefusedError, match="needs delta"):
        charge(ledger, "1", "1e-12")


# -- statuses ---------------------------------------------------------------------------------------------------------


def test_a_void_release_costs_nothing_and_a_reserved_one_everything(ledger):
    ledger.set_cap(A, Decimal(2))
    first = ledger.reserve(A, loss_of("2"), work="test")
    with pytest.raises(BudgetRefusedError):
        charge(ledger, "1")
    ledger.void(first, "cancelled")
    charge(ledger, "2")
    assert [r.status for r in ledger.releases()] == ["void", "refused", "charged"]


def test_a_settled_release_costs_what_it_settled_for_and_never_more(ledger):
    ledger.set_cap(A, Decimal(10), Decimal("1e-5"))
    release_id = ledger.reserve(A, loss_of("4", "1e-5"), work="test")
    for epsilon, delta in (("5", "0"), ("4", "2e-5")):
        with pytest.raises(InputError, match="cannot cost more than it reserved"):
            ledger.settle(release_id, Decimal(epsilon), Decimal(delta))
    ledger.settle(release_id, Decimal("1.25"), Decimal("1e-6"))
    assert ledger.account(A).spent == (Decimal("1.25"), Decimal("1e-6"))


@pytest.mark.parametrize("end", ["charge", "void", "settle"])
def test_a_release_ends_once(ledger, end):
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


def test_an_unknown_release_cannot_end(ledger):
    with pytest.raises(InputError, match="is unknown, not reserved"):
        ledger.charge("0" * 16)


# -- versions ---------------------------------------------------------------------------------------------------------


def test_a_newer_version_shares_the_account_of_the_older(ledger):
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


def test_versions_cannot_lose_an_account_or_run_in_circles(ledger):
    with pytest.raises(InputError, match="not in the ledger"):
        ledger.link_version(B, A)
    charge(ledger, "1")
    ledger.link_version(C, A)
    assert ledger.link_version(A, C) == A  # already one account: nothing to do
    assert ledger.link_version(A, A) == A
    assert [ledger.account_of(d) for d in (A, B, C)] == [A, B, A]


def test_two_accounts_that_become_one_have_the_sum_of_both_and_the_lower_cap(ledger):
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


def test_processes_that_reserve_at_once_never_exceed_the_cap(path):
    with Ledger.open(path) as ledger:
        ledger.set_cap(A, Decimal("1.95"))
    race(reserve_many, path, A, "0.1", 20, hands=3)
    with Ledger.open(path) as ledger:
        account = ledger.account(A)
        assert account.used[0] == Decimal("1.9")
        assert sorted(r.status for r in ledger.releases()).count("refused") == 3
        assert ledger.verify() == []


def test_two_first_releases_at_once_set_one_cap(path):
    race(reserve_many, path, A, "1", 1, hands=3)
    with Ledger.open(path) as ledger:
        assert ledger.account(A).used[0] == 1
        assert len(ledger.account(A).cap_history) == 1
        assert ledger.verify() == []


def test_a_release_does_not_wait_and_many_writes_let_others_in(path, tmp_path, monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr("workbench.release.ledger.entry_chain.time.sleep", waits.append)
    monkeypatch.setattr("workbench.release.ledger.entry_chain._AGAIN", 60.0)
    release(path, tmp_path / "out.csv")
    assert waits == []
    with Ledger.open(path) as ledger:
        ledger.set_cap(A, Decimal(1))
        for _ in range(4):
            charge(ledger, "0.1")
    assert waits


def test_a_ledger_that_is_opened_for_each_write_lets_others_in(path, monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr("workbench.release.ledger.entry_chain.time.sleep", waits.append)
    monkeypatch.setattr("workbench.release.ledger.entry_chain._AGAIN", 60.0)
    for number in range(13):
        with Ledger.open(path) as ledger:
            ledger.set_cap(A, Decimal(1 + number))
    assert len(waits) == 2
    with Ledger.open(path.with_name("other.sqlite")) as ledger:  # another ledger's writes are not these
        ledger.set_cap(A, Decimal(1))
    assert len(waits) == 2


def test_a_thousand_entries_are_still_reserved_quickly(ledger):
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


# -- An account counted by a Rényi filter; groups; backups and moves --------------------------------------------------


TABLE_A, TABLE_B = "a" * 32, "b" * 32


def filtered(ledger: Ledger, epsilon: str = "5", delta: str = "1e-5") -> None:
    ledger.set_cap(TABLE_A, Decimal(epsilon), Decimal(delta))
    ledger.count_by(TABLE_A, FILTER)


def many(ledger: Ledger, epsilon: str, count: int) -> int:
    """Charge releases until one is refused; return how many were charged."""
    for n in range(count):
        try:
            ledger.charge(ledger.reserve(TABLE_A, loss_of(epsilon), work="test"))
        except BudgetRefusedError:
            return n
    return count


def test_many_small_releases_fit_a_cap_that_their_sum_is_above(ledger):
    filtered(ledger, delta="1e-2")
    assert many(ledger, "0.2", 60) > 33 > 1.3 * 5 / 0.2
    account = ledger.account(TABLE_A)
    assert account.used[0] <= 5
    assert account.spent == account.used
    assert account.reserved == (0, 0)
    assert account.used[1] == account.count.filter.slack == Decimal("5e-3")
    assert ledger.verify() == []


def test_few_releases_cost_their_sum_and_never_more(ledger):
    filtered(ledger)
    release = ledger.reserve(TABLE_A, loss_of("0.5"), work="test")
    assert ledger.account(TABLE_A).used[0] == Decimal("0.5")
    assert ledger.account(TABLE_A).reserved[0] == Decimal("0.5")
    ledger.void(release, "test")
    assert ledger.account(TABLE_A).used[0] == 0


def test_what_remains_always_fits(ledger):
    filtered(ledger)
    many(ledger, "0.25", 22)
    left = ledger.account(TABLE_A).remaining
    assert left > 0
    ledger.reserve(TABLE_A, loss_of(str(left)), work="test")
    assert ledger.account(TABLE_A).used[0] <= 5


def test_delta_beyond_what_the_filter_leaves_is_refused(ledger):
    filtered(ledger)
    ledger.reserve(TABLE_A, loss_of("0.1", "5e-6"), work="test")
    with pytest.raises(BudgetRefusedError, match="delta"):
        ledger.reserve(TABLE_A, loss_of("0.1", "1e-9"), work="test")


def test_a_training_run_counts_by_its_divergence_and_not_by_its_epsilon(ledger):
    filtered(ledger, "5", "1e-3")
    run = PoissonGaussian(0.002, 1.0, 5000)
    for _ in range(5):
        ledger.charge(ledger.reserve(TABLE_A, Cost(Decimal("1.2"), Decimal("1e-5"), run), work="dpsgd"))
    assert ledger.account(TABLE_A).used[0] < 5


def test_the_order_is_the_first_one_whatever_the_cap_becomes(ledger):
    filtered(ledger)
    first = ledger.account(TABLE_A).count.filter
    ledger.count_by(TABLE_A, SUM)
    assert ledger.account(TABLE_A).count is None
    ledger.set_cap(TABLE_A, Decimal(50), Decimal("1e-3"))
    ledger.count_by(TABLE_A, FILTER)
    assert ledger.account(TABLE_A).count.filter == first


def test_the_choice_needs_caps_and_is_an_entry(ledger):
    with pytest.raises(ParameterError, match="no cap"):
        ledger.count_by(TABLE_A, FILTER)
    ledger.set_cap(TABLE_A, Decimal(5))
    with pytest.raises(ParameterError, match="cap of delta"):
        ledger.count_by(TABLE_A, FILTER)
    with pytest.raises(ParameterError, match="not known"):
        ledger.count_by(TABLE_A, "guess")
    assert not list(ledger.entries("count"))
    filtered(ledger)
    assert [e.body["method"] for e in ledger.entries("count")] == [FILTER]


def test_an_event_is_stored_only_where_it_explains_the_whole_cost():
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


def test_a_later_certificate_names_the_count_and_verifies(tmp_path, ledger):
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


def test_tables_about_the_same_people_share_one_account(ledger):
    ledger.reserve(TABLE_A, loss_of("1"), work="test")
    ledger.reserve(TABLE_B, loss_of("0.5"), work="test")
    assert ledger.link_version(TABLE_B, TABLE_A, GROUP) == TABLE_A
    assert ledger.accounts().grouped(TABLE_A)
    assert ledger.account(TABLE_B).used[0] == Decimal("1.5")
    with pytest.raises(BudgetRefusedError):
        ledger.reserve(TABLE_B, loss_of("0.1"), work="test")


def test_a_backup_is_whole_and_readable(tmp_path, ledger):
    ledger.reserve(TABLE_A, loss_of("1"), work="test")
    copy = ledger.back_up(tmp_path / "copy.sqlite")
    with Ledger.open(copy) as other:
        assert other.account(TABLE_A).used == ledger.account(TABLE_A).used
        assert other.key == ledger.key
        assert other.verify() == []
    assert copy.stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="already"):
        ledger.back_up(copy)


def test_a_moved_ledger_charges_at_its_new_place_alone(tmp_path, ledger):
    ledger.set_cap(TABLE_A, Decimal(2))
    ledger.reserve(TABLE_A, loss_of("1"), work="test")
    target = ledger.move(tmp_path / "new.sqlite")
    with pytest.raises(InputError, match=r"new\.sqlite"):
        ledger.reserve(TABLE_A, loss_of("0.5"), work="test")
    with pytest.raises(InputError, match="moved already"):
        ledger.move(tmp_path / "again.sqlite")
    with Ledger.open(target) as there:
        there.reserve(TABLE_A, loss_of("0.5"), work="test")
        assert there.account(TABLE_A).used[0] == Decimal("1.5")
        assert there.verify() == []
    assert ledger.account(TABLE_A).used[0] == 1


def test_a_move_that_fails_leaves_the_ledger_in_use(tmp_path, ledger, monkeypatch):
    ledger.set_cap(TABLE_A, Decimal(2))
    monkeypatch.setattr(Ledger, "back_up", lambda self, target: (_ for _ in ()).throw(sqlite3.OperationalError("full")))
    with pytest.raises(sqlite3.OperationalError):
        ledger.move(tmp_path / "new.sqlite")
    ledger.reserve(TABLE_A, loss_of("1"), work="test")


# -- The ledger's list of private figures that were shown: by account, once a kind, with the first time of each


def table(first: int, count: int = 400) -> Table:
    rows = range(first, first + count)
    cells = {"a": [str(i) for i in rows], "b": [f"{i * 7919 % 100003}" for i in rows]}
    return Table(pl.DataFrame(cells), "made")


def told(book: Ledger) -> list[tuple[str, str, str]]:
    return [(f.time, f.dataset, f.study) for f in book.figures()]


def test_the_notes_of_versions_stand_with_their_account(tmp_path):
    with Ledger.open(tmp_path / "book.sqlite") as book:
        assert book.figures() == []
        account = book.enter(book.identify(table(0)))
        book.enter(book.identify(table(3)))  # most rows in common: a version
        book.note_figures(book.identify(table(3)), "why")
        book.note_figures(book.identify(table(0)), "why")
        book.note_figures(book.identify(table(5_000)), "curve")
        own = book.figures(account)
        assert [(f.dataset, f.study) for f in own] == [(account, "why")]
        assert [f.study for f in book.figures()] == ["why", "curve"]
        assert own[0].words == STUDIES["why"]
        assert own[0].time == min(e.time for e in book.entries(FIGURES))


def test_a_kind_of_a_later_version_is_listed_by_its_own_name(tmp_path):
    with Ledger.open(tmp_path / "book.sqlite") as book:
        account = book.enter(book.identify(table(0)))
        for body in ({"study": "telepathy"}, {}):
            with book._transaction():
                book._append(FIGURES, account, body)
        assert [f.words for f in book.figures()] == ["telepathy", "figures of a study"]
        assert book.figures_shown(account)


@pytest.mark.parametrize("again", [False, True])
def test_a_merge_keeps_every_note_with_its_own_time(tmp_path, again):
    one, two, three = (tmp_path / f"{name}.sqlite" for name in ("one", "two", "three"))
    with Ledger.open(two) as other:
        other.note_figures(other.identify(table(0)), "grid")
        other.note_figures(other.identify(table(0)), "why")
        other.note_figures(other.identify(table(9_000)), "curve")
        theirs = [(time, study) for time, _, study in told(other)]
    with Ledger.open(one) as book, Ledger.open(two) as other:
        book.note_figures(book.identify(table(0)), "why")
        book.note_figures(book.identify(table(0)), "accuracy")
        own = [(time, study) for time, _, study in told(book)]
        book.merge(other)
        if again:  # an interrupted merge is repeated
            book.merge(other)
        book.enter(book.identify(table(0)))  # under both keys: only now its two accounts become one
        found = [(time, study) for time, _, study in told(book)]
        assert sorted(found) == sorted([*theirs, *(pair for pair in own if pair[1] == "accuracy")])
        assert book.verify() == []
    with Ledger.open(three) as last, Ledger.open(one) as book:
        last.merge(book)
        assert sorted((time, study) for time, _, study in told(last)) == sorted(found)
        assert last.figures_shown(last.enter(last.identify(table(0))))
        assert last.verify() == []


def test_one_function_notes_it_and_says_so_once(tmp_path):
    events: list[Event] = []
    for study in ("curve", "curve", "why"):
        note_study(table(0), study, tmp_path / "book.sqlite", events.append)
    assert events == [Notice("info", NOTED)] * 2
    note_study(table(0), "curve")
    with Ledger.read(tmp_path / "book.sqlite") as book, Ledger.read() as usual:
        assert [f.study for f in book.figures()] == ["curve", "why"]
        assert [f.study for f in usual.figures()] == ["curve"]
        assert user_data() in usual.path.parents


def test_a_generalised_table_is_noted_once_for_each_certificate_and_goes_along_in_a_merge(tmp_path):
    table = Table(pl.DataFrame({"a": [str(i) for i in range(40)]}), "t.csv")
    one, other = "1" * 64, "2" * 64
    with Ledger.open(tmp_path / "a.sqlite") as first, Ledger.open(tmp_path / "b.sqlite") as second:
        for checksum in (one, one, other):
            first.note_generalised(first.identify(table), checksum, "out.csv")
        assert len(list(first.entries(FIGURES))) == 2
        assert first.published_generalised(one)
        assert not first.published_generalised("3" * 64)
        second.merge(first)
        assert second.published_generalised(one)
        assert second.published_generalised(other)
        dataset = second.find(second.identify(table)).dataset
        assert second.figures_shown(dataset, study="generalised")
        assert not second.figures_shown(dataset, study="curve")

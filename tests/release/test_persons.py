"""A plan that names the person: of each at most k rows are read, whatever the table says, and nobody sees whose."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from release_cases import certificate_of

from workbench.data import persons, table_reader
from workbench.data.cluster_parts import Workers
from workbench.data.csv import encoding, regular_rows
from workbench.data.persons import limit_rows_per_person
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.learners import learner
from workbench.params import InputError, ParameterError
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.privacy.entropy import OsEntropy
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import PERSON, ROW
from workbench.release.ledger.summary import summary
from workbench.release.model.release_learner import FitTask, release_fit
from workbench.release.release_path import Released, check_values, destination, prepare, prepare_rows, release_prepared
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.verify import verify_in_ledger, verify_release
from workbench.sanitize.calibrated_columns import protected_columns
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore
from workbench.statistics.request import Request, Statistic

CITY = {"name": "city", "kind": "category", "domain": ["Graz", "Linz"], "mechanism": "grr"}
AGE = {"name": "age", "kind": "integer", "lower": 0, "upper": 9}
WHO = {"name": "who", "action": "drop"}


def plan_of(most: int, *columns: dict[str, Any], epsilon: float = 1.0, **keys: Any) -> Plan:
    stated = {"epsilon": epsilon, "unit": "who", "rows_per_person": most, "invalid": "replace"}
    return Plan.from_plain({**stated, **keys, "column": [WHO, *(columns or (CITY,))]})


def table_of(who: list[str | None], city: list[str | None]) -> Table:
    return Table(pl.DataFrame({"who": who, "city": city}, schema={"who": pl.String, "city": pl.String}), "made")


def _kept(table: Table, most: int, coins: Any) -> list[bool]:
    return limit_rows_per_person(table, "who", most, coins).column("city").is_not_null().to_list()


class Keys:
    """Given words: one order of the keys."""

    releasable = False

    def __init__(self, keys: tuple[int, ...]) -> None:
        self._left = list(keys)

    def words(self, count: int) -> NDArray[np.uint64]:
        given, self._left = self._left[:count], self._left[count:]
        return np.array(given, dtype=np.uint64)


# -- at most k rows, chosen by chance alone ---------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_each_person_at_most_k_rows_are_kept_and_of_others_all(most):
    who = ["a", "b", "a", None, "a", " a ", "", "b", "c", "NA", "NA", "NA", "NA"]
    names = ["a", "b", "a", "", "a", "a", "", "b", "c", "NA", "NA", "NA", "NA"]
    for _ in range(20):
        kept = _kept(table_of(who, ["x"] * len(who)), most, OsEntropy())
        counts = Counter(name for name, stays in zip(names, kept, strict=True) if stays)
        # A row without a name is a person of its own; a word that often means missing is a name.
        assert counts == {"a": most, "b": min(2, most), "c": 1, "": 2, "NA": min(4, most)}


def test_a_stated_mark_of_a_missing_value_is_no_name():
    table = dataclasses.replace(table_of(["NA", "NA", "a", "a"], ["x"] * 4), missing_marks=("NA",))
    kept = _kept(table, 1, OsEntropy())
    assert kept[:2] == [True, True]
    assert sum(kept[2:]) == 1


def shares(choose: Callable[[Table, int, Any], list[bool]]) -> list[float]:
    """In which share of all orders of the keys each row of a person stays, exactly."""
    table = table_of(["a", "a", "b", "a"], ["x"] * 4)
    found = [choose(table, 1, Keys(keys)) for keys in itertools.permutations(range(4))]
    return [sum(kept[row] for kept in found) / len(found) for row in range(4)]


def test_each_row_of_a_person_stays_with_the_same_probability_wherever_it_is():
    assert shares(_kept) == [1 / 3, 1 / 3, 1, 1 / 3]


def test_a_choice_by_the_order_of_the_file_is_caught(monkeypatch):
    monkeypatch.setattr(persons, "_lowest", lambda parts, most: pl.concat(parts).group_by("person").head(most))
    assert shares(_kept) == [1, 0, 1, 0]


def test_the_choice_uses_fresh_randomness_each_time():
    table = table_of(["a"] * 200, ["x"] * 200)
    assert len({tuple(_kept(table, 100, OsEntropy())) for _ in range(5)}) == 5


# -- what one person can change ---------------------------------------------------------------------------------------


def distribution(plan: Plan, table: Table) -> NDArray[np.float64]:
    """The exact probability of each released table, in its order: over the choice of rows and over the mechanism."""
    (column,) = protected_columns(plan)
    chances = np.asarray(column.randomiser.probabilities(np.arange(column.grid.cells.total)))
    orders = list(itertools.permutations(range(table.rows)))
    read = Counter(tuple(column.grid.encode(plan.rows_of(table, Keys(keys))).tolist()) for keys in orders)
    return sum(n / len(orders) * reduce(np.kron, [chances[cell] for cell in cells]) for cells, n in read.items())


def loss(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The largest logarithm of a ratio of probabilities, exactly."""
    return float(np.abs(np.log(one / other)).max())


def without(table: Table, *rows: int) -> Table:
    here = pl.int_range(pl.len()).is_in(list(rows))
    return dataclasses.replace(
        table, frame=table.frame.select(pl.when(here).then(None).otherwise(pl.all()).name.keep())
    )


def worst(plan: Plan, neighbours: list[tuple[int, ...]], who: str = "aab") -> float:
    """The largest loss over all small tables and neighbours of them."""
    found = 0.0
    for cities in itertools.product(("Graz", "Linz"), repeat=3):
        table = table_of(list(who), list(cities))
        here = distribution(plan, table)
        found = max([found, *(loss(here, distribution(plan, without(table, *rows))) for rows in neighbours)])
    return found


@pytest.mark.parametrize("most", [1, 2])
def test_emptying_all_rows_of_a_person_changes_probabilities_by_no_more_than_what_is_charged(most, tmp_path):
    plan = plan_of(most)
    prepared = prepare_rows(plan, table_of(["a"], ["Graz"]), destination(tmp_path / "o.csv"))
    assert float(prepared.cost.epsilon) == most
    found = worst(plan, [(0, 1), (2,)])
    assert found <= most + 1e-9
    assert found > 0.9 * most  # nothing is wasted


def test_with_one_kept_row_the_cost_does_not_cover_a_single_row_and_with_two_it_does():
    """Why the ledger mixes no releases by the row with those that keep one row of each person."""
    assert worst(plan_of(1), [(0,)], "aab") > 1.05
    assert worst(plan_of(2), [(0,), (2,)], "aaa") <= 2 + 1e-9


def test_keeping_more_than_k_rows_is_caught(monkeypatch):
    honest = persons._lowest
    monkeypatch.setattr(persons, "_lowest", lambda parts, most: honest(parts, most + 1))
    assert worst(plan_of(1), [(0, 1)]) > 1.05


# -- the plan ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"invalid": "refuse"}, "person-refused"),
        ({"unit": "city"}, "person-released"),
        ({"unit": "nobody"}, "unknown-column"),
        ({"column": [WHO, CITY, {"name": "k", "action": "keep"}]}, "person-kept"),
    ],
)
def test_a_plan_that_cannot_bound_persons_is_refused(changes, code):
    stated = {"epsilon": 1.0, "unit": "who", "rows_per_person": 2, "invalid": "replace", "column": [WHO, CITY]}
    with pytest.raises(ParameterError) as refused:
        Plan.from_plain({**stated, **changes})
    assert refused.value.code == code


def test_the_plan_file_holds_the_unit(tmp_path):
    plan = plan_of(3)
    assert 'unit = "who"' in plan.to_toml()
    assert plan.published().unit == "who"


def test_nobody_reads_whose_the_rows_are():
    table = table_of(["a", "b"], ["Graz", "Linz"])
    rows = plan_of(2).rows_of(table)
    assert rows.column("who").null_count() == 2
    assert rows.column("city").to_list() == ["Graz", "Linz"]


def test_a_table_without_the_column_is_refused():
    with pytest.raises(InputError):
        plan_of(2).rows_of(Table(pl.DataFrame({"city": ["Graz"]}), "made"))


# -- releases ----------------------------------------------------------------------------------------------------------

MANY = ["a"] * 30 + ["b", "c", None]


def released(folder: Path, plan: Plan, name: str = "out.csv", *, table: Table | None = None) -> Released:
    table = table or table_of(MANY, ["Graz"] * 33)
    with Ledger.open(folder / "l.sqlite") as book:
        return release_prepared(prepare_rows(plan, table, destination(folder / name)), book)


def test_noisy_rows_cost_k_times_a_row_say_so_and_verify(tmp_path):
    done = released(tmp_path, plan_of(2, epsilon=20.0))
    stated = certificate_of(tmp_path / "out.csv")
    assert (done.rows, done.epsilon_charged) == (33, 40)
    assert stated["guarantee"]["unit"] == "who"
    assert stated["guarantee"]["rows_per_person"] == 2
    assert "At most 2 rows of each person are kept" in stated["guarantee"]["statement"]
    made = pl.read_csv(tmp_path / "out.csv")
    assert made.columns == ["city"]  # the person is never released
    # At this ε a cell changes in one of e^20 cases: two rows of a, b, c and the one without a name.
    assert (made["city"] == "Graz").sum() == 5
    assert not verify_release(tmp_path / "out.csv")
    with Ledger.open(tmp_path / "l.sqlite") as book:
        assert not verify_in_ledger(stated, book)
        assert [entry["unit"] for entry in summary(book)["entries"]] == [PERSON]


def test_a_certificate_that_names_another_unit_is_found(tmp_path):
    from workbench.release.certificate import certificate_bytes, with_new_checksum

    released(tmp_path, plan_of(2))
    stated = certificate_of(tmp_path / "out.csv")
    for guarantee in (
        {**stated["guarantee"], "unit": "city"},
        {k: v for k, v in stated["guarantee"].items() if k != "unit"},
    ):
        (tmp_path / "out.csv.certificate.json").write_bytes(
            certificate_bytes(with_new_checksum({**stated, "guarantee": guarantee}))
        )
        assert verify_release(tmp_path / "out.csv")
    with Ledger.open(tmp_path / "l.sqlite") as book:
        problems = verify_in_ledger({**stated, "guarantee": guarantee}, book)
    assert "the ledger was charged for another unit than the certificate states" in problems


def test_statistics_are_of_the_kept_rows(tmp_path):
    plan = plan_of(2, CITY, epsilon=1.0)
    work = statistics_work(Request(figures=(Statistic(statistic="count", by=("city",)),)), plan, 40.0, 33, "csv")
    with Ledger.open(tmp_path / "l.sqlite") as book:
        prepared = prepare(plan, table_of(MANY, ["Graz"] * 33), destination(tmp_path / "s.csv"), work)
        done = release_prepared(prepared, book)
    assert done.epsilon_charged == 80
    counts = pl.read_csv(tmp_path / "s.csv")["estimate"].to_list()
    assert [round(count) for count in counts] == [5, 0, 28]  # emptied rows are in no group, a noisy and charged count
    stated = certificate_of(tmp_path / "s.csv")
    assert stated["guarantee"]["unit"] == "who"
    assert not verify_release(tmp_path / "s.csv")


def test_a_model_learns_from_the_kept_rows_and_its_card_says_so(tmp_path):
    plan = plan_of(2, AGE, CITY)
    chosen = learner("naive-bayes")
    frame = table_of(MANY, ["Graz"] * 33).frame.with_columns(age=pl.lit("3"))
    parameters = chosen.parameters.from_plain({"epsilon": 1.0})
    task = FitTask(chosen, parameters, plan, "city", Table(frame, "made"), tmp_path / "m")
    with Ledger.open(tmp_path / "l.sqlite") as book:
        done = release_fit(task, book)
    assert done.epsilon_charged == 2
    assert done.document["training"]["unit"] == "who"
    assert "A person is all rows with the same 'who'" in done.document["guarantee"]["statement"]
    assert not verify_release(tmp_path / "m")


@pytest.mark.slow  # loads PyTorch
def test_a_network_is_charged_for_a_group_and_its_card_says_so(tmp_path):
    pytest.importorskip("torch")
    from workbench.deep.plan import DpSgdPlan
    from workbench.release.model.network_task import Checkpoints
    from workbench.release.model.release_network import release_training
    from workbench.release.model.training_work import table_work

    asked = DpSgdPlan(
        network="logistic", noise=2.0, delta=1e-6, batch=10, epochs=1, lr=1.0, clip=1.0, accountant="rdp", device="cpu"
    )
    frame = table_of(["a"] * 20 + [str(n) for n in range(30)], ["Graz", "Linz"] * 25).frame.with_columns(
        age=pl.lit("3")
    )
    task = table_work(asked, plan_of(2, AGE, CITY), "city", Table(frame, "made")).into(
        tmp_path / "n", Checkpoints(), quiet=True, replace=False
    )
    assert task.rows().column("city").null_count() == 18
    with Ledger.open(tmp_path / "l.sqlite") as book:
        done = release_training(task, book)
    card = done.model.document
    assert card["training"]["unit"] == "who"
    assert float(card["guarantee"]["epsilon"]) == pytest.approx(2 * card["training"]["epsilon_row"], abs=1e-5)
    assert not verify_release(tmp_path / "n")


# -- tables that are read in parts -------------------------------------------------------------------------------------


@pytest.fixture
def in_parts(monkeypatch):
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0)
    monkeypatch.setattr(regular_rows, "PIECE", 64)
    monkeypatch.setattr(encoding, "CHUNK", 256)
    monkeypatch.setattr(persons, "_MERGED", 10)


@pytest.mark.usefixtures("in_parts")
def test_of_a_table_that_is_read_in_parts_as_many_rows_are_kept(tmp_path):
    frame = pl.DataFrame({"who": [f"p{n % 40}" for n in range(400)] + [None] * 3, "city": ["Graz"] * 403})
    frame.write_csv(tmp_path / "t.csv")
    table = read_table(str(tmp_path / "t.csv"))
    assert table.in_parts
    rows = plan_of(3).rows_of(table)
    assert rows.in_parts
    counts = [part.column("city").is_not_null().to_list() for part in rows.parts()]
    whose = [name for part in table.parts() for name in part.column("who").to_list()]
    kept = [name for name, stays in zip(whose, itertools.chain(*counts), strict=True) if stays]
    assert Counter(kept) == {**{f"p{n}": 3 for n in range(40)}, None: 3}
    assert len(counts) > 4
    assert all(part.column("who").is_null().all() for part in rows.parts())
    # The same rows each time that the parts are read, and when they are read whole.
    assert rows.frame.select("city").to_series().is_not_null().to_list() == list(itertools.chain(*counts))
    # An index of rows finds the same.
    assert rows.at([0, 5, 402])["city"].is_not_null().to_list() == [
        list(itertools.chain(*counts))[k] for k in (0, 5, 402)
    ]


@pytest.mark.usefixtures("in_parts")
def test_a_table_in_parts_is_released_as_one_in_memory(tmp_path):
    pl.DataFrame({"who": MANY * 8, "city": ["Graz"] * 33 * 8}).write_csv(tmp_path / "t.csv")
    table = read_table(str(tmp_path / "t.csv"))
    done = released(tmp_path, plan_of(2, epsilon=20.0), table=table)
    made = pl.read_csv(tmp_path / "out.csv")
    assert (done.rows, done.epsilon_charged) == (33 * 8, 40)
    assert (made["city"] == "Graz").sum() == 3 * 2 + 8
    assert not verify_release(tmp_path / "out.csv")


def test_workers_do_not_choose_rows(tmp_path):
    workers = Workers("tcp://127.0.0.1:1", ignore, CancelToken())
    with pytest.raises(InputError, match="cannot select"):
        prepare_rows(plan_of(2), table_of(MANY, ["Graz"] * 33), destination(tmp_path / "o.csv"), workers)


# -- one account, two units --------------------------------------------------------------------------------------------


def by_row() -> Plan:
    return Plan.from_plain({"epsilon": 1.0, "invalid": "replace", "column": [WHO, CITY]})


def raised(folder: Path) -> None:
    with Ledger.open(folder / "l.sqlite") as book:
        (account,) = {entry["dataset"] for entry in summary(book)["entries"]}
        book.set_cap(account, Decimal(100))


def account_of(folder: Path) -> dict[str, Any]:
    with Ledger.open(folder / "l.sqlite") as book:
        (found,) = summary(book)["accounts"]
        return dict(found)


def test_a_sum_is_of_persons_until_a_release_is_by_the_row(tmp_path):
    released(tmp_path, plan_of(2))
    raised(tmp_path)
    assert account_of(tmp_path)["unit"] == PERSON
    released(tmp_path, plan_of(3), "second.csv")
    assert account_of(tmp_path) | {"unit": PERSON, "spent_epsilon": 5.0} == account_of(tmp_path)
    released(tmp_path, by_row(), "third.csv")
    assert account_of(tmp_path) | {"unit": ROW, "spent_epsilon": 6.0} == account_of(tmp_path)


@pytest.mark.parametrize(("first", "second"), [(plan_of(1), by_row()), (by_row(), plan_of(1))])
def test_one_kept_row_and_releases_by_the_row_are_not_mixed(tmp_path, first, second):
    released(tmp_path, first)
    raised(tmp_path)
    with pytest.raises(ParameterError) as refused:
        released(tmp_path, second, "second.csv")
    assert refused.value.code == "units-mixed"
    assert not (tmp_path / "second.csv").exists()
    assert account_of(tmp_path)["spent_epsilon"] == 1.0


def test_where_two_accounts_become_one_a_single_kept_row_counts_as_two(tmp_path):
    """Nothing is refused that was charged already: the sum is put right instead."""
    from workbench.release.ledger.records import Release, at_unit_cost

    def stated(unit: int) -> Release:
        body = {"unit": unit} if unit else {}
        return Release("id", "t", Decimal(1), Decimal(0), "charged", "", body)

    assert [r.epsilon for r in at_unit_cost([stated(1), stated(2), stated(0)])] == [2, 1, 1]
    assert [r.epsilon for r in at_unit_cost([stated(1), stated(2)])] == [1, 1]


def test_a_named_account_states_whom_its_sum_bounds(tmp_path):
    released(tmp_path, plan_of(2, account="Survey"))
    assert certificate_of(tmp_path / "out.csv")["account"]["unit"] == "person"


def test_a_reservation_keeps_its_unit_in_the_ledger(tmp_path):
    released(tmp_path, plan_of(2))
    with Ledger.open(tmp_path / "l.sqlite") as book:
        (release,) = book.releases()
        assert release.unit == 2
        cost = Cost(Decimal(1), Decimal(0), PureDp(Decimal(1)))
        book.set_cap(release.dataset, Decimal(9))
        book.reserve(release.dataset, cost, work="toy", details={"unit": 1})
        with pytest.raises(ParameterError):  # what is reserved counts
            book.reserve(release.dataset, cost, work="toy")


def test_checking_values_refuses_nothing_for_the_rows_of_a_person(tmp_path):
    """The plan is total: whatever a row says, and whether it is kept, no release stops at it."""
    table = table_of(["a", "a", "a"], ["Graz", "nowhere", None])
    check_values(prepare_rows(plan_of(1), table, destination(tmp_path / "o.csv")), CancelToken())

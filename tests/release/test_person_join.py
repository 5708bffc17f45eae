"""Two tables joined on the person: one guarantee, and one account, for all her rows in both."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from release_cases import certificate_of, die_at, forge, run_to_exit
from test_persons import Keys, distribution, loss

from workbench.data import person_join as joining
from workbench.data import table_reader
from workbench.data.csv import encoding, regular_rows
from workbench.data.person_join import Join, join_on_person, persons_matched
from workbench.data.persons import person_codes
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.learners import learner
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.release.ledger.accounts import LedgerAccounts
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.summary import summary
from workbench.release.model.release_learner import FitTask, release_fit
from workbench.release.release_path import Prepared, Released, destination, prepare, prepare_rows, release_prepared
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.verdict import verdict_on
from workbench.release.verify import verify_in_ledger, verify_release
from workbench.sanitize.plan import Plan
from workbench.statistics.request import Request, Statistic

DROP = {"action": "drop"}
CITY = {"name": "city", "kind": "category", "domain": ["Graz", "Linz"], "mechanism": "grr"}
SEX = {"name": "sex", "kind": "category", "domain": ["f", "m"], "mechanism": "grr"}
Side = Sequence[tuple[str | None, str | None]]


def table(columns: tuple[str, str], rows: Side, source: str = "made") -> Table:
    schema = dict.fromkeys(columns, pl.String)
    return Table(pl.DataFrame(rows, schema=schema, orient="row"), source)


def visits(rows: Side) -> Table:
    return table(("who", "city"), rows, "visits.csv")


def people(rows: Side) -> Table:
    return table(("patient", "sex"), rows, "people.csv")


def plan_of(most: int, *columns: dict[str, Any], epsilon: float = 1.0, **keys: Any) -> Plan:
    stated = {"epsilon": epsilon, "unit": "who", "rows_per_person": most, "invalid": "replace"}
    columns = columns or ({"name": "city", **DROP}, SEX)
    return Plan.from_plain({**stated, "join": {"on": "patient"}, **keys, "column": [{"name": "who", **DROP}, *columns]})


def without(rows: Side, person: str) -> list[tuple[str | None, str | None]]:
    """The rows with all those of a person emptied."""
    return [(None, None) if name == person else (name, value) for name, value in rows]


# -- what is joined ----------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", " a", "", None])


@given(
    st.lists(st.tuples(NAMES, st.sampled_from(["Graz", None])), max_size=6),
    st.lists(st.tuples(NAMES, st.sampled_from(["f", "m", None])), max_size=6),
)
def test_each_row_has_what_one_row_of_its_person_says(left, right):
    made = join_on_person(visits(left), people(right), "who", "patient")
    assert made.frame.select("who", "city").equals(visits(left).frame)
    chosen: dict[str, str | None] = {}
    for name, sex in zip(person_codes(made, "who").to_list(), made.column("sex").to_list(), strict=True):
        possible = [value for other, value in right if name and other is not None and other.strip() == name]
        assert sex in (possible or [None])
        if name is not None:
            assert chosen.setdefault(name, sex) == sex  # the same one beside all of her rows
    there = {str(name).strip() for name, _ in left if name} & {str(name).strip() for name, _ in right if name}
    assert persons_matched(made) == len(there - {""})


def test_each_row_of_a_person_is_chosen_in_the_same_share_of_all_orders_of_the_keys():
    right = people([("a", "0"), ("b", "x"), ("a", "1"), ("a", "2")])
    found = [
        join_on_person(visits([("a", None)]), right, "who", "patient", Keys(keys)).column("sex")[0]
        for keys in itertools.permutations(range(4))
    ]
    assert [found.count(str(row)) for row in range(3)] == [8, 8, 8]


def test_a_second_column_of_the_same_name_gets_another_one():
    right = Table(pl.DataFrame({"id": ["a"], "city": ["Wien"], "age": ["3"]}), "more.csv")
    made = join_on_person(visits([("a", "Graz")]), right, "who", "id")
    assert made.frame.row(0) == ("a", "Graz", "Wien", "3")
    assert made.names == ("who", "city", "city_2", "age")


@pytest.mark.parametrize(
    ("right", "on", "code"),
    [
        ({"patient": ["a"]}, "patient", "join-empty"),
        ({"patient": ["a"], "city": ["x"], "city_2": ["y"]}, "patient", "join-names"),
        ({"patient": ["a"], "sex": ["x"]}, "nobody", "unknown-column"),
    ],
)
def test_tables_that_cannot_be_one_are_refused(right, on, code):
    with pytest.raises(InputError) as refused:
        join_on_person(visits([("a", "Graz")]), Table(pl.DataFrame(right), "right.csv"), "who", on)
    assert refused.value.code == code


def test_a_table_in_parts_is_joined_as_one_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0)
    monkeypatch.setattr(regular_rows, "PIECE", 64)
    monkeypatch.setattr(encoding, "CHUNK", 256)
    pl.DataFrame({"who": [f"p{n % 7}" for n in range(300)], "city": ["Graz"] * 300}).write_csv(tmp_path / "l.csv")
    pl.DataFrame({"patient": [f"p{n}" for n in range(90)], "sex": ["f", "m"] * 45}).write_csv(tmp_path / "r.csv")
    left, right = (read_table(tmp_path / name) for name in ("l.csv", "r.csv"))
    made = join_on_person(left, right, "who", "patient")
    assert made.in_parts
    cells = pl.concat([part.frame for part in made.parts(50)])
    assert cells["sex"].to_list() == [("f", "m")[n % 7 % 2] for n in range(300)]
    assert cells.equals(join_on_person(left.replaced(frame=left.replaced().frame), right, "who", "patient").frame)
    assert persons_matched(made) == 7
    assert plan_of(3).rows_of(made).in_parts


# -- what a person can change, in both tables --------------------------------------------------------------------------


def moved(left: Side, right: Side, most: int, keys: tuple[Sequence[int], Sequence[int]], person: str) -> int:
    """In how many rows the tables differ that are read, for given keys; each has to be empty where she is."""
    plan = dataclasses.replace(plan_of(most), join=Join(on="patient"))
    here, there = (
        plan.rows_of(
            join_on_person(visits(one), people(two), "who", "patient", Keys(tuple(keys[1]))), Keys(tuple(keys[0]))
        )
        for one, two in ((left, right), (without(left, person), without(right, person)))
    )
    pairs = [(a, b) for a, b in zip(here.frame.rows(), there.frame.rows(), strict=True) if a != b]
    assert all(set(b) == {None} for _, b in pairs)
    return len(pairs)


@pytest.mark.parametrize("most", [1, 2])
def test_emptying_a_person_in_both_tables_empties_at_most_k_rows_and_changes_no_other(most):
    orders = list(itertools.permutations(range(3)))
    found = [
        moved(list(zip(who, ["Graz"] * 3, strict=True)), list(zip(whom, "fmf", strict=True)), most, keys, person)
        for who in ("aab", "aaa")
        for whom in ("aab", "aba", "bbb", "aaa")
        for keys in zip(orders, reversed(orders), strict=True)
        for person in "ab"
    ]
    assert max(found) == most


def worst(most: int, neighbours: Callable[[Side, Side], Iterator[tuple[Side, Side]]]) -> float:
    """The largest loss of a noisy column the second table: this table, over its values, exactly."""
    plan, found = plan_of(most), 0.0

    def chances(left: Side, right: Side) -> Any:
        orders = list(itertools.permutations(range(len(right))))
        tables = [join_on_person(visits(left), people(right), "who", "patient", Keys(keys)) for keys in orders]
        return sum(np.asarray(distribution(plan, each)) for each in tables) / len(orders)

    for values in ("fff", "ffm", "fmm"):
        left, right = [("a", "x"), ("a", "x"), ("b", "x")], list(zip("aab", values, strict=True))
        here = chances(left, right)
        found = max([found, *(loss(here, chances(*there)) for there in neighbours(left, right))])
    return found


def persons_of(left: Side, right: Side) -> Iterator[tuple[Side, Side]]:
    return ((without(left, person), without(right, person)) for person in "ab")


@pytest.mark.parametrize("most", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_noisy_rows_tell_no_more_of_a_person_than_what_is_charged(most, tmp_path):
    table = join_on_person(visits([("a", "Graz")]), people([("a", "f")]), "who", "patient")
    assert float(prepare_rows(plan_of(most), table, destination(tmp_path / "o.csv")).cost.epsilon) == most
    found = worst(most, persons_of)
    assert 0.9 * most < found <= most + 1e-9  # nothing is wasted


def test_a_second_table_that_is_not_cut_to_one_row_of_a_person_is_caught(monkeypatch):
    monkeypatch.setattr(joining, "kept_rows", lambda ids, *given, **named: np.zeros(sum(map(len, ids)), np.int32))
    with pytest.raises(pl.exceptions.PolarsError):
        join_on_person(visits([("a", "Graz")]), people([("a", "f"), ("a", "m")]), "who", "patient")


def test_a_choice_that_looks_at_other_persons_is_caught(monkeypatch):
    """Rows that are chosen by how many come before them: another person's values move when she is emptied."""

    def by_place(ids: Any, *given: Any, **named: Any) -> Any:
        names = pl.concat(list(ids))
        turn = int(names.drop_nulls().len()) % 2
        first = pl.DataFrame({"n": names, "row": np.arange(len(names))}).drop_nulls().group_by("n")
        kept = first.agg(pl.col("row").first() if turn else pl.col("row").last())["row"]
        return np.where(np.isin(np.arange(len(names)), kept.to_numpy()), 0, -1)

    monkeypatch.setattr(joining, "kept_rows", by_place)
    with pytest.raises(AssertionError):
        moved([("a", "x"), ("b", "x")], [("a", "f"), ("b", "f"), ("b", "m")], 1, (range(2), range(3)), "a")


# -- the plan ----------------------------------------------------------------------------------------------------------


def test_a_plan_and_a_table_that_join_otherwise_are_refused():
    left, right = visits([("a", "Graz")]), people([("a", "f")])
    made, plan = join_on_person(left, right, "who", "patient"), plan_of(1)
    without_unit = Plan.from_plain({"epsilon": 1.0, "column": [{"name": "who", **DROP}, CITY, SEX]})
    for given_plan, given_table, code in (
        (plan, left, "join-missing"),
        (dataclasses.replace(plan, join=None), made, "join-unplanned"),
        (dataclasses.replace(plan, join=Join(on="sex")), made, "join-unplanned"),
        (without_unit, made, "join-unplanned"),
        (plan, join_on_person(left, right, "city", "patient"), "join-unit"),
    ):
        with pytest.raises(InputError) as refused:
            given_plan.rows_of(given_table)
        assert refused.value.code == code
    with pytest.raises(ParameterError) as no_unit:
        dataclasses.replace(plan, unit=None)
    assert no_unit.value.code == "join-unit"


def test_a_guess_about_the_second_file_is_to_be_confirmed_as_one_of_the_first_is():
    from workbench.data.reading_options import Reading
    from workbench.sanitize.plan_guesses import SECOND, confirm, guesses

    plan = plan_of(1, join={"on": "patient", "reading": {"header": "yes", "origin": "guess"}})
    assert [guess.of for guess in guesses(plan)] == [SECOND]
    text, _ = confirm(plan.to_toml(), "p.toml")
    from workbench.params.codec import parse_toml

    kept = Plan.from_plain(parse_toml(text, "plan", "p.toml"))
    assert kept.join == Join(on="patient", reading=Reading(header="yes"))
    assert kept.published().join == Join(on="patient")


# -- releases ----------------------------------------------------------------------------------------------------------

LEFT = [("a", "Graz"), *((f"p{n}", ("Graz", "Linz")[n % 3 == 0]) for n in range(60)), *[("a", "Linz")] * 8]
RIGHT = [(f"p{n}", "fm"[n % 5 == 0]) for n in range(70)] + [("a", "f"), ("a", "m")]


def first() -> Table:
    return visits(LEFT)


def second() -> Table:
    return people(RIGHT)


def both() -> Table:
    return join_on_person(first(), second(), "who", "patient")


ONE = {
    "who": Plan.from_plain({"epsilon": 1.0, "unit": "who", "invalid": "replace", "rows_per_person": 2,
                            "column": [{"name": "who", **DROP}, CITY]}),
    "patient": Plan.from_plain({"epsilon": 1.0, "unit": "patient", "invalid": "replace", "rows_per_person": 2,
                                "column": [{"name": "patient", **DROP}, SEX]}),
}  # fmt: skip


def prepared(folder: Path, name: str, rows: Table, plan: Plan) -> Prepared:
    by = "sex" if "sex" in rows.names else "city"
    asked = Request(figures=(Statistic(statistic="count", by=(by,)),))
    work = statistics_work(asked, plan, 1.0, rows.rows, "csv")
    return prepare(plan, rows, destination(folder / name), work)


def released(folder: Path, name: str, rows: Table, plan: Plan | None = None) -> Released:
    plan = plan or (plan_of(2) if rows.joined is not None else ONE[rows.names[0]])
    with Ledger.open(folder / "l.sqlite") as book:
        return release_prepared(prepared(folder, name, rows, plan), book)


def test_statistics_of_joined_tables_say_so_and_verify(tmp_path):
    done = released(tmp_path, "s.csv", both())
    assert (done.rows, done.epsilon_charged) == (len(LEFT), 2)
    stated = certificate_of(tmp_path / "s.csv")
    assert (stated["guarantee"]["unit"], stated["guarantee"]["join"]) == ("who", "patient")
    assert stated["joined_rows"] == len(RIGHT)
    assert "all rows of one person in both tables" in stated["guarantee"]["statement"]
    assert not verify_release(tmp_path / "s.csv")
    with Ledger.open(tmp_path / "l.sqlite") as book:
        assert not verify_in_ledger(stated, book)
        (account,) = summary(book)["accounts"]
        assert (account["tables"], account["group"], account["unit"]) == (2, True, "person")
        (entry,) = summary(book)["entries"]
        assert len(entry["tables"]) == 2
    for change in (
        lambda document: document.pop("joined_rows"),
        lambda document: document["guarantee"].pop("join"),
        lambda document: document["guarantee"].update(join="other"),
    ):
        forge(tmp_path / "s.csv", change)
        assert verify_release(tmp_path / "s.csv")
        forge(tmp_path / "s.csv", lambda document: document.update(stated))


def test_a_row_that_became_a_blank_line_leaves_the_public_number_of_rows_as_it_is(tmp_path):
    emptied = dataclasses.replace(people(RIGHT[:3] + RIGHT[4:]), blank_lines=(3,))
    done = released(tmp_path, "s.csv", join_on_person(first(), emptied, "who", "patient"))
    assert done.document["joined_rows"] == len(RIGHT)


def test_a_model_of_joined_tables_says_so_and_verifies(tmp_path):
    chosen = learner("naive-bayes")
    task = FitTask(
        chosen, chosen.parameters.from_plain({"epsilon": 1.0}), plan_of(2, CITY, SEX), "city", both(), tmp_path / "m"
    )
    with Ledger.open(tmp_path / "l.sqlite") as book:
        done = release_fit(task, book)
    assert done.epsilon_charged == 2
    assert (done.document["training"]["join"], done.document["joined_rows"]) == ("patient", len(RIGHT))
    assert not verify_release(tmp_path / "m")


# -- one account -------------------------------------------------------------------------------------------------------


def apart(folder: Path, *caps: int) -> None:
    """Give each of the two tables an account of its own, as if a person had said that they have nothing in common."""
    with Ledger.open(folder / "l.sqlite") as book:
        book.set_cap(book.identify(first()), Decimal(caps[0]))
        book.separate(book.identify(second()), book.identify(first()))
        book.set_cap(book.identify(second()), Decimal(caps[1]))


def left_over(folder: Path) -> list[bool]:
    """Whether each table, and both joined, may be released once more."""
    found = []
    for number, rows in enumerate((first(), second(), both())):
        try:
            released(folder, f"more{number}.csv", rows)
            found.append(True)
        except BudgetRefusedError:
            found.append(False)
    return found


def used(folder: Path) -> list[Decimal]:
    """What counts against the account of each table."""
    with Ledger.open(folder / "l.sqlite") as book:
        return [book.account(book.find(book.identify(rows)).account).used[0] for rows in (first(), second())]


@pytest.mark.parametrize("spent", [first, second, both])
def test_what_one_of_two_joined_tables_has_spent_the_other_has_spent_too(spent, tmp_path):
    apart(tmp_path, 2, 2)
    released(tmp_path, "one.csv", spent())
    with pytest.raises(BudgetRefusedError):
        released(tmp_path, "both.csv", both())
    if spent is both:
        assert left_over(tmp_path) == [False] * 3
    else:  # a refusal joins nothing: the other table alone has its own budget still
        assert sorted(used(tmp_path)) == [0, 2]
        assert left_over(tmp_path) == [spent is second, spent is first, False]


def test_a_release_of_each_table_and_of_both_add_up(tmp_path):
    apart(tmp_path, 10, 7)
    released(tmp_path, "l.csv", first())
    released(tmp_path, "r.csv", second())
    assert released(tmp_path, "b.csv", both()).epsilon_remaining == 1  # the lower cap, and 2 for each of the three
    assert left_over(tmp_path) == [False] * 3
    assert used(tmp_path) == [6, 6]


def test_the_verdict_before_a_release_is_of_both_accounts_and_joins_nothing(tmp_path):
    apart(tmp_path, 2, 2)
    released(tmp_path, "r.csv", second())
    with Ledger.open(tmp_path / "l.sqlite") as book:
        verdict = verdict_on(prepared(tmp_path, "b.csv", both(), plan_of(2)), book)
        assert isinstance(verdict.refusal, BudgetRefusedError)
    assert used(tmp_path) == [0, 2]


@pytest.mark.parametrize("known", [first, second])
def test_that_both_tables_name_the_same_persons_is_no_doubt_about_who_pays(known, tmp_path):
    with Ledger.open(tmp_path / "l.sqlite") as book:
        book.set_cap(book.identify(known()), Decimal(4))
    assert released(tmp_path, "b.csv", both()).epsilon_remaining == 2
    assert used(tmp_path) == [2, 2]


def test_a_second_table_whose_account_is_not_charged_is_caught(tmp_path, monkeypatch):
    apart(tmp_path, 2, 2)
    monkeypatch.setattr(LedgerAccounts, "share", lambda self, dataset, *others: dataset)
    released(tmp_path, "both.csv", both())
    assert left_over(tmp_path)[1]  # where the honest ledger refuses


def die_and_release(folder: Path, attribute: str) -> None:
    die_at("workbench.release.ledger.ledger:Ledger", attribute, 1, after=True)
    released(folder, "both.csv", both())


@pytest.mark.parametrize("attribute", ["reserve", pytest.param("charge", marks=pytest.mark.slow)])
def test_a_run_that_is_killed_after_its_reservation_leaves_both_tables_charged(tmp_path, attribute):
    apart(tmp_path, 2, 2)
    assert run_to_exit(die_and_release, tmp_path, attribute) == -9
    assert used(tmp_path) == [2, 2]
    cost = prepared(tmp_path, "r.csv", second(), ONE["patient"]).cost
    with Ledger.open(tmp_path / "l.sqlite") as book, pytest.raises(BudgetRefusedError):
        book.reserve(book.identify(second()), cost, work="statistics", details={"unit": 2})


def test_tables_that_a_release_was_made_of_stay_together_and_others_do_not(tmp_path):
    apart(tmp_path, 2, 2)
    released(tmp_path, "both.csv", both())
    with Ledger.open(tmp_path / "l.sqlite") as book:
        for one, other in ((second(), first()), (first(), second())):
            with pytest.raises(InputError) as refused:
                book.separate(book.identify(one), book.identify(other))
            assert refused.value.code == "joined-release"


def test_an_account_that_was_charged_by_the_row_joins_nothing(tmp_path):
    by_row = Plan.from_plain({"epsilon": 1.0, "invalid": "replace", "column": [{"name": "patient", **DROP}, SEX]})
    apart(tmp_path, 10, 10)
    released(tmp_path, "r.csv", second(), by_row)
    with pytest.raises(ParameterError) as refused:
        released(tmp_path, "b.csv", both())
    assert refused.value.code == "units-mixed"


def test_after_a_joined_release_nothing_is_charged_by_the_row(tmp_path):
    apart(tmp_path, 10, 10)
    released(tmp_path, "b.csv", both())
    by_row = Plan.from_plain({"epsilon": 1.0, "invalid": "replace", "column": [{"name": "patient", **DROP}, SEX]})
    with pytest.raises(ParameterError) as refused:
        released(tmp_path, "r.csv", second(), by_row)
    assert refused.value.code == "units-mixed"
    assert released(tmp_path, "r.csv", second()).epsilon_charged == 2


def test_private_figures_of_joined_rows_are_noted_of_both_tables(tmp_path):
    with Ledger.open(tmp_path / "l.sqlite") as book:
        assert book.note_figures(book.identify(both()), "curve")
        assert not book.note_figures(book.identify(both()), "curve")
        for rows in (first(), second()):
            assert book.figures_shown(book.find(book.identify(rows)).account)


def test_a_named_account_takes_a_new_second_table_and_no_known_one(tmp_path):
    named = dataclasses.replace(plan_of(2), account="clinic")
    released(tmp_path, "b.csv", both(), named)
    assert certificate_of(tmp_path / "b.csv")["account"]["remaining_after"] == "0"
    (tmp_path / "o").mkdir()
    released(tmp_path / "o", "r.csv", second())
    with pytest.raises(InputError, match="the second table: this table"):
        released(tmp_path / "o", "b.csv", both(), named)

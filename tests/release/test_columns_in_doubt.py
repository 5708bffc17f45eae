"""Columns that come from a known table raise a doubt, which a person decides; unrelated tables raise none."""

import dataclasses
import random
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from derived_tables import DERIVED, KEY, UNRELATED, measured, named, persons, recognised, salaries, unrelated_pair
from release_cases import charge, loss_of

from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import CheckFailedError, InputError
from workbench.release.ledger.column_marks import NO_COLUMNS, ColumnMarks
from workbench.release.ledger.file import key_path
from workbench.release.ledger.identity import identify
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.resemblance import log_evidence


@pytest.fixture(scope="module")
def people():
    return read_table("sample:people").frame


def made(frame: pl.DataFrame, name: str = "made.csv") -> Table:
    return Table(frame, name)


def pays(ledger: Ledger, frame: pl.DataFrame) -> str:
    """Let a table have an account that has paid."""
    account = ledger.enter(ledger.identify(made(frame)))
    ledger.set_cap(account, Decimal(3))
    charge(ledger, "1", dataset=account)
    return account


# -- what is recognised -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", DERIVED)
@pytest.mark.parametrize("table", [salaries, measured, named, persons])
def test_what_is_taken_from_a_table_is_recognised(table, change):
    frame = table(np.random.default_rng(4))
    assert recognised(DERIVED[change](frame, random.Random(5)), frame)


def test_a_name_beside_a_number_of_few_values_is_recognised_after_an_edit():
    frame = named(np.random.default_rng(4)).with_columns(number=pl.Series([str(k % 7 // 2) for k in range(300)]))
    for change in ("one cell edited", "half of the rows", "joined with a new column"):
        assert recognised(DERIVED[change](frame, random.Random(5)), frame)


def test_projections_of_the_sample_are_recognised(people):
    for columns in (["age"], ["age", "sex"], ["income"], ["age", "zip", "income"]):
        assert recognised(people.select(columns), people) == "in doubt"
        assert recognised(people.select(columns)[:1600], people) == "in doubt"
        assert recognised(people, people.select(columns)) == "in doubt"  # whichever was first


@pytest.mark.parametrize("kind", UNRELATED)
def test_unrelated_tables_raise_no_doubt(kind):
    for number in range(3):
        assert recognised(*unrelated_pair(kind, number)) == ""


def test_one_column_of_yes_and_no_is_no_evidence_and_many_of_few_answers_are(people):
    assert recognised(people.select("sex"), people) == ""
    assert recognised(people.select("sex", "label"), people) == ""
    draw = np.random.default_rng(3)
    answers = pl.DataFrame({f"q{k}": draw.choice(["yes", "no", "?"], 2000, p=[0.4, 0.5, 0.1]) for k in range(12)})
    for count, found in ((1, ""), (2, ""), (12, "in doubt")):
        part = answers[:, :count].with_columns(other=pl.Series(draw.normal(size=2000).astype(str)))
        assert recognised(part, answers.with_columns(mine=pl.Series(draw.normal(size=2000).astype(str)))) == found


def test_a_column_that_is_there_twice_counts_once():
    draw = np.random.default_rng(8)
    old = pl.DataFrame({"a": draw.choice(["yes", "no"], 2000), "b": draw.normal(size=2000).astype(str)})
    twice = pl.DataFrame({f"a{k}": old["a"] for k in range(12)} | {"c": draw.normal(size=2000).astype(str)})
    assert recognised(twice, old) == ""


def test_evidence_of_tables_from_one_distribution_stays_small():
    """Every pair of 24 tables from the same distribution."""
    draw = np.random.default_rng(1)
    found = []
    for rows in (400, 600):
        marks = []
        for _ in range(12):
            frame = pl.DataFrame({"x": draw.poisson(3, rows).astype(str), "y": draw.integers(0, 300, rows).astype(str)})
            marks.append(identify(made(frame), KEY).columns)
        found += [log_evidence(one, other) for k, one in enumerate(marks) for other in marks[:k]]
    assert len(found) == 132
    assert max(found) < 13.8  # by Markov's inequality, with a probability of 132 in a million at most above


# -- what becomes of a doubt ------------------------------------------------------------------------------------------


def test_a_doubt_charges_and_records_nothing(ledger, people):
    account, part = pays(ledger, people), ledger.identify(made(people.select("age", "sex"), "part.csv"))
    assert ledger.find(part).doubts == (account,)
    before = list(ledger.entries())
    with pytest.raises(InputError, match=r"not certain who pays .*separate DATA --from"):
        ledger.reserve(part, loss_of("0.1"), work="test")
    with pytest.raises(InputError, match="not certain who pays"):
        ledger.enter(part, "another name")
    assert list(ledger.entries()) == before


def test_the_named_account_takes_the_table_as_a_version(ledger, people):
    account, part = pays(ledger, people), ledger.identify(made(people.select("age", "sex")))
    ledger.set_name(account, "clinic")
    assert ledger.enter(part, "clinic") == account
    assert [e.body["origin"] for e in ledger.entries("version")] == ["name"]
    assert ledger.find(part).doubts == ()
    assert ledger.find(part).account == account


def test_a_table_that_was_opened_or_studied_before_is_still_in_doubt(ledger, people):
    part = ledger.identify(made(people.select("age", "zip")))
    ledger.enter(part)  # as the window does when it opens it
    assert ledger.note_figures(part, "curve")
    account = pays(ledger, people)
    assert ledger.find(part).doubts == (account,)
    with pytest.raises(InputError, match="not certain who pays"):
        ledger.enter(part)
    assert ledger.note_figures(part, "why")
    assert ledger.figures_shown(account)


def test_a_table_in_doubt_of_two_accounts_is_separated_from_each(ledger, people):
    other = persons(np.random.default_rng(2))
    accounts = pays(ledger, people), pays(ledger, other)
    both = ledger.identify(made(pl.concat([people.select("income"), other.select("born")], how="horizontal")))
    assert ledger.find(both).doubts == accounts
    own = ledger.separate(both, accounts[0])
    assert ledger.find(both).doubts == accounts[1:]
    with pytest.raises(InputError, match="not certain who pays"):
        ledger.reserve(both, loss_of("1"), work="test")
    assert ledger.separate(both) == own
    ledger.reserve(both, loss_of("1"), work="test")
    assert ledger.account(own).used[0] == 1
    assert ledger.verify() == []


def test_an_account_that_never_paid_raises_no_doubt(ledger, people):
    ledger.enter(ledger.identify(made(people)))
    assert ledger.find(ledger.identify(made(people.select("age", "sex")))).doubts == ()


def test_two_parts_without_a_common_column_meet_in_the_whole_that_was_studied(ledger, people):
    whole, one, other = (ledger.identify(made(people.select(c))) for c in (people.columns, ["zip"], ["age", "income"]))
    assert ledger.note_figures(whole, "curve")
    account = ledger.enter(one)
    ledger.set_cap(account, Decimal(1))
    with pytest.raises(InputError, match="not certain who pays"):
        ledger.reserve(other, loss_of("1"), work="test")
    ledger.separate(other, account)
    assert ledger.find(other).doubts == ()


def test_the_name_of_one_account_in_doubt_does_not_decide_the_other(ledger, people):
    first, second = pays(ledger, people.select("zip")), pays(ledger, people.select("age", "income"))
    ledger.set_name(first, "first")
    whole = ledger.identify(made(people))
    assert ledger.find(whole).doubts == (first, second)
    with pytest.raises(InputError, match=f"has the account {second[:6]}"):
        ledger.enter(whole, "first")
    ledger.set_name(second, "first")
    assert ledger.enter(whole, "first") == first
    assert ledger.account(first).used[0] == 2


def test_a_table_in_doubt_is_no_version_of_a_third_one(ledger, people):
    account, third = pays(ledger, people), pays(ledger, persons(np.random.default_rng(2)))
    part = ledger.identify(made(people.select("age", "zip")))
    with pytest.raises(InputError, match=f"has the account {account[:6]}"):
        ledger.link_version(part, third)
    assert ledger.link_version(part, account) == account


# -- how marks are kept -----------------------------------------------------------------------------------------------


def test_marks_are_read_back_under_their_key_alone(people):
    marks = identify(made(people), KEY).columns
    data = marks.encode(KEY)
    again = ColumnMarks.decode(data, (b"o" * 32, KEY))
    assert again.encode(KEY) == data
    assert log_evidence(marks, again) > 100
    assert log_evidence(marks, identify(made(people), b"o" * 32).columns) < 0
    for damaged in (data[:-1], data[:7], b"", bytes([data[40] ^ 1]) + data[1:]):
        with pytest.raises(ValueError, match="damaged, or of another key"):
            ColumnMarks.decode(damaged, (KEY,))
    with pytest.raises(ValueError, match="of another key"):
        ColumnMarks.decode(data, (b"o" * 32,))


def test_counts_are_not_in_the_ledger_without_its_key(ledger):
    """The ledger's file may be handed over without its key; how many rows have a value tells of the rows."""
    frame = pl.DataFrame({"sick": ["yes"] * 1237 + ["no"] * 8110})
    ledger.enter(ledger.identify(made(frame)))
    stored = b"".join(data for (data,) in ledger._rows("SELECT data FROM sketch"))
    assert stored
    for count in (1237, 8110, 9347):
        assert count.to_bytes(8, "little") not in stored
    values = [int(value) for mark in ledger.identify(made(frame)).columns.columns for value in mark.values]
    assert not any(value.to_bytes(8, "little") in stored for value in values)
    assert key_path(ledger.path).read_bytes() not in stored


def test_a_ledger_of_an_earlier_version_gets_marks_when_the_table_is_next_seen(ledger, people):
    known, part = ledger.identify(made(people)), ledger.identify(made(people.select("age", "sex")))
    ledger.set_cap(dataclasses.replace(known, columns=NO_COLUMNS), Decimal(3))
    assert ledger.find(part).doubts == ()
    account = ledger.enter(known)
    assert len(list(ledger.entries("mark"))) == 2
    ledger.enter(known)
    assert len(list(ledger.entries("mark"))) == 2
    assert ledger.find(part).doubts == (account,)


def test_marks_come_along_when_ledgers_are_merged_and_moved(tmp_path, people):
    with Ledger.open(tmp_path / "one.sqlite") as one, Ledger.open(tmp_path / "two.sqlite") as two:
        account = pays(two, people)
        pays(one, persons(np.random.default_rng(5)))
        one.merge(two)
        one.move(tmp_path / "three.sqlite")
    with Ledger.open(tmp_path / "three.sqlite") as book:
        part = book.identify(made(people.select("income")))
        assert book.find(part).doubts == (account,)
        assert book.verify() == []


def test_verify_notices_marks_that_were_altered(ledger, people):
    ledger.enter(ledger.identify(made(people.select("age"))))
    ledger._db.execute("UPDATE sketch SET data = x'00'")
    assert ledger.verify() == ["the ledger is damaged: the marks of a table were changed"]


def test_marks_of_another_key_in_a_whole_chain_are_refused_as_damage(ledger, people):
    """Whoever rewrites a ledger can make its digests right, and not what they are of."""
    known = ledger.identify(made(people))
    other = identify(made(people), b"o" * 32).columns
    with ledger._transaction():
        digest = ledger._kept(other.encode(b"o" * 32))
        dataset = ledger._marked(dataclasses.replace(known, columns=NO_COLUMNS), "new")
        ledger._append("mark", dataset, {"columns": digest})
    ledger.set_cap(dataset, Decimal(1))
    with pytest.raises(CheckFailedError, match="marks of a table were changed"):
        ledger.find(ledger.identify(made(people.select("age"))))

"""One table, one budget from Python: who pays is said, or carried by the DataFrame, before anything is read."""

import re
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import cross_val_score, train_test_split

from workbench import api
from workbench.api import datasets
from workbench.cli import main
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.release.ledger.ledger import Ledger

BOOK = "ledger.sqlite"


@pytest.fixture
def crowd():
    """Two thousand people: age, sex, income."""
    generator = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": generator.integers(0, 100, 2000),
            "sex": generator.choice(["female", "male"], 2000),
            "income": generator.lognormal(10, 0.5, 2000).round(2),
        }
    )


def bayes(output: str, columns: list[str], **more):
    limits = {"age": (0, 110), "income": (0, 500_000)}
    bounds = {name: limits[name] for name in columns}
    return api.NaiveBayes(epsilon=1, bounds=bounds, classes=["female", "male"], output=output, **more)


def six(people: pd.DataFrame, **who):
    """The releases that were six accounts: projections and a part of one table, each for ε = 1 or more."""
    numbers = {"age": (0, 110), "income": (0, 500_000)}
    incomes = api.plan(people[["income"]], epsilon=1, bounds={"income": (0, 500_000)})
    whole = api.plan(people, epsilon=1, bounds=numbers, domains={"sex": ["female", "male"]})
    return [
        lambda: bayes("one", ["age"], **who).fit(people[["age"]], people["sex"]),
        lambda: bayes("two", ["age", "income"], **who).fit(people[["age", "income"]], people["sex"]),
        lambda: api.PCA(epsilon=1, bounds=numbers, output="three", **who).fit(people[["age", "income"]]),
        lambda: api.statistics(people[["income"]], incomes, output="four.csv", **who),
        lambda: bayes("five", ["age"], **who).fit(people[["age"]].head(1600), people["sex"].head(1600)),
        lambda: api.synthesize(people, whole, output="six.csv", **who),
    ]


@pytest.mark.parametrize("carried", [True, False], ids=["dataset", "account="])
def test_six_releases_of_one_table_are_one_account_one_charge_five_refusals(crowd, folder, carried):
    who = {} if carried else {"account": "people", "ledger": BOOK}
    people = api.dataset(crowd, account="people", ledger=BOOK) if carried else crowd
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for release in six(people, **who):
            try:
                release()
            except BudgetRefusedError:
                refused += 1
    assert refused == 5
    with Ledger.read(folder / BOOK) as book:
        counted = [r for r in book.releases() if r.status == "charged"]
        assert [(r.status, r.epsilon) for r in counted] == [("charged", Decimal(1))]
        assert len(book.caps()) == 1
        assert {book.accounts().of(d) for d in book.accounts().datasets} == set(book.caps())
    assert sorted(p.name for p in folder.iterdir() if not p.name.startswith(BOOK)) == ["one"]


def test_without_an_account_every_release_is_refused_before_anything_is_read(crowd, folder, monkeypatch):
    calls = six(crowd, ledger=BOOK)

    def read(*_, **__):
        raise AssertionError("the rows were read")

    for module in ("release_input", "private_model"):
        monkeypatch.setattr(f"workbench.api.{module}.table_of", read)
    for release in calls:
        with pytest.raises(ParameterError, match='account="NAME"'):
            release()
    assert not list(folder.iterdir())


TAKEN = {
    "columns": lambda p: p[["age"]],
    "column": lambda p: p["sex"],
    "head": lambda p: p.head(1600),
    "iloc": lambda p: p.iloc[3:9],
    "loc": lambda p: p.loc[:, ["age"]],
    "mask": lambda p: p[p["age"] > 3],
    "query": lambda p: p.query("age > 3"),
    "copy": lambda p: p.copy(),
    "assign": lambda p: p.assign(more=1),
    "drop": lambda p: p.drop(columns="sex"),
    "sample": lambda p: p.sample(9),
    "astype": lambda p: p.astype({"age": "float32"}),
    "sort": lambda p: p.sort_values("age").reset_index(drop=True),
    "split, train": lambda p: train_test_split(p[["age"]], p["sex"])[0],
    "split, test": lambda p: train_test_split(p[["age"]], p["sex"])[3],
    "sum": lambda p: p["age"] + 1,
    "concat": lambda p: pd.concat([p, p]),
}


@pytest.mark.parametrize("taken", TAKEN)
def test_what_is_taken_from_a_dataset_keeps_its_account(crowd, folder, taken):
    people = api.dataset(crowd, account="people", ledger=BOOK)
    mark = datasets.mark_of(TAKEN[taken](people))
    assert mark == datasets.mark_of(people)
    assert mark is not None
    assert (mark.account, mark.ledger) == ("people", str(folder / BOOK))


LOST = {
    "array": lambda p: p[["age"]].to_numpy(),
    "dummies": lambda p: pd.get_dummies(p["sex"]),
    "new frame": lambda p: pd.DataFrame({"age": p["age"]}),
    "joined with another's": lambda p: pd.concat([p, api.dataset(p, account="other")]),
}


@pytest.mark.parametrize("lost", LOST)
def test_what_lost_its_account_does_not_pass_silently(crowd, folder, lost):
    people = api.dataset(crowd, account="people", ledger=BOOK)
    given = LOST[lost](people)
    assert datasets.mark_of(given) is None
    model = api.NaiveBayes(epsilon=1, bounds=(0, 110), classes=["female", "male"], ledger=BOOK, output="model")
    labels = list(people["sex"])[: len(given)]
    with pytest.raises(ParameterError, match="account"):
        model.fit(given, labels)
    with pytest.raises(ParameterError, match="account"):
        model.fit(given, people["sex"])  # that y has one says nothing of X
    assert api.ledger(BOOK).releases().empty
    assert not (folder / "model").exists()


def test_a_refusal_says_what_to_do_from_python_in_this_ledger(crowd, folder):
    people = api.dataset(crowd, account="people", ledger=BOOK)
    plan = api.plan(crowd, epsilon=1, bounds={"age": (0, 110)}, drop=["sex", "income"])
    api.release(people, plan, output="one.csv")
    with pytest.raises(BudgetRefusedError) as refused:
        api.release(people.head(900), plan, output="two.csv")
    advice = f"api.ledger({str(folder / BOOK)!r}).cap('people', epsilon=2)"
    assert advice in str(refused.value)
    exec(advice, {"api": api})
    api.release(people.head(900), plan, output="two.csv")
    crowd.to_csv("people.csv", index=False)
    with pytest.raises(InputError, match="pass account='people'"):
        api.release(crowd, plan, output="three.csv", ledger=BOOK, account="somebody else")


def test_columns_of_a_dataset_that_were_not_released_are_known_under_another_name(crowd, folder):
    people = api.dataset(crowd.assign(notes=[[]] * len(crowd)), account="people", ledger=BOOK)
    bayes("one", ["age"]).fit(people[["age"]], people["sex"])
    plan = api.plan(crowd[["income"]], epsilon=1, bounds={"income": (0, 500_000)})
    with pytest.raises(InputError, match=r"not certain who pays.*pass account='people'"):
        api.release(crowd[["income"]], plan, output="two.csv", account="new", ledger=BOOK)
    with pytest.raises(BudgetRefusedError):
        api.release(people[["income"]], plan, output="two.csv")


def test_an_array_with_its_account_is_charged_to_it(crowd, folder):
    X, y = crowd[["age"]].to_numpy(), list(crowd["sex"])
    bayes("one", [], account="people", ledger=BOOK).set_params(bounds=(0, 110)).fit(X, y)
    with pytest.raises(BudgetRefusedError):
        bayes("two", [], account="people", ledger=BOOK).set_params(bounds=(0, 110)).fit(X[:700], y[:700])


def test_two_accounts_are_refused(crowd, folder):
    people = api.dataset(crowd, account="people", ledger=BOOK)
    other = api.dataset(crowd, account="other", ledger=BOOK)
    with pytest.raises(ParameterError, match="'people' and 'other'"):
        bayes("model", ["age"]).fit(people[["age"]], other["sex"])
    with pytest.raises(ParameterError, match="'other' and 'people'"):
        bayes("model", ["age"], account="other").fit(people[["age"]], people["sex"])
    plan = api.plan(epsilon=1, bounds={"age": (0, 110)}, drop=["sex", "income"], account="other")
    with pytest.raises(ParameterError, match="'other' and 'people'"):
        api.release(people, plan, output="out.csv")
    with pytest.raises(ParameterError, match="two ledgers"):
        api.release(people, plan, output="out.csv", ledger="another.sqlite")
    assert {path.name for path in folder.iterdir()} == {BOOK, f"{BOOK}.key"}
    assert api.ledger(BOOK).releases().empty


def test_without_an_output_a_dataset_is_studied_and_noted_in_its_own_ledger(crowd, folder):
    people = api.dataset(crowd, account="people", ledger=BOOK)
    model = bayes(None, ["age"])  # type: ignore[arg-type]
    with pytest.warns(api.PrivateStudyWarning):
        assert cross_val_score(model, people[["age"]], people["sex"], cv=3).size == 3
    with Ledger.read(folder / BOOK) as book:
        assert [f.study for f in book.figures()] == ["model"]
        assert not book.releases()
        told = "the dataset and the account: each fold is noted of the account, without marks of its own"
        assert len(book.accounts().datasets) == 2, told
        assert book.figures_shown(book.accounts().named("people"))


def test_a_file_is_a_dataset(crowd, folder):
    crowd.to_csv("people.csv", index=False)
    people = api.dataset("people.csv", account="people", ledger=BOOK)
    pd.testing.assert_frame_equal(people, crowd, check_dtype=False)
    assert people["age"].dtype.kind == "i"
    assert people["income"].dtype.kind == "f"
    plan = api.plan(people, epsilon=1, bounds={"age": (0, 110)}, drop=["sex", "income"])
    assert api.release(people, plan, output="out.csv").attrs["epsilon"] == 1


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_columns_of_a_file_have_types(folder, suffix):
    frame = pd.DataFrame(
        {
            "code": ["007", "010", "100"],
            "n": pd.Series([1, None, 3], dtype="Int64"),
            "x": [0.5, None, 2],
            "word": ["a", None, "NA"],
        }
    )
    name = f"rows.{suffix}"
    if suffix == "csv":
        frame.to_csv(name, index=False)
    else:
        pl.DataFrame({c: [None if pd.isna(v) else v for v in frame[c]] for c in frame}).write_parquet(name)
    read = api.dataset(name, account="people")
    assert list(read["code"]) == ["007", "010", "100"], "leading zeros are no numbers"
    assert read["word"].isna().tolist() == [False, True, False], "NA is a word, as in the program"
    assert read["n"].dropna().tolist() == [1, 3]
    assert read["x"].dtype == "float64"
    assert read["x"].isna().tolist() == [False, True, False]


def test_a_file_that_is_read_by_a_guess_is_refused(folder):
    (folder / "rows.csv").write_text("a;b\n1,5;2,5\n2,5;3\n", "utf-8")
    with pytest.raises(InputError, match="which one row can change"):
        api.dataset("rows.csv", account="people")
    reading = {"delimiter": ";", "decimal": ",", "header": "yes", "encoding": "utf-8", "quote": '"'}
    read = api.dataset(Path("rows.csv"), account="people", reading=reading)
    assert read["a"].tolist() == [1.5, 2.5]


def test_the_account_must_be_a_name_and_the_rows_a_table(crowd):
    with pytest.raises(ParameterError, match="80 printable"):
        api.dataset(crowd, account=" people")
    with pytest.raises(InputError, match="is not a table"):
        api.dataset(crowd.to_numpy(), account="people")


def test_a_table_with_an_account_without_a_name_is_named_first(crowd, folder):
    plan = api.plan(crowd, epsilon=1, bounds={"age": (0, 110)}, drop=["sex", "income"])
    with Ledger.open(folder / BOOK) as book:
        from workbench.api.frames import table_of

        book.set_cap(book.identify(table_of(crowd)), Decimal(1))
    with pytest.raises(InputError, match="not named 'people'"):
        api.release(crowd, plan, ledger=BOOK, account="people", output="out.csv")
    api.ledger(BOOK).name(crowd, "people")
    assert api.release(crowd, plan, ledger=BOOK, account="people", output="out.csv").attrs["remaining"] == 0


def test_a_table_in_doubt_is_settled_by_running_what_the_refusal_says(crowd, folder):
    crowd.to_csv("crowd.csv", index=False)
    plan = api.plan(
        crowd, epsilon=1, bounds={"age": (0, 110), "income": (0, 500_000)}, domains={"sex": ["female", "male"]}
    )
    Path("plan.toml").write_text(plan.to_toml(), "utf-8")
    words = ["sanitize", "crowd.csv", "--plan", "plan.toml", "-o", "one.csv", "--ledger", BOOK]
    assert main(words) == 0
    some = crowd[["age", "sex"]]
    part = api.plan(some, epsilon=1, bounds={"age": (0, 110)}, domains={"sex": ["female", "male"]})
    with pytest.raises(InputError) as refused:
        api.release(some, part, output="two.csv", ledger=BOOK, account="people")
    said = re.search(r"if they are the same people, name that account with (.*?\)) and try again", str(refused.value))
    assert said
    exec(said[1], {"api": api})
    with pytest.raises(BudgetRefusedError):
        api.release(some, part, output="two.csv", ledger=BOOK, account="people")

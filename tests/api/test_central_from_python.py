"""Synthetic tables and statistics from Python: studies that say so, and releases that are charged and verified."""

import warnings
from pathlib import Path

import pandas as pd
import pytest

from workbench import api
from workbench.params import BudgetRefusedError, ParameterError
from workbench.release.table_formats import table_format
from workbench.sanitize.plan import Column, Plan
from workbench.sanitize.writing import PLAIN, Writing

FACTS = {"bounds": {"age": (0, 99), "income": (0.0, 9000.0)}, "domains": {"sex": ["female", "male"]}, "drop": ["name"]}


def test_studies_say_so_and_charge_nothing(people, folder):
    plan = api.plan(epsilon=3, **FACTS)
    with pytest.warns(api.PrivateStudyWarning, match="not for release"):
        drawn = [api.synthesize(people, plan, target="sex", seed=seed) for seed in (1, 1, 2)]
    pd.testing.assert_frame_equal(drawn[0], drawn[1])
    assert not drawn[0].equals(drawn[2])
    assert set(drawn[0].columns) == {"age", "sex", "income"}
    assert len(drawn[0]) == 40
    assert drawn[0]["age"].between(0, 99).all()
    assert drawn[0].attrs == {"private": "private – not for release"}
    with pytest.warns(api.PrivateStudyWarning, match="not for release"):
        figures = api.statistics(people, plan, [{"statistic": "mean", "column": "age", "by": ["sex"]}], epsilon=50)
    assert list(figures["group"]) == ["sex=female", "sex=male"]
    means = people.groupby("sex")["age"].mean()
    for _, row in figures.iterrows():
        assert row["low"] - 3 <= means[row["group"].removeprefix("sex=")] <= row["high"] + 3
    assert not list(folder.iterdir())


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_synthetic_rows_are_released(people, folder, suffix):
    plan = api.plan(epsilon=3, **FACTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = api.synthesize(
            people, plan, method="mst", rows=25, ledger="ledger.sqlite", account="people", output=f"new.{suffix}"
        )
    assert len(made) == 25
    assert made["age"].dtype.kind == "i"
    assert set(made["sex"]) <= {"female", "male"}
    assert made.attrs["epsilon"] == 3.0
    assert api.verify(f"new.{suffix}") == []
    with pytest.raises(BudgetRefusedError):
        api.statistics(people, plan, ledger="ledger.sqlite", account="people", output="figures.csv")
    assert not (folder / "figures.csv").exists()


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_statistics_are_released(people, folder, suffix):
    plan = api.plan(epsilon=3, **FACTS)
    told = api.statistics(people, plan, epsilon=1, ledger="ledger.sqlite", account="people", output=f"figures.{suffix}")
    assert {"mean", "histogram"} <= set(told["statistic"])
    assert told.attrs["epsilon"] == 1.0
    assert api.verify(f"figures.{suffix}") == []
    assert told["estimate"].notna().all()


def test_arguments_that_contradict_each_other_are_refused(people, folder):
    plan = api.plan(epsilon=3, **FACTS)
    with pytest.raises(ParameterError, match="a release is charged"):
        api.synthesize(people, plan, target="sex", output="new.csv")
    with pytest.raises(ParameterError, match="fresh randomness"):
        api.statistics(people, plan, ledger="ledger.sqlite", account="people", output="f.csv", seed=1)
    with pytest.raises(ParameterError, match="output="):
        api.synthesize(people, plan, target="sex", ledger="ledger.sqlite", account="people")
    with pytest.raises(ParameterError, match=r"moda. is not known"):
        api.statistics(people, plan, [{"statistic": "moda", "column": "age"}])
    with pytest.raises(ParameterError, match=r"needs a target column; set target= or role"):
        api.synthesize(people, api.plan(epsilon=3, **FACTS), method="tan")
    with pytest.raises(ParameterError, match="need a categorical column"):
        api.statistics(people, plan, [{"statistic": "mode", "column": "age"}])
    assert not list(folder.iterdir())


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("kind", ["integer", "category"])
def test_a_missing_value_alone_in_its_row_is_read_as_missing(folder, kind, suffix):
    facts = {"lower": 0, "upper": 3} if kind == "integer" else {"domain": ("0", "1", "2", "3")}
    plan = Plan(epsilon=0.2, columns=(Column(name="a", kind=kind, missing="own-value", **facts),))
    frame = pd.DataFrame({"a": [str(i % 4) for i in range(200)]})
    for i in range(40):  # about every second release draws rows without a value, by its noise
        made = api.synthesize(frame, plan, account="people", ledger=f"{i}.sqlite", output=f"{i}.{suffix}")
        assert len(made) == 200
        if made["a"].isna().any():
            break
    else:
        raise AssertionError("no release holds a missing value")
    assert api.verify(f"{i}.{suffix}") == []
    values = made["a"].dropna()
    assert set(values) <= {"0", "1", "2", "3"}, "text comes back as text"
    if suffix != "parquet":
        written = (folder / f"{i}.{suffix}").read_text("utf-8").splitlines()[1:]
        assert made["a"].isna().tolist() == [line in ("", '""') for line in written]


def test_a_quoted_empty_cell_is_a_missing_value(folder):
    (folder / "one.csv").write_text('a\n""\n3\n""\n', "utf-8")
    read = table_format("csv").read((folder / "one.csv").read_bytes(), PLAIN)
    assert read["a"].to_list() == [None, "3", None]


@pytest.mark.parametrize("epsilon", [float("nan"), float("inf"), -1.0, 0, 1e-8, 1e9, True, "1"])
def test_epsilon_is_checked_as_the_commands_check_it(people, epsilon):
    plan = api.plan(epsilon=3, **FACTS)
    for ask in (api.synthesize, api.statistics):
        with pytest.raises(ParameterError, match="epsilon = "):
            ask(people, plan, epsilon=epsilon, seed=1)


@pytest.mark.parametrize("figures", [["x"], [1], "mean", 5, {"statistic": "mean"}, [None]])
def test_figures_that_are_no_mappings_are_refused_in_words(people, figures):
    with pytest.raises(ParameterError, match=r"figure|is not a wish; write it as mean"):
        api.statistics(people, api.plan(epsilon=3, **FACTS), figures, seed=1)


def test_a_delta_and_what_is_impossible_from_python(people, folder):
    plan = api.plan(epsilon=3, **FACTS)
    out = {"ledger": "ledger.sqlite", "account": "people", "output": "new.csv"}
    made = api.synthesize(
        people, plan, method="aim", epsilon=1, delta=1e-6, impossible="sex = male & age = 0..40", rows=200, **out
    )
    assert (made.attrs["epsilon"], made.attrs["delta"]) == (1.0, 1e-6)
    assert not ((made["sex"] == "male") & (made["age"] <= 40)).any()
    assert api.verify("new.csv") == []
    told = api.statistics(
        people, plan, epsilon=1, delta=1e-6, ledger="other.sqlite", account="people", output="figures.csv"
    )
    assert told.attrs["delta"] == 1e-6
    assert api.verify("figures.csv") == []
    with pytest.raises(ParameterError, match="delta"):
        api.statistics(people, plan, delta=0.0)


def test_a_study_with_a_seed_keeps_no_answers(people, folder):
    """A release would continue them, and whoever knows the seed would know its permanent answers."""
    Path("params.csv").write_text("k,h,m,p,q,f\n16,2,4,0.5,0.75,0.5\n", "utf-8")
    named = people.assign(name=[f"p{i}" for i in range(len(people))])
    plan = api.plan(epsilon=3, **FACTS)
    asked = {"kind": "rappor", "params": "params.csv", "column": "sex", "client": "name", "answers": "kept.csv"}
    with pytest.raises(ParameterError, match="needs fresh randomness"):
        api.publish(named, plan, seed=1, **asked)
    assert not Path("kept.csv").exists()
    with pytest.warns(api.PrivateStudyWarning):
        api.publish(named, plan, **asked)
    assert Path("kept.csv").exists()


@pytest.mark.parametrize("by", ["encode", "publish"])
@pytest.mark.parametrize("taken", ["kept.csv", "params.csv", "new.csv"])
def test_no_release_replaces_a_file_that_it_is_made_from(people, folder, by, taken):
    """Kept answers that are lost would be drawn anew, which charges a client's long-run ε twice."""
    Path("params.csv").write_text("k,h,m,p,q,f\n16,2,4,0.5,0.75,0.5\n", "utf-8")
    named = people.assign(name=[f"p{i}" for i in range(len(people))])
    asked = {"column": "sex", "client": "name", "answers": "new.csv" if taken == "new.csv" else "kept.csv"}
    with pytest.warns(api.PrivateStudyWarning):
        api.rappor.encode(named, "params.csv", column="sex", client="name", answers="kept.csv")
    kept = Path("kept.csv").read_bytes()
    pays = {"ledger": "l.sqlite", "account": "people", "replace": True}
    how = {
        "encode": lambda **asked: api.rappor.encode(named, **asked),
        "publish": lambda **asked: api.publish(named, api.plan(epsilon=3, **FACTS), kind="rappor", **asked),
    }[by]
    with pytest.raises(ParameterError, match="would replace its input"):
        how(params="params.csv", output=taken, **asked, **pays)
    assert Path("kept.csv").read_bytes() == kept
    assert not Path("new.csv").exists()


def test_of_each_person_so_many_rows_are_read(folder):
    visits = pd.DataFrame({"who": ["a"] * 30 + ["b"], "city": ["Graz"] * 31})
    plan = api.plan(epsilon=1, domains={"city": ["Graz", "Linz"]}, unit="who", rows_per_person=2)
    assert (plan.invalid, plan.column("who").action) == ("replace", "drop")
    made = api.statistics(
        visits,
        plan,
        [{"statistic": "count", "by": ["city"]}],
        epsilon=40,
        ledger="ledger.sqlite",
        account="visits",
        output="s.csv",
    )
    assert made.attrs["epsilon"] == 80
    assert round(made["estimate"][0]) == 3


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
@pytest.mark.parametrize("released", [False, True])
def test_names_values_and_numbers_come_back_as_they_were_however_the_file_is_written(folder, released):
    frame = pd.DataFrame({"=v": [0.25, 1.5] * 50, "'=v": ["=Rom", "Graz"] * 50})
    columns = (
        Column(name="=v", kind="real", lower=0, upper=2, cells=9),
        Column(name="'=v", kind="category", domain=("=Rom", "Graz")),
    )
    plan = Plan(epsilon=200, columns=columns, writing=Writing(decimal=",", delimiter=";", defuse_formulas=True))
    pays = {"ledger": "l.db", "account": "a", "output": "o.csv"} if released else {}
    made = api.synthesize(frame, plan, **pays)
    assert [made[name].dtype.kind for name in frame.columns] == ["f", "O"]
    assert set(made["'=v"]) == {"=Rom", "Graz"}
    if released:
        assert Path("o.csv").read_text("utf-8").startswith("'=v;''=v\n")
        scores = api.quality("o.csv", frame, study_ledger="l.db").set_index("score")["value"]
        # Not its pair trends: one row of 100 with a larger value moves the ranges that they count in, and halves them.
        assert min(scores[["column_shapes", "two_way"]]) > 0.9


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
def test_one_figure_needs_no_list(people):
    plan, mean = api.plan(epsilon=3, **FACTS), {"statistic": "mean", "column": "age"}
    alone, listed = (api.statistics(people, plan, figures, seed=1) for figures in (mean, [mean]))
    pd.testing.assert_frame_equal(alone, listed)


def test_figures_may_be_written_as_wishes(people):
    plan = api.plan(epsilon=3, **FACTS)
    wishes = ["mean(Income by sex) ± 500", "median(age)", "share(sex=female) within 3 %", "correlation(age, income)"]
    with pytest.warns(api.PrivateStudyWarning):
        told = api.statistics(people, plan, [*wishes, {"statistic": "sum", "column": "age"}], epsilon=50, seed=1)
    assert {"mean", "quantile", "histogram", "correlation", "sum"} <= set(told["statistic"])
    assert list(told.loc[told["statistic"] == "mean", "group"]) == ["sex=female", "sex=male"]
    with pytest.warns(api.PrivateStudyWarning):
        assert list(api.statistics(people, plan, "mean(age)", epsilon=50, seed=1)["statistic"]) == ["mean"]
    with pytest.raises(ParameterError, match=r"no column 'aeg'.* \(mean\(aeg\)\)"):  # as it was written
        api.statistics(people, plan, "mean(aeg)", epsilon=1)
    with pytest.raises(ParameterError, match="'the age' is not a wish; write it as mean"):
        api.statistics(people, plan, ["the age"])
    with pytest.raises(ParameterError, match="'other' is not one of its declared values"):
        api.statistics(people, plan, ["share(sex=other)"])


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
def test_figures_come_in_the_order_asked(people):
    plan = api.plan(epsilon=3, **FACTS)
    asked = ["correlation(age, income)", {"statistic": "histogram", "column": "sex"}, "median(income)", "mean(age)"]
    told = api.statistics(people, plan, [*asked, "quantile(income, 0.9)"], epsilon=50, seed=1)
    assert list(dict.fromkeys(told["column"])) == ["age and income", "sex", "income", "age"]
    assert (told["statistic"] == "quantile").sum() == 2  # the quantiles of one column are one figure


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
def test_a_wish_about_a_column_called_select_is_no_query():
    frame = pd.DataFrame({"select": [1, 2, 3] * 40})
    plan = api.plan(frame, epsilon=3, bounds={"select": (0, 5)})
    assert list(api.statistics(frame, plan, "mean(select)", epsilon=50, seed=1)["statistic"]) == ["mean"]
    query = '-- of all rows\n/* and */ SELECT AVG("select") FROM t'
    assert list(api.statistics(frame, plan, query, epsilon=50, seed=1)["statistic"]) == ["mean"]

"""A DataFrame as the program's table: a cell's text follows from that cell alone."""

import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.source_files import ROWS, coded, packed_zip, partitioned, workbook
from workbench import api
from workbench.api.frames import cell_text, table_of
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.release.ledger.ledger import Ledger


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e300, "1e+300"),
        (np.int8(5), "5"),
        (np.float32(0.5), "0.5"),
        (True, "true"),
        (np.bool_(False), "false"),
        ("a, b", "a, b"),
        (decimal.Decimal("2.50"), "2.50"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (pd.Timestamp("2020-01-02"), "2020-01-02"),
        (pd.Timestamp("2020-01-02 03:04"), "2020-01-02T03:04:00"),
        (None, None),
        ("", None),
        (float("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
    ],
)
def test_a_value_is_written_as_a_file_would_hold_it(value, text):
    assert cell_text(value) == text


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64", "Float64", "str", "category", "object"])
def test_every_type_of_a_column_is_read(dtype):
    frame = pd.DataFrame({"x": pd.Series([1, 2, 3]).astype(dtype)})
    assert table_of(frame).frame["x"].to_list() == ["1", "2", "3"]


@pytest.mark.parametrize("dtype", ["Int64", "float64", "str", "category", "object"])
def test_a_missing_value_is_missing_whatever_the_type(dtype):
    frame = pd.DataFrame({"x": pd.Series(["1", None, "3"]).astype("object" if dtype == "object" else "str")})
    if dtype not in ("str", "object"):
        frame = frame.apply(pd.to_numeric).astype(dtype)
    assert table_of(frame).frame["x"].to_list() == ["1", None, "3"]


plain = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_infinity=False), st.text(max_size=5)
)


@given(st.lists(plain, min_size=2, max_size=6), st.data())
def test_no_cell_depends_on_another(values, data):
    spared = data.draw(st.integers(0, len(values) - 1))
    other = [v if i == spared else data.draw(plain) for i, v in enumerate(values)]
    one, two = (
        table_of(pd.DataFrame({"x": pd.Series(cells, dtype="object")})).frame["x"].to_list()[spared]
        for cells in (values, other)
    )
    assert one == two


def test_the_index_is_no_column_and_numbers_may_be_names():
    frame = pd.DataFrame({0: [1], 1: [2]}, index=["secret"])
    assert list(table_of(frame).names) == ["0", "1"]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame({"x": [1, [2]]}), "row 2, column x"),
        (pd.DataFrame({"x": [b"raw"]}), "bytes"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "'x'"),
        (pd.DataFrame({"x": []}), "no rows"),
        ([[1, 2]], "list"),
    ],
)
def test_what_is_no_table_is_one_sentence_without_a_value(frame, said):
    with pytest.raises(InputError, match=said) as caught:
        table_of(frame)
    assert "raw" not in str(caught.value)


# -- Two DataFrames that are joined on the person: a plan of both, a study, and releases charged to one account


VISITS = pd.DataFrame({"who": [f"p{n % 60}" for n in range(300)], "days": [n % 30 for n in range(300)]})
PEOPLE = pd.DataFrame({"patient": [f"p{n}" for n in range(80)], "sex": ["f", "m"] * 40, "days": [0.5, 2.25] * 40})


def plan_of_both(**keys: object) -> api.Plan:
    bounds = {"days": (0, 30), "days_2": (0, 5)}
    stated: dict = {"epsilon": 4, "unit": "who", "rows_per_person": 2, "join": PEOPLE, "on": "patient"}
    return api.plan(VISITS, bounds=bounds, domains={"sex": ["f", "m"]}, **{**stated, **keys})


def test_rows_of_both_have_the_types_of_both_and_one_account_pays(tmp_path):
    plan, pays = plan_of_both(), {"account": "clinic", "ledger": tmp_path / "l.sqlite"}
    assert {column.name: column.kind for column in plan.columns if column.action != "drop"} == {
        "days": "integer",
        "sex": "category",
        "days_2": "real",
    }
    api.ledger(tmp_path / "l.sqlite").cap(api.dataset(VISITS, **pays), epsilon=18)
    made = api.release(VISITS, plan, join=PEOPLE, output=tmp_path / "r.csv", **pays)
    assert list(made) == ["days", "sex", "days_2"]
    assert (str(made["days"].dtype), str(made["days_2"].dtype)) == ("Int64", "float64")
    figures = api.statistics(
        VISITS, plan, [{"statistic": "mean", "column": "days_2"}], join=PEOPLE, output=tmp_path / "s.csv", **pays
    )
    assert figures.attrs["remaining"] == 2
    assert json.loads((tmp_path / "s.csv.certificate.json").read_text("utf-8"))["joined_rows"] == 80
    assert api.verify(tmp_path / "s.csv") == []
    alone = api.plan(PEOPLE, epsilon=4, unit="patient", rows_per_person=2, domains={"sex": ["f", "m"]}, drop=["days"])
    with pytest.raises(BudgetRefusedError):
        api.release(PEOPLE, alone, output=tmp_path / "p.csv", **pays)


def test_a_study_of_both_can_be_repeated():
    with pytest.warns(UserWarning, match="private study"):
        one, other = (api.synthesize(VISITS, plan_of_both(), join=PEOPLE, seed=3) for _ in range(2))
    assert one.equals(other)


@pytest.mark.parametrize("carries", ["visits", "people"])
def test_a_study_of_both_is_noted_in_the_ledger_that_one_of_them_carries(carries, tmp_path):
    frames = {"visits": VISITS, "people": PEOPLE}
    frames[carries] = api.dataset(frames[carries], account="clinic", ledger=tmp_path / "l.sqlite")
    with pytest.warns(UserWarning, match="private study"):
        api.statistics(
            frames["visits"], plan_of_both(), [{"statistic": "mean", "column": "days"}], join=frames["people"]
        )
    with Ledger.open(tmp_path / "l.sqlite") as book:
        assert book.figures_shown(book.accounts().named("clinic"))


def test_what_is_joined_otherwise_than_planned_is_refused():
    with pytest.raises(InputError, match=r"give it: join=$"):
        api.release(VISITS, plan_of_both())
    by_row = api.plan(VISITS, epsilon=1, bounds={"days": (0, 30)}, drop=["who"])
    with pytest.raises(ParameterError, match="has no join"):
        api.release(VISITS, by_row, join=PEOPLE)
    for keys, said in (({"on": None}, "has no column 'who'"), ({"unit": None}, "person column of the first table")):
        with pytest.raises(ParameterError, match=said):
            plan_of_both(**keys)


# -- A dataset of Python from every kind of source, with the options of the command line ------------------------------


def test_datasets_of_python_come_from_any_source(tmp_path):
    workbook(tmp_path / "book.xlsx", "Notes")
    packed_zip(tmp_path / "two.zip", "a.csv", "b.csv")
    partitioned(tmp_path / "people")
    assert api.dataset(tmp_path / "book.xlsx", account="a")["age"].tolist() == [int(row[0]) for row in ROWS]
    assert list(api.dataset(tmp_path / "book.xlsx", account="a", reading={"sheet": "Notes"}).columns) == ["note"]
    assert len(api.dataset(tmp_path / "two.zip", account="a", reading={"member": "b.csv"})) == len(ROWS)
    assert len(api.dataset(tmp_path / "people", account="a")) == len(ROWS)


def test_what_a_file_declares_missing_is_stated_before_it_is_a_dataframe(tmp_path):
    coded(tmp_path / "people.dta")
    with pytest.raises(InputError, match="which only the file says"):
        api.dataset(tmp_path / "people.dta", account="a")
    stated = {"labels": True, "missing_codes": "missing"}
    frame = api.dataset(tmp_path / "people.dta", account="a", reading=stated)
    assert frame["city"].dropna().tolist() == [row[2] for row in ROWS if row[2] is not None]


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
def test_a_column_of_lists_may_be_dropped(tmp_path):
    frame = pd.DataFrame({"tags": [["red"], []] * 30, "sex": ["f", "m"] * 30})
    plan = api.plan(frame, epsilon=2, domains={"sex": ["f", "m"]}, drop=["tags"])
    assert list(api.release(frame, plan)) == list(api.synthesize(frame, plan)) == ["sex"]
    assert list(api.statistics(frame, plan, {"statistic": "histogram", "column": "sex"})["value"])[:2] == ["f", "m"]
    released = api.release(frame, plan, account="people", ledger=tmp_path / "l.sqlite", output=tmp_path / "out.csv")
    assert len(released) == 60
    told = api.describe(frame).set_index("column")
    assert told.loc["tags", "look_at"] == "it has a list (row 1): drop it"
    assert told.loc["sex", "distinct"] == 2
    with pytest.raises(InputError, match=r"a cell holds a list \(row 1, column tags\)"):
        api.release(frame, api.plan(frame, epsilon=2, domains={"sex": ["f", "m"], "tags": ["a", "b"]}))

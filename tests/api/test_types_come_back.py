"""What comes out has the labels, the order and the dtypes of what went in, and scalars of numpy count as numbers."""

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from workbench import api
from workbench.params import InputError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
ROWS = 60
TYPES = {
    "small": "int8",
    "age": "int64",
    "nullable": "Int32",
    "unsigned": "uint16",
    "income": "float64",
    "single": "float32",
    "Float": "Float64",
    "sex": "str",
    "plain": "object",
    "level": "category",
    "flag": "bool",
    "maybe": "boolean",
    "born": "datetime64[ns]",
    "seen": "datetime64[us]",
    "zoned": "datetime64[us, Europe/Berlin]",
    "outcome": "int64",
    "grade": "float32",
}


@pytest.fixture
def mixed():
    generator = np.random.default_rng(2)
    days = pd.to_datetime("2000-01-01") + pd.to_timedelta(generator.integers(0, 900, ROWS), unit="D")
    numbers = generator.integers(0, 100, ROWS)
    frame = pd.DataFrame(
        {
            **dict.fromkeys(("small", "age", "nullable", "unsigned"), numbers),
            **dict.fromkeys(("income", "single", "Float"), generator.uniform(0, 100, ROWS).round(2)),
            **dict.fromkeys(("sex", "plain"), generator.choice(["f", "m"], ROWS)),
            "level": pd.Categorical(generator.choice(["low", "high"], ROWS), ["low", "mid", "high"], ordered=True),
            **dict.fromkeys(("flag", "maybe"), generator.random(ROWS) < 0.5),
            **dict.fromkeys(("born", "seen"), days),
            "zoned": days.tz_localize("Europe/Berlin"),
            "outcome": generator.integers(0, 2, ROWS),
            "grade": generator.choice([1.0, 1.5, 2.0], ROWS),
        }
    )
    level = frame.pop("level")
    frame = frame.astype({name: kind for name, kind in TYPES.items() if name != "level"}).assign(level=level)
    return frame[list(TYPES)]


def planned(frame: pd.DataFrame) -> api.Plan:
    names = ("small", "age", "nullable", "unsigned", "income", "single", "Float")
    days = ("2000-01-01", "2003-01-01")
    return api.plan(
        frame,
        epsilon=60,
        bounds={**dict.fromkeys(names, (0, 100)), **dict.fromkeys(("born", "seen", "zoned"), days)},
        domains={
            **dict.fromkeys(("sex", "plain"), ("f", "m")),
            "level": ["low", "mid", "high"],
            "outcome": [0, 1],
            "grade": [1, 1.5, 2],
        },
    )


WAYS = {
    "release": lambda frame, plan, **more: api.release(frame, plan, **more),
    "synthesize": lambda frame, plan, **more: api.synthesize(frame, plan, epsilon=3, **more),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("released", [False, True], ids=["study", "release"])
def test_labels_order_and_dtypes_come_back(mixed, folder, way, released):
    more = {"account": "a", "ledger": "l.sqlite", "output": "out.csv"} if released else {}
    made = WAYS[way](mixed, planned(mixed), **more)
    pd.testing.assert_series_equal(made.dtypes, mixed.dtypes)
    both = pd.concat([mixed, made], ignore_index=True)
    pd.testing.assert_series_equal(both.dtypes, mixed.dtypes)
    assert set(both["outcome"]) == {0, 1}
    assert made["level"].cat.ordered
    LogisticRegression(max_iter=1000).fit(both[["age", "income"]], both["outcome"])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_published_as_it_is_comes_back_too(mixed, folder, suffix):
    plan = api.plan(mixed, epsilon=1, keep=[n for n in TYPES if n != "age"], bounds={"age": (0, 100)})
    made = api.release(mixed, plan, account="a", ledger="l.sqlite", output=f"out.{suffix}")
    pd.testing.assert_series_equal(made.dtypes, mixed.dtypes)
    kept = sorted(mixed.columns.drop("age"))
    one, two = (f[kept].astype(str).sort_values(kept).reset_index(drop=True) for f in (made, mixed))
    pd.testing.assert_frame_equal(one, two)


def test_a_missing_value_makes_whole_numbers_nullable():
    frame = pd.DataFrame({"n": [1, 2, 3] * 30, "flag": [True, False, True] * 30})
    plan = api.plan(frame, epsilon=0.1, bounds={"n": (0, 3)}, missing=["n", "flag"])
    made = api.release(frame, plan, seed=1)
    assert made.isna().any().all()
    assert [str(dtype) for dtype in made.dtypes] == ["Int64", "boolean"]


@pytest.mark.parametrize(
    ("day", "first"),
    [("2017-03-12", "2017-03-12T01:00-04:00"), ("2017-11-05", "2017-11-05T00:00-04:00"), ("2017-06-01", None)],
)
def test_a_day_begins_in_the_zone_of_its_column_even_where_clocks_change_at_midnight(day, first):
    frame = pd.DataFrame({"seen": pd.to_datetime([f"{day} 12:00"] * 60).tz_localize("America/Havana")})
    plan = api.plan(frame, epsilon=30, bounds={"seen": (day, pd.Timestamp(day) + pd.Timedelta(days=1))})
    made = api.release(frame, plan, seed=1)
    assert made.dtypes.equals(frame.dtypes)
    assert pd.Timestamp(first or f"{day}T00:00-04:00") in set(made["seen"])


def test_types_of_arrow_come_back():
    arrow = pytest.importorskip("pyarrow")
    whole, real, word, truth = (
        pd.ArrowDtype(kind) for kind in (arrow.int32(), arrow.float64(), arrow.string(), arrow.bool_())
    )
    frame = pd.DataFrame(
        {
            "n": pd.Series([1, 2] * 20, dtype=whole),
            "x": pd.Series([0.5, 1.5] * 20, dtype=real),
            "word": pd.Series(["a", "b"] * 20, dtype=word),
            "text": pd.Series(["a", "b"] * 20, dtype="string[pyarrow]"),
            "truth": pd.Series([True, False] * 20, dtype=truth),
            "seen": pd.Series(pd.to_datetime(["2000-01-01", "2001-01-01"] * 20)).astype("timestamp[ns][pyarrow]"),
            "zoned": pd.Series(pd.to_datetime(["2000-01-01", "2001-01-01"] * 20, utc=True)).astype(
                pd.ArrowDtype(arrow.timestamp("us", tz="Europe/Berlin"))
            ),
        }
    )
    days = ("1999-01-01", "2002-01-01")
    plan = api.plan(
        frame,
        epsilon=9,
        bounds={"n": (0, 3), "x": (0, 3), "seen": days, "zoned": days},
        domains={"word": ["a", "b"], "text": ["a", "b"]},
        missing=["n", "truth", "word"],
    )
    pd.testing.assert_series_equal(api.release(frame, plan).dtypes, frame.dtypes)


def test_bounds_beyond_the_dtype_make_it_wider():
    frame = pd.DataFrame({"n": np.array([1, 2] * 20, dtype="int8")})
    made = api.release(frame, api.plan(frame, epsilon=0.1, bounds={"n": (0, 4000)}))
    assert made["n"].dtype == "int64"


@pytest.mark.parametrize("as_named", [str, int])
def test_labels_that_are_not_text_come_back(as_named):
    frame = pd.DataFrame({0: [1, 2] * 20, 1: ["a", "b"] * 20})
    number, name = map(as_named, (0, 1))
    plan = api.plan(frame, epsilon=3, bounds={number: (0, 3)}, domains={name: ["a", "b"]}, missing=[name])
    assert list(api.synthesize(frame, plan).columns) == [0, 1]


def test_whole_bounds_do_not_make_decimals_whole():
    frame = pd.DataFrame({"income": [1234.5, 99.25] * 30, "age": [33, 44] * 30})
    bounds = {"income": (0, 500_000), "age": (0, 110)}
    for plan in (api.plan(frame, epsilon=1, bounds=bounds), api.plan(epsilon=1, bounds=bounds)):
        made = api.release(frame, plan)
        assert (made["income"].dtype.kind, made["age"].dtype.kind) == ("f", "i")
        api.synthesize(frame, plan)
        api.statistics(frame, plan)
    stated = api.plan(frame, epsilon=1, bounds=bounds)
    assert [c.kind for c in stated.columns] == ["real", "integer"]
    assert 'kind = "real"' in stated.to_toml()
    whole = api.plan(frame.astype({"age": float}), epsilon=1, bounds=bounds, kinds={"age": "integer"})
    assert [c.kind for c in whole.columns] == ["real", "integer"]


def test_kinds_without_a_frame_are_as_stated():
    plan = api.plan(epsilon=1, bounds={"x": (0, 5), "day": ("1990-12-31", "2000-01-01")}, kinds={"x": "real"})
    assert [c.kind for c in plan.columns] == ["real", "date"]
    stated = api.plan(epsilon=1, bounds={"x": (0, 5)}, kinds={"x": "integer"})
    with pytest.raises(InputError, match="is not a whole number"):
        api.release(pd.DataFrame({"x": [0.5, 1.5]}), stated)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"bounds": {"x": (0, 5)}, "kinds": {"x": "category"}}, "cannot have the kind 'category'"),
        ({"bounds": {"x": (0, 5)}, "kinds": {"y": "real"}}, "has a kind"),
        ({"bounds": {"x": ("1990-12-31", "tomorrow")}}, "not a date"),
        (
            {"bounds": {"x": (datetime.date(1990, 1, 1), datetime.date(1991, 1, 1))}, "kinds": {"x": "real"}},
            "are dates",
        ),
        ({"bounds": {"x": (0, 5)}, "target": "z"}, "'z' is not declared"),
    ],
)
def test_kinds_that_do_not_fit_are_one_sentence(facts, said):
    with pytest.raises(ParameterError, match=said):
        api.plan(epsilon=1, **facts)


def test_a_plan_of_a_frame_names_each_of_its_columns():
    frame = pd.DataFrame({"x": [1], "y": ["a"]})
    with pytest.raises(ParameterError, match=r"nothing is declared for this column \(column y\)"):
        api.plan(frame, epsilon=1, bounds={"x": (0, 3)})
    with pytest.raises(ParameterError, match=r"for these columns \(columns x, y\); name them in"):
        api.plan(frame, epsilon=1)
    with pytest.raises(ParameterError, match="did you mean 'x'"):
        api.plan(frame, epsilon=1, bounds={"xx": (0, 3)}, drop=["y"])


def test_the_target_of_names_gets_the_weight_that_models_need():
    domains = {"sex": ["f", "m"]}
    plan = api.plan(epsilon=3, bounds={f"x{i}": (0, 9) for i in range(8)}, domains=domains, target="sex")
    assert plan.column("sex").role == "target"
    assert plan.shares()["sex"] > 2 * plan.shares()["x0"]


SCALARS = [np.int64(3), np.int8(3), np.uint16(3), np.float32(3), np.float64(3), np.array(3), 3, 3.0]


@pytest.mark.parametrize("three", SCALARS, ids=lambda v: type(v).__name__)
def test_scalars_of_numpy_are_numbers_everywhere(people, three):
    whole = three if float(three).is_integer() and np.asarray(three).dtype.kind in "iu" else np.int32(3)
    plan = api.plan(
        epsilon=three,
        bounds={"age": (np.int64(0), 33 * whole), "income": (np.float32(0), 3000 * np.float64(three))},
        domains={"sex": np.array(["female", "male"])},
        drop=np.array(["name"]),
        rows_per_person=whole,
    )
    assert (plan.epsilon, plan.rows_per_person, plan.column("age").kind) == (3.0, 3, "integer")
    api.release(people, plan, seed=np.int64(4))
    api.synthesize(people, plan, epsilon=three, rows=whole, cuts=whole, seed=np.int64(4))
    api.statistics(people, plan, epsilon=three, seed=np.int64(1))
    model = api.NaiveBayes(
        epsilon=three,
        bounds={"age": (np.int16(0), np.float32(99))},
        classes=np.array(["female", "male"]),
        rows_per_person=whole,
        random_state=np.int64(1),
    )
    model.fit(people[["age"]], people["sex"])


@pytest.mark.parametrize(
    "day", [datetime.date, datetime.datetime, lambda *d: pd.Timestamp(*d), lambda *d: np.datetime64(datetime.date(*d))]
)
def test_dates_of_every_type_are_bounds(day):
    plan = api.plan(epsilon=1, bounds={"born": (day(1980, 1, 1), day(2010, 1, 1))})
    assert plan.column("born").lower == datetime.date(1980, 1, 1).toordinal()


@pytest.mark.parametrize(
    "value", [True, np.True_, float("nan"), np.float32("nan"), float("inf"), np.float64("-inf"), "3", np.str_("3"), 3j]
)
def test_what_is_not_a_number_is_still_refused(value):
    with pytest.raises(ParameterError):
        api.plan(epsilon=value, bounds={"age": (0, 9)})
    with pytest.raises(ParameterError):
        api.plan(epsilon=1, bounds={"age": (0, value)})


def test_paths_are_text_or_paths(people, folder):
    plan = api.plan(people, epsilon=3, bounds={"age": (0, 99)}, drop=["name", "sex", "income"])
    (folder / "plan.toml").write_text(plan.to_toml(), "utf-8")
    assert api.load_plan("plan.toml") == api.load_plan(folder / "plan.toml")
    for i, kind in enumerate((str, Path)):
        made = api.release(people, plan, account="a", ledger=kind(f"{i}.sqlite"), output=kind(f"{i}.csv"))
        assert api.verify(kind(made.attrs["output"])) == []
        assert len(api.estimate(kind(f"{i}.csv"))) == 1
    with pytest.raises(ParameterError, match="the int is not a path"):
        api.load_plan(3)


def test_a_plan_says_round_numbers_shortly():
    plan = api.plan(pd.DataFrame({"x": [0.5]}), epsilon=3, bounds={"x": (0, 500_000)})
    assert repr(plan) == "<Plan: ε = 3, protect = x>"
    assert "<td>0 … 500000</td>" in plan._repr_html_()


@pytest.mark.parametrize("argument", ["bounds", "domains", "kinds"])
def test_facts_that_are_no_dict_are_one_sentence(argument):
    with pytest.raises(ParameterError, match="not a dict keyed by column name"):
        api.plan(epsilon=1, **{argument: pd.DataFrame({"x": [0, 1]})})


def test_one_column_makes_groups_without_a_list(people):
    bounds, domains = {"age": (0, 110), "income": (0, 9000)}, {"sex": ["female", "male"]}
    drop = [name for name in people.columns if name not in {*bounds, *domains}]
    plan = api.plan(people, epsilon=1, bounds=bounds, domains=domains, drop=drop)
    figures = api.statistics(people, plan, [{"statistic": "mean", "column": "age", "by": "sex"}])
    assert figures["group"].tolist() == ["sex=female", "sex=male"]


def test_an_unknown_argument_of_a_model_is_answered_with_those_it_has():
    with pytest.raises(TypeError, match="it has epsilon, delta, groups"):
        api.KMeans(n_clusters=3)
    frame = pd.DataFrame({"x": [0.5, 1.0], "y": [1.0, 2.0]})
    with pytest.raises(ParameterError, match="pass the bounds of y as target_bounds"):
        api.LinearRegression(epsilon=1, bounds={"x": (0, 2), "y": (0, 3)}).fit(frame[["x"]], frame["y"])


def test_two_columns_of_one_name_are_one_sentence():
    frame = pd.DataFrame([[1, 2]] * 9, columns=["age", "age"])
    with pytest.raises(InputError, match="two columns are both called 'age'"):
        api.plan(frame, epsilon=1, bounds={"age": (0, 9)})


def test_names_of_several_levels_are_one_sentence():
    frame = pd.DataFrame([[1, 2]] * 9, columns=pd.MultiIndex.from_tuples([("age", "low"), ("age", "high")]))
    with pytest.raises(InputError, match="the column index has 2 levels, but a plan needs plain column names"):
        api.plan(frame, epsilon=1, bounds={"age": (0, 9)})
    frame.columns = frame.columns.map("_".join)
    bounds = {"age_low": (0, 9), "age_high": (0, 9)}
    assert [c.name for c in api.plan(frame, epsilon=1, bounds=bounds).columns] == ["age_low", "age_high"]

"""The verbs beside releases: describe, forecast, ledger, train, rappor, loaded models; and how results are shown."""

import html
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workbench import api
from workbench.cli import main
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.release.ledger.ledger import Ledger

STUDY = pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
SPECIES = ["setosa", "versicolor", "virginica"]
PAID = {"account": "people", "ledger": "l.sqlite"}


def json_of(capsys, *words: str):
    import json

    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_describe_is_the_command_s(people, folder, capsys):
    people.to_csv("people.csv", index=False)
    with pytest.warns(api.PrivateStudyWarning, match="a description is a private study"):
        found = api.describe(people)
    told = json_of(capsys, "describe", "people.csv")
    assert found.attrs["rows"] == told["rows"] == 40
    for row, column in zip(found.to_dict("records"), told["columns"], strict=True):
        assert [row[k] for k in ("column", "kind", "missing", "distinct")] == [
            column[k] for k in ("name", "kind", "missing", "distinct")
        ]
    assert found.set_index("column").loc["name", "look_at"]


def test_forecast_is_the_command_s(people, folder, capsys):
    plan = api.plan(people, epsilon=3, bounds={"age": (0, 99), "income": (0, 9000)}, drop=["name", "sex"])
    (folder / "plan.toml").write_text(plan.to_toml(), "utf-8")
    told = json_of(capsys, "forecast", "--plan", "plan.toml", "--rows", "40")
    found = plan.forecast(rows=40)
    assert found.attrs["epsilon_total"] == told["epsilon_total"]
    assert (found.attrs["advised"], found.attrs["reason"]) == (told["release"]["advised"], told["release"]["reason"])
    for row, column in zip(found.to_dict("records"), told["columns"], strict=True):
        assert row["column"] == column["name"]
        for key in set(row) - {"column"}:
            assert row[key] == column[key], key
    assert "mean_error" not in plan.forecast()
    with pytest.raises(ParameterError, match="rows = 0"):
        plan.forecast(rows=0)


def test_a_ledger_shows_and_sets_caps(people, folder, capsys):
    plan = api.plan(people, epsilon=1, bounds={"age": (0, 99)}, drop=["name", "sex", "income"])
    api.release(people, plan, output="one.csv", **PAID)
    with pytest.raises(BudgetRefusedError):
        api.release(people, plan, output="two.csv", **PAID)
    book = api.ledger("l.sqlite")
    assert book.show()[["account", "cap_epsilon", "spent_epsilon", "remaining_epsilon"]].to_numpy().tolist() == [
        ["people", 1.0, 1.0, 0.0]
    ]
    assert book.cap("people", epsilon=np.float32(2.5), delta=1e-6)["remaining_epsilon"] == 1.5
    assert book.cap(api.dataset(people, account="people"), delta=1e-7)["cap_delta"] == 1e-7
    api.release(people, plan, output="two.csv", **PAID)
    assert book.releases()["status"].tolist() == ["charged", "refused", "charged"]
    assert book.verify() == []
    told = json_of(capsys, "ledger", "show", "--ledger", "l.sqlite")["accounts"]
    assert [a["remaining_epsilon"] for a in told] == book.show()["remaining_epsilon"].tolist() == [0.5]
    with pytest.raises(ParameterError, match="the cap is missing"):
        book.cap("people")
    with pytest.raises(InputError, match="no such account or file"):
        book.cap("poeple", epsilon=1)


def test_a_ledger_names_and_links_tables(people, folder):
    book = api.ledger(folder / "l.sqlite")
    book.cap(people, epsilon=3)
    book.name(people, "people")
    later = pd.concat([people.assign(age=people["age"] // 2 + 7, income=people["income"] / 3)] * 2)
    book.version(later, of="people")
    assert len(book.show()) == 1
    with Ledger.read(folder / "l.sqlite") as opened:
        assert opened.accounts().named("people")
    similar = people.iloc[:39]
    book.cap(similar, epsilon=3)
    book.separate(similar, of=people)
    assert api.ledger("l.sqlite").show()["account"].tolist().count("people") == 1


def test_an_empty_ledger_is_shown(folder):
    assert api.ledger("none.sqlite").show().empty
    assert not (folder / "none.sqlite").exists()
    assert "accounts = 0" in repr(api.ledger("none.sqlite"))


def test_reprs_are_short_and_have_an_html_form(people, folder):
    names = {f"column {i}": (0, i + 1) for i in range(40)}
    wide = api.plan(epsilon=1, bounds=names, domains={"<sex>": ["<f>", "m"]})
    plan = api.plan(people, epsilon=1, bounds={"age": (0, 99)}, drop=["name", "sex", "income"], account="people")
    api.release(people, plan, output="one.csv", ledger="l.sqlite")
    model = api.NaiveBayes(epsilon=1, bounds=(0, 99), classes=["female", "male"], output="m", ledger="m.sqlite")
    model.set_params(account="people").fit(people[["age"]], people["sex"])
    for shown in (wide, plan, api.ledger("l.sqlite"), api.load_model("m")):
        assert len(repr(shown)) <= 220
        assert "\n" not in repr(shown)
        assert shown._repr_html_().count("<table>") == 2
    assert "<sex>" not in wide._repr_html_()
    assert html.escape("<sex>") in wide._repr_html_()
    assert "ε = 1" in repr(plan)
    assert "age" in repr(plan)


@STUDY
@pytest.mark.parametrize(
    "kind", ["str", "int64", "bool", "float64", "uint8"], ids=["text", "whole", "truth", "decimal", "uint8"]
)
def test_a_loaded_model_predicts_as_the_fitted_one(iris, folder, kind):
    X, y = iris
    values = {"str": SPECIES, "int64": [0, 1, 2], "bool": [False, True], "float64": [0.5, 1.5, 2.5]}
    classes = np.array(values.get(kind, [0, 1, 2])).astype(kind)
    codes = y.map({name: i for i, name in enumerate(SPECIES)}).to_numpy() % len(classes)
    labels = pd.Series(classes[codes], name="label")
    model = api.NaiveBayes(epsilon=9, bounds=(0, 10), classes=classes, output="m", **PAID).fit(X, labels)
    assert model.predict(X).dtype == classes.dtype
    loaded = api.load_model("m", **({"classes": classes} if kind == "uint8" else {}))
    for way in (lambda m: m.predict(X), lambda m: m.predict(X.to_numpy()), lambda m: m.classes_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn's, of an array after a DataFrame
            np.testing.assert_array_equal(way(loaded), way(model), strict=kind != "str")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    if kind != "float64":  # scikit-learn takes decimals for a regression
        assert loaded.score(X, labels) == model.score(X, labels) == np.mean(model.predict(X) == labels.to_numpy())
    assert loaded.predict(X.assign(more=1)[["more", *X.columns[::-1]]]).tolist() == model.predict(X).tolist()


def test_classes_of_a_loaded_model_are_those_of_its_card(iris, folder):
    X, y = iris
    api.NaiveBayes(epsilon=9, bounds=(0, 10), classes=SPECIES, output="m", **PAID).fit(X, y)
    with pytest.raises(ParameterError, match="not the classes of the model"):
        api.load_model("m", classes=["a", "b", "c"])
    with pytest.raises(ParameterError, match="X has 3 columns, but the model reads 4"):
        api.load_model("m").predict(X.to_numpy()[:, :3])


def test_a_network_is_trained_charged_and_opened(iris, folder):
    X, y = iris
    people = api.dataset(X.assign(species=y), account="flowers", ledger="l.sqlite")
    plan = api.plan(
        people, epsilon=1, bounds=dict.fromkeys(X.columns, (0, 10)), domains={"species": SPECIES}, target="species"
    )
    asked = {"network": "logistic", "delta": 1e-3, "batch": 30, "epochs": 2, "lr": 1, "clip": np.float32(1)}
    with pytest.raises(ParameterError, match="the account to charge is missing"):
        api.train(
            X.assign(species=list(y)),
            plan.__class__(epsilon=1, columns=plan.columns),
            "species",
            **asked,
            epsilon=3,
            output="n",
            ledger="l.sqlite",
        )
    with pytest.raises(ParameterError, match="training is charged and the network is released"):
        api.train(people, plan, "species", **asked, epsilon=3)
    with pytest.raises(ParameterError, match="did you mean 'optimizer'"):
        api.train(people, plan, "species", **asked, epsilon=3, output="n", optimiser="adam")
    assert api.ledger("l.sqlite").releases().empty
    made = api.train(people, plan, "species", **asked, epsilon=np.int64(3), output="n")
    assert set(made.predict(X)) <= set(SPECIES)
    assert made.predict_proba(X).shape == (150, 3)
    assert 0 < made.epsilon <= 3
    assert api.verify("n") == []
    with Ledger.read(folder / "l.sqlite") as book:
        assert [(r.status, book.account_labels()[book.account_of(r.dataset)]) for r in book.releases()] == [
            ("charged", "flowers")
        ]
    with pytest.raises(BudgetRefusedError):
        api.NaiveBayes(epsilon=3, bounds=(0, 10), classes=SPECIES, output="b").fit(
            people[X.columns[:2]], people["species"]
        )


@STUDY
def test_rappor_from_end_to_end_on_frames(folder, capsys):
    generator = np.random.default_rng(3)
    frame = pd.DataFrame({"browser": generator.choice(["fox", "chrome", "edge"], 4000, p=[0.6, 0.3, 0.1])})
    people = api.dataset(frame, account="clients", ledger="l.sqlite")
    params = {"k": 16, "h": 2, "m": np.int64(4), "p": 0.25, "q": 0.75, "f": 0.2}
    reports = api.rappor.encode(people, params, column="browser", output="reports.csv")
    assert api.verify("reports.csv") == []
    assert reports.attrs["epsilon"] == pytest.approx(reports.attrs["epsilon_one"], rel=1e-3)
    counts = api.rappor.sum(reports, params)
    assert counts["reports"].sum() == 4000
    pd.testing.assert_frame_equal(api.rappor.sum("reports.csv", params), counts)
    candidates = api.rappor.map(["fox", "chrome", "edge", "opera"], params)
    found = api.rappor.decode(counts, candidates, params)
    assert found["string"].tolist()[:2] == ["fox", "chrome"]
    assert found.loc[0, "low"] - 0.1 <= 0.6 <= found.loc[0, "high"] + 0.1
    # The files of the commands and the DataFrames say the same.
    (folder / "p.csv").write_text("k,h,m,p,q,f\n16,2,4,0.25,0.75,0.2\n", "utf-8")
    (folder / "c.csv").write_text("fox\nchrome\nedge\nopera\n", "utf-8")
    assert main(["rappor", "sum", "reports.csv", "--params", "p.csv", "-o", "counts.csv"]) == 0
    assert main(["rappor", "map", "c.csv", "--params", "p.csv", "-o", "map.csv"]) == 0
    pd.testing.assert_frame_equal(api.rappor.decode("counts.csv", Path("map.csv"), "p.csv"), found)
    with pytest.raises(BudgetRefusedError):
        api.rappor.encode(people.head(3000), params, column="browser", output="again.csv")
    with pytest.raises(ParameterError, match="the account to charge is missing"):
        api.rappor.encode(frame, params, column="browser", output="again.csv", ledger="l.sqlite")
    studied = api.rappor.encode(frame, params, column="browser")
    assert studied.attrs["private"]
    with Ledger.read(folder / "l.sqlite") as book:
        assert [r.status for r in book.releases()] == ["charged", "refused"]
        assert len(book.caps()) == 1
        assert Decimal(0) < book.releases()[0].epsilon


@STUDY
def test_sentences_are_plain(people):
    plan = api.plan(people, epsilon=1, bounds={"age": (0, 99)}, drop=["name", "sex", "income"])
    with pytest.warns(api.PrivateStudyWarning, match=r"^these figures are a private study"):
        api.statistics(people, plan)
    with pytest.warns(api.PrivateStudyWarning, match=r"^this table is a private study"):
        api.release(people, plan)
    with pytest.raises(InputError, match=r"^the Series is not a table"):
        api.release(people["age"], plan)
    with pytest.raises(ParameterError, match="did you mean 'statistic'"):
        api.statistics(people, plan, [{"stat": "mean", "column": "age"}])
    with pytest.raises(AttributeError, match="did you mean 'synthesize'"):
        _ = api.synthesise


def test_a_column_that_a_frame_without_columns_lacks_is_refused():
    with pytest.raises(ParameterError, match="no such column"):
        api.plan(pd.DataFrame(), epsilon=1.0, bounds={"age": (0, 99)})


# -- ``api.plan(recipient=, need=, ask=, want=)``: the answers to the three questions, and the plan they lead to


FRAME = pd.DataFrame({"id": ["a", "b"], "age": [30, 40], "sex": ["f", "m"], "income": [1.5, 2.5]})
FACTS = {"bounds": {"age": (0, 120), "income": (0, 9)}, "domains": {"sex": ["f", "m"]}}


def test_what_is_not_needed_is_dropped():
    plan = api.plan(FRAME, epsilon=1, **FACTS, recipient="named", need=["age", "sex"], want=["mean(age) ± 2"])
    assert {c.name: c.action for c in plan.columns} == {
        "id": "drop",
        "age": "protect",
        "sex": "protect",
        "income": "drop",
    }
    assert plan.questions is not None
    assert (plan.questions.recipient, plan.questions.wishes) == ("named", ("mean(age) ± 2",))


def test_a_model_names_the_target_and_rows_have_values():
    assert api.plan(FRAME, epsilon=1, **FACTS, need=["age"], ask=["model:sex"]).column("sex").role == "target"
    assert api.plan(FRAME, epsilon=1, **FACTS, need=["age"], ask="rows").column("age").purpose == "values"


@pytest.mark.parametrize(
    ("answers", "part"),
    [
        ({"need": ["agee"]}, "did you mean 'age'"),
        ({"recipient": "anyone", "epsilon": 2}, "above the range"),
        ({"ask": ["pair"]}, "did you mean 'pairs'"),
        ({"want": ["mean(sex) ± 2"]}, "share"),
        ({"ask": ["model:sex"], "target": "age"}, "ask names 'sex'"),
    ],
)
def test_what_cannot_be_is_refused(answers, part):
    given = {"epsilon": 1, **FACTS, "drop": () if "need" in answers else ("id",), **answers}
    with pytest.raises(ParameterError, match=part):
        api.plan(FRAME, **given)


def test_without_answers_a_plan_says_nothing_of_them():
    assert api.plan(FRAME, epsilon=3, **FACTS, drop=["id"]).questions is None


def test_wishes_are_solved_from_python_as_on_the_command_line():
    frame = pd.DataFrame({"age": [30, 40, 50] * 200, "sex": ["f", "m", "f"] * 200})
    plan = api.plan(frame, epsilon=1, bounds={"age": (0, 120)}, domains={"sex": ["f", "m"]})
    found = api.solve(frame, ["mean(age) ± 2", "share(sex=f) <= 3 %"], plan=plan)
    assert found["epsilon"] == api.solve(plan, ["mean(age) ± 2", "share(sex=f) <= 3 %"], rows=600)["epsilon"]
    assert sum(found["split"].values()) == pytest.approx(found["epsilon"], rel=1e-12)
    with pytest.warns(api.PrivateStudyWarning):
        made = api.statistics(frame, plan, found["figures"], epsilon=found["epsilon"], seed=1)
    mean = made[made["statistic"] == "mean"].iloc[0]
    assert mean["high"] - mean["low"] <= 4.001
    rows = api.solve(plan, ["mean(age) ± 8"], rows=600, way="rows")
    assert rows["plan"].forecast().attrs["epsilon_total"] == rows["epsilon"]
    assert api.solve(plan, ["mean(age) ± 2"], rows=600, epsilon_max=0.01)["impossible"][0]["needs"] > 0.01
    for given, part in (
        ({}, "rows="),
        ({"rows": 600, "equal": True}, "set epsilon"),
        ({"rows": 600, "delta": 0.1}, "δ|delta"),
    ):
        with pytest.raises(ParameterError, match=part):
            api.solve(plan, ["mean(age) ± 2"], **given)
    with pytest.raises(ParameterError, match="one plan"):
        api.solve(frame, ["mean(age) ± 2"])


# -- ``workbench.api.why``: steps and changes as a DataFrame ----------------------------------------------------------


PLAN = api.plan(epsilon=1, bounds={"a": (0, 10)}, domains={"b": ["x", "y"], "c": ["n", "p"]})


def test_generated_rows_are_explained_without_a_warning(recwarn):
    told = api.why(None, PLAN, "c", rows=80, repeats=2)
    assert list(told.columns) == ["part", "name", "title", "mean", "standard_error", "difference"]
    assert list(told[told["part"] == "step"]["name"]) == ["ordinary", "exact", "private"]
    assert "private" not in told.attrs
    assert len(told.attrs["sentences"]) == 2
    assert not [w for w in recwarn if issubclass(w.category, api.PrivateStudyWarning)]


def test_a_frame_is_a_private_study():
    frame = pd.DataFrame({"a": range(20), "b": ["x", "y"] * 10, "c": ["n", "n", "p", "p"] * 5})
    with pytest.warns(api.PrivateStudyWarning):
        told = api.why(frame, PLAN, "c", repeats=2)
    assert told.attrs["private"]
    with pytest.raises(ParameterError, match="either a DataFrame or rows=N"):
        api.why(frame, PLAN, "c", rows=5)


# -- ``api.risk`` and ``api.anonymity``: the figures of the command, of a DataFrame, with those of each row


RISK_FRAME = pd.DataFrame(
    {"age": [30, 30, 40, 50], "town": list("HHDH"), "ill": ["flu", "cold", "flu", "flu"]}, index=list("pqrs")
)


def test_figures_are_those_of_the_command_and_noted_in_the_ledger(tmp_path):
    with pytest.warns(api.PrivateStudyWarning):
        found = api.risk(RISK_FRAME, ["age", "town"], "ill", sample_fraction=0.5, study_ledger=tmp_path / "b.sqlite")
    assert (found["k"], found["unique"], found["l_distinct"]) == (1, 2, 1)
    assert found.rows.index.tolist() == list("pqrs")
    assert found.rows["class_size"].tolist() == [2, 2, 1, 1]
    assert found.rows["risk"].tolist() == [0.5, 0.5, 1, 1]
    assert found.rows["score"].tolist() == [0, 0, 2, 1]
    assert "k = 1" in repr(found)
    assert "distinct values of ill (distinct ℓ)" in found._repr_html_()
    with Ledger.open(tmp_path / "b.sqlite") as ledger:
        assert [one.study for one in ledger.figures()] == ["risk"]


def test_anonymity_has_the_keys_of_the_contract(tmp_path):
    with pytest.warns(api.PrivateStudyWarning):
        found = api.anonymity(RISK_FRAME, "age", "ill", study_ledger=tmp_path / "b.sqlite")
    assert {"k", "l_distinct", "l_entropy", "t", "risk"} <= set(found)
    assert "score" not in found.rows


def test_values_are_as_far_apart_as_the_hierarchy_of_a_sensitive_column_says(tmp_path):
    frame = pd.DataFrame({"town": list("HHDD"), "ill": ["flu", "cold", "ulcer", "ulcer"]})
    groups = pd.DataFrame({"ill": ["flu", "cold", "ulcer"], "organ": ["lung", "lung", "stomach"], "all": "*"})
    book = tmp_path / "b.sqlite"
    for given in ({"ill": groups}, {"ill": "tree:groups=lung=flu|cold,stomach=ulcer"}):
        with pytest.warns(api.PrivateStudyWarning):
            found = api.risk(frame, "town", "ill", hierarchies=given, study_ledger=book)
        assert found["closeness"][0]["distance"] == "hierarchical"
        # In each town half of the weight has to go to the other organ, the whole height of the tree away.
        assert found["t"] == pytest.approx(0.5)
    (tmp_path / "ill.csv").write_text("flu;lung;*\ncold;lung;*\nulcer;stomach;*\n", "utf-8")
    with pytest.warns(api.PrivateStudyWarning):
        found = api.anonymity(frame, "town", "ill", hierarchies=tmp_path, distance="hierarchical", study_ledger=book)
    assert found["t"] == pytest.approx(0.5)


def test_what_cannot_be_measured_is_refused_before_anything_is_noted(tmp_path):
    book = tmp_path / "b.sqlite"
    with pytest.raises(InputError, match="no column 'agee'"):
        api.risk(RISK_FRAME, ["agee"], study_ledger=book)
    with pytest.raises(ParameterError):
        api.anonymity(RISK_FRAME, ["age"], ["ill"], threshold=0, study_ledger=book)
    assert not book.exists()

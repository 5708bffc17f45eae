"""The release of a synthetic table: charged first, certified, verified; refused and killed runs."""

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from release_cases import certificate_of, forge, names_in, plan_of, table_of

from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.central.share import Budget
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import Released, destination, prepare, release_prepared
from workbench.release.synthetic.synthesis_work import VALUES, synthesis_work
from workbench.release.verification import ledger_claims, verified, verify_any
from workbench.release.verify import verify_in_ledger
from workbench.render.document import Grid
from workbench.sanitize.plan import Plan
from workbench.synth import SYNTHESISERS
from workbench.synth.chances import AS_MARGINALS, BY_CHANCES, HALVES, LIKELIEST, RIGHT
from workbench.synth.parameters import SynthesisParameters
from workbench.synth.tan import fine_cuts


def release(
    ledger: Path,
    target: Path,
    plan: Plan | None = None,
    table: Table | None = None,
    epsilon: str = "1",
    chosen: dict[str, Any] | None = None,
    delta: str = "0",
    **keys: Any,
) -> Released:
    plan, table = plan or plan_of(), table or table_of(60)
    to = destination(target)
    parameters = SynthesisParameters(**(chosen or {"target": "city"}))
    rows = plan.rows_of(table).rows
    work = synthesis_work(plan, parameters, Decimal(epsilon), Decimal(delta), rows, to.format)
    with Ledger.open(ledger) as opened:
        return release_prepared(prepare(plan, table, to, work), opened, **keys)


@pytest.mark.parametrize(
    ("method", "target", "rows", "epsilon", "asked"),
    [("line", "pay", 60, 1, "sums"), ("chances", "city", 1_000, 4, RIGHT)],
)
def test_a_release_with_a_model_says_what_its_training_asked(tmp_path, method, target, rows, epsilon, asked):
    chosen, table = {"method": method, "target": target}, table_of(rows)
    done = release(
        tmp_path / "l.sqlite", tmp_path / "out.csv", None, table, str(epsilon), chosen=chosen, delta="0.00001"
    )
    assert (done.epsilon_charged, done.delta_charged) == (epsilon, Decimal("0.00001"))
    told = certificate_of(tmp_path / "out.csv")
    assert {"query": asked, "form": "model", "columns": [], "cells": []} in told["method"]["measured"]
    assert verify_any(tmp_path / "out.csv") == []
    blocks = next(s.blocks for s in verified(tmp_path / "out.csv").to_document().sections if s.title == "Queries")
    paper = {line[0]: line[1] for line in next(b.rows for b in blocks if isinstance(b, Grid))}
    assert paper[asked] == "the training of a model, with discrete Gaussian noise"
    honest = json.dumps(told)
    forge(tmp_path / "out.csv", lambda document: document["method"]["measured"][0].update(columns=["age"]))
    assert "does not match its columns" in " ".join(verify_any(tmp_path / "out.csv"))
    if method == "chances":
        assert told["method"]["values"].removeprefix(f"{VALUES}; ") in (BY_CHANCES, LIKELIEST)

        def pairs_with_the_target(document):
            for entry in document["method"]["measured"][-2:]:
                entry.update(columns=["age", "city"], cells=[2, 2][: len(entry["cells"])])

        for change, found in (
            (pairs_with_the_target, "are not those of the method"),
            (lambda document: document["method"].update(values=f"{VALUES}; {AS_MARGINALS}"), "does not describe"),
        ):
            forge(tmp_path / "out.csv", lambda document: document.update(json.loads(honest)))
            forge(tmp_path / "out.csv", change)
            assert found in " ".join(verify_any(tmp_path / "out.csv"))


def test_a_release_that_asks_for_distances_is_certified_and_verified(tmp_path):
    """Two names beside columns so many that tables would be noise."""
    names = [f"x{j}" for j in range(30)]
    columns = [{"name": name, "kind": "real", "lower": 0, "upper": 10} for name in names]
    plan = Plan.from_plain(
        {"epsilon": 1.0, "column": [*columns, {"name": "y", "kind": "category", "domain": ["u", "v"]}]}
    )
    text = {name: [str((7 * i + j) % 10) for i in range(500)] for j, name in enumerate(names)}
    table = Table(pl.DataFrame({**text, "y": ["uv"[i % 2] for i in range(500)]}), "test.csv")
    done = release(tmp_path / "l.sqlite", tmp_path / "out.csv", plan, table, chosen={"target": "y"}, delta="0.000001")
    assert (done.epsilon_charged, done.delta_charged) == (1, Decimal("0.000001"))
    told = certificate_of(tmp_path / "out.csv")
    assert [entry["query"] for entry in told["method"]["measured"]][-2:] == [RIGHT, HALVES]
    assert told["method"]["values"] == f"{VALUES}; {BY_CHANCES}"
    assert set(told["request"]["cuts"].values()) == {128, 2}
    assert verify_any(tmp_path / "out.csv") == []
    forge(tmp_path / "out.csv", lambda document: document["method"].update(values=f"{VALUES}; {LIKELIEST}"))
    assert "does not describe rows made" in " ".join(verify_any(tmp_path / "out.csv"))


@pytest.mark.parametrize(
    ("method", "name"),
    [("marginals", "out.csv"), ("mst", "out.tsv"), ("aim", "out.parquet"), ("tan", "out.csv"), ("tan", "out.parquet")],
)
def test_a_release_is_charged_certified_and_verified(tmp_path, method, name):
    out, ledger = tmp_path / "out", tmp_path / "l.sqlite"
    out.mkdir()
    done = release(ledger, out / name, chosen={"method": method, "target": "city"})
    assert done.epsilon_charged == 1
    assert names_in(out) == {name, f"{name}.certificate.json"}
    told = certificate_of(out / name)
    assert told["kind"] == "synthetic"
    assert told["guarantee"]["replace_one"] == {"epsilon": 2.0, "delta": 0.0}
    assert sum(Decimal(q["epsilon"]) for q in told["queries"]) == 1
    assert [m["query"] for m in told["method"]["measured"]] == [q["label"] for q in told["queries"]]
    assert told["request"]["rows"] == 60
    parts = fine_cuts(60, Budget(Decimal(1)), 3) if method == "tan" else 8
    assert told["request"]["cuts"] == {"age": parts, "city": 3, "pay": parts}
    assert verify_any(out / name) == []
    with Ledger.open(ledger) as opened:
        assert verify_in_ledger(ledger_claims(out / name), opened) == []
    if name == "out.parquet":
        assert pl.read_parquet(out / name).dtypes == [pl.Int64, pl.String, pl.Float64]


def test_rows_and_cuts_are_public_numbers_of_the_request(tmp_path):
    release(tmp_path / "l.sqlite", tmp_path / "out.csv", chosen={"rows": 500, "cuts": 5})
    assert pl.read_csv(tmp_path / "out.csv").height == 500
    asked = certificate_of(tmp_path / "out.csv")["request"]
    assert asked == {"method": "mst", "target": None, "rows": 500, "cuts": {"age": 5, "city": 3, "pay": 5}}
    assert verify_any(tmp_path / "out.csv") == []


def test_the_default_cuts_follow_from_public_numbers():
    plan, chosen = plan_of(), SynthesisParameters(target="city", method="marginals")
    found = [
        synthesis_work(plan, chosen, Decimal(e), Decimal(0), 60, "csv").request["cuts"]["age"]
        for e in ("0.01", "1", "10")
    ]
    assert found == [5, 8, 16]


@pytest.mark.parametrize("method", [method.name for method in SYNTHESISERS])
def test_a_value_that_one_row_alone_has_is_in_no_file(tmp_path, method):
    """The domain is the plan's: whoever has a value of their own is in the table as if the cell were empty."""
    frame = table_of(60).frame
    cities = pl.Series("city", ["Atlantis", *frame["city"].to_list()[1:]])
    told = Table(frame.with_columns(cities), "people.csv")
    chosen = {"target": "city", "method": method}
    release(tmp_path / "l.sqlite", tmp_path / "out.csv", plan_of(invalid="replace"), told, chosen=chosen)
    for file in tmp_path.iterdir():
        assert b"Atlantis" not in file.read_bytes(), file.name


def test_invalid_values_may_be_replaced_and_empty_rows_contribute_nothing(tmp_path):
    frame = table_of(60).frame.with_columns(city=pl.lit("Atlantis"), age=pl.lit("old"), pay=pl.lit(None, pl.String))
    done = release(tmp_path / "l.sqlite", tmp_path / "out.csv", plan_of(invalid="replace"), Table(frame, "people.csv"))
    assert "Atlantis" not in (tmp_path / "out.csv").read_text("utf-8")
    assert done.document["request"]["rows"] == 60
    assert verify_any(tmp_path / "out.csv") == []


def test_no_value_outside_the_plan_and_no_dropped_column_leaves(tmp_path):
    plain = plan_of().to_plain()
    columns = [{"name": "pay", "action": "drop"} if c["name"] == "pay" else c for c in plain["column"]]
    release(tmp_path / "l.sqlite", tmp_path / "out.csv", Plan.from_plain({**plain, "epsilon": 3, "column": columns}))
    assert pl.read_csv(tmp_path / "out.csv").columns == ["age", "city"]
    assert verify_any(tmp_path / "out.csv") == []


def test_a_kept_column_and_an_unknown_target_are_refused_before_anything_is_recorded(tmp_path):
    plain = plan_of().to_plain()
    columns = [{**c, "action": "keep"} if c["name"] == "pay" else c for c in plain["column"]]
    columns = [{k: v for k, v in c.items() if c["name"] != "pay" or k in ("name", "action", "kind")} for c in columns]
    with pytest.raises(ParameterError, match="publishes the column 'pay' as it is"):
        release(tmp_path / "l.sqlite", tmp_path / "o.csv", Plan.from_plain({**plain, "epsilon": 3, "column": columns}))
    with pytest.raises(ParameterError, match="the target 'town' is not one of the columns"):
        release(tmp_path / "l.sqlite", tmp_path / "o.csv", chosen={"target": "town"})
    columns = [
        {"name": "pay", "action": "drop", "role": "target"} if c["name"] == "pay" else c for c in plain["column"]
    ]
    dropped = Plan.from_plain({**plain, "epsilon": 3, "column": columns})
    for asked in ({"target": "pay"}, {"method": "marginals"}):
        with pytest.raises(ParameterError, match="the plan drops the target 'pay'"):
            release(tmp_path / "l.sqlite", tmp_path / "o.csv", dropped, chosen=asked)
    with pytest.raises(ParameterError, match="needs a target column"):
        release(tmp_path / "l.sqlite", tmp_path / "o.csv", chosen={"method": "marginals"})
    assert names_in(tmp_path) == set()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["request"].update(method="mst"), "other queries than its request makes"),
        (lambda d: d["request"].update(target="age"), "other queries than its request makes"),
        (lambda d: d["request"].update(rows=61), "the file has 60 rows"),
        (lambda d: d["request"]["cuts"].update(age=17), "request does not follow from its parameters"),
        (lambda d: d["request"]["cuts"].update(city=2), "request does not follow from its parameters"),
        (lambda d: d["request"].pop("cuts"), "request is malformed"),
        (lambda d: d["method"].pop("measured"), "what was measured"),
        (lambda d: d["method"]["measured"][0].update(cells=[3, 4000]), "does not match its columns"),
        (lambda d: d["method"]["measured"][0].update(columns=["age", "x"]), "does not match its columns"),
        (lambda d: d["queries"][0].update(label="counts"), "other queries than its request makes"),
        (lambda d: d.update(plan=d["plan"].replace("upper = 120", "upper = 30")), "is not a value that column age"),
        (lambda d: d.update(columns=d["columns"][:1], outside_guarantee=[]), "other columns than its request reads"),
        (lambda d: d["request"].update(method=None), "request does not follow from its parameters"),
        (lambda d: d["method"].update(leaks="row 17 is Ann"), "does not describe rows made"),
        (lambda d: d["method"].update(values="these are the true rows"), "does not describe rows made"),
        (lambda d: d["method"]["measured"][0].update(columns=["city", "pay"]), "does not match its columns"),
        (lambda d: d["method"]["measured"][0].update(note="row 17"), "does not match its columns"),
        (lambda d: d["method"]["measured"][0].update(cells=[1, 1]), "does not match its columns"),
        (lambda d: d["program"].update(note="row 17 is Ann"), "the certificate is malformed"),
        (lambda d: d["guarantee"]["replace_one"].update(note="row 17 is Ann"), "the certificate is malformed"),
        (lambda d: d["guarantee"].update(delta_row="0.1"), "the certificate is malformed"),
        (lambda d: d["output"].update(format="tsv"), "the format 'tsv', which is not that of 'out.csv'"),
    ],
)
def test_verify_finds_a_forged_certificate(tmp_path, change, said):
    release(tmp_path / "l.sqlite", tmp_path / "out.csv")
    forge(tmp_path / "out.csv", change)
    assert said in " ".join(verify_any(tmp_path / "out.csv"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m[0].update(columns=["pay"]), "description of 'counts of age' does not match"),
        (lambda m: m[0].update(cells=[1]), "description of 'counts of age' does not match"),
        (lambda m: m[3].update(columns=m[4]["columns"]), "are not those of the method"),
        (lambda m: m[3].update(columns=m[3]["columns"][::-1]), "are not those of the method"),
        (lambda m: m[3].update(columns=["age", "age"]), "are not those of the method"),
        (lambda m: m[3].update(columns=["age", 3]), "are not those of the method"),
        (lambda m: m[3].update(cells=[1, 1]), "description of 'choice of pair 1' does not match"),
        (lambda m: m[5].update(columns=m[6]["columns"]), "description of 'counts of pair 1' does not match"),
        (lambda m: m[6].update(cells=[1, 4000]), "description of 'counts of pair 2' does not match"),
    ],
)
def test_verify_finds_a_forged_account_of_chosen_pairs(tmp_path, change, said):
    release(tmp_path / "l.sqlite", tmp_path / "out.csv", chosen={"method": "mst"})
    forge(tmp_path / "out.csv", lambda document: change(document["method"]["measured"]))
    assert said in " ".join(verify_any(tmp_path / "out.csv"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m[0].update(cells=[1]), "description of 'counts of age' does not match"),
        (lambda m: m[3].update(columns=["age", "city"]), "are not those of the method"),
        (lambda m: m[4].update(columns=["age", "pay"]), "description of 'counts of pair 1' does not match"),
        (lambda m: m[4].update(columns=["age", "pay", "city"]), "description of 'counts of pair 1' does not match"),
        (lambda m: m[4].update(cells=[2, 4, 2]), "description of 'counts of pair 1' does not match"),
    ],
)
def test_verify_finds_a_forged_account_of_pairs_with_the_target(tmp_path, change, said):
    release(tmp_path / "l.sqlite", tmp_path / "out.csv", chosen={"method": "tan", "target": "city"})
    measured = certificate_of(tmp_path / "out.csv")["method"]["measured"]
    assert [entry["columns"] for entry in measured[3:]] == [["age", "pay"], ["age", "city", "pay"]]
    forge(tmp_path / "out.csv", lambda document: change(document["method"]["measured"]))
    assert said in " ".join(verify_any(tmp_path / "out.csv"))


def test_the_method_that_is_forecast_best_is_named_by_the_certificate(tmp_path):
    """It follows from public numbers: of few rows ``marginals``, of many ``tan``, without a target ``mst``."""
    plan = plan_of()
    for rows, target, expected in ((60, "city", "marginals"), (60_000, "city", "tan"), (60_000, None, "mst")):
        chosen = SynthesisParameters(method="auto", target=target)
        assert synthesis_work(plan, chosen, Decimal(1), Decimal(0), rows, "csv").request["method"] == expected
    release(tmp_path / "l.sqlite", tmp_path / "out.csv", chosen={"method": "auto", "target": "city"})
    assert certificate_of(tmp_path / "out.csv")["request"]["method"] == "marginals"
    assert verify_any(tmp_path / "out.csv") == []


def test_names_that_read_like_queries_are_told_apart(tmp_path):
    """A column called as a pair, and one called as two columns."""
    declared = [{"name": n, "kind": "integer", "lower": 0, "upper": 12} for n in ("a", "b", "a by b", "c")]
    plan = Plan.from_plain({"epsilon": 1.0, "column": declared})
    table = Table(pl.DataFrame({c["name"]: [str(i % 13) for i in range(60)] for c in declared}), "t.csv")
    release(
        tmp_path / "l.sqlite",
        tmp_path / "out.csv",
        plan,
        table,
        chosen={"method": "marginals", "target": "a", "cuts": 12},
    )
    assert verify_any(tmp_path / "out.csv") == []
    release(tmp_path / "m.sqlite", tmp_path / "mst.csv", plan, table, chosen={"method": "mst", "target": "a"})
    assert verify_any(tmp_path / "mst.csv") == []
    for names in (("a", "b", "a by b", "c"), ("a", "b")):
        some = Plan.from_plain({"epsilon": 1.0, "column": [c for c in declared if c["name"] in names]})
        out = tmp_path / f"tan{len(names)}.csv"
        held, chosen = Table(table.frame.select(names), "t.csv"), {"method": "tan", "target": "b"}
        release(tmp_path / f"n{len(names)}.sqlite", out, some, held, chosen=chosen)
        assert verify_any(out) == []
    one = Plan.from_plain({"epsilon": 1.0, "column": declared[:1]})
    release(
        tmp_path / "o.sqlite", tmp_path / "one.csv", one, Table(table.frame.select("a"), "t.csv"), chosen={"rows": 9}
    )
    assert verify_any(tmp_path / "one.csv") == []


@pytest.mark.parametrize("method", ["marginals", "mst", "aim", "tan"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: None, ""),
        (lambda d: d["guarantee"].update(delta_row="0.0000001", delta="0.0000001"), "is more than epsilon"),
        (lambda d: d["guarantee"].update(epsilon_row="0.5", epsilon="0.5"), "is more than epsilon"),
        (lambda d: d["guarantee"].update(rho_row="0.01"), "the certificate says rho_row = 0.01"),
        (lambda d: d["guarantee"].update(accounting="trust me"), "the certificate says accounting"),
        (lambda d: d["guarantee"].update(replace_one={"epsilon": 2.0, "delta": 0.0}), "says replace_one"),
        (lambda d: d["queries"][0].update(rho="0.00001"), "rho_row"),
        (lambda d: d["queries"][0].update(epsilon="0.1"), "malformed"),
        (lambda d: d["method"].update(noise="discrete Laplace"), "does not describe rows made"),
    ],
)
def test_a_release_with_a_delta_is_verified_and_a_forged_one_found(tmp_path, method, change, said):
    if method != "marginals" and said not in ("", "rho_row"):
        pytest.skip("one method is enough for what does not depend on it")
    asked = {"method": method, "target": "city"}
    done = release(tmp_path / "l.sqlite", tmp_path / "out.csv", chosen=asked, delta="1e-6")
    assert (done.epsilon_charged, done.delta_charged) == (1, Decimal("1e-6"))
    forge(tmp_path / "out.csv", change)
    found = " ".join(verify_any(tmp_path / "out.csv"))
    assert found == "" if not said else said in found


def test_several_rows_of_a_person_multiply_epsilon_and_raise_delta(tmp_path):
    plan = plan_of(rows_per_person=3)
    done = release(tmp_path / "l.sqlite", tmp_path / "out.csv", plan, epsilon="0.5", delta="1e-6")
    assert done.epsilon_charged == Decimal("1.5")
    assert float(done.delta_charged) == pytest.approx(3 * math.e * 1e-6)
    assert verify_any(tmp_path / "out.csv") == []
    with pytest.raises(ParameterError, match="for a person with 3 rows is not below 1/rows"):
        release(tmp_path / "l.sqlite", tmp_path / "two.csv", plan, epsilon="3", delta="1e-4")


def test_another_delta_is_another_request(tmp_path):
    plan, table, to = plan_of(), table_of(60), destination(tmp_path / "out.csv")
    chosen = SynthesisParameters(target="city")
    works = [synthesis_work(plan, chosen, Decimal(1), Decimal(d), 60, "csv") for d in ("0", "1e-6", "1e-7")]
    assert len({prepare(plan, table, to, work).digest for work in works}) == 3

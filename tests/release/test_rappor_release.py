"""The release of RAPPOR reports: charged first, certified, verified; kept answers; what is refused."""

import dataclasses
import json
import os
import stat
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from release_cases import certificate_of, forge, names_in, plan_of, raise_cap, statuses, table_of

from workbench.data.table import Table
from workbench.params import InputError, ParameterError
from workbench.privacy.entropy import OsEntropy, SeededEntropy
from workbench.privacy.rappor.parameters import RapporParameters, cost
from workbench.rappor.collection import Collection
from workbench.rappor.reports import read_sum
from workbench.release.certificate import central_guarantee, query_facts
from workbench.release.ledger.ledger import Ledger
from workbench.release.open_release import plan_of as plan_in
from workbench.release.rappor.rappor_work import FORMATS, load_answers, rappor_work
from workbench.release.release_path import Released, check_values, destination, prepare, release_prepared
from workbench.release.verification import ledger_claims, verify_any
from workbench.release.verify import verify_in_ledger
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore
from workbench.work.noise import Study

SMALL = RapporParameters(k=16, h=2, m=4, p=0.5, q=0.75, f=0.5)
CITY = Collection(column="city")


def clients(**columns: list[str | None]) -> tuple[Table, Plan]:
    """A table of the given columns and a plan that declares nothing of them."""
    table = Table(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), "clients.csv", first_line=2)
    return table, Plan(epsilon=1.0, columns=tuple(Column(name=name, action="drop") for name in columns))


def release(
    ledger: Path,
    target: Path,
    asked: Collection = CITY,
    parameters: RapporParameters = SMALL,
    of: tuple[Table, Plan] | None = None,
    **keys: Any,
) -> Released:
    table, plan = of or (table_of(60), plan_of())
    work = rappor_work(parameters, asked, plan.rows_of(table).rows, **keys)
    prepared = prepare(plan, table, destination(target, formats=FORMATS), work)
    check_values(prepared, CancelToken())
    with Ledger.open(ledger) as opened:
        return release_prepared(prepared, opened)


def test_reports_are_charged_certified_and_verified(tmp_path):
    out, ledger = tmp_path / "out", tmp_path / "l.sqlite"
    out.mkdir()
    done = release(ledger, out / "out.csv")
    assert done.epsilon_charged == Decimal("1.074286")
    assert names_in(out) == {"out.csv", "out.csv.certificate.json"}
    told = certificate_of(out / "out.csv")
    assert told["kind"] == "rappor"
    assert told["columns"] == ["city"]
    assert told["request"]["epsilon_permanent"] == pytest.approx(4.3944491547)
    # A local mechanism: to replace a row costs what it costs to empty it.
    assert told["guarantee"]["replace_one"] == {"epsilon": 1.074286, "delta": 0.0}
    assert "2^64" in told["guarantee"]["randomness"]
    assert "all of one value" in told["guarantee"]["statement"]
    assert read_sum(out / "out.csv", SMALL).total == 60
    assert verify_any(out / "out.csv") == []
    with Ledger.open(ledger) as opened:
        assert verify_in_ledger(ledger_claims(out / "out.csv"), opened) == []
    assert statuses(ledger) == ["charged"]
    rows = (out / "out.csv").read_text("utf-8").splitlines()[1:]
    assert sorted(int(row.split(",")[0]) for row in rows) == list(range(60))
    assert [int(row.split(",")[0]) for row in rows] != list(range(60))  # in random order
    text = (out / "out.csv").read_text("utf-8") + json.dumps(told["request"])
    assert not any(city in text for city in ("Graz", "Linz", "Wien"))


def test_repeated_reports_cost_no_more_than_any_number_of_them(tmp_path):
    ledger, target = tmp_path / "l.sqlite", tmp_path / "out.csv"
    done = release(ledger, target, Collection(column="city", reports=50))
    assert done.epsilon_charged == cost(SMALL, 50).decimal() == Decimal("4.394450")
    counts = read_sum(target, SMALL)
    assert counts.total == 3000
    cohorts = {}
    for row in target.read_text("utf-8").splitlines()[1:]:
        client, cohort, _ = row.split(",")
        assert cohorts.setdefault(client, cohort) == cohort
    assert len(cohorts) == 60
    assert verify_any(target) == []


def test_an_infinite_cost_is_refused_and_a_finite_one_of_one_report_is_not(tmp_path):
    with pytest.raises(ParameterError, match="infinite epsilon"):
        release(tmp_path / "l.sqlite", tmp_path / "out.csv", parameters=RapporParameters(k=8, m=2, f=0, p=0, q=1))
    assert not (tmp_path / "l.sqlite").exists()
    once = RapporParameters(k=8, h=2, m=2, f=0, p=0.5, q=0.75)
    done = release(tmp_path / "l.sqlite", tmp_path / "out.csv", parameters=once)
    assert done.epsilon_charged == Decimal("2.197225")
    assert certificate_of(tmp_path / "out.csv")["request"]["epsilon_permanent"] is None
    assert verify_any(tmp_path / "out.csv") == []


def test_a_client_that_comes_back_gives_its_permanent_answer(tmp_path):
    parameters = dataclasses.replace(SMALL, p=0.0, q=1.0)  # a report is the permanent answer itself
    names = [f"client {i}" for i in range(40)]
    of = clients(client=[*names], value=[f"v{i % 3}" for i in range(39)] + [None])
    ledger, answers = tmp_path / "l.sqlite", tmp_path / "answers.txt"
    asked = Collection(column="value", client="client", reports=1)
    bits = []
    for name in ("one.csv", "two.csv"):
        release(ledger, tmp_path / name, asked, parameters, of, answers=answers)
        raise_cap(ledger, "20")
        bits.append(sorted(row.split(",", 1)[1] for row in (tmp_path / name).read_text("utf-8").splitlines()[1:]))
        assert verify_any(tmp_path / name) == []
    assert bits[0] == bits[1]
    if os.name != "nt":
        assert stat.S_IMODE(answers.stat().st_mode) == 0o600
    text = answers.read_text("ascii")
    assert "client 7" not in text
    assert len(load_answers(answers, parameters, "value").kept) == 40
    # Without them the answers are drawn anew.
    release(ledger, tmp_path / "three.csv", asked, parameters, of)
    assert sorted(r.split(",", 1)[1] for r in (tmp_path / "three.csv").read_text("utf-8").splitlines()[1:]) != bits[0]
    # A client whose value has changed would show it.
    table, plan = of
    changed = table.frame.with_columns(pl.lit("v9").alias("value"))
    with pytest.raises(InputError, match="different value than in an earlier collection"):
        release(
            ledger, tmp_path / "four.csv", asked, parameters, (Table(changed, "clients.csv"), plan), answers=answers
        )
    assert not (tmp_path / "four.csv").exists()


REFUSED: list[tuple[str, dict[str, list[str | None]], dict[str, Any], str]] = [
    ("two values", {"c": ["a", "b", "a"], "v": ["x", "y", "z"]}, {"client": "c", "reports": 2}, "column v, row 3"),
    ("too many reports", {"c": ["a", "b", "a"], "v": ["x", "y", "x"]}, {"client": "c"}, "column c, row 3, line 4"),
    ("no name", {"c": ["a", None], "v": ["x", "y"]}, {"client": "c"}, "column c, row 2, line 3"),
    ("wrong cohort", {"c": ["0", "4"], "v": ["x", "y"]}, {"cohort": "c"}, "column c, row 2, line 3"),
    ("no cohort", {"c": ["0", None], "v": ["x", "y"]}, {"cohort": "c"}, "column c, row 2, line 3"),
    ("no column", {"c": ["0", "1"], "v": ["x", "y"]}, {"cohort": "d"}, "there is no column 'd'"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "asked", "told"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_contradiction_is_refused_with_its_row_before_anything_is_reserved(tmp_path, columns, asked, told):
    with pytest.raises((InputError, ParameterError)) as caught:
        release(tmp_path / "l.sqlite", tmp_path / "out.csv", Collection(column="v", **asked), of=clients(**columns))
    assert told in str(caught.value) or "'d'" in str(caught.value)
    assert not (tmp_path / "l.sqlite").exists()


def test_given_cohorts_and_basic_values(tmp_path):
    of = clients(cohort=["3", "1", "3"], v=["x", "y", None])
    release(tmp_path / "l.sqlite", tmp_path / "out.csv", Collection(column="v", cohort="cohort"), of=of)
    assert read_sum(tmp_path / "out.csv", SMALL).reports.tolist() == [0, 1, 0, 2]
    basic = RapporParameters(k=3, h=1, m=1)
    of = clients(v=["x", "y", "y"])
    done = release(tmp_path / "b.sqlite", tmp_path / "b.csv", Collection(column="v"), basic, of, basic=("x", "y", "z"))
    assert done.epsilon_charged == cost(basic).decimal()
    assert verify_any(tmp_path / "b.csv") == []
    with pytest.raises(ParameterError, match="not in the public list"):
        release(tmp_path / "b.sqlite", tmp_path / "c.csv", Collection(column="v"), basic, of, basic=("x", "z"))


def test_a_column_that_is_published_as_it_is_cannot_be_reported(tmp_path):
    table, plan = clients(v=["x", "y"])
    kept = dataclasses.replace(plan, columns=(Column(name="v", action="keep"),))
    with pytest.raises(ParameterError, match="publishes as it is"):
        release(tmp_path / "l.sqlite", tmp_path / "out.csv", Collection(column="v"), of=(table, kept))


def _epsilon(document: dict[str, Any]) -> None:
    document["queries"][0]["epsilon"] = document["guarantee"]["epsilon"] = "0.5"
    document["guarantee"]["epsilon_row"] = "0.5"
    document["guarantee"]["replace_one"]["epsilon"] = 0.5


FORGED: list[tuple[str, Callable[[dict[str, Any]], None], str]] = [
    ("epsilon", _epsilon, "other queries than its request makes"),
    ("one", lambda d: d["request"].update(epsilon_one=0.1), "request does not follow from its parameters"),
    ("f", lambda d: d["request"]["parameters"].update(f=0.9), "request does not follow from its parameters"),
    ("bits", lambda d: d["request"]["parameters"].update(k=17), "the report has 16 bits"),
    ("kept", lambda d: d["request"].update(kept_answers="no"), "request does not follow from its parameters"),
    ("columns", lambda d: d.update(columns=["age"]), "names other columns"),
    ("reports", lambda d: d.update(method={"reports": 61}), "the file has 60 reports"),
    ("rows", lambda d: d.update(rows=59), "the file has 60 reports"),
    ("parameters", lambda d: d["request"].update(parameters=None), "malformed"),
    ("basic", lambda d: d["request"].update(basic=[1]), "malformed"),
]


@pytest.mark.parametrize(("change", "told"), [f[1:] for f in FORGED], ids=[f[0] for f in FORGED])
def test_verification_finds_a_forged_certificate(tmp_path, change, told):
    target = tmp_path / "out.csv"
    release(tmp_path / "l.sqlite", target)
    forge(target, change)
    problems = verify_any(target)
    assert any(told in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "not a file of kept answers"),
        (b"{}\n", "not a file of kept answers"),
        (b"\xff\n", "not a file of kept answers"),
        (b'{"format": "privacy-workbench-rappor-answers", "version": 1, "key": "zz"}\n', "not a file of kept"),
    ],
)
def test_a_strange_file_of_answers_is_refused(tmp_path, text, told):
    path = tmp_path / "answers"
    path.write_bytes(text)
    with pytest.raises(InputError, match=told):
        load_answers(path, SMALL, "v")


def test_damaged_answers_are_refused_with_their_line(tmp_path):
    path, asked = tmp_path / "answers", Collection(column="v", client="c")
    of = clients(c=["a", "b"], v=["x", "y"])
    release(tmp_path / "l.sqlite", tmp_path / "out.csv", asked, of=of, answers=path)
    whole = path.read_bytes().splitlines(keepends=True)
    for damaged, told in (
        ([*whole, b"1,2\n"], "line 4"),
        ([*whole, whole[1]], "twice"),
        ([whole[0], whole[1].replace(b",", b";")], "line 2"),
        ([whole[0], whole[1][:-3] + b"\n"], "line 2"),
    ):
        path.write_bytes(b"".join(damaged))
        with pytest.raises(InputError, match=told):
            load_answers(path, SMALL, "v")
    path.write_bytes(b"".join(whole))
    with pytest.raises(InputError, match="another column or other parameters"):
        load_answers(path, SMALL, "w")
    with pytest.raises(ParameterError, match="only for named clients"):
        rappor_work(SMALL, Collection(column="v"), 2, answers=path)


def test_no_seed_decides_an_answer_that_is_kept_for_a_release(tmp_path):
    table, _ = clients(client=["ann", "bob", "eve"], city=["Oslo", "Rome", "Oslo"])
    asked, kept = dataclasses.replace(CITY, client="client"), tmp_path / "kept.csv"
    work = rappor_work(SMALL, asked, table.rows, answers=kept)
    for coins in (SeededEntropy(1), None):
        ask = Study(np.random.default_rng(1), coins).ask(work.cost())
        with pytest.raises(ParameterError, match="needs fresh randomness"):
            work.run(table, ask, ignore, CancelToken())
        assert not kept.exists()
    work.run(table, Study(np.random.default_rng(1), OsEntropy()).ask(work.cost()), ignore, CancelToken())
    assert kept.exists()


def test_a_certificate_of_fewer_reports_a_client_than_the_file_has_is_not_believed(tmp_path):
    target, asked = tmp_path / "out.csv", dataclasses.replace(CITY, client="client", reports=3)
    of = clients(client=["ann", "ann", "ann", "bob", "bob", "eve"], city=["Oslo"] * 3 + ["Rome"] * 3)
    release(tmp_path / "l.sqlite", target, asked, RapporParameters(k=16, h=2, m=4, p=0.5, q=0.75, f=0.1), of=of)
    assert verify_any(target) == []

    def cheaper(document: dict[str, Any]) -> None:
        parameters = RapporParameters(**document["request"]["parameters"])
        work = rappor_work(parameters, dataclasses.replace(asked, reports=1), document["rows"])
        document["request"], document["queries"] = dict(work.request), query_facts(work.events)
        document["guarantee"] = central_guarantee("rappor", plan_in(document, target), work.events)

    forge(target, cheaper)
    assert verify_any(target) == ["a client has 3 reports in the file, and the certificate says at most 1"]

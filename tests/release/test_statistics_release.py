"""Released statistics: charged, certified, and recomputed from the certificate."""

import hashlib
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from asks import released_ask
from release_cases import certificate_of, forge, plan_of, table_of

from workbench.data.table import Table
from workbench.gui.pages.release.statistics.figures_model import released
from workbench.params import InputError
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import Released, destination, prepare, release_prepared
from workbench.release.statistics import statistics_work as work_module
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.verification import ledger_claims, verify_any
from workbench.release.verify import verify_in_ledger
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore
from workbench.statistics.release_file import FORMATS, decode
from workbench.statistics.request import Request, Statistic, usual_request

EVERY = Request(
    figures=(
        Statistic(statistic="histogram", column="age"),
        Statistic(statistic="quantiles", column="age"),
        Statistic(statistic="mean", column="pay", by=("city",)),
        Statistic(statistic="sum", column="pay"),
        Statistic(statistic="count", by=("city",)),
    )
)


def release(
    ledger: Path, target: Path, plan: Plan | None = None, epsilon: float = 1.0, request: Request = EVERY
) -> Released:
    plan, table = plan or plan_of(), table_of(60)
    to = destination(target, formats=FORMATS)
    prepared = prepare(plan, table, to, statistics_work(request, plan, epsilon, table.rows, to.format))
    with Ledger.open(ledger) as opened:
        return release_prepared(prepared, opened)


@pytest.mark.parametrize("name", ["figures.csv", "figures.json"])
def test_statistics_are_released_and_recomputed(tmp_path, name):
    done = release(tmp_path / "l.sqlite", tmp_path / name)
    assert (done.epsilon_charged, done.epsilon_remaining) == (1, 0)
    told = certificate_of(tmp_path / name)
    assert told["columns"] == ["age", "pay", "city"]
    assert told["guarantee"]["replace_one"]["epsilon"] == 2
    assert sum(Decimal(q["epsilon"]) for q in told["queries"]) == 1
    assert verify_any(tmp_path / name) == []
    with Ledger.open(tmp_path / "l.sqlite") as opened:
        assert verify_in_ledger(ledger_claims(tmp_path / name), opened) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["method"]["answers"].update({"rows by city": "9 9 9"}), "do not follow from the noisy answers"),
        (lambda d: d["method"]["answers"].update({"rows by city": "9 9"}), "not 3 whole numbers"),
        (lambda d: d["method"]["answers"].update({"rows by city": "9 9 x"}), "not whole numbers"),
        (lambda d: d["method"]["answers"].pop("rows by city"), "do not match"),
        (lambda d: d["request"]["figure"].pop(), "other columns than its request reads|other queries"),
        (lambda d: d["request"]["figure"][0].update(weight=9.0), "other queries than its request makes"),
        (lambda d: d["method"]["queries"][0].update(sensitivity=2), "method in the certificate does not follow"),
        (lambda d: d["request"]["figure"][0].update(column="town"), "no column 'town'"),
        (lambda d: d["method"].update(leaks="row 17 is Ann"), "method in the certificate does not follow"),
        (lambda d: d["method"].update(noise="none"), "method in the certificate does not follow"),
        (lambda d: d["output"].update(format="json"), "the format 'json', which is not that of 'figures.csv'"),
        (lambda d: d["output"].update(format="parquet", file="figures.parquet"), "the format 'parquet'"),
        (lambda d: d.update(kind="sanitize"), "that of noisy rows describes columns"),
        (lambda d: d.update(kind="poems"), "does not know the kind of release 'poems'"),
    ],
)
def test_verify_finds_what_does_not_follow(tmp_path, change, said):
    release(tmp_path / "l.sqlite", tmp_path / "figures.csv")
    forge(tmp_path / "figures.csv", change)
    assert re.search(said, " ".join(verify_any(tmp_path / "figures.csv")))


def forged(path: Path, data: bytes) -> list[str]:
    """What is said of another file under the same certificate, made to fit it."""
    path.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    forge(path, lambda document: document["output"].update(sha256=digest, bytes=len(data)))
    return verify_any(path)


def test_verify_finds_what_does_not_belong_into_a_csv_file(tmp_path):
    path = tmp_path / "figures.csv"
    release(tmp_path / "l.sqlite", path)
    data = path.read_bytes()
    header, first, *rest = data.decode().split("\n")
    cells = first.split(",")
    estimate = cells[4]
    for place, text in ((7, "maybe"), (4, f"{estimate[0]}_{estimate[1:]}"), (4, f" {estimate}"), (4, "1e999"), (4, "")):
        changed = "\n".join([header, ",".join([*cells[:place], text, *cells[place + 1 :]]), *rest])
        assert "has no statistics" in " ".join(forged(path, changed.encode())), text
    assert "does not have the form of released statistics" in " ".join(forged(path, data.replace(b"\n", b"\r\n")))
    for text in (f"+{estimate}", f"0{estimate}"):
        with pytest.raises(InputError, match="has no statistics"):
            decode(data.replace(first.encode(), ",".join([*cells[:4], text, *cells[5:]]).encode()), "csv", "x")
    with pytest.raises(InputError, match="more than 3 figures"):
        decode(data, "csv", "x", 3)
    assert forged(path, data) == []


def test_verify_finds_what_does_not_belong_into_a_json_file(tmp_path):
    path = tmp_path / "figures.json"
    release(tmp_path / "l.sqlite", path)
    data = path.read_bytes()
    found = json.loads(data)
    figures = found["figures"]
    for other in (
        {**found, "exact_rows": [[11, "Wien", 13]]},
        {"figures": [{**figures[0], "estimate": True}, *figures[1:]]},
        {"figures": [{**figures[0], "estimate": [1]}, *figures[1:]]},
        {"figures": [{**figures[0], "sparse": "no"}, *figures[1:]]},
    ):
        assert "has no statistics" in " ".join(forged(path, json.dumps(other).encode()))
    assert "does not have the form of released statistics" in " ".join(forged(path, json.dumps(found).encode()))
    assert forged(path, data) == []


def test_a_file_larger_than_its_figures_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "figures.csv"
    release(tmp_path / "l.sqlite", path)

    def never(*arguments: Any) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(work_module, "decode", never)
    header = path.read_bytes().partition(b"\n")[0]
    assert "its figures take at most" in " ".join(forged(path, header + b"\n" * (1 << 20)))
    with pytest.raises(InputError, match="its figures take at most"):  # nor by the window
        released(path, CancelToken())


def test_values_that_only_the_rows_have_are_in_no_file(tmp_path):
    plan = plan_of(0.5, invalid="replace")
    frame = table_of(60).frame
    rare = Table(frame.with_columns(city=pl.Series(["Unique-Village", *frame["city"][1:]])), "people.csv")
    to = destination(tmp_path / "figures.csv", formats=FORMATS)
    work = statistics_work(usual_request(plan), plan, 5.0, rare.rows, "csv")
    with Ledger.open(tmp_path / "l.sqlite") as opened:
        release_prepared(prepare(plan, rare, to, work), opened)
    for file in tmp_path.iterdir():
        assert b"Unique-Village" not in file.read_bytes(), file.name


def test_the_space_that_is_reserved_is_enough_whatever_the_names(tmp_path):
    """Long names of several bytes a character, quoted in CSV and escaped in JSON."""
    name, value = 'né"à' * 40, '東\n"京' * 50
    columns: list[dict[str, Any]] = [
        {"name": name, "kind": "category", "domain": [value, value + "2"]},
        {"name": "x" + name, "kind": "integer", "lower": 0, "upper": 3},
    ]
    plan = Plan.from_plain({"epsilon": 1.0, "invalid": "replace", "column": columns})
    by = tuple(
        Statistic(statistic=s, column="x" + name, by=(name,)) for s in ("histogram", "mean", "quantiles", "count")
    )
    table = plan.rows_of(Table(pl.DataFrame({name: [value], "x" + name: ["1"]}), "t.csv"))
    for kind in ("csv", "json"):
        work = statistics_work(Request(figures=(*by, *usual_request(plan).figures)), plan, 1.0, 1, kind)
        made = work.run(table, released_ask(work.events), ignore, CancelToken())
        assert len(made.whole) + len(json.dumps(made.method)) < work.room

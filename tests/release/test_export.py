"""What a release leaves: the table, its certificate and its charge."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import FrameType

import jsonschema
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release_cases import CITIES, certificate_of, names_in, plan_of, raise_cap, release, statuses, table_of
from released import release_table

from workbench.data.table import Table
from workbench.params import BudgetRefusedError, InputError
from workbench.paths import resources
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import check_values, destination, prepare_rows, release_prepared
from workbench.release.verdict import verdict_on
from workbench.release.verify import verified_release, verify_in_ledger, verify_release
from workbench.sanitize.calibrated_columns import protected_columns
from workbench.sanitize.engine import check_columns
from workbench.sanitize.plan import Plan
from workbench.sanitize.realisation import Realisation
from workbench.signals.cancel import CancelToken

SCHEMA = json.loads((resources() / "schemas" / "certificate.v2.schema.json").read_text("utf-8"))


def released(
    plan: Plan, cells: dict[str, list[str | None]], target: Path, epsilon_cap: str | None = None
) -> pl.DataFrame:
    """Release a made-up table, check everything a certificate claims, and return the file as text."""
    table = Table(pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String)), "made")
    with Ledger.open(target.parent / "ledger.sqlite") as ledger:
        done = release_table(plan, table, target, ledger)
        document = certificate_of(target)
        assert verify_in_ledger(document, ledger) == []
    jsonschema.validate(document, SCHEMA)
    assert verify_release(target) == []
    assert document["output"]["sha256"] == hashlib.sha256(target.read_bytes()).hexdigest()
    assert document["rows"] == done.rows == table.rows
    frame = verified_release(target).table.frame
    assert frame.height == table.rows
    return frame


def columns_of(*columns: dict[str, object], **keys: object) -> Plan:
    return Plan.from_plain({"epsilon": 3.0, "column": list(columns), **keys})


def test_a_release_is_charged_certified_and_alone_in_its_folder(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    done = release(tmp_path / "ledger.sqlite", folder / "people.csv", rows=200)
    assert names_in(folder) == {"people.csv", "people.csv.certificate.json"}
    assert done.output.read_text("utf-8").startswith("age,city,pay\n")
    document = certificate_of(folder / "people.csv")
    jsonschema.validate(document, SCHEMA)
    assert document["release_id"] == done.release_id
    assert document["guarantee"]["epsilon"] == document["guarantee"]["epsilon_row"] == "3"
    assert not {"dataset", "budget", "account"} & set(document)
    assert document["outside_guarantee"] == []
    assert document["columns"][1]["domain"] == list(CITIES)
    assert sum(Decimal(c["epsilon"]) for c in document["columns"]) == 3
    assert all(c["exact_epsilon"] <= float(c["epsilon"]) for c in document["columns"])
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        (entry,) = ledger.releases()
        assert (entry.status, entry.epsilon, entry.delta) == ("charged", 3, 0)
        assert entry.time == document["time"]
        assert entry.body["certificate"] == document["checksum"]


def test_the_public_description_of_the_checksum_is_true(tmp_path):
    release(tmp_path / "ledger.sqlite", tmp_path / "people.csv")
    document = certificate_of(tmp_path / "people.csv")
    claimed = document.pop("checksum")
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode("ascii")).hexdigest() == claimed


def test_a_refused_release_leaves_the_old_output_and_no_new_file(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    ledger, target = tmp_path / "ledger.sqlite", folder / "people.csv"
    release(ledger, target)
    before = {n: (folder / n).read_bytes() for n in names_in(folder)}
    for output in (target, folder / "another.csv"):
        with pytest.raises(BudgetRefusedError, match=r"costs epsilon = 3 but nothing is left \(cap epsilon = 3"):
            release(ledger, output)
    assert {n: (folder / n).read_bytes() for n in names_in(folder)} == before
    assert statuses(ledger) == ["charged", "refused", "refused"]
    assert verify_release(target) == []


def test_a_raised_cap_is_named_in_the_certificates_after_it(tmp_path):
    ledger, target = tmp_path / "ledger.sqlite", tmp_path / "people.csv"
    release(ledger, target, account="people")
    assert certificate_of(target)["account"] == {
        "name": "people",
        "cap_epsilon": "3",
        "spent_before": "0",
        "remaining_after": "0",
        "cap_raised": [],
    }
    raise_cap(ledger, "7.5")
    release(ledger, target, account="people")
    budget = certificate_of(target)["account"]
    assert [c["epsilon"] for c in budget["cap_raised"]] == ["7.5"]
    assert (budget["cap_epsilon"], budget["spent_before"], budget["remaining_after"]) == ("7.5", "3", "1.5")
    raise_cap(ledger, "4")  # lowered: not a raise
    raise_cap(ledger, "20")
    release(ledger, target, account="people")
    assert [c["epsilon"] for c in certificate_of(target)["account"]["cap_raised"]] == ["7.5", "20"]
    with Ledger.open(ledger) as opened:
        assert verify_in_ledger(certificate_of(target), opened) == []


def test_every_release_draws_anew(tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    release(ledger, tmp_path / "a.csv", rows=300)
    raise_cap(ledger, "6")
    release(ledger, tmp_path / "b.csv", rows=300)
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "b.csv").read_bytes()


def test_a_cap_that_is_lowered_while_a_release_runs_does_not_stop_it(tmp_path, monkeypatch):
    from workbench.release import release_path as export

    path, real = tmp_path / "ledger.sqlite", export._Drawing._draft

    def lower(*arguments: object) -> object:
        with Ledger.open(path) as other:
            (dataset,) = other.caps()
            other.set_cap(dataset, Decimal("0.5"))
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(export._Drawing, "_draft", lower)
    release(path, tmp_path / "people.csv", account="people")
    assert certificate_of(tmp_path / "people.csv")["account"]["remaining_after"] == "0"
    assert verify_release(tmp_path / "people.csv") == []


# -- order ------------------------------------------------------------------------------------------------------------


def rank_correlation(values: np.ndarray) -> float:
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return float(np.corrcoef(ranks, np.arange(values.size))[0, 1])


def test_rows_leave_in_an_order_that_says_nothing_about_the_original_one(tmp_path):
    rows = 4000
    plan = columns_of({"name": "key", "action": "keep"}, {"name": "x", "kind": "boolean"}, epsilon=1.0)
    cells = {"key": [f"{i:05d}" for i in range(rows)], "x": ["true", "false"] * (rows // 2)}
    frame = released(plan, cells, tmp_path / "out.csv")
    order = frame["key"].cast(pl.Int64).to_numpy()
    assert sorted(order) == list(range(rows))
    # Under a random order √(n−1)·r is nearly standard normal: |·| > 5 has a chance below 6e-7.
    assert abs(rank_correlation(order)) * np.sqrt(rows - 1) < 5
    assert certificate_of(tmp_path / "out.csv")["keep_order"] is False


def test_a_kept_order_is_kept_and_named(tmp_path):
    plan = columns_of({"name": "key", "action": "keep"}, {"name": "x", "kind": "boolean"}, keep_order=True)
    frame = released(plan, {"key": list("abcde"), "x": ["true"] * 5}, tmp_path / "out.csv")
    assert frame["key"].to_list() == list("abcde")
    document = certificate_of(tmp_path / "out.csv")
    assert document["keep_order"] is True
    assert any("original order" in s for s in document["outside_guarantee"])


# -- kinds of columns and files ---------------------------------------------------------------------------------------


def test_kept_dropped_and_data_bound_columns_are_named_in_the_certificate(tmp_path):
    plan = columns_of(
        {"name": "name", "action": "drop", "role": "identifier"},
        {"name": "note", "action": "keep"},
        {"name": "age", "kind": "integer", "lower": 0, "upper": 9, "bounds_origin": "data", "role": "sensitive"},
    )
    cells = {"name": ["a", "b"], "note": ["x", None], "age": ["1", "2"]}
    frame = released(plan, cells, tmp_path / "out.csv")
    assert frame.columns == ["note", "age"]
    assert sorted(frame["note"].to_list(), key=str) == [None, "x"]
    document = certificate_of(tmp_path / "out.csv")
    assert [(c["name"], c["action"]) for c in document["columns"]] == [
        ("name", "drop"),
        ("note", "keep"),
        ("age", "protect"),
    ]
    assert any("covered by no epsilon: note." in s for s in document["outside_guarantee"])
    assert any("read off the data" in s and "age" in s for s in document["outside_guarantee"])


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "CSV"])
def test_every_format_is_written_verified_and_read_back(tmp_path, suffix):
    plan = columns_of(
        {"name": "n", "kind": "integer", "lower": -5, "upper": 5},
        {"name": "x", "kind": "real", "lower": 0, "upper": 1, "cells": 11, "missing": "own-value"},
        {"name": "day", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31"},
        {"name": "c", "kind": "category", "domain": ["a,b", 'say "x"', "é"]},
        {"name": "b", "kind": "boolean", "missing": "own-value"},
    )
    cells = {
        "n": ["-7", "0", "3"] * 20,
        "x": ["0.5", None, "0.25"] * 20,
        "day": ["2020-02-29", "2019-01-01", "2021-01-01"] * 20,
        "c": ["a,b", 'say "x"', "é"] * 20,
        "b": ["true", None, "No"] * 20,
    }
    target = tmp_path / f"out.{suffix}"
    frame = released(plan, cells, target)
    assert set(frame["n"]) <= {str(v) for v in range(-5, 6)}
    assert set(frame["day"].str.slice(0, 4)) == {"2020"}
    assert set(frame["c"]) <= {"a,b", 'say "x"', "é"}
    assert set(frame["b"]) <= {"true", "false", None}
    if suffix == "parquet":
        types = pl.read_parquet(target).schema
        assert [types[k] for k in ("n", "x", "day", "c")] == [pl.Int64, pl.Float64, pl.Date, pl.String]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_of_one_column_keeps_its_missing_rows(tmp_path, suffix):
    plan = columns_of({"name": "x", "kind": "category", "domain": ["a", "b"], "missing": "own-value"}, epsilon=20.0)
    frame = released(plan, {"x": [None] * 30 + ["a"] * 30}, tmp_path / f"out.{suffix}")
    assert frame["x"].null_count() >= 25


def test_a_table_of_one_row_is_released(tmp_path):
    frame = released(plan_of(), {"age": ["31"], "city": ["Graz"], "pay": ["1"]}, tmp_path / "out.csv")
    assert frame.height == 1


def test_missing_values_may_be_one_more_cell_or_an_error_with_its_row(tmp_path):
    column = {"name": "age", "kind": "integer", "lower": 0, "upper": 120}
    frame = released(
        columns_of({**column, "missing": "own-value"}, epsilon=30.0), {"age": [None, "31"] * 50}, tmp_path / "a.csv"
    )
    assert 40 <= frame["age"].null_count() <= 60
    with pytest.raises(InputError, match=r"missing \(column age, row 2\)"):
        released(columns_of(column), {"age": ["1", None]}, tmp_path / "b.csv")
    assert not (tmp_path / "b.csv").exists()
    assert statuses(tmp_path / "ledger.sqlite") == ["charged"]


def test_long_integer_ranges_are_released_in_equal_steps(tmp_path):
    plan = columns_of({"name": "pay", "kind": "integer", "lower": 0, "upper": 1_000_000})
    frame = released(plan, {"pay": [str(v) for v in range(0, 1_000_000, 5000)]}, tmp_path / "out.csv")
    steps = {int(v) % 1000 for v in frame["pay"]}
    assert steps == {0}
    assert certificate_of(tmp_path / "out.csv")["columns"][0]["cells"] <= 4096


def test_a_domain_beyond_the_tables_is_released_by_randomised_response(tmp_path):
    domain = [f"place {i}" for i in range(4100)]
    plan = columns_of({"name": "place", "kind": "category", "domain": domain, "mechanism": "grr"}, epsilon=12.0)
    frame = released(plan, {"place": domain[:200]}, tmp_path / "out.csv")
    assert set(frame["place"]) <= set(domain)
    (column,) = certificate_of(tmp_path / "out.csv")["columns"]
    assert column["cells"] == 4100
    assert column["exact_epsilon"] <= 12


NAMES = st.text(st.sampled_from("ab ,;\t\"'|\n\r\\é€=#\u2028"), min_size=1, max_size=4).filter(str.strip)


@settings(max_examples=8, deadline=None)
@given(st.lists(NAMES, min_size=2, max_size=5, unique=True), st.lists(NAMES, min_size=1, max_size=2, unique=True))
def test_whatever_names_a_plan_has_the_file_reads_back_as_certified(tmp_path_factory, domain, names):
    folder = tmp_path_factory.mktemp("names")
    plan = columns_of(*({"name": n, "kind": "category", "domain": domain, "mechanism": "grr"} for n in names))
    for suffix in ("csv", "tsv"):
        target = folder / f"out.{suffix}"
        with Ledger.open(folder / f"{suffix}.sqlite") as ledger:
            table = Table(pl.DataFrame(dict.fromkeys(names, domain * 3)), "made")
            release_table(plan, table, target, ledger)
        assert verify_release(target) == []


def test_an_unknown_suffix_is_refused_before_anything_happens(tmp_path):
    for name in ("out.xls", "out", "out.tsv.gz"):
        with pytest.raises(InputError, match=r"suffix .* is not known .*use one of \.csv, \.csv\.gz, \.tsv, \.parquet"):
            release(tmp_path / "ledger.sqlite", tmp_path / name)
    assert statuses(tmp_path / "ledger.sqlite") == []


def test_facts_of_a_dropped_column_are_not_published(tmp_path):
    plan = columns_of(
        {"name": "city", "kind": "category", "domain": list(CITIES)},
        {
            "name": "person",
            "kind": "category",
            "domain": ["Ana Secret", "Jo Hidden"],
            "bounds_origin": "data",
            "action": "drop",
        },
    )
    cells: dict[str, list[str | None]] = {"city": [CITIES[0]] * 5, "person": ["Ana Secret"] * 5}
    released(plan, cells, tmp_path / "out.csv")
    written = "".join(path.read_text("utf-8", "replace") for path in tmp_path.iterdir())
    assert "person" in written, "that it was dropped is said"
    assert "Secret" not in written
    assert "Hidden" not in written


# -- What a release and a preview need of plan and table is prepared once and passed on -------------------------------


WATCHED = {f.__code__: f.__name__ for f in (check_columns, protected_columns, Plan.rows_of)}


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the calls of the preparing functions, wherever they were imported to."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in WATCHED:
            calls[WATCHED[frame.f_code]] += 1

    former = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(former)


@pytest.mark.parametrize("invalid", ["refuse", "replace"])
def test_a_release_is_prepared_once(tmp_path, invalid):
    plan, table = plan_of(invalid=invalid), table_of(200)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger, counted() as calls:
        prepared = prepare_rows(plan, table, destination(tmp_path / "out.csv"))
        check_values(prepared, CancelToken())
        verdict = verdict_on(prepared, ledger)
        done = release_prepared(prepared, ledger, account=verdict.account)
    assert done.rows == 200
    assert calls == {"check_columns": 1, "protected_columns": 1, "rows_of": 1}


def test_looks_at_one_preview_check_the_columns_once():
    with counted() as calls:
        drawn = Realisation(table_of(200), plan_of(), 1, CancelToken())
        for name in ("age", "city", "pay"):
            assert drawn.all_rows(name).after[:200].tolist() == drawn.first_rows(name).after.tolist()
    assert calls == {"check_columns": 1, "rows_of": 1}

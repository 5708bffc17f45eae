"""Releases of other programs and other versions are read as they were made, and by the mechanisms that ran."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from release_cases import certificate_of, forge, release
from released import release_table

from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.learners import learner
from workbench.params import InputError, ParameterError
from workbench.params.codec import read_json
from workbench.release.bundle import bundle_unverified
from workbench.release.card import MODEL, contradictions
from workbench.release.certificate import CARD, certificate_path
from workbench.release.described_release import is_release
from workbench.release.ledger.ledger import Ledger
from workbench.release.manifest import MANIFEST, read_manifest
from workbench.release.verification import verify_any
from workbench.release.verify import verified_release, verify_release
from workbench.sanitize import calibrated_columns
from workbench.sanitize.plan import Plan

AGE = {"name": "age", "kind": "integer", "lower": 0, "upper": 20}


def released(folder: Path, **more: Any) -> Path:
    """Release a small table and return the file."""
    plan = Plan.from_plain({"epsilon": 1.0, "column": [{**AGE, **more}]})
    table = Table(pl.DataFrame({"age": [str(i % 21) for i in range(200)]}), "made.csv")
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        release_table(plan, table, folder / "out.csv", ledger)
    return folder / "out.csv"


def test_advice_that_changed_does_not_change_what_a_release_is_read_with(tmp_path, monkeypatch):
    file = released(tmp_path)
    before = verified_release(file).column("age")
    advice = calibrated_columns.candidates
    monkeypatch.setattr(calibrated_columns, "candidates", lambda *given: advice(*given)[::-1])
    after = verified_release(file).column("age")
    assert after.mechanism.name == before.mechanism.name == "duchi"
    assert after.randomiser.digest() == before.randomiser.digest()
    assert verify_release(file) == []


def test_a_certificate_from_before_the_default_changed_still_means_single_values(tmp_path):
    file = released(tmp_path, purpose="values", mechanism="staircase")

    def forget(document: dict[str, Any]) -> None:
        assert 'purpose = "values"\n' in document["plan"]
        document["plan"] = document["plan"].replace('purpose = "values"\n', "")

    forge(file, forget)
    assert verified_release(file).plan.column("age").purpose == "values"
    assert verify_release(file) == []


def test_a_solved_table_that_differs_from_the_one_that_was_drawn_from_is_refused(tmp_path):
    file = released(tmp_path, mechanism="optimal")
    column = verified_release(file).column("age")
    assert column.mechanism.name == "optimal"
    forge(file, lambda document: document["columns"][0].update(table_digest="0" * 64))
    with pytest.raises(InputError, match="has a different table here"):
        verified_release(file)
    assert any("has a different table here" in problem for problem in verify_release(file))


def test_a_certificate_that_names_no_known_mechanism_is_refused(tmp_path):
    file = released(tmp_path)
    forge(file, lambda document: document["columns"][0].update(mechanism="hybird"))
    with pytest.raises(InputError, match="did you mean 'hybrid'"):
        verified_release(file)
    assert any("hybird" in problem for problem in verify_release(file))


# -- A table counts as released only where the certificate beside it is unchanged and of exactly its bytes


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.csv"


def test_the_released_file_is_one(out):
    release(out.with_name("l.sqlite"), out)
    assert is_release(read_table(str(out)))


def test_a_certificate_that_was_changed_by_hand_shows_nothing(out):
    """Rows that were never released do not become public by writing their checksum into a certificate."""
    release(out.with_name("l.sqlite"), out)
    out.write_text("Age\n47\n", "utf-8")
    table = read_table(str(out))
    assert not is_release(table)
    document = certificate_of(out)
    document["output"]["sha256"] = table.digest.hex()
    certificate_path(out).write_text(json.dumps(document), "utf-8")
    assert not is_release(table)


def test_without_a_certificate_rows_are_private(out):
    out.write_text("Age\n47\n", "utf-8")
    assert not is_release(read_table(str(out)))


# -- Files that the former version released (``former_version/``, 400 made-up rows) are what they were: they verify


FORMER = Path(__file__).parent / "former_version"
NAMES = (
    *("out.csv", "st.csv", "st3.json", "syn.csv", "syn2.csv"),  # the last and st3 have a delta
    "st4.csv",  # a table as plain counts
    *("m-naive-bayes", "m-random-forest", "m-linear-regression", "net"),
    "rappor-bundle",  # its command reads request.toml, where this version's reads parameters and candidates
    "net2",  # for replaced rows its delta is above 1/rows by the general rule, which its card states
)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_the_former_version_verifies(name):
    assert verify_any(FORMER / name) == []


def test_a_model_of_the_former_version_predicts_what_it_predicted():
    """Its columns, clipping limit and penalty follow by the rules of format 1."""
    model = learner("linear-regression").estimator.from_plain(read_json(FORMER / "m-linear-regression" / MODEL, "it"))
    found = model.predict([[0, 0, 0], [5, 2.5, 1], [10, 5, 0], [10, 0, 1]])
    assert found == pytest.approx([1.2651958287629552, 6.010896039694362, 10.756596250625769, 0.0])
    with pytest.raises(ParameterError, match="'columns'"):  # format 2 uses more
        learner("linear-regression").estimator.from_plain({**model.to_plain(), "format": 2})


def test_a_model_that_says_another_format_contradicts_its_card(tmp_path):
    folder = Path(shutil.copytree(FORMER / "m-linear-regression", tmp_path / "m"))
    plain = read_json(folder / MODEL, "it")
    (folder / MODEL).write_text(json.dumps({**plain, "format": 2}), "utf-8")
    assert any("queries on the card" in fault for fault in contradictions(read_json(folder / CARD, "it"), folder))


@pytest.fixture
def former_bundle(tmp_path):
    """A copy of the former version's bundle, which a test may damage."""
    return Path(shutil.copytree(FORMER / "rappor-bundle", tmp_path / "bundle"))


def relist(bundle: Path, **keys: object) -> None:
    """Make the manifest that of the files that are there; whatever else is changed, its checksums agree."""
    listed = read_manifest(bundle)
    files = {name: bundle / name for name in listed["files"] if (bundle / name).exists()}
    sums = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    (bundle / MANIFEST).write_text(json.dumps({**listed, "files": sums, **keys}), "utf-8")


@pytest.mark.parametrize("name", ["request.toml", "plan.toml", "rerun.json", "verify.py", "certificate.html"])
def test_a_bundle_of_the_former_version_has_what_that_version_wrote(former_bundle, name):
    (former_bundle / name).unlink()
    relist(former_bundle)
    assert verify_any(former_bundle) == [f"the bundle has no {name}"]


def test_a_bundle_of_another_version_has_the_files_that_its_command_reads(former_bundle):
    assert "another version" in bundle_unverified(former_bundle)
    told = json.loads((former_bundle / "rerun.json").read_text("utf-8"))
    (former_bundle / "rerun.json").write_text(json.dumps({**told, "files": ["request.toml", "more.csv"]}), "utf-8")
    relist(former_bundle, version=2, program={"name": "privacy-workbench", "version": "0.9"})
    assert verify_any(former_bundle) == ["the bundle has no more.csv"]


@pytest.mark.parametrize("told", ['{"command": "rappor"}', '{"command": [1]}', "[]", "{"])
def test_a_command_that_is_none_is_a_fault(former_bundle, told):
    (former_bundle / "rerun.json").write_text(told, "utf-8")
    relist(former_bundle)
    (fault,) = verify_any(former_bundle)
    assert "command" in fault

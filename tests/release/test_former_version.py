"""Files that the former version released (``former_version/``, 400 made-up rows) are what they were: they verify."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from workbench.learners import learner
from workbench.params import ParameterError
from workbench.params.codec import read_json
from workbench.release.bundle import bundle_cannot_know
from workbench.release.card import MODEL, contradictions
from workbench.release.certificate import CARD
from workbench.release.manifest import MANIFEST, read_manifest
from workbench.release.verify_any import verify_any

FORMER = Path(__file__).parent / "former_version"
NAMES = (
    *("out.csv", "st.csv", "st3.json", "syn.csv", "syn2.csv"),  # the last and st3 have a delta
    *("m-naive-bayes", "m-random-forest", "m-linear-regression", "net"),
    "rappor-bundle",  # its command reads request.toml, where this version's reads parameters and candidates
    "net2",  # for replaced rows its delta is above 1/rows by the general rule, which its card states
)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_the_former_version_verifies(name: str) -> None:
    assert verify_any(FORMER / name) == []


def test_a_model_of_the_former_version_predicts_what_it_predicted() -> None:
    """Its columns, weight limit and penalty follow by the rules of format 1."""
    model = learner("linear-regression").estimator.from_plain(read_json(FORMER / "m-linear-regression" / MODEL, "it"))
    found = model.predict([[0, 0, 0], [5, 2.5, 1], [10, 5, 0], [10, 0, 1]])
    assert found == pytest.approx([1.2651958287629552, 6.010896039694362, 10.756596250625769, 0.0])
    with pytest.raises(ParameterError, match="'columns'"):  # format 2 uses more
        learner("linear-regression").estimator.from_plain({**model.to_plain(), "format": 2})


def test_a_model_that_says_another_format_contradicts_its_card(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FORMER / "m-linear-regression", tmp_path / "m"))
    plain = read_json(folder / MODEL, "it")
    (folder / MODEL).write_text(json.dumps({**plain, "format": 2}), "utf-8")
    assert any("queries on the card" in fault for fault in contradictions(read_json(folder / CARD, "it"), folder))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of the former version's bundle, which a test may damage."""
    return Path(shutil.copytree(FORMER / "rappor-bundle", tmp_path / "bundle"))


def relist(bundle: Path, **keys: object) -> None:
    """Make the manifest that of the files that are there; whatever else is changed, its checksums agree."""
    listed = read_manifest(bundle)
    files = {name: bundle / name for name in listed["files"] if (bundle / name).exists()}
    sums = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    (bundle / MANIFEST).write_text(json.dumps({**listed, "files": sums, **keys}), "utf-8")


@pytest.mark.parametrize("name", ["request.toml", "plan.toml", "rerun.json", "verify.py", "certificate.html"])
def test_a_bundle_of_the_former_version_has_what_that_version_wrote(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    relist(bundle)
    assert verify_any(bundle) == [f"the bundle has no {name}"]


def test_a_bundle_of_another_version_has_the_files_that_its_command_reads(bundle: Path) -> None:
    assert "another version" in bundle_cannot_know(bundle)
    told = json.loads((bundle / "rerun.json").read_text("utf-8"))
    (bundle / "rerun.json").write_text(json.dumps({**told, "files": ["request.toml", "more.csv"]}), "utf-8")
    relist(bundle, version=2, program={"name": "privacy-workbench", "version": "0.9"})
    assert verify_any(bundle) == ["the bundle has no more.csv"]


@pytest.mark.parametrize("told", ['{"command": "rappor"}', '{"command": [1]}', "[]", "{"])
def test_a_command_that_is_none_is_a_fault(bundle: Path, told: str) -> None:
    (bundle / "rerun.json").write_text(told, "utf-8")
    relist(bundle)
    (fault,) = verify_any(bundle)
    assert "command of" in fault

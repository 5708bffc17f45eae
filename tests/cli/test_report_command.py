"""``workbench report``: PDF or HTML, readable by its owner alone, and in a bundle only where it is asked for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from command_cases import Run, cities

from workbench.release.atomic import PartFile

COLUMNS = ("--quasi", "age", "--sensitive", "city", "--attacks", "50", "--ledger", "book.sqlite")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with a table, its plan and a release."""
    monkeypatch.chdir(tmp_path)
    return cities(tmp_path)


def test_a_report_of_a_release_is_written_and_goes_into_a_bundle(folder: Path, run: Run) -> None:
    run("sanitize", "t.csv", "--plan", "plan.toml", "-o", "n.csv", "--ledger", "book.sqlite")
    words = ("report", "n.csv", "--original", "t.csv", *COLUMNS, "-o", "r.html", "--bundle", "b")
    found = run(*words, "--json").done
    assert found["private"] is True
    assert found["epsilon"] > 0
    assert found["released_risk"]["rows"] == 300
    assert {one["attack"] for one in found["attacks"]} >= {"inference"}
    assert "closest" in found["not_tried"]
    assert found["quality"]["scores"]["column_shapes"]["value"] > 0
    page = Path("r.html").read_text("utf-8")
    assert "private – not for release" in page
    assert "What ε allows" in page
    assert stat.S_IMODE(Path("r.html").stat().st_mode) == 0o600
    assert (folder / "b/private/risk-report.pdf").read_bytes().startswith(b"%PDF")
    assert run("verify", "b", "--json").done["ok"] is True
    (folder / "b/private/risk-report.html").write_text("changed")
    assert run("verify", "b", "--json").code == 5
    assert "exists" in run(*words).refused()


def test_a_table_alone_is_reported_on(folder: Path, run: Run) -> None:
    shown = run("report", "t.csv", *COLUMNS, "-o", "r.html").shown
    assert "rows of the table are unique" in shown
    assert "private – not for release" in shown
    assert "--original" in run("report", "t.csv", *COLUMNS, "-o", "r.html", "--bundle", "b").refused()
    assert ".pdf or .html" in run("report", "t.csv", *COLUMNS, "-o", "r.txt").refused()


def test_a_model_is_attacked_as_models_are(folder: Path, run: Run) -> None:
    run("fit", "t.csv", "--target", "city", "--model", "naive-bayes", "--epsilon", "1", "--bounds", "plan.toml",
        "-o", "m", "--ledger", "book.sqlite")  # fmt: skip
    lines = Path("t.csv").read_text("utf-8").splitlines()
    Path("others.csv").write_text("\n".join([lines[0], *lines[1:200:2]]) + "\n", "utf-8")
    words = ("report", "m", "--original", "t.csv", "--control", "others.csv", *COLUMNS, "-o", "r.html")
    found = run(*words, "--json").done
    assert [one["attack"] for one in found["attacks"]] == ["membership", "inversion"]
    assert found["released_risk"] is None
    assert found["quality"] is None
    assert found["epsilon"] == 1


@pytest.mark.parametrize("form", ["html", "pdf"])
def test_a_full_disk_leaves_no_half_a_report_and_is_one_sentence(
    form: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(PartFile, "publish", full)
    monkeypatch.setattr("workbench.release.documents.written_document.document_bytes", lambda *_: b"printed")
    result = run("report", "t.csv", *COLUMNS, "-o", f"r.{form}")
    assert result.code == 2
    (said,) = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert "space" in said
    assert not list(Path().glob("*r.*.part*"))
    assert not Path(f"r.{form}").exists()

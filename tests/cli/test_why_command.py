"""``workbench why``: on a table a private study, on generated rows nobody's."""

import json

import pytest

from workbench.cli import main


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    assert main(["plan", "sample:iris", "--epsilon", "1", "--target", "species", "-o", str(path)]) == 0
    return str(path)


def test_a_table_is_explained_and_called_private(plan, run, capsys):
    words = ["why", "sample:iris", "--target", "species", "--epsilon", "1", "--bounds", plan]
    assert main([*words, "--repeats", "2", "--jobs", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["private"] is True
    assert [step["step"] for step in told["steps"]] == ["ordinary", "exact", "private"]
    assert {change["change"] for change in told["changes"]} <= {"epsilon", "rows", "attributes", "bounds"}
    assert len(told["sentences"]) == 2
    text = run(*words, "--repeats", "2", "--jobs", "1").shown
    assert "private – not for release" in text
    assert "Private model without noise" in text


def test_generated_rows_need_no_table(plan, capsys):
    words = ["why", "--rows", "60", "--target", "species", "--epsilon", "1", "--bounds", plan]
    assert main([*words, "--repeats", "2", "--jobs", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["private"] is False
    assert told["rows"] == 60


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "no rows are given"),
        (["sample:iris", "--rows", "60"], "no rows are given"),
        (["--rows", "3"], "--rows"),
        (["--rows", "60", "--decimal", ","], "not read from a file"),
        (["--rows", "60", "--model", "linear-regression"], "species"),
    ],
)
def test_a_bad_request_is_one_sentence(plan, capsys, words, told):
    assert main(["why", *words, "--target", "species", "--epsilon", "1", "--bounds", plan, "--jobs", "1"]) == 2
    error = capsys.readouterr().err.strip()
    assert told in error
    assert "\n" not in error

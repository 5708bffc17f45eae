"""No released CSV runs a formula in a spreadsheet, where that is asked for; what is read again is as declared."""

import csv
import hashlib
import json
from pathlib import Path

import pytest

from workbench.params import ParameterError
from workbench.release.certificate import checksum
from workbench.release.values_work import released_values
from workbench.sanitize.plan import Plan

FACTS = 'name = "@city"\nkind = "category"\ndomain = ["=Rom", "Graz"]'


@pytest.mark.parametrize(
    "asked",
    [
        ["statistics", "--epsilon", "40"],
        ["synthesize", "--epsilon", "40"],
        ["values", "--epsilon", "2", "--delta", "1e-6", "--category", "@city"],
        ["sanitize"],
    ],
    ids=lambda asked: asked[0],
)
def test_a_name_that_is_a_formula_gets_an_apostrophe_in_every_released_csv(tmp_path, monkeypatch, run, asked):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("@city,age\n" + "=Rom,31\nGraz,40\n" * 200)
    Path("p.toml").write_text(
        'version = 1\nepsilon = 40.0\n[reading]\nheader = "yes"\n'
        f'[[column]]\n{FACTS}\n[[column]]\nname = "age"\nkind = "integer"\nlower = 0\nupper = 99\n'
    )
    words = [asked[0], "t.csv", "--plan", "p.toml", *asked[1:], "-o", "o.csv", "--ledger", "l.db", "--defuse-formulas"]
    assert run(*words).code == 0
    cells = {cell for line in csv.reader(Path("o.csv").read_text().splitlines()) for cell in line}
    assert {"'=Rom", "'@city"} <= cells
    assert not {"=Rom", "@city"} & cells
    assert "defuse_formulas = true" in json.loads(Path("o.csv.certificate.json").read_text())["plan"]
    assert run("verify", "o.csv").code == 0
    if asked[0] == "values":
        assert run("plan", "t.csv", "--epsilon", "1", "--values", "o.csv", "-o", "q.toml").code == 0
        assert '"=Rom"' in Path("q.toml").read_text()
    # As former versions wrote it, by the same plan: names, and values of some kinds, as they are.
    former = Path("o.csv").read_bytes().replace(b"'@city", b"@city")
    if asked[0] in ("statistics", "values"):
        former = former.replace(b"'=Rom", b"=Rom")
    certificate = Path("o.csv.certificate.json")
    document = json.loads(certificate.read_text())
    document["output"] |= {"sha256": hashlib.sha256(former).hexdigest(), "bytes": len(former)}
    Path("o.csv").write_bytes(former)
    certificate.write_text(json.dumps(document | {"checksum": checksum(document)}))
    assert run("verify", "o.csv").code == 0


def test_names_and_found_values_that_differ_by_an_apostrophe_stay_different(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("@n,'@n,city\n" + "1,90,=Rom\n2,95,'=Rom\n" * 200)
    number = 'kind = "integer"\nlower = 0\nupper = 99\n'
    Path("p.toml").write_text(
        "version = 1\nepsilon = 40.0\n[writing]\ndefuse_formulas = true\n"
        f'[[column]]\nname = "@n"\n{number}[[column]]\nname = "\'@n"\n{number}'
        '[[column]]\nname = "city"\nkind = "category"\ndomain = ["Graz", "Linz"]\n'
    )
    written = {}
    for kind, *asked in (
        ["statistics", "--epsilon", "40", "--mean", "@n", "--mean", "'@n"],
        ["values", "--epsilon", "2", "--delta", "1e-6", "--category", "city"],
    ):
        words = [kind, "t.csv", "--plan", "p.toml", *asked, "-o", f"{kind}.csv", "--ledger", f"{kind}.db"]
        assert run(*words).code == 0
        assert run("verify", f"{kind}.csv").code == 0
        with Path(f"{kind}.csv").open(newline="") as file:
            written[kind] = list(csv.DictReader(file))
    assert {one["column"]: float(one["estimate"]) > 50 for one in written["statistics"]} == {"'@n": False, "''@n": True}
    assert {one["value"] for one in written["values"]} == {"'=Rom", "''=Rom"}
    assert {one.value for one in released_values(Path("values.csv"))[0]} == {"=Rom", "'=Rom"}


def test_two_values_that_would_be_one_text_are_refused():
    plain = {"epsilon": 1, "column": [{"name": "@city", "kind": "category", "domain": ["=Rom", "'=Rom"]}]}
    assert Plan.from_plain(plain)
    with pytest.raises(ParameterError, match="with an apostrophe, as formulas are defused, is one of the other values"):
        Plan.from_plain({**plain, "writing": {"defuse_formulas": True}})


def test_an_attacker_reads_codes_and_formulas_as_they_are_declared(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("@city,age\n" + "=Rom,31\nGraz,40\n77,50\n-9,20\n" * 50)
    Path("p.toml").write_text(
        f'version = 1\nepsilon = 90.0\n[[column]]\n{FACTS}\nmissing = "own-value"\nmissing_codes = ["77", "-9"]\n'
        '[[column]]\nname = "age"\nkind = "integer"\nlower = 0\nupper = 99\n'
    )
    assert (
        run(*["sanitize", "t.csv", "--plan", "p.toml", "-o", "o.csv", "--ledger", "l.db", "--defuse-formulas"]).code
        == 0
    )
    found = run(
        *[
            "attack",
            "inference",
            "o.csv",
            "--original",
            "t.csv",
            "--known",
            "age",
            "--secret",
            "@city",
            "--ledger",
            "l.db",
            "--json",
        ]
    )
    assert json.loads(found.out)["main"] > 0.9

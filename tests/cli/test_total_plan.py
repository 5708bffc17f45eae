"""A plan that replaces invalid values, from the file to the certificate, the model and the estimate."""

import json
import shlex
from pathlib import Path

import pytest
from command_cases import runner

HEAD = "age,seen,city,label\n"
GOOD = ["31,2020-03-12,Graz,yes", "47,2020-05-01,Linz,no"] * 20
BAD = {
    "a missing number": ",2020-03-12,Graz,yes",
    "a missing name": "31,2020-03-12,,yes",
    "a missing class": "31,2020-03-12,Graz,",
    "text for a number": "about 30,2020-03-12,Graz,yes",
    "no whole number": "31.5,2020-03-12,Graz,yes",
    "not a number": "nan,2020-03-12,Graz,yes",
    "infinity": "-inf,2020-03-12,Graz,yes",
    "a decimal mark that nobody stated": '"1,234",2020-03-12,Graz,yes',
    "no day of the calendar": "31,2020-02-30,Graz,yes",
    "day or month first": "31,03/12/2020,Graz,yes",
    "a value that is not listed": "31,2020-03-12,Paris,yes",
    "a class that is not declared": "31,2020-03-12,Graz,perhaps",
    "a blank line": "",
    "an empty row": ",,,",
    "a short row": "31,2020-03-12",
    "a long row": "31,2020-03-12,Graz,yes,yes,yes",
    "nothing but blanks": "    ",
}
PLAN = """\
epsilon = 4.0
invalid = "replace"
[[column]]
name = "age"
kind = "integer"
lower = 0
upper = 120
missing = "?"
[[column]]
name = "seen"
kind = "date"
lower = 2020-01-01
upper = 2020-12-31
[[column]]
name = "city"
kind = "category"
domain = ["Graz", "Linz", "Wien"]
[[column]]
name = "label"
kind = "category"
domain = ["yes", "no"]
missing = "refuse"
"""
STATED = shlex.split("--encoding utf-8 --delimiter , --quote '\"' --escape doubled --decimal . --header yes")
UNSTATED = [word for word in STATED if word not in ("--decimal", ".")]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    Path("strict.toml").write_text(PLAN.replace('invalid = "replace"\n', "").replace('missing = "?"\n', ""))
    return runner(capsys)


def write(*rows: str) -> None:
    Path("t.csv").write_text(HEAD + "".join(row + "\n" for row in rows), "utf-8")


def sanitize(plan: str = "plan.toml", output: str = "out.csv") -> list[str]:
    return ["sanitize", "t.csv", "--plan", plan, "-o", output, "--ledger", "l.sqlite", "--json", *UNSTATED]


@pytest.mark.parametrize("case", BAD)
def test_no_file_is_refused_for_its_values(run, case):
    write(*GOOD, BAD[case], *GOOD)
    strict = run(*sanitize("strict.toml"))
    if BAD[case]:  # where values are refused a blank line is no row
        assert strict.code == 2
        assert case.startswith("a decimal") or 'invalid = "replace" in the plan' in strict.err
    else:
        assert strict.json["rows"] == 80
        assert run("ledger", "cap", "t.csv", "--epsilon", "8", "--ledger", "l.sqlite").code == 0  # the same account
    answer = run(*sanitize(output="total.csv"))
    assert answer.code == 0, answer
    assert answer.json["rows"] == 81
    assert run("verify", "total.csv", "--ledger", "l.sqlite").code == 0
    assert Path("total.csv").read_text().count("\n") == 82


def test_a_table_of_empty_rows_is_a_table(run):
    write(*[""] * 12)
    assert run(*sanitize()).json["rows"] == 12


def test_what_the_certificate_says_of_a_total_plan(run):
    write(*GOOD, "")
    assert run(*sanitize()).code == 0
    certificate = json.loads(Path("out.csv.certificate.json").read_text())
    assert certificate["rows"] == 41
    assert {c["missing"] for c in certificate["columns"]} == {"own-value"}
    statement = certificate["guarantee"]["statement"]
    assert "every protected value of an empty row is missing" in statement
    assert "among all tables of n rows, n public, with the plan's columns" in statement
    assert "every cell was valid" not in statement


def test_what_the_certificate_says_of_a_plan_that_refuses(run):
    write(*GOOD)
    assert run(*sanitize("strict.toml")).code == 0
    statement = json.loads(Path("out.csv.certificate.json").read_text())["guarantee"]["statement"]
    assert "a release tells that every cell was valid" in statement
    assert "fixed valid values stand for those of an empty row" in statement
    assert "drawn like a row of fixed public values" not in statement


def test_a_file_that_cannot_be_cut_into_rows_is_refused_and_not_charged(run):
    write(*GOOD, '"31,2020-03-12,Graz,yes')
    answer = run(*sanitize())
    assert answer.code == 2
    assert "never closed" in answer.err
    assert not Path("l.sqlite").exists()


def test_forecast_and_estimate_know_the_missing_cell(run):
    columns = {c["name"]: c for c in run("forecast", "--plan", "plan.toml", "--json").json["columns"]}
    assert [columns[n]["cells"] for n in ("age", "city", "label")] == [122, 4, 3]
    Path("plan.toml").write_text(PLAN.replace("epsilon = 4.0", "epsilon = 400.0"))  # no cell changes
    write(*GOOD * 20, *[",2020-03-12,Nowhere,yes", ""] * 100)
    assert run(*sanitize()).code == 0
    told = run("estimate", "out.csv", "--certificate", "out.csv.certificate.json", "--json").json
    for column in told["columns"]:
        share = {"age": 0.2, "seen": 0.1, "city": 0.2, "label": 0.1}[column["name"]]
        assert column["missing"]["low"] <= share <= column["missing"]["high"]
        assert column["missing"]["high"] - column["missing"]["low"] < 0.3


@pytest.mark.parametrize("case", BAD)
def test_fit_takes_every_row(run, case):
    write(*GOOD, BAD[case], *GOOD)
    fit = "fit t.csv --target label --model naive-bayes --epsilon 2 --bounds plan.toml -o m --ledger l.sqlite"
    assert run(*fit.split(), *UNSTATED).code == 0
    card = json.loads(Path("m/card.json").read_text())
    assert card["rows"] == json.loads(Path("m/model.json").read_text())["rows"] == 81
    assert "an empty row, like any row without a valid class, contributes nothing" in card["guarantee"]["statement"]
    assert run("verify", "m", "--ledger", "l.sqlite", "--json").json["cannot_know"].startswith("not checked")


def test_fit_on_a_plan_that_refuses_says_so_on_its_card(run):
    write(*GOOD)
    words = "fit t.csv --target label --model naive-bayes --epsilon 2 --bounds strict.toml -o m --ledger l.sqlite"
    assert run(*words.split(), *UNSTATED).code == 0
    statement = json.loads(Path("m/card.json").read_text())["guarantee"]["statement"]
    assert "a release tells that every cell was valid" in statement
    assert "the replace-one figures hold" in statement


def test_dpsgd_takes_every_row_and_measures_those_with_a_class(run):
    pytest.importorskip("torch")
    write(*GOOD, *BAD.values(), *GOOD)
    Path("test.csv").write_text(HEAD + "31,2020-03-12,Graz,yes\n\n,,,\n")
    words = (
        "dpsgd t.csv --target label --bounds plan.toml --network logistic --noise 1 --delta 1e-5 --batch 20 --epochs 1 "
        "--lr 1 --clip 1 --device cpu --accountant rdp --test test.csv --test-public -o net --ledger l.sqlite --json"
    )
    answer = run(*words.split(), *UNSTATED)
    assert answer.code == 0, answer
    card = json.loads(Path("net/card.json").read_text())
    assert card["rows"] == 80 + len(BAD)
    assert card["training"]["sample_rate"] == 20 / card["rows"]
    assert answer.json["accuracy"] in (0.0, 1.0)
    assert "contributes nothing" in card["guarantee"]["statement"]
    Path("test.csv").write_text(HEAD + "\n,,,\n")
    refused = run(*words.replace("net ", "net2 ").split(), *UNSTATED)
    assert "no row of the test table has a class" in refused.err
    entries = run("ledger", "show", "--ledger", "l.sqlite", "--json").json["entries"]
    assert [e["status"] for e in entries] == ["charged"]


def test_a_curve_leaves_rows_without_a_class_out(run):
    write(*GOOD, *BAD.values(), *GOOD)
    words = (
        "curve t.csv --target label --model naive-bayes --regimes none,sanitized:grr,private --epsilons 5 --repeats 2 "
        "--jobs 1 --bounds plan.toml -o c.csv"
    )
    answer = run(*words.split(), *UNSTATED)
    assert answer.code == 0, answer
    assert len(Path("c.csv").read_text().splitlines()) > 6


def test_verify_says_in_one_line_what_it_cannot_know(run):
    write(*GOOD)
    assert run(*sanitize("strict.toml")).code == 0
    for code in (0, 5):
        answer = run("verify", "out.csv")
        assert answer.code == code
        (line,) = [line for line in answer.out.splitlines() if line.startswith("not checked")]
        for open_question in ("who wrote", "public knowledge", "ledger was kept honestly", "what else was released"):
            assert open_question in line
        assert run("verify", "out.csv", "--json").json["cannot_know"] == line
        Path("out.csv").write_text(Path("out.csv").read_text() + "1,2020-01-01,Graz,yes\n")


def test_an_unknown_way_is_refused(run):
    Path("plan.toml").write_text(PLAN.replace('"replace"', '"ignore"').replace('missing = "?"\n', ""))
    assert "invalid" in run("forecast", "--plan", "plan.toml").error()


ALONE = {
    "a decimal comma": b'"7,5",2020-03-12,Graz,yes',
    "apostrophes": b"7,2020-03-12,'Graz',yes",
    "a byte of another encoding": b"7,2020-03-12,Gr\xe4z,yes",
    "bytes of no encoding": b"\xff\xfe,2020-03-12,\x80,yes",
}


@pytest.mark.parametrize("what", ALONE)
def test_no_row_alone_decides_how_the_file_is_read_or_whether_it_is_refused(run, what):
    """A guess about the file that one row can turn would make the release of all others follow from that row."""
    write(*GOOD)
    Path("t.csv").write_bytes(Path("t.csv").read_bytes() + ALONE[what] + b"\n")
    answer = run(*(word for word in sanitize() if word not in UNSTATED))
    assert answer.code == 0, answer
    assert answer.json["rows"] == len(GOOD) + 1


def test_a_plan_names_the_person_and_a_release_is_for_each(run):
    Path("v.csv").write_text("who,city\n" + "p1,Graz\n" * 30 + "p2,Linz\n")
    asked = ["plan", "v.csv", "--epsilon", "20", "--from-data", "-o", "p.toml", *STATED, "--unit", "who"]
    assert "--rows-per-person" in run(*asked).err
    assert run(*asked, "--rows-per-person", "2").code == 0
    assert run("plan", "--confirm", "p.toml").code == 0
    release = ["sanitize", "v.csv", "--plan", "p.toml", "--ledger", "l.sqlite"]
    answer = run(*release, "-o", "out.csv", "--json").json
    assert (answer["rows"], answer["epsilon_charged"], answer["unit"], answer["rows_per_person"]) == (31, 40, "who", 2)
    lines = Path("out.csv").read_text().replace('"', "").splitlines()
    assert (lines[0], lines.count("Graz"), lines.count("Linz")) == ("city", 2, 1)
    assert run("verify", "out.csv", "--ledger", "l.sqlite").code == 0
    (account,) = run("ledger", "show", "--ledger", "l.sqlite", "--json").json["accounts"]
    assert account["unit"] == "person"
    assert "for each" in run("ledger", "show", "--ledger", "l.sqlite").out
    assert run("ledger", "cap", "v.csv", "--epsilon", "99", "--ledger", "l.sqlite").code == 0
    assert "epsilon is for each person" in run(*release, "-o", "again.csv").out

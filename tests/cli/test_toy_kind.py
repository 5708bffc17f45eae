"""A kind of release that is only a line in the list is a command, a function, a document and a bundle."""

import json
import shlex

import pandas as pd
import pytest
import toy_kind

from workbench import api
from workbench.params import ParameterError
from workbench.release import kinds

WORDS = shlex.split(
    "counting people.csv --plan plan.toml -o out.csv --ledger ledger.sqlite --epsilon 0.7 --column city"
)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, toy_kind.TOY))


def test_its_help_shows_its_options_and_an_example_that_works(folder, run):
    told = " ".join(run("counting", "--help").out.split())
    assert "--column COLUMN the column whose values are counted" in told
    assert "--least LEAST a smaller count is given as this number (default 0)" in told
    assert (
        "-o OUT --column COLUMN" in told.replace("--epsilon ε ", "") or "--column COLUMN" in told.split("[options]")[0]
    )
    assert "counting    release how many rows have a value in a column" in run("--help").out
    example = told.partition("example: ")[2].partition(" positional arguments: ")[0]
    for line in example.split(" && "):
        assert run(*shlex.split(line)[1:]).code == 0


@pytest.mark.parametrize("delta", [[], ["--delta", "1e-6"]])
def test_the_command_charges_certifies_and_verifies(folder, run, delta):
    answer = run(*WORDS, *delta, "--least", "7", "--json").json
    assert (answer["rows"], answer["epsilon_charged"], answer["epsilon_remaining"]) == (20, 0.7, 0)
    assert answer["delta_charged"] == (1e-6 if delta else 0)
    assert {"release_id", "seconds", "output", "certificate"} <= set(answer)
    (entry,) = run("ledger", "show", "--ledger", "ledger.sqlite", "--json").json["entries"]
    assert (entry["release_id"], entry["epsilon"]) == (answer["release_id"], 0.7)
    assert run("verify", "out.csv", "--ledger", "ledger.sqlite").code == 0
    certificate = json.loads((folder / "out.csv.certificate.json").read_text("utf-8"))
    assert (certificate["kind"], certificate["request"]) == ("counting", {"column": "city", "least": 7})
    assert "exists" in run(*WORDS, *delta).error()
    run(*WORDS, *delta, "--replace").error(3)  # the first release has set the cap


def test_a_forecast_reads_no_table_and_charges_nothing(folder, run):
    words = ["counting", "--plan", "plan.toml", "--epsilon", "0.7", "--column", "city", "--forecast"]
    answer = run(*words, "--rows", "20", "--json").json
    assert (answer["epsilon_total"], answer["delta_total"], answer["columns"]) == (0.7, 0, ["city"])
    assert (answer["unit"], answer["asked"]) == ("epsilon", [{"label": "rows", "amount": 0.7}])
    assert run(*words, "--rows", "20").out.splitlines() == [
        "rows: epsilon = 0.7",
        "a release would charge epsilon = 0.7; nothing is charged now",
    ]
    assert "--rows" in run(*words).error()
    assert not (folder / "ledger.sqlite").exists()


def test_a_changed_file_is_found(folder, run):
    assert run(*WORDS).out.startswith("released one noisy count to out.csv\ncertificate out.csv.certificate.json\n")
    (folder / "out.csv").write_text("rows\n5\n", "utf-8")
    assert run("verify", "out.csv", "--ledger", "ledger.sqlite").code == 5


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--least", "-1"], "--least"),
        (["--column", "citty"], "citty"),
        (["--column", "city", "--column", "city"], "--column takes one value but is given twice"),
        (["--epsilon", "0"], "--epsilon"),
        (["--delta", "2"], "--delta"),
        (["-o", "out.parquet"], "the output's suffix '.parquet' is not known"),
    ],
)
def test_a_bad_value_is_one_sentence_and_costs_nothing(folder, run, words, sentence):
    given = WORDS.index(words[0]) if words[0] in WORDS else len(WORDS)
    assert sentence in run(*WORDS[:given], *WORDS[given + 2 :], *words).error()
    assert not (folder / "out.csv").exists()
    assert not (folder / "ledger.sqlite").exists()


@pytest.mark.parametrize("delta", [[], ["--delta", "0.000001"]])
def test_it_has_a_document_and_a_bundle_that_runs_again(folder, run, delta):
    answer = run(*WORDS, *delta, "--least", "7", "--html", "out.html", "--bundle", "bundle", "--json").json
    page = (folder / answer["html"]).read_text("utf-8")
    assert "Certificate of counts" in page
    assert all(words in page for words in ("one noisy count", "Column", "city", "Least", "7"))
    assert run("verify", "bundle").code == 0
    stated = ["counting", "@DATA", "--plan", "@PLAN", "--epsilon", "0.7", "-o", "@OUT", *delta]
    again = json.loads((folder / "bundle/rerun.json").read_text("utf-8"))["command"]
    assert again == [*stated, "--column", "city", "--least", "7"]
    files = {"@DATA": "people.csv", "@PLAN": "bundle/plan.toml", "@OUT": "again.csv"}
    assert run(*(files.get(word, word) for word in again), "--ledger", "other.sqlite").code == 0
    assert run("certificate", "out.csv", "--html", "again.html", "--ledger", "ledger.sqlite").code == 0


def test_python_releases_and_studies_it(folder, run):
    frame = pd.read_csv("people.csv")
    plan = api.load_plan("plan.toml")
    with pytest.warns(api.PrivateStudyWarning, match="not for release"):
        studied = [api.publish(frame, plan, kind="counting", column="city", seed=s) for s in (1, 1)]
    assert studied[0].equals(studied[1])
    assert studied[0].attrs == {"private": "private – not for release"}
    made = api.publish(
        frame,
        plan,
        kind="counting",
        epsilon=0.5,
        output="count.csv",
        ledger="ledger.sqlite",
        account="people",
        column="city",
    )
    assert (list(made), len(made), made.attrs["epsilon"]) == (["rows"], 1, 0.5)
    assert api.verify("count.csv") == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"column": "city", "least": -1}, "least"),
        ({"column": "city", "leest": 1}, "did you mean"),
        ({}, "column"),
        ({"kind": "sanitize"}, "their own function"),
    ],
)
def test_python_refuses_a_bad_option_in_one_sentence(folder, options, sentence):
    frame, plan = pd.read_csv("people.csv"), api.load_plan("plan.toml")
    with pytest.raises(ParameterError, match=sentence) as refused:
        api.publish(frame, plan, **{"kind": "counting", **options})
    assert "\n" not in str(refused.value)


KINDS = {
    "statistics": ["statistics", *WORDS[1:4], "--epsilon", "1", "--delta", "1e-6", "--mean", "age", "--by", "city"],
    "synthetic": ["synthesize", *WORDS[1:4], "--epsilon", "1", "--target", "city", "--cuts", "5"],
    "rappor": ["rappor", "encode", "people.csv", "--params", "p.csv", "--column", "city", "--basic", "cities.txt"],
}
"""A command of each kind that is in the list of the program."""


@pytest.fixture
def reports(folder):
    (folder / "p.csv").write_text("k,h,m,p,q,f\n3,1,1,0.25,0.75,0.5\n", "utf-8")
    (folder / "cities.txt").write_text("Graz\nLinz\nWien\n", "utf-8")
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_documents_and_a_bundle_that_runs_again(reports, run, kind):
    ledger = ["--ledger", "ledger.sqlite"]
    answer = run(*KINDS[kind], "-o", "out.csv", *ledger, "--html", "out.html", "--bundle", "bundle", "--json").json
    assert answer["bundle"] == "bundle"
    page = (reports / "out.html").read_text("utf-8")
    assert kinds.kind(kind).gives in page
    assert ("every row randomised by itself" in page) is (kind == "rappor") is ("discrete" not in page)
    assert run("verify", "bundle", *ledger).code == 0
    again = json.loads((reports / "bundle/rerun.json").read_text("utf-8"))["command"]
    files = {"@DATA": "people.csv", "@PLAN": "bundle/plan.toml", "@OUT": "again.csv"}
    words = [files.get(word, word.replace("@", "bundle/")) for word in again]
    assert run(*words, "--ledger", "other.sqlite").code == 0
    first, second = (json.loads((reports / f"{n}.csv.certificate.json").read_text("utf-8")) for n in ("out", "again"))
    assert all(first[key] == second[key] for key in ("kind", "columns", "request", "queries"))
    assert first["guarantee"]["delta"] == second["guarantee"]["delta"]
    assert "nothing is left" in run(*KINDS[kind], "-o", "more.csv", *ledger).error(3)
    assert not (reports / "more.csv").exists()


@pytest.mark.parametrize(
    ("kind", "options", "columns"),
    [
        ("statistics", {"mean": ["age"], "epsilon": 1}, ["statistic", "column"]),
        ("synthetic", {"method": "mst"}, ["age", "city"]),
        ("rappor", {"params": "p.csv", "column": "city"}, ["client", "cohort"]),
    ],
)
def test_python_publishes_every_kind(reports, kind, options, columns):
    frame, plan = pd.read_csv("people.csv"), api.load_plan("plan.toml")
    made = api.publish(frame, plan, kind=kind, output="out.csv", ledger="ledger.sqlite", account="people", **options)
    assert list(made)[:2] == columns
    assert made.attrs["epsilon"] > 0
    assert api.verify("out.csv") == []


def test_python_names_no_epsilon_where_the_cost_follows_from_the_options(reports):
    frame, plan = pd.read_csv("people.csv"), api.load_plan("plan.toml")
    with pytest.raises(ParameterError, match="its cost follows from its options"):
        api.publish(frame, plan, kind="rappor", params="p.csv", column="city", epsilon=1)

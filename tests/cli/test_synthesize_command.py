"""What is promised of ``synthesize``."""

import json
import math
from decimal import Decimal

import polars as pl
import pytest
from command_cases import names

from workbench.synth import SYNTHESISERS

WORDS = ["synthesize", "people.csv", "--plan", "plan.toml", "-o", "out.csv", "--ledger", "ledger.sqlite"]


@pytest.mark.parametrize(
    ("more", "method"),
    [([], "mst"), (["--target", "city"], "marginals"), (["--target", "city", "--method", "mst"], "mst")],
)
def test_it_charges_writes_and_certifies(folder, run, more, method):
    told = run(*WORDS, "--epsilon", "0.7", *more, "--json").json
    assert told["epsilon_charged"] == 0.7
    assert (told["method"], told["rows"]) == (method, 20)
    assert len(told["release_id"]) == 16
    assert told["seconds"] >= 0
    table = pl.read_csv(folder / "out.csv")
    assert table.columns == ["age", "city"]
    assert table.height == 20
    assert {"out.csv", "out.csv.certificate.json"} <= names(folder)
    assert run("verify", "out.csv", "--ledger", "ledger.sqlite").code == 0
    (entry,) = run("ledger", "show", "--ledger", "ledger.sqlite", "--json").json["entries"]
    assert (entry["release_id"], entry["epsilon"]) == (told["release_id"], 0.7)


@pytest.mark.parametrize("more", [[], ["--target", "city"]])
def test_a_delta_is_charged_certified_and_verified(folder, run, more):
    told = run(*WORDS, "--epsilon", "0.7", "--delta", "1e-6", *more, "--json").json
    assert (told["epsilon_charged"], told["delta_charged"]) == (0.7, 1e-6)
    assert run("verify", "out.csv", "--ledger", "ledger.sqlite").code == 0
    certificate = json.loads((folder / "out.csv.certificate.json").read_text("utf-8"))
    told = certificate["guarantee"]
    assert (told["epsilon"], told["epsilon_row"], told["delta"], told["delta_row"]) == ("0.7", "0.7", *["0.000001"] * 2)
    assert told["replace_one"]["delta"] == pytest.approx((1 + math.exp(0.7)) * 1e-6)
    assert "and by delta beside it" in told["statement"]
    assert sum(Decimal(q["rho"]) for q in certificate["queries"]) == Decimal(told["rho_row"])
    assert certificate["method"]["noise"] == "discrete Gaussian"
    (entry,) = run("ledger", "show", "--ledger", "ledger.sqlite", "--json").json["entries"]
    assert (entry["epsilon"], entry["delta"]) == (0.7, 1e-6)
    human = run(*WORDS[:5], "two.csv", "--ledger", "other.sqlite", "--epsilon", "0.7", "--delta", "1e-6")
    assert "charged epsilon = 0.7 and delta = 1e-06, " in human.out
    assert "this takes about a second and " in human.err


def test_rows_and_cuts_are_options(folder, run):
    told = run(*WORDS, "--epsilon", "1", "--rows", "77", "--cuts", "4", "--json").json
    assert told["rows"] == 77
    assert pl.read_csv(folder / "out.csv").height == 77


def test_the_target_of_the_plan_is_the_default(folder, run):
    plan = (folder / "plan.toml").read_text("utf-8").replace('name = "city"', 'name = "city"\nrole = "target"')
    (folder / "plan.toml").write_text(plan, "utf-8")
    told = run(*WORDS, "--epsilon", "1", "--json").json
    assert (told["method"], told["target"]) == ("marginals", "city")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--epsilon", "1", "--method", "aims"], "the method 'aims' is not known"),
        (["--epsilon", "1", "--delta", "0"], "--delta"),
        (["--epsilon", "1", "--delta", "1"], "--delta"),
        (["--epsilon", "1", "--delta", "0.05"], "delta = 0.05 is not below 1/rows = 0.05: publishing one random row"),
        (["--epsilon", "1", "--method", "marginals"], "needs a target column (workbench synthesize); set --target"),
        (
            ["--epsilon", "1", "--target", "cty"],
            "the target 'cty' is not one of the columns (workbench synthesize); choose one of age, city",
        ),
        (["--epsilon", "0"], "--epsilon"),
        (["--epsilon", "1", "--rows", "0"], "--rows"),
        (["--epsilon", "1", "--seed", "3"], "--seed"),
        ([], "--epsilon"),
    ],
)
def test_what_is_refused_leaves_no_file(folder, run, more, said):
    before = names(folder)
    assert said in run(*WORDS, *more).error()
    assert names(folder) == before


def test_an_estimate_of_a_sanitised_table_is_not_one_of_a_synthetic(folder, run):
    assert run(*WORDS, "--epsilon", "1").code == 0
    told = run("estimate", "out.csv", "--certificate", "out.csv.certificate.json").error()
    assert "of kind 'synthetic'" in told


def test_help_names_the_methods(run):
    told = " ".join(run("synthesize", "--help").shown.split())
    assert "marginals, mst, aim, tan, line, chances, or auto" in told
    assert [method.name for method in SYNTHESISERS] == ["marginals", "mst", "aim", "tan", "line", "chances"]


def test_what_is_impossible_is_never_drawn_and_stands_in_the_certificate(folder, run):
    declared = "city = Graz & age = 0..40; city = Linz & age = 41..120"
    for method in ("marginals", "mst", "aim", "tan"):
        out = f"{method}.csv"
        words = [*WORDS[:5], out, "--ledger", f"{method}.sqlite", "--epsilon", "1", "--target", "city"]
        assert run(*words, "--method", method, "--rows", "400", "--impossible", declared).code == 0
        assert run("verify", out, "--ledger", f"{method}.sqlite").code == 0
        rows = pl.read_csv(folder / out)
        assert rows.filter((pl.col("city") == "Graz") & (pl.col("age") <= 40)).is_empty()
        assert rows.filter((pl.col("city") == "Linz") & (pl.col("age") > 40)).is_empty()
        asked = json.loads((folder / f"{out}.certificate.json").read_text("utf-8"))["request"]
        assert asked["impossible"] == declared


def test_what_the_plan_calls_impossible_is_kept_beside_what_the_command_adds(folder, run):
    plan = (folder / "plan.toml").read_text("utf-8")
    first, second = "city = Graz & age = 0..40", "city = Linz & age = 41..120"
    (folder / "plan.toml").write_text(f'impossible = ["{first}"]\n{plan}', "utf-8")
    words = [*WORDS, "--epsilon", "1", "--rows", "400", "--impossible", f"{second}; {first}"]
    assert run(*words).code == 0
    assert run("verify", "out.csv", "--ledger", "ledger.sqlite").code == 0
    rows = pl.read_csv(folder / "out.csv")
    assert rows.filter((pl.col("city") == "Graz") & (pl.col("age") <= 40)).is_empty()
    assert rows.filter((pl.col("city") == "Linz") & (pl.col("age") > 40)).is_empty()
    document = json.loads((folder / "out.csv.certificate.json").read_text("utf-8"))
    assert document["request"]["impossible"] == f"{first}; {second}"
    (folder / "plan.toml").write_text(f'impossible = ["city = Paris & age = 3"]\n{plan}', "utf-8")
    assert "'Paris' is not one of the public values of city" in run(*WORDS, "--replace", "--epsilon", "1").error()


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("city", "'city' is not COLUMN = VALUE (--impossible)"),
        ("town = Graz", "the column 'town' is not in the synthetic table"),
        ("city = Paris & age = 3", "'Paris' is not one of the public values of city"),
        ("age = 30..20", "'30..20' is not one of the public values of age"),
        ("age = a..b", "'a' is not a valid end of a range of age"),
        ("city = Graz & city = Linz", "names a column twice"),
        ("age = 0..120", "the statements make every row impossible"),
        ("city = Graz; city = Linz | Wien", "the statements make every row impossible"),
    ],
)
def test_what_cannot_be_read_as_impossible_is_refused(folder, run, declared, said):
    before = names(folder)
    assert said in run(*WORDS, "--epsilon", "1", "--impossible", declared).error()
    assert names(folder) == before

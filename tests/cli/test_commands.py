"""What is promised of plan, forecast, mechanism, sanitize, verify, estimate and ledger."""

import json
import math
import sqlite3
import sys
import tomllib

import numpy as np
import pytest
from command_cases import PLAN, names, sanitize

from workbench.paths import user_data
from workbench.privacy.local.mechanisms import MECHANISMS
from workbench.release import rows_work
from workbench.release.ledger.ledger import Ledger
from workbench.release.statements import CANNOT_KNOW

SANITIZE = [*sanitize(), "--replace"]


# -- plan -------------------------------------------------------------------------------------------------------------


def test_plan_leaves_what_nobody_declared_open(folder, run):
    answer = run("plan", "people.csv", "--epsilon", "0.1", "-o", "new.toml", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["plan"] == "new.toml"
    assert answer.json["unfilled"] == ["lower of age", "upper of age", "domain of city"]
    plan = tomllib.loads((folder / "new.toml").read_text("utf-8"))
    assert plan["version"] == 1
    assert plan["epsilon"] == 0.1
    age, city = plan["column"]
    assert (age["lower"], age["upper"], city["domain"]) == ("?", "?", "?")
    assert "64" not in (folder / "new.toml").read_text("utf-8")  # no value of the table is in it
    assert "Graz" not in (folder / "new.toml").read_text("utf-8")
    assert 'still "?": lower of age' in run("forecast", "--plan", "new.toml").error()


def test_plan_from_data_says_so_in_the_plan_and_in_every_certificate(folder, run):
    answer = run("plan", "people.csv", "--epsilon", "2", "--from-data", "-o", "new.toml", "--json")
    assert answer.json["unfilled"] == []
    assert answer.err.startswith("warning: ")
    plan = tomllib.loads((folder / "new.toml").read_text("utf-8"))
    assert [c["bounds_origin"] for c in plan["column"]] == ["data", "data"]
    assert plan["column"][0]["lower"] <= 8
    assert run("plan", "--confirm", "new.toml").code == 0
    assert run(*sanitize(plan="new.toml")).code == 0
    certificate = json.loads((folder / "out.csv.certificate.json").read_text("utf-8"))
    (sentence,) = certificate["outside_guarantee"]
    assert "read off the data" in sentence
    assert "age (bounds of 71 cells), city (3 values)" in sentence
    assert run("forecast", "--plan", "new.toml", "--json").json["outside_guarantee"] == certificate["outside_guarantee"]


def test_plan_takes_a_target_a_mechanism_and_columns_to_drop(folder, run):
    words = ["plan", "sample:people", "--epsilon", "3", "-o", "new.toml"]
    answer = run(*words, "--target", "label", "--mechanism", "staircase", "--drop", "zip", "--drop", "sex", "--json")
    assert answer.json["unfilled"] == []
    columns = {c["name"]: c for c in tomllib.loads((folder / "new.toml").read_text("utf-8"))["column"]}
    assert columns["label"]["role"] == "target"
    assert columns["age"]["mechanism"] == "staircase"
    assert columns["label"]["mechanism"] == "auto"  # it does not fit names
    assert [columns[n]["action"] for n in ("zip", "sex", "id", "name")] == ["drop"] * 4
    assert run("forecast", "--plan", "new.toml").code == 0


# -- forecast ---------------------------------------------------------------------------------------------------------


def test_forecast_gives_every_columns_share_exact_epsilon_error_and_advice(folder, run):
    answer = run("forecast", "--plan", "plan.toml", "--rows", "1000", "--json")
    assert (answer.code, answer.err) == (0, "")
    told = answer.json
    assert told["epsilon_total"] == 3.0
    assert [c["name"] for c in told["columns"]] == ["age", "city"]
    for column in told["columns"]:
        assert {"name", "mechanism", "epsilon", "exact_epsilon", "expected_absolute_error", "advised"} <= set(column)
        assert 0.999 * column["epsilon"] < column["exact_epsilon"] <= column["epsilon"]
        assert column["mechanism"] == column["advised"]
        assert column["purpose"] == "statistics"
        able = {name: sd for name, sd in column["statistic_candidates"].items() if sd is not None}
        assert column["advised"] == min(able, key=able.__getitem__)
        assert set(able) < set(column["candidates"]) or column["name"] == "city"
    assert sum(c["epsilon"] for c in told["columns"]) == 3.0
    (folder / "people.csv").unlink()  # no data are touched
    assert run("forecast", "--plan", "plan.toml", "--rows", "1000", "--json").json == told
    assert names(folder) == {"plan.toml"}


def test_forecast_charges_every_row_of_a_person(folder, run):
    (folder / "plan.toml").write_text("rows_per_person = 4\n" + PLAN, "utf-8")
    told = run("forecast", "--plan", "plan.toml", "--json").json
    assert (told["epsilon_total"], told["epsilon_row"]) == (12.0, 3.0)


def test_forecast_warns_of_a_mechanism_that_is_no_better_than_a_constant(folder, run):
    near = PLAN.replace("3.0", "0.01").replace("upper = 120", 'upper = 120\npurpose = "values"')
    (folder / "plan.toml").write_text(near, "utf-8")
    told = run("forecast", "--plan", "plan.toml").out
    assert "one constant in every row would be as accurate" in told


# -- mechanism --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [m.name for m in MECHANISMS])
def test_mechanism_saves_the_table_whose_facts_it_tells(folder, run, name):
    cells = ["--domain", "yes,no"] if name in ("warner", "grr") else ["--lower", "-1", "--upper", "1", "--cells", "21"]
    answer = run("mechanism", name, "--epsilon", "1", *cells, "--table", "table.npy", "--json")
    assert (answer.code, answer.err) == (0, "")
    told = answer.json
    table = np.load(folder / "table.npy")
    assert table.dtype == np.float64
    assert table.shape == (told["cells"], told["cells"])
    assert np.allclose(table.sum(axis=1), 1, atol=1e-12)
    assert told["exact_epsilon"] <= 1
    used = table[:, table.max(axis=0) > 0]
    assert math.log((used.max(axis=0) / used.min(axis=0)).max()) == pytest.approx(told["exact_epsilon"], abs=1e-12)
    if "--lower" in cells:
        values = np.linspace(-1, 1, 21)
        error = (table * (values[None, :] - values[:, None]) ** 2).sum(axis=1)
        spread = table @ values**2 - (table @ values) ** 2
        assert told["mse_uniform"] == pytest.approx(error.mean(), rel=1e-9)
        assert told["variance_max"] == pytest.approx(spread.max(), rel=1e-9)
        assert told["variance_mean"] == pytest.approx(spread.mean(), rel=1e-9)
    assert names(folder) == {"people.csv", "plan.toml", "table.npy"}


def test_warner_tells_the_truth_three_times_in_four_at_ln_3(folder, run):
    assert run("mechanism", "warner", "--epsilon", str(math.log(3)), "--domain", "a,b", "--table", "t.npy").code == 0
    assert np.load(folder / "t.npy") == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]), abs=1e-12)


def test_mechanism_takes_negative_bounds_however_they_are_written(run):
    for lower in ("-1e3", "-1000", "-1000.0", "-.1e4"):
        words = ["mechanism", "grr", "--epsilon", "1", "--lower", lower, "--upper", "-.5", "--cells", "3", "--json"]
        assert run(*words).json["cells"] == 3


# -- sanitize ---------------------------------------------------------------------------------------------------------


def test_sanitize_charges_writes_and_certifies(folder, run):
    answer = run(*SANITIZE, "--json")
    assert (answer.code, answer.err) == (0, "")
    told = answer.json
    assert {"rows", "epsilon_charged", "epsilon_remaining", "release_id", "seconds"} <= set(told)
    assert (told["rows"], told["epsilon_charged"], told["epsilon_remaining"]) == (20, 3.0, 0.0)
    assert 0 <= told["seconds"] < 60
    assert names(folder) == {
        *("people.csv", "plan.toml", "ledger.sqlite", "ledger.sqlite.key", "out.csv", "out.csv.certificate.json")
    }
    certificate = json.loads((folder / "out.csv.certificate.json").read_text("utf-8"))
    assert certificate["release_id"] == told["release_id"]
    assert (folder / "out.csv").read_text("utf-8").splitlines()[0] == "age,city"
    assert len((folder / "out.csv").read_text("utf-8").splitlines()) == 21


def test_sanitize_uses_the_ledger_in_the_users_folder_unless_told(folder, run):
    words = [*SANITIZE[:6], "--replace"]
    assert run(*words).code == 0
    ledger = user_data() / "ledger.sqlite"
    assert ledger.exists()
    assert ledger.stat().st_mode & 0o077 == 0 or sys.platform == "win32"
    assert len(run("ledger", "show", "--json").json["entries"]) == 1
    assert "costs epsilon = 3 but nothing is left" in run(*words).error(3)


def test_sanitize_warns_of_what_its_epsilon_does_not_cover(folder, run):
    (folder / "plan.toml").write_text(
        'epsilon = 1.0\nkeep_order = true\n[[column]]\nname = "age"\nkind = "integer"\nlower = 0\nupper = 120\n'
        '[[column]]\nname = "city"\naction = "keep"\n',
        "utf-8",
    )
    answer = run(*SANITIZE, "--json")
    assert answer.json["epsilon_charged"] == 1.0
    assert [line.split(": ")[:2] for line in answer.err.splitlines()] == [["warning", "not covered by epsilon"]] * 2
    assert "city" in answer.err
    kept = [line.split(",")[1] for line in (folder / "out.csv").read_text("utf-8").splitlines()[1:]]
    original = [line.split(",")[1] for line in (folder / "people.csv").read_text("utf-8").splitlines()[1:]]
    assert kept == original


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("age;city\n31;Graz\n47;Linz\n", []),
        ("31\tGraz\n47\tLinz\n", ["--delimiter", "tab", "--header", "no"]),
        ("age|city\n'31'|'Graz'\n47|Linz\n", ["--delimiter", "|", "--quote", "'"]),
        ('age,city\n"31,0",Graz\n47,Linz\n', ["--decimal", ","]),
    ],
)
def test_sanitize_reads_every_dialect(folder, run, text, options):
    (folder / "people.csv").write_bytes(text.encode("utf-16" if "|" in text else "utf-8"))
    if "no" in options:
        plan = (folder / "plan.toml").read_text("utf-8")
        (folder / "plan.toml").write_text(plan.replace('"age"', '"column1"').replace('"city"', '"column2"'), "utf-8")
    answer = run(*SANITIZE, *options, "--json")
    assert answer.json["rows"] == 2
    assert run("verify", "out.csv").code == 0


def test_sanitize_takes_a_table_of_one_column_by_its_plan(folder, run):
    """A first row that holds the plan's names is the header, and one column needs no delimiter."""
    (folder / "people.csv").write_text("city\nGraz\nLinz\nWien\n", "utf-8")
    (folder / "plan.toml").write_text(
        'epsilon = 1.0\n[[column]]\nname = "city"\nkind = "category"\ndomain = ["Graz", "Linz", "Wien", "city"]\n',
        "utf-8",
    )
    assert run(*SANITIZE, "--json").json["rows"] == 3


@pytest.mark.parametrize("output", ["out.csv", "out.tsv", "out.parquet"])
def test_sanitize_verify_and_estimate_agree_for_every_format(folder, run, output):
    assert run(*sanitize(output=output)).code == 0
    said = {"ok": True, "problems": [], "not_checked": [], "cannot_know": CANNOT_KNOW}
    assert run("verify", output, "--json").json == said
    assert run("verify", output, "--ledger", "ledger.sqlite", "--json").json["ok"]
    told = run("estimate", output, "--certificate", f"{output}.certificate.json", "--json").json
    assert [c["name"] for c in told["columns"]] == ["age", "city"]


# -- verify -----------------------------------------------------------------------------------------------------------


def test_verify_in_the_ledger_finds_what_the_certificate_alone_does_not(folder, run):
    assert run(*SANITIZE).code == 0
    for name in ("out.csv", "out.csv.certificate.json"):
        (folder / name).rename(folder / f"kept-{name}")
    assert run("ledger", "cap", "people.csv", "--epsilon", "6", "--ledger", "ledger.sqlite").code == 0
    assert run(*sanitize(ledger="other.sqlite"), "--replace").code == 0
    assert run("verify", "out.csv").code == 0
    answer = run("verify", "out.csv", "--ledger", "ledger.sqlite", "--json")
    problems = ["the ledger does not know this release"]
    said = {"ok": False, "problems": problems, "not_checked": [], "cannot_know": CANNOT_KNOW}
    assert (answer.code, answer.json) == (5, said)
    assert run("verify", "out.csv", "--ledger", "none.sqlite").error().startswith("there is no such file")
    assert not (folder / "none.sqlite").exists()


# -- estimate ---------------------------------------------------------------------------------------------------------


def test_estimate_tells_means_and_frequencies_with_their_intervals(folder, run):
    rows = ["31,Graz", "31,Graz", "47,Linz", "60,Wien"] * 5000
    (folder / "people.csv").write_text("\n".join(["age,city", *rows]) + "\n", "utf-8")
    (folder / "plan.toml").write_text(PLAN.replace("3.0", "6.0"), "utf-8")
    assert run(*SANITIZE).code == 0
    (folder / "people.csv").unlink()
    (folder / "plan.toml").unlink()  # from the certificate alone
    words = ["estimate", "out.csv", "--certificate", "out.csv.certificate.json", "--confidence", "0.9999999"]
    age, city = run(*words, "--json").json["columns"]
    assert {"name", "biased", "mean"} <= set(age)
    assert age["mean"]["low"] <= 42.25 <= age["mean"]["high"]
    assert age["mean"]["low"] <= age["mean"]["consistent"] <= age["mean"]["high"]
    assert city["biased"] is False
    for value, share in {"Graz": 0.5, "Linz": 0.25, "Wien": 0.25}.items():
        interval = city["frequencies"][value]
        assert interval["low"] <= share <= interval["high"]
        assert interval["high"] - interval["low"] < 0.1
    (alone,) = run(*words, "--column", "city", "--json").json["columns"]
    assert alone == city
    assert "protects no column 'cty', did you mean 'city'?" in run(*words, "--column", "cty").error()


# -- ledger -----------------------------------------------------------------------------------------------------------

L = ("--ledger", "ledger.sqlite")


def test_ledger_shows_every_release_with_its_present_status(folder, run, monkeypatch):
    shown = run("ledger", "show", "--json").json  # the usual ledger, which nobody has needed yet
    assert (shown["entries"], shown["caps"], shown["ok"]) == ([], {}, True)
    assert run(*SANITIZE).code == 0
    assert run(*SANITIZE).code == 3
    (folder / "people.csv").write_text((folder / "people.csv").read_text("utf-8").replace("8,Wien", "8,Graz"), "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(rows_work, "draw_prepared", lambda *_: 1 / 0)
        assert run(*SANITIZE).code == 1
    shown = run("ledger", "show", *L, "--json").json
    assert [(e["status"], e["epsilon"], e["delta"]) for e in shown["entries"]] == [
        ("charged", 3.0, 0.0),
        ("refused", 3.0, 0.0),
        ("void", 3.0, 0.0),
    ]
    for entry in shown["entries"]:
        assert {"release_id", "dataset", "epsilon", "delta", "status", "time"} <= set(entry)
    assert len({e["release_id"] for e in shown["entries"]}) == 3
    datasets = [e["dataset"] for e in shown["entries"]]
    assert datasets[0] == datasets[1] != datasets[2]  # another cell, another dataset
    assert shown["caps"] == dict.fromkeys(datasets, 3.0)
    text = run("ledger", "show", *L).out
    assert all(e["release_id"] in text and e["status"] in text for e in shown["entries"])


def test_ledger_show_names_each_account_after_its_table_with_what_is_spent_and_left(folder, run):
    assert run(*SANITIZE).code == 0
    (folder / "other.csv").write_text("age,city\n" + "5,Wien\n" * 30, "utf-8")
    assert run("ledger", "cap", "people.csv", "--epsilon", "4.5", "--delta", "1e-5", *L).code == 0
    told = run("ledger", "cap", "other.csv", "--epsilon", "7", *L, "--json").json
    assert (list(told["caps"].values()), told["entries"], len(told["accounts"])) == ([7.0], [], 1)
    assert run("ledger", "name", "other.csv", "clinic", *L).code == 0
    accounts = run("ledger", "show", *L, "--json").json["accounts"]
    assert [(a["account"], a["spent_epsilon"], a["remaining_epsilon"]) for a in accounts] == [
        ("people.csv", 3.0, 1.5),
        ("clinic", 0.0, 7.0),
    ]
    first, second = run("ledger", "show", *L).out.splitlines()[-2:]
    assert first.startswith("people.csv (")
    assert first.split(")")[1].split() == ["4.5", "3", "1.5", "0", "of", "1e-05"]
    assert second.startswith("clinic (")
    assert second.split(")")[1].split() == ["7", "0", "7", "–"]


def test_ledger_show_of_a_table_is_of_its_account_alone_and_records_nothing(folder, run):
    assert run(*SANITIZE).code == 0
    (folder / "other.csv").write_text("age,city\n" + "5,Wien\n" * 30, "utf-8")
    (folder / "new.csv").write_text("x\n" + "".join(f"{k * 7919 % 1013}\n" for k in range(40)), "utf-8")
    assert run("ledger", "cap", "other.csv", "--epsilon", "7", *L).code == 0
    before = (folder / "ledger.sqlite").read_bytes()
    told = run("ledger", "show", "people.csv", *L, "--json").done
    assert (told["spent_epsilon"], told["ok"], len(told["entries"])) == (3.0, True, 1)
    assert list(told["caps"].values()) == [3.0]
    assert "people.csv" in (text := run("ledger", "show", "people.csv", *L).shown)
    assert "other.csv" not in text
    assert run("ledger", "show", told["dataset"][:6], *L, "--json").done["dataset"] == told["dataset"]
    assert "the ledger has no account for this table (new.csv)" in run("ledger", "show", "new.csv", *L).error()
    assert "there is no such file" in run("ledger", "show", "none.csv", *L).error()
    said = run("ledger", "show", "ledger.sqlite").error()
    assert "this is a ledger, not a table" in said
    assert "`workbench ledger show --ledger ledger.sqlite`" in said
    assert "`workbench ledger show people.csv`" in run("ledger", "show", "--ledger", "people.csv").error()
    assert (folder / "ledger.sqlite").read_bytes() == before


@pytest.mark.parametrize("action", ["show", "export", "verify"])
def test_a_ledger_that_is_named_and_not_there_is_no_empty_one(folder, run, action):
    said = run("ledger", action, "--ledger", "none.sqlite").error()
    assert said.startswith("there is no such file (none.sqlite)")
    assert not (folder / "none.sqlite").exists()


def test_ledger_cap_sets_a_cap_that_holds_under_every_name_of_the_table(folder, run):
    told = run("ledger", "cap", "people.csv", "--epsilon", "4.5", "--delta", "1e-5", *L, "--json").json
    (dataset,) = told["caps"]
    assert told["caps"][dataset] == 4.5
    assert told["dataset"] == dataset
    assert run(*SANITIZE, "--json").json["epsilon_remaining"] == 1.5
    rows = (folder / "people.csv").read_text("utf-8").splitlines()
    (folder / "copy.txt").write_text("\n".join([rows[0], *rows[:0:-1]]).replace(",", ";") + "\n", "utf-8")
    assert "only 1.5 remain (cap epsilon = 4.5" in run(*sanitize(data="copy.txt"), "--replace").error(3)
    assert run("ledger", "cap", "copy.txt", "--epsilon", "6", *L).code == 0
    assert run(*SANITIZE, "--json").json["epsilon_remaining"] == 0
    assert "account" not in json.loads((folder / "out.csv.certificate.json").read_text("utf-8"))


def test_ledger_version_lets_a_newer_table_share_the_account(folder, run):
    assert run(*SANITIZE).code == 0
    (folder / "new.csv").write_text((folder / "people.csv").read_text("utf-8") + "5,Wien\n", "utf-8")
    told = run("ledger", "version", "new.csv", "--of", "people.csv", *L, "--json").json
    assert (told["spent_epsilon"], told["remaining_epsilon"]) == (3.0, 0.0)
    assert "nothing is left" in run(*sanitize(data="new.csv"), "--replace").error(3)


def test_ledger_version_reads_both_tables_as_it_is_told(folder, run):
    """Both without a header, which no guess could tell."""
    for name, more in (("people.csv", ""), ("new.csv", "age,city\n")):
        (folder / name).write_text("age,city\nage,city\n" + more, "utf-8")
    no = ["--header", "no"]
    assert run("ledger", "cap", "people.csv", "--epsilon", "1", *no, *L).code == 0
    assert run("ledger", "version", "new.csv", "--of", "people.csv", *no, *L, "--json").json["cap_epsilon"] == 1.0


def test_ledger_verify_checks_the_chain(folder, run):
    assert run(*SANITIZE).code == 0
    assert run("ledger", "verify", *L, "--json").json["ok"] is True
    connection = sqlite3.connect(folder / "ledger.sqlite")
    with connection:
        connection.execute("UPDATE entry SET epsilon = '0.1' WHERE seq = 2")
    connection.close()
    answer = run("ledger", "verify", *L, "--json")
    assert answer.code == 5
    assert answer.json["ok"] is False
    assert answer.json["problems"] == ["entry 2 was changed after it was written"]
    assert "entry 2 was changed" in run("ledger", "verify", *L).out
    assert run("ledger", "show", *L, "--json").code == 5
    assert "the ledger was altered or damaged: entry 2" in run(*SANITIZE).error(5)


def test_ledger_verify_of_a_damaged_file_finds_a_fault(folder, run):
    assert run(*SANITIZE).code == 0
    data = bytearray((folder / "ledger.sqlite").read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (folder / "ledger.sqlite").write_bytes(data)
    answer = run("ledger", "verify", *L, "--json")
    assert (answer.code, answer.json["ok"]) == (5, False)
    assert run(*SANITIZE).code == 5


def test_ledger_export_holds_every_entry_and_never_the_key(folder, run):
    assert run(*SANITIZE).code == 0
    printed = json.loads(run("ledger", "export", *L).out)
    assert [e["kind"] for e in printed["chain"]] == ["mark", "cap", "reserve", "charge", "certify"]
    answer = run("ledger", "export", *L, "-o", "export.json")
    assert answer.code == 0
    exported = json.loads((folder / "export.json").read_text("utf-8"))
    assert exported["chain"] == printed["chain"] == run("ledger", "export", *L, "--json").json["chain"]
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        assert ledger.key.hex() not in (folder / "export.json").read_text("utf-8")
    assert "would replace" in run("ledger", "export", *L, "-o", "ledger.sqlite").error()


@pytest.mark.parametrize("words", [["ledger", "--json", "show"], ["ledger", "show", "--json"]])
def test_json_may_stand_on_either_side_of_a_ledger_action(folder, run, words):
    assert run(*words).json["ok"] is True

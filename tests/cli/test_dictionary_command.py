"""``workbench plan --dictionary`` and ``--export-dictionary``."""

import tomllib
from pathlib import Path

import pytest

HEAD = "name,role,kind,lower,upper,values"


@pytest.fixture
def folder(folder):
    """A folder of its own to stand in, with the little table and no plan."""
    (folder / "plan.toml").unlink()
    return folder


def columns(plan: Path) -> dict[str, dict[str, object]]:
    return {c["name"]: c for c in tomllib.loads(plan.read_text("utf-8"))["column"]}


def draft(*more: str) -> list[str]:
    return ["plan", "people.csv", "--epsilon", "3", *more, "-o", "plan.toml"]


def test_a_dictionary_declares_and_nothing_is_left_to_confirm(folder, run):
    names = (folder / "people.csv").read_text("utf-8").splitlines()[0].split(",")
    facts = {"age": "age,,integer,0,120,", "city": "city,,category,,,Graz|Linz|Wien"}
    (folder / "d.csv").write_text("\n".join([HEAD, *(facts.get(n, f"{n},identifier,,,,") for n in names)]), "utf-8")
    answer = run(*draft("--dictionary", "d.csv", "--header", "yes", "--json")).json
    assert (answer["unfilled"], answer["guessed"]) == ([], [])
    made = columns(folder / "plan.toml")
    assert (made["age"]["lower"], made["age"]["upper"], made["age"].get("origin")) == (0, 120, None)
    assert made["city"]["domain"] == ["Graz", "Linz", "Wien"]
    assert run("sanitize", "people.csv", "--plan", "plan.toml", "-o", "out.csv", "--ledger", "l.sqlite").code == 0


def test_a_wrong_dictionary_writes_no_plan(folder, run):
    (folder / "d.csv").write_text(f"{HEAD}\nage,,integer,0,120,\ncity,,town,,,\n", "utf-8")
    assert "row 3 (city), kind: 'town'" in run(*draft("--dictionary", "d.csv")).error()
    assert not (folder / "plan.toml").exists()


def test_a_column_that_the_table_lacks_is_told_and_left_out(folder, run):
    (folder / "d.csv").write_text(f"{HEAD}\nage,,integer,0,120,\nheight,,real,0,3,\n", "utf-8")
    answer = run(*draft("--dictionary", "d.csv", "--json")).json
    assert "the table lacks 1 column of the data dictionary: height" in answer["notes"]
    assert "height" not in columns(folder / "plan.toml")


def test_the_dictionary_and_the_option_name_one_target(folder, run):
    (folder / "d.csv").write_text(f"{HEAD}\ncity,target,,,,\n", "utf-8")
    assert "calls 'city' the target" in run(*draft("--dictionary", "d.csv", "--target", "age")).error()
    assert run(*draft("--dictionary", "d.csv")).code == 0
    assert columns(folder / "plan.toml")["city"]["role"] == "target"
    assert "the target 'city' is also to be dropped" in run(*draft("--target", "city", "--drop", "city")).error()


def test_a_dictionary_goes_out_and_comes_back(folder, run):
    head, age, city = f"{HEAD},missing_codes", "age,sensitive,integer,0,120,,-9|-8", "city,,category,,,Graz|Linz|Wien,"
    (folder / "d.csv").write_text(f"{head}\n{age}\n{city}\n", "utf-8")
    assert run(*draft("--dictionary", "d.csv")).code == 0
    assert run("plan", "--export-dictionary", "plan.toml", "-o", "out.csv").code == 0
    lines = (folder / "out.csv").read_text("utf-8").splitlines()
    assert lines[0] == f"{HEAD},missing,missing_codes,date_order"
    assert {"age,sensitive,integer,0,120,,refuse,-9|-8,", "city,,category,,,Graz|Linz|Wien,refuse,,"} <= set(lines)
    (folder / "people.csv").write_text("age,city\n31,Graz\n-9.0,Linz\n", "utf-8")
    assert run("plan", "--confirm", "plan.toml").code == 0
    assert (
        "the value is missing ('-9.0') (column age, row 2"
        in run("sanitize", "people.csv", "--plan", "plan.toml", "-o", "o.csv", "--ledger", "l.db").error()
    )


def test_an_export_tells_what_it_leaves_out(folder, run):
    assert run(*draft("--from-data")).code == 0
    answer = run("plan", "--export-dictionary", "plan.toml", "-o", "out.csv", "--json").json
    assert "bounds of age" in answer["left_out"]
    assert "values of city" in answer["left_out"]
    assert "integer?,,," in (folder / "out.csv").read_text("utf-8")


@pytest.mark.parametrize("more", [["people.csv"], ["--epsilon", "1"], ["--dictionary", "d.csv"]])
def test_an_export_takes_a_plan_alone(folder, run, more):
    said = run("plan", *more, "--export-dictionary", "plan.toml", "-o", "out.csv").error()
    assert "--export-dictionary reads an existing plan" in said


def test_a_dictionary_goes_before_the_facts_of_a_sample(folder, run):
    (folder / "d.csv").write_text(f"{HEAD}\nage,sensitive,,,,\nincome,,integer,0,90000,\nzip,identifier,,,,\n", "utf-8")
    words = ["plan", "sample:people", "--epsilon", "3", "--dictionary", "d.csv", "-o", "plan.toml", "--json"]
    assert run(*words).json["guessed"] == []
    made = columns(folder / "plan.toml")
    assert (made["age"]["role"], made["age"]["lower"], made["age"]["upper"]) == ("sensitive", 18, 100)
    assert (made["income"]["lower"], made["income"]["upper"]) == (0, 90000)
    assert made["zip"] == {"name": "zip", "action": "drop", "role": "identifier"}


def test_a_dictionary_says_what_becomes_of_missing_values(folder, run):
    (folder / "t.csv").write_text("age,city\n31,Graz\n,NA\n40,Linz\n", "utf-8")
    facts = [f"{HEAD},missing", "age,,integer,0,120,,own-value", "city,,category,,,Graz|Linz,own-value?"]
    (folder / "d.csv").write_text("\n".join(facts), "utf-8")
    words = ["plan", "t.csv", "--epsilon", "3", "--header", "yes", "--missing", "NA", "--dictionary", "d.csv"]
    answer = run(*words, "-o", "plan.toml", "--json").json
    assert answer["unfilled"] == []
    assert [words for words in answer["guesses"] if words.startswith("missing")] == ["missing of city"]
    made = columns(folder / "plan.toml")
    assert (made["age"]["missing"], made["age"].get("origin")) == ("own-value", None)
    assert run("plan", "--export-dictionary", "plan.toml", "-o", "out.csv").code == 0
    lines = (folder / "out.csv").read_text("utf-8").splitlines()
    assert "age,,integer,0,120,,own-value,," in lines
    assert "city,,category?,,,Graz|Linz,own-value?,," in lines
    (folder / "d.csv").write_text(f"{HEAD},missing\nage,,integer,0,120,,maybe\n", "utf-8")
    assert "row 2 (age), missing: 'maybe' is not one of refuse, own-value" in run(*words, "-o", "p.toml").error()


def test_codes_that_nobody_declared_are_noted_before_they_count_as_numbers(folder, run):
    rows = [f"{3 + i % 9},m" for i in range(40)] + ["-9,f"] * 3
    (folder / "people.csv").write_text("\n".join(["stay,sex", *rows]) + "\n", "utf-8")
    said = 'stay: -9 may be a code for a missing value; then write missing_codes = ["-9"]'
    assert said in run(*draft("--json")).json["notes"]
    for codes, noted in (("", True), ("-9", False)):
        (folder / "d.csv").write_text(f"{HEAD},missing_codes\nstay,,real,0,60,,{codes}\n", "utf-8")
        assert (said in run(*draft("--dictionary", "d.csv", "--json")).json["notes"]) is noted


def test_one_fact_that_is_open_is_one(folder, run):
    (folder / "d.csv").write_text(f"{HEAD}\nage,,integer,0,,\ncity,identifier,,,,\n", "utf-8")
    names = (folder / "people.csv").read_text("utf-8").splitlines()[0].split(",")
    drops = [word for name in names if name not in ("age", "city") for word in ("--drop", name)]
    assert '1 public fact is still "?": upper of age' in run(*draft("--dictionary", "d.csv", *drops)).shown


def test_a_dictionary_that_calls_percentages_numbers_is_refused_before_there_is_a_plan(folder, run):
    (folder / "share.csv").write_text("share,city\n54 %,Graz\n7 %,Linz\n12 %,Wien\n99 %,Graz\n", "utf-8")
    for kind in ("integer", "real"):
        (folder / "d.csv").write_text(f"{HEAD}\nshare,,{kind},0,100,\n", "utf-8")
        said = run("plan", "share.csv", "--epsilon", "1", "--dictionary", "d.csv", "-o", "plan.toml").error()
        assert f"calls it {kind}, and the values are percentages" in said
        assert not (folder / "plan.toml").exists()


def test_percentages_that_nobody_declared_are_noted(folder, run):
    (folder / "share.csv").write_text("share,city\n54 %,Graz\n7 %,Linz\n12 %,Wien\n99 %,Graz\n", "utf-8")
    words = ("plan", "share.csv", "--epsilon", "1", "-o", "plan.toml", "--json")
    said = "share: the values are percentages: with the % sign they are read as names, without it as numbers"
    assert said in run(*words).done["notes"]
    (folder / "d.csv").write_text(f"{HEAD}\nshare,,category,,,54 %|7 %|12 %|99 %\n", "utf-8")
    assert said not in run(*words, "--dictionary", "d.csv").done["notes"]


def test_values_in_two_spellings_are_named_where_a_plan_is_drafted(folder, run):
    (folder / "yes.csv").write_text("again,age\n" + "JA,31\nja,47\nnein,8\n" * 4, "utf-8")
    words = ("plan", "yes.csv", "--epsilon", "1", "-o", "plan.toml", "--json")
    assert [note for note in run(*words).done["notes"] if note.startswith("again: 'JA', 'ja' may be spellings")]
    (folder / "d.csv").write_text(f"{HEAD}\nagain,,category,,,JA|ja|nein\n", "utf-8")
    assert not [note for note in run(*words, "--dictionary", "d.csv").done["notes"] if "spellings" in note]

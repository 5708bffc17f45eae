"""``--join FILE --on COLUMN``: what the command line says and refuses of two tables that are joined."""

import json
from pathlib import Path

import pytest

FILLED = {
    "ward": 'domain = ["A", "B"]',
    "days": "lower = 0\nupper = 30",
    "sex": 'domain = ["f", "m"]',
    "age": "lower = 0\nupper = 100",
}
LEDGER = ("--ledger", "l.sqlite")
JOIN = "visits.csv --join patients.csv --on who=patient"
RELEASE = "statistics visits.csv --join patients.csv --plan p --epsilon 4 --count sex -o s.csv"
OPEN = ('domain = "?"\n', 'lower = "?"\n', 'upper = "?"\n')


@pytest.fixture
def clinic(folder, run):
    """Visits, the patients in another file with a semicolon, and a plan of both, filled in and confirmed."""
    visits = "".join(f"p{n * 7 % 40},{'AB'[n % 2]},{n % 30}\n" for n in range(300))
    (folder / "visits.csv").write_text("who,ward,days\n" + visits, "utf-8")
    patients = "".join(f"p{n % 60};{'fm'[n % 3 == 0]};{20 + n % 60}\n" for n in range(80))
    (folder / "patients.csv").write_text("patient;sex;age\n" + patients, "utf-8")
    drawn = run(*f"plan {JOIN} --rows-per-person 2 --epsilon 4 -o p".split())
    assert drawn.code == 0, drawn
    blocks = (folder / "p").read_text("utf-8").split("[[column]]\n")
    for number, block in enumerate(blocks[1:], start=1):
        name = block.split('"')[1]
        for line in OPEN:
            block = block.replace(line, "")
        blocks[number] = block.rstrip() + f"\n{FILLED.get(name, '')}\n\n"
    (folder / "p").write_text("[[column]]\n".join(blocks), "utf-8")
    confirmed = run("plan", "--confirm", "p", "--json").done["confirmed"]
    assert {"header of the file", "header of the second file"} <= set(confirmed)
    return folder


def test_a_description_shows_both_and_how_many_persons_they_share(clinic, run):
    answer = run(*f"describe {JOIN} --json".split()).done
    assert [column["name"] for column in answer["columns"]] == ["who", "ward", "days", "sex", "age"]
    assert answer["joined"] == {
        "source": "patients.csv",
        "person": "who",
        "on": "patient",
        "rows": 80,
        "columns": ["sex", "age"],
        "persons": 40,
    }
    assert "40 persons are in both" in run(*f"describe {JOIN}".split()).shown


def test_statistics_and_models_of_both_are_released_and_verify(clinic, run):
    join = ("--join", "patients.csv")
    assert run("ledger", "cap", "visits.csv", "--epsilon", "24", *LEDGER).code == 0
    made = {
        "statistics --plan p --epsilon 4 --mean age --count sex -o s.csv": "s.csv",
        "fit --bounds p --epsilon 4 --target sex --model naive-bayes -o m": "m",
    }
    for asked, out in made.items():
        command, *words = asked.split()
        answer = run(command, "visits.csv", *join, *words, *LEDGER, "--json").done
        assert answer["epsilon_charged"] == 8
        assert run("verify", out).code == 0
    assert answer["epsilon_remaining"] == 8
    assert "visits.csv" not in Path("s.csv.certificate.json").read_text("utf-8")
    assert json.loads(Path("m/card.json").read_text("utf-8"))["training"]["join"] == "patient"
    assert "charged, of both tables" in run("ledger", "show", *LEDGER).shown
    shown = run("ledger", "show", *LEDGER, "--json").done
    assert [account["tables"] for account in shown["accounts"]] == [2]
    # The patients have no budget of their own left.
    alone = Path("p").read_text("utf-8").split("[join]")[0].replace('"who"', '"patient"')
    columns = "".join(f'[[column]]\nname = "{n}"\naction = "drop"\n' for n in ("patient", "age"))
    columns += f'[[column]]\nname = "sex"\nkind = "category"\n{FILLED["sex"]}\n'
    Path("q").write_text(alone.split("[reading]")[0] + '[reading]\nheader = "yes"\n' + columns, "utf-8")
    more = run(
        *["statistics", "patients.csv", "--plan", "q", "--epsilon", "5", "--count", "sex", "-o", "t.csv"], *LEDGER
    )
    assert "costs epsilon = 10 but only 8 remain" in more.error(3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("statistics visits.csv --plan p --epsilon 1 --count sex -o s.csv", "give it: --join FILE"),
        (
            "statistics visits.csv --join patients.csv --on who --plan p --epsilon 1 --count sex -o s.csv",
            "leave --on out",
        ),
        ("statistics visits.csv --join no.csv --plan p --epsilon 1 --count sex -o s.csv", "there is no such file"),
        ("describe visits.csv --join patients.csv", "add --on COLUMN"),
        ("describe visits.csv --join patients.csv --on who", "there is no column 'who'"),
        (
            "sanitize visits.csv --join patients.csv --plan p -o patients.csv",
            "replace its input",
        ),
        (
            "curve visits.csv --join patients.csv --bounds p --target sex --model naive-bayes -o patients.csv",
            "would overwrite an input of the study",
        ),
        (
            "curve visits.csv --join patients.csv --bounds p --target sex --model naive-bayes -o p",
            "would overwrite an input of the study",
        ),
        (
            "solve visits.csv --join patients.csv --plan p --want mean(age)<=2 -o patients.csv",
            "would replace its input",
        ),
        ("plan visits.csv --join patients.csv --on who=patient --unit days --epsilon 1 -o n", "change one of the two"),
        ("fit --on-release s.csv --join patients.csv --target sex --model naive-bayes -o m", "takes no --join"),
        ("describe visits.csv --join ./visits.csv --on who", "is the same as the first, and would add nothing"),
        (
            "dpsgd visits.csv --bounds p --target sex --network logistic --epsilon 1 --delta 1e-6 --batch 30 "
            "--epochs 1 --lr 1 --clip 1 -o m",
            "joined tables, and this plan joins two",
        ),
        ("describe visits.csv --on who", "--on needs a second table"),
        (f"plan {JOIN} --epsilon 4 -o q", "--join identifies the person but does not limit the rows per person"),
    ],
)
def test_what_cannot_be_joined_is_refused_in_a_sentence(clinic, run, words, said):
    assert said in run(*words.split()).error()


def test_where_each_table_has_a_cap_the_lower_one_counts_and_the_advice_makes_one_of_them(clinic, run):
    for words in ("ledger cap visits.csv --epsilon 40", "ledger cap patients.csv --epsilon 1"):
        assert run(*words.split(), *LEDGER).code == 0, words
    release = RELEASE.split()
    assert "ledger group visits.csv --with FILE --ledger l.sqlite" in run(*release, *LEDGER).error(3)
    for words in ("ledger group visits.csv --with patients.csv", "ledger cap visits.csv --epsilon 40"):
        assert run(*words.split(), *LEDGER).code == 0
    assert run(*release, *LEDGER).code == 0


def test_a_plan_names_the_column_that_may_say_whose_rows_are_whose(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("pid,age\n" + "".join(f"p{k // 2},{k % 70}\n" for k in range(200)), "utf-8")
    said = "pid: rows with the same value may belong to one person or one household; epsilon is about one row, or with"
    assert said in run("plan", "t.csv", "--epsilon", "1", "-o", "plan.toml").err
    more = ("--unit", "pid", "--rows-per-person", "2")
    assert said not in run("plan", "t.csv", "--epsilon", "1", *more, "-o", "second.toml").err

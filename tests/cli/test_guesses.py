"""Nothing is released by what was guessed from the rows before a person has confirmed it, in one act."""

import json
import tomllib
from pathlib import Path

import pytest
from command_cases import Run, names, sanitize

L = ("--ledger", "ledger.sqlite")


@pytest.fixture
def folder(folder):
    """A folder of its own to stand in, with the little table and no plan."""
    (folder / "plan.toml").unlink()
    return folder


def fill(plan: Path, **facts: str) -> None:
    """Fill in the open facts of a drafted plan as a person does in her editor."""
    text = plan.read_text("utf-8")
    for key, value in {"lower": "0", "upper": "120", "domain": '["Graz", "Linz", "Wien"]', **facts}.items():
        text = text.replace(f'{key} = "?"', f"{key} = {value}")
    plan.write_text(text, "utf-8")


def drafted(run: Run, folder: Path, *words: str, **facts: str) -> Path:
    """A drafted plan with every open fact filled in, and no guess confirmed."""
    assert run("plan", "people.csv", "--epsilon", "3", *words, "-o", "plan.toml").code == 0
    fill(folder / "plan.toml", **facts)
    return folder / "plan.toml"


def test_a_new_draft_replaces_a_plan_that_was_filled_in_and_says_so(folder, run):
    plan = drafted(run, folder)
    again = run("plan", "people.csv", "--epsilon", "2", "-o", "plan.toml")
    assert again.code == 0
    assert again.err.endswith("warning: plan.toml was replaced: it had 3 facts filled in\n")
    assert tomllib.loads(plan.read_text("utf-8"))["epsilon"] == 2
    assert "replaced" not in run("plan", "people.csv", "--epsilon", "1", "-o", "plan.toml").err


# -- the attack: one row decides what all others look like ------------------------------------------------------------


def test_one_row_that_turns_a_column_real_is_released_by_nobodys_guess(folder, run):
    """In 300 rows one ``33`` becomes ``33.5``: the files of a guessed plan would differ in every value."""
    rows = [str(20 + k % 50) for k in range(300)]
    for name, cells in (("one", rows), ("other", ["33.5", *rows[1:]])):
        (folder / f"{name}.csv").write_text("age\n" + "\n".join(cells) + "\n", "utf-8")
        assert run("plan", f"{name}.csv", "--epsilon", "1", "-o", f"{name}.toml").code == 0
        fill(folder / f"{name}.toml")
        said = run(*sanitize(data=f"{name}.csv", plan=f"{name}.toml")).error()
        assert "unconfirmed guesses from the rows: kind and missing of age" in said
    kinds = [tomllib.loads((folder / f"{n}.toml").read_text("utf-8"))["column"][0]["kind"] for n in ("one", "other")]
    assert kinds == ["integer", "real"]

    # Whoever knows that ages are whole confirms that, of both tables; the neighbour has a cell that is not valid.
    assert run("plan", "--confirm", "one.toml").code == 0
    said = run(*sanitize(data="other.csv", plan="one.toml")).error()
    assert "'33.5' is not a whole number" in said
    assert "row 1" in said
    assert not (folder / "out.csv").exists()
    assert run(*sanitize(data="one.csv", plan="one.toml")).code == 0
    assert all(cell.isdigit() for cell in (folder / "out.csv").read_text("utf-8").split()[1:])


# -- every command that releases --------------------------------------------------------------------------------------

FIT = ("fit", "people.csv", "--target", "city", "--model", "naive-bayes", "--epsilon", "1", "--bounds", "plan.toml")
TRAIN = ("dpsgd", "people.csv", "--target", "city", "--bounds", "plan.toml", "--network", "logistic", "--epsilon", "1")
TRAINED = ("--delta", "1e-3", "--batch", "5", "--epochs", "1", "--lr", "1", "--clip", "1")
RELEASES = {
    "sanitize": tuple(sanitize()),
    "fit": (*FIT, "-o", "model", *L),
    "dpsgd": (*TRAIN, *TRAINED, "-o", "network", *L),
    "statistics": ("statistics", "people.csv", "--plan", "plan.toml", "--epsilon", "1", "-o", "figures.csv", *L),
    "synthesize": ("synthesize", "people.csv", "--plan", "plan.toml", "--epsilon", "1", "-o", "made.csv", *L),
}


@pytest.mark.parametrize("command", RELEASES)
def test_a_guess_is_refused_before_the_table_is_read_or_anything_charged(folder, run, command):
    drafted(run, folder)
    (folder / "people.csv").unlink()
    said = run(*RELEASES[command], "--json").error()
    assert said.startswith("the plan contains unconfirmed guesses from the rows: kind and missing of age")
    assert said.endswith("if they are right and public knowledge, run `workbench plan --confirm plan.toml`")
    assert names(folder) == {"plan.toml"}


@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=pytest.mark.slow if name == "dpsgd" else ()) for name in [*RELEASES][:3]]
)
def test_a_sample_needs_no_confirmation(folder, run, command):
    answer = run("plan", "sample:people", "--epsilon", "3", "--target", "sex", "-o", "plan.toml", "--json")
    assert answer.json["guesses"] == []
    assert "guess" not in [c.get("origin") for c in tomllib.loads((folder / "plan.toml").read_text("utf-8"))["column"]]
    words = ["sex" if w == "city" else "sample:people" if w == "people.csv" else w for w in RELEASES[command]]
    words = ["1e-5" if w == "1e-3" else w for w in words]
    assert run(*words).code == 0


def test_what_releases_nothing_takes_a_guess(folder, run):
    drafted(run, folder)
    assert run("forecast", "--plan", "plan.toml").code == 0
    study = ("--model", "naive-bayes", "--epsilons", "1", "--repeats", "2", "--jobs", "1", "--regimes", "none,private")
    assert run("curve", "people.csv", "--target", "city", "--bounds", "plan.toml", *study, "-o", "curve.csv").code == 0


# -- plan --confirm ---------------------------------------------------------------------------------------------------


def test_a_draft_lists_its_guesses_and_the_next_step(folder, run):
    answer = run("plan", "people.csv", "--epsilon", "3", "-o", "plan.toml")
    assert "age: kind = integer, missing = refuse" in answer.out
    assert "the file: header = yes" in answer.out
    assert "workbench plan --confirm plan.toml" in answer.out
    told = run("plan", "people.csv", "--epsilon", "3", "-o", "plan.toml", "--json").json
    assert told["guesses"] == ["kind of age", "missing of age", "kind of city", "missing of city", "header of the file"]


def test_confirming_says_what_was_confirmed_and_what_is_still_open(folder, run):
    assert run("plan", "people.csv", "--epsilon", "3", "-o", "plan.toml").code == 0
    before = (folder / "plan.toml").read_text("utf-8").replace("[[column]]", "[[column]]  # mine", 1)
    (folder / "plan.toml").write_text(before, "utf-8")
    told = run("plan", "--confirm", "plan.toml", "--json").json
    assert told["plan"] == "plan.toml"
    assert told["confirmed"] == [*(f"{k} of {c}" for c in ("age", "city") for k in ("kind", "missing")), FILE]
    assert told["unfilled"] == ["lower of age", "upper of age", "domain of city"]
    after = (folder / "plan.toml").read_text("utf-8")
    assert after == "\n".join(
        line if line.startswith("#") else line.replace('"guess"', '"declared"') for line in before.split("\n")
    )
    again = run("plan", "--confirm", "plan.toml")
    assert again.out.startswith("nothing to confirm in plan.toml")
    assert (folder / "plan.toml").read_text("utf-8") == after
    fill(folder / "plan.toml")
    assert run(*sanitize()).code == 0


def test_a_plan_with_crossed_bounds_is_not_confirmed(folder, run):
    plan = drafted(run, folder, lower="121")
    before = plan.read_bytes()
    said = run("plan", "--confirm", "plan.toml").error()
    assert "the lower bound 121 is not below the upper bound 120 (plan.toml, column 'age')" in said
    assert plan.read_bytes() == before


def test_where_invalid_values_are_replaced_what_becomes_of_missing_ones_is_no_guess(folder, run):
    (folder / "visits.csv").write_text("who,age\n" + "a,31\nb,40\nb,\n" * 9, "utf-8")
    words = ("plan", "visits.csv", "--epsilon", "1", "--unit", "who", "--rows-per-person", "2", "-o", "plan.toml")
    told = run(*words, "--json").json
    assert "kind of age" in told["guesses"]
    assert not [words for words in told["guesses"] if words.startswith("missing")]


FILE = "header of the file"


def test_confirming_keeps_the_rest_of_a_file_byte_for_byte(folder, run):
    plan = drafted(run, folder)
    data = b"\xef\xbb\xbf" + plan.read_bytes().replace(b"\n", b"\r\n")
    plan.write_bytes(data)
    assert run("plan", "--confirm", "plan.toml").code == 0
    assert plan.read_bytes() == data.replace(b'\norigin = "guess"\r', b'\norigin = "declared"\r')
    assert run(*sanitize()).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--confirm", "none.toml"), "the plan does not exist (none.toml)"),
        (("people.csv", "--confirm", "plan.toml"), "DATA is for a new one"),
        (("--confirm", "plan.toml", "--epsilon", "1"), "--epsilon is for a new one"),
        (("--confirm", "plan.toml", "-o", "other.toml"), "-o is for a new one"),
        (("--confirm", "people.csv"), "is not TOML"),
        (("people.csv", "-o", "new.toml"), "--epsilon is missing"),
        (("--epsilon", "1", "-o", "new.toml"), "DATA is missing"),
        (("people.csv", "--epsilon", "1"), "-o is missing"),
    ],
)
def test_confirming_and_drafting_are_two_acts(folder, run, words, said):
    drafted(run, folder)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    assert said in run("plan", *words).error()
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


# -- how the file is read ---------------------------------------------------------------------------------------------

ODD = "age;city;note\n" + "31,5;Graz;caf\xe9\n47,25;Linz;caf\xe9\n" * 10


@pytest.fixture
def odd(folder):
    """A table in cp1252 with decimal commas, in place of the little one."""
    (folder / "people.csv").write_bytes(ODD.encode("cp1252"))
    return folder


def test_a_confirmed_reading_needs_no_options_any_more(odd, run):
    plan = drafted(run, odd, "--drop", "note")
    raw = tomllib.loads(plan.read_text("utf-8"))
    assert raw["reading"] == {"encoding": "cp1252", "decimal": ",", "header": "yes", "origin": "guess"}
    assert "encoding, decimal and header of the file" in run(*sanitize()).error()
    assert run("plan", "--confirm", "plan.toml").code == 0
    assert run(*sanitize()).code == 0
    certificate = json.loads((odd / "out.csv.certificate.json").read_text("utf-8"))
    assert "cp1252" not in certificate["plan"], "only the dropped column needs it"
    assert tomllib.loads(certificate["plan"])["writing"] == {"delimiter": ";", "decimal": ","}
    assert (odd / "out.csv").read_text("utf-8").startswith("age;city\n")
    assert run("verify", "out.csv").code == 0


def test_what_the_person_states_is_no_guess(odd, run):
    stated = ("--encoding", "cp1252", "--decimal", ",", "--delimiter", ";", "--header", "yes")
    told = run("plan", "people.csv", "--epsilon", "1", *stated, "-o", "plan.toml", "--json").json
    assert [place for place in told["guesses"] if place.endswith("of the file")] == []
    reading = tomllib.loads((odd / "plan.toml").read_text("utf-8"))["reading"]
    assert reading == {"encoding": "cp1252", "delimiter": ";", "decimal": ",", "header": "yes"}


def test_an_option_wins_over_the_plan(odd, run):
    drafted(run, odd, "--drop", "note")
    assert run("plan", "--confirm", "plan.toml").code == 0
    (odd / "people.csv").write_text(ODD.replace(",", "."), "utf-8")
    assert "the file is not written in" not in run(*sanitize(), "--encoding", "utf-8", "--decimal", ".").err
    assert (odd / "out.csv").exists()


def test_a_copy_in_another_encoding_and_dialect_fits_the_plan(folder, run):
    drafted(run, folder)
    assert run("plan", "--confirm", "plan.toml").code == 0
    text = (folder / "people.csv").read_text("utf-8")
    (folder / "people.csv").write_text(text.replace(",", ";"), "utf-16")
    assert run(*sanitize()).code == 0


def test_a_study_reads_by_the_plan(odd, run):
    drafted(run, odd, "--drop", "note")
    study = ("--model", "naive-bayes", "--epsilons", "1", "--repeats", "2", "--jobs", "1", "--regimes", "none")
    answer = run("curve", "people.csv", "--target", "city", "--bounds", "plan.toml", *study, "-o", "curve.csv")
    assert answer.code == 0
    assert "was guessed as" not in answer.err

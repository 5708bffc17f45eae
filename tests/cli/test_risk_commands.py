"""``workbench risk`` and ``workbench anonymity``: the keys of the contract, words, and what the ledger notes."""

import errno
import os
import stat
from pathlib import Path

import pytest

from workbench.release.atomic import PartFile
from workbench.release.ledger.ledger import Ledger
from workbench.risk import measures
from workbench.risk.measures import Line, Measure

ROWS = "age,town,ill\n30,H,flu\n30,H,cold\n40,D,flu\n50,H,flu\n"
RISK = ("risk", "t.csv", "--quasi", "age,town", "--ledger", "book.sqlite")
ANONYMITY = ("anonymity", "t.csv", "--quasi", "age,town", "--sensitive", "ill", "--ledger", "book.sqlite")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text(ROWS, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def noted(folder: Path) -> list[str]:
    with Ledger.open(folder / "book.sqlite") as ledger:
        return [one.study for one in ledger.figures()]


def test_risk_has_the_keys_of_the_contract_and_the_ledger_notes_it_first(folder, run):
    found = run(*RISK, "--sensitive", "ill", "--sample-fraction", "0.1", "--json").done
    assert (found["unique"], found["k"], found["private"]) == (2, 1, True)
    assert found["risk"]["prosecutor"] == {"highest": 1.0, "average": 0.75, "above_threshold": 1.0}
    assert set(found["risk"]) == {"threshold", "prosecutor", "journalist", "marketer"}
    assert found["population"]["sample_fraction"] == 0.1
    assert set(found["population"]["models"]) == {"pitman", "zayatz", "snb"}
    assert noted(folder) == ["risk"]


def test_anonymity_has_the_keys_of_the_contract(folder, run):
    found = run(*ANONYMITY, "--json").done
    assert (found["k"], found["l_distinct"], found["l_entropy"]) == (1, 1, 1.0)
    assert found["t"] == pytest.approx(1 / 4)
    assert found["risk"]["marketer"]["average"] == 0.75
    assert "population" not in found
    assert noted(folder) == ["risk"]


def test_words_have_each_measure_and_the_badge(folder, run):
    shown = run(*RISK, "--sensitive", "ill").shown
    for title in ("Classes", "Re-identification risk", "ℓ-diversity", "t-closeness", "Special uniques", "HIPAA"):
        assert title in shown
    assert "2 (50 %)" in shown
    assert shown.endswith("private – not for release\n")


@pytest.mark.parametrize(
    ("words", "stated"),
    [
        (("--quasi", "age,twon"), "there is no column 'twon', did you mean 'town'? (t.csv); the columns are"),
        (("--quasi", "age", "--sample-fraction", "1.5"), "--sample-fraction = 1.5"),
        (
            ("--quasi", "age", "--sensitive", "age"),
            "'age' is both quasi and sensitive (workbench risk); remove it from one of them",
        ),
        (("--quasi", "age", "--sensitive", "ill", "--distance", "hierarchical"), "ill has no hierarchy"),
        (
            ("--quasi", "age", "--population", "t.csv", "--sample-fraction", "0.5"),
            "as a table and as a sample fraction",
        ),
        (("--quasi", "age", "--population", "p.csv"), "the population does not contain every row of the table (p.csv)"),
    ],
)
def test_an_error_is_one_sentence_with_place_and_fix(folder, run, words, stated):
    (folder / "p.csv").write_text("age\n30\n", "utf-8")
    answer = run("risk", "t.csv", *words, "--ledger", "book.sqlite")
    assert (answer.code, answer.out) == (2, "")
    assert stated in answer.err.splitlines()[-1]
    assert "; " in answer.err.splitlines()[-1]


def test_anonymity_without_a_sensitive_column_names_the_option(folder, run):
    answer = run("anonymity", "t.csv", "--quasi", "age")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "--sensitive" in answer.err


def test_a_hierarchy_says_how_far_apart_sensitive_values_are(folder, run):
    """Flu and a cold are both of the lungs, which is half as far as the whole way."""
    (folder / "trees").mkdir()
    (folder / "trees" / "ill.csv").write_text("flu;lungs;*\ncold;lungs;*\nulcer;stomach;*\n", "utf-8")
    found = run(*ANONYMITY, "--hierarchies", "trees", "--json").done
    assert found["closeness"][0]["distance"] == "hierarchical"
    assert found["t"] == pytest.approx(1 / 8)
    (folder / "trees" / "ill.csv").write_text("flu;lungs;*\n", "utf-8")
    answer = run(*ANONYMITY, "--hierarchies", "trees")
    assert (answer.code, "the value 'cold'" in answer.err) == (2, True)


def test_a_plan_says_which_codes_are_missing_values(folder, run):
    """By themselves 30 and 50 of H are two classes; where the plan says that both are missing they are one."""
    (folder / "p.toml").write_text(
        "version = 1\nepsilon = 1.0\n"
        '[[column]]\nname = "age"\nkind = "integer"\nlower = 0\nupper = 99\n'
        'missing = "own-value"\nmissing_codes = ["30", "50"]\n'
        '[[column]]\nname = "ill"\nkind = "category"\ndomain = ["flu", "gout"]\n'
        'missing = "own-value"\nmissing_codes = ["cold"]\n'
    )
    found = run(*RISK, "--population", "t.csv", "--plan", "p.toml", "--json").done
    assert (found["unique"], found["risk"]["journalist"]["average"]) == (1, 0.5)
    assert run(*ANONYMITY, "--plan", "p.toml", "--json").done["risk"]["marketer"]["average"] == 0.5
    assert run(*RISK, "--json").done["unique"] == 2
    report = ("report", "t.csv", "--quasi", "age,town", "-o", "r.html", "--ledger", "book.sqlite", "--json")
    assert run(*report).done["risk"]["unique"] == 2
    assert run(*report, "--plan", "p.toml").done["risk"]["unique"] == 1


def test_a_release_has_no_codes(folder, run):
    """A noisy 30 is a 30; the rows it was made of are read as the certificate's plan says."""
    column = 'version = 1\nepsilon = 1.0\n[[column]]\nname = "age"\nkind = "integer"\nlower = 29\nupper = 31\n'
    (folder / "p.toml").write_text(
        f'{column}role = "quasi-identifier"\nmissing = "own-value"\nmissing_codes = ["30"]\n'
    )
    (folder / "many.csv").write_text("age\n" + '29\n30\n31\n""\n' * 50)
    assert run("sanitize", "many.csv", "--plan", "p.toml", "-o", "out.csv", "--ledger", "book.sqlite").code == 0
    classes = len(set((folder / "out.csv").read_text("utf-8").split("\n")[1:-1]))
    found = run("risk", "out.csv", "--quasi", "age", "--plan", "p.toml", "--ledger", "book.sqlite", "--json").done
    assert found["classes"]["number"] == classes
    words = ("out.csv", "--original", "many.csv", "-o", "r.html", "--ledger", "book.sqlite", "--json")
    told = run("report", *words).done
    assert "every column is known" in told["not_tried"]["inference"].lower()
    assert [told[side]["classes"]["number"] for side in ("risk", "released_risk")] == [3, classes]


def test_the_population_answers_in_place_of_a_fraction(folder, run):
    (folder / "p.csv").write_text("town,age\n" + "H,30\n" * 4 + "D,40\n" * 5 + "H,50\n" * 2 + "D,9\n", "utf-8")
    found = run(*RISK, "--population", "p.csv", "--json").done
    assert found["risk"]["journalist"]["highest"] == 0.5
    assert (found["population"]["unique"], found["population"]["model"]) == (1.0, "counted")


def test_a_measure_is_its_line_in_the_list(folder, run, monkeypatch):
    toy = Measure("toy", "A toy", "toy", lambda subject: {"toy": subject.rows}, lambda f: [Line("rows", str(f["toy"]))])
    monkeypatch.setattr(measures, "MEASURES", (*measures.MEASURES, toy))
    assert run(*RISK, "--json").done["toy"] == 4
    assert "A toy\nrows  4\n" in run(*RISK).shown


def test_figures_of_a_release_are_public_and_not_noted(folder, run):
    assert run("plan", "sample:iris", "--epsilon", "1", "-o", "plan.toml").code == 0
    done = run("sanitize", "sample:iris", "--plan", "plan.toml", "-o", "out.csv", "--ledger", "book.sqlite")
    assert done.code == 0, done
    found = run("risk", "out.csv", "--quasi", "species", "--ledger", "book.sqlite", "--json").done
    assert found["private"] is False
    assert noted(folder) == []
    lines = (folder / "out.csv").read_text("utf-8").splitlines()
    (folder / "out.csv").write_text("\n".join(lines[:-1]) + "\n", "utf-8")  # no longer what was certified
    assert run("risk", "out.csv", "--quasi", "species", "--ledger", "book.sqlite", "--json").done["private"] is True
    assert noted(folder) == ["risk"]


def test_figures_of_a_generalised_table_are_public_as_well(folder, run):
    (folder / "trees").mkdir()
    for name, values in (("age", ("30", "40", "50")), ("town", ("H", "D"))):
        (folder / "trees" / f"{name}.csv").write_text("".join(f"{value};*\n" for value in values), "utf-8")
    words = ("--quasi", "age,town", "--hierarchies", "trees", "--k", "2", "-o", "out.csv", "--ledger", "book.sqlite")
    assert run("generalize", "t.csv", *words).code == 0
    found = run("risk", "out.csv", "--quasi", "age,town", "--ledger", "book.sqlite", "--json").done
    assert (found["private"], found["k"] >= 2) == (False, True)
    assert "risk" not in noted(folder)


# -- ``workbench quality``: a certified release and any other table beside the original; private and noted


def test_synthetic_rows_are_scored_and_the_ledger_notes_it(of_cities, run):
    book = ("--ledger", "book.sqlite")
    run("synthesize", "t.csv", "--plan", "plan.toml", "--epsilon", "3", "-o", "s.csv", *book)
    words = ("quality", "s.csv", "--original", "t.csv", "--target", "city", *book)
    found = run(*words, "--json").done
    assert found["private"] is True
    assert found["left_out"] == {}
    assert [c["metric"] for c in found["columns"]] == ["KSComplement", "TVComplement"]
    assert [p["columns"] for p in found["pairs"]] == [["age", "city"]]
    assert set(found["scores"]) == {"column_shapes", "pair_trends", "two_way", "pmse", "training"}
    for one in found["scores"].values():
        assert {"value", "held_out", "share", "level"} <= set(one)
        assert one["value"] <= 1
    assert found["scores"]["pmse"]["ratio"] > 0
    with Ledger.read(Path("book.sqlite")) as ledger:
        assert [shown.study for shown in ledger.figures()] == ["quality"]
    shown = run(*words).shown
    assert "private – not for release" in shown
    assert "Training a model" in shown
    again = run(*words, "--json").done
    assert again == found


def test_any_table_and_a_control_set_will_do(of_cities, run):
    rows = Path("t.csv").read_text().splitlines()
    Path("copy.csv").write_text("\n".join(rows[:9]) + "\n")
    Path("others.csv").write_text("\n".join([rows[0], *rows[9:]]) + "\n")
    words = ("quality", "copy.csv", "--original", "copy.csv", "--control", "others.csv", "--ledger", "b.sqlite")
    found = run(*words, "--json").done
    assert found["held_out"] == "control"
    assert found["scores"]["column_shapes"]["value"] == 1


def test_what_is_no_table_of_rows_is_refused(of_cities, run):
    book = ("--ledger", "book.sqlite")
    run("statistics", "t.csv", "--plan", "plan.toml", "--epsilon", "1", "-o", "f.csv", *book)
    assert "no rows of people" in run("quality", "f.csv", "--original", "t.csv", *book).refused()
    run("sanitize", "t.csv", "--plan", "plan.toml", "-o", "n.csv", "--ledger", "other.sqlite")
    Path("n.csv").write_text(Path("n.csv").read_text() + "1,Graz\n")
    assert "not the file" in run("quality", "n.csv", "--original", "t.csv", *book).refused()
    assert "no column 'age2'" in run("quality", "t.csv", "--original", "t.csv", "--target", "age2", *book).refused()


def test_numbers_nearer_than_the_steps_of_a_double_are_scored(of_cities, run):
    lines = [f"{10**18 + i},{'xy'[i % 2]}" for i in range(60)]
    Path("long.csv").write_text("\n".join(["n,c", *lines]) + "\n", "utf-8")
    assert run("quality", "long.csv", "--original", "long.csv", "--json").done["overall"] is not None


def test_the_original_is_no_control_set_and_rows_without_a_certificate_are_noted(of_cities, run):
    book = ("--ledger", "book.sqlite")
    assert run("quality", "t.csv", "--original", "t.csv", "--control", "t.csv", *book).code == 2
    Path("other.csv").write_text("age,city\n" + "\n".join(f"{20 + i},x{i % 3}" for i in range(40)) + "\n", "utf-8")
    run("quality", "other.csv", "--original", "t.csv", "--ledger", "two.sqlite")
    with Ledger.read(Path("two.sqlite")) as ledger:
        assert len({shown.dataset for shown in ledger.figures()}) == 2


# -- ``workbench report``: PDF or HTML, readable by its owner alone, and in a bundle only where it is asked for


COLUMNS = ("--quasi", "age", "--sensitive", "city", "--attacks", "50", "--ledger", "book.sqlite")


def test_a_report_of_a_release_is_written_and_goes_into_a_bundle(of_cities, run):
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
    assert (of_cities / "b/private/risk-report.pdf").read_bytes().startswith(b"%PDF")
    assert run("verify", "b", "--json").done["ok"] is True
    (of_cities / "b/private/risk-report.html").write_text("changed")
    assert run("verify", "b", "--json").code == 5
    assert "exists" in run(*words).refused()


def test_a_table_alone_is_reported_on(of_cities, run):
    shown = run("report", "t.csv", *COLUMNS, "-o", "r.html").shown
    assert "rows of the table are unique" in shown
    assert "private – not for release" in shown
    assert "--original" in run("report", "t.csv", *COLUMNS, "-o", "r.html", "--bundle", "b").refused()
    assert ".pdf or .html" in run("report", "t.csv", *COLUMNS, "-o", "r.txt").refused()


def test_a_model_is_attacked_as_models_are(of_cities, run):
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
def test_a_full_disk_leaves_no_half_a_report_and_is_one_sentence(form, of_cities, run, monkeypatch):
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

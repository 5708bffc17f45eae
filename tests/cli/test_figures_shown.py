"""Whoever was shown private figures of a table by a study gets that said on the card of a later model."""

import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from command_cases import Run

from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import InputError
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.shown_figures import STUDIES
from workbench.release.statements import CHOSEN

OF_TABLE = ("t.csv", "--target", "city", "--bounds", "plan.toml", "--ledger", "book.sqlite")
NETWORK = (
    "--network", "logistic", "--delta", "1e-4", "--batch", "30", "--epochs", "2", "--lr", "1", "--clip", "1",
    "--accountant", "rdp", "--noise", "5",
)  # fmt: skip
GRID = """data = "t.csv"
target = "city"
bounds = "plan.toml"
[settings]
network = "logistic"
noise = [5]
delta = 1e-4
batch = 30
epochs = 1
lr = 1.0
clip = 1.0
accountant = "rdp"
"""


def table(first: int, count: int = 400) -> Table:
    return Table(
        pl.DataFrame(
            {
                "a": [str(i) for i in range(first, first + count)],
                "b": [f"{i * 7919 % 100003}" for i in range(first, first + count)],
            }
        ),
        "made",
    )


def outside(model: str) -> list[str]:
    told: list[str] = json.loads((Path(model) / "card.json").read_text("utf-8"))["outside_guarantee"]
    return told


def fit(run: Run, output: str) -> str:
    done = run("fit", *OF_TABLE, "--model", "naive-bayes", "--epsilon", "1", "-o", output)
    assert done.code == 0, done
    return done.err


def test_a_study_of_the_rows_is_told_on_the_card_of_a_later_model(of_cities, run):
    pytest.importorskip("torch")
    assert CHOSEN not in fit(run, "before")
    assert outside("before") == []
    assert run("ledger", "cap", "t.csv", "--epsilon", "100", "--ledger", "book.sqlite").code == 0
    study = run("accuracy", *OF_TABLE, *NETWORK)
    assert study.code == 0, study
    assert "the ledger notes, at no cost" in study.err
    with Ledger.read(of_cities / "book.sqlite") as book:
        notes = list(book.entries("figures"))
        assert [(e.epsilon, e.delta, e.body) for e in notes] == [("0", "0", {"study": "accuracy"})]
        assert book.account(notes[0].dataset).used == (Decimal(1), Decimal(0))
        assert book.verify() == []
        figures = re.findall(r"0\.\d{3}", study.out)
        assert figures
        assert not any(figure in json.dumps(notes[0].body) for figure in figures)
    assert f"not covered by epsilon: {CHOSEN}" in fit(run, "after")
    assert outside("after") == [CHOSEN]


@pytest.mark.slow  # a network is trained
def test_the_card_of_a_network_says_so_as_well(of_cities, run):
    pytest.importorskip("torch")
    assert run("why", *OF_TABLE, "--epsilon", "1", "--repeats", "2", "--jobs", "1").code == 0
    (of_cities / "t.csv").rename(of_cities / "again.csv")  # the same rows under another name
    done = run("dpsgd", "again.csv", *OF_TABLE[1:], *NETWORK, "--quiet", "-o", "network")
    assert done.code == 0, done
    assert CHOSEN in done.err
    assert outside("network") == [CHOSEN]
    assert run("verify", "network", "--ledger", "book.sqlite").code == 0


def test_made_up_rows_are_no_figures_of_these(of_cities, run):
    pytest.importorskip("torch")
    assert run("accuracy", "--rows", "300", *OF_TABLE[1:], *NETWORK).code == 0
    assert run("why", *OF_TABLE[1:], "--rows", "100", "--epsilon", "1", "--repeats", "2", "--jobs", "1").code == 0
    assert not (of_cities / "book.sqlite").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("why", *OF_TABLE, "--epsilon", "1", "--repeats", "2", "--jobs", "1"),
        ("curve", *OF_TABLE, "--epsilons", "1", "--repeats", "2", "--jobs", "1", "-o", "curve.csv"),
        pytest.param(
            ("grid", "grid.toml", "--ledger", "book.sqlite", "--jobs", "1", "-o", "grid.csv"), marks=pytest.mark.slow
        ),
    ],
    ids=lambda words: words[0],
)
def test_the_other_studies_are_noted_as_well(of_cities, run, words):
    pytest.importorskip("torch")
    (of_cities / "grid.toml").write_text(GRID, "utf-8")
    done = run(*words)
    assert done.code == 0, done
    assert "the ledger notes, at no cost" in done.err
    assert CHOSEN in fit(run, "after")


def test_a_ledger_that_cannot_note_it_shows_no_figure(of_cities, run):
    fit(run, "before")
    with Ledger.open(of_cities / "book.sqlite") as book:
        book.move(of_cities / "moved.sqlite")
    study = run("why", *OF_TABLE, "--epsilon", "1", "--repeats", "2", "--jobs", "1")
    assert study.code == 2
    assert "moved" in study.error()
    assert study.out == ""
    curve = run("curve", *OF_TABLE, "--epsilons", "1", "-o", "book.sqlite")
    assert "would replace" in curve.error()


def test_a_note_is_made_once_a_kind_and_counts_for_versions_and_later_releases_alone(tmp_path):
    with Ledger.open(tmp_path / "book.sqlite") as book:
        cost = Cost(Decimal("0.1"), Decimal(0), PureDp(Decimal("0.1")))
        first = book.reserve(book.identify(table(0)), cost, work="fit")
        book.set_cap(book.identify(table(0)), Decimal(1))
        assert book.note_figures(book.identify(table(2)), "why")  # most rows in common: a version
        assert book.note_figures(book.identify(table(2)), "curve")
        assert not book.note_figures(book.identify(table(2)), "why")
        assert not book.note_figures(book.identify(table(0)), "curve")
        assert [(e.dataset, e.body["study"]) for e in book.entries("figures")] == [
            (book.find(book.identify(table(0))).account, study) for study in ("why", "curve")
        ]
        with pytest.raises(ValueError, match="not a kind of study"):
            book.note_figures(book.identify(table(2)), "whatever")
        second = book.reserve(book.identify(table(0)), cost, work="fit")
        account = book.find(book.identify(table(0))).account
        assert not book.figures_shown(account, before=first)
        assert book.figures_shown(account, before=second)
        assert book.figures_shown(account)
        assert not book.figures_shown(book.enter(book.identify(table(9_000))))


def test_a_merge_takes_the_notes_over(tmp_path):
    one, two = tmp_path / "one.sqlite", tmp_path / "two.sqlite"
    with Ledger.open(one) as book, Ledger.open(two) as other:
        kept = book.enter(book.identify(table(0)))
        other.note_figures(other.identify(table(9_000)), "grid")
        other.note_figures(other.identify(table(0)), "grid")
        book.merge(other)
    with Ledger.open(one) as book:
        found = book.find(book.identify(table(9_000))).account
        assert found
        assert book.figures_shown(found)
        assert kept != found
        same = book.enter(book.identify(table(0)))
        assert book.figures_shown(same)
        assert book.verify() == []
    with Ledger.open(two) as other, pytest.raises(InputError, match="moved"):
        other.note_figures(other.identify(table(50_000)), "why")


def test_ledger_show_lists_the_notes_in_plain_words(of_cities, run):
    fit(run, "before")
    silent = run("ledger", "show", "--ledger", "book.sqlite")
    assert "private figures" not in silent.out.lower()
    assert run("ledger", "show", "--ledger", "book.sqlite", "--json").json["figures"] == []
    assert run("ledger", "verify", "--ledger", "book.sqlite").code == 0
    for _ in range(2):
        assert run("why", *OF_TABLE, "--epsilon", "1", "--repeats", "2", "--jobs", "1").code == 0
    assert run("curve", *OF_TABLE, "--epsilons", "1", "--repeats", "2", "--jobs", "1", "-o", "curve.csv").code == 0
    shown = run("ledger", "show", "--ledger", "book.sqlite")
    *_, head, titles, first, second = shown.out.splitlines()
    assert "Private figures were shown at no cost" in head
    assert titles.split("  ")[0] == "first shown (UTC)"
    assert first.endswith("what limits the accuracy of a model")
    assert second.endswith("the quality of a model at several budgets")
    assert "t.csv" in first
    told = run("ledger", "show", "--ledger", "book.sqlite", "--json").json
    assert [note["study"] for note in told["figures"]] == ["why", "curve"]
    assert [note["shown"] for note in told["figures"]] == [STUDIES["why"], STUDIES["curve"]]
    assert {note["dataset"] for note in told["figures"]} == {told["accounts"][0]["dataset"]}
    assert all(note["time"].startswith("20") for note in told["figures"])
    assert "Private figures were shown" in run("ledger", "cap", "t.csv", "--epsilon", "9", *OF_TABLE[-2:]).out
    assert run("ledger", "verify", "--ledger", "book.sqlite").code == 0


@pytest.mark.slow  # networks are trained
@pytest.mark.parametrize(
    ("more", "studies"),
    [
        ((), ["training"]),
        (("--quiet",), []),
        (("--quiet", "--test", "held.csv"), ["test"]),
        (("--quiet", "--test", "held.csv", "--test-public"), []),
        (("--test", "held.csv"), ["training", "test"]),
    ],
    ids=["watched", "quiet", "quiet, private test rows", "quiet, public test rows", "watched, private test rows"],
)
def test_a_training_notes_what_it_shows(of_cities, run, more, studies):
    pytest.importorskip("torch")
    lines = [f"{i % 50 + 25},{'Graz' if i % 3 else 'Linz'}" for i in range(90)]
    (of_cities / "held.csv").write_text("\n".join(["age,city", *lines]) + "\n", "utf-8")
    assert run("ledger", "cap", "t.csv", "--epsilon", "100", "--delta", "0.01", *OF_TABLE[-2:]).code == 0
    done = run("dpsgd", *OF_TABLE, *NETWORK, *more, "-o", "network")
    assert done.code == 0, done
    assert outside("network") == [], "its own figures came after its settings"
    with Ledger.read(of_cities / "book.sqlite") as book:
        assert [f.study for f in book.figures()] == studies
        datasets = {f.study: f.dataset for f in book.figures()}
        assert book.verify() == []
    assert ("the ledger notes" in done.err) == bool(studies)
    assert len(set(datasets.values())) == len(studies), "the test rows are a table of their own"
    assert run("verify", "network", "--ledger", "book.sqlite").code == 0
    assert run("dpsgd", *OF_TABLE, *NETWORK, "--quiet", "-o", "again").code == 0
    assert outside("again") == ([CHOSEN] if "training" in studies else [])


@pytest.mark.slow  # networks are trained
def test_a_training_that_cannot_note_it_charges_nothing(of_cities, run, monkeypatch):
    pytest.importorskip("torch")

    def failed(*_: object) -> bool:
        raise InputError("the disk is full", "book.sqlite")

    monkeypatch.setattr(Ledger, "note_figures", failed)
    done = run("dpsgd", *OF_TABLE, *NETWORK, "-o", "network")
    assert done.code == 2
    assert done.out == ""
    assert "the disk is full" in done.err
    with Ledger.read(of_cities / "book.sqlite") as book:
        assert [release.status for release in book.releases()] == ["void"]
    assert not Path("network").exists()


RELEASES = {
    "table": ("sanitize", "t.csv", "--plan", "plan.toml"),
    "synthetic": ("synthesize", "t.csv", "--plan", "plan.toml", "--epsilon", "1", "--target", "city"),
    "statistics": ("statistics", "t.csv", "--plan", "plan.toml", "--epsilon", "1", "--mean", "age"),
    "rappor": ("rappor", "encode", "t.csv", "--params", "params.csv", "--column", "city"),
}


@pytest.mark.parametrize("kind", RELEASES)
def test_a_certificate_of_every_kind_says_so(of_cities, run, kind):
    (of_cities / "params.csv").write_text("k,h,m,p,q,f\n16,1,4,0.5,0.75,0.5\n", "utf-8")

    def released(output: str, *more: str) -> tuple[list[str], str]:
        done = run(*RELEASES[kind], "-o", output, "--ledger", "book.sqlite", *more)
        assert done.code == 0, done
        told: list[str] = json.loads((of_cities / f"{output}.certificate.json").read_text("utf-8"))["outside_guarantee"]
        return told, done.err

    before, said = released("before.csv")
    assert CHOSEN not in before
    assert CHOSEN not in said
    with Ledger.open(of_cities / "book.sqlite") as book:
        (first,) = book.releases()
        book.set_cap(first.dataset, Decimal(100))
        book.note_figures(book.identify(read_table("t.csv")), "curve")
    document = () if kind == "rappor" else ("--html", "after.html", "--bundle", "bundle")
    after, said = released("after.csv", *document)
    assert after == [*before, CHOSEN]
    assert f"not covered by epsilon: {CHOSEN}" in said
    for output in ("before.csv", "after.csv"):
        assert run("verify", output, "--ledger", "book.sqlite").code == 0, output
    if document:
        assert CHOSEN in (of_cities / "after.html").read_text("utf-8")
        checked = subprocess.run(
            [sys.executable, "verify.py"], cwd=of_cities / "bundle", capture_output=True, text=True
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr

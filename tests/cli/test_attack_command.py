"""``workbench attack`` on real releases: keys of the contract, the bound of the certificate, the note in the ledger."""

import dataclasses
import itertools
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from workbench.cli.main import main
from workbench.params import Parameters, integer
from workbench.release.ledger.ledger import Ledger
from workbench.risk import attacks
from workbench.risk.attacks.base import Attack, Subject
from workbench.risk.attacks.bound import most
from workbench.risk.attacks.outcome import Outcome, Rate

Run = Callable[..., dict[str, Any]]
KEYS = {"risk", "low", "high", "main", "naive", "control", "allowed"}


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for name in ("people", "others"):
        rows = {"a": rng.integers(0, 50, 300), "b": rng.integers(0, 50, 300), "c": rng.choice(["no", "yes"], 300)}
        pl.DataFrame(rows).write_csv(f"{name}.csv")

    def ran(*words: str, code: int = 0) -> dict[str, Any]:
        assert main([*words, "--json"]) == code
        found: dict[str, Any] = json.loads(capsys.readouterr().out) if code == 0 else {}
        return found

    return ran


def released(run: Run, *, keep: str = "") -> None:
    kept = "\n".join(f'[[column]]\nname = "{n}"\naction = "keep"\nkind = "integer"\n' for n in keep)
    bounds = "".join(
        f'[[column]]\nname = "{n}"\nkind = "integer"\nlower = 0\nupper = 49\nmechanism = "staircase"\n'
        for n in "ab"
        if n not in keep
    )
    word = '[[column]]\nname = "c"\nkind = "category"\ndomain = ["no", "yes"]\nmechanism = "grr"\n'
    Path("plan.toml").write_text(f"version = 1\nepsilon = 1.0\n{kept}{bounds}{word}", "utf-8")
    run("sanitize", "people.csv", "--plan", "plan.toml", "-o", "out.csv", "--ledger", "l.sqlite")


@pytest.mark.parametrize("name", ["singling-out", "linkability", "inference", "reconstruction"])
def test_every_attack_has_the_keys_and_the_bound_of_the_certificate(run, name):
    released(run)
    more = ("--counts", "60") if name == "reconstruction" else ()
    words = shlex.split("out.csv --original people.csv --control others.csv --attacks 60 --ledger l.sqlite")
    found = run("attack", name, *words, *more, "--seed", "3")
    assert found.keys() >= KEYS
    assert found["epsilon"] == 1.0
    assert found["low"] <= found["risk"] <= found["high"]
    assert found["low"] <= found["allowed"] <= 1
    if name != "singling-out":  # each row is randomised by itself: replacing one costs what emptying it does
        assert found["allowed"] == pytest.approx(most(found["rates"]["control"]["high"], 1.0))
    with Ledger.open(Path("l.sqlite")) as ledger:
        assert "attack" in {one.study for one in ledger.figures()}


def test_a_central_release_is_bounded_by_its_replace_one_figures(run):
    released(run)
    asked = ("--plan", "plan.toml", "--epsilon", "0.5", "-o", "syn.csv", "--ledger", "m.sqlite")
    run("synthesize", "people.csv", *asked)
    words = ("syn.csv", "--original", "people.csv", "--control", "others.csv", "--secret", "c", "--ledger", "m.sqlite")
    found = run("attack", "inference", *words)
    assert found["epsilon"] == 0.5
    assert found["allowed"] == pytest.approx(most(found["rates"]["control"]["high"], 1.0))


def test_columns_that_are_kept_a_changed_file_and_no_certificate_have_no_bound(run):
    released(run, keep="a")
    words = ("--original", "people.csv", "--control", "others.csv", "--ledger", "l.sqlite")
    kept = run("attack", "inference", "out.csv", *words)
    assert kept["allowed"] is None
    assert "Published as it is" in kept["why_not"]
    with Path("out.csv").open("a", encoding="utf-8") as file:
        file.write("1,1,no\n")
    assert "not the one" in run("attack", "inference", "out.csv", *words)["why_not"]
    copied = run("attack", "inference", "people.csv", *words)
    assert copied["allowed"] is None
    assert "no certificate" in copied["why_not"]
    assert copied["low"] > 0.3


def test_people_are_looked_up_by_what_is_known(run):
    found = run("attack", "link", "people.csv", "--known", "people.csv", "--on", "a,b,c", "--ledger", "l.sqlite")
    frame = pl.read_csv("people.csv")
    with Ledger.read(Path("l.sqlite")) as book:
        assert [one.study for one in book.figures()] == ["attack"]
    alone = int((frame.group_by("a", "b", "c").len()["len"] == 1).sum())
    assert found["reidentified_fraction"] == pytest.approx(alone / 300)


def test_an_attack_that_fails_is_not_noted_as_shown(run):
    words = "people.csv --original people.csv --control others.csv --known c --secret c --ledger l.sqlite"
    run("attack", "inference", *words.split(), code=2)
    with Ledger.open(Path("l.sqlite")) as book:
        assert book.figures() == []


def test_rows_that_no_certificate_shows_to_be_released_are_noted(run):
    pl.DataFrame({"a": [1], "x": ["?"]}).write_csv("one.csv")  # what is looked up is not of the table at all
    run("attack", "link", "people.csv", "--known", "one.csv", "--on", "a", "--ledger", "l.sqlite")
    with Ledger.read(Path("l.sqlite")) as book:
        assert len({one.dataset for one in book.figures()}) == 2
    released(run)
    run("attack", "link", "out.csv", "--known", "one.csv", "--on", "a", "--ledger", "other.sqlite")
    with Ledger.read(Path("other.sqlite")) as book:
        assert len({one.dataset for one in book.figures()}) == 1


def test_a_seed_repeats_an_attack(run):
    words = shlex.split("people.csv --original people.csv --attacks 40 --ledger l.sqlite --mode multivariate")
    assert run("attack", "singling-out", *words, "--seed", "5") == run("attack", "singling-out", *words, "--seed", "5")


def test_what_is_missing_or_unknown_is_bad_usage(run):
    run("attack", "inference", "people.csv", "--ledger", "l.sqlite", code=2)
    run(
        "attack", "inference", "people.csv", "--original", "people.csv", "--secret", "z", "--ledger", "l.sqlite", code=2
    )
    run("attack", "guessing", "people.csv", code=2)
    fresh = ("--original", "people.csv", "--ledger", "fresh.sqlite", "--control")
    run("attack", "inference", "people.csv", *fresh, "people.csv", code=2)
    run("attack", "inference", "people.csv", *fresh, "nowhere.csv", code=2)
    assert not Path("fresh.sqlite").exists()  # an attack that cannot begin shows nothing


@dataclasses.dataclass(frozen=True, kw_only=True)
class Toy(Parameters):
    tosses: int = integer(default=7, at_least=1, upto=9, help="how often a coin is thrown")


def toy(subject: Subject, request: Toy, emit: object, cancel: object) -> Outcome:
    main = Rate.counted(request.tosses, 10)
    return Outcome(attack="toy", main=main, naive=Rate.known(0.5), guarantee=subject.guarantee)


def test_a_new_attack_is_one_entry_of_the_list(run, monkeypatch):
    made = Attack("toy", "Toy", "t", module=__name__)
    monkeypatch.setattr(f"{__name__}.run", toy)
    monkeypatch.setattr(attacks, "ATTACKS", (*attacks.ATTACKS, made))
    assert run("attack", "toy", "--tosses", "3")["main"] == 0.3


@pytest.mark.slow
def test_statistics_at_epsilon_1_hide_a_bit_that_exact_ones_give_back(run):
    """200 people whose bit was thrown, 24 columns that are known, and the histogram of the bit by each pair of them."""
    rng = np.random.default_rng(9)
    known = [f"q{i}" for i in range(24)]
    frame = pl.DataFrame({name: rng.integers(0, 2, 200).astype(str) for name in [*known, "bit"]})
    frame.write_csv("coins.csv")
    columns = [f'[[column]]\nname = "{n}"\nkind = "category"\ndomain = ["0", "1"]\n' for n in frame.columns]
    Path("coins.toml").write_text("version = 1\nepsilon = 1.0\n" + "".join(columns), "utf-8")
    pairs = list(itertools.combinations(known, 2))
    figures = [f'[[figure]]\nstatistic = "histogram"\ncolumn = "bit"\nby = ["{a}", "{b}"]\n' for a, b in pairs]
    Path("asked.toml").write_text("".join(figures), "utf-8")
    words = ("--plan", "coins.toml", "--epsilon", "1", "--request", "asked.toml", "-o", "f.csv", "--ledger", "c.sqlite")
    run("statistics", "coins.csv", *words)
    asked = ("--original", "coins.csv", "--secret", "bit", "--chance", "0.5", "--ledger", "c.sqlite")
    private = run("attack", "reconstruction", "f.csv", *asked)
    assert private["allowed"] == pytest.approx(most(0.5, 1.0))
    assert private["main"] <= private["allowed"]  # 164 of 200: further from 100 than a fair coin comes with 1e-6
    rows = pl.read_csv("f.csv", infer_schema=False).filter(pl.col("statistic") == "histogram")
    cells = {name: frame[name].to_numpy() for name in frame.columns}
    exact = []
    for group, value in rows.select("group", "value").iter_rows():
        met = cells["bit"] == value
        for name, cell in (part.split("=") for part in group.split(", ")):
            met = met & (cells[name] == cell)
        exact.append(int(met.sum()))
    rows.with_columns(estimate=pl.Series(exact)).write_csv("exact.csv")
    found = run("attack", "reconstruction", "exact.csv", *asked)
    assert found["main"] >= 0.95
    assert found["allowed"] is None


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_a_release_that_is_written_as_its_table_was_is_attacked(run, separator):
    pl.read_csv("people.csv").write_csv("people.csv", separator=separator)
    released(run)
    assert Path("out.csv").read_text("utf-8").startswith(f"a{separator}b{separator}c")
    words = ("--known", "a,b", "--secret", "c", "--ledger", "l.sqlite")
    assert run("attack", "inference", "out.csv", "--original", "people.csv", *words).keys() >= KEYS
    run("sanitize", "people.csv", "--plan", "plan.toml", "-o", "packed.csv.gz", "--ledger", "packed.sqlite")
    assert run("attack", "inference", "packed.csv.gz", "--original", "people.csv", *words).keys() >= KEYS

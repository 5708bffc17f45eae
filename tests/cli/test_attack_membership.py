"""``workbench attack membership``, ``inversion`` and ``closest``: from a released model or table to what is printed."""

from pathlib import Path

import numpy as np
import pytest

from workbench.release.ledger.ledger import Ledger
from workbench.risk.membership import GUESSES

PLAN = """\
epsilon = 2.0

[[column]]
name = "age"
kind = "integer"
lower = 0
upper = 99

[[column]]
name = "town"
kind = "category"
domain = ["Graz", "Linz"]

[[column]]
name = "ill"
kind = "category"
domain = ["no", "yes"]
"""
PEOPLE = ("--members", "members.csv", "--nonmembers", "others.csv")


@pytest.fixture
def made(tmp_path, monkeypatch, run):
    """Members, others, and a model of the members."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("members", "others"):
        ages, towns = rng.integers(20, 90, 60), rng.integers(0, 2, 60)
        ill = rng.random(60) < ages / 120
        lines = [
            f"{a},{'Linz' if t else 'Graz'},{'yes' if i else 'no'}" for a, t, i in zip(ages, towns, ill, strict=True)
        ]
        Path(f"{name}.csv").write_text("\n".join(["age,town,ill", *lines]) + "\n")
    Path("plan.toml").write_text(PLAN)
    fit = "fit members.csv --target ill --model naive-bayes --epsilon 2 --bounds plan.toml -o model --ledger l.sqlite"
    assert run(*fit.split()).code == 0
    return tmp_path


def test_membership_says_what_the_contract_names_and_the_ledger_notes_it(made, run):
    attack = ("attack", "membership", "--model", "model", *PEOPLE, "--ledger", "l.sqlite")
    told = run(*attack, "--json").done
    assert 0.2 < told["auc"] < 0.8  # by chance 0.5 ± 0.053: a false alarm of 2e-8
    assert set(told["tpr_at_fpr"]) == {"0.001", "0.01"}
    assert 0 <= told["epsilon_lower"] <= told["epsilon"] == 2.0
    assert 0 <= told["advantage"] <= 1
    assert told["confidence"] == 0.95
    assert told["private"] is True
    assert [way["guess"] for way in told["guesses"]] == [way.name for way in GUESSES if way.needs != "others"]
    assert told["allowed"] == pytest.approx(0.9820, abs=1e-4)  # e^4/(1 + e^4): another person in her row
    assert told["allowed_figures"]["emptied"]["right"] == pytest.approx(0.8808, abs=1e-4)
    said = run(*attack, "--shadows", "0").shown
    assert "private – not for release" in said
    assert "ower bound on ε" in said
    with Ledger.open(Path("l.sqlite")) as ledger:
        assert [shown.study for shown in ledger.figures()] == ["attack", "attack"]  # members and others


def test_inversion_and_distance(made, run):
    told = run("attack", "inversion", "--model", "model", *PEOPLE, "--secret", "town", "--ledger", "l.sqlite", "--json")
    assert told.done["secret"] == "town"
    assert told.done["control"] is not None
    assert told.done["main"] <= told.done["allowed"]
    tables = ("--original", "members.csv", "--control", "others.csv")
    copy = run("attack", "closest", "members.csv", *tables, "--ledger", "l.sqlite", "--json").done
    assert copy["auc"] > 0.6  # many of the others have a double among them
    assert copy["allowed"] is None


def test_what_is_missing_or_does_not_fit_is_one_sentence(made, run):
    assert "--nonmembers" in run("attack", "membership", "--model", "model", "--members", "members.csv").error()
    Path("few.csv").write_text("\n".join(Path("others.csv").read_text().splitlines()[:15]) + "\n")
    few = ("--members", "members.csv", "--nonmembers", "few.csv", "--ledger", "l.sqlite")
    assert "fewer than 20 of its rows have a class" in run("attack", "membership", "--model", "model", *few).refused()


def test_a_network_that_was_trained_on_images_is_attacked_with_images(tmp_path, monkeypatch, run):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("members", "others"):
        images = rng.integers(0, 255, (30, 8, 8)).astype(np.uint8)
        np.savez(f"{name}.npz", images=images, labels=rng.integers(0, 2, 30).astype(np.uint8))
    way = "--network logistic --noise 2 --delta 1e-3 --batch 10 --epochs 2 --lr 0.5 --clip 1 -o net --ledger l.sqlite"
    assert run("dpsgd", "members.npz", *way.split()).code == 0
    people = ("--members", "members.npz", "--nonmembers", "others.npz", "--ledger", "l.sqlite")
    told = run("attack", "membership", "--model", "net", *people, "--shadows", "4", "--json").done
    assert told["epsilon_lower"] <= told["epsilon"]
    assert told["tpr_rates"]["0.01"]["of"] == 30
    assert "no pixel is a secret" in run("attack", "inversion", "--model", "net", *people).refused()

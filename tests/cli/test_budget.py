"""``workbench budget`` to the letter of its contract."""

from __future__ import annotations

import pytest
from command_cases import Run

MNIST = ["--rows", "60000", "--batch", "64", "--noise", "1", "--epochs", "15", "--delta", "1e-5"]


@pytest.mark.parametrize(
    ("accountant", "epsilon", "order", "tolerance"),
    [("rdp-classic", 1.1663206747, 13, 1e-4), ("rdp", 0.8725321872, 13, 1e-3), ("pld", 0.6110918558, None, 2e-3)],
)
def test_the_published_run_costs_what_is_published(
    run: Run, accountant: str, epsilon: float, order: float | None, tolerance: float
) -> None:
    result = run("budget", "dpsgd", *MNIST, "--accountant", accountant, "--json").done
    assert result["epsilon"] == pytest.approx(epsilon, abs=tolerance)
    assert result["epsilon"] >= epsilon - 1e-9
    assert result["order"] == order
    assert result["steps"] == 14_070
    assert result["sample_rate"] == 64 / 60_000
    assert result["replace_one"]["epsilon"] == 2 * result["epsilon"]


def test_pld_is_the_default_and_the_text_rounds_up(run: Run) -> None:
    result = run("budget", "dpsgd", *MNIST, "--json").done
    assert result["accountant"] == "pld"
    shown = float(run("budget", "dpsgd", *MNIST).shown.split()[3])
    assert result["epsilon"] <= shown < result["epsilon"] + 1e-4


def test_gaussian_gives_the_analytic_sigma(run: Run) -> None:
    result = run("budget", "gaussian", "--epsilon", "1", "--delta", "1e-5", "--sensitivity", "1", "--json").done
    assert result["sigma"] == pytest.approx(3.730631634815942, abs=1e-7)
    assert "too small" in run("budget", "gaussian", "--epsilon", "10", "--delta", "1e-5", "--sensitivity", "1").shown


def test_belief_gives_both_bounds_and_the_note(run: Run) -> None:
    result = run("budget", "belief", "--epsilon", "0.5", "--prior", "0.1", "--json").done
    assert result["high"] == pytest.approx(0.15482810, abs=1e-8)
    assert result["low"] == pytest.approx(0.06313733, abs=1e-8)
    assert "δ > 0" in result["note"]
    assert "at most 0.1548" in run("budget", "belief", "--epsilon", "0.5", "--prior", "0.1").shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dpsgd", *MNIST[:-2], "--delta", "0"], "--delta"),
        (["dpsgd", *MNIST[:-2], "--delta", "nan"], "--delta"),
        (["dpsgd", *MNIST[:-2]], "--delta"),
        (["dpsgd", *MNIST, "--accountant", "pdl"], "did you mean 'pld'"),
        (["dpsgd", *MNIST, "--batch", "60001"], "larger than the table"),
        (["dpsgd", *MNIST, "--noise", "0"], "--noise"),
        (["dpsgd", *MNIST, "--epochs", "1.5"], "--epochs"),
        (["gaussian", "--epsilon", "1e999", "--delta", "1e-5", "--sensitivity", "1"], "--epsilon"),
        (["gaussian", "--epsilon", "1", "--delta", "1", "--sensitivity", "1"], "--delta"),
        (["belief", "--epsilon", "1", "--prior", "1.5"], "--prior"),
        (["compose", "no-events.json"], "does not exist"),
        (["solve", "--rows", "100", "--delta", "1e-5", "--noise", "1"], "of epsilon, sigma, epochs and batch are open"),
        (["shuffle", "--epsilon", "1", "--rows", "0", "--delta", "1e-6"], "--rows"),
        (["group", "--epsilon", "5", "--delta", "0.1", "--rows", "9"], "guarantees nothing"),
        (["gaussien"], "gaussien"),
        ([], "dpsgd|gaussian|belief"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_2(run: Run, words: list[str], said: str) -> None:
    assert said in run("budget", *words).error()


def test_shuffling_can_be_simulated_beside_its_bound(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.studies.shuffled.COLLECTIONS", 50_000)
    words = ["budget", "shuffle", "--epsilon", "3", "--rows", "1000", "--delta", "1e-6", "--simulate"]
    result = run(*words, "--values", "3", "--repeats", "50", "--json").done
    found = result["simulated"]
    assert found["epsilon_lower"] <= found["epsilon_attack"] <= result["epsilon"]
    errors = {model: of["mean"] for model, of in found["errors"]["shares"].items()}
    assert errors["central"] < errors["shuffled"] < errors["local"]
    assert "times smaller with shuffled reports" in run(*words, "--repeats", "50").shown
    assert "simulated" not in run(*words[:-1], "--json").done

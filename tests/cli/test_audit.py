"""``workbench audit``: the verdict with its confidence and its power."""

import math
from typing import Any

import numpy as np
import pytest

from workbench.cli.audit import COMMAND
from workbench.privacy import audit
from workbench.privacy.local.mechanism_table import MechanismTable, integer_rows
from workbench.privacy.local.mechanisms import Mechanism


def test_a_right_mechanism_is_not_refuted_and_the_power_is_told(run):
    answer = run("audit", "warner", "--epsilon", "1", "--samples", "200000", "--seed", "1", "--json")
    assert answer.code == 0
    told = answer.json
    assert (told["ok"], told["verdict"], told["samples"]) == (True, "not refuted", 200_000)
    assert 0.9 < told["epsilon_lower"] < 1.0
    assert told["confidence"] == 1 - 1e-6
    assert told["power"]["share"] == 0.95
    assert 1.0 < told["power"]["epsilon"] < 1.2
    text = run("audit", "warner", "--epsilon", "1", "--samples", "200000").out
    assert "not refuted" in text
    assert "this audit would have found it in at least 95% of runs" in text


def test_too_few_samples_are_said_to_prove_nothing(run):
    words = ["audit", "grr", "--epsilon", "20", "--domain", "a,b,c", "--samples", "1000"]
    assert run(*words, "--json").json["power"]["epsilon"] is None
    assert "draw more with --samples" in run(*words).out


def test_a_mechanism_for_few_cells_is_audited_without_a_word_on_cells(run):
    assert run("audit", "optimal", "--epsilon", "1", "--samples", "1000", "--json").done["cells"] == 32


def test_a_fault_is_exit_code_5(run, monkeypatch):
    def planted(self: Mechanism, cells: Any, epsilon: float) -> MechanismTable:
        odds = math.exp(1.3)
        return MechanismTable(integer_rows(np.array([[odds, 1.0], [1.0, odds]])), claim=2.0)

    monkeypatch.setattr(audit.Mechanism, "build", planted)
    answer = run("audit", "warner", "--epsilon", "1", "--seed", "1", "--json")
    assert (answer.code, answer.json["ok"], answer.json["verdict"]) == (5, False, "refuted")
    assert "REFUTED: its epsilon is above 1" in run("audit", "warner", "--epsilon", "1", "--seed", "1").out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nothing"], "nothing"),
        (["warner", "--domain", "a,b,c"], "Warner's randomised response is for two values, and there are 3"),
        (["staircase", "--domain", "a,b"], "staircase needs numbers with bounds"),
        (["grr", "--samples", "10"], "samples"),
        (["grr", "--domain", ",".join(map(str, range(5000)))], "grr over 5000 values is not audited"),
    ],
)
def test_what_cannot_be_audited_is_one_sentence(run, words, sentence):
    assert sentence in run("audit", *words, "--epsilon", "1").error()


def test_the_private_step_is_audited_with_canaries(run):
    pytest.importorskip("torch")
    words = ["audit", "dpsgd", "--epsilon", "3", "--clip", "4", "--canaries", "2000", "--seed", "1"]
    answer = run(*words, "--json")
    assert answer.code == 0
    told = answer.json
    assert (told["verdict"], told["canaries"], told["guesses"], told["steps"]) == ("not refuted", 2000, 200, 1)
    assert 0 < told["epsilon_lower"] < told["epsilon"] <= 3
    assert told["noise"]["lower"] < 1 < told["noise"]["upper"]
    assert "not refuted: the outputs do not contradict epsilon = 2.99" in COMMAND.text(told)


def test_a_step_with_too_little_noise_is_exit_code_5(run, monkeypatch):
    pytest.importorskip("torch")
    from workbench.deep import private_step
    from workbench.deep.noise import GaussianNoise

    # The variance sigma squared C in place of sigma squared C squared, as seen in print.
    monkeypatch.setattr(private_step, "GaussianNoise", lambda steps, clip: GaussianNoise(steps, clip**0.5))
    answer = run("audit", "dpsgd", "--epsilon", "3", "--clip", "64", "--canaries", "6000", "--seed", "5", "--json")
    assert (answer.code, answer.json["verdict"]) == (5, "refuted")

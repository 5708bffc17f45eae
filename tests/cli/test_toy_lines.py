"""What is only a line in its list works: a synthesiser, an oracle, a central mechanism, an accountant, a command."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from pathlib import Path
from types import ModuleType

import pytest
from command_cases import Run

from workbench import synth
from workbench.cli import catalogue
from workbench.cli.command import Command
from workbench.privacy.accounting import accountant, totals
from workbench.privacy.central import mechanisms as central
from workbench.privacy.central.mechanisms.laplace import DISCRETE_LAPLACE
from workbench.privacy.local import frequency
from workbench.privacy.local.frequency.unary import optimised
from workbench.synth.base import COUNTS, Query, Questions, Setting, Synthesiser, Tables, split


def chain(setting: Setting) -> tuple[Query, ...]:
    names = [column.name for column in setting.columns]
    pairs = itertools.pairwise(names)
    return split(setting.budget, [(f"counts of {one} by {other}", COUNTS, 1.0) for one, other in pairs])


def ask(questions: Questions) -> Tables:
    pairs = tuple((place, place + 1) for place in range(len(questions.setting.columns) - 1))
    return Tables(pairs, tuple(questions.counts(pair, (None, None)) for pair in pairs))


CHAIN = Synthesiser(
    name="chain",
    title="Neighbours",
    help="measures each column with the next",
    needs_target=False,
    queries=chain,
    ask=ask,
)
ORACLE = frequency.OracleKind(name="toy-oracle", title="a toy", report="a vector of {k} bits", build=optimised)
CARD = dataclasses.replace(DISCRETE_LAPLACE, name="toy-noise", title="Toy noise")
COMMAND = Command(
    name="toy",
    example="workbench toy",
    configure=lambda parser: None,
    run=lambda options, context: {"number": 7},
    text=lambda result: f"the number is {result['number']}",
)


def test_a_synthesiser_of_the_list_is_released_and_verified(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synth, "SYNTHESISERS", (*synth.SYNTHESISERS, CHAIN))
    words = ["synthesize", "people.csv", "--plan", "plan.toml", "--epsilon", "1", "-o", "out.csv"]
    answer = run(*words, "--method", "chain", "--ledger", "ledger.sqlite", "--json").json
    assert (answer["method"], answer["rows"]) == ("chain", 20)
    assert run("verify", "out.csv", "--ledger", "ledger.sqlite").code == 0
    assert "chain" in run(*words, "--method", "no").error()


def test_an_oracle_of_the_list_has_its_facts(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequency, "ORACLES", (*frequency.ORACLES, ORACLE))
    words = ["--epsilon", "1", "--domain", "a,b,c", "--json"]
    known, toy = (run("mechanism", name, *words).json for name in ("oue", "toy-oracle"))
    assert {key for key in known if known[key] != toy[key]} == {"mechanism"}
    assert "toy-oracle" in " ".join(run("mechanism", "--help").out.split())


def test_a_central_mechanism_of_the_list_has_its_card(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(central, "CENTRAL_MECHANISMS", (*central.CENTRAL_MECHANISMS, CARD))
    known, toy = (run("mechanism", name, "--epsilon", "1", "--json").json for name in ("discrete-laplace", "toy-noise"))
    assert toy["variance"] == known["variance"] > 0
    assert "toy-noise" in " ".join(run("mechanism", "--help").out.split())


def test_accountants_of_the_lists_are_chosen_and_compared(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rdp = accountant.accountant_named("rdp")
    monkeypatch.setattr(accountant, "ACCOUNTANTS", (*accountant.ACCOUNTANTS, dataclasses.replace(rdp, name="toy")))
    run_of = ("--rows", "1000", "--batch", "50", "--epochs", "2", "--noise", "1.5", "--delta", "1e-5", "--json")
    words = ("budget", "dpsgd", *run_of, "--accountant")
    assert run(*words, "toy").json["epsilon"] == run(*words, "rdp").json["epsilon"]
    assert "choose one of pld, rdp, rdp-classic, toy" in run(*words, "no").error()
    toy = dataclasses.replace(totals.MIXED_ACCOUNTANTS[0], name="sum")
    monkeypatch.setattr(totals, "MIXED_ACCOUNTANTS", (*totals.MIXED_ACCOUNTANTS, toy))
    (folder / "events.toml").write_text('[[event]]\nkind = "pure"\nepsilon = 0.5\n', encoding="utf-8")
    shown = run("budget", "compose", "events.toml").out
    assert [line.split()[:2] for line in shown.splitlines() if line.split()[:1] == ["sum"]] == [["sum", "0.5000"]]


def test_a_command_of_the_list_is_run_helped_and_offered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("workbench.cli.toy")
    module.COMMAND = COMMAND  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(catalogue, "COMMANDS", {**catalogue.COMMANDS, "toy": "say a number"})
    assert run("toy").out == "the number is 7\n"
    assert run("toy", "--json").json == {"number": 7}
    assert "usage: workbench toy [options]" in run("help", "toy").out
    assert "  toy         say a number" in run("--help").out
    assert "did you mean 'toy'" in run("toyy").error()

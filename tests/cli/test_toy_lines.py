"""What is only a line in its list works: a synthesiser, an oracle, a central mechanism, an accountant, a command."""

import dataclasses
import itertools
import sys
from pathlib import Path
from types import ModuleType

import lopsided
import numpy as np
import pytest
from command_cases import PLAN, runner, sanitize, written

from workbench import synth
from workbench.cli import catalogue
from workbench.cli.command import Command
from workbench.privacy.accounting import accountant, totals
from workbench.privacy.central import mechanisms as central
from workbench.privacy.central.mechanisms.laplace import DISCRETE_LAPLACE
from workbench.privacy.entropy import SeededEntropy
from workbench.privacy.local import frequency
from workbench.privacy.local.cells import Cells
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
    example="workbench toy",
    configure=lambda parser: None,
    run=lambda options, context: {"number": 7},
    text=lambda result: f"the number is {result['number']}",
)


def test_a_synthesiser_of_the_list_is_released_and_verified(folder, run, monkeypatch):
    monkeypatch.setattr(synth, "SYNTHESISERS", (*synth.SYNTHESISERS, CHAIN))
    words = ["synthesize", "people.csv", "--plan", "plan.toml", "--epsilon", "1", "-o", "out.csv"]
    answer = run(*words, "--method", "chain", "--ledger", "ledger.sqlite", "--json").json
    assert (answer["method"], answer["rows"]) == ("chain", 20)
    assert run("verify", "out.csv", "--ledger", "ledger.sqlite").code == 0
    assert "chain" in run(*words, "--method", "no").error()


def test_an_oracle_of_the_list_has_its_facts(run, monkeypatch):
    monkeypatch.setattr(frequency, "ORACLES", (*frequency.ORACLES, ORACLE))
    words = ["--epsilon", "1", "--domain", "a,b,c", "--json"]
    known, toy = (run("mechanism", name, *words).json for name in ("oue", "toy-oracle"))
    assert {key for key in known if known[key] != toy[key]} == {"mechanism"}
    assert "toy-oracle" in " ".join(run("mechanism", "--help").out.split())


def test_a_central_mechanism_of_the_list_has_its_card(run, monkeypatch):
    monkeypatch.setattr(central, "CENTRAL_MECHANISMS", (*central.CENTRAL_MECHANISMS, CARD))
    known, toy = (run("mechanism", name, "--epsilon", "1", "--json").json for name in ("discrete-laplace", "toy-noise"))
    assert toy["variance"] == known["variance"] > 0
    assert "toy-noise" in " ".join(run("mechanism", "--help").out.split())


def test_accountants_of_the_lists_are_chosen_and_compared(folder, run, monkeypatch):
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


def test_a_command_of_the_list_is_run_helped_and_offered(run, monkeypatch):
    module = ModuleType("workbench.cli.toy")
    module.COMMAND = COMMAND  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(catalogue, "COMMANDS", {**catalogue.COMMANDS, "toy": "say a number"})
    assert run("toy").out == "the number is 7\n"
    assert run("toy", "--json").json == {"number": 7}
    assert "usage: workbench toy [options]" in run("help", "toy").out
    assert "  toy         say a number" in run("--help").out
    assert "did you mean 'toy'" in run("toyy").error()


# -- A mechanism that is only a line in the list works with every command, and its figures are those of its own table


SIZES = (12_000, 5_000, 3_000)
CITIES = ("Graz", "Linz", "Wien")


@pytest.fixture
def toy_run(tmp_path, monkeypatch, capsys):
    """A command line that knows one mechanism more, in a folder with a table and a plan that asks for it."""
    lopsided.register(monkeypatch)
    written(tmp_path)
    rows = [f"{20 + i % 60},{city}" for city, size in zip(CITIES, SIZES, strict=True) for i in range(size)]
    (tmp_path / "people.csv").write_text("\n".join(["age,city", *rows]) + "\n", "utf-8")
    (tmp_path / "plan.toml").write_text(PLAN.replace('name = "city"', 'name = "city"\nmechanism = "toy"'), "utf-8")
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def table(epsilon: float) -> np.ndarray:
    return lopsided.TOY.build(Cells(size=3), epsilon).weights.astype(float) / 2.0**63


def test_its_facts_are_those_of_the_whole_table(toy_run):
    chances = table(1.5)
    assert abs(chances - chances.T).max() > 0.1
    told = toy_run("mechanism", "toy", "--epsilon", "1.5", "--domain", ",".join(CITIES), "--json").json
    changed = sum(chances[i, j] for i in range(3) for j in range(3) if i != j) / 3
    assert told["expected_absolute_error"] == pytest.approx(changed, abs=1e-12)
    inverse = np.linalg.inv(chances)
    assert told["variance_max"] == pytest.approx((chances @ inverse**2 - np.eye(3)).max())
    assert told["bias_max"] == 0
    assert told["exact_epsilon"] <= 1.5


def test_the_forecast_change_is_the_one_that_is_drawn(toy_run):
    (city,) = [c for c in toy_run("forecast", "--plan", "plan.toml", "--json").json["columns"] if c["name"] == "city"]
    assert city["mechanism"] == "toy"
    assert city["candidates"]["toy"] == city["expected_absolute_error"]
    assert set(city["candidates"]) == {"grr", "toy"}
    chances = table(float(city["epsilon"]))
    assert city["expected_absolute_error"] == pytest.approx(1 - np.trace(chances) / 3, abs=1e-12)
    made, cells = lopsided.TOY.build(Cells(size=3), float(city["epsilon"])), np.arange(60_000) % 3
    drawn = made.sample(cells.astype(np.uint16), SeededEntropy(7))
    # Four standard errors of 60,000 draws.
    assert np.mean(drawn != cells) == pytest.approx(city["expected_absolute_error"], abs=4 * 0.5 / 60_000**0.5)


def test_a_release_is_drawn_verified_and_estimated(toy_run):
    assert toy_run(*sanitize()).code == 0
    assert toy_run("verify", "out.csv", "--ledger", "ledger.sqlite").code == 0
    answer = toy_run("estimate", "out.csv", "--column", "city", "--json").json
    (city,) = answer["columns"]
    assert (city["mechanism"], city["biased"]) == ("toy", False)
    chances = table(1.5)
    inverse = np.linalg.inv(chances)
    shares = np.array(SIZES) / sum(SIZES)
    for at, (name, share) in enumerate(zip(CITIES, shares, strict=True)):
        one = shares @ (chances @ inverse[:, at] ** 2) - shares @ (chances @ inverse[:, at]) ** 2
        assert city["frequencies"][name]["estimate"] == pytest.approx(share, abs=5.5 * (one / sum(SIZES)) ** 0.5)


def test_a_plan_and_an_audit_take_it_by_name(toy_run):
    assert toy_run("plan", "people.csv", "--epsilon", "2", "--mechanism", "toy", "-o", "new.toml").code == 0
    assert 'mechanism = "toy"' in Path("new.toml").read_text("utf-8")
    words = ("audit", "toy", "--epsilon", "1", "--domain", "a,b,c", "--samples", "20000", "--seed", "3", "--json")
    assert toy_run(*words).code == 0


@pytest.mark.parametrize("command", ["mechanism", "plan", "audit"])
def test_the_help_names_it(toy_run, capsys, command):
    answer = toy_run(command, "--help")
    assert answer.code == 0
    assert "optimal, toy" in " ".join(answer.out.split())

"""``budget compose``, ``solve`` and the calculators, as a person and a program use them."""

import csv
import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from command_cases import Run

from workbench.params import ParameterError
from workbench.privacy.accounting import run_curves
from workbench.privacy.accounting.accountant import loss
from workbench.privacy.accounting.event import PoissonGaussian, group
from workbench.privacy.accounting.event_alternatives import alternatives
from workbench.privacy.accounting.event_text import events_of, from_plain, to_plain
from workbench.privacy.explain.sections import sections
from workbench.release.ledger.ledger import Ledger

EVENTS = """
delta = 1e-6
[[event]]
kind = "pure"
epsilon = 0.01
times = 1000
[[event]]
kind = "parallel"
label = "by region"
part = [{kind = "pure", epsilon = 0.1}, {kind = "pure", epsilon = 0.3}]
"""


def asked(run: Run, *words: str) -> dict[str, Any]:
    return run("budget", *words, "--json").done


def written(folder: Path, text: str, name: str = "events.toml") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_a_list_of_events_is_totalled_by_every_account(tmp_path, run):
    found = asked(run, "compose", written(tmp_path, EVENTS))
    assert set(found["totals"]) == {"basic", "advanced", "optimal", "zcdp", "rdp-classic", "rdp", "pld"}
    assert found["totals"]["basic"] == pytest.approx(10.3)
    assert found["epsilon"] == found["totals"][found["best"]] == min(filter(None, found["totals"].values())) < 2
    assert found["relation"] == "zero-out"
    assert found["replace_one"]["epsilon"] == 2 * found["epsilon"]
    text = run("budget", "compose", str(tmp_path / "events.toml"), "--delta", "0").shown
    assert re.search(r"^basic +10\.3000 +← best$", text, re.MULTILINE)
    assert "needs a delta above that of the releases" in text


def test_json_is_read_as_toml_is(tmp_path, run):
    plain = {"delta": 1e-5, "event": [{"kind": "gaussian", "sigma": 6, "sensitivity": 2, "rows_per_person": 2}]}
    found = asked(run, "compose", written(tmp_path, json.dumps(plain), "events.json"))
    alone = asked(run, "compose", written(tmp_path, 'event = [{kind = "gaussian", sigma = 1.5}]'), "--delta", "1e-5")
    assert found["epsilon"] == alone["epsilon"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there are no events"),
        ("delta = 2\n[[event]]\nkind='pure'\nepsilon=1", "delta is not"),
        ("[[event]]\nepsilon=1", "the event has no kind"),
        ("[[event]]\nkind='puer'\nepsilon=1", "did you mean 'pure'"),
        ("[[event]]\nkind='pure'\nepsilon=nan", "epsilon = nan"),
        ("[[event]]\nkind='pure'\nepsilon='a'", "epsilon = 'a'"),
        ("[[event]]\nkind='pure'", "epsilon is missing"),
        ("[[event]]\nkind='pure'\nepsilon=1\nsigma=2", "'sigma' is not a key of pure"),
        ("[[event]]\nkind='gaussian'\nsigma=-1", "sigma = -1"),
        ("[[event]]\nkind='gaussian'\nsigma=1", "no method applies"),
        ("[[event]]\nkind='pure'\nepsilon=1\ntimes=0", "times = 0"),
        ("[[event]]\nkind='poisson-gaussian'\nsigma=1\nsteps=3\nrows=4", "rows is given together with"),
        ("[[event]]\nkind='parallel'\npart=[]", "no list of events"),
        ("spent = 3", "'spent' is not a key"),
        ("[[event", "not TOML"),
    ],
)
def test_a_list_that_cannot_be_totalled_is_refused_in_one_sentence(tmp_path, run, text, said):
    assert said in run("budget", "compose", written(tmp_path, text)).error()


def test_an_event_survives_being_written_down():
    plain = [
        {"kind": "pure", "epsilon": "0.1", "times": 3, "label": "counts"},
        {"kind": "approximate", "epsilon": "0.1", "delta": "1E-7"},
        {"kind": "zcdp", "rho": 0.5},
        {"kind": "gaussian", "sigma": 2.0, "rows_per_person": 2},
        {"kind": "poisson-gaussian", "sigma": 1.0, "sample_rate": 0.1, "steps": 7},
        {"kind": "parallel", "part": [{"kind": "pure", "epsilon": "0.2"}]},
    ]
    event = events_of(plain)
    assert alternatives(from_plain(to_plain(event))) == alternatives(event)
    deep: dict[str, Any] = {"kind": "pure", "epsilon": 1}
    for _ in range(30):
        deep = {"kind": "all", "event": [deep]}
    with pytest.raises(ParameterError, match="levels deep"):
        from_plain(deep)


def test_the_open_figure_of_a_run_is_found(run):
    given = ("--rows", "6000", "--delta", "1e-5", "--batch", "60", "--accountant", "rdp")
    found = asked(run, "solve", *given, "--epsilon", "2", "--epochs", "5")
    assert found["solved"] == "noise"
    assert found["epsilon"] <= 2
    again = asked(run, "solve", *given, "--noise", repr(found["noise_multiplier"]), "--epsilon", "2")
    assert again["epochs"] == 5
    assert run("budget", "solve", *given, "--noise", "1", "--epochs", "5").shown.startswith("epsilon at most ")


def test_the_open_figure_of_a_run_in_bands_is_that_of_the_run(run):
    given = ("--rows", "6000", "--delta", "1e-5", "--bands", "4", "--accountant", "rdp")
    found = asked(run, "solve", *given, "--noise", "1", "--epochs", "5", "--batch", "60")
    one = ("--noise", "1", "--epochs", "5", "--batch", "60")
    assert found["epsilon"] == asked(run, "dpsgd", *given, *one)["epsilon"]
    assert found["bands"] == 4
    largest = asked(run, "solve", *given, "--noise", "30", "--epochs", "1", "--epsilon", "100")["batch"]
    assert 1400 < largest <= 1500  # each of 4 parts of the rows holds a batch
    assert "4 bands" in run("budget", "solve", *given, *one).shown


def test_the_calculators_give_the_golden_figures(golden_entries, run):
    keys = {
        "staircase_gamma_L1": "gamma_absolute",
        "staircase_gamma_L2": "gamma_variance",
        "staircase_min_E_abs": "expected_absolute_error",
        "staircase_min_variance": "variance",
    }
    seen = set()
    for entry in golden_entries:
        inputs = entry["inputs"]
        if entry["name"] in keys:
            value = asked(run, "staircase", "--epsilon", str(inputs["eps"]))[keys[entry["name"]]]
        elif entry["name"] in ("grr_p", "grr_nvar_f0"):
            words = ("--epsilon", str(inputs["eps"]), "--values", str(inputs["k"]), "--rows", "1")
            found = asked(run, "randomised-response", *words)
            value = found["truth"] if entry["name"] == "grr_p" else found["share_sd"] ** 2
        elif entry["name"] == "laplace_var_range2":
            value = asked(run, "laplace", "--epsilon", str(inputs["eps"]), "--sensitivity", "2")["variance"]
        elif entry["name"] == "group_privacy_eps":
            value = asked(run, "group", "--epsilon", str(inputs["eps"]), "--rows", str(inputs["m"]))["epsilon"]
        else:
            continue
        assert value == pytest.approx(entry["value"], abs=max(entry["tolerance"], 1e-9)), entry
        seen.add(entry["name"])
    assert seen == {*keys, "grr_p", "grr_nvar_f0", "laplace_var_range2", "group_privacy_eps"}


def test_shuffling_never_costs_more_than_the_report_itself_and_less_with_more_reports(run):
    few, many = (asked(run, "shuffle", "--epsilon", "1", "--delta", "1e-6", "--rows", rows) for rows in ("10", "10000"))
    assert few["closed_form"] is None
    assert many["epsilon"] < 0.1 < few["epsilon"] <= 1
    assert many["epsilon"] <= many["closed_form"]


@pytest.mark.parametrize("bands", [1, 5])
def test_the_curves_of_a_run_are_a_csv_file(tmp_path, run, monkeypatch, bands):
    monkeypatch.setattr(run_curves, "POINTS", 3)
    monkeypatch.setattr(run_curves, "HEAT_POINTS", 2)
    given = shlex.split(f"--rows 600 --batch 60 --noise 2 --epochs 2 --delta 1e-4 --accountant rdp --bands {bands}")
    target = tmp_path / "curves.csv"
    found = asked(run, "dpsgd", *given, "--curves", str(target))
    lines = list(csv.DictReader(target.read_text(encoding="utf-8").splitlines()))
    assert found["curves"] == str(target)
    assert {line["plot"] for line in lines} == {"order", "rows", "batch", "sigma", "epochs", "delta", "sigma_batch"}
    here = [line for line in lines if line["plot"] == "sigma" and line["accountant"] == "rdp"]
    middle = min(here, key=lambda line: abs(float(line["x"]) - 2))
    assert float(middle["epsilon"]) == pytest.approx(found["epsilon"], rel=0.05)
    sigmas = [float(line["epsilon"]) for line in here]
    assert sigmas == sorted(sigmas, reverse=True)


# -- ``workbench budget`` to the letter of its contract ---------------------------------------------------------------


MNIST = ["--rows", "60000", "--batch", "64", "--noise", "1", "--epochs", "15", "--delta", "1e-5"]


@pytest.mark.parametrize(
    ("accountant", "epsilon", "order", "tolerance"),
    [("rdp-classic", 1.1663206747, 13, 1e-4), ("rdp", 0.8725321872, 13, 1e-3), ("pld", 0.6110918558, None, 2e-3)],
)
def test_the_published_run_costs_what_is_published(run, accountant, epsilon, order, tolerance):
    result = run("budget", "dpsgd", *MNIST, "--accountant", accountant, "--json").done
    assert result["epsilon"] == pytest.approx(epsilon, abs=tolerance)
    assert result["epsilon"] >= epsilon - 1e-9
    assert result["order"] == order
    assert result["steps"] == 14_070
    assert result["sample_rate"] == 64 / 60_000
    assert result["replace_one"]["epsilon"] == 2 * result["epsilon"]


def test_pld_is_the_default_and_the_text_rounds_up(run):
    result = run("budget", "dpsgd", *MNIST, "--json").done
    assert result["accountant"] == "pld"
    shown = float(run("budget", "dpsgd", *MNIST).shown.split()[3])
    assert result["epsilon"] <= shown < result["epsilon"] + 1e-4


def test_a_run_whose_steps_share_noise_costs_what_its_turns_cost(run):
    result = run("budget", "dpsgd", *MNIST, "--bands", "8", "--accountant", "rdp", "--json").done
    alone = loss(PoissonGaussian(8 * 64 / 60_000, 1.0, -(-14_070 // 8)), 1e-5, "rdp")
    assert result["epsilon"] == alone.epsilon
    assert (result["bands"], result["steps"]) == (8, 14_070)
    assert "at one step in every 8" in run("budget", "dpsgd", *MNIST, "--bands", "8").shown
    assert "at one step" not in run("budget", "dpsgd", *MNIST).shown


def test_gaussian_gives_the_analytic_sigma(run):
    result = run("budget", "gaussian", "--epsilon", "1", "--delta", "1e-5", "--sensitivity", "1", "--json").done
    assert result["sigma"] == pytest.approx(3.730631634815942, abs=1e-7)
    assert "too small" in run("budget", "gaussian", "--epsilon", "10", "--delta", "1e-5", "--sensitivity", "1").shown


def test_belief_gives_both_bounds_and_the_note(run):
    result = run("budget", "belief", "--epsilon", "0.5", "--prior", "0.1", "--json").done
    assert result["high"] == pytest.approx(0.15482810, abs=1e-8)
    assert result["low"] == pytest.approx(0.06313733, abs=1e-8)
    assert "δ > 0" in result["note"]
    assert result["replace_one"]["high"] == pytest.approx(0.1 / (0.1 + 0.9 * math.exp(-1)), abs=1e-12)
    shown = run("budget", "belief", "--epsilon", "0.5", "--prior", "0.1").shown
    assert "at most 0.1548" in shown
    assert "synthetic rows or a model: at most 0.232 and at least 0.03927, by the replace-one figure" in shown
    assert "of the release" not in run("budget", "belief", "--help").shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dpsgd", *MNIST[:-2], "--delta", "0"], "--delta"),
        (["dpsgd", *MNIST[:-2], "--delta", "nan"], "--delta"),
        (["dpsgd", *MNIST[:-2]], "--delta"),
        (["dpsgd", *MNIST, "--accountant", "pdl"], "did you mean 'pld'"),
        (["dpsgd", *MNIST[:3], "60001", *MNIST[4:]], "larger than the table"),
        (["dpsgd", *MNIST, "--noise", "0"], "--noise"),
        (["dpsgd", *MNIST, "--bands", "65"], "--bands"),
        (["dpsgd", *MNIST[:3], "2000", *MNIST[4:], "--bands", "31"], "give bands of at most 30"),
        (["dpsgd", *MNIST, "--epochs", "1.5"], "--epochs"),
        (["gaussian", "--epsilon", "1e999", "--delta", "1e-5", "--sensitivity", "1"], "--epsilon"),
        (["gaussian", "--epsilon", "1", "--delta", "1", "--sensitivity", "1"], "--delta"),
        (["belief", "--epsilon", "1", "--prior", "1.5"], "--prior"),
        (["compose", "no-events.json"], "does not exist"),
        (
            ["solve", "--rows", "100", "--delta", "1e-5", "--noise", "1"],
            "of epsilon, sigma, epochs and batch are not given",
        ),
        (["shuffle", "--epsilon", "1", "--rows", "0", "--delta", "1e-6"], "--rows"),
        (["group", "--epsilon", "5", "--delta", "0.1", "--rows", "9"], "guarantees nothing"),
        (["gaussien"], "gaussien"),
        ([], "dpsgd|gaussian|belief"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_2(run, words, said):
    assert said in run("budget", *words).error()


def test_shuffling_can_be_simulated_beside_its_bound(run, monkeypatch):
    monkeypatch.setattr("workbench.studies.trust_models.COLLECTIONS", 50_000)
    words = ["budget", "shuffle", "--epsilon", "3", "--rows", "1000", "--delta", "1e-6", "--simulate"]
    result = run(*words, "--values", "3", "--repeats", "50", "--json").done
    found = result["simulated"]
    assert found["epsilon_lower"] <= found["epsilon_attack"] <= result["epsilon"]
    errors = {model: of["mean"] for model, of in found["errors"]["shares"].items()}
    assert errors["central"] < errors["shuffled"] < errors["local"]
    assert "times smaller with shuffled reports" in run(*words, "--repeats", "50").shown
    assert "simulated" not in run(*words[:-1], "--json").done


# -- What the command says of an ε is what the sections say, for a whole person ---------------------------------------


def test_epsilon_is_explained_for_a_person_with_several_rows(run):
    told = run("explain", "--epsilon", "0.5", "--delta", "1e-6", "--rows-per-person", "3", "--json").json
    assert (told["epsilon"], told["delta"]) == group(0.5, 1e-6, 3)
    assert [s["title"] for s in told["sections"]] == [s.title for s in sections(1.5, told["delta"])]
    assert [s["text"] for s in told["sections"]] == [list(s.text) for s in sections(1.5, told["delta"])]


def test_three_answers_lead_to_a_range_with_reasons_and_sources(run):
    words = ["explain", "--reader", "contract", "--knowledge", "some", "--purpose", "model"]
    told = run(*words, "--json").json["advice"]
    assert (told["low"], told["high"]) == (0.5, 3.0)
    assert told["published"] == ["Wikimedia", "Google", "Google", "Apple", "Google"]
    assert len(told["reasons"]) == 4
    text = run(*words).out
    assert "A starting range: ε = 0.5 to 3" in text
    assert "arXiv 2002.05839" in text
    assert max(map(len, text.splitlines())) < 200


# -- ``ledger cap`` with one of its two caps alone --------------------------------------------------------------------


CAP = ("ledger", "cap", "people.csv", "--ledger", "l.sqlite")


def caps(run: Run) -> tuple[float | None, float | None]:
    (account,) = run("ledger", "show", "--ledger", "l.sqlite", "--json").json["accounts"]
    return account["cap_epsilon"], account["cap_delta"]


def test_the_cap_of_delta_can_be_set_alone_and_that_of_epsilon_stays(folder, run):
    assert run(*CAP, "--epsilon", "4.5").code == 0
    assert run(*CAP, "--delta", "1e-5").code == 0
    assert caps(run) == (4.5, 1e-5)
    assert run(*CAP, "--delta", "2e-5").code == 0
    assert run(*CAP, "--epsilon", "6").code == 0
    assert caps(run) == (6.0, 2e-5)


def test_a_cap_of_delta_alone_is_refused_where_none_of_epsilon_stands_and_nothing_is_recorded(folder, run):
    said = run(*CAP, "--delta", "1e-5").error()
    assert "no cap of epsilon is set yet (--delta); give --epsilon as well" in said
    with Ledger.open(folder / "l.sqlite") as ledger:
        assert list(ledger.entries()) == []


def test_a_cap_without_a_number_is_refused(folder, run):
    assert "no cap is given (ledger cap); give --epsilon, --delta or both" in run(*CAP).error()

"""``workbench budget``: what a release would cost, and what that means; touches no data."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.cli.budget_calculators import CALCULATORS, Action
from workbench.cli.budget_totals import SolveBudget, composed, composed_text, solved, solved_text
from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.tables import figure
from workbench.params import Parameters, choice, integer, real
from workbench.privacy.accounting.accountant import ACCOUNTANTS, LEAST_NOISE, MOST_NOISE, event_of, loss
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.accounting.gaussian import analytic_sigma, classic_sigma, gaussian_delta
from workbench.privacy.accounting.neighbours import RELATION, replace_one
from workbench.privacy.accounting.posterior import DELTA_NOTE, posterior
from workbench.privacy.accounting.run_curves import TrainingRun, csv_lines
from workbench.release.atomic import write_output


@dataclass(frozen=True, kw_only=True)
class DpSgdBudget(Parameters):
    """A DP-SGD run as its accountant sees it."""

    rows: int = integer(at_least=1, upto=10**12, help="rows of the table, public")
    batch: int = integer(at_least=1, upto=10**12, help="expected rows of a batch")
    noise: float = real(at_least=LEAST_NOISE, upto=MOST_NOISE, symbol="σ", help="noise over clipping norm")
    epochs: int = integer(at_least=1, upto=10**9, help="expected passes over the table")
    delta: float = real(above=0, below=1, symbol="δ", help="chance that the guarantee fails")
    accountant: str = choice(choices=ACCOUNTANTS, default="pld", help="pld, rdp, or the published rdp-classic")


@dataclass(frozen=True, kw_only=True)
class GaussianBudget(Parameters):
    """A Gaussian release of a vector."""

    epsilon: float = real(above=0, upto=1e6, symbol="ε", help="privacy loss")
    delta: float = real(above=0, below=1, symbol="δ", help="chance that the guarantee fails")
    sensitivity: float = real(above=0, upto=1e9, symbol="Δ", help="L2 sensitivity of the whole vector")


@dataclass(frozen=True, kw_only=True)
class BeliefBudget(Parameters):
    """What someone believes before a release."""

    epsilon: float = real(at_least=0, upto=1e6, symbol="ε", help="privacy loss of the release")
    prior: float = real(at_least=0, upto=1, symbol="p", help="belief before the release, a probability")


def _configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join([*_ACTIONS, "compose"]))
    for name, (stated, parameters, _, _) in _ACTIONS.items():
        sub = actions.add_parser(name, help=stated, description=stated, allow_abbrev=False)
        add_options(sub, parameters)
        if name == "dpsgd":
            sub.add_argument("--curves", type=Path, metavar="CSV", help="write epsilon against every figure of the run")
        _add_json(sub)
    stated = "total of a list of events by every account, the best one marked"
    compose = actions.add_parser("compose", help=stated, description=stated, allow_abbrev=False)
    compose.add_argument("file", type=Path, metavar="FILE", help="a list of events, TOML or JSON")
    compose.add_argument("--delta", metavar="δ", help="delta of the whole (default: the one in the file, else 0)")
    _add_json(compose)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if options.action == "compose":
        return {"of": "compose", **composed(options)}
    _, parameters, compute, _ = _ACTIONS[options.action]
    asked = read_options(options, parameters)
    result = {"of": options.action, **compute(asked)}
    if isinstance(asked, DpSgdBudget) and options.curves is not None:
        run = TrainingRun(asked.rows, asked.batch, asked.noise, asked.epochs, asked.delta)
        lines = list(csv_lines(run, context.cancel))
        write_output(options.curves, "".join(f"{line}\n" for line in lines).encode())
        result["curves"] = str(options.curves)
    return result


def _text(result: Mapping[str, Any]) -> str:
    return composed_text(result) if result["of"] == "compose" else _ACTIONS[result["of"]][3](result)


def _dpsgd(asked: DpSgdBudget) -> dict[str, Any]:
    event = event_of(asked.rows, asked.batch, asked.epochs, asked.noise)
    bound = loss(event, asked.delta, asked.accountant)
    other = replace_one(bound.epsilon, asked.delta)
    return {
        "epsilon": bound.epsilon,
        "order": bound.order,
        "steps": event.steps,
        "sample_rate": event.sample_rate,
        "delta": asked.delta,
        "noise_multiplier": asked.noise,
        "accountant": asked.accountant,
        "discretisation": bound.discretisation,
        "relation": RELATION,
        "replace_one": {"epsilon": other[0], "delta": other[1]},
    }


def _dpsgd_text(result: Mapping[str, Any]) -> str:
    by = f"order {result['order']:g}" if result["order"] else f"loss grid {result['discretisation'] or 0:.2g}"
    other = result["replace_one"]
    return "\n".join(
        [
            f"epsilon at most {round_up(result['epsilon'], 4)} at delta = {result['delta']:g} "
            f"({result['accountant']}, {by})",
            f"{result['steps']} steps, each row in a batch with probability {figure(result['sample_rate'])}",
            f"neighbours: {result['relation']}; replacing one row: epsilon {round_up(other['epsilon'], 4)}, "
            f"delta {figure(other['delta'])}",
        ]
    )


def _gaussian(asked: GaussianBudget) -> dict[str, Any]:
    textbook = classic_sigma(asked.epsilon, asked.delta, asked.sensitivity)
    return {
        "sigma": analytic_sigma(asked.epsilon, asked.delta, asked.sensitivity),
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        "sensitivity": asked.sensitivity,
        "textbook_sigma": textbook,
        "textbook_delta": gaussian_delta(asked.epsilon, textbook, asked.sensitivity),
    }


def _gaussian_text(result: Mapping[str, Any]) -> str:
    private = result["textbook_delta"] <= result["delta"]
    verdict = "is larger than needed" if private else f"is too small: its delta is {result['textbook_delta']:.3g}"
    return (
        f"sigma = {round_up(result['sigma'], 6)} (analytic Gaussian, Balle & Wang 2018)\n"
        f"the textbook's {figure(result['textbook_sigma'])} {verdict}"
    )


def _belief(asked: BeliefBudget) -> dict[str, Any]:
    belief = posterior(asked.epsilon, asked.prior)
    return {
        "low": belief.low,
        "high": belief.high,
        "epsilon": asked.epsilon,
        "prior": asked.prior,
        "note": DELTA_NOTE,
    }


def _belief_text(result: Mapping[str, Any]) -> str:
    return (
        f"someone who gave it {result['prior']:.4g} before can come to at most {result['high']:.4g} "
        f"and at least {result['low']:.4g}\n{result['note']}"
    )


_ACTIONS: dict[str, Action] = {
    "dpsgd": ("cost of a DP-SGD run before it starts", DpSgdBudget, _dpsgd, _dpsgd_text),
    "gaussian": ("noise of a Gaussian release", GaussianBudget, _gaussian, _gaussian_text),
    "belief": ("how far a belief can move", BeliefBudget, _belief, _belief_text),
    "solve": ("any one of epsilon, noise, epochs and batch from the others", SolveBudget, solved, solved_text),
    **CALCULATORS,
}

COMMAND = Command(
    name="budget",
    help="what a release would cost, and what its epsilon means; touches no data",
    example="workbench budget dpsgd --rows 60000 --batch 64 --noise 1 --epochs 15 --delta 1e-5",
    configure=_configure,
    run=_run,
    text=_text,
)

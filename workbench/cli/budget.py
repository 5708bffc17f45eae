"""``workbench budget``: the cost of one or more releases and what it means; reads no data."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import columns_text, filled
from workbench.params.amounts import counted
from workbench.params.field import named
from workbench.privacy.accounting import totals
from workbench.privacy.accounting.budget_calculators import (
    QUESTIONS,
    ComposeBudget,
    DpSgdBudget,
    ShuffleBudget,
    composed,
)
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.accounting.run_curves import csv_lines
from workbench.release.atomic import write_output
from workbench.studies.trust_models import Simulation, compare_trust

COMPOSE = "compose"


def _configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join([*QUESTIONS, COMPOSE]))
    for name, question in QUESTIONS.items():
        sub = actions.add_parser(name, help=question.help)
        add_options(sub, question.parameters)
        if question.parameters is DpSgdBudget:
            sub.add_argument("--curves", type=Path, metavar="CSV", help="write epsilon against every figure of the run")
        if question.parameters is ShuffleBudget:
            stated = "also simulate it: errors compared with local reports and central noise, and privacy leakage"
            sub.add_argument("--simulate", action="store_true", help=stated)
            add_options(sub, Simulation)
    sub = actions.add_parser(COMPOSE, help="total of a list of events by every accountant, with the best one marked")
    sub.add_argument("file", type=Path, metavar="FILE", help="a list of events, TOML or JSON")
    add_options(sub, ComposeBudget)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if options.action == COMPOSE:
        return {"of": COMPOSE, **composed(options.file, read_options(options, ComposeBudget).delta)}
    question = QUESTIONS[options.action]
    asked = read_options(options, question.parameters)
    result = {"of": options.action, **question.answer(asked)}
    if isinstance(asked, DpSgdBudget) and options.curves is not None:
        lines = csv_lines(asked.run(), context.cancel)
        write_output(options.curves, "".join(f"{line}\n" for line in lines).encode())
        result["curves"] = str(options.curves)
    if isinstance(asked, ShuffleBudget) and options.simulate:
        simulation = read_options(options, Simulation)
        found = compare_trust(asked.epsilon, asked.rows, asked.delta, simulation, context.emit, context.cancel)
        result["simulated"] = found.to_plain()
    return result


def _text(result: Mapping[str, Any]) -> str:
    more = _MORE[result["of"]](result) if result["of"] in _MORE else {}
    return "\n".join([filled(_WORDS[result["of"]], {**result, **more}), *_simulated(result)])


def _simulated(result: Mapping[str, Any]) -> list[str]:
    found = result.get("simulated")
    if found is None:
        return []
    rows = [
        (model, *(f"{found['errors'][of][model]['mean']:.3g}" for of in ("shares", "mean")))
        for model in found["errors"]["shares"]
    ]
    header = ("at this epsilon", "error of a share", "of a mean (0 to 1)")
    return ["", columns_text(header, rows, right=(1, 2)), "", *found["sentences"]]


_WORDS = {
    "dpsgd": "epsilon at most {epsilon:up4} at delta = {delta:g} ({accountant}, {by})\n"
    "{steps:n step}, each row in a batch with probability {sample_rate:figure}{turns}\n"
    "neighbours: {relation}; replacing one row: epsilon {replace_one[epsilon]:up4}, delta {replace_one[delta]:figure}",
    "gaussian": "sigma = {sigma:up6} (analytic Gaussian, Balle & Wang 2018)\n"
    "the textbook's {textbook_sigma:figure} {verdict}",
    "belief": "a prior belief of {prior:.4g} can rise to at most {high:.4g} and fall to at least {low:.4g}\nThis is "
    "for a fact about a person in noisy rows, and in any release for whether the person's row was in the table "
    "or empty. For a fact in statistics, synthetic rows or a model: at most {replace_one[high]:.4g} and at least "
    "{replace_one[low]:.4g}, by the replace-one figure (at most 2 epsilon)\n{note}",
    "solve": "{found}, with {given} at delta = {delta:g} ({accountant})",
    "laplace": "scale b = {scale:up6}; expected absolute error {expected_absolute_error:figure}, variance "
    "{variance:figure}\n95 % of the noise is within ± {within_95:figure}",
    "staircase": "least expected absolute error {expected_absolute_error:figure} at gamma = {gamma_absolute:figure} "
    "(Laplace: {laplace_absolute_error:figure})\n"
    "least variance {variance:figure} at gamma = {gamma_variance:figure} (Laplace: {laplace_variance:figure})",
    "randomised-response": "the true answer with probability {truth:figure}, each other one with {other:figure}\nfor "
    "{rows:n person/people}, the share of a rare answer is estimated to ± {share_sd:figure} (one standard "
    "deviation)",
    "shuffle": "epsilon at most {epsilon:up6} at delta = {delta:g} for the shuffled reports "
    "(Feldman, McMillan & Talwar 2021; the closed form {closed})\n"
    "neighbours: replace-one. It holds only if {trust}.",
    "group": "a person with {rows:n row}: epsilon {epsilon:figure}, delta {delta:figure}\n"
    "If the mechanism is known, `budget compose` with rows_per_person may give a smaller cost.",
    COMPOSE: "all events together at delta = {delta:g}, neighbours: {relation}\n\n{table}\n\n"
    "best: {title}; replacing one row: epsilon {replace_one[epsilon]:up4}, delta {replace_one[delta]:.3g}\n"
    "These totals are valid only for releases that were chosen in advance.",
}
"""What a person reads of each result."""


def _accountant(result: Mapping[str, Any]) -> dict[str, str]:
    order, grid = result["order"], result["discretisation"] or 0
    turns = f" at one step in every {result['bands']} only" if result["bands"] > 1 else ""
    return {"by": f"order {order:g}" if order else f"loss grid {grid:.2g}", "turns": turns}


def _textbook(result: Mapping[str, Any]) -> dict[str, str]:
    large = result["textbook_delta"] <= result["delta"]
    return {
        "verdict": "is larger than needed" if large else f"is too small: its delta is {result['textbook_delta']:.3g}"
    }


def _found(result: Mapping[str, Any]) -> dict[str, str]:
    stated = {
        "epsilon": f"epsilon at most {round_up(result['epsilon'], 4)}",
        "noise": f"noise multiplier {round_up(result['noise_multiplier'], 5)}",
        "epochs": counted(result["epochs"], "epoch"),
        "batch": f"batches of {counted(result['batch'], 'row')}",
    }
    found = stated.pop(result["solved"])
    if result["bands"] > 1:
        stated["bands"] = f"{result['bands']} bands"
    return {"found": found, "given": ", ".join(stated.values())}


def _closed_form(result: Mapping[str, Any]) -> dict[str, str]:
    closed = result["closed_form"]
    return {"closed": "does not hold for so few reports" if closed is None else f"would give {round_up(closed, 4)}"}


def _accounts(result: Mapping[str, Any]) -> dict[str, str]:
    rows = []
    for method, epsilon in result["totals"].items():
        mark = "← best" if method == result["best"] else result["refused"].get(method, "")
        shown = "–"
        if epsilon is not None:  # a sum that a person wrote in decimals keeps its digits
            shown = str(Decimal(repr(epsilon)).quantize(Decimal("0.0001"), rounding=ROUND_CEILING))
        rows.append((method, shown, mark))
    return {
        "table": columns_text(("account", "epsilon at most", ""), rows, right=(1,)),
        "title": named(totals.MIXED_ACCOUNTANTS, result["best"], "accountant").title,
    }


_MORE: dict[str, Callable[[Mapping[str, Any]], dict[str, str]]] = {
    "dpsgd": _accountant,
    "gaussian": _textbook,
    "solve": _found,
    "shuffle": _closed_form,
    COMPOSE: _accounts,
}
"""Words that depend on a result."""


COMMAND = Command(
    "workbench budget dpsgd --rows 60000 --batch 64 --noise 1 --epochs 15 --delta 1e-5", _configure, _run, _text
)

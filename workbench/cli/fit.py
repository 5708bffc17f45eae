"""``workbench fit``: train one private model and release it, or learn from a release at no cost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench import learners
from workbench.cli import fit_on_release
from workbench.cli.command import Command, Context
from workbench.cli.models import TARGET_HELP, add_parameters, one_of, read_parameters
from workbench.cli.release_documents import (
    add_documents,
    asks_for_documents,
    check_documents,
    documents_text,
    write_documents,
)
from workbench.cli.tables import (
    add_account,
    add_data,
    add_ledger,
    add_release_output,
    charge,
    load_confirmed,
    read_data,
)
from workbench.cli.training import stopped_words
from workbench.learners import Learner, learner
from workbench.params import ParameterError
from workbench.params.field import RealField
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.preflight import preflight
from workbench.release.model.release_learner import columns_of, release_fit
from workbench.release.model.stopped_training import charge_text
from workbench.signals import Notice, Progress

_EPSILON = RealField(help="privacy loss of the model", symbol="ε", at_least=EPSILON_LEAST, upto=EPSILON_MOST)


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser, required=False)
    parser.add_argument("--target", required=True, metavar="COL", help=TARGET_HELP)
    parser.add_argument("--model", required=True, metavar="MODEL", help=one_of(learners.LEARNERS))
    each = ", ".join(model.name for model in learners.LEARNERS if model.each_prediction)
    of_each = f"; for {each}: of each prediction, times the rows that --ask names" if each else ""
    parser.add_argument("--epsilon", metavar="ε", help=f"{_EPSILON.help}{of_each}")
    pure = ", ".join(model.name for model in learners.LEARNERS if not _has_delta(model))
    parser.add_argument("--delta", metavar="δ", help=f"for models that need it; not for {pure} (delta = 0)")
    parser.add_argument("--bounds", type=Path, metavar="PLAN", help="plan with public bounds and domains")
    add_release_output(parser, "a new folder for the model and its card")
    add_ledger(parser)
    add_account(parser)
    add_documents(parser)
    fit_on_release.add_release(parser)
    add_parameters(parser)


def _has_delta(model: Learner) -> bool:
    return "delta" in model.parameters.declared()


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if fit_on_release.asks_for_release(options):
        if asks_for_documents(options):
            what = "documents of a model that learns from a release are made afterwards"
            raise ParameterError(what, hint="see `workbench certificate --help`")
        return fit_on_release.run(options, context)
    chosen = learner(options.model)
    epsilon = _EPSILON.parse(options.epsilon, "--epsilon")
    given: dict[str, Any] = {"epsilon": epsilon}
    if options.delta is not None:
        if not _has_delta(chosen):
            raise ParameterError(f"the model {chosen.name} has delta = 0", hint="leave --delta out")
        given["delta"] = chosen.parameters.declared()["delta"].parse(options.delta, "--delta")
    parameters = read_parameters(options, chosen, **given)
    check_documents(options, options.data, options.bounds, options.ledger)
    plan = load_confirmed(options.bounds, options.account)
    features, target = columns_of(plan, options.target)
    table = read_data(options, context, plan)
    table.require([c.name for c in (*features, target)])
    context.emit(Progress(0, 1, chosen.title))
    found = preflight(chosen, parameters, plan, options.target, plan.rows_of(table).rows)
    if found.made_of:
        context.emit(Notice("info", f"before it starts: {found.made_of}"))

    stopped = charge_text(options.output, options.ledger, context.emit, stopped_words)
    with stopped, Ledger.open(options.ledger) as ledger:
        done = release_fit(
            chosen,
            parameters,
            plan,
            options.target,
            table,
            options.output,
            ledger,
            context.emit,
            agreed=found.epsilon,
            replace=options.replace,
        )
    for sentence in found.warnings:
        context.emit(Notice("warning", f"not covered by epsilon: {sentence}"))
    return {
        "model": chosen.name,
        "epsilon_charged": float(done.epsilon),
        "epsilon_remaining": float(done.remaining),
        "release_id": done.release_id,
        "output": str(done.output),
        **({"uses": done.uses} if done.uses else {}),
        **({"predictions": found.predictions, "made_of": found.made_of} if found.made_of else {}),
        **write_documents(options, done.output, context),
    }


def _text(result: Mapping[str, Any]) -> str:
    if "on_release" in result:
        return fit_on_release.text(result)
    of = f" ({result['made_of']})" if "made_of" in result else ""
    return (
        f"released {result['model']} to {result['output']}\n"
        f"charged epsilon = {charge(result['epsilon_charged'])}{of}, {charge(result['epsilon_remaining'])} remain "
        f"(release {result['release_id']})"
        + (f"\n{result['uses']}" if "uses" in result else "")
        + documents_text(result)
    )


COMMAND = Command(
    name="fit",
    help="train one private model and release it with its card; or learn from a release at no cost",
    example="workbench plan sample:iris --epsilon 1 --target species -o trial.toml && workbench fit sample:iris "
    "--target species --model naive-bayes --epsilon 1 --bounds trial.toml -o model --ledger fit.sqlite",
    configure=_configure,
    run=_run,
    text=_text,
    releases=True,
)

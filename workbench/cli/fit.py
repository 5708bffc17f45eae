"""``workbench fit``: train and release a private model, or train on a release at no cost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench import learners
from workbench.cli.command import Command, Context, flag_of
from workbench.cli.common_options import (
    add_data,
    add_engine,
    add_join,
    charged_words,
    engine_of,
    load_confirmed,
    read_data,
    with_reading,
)
from workbench.cli.model_options import EPSILON, TARGET_HELP, add_parameters, given_flags, one_of, read_parameters
from workbench.cli.release_options import (
    add_release,
    asks_for_documents,
    check_documents,
    documents_text,
    warn_of,
    write_documents,
)
from workbench.cli.training_data import stopped_words
from workbench.data.cluster_parts import LOCAL
from workbench.data.table_reader import ReadOptions
from workbench.learners import learner
from workbench.params import ParameterError, counted, paid
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.on_release import require_declared, train_on_release
from workbench.release.model.paused_training import charge_text
from workbench.release.model.preflight import preflight
from workbench.release.model.release_learner import FitTask, columns_of, release_fit, require_sums
from workbench.sanitize.plan import load_plan
from workbench.signals import Notice, Progress

_OF_ROWS = ("join", "on", "epsilon", "delta", "account", "scheduler", "scheduler_file")
_NEEDED = {"data": "DATA", "epsilon": "--epsilon", "bounds": "--bounds"}


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser, required=False)
    add_join(parser)
    parser.add_argument("--target", metavar="COL", help=f"{TARGET_HELP}: such a model needs none")
    parser.add_argument("--model", required=True, metavar="MODEL", help=one_of(learners.LEARNERS))
    each = ", ".join(model.name for model in learners.LEARNERS if model.each_prediction)
    of_each = f"; for {each}: per prediction, times the rows in --ask" if each else ""
    parser.add_argument("--epsilon", metavar="ε", help=f"{EPSILON.help}{of_each}")
    pure = ", ".join(model.name for model in learners.LEARNERS if "delta" not in model.parameters.declared())
    parser.add_argument("--delta", metavar="δ", help=f"for models that need it; not for {pure} (delta = 0)")
    parser.add_argument("--bounds", "--plan", type=Path, metavar="PLAN", help="plan with public bounds and domains")
    able = ", ".join(model.name for model in learners.LEARNERS if model.sums)
    add_engine(parser, "added up", f"; models: {able}")
    add_release(parser, "a new folder for the model and its card")
    _add_released(parser)
    add_parameters(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if _asks_for_release(options):
        if asks_for_documents(options):
            what = "documents of a model trained on a release are made afterwards"
            raise ParameterError(what, hint="see `workbench certificate --help`")
        return _on_release(options, context)
    chosen = learner(options.model)
    parameters = read_parameters(options, chosen)
    workers = engine_of(options, context)
    if workers is not None:
        require_sums(chosen)
    check_documents(options, options.data, options.join, options.bounds, options.ledger)
    plan = with_reading(load_confirmed(options.bounds, options.account), options)
    features, target = columns_of(plan, options.target)
    table = read_data(options, context, plan)
    table.require([c.name for c in (features if options.target is None else (*features, target))])
    context.emit(Progress(0, 1, chosen.title))
    found = preflight(chosen, parameters, plan, options.target, plan.rows_of(table).rows)
    if found.made_of:
        context.emit(Notice("info", f"before it starts: {found.made_of}"))

    task = FitTask(
        chosen,
        parameters,
        plan,
        options.target,
        table,
        options.output,
        agreed=found.epsilon,
        replace=options.replace,
        workers=workers,
        cancel=context.cancel,
    )
    stopped = charge_text(options.output, options.ledger, context.emit, stopped_words)
    with stopped, Ledger.open(options.ledger) as ledger:
        done = release_fit(task, ledger, context.emit)
    warn_of(found.warnings, context)
    return {
        "model": chosen.name,
        "epsilon_charged": float(done.epsilon_charged),
        "epsilon_remaining": float(done.epsilon_remaining),
        "release_id": done.release_id,
        "output": str(done.output),
        **({"uses": done.uses} if done.uses else {}),
        **({"predictions": found.predictions, "made_of": found.made_of} if found.made_of else {}),
        **write_documents(options, done.output, context),
    }


def _text(result: Mapping[str, Any]) -> str:
    if "on_release" in result:
        return _on_release_text(result)
    of = f" ({result['made_of']})" if "made_of" in result else ""
    uses = f"\n{result['uses']}" if "uses" in result else ""
    written = f"released {learner(result['model']).title} to {result['output']}"
    return f"{written}\n{charged_words(result, of)}{uses}{documents_text(result)}"


def _add_released(parser: argparse.ArgumentParser) -> None:
    able = ", ".join(model.name for model in learners.LEARNERS if model.corrected is not None)
    group = parser.add_argument_group(
        "in place of DATA and --epsilon",
        "A model can learn from a released table, knowing from its certificate which public tables the values went "
        f"through. That costs nothing beyond the release. Models: {able}.",
    )
    group.add_argument("--on-release", type=Path, metavar="OUT", help="a released table to learn from, at no cost")
    group.add_argument("--certificate", type=Path, metavar="C", help="its certificate (default: beside it)")


def _asks_for_release(options: argparse.Namespace) -> bool:
    if options.on_release is None:
        missing = [said for name, said in _NEEDED.items() if getattr(options, name) is None]
        if options.certificate is not None:
            raise ParameterError("--certificate is for --on-release", hint="name the release, or leave it out")
        if missing:
            verb, them = ("is", "it") if len(missing) == 1 else ("are", "them")
            what = f"{_listed(missing)} {verb} missing"
            raise ParameterError(what, hint=(f"give {them}", "give a released table with --on-release"))
        return False
    if options.target is None:
        raise ParameterError("--target is missing", hint="give the column to predict")
    given = list(_given(options))
    if given:
        raise ParameterError(
            f"--on-release reads only a released table and its certificate, at no cost, and takes no {_listed(given)}",
            hint=f"leave {'it' if len(given) == 1 else 'them'} out, or --on-release",
        )
    return True


def _given(options: argparse.Namespace) -> Iterator[str]:
    """Yield what is given and belongs to a training on raw rows."""
    if options.data is not None:
        yield "DATA"
    yield from (f"--{name}" for name in _OF_ROWS if getattr(options, name) is not None)
    if options.engine != LOCAL:
        yield "--engine"
    for name in ReadOptions.declared():
        if getattr(options, f"{ReadOptions.__name__}.{name}") is not None:
            yield flag_of(ReadOptions, name)
    yield from given_flags(options)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _on_release(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    chosen = learner(options.model)
    if options.bounds is not None:
        require_declared(load_plan(options.bounds), options.on_release, options.certificate)
    made = train_on_release(
        chosen,
        options.on_release,
        options.certificate,
        options.target,
        options.output,
        context.emit,
        context.cancel,
        replace=options.replace,
    )
    return {
        "model": chosen.name,
        "epsilon_charged": 0.0,
        "release_id": made.release_id,
        "on_release": str(options.on_release),
        "epsilon_release": made.epsilon,
        "rows": made.rows,
        "outside_guarantee": made.card["outside_guarantee"],
        "output": str(options.output),
        **({"uses": made.uses} if made.uses else {}),
    }


def _on_release_text(result: Mapping[str, Any]) -> str:
    lines = [
        f"trained {learner(result['model']).title} on release {result['release_id']} "
        f"({counted(result['rows'], 'row')}) into {result['output']}",
        f"charged epsilon = 0: it costs nothing beyond the release, which was charged epsilon = "
        f"{paid(result['epsilon_release'])}",
        *([result["uses"]] if "uses" in result else []),
        *(f"not covered by epsilon: {sentence}" for sentence in result["outside_guarantee"]),
    ]
    return "\n".join(lines)


COMMAND = Command(
    "workbench plan sample:iris --epsilon 1 --target species -o trial.toml && workbench fit sample:iris "
    "--target species --model naive-bayes --epsilon 1 --bounds trial.toml -o model --ledger fit.sqlite",
    _configure,
    _run,
    _text,
    releases=True,
)

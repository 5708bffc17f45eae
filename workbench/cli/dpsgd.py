"""``workbench dpsgd``: train a network on a table or on images with differential privacy, and release it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.common_options import add_data, charged_words, figure
from workbench.cli.release_options import add_release, check_documents, documents_text, warn_of, write_documents
from workbench.cli.training_data import add_training, notify_remarks, read_training, stopped_words, training_of
from workbench.params import ParameterError, counted, paid
from workbench.params.errors import require
from workbench.release.checkpoint_folder import release_of
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.study_note import NOTED
from workbench.release.model.network_task import Checkpoints
from workbench.release.model.paused_training import charge_text, give_up
from workbench.release.model.release_network import NetworkRelease, release_training
from workbench.signals import Notice

SHOWN = "private figures are shown during training, so a run that is stopped stays charged in full"
QUIET = (
    "a quiet run shows nothing private: if stopped, it costs only the steps taken, or the full amount once an "
    "accuracy on public rows was shown"
)


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser, more=", or images: MNIST (IDX), CIFAR-10 (.bin), .npz, a folder or .zip of class folders")
    add_training(parser)
    parser.add_argument("--test", metavar="DATA", help="table or images like DATA to measure accuracy on")
    parser.add_argument(
        "--test-public", action="store_true", help="the test data are public: the accuracy on them goes on the card"
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="compute and show no private figure while it trains: stopping such a run before an accuracy was shown "
        "costs the steps taken alone",
    )
    parser.add_argument(
        "--resume", type=Path, metavar="DIR", help="go on with an interrupted run from the checkpoint in this folder"
    )
    parser.add_argument("--give-up", action="store_true", help="with --resume: end that run for good instead")
    parser.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="a new folder for the checkpoint, else among the program's files"
    )
    add_release(parser, "a new folder for the network, its card and its private metrics")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    plan = read_training(options)
    if options.resume is not None and options.checkpoint is not None:
        raise ParameterError("--checkpoint and --resume both give a checkpoint", hint="leave --checkpoint out")
    if options.give_up:
        return _given_up(options)
    if options.test_public and options.test is None:
        raise ParameterError("--test-public needs --test, which is missing", hint="give --test DATA")
    require("torch", "training a network")  # before anything is read or said of the run
    check_documents(options, options.data, options.bounds, options.ledger, options.test)
    work = training_of(options, context, plan)
    warn_of(work.found.warnings, context)
    notify_remarks(plan, work.task.features, context)
    resumed = "" if options.resume is None else release_of(options.resume)
    context.emit(Notice("info", QUIET if options.quiet else SHOWN))
    if not options.quiet or (work.task.test is not None and not work.task.test.public):
        context.emit(Notice("info", NOTED))
    kept = Checkpoints(options.checkpoint, options.resume)
    task = work.into(options.output, kept, quiet=options.quiet, replace=options.replace)
    stopped = charge_text(options.output, options.ledger, context.emit, stopped_words, resumed)
    with stopped, Ledger.open(options.ledger) as ledger:
        done = release_training(task, ledger, context.emit, context.cancel)
    return {**_result(done), **write_documents(options, options.output, context)}


def _given_up(options: argparse.Namespace) -> dict[str, Any]:
    if options.resume is None:
        raise ParameterError("--give-up needs the run to end", hint="give its checkpoint with --resume DIR")
    with Ledger.open(options.ledger) as ledger:
        release_id = release_of(options.resume)
        give_up(ledger, options.resume)
        release = ledger.release(release_id)
        assert release is not None
        remaining = ledger.account(release.dataset).remaining
    return {
        "release_id": release_id,
        "given_up": True,
        "epsilon_charged": float(release.epsilon),
        "epsilon_remaining": None if remaining is None else float(remaining),
    }


def _result(done: NetworkRelease) -> dict[str, Any]:
    """Return what the card says and what was measured; of a run that an earlier one had trained nothing was."""
    run, card = done.training, done.model.document
    stated = card["training"]
    return {
        "release_id": done.model.release_id,
        "epsilon_charged": float(done.model.epsilon_charged),
        "epsilon_remaining": float(done.model.epsilon_remaining),
        **({"published_earlier": True} if run is None else {}),
        "epsilon": float(done.model.epsilon_charged if run is None else run.cost.epsilon),
        "delta": float(done.model.delta_charged if run is None else run.cost.delta),
        "replace_one": card["guarantee"]["replace_one"],
        **{key: stated[key] for key in ("noise_multiplier", "sample_rate", "steps", "stopped")},
        "accuracy": done.accuracy,
        "accuracy_public": done.accuracy_public,
        **{name: getattr(run, name, None) for name in ("peak_memory_bytes", "predicted_peak_bytes", "device")},
        "seconds": None if run is None else round(run.seconds, 3),
        "output": str(done.model.output),
    }


def _text(result: Mapping[str, Any]) -> str:
    if result.get("given_up"):
        return f"the run is given up: it costs epsilon = {paid(result['epsilon_charged'])}, and nothing was released"
    accuracy = "" if result["accuracy"] is None else f"accuracy {result['accuracy']:.3f}"
    badge = "" if result["accuracy_public"] or not accuracy else " (private – not for release)"
    why = {"epochs": "all epochs", "cap": "stopped before the cap", "clock": "stopped by the clock"}[result["stopped"]]
    lines = [
        f"released the network to {result['output']}",
        f"{counted(result['steps'], 'step')} on {result['device'] or 'a device of an earlier run'} ({why}), "
        f"noise multiplier {figure(result['noise_multiplier'])}",
        charged_words(result, f" at delta = {result['delta']:g}"),
        accuracy + badge,
        f"{Path(result['output']) / 'private'} is not for release: exclude it when you copy the folder",
    ]
    return "\n".join(line for line in lines if line) + documents_text(result)


COMMAND = Command(
    "workbench plan sample:iris --epsilon 3 --target species -o trial.toml && workbench dpsgd sample:iris "
    "--target species --bounds trial.toml --network logistic --epsilon 3 --delta 1e-3 --batch 30 --epochs 20 --lr 1 "
    "--clip 1 -o network --ledger dpsgd.sqlite",
    _configure,
    _run,
    _text,
    releases=True,
)

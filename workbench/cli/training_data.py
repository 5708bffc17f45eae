"""Training data of ``dpsgd`` (a table or images), and the remaining charge of a training without a model."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path

from workbench.cli.command import Context, add_options, read_options
from workbench.cli.common_options import load_confirmed, read_data, read_other, with_reading
from workbench.cli.model_options import one_of
from workbench.data.images.arrays import TEST
from workbench.data.images.image_reader import ImageOptions, has_class_folders, is_image_set, read_images
from workbench.deep import networks
from workbench.deep.features import Features
from workbench.deep.networks import network
from workbench.deep.plan import DpSgdPlan
from workbench.params import InputError, ParameterError, counted, paid
from workbench.release.model.paused_training import (
    NOTHING,
    PAUSED,
    RESERVED,
    STEPS,
    UNKNOWN,
    WATCHED,
    StoppedCharge,
)
from workbench.release.model.preflight import Preflight, network_features
from workbench.release.model.training_work import TrainingWork, image_work, table_work
from workbench.sanitize.plan import Plan
from workbench.signals import Notice


def add_training(parser: argparse.ArgumentParser) -> None:
    """Add the options of a network's training: columns or images, the settings of DP-SGD, and trusted code."""
    parser.add_argument("--target", metavar="COL", help="the column of classes of a table")
    parser.add_argument(
        "--bounds", "--plan", type=Path, metavar="PLAN", help="plan with public bounds and domains of a table"
    )
    add_options(parser, ImageOptions)
    add_options(parser, DpSgdPlan, listed={"network": one_of(networks.NETWORKS)})
    parser.add_argument(
        "--trust-code", action="store_true", help="run the code that --network names as package.module:factory"
    )


def read_training(options: argparse.Namespace) -> DpSgdPlan:
    """Return the settings, after importing trusted code that they name."""
    import_trusted(getattr(options, "DpSgdPlan.network"), trusted=options.trust_code)
    return read_options(options, DpSgdPlan)


def training_of(options: argparse.Namespace, context: Context, plan: DpSgdPlan) -> TrainingWork:
    """Return the table, or the images, that DATA names."""
    return (image_training if is_image_set(options.data) else table_training)(options, context, plan)


def import_trusted(name: str, *, trusted: bool) -> None:
    """Import the code that ``name`` names where it is ``trusted``; refuse a name that is not known, or not trusted."""
    if trusted and ":" in name:
        from workbench.deep.user_network import trust

        trust(name)
    network(name)


def declared_table(options: argparse.Namespace) -> Plan:
    """Return the plan of a table to train on."""
    if read_options(options, ImageOptions) != ImageOptions():
        raise ParameterError("--classes, --image-size and --grey work only for images", hint="leave them out")
    for name in ("target", "bounds"):
        if getattr(options, name) is None:
            raise ParameterError(f"the option --{name} is missing", hint="a table needs --target COL and --bounds PLAN")
    return with_reading(load_confirmed(options.bounds, getattr(options, "account", None)), options)


def table_training(options: argparse.Namespace, context: Context, plan: DpSgdPlan) -> TrainingWork:
    """Return the table that DATA names, read as its plan says."""
    facts = declared_table(options)
    network_features(facts, options.target)  # refused before a row is read
    table = read_data(options, context, facts)
    test = None if options.test is None else read_other(options.test, options, context, facts)
    work = table_work(
        plan, facts, options.target, table, test, test_public=bool(test is not None and options.test_public)
    )
    _report_people(work.found, plan, context)
    return work


def image_training(options: argparse.Namespace, context: Context, plan: DpSgdPlan) -> TrainingWork:
    """Return the images that DATA names.

    What is public of them comes from the format or is declared; the warnings name what was taken from the files.
    """
    for name in ("target", "bounds"):
        if getattr(options, name) is not None:
            raise ParameterError(f"--{name} is for tables, but these are images", hint=f"leave --{name} out")
    declared = read_options(options, ImageOptions)
    images = read_images(options.data, declared, emit=context.emit, cancel=context.cancel)
    test = None
    if options.test is not None:
        if not is_image_set(options.test):
            raise InputError("the test data are not images", options.test, "use images like those in DATA")
        # The test images have the classes of those that are trained on.
        usual = declared if has_class_folders(options.test) else ImageOptions()
        as_those = replace(usual, classes=images.classes)
        test = read_images(options.test, as_those, part=TEST, emit=context.emit, cancel=context.cancel)
    public = bool(test is not None and options.test_public)
    work = image_work(plan, images, declared.rows_per_person, options.account, test, test_public=public)
    _report_people(work.found, plan, context)
    return work


def notify_remarks(plan: DpSgdPlan, features: Features, context: Context) -> None:
    """Say how the network that trains differs from what was given."""
    for sentence in plan.architecture.remarks(features.width, len(features.classes)):
        context.emit(Notice("info", sentence))


def _report_people(found: Preflight, plan: DpSgdPlan, context: Context) -> None:
    if found.rows_per_person > 1:
        person = f"a person with {counted(found.rows_per_person, 'row')}"
        stated = f"delta = {float(found.delta):g} for {person}, {plan.delta:g} for one row"
        context.emit(Notice("info", stated))


def stopped_words(stopped: StoppedCharge) -> str:
    """Return a sentence on what stays charged of a training that released nothing; empty where nothing does."""
    if stopped.why == NOTHING:
        return ""
    if stopped.why == UNKNOWN:
        return f"nothing was released; the charge is not known: {stopped.problem}"
    if stopped.why == PAUSED:
        steps = counted(stopped.taken, "step")
        return (
            f"paused after {steps}; epsilon = {paid(float(stopped.epsilon))} stays reserved; repeat the command "
            f"with --resume {shlex.quote(str(stopped.checkpoint))} to continue, and add --give-up to end it"
        )
    why = {WATCHED: "private figures were shown", STEPS: "these steps were taken"}
    stated = why.get(stopped.why, "the model was being written")
    is_current = "stays reserved" if stopped.why == RESERVED else f"stays charged, as {stated}"
    return f"nothing was released; epsilon = {paid(float(stopped.epsilon))} {is_current}"

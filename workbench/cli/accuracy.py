"""``workbench accuracy``: expected accuracy of a network before training, and where accuracy is lost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import add_data, add_ledger, columns_text, figure, read_other
from workbench.cli.study_options import note_study, refuse_reading
from workbench.cli.training_data import add_training, declared_table, notify_remarks, read_training, training_of
from workbench.data.images.image_reader import ImageOptions, is_image_set, read_images
from workbench.data.images.image_set import ImageShape, class_attribute, pixel_attribute
from workbench.data.table import Table
from workbench.deep.features import Features, ImageFeatures, TableData
from workbench.deep.plan import DpSgdPlan
from workbench.params import ParameterError, Parameters, integer, real, text
from workbench.release.model.preflight import network_features, network_preflight
from workbench.release.model.release_learner import columns_of, outside
from workbench.signals import Notice

_SIMULATED = (
    *("made_up", "accuracy", "lowest", "highest", "without_privacy", "chance", "repeats", "held_out"),
    *("simulated_rows", "batch", "simulated_batch"),
)
PRIVATE = (
    "this study reads private rows: nothing is released or charged, and its results must not be published; "
    "choosing settings by them reveals more about the rows than epsilon says"
)


@dataclass(frozen=True, kw_only=True)
class Simulation(Parameters):
    """Rows in place of a table, and how they are drawn."""

    rows: int | None = integer(
        default=None,
        at_least=5,
        upto=10**9,
        symbol="N",
        help="instead of DATA: number of rows of the table, which is not read; nothing is charged",
    )
    public: str | None = text(
        default=None, help="with --rows: a public table or image set to train on (default: simulated rows)"
    )
    patience: float | None = real(
        default=None,
        above=0,
        upto=1e6,
        symbol="SECONDS",
        help="with --rows: approximate time limit of the simulation in seconds (default 20)",
    )
    seed: int = integer(default=0, at_least=0, upto=2**32 - 1, symbol="N", help="seed of splits, batches and noise")


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser, required=False, more=", or images, as for dpsgd: where did their accuracy go?")
    add_options(parser, Simulation)
    add_training(parser)
    add_ledger(parser)
    parser.set_defaults(account=None)  # nothing is charged


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    asked = read_options(options, Simulation)
    if (options.data is None) == (asked.rows is None):
        raise ParameterError(
            "no rows are given", hint="give DATA to see where accuracy is lost, or --rows N for a simulation"
        )
    plan = read_training(options)
    if asked.rows is None:
        return _where(options, context, plan, asked)
    return _expected(options, context, plan, asked, asked.rows)


def _where(options: argparse.Namespace, context: Context, plan: DpSgdPlan, asked: Simulation) -> dict[str, Any]:
    for name in ("public", "patience"):
        if getattr(asked, name) is not None:
            raise ParameterError(
                f"--{name} works only in a simulation", hint=f"leave --{name} out, or use --rows instead of DATA"
            )
    context.emit(Notice("warning", PRIVATE))
    options.test = None
    work = training_of(options, context, plan)
    task = work.task
    note_study(options, context, task.table, "accuracy")
    from workbench.deep.accuracy_study import accuracy_losses

    notify_remarks(plan, task.features, context)
    table = task.rows()
    stages = accuracy_losses(
        plan,
        TableData(task.features, table),
        rows_per_person=task.rows_per_person,
        seed=asked.seed,
        emit=context.emit,
        cancel=context.cancel,
    )
    plain, clipped, noisy = (stage.accuracy for stage in stages)
    return {
        "private": True,
        "network": plan.network,
        "epsilon": float(work.found.epsilon),
        "delta": float(work.found.delta),
        "noise_multiplier": work.found.sigma,
        "steps": work.found.steps,
        "rows": table.rows,
        "held_out": stages[0].measured,
        "stages": [{"stage": stage.name, "accuracy": stage.accuracy} for stage in stages],
        "clipping_costs": plain - clipped,
        "noise_costs": clipped - noisy,
    }


def _expected(
    options: argparse.Namespace, context: Context, plan: DpSgdPlan, asked: Simulation, rows: int
) -> dict[str, Any]:
    features, public, people, from_rows = _declared(options, context, asked.public)
    from workbench.deep.expected_accuracy import PATIENCE, expected_accuracy
    from workbench.studies.expected_accuracy import in_sentences, made_up_rows, public_rows

    found = network_preflight(plan, features, rows, people)
    notify_remarks(plan, features, context)
    source = made_up_rows(features, asked.seed) if public is None else public_rows(features, public, asked.seed)
    result = expected_accuracy(
        plan,
        features,
        source,
        plan.schedule(rows, people),
        patience=PATIENCE if asked.patience is None else asked.patience,
        seed=asked.seed,
        emit=context.emit,
        cancel=context.cancel,
    )
    return {
        "private": False,
        "network": plan.network,
        "epsilon": float(found.epsilon),
        "delta": float(found.delta),
        "noise_multiplier": found.sigma,
        "steps": result.steps,
        "rows": rows,
        **{name: getattr(result, name) for name in _SIMULATED},
        "sentences": list(in_sentences(result, from_rows=from_rows)),
    }


def _declared(
    options: argparse.Namespace, context: Context, public: str | None
) -> tuple[Features, Table | None, int, bool]:
    """Return the public map from rows to inputs, the public rows where some are named, and a person's rows at most.

    The last is whether the map rests on facts that were read off the private rows.
    """
    declared = read_options(options, ImageOptions)
    if options.bounds is not None or options.target is not None:
        return _of_table(options, context, public)
    refuse_reading(options, "made-up")
    if public is not None:
        if not is_image_set(public):
            raise ParameterError("a public table needs a plan", hint="add --target COL and --bounds PLAN")
        images = read_images(public, declared, emit=context.emit, cancel=context.cancel)
        return ImageFeatures.of(images), images, declared.rows_per_person, False
    if declared.classes is None or declared.image_size is None:
        raise ParameterError(
            "the public facts of the rows are not declared",
            hint="use --target COL and --bounds PLAN for a table, --classes and --image-size for images, or --public",
        )
    shape = ImageShape(1 if declared.grey else 3, declared.image_size, declared.image_size)
    features = ImageFeatures((pixel_attribute(),), class_attribute(declared.classes), shape)
    return features, None, declared.rows_per_person, False


def _of_table(
    options: argparse.Namespace, context: Context, public: str | None
) -> tuple[Features, Table | None, int, bool]:
    facts = declared_table(options)
    features = network_features(facts, options.target)
    from_rows = bool(outside(*columns_of(facts, options.target)))
    if public is None:
        refuse_reading(options, "made-up")
        return features, None, facts.rows_per_person, from_rows
    table = read_other(public, options, context, facts)
    table.require([a.name for a in (*features.attributes, features.target)])
    return features, table, facts.rows_per_person, from_rows


def _text(result: Mapping[str, Any]) -> str:
    if not result["private"]:
        return "\n".join(result["sentences"])
    stages = [[stage["stage"], f"{stage['accuracy']:.3f}"] for stage in result["stages"]]
    clipping, noise = (f"{max(0.0, 100 * result[f'{name}_costs']):.1f}" for name in ("clipping", "noise"))
    return "\n".join(
        [
            f"accuracy on {result['held_out']:,} held-out rows at epsilon = {figure(result['epsilon'])} "
            "(private – not for release)",
            columns_text(["training", "accuracy"], stages, right=(1,)),
            f"clipping costs {clipping} points, noise {noise}",
        ]
    )


COMMAND = Command(
    "workbench plan sample:iris --epsilon 3 --target species -o expect.toml && workbench accuracy --rows 150 "
    "--target species --bounds expect.toml --network logistic --epsilon 3 --delta 1e-3 --batch 30 --epochs 20 --lr 1 "
    "--clip 1",
    _configure,
    _run,
    _text,
)

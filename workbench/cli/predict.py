"""``workbench predict``: a released model applied to a table."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, read_options, reading_words
from workbench.cli.common_options import add_data, add_ledger, add_output, report_notices, require_used
from workbench.cli.study_options import note_study
from workbench.cli.training_data import import_trusted
from workbench.data.images.class_folders import is_picture
from workbench.data.images.image_reader import is_image_set
from workbench.data.images.image_set import CLASS, ImageSet
from workbench.data.table import Table
from workbench.data.table_reader import ReadOptions
from workbench.learners.tasks import NO_TARGET
from workbench.params.amounts import counted
from workbench.release.certificate import read_card
from workbench.release.model.image_predictions import images_to_predict
from workbench.release.model.open_model import open_model, read_to_predict, write_predictions
from workbench.release.part_files import refuse_replacing_inputs
from workbench.signals import Notice


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(
        parser, more=", or images for a network that was trained on images: a set, one PNG or JPEG, or a folder of them"
    )
    parser.add_argument("--model", required=True, type=Path, metavar="DIR", help="the folder of a released model")
    parser.add_argument("--weights", type=Path, metavar="FILE", help="the public weights of a network's frozen part")
    parser.add_argument("--trust-code", action="store_true", help="run the code that the card names as its network")
    add_output(parser, "the predictions (CSV): one line a row, in the order of DATA")
    parser.add_argument(
        "--replace-invalid",
        action="store_true",
        help="take a cell that cannot be used as missing, and a number outside the bounds as the nearest bound",
    )
    add_ledger(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    refuse_replacing_inputs(options.output, options.data, options.model, options.ledger)
    if options.trust_code:
        import_trusted(read_card(options.model)["model"], trusted=True)
    opened = open_model(options.model, options.weights)
    table: Table
    if is_image_set(options.data) or is_picture(options.data):
        table = images_to_predict(opened, [options.data], emit=context.emit, cancel=context.cancel)
    else:
        require_used(options, options.data)
        stated, replace = read_options(options, ReadOptions), options.replace_invalid
        table, form = read_to_predict(
            opened, options.data, stated, context.cancel, words=_typed, replace_invalid=replace
        )
        if form:
            context.emit(Notice("info", f"read as the table of the training was: {_typed(form)}"))
    report_notices(table, context)
    shown = isinstance(table, ImageSet) and table.labelled
    if shown:
        note_study(options, context, table, "predict")
    if options.replace_invalid:
        table = table.with_invalid_replaced()
    guesses: list[str] | None = [] if shown else None
    rows = write_predictions(opened, table, options.output, context.emit, context.cancel, guesses=guesses)
    right = None if guesses is None else sum(a == b for a, b in zip(guesses, table.frame[CLASS], strict=True))
    return {
        "rows": rows,
        **({} if right is None else {"accuracy": right / rows}),
        "model": opened.card["model"],
        "target": None if opened.target == NO_TARGET else opened.target.name,
        "columns": list(opened.header),
        "output": str(options.output),
        "private": True,
    }


def _typed(form: Mapping[str, Any]) -> str:
    return shlex.join(reading_words(form))


def _text(result: Mapping[str, Any]) -> str:
    accuracy = f"{100 * result['accuracy']:.4g} % of them are right\n" if "accuracy" in result else ""
    return (
        f"{counted(result['rows'], 'prediction')} in {result['output']}: "
        f"{', '.join(result['columns'])}\n{accuracy}nothing is charged, because the model is already released; "
        "each line describes one row of DATA (private – not for release)"
    )


COMMAND = Command(
    "workbench plan sample:iris --epsilon 1 --target species -o trial.toml && workbench fit sample:iris "
    "--target species --model naive-bayes --epsilon 1 --bounds trial.toml -o predictor --ledger predict.sqlite && "
    "workbench predict sample:iris --model predictor -o predicted.csv",
    _configure,
    _run,
    _text,
)

"""``workbench anonymity``: k-anonymity, ℓ-diversity and t-closeness of a table."""

from __future__ import annotations

import argparse
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.risk import configure, figures, text

_OPTIONS = ("quasi", "sensitive", "sample_fraction", "threshold", "recursive", "distance")


def _configure(parser: argparse.ArgumentParser) -> None:
    configure(parser, *_OPTIONS, required=("sensitive",))


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    return figures(options, context, anonymity=True)


COMMAND = Command(
    name="anonymity",
    example="workbench anonymity sample:people --quasi age,sex --sensitive label",
    configure=_configure,
    run=_run,
    text=text,
)

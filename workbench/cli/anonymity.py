"""``workbench anonymity``: k-anonymity, ℓ-diversity and t-closeness of a table."""

from __future__ import annotations

import argparse
from functools import partial

from workbench.cli.command import Command
from workbench.cli.risk import configure, figures, text

_OPTIONS = ("quasi", "sensitive", "sample_fraction", "threshold", "recursive", "distance")


def _configure(parser: argparse.ArgumentParser) -> None:
    configure(parser, *_OPTIONS, required=("sensitive",))


COMMAND = Command(
    "workbench anonymity sample:people --quasi age,sex --sensitive label",
    _configure,
    partial(figures, anonymity=True),
    text,
)

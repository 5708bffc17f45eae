"""``workbench anonymity``: k-anonymity, ℓ-diversity and t-closeness of a table."""

from __future__ import annotations

import argparse
from typing import Any

from workbench.cli.command import Command, Context, flag_of
from workbench.cli.risk import configure, figures, text
from workbench.params import ParameterError
from workbench.risk.measures import RiskOptions

_OPTIONS = ("quasi", "sensitive", "sample_fraction", "threshold", "recursive", "distance")


def _configure(parser: argparse.ArgumentParser) -> None:
    configure(parser, *_OPTIONS)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if getattr(options, f"{RiskOptions.__name__}.sensitive") is None:
        flag = flag_of(RiskOptions, "sensitive")
        raise ParameterError(f"the option {flag} is missing", hint="name the column that nobody may learn")
    return figures(options, context, anonymity=True)


COMMAND = Command(
    name="anonymity",
    example="workbench anonymity sample:people --quasi age,sex --sensitive label",
    configure=_configure,
    run=_run,
    text=text,
)

"""The commands that errors advise, with the table and the ledger in use: each can be copied and run."""

from __future__ import annotations

import argparse

from workbench.cli.command import flag_of
from workbench.data.csv.options import ReadOptions
from workbench.params import WorkbenchError
from workbench.params.field import BooleanField
from workbench.params.remedies import LEDGER, shown


def repeat_what_is_in_use(error: WorkbenchError, options: argparse.Namespace) -> None:
    """Let the commands that ``error`` advises name the table and the ledger of the command that failed."""
    error.remedies = tuple(remedy.repeating(_data(options), ledger_in_use(options)) for remedy in error.remedies)


def command_in_use(options: argparse.Namespace, *words: str) -> str:
    """Return a command that a hint names, with the ledger in use where ``words`` hold :data:`LEDGER`."""
    return shown([each for word in words for each in (ledger_in_use(options) if word is LEDGER else (word,))])


def ledger_in_use(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the option that names the ledger; empty where none was given."""
    ledger = getattr(options, "ledger", None)
    return () if ledger is None else ("--ledger", str(ledger))


def _data(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the table with the options that say how it is read; empty where the command names none."""
    data = getattr(options, "data", None)
    if data is None:
        return ()
    stated: list[str] = []
    for name, spec in ReadOptions.declared().items():
        value = getattr(options, f"{ReadOptions.__name__}.{name}", None)
        if value is not None:
            stated += [flag_of(ReadOptions, name), *([] if isinstance(spec, BooleanField) else [value])]
    return (str(data), *stated)

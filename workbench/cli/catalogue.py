"""Every command, by the module that declares it; modules are imported only when their command is called."""

from __future__ import annotations

import importlib

from workbench.cli.command import Command

COMMANDS: tuple[str, ...] = (
    "describe",
    "plan",
    "forecast",
    "mechanism",
    "sanitize",
    "synthesize",
    "verify",
    "certificate",
    "key",
    "statistics",
    "estimate",
    "rappor",
    "curve",
    "why",
    "fit",
    "dpsgd",
    "accuracy",
    "grid",
    "predict",
    "cache",
    "budget",
    "explain",
    "audit",
    "memory",
    "ledger",
    "samples",
    "gui",
)

LATER: tuple[str, ...] = (
    "anonymity",
    "generalize",
    "attack",
)
"""Words of the command line that a later version understands."""


def load(name: str) -> Command:
    """Return the command called ``name``."""
    command: Command = importlib.import_module(f"workbench.cli.{name}").COMMAND
    return command

"""Every command, by the module that declares it, and every topic of ``workbench help``, by its text file.

Modules are imported only when their command is called.
"""

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
    "generalize",
    "verify",
    "certificate",
    "key",
    "statistics",
    "estimate",
    "quality",
    "report",
    "rappor",
    "curve",
    "why",
    "risk",
    "anonymity",
    "fit",
    "dpsgd",
    "accuracy",
    "grid",
    "predict",
    "cache",
    "budget",
    "explain",
    "audit",
    "attack",
    "memory",
    "ledger",
    "samples",
    "gui",
)

LATER: tuple[str, ...] = ()
"""Words of the command line that a later version understands."""


def commands() -> tuple[str, ...]:
    """Return the name of every command, also of those that follow from a line of the list of kinds of release."""
    from workbench.release import kinds

    first = (kind.words[0] for kind in kinds.KINDS if kind.derived)
    return (*COMMANDS, *(word for word in first if word not in COMMANDS))


def is_command(name: str) -> bool:
    """Return whether there is a command called ``name``."""
    return name in COMMANDS or name in commands()


def load(name: str) -> Command:
    """Return the command called ``name``."""
    if name not in COMMANDS:
        from workbench.cli.kind_command import KindCommand
        from workbench.release import kinds

        return KindCommand(next(kind for kind in kinds.KINDS if kind.words[0] == name)).command()
    command: Command = importlib.import_module(f"workbench.cli.{name}").COMMAND
    return command

"""Every command, by the module that declares it, and every topic of ``workbench help``, by its text file.

Modules are imported only when their command is called.
"""

from __future__ import annotations

import importlib

from workbench.cli.command import Command
from workbench.paths import resources

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


TOPICS: tuple[str, ...] = (
    "plan",
    "reading",
    "release",
    "documents",
    "ledger",
    "epsilon",
    "curves",
    "models",
    "networks",
    "rappor",
    "python",
    "window",
    "guarantees",
)
"""What ``workbench help`` explains, each in a text file of the resources."""


def topic_text(name: str) -> str:
    """Return the text of a topic."""
    return (resources() / "help" / f"{name}.txt").read_text("utf-8")


def topic_title(name: str) -> str:
    """Return what a topic is about: its first line, without the word that it opens with."""
    return topic_text(name).partition("\n")[0].partition(": ")[2]


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

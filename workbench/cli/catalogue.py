"""Every command, by the module that declares it, with the line that its help opens with.

Modules are imported only when their command is called: the overview needs none of them.
"""

from __future__ import annotations

import dataclasses
import importlib
import os

from workbench.cli.command import Command
from workbench.release import kinds
from workbench.release.kinds import Kind

COMMANDS: dict[str, str] = {
    "describe": "read a table and say what is in its columns (private)",
    "plan": "write a first plan for a table, with the public facts left to fill in",
    "forecast": "what a plan will cost and do; reads no data and spends no budget",
    "solve": "the least epsilon, and its split, that gives the errors you wish for; or what is not possible",
    "mechanism": "exact facts about one mechanism: its true epsilon, bias and error",
    "sanitize": "release a table as its plan says: charge, draw, certify, write",
    "synthesize": "",  # a kind of release has its line in the list of kinds
    "generalize": "a table made k-anonymous, l-diverse, t-close … by generalisation; this is not differential privacy",
    "verify": "check a release against its certificate",
    "certificate": "write the certificate of a release as PDF or HTML, sign it, or bundle it with everything that "
    "checks it",
    "key": "make the key that signs your releases, show it, or trust the key of somebody else",
    "statistics": "",
    "sql": "release the counts, sums, means, spreads and quantiles that a SELECT … GROUP BY … asks for",
    "estimate": "frequencies, means, quantiles and correlations from a released table, with confidence intervals",
    "quality": "how good synthetic or noisy rows are beside the original: columns, pairs, three-way tables, whether a "
    "model can distinguish them, what a model learns from them (a private study)",
    "report": "a report on a table or a release: who could be found, what attacks got, what epsilon allows (private)",
    "rappor": "RAPPOR: release reports of a column, sum, map and decode them, or simulate a collection",
    "curve": "how good a model is against epsilon: without privacy, on a sanitised table (corrected or not) and with "
    "noise in the model (a private study)",
    "why": "where the accuracy of a private model goes (bounds, form, noise), and what would help most (a private "
    "study)",
    "risk": "who could be found in a table: unique rows, chances to be found, and what makes rows unique (private)",
    "anonymity": "k-anonymity, ℓ-diversity and t-closeness of a table, and the risk that somebody is found (private)",
    "fit": "train one private model and release it with its card; or learn from a release at no cost",
    "dpsgd": "train a network on a table or on images with DP-SGD and release it with its card",
    "accuracy": "what a network can reach at its epsilon, simulated before the start; or where its accuracy goes, on "
    "the rows",
    "grid": "sweep the settings of DP-SGD: lists of them, repeats, one CSV row for each run; goes on where it was "
    "stopped (a private study)",
    "predict": "apply a released model to a table",
    "cache": "show or remove the features that networks with a frozen part keep of private rows",
    "budget": "what a release would cost, and what its epsilon means; touches no data",
    "explain": "what an epsilon means, what others have published, and a guided choice of one",
    "audit": "a lower bound on a mechanism's epsilon from its outputs alone, and what the audit could have detected",
    "attack": "what an attacker gets from a release or a model, beside a guess, a control set and what epsilon allows",
    "memory": "the memory that training a network needs, by phase, and the most rows at once that fit; reads no data",
    "ledger": "the privacy budget of every table: show, verify, cap, name, count, version, group, backup, merge and "
    "more",
    "samples": "list the tables that come with the program",
    "gui": "the window (also `workbench` alone)",
}


def commands() -> tuple[str, ...]:
    """Return the name of every command, also of those that follow from a line of the list of kinds of release.

    What finds facts for a plan is named before ``plan``, the others at the end.
    """
    derived = {kind.words[0]: kind.before_plan for kind in kinds.KINDS if kind.derived}
    first = [word for word, before_plan in derived.items() if before_plan and word not in COMMANDS]
    at = list(COMMANDS).index("plan")
    return tuple(dict.fromkeys([*list(COMMANDS)[:at], *first, *COMMANDS, *derived]))


def is_command(name: str) -> bool:
    """Return whether there is a command called ``name``."""
    return name in COMMANDS or name in commands()


def help_of(name: str) -> str:
    """Return what the command called ``name`` is for, in one line."""
    return COMMANDS.get(name) or _kind(name).help


_NO_MATRICES = ("sanitize", "statistics")
"""Commands that multiply no large matrices: the threads that numpy starts for that only wait, and use a processor."""


def load(name: str) -> Command:
    """Return the command called ``name``, with that and its line."""
    if name in _NO_MATRICES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy looks at it when it is loaded
    if name in COMMANDS:
        command: Command = importlib.import_module(f"workbench.cli.{name}").COMMAND
    else:
        from workbench.cli.kind_command import KindCommand

        command = KindCommand(_kind(name)).command()
    return dataclasses.replace(command, name=name, help=help_of(name))


def _kind(name: str) -> Kind:
    return next(kind for kind in kinds.KINDS if kind.words[0] == name)

"""Every command with the module that declares it and its one-line help.

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
    "describe": "describe the columns of a table (private)",
    "plan": "write a draft plan for a table, with public facts to fill in",
    "forecast": "forecast the cost and accuracy of a plan; reads no data and spends no budget",
    "solve": "the smallest epsilon, and its split, for the errors you want; or what is not possible",
    "mechanism": "exact properties of a mechanism: its true epsilon, bias and error",
    "sanitize": "release a table of noisy rows according to its plan",
    "synthesize": "",  # a kind of release has its line in the list of kinds
    "generalize": "make a table k-anonymous, l-diverse, t-close … by generalisation; this is not differential privacy",
    "verify": "check a release against its certificate",
    "certificate": "export the certificate of a release as PDF or HTML, sign it, or bundle it with everything needed "
    "to verify it",
    "key": "create or show the key that signs your releases, or trust somebody else's key",
    "statistics": "",
    "sql": "release the counts, sums, means, deviations and quantiles of a SELECT … GROUP BY … query",
    "estimate": "estimate frequencies, means, quantiles and correlations from a released table, with confidence "
    "intervals",
    "quality": "compare synthetic or noisy rows with the original: columns, pairs, three-way tables, "
    "distinguishability, models trained on them (a private study)",
    "report": "report on a table or a release: re-identification risk, results of attacks, what epsilon allows "
    "(private)",
    "rappor": "RAPPOR: release reports of a column, aggregate and decode them, or simulate a collection",
    "curve": "model accuracy against epsilon: without privacy, trained on a sanitised table (corrected or not), and "
    "private training (a private study)",
    "why": "where a private model loses accuracy (bounds, form, noise), and what would help most (a private study)",
    "risk": "re-identification risk of a table: unique rows, risk of re-identification, and what makes rows unique "
    "(private)",
    "anonymity": "k-anonymity, ℓ-diversity, t-closeness and re-identification risk of a table (private)",
    "fit": "train a private model and release it with its card; or train on a release at no cost",
    "dpsgd": "train a network on a table or on images with DP-SGD and release it with its card",
    "accuracy": "simulate the accuracy of a network at its epsilon before training; or see where accuracy is lost, on "
    "the rows",
    "grid": "sweep settings of DP-SGD, with repeats and one CSV row per run; resumes if interrupted (a private study)",
    "predict": "apply a released model to a table",
    "cache": "show or remove cached features of private rows, used by networks with frozen layers",
    "budget": "the cost of a release and what its epsilon means; reads no data",
    "explain": "what an epsilon means, values used in published releases, and a guided choice",
    "audit": "a lower bound on a mechanism's epsilon from its outputs alone, and the power of the audit",
    "attack": "attack a release or a model, and compare with guessing, a control set and what epsilon allows",
    "memory": "memory needed to train a network, by phase, and the largest batch that fits; reads no data",
    "ledger": "privacy budgets of all tables: show, verify, cap, name, count, version, group, backup, merge and more",
    "samples": "list the tables that come with the program",
    "gui": "open the window (also `workbench` with no command)",
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

"""Start a module of this program as a child process of its own; in a bundle, which has no Python, by the bundle."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

WORD = "--child"
"""The argument by which a bundled program, whose interpreter takes no ``-m``, runs one module instead of a command."""
_OURS = "workbench."


def command(module: str) -> list[str]:
    """Return the words that run the ``main`` of ``module``, one of this program's."""
    if getattr(sys, "frozen", False):
        return [sys.executable, WORD, module]
    # -P: a file that happens to be named like a module in the working folder is not imported.
    return [sys.executable, "-P", "-m", module]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables of such a child: ours, the place of this program, and ``more``."""
    place = str(Path(__file__).resolve().parents[2])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [place, os.environ.get("PYTHONPATH", "")])),
        **(more or {}),
    }


def called(words: Sequence[str]) -> int | None:
    """Run the module that ``words`` of a command line name, and return its exit status; None where they name none."""
    if len(words) != 2 or words[0] != WORD or not words[1].startswith(_OURS):
        return None
    status: int = importlib.import_module(words[1]).main()
    return status

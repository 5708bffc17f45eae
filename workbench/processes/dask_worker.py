"""What runs on the workers of a Dask cluster for :mod:`workbench.processes.dask_executor`."""

from __future__ import annotations

import contextlib
import importlib.metadata
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import workbench
from workbench.params import WorkbenchError
from workbench.processes.worker import answer_of

FIGURES_FOLLOW_FROM = ("numpy", "scipy", "scikit-learn", "opendp")
"""Packages whose versions must be the same everywhere: another one may give other figures from the same seed."""

_ONE_AT_A_TIME = threading.Lock()
"""Held while tasks run: models, and the tables that a worker keeps between tasks, are made for one thread."""

Versions = dict[str, str]


@dataclass(frozen=True)
class Answers:
    """What became of some tasks."""

    # `(True, result)` for each task in order; where one failed, `(False, exception)` ends them.
    answers: tuple[tuple[bool, Any], ...]
    seconds: float  # how long a task usually took


def versions() -> Versions:
    """Return by name the versions that the figures follow from."""
    found = {"workbench": workbench.__version__, "Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for name in FIGURES_FOLLOW_FROM:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def different(place: str, there: Versions, here: Versions) -> WorkbenchError | None:
    """Return the error that says which version differs between ``place`` and this program, if one does."""
    for name, version in here.items():
        if there.get(name) != version:
            has = f"{name} {there[name]}" if name in there else f"no {name}"
            return WorkbenchError(
                f"{place} has {has}, and this program runs with {name} {version}", hint="install the same versions"
            )
    return None


def answer_all(work: Callable[[Any, Any], Any], expected: Versions, shared: Any, tasks: Sequence[Any]) -> Answers:
    """Do ``tasks`` one after another, up to the first that fails.

    No exception leaves this function: Dask would log it, and its text may hold values of a row.
    """
    # A worker that joined after the start was not asked before.
    other = different("a worker that joined", versions(), expected)
    if other is not None:
        return Answers(((False, other),), 0.0)
    answers: list[tuple[bool, Any]] = []
    seconds: list[float] = []
    with _ONE_AT_A_TIME, _one_blas_thread():
        for task in tasks:
            begun = time.perf_counter()
            answers.append(answer_of(work, shared, task))
            seconds.append(time.perf_counter() - begun)
            if not answers[-1][0]:
                break
    return Answers(tuple(answers), sorted(seconds)[len(seconds) // 2])


def _one_blas_thread() -> Any:
    """Return a context with one BLAS thread, as in the workers of this computer: sums then add up in the same order."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)

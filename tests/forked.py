"""Processes forked from one that has loaded what they need: each starts in milliseconds instead of half a second."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.data import isolated_reader
from workbench.processes import executor
from workbench.processes.child_program import environment

spawned_child = isolated_reader.child_of

LOADED = [
    # What such processes import by name.
    *("workbench.release.rows_work", "workbench.release.verify", "workbench.release.verification"),
    *(
        "workbench.release.release_path",
        "workbench.release.recover",
        "workbench.release.kinds",
        "workbench.release.bundle",
    ),
    *("workbench.release.statistics.statistics_work", "workbench.release.synthetic.synthesis_work"),
    *("workbench.release.rappor.rappor_work", "workbench.release.values_work", "workbench.privacy.audit"),
    *("workbench.release.model.release_learner", "workbench.data.isolated_child", "workbench.data.databases.child"),
    *(
        "workbench.data.sources.parquet",
        "workbench.data.sources.compressed",
        "workbench.data.sources.spreadsheet",
        "workbench.data.images.decoding",
        "workbench.data.images.archive_contents",
    ),
    # What these import when they are used: each process would load it for itself, ten times as long.
    *("jsonschema", "numpy.random", "platformdirs", "psutil", "pyarrow", "pytest", "tomli_w", "hypothesis"),
    *("filelock", "opendp.measurements", "scipy.special", "fastexcel", "pyreadstat", "PIL.Image"),
]


def forks() -> ForkServerContext:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    return context


def _as_here(variables: Mapping[str, str], folder: str, target: Callable[..., object], *arguments: Any) -> None:
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    target(*arguments)


def _process(target: Callable[..., object], args: tuple[Any, ...], **more: Any) -> Any:
    """A process with the variables and the folder of this one, which a new process of Python would have."""
    return forks().Process(target=_as_here, args=(environment(), os.getcwd(), target, *args), **more)


def _run_module(module: str, asked: Connection, answers: Connection) -> None:
    os.setsid()
    for stream, number in ((asked.fileno(), 0), (answers.fileno(), 1), (os.open(os.devnull, os.O_WRONLY), 2)):
        os.dup2(stream, number)
    asked.close()
    answers.close()
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115 - until it ends
    status = 1
    try:
        importlib.import_module(module).main()
        status = 0
    finally:
        os._exit(status)  # at once: a thread of the module waits for standard input


@contextlib.contextmanager
def child_of(module: str) -> Iterator[Any]:
    """The same as :func:`workbench.data.isolated_reader.child_of`, forked; another program is none of this one's."""
    if not module.startswith("workbench.") or hasattr(sys, "frozen"):
        with spawned_child(module) as child:
            yield child
        return
    (asked, to), (answers, back) = forks().Pipe(duplex=False), forks().Pipe(duplex=False)
    process = _process(_run_module, (module, asked, back))
    process.start()
    asked.close()
    back.close()
    with open(os.dup(answers.fileno()), "rb") as stdout, open(os.dup(to.fileno()), "wb", 0) as stdin:
        to.close()
        answers.close()
        try:
            yield SimpleNamespace(pid=process.pid, kill=process.kill, stdin=stdin, stdout=stdout)
        finally:
            process.kill()
            process.join()


def fork_what_is_spawned(patch: pytest.MonkeyPatch) -> None:
    """Fork the processes that read a file or do tasks, which the program starts as new ones of Python."""
    patch.setattr(isolated_reader, "child_of", child_of)
    made = SimpleNamespace(Pipe=forks().Pipe, Process=_process)
    patch.setattr(executor, "multiprocessing", SimpleNamespace(get_context=lambda method: made))

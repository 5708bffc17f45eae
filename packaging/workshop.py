"""``dev.py run``, ``dev.py test`` and ``dev.py bundle``: set up what they need, then do the work."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import bundle as bundles
import environment as environments
import main_job
import qt_libraries
import verification
from console import say
from environment import Environment
from failure import SetupError

ROOT = Path(__file__).resolve().parent.parent
CANCELLED = 4


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="dev.py", description="Set up the workbench in this folder, then run it, test it or bundle it."
    )
    tasks = top.add_subparsers(dest="task", required=True, metavar="run|test|bundle")
    run = tasks.add_parser(
        "run",
        help="open the window; without a display: plan, release and curve into results/",
        description="Without a display this does the main job on the table: a plan, a release, and the curve of "
        "accuracy against epsilon, into results/.",
    )
    run.add_argument("file", nargs="?", metavar="FILE", help="a table (default: the bundled sample people)")
    run.add_argument("--target", metavar="COL", help="the attribute that the models of the curve predict")
    tasks.add_parser("test", add_help=False, help="check and test everything; further arguments go to pytest")
    tasks.add_parser("bundle", help="make what is handed out, into dist/: a folder that needs no Python, and a wheel")
    return top


def main(arguments: Sequence[str]) -> int:
    """Do what the command line asks; return the exit status."""
    options, further = parser().parse_known_args(arguments)
    if options.task != "test" and further:
        parser().error(f"unrecognized arguments: {' '.join(further)}")
    signal.signal(signal.SIGTERM, interrupt)
    try:
        if options.task == "run":
            return run(options.file, options.target)
        return test(further) if options.task == "test" else bundles.make(ROOT)
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("cancelled; run it again to go on", file=sys.stderr)
        return CANCELLED


def interrupt(number: int, frame: FrameType | None) -> None:
    """Treat a request to end like Ctrl+C, so that what we started ends with us."""
    raise KeyboardInterrupt


def run(file: str | None, target: str | None) -> int:
    """Set up, then open the window, or do the main job where there is none."""
    table = Path(file).absolute() if file else None
    if table and not table.is_file():
        raise SetupError("there is no such file", str(table), "give the path of a table")
    environment = Environment(ROOT)
    environments.ensure(environment)
    display = main_job.display_answers()
    lacking = qt_libraries.ensure(qt_libraries.OFFSCREEN | (qt_libraries.WINDOW if display else {}), environment.log)
    if lacking:
        say(qt_libraries.advice(lacking))
    if display and not lacking and main_job.has_window(ROOT):
        status = main_job.open_window(environment, table)
        if status >= 0:
            return status
        say("The window could not open on this display; doing the main job without it")
    picture = not lacking.keys() & qt_libraries.OFFSCREEN.keys()
    return main_job.MainJob(environment, table, target, picture=picture, display=display).run()


def test(pytest_arguments: Sequence[str]) -> int:
    """Set up, then check and test everything."""
    environment = Environment(ROOT)
    environments.ensure(environment)
    lacking = qt_libraries.ensure(qt_libraries.OFFSCREEN, environment.log)
    if lacking:
        raise SetupError("the tests draw with Qt", hint=qt_libraries.advice(lacking))
    os.chdir(ROOT)
    return verification.run(environment, pytest_arguments)

"""Every check and test of the project, one after the other; pytest's summary comes last."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence

from console import call, say
from environment import Environment

Step = tuple[str, list[str]]

# tests/conftest.py shares them out.
WHOLE_SUITE = ("-n", "2", "--dist", "loadscope")


def checks(environment: Environment) -> list[Step]:
    """Return the checks that come before the tests: name and command line, run in the top folder."""
    python = str(environment.python)
    return [
        ("ruff check", [python, "-m", "ruff", "check", "."]),
        ("ruff format", [python, "-m", "ruff", "format", "--check", "."]),
        ("mypy", [python, "-m", "mypy", "workbench", "packaging"]),
        ("lint-imports", [str(environment.program("lint-imports"))]),
        ("house rules", [python, "packaging/house_rules.py"]),
        ("structure", [python, "packaging/structure.py", "workbench.gui"]),
    ]


def passes(step: Step, environment: Environment, variables: Mapping[str, str]) -> bool:
    """Run one check and say how it went, with what it printed where it found a fault."""
    name, arguments = step
    began = time.monotonic()
    done = subprocess.run(
        arguments,
        cwd=environment.root,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    verdict = "ok" if done.returncode == 0 else "FAULTS"
    say(f"{name:14} {verdict} ({time.monotonic() - began:.1f} s)")
    if done.returncode:
        say(done.stdout.rstrip())
    return done.returncode == 0


@contextlib.contextmanager
def collecting(environment: Environment, variables: Mapping[str, str]) -> Iterator[None]:
    """Let pytest read the tests beside other work: it compiles and keeps each file, which both its processes need.

    A fault that it finds is told of by the tests, which read the same files.
    """
    reading = [str(environment.python), "-m", "pytest", "--collect-only", "--quiet"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(reading, cwd=environment.root, env=variables, stdin=quiet, stdout=quiet, stderr=quiet):
        yield


def run(environment: Environment, pytest_arguments: Sequence[str]) -> int:
    """Run all of it, the tests in two processes; return 0 where nothing was found, else pytest's status or 1.

    Where pytest is told something, it is told only that.
    """
    variables = environment.variables()
    variables.setdefault("QT_QPA_PLATFORM", "offscreen")
    # The checks print file names and symbols; Windows' own encoding cannot hold them.
    variables["PYTHONUTF8"] = "1"
    # The tests start hundreds of processes: what is compiled is kept, or each of them compiles the workbench again.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    with contextlib.nullcontext() if pytest_arguments else collecting(environment, variables):
        failed = [step[0] for step in checks(environment) if not passes(step, environment, variables)]
    if failed:
        say(f"faults found by: {', '.join(failed)} (above); the tests follow all the same")
    tests = [str(environment.python), "-m", "pytest", *(pytest_arguments or WHOLE_SUITE)]
    status = call(tests, env=variables, cwd=environment.root)
    # A negative status (killed by a signal) would wrap around to an odd exit code.
    return abs(status) or (1 if failed else 0)

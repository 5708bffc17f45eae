"""``workbench COMMAND …``: parse, run the command as a job, print its result, map errors to exit codes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import workbench
from workbench.cli.catalogue import COMMANDS, LATER, load
from workbench.cli.command import Command, Context
from workbench.params import CancelledError, ParameterError, WorkbenchError
from workbench.params.errors import one_line
from workbench.params.field import did_you_mean

DONE, BUG, BAD_INPUT, FAULT_FOUND, CANCELLED = 0, 1, 2, 5, 4


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence of the usual form."""

    def error(self, message: str) -> NoReturn:
        raise ParameterError(one_line(message), self.prog, f"see `{self.prog} --help`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _speak_utf8()
    try:
        return _dispatch(words)
    except WorkbenchError as error:
        _complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        _complain(CancelledError())
        return CANCELLED
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): there is nobody left to tell.
        sys.stderr.close()
        return DONE


def _dispatch(words: list[str]) -> int:
    if not words:
        words = ["gui"]
    name, rest = words[0], words[1:]
    if name in ("-h", "--help"):
        print(_overview())
        return DONE
    if name == "--version":
        print(workbench.__version__)
        return DONE
    if name in LATER:
        raise ParameterError(f"`workbench {name}` is not in this version", mend="see `workbench --help` for what is")
    if name not in COMMANDS:
        near = did_you_mean(name, [*COMMANDS, *LATER])
        raise ParameterError(f"the command {name!r} is not known{near}", mend="see `workbench --help`")
    command = load(name)
    parser = parser_of(command)
    try:
        options = parser.parse_args(rest)
    except SystemExit as leave:  # --help has printed itself
        return int(leave.code or DONE)
    if getattr(options, "seed_refused", None) is not None:
        raise ParameterError("--seed is for studies; a release draws fresh randomness", mend="leave --seed out")
    return _run(command, options)


def parser_of(command: Command) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    parser = _Parser(
        prog=f"workbench {command.name}",
        description=command.help,
        epilog=f"example:\n  {command.example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.configure(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    if command.releases:
        parser.add_argument("--seed", dest="seed_refused", help=argparse.SUPPRESS)
    return parser


def _run(command: Command, options: argparse.Namespace) -> int:
    from workbench.cli.console import run_on_console

    result = run_on_console(lambda emit, cancel: command.run(options, Context(emit, cancel)), command.name)
    if result is None:
        return BUG
    _print(result, command, as_json=options.json)
    return FAULT_FOUND if result.get("ok") is False else DONE


def _print(result: Mapping[str, Any], command: Command, *, as_json: bool) -> None:
    # allow_nan=False: an infinity in a result would be a bug, and is no JSON.
    print(json.dumps(result, ensure_ascii=False, allow_nan=False) if as_json else command.text(result))
    sys.stdout.flush()


def _complain(error: WorkbenchError) -> None:
    print(f"error: {error}", file=sys.stderr)


def _speak_utf8() -> None:
    """Let ε be printed where the terminal's encoding has no such letter."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace" if stream.isatty() else "backslashreplace")


def _overview() -> str:
    lines = [
        "workbench: release a sensitive table with differential privacy, and see what it costs in accuracy",
        "",
        "usage: workbench COMMAND [options]      (workbench COMMAND --help has an example that works)",
        "",
    ]
    lines += [f"  {name:<10} {load(name).help}" for name in COMMANDS]
    return "\n".join(
        [
            *lines,
            "",
            "Every command takes --json. Exit codes: 0 done, 2 bad input, 3 refused by the budget, 4 cancelled,",
            "5 a check found a fault, 1 a bug.",
        ]
    )

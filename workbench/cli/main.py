"""``workbench COMMAND …``: parse, run the command as a job, print its result, map errors to exit codes."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import re
import signal
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, TextIO

import workbench
from workbench.cli.catalogue import commands, help_of, is_command, load
from workbench.cli.command import READING, Command, Context, add_options, repeat_what_is_in_use
from workbench.data.csv.options import ReadOptions
from workbench.data.databases.address import require_no_password
from workbench.params import CancelledError, InputError, ParameterError, WorkbenchError, did_you_mean, one_line
from workbench.params.errors import visible
from workbench.params.remedies import remedies_of
from workbench.render.help_topics import TOPICS, topic_text, topic_title

DONE, BUG, FAULT_FOUND = 0, 1, 5
_RAW = argparse.RawDescriptionHelpFormatter
_JSON = "print only one JSON object"


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence of the usual form."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # The usual one takes -1e3 for an option; what begins like a negative number is a value here.
        self._negative_number_matcher = re.compile(r"-(\d|\.\d|inf|nan)", re.IGNORECASE)
        self.register("action", "parsers", _Subcommands)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            option = next((word.partition("=")[0] for word in rest if word.startswith("--")), "")
            near = did_you_mean(option, self._options()) if option else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{near}")
        return found

    def _options(self) -> list[str]:
        """Return all options, those of the actions of the command among them."""
        subs = [sub for action in self._actions if isinstance(action, _Subcommands) for sub in action.choices.values()]
        return [*self._option_string_actions, *(option for sub in subs for option in sub._option_string_actions)]

    def error(self, message: str) -> NoReturn:
        raise ParameterError(one_line(message), self.prog, f"see `{self.prog} --help`")

    def format_help(self) -> str:
        """Return the help: purpose, usage, example, options, with the reading options last."""
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        formatter.add_text(self._called())
        formatter.add_text(self.epilog)
        for group in sorted(self._action_groups, key=lambda group: group.title == READING):
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            if group.title == READING:
                flags = " ".join(action.option_strings[0] for action in group._group_actions)
                formatter.add_text(textwrap.indent(textwrap.fill(flags, 76, break_on_hyphens=False), "  "))
            else:
                formatter.add_arguments(sorted(group._group_actions, key=lambda a: "--json" in a.option_strings))
            formatter.end_section()
        return formatter.format_help()

    def _called(self) -> str:
        """Return how the command is called: what it needs, and that there is more."""
        needed = []
        for action in self._actions:
            if not action.option_strings:
                needed.append(f"[{action.metavar}]" if action.nargs == "?" else str(action.metavar))
            elif action.required:
                needed.append(f"{action.option_strings[0]} {action.metavar}")
        needed.sort(key=lambda word: word.startswith("-"))
        return f"usage: {' '.join([self.prog, *needed])} [options]"

    def print_help(self, file: Any = None) -> None:
        _say(self.format_help().rstrip("\n"))


class _Subcommands(argparse._SubParsersAction):  # type: ignore[type-arg]
    """The actions of a command: the help of each opens with what it is for, and each takes ``--json``."""

    def add_parser(self, name: str, **named: Any) -> Any:
        usual = {"description": named.get("help"), "allow_abbrev": False, "formatter_class": _RAW}
        made = super().add_parser(name, **{**usual, **named})
        made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=_JSON)
        return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _ready_streams()
    try:
        with _quitting_on_interrupt():
            prepared = _prepared(words)
        gc.enable()  # the program disables it while its modules are loaded
        code = prepared if isinstance(prepared, int) else _run(*prepared)
        sys.stdout.flush()
    except WorkbenchError as error:
        return _complain(_placed(error, words))
    except (KeyboardInterrupt, BrokenPipeError):  # a pipe of our events: whoever watched them has gone
        return _complain(CancelledError())
    except Exception as error:  # noqa: BLE001 - the program's edge
        from workbench.cli.console import report_bug
        from workbench.jobs import trace_of

        report_bug(error, trace_of(error), words[0] if words and is_command(words[0]) else "workbench")
        return BUG
    return code


def _prepared(words: list[str]) -> tuple[Command, argparse.Namespace] | int:
    """Return the command that ``words`` call with its options, or the exit code where they only asked for help."""
    require_no_password(words)
    name, rest = (words[0], words[1:]) if words else ("gui", [])
    if name in ("-h", "--help", "help"):
        return _help(rest if name == "help" else [])
    if name == "--version":
        _say(workbench.__version__)
        return DONE
    command = _known(name, "command")
    parser = parser_of(command)
    try:
        options = parser.parse_args(rest)
    except SystemExit as leave:  # --help has printed itself
        return int(leave.code or DONE)
    if getattr(options, "seed_refused", None) is not None:
        raise ParameterError("--seed is for studies; a release draws fresh randomness", hint="leave --seed out")
    importlib.import_module("workbench.cli.console")  # here, where an interrupt does no harm
    return command, options


def _known(name: str, thing: str, *others: str) -> Command:
    """Return the command called ``name``, which was looked for as a ``thing``; ``others`` would have been right too."""
    if not is_command(name):
        near = did_you_mean(name, [*others, *commands()])
        raise ParameterError(f"the {thing} {name!r} is not known{near}", hint="see `workbench --help`")
    return load(name)


def _help(words: list[str]) -> int:
    if not words:
        _say(_overview())
        return DONE
    if len(words) > 1:
        raise ParameterError("`workbench help` takes one topic", hint="see `workbench help`")
    (name,) = words
    if name not in TOPICS:
        parser_of(_known(name, "topic", *TOPICS)).print_help()
        return DONE
    own = f"\nOptions: workbench {name} --help" if is_command(name) else ""
    _say((topic_text(name) + (reading_options() if name == "reading" else "") + own).rstrip("\n"))
    return DONE


def reading_options() -> str:
    """Return the options that say how a file is read, each with its help."""
    parser = _Parser(add_help=False)
    add_options(parser, ReadOptions)
    formatter = parser._get_formatter()
    formatter.start_section("\noptions")
    formatter.add_arguments([a for a in parser._actions if a.option_strings])
    formatter.end_section()
    return "\n" + formatter.format_help()


def parser_of(command: Command) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    parser = _Parser(
        prog=f"workbench {command.name}",
        description=command.help,
        epilog=f"example:\n  {command.example}",
        formatter_class=_RAW,
        allow_abbrev=False,
    )
    command.configure(parser)
    parser.add_argument("--json", action="store_true", help=_JSON)
    if command.releases:
        parser.add_argument("--seed", dest="seed_refused", help=argparse.SUPPRESS)
    return parser


def _run(command: Command, options: argparse.Namespace) -> int:
    try:
        return _carried_out(command, options)
    except WorkbenchError as error:
        repeat_what_is_in_use(error, options)
        raise


def _carried_out(command: Command, options: argparse.Namespace) -> int:
    if command.foreground:
        return int(command.run(options, Context())["exit_code"])
    from workbench.cli.console import run_on_console

    result = run_on_console(
        lambda emit, cancel: command.run(options, Context(emit, cancel)), command.name, lambda: _settle(options)
    )
    if result is None:
        return BUG
    # allow_nan=False: an infinity in a result would be a bug, and is no JSON.
    as_json = options.json and json.dumps(result, ensure_ascii=False, allow_nan=False)
    _say(as_json or command.text(_in_one_line(result)))
    return FAULT_FOUND if result.get("ok") is False else DONE


def _settle(options: argparse.Namespace) -> str:
    """Settle what a run that is cut off leaves, its reservation and nameless files; return what stays charged."""
    if "workbench.release.recover" in sys.modules:
        from workbench.release.atomic import remove_temporary
        from workbench.release.recover import settle_own_reservations

        remove_temporary()
        return settle_own_reservations(getattr(options, "ledger", None))
    return ""


def _in_one_line(value: Any) -> Any:
    """Return a result whose texts, among them names and values of somebody's files, cannot break out of their line."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Mapping):
        return {_in_one_line(key): _in_one_line(inner) for key, inner in value.items()}
    return [_in_one_line(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _say(text: str) -> None:
    """Write ``text`` to standard output; nothing in it commands the terminal.

    Raises:
        InputError: it cannot be written. Where its reader has gone (``| head``) nobody reads the message.
    """
    try:
        print("\n".join(map(visible, text.split("\n"))))
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon(sys.stdout)
    except OSError as error:
        _abandon(sys.stdout)
        what = f"the result cannot be printed: {error.strerror}"
        raise InputError(what, "standard output", "check where standard output goes") from None


def _abandon(stream: TextIO) -> None:
    """Point ``stream`` at nothing, so that the flush at exit does not fail once more."""
    with contextlib.suppress(OSError, ValueError):  # ValueError: it has no descriptor
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def _placed(error: WorkbenchError, words: Sequence[str]) -> WorkbenchError:
    """Return ``error`` with the command as its place, and the command's help as its way out, where it has none."""
    if not isinstance(error, CancelledError):
        called = f"workbench {words[0]}" if words and is_command(words[0]) else "workbench"
        error.where = error.where or called
        error.remedies = error.remedies or remedies_of(f"see `{called} --help`")
    return error


def _complain(error: WorkbenchError) -> int:
    try:
        print(f"error: {error}", file=sys.stderr)
    except OSError:
        _abandon(sys.stderr)
    return error.exit_code


@contextlib.contextmanager
def _quitting_on_interrupt() -> Iterator[None]:
    """Let Ctrl+C end the program at once while it is only being loaded, and nothing is open yet.

    An exception in the middle of an import may come out of it as any other, and look like a fault of the program.
    A signal that was set to be ignored before the start (a script's ``nohup workbench … &``) cancels here as it does
    while the command runs: a job in the background of an interactive shell does not get the terminal's Ctrl+C, so
    whoever sends this one means it.
    """
    alone = threading.current_thread() is threading.main_thread()
    former = signal.getsignal(signal.SIGINT)
    if not alone or former not in (signal.default_int_handler, signal.SIG_IGN):
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(_complain(CancelledError())))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _ready_streams() -> None:
    """Have both streams, and let ε be printed where the terminal's encoding has no such letter."""
    # A stream that was closed before the start is None, and what is printed to None goes to the other one.
    # The program's end closes them.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace" if stream.isatty() else "backslashreplace")


def _overview() -> str:
    lines = [
        "workbench: release a sensitive table with differential privacy, and see the cost in accuracy",
        "",
        "usage: workbench COMMAND [options]      (workbench COMMAND --help has a working example)",
        "",
    ]
    lines += [f"  {name:<11} {help_of(name)}" for name in commands()]
    return "\n".join(
        [
            *lines,
            "",
            "workbench help TOPIC has more:",
            "",
            *(f"  {name:<11} {topic_title(name)}" for name in TOPICS),
            "",
            "Every command takes --json. Exit codes: 0 done, 2 bad input, 3 refused by the budget, 4 cancelled,",
            "5 a check failed, 1 a bug.",
        ]
    )

"""Commands: their options, derived from declared parameters, and advice that repeats the options in use."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from workbench.data.csv.options import ReadOptions
from workbench.params import ParameterError, Parameters, WorkbenchError
from workbench.params.field import METADATA_KEY, BooleanField, TextsField
from workbench.params.lists import RecordsField
from workbench.params.remedies import (
    ADD_VALUE,
    DECLARE,
    LEDGER,
    LIST_VALUES,
    REPLACE_INVALID,
    REPLACE_VALUES,
    Remedy,
    shown,
)
from workbench.signals import CancelToken, Emit, ignore

READING = "how to read the file, if detection is wrong (see `workbench help reading`)"
"""Heading of the reading options, which nearly every command has and few calls need: the help only lists them."""


READ_AS = "read_as"  # what the options of a command get for how a plan has its table read, which advice repeats

P = TypeVar("P", bound=Parameters)


@dataclass
class Context:
    """What a command receives besides its options: a listener for its events and a cancel token."""

    emit: Emit = ignore
    cancel: CancelToken = field(default_factory=CancelToken)


Run = Callable[[argparse.Namespace, Context], dict[str, Any]]


@dataclass(frozen=True)
class Command:
    """One subcommand of ``workbench``: a file of this folder declares one as ``COMMAND``."""

    example: str  # a command line that works as it is (on bundled samples)
    configure: Callable[[argparse.ArgumentParser], None]  # adds its arguments to a parser
    run: Run  # does the work; returns the object that `--json` prints. `"ok": False` in it means exit 5.
    text: Callable[[Mapping[str, Any]], str]  # the short human text of that object
    name: str = ""  # the word after `workbench`; like `help`, the list of commands has it (`workbench.cli.catalogue`)
    help: str = ""  # one line
    releases: bool = False  # whether it publishes something; such a command refuses `--seed`
    # Whether it stays in the main thread (a window can live nowhere else); its result then names the `exit_code` and is
    # not printed.
    foreground: bool = False


class _Once(argparse._StoreAction):
    """Takes one value: of two, the last would silently count."""

    given = False

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if self.given and option_string:
            raise ParameterError(f"{option_string} takes one value but is given twice", parser.prog, "give it once")
        self.given = True
        super().__call__(parser, namespace, values, option_string)


def flag_of(cls: type[Parameters], name: str) -> str:
    """Return the option that sets attribute ``name`` of ``cls``."""
    return "--" + (cls.declared()[name].flag or name).replace("_", "-")


def add_options(
    parser: argparse._ActionsContainer,
    cls: type[Parameters],
    *names: str,
    prefix: str | None = None,
    listed: Mapping[str, str] | None = None,
    required: Sequence[str] = (),
    once: bool = False,
) -> None:
    """Add an option for each of ``names`` (all declared attributes where none is named).

    Args:
        parser: a parser, or a group of its options.
        cls: the parameter set.
        names: attributes of it.
        prefix: what the parsed options are called by; the class's name where none is given.
        listed: what an attribute can be, where its list lies above ``cls``, by its name.
        required: attributes that must be given although they have a default.
        once: whether an option of one value is refused where it is given twice.
    """
    prefix = cls.__name__ if prefix is None else prefix
    declared = cls.declared()
    defaults = {f.name: f.default for f in dataclasses.fields(cls) if METADATA_KEY in f.metadata}
    for name in names or declared:
        spec, default = declared[name], defaults[name]
        if isinstance(spec, RecordsField):
            continue  # no single option can hold it
        unit = f" [{spec.unit}]" if spec.unit else ""
        if isinstance(spec, BooleanField):
            _add_flag(parser, cls, name, f"{prefix}.{name}", default=default)
            continue
        stated = "" if default in (None, dataclasses.MISSING, ()) else f" (default {_written(spec.plain(default))})"
        parser.add_argument(
            flag_of(cls, name),
            dest=f"{prefix}.{name}",
            metavar=spec.symbol or name.upper(),
            action="append" if isinstance(spec, TextsField) and spec.repeated else _Once if once else "store",
            required=default is dataclasses.MISSING or name in required,
            help=", ".join([spec.help, *filter(None, [(listed or {}).get(name)])]).replace("%", "%%") + unit + stated,
        )


def _add_flag(parser: argparse._ActionsContainer, cls: type[Parameters], name: str, dest: str, *, default: Any) -> None:
    """Add an option without a value, which turns attribute ``name`` from its default to the opposite."""
    usual = default is True
    flag = flag_of(cls, name)
    parser.add_argument(
        flag.replace("--", "--no-", 1) if usual else flag,
        dest=dest,
        action="store_const",
        const="false" if usual else "true",
        help=("not: " if usual else "") + cls.declared()[name].help.replace("%", "%%"),
    )


def _written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def given_options(namespace: argparse.Namespace, cls: type[Parameters], prefix: str | None = None) -> dict[str, Any]:
    """Return the values that were given for attributes of ``cls``, by name."""
    prefix = cls.__name__ if prefix is None else prefix
    typed = {name: getattr(namespace, f"{prefix}.{name}", None) for name in cls.declared()}
    return {
        name: cls.declared()[name].parse(word, flag_of(cls, name)) for name, word in typed.items() if word is not None
    }


def read_options(namespace: argparse.Namespace, cls: type[P], *, prefix: str | None = None, **given: Any) -> P:
    """Make ``cls`` from the options that :func:`add_options` added with ``prefix`` and the values ``given``."""
    values = given | given_options(namespace, cls, prefix)
    missing = [
        f.name
        for f in dataclasses.fields(cls)
        if f.name not in values and f.default is f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ParameterError(f"the option {flag_of(cls, missing[0])} is missing", hint="give it")
    return cls(**values)


def repeat_what_is_in_use(error: WorkbenchError, options: argparse.Namespace) -> None:
    """Let the commands that ``error`` advises name the table and the ledger of the command that failed."""
    ways = error.remedies if not hasattr(options, "replace_invalid") else _without_a_plan(error.remedies)
    error.remedies = tuple(remedy.repeating(_data_in_use(options), ledger_in_use(options)) for remedy in ways)


def _without_a_plan(remedies: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
    """Return what can be done where a released model says what its columns are."""
    option = dataclasses.replace(REPLACE_VALUES, text="count such values as missing with --replace-invalid")
    ways = (option if remedy.kind == REPLACE_INVALID else remedy for remedy in remedies)
    return tuple(remedy for remedy in ways if remedy.kind not in (DECLARE, ADD_VALUE, LIST_VALUES))


def command_in_use(options: argparse.Namespace, *words: str) -> str:
    """Return a command that a hint names, with the ledger in use where ``words`` hold :data:`LEDGER`."""
    return shown([each for word in words for each in (ledger_in_use(options) if word is LEDGER else (word,))])


def ledger_in_use(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the option that names the ledger; empty where none was given."""
    ledger = getattr(options, "ledger", None)
    return () if ledger is None else ("--ledger", str(ledger))


def _data_in_use(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the table with the options that say how it is read; empty where the command names none."""
    data = getattr(options, "data", None)
    if data is None:
        return ()
    typed = {name: getattr(options, f"{ReadOptions.__name__}.{name}", None) for name in ReadOptions.declared()}
    stated = {name: value for name, value in typed.items() if value is not None}
    return (str(data), *reading_words(getattr(options, READ_AS, {}) | stated))


def reading_words(reading: Mapping[str, Any]) -> list[str]:
    """Return reading options as they are typed, a word each."""
    words: list[str] = []
    for name, value in reading.items():
        flag, typed = flag_of(ReadOptions, name), "tab" if value == "\t" else value
        if isinstance(ReadOptions.declared()[name], BooleanField):
            words.append(flag)
        elif isinstance(typed, list) or str(typed).startswith("-"):  # a list may begin with a mark such as -9
            words.append(f"{flag}={','.join(typed) if isinstance(typed, list) else typed}")
        else:
            words += [flag, str(typed)]
    return words

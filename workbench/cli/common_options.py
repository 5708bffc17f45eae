"""Arguments and texts common to several commands."""

from __future__ import annotations

import argparse
import os
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.cli.command import READ_AS, READING, Context, add_options, flag_of, given_options, read_options
from workbench.data.cluster_parts import DASK, LOCAL, Workers, workers_of
from workbench.data.databases.address import as_path
from workbench.data.person_join import join_on_person
from workbench.data.reading_options import Reading, merge_options
from workbench.data.table import Table
from workbench.data.table_reader import ReadOptions, read_table, require_options
from workbench.params import InputError, ParameterError, one_line
from workbench.params.amounts import counted, left, paid
from workbench.privacy.accounting.compose import round_up
from workbench.processes.dask_address import FORMS
from workbench.sanitize.plan import Plan, load_plan
from workbench.sanitize.plan_guesses import require_confirmed
from workbench.signals import Notice


def add_data(parser: argparse.ArgumentParser, *, required: bool = True, more: str = "") -> None:
    """Add DATA and the options that say how to read it; ``more`` is added to its help."""
    many = None if required else "?"
    stated = (
        "CSV or TSV (also packed: gz, zst, bz2, xz, zip), Parquet (a file or a folder), Feather, JSON Lines, Excel, "
        f"ODS, SPSS, Stata or SAS file, by its path or address (https, s3, gs, abfs), or sample:NAME{more}"
    )
    parser.add_argument("data", metavar="DATA", nargs=many, help=stated)
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a file is read, as a group of its own, which the help shows last."""
    add_options(parser.add_argument_group(READING), ReadOptions)


def add_plan_of_study(parser: argparse.ArgumentParser) -> None:
    """Add ``--plan PLAN`` to a command that measures the rows and releases nothing."""
    parser.add_argument(
        "--plan", type=Path, metavar="PLAN", help="read the rows as this plan does: codes that it declares are missing"
    )


def add_join(parser: argparse.ArgumentParser) -> None:
    """Add ``--join FILE --on COLUMN``."""
    second = (
        "a second table, joined on the person: one random row of each person in FILE is added to each of the "
        "person's rows in DATA; epsilon covers all rows of a person in both"
    )
    parser.add_argument("--join", metavar="FILE", help=second)
    on = "the column that identifies a person in both tables, or DATA's=FILE's; not needed for a plan with [join]"
    parser.add_argument("--on", metavar="COLUMN", help=on)


SCHEDULER_FILE = "instead of --scheduler: the file written by `dask scheduler --scheduler-file FILE`"


def add_engine(parser: argparse.ArgumentParser, done: str, more: str = "", rows: str = "the raw rows") -> None:
    """Add ``--engine --scheduler``; ``done`` says what is done with ``rows`` on workers, ``more`` is added."""
    where = f"where rows are {done}: on this computer (default), or on the workers of --scheduler{more}"
    parser.add_argument("--engine", default=LOCAL, metavar=f"{LOCAL}|{DASK}", help=where)
    scheduler = (
        f"the Dask scheduler of --engine dask ({FORMS}). Its workers read a large file from the same path; for "
        f"a small one they receive {rows}, encrypted only with tls://"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help=scheduler)
    parser.add_argument("--scheduler-file", metavar="FILE", type=Path, help=SCHEDULER_FILE)


def engine_of(options: argparse.Namespace, context: Context) -> Workers | None:
    """Return the workers that the options name; ``None`` for this computer."""
    file = options.scheduler_file
    return workers_of(options.engine, options.scheduler, file, context.emit, context.cancel, "--")


def read_data(options: argparse.Namespace, context: Context, plan: Plan | None = None) -> Table:
    """Return the table that DATA names, read as the options or ``plan`` say; report choices that the reader made.

    With ``--join`` it is joined with that file.
    """
    table, second = read_other(options.data, options, context, plan), getattr(options, "join", None)
    if second is None:
        if hasattr(options, "join") and options.on is not None:
            raise ParameterError("--on needs a second table", hint="add --join FILE, or leave it out")
        return report_notices(table, context)
    person, on = joined_on(options, plan)
    how = plan.join.reading if plan is not None and plan.join is not None else None
    replace_invalid = plan is not None and plan.replaces_invalid
    other = read_table(
        second, merge_options(ReadOptions(), how), cancel=context.cancel, replace_invalid=replace_invalid
    )
    return report_notices(join_on_person(table, other, person, on), context)


def joined_on(options: argparse.Namespace, plan: Plan | None) -> tuple[str, str]:
    """Return the columns of DATA and of ``--join`` that identify a person, as the plan says, else as ``--on``."""
    person, _, on = (options.on or getattr(options, "unit", None) or "").partition("=")
    stated = (person, on or person)
    if plan is None:
        if not person:
            what = "--join needs the column that identifies a person"
            raise ParameterError(what, hint="add --on COLUMN")
        return stated
    if plan.unit is None or plan.join is None:
        what = "the plan has no join"
        hint = 'write unit = "COLUMN" and [join] with on = "COLUMN" in it, or leave --join out'
        raise ParameterError(what, "--join", hint, code="join-unplanned")
    planned = plan.unit, plan.join.on
    if person and stated != planned:
        what = f"the plan joins on {planned[0]} and {planned[1]}"
        raise ParameterError(what, "--on", "leave --on out")
    return planned


def report_notices(table: Table, context: Context) -> Table:
    """Report the choices that the reader of ``table`` made; return it."""
    for sentence in table.notices:
        context.emit(Notice("info", sentence))
    return table


def read_other(data: str, options: argparse.Namespace, context: Context, plan: Plan | None) -> Table:
    """Return the table ``data``, read as the options say, else as ``plan``."""
    names = None if plan is None else [c.name for c in plan.columns]
    replace_invalid = plan is not None and plan.replaces_invalid
    reading = how_to_read(options, plan)
    require_used(options, data)
    return read_table(data, reading, names, cancel=context.cancel, replace_invalid=replace_invalid)


_OTHER_TABLES = ("data", "original", "control", "population", "test", "known", "members", "nonmembers")


def require_used(options: argparse.Namespace, *tables: str) -> None:
    """Refuse a reading option that means nothing for ``tables`` and the others that the command names."""
    named = (getattr(options, name, None) for name in _OTHER_TABLES)
    stated = {name: flag_of(ReadOptions, name) for name in given_options(options, ReadOptions)}
    require_options(stated, *tables, *(str(table) for table in named if table is not None))


def how_to_read(options: argparse.Namespace, plan: Plan | None) -> ReadOptions:
    """Return the reading options, with the plan's for those that are not given; advice repeats them."""
    how = merge_options(read_options(options, ReadOptions), plan.reading if plan is not None else None)
    # A header is found again without a word.
    setattr(options, READ_AS, {k: v for k, v in how.to_plain().items() if (k, v) != ("header", "yes")})
    return how


def with_reading(plan: Plan, options: argparse.Namespace) -> Plan:
    """Return the plan with the reading options that are given, as the card of a model repeats them."""
    if not given_options(options, ReadOptions):
        return plan
    how = how_to_read(options, plan)
    return replace(plan, reading=Reading(**{name: getattr(how, name) for name in ReadOptions.declared()}))


def load_confirmed(path: Path, account: str | None = None) -> Plan:
    """Return the plan in ``path`` for a release: one with unconfirmed guesses is refused before the table is read."""
    plan = load_plan(path)
    require_confirmed(plan, str(path))
    return with_account(plan, account)


def add_account(parser: argparse.ArgumentParser) -> None:
    """Add ``--account NAME``."""
    parser.add_argument("--account", metavar="NAME", help="the public name of the account that pays, as in a plan")


def with_account(plan: Plan, account: str | None) -> Plan:
    """Return the plan with the account that ``--account`` names, if it does."""
    if account is None or account == plan.account:
        return plan
    if plan.account is not None:
        raise ParameterError(f"the plan already has the account {plan.account!r}", "--account", "leave --account out")
    return replace(plan, account=account)


def add_output(parser: argparse.ArgumentParser, help_text: str, *, required: bool = True) -> None:
    """Add ``-o OUT``."""
    parser.add_argument("-o", "--output", required=required, metavar="OUT", type=as_path, help=help_text)


def add_ledger(parser: argparse.ArgumentParser) -> None:
    """Add ``--ledger FILE``."""
    parser.add_argument("--ledger", metavar="FILE", type=Path, help="the ledger (default: in the user data folder)")


def existing_ledger(path: Path | None) -> Path | None:
    """Return ``path``, or raise :class:`InputError` where a ledger was named that does not exist."""
    if path is not None and not os.path.exists(path):
        raise InputError("there is no such file", str(path), "check the name")
    return path


def columns_text(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a table of text with aligned columns; those in ``right`` are aligned to the right."""
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [f"{c:>{w}}" if i in right else f"{c:<{w}}" for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def shortened(text: str, most: int = 40) -> str:
    """Return a name or value of somebody's file in one line of at most so many letters."""
    text = one_line(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def figure(value: float) -> str:
    """Return a number as a person reads it: four digits, no exponent where none is needed."""
    return f"{value:.4g}"


def margin(of: str, half: float) -> str:
    """Return half of an interval; that of a share, such as ``share(sex=f)``, in percent, as in a wish."""
    share = of.removeprefix("the ").startswith("share")
    return f"± {figure(100 * half)} %" if share else f"± {figure(half)}"


class _Filled(string.Formatter):
    def format_field(self, value: Any, spec: str) -> str:
        """Return ``value``; ``figure`` is :func:`figure`, ``up4`` has four decimals, ``n row`` counts rows."""
        if spec.startswith("n "):
            return counted(value, *spec[2:].split("/"))
        if spec == "figure":
            return figure(value)
        return str(round_up(value, int(spec[2:]))) if spec.startswith("up") else format(value, spec)


def filled(words: str, result: Mapping[str, Any]) -> str:
    """Return ``words`` with the values of ``result`` in braces: ``{epsilon:up4}``, ``{variance:figure}``."""
    return _Filled().vformat(words, (), result)


def delta_text(result: Mapping[str, Any]) -> str:
    """Return δ of a charge in words, empty where it is 0."""
    return f" and delta = {paid(result['delta_charged'])}" if result.get("delta_charged") else ""


def charged_words(result: Mapping[str, Any], note: str = "") -> str:
    """Return what a release has charged, with a note on that, and what remains, in words."""
    charged = f"charged epsilon = {paid(result['epsilon_charged'])}{delta_text(result)}{note}"
    return f"{charged}, {left(result['epsilon_remaining'])} remain (release {result['release_id']})"

"""``workbench plan``: a draft plan for a table."""

from __future__ import annotations

import argparse
import codecs
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.common_options import add_data, add_join, add_output, how_to_read, read_data
from workbench.data.columns.missing import with_codes
from workbench.data.columns.profile import ColumnProfile, profile
from workbench.data.columns.values_file import FoundValue, found_attributes, person_limit
from workbench.data.person_join import Join
from workbench.data.reading_options import reading_of
from workbench.data.samples.sample_tables import sample_attributes
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.data.table_reader import SAMPLE_PREFIX, ReadOptions
from workbench.params import ParameterError, WorkbenchError, one_line
from workbench.params.amounts import counted
from workbench.params.codec import parse_toml, read_text, read_toml
from workbench.params.field import RealField
from workbench.params.remedies import shown
from workbench.privacy.local import mechanisms
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.atomic import write_output
from workbench.release.part_files import refuse_replacing_inputs
from workbench.release.values_work import released_values
from workbench.sanitize.data_dictionary import column_tables, left_out_in_words, load_dictionary, write_dictionary
from workbench.sanitize.intended_use import (
    FIRST_EPSILON,
    IntendedUse,
    PlanQuestions,
    Suggestion,
    parse_uses,
    suggestion,
)
from workbench.sanitize.plan import AUTO, Plan, unfilled
from workbench.sanitize.plan_guesses import confirm, places
from workbench.sanitize.plan_template import Draft, draft
from workbench.sanitize.wishes import Wish
from workbench.signals import Notice

_DICTIONARY = (
    "read declarations from this data dictionary: CSV with the header "
    "name,role,kind,lower,upper,values,missing,missing_codes,date_order, dates as 1990-12-31, values separated by |"
)
_VALUES = (
    "read domains, bounds and rows per person released by `workbench values`; the certificate must be next to FILE"
)
_EXPORT = "write the data dictionary of PLAN to -o; takes no DATA"
_CONFIRM = "confirm that every guess in PLAN is right and public knowledge; takes no DATA"
_FOR = "who gets the release: anyone (ε up to 1), named (recipients under terms, up to 3) or us (only we, up to 10)"
_ASK = "intended use: averages, pairs, model:COL, rows, figures; separate several by commas"
_WANT = 'a statistic and its error margin, such as "mean(age) ± 2"; may be repeated'
_UNIT = (
    "the column that identifies a person: at most --rows-per-person rows of each person are read, chosen at "
    "random, and the others are emptied; the column is not released, and invalid values count as missing"
)
_DROPPED = ": action = drop"
_ALONE = "run `workbench plan --confirm PLAN` on its own"
_EXPORT_ALONE = "run `workbench plan --export-dictionary PLAN -o FILE` on its own"

_EPSILON = RealField(
    help="epsilon of a whole row, divided among its columns", at_least=EPSILON_LEAST, upto=EPSILON_MOST
)


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser, required=False)
    add_join(parser)
    parser.add_argument("--confirm", type=Path, metavar="PLAN", help=_CONFIRM)
    parser.add_argument("--epsilon", metavar="ε", help=_EPSILON.help)
    parser.add_argument("--target", metavar="COL", help="the column to predict")
    names = ", ".join(m.name for m in mechanisms.MECHANISMS)
    parser.add_argument(
        "--mechanism", default=AUTO, metavar="M", help=f"for every column it fits: {names}, or auto (default)"
    )
    parser.add_argument("--drop", action="append", default=[], metavar="COL", help="leave COL out; may be repeated")
    people = Plan.declared()["rows_per_person"]
    parser.add_argument("--unit", metavar="COL", help=_UNIT)
    parser.add_argument("--rows-per-person", metavar="K", help=people.help)
    parser.add_argument(
        "--from-data", action="store_true", help="take bounds and domains from the rows: epsilon does not cover that"
    )
    parser.add_argument("--values", type=Path, metavar="FILE", help=_VALUES)
    parser.add_argument("--for", dest="recipient", metavar="WHO", help=_FOR)
    parser.add_argument("--need", metavar="COLS", help="the columns that they need, a,b,c; the others are left out")
    parser.add_argument("--ask", metavar="WHAT", help=_ASK)
    parser.add_argument("--want", action="append", default=[], metavar="WISH", help=_WANT)
    parser.add_argument("--dictionary", type=Path, metavar="FILE", help=_DICTIONARY)
    parser.add_argument("--export-dictionary", type=Path, metavar="PLAN", help=_EXPORT)
    add_output(parser, "the plan file (TOML), or the exported data dictionary (CSV)", required=False)


def _rows_of_one(columns: Iterable[ColumnProfile], unit: str | None) -> Iterator[str]:
    """Yield a note on each column that may say which rows belong to one person, where ``unit`` does not."""
    for column in columns if unit is None else ():
        for found in column.suspicions:
            if found.what == "household":
                option = f"--unit {shlex.quote(column.name)}"
                yield f"{column.name}: {found.why}; epsilon is about one row, or with {option} about a person's rows"


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    asked = any((options.recipient, options.need, options.ask, options.want))
    epsilon_text = options.epsilon if options.epsilon is not None or not asked else str(FIRST_EPSILON)
    needed = {"DATA": options.data, "--epsilon": epsilon_text, "-o": options.output}
    if options.confirm is not None:
        for name in (name for name, value in needed.items() if value is not None):
            raise ParameterError(f"--confirm changes an existing plan, but {name} is for a new one", hint=_ALONE)
        return _confirm(options.confirm)
    if options.export_dictionary is not None:
        return _export(options, context)
    for name in (name for name, value in needed.items() if value is None):
        raise ParameterError(f"{name} is missing", "workbench plan", "see `workbench plan --help`")
    epsilon = _EPSILON.parse(epsilon_text, "--epsilon")
    refuse_replacing_inputs(options.output, options.data, options.join, options.dictionary, options.values)
    dictionary = load_dictionary(options.dictionary) if options.dictionary is not None else ()
    table = with_codes(read_data(options, context), dictionary)
    columns = profile(table, cancel=context.cancel, emit=context.emit)
    declared, release_id, found = _declared(options.data), "", list[FoundValue]()
    if options.values is not None:
        found, release_id = released_values(options.values, context.cancel)
        declared = (*declared, *found_attributes(found, {column.name: column.kind for column in columns}))
    join = _join(options, table)
    unit, rows_per_person = _persons(options, person_limit(found))
    roles = {a.name: a.role for a in declared} | {e.name: e.role for e in dictionary if e.role}
    suggested = suggestion(columns, table.rows, roles) if asked and options.need is None else None
    questions = _questions(options, suggested) if asked else None
    named = (unit, options.target, *(questions.needed if questions is not None else ()))
    table.require([name for name in named if name in table.left_out])
    made = draft(
        columns,
        epsilon,
        declared=declared,
        target=options.target,
        mechanism_name=options.mechanism,
        dropped=[name for name in options.drop if name not in table.left_out],
        from_data=options.from_data,
        reading=reading_of(table.joined.first if table.joined else table, how_to_read(options, None)),
        join=join,
        dictionary=dictionary,
        questions=questions,
        suggested=suggested,
        labelled=table.labelled_domains(),
        unit=unit,
        rows_per_person=rows_per_person,
    )
    taken = f"domains, bounds and rows of a person are those of the release {release_id}" if release_id else ""
    notes = [*made.notes, *_rows_of_one(columns, unit), *filter(None, (made.on_target, taken)), *table.to_check]
    for note in notes:
        context.emit(Notice("info", note))
    kept = ", as is rows_per_person" if person_limit(found) is not None and options.rows_per_person is None else ""
    comment = f'# bounds_origin = "released": found by the release {release_id}{kept}\n' if release_id else ""
    for warning in _written(options, made, comment):
        context.emit(Notice("warning", warning))
    return {
        "plan": str(options.output),
        "unfilled": list(made.unfilled),
        "guesses": places(made.guesses),
        "notes": notes,
        "guessed": [str(guess) for guess in made.guesses],
    }


def _join(options: argparse.Namespace, table: Table) -> Join | None:
    if table.joined is None:
        return None
    if options.unit not in (None, table.joined.person):
        what = f"--unit is {options.unit}, but the tables are joined on {table.joined.person}"
        raise ParameterError(what, hint="change one of the two")
    options.unit = table.joined.person
    return Join(on=table.joined.on, reading=reading_of(table.joined.second, ReadOptions()))


def _persons(options: argparse.Namespace, found: tuple[str, int] | None) -> tuple[str | None, int]:
    """Return the column that identifies a person, and rows of each: as stated, else as a release has found them."""
    if options.rows_per_person is not None:
        rows = int(Plan.declared()["rows_per_person"].parse(options.rows_per_person, "--rows-per-person"))
        return options.unit or (found[0] if found is not None else None), rows
    if found is not None and options.unit in (None, found[0]):
        return found
    if options.unit is not None:
        named = "--unit" if options.join is None else "--join"
        what = f"{named} identifies the person but does not limit the rows per person"
        raise ParameterError(what, hint="add --rows-per-person K")
    return None, 1


def _questions(options: argparse.Namespace, suggested: Suggestion | None) -> IntendedUse:
    usual = PlanQuestions()
    asks, target = parse_uses(options.ask.split(",")) if options.ask is not None else (usual.asks, None)
    if target is not None and options.target not in (None, target):
        what = f"the target is {options.target!r}, but --ask names {target!r}"
        raise ParameterError(what, hint="change one of the two")
    needed = suggested.needed if suggested is not None else tuple(name.strip() for name in options.need.split(","))
    target = target or options.target
    needed = (*needed, target) if target is not None and target not in needed else needed
    stated = PlanQuestions(recipient=options.recipient or usual.recipient, asks=asks, wishes=tuple(options.want))
    return IntendedUse(stated.recipient, needed, stated.asks, target, tuple(map(Wish.parse, stated.wishes)))


def _confirm(path: Path) -> dict[str, Any]:
    """Confirm every guess of the plan in ``path``: a person says that they are right and public knowledge."""
    text = read_text(path, "plan")
    changed, found = confirm(text, str(path))
    raw = parse_toml(changed, "plan", str(path))
    still_open = unfilled(raw, str(path))
    if not still_open:
        Plan.from_plain(raw, where=str(path))  # what no release would take is not confirmed
    if changed != text:
        mark = codecs.BOM_UTF8 if path.read_bytes().startswith(codecs.BOM_UTF8) else b""
        write_output(path, mark + changed.encode())
    return {
        "plan": str(path),
        "confirmed": places(found),
        "unfilled": still_open,
        "guessed": [str(guess) for guess in found],
    }


def _export(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    given = {"DATA": options.data, "--epsilon": options.epsilon, "--dictionary": options.dictionary}
    for name in (name for name, value in given.items() if value is not None):
        raise ParameterError(
            f"--export-dictionary reads an existing plan, but {name} is for a new one", hint=_EXPORT_ALONE
        )
    if options.output is None:
        raise ParameterError("-o is missing", "workbench plan", _EXPORT_ALONE)
    refuse_replacing_inputs(options.output, options.export_dictionary)
    text, left_out = write_dictionary(column_tables(options.export_dictionary))
    write_output(options.output, text.encode())
    if left_out:
        context.emit(Notice("warning", left_out_in_words(left_out)))
    return {"dictionary": str(options.output), "left_out": list(left_out)}


def _written(options: argparse.Namespace, made: Draft, comment: str) -> Iterator[str]:
    """Write the plan; yield what a person has to know of it."""
    lost = _filled_before(options.output, made.unfilled)
    write_output(options.output, f"{comment}{made.toml}".encode())
    if lost > 0:
        yield f"{options.output} was replaced: it had {counted(lost, 'fact')} filled in"
    if options.from_data:
        yield "bounds and domains were taken from the rows: every certificate will say so"


def _filled_before(path: Path, still_open: tuple[str, ...]) -> int:
    """Return how many facts a plan that is about to be replaced has filled in that now are ``"?"`` again."""
    if not path.is_file() or not still_open:
        return 0
    try:
        return len(still_open) - len(unfilled(read_toml(path, "plan"), str(path)))
    except WorkbenchError:
        return 0  # no plan: nothing that was filled in is lost


def _declared(data: str) -> tuple[Attribute, ...]:
    if not data.startswith(SAMPLE_PREFIX):
        return ()
    return sample_attributes(data.removeprefix(SAMPLE_PREFIX))


def _text(result: Mapping[str, Any]) -> str:
    if "dictionary" in result:
        return f"wrote {result['dictionary']}"
    return "\n".join(_confirmed_lines(result) if "confirmed" in result else _drafted_lines(result))


def _drafted_lines(result: Mapping[str, Any]) -> list[str]:
    plan = result["plan"]
    lines = [f"wrote {plan}", *_open_lines(result)]
    if result["guessed"]:
        lines += ["guessed from the rows, so one row can change it:", *_guess_lines(result)]
        lines += ["Correct any errors in the file. If the rest is right and public knowledge, run"]
        lines += [f"  {shown(('plan', '--confirm', plan))[1:-1]}"]
    return [*lines, f"next: {shown(('forecast', '--plan', plan))[1:-1]}"]


def _confirmed_lines(result: Mapping[str, Any]) -> list[str]:
    plan = result["plan"]
    if result["guessed"]:
        lines = [f"confirmed as right and public knowledge in {plan}:", *_guess_lines(result)]
    else:
        lines = [f"nothing to confirm in {plan}"]
    return [*lines, *_open_lines(result), f"next: {shown(('forecast', '--plan', plan))[1:-1]}"]


def _guess_lines(result: Mapping[str, Any]) -> list[str]:
    """Return a line for each guess; columns that are all left out share one."""
    gone = [guess.removesuffix(_DROPPED) for guess in result["guessed"] if guess.endswith(_DROPPED)]
    lines = [f"  {one_line(guess)}" for guess in result["guessed"] if not guess.endswith(_DROPPED)]
    return [*lines, *([f"  {one_line(', '.join(gone))}{_DROPPED}"] if gone else [])]


def _open_lines(result: Mapping[str, Any]) -> list[str]:
    found = result["unfilled"]
    if not found:
        return []
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    facts = counted(len(found), "public fact is", "public facts are")
    return [
        f'{facts} still "?": {one_line(", ".join(found[:3]))}{more}',
        "Open the file and fill them in from what is publicly known.",
    ]


COMMAND = Command(
    "workbench plan sample:people --for anyone --need age,sex,label --ask averages,pairs -o plan.toml",
    _configure,
    _run,
    _text,
)

"""``workbench plan``: a first plan for a table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.tables import add_data, add_output, keep_inputs, read_data
from workbench.data.profile import profile
from workbench.data.read import SAMPLE_PREFIX
from workbench.data.schema import Attribute
from workbench.params import InputError, WorkbenchError
from workbench.params.codec import read_toml
from workbench.params.field import RealField
from workbench.privacy.mechanisms import MECHANISMS
from workbench.privacy.table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.atomic import write_output
from workbench.sanitize.draft import draft
from workbench.sanitize.plan import AUTO, unfilled
from workbench.signals import Notice

_EPSILON = RealField(
    help="privacy loss of one row's whole record; the columns share it", at_least=EPSILON_LEAST, upto=EPSILON_MOST
)


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("--epsilon", required=True, metavar="ε", help=_EPSILON.help)
    parser.add_argument("--target", metavar="COL", help="the column to predict")
    names = ", ".join(m.name for m in MECHANISMS)
    parser.add_argument(
        "--mechanism", default=AUTO, metavar="M", help=f"for every column it fits: {names}, or auto (default)"
    )
    parser.add_argument("--drop", action="append", default=[], metavar="COL", help="leave COL out; may be repeated")
    parser.add_argument(
        "--from-data", action="store_true", help="read bounds and domains off the rows: outside the guarantee"
    )
    add_output(parser, "the plan file (TOML)")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    epsilon = _EPSILON.parse(options.epsilon, "--epsilon")
    keep_inputs(options.output, options.data)
    table = read_data(options, context)
    made = draft(
        profile(table, cancel=context.cancel, emit=context.emit),
        epsilon,
        declared=_declared(options.data),
        target=options.target,
        mechanism_name=options.mechanism,
        dropped=options.drop,
        from_data=options.from_data,
    )
    _keep_filled(options.output, made.unfilled)
    for note in made.notes:
        context.emit(Notice("info", note))
    write_output(options.output, made.toml.encode())
    if options.from_data:
        context.emit(Notice("warning", "bounds and domains were read off the rows: every certificate will say so"))
    return {"plan": str(options.output), "unfilled": list(made.unfilled), "notes": list(made.notes)}


def _keep_filled(path: Path, still_open: tuple[str, ...]) -> None:
    """Refuse to write ``"?"`` over a plan in which somebody filled them in.

    Raises:
        InputError: the plan in ``path`` has fewer open facts than the one about to take its place.
    """
    if not path.is_file() or not still_open:
        return
    try:
        before = unfilled(read_toml(path, "plan"), str(path))
    except WorkbenchError:
        return  # no plan: nothing that was filled in can be lost
    if len(before) < len(still_open):
        raise InputError("a plan with facts filled in stands there", str(path), "name another file, or delete it first")


def _declared(data: str) -> tuple[Attribute, ...]:
    """Return the public facts that come with a bundled sample; its identifiers have none and are dropped."""
    if not data.startswith(SAMPLE_PREFIX):
        return ()
    from workbench.data.samples import sample_attributes

    return tuple(a for a in sample_attributes(data.removeprefix(SAMPLE_PREFIX)) if a.role != "identifier")


def _text(result: Mapping[str, Any]) -> str:
    lines = [f"wrote {result['plan']}"]
    if result["unfilled"]:
        more = f" and {len(result['unfilled']) - 3} more" if len(result["unfilled"]) > 3 else ""
        lines += [f'{len(result["unfilled"])} public facts are still "?": {", ".join(result["unfilled"][:3])}{more}']
        lines += [
            "Open the file and fill them in from what is publicly known; then run",
            f"  workbench forecast --plan {result['plan']}",
        ]
    else:
        lines += [f"next: workbench forecast --plan {result['plan']}"]
    return "\n".join(lines)


COMMAND = Command(
    name="plan",
    help="write a first plan for a table, with the public facts left to fill in",
    example="workbench plan sample:people --epsilon 3 --target label -o plan.toml",
    configure=_configure,
    run=_run,
    text=_text,
)

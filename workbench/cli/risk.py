"""``workbench risk``: re-identification risk of a table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import (
    add_data,
    add_ledger,
    add_plan_of_study,
    columns_text,
    read_data,
    read_other,
    shortened,
)
from workbench.cli.study_options import note_study
from workbench.data.columns.missing import codes_of
from workbench.params import counted, one_line
from workbench.release.described_release import is_release, with_codes_unless_released
from workbench.risk import measures
from workbench.risk.hierarchies.builders import read_hierarchies
from workbench.risk.measures import RiskOptions, Subject, measured
from workbench.sanitize.plan import load_plan

_WIDEST = 60


def configure(parser: argparse.ArgumentParser, *names: str, required: Sequence[str] = ()) -> None:
    """Add DATA, the population's table, and the options ``names`` of what is measured; some are ``required``."""
    add_data(parser)
    add_options(parser, RiskOptions, *names, required=required)
    add_plan_of_study(parser)
    parser.add_argument(
        "--population", metavar="FILE", help="the table of the whole population, in place of --sample-fraction"
    )
    parser.add_argument(
        "--hierarchies",
        metavar="DIR",
        type=Path,
        help="a folder with COLUMN.csv for sensitive columns, as `workbench generalize` reads: values are then as far "
        "from one another as the level that joins them is high",
    )
    add_ledger(parser)


def figures(options: argparse.Namespace, context: Context, *, anonymity: bool) -> dict[str, Any]:
    """Return the figures of DATA; the ledger notes them first, unless DATA is a release with its certificate."""
    asked = read_options(options, RiskOptions)
    plan = None if options.plan is None else load_plan(options.plan)
    table = read_data(options, context, plan)
    population = None if options.population is None else read_other(options.population, options, context, None)
    given = [rows for rows in (table, population) if rows is not None]
    private = [rows for rows in given if not is_release(rows)]
    known = {} if options.hierarchies is None else read_hierarchies(options.hierarchies, (), asked.sensitive)
    codes = codes_of(plan.columns if plan is not None else ())
    read = [with_codes_unless_released(rows, codes) for rows in given]
    subject = Subject(read[0], asked, read[1] if read[1:] else None, known, context.cancel, context.emit)
    for rows in private:
        note_study(options, context, rows, "risk")
    return {"source": table.source, "private": bool(private), "quasi": list(asked.quasi)} | measured(
        subject, anonymity=anonymity
    )


def text(result: Mapping[str, Any]) -> str:
    """Return the figures in words, each measure below its title."""
    rows = counted(result["rows"], "row")
    parts = [one_line(f"{Path(result['source']).name}: {rows} by {', '.join(result['quasi'])}")]
    for measure in measures.MEASURES:
        if measure.shows in result:
            lines = [[shortened(line.title, _WIDEST), one_line(line.value)] for line in measure.lines(result)]
            parts += ["", measure.title, columns_text(("", ""), lines).partition("\n")[2]]
    whose = "private – not for release" if result["private"] else "of a released table, so the figures are public"
    return "\n".join([*parts, "", whose])


COMMAND = Command(
    "workbench risk sample:people --quasi age,sex,zip --sensitive label --sample-fraction 0.01",
    configure,
    partial(figures, anonymity=False),
    text,
)

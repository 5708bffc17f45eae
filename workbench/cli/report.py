"""``workbench report``: what an outsider could learn from a table or a release, as PDF or HTML. Private."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import (
    add_ledger,
    add_output,
    add_plan_of_study,
    add_reading,
    read_other,
    report_notices,
)
from workbench.params import ParameterError
from workbench.release.bundle import check_bundle_place
from workbench.release.documents.risk_document import risk_document, summary_sentences
from workbench.release.documents.written_document import check_document_path, write_document
from workbench.release.part_files import refuse_replacing_inputs
from workbench.release.risk_report import ReportRequest, risk_report
from workbench.release.verification import write_bundle_with_report
from workbench.sanitize.plan import load_plan


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help="a table; with --original a release of it, or a model's folder")
    parser.add_argument(
        "--original", metavar="DATA", help="the rows that DATA was made of: attacks are then made on it"
    )
    parser.add_argument("--control", metavar="DATA", help="rows of other people, who were not released")
    add_options(parser, ReportRequest)
    add_plan_of_study(parser)
    add_output(parser, "the report (.pdf or .html)")
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="DIR",
        help="also a new bundle of the release with the report in its folder private/: for those who may see the rows",
    )
    parser.add_argument("--replace", action="store_true", help="replace a bundle that exists")
    add_ledger(parser)
    add_reading(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    request = read_options(options, ReportRequest)
    check_document_path(options.output)
    refuse_replacing_inputs(
        options.output, options.data, options.original, options.control, options.plan, options.ledger
    )
    if options.original is None and (options.bundle is not None or options.control is not None):
        raise ParameterError("no release is given", hint="give the release, and its original rows with --original")
    release = None if options.original is None else Path(options.data)
    if options.bundle is not None:
        check_bundle_place(options.bundle, replace=options.replace)
    plan = None if options.plan is None else load_plan(options.plan)
    original = report_notices(read_other(options.original or options.data, options, context, plan), context)
    control = None if options.control is None else read_other(options.control, options, context, plan)
    report = risk_report(
        original,
        release,
        control,
        columns=None if plan is None else plan.columns,
        request=request,
        ledger=options.ledger,
        emit=context.emit,
        cancel=context.cancel,
    )
    document = risk_document(report)
    write_document(document, options.output)
    made = {"output": str(options.output)}
    if options.bundle is not None and release is not None:
        write_bundle_with_report(
            document, release, options.bundle, options.ledger, replace=options.replace, cancel=context.cancel
        )
        made["bundle"] = str(options.bundle)
    return {"private": True, **made, "sentences": list(summary_sentences(report)), **report.to_plain()}


def _text(result: Mapping[str, Any]) -> str:
    where = f"\nbundle with the report in {result['bundle']}" if "bundle" in result else ""
    return "\n".join([*result["sentences"], f"report in {result['output']} (private – not for release){where}"])


COMMAND = Command(
    "workbench report sample:people --quasi age,sex,zip --sensitive label -o report.html --ledger r.sqlite",
    _configure,
    _run,
    _text,
)

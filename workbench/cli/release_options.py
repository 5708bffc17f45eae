"""Options, result and documents common to all releasing commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.cli.command import Context, command_in_use
from workbench.cli.common_options import (
    add_account,
    add_ledger,
    add_output,
    charged_words,
)
from workbench.data.databases.address import shown
from workbench.params import ParameterError, WorkbenchError, counted
from workbench.params.remedies import LEDGER
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import commitment
from workbench.release.part_files import refuse_replacing_inputs
from workbench.release.release_path import (
    Destination,
    Prepared,
    Released,
    check_values,
    destination,
    release_prepared,
)
from workbench.release.signature import sign, signing_key
from workbench.release.table_formats import FORMATS
from workbench.release.verdict import Verdict, verdict_on
from workbench.sanitize.plan import Plan
from workbench.sanitize.writing import PLAIN, Writing
from workbench.signals import Notice, Progress


def add_release(parser: argparse.ArgumentParser, help_text: str, *, required: bool = True) -> None:
    """Add ``-o --replace --ledger --account`` and the options of documents."""
    add_output(parser, help_text, required=required)
    stated = "replace an existing output: this is a new release and is charged again"
    parser.add_argument("--replace", action="store_true", help=stated)
    add_ledger(parser)
    add_account(parser)
    add_documents(parser)


def add_certificate(parser: argparse.ArgumentParser) -> None:
    """Add ``--certificate FILE`` of a command whose output may be a table of a database."""
    stated = "certificate file for a table in a database (default TABLE.certificate.json in this folder)"
    parser.add_argument("--certificate", type=Path, metavar="FILE", help=stated)


def add_defuse(parser: argparse.ArgumentParser) -> None:
    """Add ``--defuse-formulas``."""
    stated = Writing.declared()["defuse_formulas"].help
    parser.add_argument("--defuse-formulas", action="store_true", help=stated)


def with_defused_formulas(options: argparse.Namespace, plan: Plan) -> Plan:
    """Return the plan, in which formulas are defused where ``--defuse-formulas`` is given."""
    if not options.defuse_formulas:
        return plan
    return replace(plan, writing=replace(plan.writing or PLAIN, defuse_formulas=True))


def add_documents(parser: argparse.ArgumentParser) -> None:
    """Add ``--pdf --html --bundle --sign``."""
    group = parser.add_argument_group("documents")
    group.add_argument("--pdf", type=Path, metavar="FILE", help="write the certificate as PDF, to read and to print")
    group.add_argument("--html", type=Path, metavar="FILE", help="write the certificate as HTML")
    group.add_argument(
        "--bundle", type=Path, metavar="DIR", help="a new folder: data, certificate, plan, ledger entry, check script"
    )
    group.add_argument("--sign", action="store_true", help="sign the certificate with your key (`workbench key make`)")


def asks_for_documents(options: argparse.Namespace) -> bool:
    """Return whether any of the options was given."""
    given = vars(options)
    return bool(given.get("sign")) or any(given.get(name) is not None for name in ("pdf", "html", "bundle"))


def check_documents(options: argparse.Namespace, *inputs: str | Path | None) -> None:
    """Refuse, before anything is charged, places that cannot be written, and a signature without a key."""
    if not asks_for_documents(options):
        return
    # Documents know every kind of release, model and figure: a release without one waits for none of them.
    from workbench.release.bundle import check_bundle_place
    from workbench.release.documents.written_document import check_document_path

    for name, suffix in (("pdf", ".pdf"), ("html", ".html")):
        path = getattr(options, name)
        if path is None:
            continue
        if path.suffix.lower() != suffix:
            raise ParameterError(f"--{name} writes a {suffix} file", str(path), f"use a name that ends in {suffix}")
        check_document_path(path)
        refuse_replacing_inputs(path, *inputs)
    places = [p.absolute() for p in (options.pdf, options.html, options.bundle, options.output) if p is not None]
    if len(set(places)) < len(places):
        raise ParameterError("two outputs have the same name", str(places[-1]), "use different names")
    if options.bundle is not None:
        check_bundle_place(options.bundle, replace=options.replace)
    if options.sign:
        signing_key()


def write_documents(options: argparse.Namespace, release: Path, context: Context) -> dict[str, Any]:
    """Write what the options ask for of a complete release; return it as part of the command's result.

    Raises:
        WorkbenchError: something cannot be written; the release and its charge stay, and the message says so.
    """
    if not asks_for_documents(options):
        return {}
    from workbench.release.described_release import release_at

    try:
        return documents_of(release_at(release), options, context)
    except WorkbenchError as problem:
        again = f"{command_in_use(options, 'certificate', str(release), LEDGER)} makes documents of it again"
        stays = "" if getattr(options, "k", None) is not None else " and stays charged"
        problem.outcome = f"the release is at {release}{stays}; {again}"
        raise


def documents_of(release: Any, options: argparse.Namespace, context: Context) -> dict[str, Any]:
    """Write what the options ask for of a :class:`DescribedRelease`; return it as part of a result."""
    from workbench.release.bundle import write_bundle
    from workbench.release.documents.written_document import write_document

    made: dict[str, Any] = {}
    wanted = [name for name in ("pdf", "html") if getattr(options, name) is not None]
    context.emit(Progress(0, 1, "Writing documents"))
    for name in wanted:
        write_document(release.to_document(), getattr(options, name))
        made[name] = str(getattr(options, name))
    if options.sign:
        made["signature"] = str(sign(release.path))
    if options.bundle is not None:
        with Ledger.read(options.ledger) as ledger:
            write_bundle(release, options.bundle, ledger, signed=options.sign, replace=options.replace)
        made["bundle"] = str(options.bundle)
        if release.kind == "model" and (release.release / "private").exists():
            context.emit(Notice("info", "the model's private figures are not in the bundle"))
    return made


def documents_text(result: Any) -> str:
    """Return the lines on the documents of a result; empty where there are none."""
    words = {"pdf": "certificate to print", "html": "certificate to read", "signature": "signature", "bundle": "bundle"}
    return "".join(f"\n{stated} {result[name]}" for name, stated in words.items() if name in result)


def release_destination(
    options: argparse.Namespace, *more: str | Path | None, formats: Mapping[str, str] = FORMATS
) -> Destination:
    """Return where the release goes, after all that can be refused before plan and table are read."""
    sources = (options.data, getattr(options, "join", None), options.plan, options.ledger, *more)
    certificate = getattr(options, "certificate", None)
    to = destination(options.output, *sources, formats=formats, replace=options.replace, certificate=certificate)
    if to.table is not None and asks_for_documents(options):
        what = "documents, signatures and bundles need a released file"
        raise ParameterError(what, to.table.shown, "leave their options out, or give an output file")
    check_documents(options, *sources)
    return to


def release(
    options: argparse.Namespace,
    context: Context,
    prepared: Prepared,
    about: Callable[[Verdict], str] | None = None,
) -> Released:
    """Release what was prepared; warn of what ε does not cover, once there is something to be warned of.

    Args:
        options: the command's.
        context: of the command.
        prepared: the release.
        about: a sentence to say first, where the cap allows the charge; empty where there is none.
    """
    in_parts = prepared.work.reader is not None
    if not in_parts:
        check_values(prepared, context.cancel)  # a typing error is no reason to reserve and void
    with Ledger.open(options.ledger) as ledger:
        if in_parts:  # one pass for values and marks
            check_values(prepared, context.cancel, ledger, context.emit)
        account = ""
        if about is not None:
            verdict = verdict_on(prepared, ledger)
            account = verdict.account
            if verdict.refusal is None:
                commits = "" if verdict.waiting else commitment(prepared.plan.unit, prepared.plan.rows_per_person)
                for sentence in filter(None, (about(verdict), commits)):
                    context.emit(Notice("info", sentence))
        done = release_prepared(prepared, ledger, context.emit, context.cancel, account=account)
    warn_of(done.outside, context)
    return done


def warn_of(outside: Iterable[str], context: Context) -> None:
    """Emit a warning for each sentence on what ε does not cover."""
    for sentence in outside:
        context.emit(Notice("warning", f"not covered by epsilon: {sentence}"))


def released(options: argparse.Namespace, context: Context, done: Any, **facts: Any) -> dict[str, Any]:
    """Return the result of a release with a certificate: ``facts`` and what every release says; write its documents."""
    stated = done.document["guarantee"]
    unit = {key: stated[key] for key in ("unit", "rows_per_person", "join") if key in stated and "unit" in stated}
    return {
        **facts,
        **unit,
        "epsilon_charged": float(done.epsilon_charged),
        "epsilon_remaining": float(done.epsilon_remaining),
        "release_id": done.release_id,
        "seconds": round(done.seconds, 3),
        "output": shown(done.output),
        "certificate": str(done.certificate),
        **({"published_earlier": True} if done.published_earlier else {}),
        **write_documents(options, done.output, context),
    }


def released_text(what: str, result: Mapping[str, Any]) -> str:
    """Return the lines on a release: ``what`` was written where, its certificate, charge and documents."""
    written = f"{what} to {result['output']}\ncertificate {result['certificate']}"
    if "unit" in result:
        most = result["rows_per_person"]
        read = f"{counted(most, 'row')} {'was' if most == 1 else 'were'} read"
        beside = f", beside one row of the second table with that {result['join']}" if "join" in result else ""
        written += (
            f"\nof each person (the rows with the same {result['unit']}), at most {read}{beside}: epsilon is for each "
            "person"
        )
    return f"{written}\n{charged_words(result)}{documents_text(result)}"

"""``workbench verify``: check a release against its certificate."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.common_options import add_ledger, existing_ledger
from workbench.data.databases.address import address_of, as_path
from workbench.params import ParameterError, one_line
from workbench.release.bundle import bundle_unverified
from workbench.release.card import CANNOT_KNOW_ORIGIN
from workbench.release.certificate import MADE_FROM, is_model, read_card
from workbench.release.ledger.ledger import Ledger
from workbench.release.manifest import is_bundle, released_in
from workbench.release.statements import CANNOT_KNOW
from workbench.release.table_output import certified_copy
from workbench.release.verification import ledger_claims, signatures, unverified, verify_any
from workbench.release.verify import verify_in_ledger


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "release",
        type=as_path,
        metavar="RELEASE",
        help="a released file, its certificate, its folder, a bundle, or the address of a table in a database",
    )
    stated = "the certificate of a table in a database (default TABLE.certificate.json in this folder)"
    parser.add_argument("--certificate", type=Path, metavar="C", help=stated)
    parser.add_argument(
        "--known", action="store_true", help="fail unless it is signed with your own key or a trusted one"
    )
    add_ledger(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    path = existing_ledger(options.ledger)
    if options.certificate is not None and address_of(str(options.release)) is None:
        what = "--certificate is only for a table in a database; the certificate of a file is next to it"
        raise ParameterError(what, str(options.certificate), "leave it out")
    with certified_copy(options.release, options.certificate, context.cancel) as release:
        return _verified(release, options, path, context)


def _verified(release: Path, options: argparse.Namespace, path: Path | None, context: Context) -> dict[str, Any]:
    named = release
    problems = verify_any(named, context.cancel)
    cannot_know = CANNOT_KNOW
    if is_bundle(release) and not problems:
        cannot_know += f"; {bundle_unverified(release)}"
        release = released_in(release)
    if is_model(release) and not problems and MADE_FROM in read_card(release):
        cannot_know += f"; {CANNOT_KNOW_ORIGIN}"
    signature = None if problems else signatures(named)
    if options.known and not problems and not (signature is not None and signature.known):
        problems = [f"it was signed with {signature.issuer}" if signature is not None else "it has no signature"]
    if path is not None and not problems:
        document = ledger_claims(named)
        with Ledger.read(path) as ledger:
            problems = verify_in_ledger(document, ledger)
    stated = {"signature": signature.to_plain()} if signature is not None else {}
    left = unverified(release) if not problems else []
    return {"ok": not problems, "problems": problems, **stated, "not_checked": left, "cannot_know": cannot_know}


def _text(result: Mapping[str, Any]) -> str:
    if result["ok"]:
        by = f"signed with {result['signature']['issuer']}\n" if "signature" in result else ""
        left = "".join(f"NOT CHECKED: {one_line(sentence)}\n" for sentence in result["not_checked"])
        return f"ok: release and certificate agree\n{by}{left}{result['cannot_know']}"
    return "\n".join(
        ["DOES NOT MATCH the certificate:", *(f"  {p}" for p in result["problems"]), result["cannot_know"]]
    )


COMMAND = Command(
    "workbench plan sample:iris --epsilon 3 -o trial.toml && workbench sanitize sample:iris --plan trial.toml "
    "-o released.csv --ledger verify.sqlite && workbench verify released.csv",
    _configure,
    _run,
    _text,
)

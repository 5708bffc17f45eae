"""``workbench verify``: a release against its certificate."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.tables import add_ledger, existing_ledger
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.card import CANNOT_KNOW_ORIGIN, MADE_FROM, is_model, read_card
from workbench.release.table.verify import CANNOT_KNOW, verify_in_ledger
from workbench.release.verify_any import ledger_claims, verify_any


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", type=Path, metavar="RELEASE", help="a released file, its certificate, or its folder")
    add_ledger(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    path = existing_ledger(options.ledger)
    problems = verify_any(options.release, context.cancel)
    cannot_know = CANNOT_KNOW
    if is_model(options.release) and not problems and MADE_FROM in read_card(options.release):
        cannot_know += f"; {CANNOT_KNOW_ORIGIN}"
    if path is not None and not problems:
        document = ledger_claims(options.release)
        with Ledger.read(path) as ledger:
            problems = verify_in_ledger(document, ledger)
    return {"ok": not problems, "problems": problems, "cannot_know": cannot_know}


def _text(result: Mapping[str, Any]) -> str:
    if result["ok"]:
        return f"ok: the release is what its certificate says\n{result['cannot_know']}"
    return "\n".join(["NOT what the certificate says:", *(f"  {p}" for p in result["problems"]), result["cannot_know"]])


COMMAND = Command(
    name="verify",
    help="check a release against its certificate",
    example="workbench plan sample:iris --epsilon 3 -o trial.toml && workbench sanitize sample:iris --plan trial.toml "
    "-o released.csv --ledger verify.sqlite && workbench verify released.csv",
    configure=_configure,
    run=_run,
    text=_text,
)

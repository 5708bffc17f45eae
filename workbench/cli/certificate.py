"""``workbench certificate``: the certificate of a release as PDF and HTML, a signature, and the bundle."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.common_options import add_ledger
from workbench.cli.release_options import (
    add_documents,
    asks_for_documents,
    check_documents,
    documents_of,
    documents_text,
)
from workbench.params import ParameterError
from workbench.release.verification import verified


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "release", type=Path, metavar="RELEASE", help="a released file, its certificate, a model's folder, or a bundle"
    )
    add_documents(parser)
    add_ledger(parser)
    parser.add_argument("--replace", action="store_true", help="replace a bundle that exists")
    parser.set_defaults(output=None)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if not asks_for_documents(options):
        raise ParameterError("there is nothing to do", hint="add --pdf FILE, --html FILE, --sign or --bundle DIR")
    check_documents(options, options.release)
    release = verified(options.release, context.cancel)
    check_documents(options, release.path, release.release)
    made = documents_of(release, options, context)
    return {"release": str(release.release), "certificate": str(release.path), **made}


def _text(result: Mapping[str, Any]) -> str:
    return f"verified {result['release']}{documents_text(result)}"


COMMAND = Command(
    "workbench plan sample:iris --epsilon 3 -o trial.toml && workbench sanitize sample:iris --plan trial.toml "
    "-o released.csv --ledger certificate.sqlite && workbench certificate released.csv --html released.html",
    _configure,
    _run,
    _text,
)

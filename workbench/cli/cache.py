"""``workbench cache``: show or remove cached features of images."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from workbench.cli.command import Command, Context
from workbench.deep.feature_cache import LIMIT, cache_state, clear


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clear", action="store_true", help="remove all of them; the next run computes them again")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    found = clear() if options.clear else cache_state()
    return {
        "folder": str(found.folder),
        "sets": found.sets,
        "bytes": found.size,
        "limit_bytes": LIMIT,
        "cleared": options.clear,
        "private": True,
    }


def _text(result: Mapping[str, Any]) -> str:
    kept = f"features of {result['sets']} sets of rows, {result['bytes'] / 1e6:,.1f} MB"
    if result["cleared"]:
        return f"removed {kept} from {result['folder']}"
    return f"{kept} of at most {result['limit_bytes'] / 1e6:,.0f}, in {result['folder']} (private – not for release)"


COMMAND = Command("workbench cache", _configure, _run, _text)

"""``workbench samples``: the tables that come with the program."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from workbench.cli.command import Command, Context
from workbench.data.samples.sample_tables import SAMPLES


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    return {
        "samples": [sample.name for sample in SAMPLES],
        "about": {sample.name: {"help": sample.help, "target": sample.target} for sample in SAMPLES},
    }


def _text(result: Mapping[str, Any]) -> str:
    width = max(len(name) for name in result["samples"]) + len("sample:")
    lines = [f"{'sample:' + name:<{width}}  {result['about'][name]['help']}" for name in result["samples"]]
    return "\n".join([*lines, "", "Use one as DATA, for example: workbench describe sample:people"])


COMMAND = Command("workbench samples", lambda parser: None, _run, _text)

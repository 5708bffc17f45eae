"""``workbench attack``: attack a release or a model, compared with guessing and with ε."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import add_ledger, add_reading, require_used
from workbench.data.table_reader import ReadOptions
from workbench.params import Parameters
from workbench.release import attack_inputs
from workbench.risk import attacks
from workbench.risk.attacks import MODEL, RELEASE


def _configure(parser: argparse.ArgumentParser) -> None:
    names = [known.name for known in attacks.ATTACKS]
    kinds = parser.add_subparsers(dest="attack", required=True, metavar="|".join(names))
    for known in attacks.ATTACKS:
        sub = kinds.add_parser(known.name, help=known.help)
        for needed in known.given:
            stated = needed.help
            if needed.name == RELEASE:
                sub.add_argument(RELEASE, metavar="RELEASE", help=f"{stated}; ε is read from the certificate beside it")
            else:
                metavar = "DIR" if needed.name == MODEL else "DATA"
                flag = f"--{needed.name}"
                sub.add_argument(flag, dest=needed.name, metavar=metavar, required=needed.required, help=stated)
        add_options(sub, known.asked(), prefix=Parameters.__name__)
        add_ledger(sub)
        add_reading(sub)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    chosen = attacks.attack(options.attack)
    request = read_options(options, chosen.asked(), prefix=Parameters.__name__)
    named = {needed.name: getattr(options, needed.name) for needed in chosen.given}
    given = {
        name: Path(value) if name in (RELEASE, MODEL) else attack_inputs.path_or_name(value)
        for name, value in named.items()
        if value is not None
    }
    reading = read_options(options, ReadOptions)
    require_used(options, *(str(value) for name, value in named.items() if value is not None and name != MODEL))
    outcome = attack_inputs.run_attack(
        chosen, request, given, ledger=options.ledger, options=reading, emit=context.emit, cancel=context.cancel
    )
    return {**outcome.plain(), "sentences": list(outcome.words())}


def _text(result: Mapping[str, Any]) -> str:
    of = "private – not for release" if result["private"] else "a generated sample: contains no real data"
    return "\n".join([f"{attacks.attack(result['attack']).title} ({of})", *result["sentences"]])


COMMAND = Command(
    "workbench plan sample:iris --epsilon 3 -o plan.toml --from-data && workbench sanitize sample:iris --plan "
    "plan.toml -o released.csv --ledger l.sqlite && workbench attack inference released.csv --original sample:iris",
    _configure,
    _run,
    _text,
)

"""``workbench fit --on-release``: a model trained on a released table and its certificate, at no cost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench import learners
from workbench.cli.command import Context, flag_of
from workbench.cli.models import PREFIX
from workbench.cli.tables import charge
from workbench.data.read import ReadOptions
from workbench.learners import learner
from workbench.params import ParameterError

_OF_ROWS = ("epsilon", "delta", "bounds", "ledger", "account")
_NEEDED = {"data": "DATA", "epsilon": "--epsilon", "bounds": "--bounds"}


def add_release(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a release in place of DATA, ε and bounds."""
    able = ", ".join(model.name for model in learners.LEARNERS if model.corrected is not None)
    group = parser.add_argument_group(
        "in place of DATA, --epsilon and --bounds",
        "A model can learn from a released table, knowing from its certificate which public tables the values went "
        f"through. That costs nothing beyond the release. Models: {able}.",
    )
    group.add_argument("--on-release", type=Path, metavar="OUT", help="a released table to learn from, at no cost")
    group.add_argument("--certificate", type=Path, metavar="C", help="its certificate (default: beside it)")


def asks_for_release(options: argparse.Namespace) -> bool:
    """Return whether the model is to learn from a release.

    Raises:
        ParameterError: what is given is for the other way of training, or what is needed is missing.
    """
    if options.on_release is None:
        missing = [said for name, said in _NEEDED.items() if getattr(options, name) is None]
        if options.certificate is not None:
            raise ParameterError("--certificate is for --on-release", hint="name the release, or leave it out")
        if missing:
            verb, them = ("is", "it") if len(missing) == 1 else ("are", "them")
            what = f"{_listed(missing)} {verb} missing"
            raise ParameterError(what, hint=(f"give {them}", "name a released table with --on-release"))
        return False
    given = list(_given(options))
    if given:
        raise ParameterError(
            f"--on-release reads only a released table and its certificate, at no cost: it takes no {_listed(given)}",
            hint=f"leave {'it' if len(given) == 1 else 'them'} out, or --on-release",
        )
    return True


def _given(options: argparse.Namespace) -> Iterator[str]:
    """Yield what is given and belongs to a training on raw rows."""
    if options.data is not None:
        yield "DATA"
    yield from (f"--{name}" for name in _OF_ROWS if getattr(options, name) is not None)
    for name in ReadOptions.declared():
        if getattr(options, f"{ReadOptions.__name__}.{name}") is not None:
            yield flag_of(ReadOptions, name)
    flags = {
        flag_of(model.parameters, name)
        for model in learners.LEARNERS
        for name in model.parameters.declared()
        if getattr(options, f"{PREFIX}.{name}", None) is not None
    }
    yield from sorted(flags)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    """Train, write the model, and say which release it was trained on."""
    from workbench.release.model.on_release import train_on_release

    chosen = learner(options.model)
    made = train_on_release(
        chosen,
        options.on_release,
        options.certificate,
        options.target,
        options.output,
        context.emit,
        context.cancel,
        replace=options.replace,
    )
    return {
        "model": chosen.name,
        "epsilon_charged": 0.0,
        "release_id": made.release_id,
        "on_release": str(options.on_release),
        "epsilon_release": made.epsilon,
        "rows": made.rows,
        "outside_guarantee": made.card["outside_guarantee"],
        "output": str(options.output),
        **({"uses": made.uses} if made.uses else {}),
    }


def text(result: Mapping[str, Any]) -> str:
    """Return the short human text of the result."""
    lines = [
        f"trained {result['model']} on release {result['release_id']} ({result['rows']} rows) into {result['output']}",
        f"charged epsilon = 0: it costs nothing beyond the release, which was charged epsilon = "
        f"{charge(result['epsilon_release'])}",
        *([result["uses"]] if "uses" in result else []),
        *(f"not covered by epsilon: {sentence}" for sentence in result["outside_guarantee"]),
    ]
    return "\n".join(lines)

"""Options that choose a model and set its parameters."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from workbench import learners
from workbench.cli.command import add_options, flag_of, read_options
from workbench.deep.networks import Network
from workbench.learners import Learner
from workbench.params import ParameterError, Parameters, RealField
from workbench.privacy.accounting.event import RELATION
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST

PREFIX = "model"  # what the options of parameters begin with in the parsed options: models that name one alike share it

TARGET_HELP = "the column to predict (a model without a target ignores it)"

EPSILON = RealField(help="epsilon of the model", symbol="ε", at_least=EPSILON_LEAST, upto=EPSILON_MOST)

OF_EVERY_MODEL = ("epsilon", "delta")  # parameters that the command itself asks for


def one_of(models: Sequence[Learner | Network]) -> str:
    """Return the help of an option that names one of ``models``."""
    return "one of " + ", ".join(f"{model.name} ({model.title})" for model in models)


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Add the options of every learner's parameters, each learner a group with its sentence."""
    added: set[str] = set()
    for chosen in learners.LEARNERS:
        own = [name for name in chosen.parameters.declared() if name not in OF_EVERY_MODEL]
        shared = [flag_of(chosen.parameters, name) for name in own if flag_of(chosen.parameters, name) in added]
        more = f" It shares {', '.join(shared)} with a model above." if shared else ""
        stated = f"{chosen.about} {chosen.needs} Its cost is for {RELATION} neighbours.{more}"
        group = parser.add_argument_group(f"{chosen.name} ({chosen.title})", stated.replace("%", "%%"))
        fresh = [name for name in own if flag_of(chosen.parameters, name) not in added]
        if fresh:
            add_options(group, chosen.parameters, *fresh, prefix=PREFIX)
        added.update(flag_of(chosen.parameters, name) for name in fresh)


def given_flags(options: argparse.Namespace, *but: str) -> list[str]:
    """Return the options of models' parameters that were given, without those of the parameters called ``but``."""
    return sorted(
        {
            flag_of(model.parameters, name)
            for model in learners.LEARNERS
            for name in model.parameters.declared()
            if name not in but and getattr(options, f"{PREFIX}.{name}", None) is not None
        }
    )


def read_parameters(options: argparse.Namespace, chosen: Learner) -> Parameters:
    """Return the parameters of ``chosen`` from ``--epsilon``, ``--delta`` and what :func:`add_parameters` added."""
    declared = chosen.parameters.declared()
    for flag in given_flags(options, *declared):
        raise ParameterError(f"the model {chosen.name} has no {flag}", hint=f"leave {flag} out")
    if options.delta is not None and "delta" not in declared:
        raise ParameterError(f"the model {chosen.name} has delta = 0", hint="leave --delta out")
    given = {"epsilon": EPSILON.parse(options.epsilon, "--epsilon")}
    if options.delta is not None:
        given["delta"] = declared["delta"].parse(options.delta, "--delta")
    return read_options(options, chosen.parameters, prefix=PREFIX, **given)

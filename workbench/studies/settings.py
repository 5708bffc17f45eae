"""Parameters of a private model that a study sets, alone or one value after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.learners import Learner
from workbench.params import ParameterError, Parameters
from workbench.params.field import IntegerField, RealField, did_you_mean

_NOT_SET = ("epsilon", "delta", "ask")
"""Parameters that a study gives itself, or that only a release has."""

JOINED = "+"
"""Between several settings of one regime: ``private:blocks=20+aggregate=smooth``."""


def parameters(model: Learner, epsilon: float, settings: Sequence[str]) -> Parameters:
    """Return the parameters of the private model at ``epsilon``.

    Args:
        model: the learner.
        epsilon: the privacy loss.
        settings: ``NAME=VALUE`` each; a name that comes twice is refused.

    Raises:
        ParameterError: a setting is not ``NAME=VALUE`` of a parameter that a study can set, or its value is refused.
    """
    declared = _declared(model)
    given: dict[str, Any] = {"epsilon": epsilon}
    for setting in settings:
        name, value = _parted(model, setting)
        if name in given:
            raise ParameterError(f"{name} is set twice", hint="set it once")
        given[name] = declared[name].parse(value, name)
    return model.parameters(**given)


def values_against(model: Learner, against: str) -> tuple[str, tuple[float, ...]]:
    """Return the parameter that ``NAME=V1,V2,…`` names and its values, ascending.

    Raises:
        ParameterError: it does not name a number of the model, or not two different values of it above 0 or more.
    """
    name, text = _parted(model, against)
    field = _declared(model)[name]
    if not isinstance(field, IntegerField | RealField):
        raise ParameterError(
            f"{name} is not a number, and a picture against it has no axis", hint="compare it by private:NAME=VALUE"
        )
    values = sorted({field.parse(part.strip(), f"a value of {name}") for part in text.split(",")})
    if len(values) < 2 or values[0] <= 0:
        raise ParameterError(f"a picture against {name} needs two values above 0 or more", hint=f"write {name}=5,10,20")
    return name, tuple(values)


def _declared(model: Learner) -> dict[str, Any]:
    return {name: field for name, field in model.parameters.declared().items() if name not in _NOT_SET}


def _parted(model: Learner, setting: str) -> tuple[str, str]:
    declared = _declared(model)
    name, equals, value = setting.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or name not in declared:
        raise ParameterError(
            f"the setting {setting!r} is not NAME=VALUE of a parameter of {model.name}{did_you_mean(name, declared)}",
            hint=f"choose one of {', '.join(declared)}" if declared else "leave it out",
        )
    return name, value.strip()

"""The public facts of a fit, which are the same for all learners: what follows from them, and their place in a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from workbench.data.schema import Attribute
from workbench.learners.base import NOISES, checked_schema, plain_part
from workbench.learners.encoding import Encoding
from workbench.params import ParameterError, Parameters

_MOST_ROWS = 2**49

Chosen = TypeVar("Chosen", bound=Parameters)


@dataclass(frozen=True)
class Facts(Generic[Chosen]):
    """What is public about a fit: queries and model follow from it and from released numbers.

    Attributes:
        attributes: the public facts about the columns of X, in order.
        target: the same of y.
        parameters: the learner's declared parameters.
        rows: public n.
        private: whether there is noise.
    """

    attributes: tuple[Attribute, ...]
    target: Attribute
    parameters: Chosen
    rows: int
    private: bool


@dataclass(frozen=True)
class FitSetting(Generic[Chosen]):
    """The public facts of a fit; a learner adds what follows from them: queries, shares of ε, sensitivities.

    Attributes:
        facts: columns, parameters and public n.
    """

    facts: Facts[Chosen]

    @property
    def parameters(self) -> Chosen:
        """The declared parameters."""
        return self.facts.parameters

    @property
    def rows(self) -> int:
        """Public n."""
        return self.facts.rows

    @property
    def private(self) -> bool:
        """Whether there is noise."""
        return self.facts.private

    @cached_property
    def encoding(self) -> Encoding:
        """How the columns are encoded."""
        return Encoding(self.facts.attributes)

    @cached_property
    def width(self) -> int:
        """D, the number of encoded columns."""
        return len(self.encoding.labels)

    @cached_property
    def epsilon(self) -> float:
        """ε of the fit; infinite without noise.

        Raises:
            ParameterError: there is noise, and nobody has said how much.
        """
        if not self.private:
            return math.inf
        given: float | None = getattr(self.parameters, "epsilon", None)
        if given is None:
            raise ParameterError("epsilon is not given", hint="give epsilon = NUMBER above 0")
        return given


def facts_to_plain(learner: str, version: int, noise: str, facts: Facts[Any]) -> dict[str, Any]:
    """Return the head of a model's file as JSON holds it."""
    return {
        "learner": learner,
        "format": version,
        "noise": noise,
        "rows": facts.rows,
        "parameters": facts.parameters.to_plain(),
        "attributes": [a.to_plain() for a in facts.attributes],
        "target": facts.target.to_plain(),
    }


def facts_from_plain(
    values: Mapping[str, Any], learner: str, version: int, parameters: type[Chosen], task: str
) -> Facts[Chosen]:
    """Return the facts that :func:`facts_to_plain` wrote.

    Raises:
        ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
    """
    for key, only in (("learner", (learner,)), ("format", (version,)), ("noise", NOISES)):
        if plain_part(values, key, type(only[0])) not in only:
            raise ParameterError(f"{key} = {values[key]!r} is not {' or '.join(map(str, only))}", "the model")
    attributes, target, rows = columns_from_plain(values, task)
    given = parameters.from_plain(plain_part(values, "parameters", dict), "the model's parameters")
    return Facts(attributes, target, given, rows, values["noise"] != "none")


def columns_from_plain(values: Mapping[str, Any], task: str) -> tuple[tuple[Attribute, ...], Attribute, int]:
    """Return the attributes, the target and the number of rows that the head of a model's file states.

    Raises:
        ParameterError: a key is missing, or a value is not what a model of this task can have; the message names it.
    """
    rows = plain_part(values, "rows", int)
    if not 1 <= rows < _MOST_ROWS:
        raise ParameterError(f"rows = {rows} is no number of rows", "the model")
    attributes = plain_part(values, "attributes", list)
    if not all(isinstance(a, dict) for a in attributes):
        raise ParameterError("the key 'attributes' is not a list of tables", "the model")
    columns = tuple(Attribute.from_plain(a, f"attribute {i}") for i, a in enumerate(attributes, start=1))
    target = Attribute.from_plain(plain_part(values, "target", dict), "the target")
    checked_schema(columns, target, task)
    return columns, target, rows

"""The public facts of a fit, common to all learners: derived quantities, and their keys in a model file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal, localcontext
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar

from workbench.data.schema import Attribute
from workbench.learners.checks import checked_schema, plain_part
from workbench.learners.encoding import Encoding
from workbench.learners.ranges import RANGES, RangeRule, narrowed, windows
from workbench.params import ParameterError, Parameters, choice, integer, real
from workbench.privacy.accounting.event import exact, floor_double
from workbench.privacy.central.share import Budget, QueryEvent, Share

NOISES = ("released", "study", "none")
"""The origin of a model's noise: only ``released`` models may be published; ``none`` has no privacy at all."""

_MOST_ROWS = 2**49
_SHARE_DIGITS = 12

# n·ε from which models of numbers choose the target's range, and for each range from which they choose all; chosen on
# Boston, diabetes progression and Friedman 1.
_TARGET_FROM, _COLUMNS_OF_NUMBERS_FROM = 1e3, 100.0
_EXACT_DIGITS = 100

Chosen = TypeVar("Chosen", bound=Parameters)


def privacy_budget(what: str = "the model", end: str = "smaller is more private and less accurate") -> Any:
    """Return the declaration of ε, the budget of a learner whose model is ``what``."""
    return real(
        default=None,
        at_least=1e-9,
        upto=1e6,
        symbol="ε",
        title="privacy budget",
        help=f"how much {what} may reveal about one row; {end}",
    )


def chance_of_failure() -> Any:
    """Return the declaration of δ, of a learner whose noise is discrete Gaussian where it is given."""
    return real(
        default=None,
        above=0,
        below=1,
        symbol="δ",
        help="chance that the guarantee fails, below 1/rows; allows discrete Gaussian noise, which is smaller for "
        "many queries (default: δ = 0)",
        advanced=True,
    )


def how_many(title: str, upto: int, text: str) -> Any:
    """Return the declaration of a number that is rarely given: ``None`` follows from ε and the rows."""
    return integer(default=None, at_least=1, upto=upto, title=title, help=text, advanced=True)


def part_of_epsilon(title: str, default: float | None, text: str) -> Any:
    """Return the declaration of the part of ε that one kind of query has."""
    return real(default=default, above=0, below=1, title=title, unit="of ε", help=text, advanced=True)


FOUND, DECLARED = "found", "declared"


def ranges_of_columns() -> Any:
    """Return the declaration of whether the range of each column is chosen from the rows (:mod:`.ranges`)."""
    return choice(
        choices=(FOUND, DECLARED),
        default=FOUND,
        title="ranges of columns",
        help="found: a small share of ε finds the range of most values in each column, so that wide bounds cost little",
        advanced=True,
    )


def weight_limit(default: float, adds: str) -> Any:
    """Return the declaration of the public limit to which the part of a row in some sums is scaled."""
    text = f"rows whose {adds} add up to more than this share of the largest possible sum are scaled down"
    return real(
        default=default, above=0, upto=1, title="clipping limit", unit="of the largest", help=text, advanced=True
    )


def ridge_strength(text: str) -> Any:
    """Return the declaration of how strongly weights are drawn to 0."""
    return real(default=1.0, at_least=0, upto=1e6, title="ridge", help=text, advanced=True)


@dataclass(frozen=True)
class FitSetting(Generic[Chosen]):
    """The public facts of a fit; a learner adds what follows from them: queries, shares of ε, sensitivities."""

    attributes: tuple[Attribute, ...]  # the public facts about the columns of X, in order
    target: Attribute  # the same of y
    parameters: Chosen  # the learner's declared parameters
    rows: int  # public n
    private: bool  # whether there is noise
    version: int = 1  # of the format of the model's file, which says by which rules the model follows from its answers
    # The windows that were chosen (`workbench.learners.ranges`); `attributes` and `target` have them as bounds.
    ranges: tuple[int, ...] = ()
    declared: tuple[Attribute, ...] = ()  # then the attributes as they were declared, and the target after them
    # The first format in which the range of each column of numbers, and of such a target, is chosen first; 0: in none.
    ranges_since: ClassVar[int] = 0
    # The first format in which a given δ is used only where it is forecast to pay; 0: in none.
    delta_weighed_since: ClassVar[int] = 1
    # What does not depend on the bounds of the columns, and so is kept whatever ranges are chosen.
    any_range: ClassVar[tuple[str, ...]] = (
        "whole",
        "_given",
        "_rangeable",
        "_divided",
        "amount",
        "ranged",
        "range_columns",
        "range_known",
        "range_depth",
    )

    def check(self) -> None:
        """Raise :class:`ParameterError` where the learner cannot use these columns; nothing is charged before."""
        self.require_columns(self.attributes)

    @staticmethod
    def require_columns(attributes: Sequence[Attribute]) -> None:
        """Raise :class:`ParameterError` where there are too many columns for the learner, or too few."""

    @property
    def weights(self) -> Mapping[str, float]:
        """Each query of a fit by its label, in order, with its weight in the split of ε; by default all alike."""
        return dict.fromkeys(self.lengths(), 1.0)

    def lengths(self) -> dict[str, int]:
        """Return how many whole numbers each query releases."""
        return {}

    @property
    def choosable(self) -> tuple[str, ...]:
        """Names of the columns among which a learner chooses."""
        return tuple(a.name for a in self.attributes)

    @property
    def used(self) -> int:
        """How many of them are used."""
        return len(self.choosable)

    @cached_property
    def whole(self) -> Budget:
        """ε and δ of the fit; δ is 0 unless it is given, and pays. Of a private fit only."""
        pure, delta = Budget(exact(self._given)), getattr(self.parameters, "delta", None)
        if delta is None:
            return pure
        given = Budget(pure.epsilon, exact(delta))
        weighed = 0 < self.delta_weighed_since <= self.version
        return pure if weighed and not self.delta_pays(given) else given

    def delta_pays(self, given: Budget) -> bool:
        """Return whether a δ is forecast to pay; ``given`` is the budget with it."""
        # What queries reveal of the rows grows with one over the variance of their noise: ε²/2 each, or 2ρ together.
        *attributes, target = self.declared or (*self.attributes, self.target)
        parameters = replace(self.parameters, delta=None)  # type: ignore[call-arg]
        without = replace(
            self, parameters=parameters, attributes=tuple(attributes), target=target, ranges=(), declared=()
        )
        revealed = sum(Share.of(event).loss ** 2 for event in without.asked) / 2
        return 2 * float(given.amount) > revealed * self.moved_less**2

    @property
    def moved_less(self) -> float:
        """How far a row moves most queries in L2, in parts of how far in L1."""
        return 1.0

    @property
    def gaussian(self) -> bool:
        """Whether noise is discrete Gaussian."""
        return self.private and self.whole.gaussian

    @cached_property
    def _rangeable(self) -> tuple[int, ...]:
        """The places of the columns whose ranges would be chosen, where the target is the last one."""
        if getattr(self.parameters, "ranges", DECLARED) != FOUND or not 0 < self.ranges_since <= self.version:
            return ()
        columns, known = tuple(j for j, a in enumerate(self.attributes) if a.numeric), self.rows * self._given
        if not self.target.numeric:
            return columns
        every = (*columns, len(self.attributes))
        if known >= _COLUMNS_OF_NUMBERS_FROM * (len(every) + 1):
            return every
        return every[-1:] if known >= _TARGET_FROM else ()

    @property
    def _range_weights(self) -> list[float]:
        # A wrong range of the target spoils the model, that of a column only this column.
        return [2.0 if j == len(self.attributes) else 1.0 for j in self._rangeable]

    @property
    def range_rule(self) -> RangeRule:
        """What ranges cost, and how narrow they are."""
        return RANGES

    @cached_property
    def _divided(self) -> tuple[Decimal, Decimal]:
        """ε or ρ of the ranges and of all else; they sum to the whole exactly."""
        amount = self.whole.amount
        found, columns = 0.0, sum(self._range_weights)
        if columns:
            known = self.rows * self._given / columns
            found = self.range_rule.share(known)
            if self.range_rule.depth(known * found) < 1:  # noise would choose
                found = 0.0
        if not found:
            return Decimal(0), amount
        of_ranges, rest = split_epsilon(amount, (found, 1 - found))
        return of_ranges, rest

    @cached_property
    def amount(self) -> Decimal:
        """ε or ρ of all queries but those of the ranges. Of a private fit only."""
        return self._divided[1]

    @cached_property
    def ranged(self) -> dict[str, Decimal]:
        """The share of the query of each range, by its label; none where they are not chosen."""
        if not self.private or not self._divided[0]:
            return {}
        labels = [f"range of {(*self.attributes, self.target)[j].name}" for j in self._rangeable]
        return dict(zip(labels, split_epsilon(self._divided[0], self._range_weights), strict=True))

    @cached_property
    def range_columns(self) -> tuple[int, ...]:
        """The places of the columns whose ranges are chosen, where the target is the last one."""
        return self._rangeable if self.ranged else ()

    @cached_property
    def range_known(self) -> float:
        """n·ε of the choice of a range."""
        least = min(self.ranged.values())
        return self.rows * Share(least, self.whole.gaussian).pure_epsilon

    @cached_property
    def range_depth(self) -> int:
        """How often the bounds of a column may be halved."""
        return max(1, self.range_rule.depth(self.range_known))

    def range_events(self) -> tuple[QueryEvent, ...]:
        """Return what the ranges cost, one event a column."""
        return tuple(Share(share, self.whole.gaussian).event(label) for label, share in self.ranged.items())

    @cached_property
    def asked(self) -> tuple[QueryEvent, ...]:
        """What all queries of a fit cost, one event each."""
        return (*self.range_events(), *self.events())

    def range_answers(self) -> dict[str, list[int]]:
        """Return the window of each range, by the label of its query."""
        return {label: [window] for label, window in zip(self.ranged, self.ranges, strict=True)} if self.ranges else {}

    def with_ranges(self, answers: Mapping[str, Sequence[int]]) -> Self:
        """Return the facts of a fit whose ranges were chosen: attributes and target have them as bounds.

        Raises:
            ParameterError: an answer is no window.
        """
        if not self.ranged:
            return self
        chosen = tuple(answers[label][0] for label in self.ranged)
        for label, window in zip(self.ranged, chosen, strict=True):
            if not 0 <= window < len(windows(self.range_depth)):
                raise ParameterError(f"the answer {window} is not one of the ranges", label)
        facts = (*self.attributes, self.target)
        *inner, target = narrowed(facts, self.range_columns, self.range_depth, chosen)
        made = replace(self, attributes=tuple(inner), target=target, ranges=chosen, declared=facts)
        made.__dict__.update({name: self.__dict__[name] for name in self.any_range if name in self.__dict__})
        return made

    @cached_property
    def shares(self) -> dict[str, Decimal]:
        """The share of each query, of ε or of ρ; they sum to :attr:`amount` exactly. There is none without noise."""
        if not self.private:
            return {}
        weights = self.weights
        return dict(zip(weights, split_epsilon(self.amount, list(weights.values())), strict=True))

    def part(self, label: str) -> Share:
        """Return the share of a query of a private fit."""
        return Share(self.shares[label], self.whole.gaussian)

    def budget(self, label: str) -> float:
        """Return ε of a query as a double that is not above it; infinite without noise. Not where a δ is given."""
        return floor_double(self.shares[label]) if self.private else math.inf

    def noise_deviation(self, label: str, sensitivity: int) -> float:
        """Return the standard deviation of the noise of each number of a query; 0 without noise."""
        return math.sqrt(self.noise_variance(label, sensitivity))

    def noise_variance(self, label: str, sensitivity: int) -> float:
        """Return the variance of the noise of each number of a query, an upper bound near it; 0 without noise."""
        if not self.private:
            return 0.0
        return self.part(label).variance(sensitivity)

    def events(self) -> tuple[QueryEvent, ...]:
        """Return what the queries but those of the ranges cost, one event each; none without noise."""
        return tuple(self.part(label).event(label) for label in self.shares)

    @cached_property
    def encoding(self) -> Encoding:
        """How the columns are encoded."""
        return Encoding(self.attributes)

    @cached_property
    def width(self) -> int:
        """D, the number of encoded columns."""
        return len(self.encoding.labels)

    @cached_property
    def epsilon(self) -> float:
        """ε of all queries but those of the ranges, where a δ is given about so; infinite without noise.

        Raises:
            ParameterError: there is noise, and nobody has said how much.
        """
        if not self.private:
            return math.inf
        if not self._divided[0]:
            return self._given
        if self.whole.gaussian:
            return self._given * math.sqrt(float(self.amount / self.whole.amount))
        return floor_double(self.amount)

    @cached_property
    def _given(self) -> float:
        given: float | None = getattr(self.parameters, "epsilon", None)
        if given is None:
            raise ParameterError("epsilon is not given", hint="set epsilon to a number above 0")
        return given

    def to_plain(self, learner: str, noise: str) -> dict[str, Any]:
        """Return the head of a model's file as JSON holds it."""
        *attributes, target = self.declared or (*self.attributes, self.target)
        return {
            "learner": learner,
            "format": self.version,
            "noise": noise,
            "rows": self.rows,
            "parameters": self.parameters.to_plain(),
            "attributes": [a.to_plain() for a in attributes],
            "target": target.to_plain(),
        }

    @classmethod
    def from_plain(
        cls, values: Mapping[str, Any], learner: str, versions: int, parameters: type[Parameters], task: str
    ) -> Self:
        """Return the facts that :meth:`to_plain` wrote, in one of so many versions.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        for key, only in (("learner", (learner,)), ("format", range(1, versions + 1)), ("noise", NOISES)):
            if plain_part(values, key, type(only[0])) not in only:
                raise ParameterError(f"{key} = {values[key]!r} is not {' or '.join(map(str, only))}", "the model")
        attributes, target, rows = columns_from_plain(values, task)
        given: Any = parameters.from_plain(plain_part(values, "parameters", dict), "the model's parameters")
        return cls(attributes, target, given, rows, values["noise"] != "none", values["format"])


def columns_from_plain(values: Mapping[str, Any], task: str) -> tuple[tuple[Attribute, ...], Attribute, int]:
    """Return the attributes, the target and the number of rows that the head of a model's file states.

    Raises:
        ParameterError: a key is missing, or a value is not what a model of this task can have; the message names it.
    """
    rows = plain_part(values, "rows", int)
    if not 1 <= rows < _MOST_ROWS:
        raise ParameterError(f"rows = {rows} is not a number of rows", "the model")
    attributes = plain_part(values, "attributes", list)
    if not all(isinstance(a, dict) for a in attributes):
        raise ParameterError("the key 'attributes' is not a list of tables", "the model")
    columns = tuple(Attribute.from_plain(a, f"attribute {i}") for i, a in enumerate(attributes, start=1))
    target = Attribute.from_plain(plain_part(values, "target", dict), "the target")
    checked_schema(columns, target, task)
    return columns, target, rows


def split_epsilon(total: Decimal, weights: Sequence[float]) -> tuple[Decimal, ...]:
    """Split ε by weight into decimals that sum to ``total`` exactly.

    Each share is rounded down to 12 digits; the largest takes the remainder, so that no share gets close to 0.

    Raises:
        ParameterError: there is no weight, or one is not above 0.
    """
    if not weights or not all(0 < w < float("inf") for w in weights):
        raise ParameterError("the weights of a split of epsilon are not all above 0")
    whole = sum(weights)
    with localcontext() as context:
        context.prec, context.rounding = _SHARE_DIGITS, ROUND_DOWN
        shares = [total * Decimal(repr(float(w / whole))) for w in weights]
        context.prec = _EXACT_DIGITS
        largest = shares.index(max(shares))
        shares[largest] += total - sum(shares, Decimal(0))
    return tuple(shares)

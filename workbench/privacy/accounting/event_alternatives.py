"""Any event as alternatives of counted simple events, the common input of all accountants.

A row is in one part of each parallel event, so an event with parallel parts is one of several alternatives, and its
cost is that of the worst. An alternative is a mapping from a leaf to how often it happens.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from workbench.params import ParameterError
from workbench.privacy.accounting.compose import for_person
from workbench.privacy.accounting.event import (
    ApproximateDp,
    Composed,
    Cost,
    CostEvent,
    GaussianNoise,
    Parallel,
    PoissonGaussian,
    PureDp,
    Repeated,
    RowsPerPerson,
    ZeroConcentrated,
)

MOST_ALTERNATIVES = 64  # most combinations of parts that are composed one by one; more are refused
MOST_TIMES = 10**9
MOST_ROWS = 10**4


@dataclass(frozen=True, slots=True)
class PoissonStep:
    """One step of DP-SGD for a person with ``rows`` rows, each in the batch with probability ``sample_rate``."""

    sample_rate: float
    noise_multiplier: float
    rows: int = 1


SimpleEvent = PureDp | ApproximateDp | GaussianNoise | ZeroConcentrated | PoissonStep
EventCounts = Mapping[SimpleEvent, int]


def alternatives(event: CostEvent) -> list[EventCounts]:
    """Return the alternatives of ``event``, without those that another one covers.

    Raises:
        ParameterError: a number is out of range, or there are too many combinations of parts.
    """
    return _of(event, 1)


def _of(event: CostEvent, rows: int) -> list[EventCounts]:
    match event:
        case Composed():
            return _all([_of(part, rows) for part in event.events])
        case Parallel():
            if not event.parts:
                return [{}]
            # The rows of a person with several may be in several parts.
            found = [_of(part, rows) for part in event.parts]
            return _worst(itertools.chain(*found)) if rows == 1 else _all(found)
        case Repeated():
            times = _whole(event.times, MOST_TIMES, "times")
            once = _of(event.event, rows)
            if len(once) == 1:
                return [{leaf: count * times for leaf, count in once[0].items()}]
            if times > MOST_ALTERNATIVES:
                raise _too_many()
            return _all([once] * times)
        case RowsPerPerson():
            return _of(event.event, rows * _whole(event.rows, MOST_ROWS, "rows per person"))
        case PoissonGaussian():
            if event.steps == 0:
                return [{}]
            if event.bands > 1 and rows > 1:  # they may be in several parts, whose turns overlap
                raise ParameterError(
                    "the cost of several rows per person is not known for steps with correlated noise",
                    hint="state their ε and δ",
                )
            turns = event.independent()
            return [{_poisson(turns, rows): _whole(turns.steps, MOST_TIMES, "steps")}]
        case _:
            return [{_of_rows(event, rows): 1}]


def _of_rows(event: CostEvent, rows: int) -> SimpleEvent:
    """Return a simple event for a person with ``rows`` rows."""
    match event:
        case PureDp():
            return PureDp(_positive(event.epsilon) * rows)
        case ApproximateDp():
            _positive(event.epsilon)
            if not 0 < event.delta < 1:
                raise ParameterError(f"delta = {event.delta} is not between 0 and 1", hint="give a δ such as 1e-6")
            person = for_person(Cost(event.epsilon, event.delta, event), rows)
            return ApproximateDp(person.epsilon, person.delta)
        case GaussianNoise():
            # The L2 sensitivity of k rows is at most k times that of one.
            return GaussianNoise(_within(event.noise_multiplier, "noise multiplier") / rows)
        case ZeroConcentrated():
            # Bun & Steinke 2016, Proposition 1.9.
            _within(float(event.rho), "rho")
            return ZeroConcentrated(event.rho * rows * rows)
        case _:
            raise ParameterError(
                f"{type(event).__name__} is not a kind of event that can be composed", hint="give its ε and δ"
            )


def _poisson(event: PoissonGaussian, rows: int) -> PoissonStep | GaussianNoise:
    if not 0 < event.sample_rate <= 1:
        raise ParameterError(f"sample rate = {event.sample_rate} is not above 0 and at most 1")
    if event.sample_rate == 1.0:
        return GaussianNoise(_within(event.noise_multiplier, "noise multiplier") / rows)
    return PoissonStep(event.sample_rate, _within(event.noise_multiplier, "noise multiplier"), rows)


def _all(parts: list[list[EventCounts]]) -> list[EventCounts]:
    """Return what happens when all of ``parts`` happen."""
    found: list[EventCounts] = [{}]
    for part in parts:
        if len(found) * len(part) > 16 * MOST_ALTERNATIVES:
            raise _too_many()
        found = _worst(_sum(one, other) for one in found for other in part)
    return found


def _sum(one: EventCounts, other: EventCounts) -> EventCounts:
    return {leaf: one.get(leaf, 0) + other.get(leaf, 0) for leaf in (*one, *(x for x in other if x not in one))}


def _worst(found: Iterable[EventCounts]) -> list[EventCounts]:
    """Return the alternatives that no other one covers."""
    kept: list[EventCounts] = []
    for one in found:
        if any(_covers(other, one) for other in kept):
            continue
        kept = [other for other in kept if not _covers(one, other)] + [one]
    if len(kept) > MOST_ALTERNATIVES:
        raise _too_many()
    return kept


def _covers(one: EventCounts, other: EventCounts) -> bool:
    """Return whether each leaf of ``other`` has one in ``one`` that costs at least as much by any account."""
    mine, theirs = _ranked(one), _ranked(other)
    for kind, leaves in theirs.items():
        for severity in leaves:
            # For each severity there are at least as many that are as severe.
            needed = sum(count for s, count in leaves.items() if s >= severity)
            if sum(count for s, count in mine.get(kind, {}).items() if s >= severity) < needed:
                return False
    return True


def _ranked(leaves: EventCounts) -> dict[tuple[object, ...], dict[float | Decimal, int]]:
    found: dict[tuple[object, ...], dict[float | Decimal, int]] = {}
    for leaf, count in leaves.items():
        kind, severity = _rank(leaf)
        same = found.setdefault(kind, {})
        same[severity] = same.get(severity, 0) + count
    return found


def _rank(leaf: SimpleEvent) -> tuple[tuple[object, ...], float | Decimal]:
    match leaf:
        case PureDp():
            return ("pure",), leaf.epsilon
        case ApproximateDp():
            return ("approximate", leaf.delta), leaf.epsilon
        case GaussianNoise():
            return ("gaussian",), 1 / leaf.noise_multiplier
        case ZeroConcentrated():
            return ("zcdp",), leaf.rho
        case PoissonStep():
            return ("poisson", leaf.sample_rate, leaf.rows), 1 / leaf.noise_multiplier


def _whole(value: int, most: int, name: str) -> int:
    if isinstance(value, bool) or not 1 <= value <= most:
        raise ParameterError(f"{name} = {value} is not a whole number from 1 to {most:g}")
    return value


def _positive(epsilon: Decimal) -> Decimal:
    if not (epsilon.is_finite() and 0 < epsilon <= 10**6):
        raise ParameterError(f"epsilon = {epsilon} is not above 0 and at most 1e6", hint="give a number such as 1")
    return epsilon


def _within(value: float, name: str) -> float:
    if not 1e-9 <= value <= 1e9:
        raise ParameterError(f"{name} = {value} is not between 1e-9 and 1e9", hint="give a number such as 1")
    return value


def _too_many() -> ParameterError:
    return ParameterError(
        f"the parallel parts have more than {MOST_ALTERNATIVES} combinations, each composed separately",
        hint="give each parallel event parts of one kind, or state its largest part alone",
    )

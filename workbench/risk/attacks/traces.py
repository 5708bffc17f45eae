"""Location traces: the share of people that a few points (a place at an hour) single out.

De Montjoye et al. (2013) found that four points single out 95 % of 1.5 million people whose telephones were located by
antenna and hour for 15 months. This repeats their count on a generated sample, which holds no real person: everybody
has a home, a place of work near it, and other places that are visited again the more often they were visited before
(Song et al. 2010). Random points of a person's own trace are given to the attacker; she is singled out if nobody else's
trace holds them all. Coarser places or hours help little: that is the point of the sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.params import Parameters, declared_by, integer
from workbench.risk.attacks.base import PEOPLE, Subject
from workbench.risk.attacks.outcome import Outcome, Rate, percent
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

_MOST_POINTS = 8
_NOTHING_RELEASED = "Nothing was released: the sample shows how little an attacker needs to know."


@dataclass(frozen=True, kw_only=True)
class Traces(Parameters):
    """The generated sample and what the attacker knows."""

    points: int = integer(
        default=4,
        at_least=1,
        upto=_MOST_POINTS,
        title="known points",
        help="points that the attacker knows about a person",
    )
    people: int = integer(
        default=10_000, at_least=100, upto=200_000, title="people", help="number of people in the generated sample"
    )
    days: int = integer(default=30, at_least=1, upto=365, title="days", help="number of days of location data")
    places: int = integer(default=400, at_least=9, upto=10_000, title="places", help="number of places in the city")
    visits: int = integer(
        default=100, at_least=_MOST_POINTS, upto=2_000, title="visits", help="average number of visits per person"
    )
    hours: int = integer(
        default=1, at_least=1, upto=24, title="hours per time slot", help="hours that count as one time slot"
    )
    attacks: int = declared_by(PEOPLE, default=2000)
    seed: int = integer(
        default=0, at_least=0, upto=2**63 - 1, title="seed", help="seed of sample and points", advanced=True
    )


def run(subject: Subject, request: Traces, emit: Emit, cancel: CancelToken) -> Outcome:
    """Run the attack on a generated sample."""
    rng = np.random.default_rng(request.seed)
    who, point = sample(request, rng, emit, cancel)
    targets = rng.permutation(request.people)[: request.attacks]
    by_points = [singled_out(who, point, targets, n, rng, cancel) for n in range(1, request.points + 1)]
    main = Rate.counted(by_points[-1], len(targets))
    return Outcome(
        attack="traces",
        main=main,
        naive=Rate.known(1 / request.people),
        guarantee=subject.guarantee,
        base=Rate.known(0.0),
        unbounded=_NOTHING_RELEASED,
        figures={
            "attacks": len(targets),
            "points": request.points,
            "unique_fraction": main.value,
            "by_points": [count / len(targets) for count in by_points],
        },
        private=False,
        main_sentence=f"{request.points} points of a trace single out {percent(main.value)} of the people "
        f"({percent(main.low)} to {percent(main.high)}).",
    )


def sample(request: Traces, rng: np.random.Generator, emit: Emit, cancel: CancelToken) -> tuple[NDArray[np.int64], ...]:
    """Return a person and a point for each visit, both (visits,), sorted by point; no person has a point twice."""
    side = int(np.sqrt(request.places))
    # People gather where the city is dense: a place's weight falls with its rank.
    weight = 1 / (10 + np.arange(side * side))
    home = rng.choice(side * side, size=request.people, p=rng.permutation(weight / weight.sum()))
    work = _near(home, side, rng, 4.0)
    visits = np.maximum(_MOST_POINTS, rng.poisson(request.visits * rng.gamma(2.0, 0.5, request.people)))
    who = np.repeat(np.arange(request.people), visits)
    day, hour = rng.integers(request.days, size=len(who)), rng.choice(24, size=len(who), p=_LOAD / _LOAD.sum())
    place = np.where((hour >= 9) & (hour < 18) & (day % 7 < 5), work[who], home[who])
    # The k-th other place of a person is chosen as often as its rank says, and lies near home.
    away = rng.random(len(who)) < _AWAY
    rank = np.minimum(rng.zipf(1.8, size=len(who)), _OTHERS) - 1
    others = _near(np.repeat(home, _OTHERS), side, rng, 6.0).reshape(request.people, _OTHERS)
    place = np.where(away, others[who, rank], place)
    time = (day * 24 + hour) // request.hours
    cancel.check()
    emit(Progress(1, 2, "traces"))
    both = np.unique(np.stack([time * (side * side) + place, who]), axis=1)
    return both[1], both[0]


_LOAD = np.array([2, 1, 1, 1, 1, 2, 4, 6, 8, 9, 10, 10, 10, 9, 9, 9, 10, 11, 11, 10, 9, 7, 5, 3], dtype=float)
"""How often people are located at each hour of the day."""
_AWAY, _OTHERS = 0.35, 30


def _near(places: NDArray[np.int64], side: int, rng: np.random.Generator, reach: float) -> NDArray[np.int64]:
    """Return a place near each one, on a square that has no edge."""
    across = np.rint(rng.laplace(0, reach, (2, len(places)))).astype(np.int64)
    moved: NDArray[np.int64] = (places // side + across[0]) % side * side + (places % side + across[1]) % side
    return moved


def singled_out(
    who: NDArray[np.int64],
    point: NDArray[np.int64],
    targets: NDArray[np.int64],
    points: int,
    rng: np.random.Generator,
    cancel: CancelToken,
) -> int:
    """Return how many targets are the only ones with ``points`` random points of their own trace."""
    order = np.argsort(who, kind="stable")
    traces = np.split(point[order], np.cumsum(np.bincount(who))[:-1])
    found = 0
    for target in targets:
        cancel.check()
        own = traces[target]
        chosen = rng.choice(own, size=min(points, len(own)), replace=False)
        left = who[slice(*np.searchsorted(point, [chosen[0], chosen[0] + 1]))]
        for one in chosen[1:]:
            left = left[np.isin(left, who[slice(*np.searchsorted(point, [one, one + 1]))])]
        found += len(left) == 1
    return int(found)

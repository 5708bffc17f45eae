"""A simulated collection with generated clients: values, reports, counts, decoding. Nothing in it can be released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError, Parameters, boolean, integer, text
from workbench.params.field import named
from workbench.privacy.entropy import Entropy, SeededEntropy
from workbench.privacy.rappor.bits import (
    BasicBits,
    Bits,
    BloomBits,
    cohorts,
    filters,
    instant_answers,
    permanent_answers,
)
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.candidates import candidate_map
from workbench.rappor.decode import ALPHA, Decoded, decode
from workbench.rappor.files import Counts
from workbench.rappor.reports import summed
from workbench.signals import Progress
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore

FORMS = ("normal", "exponential", "zipf")

_TWO_TO_64 = 2.0**64


@dataclass(frozen=True, eq=False)
class Distribution:
    """Values and their chances."""

    name: str
    values: tuple[str, ...]
    chances: NDArray[np.float64]  # (n,) chances; they sum to 1

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Return (count,) places of independent values, for studies."""
        ends = np.cumsum(self.chances)
        drawn = np.searchsorted(ends / ends[-1], entropy.words(count) / _TWO_TO_64, side="right")
        return np.minimum(drawn, len(self.values) - 1).astype(np.int64)


def normal(mean: float = 50.0, sd: float = 10.0, values: int = 100) -> Distribution:
    """Return a normal distribution rounded to whole numbers 1 … ``values``, cut off outside."""
    places = np.arange(1, values + 1)
    return _of("normal", [str(i) for i in places.tolist()], np.exp(-(((places - mean) / sd) ** 2) / 2))


def exponential(values: int = 100, mean: float | None = None) -> Distribution:
    """Return chances that fall exponentially over strings ``v1`` …; ``mean`` is that of the place, a fifth of them."""
    rate = 1 / (values / 5 if mean is None else mean)
    return _of("exponential", [f"v{i}" for i in range(1, values + 1)], np.exp(-rate * np.arange(values)))


def zipf(values: int = 100, power: float = 1.0) -> Distribution:
    """Return chances that fall as 1/place^power over strings called ``v1`` and so on."""
    return _of("zipf", [f"v{i}" for i in range(1, values + 1)], np.arange(1, values + 1, dtype=np.float64) ** -power)


def observed(values: Sequence[str | None], name: str) -> Distribution:
    """Return the frequencies of given values, such as those of a column; missing ones are left out. Private.

    Raises:
        ParameterError: there are no values.
    """
    kept = [value for value in values if value]
    if not kept:
        raise ParameterError(f"{name} has no values", hint="choose another column")
    found, counts = np.unique(np.array(kept, dtype=object).astype(str), return_counts=True)
    return _of(name, found.tolist(), counts.astype(np.float64))


def form(name: str, values: int) -> Distribution:
    """Return the public form called ``name`` with so many values.

    Raises:
        ParameterError: there is no such form.
    """
    made = {
        "normal": lambda: normal(values / 2, values / 10, values),
        "exponential": lambda: exponential(values),
        "zipf": lambda: zipf(values),
    }
    if name not in made:
        raise ParameterError(f"the distribution {name!r} is not known", hint=f"choose one of {', '.join(FORMS)}")
    return made[name]()


def _of(name: str, values: list[str], weights: NDArray[np.float64]) -> Distribution:
    return Distribution(name, tuple(values), weights / weights.sum())


MOST_SIMULATED = 20_000_000
_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Preset:
    """An experiment of the thesis."""

    name: str  # the word on the command line
    title: str  # in a list
    parameters: RapporParameters  # of the collection
    distribution: Distribution  # of the values
    reports: int  # how many clients report
    extra: int  # candidates that nobody has


PRESETS: tuple[Preset, ...] = (
    Preset(
        "normal",
        "normal, μ = 50, σ = 10, f = 0",
        RapporParameters(k=128, h=2, m=16, p=0.5, q=0.75, f=0.0),
        normal(50, 10, 100),
        100_000,
        0,
    ),
    Preset(
        "exponential",
        "exponential, f = 0.5",
        RapporParameters(k=128, h=2, m=16, p=0.5, q=0.75, f=0.5),
        # The least frequency above 1 % is 1.8 %: six and a half standard errors of these reports.
        exponential(50, 1.53),
        1_000_000,
        50,
    ),
)


@dataclass(frozen=True, eq=False)
class Simulation:
    """What a simulated collection was, and what was found of it."""

    parameters: RapporParameters  # of the collection
    # (candidates,) true shares among the simulated clients, 0 for candidates that nobody has.
    truth: NDArray[np.float64]
    counts: Counts  # of the reports
    decoded: Decoded  # what was found


@dataclass(frozen=True)
class Score:
    """How a simulation's findings compare with the truth."""

    detected: int  # significant strings that occur
    missed: int  # strings that occur and are not significant
    false: int  # significant strings that do not occur
    coverage: float  # share of the candidates whose 95 % interval holds the true share


def preset(name: str) -> Preset:
    """Return the preset called ``name``.

    Raises:
        ParameterError: there is none.
    """
    return named(PRESETS, name, "preset")


@dataclass(frozen=True, kw_only=True)
class Experiment(Parameters):
    """What is simulated: the true distribution, how many report, and what is looked for."""

    preset: str | None = text(default=None, symbol="NAME", help="normal or exponential, each with its parameters")
    distribution: str | None = text(default=None, symbol="NAME", help="normal, exponential or zipf")
    data: str | None = text(default=None, help="take the distribution from a table instead (private)")
    column: str | None = text(default=None, symbol="COL", help="the column of --data")
    values: int | None = integer(
        default=None,
        at_least=2,
        upto=100_000,
        symbol="N",
        help="number of distinct values of --distribution (default 100)",
    )
    reports: int | None = integer(
        default=None,
        at_least=1,
        upto=MOST_SIMULATED,
        symbol="N",
        help="number of clients, each with one report",
    )
    extra: int | None = integer(
        default=None,
        at_least=0,
        upto=100_000,
        symbol="N",
        help="extra candidates that no client has, to count false discoveries",
    )
    basic: bool = boolean(default=False, help="each candidate gets its own bit: h = m = 1")
    seed: int = integer(default=1, at_least=0, upto=2**63 - 1, symbol="N", help="seed of all random draws")

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum(source is not None for source in (self.preset, self.distribution, self.data)) != 1:
            raise ParameterError(
                "the true distribution must be given exactly once",
                hint="use --preset, --distribution, or --data with --column",
            )
        if (self.data is None) != (self.column is None):
            raise ParameterError("--data and --column must be used together", hint="give both")
        if self.preset is not None and self.values is not None:
            raise ParameterError("--values works only with --distribution", hint="leave it out")

    @property
    def base(self) -> Preset | None:
        """The preset, if it is one."""
        return None if self.preset is None else preset(self.preset)

    def made(self, found: Distribution | None) -> tuple[Distribution, int, tuple[str, ...]]:
        """Return the distribution, that of a column where one was found, the number of reports and the candidates."""
        base = self.base
        if base is not None:
            distribution, usual, extra = base.distribution, base.reports, base.extra
        else:
            stated = found if found is not None else form(self.distribution or "", self.values or 100)
            distribution, usual, extra = stated, 100_000, 0
        more = extra if self.extra is None else self.extra
        return distribution, self.reports or usual, with_extra(distribution, more)


def with_extra(distribution: Distribution, extra: int) -> tuple[str, ...]:
    """Return the values of ``distribution`` and ``extra`` candidates that are none of them."""
    taken = set(distribution.values)
    names = (f"absent{i}" for i in range(1, extra + len(taken) + 1))
    free = [name for name in names if name not in taken]
    return (*distribution.values, *free[:extra])


def simulate(
    parameters: RapporParameters,
    distribution: Distribution,
    reports: int,
    candidates: Sequence[str] | None = None,
    *,
    seed: int = 1,
    basic: bool = False,
    alpha: float = ALPHA,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> Simulation:
    """Simulate a collection of one report from each of ``reports`` clients, and decode it.

    What is looked for are the distribution's values where no candidates are given. A value that is no candidate is
    reported all the same and belongs to the unexplained share. With ``basic`` each candidate has a bit in place of a
    Bloom filter.

    Raises:
        ParameterError: too few or too many reports, or parameters that do not fit the variant.
        InputError: two candidates set the same bits.
    """
    if not 1 <= reports <= MOST_SIMULATED:
        raise ParameterError(f"{reports:,} reports are not between 1 and {MOST_SIMULATED:,}", hint="use another number")
    names = tuple(distribution.values if candidates is None else candidates)
    bits: Bits = BasicBits(parameters, names) if basic else BloomBits(parameters)
    entropy = SeededEntropy(seed)
    total = Counts(np.zeros(parameters.m, dtype=np.int64), np.zeros((parameters.m, parameters.k), dtype=np.int64))
    held = np.zeros(len(distribution.values), dtype=np.int64)
    for start in range(0, reports, _AT_ONCE):
        cancel.check()
        emit(Progress(start, reports, "simulating reports"))
        count = min(_AT_ONCE, reports - start)
        codes = distribution.draw(count, entropy)
        held += np.bincount(codes, minlength=len(held))
        where = cohorts(count, parameters, entropy)
        filled, place = filters(bits, distribution.values, codes, where)
        answers = permanent_answers(filled[place], parameters, entropy)
        part = summed(instant_answers(answers, parameters, entropy), where, parameters)
        total = Counts(total.reports + part.reports, total.ones + part.ones)
    shares = dict(zip(distribution.values, (held / reports).tolist(), strict=True))
    decoded = decode(total, candidate_map(names, bits), alpha, emit, cancel)
    return Simulation(parameters, np.array([shares.get(name, 0.0) for name in names]), total, decoded)


def score(simulation: Simulation, correction: str) -> Score:
    """Return how the findings under ``correction`` compare with the truth."""
    found, there = simulation.decoded.significant(correction), simulation.truth > 0
    half = 1.959963984540054 * simulation.decoded.std_error
    inside = np.abs(simulation.decoded.estimate - simulation.truth) <= half
    return Score(
        detected=int(np.sum(found & there)),
        missed=int(np.sum(there & ~found)),
        false=int(np.sum(found & ~there)),
        coverage=float(np.mean(inside)),
    )


def roc(simulation: Simulation, least: float = 0.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ROC curve of the p-values: rates of false and of true positives, each from 0 to 1.

    A string counts as occurring from a true share of ``least``; at least one candidate does, and one does not.
    """
    there = simulation.truth > least
    order = np.argsort(simulation.decoded.p_value, kind="stable")
    hits = np.concatenate([[0.0], np.cumsum(there[order]) / max(int(there.sum()), 1)])
    alarms = np.concatenate([[0.0], np.cumsum(~there[order]) / max(int((~there).sum()), 1)])
    return alarms, hits

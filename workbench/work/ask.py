"""Ask: the only maker of released noise. It serves each declared event once, for exactly its amount.

Whoever asks says what is asked (the exact numbers) and how far one row can move them (the sensitivity); ε, ρ, δ and
the noise multiplier are the event's and cannot be overridden. So what was charged is what can be drawn. A question that
was not declared, or was asked before, is an error before a bit is drawn, and :meth:`Ask.finish` names what was declared
and never asked.

Some questions are asked of disjoint parts of the rows at once, such as one choice for each node of a tree: a row is in
one part, so that all of them cost what one does (parallel composition).

The asker is trusted with four things: the sensitivity, that parts are disjoint, what it uses the random bits of
:meth:`Ask.local` and :attr:`Ask.coins` for, and that nothing but answers goes into files. The conformance suites
enumerate neighbours and bound the released files; a test lists who reads ``coins``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from decimal import MAX_PREC, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.accounting.event import (
    ApproximateDp,
    Composed,
    CostEvent,
    PoissonGaussian,
    PureDp,
    RowsPerPerson,
    ZeroConcentrated,
    floor_double,
)
from workbench.privacy.accounting.private_selection import epsilon_of_try
from workbench.privacy.central.central_noise import CentralNoise, NoNoise
from workbench.privacy.central.exponential import Scores, exponential_choice, noisy_max, one_way_choice
from workbench.privacy.central.number_of_tries import number_of_tries
from workbench.privacy.central.private_median import median, private_median
from workbench.privacy.central.quantile_choice import Held, depths, drawn_quantiles
from workbench.privacy.central.share import QueryEvent, Share
from workbench.privacy.central.threshold import threshold
from workbench.privacy.entropy import ChaCha20Entropy, Entropy, OsEntropy

Declared = PureDp | ZeroConcentrated | PoissonGaussian | ApproximateDp
Cells = NDArray[np.int64]
Made = TypeVar("Made")

TRY = "one try"  # the event of an attempt of `Ask.best_of`


class UndeclaredError(AssertionError):
    """A Work asked for something else than it declared: a bug of the Work, found before a bit was drawn."""


class Ask:
    """Serves the declared events of one Work, each once.

    A source of noise makes it (:mod:`workbench.work.noise`); nothing else in the program constructs one.

    Attributes:
        releasable: whether answers are drawn from operating-system entropy, after a charge.
        private: whether there is any noise: without it answers are exact, and no event needs to be declared.
        coins: random bits for what costs nothing, such as the order of rows, or rows drawn from a fitted model.
    """

    def __init__(self, events: Iterable[Declared], noise: CentralNoise, coins: Entropy) -> None:
        """Open the questions of ``events``; ``coins`` are of the same origin as the noise.

        Raises:
            UndeclaredError: two events have one label.
        """
        self._noise, self.coins = noise, coins
        self._open: dict[str, Declared] = {}
        self._asked: list[str] = []
        self._inner: list[Ask] = []
        for event in events:
            if event.label in self._open:
                raise UndeclaredError(f"two declared events are called {event.label!r}")
            self._open[event.label] = event
        self.releasable = noise.releasable
        self.private = not isinstance(noise, NoNoise)

    def __reduce__(self) -> str:
        """Refuse to be copied: the copy would serve every event a second time."""
        raise TypeError("an Ask cannot be copied: each event is served once")

    # -- numbers ------------------------------------------------------------------------------------------------------

    def __call__(self, label: str, exact: Sequence[int], sensitivity: int) -> list[int]:
        """Return the whole numbers with discrete Laplace noise (an event with ε) or discrete Gaussian noise (with ρ).

        Args:
            label: of the event.
            exact: the exact numbers.
            sensitivity: how far one row, emptied, can move the whole vector: L1 for ε, L2 for ρ.

        Raises:
            UndeclaredError: the event was not declared, or was served before.
            ParameterError: the sensitivity is not a whole number of at least 1.
        """
        if not self.private:
            return [int(v) for v in exact]
        return self._share(label).noisy(self._noise, exact, sensitivity)

    def occurring(self, label: str, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the noisy counts of the values that pass the threshold of an event of (ε, δ); the others are lost.

        Args:
            label: of the event.
            counts: how many rows have each value; a row is in one count, or in none. Values of no row are left out:
                what is asked for is not which values there could be.

        Raises:
            UndeclaredError: the event was not declared, was served before, or is not of an (ε, δ).
        """
        exact = {value: int(counts[value]) for value in sorted(counts) if counts[value] > 0}
        if not self.private:
            return exact
        event = self._take(label)
        if not isinstance(event, ApproximateDp):
            raise UndeclaredError(f"{label!r} is not declared as values that pass a threshold")
        least = threshold(event.epsilon, event.delta)
        noisy = self._noise.integers(list(exact.values()), 1, floor_double(event.epsilon)) if exact else []
        return {value: count for value, count in zip(exact, noisy, strict=True) if count >= least}

    # -- choices ------------------------------------------------------------------------------------------------------

    def choose(self, label: str, scores: Sequence[int], sensitivity: int) -> int:
        """Return the place of a large score, by the exponential mechanism.

        The scores are whole numbers, each moved by one row by at most ``sensitivity``, in either direction.
        """
        if not self.private:
            return max(range(len(scores)), key=lambda place: (scores[place], -place))
        return exponential_choice(scores, sensitivity, self._share(label).choice_epsilon, self._noise)

    def largest(self, label: str, parts: Sequence[Scores], sensitivity: int) -> list[int]:
        """Return for each part the place of a large score, by report-noisy-max (permute-and-flip).

        With a ρ it is the exponential mechanism at ε = √(8ρ): :func:`.one_way_choice`. The parts are of disjoint rows;
        one row moves the scores of its part in one direction, by at most ``sensitivity``.
        """
        return self._places(label, parts, sensitivity)

    def least(self, label: str, parts: Sequence[Scores], sensitivity: int) -> list[int]:
        """Return for each part the place of a small loss, which is :meth:`largest` of the losses times −1.

        One row moves these in one direction, too, by as much.
        """
        return self._places(label, [-np.asarray(losses, dtype=np.int64) for losses in parts], sensitivity)

    def _places(self, label: str, parts: Sequence[Scores], sensitivity: int) -> list[int]:
        if not self.private:
            return [int(np.argmax(scores)) for scores in parts]
        share = self._share(label)
        if share.gaussian:
            return [one_way_choice(scores, sensitivity, share.choice_epsilon, self._noise) for scores in parts]
        return [noisy_max(scores, sensitivity, share.loss, self._noise) for scores in parts]

    def median(self, label: str, cells: Sequence[int], size: int, aggregate: str) -> int:
        """Return a cell drawn as the median of ``cells`` (:func:`workbench.privacy.central.private_median`).

        They are sorted, of 0 … ``size`` − 1, each the answer of one disjoint block of rows; ``aggregate`` is one of
        ``AGGREGATES``.
        """
        if not self.private:
            return median(cells)
        return private_median(aggregate, cells, size, self._share(label).pure_epsilon, self._noise)

    def quantiles(
        self, label: str, parts: Sequence[Cells | Held], low: int, high: int, shares: Sequence[Fraction]
    ) -> list[list[int]]:
        """Return the drawn quantiles of each part (:mod:`workbench.privacy.central.quantile_choice`).

        The parts are sorted cells, from ``low`` to ``high``, of disjoint rows; ``shares`` has each q, sorted, made
        ``simple``.
        """
        epsilon = self._share(label).part(1, depths(len(shares))).choice_epsilon if self.private else 1.0
        return [drawn_quantiles(values, low, high, shares, epsilon, self._noise) for values in parts]

    # -- rows ---------------------------------------------------------------------------------------------------------

    def local(self, label: str, epsilon: float | Decimal) -> Entropy:
        """Return the random bits of a mechanism that randomises each row by itself, for one pass over the rows.

        ``epsilon`` is the mechanism's, computed from the table or the chances that it draws by.

        Raises:
            UndeclaredError: the event was not declared, was served before, or is of a smaller ε.
        """
        self._take_local(label, epsilon)
        return self.coins

    def remote(self, epsilons: Mapping[str, float | Decimal], parts: int) -> RemoteDraws:
        """Return the leave to draw such mechanisms in other processes, for one published draw of each part of the rows.

        ``epsilons`` are those of the mechanism of each event, as for :meth:`local`; the parts are disjoint.

        Raises:
            UndeclaredError: as :meth:`local`; or the random bits are not the operating system's, as copies of any other
                stream would give every part the same ones.
        """
        if not self.releasable or not isinstance(self.coins, OsEntropy):
            raise UndeclaredError("only a release, with random bits of the operating system, draws in other processes")
        for label, epsilon in epsilons.items():
            self._take_local(label, epsilon)
        return RemoteDraws(epsilons, self.coins, parts)

    def _take_local(self, label: str, epsilon: float | Decimal) -> None:
        event = self._open.get(label)
        if isinstance(event, PureDp) and not (math.isfinite(epsilon) and epsilon <= event.epsilon):
            raise UndeclaredError(f"{label!r} is declared with epsilon = {event.epsilon}, and draws with {epsilon}")
        if not isinstance(self._take(label), PureDp):
            raise UndeclaredError(f"{label!r} is not declared as a mechanism of each row")

    # -- trainings ----------------------------------------------------------------------------------------------------

    def steps(self, label: str, taken: int = 0, count_noise: float | None = None) -> Steps:
        """Return the steps of DP-SGD that an event declares, ``taken`` of them by earlier parts of the training.

        ``count_noise`` is the standard deviation of the noise on a count of unclipped rows, where each step asks for
        one.

        Raises:
            UndeclaredError: the event was not declared, was served before, or has not so many steps; or there is no
                noise to take them with.
        """
        if not self.private:
            raise UndeclaredError(f"without noise there are no steps of {label!r}")
        event = self._take(label)
        if not isinstance(event, PoissonGaussian):
            raise UndeclaredError(f"{label!r} is not declared as the steps of a training")
        if self.releasable:
            return Steps(event, ChaCha20Entropy(), ChaCha20Entropy(), taken, count_noise)
        # A study's noise is random bits, too.
        return Steps(event, self.coins, cast("Entropy", self._noise), taken, count_noise)

    # -- the rest -----------------------------------------------------------------------------------------------------

    def divided(self, label: str, parts: Mapping[str, tuple[int, int]]) -> Ask:
        """Serve an event in named parts, each ``times``/``of`` of it, rounded down; return an Ask for these.

        Raises:
            UndeclaredError: the parts are more than the whole, or one of them is not a part.
        """
        if not self.private:
            return self
        share = self._share(label)
        if not all(times > 0 and of > 0 for times, of in parts.values()):
            raise UndeclaredError(f"a part of {label!r} is not above 0: the others would be more than the whole")
        if sum(Fraction(times, of) for times, of in parts.values()) > 1:
            raise UndeclaredError(f"the parts of {label!r} are more than what was declared")
        events = (share.part(times, of).event(name) for name, (times, of) in parts.items())
        self._inner.append(Ask(events, self._noise, self.coins))
        return self._inner[-1]

    def best_of(self, label: str, tries: float, choices: int, attempt: Callable[[Ask, int], tuple[int, Made]]) -> Made:
        """Return what the best of a secret random number of attempts made; the others are lost.

        Papernot & Steinke 2022, Corollary 3: each attempt may spend half of the event's ε, as its event :data:`TRY`.

        Args:
            label: of the event, one of ε.
            tries: the expected number of attempts; it follows from public facts.
            choices: how many ways there are to make one; each attempt draws its way.
            attempt: makes one, of an Ask for its share, of the number of its way and of the rows; returns its score,
                which is private at that share too, and what is released if it is the best. Every attempt draws anew;
                the first of equals wins.

        Raises:
            UndeclaredError: the event has no ε of its own; or an attempt did not ask for all of its share.
        """
        if not self.private:
            return max((attempt(self, way) for way in range(choices)), key=lambda one: one[0])[1]
        share = self._share(label)
        if share.gaussian:
            raise UndeclaredError(f"{label!r} is declared with a rho, and attempts are paid with epsilon")
        each = PureDp(epsilon_of_try(share.amount), TRY)
        found: tuple[int, Made] | None = None
        for _ in range(number_of_tries(tries, self._noise.below)):
            ask = self._of_try(each)
            made = attempt(ask, self._noise.below(choices))
            ask.finish()
            if found is None or made[0] > found[0]:
                found = made
        assert found is not None  # there is at least one
        return found[1]

    def _of_try(self, event: PureDp) -> Ask:
        return Ask((event,), self._noise, self.coins)

    @property
    def left(self) -> list[str]:
        """What was declared and not asked, parts of a divided event among it."""
        return [*self._open, *(label for inner in self._inner for label in inner.left)]

    def into(self, label: str, events: Iterable[QueryEvent]) -> Ask:
        """Serve an event of ε or ρ in smaller ones, which may follow from earlier answers; return an Ask for these.

        The caller finishes the Ask that is returned.

        Raises:
            UndeclaredError: the smaller events are more than the whole, or one of them is not above 0.
        """
        if not self.private:
            return self
        events, share = tuple(events), self._share(label)
        parts = [Share.of(event) for event in events]
        if not all(p.gaussian == share.gaussian and p.amount.is_finite() and p.amount > 0 for p in parts):
            raise UndeclaredError(f"the parts of {label!r} are not all shares above 0 of what it is declared with")
        with localcontext() as context:
            context.prec = MAX_PREC
            if sum((part.amount for part in parts), Decimal(0)) > share.amount:
                raise UndeclaredError(f"the parts of {label!r} are more than what was declared")
        return Ask(events, self._noise, self.coins)

    def finish(self, own: Container[str] | None = None) -> None:
        """Raise :class:`UndeclaredError` if something was declared, and so paid for, that was never asked.

        Whoever has only some of the questions names ``own``.
        """
        if left := [label for label in self.left if own is None or label in own]:
            raise UndeclaredError(f"declared and never asked: {', '.join(left)}")

    def _share(self, label: str) -> Share:
        event = self._take(label)
        if isinstance(event, PoissonGaussian):
            raise UndeclaredError(f"{label!r} is declared as the steps of a training")
        if isinstance(event, ApproximateDp):
            raise UndeclaredError(f"{label!r} is declared as values that pass a threshold")
        return Share.of(event)

    def _take(self, label: str) -> Declared:
        if label in self._asked:
            raise UndeclaredError(f"{label!r} was asked before, and is paid for once")
        if label not in self._open:
            raise UndeclaredError(f"{label!r} was not declared, and so not paid for")
        self._asked.append(label)
        return self._open.pop(label)


class RemoteDraws:
    """Leave to draw the rows of a release in other processes, and the register of what was accepted of these draws.

    What an ``Ask`` makes (:meth:`Ask.remote`) draws nothing: it accepts one draw of each part. Its copies, which go
    to the other processes, give random bits to mechanisms of no more than the declared ε, and accept nothing. A part
    may be drawn more than once (a worker dies, its answer is lost): only the draw that was accepted is published.
    """

    def __init__(self, epsilons: Mapping[str, float | Decimal], coins: OsEntropy, parts: int) -> None:
        self._epsilons, self._coins = dict(epsilons), coins
        self._open: set[int] | None = set(range(parts))

    def __getstate__(self) -> dict[str, Any]:
        """Return the leave without the register."""
        return {**self.__dict__, "_open": None}

    def random_bits(self, label: str, epsilon: float | Decimal) -> Entropy:
        """Return the random bits of a mechanism with a table of ``epsilon``, in another process.

        Raises:
            UndeclaredError: this is no copy; or the event was not served, or with a smaller ε.
        """
        if self._open is not None:
            raise UndeclaredError("where draws are accepted, none is made")
        if label not in self._epsilons or not epsilon <= self._epsilons[label]:
            raise UndeclaredError(f"{label!r} is not declared for a draw with epsilon = {epsilon}")
        return self._coins

    def accept(self, part: int) -> bool:
        """Return whether this draw of a part is the one that is published: the first is, and no other.

        Raises:
            UndeclaredError: this is a copy.
        """
        if self._open is None:
            raise UndeclaredError("draws are accepted in one place")
        first = part in self._open
        self._open.discard(part)
        return first

    def finish(self) -> None:
        """Raise :class:`UndeclaredError` if there is a part without a draw."""
        if self._open is None or self._open:
            raise UndeclaredError("not every part of the rows has its draw")


SUM, COUNT = "sum", "count"  # what a step of DP-SGD answers


class Steps:
    """The steps of DP-SGD that one event declares: the only source of their sampling and their noise.

    A step is taken before anything of it is drawn. Fewer steps than declared are an early stop, which costs those that
    were taken; one more is refused. A step answers with a sum and, where it was asked for, a count of terms ±1/2; the
    sum then has so much more noise that both together are the Gaussian that the event declares. Where it declares
    bands, each step is of one part of the rows, in turn.

    Attributes:
        coins: random bits of the batches.
        noise: random bits of the noise.
    """

    def __init__(
        self, event: PoissonGaussian, coins: Entropy, noise: Entropy, taken: int = 0, count_noise: float | None = None
    ) -> None:
        """Begin after ``taken`` steps.

        Raises:
            UndeclaredError: these are more than the event has.
            ParameterError: a count with so little noise leaves nothing to the sums.
        """
        if not 0 <= taken <= event.steps:
            raise UndeclaredError(f"{event.label!r} is declared with {event.steps} steps, and {taken} were taken")
        self._event, self._taken = event, taken
        self._answered = {SUM: taken} if count_noise is None else {SUM: taken, COUNT: taken}
        self._multipliers = (
            event.noise_multiplier if count_noise is None else event.beside_count(count_noise),
            count_noise,
        )
        self.coins, self.noise = coins, noise

    def __reduce__(self) -> str:
        """Refuse to be copied: the copy would take every step a second time."""
        raise TypeError("the steps of a training cannot be copied: each is taken once")

    @property
    def sample_rate(self) -> float:
        """The chance of each row of the step's part to be in its batch."""
        return self._event.sample_rate

    @property
    def bands(self) -> int:
        """In how many parts of the rows the steps are taken in turn, and over how many of them noise is correlated."""
        return self._event.bands

    @property
    def part(self) -> int:
        """The part of the rows, counted from 0, from which the last step was drawn."""
        return (self._taken - 1) % self._event.bands

    @property
    def noise_multiplier(self) -> float:
        """The standard deviation of the noise on a sum, divided by the clipping norm."""
        return self._multipliers[0]

    @property
    def count_noise(self) -> float | None:
        """The standard deviation of the noise on a count of terms ±1/2; ``None`` where no count is declared."""
        return self._multipliers[1]

    @property
    def taken(self) -> int:
        """Steps that count as taken."""
        return self._taken

    @property
    def left(self) -> int:
        """Steps that can still be taken."""
        return self._event.steps - self._taken

    @property
    def releasable(self) -> bool:
        """Whether batches and noise are drawn from cryptographic streams that the operating system keys."""
        return self.coins.releasable and self.noise.releasable

    def take(self) -> int:
        """Take the next step and return its number, the first one's being 1.

        Raises:
            UndeclaredError: all that were declared are taken.
        """
        if self._taken >= self._event.steps:
            raise UndeclaredError(f"all {self._event.steps} steps of {self._event.label!r} are taken")
        self._taken += 1
        return self._taken

    def remote(self) -> RemoteCoins:
        """Return the leave to throw coins of these steps in other processes, each for rows that no other one has.

        Raises:
            UndeclaredError: the coins are not cryptographic, and a seeded stream is one process's; or the steps are of
                parts of the rows, which the others do not know.
        """
        if not self.coins.releasable or self.bands > 1:
            raise UndeclaredError("only the coins of a release, of steps of all rows, are thrown in other processes")
        return RemoteCoins(self.sample_rate)

    def give_noise(self, answer: str = SUM) -> None:
        """Record that an answer of the step that was taken, :data:`SUM` or :data:`COUNT`, gets its noise now.

        Raises:
            UndeclaredError: no count was declared; or it had noise already: a second one, averaged with the first,
                would show more of the rows.
        """
        if answer not in self._answered:
            raise UndeclaredError(f"{self._event.label!r} is declared without a {answer}")
        if self._answered[answer] >= self._taken:
            raise UndeclaredError(
                f"step {self._taken} of {self._event.label!r} has its noise: it is drawn once for each step taken"
            )
        self._answered[answer] = self._taken


class RemoteCoins:
    """Leave to throw coins of the steps of a training in another process, to which it is sent.

    Steps are counted, and noise is drawn, where the steps are. Every copy throws coins of its own.
    """

    def __init__(self, sample_rate: float) -> None:
        self.sample_rate = sample_rate  # the chance of each row to be in the batch of a step

    @cached_property
    def coins(self) -> Entropy:
        """Random bits of batches, keyed by the operating system of the process that first asks for them."""
        return ChaCha20Entropy()


def declared(event: CostEvent) -> Iterator[Declared]:
    """Yield the events of one row that a cost is composed of, in order.

    Raises:
        UndeclaredError: there is an event that nothing can be asked by.
    """
    match event:
        case Composed(events):
            for part in events:
                yield from declared(part)
        case RowsPerPerson(inner):
            yield from declared(inner)
        case PureDp() | ZeroConcentrated() | PoissonGaussian() | ApproximateDp():
            yield event
        case _:
            raise UndeclaredError(f"no question can be asked by {type(event).__name__}")

"""A black-box auditor: a lower bound on ε from outputs alone, whatever code made them.

Run a release many times on each of two neighbouring inputs. (ε, δ)-privacy says P(S) ≤ e^ε·Q(S) + δ for *every* event
S, so one event whose two probabilities are known to differ by more refutes a claim. The first half of the outputs is
searched for an event; its probabilities are bounded on the second half alone (Clopper & Pearson 1934), so that
looking at many events costs no confidence (Ding et al. 2018; Jagielski, Ullman & Oprea 2020).

A bound above the claim refutes it; one below proves nothing unless the audit had power: what it would have caught is
computed for the event it rests on (:meth:`LowerBound.power`). Low-order bits, timing and events rarer than about
ln(2/α)/n are invisible to it, so it never reaches an ε much above ln n.

A lower bound on ε from one run, by guessing which of many canaries were in it (Steinke, Nasr & Jagielski 2023).

m canaries are each put in or left out by a fair coin. Who sees the output guesses for r of them. If the run is
(ε, δ)-private, at most about a share 1/(1 + e^−ε) of the guesses can be right: their number V obeys

    P(V ≥ v) ≤ P(B ≥ v) + 2mδ·maxᵢ P(v > B ≥ v − i)/i,   B binomial with r trials at 1/(1 + e^−ε)

(their Theorem 5.2). The coins are independent of one another, so one run serves as many; canaries of several runs,
each of which sees its own alone, count together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy, OsEntropy
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable
from workbench.privacy.local.mechanisms.base import Mechanism
from workbench.signals.cancel import NEVER, CancelToken

Outputs = NDArray[Any]  # independent outputs of one release: (n,) numbers or names, or (n, d) vectors of numbers

DEFAULT_ALPHA = 1e-6
DEFAULT_SAMPLES = 1_000_000
"""Outputs of each input: at α = 1e-6 a mechanism whose ε is 4 % above its claim of 1 is then caught nearly always."""

_FARTHEST = 100.0
_COARSE, _CAUGHT = 100, 0.95

_BINS = 64  # cells in which each coordinate of a vector is counted for its likelihood ratio


@dataclass(frozen=True)
class LowerBound:
    """What the outputs prove about ε."""

    epsilon: float  # with `confidence`, the release is (ε′, δ)-private for no ε′ below it; 0 where nothing was proved
    confidence: float  # 1 − α, over the draws of the outputs
    event: str  # the event in words
    counts: tuple[int, int]  # how often it occurred under the input that makes it likelier, and under the other one
    tested: int  # outputs of each input that the bound rests on
    likely: float  # the event's probability under the input that makes it likelier, as it was seen when it was chosen
    delta: float = 0.0  # δ of the claim

    def refutes(self, claim: float) -> bool:
        """Return whether a claim of ε = ``claim`` is refuted."""
        return self.epsilon > claim

    def power(self, claim: float, truth: float, strata: int = 2_000) -> float:
        """Return a lower bound on the probability that this audit refutes ``claim`` where ``truth`` is the true ε.

        The event is taken to be the mechanism's worst one: as likely as it was seen under one input, and as unlikely
        under the other as ``truth`` allows, for it and for its opposite. The rarer count is cut into strata of equal
        probability and counted at the worse end of each, so that the sum is below the power by at most one stratum.
        """
        from scipy.stats import binom

        n, alpha, p = self.tested, 1 - self.confidence, self.likely
        rare = max((p - self.delta) * math.exp(-truth), 1 - self.delta - math.exp(truth) * (1 - p), 0.0)
        worse = binom.ppf(np.arange(1, strata) / strata, n, rare)
        high = _upper(worse, n, alpha / 2)
        needed = np.minimum(high * math.exp(min(claim, 700.0)) + self.delta, 1.0)
        # Clopper and Pearson's lower bound is above x where so many hits or more have a chance below α/2 at x.
        hits = binom.isf(alpha / 2, n, needed) + 1
        return float(np.sum(np.where(needed < 1, binom.sf(hits - 1, n, self.likely), 0.0)) / strata)

    def catches(self, claim: float) -> float:
        """Return the least ε, to a thousandth, that would be caught in 95 % of such audits; infinite if none is.

        A mechanism that claims ``claim`` and has this ε or more is refuted with at least that probability.
        """
        low, high = claim, claim + 0.01
        while self.power(claim, high, _COARSE) < _CAUGHT:
            low, high = high, claim + 2 * (high - claim)
            if high > claim + _FARTHEST:
                return math.inf
        while high - low > 1e-3 * max(claim, 1e-3):
            middle = (low + high) / 2
            low, high = (low, middle) if self.power(claim, middle, _COARSE) >= _CAUGHT else (middle, high)
        return high


@dataclass(frozen=True, eq=False)
class _Event:
    """The values of a statistic that are at most the last of ``atoms``, at least the first, or one of them."""

    words: str
    kind: str
    atoms: Outputs

    def count(self, values: Outputs) -> int:
        tails = {"at most": lambda: values <= self.atoms[-1], "at least": lambda: values >= self.atoms[0]}
        return int(np.sum(tails.get(self.kind, lambda: np.isin(values, self.atoms))()))


def epsilon_lower(one: Outputs, other: Outputs, *, alpha: float = DEFAULT_ALPHA, delta: float = 0.0) -> LowerBound:
    """Return a lower bound on ε from the outputs under two neighbouring inputs.

    Args:
        one: independent outputs under one input.
        other: as many under the other.
        alpha: probability, at most, that the bound is above the true ε.
        delta: δ of the claim.

    Raises:
        ParameterError: fewer than 100 outputs, different shapes, or α or δ out of range.
    """
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.ndim not in (1, 2) or len(one) < 100:
        raise ParameterError(f"outputs of the shapes {one.shape} and {other.shape} cannot be audited together")
    if not (0 < alpha < 1 and 0 <= delta < 1):
        raise ParameterError(f"alpha = {alpha} and delta = {delta} are not in (0, 1) and [0, 1)")
    half = len(one) // 2
    best: tuple[float, _Event, Outputs, Outputs, float] | None = None
    for p, q, which in ((one, other, "first"), (other, one, "second")):
        for name, first, second in _statistics(p, q, half // 2):
            value, event = _chosen(first[:half], second[:half], alpha, delta, f"{name} under the {which} input")
            if best is None or value > best[0]:
                likely = event.count(first[half // 2 : half]) / (half - half // 2)
                best = value, event, first[half:], second[half:], likely
    assert best is not None
    _, event, held, against, likely = best
    counts = event.count(held), event.count(against)
    proved = _proved(*counts, len(held), alpha, delta)
    return LowerBound(proved, 1 - alpha, event.words, counts, len(held), likely, delta)


def _statistics(p: Outputs, q: Outputs, learn: int) -> Iterator[tuple[str, Outputs, Outputs]]:
    """Yield functions of an output, learned on the first ``learn`` outputs; they reveal no more than it does."""
    if p.ndim == 1:
        yield "the output", p, q
        return
    ratio = np.zeros((2, len(p)))
    for j in range(p.shape[1]):
        yield f"coordinate {j + 1}", p[:, j], q[:, j]
        pooled = np.concatenate([p[:learn, j], q[:learn, j]])
        edges = np.quantile(pooled, np.linspace(0, 1, _BINS + 1)[1:-1])
        cells = np.stack([np.searchsorted(edges, side[:, j], side="right") for side in (p, q)])
        seen = [np.bincount(c[:learn], minlength=len(edges) + 1) + 0.5 for c in cells]
        ratio += np.log(seen[0] / seen[1])[cells]  # a sum over coordinates, as their noises are independent
    yield "the likelihood ratio", ratio[0], ratio[1]


def _chosen(p: Outputs, q: Outputs, alpha: float, delta: float, name: str) -> tuple[float, _Event]:
    """Return the most promising event: a lower or upper tail, or the likeliest atoms."""
    # Learned on the first half and judged on the second: continuous outputs differ in every digit.
    learn = len(p) // 2
    atoms, (known_p, known_q, seen_p, seen_q) = _counted(p[:learn], q[:learn], p[learn:], q[learn:])
    ascending = np.arange(len(atoms))
    # Without the values that were not learned of: those of a continuous output never come again.
    known = np.flatnonzero(known_p + known_q)
    likeliest = known[np.argsort(-np.log((known_p + 0.5) / (known_q + 0.5))[known], kind="stable")]
    found: list[tuple[float, _Event]] = []
    for kind, order in (("at most", ascending), ("at least", ascending[::-1]), ("one of", likeliest)):
        promised = _promised(np.cumsum(seen_p[order]), np.cumsum(seen_q[order]), len(p) - learn, alpha, delta)
        last = int(np.argmax(promised))
        chosen = atoms[np.sort(order[: last + 1])]
        words = f"{kind} {len(chosen)} of {len(atoms)} values of {name}"
        found.append((float(promised[last]), _Event(words, kind, chosen)))
    return max(found, key=lambda option: option[0])


def _counted(*sides: Outputs) -> tuple[Outputs, list[NDArray[np.int64]]]:
    """Return the values that occur, ascending, and how often each one does in each of ``sides``."""
    if sides[0].dtype in (np.uint8, np.uint16):  # cells of a mechanism: no need to sort
        counts = [np.bincount(side, minlength=np.iinfo(side.dtype).max + 1) for side in sides]
        atoms = np.flatnonzero(np.sum(counts, axis=0))
        return atoms.astype(sides[0].dtype), [count[atoms] for count in counts]
    atoms, where = np.unique(np.concatenate(sides), return_inverse=True)
    cells = np.split(where, np.cumsum([len(side) for side in sides])[:-1])
    return atoms, [np.bincount(cell, minlength=len(atoms)) for cell in cells]


def wilson(count: Any, n: int, alpha: float) -> tuple[Any, Any]:
    """Return the interval of Wilson (1927) of the probability of which ``count`` of ``n`` were counted."""
    z = NormalDist().inv_cdf(1 - alpha / 2)
    middle, spread = count + z * z / 2, z * np.sqrt(np.maximum(count * (n - count) / n, 0.0) + z * z / 4)
    return (middle - spread) / (n + z * z), (middle + spread) / (n + z * z)


def _promised(hits: NDArray[np.int64], misses: NDArray[np.int64], n: int, alpha: float, delta: float) -> NDArray[Any]:
    """Approximate :func:`_proved` by Wilson's quick bounds: they choose an event and prove nothing."""
    (low, _), (_, high) = (wilson(count, n, alpha) for count in (hits, misses))
    bounds: NDArray[Any] = np.log(np.maximum(low - delta, math.ulp(0.0)) / high)
    if bounds.max() > 0:
        return bounds
    # No event promises a bound: take the one that differs most. The whole range is no event.
    separate: NDArray[Any] = 1e-6 * (hits - misses) / np.sqrt(hits + misses + 1.0) - 1.0
    return separate


def _proved(hits: int, misses: int, n: int, alpha: float, delta: float) -> float:
    """Return ln((p − δ)/q), p bounded below and q above with α/2 each; 0 where that is no bound."""
    low, high = _bounds(hits, misses, n, alpha)
    return max(math.log((low - delta) / high), 0.0) if low > delta else 0.0


def _bounds(hits: int, misses: int, n: int, alpha: float) -> tuple[float, float]:
    """Return Clopper and Pearson's bounds of two probabilities: the first from below, the second from above."""
    # The lower bound of a probability is what the upper bound of its opposite leaves.
    return 1 - float(_upper(n - hits, n, alpha / 2)), float(_upper(misses, n, alpha / 2))


def _upper(hits: Any, n: int, risk: float) -> NDArray[np.float64]:
    """Return the upper bounds of the probabilities of which ``hits`` of ``n`` were counted (Clopper & Pearson 1934)."""
    from scipy.stats import beta

    bounds: NDArray[np.float64] = np.where(hits < n, beta.ppf(1 - risk, hits + 1, np.maximum(n - hits, 1)), 1.0)
    return bounds


_MOST_EPSILON = 50.0
_ROUNDS = 40


def chance_of_guesses(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Return the most that P(V ≥ right) can be where the run is (ε, δ)-private."""
    from scipy.stats import binom

    share = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, share))
    if delta == 0 or right == 0:
        return min(1.0, tail)
    below = np.cumsum(binom.pmf(right - np.arange(1, right + 1), guesses, share))
    extra = float(np.max(below / np.arange(1, right + 1)))
    return min(1.0, tail + 2 * canaries * delta * extra)


def epsilon_of_guesses(
    canaries: int,
    guesses: int,
    right: int,
    *,
    alpha: float,
    delta: float,
    implied: Callable[[float, float], tuple[float, float]] | None = None,
) -> float:
    """Return a lower bound on ε that is above the true one with probability at most ``alpha``.

    Args:
        canaries: m, put in or left out by fair coins.
        guesses: r, fixed before the run.
        right: how many of them were right.
        alpha: 1 − confidence.
        delta: δ of the claim; with mδ near α nothing can be proved.
        implied: returns the guarantee for the two runs that the coins choose between, as it follows from (ε, δ), where
            it is another one.

    Raises:
        ParameterError: the counts do not fit together.
    """
    if not 0 <= right <= guesses <= canaries or guesses < 1:
        raise ParameterError(f"{right} right guesses of {guesses} on {canaries} canaries are not possible")

    def refuted(epsilon: float) -> bool:
        claimed = (epsilon, delta) if implied is None else implied(epsilon, delta)
        return chance_of_guesses(canaries, guesses, right, *claimed) <= alpha

    low, high = 0.0, _MOST_EPSILON
    if not refuted(low):
        return 0.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def right_guesses(evidence: NDArray[np.float64], present: NDArray[np.bool_], guesses: int) -> int:
    """Return how many guesses are right: in where the evidence is above 0, for those where it is farthest from it.

    Args:
        evidence: log-likelihood ratios of "in" to "out", one for each canary.
        present: which canaries were in.
        guesses: for how many to guess.
    """
    chosen = np.argsort(-np.abs(evidence), kind="stable")[:guesses]
    return int(np.sum((evidence[chosen] > 0) == present[chosen]))


def scale_bounds(squares: float, count: int, *, alpha: float) -> tuple[float, float]:
    """Return the confidence interval of a standard deviation from the sum of ``count`` squares of centred normals."""
    from scipy.stats import chi2

    low, high = (squares / chi2.ppf(1 - alpha / 2, count), squares / chi2.ppf(alpha / 2, count))
    return math.sqrt(low), math.sqrt(high)


_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class MechanismAudit:
    """The result of an audit of a mechanism."""

    claim: float
    bound: LowerBound

    @property
    def refuted(self) -> bool:
        """Whether the outputs prove that it has more."""
        return self.bound.refutes(self.claim)

    @property
    def caught(self) -> float:
        """The least true ε that this audit would have refuted in 95 of 100 runs; infinite if there is none."""
        return self.bound.catches(self.claim)


def audit_mechanism(
    mechanism: Mechanism,
    cells: Cells,
    epsilon: float,
    *,
    samples: int = DEFAULT_SAMPLES,
    entropy: Entropy | None = None,
    cancel: CancelToken = NEVER,
) -> MechanismAudit:
    """Draw ``samples`` outputs for each of the two inputs that are easiest to distinguish, and audit them.

    Args:
        mechanism: the mechanism.
        cells: what it is built on.
        epsilon: the share it is built for, and the claim.
        samples: outputs of each input.
        entropy: by default the operating system's, as for a release.
        cancel: checked several times per second.

    Raises:
        ParameterError: the mechanism has no table over these cells.
    """
    made = mechanism.build(cells, epsilon)
    if not isinstance(made, MechanismTable):
        raise ParameterError(f"{mechanism.name} over {cells.total} values is not audited", hint="use fewer values")
    return audit_table(made, epsilon, samples=samples, entropy=entropy, cancel=cancel)


def audit_table(
    table: MechanismTable,
    claim: float,
    *,
    samples: int = DEFAULT_SAMPLES,
    entropy: Entropy | None = None,
    cancel: CancelToken = NEVER,
) -> MechanismAudit:
    """Audit any table as :func:`audit_mechanism` does, by what it draws and not by what it claims."""
    entropy = entropy or OsEntropy()
    sides = []
    for cell in worst_pair(table):
        parts = []
        for start in range(0, samples, _AT_ONCE):
            cancel.check()
            parts.append(table.sample(np.full(min(_AT_ONCE, samples - start), cell, dtype=np.uint16), entropy))
        sides.append(np.concatenate(parts))
    cancel.check()
    return MechanismAudit(claim, epsilon_lower(sides[0], sides[1]))


def worst_pair(table: MechanismTable) -> tuple[int, int]:
    """Return the two inputs between which outputs of nearly the largest ratio are likeliest."""
    weights = table.weights
    high, low = weights.argmax(axis=0), weights.argmin(axis=0)
    columns = np.arange(table.outputs)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(weights[high, columns].astype(np.float64)) - np.log(weights[low, columns].astype(np.float64))
    largest = np.nanmax(logs)
    near = np.flatnonzero(logs >= largest - 1e-9)
    best, pair = -math.inf, (0, 1)
    for one, other in {(int(high[j]), int(low[j])) for j in near}:
        p, q = weights[one].astype(np.float64), weights[other].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            mass = float(p[np.log(p) - np.log(q) >= largest - 1e-9].sum())
        if mass > best:
            best, pair = mass, (one, other)
    return pair

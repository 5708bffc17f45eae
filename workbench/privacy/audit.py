"""A black-box auditor: a lower bound on ε from outputs alone, whatever code made them.

Run a release many times on each of two neighbouring inputs. (ε, δ)-privacy says P(S) ≤ e^ε·Q(S) + δ for *every* event
S, so one event whose two probabilities are known to be farther apart refutes a claim. An event is looked for on the
first half of the outputs; its probabilities are bounded on the second half alone (Clopper & Pearson 1934), so that
looking at many events costs no confidence (Ding et al. 2018; Jagielski, Ullman & Oprea 2020).

A bound above the claim refutes it; one below proves nothing. Low-order bits, time and events rarer than about
ln(2/α)/n are not seen, so that no ε much above ln n is ever reached.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError

Outputs = NDArray[Any]
"""Independent outputs of one release: (n,) numbers or names, or (n, d) vectors of numbers."""

_BINS = 64
"""Cells in which each coordinate of a vector is counted for its likelihood ratio."""


@dataclass(frozen=True)
class LowerBound:
    """What the outputs prove.

    Attributes:
        epsilon: with ``confidence``, the release is (ε′, δ)-private for no ε′ below it; 0 where nothing was proved.
        confidence: 1 − α, over the draws of the outputs.
        event: the event in words.
        counts: how often it occurred under the input that makes it likelier, and under the other one.
        tested: outputs of each input that the bound rests on.
    """

    epsilon: float
    confidence: float
    event: str
    counts: tuple[int, int]
    tested: int

    def refutes(self, claim: float) -> bool:
        """Return whether a claim of ε = ``claim`` is refuted."""
        return self.epsilon > claim


@dataclass(frozen=True, eq=False)
class _Event:
    """The values of a statistic that are at most the last of ``atoms``, at least the first, or one of them."""

    words: str
    kind: str
    atoms: Outputs

    def count(self, values: Outputs) -> int:
        tails = {"at most": lambda: values <= self.atoms[-1], "at least": lambda: values >= self.atoms[0]}
        return int(np.sum(tails.get(self.kind, lambda: np.isin(values, self.atoms))()))


def epsilon_lower(one: Outputs, other: Outputs, *, alpha: float = 1e-6, delta: float = 0.0) -> LowerBound:
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
    best: tuple[float, _Event, Outputs, Outputs] | None = None
    for p, q, which in ((one, other, "first"), (other, one, "second")):
        for name, first, second in _statistics(p, q, half // 2):
            value, event = _chosen(first[:half], second[:half], alpha, delta, f"{name} under the {which} input")
            if best is None or value > best[0]:
                best = value, event, first[half:], second[half:]
    assert best is not None
    _, event, held, against = best
    counts = event.count(held), event.count(against)
    return LowerBound(_proved(*counts, len(held), alpha, delta), 1 - alpha, event.words, counts, len(held))


def _statistics(p: Outputs, q: Outputs, learn: int) -> Iterator[tuple[str, Outputs, Outputs]]:
    """Yield functions of an output, learned on the first ``learn``: what they show, the output showed as well."""
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
    """Return the event that promises most: a lower or upper tail, or the likeliest atoms."""
    # Learned on the first half and judged on the second: continuous outputs are told apart by their very digits.
    learn = len(p) // 2
    atoms, where = np.unique(np.concatenate([p, q]), return_inverse=True)
    cells = where[:learn], where[len(p) : len(p) + learn], where[learn : len(p)], where[len(p) + learn :]
    known_p, known_q, seen_p, seen_q = (np.bincount(c, minlength=len(atoms)) for c in cells)
    ascending = np.arange(len(atoms))
    likeliest = np.argsort(-np.log((known_p + 0.5) / (known_q + 0.5)), kind="stable")
    found: list[tuple[float, _Event]] = []
    for kind, order in (("at most", ascending), ("at least", ascending[::-1]), ("one of", likeliest)):
        promised = _promised(np.cumsum(seen_p[order]), np.cumsum(seen_q[order]), len(p) - learn, alpha, delta)
        last = int(np.argmax(promised))
        chosen = atoms[np.sort(order[: last + 1])]
        words = f"{kind} {len(chosen)} of {len(atoms)} values of {name}"
        found.append((float(promised[last]), _Event(words, kind, chosen)))
    return max(found, key=lambda option: option[0])


def _promised(hits: NDArray[np.int64], misses: NDArray[np.int64], n: int, alpha: float, delta: float) -> NDArray[Any]:
    """Return about what :func:`_proved` will, by Wilson's quick bounds: they choose an event, they prove nothing."""
    z = NormalDist().inv_cdf(1 - alpha / 2)
    low, high = (
        (count + z * z / 2 + sign * z * np.sqrt(count * (n - count) / n + z * z / 4)) / (n + z * z)
        for count, sign in ((hits, -1), (misses, 1))
    )
    return np.log(np.maximum(low - delta, math.ulp(0.0)) / high)


def _proved(hits: int, misses: int, n: int, alpha: float, delta: float) -> float:
    """Return ln((p − δ)/q), p bounded below and q above with α/2 each; 0 where that is no bound."""
    from scipy.stats import beta

    low = float(beta.ppf(alpha / 2, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - alpha / 2, misses + 1, n - misses)) if misses < n else 1.0
    return max(math.log((low - delta) / high), 0.0) if low > delta else 0.0

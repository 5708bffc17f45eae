"""Generalised (k-ary) randomised response: keep the value with probability p, otherwise draw another one at random.

p = e^ε / (e^ε + k − 1), q = 1 / (e^ε + k − 1) (Kairouz, Oh & Viswanath 2016, eq. 9). In integers:
q = ⌈2^63 / (e^ε + k − 1)⌉ and p is the rest of 2^63, so that p/q ≤ e^ε despite rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy
from workbench.privacy.local.cells import WHOLE, Cells
from workbench.privacy.local.channel import TwoChances
from workbench.privacy.local.limits import MOST_CELLS
from workbench.privacy.local.mechanism_table import MechanismTable, capped, log_at_most, log_up
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism, Randomiser
from workbench.privacy.local.sampler import TOTAL
from workbench.privacy.local.sliding_window import odds


def integer_probabilities(epsilon: float, size: int) -> tuple[int, int]:
    """Return (p, q) as integers with p + (size−1)·q = 2^63 and p/q ≤ e^epsilon, as near as integers allow."""
    q = math.ceil(TOTAL / (odds(epsilon) + size - 1))
    return TOTAL - (size - 1) * q, q


def answered(cells: NDArray[Any], p: int, q: int, entropy: Entropy) -> NDArray[np.int64]:
    """Return an answer for each of the (n,) cells, which have chances p and q of 2^63: one word each, constant work."""
    words = entropy.words(cells.size) >> np.uint64(1)
    # Beyond p the word falls into one of size−1 equal stretches of q: the others, in order, the own skipped.
    other = ((words - np.uint64(p)) // np.uint64(q)).astype(np.int64)
    other += other >= cells
    return np.where(words < np.uint64(p), cells, other)


def randomised_response(parameters: LocalParameters, cells: Cells) -> Randomiser:
    """Return the exact table, or beyond 4,096 values its closed form."""
    epsilon = capped(parameters.epsilon)
    p, q = integer_probabilities(epsilon, cells.total)
    if cells.size > MOST_CELLS:
        return ClosedFormResponse(p, q, cells.total, epsilon)
    weights = np.full((cells.total, cells.total), q, dtype=np.uint64)
    np.fill_diagonal(weights, p)
    return MechanismTable(weights, claim=epsilon)


class ClosedFormResponse:
    """Randomised response over a domain too large for a table, sampled from the same kind of integers.

    Attributes:
        inputs: number of values.
        outputs: the same.
        exact_ratio: p/q.
        exact_epsilon: ln(p/q), rounded up.
    """

    def __init__(self, p: int, q: int, size: int, claim: float) -> None:
        """Check p + (size−1)·q = 2^63 and p/q ≤ e^claim."""
        if p + (size - 1) * q != TOTAL or q < 1 or p < q:
            raise ParameterError(f"randomised response over {size} values does not fit its integers")
        self.exact_ratio = Fraction(p, q)
        self.exact_epsilon = log_up(self.exact_ratio)
        if not log_at_most(self.exact_ratio, claim):
            raise ParameterError("randomised response is above its share of epsilon")
        self._p, self._q = p, q
        self.inputs = self.outputs = size

    def probabilities(self, rows: slice = WHOLE) -> NDArray[np.float64]:
        """Refuse: the matrix of a domain this large would not fit into memory."""
        raise ParameterError(
            f"the table of {self.inputs} values would be too large", hint=f"use at most {MOST_CELLS} values"
        )

    def channel(self) -> TwoChances:
        """Return p and q as a map."""
        return TwoChances(self._p / TOTAL, self._q / TOTAL, self.inputs)

    def sample(self, cells: NDArray[np.uint32], entropy: Entropy) -> NDArray[np.uint32]:
        """Draw an output value for each of the (n,) input values: one word each, constant work.

        Raises:
            IndexError: a value is outside the domain.
        """
        if cells.size and int(cells.max()) >= self.inputs:
            raise IndexError("a cell is outside the mechanism's domain")
        return answered(cells, self._p, self._q, entropy).astype(np.uint32)

    def digest(self) -> str:
        """Return the integers themselves, which determine the mechanism."""
        return f"grr:{self._p}:{self._q}:{self.inputs}"


GRR = Mechanism(
    name="grr",
    title="k-ary randomised response",
    summary="Keeps the value with a known probability, otherwise draws another at random; best for few values.",
    recipe=randomised_response,
)

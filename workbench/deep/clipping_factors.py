"""The clipping factor of each row's gradient, and the proof that no row moves the sum by more than C.

Three rules, gᵢ the gradient of row i, gᵢₗ its part of layer l of K:

* ``flat``: fᵢ = min(1, C/‖gᵢ‖) (Abadi et al. 2016).
* ``per-layer``: fᵢₗ = min(1, (C/√K)/‖gᵢₗ‖): K parts of at most C/√K have together a norm of at most C.
* ``automatic``: fᵢ = C/(‖gᵢ‖ + 0.01): every row is scaled to nearly C, so that C and the learning rate need not be
  tuned separately (Bu et al. 2022).

**Rows that overflow.** A row whose ‖gᵢ‖² is not a finite number has the factor 0 in every layer, under every rule. That
is decided from its own numbers, before anything is summed: what a row contributes never depends on another row.

**Rounding.** In single precision, u = 2⁻²⁴, a computed sum of t products differs from the true one by at most γₜ =
tu/(1−tu) times the sum of their sizes, in any order (Higham 2002, §3.1). A norm over at most t squares is then at
least (1 − γₜ₊₁₆) times the true one; the 16 also pay for the root and the division of a factor, and for 1/√x where a
compiler takes it from the processor's estimate and a step of Newton's method (4 units; 8 are tested). Squares below
the smallest normal number, 2⁻¹²⁶, may be lost besides; where they can matter, in a norm that is a product of two, as
much is added (:func:`lost_squares`). The sum over b rows of one block, each at most C′, moves by at most C′(1 +
2bγ_{b+4}) when one of them is emptied, because the rounding errors of the sums with and without it are at most
bγ_{b+4}C′ each. So an engine clips at C′ = C/((1 + 2γₜ₊₁₆)(1 + 2bγ_{b+4})): no row moves its sum by more than C. At
64 rows and 10,000 parameters C′ is .16 % below C.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.compiled import loops
from workbench.deep.plan import AUTOMATIC, CLIPPINGS, PER_LAYER
from workbench.params import ParameterError

_PER_LAYER, _AUTOMATIC = CLIPPINGS.index(PER_LAYER), CLIPPINGS.index(AUTOMATIC)

STABILITY = 0.01  # what is added to the norm by `automatic`: rows with hardly any gradient stay small

_ROUNDING = 1 - 2.0**-40
"""Keeps a clipped gradient at most C also after the rounding of its own scaling, in double precision."""

_UNIT = 2.0**-24
_LEAST_NORMAL = 2.0**-126

_LEAST_SQUARE = 1e-300
"""Norms are compared with at least this: the square of a very small C is zero, by which nothing can be divided."""

NORMS = threading.local()
"""Its ``on_norms``, where it has one, is called in this thread with the squared norms (b, K) of rows being clipped."""


def norms_listener() -> Callable[[Tensor], None] | None:
    """Return who receives the squared norms in this thread, if anybody does."""
    found: Callable[[Tensor], None] | None = getattr(NORMS, "on_norms", None)
    return found


def gamma(terms: int) -> float:
    """Return γₜ of single precision; infinite where the bound says nothing."""
    return terms * _UNIT / (1 - terms * _UNIT) if terms * _UNIT < 1 else math.inf


def lost_squares(terms: int) -> float:
    """Return what a sum of ``terms`` squares in single precision can lose to underflow, at most.

    A square below 2⁻¹²⁶ may be taken for 0, and so may each sum of such. Compared with C² that is nothing; but a factor
    of ‖x‖²·‖g‖² that reads 0 makes 0 of a product of any size. There this is added, so that no norm is underestimated.
    """
    return 2 * terms * _LEAST_NORMAL


def bound_in_single(clip: float, terms: int, rows: int) -> float:
    """Return C′: rows clipped at it in single precision move their sum by at most ``clip``.

    Args:
        clip: C.
        terms: most squares in the norm of one row's gradient.
        rows: most rows that are summed in single precision at once.
    """
    return clip / ((1 + 2 * gamma(terms + 16)) * (1 + 2 * rows * gamma(rows + 4)))


class DoublePrecision:
    """The clipping of an engine that computes norms and sums in double precision."""

    def __init__(self, rule: str, clip: float) -> None:
        """Make the rule; the arguments are those of :class:`Clipping`."""
        self._whole = Clipping(rule, clip * _ROUNDING)

    def of(self, rows: int) -> Clipping:
        """Return the rule for ``rows`` rows in one sum."""
        return self._whole

    def at(self, clip: float) -> DoublePrecision:
        """Return the same rule at another norm."""
        return DoublePrecision(self._whole.rule, clip)


class SinglePrecision:
    """The clipping of an engine that computes in single precision: the bound depends on the rows that are summed.

    How many there are is the same with a row present or empty, so nothing of it is private to the row.
    """

    def __init__(self, rule: str, clip: float, terms: int) -> None:
        """Make the rule; the arguments are those of :class:`Clipping` and :func:`bound_in_single`."""
        self._whole, self._terms = Clipping(rule, clip), terms
        self._known: dict[int, Clipping] = {}

    def of(self, rows: int) -> Clipping:
        """Return the rule for ``rows`` rows in one sum."""
        found = self._known.get(rows)
        if found is None:
            found = Clipping(self._whole.rule, bound_in_single(self._whole.bound, self._terms, rows))
            self._known[rows] = found
        return found

    def at(self, clip: float) -> SinglePrecision:
        """Return the same rule at another norm."""
        return SinglePrecision(self._whole.rule, clip, self._terms)


@dataclass(frozen=True)
class Clipping:
    """A rule at a bound."""

    rule: str  # one of `CLIPPINGS`
    bound: float  # the most that the norm of a row's contribution may be

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        if not 0 < self.bound < float("inf"):
            raise ParameterError(f"clip = {self.bound} is not a number above 0", hint="give a norm such as 1")
        if self.rule not in CLIPPINGS:
            raise ParameterError(f"clipping = {self.rule!r} is not known", hint=f"use one of {', '.join(CLIPPINGS)}")

    def factors(self, squares: Tensor) -> Tensor:
        """Return the factors (b, 1), or (b, K) where they differ by layer.

        Args:
            squares: squared norms (b, K) of the rows' gradients in each layer. A row whose norm over all layers is
                infinite or undefined gets 0 in each: its gradient has to be left out by whoever sums, as 0·∞ is NaN.
        """
        on_norms = norms_listener()
        if on_norms is not None:
            on_norms(squares)
        bound = self.bound
        whole = squares.sum(1, keepdim=True) if squares.shape[1] > 1 else squares.clone()
        if self.rule == PER_LAYER:
            bound /= math.sqrt(squares.shape[1])
            whole = torch.where(whole < torch.inf, squares, torch.inf)
        if self.rule == AUTOMATIC:
            factors = whole.sqrt_().add_(STABILITY).reciprocal_().mul_(bound)
        else:
            # max(‖g‖², C²) also covers rows without a gradient, where C/‖g‖ is a division by zero.
            factors = whole.clamp_min_(max(bound * bound, _LEAST_SQUARE)).rsqrt_().mul_(bound)
        return factors.nan_to_num_(nan=0.0)

    def row_factors(self, squares: NDArray[np.float32], rows: int | None = None) -> NDArray[np.float32]:
        """Return :meth:`factors` turned, (1, b), or (K, b) where they differ by layer, in one compiled loop.

        Args:
            squares: squared norms (K, b) of the rows' gradients in each layer.
            rows: how many of these are rows of the batch, and not there to fill up memory; all if not given.
        """
        on_norms = norms_listener()
        if on_norms is not None:
            on_norms(torch.from_numpy(squares[:, :rows].T))
        by_layer = self.rule == PER_LAYER
        bound = self.bound / math.sqrt(len(squares)) if by_layer else self.bound
        factors = np.empty((len(squares) if by_layer else 1, squares.shape[1]), dtype=np.float32)
        _scales(squares, CLIPPINGS.index(self.rule), bound, STABILITY, factors)
        return factors


@loops
def _scales(
    squares: NDArray[np.float32], rule: int, bound: float, stability: float, factors: NDArray[np.float32]
) -> None:
    """Write the factors of squares (K, b) into factors (1, b) or (K, b); ``rule`` is a place in CLIPPINGS."""
    layers, rows = squares.shape
    limit, little, none = np.float32(bound), np.float32(stability), np.float32(0)
    least = limit * limit
    for i in range(rows):
        whole = none
        for layer in range(layers):
            whole += squares[layer, i]
        if not whole < np.inf:
            for layer in range(len(factors)):
                factors[layer, i] = none
        elif rule == _AUTOMATIC:
            factors[0, i] = limit / (np.sqrt(whole) + little)
        elif rule == _PER_LAYER:
            for layer in range(layers):
                factors[layer, i] = limit / np.sqrt(max(squares[layer, i], least))
        else:
            factors[0, i] = limit / np.sqrt(max(whole, least))

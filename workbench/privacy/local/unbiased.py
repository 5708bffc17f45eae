"""Linear estimators from a table: g with P g = u, so that the mean of g(answer) is unbiased for Σ f·u.

Where P has an inverse, g is the only one. Where several exist, it is the one of least mean square when every true value
is as frequent as any other: fixed before a row is seen, so that it is unbiased exactly and not only for many rows.
Where none exists, the steps of a conjugate-gradient search trade bias for noise (Hestenes & Stiefel 1952).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.local.channel import Channel

Floats = NDArray[np.float64]

EXACT = 1e-7  # largest bias, as a part of the largest wanted value, of an estimator that is called unbiased (rounding)

_MOST_STEPS = 1500
_LOOK, _SLOW = 100, 0.99  # stop after a hundred steps that reduce the squared bias by less than a percent
_STILL = 1e-9  # relative size of the gradient at which the search ends


@dataclass(frozen=True, eq=False)
class Linear:
    """An estimator (1/n)·Σ g(answer)."""

    values: Floats  # (k,) g
    expected: Floats  # (m,) P g
    bias: float  # max over the true values of |P g − u|: no frequencies can be estimated with more bias than this

    def variance(self, channel: Channel) -> Floats:
        """Return the variance of g(answer) for each true value, (m,)."""
        out: Floats = np.maximum(channel.forward(self.values**2) - self.expected**2, 0.0)
        return out


def unbiased(channel: Channel, wanted: Floats) -> Linear | None:
    """Return the unbiased estimator of Σ f·wanted, or ``None`` where the table has none (to rounding)."""
    found = direct(channel, wanted)
    if found is not None or channel.decides:
        return found
    return next((linear for linear in path(channel, wanted) if exact(linear, wanted)), None)


def direct(channel: Channel, wanted: Floats) -> Linear | None:
    """Return the unbiased estimator where a direct solver finds it."""
    values = channel.solved(wanted)
    if values is None:
        return None
    found = _linear(channel, values, wanted)
    return found if exact(found, wanted) else None


def nearest(channel: Channel, wanted: Floats) -> Linear:
    """Return the estimator of the least mean-square bias, of a functional that has no unbiased one."""
    *_, last = path(channel, wanted)
    return last


def exact(linear: Linear, wanted: Floats) -> bool:
    """Return whether an estimator of Σ f·wanted is unbiased except for rounding."""
    return linear.bias <= EXACT * max(float(np.abs(wanted).max()), 1e-300)


def _linear(channel: Channel, values: Floats, wanted: Floats) -> Linear:
    expected = channel.forward(values)
    return Linear(values, expected, float(np.abs(expected - wanted).max()))


def path(channel: Channel, wanted: Floats) -> Iterator[Linear]:
    """Yield estimators of Σ f·wanted with ever less mean-square bias and ever more noise, the constant first.

    Conjugate gradients on |P g − wanted|² from a constant, in the metric of how much each answer is used.
    """
    middle = (float(wanted.max()) + float(wanted.min())) / 2
    used = channel.backward(np.full(channel.inputs, 1 / channel.inputs))
    root = np.where(used > 0, np.sqrt(np.maximum(used, 0.0)), 1.0)  # an answer that is never given has no weight
    values = np.full(channel.outputs, middle)
    expected = np.full(channel.inputs, middle)
    residual = wanted - middle
    yield Linear(values, expected, float(np.abs(residual).max()))
    gradient = channel.backward(residual) / root
    direction = gradient
    size = first = float(gradient @ gradient)
    before = np.inf
    for step in range(_MOST_STEPS):
        if not size > _STILL**2 * first:
            return
        if step % _LOOK == 0:
            now = float(residual @ residual)
            if now > before * _SLOW:
                return
            before = now
        moved = channel.forward(direction / root)
        length = size / float(moved @ moved)
        values = values + length * direction / root
        residual = residual - length * moved
        expected = wanted - residual
        yield Linear(values, expected, float(np.abs(residual).max()))
        gradient = channel.backward(residual) / root
        after = float(gradient @ gradient)
        direction, size = gradient + (after / size) * direction, after

"""Any one of ε, σ, epochs and batch of a DP-SGD run, from the other three."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.params import ParameterError
from workbench.privacy.accounting.accountant import accountant_named, event_of, loss, noise_for

MOST_EPOCHS = 10**6
CLOSE = 0.005
"""Epochs and batch are found to this part of themselves."""


@dataclass(frozen=True, slots=True)
class Run:
    """The four figures of one DP-SGD run; ``epsilon`` is an upper bound on what the other three cost."""

    epsilon: float
    sigma: float
    epochs: int
    batch: int


def solve(
    *,
    rows: int,
    delta: float,
    epsilon: float | None = None,
    sigma: float | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    accountant: str = "pld",
) -> Run:
    """Return the run in which the one figure that is ``None`` is found: the least ε or σ, the most epochs or rows.

    σ is within 0.05 % of the least. Epochs and batch are found by bisection to 0.5 %, and what is returned was checked:
    as the number of steps is rounded up, ε does not rise with every single row of a batch.

    Raises:
        ParameterError: not exactly one is ``None``, a number is out of range, or nothing fits ε.
    """
    missing = [
        name
        for name, value in (("epsilon", epsilon), ("sigma", sigma), ("epochs", epochs), ("batch", batch))
        if value is None
    ]
    if len(missing) != 1:
        raise ParameterError(
            f"{len(missing)} of epsilon, sigma, epochs and batch are open",
            hint="give three of them; the fourth one is found",
        )
    if epsilon is None:
        assert sigma is not None
        assert epochs is not None
        assert batch is not None
        return Run(loss(event_of(rows, batch, epochs, sigma), delta, accountant).epsilon, sigma, epochs, batch)
    if not 0 < epsilon <= 1e6:
        raise ParameterError(f"epsilon = {epsilon} is not between 0 and 1e6", hint="give an ε such as 3")
    if sigma is None:
        assert epochs is not None
        assert batch is not None
        sigma = noise_for(event_of(rows, batch, epochs, 1.0), delta, epsilon, accountant)
    elif epochs is None:
        assert batch is not None
        whole, noise = batch, sigma
        epochs = _most(lambda n, by: _cost(rows, whole, n, noise, delta, by), epsilon, accountant, MOST_EPOCHS, "epoch")
    else:
        passes, noise = epochs, sigma
        batch = _most(lambda n, by: _cost(rows, n, passes, noise, delta, by), epsilon, accountant, rows, "row")
    return Run(_cost(rows, batch or 0, epochs or 0, sigma, delta, accountant), sigma, epochs or 0, batch or 0)


def _cost(rows: int, batch: int, epochs: int, sigma: float, delta: float, accountant: str) -> float:
    return loss(event_of(rows, batch, epochs, sigma), delta, accountant).epsilon


def _most(costs: Callable[[int, str], float], epsilon: float, accountant: str, most: int, unit: str) -> int:
    """Return the largest number found, up to ``most``, whose cost is at most ε."""

    def holds(number: int, by: str = accountant) -> bool:
        return costs(number, by) <= epsilon

    low, high = 0, most + 1
    at_once = accountant_named(accountant).at_once
    if at_once != accountant and holds(1, at_once):
        low = _between(1, most + 1, lambda n: holds(n, at_once), 0.0)
    elif not holds(1):
        raise ParameterError(f"even one {unit} costs more than this epsilon", hint="use more noise or a larger ε")
    low = step = max(low, 1)
    while low + step < high:
        if holds(low + step):
            low, step = low + step, 2 * step
        else:
            high = low + step
    return _between(low, high, holds, CLOSE)


def _between(low: int, high: int, holds: Callable[[int], bool], close: float) -> int:
    """Return a number that holds, where ``low`` does and ``high`` does not, at most ``close`` of it from the edge."""
    while high - low > max(1.0, close * low):
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low

"""A privacy loss distribution composed with itself, in a time that does not grow with the number of steps.

The library decides whether a distribution stays sparse by its size to the power of the number of steps, as an exact
whole number. For 10⁸ steps that number alone takes minutes, and nothing can interrupt it. A distribution that is made
dense first is composed by one Fourier transform, whose length is known beforehand.
"""

from __future__ import annotations

from typing import Any

FEW = 10
"""Up to so many times the library composes as it likes: its power is a small number."""

MOST_CELLS = 2**21
"""Longest transform: it and what is read from it take about a second."""

_TAIL = 1e-15
"""The library's own truncation, counted as an infinite loss."""


def composed_with_itself(distribution: Any, times: int, most: int = MOST_CELLS) -> Any | None:
    """Return ``distribution`` composed ``times`` times, as its own ``self_compose`` does.

    Args:
        distribution: a ``PrivacyLossDistribution`` of dp-accounting.
        times: at least 1.
        most: cells of the longest transform.

    Returns:
        The composition; ``None`` where it would take more cells.
    """
    if times <= FEW:
        return distribution.self_compose(times)
    from workbench.privacy.accounting.dp_library import privacy_loss_distribution as library

    parts = [distribution._pmf_remove] if distribution._symmetric else [distribution._pmf_remove, distribution._pmf_add]
    dense = [part.to_dense_pmf() for part in parts]
    if any(_cells(part._probs, times) > most for part in dense):
        return None
    return library.PrivacyLossDistribution(*(part.self_compose(times, _TAIL) for part in dense))


def _cells(chances: Any, times: int) -> int:
    from workbench.privacy.accounting.dp_library import common

    lower, upper = common.compute_self_convolve_bounds(chances, times, _TAIL)
    return max(int(upper) - int(lower) + 1, len(chances))

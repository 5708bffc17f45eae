"""Central mechanisms, one file for each family: descriptors whose card says what a draw costs and how far off it is."""

from __future__ import annotations

from workbench.privacy.central.mechanisms.base import Asked, Card, CentralMechanism
from workbench.privacy.central.mechanisms.choice import EXPONENTIAL, REPORT_NOISY_MAX
from workbench.privacy.central.mechanisms.gaussian import DISCRETE_GAUSSIAN, GAUSSIAN, GAUSSIAN_CLASSIC
from workbench.privacy.central.mechanisms.laplace import DISCRETE_LAPLACE, LAPLACE

CENTRAL_MECHANISMS: tuple[CentralMechanism, ...] = (
    LAPLACE,
    DISCRETE_LAPLACE,
    GAUSSIAN_CLASSIC,
    GAUSSIAN,
    DISCRETE_GAUSSIAN,
    EXPONENTIAL,
    REPORT_NOISY_MAX,
)


__all__ = ["CENTRAL_MECHANISMS", "Asked", "Card", "CentralMechanism"]

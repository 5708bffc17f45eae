"""The events of a running job: one frozen union, and exactly one terminal event per job."""

from workbench.signals.events import (
    AtStake,
    Budget,
    Cancelled,
    Event,
    Failed,
    Finished,
    Memory,
    Metric,
    Notice,
    Progress,
    Terminal,
)

__all__ = [
    "AtStake",
    "Budget",
    "Cancelled",
    "Event",
    "Failed",
    "Finished",
    "Memory",
    "Metric",
    "Notice",
    "Progress",
    "Terminal",
]

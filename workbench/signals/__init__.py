"""What a running job says: one frozen union of events, exactly one terminal event per job."""

from workbench.signals.events import (
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

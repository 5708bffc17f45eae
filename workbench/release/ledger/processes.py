"""Which process made a reservation, and whether it still runs: recovery must not void work that is going on."""

from __future__ import annotations

import os
import socket
from typing import Any


def this_process() -> dict[str, Any]:
    """Return what identifies this process beyond the reuse of its number."""
    import psutil

    return {"pid": os.getpid(), "started": psutil.Process().create_time(), "host": socket.gethostname()}


def still_runs(process: dict[str, Any]) -> bool:
    """Return whether ``process`` may still be running; one of another machine may."""
    import psutil

    if process.get("host") != socket.gethostname():
        return True
    try:
        found = psutil.Process(int(process["pid"]))
        # Clocks that were set between boots move the creation time by less than a second's rounding.
        same = abs(float(found.create_time()) - float(process["started"])) < 1
        return same and bool(found.status() != psutil.STATUS_ZOMBIE)
    except (psutil.NoSuchProcess, KeyError, ValueError):
        return False
    except psutil.AccessDenied:
        return True

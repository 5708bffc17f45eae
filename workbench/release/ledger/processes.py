"""Identifies the process that made a reservation: recovery must not void the work of one that is still running."""

from __future__ import annotations

import os
import socket
from typing import Any


def this_process() -> dict[str, Any]:
    """Return an identifier of this process that stays unique when its number is reused."""
    import psutil

    return {"pid": os.getpid(), "started": psutil.Process().create_time(), "host": socket.gethostname()}


def still_runs(process: dict[str, Any]) -> bool:
    """Return whether ``process`` may still be running; for one on another machine this is assumed."""
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


def is_other_live_process(process: dict[str, Any]) -> bool:
    """Return whether ``process`` is another one of this machine that is running."""
    here = process.get("host") == socket.gethostname()
    return here and process.get("pid") != os.getpid() and still_runs(process)

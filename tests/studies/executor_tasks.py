"""Work that spawned processes import by name."""

import os
import signal
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.params import InputError


def add(shared: NDArray[np.float64], task: int) -> float:
    return float(shared[task] + task)


def slower_first(shared: object, task: int) -> int:
    time.sleep(0.6 if task == 0 else 0.0)
    return task


def first_waits_for_sixth(shared: str, task: int) -> int:
    """Return ``task``; task 0 only once task 5 has been begun, of which a file of that name tells."""
    begun = Path(shared)
    if task == 5:
        begun.touch()
    deadline = time.monotonic() + 300
    while task == 0 and not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return task


def sleep(shared: str, task: int) -> int:
    """Sleep far longer than a cancel takes, and tell of the end by a file of that name."""
    time.sleep(120)
    Path(shared).touch()
    return task


def die(shared: object, task: int) -> int:
    if task == 2:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    return task


def refuse(shared: object, task: int) -> int:
    if task == 2:
        raise InputError("the value 'x' is not a number", "row 7, column Age", "mend the row")
    return task


def fault(shared: object, task: int) -> int:
    raise KeyError("secret")


def exhaust(shared: object, task: int) -> int:
    raise MemoryError("secret")


def threads(shared: object, task: int) -> list[int]:
    import threadpoolctl

    np.ones((64, 64)) @ np.ones((64, 64))
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]


def nap(shared: object, task: int) -> int:
    time.sleep(0.05)
    return task


def process_and_threads(shared: object, task: int) -> tuple[int, list[int]]:
    time.sleep(0.05)
    return os.getpid(), threads(shared, task)

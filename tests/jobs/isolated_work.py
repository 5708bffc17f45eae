"""Work for the tests of a process of its own, which imports it by name."""

import os
import signal
import sys
import time

from workbench.params import BudgetRefusedError
from workbench.signals.events import Memory, Progress


def double(argument, emit, cancel):
    emit(Progress(1, 2, "half"))
    emit(Memory(now=10, peak=20, before=5))
    return os.getpid(), 2 * argument


def refused(argument, emit, cancel):
    raise BudgetRefusedError("the cap is 1", "dataset x", "raise it")


def faulty(argument, emit, cancel):
    raise ValueError(f"the secret {argument}")


def short_of_memory(argument, emit, cancel):
    raise MemoryError(argument)


def killed(argument, emit, cancel):
    os.kill(os.getpid(), signal.SIGKILL)


def patient(argument, emit, cancel):
    """Tell that it goes on, and leave a word behind in a file when it was asked to stop."""
    try:
        while True:
            emit(Progress(0, 0, str(os.getpid())))
            cancel.check()
            time.sleep(0.02)
    finally:
        with open(argument, "w", encoding="utf-8") as stream:
            stream.write("settled")


def loaded(argument, emit, cancel):
    return sorted(name for name in argument if name in sys.modules)

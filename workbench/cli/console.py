"""A command run as a job on the console: progress, Ctrl+C, and a log of bugs that holds no data values."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from workbench.cli.progress import ProgressBar
from workbench.jobs import Job, run_to_end
from workbench.jobs.log import log_trace
from workbench.params import CancelledError
from workbench.signals.cancel import WHOLE, CancelToken
from workbench.signals.events import Cancelled, Emit, Failed, Finished

Work = Callable[[Emit, CancelToken], dict[str, Any]]

GRACE = 0.5
"""Seconds after a Cancel in which the work has to end by itself before the program ends without it."""

_LOOK = 0.05  # seconds between two looks whether a Cancel was requested
_NAMING = 5.0  # seconds for files that are just given their names
_SETTLING = 0.3  # seconds for what a cut-off run leaves to be settled; the next run makes up for the rest


def run_on_console(work: Work, title: str, settle: Callable[[], str] = str) -> dict[str, Any] | None:
    """Run ``work`` and return its result, or ``None`` after a bug, which is logged and reported in one sentence.

    Args:
        work: what to do.
        title: its name.
        settle: what is done before the program ends without the work, because a Cancel met one long call; returns
            what is to be said of it.

    Raises:
        WorkbenchError: the work ended in an error a person can mend, or was cancelled.
    """
    match run_to_end(Job(title, _cut_off(work, title, settle)), ProgressBar(title)):
        case Finished(result):
            answer: dict[str, Any] = result
            return answer
        case Cancelled(what):
            raise CancelledError(what or f"{title} was cancelled")
        case Failed(error, bug=False):
            raise error
        case Failed(error, trace=trace):
            report_bug(error, trace, title)
    return None


def _cut_off(work: Work, title: str, settle: Callable[[], str]) -> Work:
    """Return ``work``, which a Cancel ends with the whole program if it does not end by itself soon.

    Between two looks at the token there may be one call that takes long: a decomposition, a linear programme, an
    import. Every release is made so that its process may be killed at any moment; what such a run leaves is settled
    here, as far as there is time for it, and by the next run otherwise.
    """

    def watched(emit: Emit, cancel: CancelToken) -> dict[str, Any]:
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(_LOOK):
                if cancel.cancelled and not ended.wait(GRACE):
                    if not WHOLE.acquire(blocking=False):
                        if WHOLE.acquire(timeout=_NAMING):
                            WHOLE.release()
                        continue  # what was written has its name: the work has another moment to end by itself
                    _end(title, settle)

        watcher = threading.Thread(target=watch, name=f"cut off {title}", daemon=True)
        watcher.start()
        try:
            return work(emit, cancel)
        finally:
            ended.set()
            watcher.join()

    return watched


def _end(title: str, settle: Callable[[], str]) -> None:
    """End the program and the processes that it started."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            child.kill()
    stated: list[str] = []
    settling = threading.Thread(target=lambda: stated.append(settle()), name="settle what is left", daemon=True)
    settling.start()
    settling.join(_SETTLING)
    with contextlib.suppress(OSError):
        print("; ".join([f"error: {title} was cancelled", *filter(None, stated)]), file=sys.stderr, flush=True)
    os._exit(CancelledError.exit_code)


def report_bug(error: BaseException, trace: str, title: str) -> None:
    """Log the trace of a bug, which contains no data values, and report it in one sentence."""
    log = log_trace(title, trace)
    kept = f"its trace, without data values, is in {log}" if log else "its trace could not be written"
    print(f"error: a bug in the program ({type(error).__name__} in {title}); {kept}", file=sys.stderr)

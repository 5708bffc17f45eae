"""A command run as a job on the console: progress, Ctrl+C, and a log of bugs that holds no data values."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from workbench.cli.progress import ProgressBar
from workbench.jobs import Job, run_to_end
from workbench.jobs.log import log_trace
from workbench.params import CancelledError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Cancelled, Emit, Failed, Finished

Work = Callable[[Emit, CancelToken], dict[str, Any]]

GRACE = 0.5
"""Seconds after a Cancel in which work that writes nothing has to end before the program ends without it."""

_LOOK = 0.1  # seconds between two looks whether the work has ended


def run_on_console(work: Work, title: str, *, reads_only: bool = False) -> dict[str, Any] | None:
    """Run ``work`` and return its result, or ``None`` after a bug, which is logged and reported in one sentence.

    Args:
        work: what to do.
        title: its name.
        reads_only: whether it writes nothing that could be cut off, so that the program may end if the work ignores a
            Cancel.

    Raises:
        WorkbenchError: the work ended in an error a person can mend, or was cancelled.
    """
    match run_to_end(Job(title, _cut_off(work, title) if reads_only else work), ProgressBar(title)):
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


def _cut_off(work: Work, title: str) -> Work:
    """Return ``work``, which a Cancel ends with the whole program if it does not end by itself soon.

    Between two looks at the token there may be one call that takes long on a slow or busy machine. Work that writes
    nothing has nothing to bring to an end.
    """

    def watched(emit: Emit, cancel: CancelToken) -> dict[str, Any]:
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(_LOOK):
                if cancel.cancelled and not ended.wait(GRACE):
                    print(f"error: {title} was cancelled", file=sys.stderr, flush=True)
                    os._exit(CancelledError.exit_code)

        watcher = threading.Thread(target=watch, name=f"cut off {title}", daemon=True)
        watcher.start()
        try:
            return work(emit, cancel)
        finally:
            ended.set()
            watcher.join()

    return watched


def report_bug(error: BaseException, trace: str, title: str) -> None:
    """Log the trace of a bug, which contains no data values, and report it in one sentence."""
    log = log_trace(title, trace)
    kept = f"its trace, without data values, is in {log}" if log else "its trace could not be written"
    print(f"error: a fault of the program ({type(error).__name__} in {title}); {kept}", file=sys.stderr)

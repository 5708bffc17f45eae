"""A command run as a job on the console: progress, Ctrl+C, and a log of bugs that holds no data values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from workbench.cli.progress import ProgressBar
from workbench.jobs import Job, run_to_end
from workbench.jobs.log import log_trace
from workbench.params import CancelledError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Cancelled, Emit, Failed, Finished

Work = Callable[[Emit, CancelToken], dict[str, Any]]


def run_on_console(work: Work, title: str) -> dict[str, Any] | None:
    """Run ``work`` and return its result, or ``None`` after a bug, which is logged and told in one sentence.

    Raises:
        WorkbenchError: the work ended in an error a person can mend, or was cancelled.
    """
    match run_to_end(Job(title, work), ProgressBar(title)):
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


def report_bug(error: BaseException, trace: str, title: str) -> None:
    """Log the trace of a bug, which holds no data values, and tell of it in one sentence."""
    log = log_trace(title, trace)
    kept = f"its trace, without data values, is in {log}" if log else "its trace could not be written"
    print(f"error: a fault of the program ({type(error).__name__} in {title}); {kept}", file=sys.stderr)

"""Start, progress, cancel and one terminal event for every long piece of work."""

from workbench.jobs.runner import Job, Mailbox, Run, run_to_end, start
from workbench.processes.redacted_traceback import trace_of
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

__all__ = ["CancelToken", "Emit", "Job", "Mailbox", "Run", "run_to_end", "start", "trace_of"]
"""A job, with what its work is given: how to speak, and whether to stop."""

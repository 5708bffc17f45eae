"""Start, progress, cancel and one terminal event for every long piece of work."""

from workbench.jobs.runner import Job, Mailbox, Run, outcome, run_to_end, start
from workbench.processes.redacted_traceback import trace_of

__all__ = ["Job", "Mailbox", "Run", "outcome", "run_to_end", "start", "trace_of"]

"""What the pages ask for, one file per action.

An action is a function ``name(session, jobs, …)`` called on the GUI thread. It captures the (frozen) state it needs,
starts a :class:`~workbench.jobs.Job` whose work is a pure function of what was captured, and applies the result to
the session on the GUI thread (``jobs.start(job, on_result=…)``). Heavy libraries are imported inside the work.
"""

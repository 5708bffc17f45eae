"""Look whether recent files are still there: on a network drive that can take a while."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from workbench.data.databases.address import address_of
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.style.language import tr
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken

KEY = "recent"


def look_for(paths: Sequence[str], jobs: JobCenter, apply: Callable[[dict[str, str]], None]) -> JobHandle:
    """Find out why each of ``paths`` cannot be opened; the reason is empty where it can."""
    job = Job(tr("Looking for recent files"), lambda emit, cancel: reasons(paths, cancel))
    return jobs.start(job, key=KEY, shown=False, on_result=apply)


def reasons(paths: Sequence[str], cancel: CancelToken) -> dict[str, str]:
    """Return why each of ``paths`` cannot be opened; runs in a worker."""
    out = {}
    for path in paths:
        cancel.check()
        if address_of(path) is not None:
            out[path] = ""  # whether a database answers is found out when it is opened
        elif not Path(path).exists():
            out[path] = tr("is not there any more")
        else:
            out[path] = "" if os.access(path, os.R_OK) else tr("may not be read")
    return out

"""The log of bugs, which holds no data values."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from workbench.paths import user_log


def log_trace(title: str, trace: str) -> Path | None:
    """Append the trace of a bug to the log and return its path; ``None`` where it cannot be written.

    Args:
        title: which kind of work was being done, without the name of a file, which can reveal much.
        trace: what :func:`workbench.jobs.trace_of` returned.
    """
    path = user_log() / "workbench.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {title}\n{trace}\n")
    except OSError:
        return None
    return path

"""A name for what is about to be written that nothing has yet; looked for in a worker, as a share may be slow."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

from workbench.gui.bridge import JobCenter
from workbench.gui.state import OpenTable
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit


def beside(opened: OpenTable, ending: str, suffix: str = "", number: int = 1) -> Path:
    """Return the path beside the table that is called after it; a sample's is in the person's folder."""
    folder = Path.home() if opened.is_sample else Path(opened.source).absolute().parent
    return folder / f"{Path(opened.title).stem}-{ending}{f'-{number}' if number > 1 else ''}{suffix}"


def suggest(
    jobs: JobCenter, opened: OpenTable, ending: str, suffix: str, show: Callable[[Path], None], key: str
) -> None:
    """Find the first such path at which nothing stands; ``show`` gets it."""

    def work(emit: Emit, cancel: CancelToken) -> Path:
        for number in itertools.count(1):
            cancel.check()
            path = beside(opened, ending, suffix, number)
            if not _stands(path):
                break
        return path

    jobs.start(Job("Looking for a name", work), key=key, shown=False, on_result=show)


def _stands(path: Path) -> bool:
    """Return whether something is at ``path``; where that cannot be told, writing there will say why."""
    try:
        return path.exists()
    except OSError:
        return False

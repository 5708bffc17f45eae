"""Open a released model, and apply it to the table that is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.release.model.open_model import OpenModel

KEY_OPEN = "predict-open"


@dataclass(frozen=True)
class Predicted:
    """What came of a prediction. Private, but for the path.

    Attributes:
        output: the file.
        rows: how many predictions it holds.
        often: the predictions that occur most, each with the number of its rows; empty of numbers
            and of columns.
    """

    output: Path
    rows: int
    often: tuple[tuple[str, int], ...]


def open_released(
    jobs: JobCenter, folder: Path, show: Callable[[OpenModel], None], refuse: Callable[[BaseException], None]
) -> JobHandle:
    """Open the model in ``folder``, checked against its card; only the newest request counts."""

    def work(emit: Emit, cancel: CancelToken) -> OpenModel:
        from workbench.release.model.open_model import open_model

        return open_model(folder)

    return jobs.start(Job("Opening a model", work), key=KEY_OPEN, shown=False, on_result=show, on_failure=refuse)


def predict(
    session: Session,
    jobs: JobCenter,
    model: OpenModel,
    output: Path,
    show: Callable[[Predicted], None],
    refuse: Callable[[BaseException], None],
) -> JobHandle:
    """Write the predictions of ``model`` for the table that is open."""
    opened, draft = session.opened, session.plan
    assert opened is not None
    table = opened.table

    def work(emit: Emit, cancel: CancelToken) -> Predicted:
        from workbench.release.model.open_model import write_predictions

        rows = table.with_invalid_replaced() if draft.replaces_invalid else table
        seen: Counter[str] = Counter()
        of_numbers = model.target.numeric or bool(model.columns)
        written = write_predictions(model, rows, output, emit, cancel, seen=None if of_numbers else seen)
        return Predicted(output, written, tuple(seen.most_common()))

    job = Job("Predicting", work, about=opened.title)
    return jobs.start(job, on_result=show, on_failure=refuse)

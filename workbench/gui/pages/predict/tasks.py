"""Open a released model, train one on a released table, and apply a model to the table that is open."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr
from workbench.jobs import Job
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    import polars as pl

    from workbench.data.schema import Attribute
    from workbench.learners import Learner
    from workbench.release.model.on_release import ModelOnRelease
    from workbench.release.model.open_model import OpenModel

KEY_OPEN, KEY_LOOK = "predict-open", "predict-look"


@dataclass(frozen=True)
class Predicted:
    """What came of a prediction. Private, but for the path.

    Attributes:
        output: the file.
        rows: how many predictions it holds.
        often: the predictions that occur most, each with the number of its rows; empty of numbers
            and of columns.
        frame: the rows, after the predictions for them.
    """

    output: Path
    rows: int
    often: tuple[tuple[str, int], ...]
    frame: pl.DataFrame


class WeightsNeededError(InputError):
    """A network can be opened with the public weights of its frozen part alone.

    Attributes:
        checksum: their SHA-256, as its card has it.
    """

    def __init__(self, folder: Path, checksum: str) -> None:
        super().__init__(
            tr("the network needs the public weights that it was trained on"), str(folder), tr("choose their file")
        )
        self.checksum = checksum


def open_released(
    jobs: JobCenter,
    folder: Path,
    show: Callable[[OpenModel], None],
    refuse: Callable[[BaseException], None],
    weights: Path | None = None,
) -> JobHandle:
    """Open the model in ``folder``, checked against its card; only the newest request counts.

    ``weights`` is the file of a frozen part; ``refuse`` gets a :class:`WeightsNeededError` where it is needed.
    """

    def work(emit: Emit, cancel: CancelToken) -> OpenModel:
        from workbench.release.certificate import read_card
        from workbench.release.model.open_model import open_model

        stated = read_card(folder)["training"].get("architecture")
        if weights is None and isinstance(stated, dict) and stated.get("weights_sha256"):
            raise WeightsNeededError(folder, str(stated["weights_sha256"]))
        return open_model(folder, weights)

    return jobs.start(Job(tr("Opening a model"), work), key=KEY_OPEN, shown=False, on_result=show, on_failure=refuse)


@dataclass(frozen=True)
class Learnable:
    """What a release offers to a model.

    Attributes:
        release: the released file.
        columns: its protected columns; all public, as the release is.
        folder: a name beside it for the model's folder, which nothing has yet.
    """

    release: Path
    columns: tuple[Attribute, ...]
    folder: Path


def look_at_release(
    jobs: JobCenter, release: Path, show: Callable[[Learnable], None], refuse: Callable[[BaseException], None]
) -> JobHandle:
    """Read from the certificate of ``release`` what can be predicted; only the newest request counts."""

    def work(emit: Emit, cancel: CancelToken) -> Learnable:
        from workbench.release.model.on_release import columns_to_predict

        columns = columns_to_predict(release)
        for number in itertools.count(1):
            cancel.check()
            folder = release.with_name(f"{release.stem}-model{f'-{number}' if number > 1 else ''}")
            if not folder.exists():
                break
        return Learnable(release, columns, folder)

    job = Job(tr("Looking at a release"), work)
    return jobs.start(job, key=KEY_LOOK, shown=False, on_result=show, on_failure=refuse)


def train(
    jobs: JobCenter,
    chosen: Learner,
    release: Path,
    target: str,
    folder: Path,
    show: Callable[[ModelOnRelease], None],
    refuse: Callable[[BaseException], None],
) -> JobHandle:
    """Verify ``release``, train ``chosen`` on it and write the model into ``folder``; nothing is charged."""

    def work(emit: Emit, cancel: CancelToken) -> ModelOnRelease:
        from workbench.release.model.on_release import train_on_release

        return train_on_release(chosen, release, None, target, folder, emit, cancel)

    return jobs.start(Job(tr("Training on a release"), work, about=release.name), on_result=show, on_failure=refuse)


def predict(
    session: Session,
    jobs: JobCenter,
    model: OpenModel,
    source: Path | None,
    output: Path,
    show: Callable[[Predicted], None],
    refuse: Callable[[BaseException], None],
) -> JobHandle:
    """Write the predictions of ``model`` for the table in the file ``source``, or for the open one without it."""
    opened, draft = session.opened, session.plan
    assert source is not None or opened is not None

    def work(emit: Emit, cancel: CancelToken) -> Predicted:
        import polars as pl

        from workbench.data.read import read_table
        from workbench.release.model.open_model import write_predictions

        if source is not None:
            rows = read_table(str(source), cancel=cancel)
        else:
            assert opened is not None
            rows = opened.table.with_invalid_replaced() if draft.replaces_invalid else opened.table
        seen: Counter[str] = Counter()
        of_numbers = model.target.numeric or bool(model.columns)
        written = write_predictions(model, rows, output, emit, cancel, seen=None if of_numbers else seen)
        made = pl.read_csv(output, infer_schema=False).drop("row")
        made = made.rename({name: _unused(name, rows.frame) for name in made.columns})
        return Predicted(output, written, tuple(seen.most_common()), made.hstack(rows.frame))

    job = Job(tr("Predicting"), work, about=source.name if source is not None else opened.title if opened else "")
    return jobs.start(job, on_result=show, on_failure=refuse)


def _unused(name: str, frame: pl.DataFrame) -> str:
    """Return the name with a sign that distinguishes it from the columns of the table."""
    while name in frame.columns:
        name += "*"
    return name

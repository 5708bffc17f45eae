"""Verify a released table and estimate the original from it, in jobs; write the figures to a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.pages.estimate.figures import ColumnView, Figure, as_csv, column_view, released_summary
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.style.language import tr
from workbench.jobs import Job
from workbench.params import ParameterError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Progress

if TYPE_CHECKING:
    import polars as pl

    from workbench.release.verify import VerifiedRelease
    from workbench.sanitize.estimates.pair import PairEstimate

KEY, KEY_PAIR = "estimate-release", "estimate-pair"
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class EstimatedRelease:
    """A release and what it says of the original. All of it is public, as the release is.

    Attributes:
        released: the verified release.
        epsilon: of the release.
        release_id: the name that its certificate gives it.
        columns: what is estimated for each protected column.
        summary: for each released column its name, how many values, the mean or the commonest, and the ends.
        outside: what ε does not cover, in sentences.
    """

    released: VerifiedRelease
    epsilon: str
    release_id: str
    columns: tuple[ColumnView, ...]
    summary: tuple[tuple[str, ...], ...]
    outside: tuple[str, ...]

    @property
    def frame(self) -> pl.DataFrame:
        """The released rows."""
        return self.released.table.frame

    @property
    def path(self) -> Path:
        """The released file."""
        return self.released.path


def estimate_release(
    jobs: JobCenter,
    path: Path,
    certificate: Path | None,
    show: Callable[[EstimatedRelease], None],
    refuse: Callable[[BaseException], None],
) -> JobHandle:
    """Verify the release in ``path`` and estimate every protected column; only the newest request counts."""

    def work(emit: Emit, cancel: CancelToken) -> EstimatedRelease:
        from workbench.release.verify import verified_release

        released = verified_release(path, certificate, emit, cancel)
        names = released.protected
        columns = []
        for done, name in enumerate(names):
            cancel.check()
            emit(Progress(done, len(names), tr("column {name}", name=name)))
            columns.append(column_view(released, name, CONFIDENCE, cancel))
        document = released.document
        return EstimatedRelease(
            released,
            str(document["guarantee"]["epsilon"]),
            str(document["release_id"]),
            tuple(columns),
            released_summary(released),
            tuple(document.get("outside_guarantee", ())),
        )

    job = Job(tr("Estimating from a release"), work, about=path.name)
    return jobs.start(job, key=KEY, on_result=show, on_failure=refuse)


def estimate_two(
    jobs: JobCenter,
    found: EstimatedRelease,
    names: tuple[str, str],
    show: Callable[[PairEstimate], None],
    refuse: Callable[[BaseException], None],
) -> JobHandle:
    """Estimate what two columns say together; only the newest request counts."""
    released = found.released

    def work(emit: Emit, cancel: CancelToken) -> PairEstimate:
        from workbench.sanitize.estimates.pair import estimate_pair

        first, second = (released.column(name) for name in names)
        answers = released.cells(names[0]), released.cells(names[1])
        return estimate_pair(first, second, answers, CONFIDENCE, cancel)

    job = Job(
        tr("Estimating a pair of columns"), work, about=tr("{first} and {second}", first=names[0], second=names[1])
    )
    return jobs.start(job, key=KEY_PAIR, on_result=show, on_failure=refuse)


def export_figures(
    jobs: JobCenter, figures: tuple[Figure, ...], target: Path, released: Path, done: Callable[[Path], None]
) -> JobHandle:
    """Write the figures to ``target`` as CSV, all digits."""

    def work(emit: Emit, cancel: CancelToken) -> Path:
        from workbench.release.atomic import write_output

        beside = released, released.with_name(f"{released.name}.certificate.json")
        if any(target.exists() and path.exists() and target.samefile(path) for path in beside):
            raise ParameterError(
                tr("the figures would replace the release itself"), str(target), tr("name another file")
            )
        write_output(target, as_csv(figures).encode())
        return target

    return jobs.start(Job(tr("Exporting estimates"), work), on_result=done)

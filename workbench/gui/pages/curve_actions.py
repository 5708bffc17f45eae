"""What a person does with a curve on any page: take the ε of a point, copy the picture, save picture or figures."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from workbench.gui.session.draft_edits import scaled_to
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.widgets.formatting import at_most
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:  # these load numpy and pyqtgraph, which the first paint does not wait for
    from workbench.gui.widgets.curve_plot import CurvePlot
    from workbench.render.values import CurveFigure

CURVE_FILES = "Picture (*.png);;Vector picture (*.svg);;Figures (*.csv);;Report (*.pdf)"
PRIVATELY = ": private, not for release"


def take_epsilon(session: Session, epsilon: float) -> None:
    """Make ``epsilon`` the plan's ε, as one step that can be undone; a plan that it would spoil stays as it is."""
    scaled = scaled_to(session.plan, Decimal(repr(epsilon)))
    if scaled.problems():
        problem = scaled.problems()[0]
        stated = f"{problem.column}: {problem.text}" if problem.column else problem.text
        session.notify("warning", f"The plan stays as it is: at ε = {at_most(epsilon)}, {stated}.")
        return
    session.edit(f"set ε to {at_most(epsilon)}", scaled)
    locked = any(c.epsilon is not None for c in scaled.protected)
    kept = " Locked shares keep their part of it." if locked else ""
    session.notify("info", f"The plan's ε is {at_most(epsilon)}.{kept} Ctrl+Z takes it back.")


def train_at(session: Session, model: str, epsilon: float) -> None:
    """Suggest the private ``model`` at ``epsilon`` on the Train page; nothing is started."""
    session.ask_for_training(model, Decimal(repr(epsilon)))
    session.notify("info", f"Train offers the private model at ε = {at_most(epsilon)}; the plan is unchanged.")


def copy_curve(session: Session, plot: CurvePlot, called: str = "curve") -> None:
    """Put the picture on the clipboard, its badge on it."""
    if plot.view is not None:
        QGuiApplication.clipboard().setPixmap(plot.view.grab())
        session.notify("info", f"Copied the {called} as an image{PRIVATELY if plot.view.figure.badge else ''}.")


def save_curve(
    session: Session, jobs: JobCenter, figure: CurveFigure, figures: Callable[[], str], path: Path
) -> JobHandle:
    """Save picture (.png, .svg), figures (.csv) or both (.pdf), with their badge.

    Args:
        session: hears of it.
        jobs: runs it.
        figure: the picture.
        figures: returns its figures as CSV; called in a worker.
        path: the file.
    """
    theme = session.theme.name

    def work(emit: Emit, cancel: CancelToken) -> Path:
        if path.suffix.lower() == ".csv":
            _write_csv(figures(), figure.badge, path)
        elif path.suffix.lower() == ".pdf":
            from workbench.release.documents.study_report import study_report
            from workbench.release.documents.written_document import write_document

            write_document(study_report(figure, figures()), path)
        else:
            from workbench.render.offscreen import write_figure

            write_figure(figure, path, theme=theme)
        return path

    def apply(saved: Path) -> None:
        session.notify("info", f"Saved {saved.name}{PRIVATELY if figure.badge else ''}.")

    return jobs.start(Job("Saving", work, about=path.name), on_result=apply)


def _write_csv(figures: str, badge: str, path: Path) -> None:
    from workbench.release.atomic import PartFile, write_error

    head = f"# {badge}\n" if badge else ""
    with PartFile(path, private=bool(badge)) as part:
        try:
            part.stream.write(f"{head}{figures}".encode())
            part.publish()
        except OSError as error:
            raise write_error(error, path) from None

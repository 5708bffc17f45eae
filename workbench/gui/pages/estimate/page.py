"""Estimate: a released file and its certificate in, figures of the original with intervals out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.estimate import PAGE
from workbench.gui.pages.estimate.figures import Figure, pair_figures
from workbench.gui.pages.estimate.tasks import EstimatedRelease, estimate_release, estimate_two, export_figures
from workbench.gui.pages.estimate.views import ColumnsView, PairView, RowsView
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Card, button, label, lines, look, panel, row, segments, stack, views
from workbench.gui.widgets.dialogs import ask_for_certificate, ask_for_table, ask_where_to_save
from workbench.gui.widgets.formatting import at_most, count
from workbench.gui.widgets.path_field import PathField
from workbench.params import WorkbenchError

if TYPE_CHECKING:
    from workbench.sanitize.estimates.pair import PairEstimate

ALONE = tr_later("From the released file and its certificate alone; no ledger needed.")
EMPTY = tr_later(
    "Name or drop a file that was released, with its certificate beside it or named. You get the "
    "mean, the quartiles or the shares of each column of the original, with intervals, and can "
    "look at the released rows."
)
ENDING = ".certificate.json"
COLUMNS, PAIRS, ROWS = "columns", "pairs", "rows"


class EstimatePage(PageFrame):
    """What a recipient can estimate. Nothing on it is private: it all follows from what was released."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        self._found: EstimatedRelease | None = None
        self.setAcceptDrops(True)
        self._release = PathField("estimate_release", tr("Released file"), tr("A released table (CSV, TSV or Parquet)"))
        self._certificate = PathField(
            "estimate_certificate", tr("Certificate"), tr("Its certificate; empty where that lies beside the file")
        )
        self._certificate.setPlaceholderText(tr("beside the file"))
        for field in (self._release, self._certificate):
            field.setAcceptDrops(False)  # the page takes a file that is dropped anywhere on it
        self._said = label("", "muted", wrap=True, name="estimate_said")
        self.columns, self.pair, self.rows = ColumnsView(session), PairView(session), RowsView(session, jobs)
        titles = (
            (COLUMNS, tr("Columns"), tr("Means, quantiles and shares of each column")),
            (PAIRS, tr("Pairs"), tr("Two columns together")),
            (ROWS, tr("Rows"), tr("The released rows, and what is in each column")),
        )
        self._segments = segments(self, "estimate_view_", titles, self._show_view)
        self._arrange()
        self._open.hide()
        self.columns.filter.hide()
        self._export = button(tr("Export…"), "estimate_export", tip=tr("Write every figure as CSV, with all digits"))
        self._export.clicked.connect(self._ask_and_export)
        self.foot.addWidget(self._export)
        self.add_cancel(button(tr("Cancel"), "estimate_cancel", tip=tr("Stop (Esc)")))
        self.set_primary(
            tr("Estimate"), "estimate_run", self._estimate, tr("Verify the file, then estimate (Ctrl+Return)")
        )
        for field in (self._release, self._certificate):
            field.textChanged.connect(lambda: self.refresh())
            field.returnPressed.connect(self._estimate)
        self.pair.asked.connect(self._estimate_pair)
        session.to_estimate_from.follow(self._offer)
        self.refresh()

    def _arrange(self) -> None:
        browse = button(tr("Browse…"), "estimate_release_browse", tip=tr("Choose a released table"), press=self._browse)
        other = button(tr("Browse…"), "estimate_certificate_browse", tip=tr("Choose its certificate"))
        other.clicked.connect(self._browse_certificate)
        named_by = label(tr("Released file")), (self._release, 3), browse
        certified_by = label(tr("Certificate")), (self._certificate, 2), other
        self._open = button(
            tr("Open it as a table"),
            "estimate_open",
            tip=tr("Open the released rows in place of the table that is open"),
        )
        self._open.clicked.connect(lambda: self.session.open_asked.emit(self._release.text().strip()))
        source = Card(lines(row(*named_by), row(*certified_by), spacing=20), row((self._said, 1), self._open), pad=12)
        self.header.addWidget(self.columns.filter)
        for segment in self._segments.values():
            self.header.addWidget(segment)
        self._segments[COLUMNS].setChecked(True)
        heading = label(tr("What does a released table say of the original?"), "heading")
        about = label(tr(EMPTY), "muted", wrap=True, name="estimate_empty")
        self._empty = panel(stack(None, heading, about, None, margins=(48, 0, 48, 0)))
        self._places: dict[str, QWidget] = {COLUMNS: self.columns, PAIRS: self.pair, ROWS: self.rows}
        self._views = views(self._empty, *self._places.values())
        self.body.addWidget(source)
        self.body.addWidget(self._views, 1)

    def refresh(self) -> None:
        assert self.primary is not None
        # The button of a pair keeps the keyboard once its estimate is there.
        keys = self.has_keys(self.primary, self._cancel, *([self.pair.ask] if self.running else []))
        for part in (*self._segments.values(), self._export):
            part.setVisible(self._found is not None)
        self._export.setEnabled(not self.running)
        self.primary.setVisible(not self.running)
        self.primary.setEnabled(bool(self._release.text().strip()))
        self.pair.setEnabled(not self.running)
        self.set_note(tr(ALONE))
        self.show_cancel(keys=keys)

    def retranslate(self) -> None:
        """Say the figures of the release in the language that is shown now."""
        if self._found is not None:
            self._say_found(self._found)

    # -- which release --------------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        event.acceptProposedAction()
        self.take_files([Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()])

    def take_files(self, paths: list[Path]) -> None:
        """Name a released file, its certificate, or both, and estimate."""
        named = [path for path in paths if path.name.endswith(ENDING)]
        tables = [path for path in paths if path not in named]
        if not tables and named:
            tables = [named[0].with_name(named[0].name.removesuffix(ENDING))]
        if tables and not self.running:
            self._release.choose(str(tables[0]))
            beside = not named or named[0] == tables[0].with_name(f"{tables[0].name}{ENDING}")
            self._certificate.choose("" if beside else str(named[0]))
            self._estimate()

    def _offer(self, release: Path) -> None:
        self.take_files([release])

    def _browse(self) -> None:
        chosen = ask_for_table(self, tr("Choose a released table"))
        if chosen:
            self._release.choose(chosen)

    def _browse_certificate(self) -> None:
        chosen = ask_for_certificate(self)
        if chosen:
            self._certificate.choose(chosen)

    # -- estimates ------------------------------------------------------------------------------------------------

    def _estimate(self) -> None:
        text, certificate = self._release.text().strip(), self._certificate.text().strip()
        if not text or self.running:
            return
        self._forget()
        self._say(tr("Verifying and estimating…"))
        beside = Path(certificate) if certificate else None
        handle = self.follow(estimate_release(self.jobs, Path(text), beside, self._show, self._refused))
        handle.cancelled.connect(lambda: self._say(tr("Cancelled.")))

    def _forget(self) -> None:
        self._found = None
        self._views.setCurrentWidget(self._empty)
        self.columns.filter.hide()

    def _show(self, found: EstimatedRelease) -> None:
        self._found = found
        self.pair.offer([c.name for c in found.columns])
        self._say_found(found)
        chosen = next(name for name, segment in self._segments.items() if segment.isChecked())
        self._show_view(chosen)

    def _say_found(self, found: EstimatedRelease) -> None:
        self.columns.show_columns(found.columns)
        self.rows.show_release(found)
        outside = " ".join(map(tr_sentence, found.outside))
        said = tr(
            "✓ File and certificate agree: {rows}, ε = {epsilon}, release {release_id}. Intervals hold at 95 % each.",
            rows=count(found.released.rows, "row"),
            epsilon=at_most(float(found.epsilon)),
            release_id=found.release_id,
        )
        self._say(f"{said} {tr('Not covered by ε: {outside}', outside=outside)}" if outside else said, "")

    def _refused(self, error: BaseException) -> None:
        if isinstance(error, WorkbenchError):
            from workbench.release.certificate import NOTHING_TO_ESTIMATE

            synthetic = (error.code, error.field) == (NOTHING_TO_ESTIMATE, "synthetic")
            self._say(sentence(error), "" if synthetic else "danger", rows=synthetic)
        else:
            self._say(tr("That failed: this is a bug in the program, see the log."), "danger")

    def _show_view(self, name: str) -> None:
        if self._found is not None:
            self._views.setCurrentWidget(self._places[name])
        self.columns.filter.setVisible(self._views.currentWidget() is self.columns)

    def _say(self, text: str, kind: str = "muted", *, rows: bool = False) -> None:
        """Say ``text``; where the file has made-up ``rows`` to read as they are, offer to open them."""
        self._open.setVisible(rows)
        look(self._said, kind)
        self._said.setText(text)

    def _estimate_pair(self, first: str, second: str) -> None:
        if self._found is None or self.running:
            return
        names = (first, second)
        self.pair.say(tr("Estimating…"))
        handle = self.follow(
            estimate_two(self.jobs, self._found, names, lambda made: self._show_pair(names, made), self._pair_refused)
        )
        handle.cancelled.connect(lambda: self.pair.say(tr("Cancelled.")))

    def _show_pair(self, names: tuple[str, str], made: PairEstimate) -> None:
        self.pair.show_pair(names, pair_figures(made))

    def _pair_refused(self, error: BaseException) -> None:
        known = sentence(error) if isinstance(error, WorkbenchError) else tr("That failed: a bug in the program.")
        self.pair.say(known)

    # -- what leaves ----------------------------------------------------------------------------------------------

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure that was estimated of this release."""
        found = self._found
        own = tuple(figure for column in found.columns for figure in column.figures) if found is not None else ()
        return (*own, *self.pair.figures)

    def _ask_and_export(self) -> None:
        if self._found is None:
            return
        suggested = str(self._found.path.with_name(f"{self._found.path.stem}-estimates.csv"))
        chosen = ask_where_to_save(self, tr("Export the estimates"), suggested, tr("CSV (*.csv)"))
        if chosen:
            target = Path(chosen)
            done = count(len(self.figures), "estimate")
            export_figures(
                self.jobs,
                self.figures,
                target,
                self._found.path,
                lambda path: self.session.notify(
                    "info", tr("Exported {done} to {name}: public, as the release is.", done=done, name=path.name)
                ),
            )

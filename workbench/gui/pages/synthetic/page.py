"""Synthetic rows: choose, look at a private draw, release, and look at what was released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.pages.forecast_page import ForecastPage, Kind, ReleasedPart
from workbench.gui.pages.release_account import PAID
from workbench.gui.pages.release_page import ReleaseWords, known_error
from workbench.gui.pages.release_tasks import Asked
from workbench.gui.pages.synthetic import PAGE
from workbench.gui.pages.synthetic.choices import SyntheticForm
from workbench.gui.pages.synthetic.comparison_card import ComparisonCard
from workbench.gui.pages.synthetic.tasks import checked, preview, released_rows, work_of
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.widgets import figures_first
from workbench.gui.widgets.basic import Card, button, label, look, row, stack
from workbench.gui.widgets.formatting import at_most, count, listed
from workbench.synth.parameters import SynthesisParameters

if TYPE_CHECKING:
    from workbench.gui.pages.synthetic.comparing import Compared

FREE = "The preview is private, costs nothing and is never released."
NEEDS_TIP = "Estimated from the numbers of rows, columns and values; Cancel stops it within a second"
RELEASED = ReleaseWords(
    name="synthetic",
    question="Draw and release new synthetic rows?",
    file="The synthetic table; .csv, .tsv or .parquet",
    ending="synthetic",
    tip="Charge the budget, count, draw, certify and write the file",
)
KIND = Kind(
    about="A new table of the same shape, drawn from noisy counts of yours: no row is anybody's.",
    steps="Values are rounded as the plan says: {steps}.",
    empty="Open a table and declare its public facts; then new rows of its shape can be drawn here.",
    forecast=checked,
    facts=(
        ("counts", "spent on", "", lambda found: found.counted),
        ("needs", "takes about", NEEDS_TIP, lambda found: found.needs.words()),
    ),
)
LOOK = (
    "Look at the rows, and compare them with the original",
    "Reads the released file; what is compared with the original is private and costs nothing",
)


class SyntheticPage(ForecastPage):
    """The settings and their cost, the private preview, the release and what was released."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE, RELEASED, KIND)
        self._drawing: JobHandle | None = None
        self._draw = 0
        self._again = button("Draw a preview", "synthetic_preview_start", tip=FREE)
        self._again.clicked.connect(self._preview)
        self.others = (self._again,)
        self._preview_card = ComparisonCard(session, "synthetic_preview", "A PRIVATE PREVIEW")
        view = ComparisonCard(session, "synthetic_released", "RELEASED, BESIDE THE ORIGINAL", rows=True)
        form = SyntheticForm(session)
        results = ReleasedPart(self, view, released_rows, LOOK, "It cannot be compared with the original.")
        cost = Card(label("WHAT IT COSTS", "caption"), self._facts, self._problem, self._hint, self._use_rest)
        cost.body.setSpacing(6)
        cost.body.addStretch(1)
        above = row(spacing=12)
        above.addWidget(form, 3)
        above.addWidget(cost, 2)
        top = look(QWidget(), "clear")
        top.setLayout(above)
        top.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        layout = stack(self._about, top, results, view, spacing=12)
        layout.addWidget(self._preview_card, 1)
        self._rest = look(QWidget(), "clear")
        layout.addWidget(self._rest, 1)
        self._add_buttons(self._again)
        self.set_parts(form, results, layout)

    def hindrance(self) -> tuple[str, str]:
        """Return that a column is published as it is, or none is protected."""
        plan = self.session.plan
        kept = [column.name for column in plan.columns if column.action == "keep"]
        if kept:
            stated = f"The plan publishes {listed(kept)} as it is, and no row of a synthetic table is anybody's: "
            return f"{stated}protect or drop {'it' if len(kept) == 1 else 'them'}.", "protect"
        return ("", "") if plan.protected else ("No column is left to synthesise: protect at least one.", "protect")

    def asked(self) -> Asked | None:
        """Return the rows that are forecast."""
        found = self._foreseen
        if found is None or found.chosen != self._form.value():
            return None
        chosen = found.chosen
        assert isinstance(chosen.request, SynthesisParameters)
        title = count(chosen.request.rows or 0, "synthetic row")
        return Asked(title, lambda plan, rows, kind: work_of(chosen, plan, rows, kind))

    # -- the preview ----------------------------------------------------------------------------------------------

    def _forget_preview(self) -> None:
        """Show no draw of another table or plan, and wait for none."""
        if self._drawing is not None:
            former, self._drawing = self._drawing, None
            former.cancel()
        self._draw = 0
        self._preview_card.show_compared(None)

    def _start_over(self) -> None:
        self._forget_preview()
        super()._start_over()

    def _plan_changed(self) -> None:
        self._forget_preview()
        super()._plan_changed()

    def _show_newest(self) -> None:
        """Show what was just released; what was drawn before it is no longer needed."""
        former = self._results.step
        super()._show_newest()
        if self._results.step is not former and self._drawing is None:
            self._forget_preview()
            self.refresh()

    @property
    def busy(self) -> bool:
        """Whether a preview is drawn."""
        return self._drawing is not None

    def show_others(self, *, ready: bool) -> None:
        """Show the preview and the button that draws it."""
        self._again.setVisible(self.session.opened is not None)
        self._again.setEnabled(ready)
        self._again.setText("Another draw" if self._draw else "Draw a preview")
        self._preview_card.setVisible(self._draw > 0)
        self._rest.setVisible(self._draw == 0 and not self._results.isVisibleTo(self))

    def note(self, *, kept: bool) -> str:
        """Return that a preview is free while nothing can be released."""
        return FREE if self.busy or kept else PAID

    def _preview(self) -> None:
        opened, chosen = self.session.opened, self._form.value()
        if opened is None or chosen is None or self.job is not None:
            return
        if not figures_first.may_show(self, self.session):
            return
        number, request = self._draw + 1, chosen.request
        assert isinstance(request, SynthesisParameters)

        def apply(found: Compared) -> None:
            if self._drawing is handle:
                self._draw = number
                rows = count(found.rows, "row")
                stated = f"draw {number}, {rows} by {request.method} at ε = {at_most(chosen.epsilon)}"
                self._preview_card.show_compared(found, stated)
                self.refresh()
                if number == 1:
                    self.scroll_to(self._preview_card)

        def failed(error: BaseException) -> None:
            self._failure = known_error(error)
            self.session.report(error)

        handle = preview(opened, self.session.plan, chosen, number, self.jobs, apply, failed)
        self._drawing = figures_first.follow_note(self.session, self.jobs, handle)
        handle.cancelling.connect(self.refresh)
        handle.ended.connect(lambda: self._drawn(handle))
        self.refresh()

    def _drawn(self, handle: JobHandle) -> None:
        if self._drawing is handle:
            self._drawing = None
            self.refresh()

    @property
    def job(self) -> JobHandle | None:
        """The preview or the release that the page's own Cancel stops."""
        return self._running or self._drawing

    def escape(self) -> bool:
        """Cancel the release or the preview that is going on."""
        if super().escape():
            return True
        if self._drawing is None or self._drawing.stopping:
            return False
        self._drawing.cancel()
        return True

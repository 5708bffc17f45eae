"""Statistics: tick figures, see what to expect of each, release them, and look at what was released."""

from __future__ import annotations

from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.pages.forecast_page import ForecastPage, Kind, ReleasedPart
from workbench.gui.pages.release_page import ReleaseWords
from workbench.gui.pages.release_tasks import Asked, Chosen
from workbench.gui.pages.statistics import PAGE
from workbench.gui.pages.statistics.choices import StatisticsForm
from workbench.gui.pages.statistics.results import ResultsCard
from workbench.gui.pages.statistics.tasks import checked, released, work_of
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Card, label, look, row, stack
from workbench.gui.widgets.delta_entry import DeltaLine
from workbench.gui.widgets.formatting import count
from workbench.statistics.asked import Request

RELEASED = ReleaseWords(
    name="statistics",
    question="Release these statistics?",
    file="The figures; .csv or .json",
    ending="statistics",
    tip="Charge the budget, compute, certify and write the file",
    kinds="CSV (*.csv);;JSON (*.json)",
)
KIND = Kind(
    about=(
        "Figures of your table with noise, each with its 95 % interval, and no rows. Beside each tick is half of "
        "the expected interval; nothing is charged before Release."
    ),
    steps=(
        "Histograms, shares and quantiles read from them count in the steps of the plan ({steps}); means and sums do "
        "not."
    ),
    empty="Open a table and declare its public facts; then figures of it can be released here.",
    forecast=checked,
    facts=(("figures", "spent on", "", lambda found: count(found.queries, "noisy query", "noisy queries")),),
)
LOOK = "Look at the figures", "Reads the released file, which is public"


class StatisticsPage(ForecastPage):
    """The ticks with what to expect and their cost, the release, and what was released."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE, RELEASED, KIND)
        form = StatisticsForm(session)
        epsilon = Card(label("ε OF ALL FIGURES TOGETHER", "caption"), form.epsilon, pad=12, spacing=6)
        for part in (DeltaLine(form.delta), self._problem, self._hint, self._use_rest):
            epsilon.body.addWidget(part)
        cost = Card(label("WHAT IT COSTS", "caption"), self._facts, pad=12, spacing=6)
        beside_it = row(spacing=12)
        for card, share in ((epsilon, 5), (cost, 4)):
            card.body.addStretch(1)
            beside_it.addWidget(card, share)
        below = look(QWidget(), "clear")
        below.setLayout(beside_it)
        below.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        view = ResultsCard(session)
        results = ReleasedPart(
            self,
            view,
            lambda _opened, path, _plan, _emit, cancel: released(path, cancel),
            LOOK,
            "The figures cannot be shown.",
        )
        layout = stack(self._about, spacing=12)
        layout.addWidget(form, 1)
        layout.addWidget(below)
        layout.addWidget(results)
        layout.addWidget(view)
        self._add_buttons()
        self.set_parts(form, results, layout)

    def hindrance(self) -> tuple[str, str]:
        """Return that there is no protected column."""
        if self.session.plan.protected:
            return "", ""
        return "The plan protects no column, and only of protected ones are there figures: protect one.", "protect"

    def nothing_asked(self, chosen: Chosen) -> str:
        """Return that nothing is ticked."""
        assert isinstance(chosen.request, Request)
        return "" if chosen.request.figures else "Nothing is ticked: tick a figure of a column."

    def asked(self) -> Asked | None:
        """Return the statistics that are forecast."""
        from workbench.statistics.release_file import FORMATS

        found = self._foreseen
        if found is None or found.chosen != self._form.value():
            return None
        chosen = found.chosen
        assert isinstance(chosen.request, Request)
        columns = {name for one in chosen.request.figures for name in (one.column, *(one.by or ())) if name}
        title = f"statistics of {count(len(columns), 'column')}"
        return Asked(title, lambda plan, rows, kind: work_of(chosen, plan, rows, kind), FORMATS)

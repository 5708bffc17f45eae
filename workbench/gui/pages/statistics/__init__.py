"""The Statistics page: figures of the open table with noise and their intervals, instead of rows."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.newest_release import state_of

PAGE = Page(
    name="statistics",
    title="Statistics",
    help="Release figures of the table with their intervals, and no rows",
    make="workbench.gui.pages.statistics.page:StatisticsPage",
    icon="M2 13.5h12 M3.5 13.5v-4.5h2.5v4.5 M6.8 13.5v-9h2.5v9 M10.1 13.5v-6.5h2.5v6.5 M8 2v2.5",
    state=state_of("statistics"),
    under="release",
    about=(
        "Release histograms, means, quantiles, sums and most frequent values instead of rows: each with noise, and "
        "with the interval that allows for it. For the same ε a figure is far nearer than one computed from noisy "
        "rows. What to expect is shown beside each tick before anything is charged."
    ),
    keys="Space ticks a figure, F2 edits its bins. Ctrl+Return releases, after a question. Esc cancels.",
)

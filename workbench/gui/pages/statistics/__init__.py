"""The Statistics page: figures of the open table with noise and their intervals, instead of rows."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.newest_release import state_of

PAGE = Page(
    name="statistics",
    title="Statistics",
    room="release",
    help="Release figures of the table with their intervals, and no rows",
    make="workbench.gui.pages.statistics.page:StatisticsPage",
    topic="release",
    state=state_of("statistics"),
    under="release",
    about=(
        "Release histograms, means, quantiles, sums and most frequent values instead of rows: each with noise, and "
        "with the interval that allows for it. For the same ε a figure is far nearer than one computed from noisy "
        "rows. What to expect is shown beside each tick before anything is charged."
    ),
    keys="Space ticks a figure, F2 edits its bins. Ctrl+Return releases, after a question. Esc cancels.",
)

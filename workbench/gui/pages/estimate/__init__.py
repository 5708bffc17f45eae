"""The Estimate page: what a released table says of the original, for whoever receives it."""

from __future__ import annotations

from workbench.gui.pages.base import Page

PAGE = Page(
    name="estimate",
    title="Estimate",
    help="What a released table says of the original: figures with intervals",
    make="workbench.gui.pages.estimate.page:EstimatePage",
    icon="M2.5 13.5h11 M5 13v-5 M8 13V4 M11 13v-7 M3.8 8h2.4 M6.8 4h2.4 M9.8 6h2.4",
    step=False,
    about=(
        "Means, shares, quantiles and correlations of the original table, estimated from a released file and its "
        "certificate alone: no ledger is needed, and nothing is charged. Every figure has an interval that says how "
        "much the noise leaves open."
    ),
    keys="Ctrl+Return estimates; Ctrl+C copies the selected rows of a table.",
)

"""The Estimate page: what a released table says of the original, for whoever receives it."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="estimate",
    title=tr_later("Estimates"),
    room="released",
    help=tr_later("What a released table says of the original: figures with intervals"),
    make="workbench.gui.pages.estimate.page:EstimatePage",
    topic="release",
    about=tr_later(
        "Means, shares, quantiles and correlations of the original table, estimated from a released "
        "file and its certificate alone: no ledger is needed, and nothing is charged. Every figure "
        "has an interval that says how much the noise leaves open."
    ),
    keys=tr_later("Ctrl+Return estimates; Ctrl+C copies the selected rows of a table."),
)

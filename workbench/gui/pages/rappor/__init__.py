"""The RAPPOR page: what a collection costs and can detect, simulated or released, decoded and looked at."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.newest_release import state_of

PAGE = Page(
    name="rappor",
    title="RAPPOR",
    help="Collect a column as noisy reports of single clients, and find out which values occur",
    make="workbench.gui.pages.rappor.page:RapporPage",
    icon="M2.5 4.5h11 M2.5 8h11 M2.5 11.5h11 M4 3v3 M7 6.5v3 M11.5 3v3 M10 10v3 M5 10v3",
    state=state_of("rappor"),
    step=False,
    about=(
        "RAPPOR collects one value from each client as a vector of random bits, and decodes which values are frequent. "
        "Move the parameters and see what a report costs and what can be detected; simulate for free; or release the "
        "reports of a column, which is charged first."
    ),
    keys="Ctrl+Return simulates. Esc cancels what is running.",
)

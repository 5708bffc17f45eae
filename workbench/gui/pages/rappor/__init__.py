"""The RAPPOR page: what a collection costs and can detect, simulated or released, decoded and looked at."""

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="rappor",
    title=tr_later("RAPPOR"),
    room="tools",
    help=tr_later("Collect a column as noisy reports of single clients, and find out which values occur"),
    make="workbench.gui.pages.rappor.page:RapporPage",
    topic="rappor",
    known_as="simulation",
    state=lambda session: "ready" if any(step.central == "rappor" for step in session.released) else "empty",
    about=tr_later(
        "RAPPOR collects one value from each client as a vector of random bits, and decodes which "
        "values are frequent. Move the parameters and see what a report costs and what can be "
        "detected; simulate for free; or release the reports of a column, which is charged first."
    ),
    keys=tr_later("Ctrl+Return simulates. Esc cancels what is running."),
)

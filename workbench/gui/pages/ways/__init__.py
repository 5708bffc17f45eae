"""The page on which a way to release and an ε are chosen: what recipients will see of what they ask."""

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="ways",
    title=tr_later("Decide"),
    room="release",
    help=tr_later("How well each way to release answers what recipients will ask, at each ε; release from here"),
    make="workbench.gui.pages.ways.page:WaysPage",
    topic="ways",
    known_as="what to release ways",
    state=lambda session: "ready" if session.opened is not None and session.plan.ready else "empty",
    about=tr_later(
        "Each row is a question that recipients will ask, each column a way to release. A cell shows "
        "how close to the truth the answer will be at the chosen ε, with ✓ where that is close "
        "enough. The marks follow from the declared facts and the number of rows; none of the rows "
        "is read. Show the truth draws once from the rows, and what it shows is private."
    ),
    keys=tr_later(
        "Click a heading, or press Return in a cell, to choose a way. Press F2 in “within” to type how close an answer "
        "must be. Ctrl+Return releases, after you confirm. Esc stops a private draw."
    ),
)

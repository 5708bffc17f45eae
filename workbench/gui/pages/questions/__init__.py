"""Questions: who gets the release, which columns they need, and what they will ask of it."""

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="questions",
    title=tr_later("Questions"),
    room="data",
    help=tr_later("Say who gets the release, which columns they need and what they will ask of it: the plan follows"),
    make="workbench.gui.pages.questions.page:QuestionsPage",
    topic="plan",
    state=lambda session: "ready" if session.opened is not None and session.questions.needed else "empty",
    about=tr_later(
        "Three answers make the plan. Who gets the release sets the range of ε. Columns that they do not need are not "
        "released and cost nothing. What they will ask decides the way to release. Each answer is first suggested from "
        "the names, kinds and counts of the columns; you can change any of them later, and undo the change."
    ),
    keys=tr_later(
        "Space ticks a column, or all that are selected; Shift+click on a box ticks a range. Ctrl+F "
        "filters by name; a click on a heading, or Alt+S, sorts."
    ),
    known_as="recipient, columns needed, wishes, purpose, who gets it",
)

"""The Why page: where the accuracy of a private model goes, and what would help most."""

from workbench.gui.pages.base import Page
from workbench.gui.pages.run_page import has_run
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="why",
    title=tr_later("Where accuracy goes"),
    room="models",
    under="utility",
    help=tr_later("Where the accuracy of a private model goes, and what would help most"),
    make="workbench.gui.pages.why.page:WhyPage",
    topic="curves",
    known_as="why it costs where accuracy goes",
    state=lambda session: "ready" if has_run(session, "why") else "empty",
    about=tr_later(
        "The same rows are trained without privacy, clamped to the declared bounds, with the private model but without "
        "its noise, and with it: each difference says what that step costs. Then one thing is changed at a time (twice "
        "the ε, twice the rows, half of the attributes, tighter bounds) to see what would help most. It spends none of "
        "the budget, as nothing of it is released; made-up rows are of no person and may be shown."
    ),
    keys=tr_later("Ctrl+Return runs the study, Esc stops it."),
)

"""The Preview page: one private draw of the plan beside the original."""

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="preview",
    title=tr_later("Rows"),
    room="release",
    help=tr_later("See one draw of the plan beside the original: private, free and never released"),
    make="workbench.gui.pages.preview.page:PreviewPage",
    topic="release",
    known_as="preview correlation marginals",
    state=lambda session: "ready" if session.opened and session.plan.ready and session.plan.protected else "empty",
    about=tr_later(
        "See one draw of the plan beside the original, the distribution of each attribute, and what is left of the "
        "correlations. Previews spend no budget and are never released; a release always draws new noise."
    ),
    keys=tr_later("Arrow keys move through the rows and the pairs. Private rows cannot be copied from here."),
)

"""The Explain page: what an ε means, what others have published, and a guided choice of one."""

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="explain",
    title=tr_later("What ε means"),
    room="tools",
    help=tr_later("How much an ε lets anybody learn, what others have published, and which one to begin with"),
    make="workbench.gui.pages.explain.page:ExplainPage",
    topic="epsilon",
    known_as="explain epsilon delta belief",
    about=tr_later(
        "What ε and δ say about one person, with tables that follow the ε at the top: beliefs, an insurer, several "
        "releases, several rows of one person, who has to be trusted, and why k-anonymity is no guarantee. Three "
        "questions lead to a range of ε to begin with. Nothing on this page reads the table or costs anything."
    ),
    keys=tr_later("The slider and the field at the top change ε. Ctrl+E explains the plan's ε beside any page."),
)

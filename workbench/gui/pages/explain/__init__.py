"""The Explain page: what an ε means, what others have published, and a guided choice of one."""

from __future__ import annotations

from workbench.gui.pages.base import Page

PAGE = Page(
    name="explain",
    title="What ε means",
    help="How much an ε lets anybody learn, what others have published, and which one to begin with",
    make="workbench.gui.pages.explain.page:ExplainPage",
    icon="M3 4.5c2-1 4-1 5 .3 1-1.3 3-1.3 5-.3v8c-2-1-4-1-5 .3-1-1.3-3-1.3-5-.3z M8 4.8v8",
    step=False,
    about=(
        "What ε and δ say about one person, with tables that follow the ε at the top: beliefs, an insurer, several "
        "releases, several rows of one person, who has to be trusted, and why k-anonymity is no guarantee. Three "
        "questions lead to a range of ε to begin with. Nothing on this page reads the table or costs anything."
    ),
    keys="The slider and the field at the top change ε. Ctrl+E explains the plan's ε beside any page.",
)

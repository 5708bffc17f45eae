"""The Synthetic rows page: a new table drawn from a private model of the one that is open."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.newest_release import state_of

PAGE = Page(
    name="synthetic",
    title="Synthetic rows",
    room="release",
    help="Release a new table of the same shape in which no row is anybody's",
    make="workbench.gui.pages.synthetic.page:SyntheticPage",
    topic="ways",
    state=state_of("synthetic"),
    under="release",
    about=(
        "Release a new table of the same shape, drawn from noisy counts of yours. For the same ε it keeps means, "
        "shares and strong relationships better than noise in every cell does. The private preview is free and never "
        "released; a release always counts and draws anew, and is charged first."
    ),
    keys="Ctrl+Return releases, after a question. Esc cancels what is running.",
)

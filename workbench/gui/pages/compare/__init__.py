"""The Compare page: every study of this session and every released model in one table, and lines drawn together."""

from workbench.gui.pages.base import Page
from workbench.gui.pages.run_page import has_run
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="compare",
    title=tr_later("Compare"),
    room="models",
    help=tr_later("All studies of this session and all released models, side by side and drawn together"),
    make="workbench.gui.pages.compare.page:ComparePage",
    topic="curves",
    state=lambda session: "ready" if has_run(session, "curve", "fit", "dpsgd") else "empty",
    about=tr_later(
        "Each line of the table is one way of training from a study of this session, or a model that was released. "
        "Tick up to seven lines to draw them together. The bands show how sure each mean is (one standard error)."
    ),
    keys=tr_later(
        "Space ticks a line, Alt+S sorts by the current column, Ctrl+F filters, Ctrl+C copies the selected lines, or "
        "the picture where it has the keyboard; in the picture the arrow keys move and Return takes a point's ε."
    ),
)

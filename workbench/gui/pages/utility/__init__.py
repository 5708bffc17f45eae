"""The Utility page: how good models are against ε."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.pages.run_page import has_run
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="utility",
    title=tr_later("Curves"),
    room="models",
    help=tr_later("How well models predict against ε: without privacy, on a sanitised table, with a private model"),
    make="workbench.gui.pages.utility.page:UtilityPage",
    topic="curves",
    known_as="utility accuracy against epsilon",
    state=lambda session: "ready" if has_run(session, "curve") else "empty",
    about=tr_later(
        "Compare how well a model predicts without privacy, trained on a sanitised table, and with privacy built in, "
        "for a range of ε. The bands show how sure each mean is (one standard error)."
    ),
    keys=tr_later(
        "Arrow keys move from point to point, Return puts a point's ε into the plan, Ctrl+C copies the picture."
    ),
)

"""The Memory page: what training takes by phase, for many settings at once, before there is any run."""

from __future__ import annotations

from workbench.gui.pages.base import Page

PAGE = Page(
    name="memory",
    title="Memory study",
    help="How much memory training needs, by phase, and how many rows fit at once",
    make="workbench.gui.pages.memory.page:MemoryPage",
    icon="M2.5 4.5h11v7h-11z M4.5 11.5v2 M8 11.5v2 M11.5 11.5v2 M4.5 2.5v2 M8 2.5v2 M11.5 2.5v2 M5.5 7h5v2h-5z",
    step=False,
    about=(
        "Choose networks, batches and hidden units, and see what training takes in each phase: the model, a batch, the "
        "backward pass and the step. It is worked out from shapes: no data is read and nothing is charged. The table "
        "also shows how many rows fit at once."
    ),
    keys="Ctrl+Return computes, Esc stops it, Ctrl+C copies the selected lines, or the picture where it has the keys.",
)
